//! Removing items, restoring them from the trash, and emptying the trash.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use serde::Serialize;

use crate::install::{inode, settings_of};
use crate::journal::{DirectoryMove, IncomingDir, exists};
use crate::staging::{children, weight};
use crate::transaction::Transaction;
use crate::trash::{self, TrashFile, TrashItem, TrashReason, TrashedItem};
use crate::{InstallableKind, Registry, RegistryError, tree};
use skillcue_base::rfc3339_seconds;

/// An item that was removed, or restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MovedItem {
    /// Its name.
    pub name: String,
    /// A skill or a plugin.
    pub kind: InstallableKind,
    /// The settings (on or off) of it and its skills, by address; those before, if it was removed.
    pub enabled: BTreeMap<String, bool>,
}

/// The result of emptying the trash.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GcReport {
    /// How many items were in the trash.
    pub trash: usize,
    /// How many leftovers there were besides: of crashes, and empty entries of the trash.
    pub leftovers: usize,
    /// How many bytes all of it had.
    pub bytes: u64,
    /// Broken files that were set aside. They are left for the user to look at.
    pub broken: Vec<PathBuf>,
}

impl Registry {
    /// Moves installed items to the trash, all of them or none. Their entries go with them.
    pub fn remove<N: AsRef<str>>(&self, names: &[N], now: SystemTime) -> Result<Vec<MovedItem>, RegistryError> {
        let mut transaction = self.write()?;
        let mut trash = TrashFile::new(rfc3339_seconds(now), TrashReason::Removed);
        let mut moves = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            if trash.items.contains_key(name) {
                continue;
            }
            let kind = self.kind_of(&transaction, name)?;
            let there = exists(&self.location.target(kind, name));
            let item = TrashItem { absent: !there, ..take_out(&mut transaction, name, kind)? };
            trash.items.insert(name.to_owned(), item);
            moves.push(DirectoryMove {
                kind,
                name: name.to_owned(),
                comes: None,
                goes: there,
                was: there.then_some(kind),
            });
        }
        let moved = moved(&trash);
        if moves.is_empty() {
            return Ok(moved);
        }
        let staging = transaction.stage()?;
        // First the links: one that leads nowhere would trouble its agent. They are recorded in the trash, and come back.
        let linked = trash.items.iter().filter_map(|(name, item)| Some((name, item.installed.as_ref()?)));
        let mut dirs = Vec::new();
        for (name, installed) in linked {
            self.take_links(name, installed);
            dirs.extend(installed.links.iter().flat_map(|link| link.dirs.clone()));
        }
        self.release(&dirs, &mut transaction.listed);
        if let Err(error) = transaction.commit(&staging, moves, &trash) {
            for (name, item) in &trash.items {
                self.make_links(name, item.installed.as_ref());
            }
            return Err(error);
        }
        Ok(moved)
    }

    fn kind_of(&self, transaction: &Transaction<'_>, name: &str) -> Result<InstallableKind, RegistryError> {
        if let Some(installed) = transaction.listed.installed.get(name) {
            return Ok(installed.kind);
        }
        // A directory that the registry does not know can be removed, too.
        let there = |kind: &InstallableKind| kind.may_be_called(name) && exists(&self.location.target(*kind, name));
        InstallableKind::ALL
            .into_iter()
            .find(there)
            .ok_or_else(|| RegistryError::NotInstalled { name: name.to_owned() })
    }

    /// Lists the items in the trash, the latest first.
    pub fn trash(&self) -> Vec<TrashedItem> {
        trash::list(&self.location)
    }

    /// Restores the items that went to the trash last, as they were. Items in their place go to the trash instead:
    /// undoing twice is as if nothing was undone.
    pub fn undo(&self, now: SystemTime) -> Result<Vec<MovedItem>, RegistryError> {
        let transaction = self.write()?;
        let Some((id, file)) = trash::entries(&self.location).into_iter().next() else {
            return Err(RegistryError::NothingInTrash { name: None });
        };
        let names = file.items.keys().cloned().collect();
        let back = file.items.into_iter().filter(|(_, item)| !item.absent);
        let back: Vec<_> = back.map(|(name, item)| (id.clone(), name, item)).collect();
        if back.is_empty() {
            return Err(RegistryError::NoFiles { names });
        }
        self.bring_back(transaction, back, now)
    }

    /// Restores the latest item of that name from the trash, as it was.
    pub fn restore(&self, name: &str, now: SystemTime) -> Result<MovedItem, RegistryError> {
        let missing = || RegistryError::NothingInTrash { name: Some(name.to_owned()) };
        self.restore_all(&[name], now)?.into_iter().next().ok_or_else(missing)
    }

    /// Restores the latest item of each of these names, all of them or none.
    pub fn restore_all<N: AsRef<str>>(&self, names: &[N], now: SystemTime) -> Result<Vec<MovedItem>, RegistryError> {
        let transaction = self.write()?;
        let entries = trash::entries(&self.location);
        let mut back: Vec<(String, String, TrashItem)> = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            if back.iter().any(|(_, known, _)| known == name) {
                continue;
            }
            let found: Vec<_> = entries.iter().filter_map(|(id, file)| Some((id, file.items.get(name)?))).collect();
            match found.iter().find(|(_, item)| !item.absent) {
                Some((id, item)) => back.push(((*id).clone(), name.to_owned(), (*item).clone())),
                None if found.is_empty() => {
                    return Err(RegistryError::NothingInTrash { name: Some(name.to_owned()) });
                }
                None => return Err(RegistryError::NoFiles { names: vec![name.to_owned()] }),
            }
        }
        if back.is_empty() {
            return Ok(Vec::new());
        }
        self.bring_back(transaction, back, now)
    }

    /// Restores items, each given by its number in the trash, its name, and its entry.
    fn bring_back(
        &self,
        mut transaction: Transaction<'_>,
        items: Vec<(String, String, TrashItem)>,
        now: SystemTime,
    ) -> Result<Vec<MovedItem>, RegistryError> {
        let mut trash = TrashFile::new(rfc3339_seconds(now), TrashReason::Restored);
        let mut moves = Vec::new();
        let mut back = Vec::new();
        let linked: Vec<_> = items.iter().map(|(_, name, item)| (name.clone(), item.installed.clone())).collect();
        for (id, name, item) in items {
            let source = trash::path(&self.location, &id, &name);
            if !source.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                return Err(RegistryError::NotADirectory { path: source });
            }
            let was = transaction.listed.installed.get(&name).map_or(item.kind, |installed| installed.kind);
            let there = exists(&self.location.target(was, &name));
            let target = self.location.target(item.kind, &name);
            if was != item.kind && exists(&target) {
                return Err(RegistryError::InTheWay { path: target });
            }
            let current = take_out(&mut transaction, &name, was)?;
            if there {
                trash.items.insert(name.clone(), current);
            }
            if let Some(installed) = item.installed {
                transaction.listed.installed.insert(name.clone(), installed);
            }
            if let Some(pinned) = item.pinned {
                transaction.locked()?.pins.insert(name.clone(), pinned);
            }
            transaction.listed.enabled.extend(item.enabled.clone());
            let digest = tree::scan(&source).ok().map(|tree| tree.id());
            let comes = Some(IncomingDir { from_trash: Some(id), inode: inode(&source), digest });
            back.push(MovedItem { name: name.clone(), kind: item.kind, enabled: item.enabled });
            moves.push(DirectoryMove { kind: item.kind, name, comes, goes: there, was: there.then_some(was) });
        }
        let staging = transaction.stage()?;
        transaction.commit(&staging, moves, &trash)?;
        for (name, installed) in &linked {
            self.make_links(name, installed.as_ref());
        }
        Ok(back)
    }

    /// Empties the trash, or the part of it that is older than a time, and removes leftovers of crashes.
    pub fn gc(&self, older_than: Option<SystemTime>) -> Result<GcReport, RegistryError> {
        self.location.check()?;
        let mut freed = GcReport { broken: self.set_aside(), ..GcReport::default() };
        if !exists(&self.location.inner()) {
            return Ok(freed);
        }
        let guard = self.lock_without_sweep()?;
        let limit = older_than.map(rfc3339_seconds);
        let known: BTreeMap<_, _> = trash::entries(&self.location).into_iter().collect();
        for path in children(&self.location.trash())? {
            let id = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let entry = known.get(&id);
            // An entry without a time went there when it was last modified.
            let touched = || path.symlink_metadata().and_then(|found| found.modified()).ok().map(rfc3339_seconds);
            let when = entry.map(|entry| entry.when.clone()).or_else(touched);
            if limit.as_ref().is_some_and(|limit| when.is_some_and(|when| when >= *limit)) {
                continue;
            }
            match entry.map_or(0, |entry| entry.items.values().filter(|item| !item.absent).count()) {
                // Nothing in it could have been restored.
                0 => freed.leftovers += 1,
                things => freed.trash += things,
            }
            freed.bytes += weight(&path);
            // First out of the trash as a whole: half of it must not be restored.
            let out = self.location.staging().join(format!("gone-{}", id.trim_start_matches('.')));
            if exists(&out) {
                self.disk.remove_dir_all(&out).map_err(|error| RegistryError::file("remove", &out, error))?;
            }
            let removed = self.disk.rename(&path, &out).and_then(|()| self.disk.remove_dir_all(&out));
            removed.map_err(|error| RegistryError::file("remove", &path, error))?;
        }
        let swept = self.sweep(&guard)?;
        freed.leftovers += swept.directories;
        freed.bytes += swept.bytes;
        Ok(freed)
    }

    /// Lists the broken files that were set aside.
    fn set_aside(&self) -> Vec<PathBuf> {
        let dirs = [self.location.dir().to_owned(), self.location.inner()];
        let found = dirs.iter().flat_map(|dir| children(dir).unwrap_or_default());
        let is_ours = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let ours = ["registry.json.broken-", "skillcue.lock.broken-", "journal.json.broken-"];
            ours.iter().any(|start| name.starts_with(start))
        };
        found.filter(is_ours).collect()
    }
}

/// Removes an item from both files, and returns its entries.
fn take_out(transaction: &mut Transaction<'_>, name: &str, kind: InstallableKind) -> Result<TrashItem, RegistryError> {
    let enabled = settings_of(transaction, name, kind);
    transaction.listed.enabled.retain(|address, _| !enabled.contains_key(address));
    // The lock first: a broken one is rebuilt by what the registry says now.
    let pinned = transaction.locked()?.pins.remove(name);
    let installed = transaction.listed.installed.remove(name);
    Ok(TrashItem { kind, installed, pinned, enabled, absent: false })
}

fn moved(trash: &TrashFile) -> Vec<MovedItem> {
    let moved = trash.items.iter();
    moved.map(|(name, item)| MovedItem { name: name.clone(), kind: item.kind, enabled: item.enabled.clone() }).collect()
}
