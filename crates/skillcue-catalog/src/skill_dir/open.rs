//! Opening of paths below a directory handle: they are resolved and opened in one step.
//!
//! The kernel does it best: `openat2` with `RESOLVE_BENEATH` walks the path and refuses, during the walk, every step
//! that would leave the directory. There is no moment between check and use in which a link could be swapped. Where
//! that call is missing (before Linux 5.6, under a seccomp filter that does not know it, on other systems) `cap-std`
//! walks the path component by component with handles to the same end.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use super::error::SecurityReason;
use super::tree::EntryMetadata;

/// The resolver of paths. The choice exists for tests: both must give the same answers.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// The kernel, and `cap-std` where the kernel cannot.
    #[default]
    Auto,
    /// The kernel alone: fails where `openat2` is missing.
    Kernel,
    /// `cap-std` alone.
    Portable,
}

/// The reason why a path could not be opened, without the skill's name.
#[derive(Debug)]
pub(super) enum ResolveError {
    Security(SecurityReason),
    NotFound,
    Io(io::Error),
}

/// The kind of file at a path, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetKind {
    File { size: u64 },
    Directory,
    Special,
}

/// A directory handle; nothing above the directory is opened through it.
#[derive(Debug)]
pub(super) struct ConfinedDir {
    dir: Dir,
    backend: Backend,
}

impl ConfinedDir {
    /// Opens `path` with the rights of the process: the one step that is not confined.
    pub(super) fn open(path: &Path, backend: Backend) -> io::Result<Self> {
        Ok(Self { dir: Dir::open_ambient_dir(path, ambient_authority())?, backend })
    }

    /// Returns the metadata of the directory itself.
    pub(super) fn metadata(&self) -> io::Result<EntryMetadata> {
        Ok(EntryMetadata::of(&rustix::fs::fstat(&self.dir)?))
    }

    /// Opens `path` for reading, whatever it is. Never blocks.
    ///
    /// A pipe without a writer would block an ordinary open for ever, and a terminal would become the process's own.
    pub(super) fn open_file(&self, path: &str) -> Result<File, ResolveError> {
        #[cfg(target_os = "linux")]
        if let Some(result) = self.kernel(path, kernel::READ) {
            return result;
        }
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt;
            use rustix::fs::OFlags;
            options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
        }
        self.dir.open_with(path, &options).map(cap_std::fs::File::into_std).map_err(classify)
    }

    /// Opens the directory at `path` in order to read its entries.
    pub(super) fn open_directory(&self, path: &str) -> Result<Dir, ResolveError> {
        #[cfg(target_os = "linux")]
        if let Some(result) = self.kernel(path, kernel::DIRECTORY) {
            return result.map(Dir::from_std_file);
        }
        self.dir.open_dir(path).map_err(classify)
    }

    /// Returns the kind of file at `path` without opening it for reading.
    pub(super) fn probe(&self, path: &str) -> Result<TargetKind, ResolveError> {
        #[cfg(target_os = "linux")]
        if let Some(result) = self.kernel(path, kernel::LOOK) {
            let metadata = result?.metadata().map_err(ResolveError::Io)?;
            return Ok(TargetKind::new(metadata.is_file(), metadata.is_dir(), metadata.len()));
        }
        let metadata = self.dir.metadata(path).map_err(classify)?;
        Ok(TargetKind::new(metadata.is_file(), metadata.is_dir(), metadata.len()))
    }

    /// Returns the kernel's result, or `None` if the portable resolver must be used.
    #[cfg(target_os = "linux")]
    fn kernel(&self, path: &str, flags: rustix::fs::OFlags) -> Option<Result<File, ResolveError>> {
        if self.backend == Backend::Portable {
            return None;
        }
        match kernel::open_beneath(&self.dir, path, flags) {
            Ok(file) => Some(Ok(file)),
            Err(errno) if self.backend == Backend::Auto && kernel::is_unavailable(errno) => None,
            Err(errno) => Some(Err(classify(errno.into()))),
        }
    }
}

impl TargetKind {
    fn new(is_file: bool, is_dir: bool, size: u64) -> Self {
        match (is_file, is_dir) {
            (true, _) => Self::File { size },
            (_, true) => Self::Directory,
            _ => Self::Special,
        }
    }
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::fs::File;

    use cap_std::fs::Dir;
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;

    pub(super) const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
    pub(super) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    pub(super) const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

    /// The kernel answers `EAGAIN` when something was renamed or mounted anywhere while it resolved a `..`: it could
    /// not prove that the path stayed inside. One retry is usually enough; on a host that renames all the time the
    /// component-wise walk, which does not mind renames, takes over.
    const MAX_ATTEMPTS: usize = 32;

    pub(super) fn open_beneath(dir: &Dir, path: &str, flags: OFlags) -> Result<File, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut attempt = 1;
        loop {
            match openat2(dir, path, flags, Mode::empty(), resolve) {
                Ok(fd) => return Ok(File::from(fd)),
                Err(Errno::AGAIN | Errno::INTR) if attempt < MAX_ATTEMPTS => attempt += 1,
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Returns whether the call itself is missing, rather than the file. `EPERM` is what older container runtimes
    /// answer for calls that they do not know; the portable walk then finds out whether the file is really forbidden.
    pub(super) fn is_unavailable(errno: Errno) -> bool {
        matches!(errno, Errno::NOSYS | Errno::PERM | Errno::AGAIN)
    }
}

/// Classifies an error of the operating system or of `cap-std`.
fn classify(error: io::Error) -> ResolveError {
    use io::ErrorKind;

    // `cap-std` reports an escape as a permission error of its own making, that is, without an error number.
    if error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        return ResolveError::Security(SecurityReason::LeadsOut);
    }
    #[cfg(unix)]
    if let Some(errno) = rustix::io::Errno::from_io_error(&error) {
        use rustix::io::Errno;
        match errno {
            Errno::XDEV => return ResolveError::Security(SecurityReason::LeadsOut),
            Errno::LOOP => return ResolveError::Security(SecurityReason::LinkLoop),
            // A socket, or a device without a driver, cannot be opened at all.
            Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => {
                return ResolveError::Security(SecurityReason::SpecialFile);
            }
            _ => {}
        }
    }
    match error.kind() {
        // A file cannot be below another file, nor have a name longer than names can be.
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => ResolveError::NotFound,
        _ => ResolveError::Io(error),
    }
}
