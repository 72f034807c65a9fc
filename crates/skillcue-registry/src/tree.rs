//! The content of installed and staged directories, read with this crate's limits and errors.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use skillcue_catalog::{Content, ContentError, GapReason, SkillDir, SkillTree, TreeLimits};

use crate::RegistryError;

/// The limits for reading one directory. Fetching allows less.
const LIMITS: TreeLimits = TreeLimits { max_files: 1 << 20, max_bytes: u64::MAX, max_depth: 100, max_entries: 1 << 20 };

/// Returns whether a path in the lock is one that a file in a directory can have.
pub(crate) fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.contains('\0')
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// Reads a directory and every file in it, following no link.
pub(crate) fn scan(dir: &Path) -> Result<Content, RegistryError> {
    if !dir.symlink_metadata().map_err(|error| RegistryError::file("look at", dir, error))?.is_dir() {
        return Err(RegistryError::NotADirectory { path: dir.to_owned() });
    }
    let opened = SkillDir::open(&dir.to_string_lossy(), dir);
    opened.map_err(ContentError::Dir).and_then(|opened| Content::of(&opened, &LIMITS)).map_err(|error| match error {
        ContentError::Gap(gap) => {
            let path = dir.join(&gap.path);
            match gap.reason {
                GapReason::Unreadable(error) => RegistryError::file("list", &path, error),
                _ => RegistryError::file("list", &path, io::Error::other(gap)),
            }
        }
        ContentError::Unreadable { path, source } => RegistryError::file("read", &dir.join(path), source),
        ContentError::Dir(error) => RegistryError::file("look at", dir, error.into()),
        other => RegistryError::file("read", dir, io::Error::other(other)),
    })
}

/// Starts a walk over everything below a directory; `None` if it cannot be opened.
pub(crate) fn walk(dir: &Path) -> Option<SkillTree> {
    SkillDir::open(&dir.to_string_lossy(), dir).and_then(|dir| dir.tree(&LIMITS)).ok()
}

/// Opens a regular file, and neither a link nor a pipe that was put in its place.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

/// Opens a regular file, perhaps through a link: people link their settings.
#[cfg(feature = "oci")]
pub(crate) fn open_followed(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_a_directory_is_none() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("link")).unwrap();
        assert!(matches!(scan(&dir.path().join("link")), Err(RegistryError::NotADirectory { .. })));
    }

    #[test]
    fn paths_of_a_lock() {
        for bad in ["", "/", "/a", "a/", "a//b", "../a", "a/..", "./a", "a\0"] {
            assert!(!is_inside(bad), "{bad:?}");
        }
        assert!(is_inside("a") && is_inside("a/..b/c d"));
    }
}
