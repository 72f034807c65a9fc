//! The directory to which the bundled skills are unpacked.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// Puts the bundled skills where agents can open them and returns the root to look in: in the user's data directory,
/// or, for users that have none, in a private one among temporary files.
pub(crate) fn unpack(environment: &Environment) -> io::Result<PathBuf> {
    if let Some(data) = &environment.data_home
        && let Ok(root) = skillcue::bundled::unpack_bundled(&data.join("skillcue/bundled"))
    {
        return Ok(root);
    }
    let temporary = environment
        .temporary
        .clone()
        .unwrap_or_else(|| "/tmp".into())
        .join(format!("skillcue-{}", rustix::process::getuid().as_raw()));
    make_private(&temporary)?;
    skillcue::bundled::unpack_bundled(&temporary.join("bundled"))
}

/// Makes a directory that no other user can write to, or makes sure that it is one. Temporary directories are shared:
/// another user may have made it first, with instructions for our agents in it.
fn make_private(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    // Of the link, if it is one.
    let metadata = dir.symlink_metadata()?;
    let ours = metadata.uid() == rustix::process::getuid().as_raw();
    if metadata.is_dir() && ours && metadata.mode() & 0o777 == 0o700 {
        return Ok(());
    }
    let message = format!("{} is not a directory that only its owner can open", dir.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_directory_that_others_can_change_is_refused() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("private");
        make_private(&dir).unwrap();
        make_private(&dir).unwrap();
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(make_private(&dir).is_err());
        let link = tmp.path().join("link");
        symlink(tmp.path(), &link).unwrap();
        assert!(make_private(&link).is_err());
    }
}
