//! The system calls that no safe wrapper offers. The only module with `unsafe` code.
#![allow(unsafe_code, reason = "fork, execve, close_range and signal dispositions have no safe interface")]

#[cfg(target_os = "linux")]
mod linux;

use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::FdFlags;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;

/// Keeps programs that are executed from here on from inheriting file descriptors from 3 on.
pub(crate) fn keep_descriptors() {
    // This directory shows the descriptors of the process that reads it.
    for entry in std::fs::read_dir("/dev/fd").into_iter().flatten().flatten() {
        let Some(fd) = entry.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok()) else { continue };
        if fd >= 3 {
            // SAFETY: it is open, for it was listed, and this process has one thread, which closes none meanwhile. It
            // is borrowed for this one call.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            let _ = rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC);
        }
    }
}
