//! The job's private temporary directory.

use std::ffi::{CStr, CString};
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, chmodat, openat, renameat, unlinkat};
use rustix::path::Arg;

/// The private temporary directory, removed with all in it when this is dropped.
pub(super) struct PrivateTmp(PathBuf);

impl PrivateTmp {
    pub(super) fn new(base: &Path) -> io::Result<PrivateTmp> {
        use std::os::unix::fs::DirBuilderExt;
        let mut random = [0_u8; 8];
        fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
        let path = base.join(format!("skillcue-{:016x}", u64::from_ne_bytes(random)));
        let named = |error: io::Error| {
            let base = base.display();
            io::Error::other(format!(
                "no directory can be made in {base}: {error}; set TMPDIR to one that can be written"
            ))
        };
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(named)?;
        Ok(PrivateTmp(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateTmp {
    fn drop(&mut self) {
        // Nearly always an empty directory: what was written was in a file system of the namespace.
        if fs::remove_dir(&self.0).is_err() {
            let _ = empty(&self.0);
            let _ = fs::remove_dir(&self.0);
        }
    }
}

/// Empties a directory, however deep it is: the entries of each directory are moved up to `dir` and removed from there,
/// so that no path gets too long, and neither the stack nor the descriptors run out. No process can interfere
/// meanwhile: those that could write here are gone.
fn empty(dir: &Path) -> io::Result<()> {
    let top = open(CWD, dir)?;
    let mut moved = 0_u64;
    loop {
        let names = names(&top)?;
        let mut removed = false;
        for name in &names {
            removed |= match unlinkat(&top, name, AtFlags::empty()) {
                Ok(()) => true,
                Err(_) => remove_directory(&top, name, &mut moved).is_ok(),
            };
        }
        if !removed {
            return if names.is_empty() { Ok(()) } else { Err(io::Error::other("something cannot be removed")) };
        }
    }
}

/// Removes a directory after moving all of its entries up to `top`.
fn remove_directory(top: &OwnedFd, name: &CStr, moved: &mut u64) -> io::Result<()> {
    let all = Mode::RWXU;
    // A directory that its owner may not write cannot be emptied, nor moved.
    chmodat(top, name, all, AtFlags::empty())?;
    let directory = open(top, name)?;
    for inside in names(&directory)? {
        if unlinkat(&directory, &inside, AtFlags::empty()).is_ok() {
            continue;
        }
        let _ = chmodat(&directory, &inside, all, AtFlags::empty());
        // The name may be taken by something that was here before; not by many.
        for _ in 0..MAX_NAMES {
            *moved += 1;
            if renameat(&directory, &inside, top, format!(".moved-{moved}")).is_ok() {
                break;
            }
        }
    }
    Ok(unlinkat(top, name, AtFlags::REMOVEDIR)?)
}

/// Names that are tried for one entry.
const MAX_NAMES: u32 = 1000;

fn open(at: impl AsFd, path: impl Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, path, flags, Mode::empty())?)
}

/// Returns the names of a directory's entries.
fn names(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if name.as_c_str() != c"." && name.as_c_str() != c".." {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_deep_and_locked_tree_is_removed_and_nothing_beside() {
        let base = tempfile::tempdir().unwrap();
        let beside = base.path().join("beside");
        fs::create_dir(&beside).unwrap();
        fs::write(beside.join("kept"), "").unwrap();
        let tmp = PrivateTmp::new(base.path()).unwrap();
        symlink(&beside, tmp.path().join("link")).unwrap();
        fs::create_dir_all(tmp.path().join(".moved-1/x/y")).unwrap();
        fs::write(tmp.path().join(".moved-2"), "").unwrap();
        // Deeper than any path is long, and than descriptors can be open.
        let mut at = open(CWD, tmp.path()).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&at, "deep", Mode::RWXU).unwrap();
            at = open(&at, "deep").unwrap();
        }
        let locked = tmp.path().join("locked");
        fs::create_dir_all(locked.join("inside")).unwrap();
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
        let path = tmp.path().to_path_buf();
        drop(tmp);
        assert!(!path.exists());
        assert!(beside.join("kept").exists());
    }
}
