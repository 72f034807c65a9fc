//! Every change to the disk goes through here, so that a test can stop before any of them.

mod name_in_dir;

use std::fmt;
use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, renameat, symlinkat, unlinkat};

use name_in_dir::NameInDir;

/// The mode of new directories: for their owner alone.
const DIR_MODE: Mode = Mode::RWXU;
/// How deep a directory may be that is removed with everything in it.
const MAX_DEPTH: usize = 512;

/// One change to the disk that is about to happen.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct DiskStep<'p> {
    /// The system call's name.
    pub call: &'static str,
    /// The path that it changes.
    pub path: &'p Path,
}

/// A hook that is called before each change. An error is returned as if the system call had failed with it.
type Seam = dyn Fn(DiskStep<'_>) -> io::Result<()> + Send + Sync;

/// The disk. [`Disk::default`] is the real one; [`Disk::with_seam`] calls a hook before each change.
///
/// ```
/// use skillcue_registry::Disk;
///
/// let dir = tempfile::tempdir()?;
/// let disk = Disk::with_seam(|_| Err(std::io::ErrorKind::StorageFull.into()));
/// assert!(disk.write(&dir.path().join("a"), b"text", 0o644).is_err());
/// Disk::default().write(&dir.path().join("a"), b"text", 0o644)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Disk {
    seam: Option<Arc<Seam>>,
    /// Below it no link is followed.
    root: Option<PathBuf>,
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").field("seam", &self.seam.is_some()).field("root", &self.root).finish()
    }
}

impl Disk {
    /// Returns the disk with a hook that is called before each change.
    pub fn with_seam(seam: impl Fn(DiskStep<'_>) -> io::Result<()> + Send + Sync + 'static) -> Disk {
        Disk { seam: Some(Arc::new(seam)), root: None }
    }

    /// Returns this disk so that no link is followed below a directory, whatever another process puts there meanwhile.
    pub(crate) fn below(mut self, root: &Path) -> Disk {
        self.root = Some(root.to_owned());
        self
    }

    fn at<'p>(&self, path: &'p Path) -> io::Result<NameInDir<'p>> {
        NameInDir::new(self.root.as_deref(), path)
    }

    fn step(&self, call: &'static str, path: &Path) -> io::Result<()> {
        self.seam.as_ref().map_or(Ok(()), |seam| seam(DiskStep { call, path }))
    }

    /// Makes a directory, its owner's alone.
    pub fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.step("mkdir", path)?;
        let at = self.at(path)?;
        Ok(mkdirat(at.dir(), at.name, DIR_MODE)?)
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
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made,
        }
    }

    /// Writes a new file and makes sure that it is on the disk. It must not be there yet.
    pub fn write(&self, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.write_from(path, &mut &bytes[..], mode).map(|_| ())
    }

    /// Writes a new file from a reader, makes sure that it is on the disk, and returns its length in bytes.
    pub fn write_from(&self, path: &Path, from: &mut dyn io::Read, mode: u32) -> io::Result<u64> {
        let (file, written) = self.fill(path, from, mode)?;
        self.step("fsync", path)?;
        file.sync_data()?;
        Ok(written)
    }

    /// Like `write_from`, without syncing, for a file that may not be kept: after a power cut it may be empty. (Syncing
    /// each of 10,000 files takes a minute.)
    pub fn write_loosely(&self, path: &Path, from: &mut dyn io::Read, mode: u32) -> io::Result<u64> {
        self.fill(path, from, mode).map(|(_, written)| written)
    }

    fn fill(&self, path: &Path, from: &mut dyn io::Read, mode: u32) -> io::Result<(File, u64)> {
        self.step("open", path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mut file = File::from(self.at(path)?.open(flags, name_in_dir::mode(mode))?);
        // With a seam, more steps: there are more points to stop at.
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
        let at = self.at(path)?;
        Ok(symlinkat(target, at.dir(), at.name)?)
    }

    /// Gives a file or a directory another mode. A link in its place is not followed.
    pub fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.step("chmod", path)?;
        let file = File::from(self.at(path)?.open(OFlags::NONBLOCK, Mode::empty())?);
        file.set_permissions(Permissions::from_mode(mode))
    }

    /// Moves a file or a directory, in one step.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("rename", to)?;
        let (from, to) = (self.at(from)?, self.at(to)?);
        Ok(renameat(from.dir(), from.name, to.dir(), to.name)?)
    }

    /// Exchanges two directories in one step; `Unsupported` where the file system cannot.
    pub fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.step("exchange", other)?;
        exchange(&self.at(one)?, &self.at(other)?)
    }

    /// Removes a file.
    pub fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step("unlink", path)?;
        self.at(path)?.unlink()
    }

    /// Removes an empty directory.
    pub fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.step("rmdir", path)?;
        let at = self.at(path)?;
        Ok(unlinkat(at.dir(), at.name, AtFlags::REMOVEDIR)?)
    }

    /// Removes a directory and what is in it, without following links: a link in its place is removed, not followed.
    /// Each directory is held open while it is emptied, so that this holds whatever others move meanwhile.
    pub fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let at = self.at(path)?;
        self.remove_at(at.dir(), at.name, path, 0)
    }

    fn remove_at(&self, dir: BorrowedFd<'_>, name: &Path, path: &Path, depth: usize) -> io::Result<()> {
        let Some(inside) = name_in_dir::open_dir(dir, name)? else {
            self.step("unlink", path)?;
            return Ok(unlinkat(dir, name, AtFlags::empty())?);
        };
        if depth > MAX_DEPTH {
            return Err(io::Error::other(format!("it is more than {MAX_DEPTH} directories deep")));
        }
        for name in name_in_dir::names(&inside)? {
            self.remove_at(std::os::fd::AsFd::as_fd(&inside), Path::new(&name), &path.join(&name), depth + 1)?;
        }
        self.step("rmdir", path)?;
        Ok(unlinkat(dir, name, AtFlags::REMOVEDIR)?)
    }

    /// Syncs a directory: entries that were made, moved or removed in it stay so.
    pub fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.step("fsync", path)?;
        File::open(path)?.sync_all()
    }

    /// Syncs a file's bytes to the disk.
    pub fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.step("fsync", path)?;
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        File::options().read(true).custom_flags(flags).open(path)?.sync_data()
    }

    /// Syncs the whole file system of a directory; `Unsupported` where the system has no such call.
    pub fn sync_file_system(&self, dir: &Path) -> io::Result<()> {
        self.step("syncfs", dir)?;
        sync_file_system(dir)
    }

    /// Opens a file to lock it, and makes it where it is missing. Neither a link nor a pipe in its place is followed.
    pub fn open_lock(&self, path: &Path) -> io::Result<File> {
        self.step("open", path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK;
        let file = File::from(self.at(path)?.open(flags, name_in_dir::mode(0o600))?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
    }

    /// Writes a draft, replacing one that a crash may have left.
    pub fn draft(&self, draft: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        if draft.symlink_metadata().is_ok() {
            self.remove_dir_all(draft)?;
        }
        let written = self.write(draft, bytes, mode);
        if written.is_err() {
            // Best effort: the error that matters is the one above.
            let _ = self.at(draft).and_then(|at| at.unlink());
        }
        written
    }

    /// Replaces a file's content so that no reader ever sees half of it: written to a draft on the same file system,
    /// which is then moved over it. The caller holds the lock that protects the draft's name.
    pub fn replace(&self, path: &Path, draft: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.draft(draft, bytes, mode)?;
        if let Err(error) = self.rename(draft, path) {
            let _ = self.at(draft).and_then(|at| at.unlink());
            return Err(error);
        }
        path.parent().map_or(Ok(()), |dir| self.sync_dir(dir))
    }
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(one: &NameInDir<'_>, other: &NameInDir<'_>) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    Ok(renameat_with(one.dir(), one.name, other.dir(), other.name, RenameFlags::EXCHANGE)?)
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
fn exchange(_: &NameInDir<'_>, _: &NameInDir<'_>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
