//! One change of the registry: prepared, committed, carried out.

use std::io;
use std::path::Path;

use skillcue_format::Diagnostic;

use crate::entries::{LockContents, LockPin, ReadOutcome, RegistryContents, RegistryFile, VERSION, read_bytes, wrong};
use crate::journal::{self, DirectoryMove, Journal};
use crate::location::{LOCK, REGISTRY};
use crate::registry::rebuilt;
use crate::staging::{Staging, children};
use crate::trash::{ENTRY, TrashFile};
use crate::writer_lock::WriterLock;
use crate::{Registry, RegistryError, tree};

/// A change that is being prepared. The registry is locked as long as it lives.
pub(crate) struct Transaction<'r> {
    pub(crate) registry: &'r Registry,
    guard: WriterLock,
    /// `registry.json` as it will be.
    pub(crate) listed: RegistryContents,
    /// `skillcue.lock` as it will be, once it has been read.
    locked: Option<LockContents>,
    /// Broken files that are set aside with the change.
    aside: Vec<(String, u32)>,
    /// Diagnostics about files that had to be mended.
    pub(crate) notes: Vec<Diagnostic>,
}

impl<'r> Transaction<'r> {
    pub(crate) fn new(registry: &'r Registry, guard: WriterLock) -> Result<Transaction<'r>, RegistryError> {
        let mut transaction = Transaction {
            registry,
            guard,
            listed: RegistryContents::default(),
            locked: None,
            aside: Vec::new(),
            notes: Vec::new(),
        };
        // Even if the change does not need the lock: where a foreign one is, no file of ours should be.
        if let Err(RegistryError::NotOurs { path, why }) = transaction.read::<LockContents>() {
            return Err(RegistryError::NotOurs { path, why });
        }
        match transaction.read::<RegistryContents>()? {
            Ok(listed) => transaction.listed = listed,
            Err(why) => {
                transaction.locked()?;
                transaction.listed = transaction.locked.as_ref().map(rebuilt).unwrap_or_default();
                if transaction.listed.installed.is_empty() && transaction.aside.is_empty() {
                    // There was nothing to learn from the lock, and nothing to write into it.
                    transaction.locked = None;
                }
                if let Some(why) = why {
                    transaction.set_aside(REGISTRY, &why);
                }
            }
        }
        Ok(transaction)
    }

    /// Reads a file of ours. The inner error is the reason why it cannot be used, or `None` if it is missing.
    fn read<T: RegistryFile>(&self) -> Result<Result<T, Option<String>>, RegistryError> {
        let path = self.registry.location.dir().join(T::FILE);
        match crate::entries::read(&path, self.registry.location.max_bytes())
            .map_err(|error| RegistryError::file("read", &path, error))?
        {
            ReadOutcome::Good(file) => Ok(Ok(file)),
            ReadOutcome::Newer => Err(RegistryError::Newer { path }),
            ReadOutcome::Missing => Ok(Err(None)),
            ReadOutcome::Broken(why) => Ok(Err(Some(why))),
            ReadOutcome::Foreign(why) => Err(RegistryError::NotOurs { path, why }),
        }
    }

    fn set_aside(&mut self, file: &str, why: &str) {
        let location = &self.registry.location;
        let number =
            (1..=u32::MAX).find(|number| !journal::exists(&journal::aside(location, file, *number))).unwrap_or(1);
        let kept = match file {
            REGISTRY => "what skillcue.lock names is installed, and off until it is enabled again",
            _ => "what is as it was installed is locked again",
        };
        let help = format!("it is now {file}.broken-{number}; {kept}");
        self.notes.push(wrong(&location.dir().join(file), format!("it could not be read: {why}"), help));
        self.aside.push((file.to_owned(), number));
    }

    /// Returns `skillcue.lock`. A broken one is rebuilt from the items that are still as the registry says they were
    /// installed.
    pub(crate) fn locked(&mut self) -> Result<&mut LockContents, RegistryError> {
        if self.locked.is_none() {
            let locked = match self.read::<LockContents>()? {
                Ok(locked) => locked,
                Err(None) => LockContents::default(),
                Err(Some(why)) => {
                    self.set_aside(LOCK, &why);
                    self.rebuild_lock()
                }
            };
            self.locked = Some(locked);
        }
        Ok(self.locked.get_or_insert_default())
    }

    fn rebuild_lock(&mut self) -> LockContents {
        let mut locked = LockContents::default();
        for (name, installed) in &self.listed.installed {
            let dir = self.registry.location.target(installed.kind, name);
            match tree::scan(&dir) {
                Ok(tree) if tree.id() == installed.digest => {
                    locked.pins.insert(name.clone(), LockPin::new(installed, tree.leaves));
                }
                _ => {
                    let help = "install it again to lock it again";
                    self.notes.push(wrong(&dir, "it is not as it was installed, and not locked any more", help));
                }
            }
        }
        locked
    }

    /// Makes a fresh staging directory for this change.
    pub(crate) fn stage(&self) -> Result<Staging, RegistryError> {
        Staging::new(&self.registry.location, &self.registry.disk, &self.guard)
    }

    /// Returns the next number in the trash.
    fn next_in_trash(&self) -> Result<String, RegistryError> {
        let number = |path: &Path| path.file_name()?.to_str()?.parse::<u64>().ok();
        let last = children(&self.registry.location.trash())?.iter().filter_map(|path| number(path)).max();
        Ok(format!("{:08}", last.unwrap_or(0).saturating_add(1)))
    }

    /// Commits a change of `registry.json` alone: the rename of the file is the commit point.
    pub(crate) fn commit_registry(self) -> Result<Vec<Diagnostic>, RegistryError> {
        if !self.aside.is_empty() || self.locked.is_some() {
            let staging = self.stage()?;
            return self.commit(&staging, Vec::new(), &TrashFile::default());
        }
        let location = &self.registry.location;
        let path = location.registry_file();
        let fail = |error| RegistryError::file("write", &path, error);
        let text = self.listed.text().map_err(fail)?;
        let old = read_bytes(&path, location.max_bytes()).ok().and_then(Result::ok);
        let (disk, next) = (&self.registry.disk, location.next(REGISTRY));
        if let Err(error) = disk.replace(&path, &next, &text, 0o644) {
            // It may be there all the same, if only syncing has failed.
            if read_bytes(&path, location.max_bytes()).is_ok_and(|now| now.is_ok_and(|now| now == text)) {
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

    /// Commits the change through the journal and carries it out. Directories to add are in the staging directory's
    /// `put`.
    pub(crate) fn commit(
        self,
        staging: &Staging,
        moves: Vec<DirectoryMove>,
        trash: &TrashFile,
    ) -> Result<Vec<Diagnostic>, RegistryError> {
        let (location, disk) = (&self.registry.location, &self.registry.disk);
        let number = if trash.items.is_empty() { None } else { Some(self.next_in_trash()?) };
        let mut files = vec![(REGISTRY, self.listed.text())];
        files.extend(self.locked.as_ref().map(|locked| (LOCK, locked.text())));
        let names = files.iter().map(|(file, _)| (*file).to_owned()).collect();
        let journal =
            Journal { version: VERSION, staging: staging.id(), trash: number, moves, aside: self.aside, files: names };
        journal.check(location)?;
        if journal.trash.is_some() {
            let room = staging.outer_dir().join("trash");
            disk.create_dir(&room).map_err(|error| RegistryError::file("make", &room, error))?;
            let path = room.join(ENTRY);
            let text = serde_json::to_vec_pretty(trash).map_err(io::Error::from);
            text.and_then(|text| disk.write(&path, &text, 0o600))
                .and_then(|()| disk.sync_dir(&room))
                .map_err(|error| RegistryError::file("write", &path, error))?;
        }
        for (file, text) in files {
            let path = location.dir().join(file);
            let written = text.and_then(|text| disk.draft(&location.next(file), &text, 0o644));
            written.map_err(|error| RegistryError::file("write", &path, error))?;
        }
        for dir in [&staging.outer_dir().join("put"), staging.outer_dir(), &location.staging(), &location.inner()] {
            if dir.is_dir() {
                disk.sync_dir(dir).map_err(|error| RegistryError::file("write", dir, error))?;
            }
        }
        if let Err(error) = journal.write(location, disk) {
            // It may be there all the same, if only syncing has failed.
            if !journal::exists(&location.journal()) || disk.remove_file(&location.journal()).is_ok() {
                return Err(error);
            }
            staging.keep();
            return Err(RegistryError::Unfinished { error: Box::new(error) });
        }
        if let Err(error) = journal.carry_out_or_undo(location, disk) {
            // Only the journal's removal may have failed.
            if journal::exists(&location.journal()) {
                staging.keep();
            }
            return Err(error);
        }
        Ok(self.notes)
    }
}
