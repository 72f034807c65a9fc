//! Checks before a change is decided: failures that can be known beforehand.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::Journal;
use crate::{RegistryError, RegistryLocation};

impl Journal {
    /// Refuses a change that could never be carried out: nothing can be moved from another file system, and neither
    /// into nor out of a directory that is not writable. A failure that only shows while the change is carried out is
    /// undone.
    pub(crate) fn check(&self, location: &RegistryLocation) -> Result<(), RegistryError> {
        let inner = location.inner();
        let mut dirs = vec![location.dir().to_owned(), inner.clone(), location.staging(), location.trash()];
        for step in &self.moves {
            dirs.push(location.kind_dir(step.kind));
            dirs.extend(step.was.map(|was| location.kind_dir(was)));
            dirs.extend(step.was.filter(|_| step.goes).map(|was| location.target(was, &step.name)));
            if let Some(number) = step.comes.as_ref().and_then(|coming| coming.from_trash.as_ref()) {
                dirs.extend([location.trash().join(number), location.trash().join(number).join(&step.name)]);
            }
        }
        dirs.sort();
        dirs.dedup();
        one_device(&inner, &dirs)?;
        // A directory that is moved must be writable itself: its parent changes.
        let dirs = dirs.iter().filter(|dir| dir.symlink_metadata().is_ok_and(|found| found.is_dir()));
        dirs.map(|dir| (dir, access(dir, Access::WRITE_OK | Access::EXEC_OK)))
            .try_for_each(|(dir, allowed)| allowed.map_err(|error| RegistryError::file("write to", dir, error.into())))
    }
}

/// Refuses directories that are not on the file system of `than`.
fn one_device(than: &Path, dirs: &[PathBuf]) -> Result<(), RegistryError> {
    let device = |path: &Path| path.symlink_metadata().ok().map(|found| found.dev());
    let here = device(than);
    let other = dirs.iter().find(|dir| device(dir).is_some_and(|found| here.is_some_and(|here| found != here)));
    other.map_or(Ok(()), |dir| Err(RegistryError::OtherDevice { path: dir.clone(), than: than.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_system_is_found_out() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        one_device(dir.path(), &[dir.path().to_owned(), missing]).unwrap();
        let error = one_device(dir.path(), &[dir.path().to_owned(), PathBuf::from("/dev")]).unwrap_err();
        assert!(error.to_string().starts_with("/dev is on another file system than "), "{error}");
    }
}
