//! The job's private temporary directory.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The private temporary directory, removed with all in it when this is dropped.
pub(super) struct Tmp(PathBuf);

impl Tmp {
    pub(super) fn new(base: &Path) -> io::Result<Tmp> {
        use std::os::unix::fs::DirBuilderExt;
        let mut random = [0_u8; 8];
        fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
        let path = base.join(format!("skillfold-{:016x}", u64::from_ne_bytes(random)));
        let named = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(named)?;
        Ok(Tmp(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Tmp {
    fn drop(&mut self) {
        // Nearly always an empty directory: what was written was in a file system of the namespace.
        if fs::remove_dir(&self.0).is_err() && fs::remove_dir_all(&self.0).is_err() {
            // A directory that its owner may not write cannot be emptied.
            make_writable(&self.0);
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// Gives the owner all rights on every directory below `dir`. Nobody can swap one for a link meanwhile: whoever wrote here
/// is gone.
fn make_writable(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::set_permissions(dir, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}
