//! Memory that a job holds outside of what its processes have resident: tables, sockets, pipes, files.
//!
//! The filter of system calls sees to it that there is no more than is found here: no memory without a mapping or a
//! descriptor, no larger pipe or send buffer, no page that a pipe or socket shares, and, without the network, no
//! descriptor on its way through a socket. With the network, as many descriptors as one process may have open can be on
//! their way, uncounted.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags};

use super::processes::Process;
use crate::memory::{LOCK, MAX_LOCKS};
use crate::sys;

/// Memory that a job holds outside of its processes, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HeldMemory {
    pub(super) page_tables: u64,
    pub(super) sockets: u64,
    pub(super) pipes: u64,
    /// Files that are open and have no name any more, by what they take on their disk.
    pub(super) nameless_files: u64,
    pub(super) locks: u64,
}

/// Lines of the kernel's list of locks that are read. For each page of it the kernel begins at the first lock again, so
/// that 1,000 take 1 ms and 40,000 a second.
const MAX_LINES: usize = 1024;

/// Adds up the memory that `processes` hold; stops looking at descriptors once it is more than `enough`.
pub(super) fn held_by(processes: &[Process], enough: u64) -> HeldMemory {
    let mut held = HeldMemory { locks: lock_memory(processes, enough), ..HeldMemory::default() };
    // Sockets and pipes have numbers in common, files those of their file systems.
    let (mut seen, mut files) = (HashSet::new(), HashSet::new());
    let mut link = [0; 4200];
    // A pipe has 16 pages, and the filter lets it have no more.
    let pipe = 16 * rustix::param::page_size() as u64;
    let mut socket_at_least = None;
    for process in processes {
        let own = PathBuf::from(format!("/proc/{}", process.task));
        held.page_tables += page_tables(&own);
        let Ok(descriptors) = rustix::fs::open(own.join("fd"), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
        else {
            continue;
        };
        let Ok(entries) = Dir::read_from(&descriptors) else { continue };
        let mut pidfd = None;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Ok(length) = rustix::fs::readlinkat_raw(&descriptors, name, &mut link[..]) else { continue };
            let link = &link[..length];
            if let Some(inode) = link.strip_prefix(b"pipe:[") {
                held.pipes += if seen.insert(leading_number(inode)) { pipe } else { 0 };
            } else if let Some(inode) = link.strip_prefix(b"socket:[") {
                if seen.insert(leading_number(inode)) {
                    let least = *socket_at_least.get_or_insert_with(full_socket_size);
                    let pidfd =
                        pidfd.get_or_insert_with(|| rustix::process::pidfd_open(process.pid, PidfdFlags::empty()).ok());
                    let descriptor = i32::try_from(leading_number(name.to_bytes())).ok();
                    let now = pidfd.as_ref().zip(descriptor).and_then(|(process, it)| bytes_in_socket(process, it));
                    held.sockets += least.max(now.unwrap_or(0));
                }
            } else if link.ends_with(b" (deleted)")
                && let Ok(file) = rustix::fs::statat(&descriptors, name, AtFlags::empty())
                && FileType::from_raw_mode(file.st_mode) == FileType::RegularFile
                && file.st_nlink == 0
                && files.insert((file.st_dev, file.st_ino))
            {
                held.nameless_files += u64::try_from(file.st_blocks).unwrap_or(0) * 512;
            }
            if held.sockets + held.pipes > enough {
                return held;
            }
        }
    }
    held
}

/// Returns the number that `text` begins with.
fn leading_number(text: &[u8]) -> u64 {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |sum: u64, digit| sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

/// Returns the kernel memory for the mappings of the process with this directory in `/proc`.
fn page_tables(process: &Path) -> u64 {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPTE:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Returns the kernel memory for the locks that `processes` have on files and on parts of them, or wait for; `enough`
/// if those are more than a job may have, because no more are counted.
fn lock_memory(processes: &[Process], enough: u64) -> u64 {
    let Ok(list) = fs::File::open("/proc/locks") else { return 0 };
    let numbers: HashSet<i32> = processes.iter().map(|process| process.pid.as_raw_nonzero().get()).collect();
    // `1: POSIX  ADVISORY  WRITE 4711 08:01:4242 0 EOF`, or `1: -> POSIX …` for one that waits: the owner is before the
    // file.
    let owner = |line: String| line.split_ascii_whitespace().rev().nth(3)?.parse().ok();
    let lines = BufReader::new(list).lines().map_while(Result::ok).take(MAX_LINES);
    let mut count = 0;
    for _ in lines.filter_map(owner).filter(|owner: &i32| numbers.contains(owner)) {
        count += 1;
        if count > MAX_LOCKS {
            return enough.max(count * LOCK);
        }
    }
    count * LOCK
}

/// Returns the most that waits in a local socket whose send buffer is as large as new ones are: one message may exceed
/// it by its whole size. It is charged to the sender, which may be gone, so that only the possible amount can be known.
fn full_socket_size() -> u64 {
    // The default of Linux, where no socket can be made to ask.
    const DEFAULT_SEND_BUFFER: u64 = 212_992;
    let pair = std::os::unix::net::UnixStream::pair();
    let size = pair.ok().and_then(|(one, _)| rustix::net::sockopt::socket_send_buffer_size(&one).ok());
    2 * size.map_or(DEFAULT_SEND_BUFFER, |size| size as u64)
}

/// Returns the bytes that wait in a socket of another process right now, if the kernel reports them.
fn bytes_in_socket(process: &OwnedFd, number: i32) -> Option<u64> {
    let socket = rustix::process::pidfd_getfd(process, number, PidfdGetfdFlags::empty()).ok()?;
    sys::socket_memory(socket.as_fd()).ok()
}

/// Returns the bytes in the file system of memory at `dir`, as the process sees it; nothing if there is none of its
/// own.
pub(super) fn bytes_in_own_files(process: Pid, dir: &Path) -> Option<u64> {
    let inside = PathBuf::from(format!("/proc/{}/root", process.as_raw_nonzero())).join(dir.strip_prefix("/").ok()?);
    let outside = fs::metadata(dir).map(|dir| dir.dev()).ok();
    if Some(fs::metadata(&inside).ok()?.dev()) == outside {
        return None;
    }
    memory_file_system(&inside)
        .map(|files| (files.f_blocks - files.f_bfree) * u64::try_from(files.f_bsize).unwrap_or(0))
}

/// Returns whether files in `dir` are in memory.
pub(super) fn is_in_memory(dir: &Path) -> bool {
    memory_file_system(dir).is_some()
}

fn memory_file_system(dir: &Path) -> Option<rustix::fs::StatFs> {
    rustix::fs::statfs(dir).ok().filter(|files| files.f_type == 0x0102_1994)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn this_process() -> Process {
        Process { pid: rustix::process::getpid(), task: rustix::process::getpid().as_raw_nonzero().get() }
    }

    #[test]
    fn sockets_pipes_and_nameless_files_of_this_process_are_counted() {
        let before = held_by(&[this_process()], u64::MAX);
        let _pair = std::os::unix::net::UnixStream::pair().unwrap();
        let _pipe = std::io::pipe().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![1; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        let after = held_by(&[this_process(), this_process()], u64::MAX);
        assert!(after.sockets >= before.sockets + 2 * full_socket_size());
        assert!(after.pipes >= before.pipes + 65_536, "{before:?} {after:?}");
        assert!(after.nameless_files >= before.nameless_files + (1 << 20), "{before:?} {after:?}");
        assert!(after.page_tables > 0);
        assert!(held_by(&[this_process()], 0).sockets <= full_socket_size());
    }
}
