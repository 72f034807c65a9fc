//! Links in the folders of other agents: one installed copy, seen by each of them.
//!
//! A link is recorded before it is made, and removed before its record: after a crash there may be a record without a link,
//! which is made again or forgotten, but never a link that nothing knows of.

use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillcue_catalog::Client;

use crate::entries::InstalledItem;
use crate::install::{InstallChange, copy};
use crate::{InstallableKind, Registry, RegistryError, tree};

/// A link in the folder of another agent that leads to an installed skill; a copy where links do not work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillLink {
    /// The word of the client whose folder it is in. One of a later version may be unknown here.
    pub client: String,
    /// The link. For a project's registry: relative to the project.
    pub path: PathBuf,
}

/// A link that was made or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LinkChange {
    /// The name of the skill.
    pub name: String,
    /// The word of the client.
    pub client: String,
    /// The link.
    pub path: PathBuf,
    /// Whether it was made or removed now.
    pub changed: bool,
    /// Whether it is a copy, because links do not work there.
    pub copied: bool,
}

impl Registry {
    /// Makes links to installed skills in a client's folder: all of them or none. What is there already is never touched.
    pub fn link<N: AsRef<str>>(
        &self,
        names: &[N],
        client: Client,
        folder: &Path,
    ) -> Result<Vec<LinkChange>, RegistryError> {
        let mut transaction = self.write()?;
        let mut links = Vec::new();
        for name in names.iter().map(|name| name.as_ref().to_owned()) {
            let is_on = transaction.listed.enabled.get(&name) == Some(&true);
            let Some(installed) = transaction.listed.installed.get_mut(&name) else {
                return Err(RegistryError::NotInstalled { name });
            };
            if installed.kind != InstallableKind::Skill {
                return Err(RegistryError::NotLinkable { name, why: "it is a plugin" });
            }
            if !is_on {
                return Err(RegistryError::NotLinkable { name, why: "it is off" });
            }
            let link = SkillLink { client: client.as_str().to_owned(), path: self.recorded(&folder.join(&name)) };
            let path = self.link_path(&link).ok_or_else(|| RegistryError::LinkInTheWay { path: link.path.clone() })?;
            let is_there = path.symlink_metadata().is_ok();
            if is_there && !self.is_ours(&name, installed, &path) {
                return Err(RegistryError::LinkInTheWay { path });
            }
            if !installed.links.contains(&link) {
                installed.links.push(link);
            }
            links.push((name, path, is_there));
        }
        transaction.commit_registry()?;
        let mut changes = Vec::new();
        for (name, path, is_there) in links {
            if !is_there {
                self.make_link(&name, &path)?;
            }
            let copied = !path.is_symlink();
            changes.push(LinkChange { name, client: client.as_str().to_owned(), path, changed: !is_there, copied });
        }
        Ok(changes)
    }

    /// Removes links to installed skills: those of some clients, or all.
    pub fn unlink<N: AsRef<str>>(&self, names: &[N], clients: &[Client]) -> Result<Vec<LinkChange>, RegistryError> {
        let mut transaction = self.write()?;
        let mut changes = Vec::new();
        for name in names.iter().map(|name| name.as_ref().to_owned()) {
            let Some(installed) = transaction.listed.installed.get_mut(&name) else {
                return Err(RegistryError::NotInstalled { name });
            };
            let is_meant = |link: &SkillLink| clients.is_empty() || clients.iter().any(|c| c.as_str() == link.client);
            let (gone, kept): (Vec<_>, Vec<_>) = installed.links.iter().cloned().partition(is_meant);
            for link in gone {
                let Some(path) = self.link_path(&link) else { continue };
                // A folder that two clients share keeps its link until the second is gone, too.
                let is_shared = kept.iter().any(|other| other.path == link.path);
                let copied = !path.is_symlink();
                let changed = !is_shared && self.take_link(&name, installed, &path);
                changes.push(LinkChange { name: name.clone(), client: link.client, path, changed, copied });
            }
            installed.links = kept;
        }
        transaction.commit_registry()?;
        Ok(changes)
    }

    /// Returns a link's path as it is recorded: a project may be elsewhere for other people.
    fn recorded(&self, path: &Path) -> PathBuf {
        let below = path.strip_prefix(self.location.dir()).ok().filter(|_| self.location.is_project());
        below.unwrap_or(path).to_owned()
    }

    /// Returns the path of a recorded link. A project's record may have come with a checkout: it leads nowhere but below the
    /// project.
    fn link_path(&self, link: &SkillLink) -> Option<PathBuf> {
        if !self.location.is_project() {
            return Some(link.path.clone()).filter(|path| path.is_absolute());
        }
        let is_below = link.path.components().all(|part| matches!(part, Component::Normal(_)));
        is_below.then(|| self.location.dir().join(&link.path))
    }

    /// Returns the text of a link. Within a project it is relative.
    fn link_target(&self, name: &str, path: &Path) -> PathBuf {
        let target = self.location.target(InstallableKind::Skill, name);
        let dir = self.location.dir();
        let (Ok(from), Ok(to), true) = (path.strip_prefix(dir), target.strip_prefix(dir), self.location.is_project())
        else {
            return target;
        };
        let above = from.components().skip(1).map(|_| "..");
        above.collect::<PathBuf>().join(to)
    }

    /// Returns whether a link leads to an installed skill, or a copy has its content.
    fn is_ours(&self, name: &str, installed: &InstalledItem, path: &Path) -> bool {
        match path.read_link() {
            Ok(target) => target == self.link_target(name, path),
            Err(_) => tree::scan(path).is_ok_and(|content| content.id() == installed.digest),
        }
    }

    fn make_link(&self, name: &str, path: &Path) -> Result<(), RegistryError> {
        let fail = |error| RegistryError::file("link", path, error);
        if let Some(folder) = path.parent() {
            self.disk.create_dir_all(folder).map_err(fail)?;
        }
        match self.disk.symlink(&self.link_target(name, path), path) {
            Err(error) if is_unsupported(&error) => {
                let target = self.location.target(InstallableKind::Skill, name);
                // The reason why there is no link says more than the reason why there is no copy.
                let copied = tree::scan(&target).and_then(|tree| copy(&target, path, tree.leaves.iter(), &self.disk));
                copied.map_err(|_| fail(error))
            }
            made => made.map_err(fail),
        }
    }

    /// Removes a link, if it is ours. Returns whether it was.
    fn take_link(&self, name: &str, installed: &InstalledItem, path: &Path) -> bool {
        let is_ours = self.is_ours(name, installed, path);
        is_ours && if path.is_symlink() { self.disk.remove_file(path) } else { self.disk.remove_dir_all(path) }.is_ok()
    }

    /// Removes all links to an item. What is there in place of one is not ours, and stays.
    pub(crate) fn take_links(&self, name: &str, installed: &InstalledItem) {
        for path in installed.links.iter().filter_map(|link| self.link_path(link)) {
            self.take_link(name, installed, &path);
        }
    }

    /// Makes the recorded links of an item that was restored, where nothing is in their places.
    pub(crate) fn make_links(&self, name: &str, installed: Option<&InstalledItem>) {
        for path in installed.iter().flat_map(|installed| &installed.links).filter_map(|link| self.link_path(link)) {
            if path.symlink_metadata().is_err() {
                // Best effort: linking again makes it.
                let _ = self.make_link(name, &path);
            }
        }
    }

    /// Copies new versions of items to where links do not work.
    pub(crate) fn refresh_copies(&self, done: &[InstallChange]) {
        for change in done.iter().filter(|change| !change.unchanged) {
            let Some(was) = &change.was else { continue };
            for path in change.now.links.iter().filter_map(|link| self.link_path(link)) {
                if !path.is_symlink() && self.take_link(&change.name, was, &path) {
                    let _ = self.make_link(&change.name, &path);
                }
            }
        }
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::Unsupported, io::ErrorKind::InvalidInput, io::ErrorKind::PermissionDenied];
    kinds.contains(&error.kind())
}
