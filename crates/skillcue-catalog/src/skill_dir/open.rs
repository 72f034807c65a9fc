//! Opening of paths below a directory handle: they are resolved and opened in one step.
//!
//! `cap-std` does it: on Linux by `openat2` with `RESOLVE_BENEATH`, which refuses, during the walk, every step that
//! would leave the directory, so that there is no moment between check and use in which a link could be swapped. Where
//! that call is missing or gives up (before Linux 5.6, under a seccomp filter that does not know it, beside endless
//! renames, on other systems) it walks the path component by component with handles to the same end.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::error::SecurityReason;
use super::tree::EntryMetadata;

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
pub(super) struct ConfinedDir(Dir);

impl ConfinedDir {
    /// Opens `path` with the rights of the process: the one step that is not confined.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Dir::open_ambient_dir(path, ambient_authority()).map(Self)
    }

    /// Returns the metadata of the directory itself.
    pub(super) fn metadata(&self) -> io::Result<EntryMetadata> {
        Ok(EntryMetadata::of(&rustix::fs::fstat(&self.0)?))
    }

    /// Opens `path` for reading, whatever it is. Never blocks.
    ///
    /// A pipe without a writer would block an ordinary open for ever, and a terminal would become the process's own.
    pub(super) fn open_file(&self, path: &str) -> Result<File, ResolveError> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
        self.0.open_with(path, &options).map(cap_std::fs::File::into_std).map_err(classify)
    }

    /// Opens the directory at `path` in order to read its entries.
    pub(super) fn open_directory(&self, path: &str) -> Result<Dir, ResolveError> {
        self.0.open_dir(path).map_err(classify)
    }

    /// Returns the kind of file at `path` without opening it for reading.
    pub(super) fn probe(&self, path: &str) -> Result<TargetKind, ResolveError> {
        let metadata = self.0.metadata(path).map_err(classify)?;
        Ok(match (metadata.is_file(), metadata.is_dir()) {
            (true, _) => TargetKind::File { size: metadata.len() },
            (_, true) => TargetKind::Directory,
            _ => TargetKind::Special,
        })
    }
}

/// Classifies an error of the operating system or of `cap-std`.
fn classify(error: io::Error) -> ResolveError {
    use io::ErrorKind;

    // `cap-std` reports an escape as a permission error of its own making, that is, without an error number.
    if error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        return ResolveError::Security(SecurityReason::LeadsOut);
    }
    match Errno::from_io_error(&error) {
        Some(Errno::XDEV) => return ResolveError::Security(SecurityReason::LeadsOut),
        Some(Errno::LOOP) => return ResolveError::Security(SecurityReason::LinkLoop),
        // A socket, or a device without a driver, cannot be opened at all.
        Some(Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP) => {
            return ResolveError::Security(SecurityReason::SpecialFile);
        }
        _ => {}
    }
    match error.kind() {
        // A file cannot be below another file, nor have a name longer than names can be.
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => ResolveError::NotFound,
        _ => ResolveError::Io(error),
    }
}
