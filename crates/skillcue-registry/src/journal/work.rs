//! Carrying out a journal, and undoing what was carried out.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{Coming, Journal, Move, aside, exists};
use crate::entries::read_bytes;
use crate::{Disk, Place, RegistryError, tree};

/// Something that was done, and can be undone.
enum Done {
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
pub(super) struct Work<'w> {
    place: &'w Place,
    disk: &'w Disk,
    journal: &'w Journal,
    done: Vec<Done>,
}

impl<'w> Work<'w> {
    pub(super) fn new(place: &'w Place, disk: &'w Disk, journal: &'w Journal) -> Work<'w> {
        Work { place, disk, journal, done: Vec::new() }
    }

    /// Does everything that is not done yet.
    pub(super) fn run(&mut self) -> Result<(), RegistryError> {
        let (place, journal) = (self.place, self.journal);
        place.check()?;
        self.check_staging()?;
        self.make_room_in_trash()?;
        for step in &journal.moves {
            self.take(step)?;
        }
        self.sync()?;
        for (file, number) in &journal.aside {
            let (from, to) = (place.dir().join(file), aside(place, file, *number));
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
        self.disk.sync_dir(place.dir()).map_err(|error| RegistryError::file("write", place.dir(), error))
    }

    /// Makes sure of what has moved.
    fn sync(&self) -> Result<(), RegistryError> {
        let kinds = self.journal.moves.iter().flat_map(|step| [Some(step.kind), step.was]).flatten();
        let trash = self.journal.trash.iter().flat_map(|number| [self.place.trash().join(number), self.place.trash()]);
        let touched: BTreeSet<PathBuf> = kinds.map(|kind| self.place.kind_dir(kind)).chain(trash).collect();
        for dir in touched.iter().filter(|dir| dir.is_dir()) {
            self.disk.sync_dir(dir).map_err(|error| RegistryError::file("write", dir, error))?;
        }
        Ok(())
    }

    /// Undoes what was done here, the last first. Whoever is stopped on the way leaves what can still be carried out.
    pub(super) fn undo(&mut self) -> Result<(), RegistryError> {
        while let Some(done) = self.done.pop() {
            match done {
                Done::Moved { from, to } => self.rename_only(&to, &from)?,
                Done::Exchanged { one, other } => {
                    let undone = self.disk.exchange(&one, &other);
                    undone.map_err(|error| RegistryError::file("put back", &other, error))?;
                }
                Done::Written { file, old } => self.unwrite(&file, old.as_deref())?,
                // An empty directory too many is no harm.
                Done::Made(dir) => drop(self.disk.remove_dir(&dir)),
            }
        }
        // Best effort: it fails where making sure of the change has failed.
        let _ = self.sync();
        let _ = self.disk.sync_dir(self.place.dir());
        Ok(())
    }

    fn rename_only(&self, from: &Path, to: &Path) -> Result<(), RegistryError> {
        self.disk.rename(from, to).map_err(|error| RegistryError::file("move", to, error))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), RegistryError> {
        self.rename_only(from, to)?;
        self.done.push(Done::Moved { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    /// Lets the next text of a file take its place.
    fn write(&mut self, file: &str) -> Result<(), RegistryError> {
        let (next, path) = (self.place.next(file), self.place.dir().join(file));
        if next.symlink_metadata().is_ok_and(|found| found.is_file()) {
            let old = read_bytes(&path, self.place.max_bytes()).ok().and_then(Result::ok);
            self.rename_only(&next, &path)?;
            self.done.push(Done::Written { file: file.to_owned(), old });
        }
        Ok(())
    }

    /// Takes the next text of a file back, so that at no time there is less than one of the two.
    fn unwrite(&self, file: &str, old: Option<&[u8]>) -> Result<(), RegistryError> {
        let (next, path) = (self.place.next(file), self.place.dir().join(file));
        let before = self.place.next(&format!("{file}-before"));
        if let Some(old) = old {
            let kept = self.disk.draft(&before, old, 0o644);
            kept.map_err(|error| RegistryError::file("write", &before, error))?;
        }
        self.rename_only(&path, &next)?;
        if old.is_some() { self.rename_only(&before, &path) } else { Ok(()) }
    }

    /// A link among the directories that things come from would lead out.
    fn check_staging(&self) -> Result<(), RegistryError> {
        let staging = self.place.staging().join(&self.journal.staging);
        let trash = |number: &String| self.place.trash().join(number);
        let from = self.journal.moves.iter().filter_map(|step| step.comes.as_ref()?.from_trash.as_ref());
        let dirs = [staging.join("put"), staging.join("trash"), staging];
        dirs.into_iter().chain(from.map(trash)).chain(self.journal.trash.iter().map(trash)).try_for_each(
            |dir| match dir.symlink_metadata() {
                Ok(found) if !found.is_dir() => Err(RegistryError::NotADirectory { path: dir }),
                _ => Ok(()),
            },
        )
    }

    /// Puts the directory for what goes into the trash.
    fn make_room_in_trash(&mut self) -> Result<(), RegistryError> {
        let Some(number) = &self.journal.trash else { return Ok(()) };
        let (from, to) =
            (self.place.staging().join(&self.journal.staging).join("trash"), self.place.trash().join(number));
        if exists(&to) { Ok(()) } else { self.rename(&from, &to) }
    }

    fn take(&mut self, step: &Move) -> Result<(), RegistryError> {
        let target = self.place.target(step.kind, &step.name);
        let coming = step.comes.as_ref().map(|coming| (self.source(step, coming), coming));
        let gone = self.journal.trash.as_ref().filter(|_| step.goes).map(|number| self.place.trash().join(number));
        let gone = gone.map(|dir| dir.join(&step.name));
        let was = self.place.target(step.was.unwrap_or(step.kind), &step.name);
        match (coming, gone) {
            (None, None) => Ok(()),
            (None, Some(gone)) => self.go(&was, &gone),
            (Some((from, _)), None) => self.come(&from, &target),
            (Some((from, coming)), Some(gone)) if was == target => self.change(&from, coming, &target, &gone),
            // A plugin takes the name of a skill, or the other way round: two places, so nothing changes places.
            (Some((from, _)), Some(gone)) => {
                self.go(&was, &gone)?;
                self.come(&from, &target)
            }
        }
    }

    fn source(&self, step: &Move, coming: &Coming) -> PathBuf {
        match &coming.from_trash {
            Some(number) => self.place.trash().join(number).join(&step.name),
            None => self.place.staging().join(&self.journal.staging).join("put").join(&step.name),
        }
    }

    fn go(&mut self, target: &Path, gone: &Path) -> Result<(), RegistryError> {
        if exists(target) && !exists(gone) { self.rename(target, gone) } else { Ok(()) }
    }

    fn come(&mut self, from: &Path, target: &Path) -> Result<(), RegistryError> {
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
            self.done.push(Done::Made(dir.to_owned()));
        }
        self.rename(from, target)
    }

    /// Lets the new directory take the old one's place, so that nobody ever finds neither.
    fn change(&mut self, from: &Path, coming: &Coming, target: &Path, gone: &Path) -> Result<(), RegistryError> {
        if exists(gone) || !exists(target) {
            // The old one has gone; the new one may still have to come.
            return if exists(target) { Ok(()) } else { self.come(from, target) };
        }
        if !exists(from) {
            return Ok(());
        }
        if !has_changed(from, coming, target) {
            if !from.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                return Err(RegistryError::NotADirectory { path: from.to_owned() });
            }
            match self.disk.exchange(from, target) {
                Ok(()) => self.done.push(Done::Exchanged { one: from.to_owned(), other: target.to_owned() }),
                Err(error) if is_unsupported(&error) => {
                    self.rename(target, gone)?;
                    return self.come(from, target);
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

/// Whether the new directory stands in the old one's place already.
fn has_changed(from: &Path, coming: &Coming, target: &Path) -> bool {
    let inode = |path: &Path| path.symlink_metadata().ok().map(|found| found.ino());
    if inode(target) == Some(coming.inode) {
        return true;
    }
    if inode(from) == Some(coming.inode) {
        return false;
    }
    tree::scan(target).is_ok_and(|tree| Some(tree.id()) == coming.digest)
}
