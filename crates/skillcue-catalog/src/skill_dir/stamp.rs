//! Stamps of files: enough to determine whether a file is still the one that was read.

use std::ffi::CString;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The modification time, the size and the identity of a file.
///
/// Two equal stamps of one path mean that the file there is still the one that was read: an edit changes the time or
/// the size, a file moved into place has another inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// Last modification, in nanoseconds since 1970. Wide, because file systems store times that overflow `i64`.
    pub modified_ns: i128,
    /// Size in bytes.
    pub size: u64,
    /// The inode.
    pub inode: u64,
}

impl FileStamp {
    /// Returns the stamp of a file with this metadata.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            modified_ns: nanoseconds(metadata.mtime().into(), metadata.mtime_nsec().into()),
            size: metadata.len(),
            inode: metadata.ino(),
        }
    }

    /// Returns the stamp of a file with this `stat`.
    pub(crate) fn of_stat(stat: &rustix::fs::Stat) -> Self {
        Self {
            modified_ns: nanoseconds(stat.st_mtime.into(), stat.st_mtime_nsec.into()),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            inode: stat.st_ino,
        }
    }
}

/// The stamp of a skill file, in as little memory as possible: catalogs hold a hundred thousand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompactStamp {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u32,
    /// Skill files are far below 4 GiB: larger ones are refused.
    pub(crate) size: u32,
    pub(crate) inode: u64,
}

impl CompactStamp {
    /// Returns the stamp of a skill file with this `stat`.
    pub(crate) fn of_stat(stat: &rustix::fs::Stat) -> Self {
        Self {
            seconds: stat.st_mtime,
            nanoseconds: u32::try_from(stat.st_mtime_nsec).unwrap_or(u32::MAX),
            size: u32::try_from(stat.st_size).unwrap_or(u32::MAX),
            inode: stat.st_ino,
        }
    }

    /// Returns the stamp in its public form.
    pub(crate) fn wide(self) -> FileStamp {
        FileStamp {
            modified_ns: nanoseconds(self.seconds.into(), self.nanoseconds.into()),
            size: self.size.into(),
            inode: self.inode,
        }
    }
}

fn nanoseconds(seconds: i128, nanoseconds: i128) -> i128 {
    seconds * 1_000_000_000 + nanoseconds
}

/// A path prepared for many requests of its [`FileStamp`].
///
/// A cached load is one `stat` and little else, so the path is converted to the system call's form once, here, and not
/// at every call.
///
/// ```
/// use skillcue_catalog::{FileStamp, StampPath};
///
/// let dir = tempfile::tempdir()?;
/// let file = dir.path().join("SKILL.md");
/// std::fs::write(&file, "one")?;
/// let path = StampPath::new(&file)?;
/// let before = path.stamp()?;
/// assert_eq!(before, FileStamp::of(&std::fs::metadata(&file)?));
///
/// std::fs::write(&file, "three")?;
/// assert_ne!(before, path.stamp()?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StampPath(CString);

impl StampPath {
    /// Prepares `path`. Fails if it contains a NUL.
    pub fn new(path: &Path) -> io::Result<Self> {
        Ok(Self(CString::new(path.as_os_str().as_bytes())?))
    }

    /// Returns the stamp of the file at the path now, links followed. Exactly one `stat`; nothing is opened or read.
    pub fn stamp(&self) -> io::Result<FileStamp> {
        Ok(FileStamp::of_stat(&rustix::fs::stat(self.0.as_c_str())?))
    }
}
