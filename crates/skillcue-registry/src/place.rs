//! Where one registry stands, and what stands where in it.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillcue_format::SkillName;

use crate::{Disk, RegistryError};

/// The file that says what is installed and enabled.
pub(crate) const REGISTRY: &str = "registry.json";
/// The file that says what exactly was installed.
pub(crate) const LOCK: &str = "skillcue.lock";

/// What can be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A directory with a `SKILL.md`.
    Skill,
    /// A bundle with a `.claude-plugin/plugin.json`.
    Plugin,
}

impl Kind {
    /// Both.
    pub(crate) const ALL: [Kind; 2] = [Kind::Skill, Kind::Plugin];

    /// The word for one.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Skill => "skill",
            Kind::Plugin => "plugin",
        }
    }

    fn dir(self) -> &'static str {
        match self {
            Kind::Skill => "skills",
            Kind::Plugin => "plugins",
        }
    }

    /// Whether a directory of this kind may have that name. Names stand in files that come with checkouts: nothing
    /// but one plain component may pass.
    pub(crate) fn may_be_called(self, name: &str) -> bool {
        if name.len() > 200 {
            return false;
        }
        match self {
            Kind::Skill => SkillName::lenient(name).is_ok_and(|canonical| canonical.as_str() == name),
            Kind::Plugin => {
                !name.is_empty()
                    && !name.starts_with(['.', '-'])
                    && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
            }
        }
    }
}

/// One registry: the user's, or a project's.
///
/// ```
/// use skillcue_registry::Place;
///
/// let place = Place::user("/home/ann/.local/share/skillcue");
/// assert_eq!(place.registry_file().to_str(), Some("/home/ann/.local/share/skillcue/registry.json"));
/// let project = Place::project("/home/ann/shop");
/// assert_eq!(project.skills_dir().to_str(), Some("/home/ann/shop/.skillcue/skills"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    base: PathBuf,
    project: bool,
}

impl Place {
    /// The user's registry, in their data directory.
    pub fn user(data_dir: impl Into<PathBuf>) -> Place {
        Place { base: data_dir.into(), project: false }
    }

    /// A project's registry: its files beside `skillcue.toml`, what is installed in `.skillcue`.
    pub fn project(dir: impl Into<PathBuf>) -> Place {
        Place { base: dir.into(), project: true }
    }

    /// Whether it is a project's.
    pub fn is_project(&self) -> bool {
        self.project
    }

    /// The directory that the files stand in.
    pub fn dir(&self) -> &Path {
        &self.base
    }

    /// `registry.json`.
    pub fn registry_file(&self) -> PathBuf {
        self.base.join(REGISTRY)
    }

    /// `skillcue.lock`.
    pub fn lock_file(&self) -> PathBuf {
        self.base.join(LOCK)
    }

    /// The directory of the installed skills.
    pub fn skills_dir(&self) -> PathBuf {
        self.kind_dir(Kind::Skill)
    }

    /// The directory of the installed plugins.
    pub fn plugins_dir(&self) -> PathBuf {
        self.kind_dir(Kind::Plugin)
    }

    pub(crate) fn kind_dir(&self, kind: Kind) -> PathBuf {
        if self.project { self.base.join(".skillcue").join(kind.dir()) } else { self.base.join(kind.dir()) }
    }

    /// Where something installed stands.
    pub(crate) fn target(&self, kind: Kind, name: &str) -> PathBuf {
        self.kind_dir(kind).join(name)
    }

    /// What only the registry itself needs.
    pub(crate) fn inner(&self) -> PathBuf {
        self.base.join(if self.project { ".skillcue/registry" } else { ".registry" })
    }

    /// How large the registry's files may be. Those of a project may have come with a checkout.
    pub(crate) fn max_bytes(&self) -> u64 {
        if self.project { 16 << 20 } else { 256 << 20 }
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.inner().join("journal.json")
    }

    /// Where the next text of a file is written before it counts.
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

    /// Refuses to change a project that is somebody else's, in whole or in part: what is staged and recorded there may be
    /// made to hurt, and can be changed under our hands.
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

    /// Makes the directories that every change needs.
    pub(crate) fn prepare(&self, disk: &Disk) -> Result<(), RegistryError> {
        self.check()?;
        self.check_owner(rustix::process::geteuid().as_raw())?;
        for dir in [self.staging(), self.trash()] {
            disk.create_dir_all(&dir).map_err(|error| RegistryError::file("make", &dir, error))?;
        }
        Ok(())
    }

    /// Keeps what only the registry needs out of a project's history. Called under the lock.
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
            assert!(!Kind::Skill.may_be_called(bad), "{bad:?}");
        }
        for bad in ["", ".", "..", "a/b", "/a", "../a", "a\\b", "a\0", ".git", "a b", "a:b", "-x"] {
            assert!(!Kind::Plugin.may_be_called(bad), "{bad:?}");
        }
        assert!(Kind::Skill.may_be_called("pdf-2") && Kind::Skill.may_be_called("größe"));
        assert!(Kind::Plugin.may_be_called("Office_2.1"));
    }

    #[test]
    fn a_project_of_somebody_else_is_not_changed() {
        let dir = tempfile::tempdir().unwrap();
        let me = rustix::process::geteuid().as_raw();
        let place = Place::project(dir.path());
        place.prepare(&Disk::default()).unwrap();
        place.check_owner(me).unwrap();
        let error = place.check_owner(me + 1).unwrap_err();
        assert!(matches!(error, RegistryError::NotYours { owner, .. } if owner == me), "{error}");
        Place::user(dir.path()).check_owner(me + 1).unwrap();
        // Somebody else's for sure: what is chowned by root, or what is root's.
        let other = if me == 0 {
            std::os::unix::fs::chown(place.inner(), Some(12_345), None).unwrap();
            place
        } else {
            Place::project("/usr")
        };
        let error = other.prepare(&Disk::default()).unwrap_err();
        assert!(matches!(error, RegistryError::NotYours { .. }), "{error}");
    }

    #[test]
    fn a_link_in_place_of_a_directory_is_refused() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = Place::project(dir.path());
        place.check().unwrap();
        for link in [".skillcue/skills", ".skillcue/registry", ".skillcue"] {
            let link = dir.path().join(link);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            if link.is_dir() {
                std::fs::remove_dir_all(&link).unwrap();
            }
            std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
            assert!(matches!(place.check(), Err(RegistryError::NotADirectory { .. })), "{}", link.display());
            assert!(place.prepare(&Disk::default()).is_err());
            std::fs::remove_file(&link).unwrap();
        }
        assert_eq!(elsewhere.path().read_dir().unwrap().count(), 0);
    }
}
