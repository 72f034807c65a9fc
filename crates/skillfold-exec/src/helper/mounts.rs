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
}

/// Moves this process into a mount namespace of its own: with a file system of `tmp_size` bytes at `tmp`, and, in a
/// namespace of processes (`own_processes`), a `/proc` that shows only that.
pub(super) fn separate(tmp: Option<&Path>, tmp_size: u64, own_processes: bool) -> io::Result<Mounted> {
    crate::sys::unshare(libc::CLONE_NEWNS)?;
    // Nothing that is mounted here must be seen outside.
    rustix::mount::mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
    let mut mounted = Mounted::default();
    if let Some(tmp) = tmp {
        // An inode takes about a kilobyte of kernel memory that the size does not count.
        let options = format!("size={tmp_size},nr_inodes={},mode=0700", (tmp_size / 4096).clamp(1024, 65_536));
        tmpfs(tmp, &options)?;
        mounted.shm = tmpfs(Path::new("/dev/shm"), &format!("size={},nr_inodes=1024,mode=0700", tmp_size / 4)).is_ok();
    }
    if own_processes {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mounted.proc = rustix::mount::mount("proc", "/proc", "proc", flags, None).is_ok();
    }
    Ok(mounted)
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
