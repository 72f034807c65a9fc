//! A directory, copied without following a link out of it.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;

use super::error::{Exceeded, FetchError, Refusal};
use super::tree::Tree;
use super::watch::{Watch, carry};
use crate::Disk;

const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Never waits for the other end of a pipe, and never goes through a link.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Copies the directory at `path`, but for what git keeps there.
pub(super) fn fetch(path: &Path, into: &Path, disk: &Disk, watch: &Watch<'_>) -> Result<(), FetchError> {
    // The directory itself was named by a person and may be reached through links.
    let unreadable = |error: Errno| FetchError::Read { path: path.to_path_buf(), source: error.into() };
    let handle = rustix::fs::open(path, LIST, Mode::empty()).map_err(unreadable)?;
    let target =
        std::fs::symlink_metadata(into).map_err(|source| FetchError::Read { path: into.to_path_buf(), source })?;
    let mut copy = Copy { top: path, target: (target.dev(), target.ino()), watch, tree: Tree::new(into, disk, watch) };
    copy.directory(&handle, &mut Vec::new())?;
    copy.tree.finish()
}

struct Copy<'a> {
    top: &'a Path,
    /// Where the copy goes: it may stand below what is copied, and is no part of it.
    target: (u64, u64),
    watch: &'a Watch<'a>,
    tree: Tree<'a>,
}

impl Copy<'_> {
    /// Copies what stands in the directory `rel`, whose handle is `handle`.
    fn directory(&mut self, handle: &OwnedFd, rel: &mut Vec<u8>) -> Result<(), FetchError> {
        let mut names = Vec::new();
        let listing = Dir::read_from(handle).map_err(|error| self.unreadable(rel, error.into()))?;
        for entry in listing {
            let entry = entry.map_err(|error| self.unreadable(rel, error.into()))?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.to_vec());
            }
            // Not only when they are copied: a listing is memory.
            if names.len() > self.watch.limits.entries {
                return Err(self.watch.exceeded(Exceeded::Entries(self.watch.limits.entries)));
            }
        }
        names.sort_unstable();
        for name in names {
            let length = rel.len();
            if length > 0 {
                rel.push(b'/');
            }
            rel.extend_from_slice(&name);
            self.entry(handle.as_fd(), OsStr::from_bytes(&name), rel)?;
            rel.truncate(length);
        }
        Ok(())
    }

    fn entry(&mut self, dir: BorrowedFd<'_>, name: &OsStr, rel: &mut Vec<u8>) -> Result<(), FetchError> {
        let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| self.vanished(rel, error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => self.file(dir, name, rel),
            FileType::Directory if name.eq_ignore_ascii_case(".git") => Ok(()),
            FileType::Directory => {
                let handle = openat(dir, name, LIST | OFlags::NOFOLLOW, Mode::empty());
                let handle = File::from(handle.map_err(|error| self.vanished(rel, error))?);
                let metadata = handle.metadata().map_err(|error| self.unreadable(rel, error))?;
                if (metadata.dev(), metadata.ino()) == self.target {
                    return Ok(());
                }
                self.tree.directory(rel)?;
                self.directory(&handle.into(), rel)
            }
            FileType::Symlink => {
                let target = readlinkat(dir, name, Vec::new()).map_err(|error| self.vanished(rel, error))?;
                self.tree.link(rel, target.to_bytes())
            }
            FileType::Fifo => Err(self.watch.refused(rel, Refusal::Special("a named pipe"))),
            FileType::Socket => Err(self.watch.refused(rel, Refusal::Special("a socket"))),
            FileType::CharacterDevice | FileType::BlockDevice => {
                Err(self.watch.refused(rel, Refusal::Special("a device")))
            }
            FileType::Unknown => Err(self.watch.refused(rel, Refusal::Special("something unknown"))),
        }
    }

    fn file(&mut self, dir: BorrowedFd<'_>, name: &OsStr, rel: &[u8]) -> Result<(), FetchError> {
        let handle = openat(dir, name, READ, Mode::empty()).map_err(|error| self.vanished(rel, error))?;
        let path = self.path(rel);
        let mut source = Source { file: File::from(handle), path: &path };
        let before = source.file.metadata().map_err(|error| self.unreadable(rel, error))?;
        if !before.is_file() {
            return Err(FetchError::Changed { path });
        }
        self.tree.file(rel, before.mode(), &mut source)?;
        let after = source.file.metadata().map_err(|error| self.unreadable(rel, error))?;
        let stamp = |file: &Metadata| (file.size(), file.mtime(), file.mtime_nsec());
        if stamp(&before) != stamp(&after) {
            return Err(FetchError::Changed { path });
        }
        Ok(())
    }

    fn path(&self, rel: &[u8]) -> PathBuf {
        self.top.join(OsStr::from_bytes(rel))
    }

    fn unreadable(&self, rel: &[u8], source: io::Error) -> FetchError {
        FetchError::Read { path: self.path(rel), source }
    }

    /// It was there a moment ago, as something else or at all.
    fn vanished(&self, rel: &[u8], error: Errno) -> FetchError {
        match error {
            Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::NXIO => FetchError::Changed { path: self.path(rel) },
            error => self.unreadable(rel, error.into()),
        }
    }
}

/// A file whose errors name it.
struct Source<'p> {
    file: File,
    path: &'p Path,
}

impl io::Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer).map_err(|source| {
            if source.kind() == io::ErrorKind::Interrupted {
                return source;
            }
            carry(FetchError::Read { path: self.path.to_path_buf(), source })
        })
    }
}
