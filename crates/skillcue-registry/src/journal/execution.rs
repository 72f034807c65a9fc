//! Carrying out a journal, and undoing what was carried out.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{DirectoryMove, IncomingDir, Journal, aside, exists};
use crate::entries::read_bytes;
use crate::{Disk, RegistryError, RegistryLocation, tree};

/// How to undo a step that was taken.
enum UndoStep {
    /// A directory was made.
    Made(PathBuf),
    /// Something was moved.
    Moved { from: PathBuf, to: PathBuf },
    /// Two directories changed places.
    Exchanged { one: PathBuf, other: PathBuf },
    /// A file has its next text, and had this one.
    Written { file: String, old: Option<Vec<u8>> },
}

/// A journal that is being carried out.
pub(super) struct JournalRun<'w> {
    location: &'w RegistryLocation,
    disk: &'w Disk,
    journal: &'w Journal,
    done: Vec<UndoStep>,
}

impl<'w> JournalRun<'w> {
    pub(super) fn new(location: &'w RegistryLocation, disk: &'w Disk, journal: &'w Journal) -> JournalRun<'w> {
        JournalRun { location, disk, journal, done: Vec::new() }
    }

    /// Takes every step that is not taken yet.
    pub(super) fn run(&mut self) -> Result<(), RegistryError> {
        let (location, journal) = (self.location, self.journal);
        location.check()?;
        self.refuse_links()?;
        self.make_trash_entry()?;
        for step in &journal.moves {
            self.apply(step)?;
        }
        self.sync()?;
        for (file, number) in &journal.aside {
            let (from, to) = (location.dir().join(file), aside(location, file, *number));
            if exists(&from) && !exists(&to) {
                self.rename(&from, &to)?;
            }
        }
        for file in &journal.files {
            self.write(file)?;
        }
        if journal.files.is_empty() && journal.aside.is_empty() {
            return Ok(());
        }
        self.disk.sync_dir(location.dir()).map_err(|error| RegistryError::file("write", location.dir(), error))
    }

    /// Syncs the directories whose entries have changed.
    fn sync(&self) -> Result<(), RegistryError> {
        let kinds = self.journal.moves.iter().flat_map(|step| [Some(step.kind), step.was]).flatten();
        let trash =
            self.journal.trash.iter().flat_map(|number| [self.location.trash().join(number), self.location.trash()]);
        let touched: BTreeSet<PathBuf> = kinds.map(|kind| self.location.kind_dir(kind)).chain(trash).collect();
        for dir in touched.iter().filter(|dir| dir.is_dir()) {
            self.disk.sync_dir(dir).map_err(|error| RegistryError::file("write", dir, error))?;
        }
        Ok(())
    }

    /// Undoes the steps taken here, the last first. If this is interrupted, the journal can still be carried out.
    pub(super) fn undo(&mut self) -> Result<(), RegistryError> {
        while let Some(done) = self.done.pop() {
            match done {
                UndoStep::Moved { from, to } => self.rename_only(&to, &from)?,
                UndoStep::Exchanged { one, other } => {
                    let undone = self.disk.exchange(&one, &other);
                    undone.map_err(|error| RegistryError::file("put back", &other, error))?;
                }
                UndoStep::Written { file, old } => self.unwrite(&file, old.as_deref())?,
                // An empty directory too many is no harm.
                UndoStep::Made(dir) => drop(self.disk.remove_dir(&dir)),
            }
        }
        // Best effort: it fails where syncing the change has failed.
        let _ = self.sync();
        let _ = self.disk.sync_dir(self.location.dir());
        Ok(())
    }

    fn rename_only(&self, from: &Path, to: &Path) -> Result<(), RegistryError> {
        self.disk.rename(from, to).map_err(|error| RegistryError::file("move", to, error))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), RegistryError> {
        self.rename_only(from, to)?;
        self.done.push(UndoStep::Moved { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    /// Moves the next text of a file over the file.
    fn write(&mut self, file: &str) -> Result<(), RegistryError> {
        let (next, path) = (self.location.next(file), self.location.dir().join(file));
        if next.symlink_metadata().is_ok_and(|found| found.is_file()) {
            let old = read_bytes(&path, self.location.max_bytes()).ok().and_then(Result::ok);
            self.rename_only(&next, &path)?;
            self.done.push(UndoStep::Written { file: file.to_owned(), old });
        }
        Ok(())
    }

    /// Takes the next text of a file back, so that at every moment at least one of the two exists.
    fn unwrite(&self, file: &str, old: Option<&[u8]>) -> Result<(), RegistryError> {
        let (next, path) = (self.location.next(file), self.location.dir().join(file));
        let before = self.location.next(&format!("{file}-before"));
        if let Some(old) = old {
            let kept = self.disk.draft(&before, old, 0o644);
            kept.map_err(|error| RegistryError::file("write", &before, error))?;
        }
        self.rename_only(&path, &next)?;
        if old.is_some() { self.rename_only(&before, &path) } else { Ok(()) }
    }

    /// Refuses links among the directories that are moved from: they would lead out.
    fn refuse_links(&self) -> Result<(), RegistryError> {
        let staging = self.location.staging().join(&self.journal.staging);
        let trash = |number: &String| self.location.trash().join(number);
        let from = self.journal.moves.iter().filter_map(|step| step.comes.as_ref()?.from_trash.as_ref());
        let dirs = [staging.join("put"), staging.join("trash"), staging];
        dirs.into_iter().chain(from.map(trash)).chain(self.journal.trash.iter().map(trash)).try_for_each(
            |dir| match dir.symlink_metadata() {
                Ok(found) if !found.is_dir() => Err(RegistryError::NotADirectory { path: dir }),
                _ => Ok(()),
            },
        )
    }

    /// Moves the prepared directory for removed items into the trash.
    fn make_trash_entry(&mut self) -> Result<(), RegistryError> {
        let Some(number) = &self.journal.trash else { return Ok(()) };
        let (from, to) =
            (self.location.staging().join(&self.journal.staging).join("trash"), self.location.trash().join(number));
        if exists(&to) { Ok(()) } else { self.rename(&from, &to) }
    }

    fn apply(&mut self, step: &DirectoryMove) -> Result<(), RegistryError> {
        let target = self.location.target(step.kind, &step.name);
        let coming = step.comes.as_ref().map(|coming| (self.source(step, coming), coming));
        let gone = self.journal.trash.as_ref().filter(|_| step.goes).map(|number| self.location.trash().join(number));
        let gone = gone.map(|dir| dir.join(&step.name));
        let was = self.location.target(step.was.unwrap_or(step.kind), &step.name);
        match (coming, gone) {
            (None, None) => Ok(()),
            (None, Some(gone)) => self.move_to_trash(&was, &gone),
            (Some((from, _)), None) => self.move_into_place(&from, &target),
            (Some((from, coming)), Some(gone)) if was == target => self.replace(&from, coming, &target, &gone),
            // A plugin takes the name of a skill, or the other way round: two paths, so nothing can be exchanged.
            (Some((from, _)), Some(gone)) => {
                self.move_to_trash(&was, &gone)?;
                self.move_into_place(&from, &target)
            }
        }
    }

    fn source(&self, step: &DirectoryMove, coming: &IncomingDir) -> PathBuf {
        match &coming.from_trash {
            Some(number) => self.location.trash().join(number).join(&step.name),
            None => self.location.staging().join(&self.journal.staging).join("put").join(&step.name),
        }
    }

    fn move_to_trash(&mut self, target: &Path, gone: &Path) -> Result<(), RegistryError> {
        if exists(target) && !exists(gone) { self.rename(target, gone) } else { Ok(()) }
    }

    fn move_into_place(&mut self, from: &Path, target: &Path) -> Result<(), RegistryError> {
        if !exists(from) {
            return Ok(());
        }
        if !from.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Err(RegistryError::NotADirectory { path: from.to_owned() });
        }
        if exists(target) {
            return Err(RegistryError::InTheWay { path: target.to_owned() });
        }
        if let Some(dir) = target.parent().filter(|dir| !exists(dir)) {
            self.disk.create_dir_all(dir).map_err(|error| RegistryError::file("make", dir, error))?;
            self.done.push(UndoStep::Made(dir.to_owned()));
        }
        self.rename(from, target)
    }

    /// Exchanges the new directory with the old one, so that a reader always finds one of the two.
    fn replace(&mut self, from: &Path, coming: &IncomingDir, target: &Path, gone: &Path) -> Result<(), RegistryError> {
        if exists(gone) || !exists(target) {
            // The old one has gone; the new one may still have to come.
            return if exists(target) { Ok(()) } else { self.move_into_place(from, target) };
        }
        if !exists(from) {
            return Ok(());
        }
        if !is_replaced(from, coming, target) {
            if !from.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                return Err(RegistryError::NotADirectory { path: from.to_owned() });
            }
            match self.disk.exchange(from, target) {
                Ok(()) => self.done.push(UndoStep::Exchanged { one: from.to_owned(), other: target.to_owned() }),
                Err(error) if is_unsupported(&error) => {
                    self.rename(target, gone)?;
                    return self.move_into_place(from, target);
                }
                Err(error) => return Err(RegistryError::file("replace", target, error)),
            }
        }
        self.rename(from, gone)
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput)
}

/// Returns whether the new directory is in the old one's place already.
fn is_replaced(from: &Path, coming: &IncomingDir, target: &Path) -> bool {
    let inode = |path: &Path| path.symlink_metadata().ok().map(|found| found.ino());
    if inode(target) == Some(coming.inode) {
        return true;
    }
    if inode(from) == Some(coming.inode) {
        return false;
    }
    tree::scan(target).is_ok_and(|tree| Some(tree.id()) == coming.digest)
}
