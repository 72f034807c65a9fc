//! The mounts of the job's own mount namespace.

use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags};

use super::job_root::JobRoot;

/// The mounts that were made.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MountState {
    /// Whether `/proc` shows this namespace's processes and no others.
    pub(super) proc: bool,
    /// Whether `/dev/shm` is the job's own.
    pub(super) shm: bool,
    /// Whether `/dev/zero` is one that cannot be mapped.
    pub(super) zero: bool,
    /// Whether no file can be changed, not even its mode or times, but for those that may be written.
    pub(super) read_only: bool,
    /// Whether no file exists but those that may be reached.
    pub(super) own_root: bool,
}

/// The mounts to make.
pub(super) struct MountPlan<'w> {
    /// The private directory, of `tmp_size` bytes.
    pub(super) tmp: Option<&'w Path>,
    pub(super) tmp_size: u64,
    /// Whether there is a namespace of processes, for which `/proc` shall show only that.
    pub(super) own_processes: bool,
    /// Paths that may be read.
    pub(super) read: Vec<&'w Path>,
    /// Paths that may be written.
    pub(super) write: Vec<&'w Path>,
    /// Other names of either of them.
    pub(super) names: Vec<&'w Path>,
    /// Paths that shall be empty.
    pub(super) hidden: Vec<&'w Path>,
    /// Devices that may be used.
    pub(super) devices: Vec<&'w str>,
    /// The working directory.
    pub(super) cwd: Option<&'w Path>,
}

/// Moves this process into a mount namespace of its own.
pub(super) fn enter_namespace(plan: &MountPlan<'_>) -> io::Result<MountState> {
    crate::sys::unshare(libc::CLONE_NEWNS)?;
    // Nothing that is mounted here must be seen outside.
    rustix::mount::mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
    let mut mounted = MountState::default();
    // Without a `/proc` of its own, the one that is there would have to be shown.
    if plan.own_processes
        && let Some(tmp) = plan.tmp
        && let Ok(root) = JobRoot::new(tmp)
    {
        match enter_own_root(root, plan, tmp) {
            Ok(()) => return Ok(MountState { proc: true, shm: true, zero: true, read_only: true, own_root: true }),
            Err(error) => tracing::debug!(%error, "no root directory of its own"),
        }
    }
    let write: Vec<PathBuf> = plan.write.iter().map(PathBuf::from).collect();
    hide(plan.hidden.iter().map(PathBuf::from))?;
    mounted.read_only = make_read_only(Path::new("/"), &write).is_ok();
    if let Some(tmp) = plan.tmp {
        mount_private(tmp, plan.tmp_size)?;
        mounted.shm = mount_shared(Path::new(SHM), plan.tmp_size).is_ok();
    }
    // `/dev/full` reads the same, and cannot be mapped.
    mounted.zero = rustix::mount::mount_bind(FULL, ZERO).is_ok();
    if plan.own_processes {
        mounted.proc = mount_proc(Path::new(PROC)).is_ok();
    }
    Ok(mounted)
}

const SHM: &str = "/dev/shm";
const PROC: &str = "/proc";
const NULL: &str = "/dev/null";
const ZERO: &str = "/dev/zero";
const FULL: &str = "/dev/full";

/// Mounts all that is planned in a new root, and enters it. Nothing has changed if it fails.
fn enter_own_root(mut root: JobRoot, plan: &MountPlan<'_>, tmp: &Path) -> io::Result<()> {
    let mut mount = || -> io::Result<()> {
        // Writable paths come last, to have mounts of their own.
        for path in plan.read.iter().chain(&plan.write) {
            root.show(path)?;
            // `lib64` is often a link to `lib` beside it.
            if path.ends_with("lib") {
                root.make_links(&path.with_file_name("lib64"))?;
            }
        }
        for path in &plan.names {
            root.make_links(path)?;
        }
        root.make_devices(&plan.devices, (ZERO, FULL))?;
        if let Some(cwd) = plan.cwd {
            root.make_directory(cwd)?;
        }
        let mut hidden = Vec::new();
        for path in &plan.hidden {
            hidden.extend(root.staged_path(path)?);
        }
        hide(hidden.into_iter())?;
        let [tmp, shm, proc] =
            [root.make_directory(tmp)?, root.make_directory(Path::new(SHM))?, root.make_directory(Path::new(PROC))?];
        let mut write = Vec::new();
        for path in &plan.write {
            write.extend(root.staged_path(path)?);
        }
        make_read_only(root.at(), &write)?;
        mount_private(&tmp, plan.tmp_size)?;
        mount_shared(&shm, plan.tmp_size)?;
        mount_proc(&proc)
    };
    if let Err(error) = mount() {
        root.remove();
        return Err(error);
    }
    root.enter()
}

/// Covers each of `paths` with an empty directory, or `/dev/null`. A path that does not exist or cannot be reached is
/// passed over.
fn hide(paths: impl Iterator<Item = PathBuf>) -> io::Result<()> {
    let mut empty: Option<PathBuf> = None;
    for path in paths {
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if is_out_of_reach(&error) => continue,
            Err(error) => return Err(error),
        };
        if !metadata.is_dir() {
            rustix::mount::mount_bind(NULL, &path)?;
        } else if let Some(empty) = &empty {
            rustix::mount::mount_bind(empty, &path)?;
        } else {
            // The one inode is the directory's own, so that nothing can be made in it.
            mount_tmpfs(&path, "size=4k,nr_inodes=1,mode=0555")?;
            empty = Some(path);
        }
    }
    Ok(())
}

/// Returns whether an error means that a job cannot open the path either.
fn is_out_of_reach(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied)
}

fn mount_private(at: &Path, size: u64) -> io::Result<()> {
    // An inode takes about a kilobyte of kernel memory that the size does not count.
    mount_tmpfs(at, &format!("size={size},nr_inodes={},mode=0700", (size / 4096).clamp(1024, 65_536)))
}

fn mount_shared(at: &Path, size: u64) -> io::Result<()> {
    mount_tmpfs(at, &format!("size={},nr_inodes=1024,mode=0700", size / 4))
}

fn mount_proc(at: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(rustix::mount::mount("proc", at, "proc", flags, None)?)
}

/// Makes everything below `root` read-only, so that modes, owners, times and attributes of files stay as they are, for
/// which Landlock has no right: everything but what may be written.
fn make_read_only(root: &Path, write: &[PathBuf]) -> io::Result<()> {
    let mut own = Vec::new();
    for path in write {
        // A path that does not exist cannot be written. One that exists gets a mount of its own, which stays writable.
        match rustix::mount::mount_bind_recursive(path, path) {
            Ok(()) => own.push(path),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    crate::sys::change_mounts(root, true, libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID, 0)?;
    for path in own {
        let writable = |below| crate::sys::change_mounts(path, below, 0, libc::MOUNT_ATTR_RDONLY);
        // A mount below it may be read-only for good. Where it is so itself, nothing can be written anyway.
        let _ = writable(true).or_else(|_| writable(false));
    }
    Ok(())
}

pub(super) fn mount_tmpfs(at: &Path, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("tmpfs", at, "tmpfs", flags, options.as_c_str())?;
    Ok(())
}

/// Bounds the number of processes of this namespace, where the kernel can: also for root, which no resource limit
/// bounds. Returns whether it did.
pub(super) fn bound_processes(processes: u32) -> bool {
    // Before Linux 6.14 the number is the whole machine's, and writing it from in here would change it for all
    // processes.
    if !kernel_is_at_least(6, 14) {
        return false;
    }
    // The first 300 numbers are never given out a second time. So counting begins behind them: otherwise there could be
    // 300 processes more at first. Some more than allowed are possible, for the supervisor to see it and end them all:
    // processes that only fail to fork, over and over, keep the kernel busier than any others.
    let most = 301 + processes + EXTRA_PROCESSES;
    let bounded = std::fs::write("/proc/sys/kernel/pid_max", most.to_string()).is_ok();
    let _ = std::fs::write("/proc/sys/kernel/ns_last_pid", "299");
    bounded
}

/// Processes more than allowed that a job can have until the supervisor looks.
pub(super) const EXTRA_PROCESSES: u32 = 16;

fn kernel_is_at_least(major: u32, minor: u32) -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}
