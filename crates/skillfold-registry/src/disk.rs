//! Every change to the disk goes through here, so that a test can stop the world before any of them.

use std::fmt;
use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;

/// Who may look at files that are not meant for others, and who at what was installed.
const DIR_MODE: u32 = 0o700;

/// One change to the disk that is about to happen.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Step<'p> {
    /// The system call's name.
    pub call: &'static str,
    /// What it changes.
    pub path: &'p Path,
}

/// Somebody who is asked before each change. An error is returned as if the system call had failed with it.
pub trait Seam: Send + Sync {
    /// Called before the change happens.
    fn before(&self, step: Step<'_>) -> io::Result<()>;
}

/// The disk. [`Disk::default`] is the real one; [`Disk::with_seam`] the same with somebody who is asked first.
///
/// ```
/// use std::sync::Arc;
/// use skillfold_registry::{Disk, Seam, Step};
///
/// struct Full;
/// impl Seam for Full {
///     fn before(&self, _: Step<'_>) -> std::io::Result<()> {
///         Err(std::io::ErrorKind::StorageFull.into())
///     }
/// }
/// let dir = tempfile::tempdir()?;
/// let disk = Disk::with_seam(Arc::new(Full));
/// assert!(disk.write(&dir.path().join("a"), b"text", 0o644).is_err());
/// Disk::default().write(&dir.path().join("a"), b"text", 0o644)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Disk {
    seam: Option<Arc<dyn Seam>>,
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").field("seam", &self.seam.is_some()).finish()
    }
}

impl Disk {
    /// The disk, with somebody who is asked before each change.
    pub fn with_seam(seam: Arc<dyn Seam>) -> Disk {
        Disk { seam: Some(seam) }
    }

    fn step(&self, call: &'static str, path: &Path) -> io::Result<()> {
        self.seam.as_ref().map_or(Ok(()), |seam| seam.before(Step { call, path }))
    }

    /// Makes a directory, its owner's alone.
    pub fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.step("mkdir", path)?;
        DirBuilder::new().mode(DIR_MODE).create(path)
    }

    /// Makes a directory and those above it that are missing.
    pub fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(above) = path.parent() {
            self.create_dir_all(above)?;
        }
        match self.create_dir(path) {
            // Somebody else was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made,
        }
    }

    /// Writes a new file and makes sure that it is on the disk. It must not be there yet.
    pub fn write(&self, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.write_from(path, &mut &bytes[..], mode).map(|_| ())
    }

    /// Writes a new file from a reader and makes sure that it is on the disk; how many bytes it was.
    pub fn write_from(&self, path: &Path, from: &mut dyn io::Read, mode: u32) -> io::Result<u64> {
        let (file, written) = self.fill(path, from, mode)?;
        self.step("fsync", path)?;
        file.sync_data()?;
        Ok(written)
    }

    /// The same for a file of which nobody knows yet whether it is kept: after a power cut it may be empty. (To make sure of
    /// each of 10,000 files takes a minute.)
    pub fn write_loosely(&self, path: &Path, from: &mut dyn io::Read, mode: u32) -> io::Result<u64> {
        self.fill(path, from, mode).map(|(_, written)| written)
    }

    fn fill(&self, path: &Path, from: &mut dyn io::Read, mode: u32) -> io::Result<(File, u64)> {
        self.step("open", path)?;
        let mut file = File::options().write(true).create_new(true).mode(mode).open(path)?;
        // With a seam, more steps: there are more places to stop at.
        let mut buffer = vec![0; if self.seam.is_some() { 64 } else { 1 << 16 }];
        let mut written = 0;
        loop {
            let count = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.step("write", path)?;
            file.write_all(&buffer[..count])?;
            written += count as u64;
        }
        Ok((file, written))
    }

    /// Makes a symbolic link at `path`. Nothing must be there yet.
    pub fn symlink(&self, target: &Path, path: &Path) -> io::Result<()> {
        self.step("symlink", path)?;
        std::os::unix::fs::symlink(target, path)
    }

    /// Gives a file or a directory another mode.
    pub fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.step("chmod", path)?;
        std::fs::set_permissions(path, Permissions::from_mode(mode))
    }

    /// Moves a file or a directory, in one step.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("rename", to)?;
        std::fs::rename(from, to)
    }

    /// Lets two directories change places, in one step; `Unsupported` where the file system cannot.
    pub fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.step("exchange", other)?;
        exchange(one, other)
    }

    /// Removes a file.
    pub fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step("unlink", path)?;
        std::fs::remove_file(path)
    }

    /// Removes a directory and what is in it, without following links: a link in its place is removed, not followed.
    pub fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        if !path.symlink_metadata()?.is_dir() {
            return self.remove_file(path);
        }
        // Not `std`'s, so that each removal is a step of its own.
        for entry in path.read_dir()? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                self.remove_dir_all(&entry.path())?;
            } else {
                self.remove_file(&entry.path())?;
            }
        }
        self.step("rmdir", path)?;
        std::fs::remove_dir(path)
    }

    /// Makes sure that what was made, moved or removed in a directory stays so.
    pub fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.step("fsync", path)?;
        File::open(path)?.sync_all()
    }

    /// Makes sure that a file's bytes are on the disk.
    pub fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.step("fsync", path)?;
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        File::options().read(true).custom_flags(flags).open(path)?.sync_data()
    }

    /// Makes sure that all that the file system of a directory has is on the disk; `Unsupported` where that cannot be said.
    pub fn sync_file_system(&self, dir: &Path) -> io::Result<()> {
        self.step("syncfs", dir)?;
        sync_file_system(dir)
    }

    /// Opens a file to lock it, and makes it where it is missing. Neither a link nor a pipe in its place is followed.
    pub fn open_lock(&self, path: &Path) -> io::Result<File> {
        self.step("open", path)?;
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let mut options = File::options();
        let file =
            options.create(true).truncate(false).read(true).write(true).mode(0o600).custom_flags(flags).open(path)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
    }

    /// Writes a draft, in place of what a crash may have left of one.
    pub fn draft(&self, draft: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        if draft.symlink_metadata().is_ok() {
            self.remove_dir_all(draft)?;
        }
        let written = self.write(draft, bytes, mode);
        if written.is_err() {
            // Best effort: the error that matters is the one above.
            let _ = std::fs::remove_file(draft);
        }
        written
    }

    /// Puts bytes into a file so that nobody ever sees half of it: written to a draft on the same file system, which
    /// is then moved over it. Whoever calls holds the lock that the draft's name stands under.
    pub fn replace(&self, path: &Path, draft: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.draft(draft, bytes, mode)?;
        if let Err(error) = self.rename(draft, path) {
            let _ = std::fs::remove_file(draft);
            return Err(error);
        }
        path.parent().map_or(Ok(()), |dir| self.sync_dir(dir))
    }
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(target_os = "linux")]
fn sync_file_system(dir: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(dir)?)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
