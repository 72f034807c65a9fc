//! A directory, copied without following a link out of it.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use skillcue_catalog::{EntryKind, FileError, GapReason, SkillDir, TreeEntry, TreeGap, TreeLimits};

use super::context::{FetchContext, carry};
use super::error::{Exceeded, FetchError, Refusal};
use super::tree::FetchTree;
use crate::Disk;

/// How deep the walk goes, whatever the limits allow: each level holds a file descriptor.
const MAX_DEPTH: usize = 256;
/// How many entries may be passed over that are not copied, and so not counted: those of `.git`.
const MAX_LEFT_OUT: usize = 1000;

/// Copies the directory at `path`, without directories called `.git`.
pub(super) fn fetch(path: &Path, into: &Path, disk: &Disk, context: &FetchContext<'_>) -> Result<(), FetchError> {
    // The directory itself was named by a person and may be reached through links.
    let unreadable = |error: FileError| FetchError::Read { path: path.to_path_buf(), source: error.into() };
    let opened = SkillDir::open(&path.to_string_lossy(), path).map_err(unreadable)?;
    let target =
        std::fs::symlink_metadata(into).map_err(|source| FetchError::Read { path: into.to_path_buf(), source })?;
    let mut copy = DirectoryCopy {
        top: path,
        target: (target.dev(), target.ino()),
        context,
        tree: FetchTree::new(into, disk, context),
    };
    copy.run(&opened)?;
    copy.tree.finish()
}

struct DirectoryCopy<'a> {
    top: &'a Path,
    /// The device and inode of the target: it may be below the copied directory, and is no part of the copy.
    target: (u64, u64),
    context: &'a FetchContext<'a>,
    tree: FetchTree<'a>,
}

impl DirectoryCopy<'_> {
    fn run(&mut self, dir: &SkillDir) -> Result<(), FetchError> {
        let limits = TreeLimits {
            max_depth: MAX_DEPTH,
            max_entries: self.context.limits.entries.saturating_add(MAX_LEFT_OUT),
            ..TreeLimits::default()
        };
        let mut tree = dir.tree(&limits).map_err(|error| self.unreadable(b"", error.into()))?;
        while let Some(entry) = tree.next_entry() {
            let entry = entry.map_err(|gap| self.gap(gap))?;
            if !self.entry(&entry)? {
                tree.skip_directory();
            }
        }
        Ok(())
    }

    /// Copies an entry. Returns whether to descend, if it is a directory.
    fn entry(&mut self, entry: &TreeEntry<'_>) -> Result<bool, FetchError> {
        let rel = entry.path().as_os_str().as_bytes();
        let special = match entry.kind() {
            EntryKind::File => return self.file(entry).map(|()| true),
            EntryKind::Directory if entry.name().eq_ignore_ascii_case(".git") => return Ok(false),
            EntryKind::Directory => {
                let found = entry.metadata().map_err(|error| self.vanished(rel, error))?;
                if found.identity == self.target {
                    return Ok(false);
                }
                return self.tree.directory(rel).map(|()| true);
            }
            EntryKind::Link => {
                let target = entry.link_target().map_err(|error| self.vanished(rel, error))?;
                return self.tree.link(rel, target.as_bytes()).map(|()| true);
            }
            EntryKind::Pipe => "a named pipe",
            EntryKind::Socket => "a socket",
            EntryKind::Device => "a device",
            EntryKind::Unknown => "something unknown",
        };
        Err(self.context.refused(rel, Refusal::Special(special)))
    }

    fn file(&mut self, entry: &TreeEntry<'_>) -> Result<(), FetchError> {
        let rel = entry.path().as_os_str().as_bytes();
        let file = entry.open_file().map_err(|error| self.vanished(rel, error))?;
        let path = self.path(rel);
        let mut source = NamedFile { file, path: &path };
        let before = source.file.metadata().map_err(|error| self.unreadable(rel, error))?;
        self.tree.file(rel, before.mode(), &mut source)?;
        let after = source.file.metadata().map_err(|error| self.unreadable(rel, error))?;
        let stamp = |file: &Metadata| (file.size(), file.mtime(), file.mtime_nsec());
        if stamp(&before) != stamp(&after) {
            return Err(FetchError::Changed { path });
        }
        Ok(())
    }

    fn gap(&self, gap: TreeGap) -> FetchError {
        let rel = gap.path.as_os_str().as_bytes();
        match gap.reason {
            GapReason::Unreadable(error) => self.vanished(rel, error),
            GapReason::Entries(_) => self.context.exceeded(Exceeded::Entries(self.context.limits.entries)),
            _ => self.unreadable(rel, io::Error::other(gap.to_string())),
        }
    }

    fn path(&self, rel: &[u8]) -> PathBuf {
        self.top.join(std::ffi::OsStr::from_bytes(rel))
    }

    fn unreadable(&self, rel: &[u8], source: io::Error) -> FetchError {
        FetchError::Read { path: self.path(rel), source }
    }

    /// Returns the error for an entry that was there a moment ago, or was of another kind.
    fn vanished(&self, rel: &[u8], error: io::Error) -> FetchError {
        match Errno::from_io_error(&error) {
            Some(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::NXIO) => {
                FetchError::Changed { path: self.path(rel) }
            }
            _ => self.unreadable(rel, error),
        }
    }
}

/// A file whose errors name it.
struct NamedFile<'p> {
    file: File,
    path: &'p Path,
}

impl io::Read for NamedFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer).map_err(|source| {
            if source.kind() == io::ErrorKind::Interrupted {
                return source;
            }
            carry(FetchError::Read { path: self.path.to_path_buf(), source })
        })
    }
}
