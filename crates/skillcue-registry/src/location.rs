//! The location of one registry, and the paths in it.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillcue_format::SkillName;

use crate::{Disk, RegistryError};

/// The file that lists what is installed and enabled.
pub(crate) const REGISTRY: &str = "registry.json";
/// The file that pins the exact content of what was installed.
pub(crate) const LOCK: &str = "skillcue.lock";

/// The kinds of items that can be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InstallableKind {
    /// A directory with a `SKILL.md`.
    Skill,
    /// A bundle with a `.claude-plugin/plugin.json`.
    Plugin,
}

impl InstallableKind {
    /// Both kinds.
    pub(crate) const ALL: [InstallableKind; 2] = [InstallableKind::Skill, InstallableKind::Plugin];

    /// Returns the word for one.
    pub fn word(self) -> &'static str {
        match self {
            InstallableKind::Skill => "skill",
            InstallableKind::Plugin => "plugin",
        }
    }

    fn dir(self) -> &'static str {
        match self {
            InstallableKind::Skill => "skills",
            InstallableKind::Plugin => "plugins",
        }
    }

    /// Returns whether a directory of this kind may have that name. Names are in files that come with checkouts:
    /// nothing but one plain component may pass.
    pub(crate) fn may_be_called(self, name: &str) -> bool {
        if name.len() > 200 {
            return false;
        }
        match self {
            InstallableKind::Skill => SkillName::lenient(name).is_ok_and(|canonical| canonical.as_str() == name),
            InstallableKind::Plugin => {
                !name.is_empty()
                    && !name.starts_with(['.', '-'])
                    && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
            }
        }
    }
}

/// The location of one registry: the user's, or a project's.
///
/// ```
/// use skillcue_registry::RegistryLocation;
///
/// let location = RegistryLocation::user("/home/ann/.local/share/skillcue");
/// assert_eq!(location.registry_file().to_str(), Some("/home/ann/.local/share/skillcue/registry.json"));
/// let project = RegistryLocation::project("/home/ann/shop");
/// assert_eq!(project.skills_dir().to_str(), Some("/home/ann/shop/.skillcue/skills"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryLocation {
    base: PathBuf,
    project: bool,
}

impl RegistryLocation {
    /// Returns the location of the user's registry, in their data directory.
    pub fn user(data_dir: impl Into<PathBuf>) -> RegistryLocation {
        RegistryLocation { base: data_dir.into(), project: false }
    }

    /// Returns the location of a project's registry: its files are beside `skillcue.toml`, the installed items in
    /// `.skillcue`.
    pub fn project(dir: impl Into<PathBuf>) -> RegistryLocation {
        RegistryLocation { base: dir.into(), project: true }
    }

    /// Returns whether it is a project's.
    pub fn is_project(&self) -> bool {
        self.project
    }

    /// Returns the directory of the registry's files.
    pub fn dir(&self) -> &Path {
        &self.base
    }

    /// Returns the path of `registry.json`.
    pub fn registry_file(&self) -> PathBuf {
        self.base.join(REGISTRY)
    }

    /// Returns the path of `skillcue.lock`.
    pub fn lock_file(&self) -> PathBuf {
        self.base.join(LOCK)
    }

    /// Returns the directory of the installed skills.
    pub fn skills_dir(&self) -> PathBuf {
        self.kind_dir(InstallableKind::Skill)
    }

    /// Returns the directory of the installed plugins.
    pub fn plugins_dir(&self) -> PathBuf {
        self.kind_dir(InstallableKind::Plugin)
    }

    pub(crate) fn kind_dir(&self, kind: InstallableKind) -> PathBuf {
        if self.project { self.base.join(".skillcue").join(kind.dir()) } else { self.base.join(kind.dir()) }
    }

    /// Returns the directory of an installed item.
    pub(crate) fn target(&self, kind: InstallableKind, name: &str) -> PathBuf {
        self.kind_dir(kind).join(name)
    }

    /// Returns the directory of what only the registry itself needs.
    pub(crate) fn inner(&self) -> PathBuf {
        self.base.join(if self.project { ".skillcue/registry" } else { ".registry" })
    }

    /// Returns how large the registry's files may be. Those of a project may have come with a checkout.
    pub(crate) fn max_bytes(&self) -> u64 {
        if self.project { 16 << 20 } else { 256 << 20 }
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.inner().join("journal.json")
    }

    /// Returns the path of the next text of a file, before it is committed.
    pub(crate) fn next(&self, file: &str) -> PathBuf {
        self.inner().join(format!("next-{file}"))
    }

    pub(crate) fn staging(&self) -> PathBuf {
        self.inner().join("staging")
    }

    pub(crate) fn trash(&self) -> PathBuf {
        self.inner().join("trash")
    }

    /// Refuses a place in which one of our directories is something else: a link in a checkout would let us write, move
    /// and remove elsewhere.
    pub(crate) fn check(&self) -> Result<(), RegistryError> {
        let above = self.project.then(|| self.base.join(".skillcue"));
        let ours = [self.skills_dir(), self.plugins_dir(), self.inner(), self.staging(), self.trash()];
        above.into_iter().chain(ours).try_for_each(|dir| match dir.symlink_metadata() {
            Ok(found) if !found.is_dir() => Err(RegistryError::NotADirectory { path: dir }),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(RegistryError::file("look at", &dir, error)),
            _ => Ok(()),
        })
    }

    /// Refuses to change a project that belongs to another user, in whole or in part: its staged and recorded files may
    /// be crafted, and can be changed while we work.
    pub(crate) fn check_owner(&self, me: u32) -> Result<(), RegistryError> {
        if !self.project {
            return Ok(());
        }
        let inner = [self.base.join(".skillcue"), self.inner(), self.staging(), self.trash()];
        let dirs = [self.base.clone(), self.skills_dir(), self.plugins_dir()].into_iter().chain(inner);
        dirs.filter_map(|dir| Some((dir.symlink_metadata().ok()?.uid(), dir))).try_for_each(|(owner, dir)| {
            if owner == me { Ok(()) } else { Err(RegistryError::NotYours { path: dir, owner }) }
        })
    }

    /// Checks the location, and makes the directories that every change needs.
    pub(crate) fn prepare(&self, disk: &Disk) -> Result<(), RegistryError> {
        self.check()?;
        self.check_owner(rustix::process::geteuid().as_raw())?;
        for dir in [self.staging(), self.trash()] {
            disk.create_dir_all(&dir).map_err(|error| RegistryError::file("make", &dir, error))?;
        }
        Ok(())
    }

    /// Writes a `.gitignore` that keeps the registry's inner directory out of a project's history. Called under the
    /// lock.
    pub(crate) fn ignore_inner(&self, disk: &Disk) -> Result<(), RegistryError> {
        let ignore = self.inner().join(".gitignore");
        if !self.project || ignore.symlink_metadata().is_ok() {
            return Ok(());
        }
        disk.replace(&ignore, &self.next("gitignore"), b"*\n", 0o644)
            .map_err(|error| RegistryError::file("write", &ignore, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_single_plain_components() {
        for bad in ["", ".", "..", "a/b", "/a", "../a", "a\\b", "a\0", ".git", "a b", "a:b", "PDF"] {
            assert!(!InstallableKind::Skill.may_be_called(bad), "{bad:?}");
        }
        for bad in ["", ".", "..", "a/b", "/a", "../a", "a\\b", "a\0", ".git", "a b", "a:b", "-x"] {
            assert!(!InstallableKind::Plugin.may_be_called(bad), "{bad:?}");
        }
        assert!(InstallableKind::Skill.may_be_called("pdf-2") && InstallableKind::Skill.may_be_called("größe"));
        assert!(InstallableKind::Plugin.may_be_called("Office_2.1"));
    }

    #[test]
    fn a_project_of_another_user_is_not_changed() {
        let dir = tempfile::tempdir().unwrap();
        let me = rustix::process::geteuid().as_raw();
        let location = RegistryLocation::project(dir.path());
        location.prepare(&Disk::default()).unwrap();
        location.check_owner(me).unwrap();
        let error = location.check_owner(me + 1).unwrap_err();
        assert!(matches!(error, RegistryError::NotYours { owner, .. } if owner == me), "{error}");
        RegistryLocation::user(dir.path()).check_owner(me + 1).unwrap();
        // Certainly another user's: a directory that root has chowned, or root's own.
        let other = if me == 0 {
            std::os::unix::fs::chown(location.inner(), Some(12_345), None).unwrap();
            location
        } else {
            RegistryLocation::project("/usr")
        };
        let error = other.prepare(&Disk::default()).unwrap_err();
        assert!(matches!(error, RegistryError::NotYours { .. }), "{error}");
    }

    #[test]
    fn a_link_in_place_of_a_directory_is_refused() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let location = RegistryLocation::project(dir.path());
        location.check().unwrap();
        for link in [".skillcue/skills", ".skillcue/registry", ".skillcue"] {
            let link = dir.path().join(link);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            if link.is_dir() {
                std::fs::remove_dir_all(&link).unwrap();
            }
            std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
            assert!(matches!(location.check(), Err(RegistryError::NotADirectory { .. })), "{}", link.display());
            assert!(location.prepare(&Disk::default()).is_err());
            std::fs::remove_file(&link).unwrap();
        }
        assert_eq!(elsewhere.path().read_dir().unwrap().count(), 0);
    }
}
