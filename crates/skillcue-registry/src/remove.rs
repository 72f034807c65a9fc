//! Removing, bringing back, and collecting what nobody wants back.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use serde::Serialize;

use crate::install::{addresses_of, inode};
use crate::journal::{Coming, Move, exists};
use crate::staging::{children, weight};
use crate::trash::{self, TrashFile, TrashItem, Trashed, Why};
use crate::writing::Writing;
use crate::{Kind, Registry, RegistryError, tree};
use skillcue_base::rfc3339_seconds;

/// Something that was removed, or brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Moved {
    /// Its name.
    pub name: String,
    /// A skill or a plugin.
    pub kind: Kind,
    /// What is, or was, said of it and its skills.
    pub enabled: BTreeMap<String, bool>,
}

/// What was collected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Freed {
    /// How many things were in the trash.
    pub trash: usize,
    /// How many leftovers there were besides: of crashes, and entries of the trash in which nothing was.
    pub leftovers: usize,
    /// How many bytes all of it had.
    pub bytes: u64,
    /// Broken files that were set aside. They are left for somebody to look at.
    pub broken: Vec<PathBuf>,
}

impl Registry {
    /// Moves what is installed to the trash, all of it or nothing. What is known of it goes with it.
    pub fn remove<N: AsRef<str>>(&self, names: &[N], now: SystemTime) -> Result<Vec<Moved>, RegistryError> {
        let mut writing = self.write()?;
        let mut trash = TrashFile::new(rfc3339_seconds(now), Why::Removed);
        let mut moves = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            if trash.items.contains_key(name) {
                continue;
            }
            let kind = self.kind_of(&writing, name)?;
            let there = exists(&self.place.target(kind, name));
            let item = TrashItem { absent: !there, ..take_out(&mut writing, name, kind)? };
            trash.items.insert(name.to_owned(), item);
            moves.push(Move { kind, name: name.to_owned(), comes: None, goes: there, was: there.then_some(kind) });
        }
        let moved = moved(&trash);
        if moves.is_empty() {
            return Ok(moved);
        }
        let staging = writing.stage()?;
        writing.commit(&staging, moves, &trash)?;
        Ok(moved)
    }

    fn kind_of(&self, writing: &Writing<'_>, name: &str) -> Result<Kind, RegistryError> {
        if let Some(installed) = writing.listed.installed.get(name) {
            return Ok(installed.kind);
        }
        // What stands there unknown can be removed, too.
        let there = |kind: &Kind| kind.may_be_called(name) && exists(&self.place.target(*kind, name));
        Kind::ALL.into_iter().find(there).ok_or_else(|| RegistryError::NotInstalled { name: name.to_owned() })
    }

    /// What is in the trash, the latest first.
    pub fn trash(&self) -> Vec<Trashed> {
        trash::list(&self.place)
    }

    /// Brings back what went to the trash last, as it was. What stands in its place goes to the trash instead: undoing
    /// twice is as if nothing was undone.
    pub fn undo(&self, now: SystemTime) -> Result<Vec<Moved>, RegistryError> {
        let writing = self.write()?;
        let Some((id, file)) = trash::entries(&self.place).into_iter().next() else {
            return Err(RegistryError::NothingInTrash { name: None });
        };
        let names = file.items.keys().cloned().collect();
        let back = file.items.into_iter().filter(|(_, item)| !item.absent);
        let back: Vec<_> = back.map(|(name, item)| (id.clone(), name, item)).collect();
        if back.is_empty() {
            return Err(RegistryError::NoFiles { names });
        }
        self.bring_back(writing, back, now)
    }

    /// Brings back the latest of that name, as it was.
    pub fn restore(&self, name: &str, now: SystemTime) -> Result<Moved, RegistryError> {
        let missing = || RegistryError::NothingInTrash { name: Some(name.to_owned()) };
        self.restore_all(&[name], now)?.into_iter().next().ok_or_else(missing)
    }

    /// Brings back the latest of each of these names, all of them or none.
    pub fn restore_all<N: AsRef<str>>(&self, names: &[N], now: SystemTime) -> Result<Vec<Moved>, RegistryError> {
        let writing = self.write()?;
        let entries = trash::entries(&self.place);
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
        self.bring_back(writing, back, now)
    }

    /// Brings things back: the number in the trash, the name, and what is known of each.
    fn bring_back(
        &self,
        mut writing: Writing<'_>,
        items: Vec<(String, String, TrashItem)>,
        now: SystemTime,
    ) -> Result<Vec<Moved>, RegistryError> {
        let mut trash = TrashFile::new(rfc3339_seconds(now), Why::Restored);
        let mut moves = Vec::new();
        let mut back = Vec::new();
        for (id, name, item) in items {
            let source = trash::path(&self.place, &id, &name);
            if !source.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                return Err(RegistryError::NotADirectory { path: source });
            }
            let was = writing.listed.installed.get(&name).map_or(item.kind, |installed| installed.kind);
            let there = exists(&self.place.target(was, &name));
            let target = self.place.target(item.kind, &name);
            if was != item.kind && exists(&target) {
                return Err(RegistryError::InTheWay { path: target });
            }
            let current = take_out(&mut writing, &name, was)?;
            if there {
                trash.items.insert(name.clone(), current);
            }
            if let Some(installed) = item.installed {
                writing.listed.installed.insert(name.clone(), installed);
            }
            if let Some(pinned) = item.pinned {
                writing.locked()?.pins.insert(name.clone(), pinned);
            }
            writing.listed.enabled.extend(item.enabled.clone());
            let digest = tree::scan(&source).ok().map(|tree| tree.id());
            let comes = Some(Coming { from_trash: Some(id), inode: inode(&source), digest });
            back.push(Moved { name: name.clone(), kind: item.kind, enabled: item.enabled });
            moves.push(Move { kind: item.kind, name, comes, goes: there, was: there.then_some(was) });
        }
        let staging = writing.stage()?;
        writing.commit(&staging, moves, &trash)?;
        Ok(back)
    }

    /// Empties the trash, or what of it is older than that, and removes what crashes have left.
    pub fn gc(&self, older_than: Option<SystemTime>) -> Result<Freed, RegistryError> {
        self.place.check()?;
        let mut freed = Freed { broken: self.set_aside(), ..Freed::default() };
        if !exists(&self.place.inner()) {
            return Ok(freed);
        }
        let guard = self.lock_as_it_is()?;
        let limit = older_than.map(rfc3339_seconds);
        let known: BTreeMap<_, _> = trash::entries(&self.place).into_iter().collect();
        for path in children(&self.place.trash())? {
            let id = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let entry = known.get(&id);
            // What does not say when it came went there when it was last touched.
            let touched = || path.symlink_metadata().and_then(|found| found.modified()).ok().map(rfc3339_seconds);
            let when = entry.map(|entry| entry.when.clone()).or_else(touched);
            if limit.as_ref().is_some_and(|limit| when.is_some_and(|when| when >= *limit)) {
                continue;
            }
            match entry.map_or(0, |entry| entry.items.values().filter(|item| !item.absent).count()) {
                // Nothing in it could have been brought back.
                0 => freed.leftovers += 1,
                things => freed.trash += things,
            }
            freed.bytes += weight(&path);
            // First out of the trash as a whole: half of it must not be brought back.
            let out = self.place.staging().join(format!("gone-{}", id.trim_start_matches('.')));
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

    /// Broken files that were set aside.
    fn set_aside(&self) -> Vec<PathBuf> {
        let dirs = [self.place.dir().to_owned(), self.place.inner()];
        let found = dirs.iter().flat_map(|dir| children(dir).unwrap_or_default());
        let is_ours = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let ours = ["registry.json.broken-", "skillcue.lock.broken-", "journal.json.broken-"];
            ours.iter().any(|start| name.starts_with(start))
        };
        found.filter(is_ours).collect()
    }
}

/// Takes something out of both files; what they knew of it.
fn take_out(writing: &mut Writing<'_>, name: &str, kind: Kind) -> Result<TrashItem, RegistryError> {
    let enabled = addresses_of(writing, name, kind);
    writing.listed.enabled.retain(|address, _| !enabled.contains_key(address));
    // The lock first: a broken one is rebuilt by what the registry says now.
    let pinned = writing.locked()?.pins.remove(name);
    let installed = writing.listed.installed.remove(name);
    Ok(TrashItem { kind, installed, pinned, enabled, absent: false })
}

fn moved(trash: &TrashFile) -> Vec<Moved> {
    let moved = trash.items.iter();
    moved.map(|(name, item)| Moved { name: name.clone(), kind: item.kind, enabled: item.enabled.clone() }).collect()
}
