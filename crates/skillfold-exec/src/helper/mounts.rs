//! What the job's mount namespace looks like.

use std::ffi::CString;
use std::io;
use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags};

/// What was mounted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mounted {
    /// `/proc` shows this namespace's processes and no others.
    pub(super) proc: bool,
    /// `/dev/shm` is our own.
    pub(super) shm: bool,
    /// `/dev/zero` is one that cannot be mapped.
    pub(super) zero: bool,
    /// Nothing can be changed, not even a mode or a time, but for what may be written.
    pub(super) read_only: bool,
}

/// What shall be mounted.
pub(super) struct Wanted<'w> {
    /// Where the private directory is, of `tmp_size` bytes.
    pub(super) tmp: Option<&'w Path>,
    pub(super) tmp_size: u64,
    /// Whether there is a namespace of processes, for which `/proc` shall show only that.
    pub(super) own_processes: bool,
    /// What may be written.
    pub(super) write: Vec<&'w Path>,
}

/// Moves this process into a mount namespace of its own.
pub(super) fn separate(wanted: &Wanted<'_>) -> io::Result<Mounted> {
    crate::sys::unshare(libc::CLONE_NEWNS)?;
    // Nothing that is mounted here must be seen outside.
    rustix::mount::mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
    let mut mounted = Mounted { read_only: make_read_only(&wanted.write).is_ok(), ..Mounted::default() };
    if let Some(tmp) = wanted.tmp {
        let size = wanted.tmp_size;
        // An inode takes about a kilobyte of kernel memory that the size does not count.
        let options = format!("size={size},nr_inodes={},mode=0700", (size / 4096).clamp(1024, 65_536));
        tmpfs(tmp, &options)?;
        mounted.shm = tmpfs(Path::new("/dev/shm"), &format!("size={},nr_inodes=1024,mode=0700", size / 4)).is_ok();
    }
    // `/dev/full` reads the same, and cannot be mapped.
    mounted.zero = rustix::mount::mount_bind("/dev/full", "/dev/zero").is_ok();
    if wanted.own_processes {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mounted.proc = rustix::mount::mount("proc", "/proc", "proc", flags, None).is_ok();
    }
    Ok(mounted)
}

/// Makes everything read-only, so that modes, owners, times and attributes of files stay as they are, for which Landlock
/// has no right: everything but what may be written.
fn make_read_only(write: &[&Path]) -> io::Result<()> {
    let mut own = Vec::new();
    for path in write {
        // What does not exist cannot be written. What exists gets a mount of its own, which stays writable.
        match rustix::mount::mount_bind_recursive(*path, *path) {
            Ok(()) => own.push(*path),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    crate::sys::change_mounts(Path::new("/"), true, libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID, 0)?;
    for path in own {
        let writable = |below| crate::sys::change_mounts(path, below, 0, libc::MOUNT_ATTR_RDONLY);
        // What is mounted below it may be read-only for good. Where it is so itself, nothing can be written anyway.
        let _ = writable(true).or_else(|_| writable(false));
    }
    Ok(())
}

fn tmpfs(at: &Path, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", at, "tmpfs", flags, options.as_c_str())?;
    Ok(())
}

/// Bounds the number of processes of this namespace, where the kernel can: also for root, whom no resource limit
/// bounds. Answers whether it did.
pub(super) fn bound_processes(processes: u32) -> bool {
    // Before Linux 6.14 the number is the whole machine's, and writing it from in here would change it for everybody.
    if !kernel_is_at_least(6, 14) {
        return false;
    }
    // The first 300 numbers are never given out a second time. So counting begins behind them: otherwise there could be
    // 300 processes more at first. Some more than allowed are possible, for the supervisor to see it and end them all:
    // processes that only fail to fork, over and over, keep the kernel busier than any others.
    let most = 301 + processes + SEEN;
    let bounded = std::fs::write("/proc/sys/kernel/pid_max", most.to_string()).is_ok();
    let _ = std::fs::write("/proc/sys/kernel/ns_last_pid", "299");
    bounded
}

/// So many processes more than allowed can be had until the supervisor looks.
pub(super) const SEEN: u32 = 16;

fn kernel_is_at_least(major: u32, minor: u32) -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}
