//! Links in the folders of other agents: one installed copy, seen by each of them.
//!
//! A link is recorded before it is made, and removed before its record: after a crash there may be a record without a link,
//! which is made again or forgotten, but never a link that nothing knows of.

use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillcue_catalog::{Client, ContentId, OrgPolicy, PolicySubject, Source, SubjectContent};
use skillcue_format::Severity;

use crate::entries::{InstalledItem, RegistryContents};
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
    /// Whether a copy was made there. A directory of which this is not recorded is another's, whatever is in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copied: bool,
    /// The directories that were made for it, the outermost first. They go with it once they are empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dirs: Vec<PathBuf>,
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

/// The content of an installed skill as it is on disk, for a policy.
#[derive(Debug)]
struct InstalledContent(PathBuf);

impl SubjectContent for InstalledContent {
    fn id(&self) -> Result<ContentId, String> {
        tree::scan(&self.0).map(|content| content.id()).map_err(|error| error.to_string())
    }

    fn worst_finding(&self) -> Result<Option<Severity>, String> {
        Ok(skillcue_audit::audit(&self.0).findings.iter().map(|found| found.severity).min())
    }
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
        let mut missing: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|dir| dir.symlink_metadata().is_err())
            .map(|dir| self.recorded(dir))
            .collect();
        missing.reverse();
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
            let recorded = self.recorded(&folder.join(&name));
            let copied = installed.links.iter().any(|known| known.copied && known.path == recorded);
            let mut link = SkillLink { client: client.as_str().to_owned(), path: recorded, copied, dirs: Vec::new() };
            let path = self.link_path(&link).ok_or_else(|| RegistryError::LinkInTheWay { path: link.path.clone() })?;
            let is_there = path.symlink_metadata().is_ok();
            if is_there && !self.is_ours(&name, installed, &path) {
                return Err(RegistryError::LinkInTheWay { path });
            }
            if !installed.links.iter().any(|known| (&known.client, &known.path) == (&link.client, &link.path)) {
                // With the first of several.
                link.dirs = std::mem::take(&mut missing);
                installed.links.push(link.clone());
            }
            links.push((name, link.path, path, is_there));
        }
        transaction.commit_registry()?;
        let mut changes = Vec::new();
        for (name, recorded, path, is_there) in links {
            if !is_there && let Err(error) = self.make_link(&name, &path)? {
                self.record_copy(&name, &recorded)?;
                self.make_copy(&name, &path, error)?;
            }
            let copied = !path.is_symlink();
            changes.push(LinkChange { name, client: client.as_str().to_owned(), path, changed: !is_there, copied });
        }
        Ok(changes)
    }

    /// Fails if the organisation's policy closes one of these installed skills, as it is on disk now: another agent, which does
    /// not know of the policy, would see it through its link.
    pub fn check_linkable<N: AsRef<str>>(&self, names: &[N], policy: &OrgPolicy) -> Result<(), RegistryError> {
        if policy.is_empty() {
            return Ok(());
        }
        let state = self.state();
        for name in names.iter().map(AsRef::as_ref) {
            let Some(item) = state.installed.get(name) else { continue };
            let subject = PolicySubject {
                name,
                // A project's registry comes with a checkout: what it installs is the project's.
                source: if self.location.is_project() { Source::Project.as_str() } else { "installed" },
                origin: Some(&item.origin),
                content: &InstalledContent(self.dir_of(item.kind, name)),
                ..PolicySubject::default()
            };
            if let Some(refusal) = policy.refusal(&subject) {
                return Err(RegistryError::Policy { name: name.to_owned(), refusal: Box::new(refusal) });
            }
        }
        Ok(())
    }

    /// Removes links to installed skills: those of some clients, or all.
    pub fn unlink<N: AsRef<str>>(&self, names: &[N], clients: &[Client]) -> Result<Vec<LinkChange>, RegistryError> {
        let mut transaction = self.write()?;
        let mut changes = Vec::new();
        let mut dirs = Vec::new();
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
                dirs.extend(link.dirs);
                changes.push(LinkChange { name: name.clone(), client: link.client, path, changed, copied });
            }
            installed.links = kept;
        }
        self.release(&dirs, &mut transaction.listed);
        transaction.commit_registry()?;
        Ok(changes)
    }

    /// Lets directories go with the links below them: those that were made for another purpose, which is over.
    pub fn keep_dirs(&self, dirs: &[PathBuf]) -> Result<(), RegistryError> {
        let is_above = |link: &SkillLink| dirs.iter().any(|dir| link.path.starts_with(dir));
        if !self.state().installed.values().flat_map(|installed| &installed.links).any(is_above) {
            return Ok(());
        }
        let mut transaction = self.write()?;
        for dir in dirs.iter().rev() {
            hand_on(&self.recorded(dir), &mut transaction.listed);
        }
        transaction.commit_registry().map(drop)
    }

    /// Removes directories that were made for links, the outermost last, as far as they are empty. One with another link below
    /// it goes with that.
    pub(crate) fn release(&self, dirs: &[PathBuf], listed: &mut RegistryContents) {
        for dir in dirs.iter().rev() {
            let Some(path) = self.place_of(dir) else { continue };
            if path.symlink_metadata().is_ok() && self.disk.remove_dir(&path).is_err() {
                hand_on(dir, listed);
            }
        }
    }

    /// Returns a link's path as it is recorded: a project may be elsewhere for other people.
    fn recorded(&self, path: &Path) -> PathBuf {
        let below = path.strip_prefix(self.location.dir()).ok().filter(|_| self.location.is_project());
        below.unwrap_or(path).to_owned()
    }

    /// Returns the path of a recorded link. A project's record may have come with a checkout: it leads nowhere but below the
    /// project.
    fn link_path(&self, link: &SkillLink) -> Option<PathBuf> {
        self.place_of(&link.path)
    }

    fn place_of(&self, recorded: &Path) -> Option<PathBuf> {
        if !self.location.is_project() {
            return Some(recorded.to_owned()).filter(|path| path.is_absolute());
        }
        let is_below = recorded.components().all(|part| matches!(part, Component::Normal(_)));
        is_below.then(|| self.location.dir().join(recorded))
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

    /// Returns whether a link leads to an installed skill, or a directory is a copy that was made there and not changed since.
    fn is_ours(&self, name: &str, installed: &InstalledItem, path: &Path) -> bool {
        if let Ok(target) = path.read_link() {
            return target == self.link_target(name, path);
        }
        let is_copy = |link: &SkillLink| link.copied && self.link_path(link).as_deref() == Some(path);
        installed.links.iter().any(is_copy) && tree::scan(path).is_ok_and(|content| content.id() == installed.digest)
    }

    /// Makes a link. Returns the reason if links do not work there.
    fn make_link(&self, name: &str, path: &Path) -> Result<io::Result<()>, RegistryError> {
        let fail = |error| RegistryError::file("link", path, error);
        if let Some(folder) = path.parent() {
            self.disk.create_dir_all(folder).map_err(fail)?;
        }
        match self.disk.symlink(&self.link_target(name, path), path) {
            Err(error) if !is_unsupported(&error) => Err(fail(error)),
            made => Ok(made),
        }
    }

    /// Records that there will be a copy in place of a link.
    fn record_copy(&self, name: &str, recorded: &Path) -> Result<(), RegistryError> {
        let mut transaction = self.write()?;
        let Some(installed) = transaction.listed.installed.get_mut(name) else {
            return Err(RegistryError::NotInstalled { name: name.to_owned() });
        };
        installed.links.iter_mut().filter(|link| link.path == recorded).for_each(|link| link.copied = true);
        transaction.commit_registry().map(drop)
    }

    /// Makes a copy, which is recorded already, where links do not work.
    fn make_copy(&self, name: &str, path: &Path, why: io::Error) -> Result<(), RegistryError> {
        let target = self.location.target(InstallableKind::Skill, name);
        // The reason why there is no link says more than the reason why there is no copy.
        let copied = tree::scan(&target).and_then(|tree| copy(&target, path, tree.leaves.iter(), &self.disk));
        copied.map_err(|_| RegistryError::file("link", path, why))
    }

    /// Makes a recorded link again: a copy only where a copy is recorded. Best effort: linking again makes it.
    fn make_again(&self, name: &str, link: &SkillLink, path: &Path) {
        if let Ok(Err(why)) = self.make_link(name, path)
            && link.copied
        {
            let _ = self.make_copy(name, path, why);
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
        let links = installed.iter().flat_map(|installed| &installed.links);
        for (link, path) in links.filter_map(|link| Some((link, self.link_path(link)?))) {
            if path.symlink_metadata().is_err() {
                self.make_again(name, link, &path);
            }
        }
    }

    /// Copies new versions of items to where links do not work.
    pub(crate) fn refresh_copies(&self, done: &[InstallChange]) {
        for change in done.iter().filter(|change| !change.unchanged) {
            let Some(was) = &change.was else { continue };
            for (link, path) in change.now.links.iter().filter_map(|link| Some((link, self.link_path(link)?))) {
                if !path.is_symlink() && self.take_link(&change.name, was, &path) {
                    self.make_again(&change.name, link, &path);
                }
            }
        }
    }
}

/// Records a directory with a link that is below it, if there is one.
fn hand_on(dir: &Path, listed: &mut RegistryContents) {
    let mut links = listed.installed.values_mut().flat_map(|installed| &mut installed.links);
    let below = links.find(|link| link.path.starts_with(dir));
    if let Some(link) = below.filter(|link| !link.dirs.iter().any(|known| known == dir)) {
        link.dirs.insert(0, dir.to_owned());
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::Unsupported, io::ErrorKind::InvalidInput, io::ErrorKind::PermissionDenied];
    kinds.contains(&error.kind())
}
