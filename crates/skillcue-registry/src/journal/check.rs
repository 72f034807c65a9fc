//! What can be known to fail before anything is decided.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::Journal;
use crate::{Place, RegistryError};

impl Journal {
    /// Refuses what could never be carried out: from another file system nothing can be moved, and neither into nor out of
    /// a directory that must not be written to. What only trying shows is undone.
    pub(crate) fn check(&self, place: &Place) -> Result<(), RegistryError> {
        let inner = place.inner();
        let mut dirs = vec![place.dir().to_owned(), inner.clone(), place.staging(), place.trash()];
        for step in &self.moves {
            dirs.push(place.kind_dir(step.kind));
            dirs.extend(step.was.map(|was| place.kind_dir(was)));
            dirs.extend(step.was.filter(|_| step.goes).map(|was| place.target(was, &step.name)));
            if let Some(number) = step.comes.as_ref().and_then(|coming| coming.from_trash.as_ref()) {
                dirs.extend([place.trash().join(number), place.trash().join(number).join(&step.name)]);
            }
        }
        dirs.sort();
        dirs.dedup();
        one_device(&inner, &dirs)?;
        // What is moved must be writable itself: it gets another directory above it.
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
