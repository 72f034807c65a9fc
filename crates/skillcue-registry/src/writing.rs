//! One change of the registry: prepared, decided, carried out.

use std::io;
use std::path::Path;

use skillcue_format::Diagnostic;

use crate::entries::{Entries, Listed, Locked, Pinned, Read, VERSION, read_bytes, wrong};
use crate::guard::Guard;
use crate::journal::{self, Journal, Move};
use crate::place::{LOCK, REGISTRY};
use crate::registry::rebuilt;
use crate::staging::{Staging, children};
use crate::trash::{ENTRY, TrashFile};
use crate::{Registry, RegistryError, tree};

/// A change in the making. The place is locked as long as it lives.
pub(crate) struct Writing<'r> {
    pub(crate) registry: &'r Registry,
    guard: Guard,
    /// `registry.json` as it will be.
    pub(crate) listed: Listed,
    /// `skillcue.lock` as it will be, once somebody has asked for it.
    locked: Option<Locked>,
    /// Broken files that are set aside with the change.
    aside: Vec<(String, u32)>,
    /// What had to be mended.
    pub(crate) notes: Vec<Diagnostic>,
}

impl<'r> Writing<'r> {
    pub(crate) fn new(registry: &'r Registry, guard: Guard) -> Result<Writing<'r>, RegistryError> {
        let mut writing =
            Writing { registry, guard, listed: Listed::default(), locked: None, aside: Vec::new(), notes: Vec::new() };
        // Even if the change does not need it: where it is, nothing else of ours should be.
        if let Err(RegistryError::NotOurs { path, why }) = writing.read::<Locked>() {
            return Err(RegistryError::NotOurs { path, why });
        }
        match writing.read::<Listed>()? {
            Ok(listed) => writing.listed = listed,
            Err(why) => {
                writing.locked()?;
                writing.listed = writing.locked.as_ref().map(rebuilt).unwrap_or_default();
                if writing.listed.installed.is_empty() && writing.aside.is_empty() {
                    // There was nothing to learn from it, and nothing to write into it.
                    writing.locked = None;
                }
                if let Some(why) = why {
                    writing.set_aside(REGISTRY, &why);
                }
            }
        }
        Ok(writing)
    }

    /// Reads a file of ours; why it cannot be used otherwise, or nothing if it is missing.
    fn read<T: Entries>(&self) -> Result<Result<T, Option<String>>, RegistryError> {
        let path = self.registry.place.dir().join(T::FILE);
        match crate::entries::read(&path, self.registry.place.max_bytes())
            .map_err(|error| RegistryError::file("read", &path, error))?
        {
            Read::Good(file) => Ok(Ok(file)),
            Read::Newer => Err(RegistryError::Newer { path }),
            Read::Missing => Ok(Err(None)),
            Read::Broken(why) => Ok(Err(Some(why))),
            Read::Foreign(why) => Err(RegistryError::NotOurs { path, why }),
        }
    }

    fn set_aside(&mut self, file: &str, why: &str) {
        let place = &self.registry.place;
        let number = (1..=u32::MAX).find(|number| !journal::exists(&journal::aside(place, file, *number))).unwrap_or(1);
        let kept = match file {
            REGISTRY => "what skillcue.lock names is installed, and off until it is enabled again",
            _ => "what is as it was installed is locked again",
        };
        let help = format!("it now stands in {file}.broken-{number}; {kept}");
        self.notes.push(wrong(&place.dir().join(file), format!("it could not be read: {why}"), help));
        self.aside.push((file.to_owned(), number));
    }

    /// `skillcue.lock`. A broken one is rebuilt of what is still as the registry says it was installed.
    pub(crate) fn locked(&mut self) -> Result<&mut Locked, RegistryError> {
        if self.locked.is_none() {
            let locked = match self.read::<Locked>()? {
                Ok(locked) => locked,
                Err(None) => Locked::default(),
                Err(Some(why)) => {
                    self.set_aside(LOCK, &why);
                    self.relock()
                }
            };
            self.locked = Some(locked);
        }
        Ok(self.locked.get_or_insert_default())
    }

    fn relock(&mut self) -> Locked {
        let mut locked = Locked::default();
        for (name, installed) in &self.listed.installed {
            let dir = self.registry.place.target(installed.kind, name);
            match tree::scan(&dir) {
                Ok(tree) if tree.id() == installed.digest => {
                    locked.pins.insert(name.clone(), Pinned::new(installed, tree.leaves));
                }
                _ => {
                    let help = "install it again to lock it again";
                    self.notes.push(wrong(&dir, "it is not as it was installed, and not locked any more", help));
                }
            }
        }
        locked
    }

    /// A fresh staging directory for this change.
    pub(crate) fn stage(&self) -> Result<Staging, RegistryError> {
        Staging::new(&self.registry.place, &self.registry.disk, &self.guard)
    }

    /// The number in the trash that comes next.
    fn next_in_trash(&self) -> Result<String, RegistryError> {
        let number = |path: &Path| path.file_name()?.to_str()?.parse::<u64>().ok();
        let last = children(&self.registry.place.trash())?.iter().filter_map(|path| number(path)).max();
        Ok(format!("{:08}", last.unwrap_or(0).saturating_add(1)))
    }

    /// Writes what only `registry.json` says: the file's appearance is the change.
    pub(crate) fn commit_registry(self) -> Result<Vec<Diagnostic>, RegistryError> {
        if !self.aside.is_empty() || self.locked.is_some() {
            let staging = self.stage()?;
            return self.commit(&staging, Vec::new(), &TrashFile::default());
        }
        let place = &self.registry.place;
        let path = place.registry_file();
        let fail = |error| RegistryError::file("write", &path, error);
        let text = self.listed.text().map_err(fail)?;
        let old = read_bytes(&path, place.max_bytes()).ok().and_then(Result::ok);
        let (disk, next) = (&self.registry.disk, place.next(REGISTRY));
        if let Err(error) = disk.replace(&path, &next, &text, 0o644) {
            // It may stand there all the same, if only making sure of it has failed.
            if read_bytes(&path, place.max_bytes()).is_ok_and(|now| now.is_ok_and(|now| now == text)) {
                let back = match old {
                    Some(old) => disk.draft(&next, &old, 0o644).and_then(|()| disk.rename(&next, &path)),
                    None => disk.remove_file(&path),
                };
                if back.is_err() {
                    return Err(RegistryError::Unfinished { error: Box::new(fail(error)) });
                }
            }
            return Err(fail(error));
        }
        Ok(self.notes)
    }

    /// Decides the change and carries it out. What comes stands in the staging directory's `put`.
    pub(crate) fn commit(
        self,
        staging: &Staging,
        moves: Vec<Move>,
        trash: &TrashFile,
    ) -> Result<Vec<Diagnostic>, RegistryError> {
        let (place, disk) = (&self.registry.place, &self.registry.disk);
        let number = if trash.items.is_empty() { None } else { Some(self.next_in_trash()?) };
        let mut files = vec![(REGISTRY, self.listed.text())];
        files.extend(self.locked.as_ref().map(|locked| (LOCK, locked.text())));
        let names = files.iter().map(|(file, _)| (*file).to_owned()).collect();
        let journal =
            Journal { version: VERSION, staging: staging.id(), trash: number, moves, aside: self.aside, files: names };
        journal.check(place)?;
        if journal.trash.is_some() {
            let room = staging.room().join("trash");
            disk.create_dir(&room).map_err(|error| RegistryError::file("make", &room, error))?;
            let path = room.join(ENTRY);
            let text = serde_json::to_vec_pretty(trash).map_err(io::Error::from);
            text.and_then(|text| disk.write(&path, &text, 0o600))
                .and_then(|()| disk.sync_dir(&room))
                .map_err(|error| RegistryError::file("write", &path, error))?;
        }
        for (file, text) in files {
            let path = place.dir().join(file);
            let written = text.and_then(|text| disk.draft(&place.next(file), &text, 0o644));
            written.map_err(|error| RegistryError::file("write", &path, error))?;
        }
        for dir in [&staging.room().join("put"), staging.room(), &place.staging(), &place.inner()] {
            if dir.is_dir() {
                disk.sync_dir(dir).map_err(|error| RegistryError::file("write", dir, error))?;
            }
        }
        if let Err(error) = journal.write(place, disk) {
            // It may stand there all the same, if only making sure of it has failed.
            if !journal::exists(&place.journal()) || disk.remove_file(&place.journal()).is_ok() {
                return Err(error);
            }
            staging.keep();
            return Err(RegistryError::Unfinished { error: Box::new(error) });
        }
        if let Err(error) = journal.carry_out_or_undo(place, disk) {
            // Only the journal's own end may have failed.
            if journal::exists(&place.journal()) {
                staging.keep();
            }
            return Err(error);
        }
        Ok(self.notes)
    }
}
