//! System calls that only Linux has. All of them run in the helper's processes, which have one thread each: `fork`
//! without `exec` is sound only there.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use rustix::process::Pid;

/// The side of a fork that a process is on.
pub(crate) enum Fork {
    Parent(Pid),
    Child,
}

/// Forks the process. The helper has one thread, so the child may do whatever the parent could.
pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: the calling process has a single thread (the helper starts none before it forks), so no lock can be held
    // by a thread that does not exist in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        pid => Pid::from_raw(pid).map(Fork::Parent).ok_or_else(|| io::Error::other("fork gave no process")),
    }
}

/// Ends the process without running the handlers that are registered for its end.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` has no preconditions and does not return.
    unsafe { libc::_exit(code) }
}

/// Moves the calling process into new namespaces.
pub(crate) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: namespaces only; no flag that would unshare the file descriptor table or memory is passed.
    match unsafe { libc::unshare(flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets and clears attributes of the mount at `path`, and with `below`, of all mounts below it.
pub(crate) fn change_mounts(path: &Path, below: bool, set: u64, clear: u64) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let flags = if below { libc::AT_RECURSIVE } else { 0 };
    let change = libc::mount_attr { attr_set: set, attr_clr: clear, propagation: 0, userns_fd: 0 };
    // SAFETY: the path ends with a NUL, the attributes are initialized and their size is passed along; the kernel only
    // reads both, during the call.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const change,
            size_of::<libc::mount_attr>(),
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Closes every file descriptor from 3 on, except `keep`, whose order does not matter.
///
/// Descriptors owned by values of this process are closed under them: only for processes that are about to execute
/// something, or that use nothing but `keep` from here on and never drop the rest.
pub(crate) fn close_all_but(keep: &[BorrowedFd<'_>]) {
    let mut kept: Vec<RawFd> = keep.iter().map(AsRawFd::as_raw_fd).filter(|fd| *fd >= 3).collect();
    kept.sort_unstable();
    let mut first = 3;
    for fd in kept.into_iter().chain([RawFd::MAX]) {
        if first < fd {
            close_range(first, fd - 1);
        }
        first = fd.saturating_add(1);
    }
}

fn close_range(first: RawFd, last: RawFd) {
    // SAFETY: closing descriptors cannot touch memory. That they are not used afterwards is the caller's promise.
    let outcome = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if outcome == 0 {
        return;
    }
    // Before Linux 5.9 there is no such call.
    let limit =
        RawFd::try_from(rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(65_536))
            .unwrap_or(65_536);
    for fd in first..=last.min(limit) {
        // SAFETY: as above.
        unsafe { libc::close(fd) };
    }
}

/// Gives every signal its default meaning and blocks none: Rust ignores SIGPIPE, a host may block others, and both
/// would be inherited.
pub(crate) fn default_signals() {
    // SAFETY: SIG_DFL is a valid disposition for every signal; those that cannot be changed return an error, which is
    // right. The set is initialized by `sigemptyset` before it is read.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// Has the kernel reap this process's children: their ends are reported by other ways. [`default_signals`] undoes it.
pub(crate) fn leave_no_zombies() {
    // SAFETY: ignoring is a valid disposition for this signal, and no handler is involved.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Executes another program in this process; returns only if that failed.
pub(crate) fn execute(program: &CStr, args: &[&CStr], env: &[&CStr]) -> io::Error {
    let pointers = |texts: &[&CStr]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
    };
    let (args, env) = (pointers(args), pointers(env));
    // SAFETY: both arrays end with a null pointer, and they and the texts they point to outlive the call.
    unsafe { libc::execve(program.as_ptr(), args.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Takes every capability out of the bounding set.
pub(crate) fn drop_bounding_set() -> io::Result<()> {
    for capability in 0..64 {
        // SAFETY: this operation takes numbers only.
        let outcome = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        if outcome != 0 {
            let error = io::Error::last_os_error();
            // The first number that the kernel does not know ends the list.
            return if error.raw_os_error() == Some(libc::EINVAL) { Ok(()) } else { Err(error) };
        }
    }
    Ok(())
}

/// Lets this process run before all ordinary ones, if it may; its children are ordinary again. It is asleep nearly
/// always, but when it kills processes that fork, it must not wait for each of them.
pub(crate) fn run_first() {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters are initialized and outlive the call; a refusal has no effect.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const parameters) };
}

/// Returns the bytes that wait in a socket, as the kernel counts them: received, sent, and set aside for either.
pub(crate) fn socket_memory(socket: BorrowedFd<'_>) -> io::Result<u64> {
    // `SK_MEMINFO_*` of linux/sock_diag.h: 0 received, 2 sent, 4 set aside, 5 queued, 7 backlog.
    let mut info = [0_u32; 9];
    let mut length = libc::socklen_t::try_from(size_of_val(&info)).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `length` bytes into `info`, which has so many and outlives the call.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if outcome != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok([0, 2, 4, 5, 7].into_iter().map(|at: usize| u64::from(info[at])).sum())
}
