//! Names in directories that are held open: another process that renames directories cannot lead us elsewhere
//! meanwhile.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;

/// Flags for a directory that is only passed through: to look up a name in it needs no right to list it.
#[cfg(target_os = "linux")]
const THROUGH: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const THROUGH: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// A name in a directory.
pub(super) struct NameInDir<'p> {
    dir: Option<OwnedFd>,
    pub(super) name: &'p Path,
}

impl<'p> NameInDir<'p> {
    /// Opens the directory of a path. Below the root, if there is one, no link is followed on the way.
    pub(super) fn new(root: Option<&Path>, path: &'p Path) -> io::Result<NameInDir<'p>> {
        let below = root.and_then(|root| Some((root, path.strip_prefix(root).ok()?)));
        let (Some((root, below)), Some(name)) = (below, path.file_name()) else {
            return Ok(NameInDir { dir: None, name: path });
        };
        let Some(above) = below.parent() else { return Ok(NameInDir { dir: None, name: path }) };
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        // The way to the root is the caller's business, and may lead through links.
        let mut dir = openat(CWD, root, THROUGH, Mode::empty())?;
        for part in above.components() {
            let Component::Normal(part) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
            dir = openat(&dir, part, THROUGH | OFlags::NOFOLLOW, Mode::empty())?;
        }
        Ok(NameInDir { dir: Some(dir), name: Path::new(name) })
    }

    pub(super) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_ref().map_or(CWD, AsFd::as_fd)
    }

    pub(super) fn open(&self, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        Ok(openat(self.dir(), self.name, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, mode)?)
    }

    pub(super) fn unlink(&self) -> io::Result<()> {
        Ok(unlinkat(self.dir(), self.name, AtFlags::empty())?)
    }
}

/// Returns the permission bits of a new file as a `Mode`.
pub(super) fn mode(bits: u32) -> Mode {
    // The raw type has 16 bits on some systems, which these nine fit into.
    Mode::from_bits_truncate((bits & 0o777) as _)
}

/// Opens a directory in another one to list it; `None` if it is something else, a link for instance.
pub(super) fn open_dir(dir: BorrowedFd<'_>, name: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(dir, name, flags, Mode::empty()) {
        Ok(found) => Ok(Some(found)),
        // Which of the two is returned for a link depends on the system.
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Lists the names in a directory.
pub(super) fn names(dir: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}
