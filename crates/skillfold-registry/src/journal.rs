//! The journal: what is decided, written down before it is done, so that whoever comes next can finish it.
//!
//! Everything is staged first. The journal's appearance is the moment of the change: before it nothing has happened,
//! from then on it is only finished. Each step can be taken again, and the journal goes last. It may come with a
//! checkout: it names things by names, never by paths, and nothing outside the place can be reached by it.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::entries::{VERSION, read_bytes};
use crate::place::{LOCK, REGISTRY};
use crate::{Digest, Disk, Kind, Place, RegistryError, tree};

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Journal {
    pub(crate) version: u64,
    /// The staging directory of the change.
    pub(crate) staging: String,
    /// The number in the trash that what goes will have.
    pub(crate) trash: Option<String>,
    /// The directories that come and go.
    pub(crate) moves: Vec<Move>,
    /// Broken files, and the numbers by which they are set aside.
    pub(crate) aside: Vec<(String, u32)>,
    /// The files whose next text is written.
    pub(crate) files: Vec<String>,
}

/// One directory that comes, goes, or both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Move {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// What comes.
    pub(crate) comes: Option<Coming>,
    /// Whether what is there goes to the trash.
    pub(crate) goes: bool,
    /// Of what kind that was.
    pub(crate) was: Option<Kind>,
}

/// A directory that comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Coming {
    /// The number in the trash that it comes from; from staging otherwise.
    pub(crate) from_trash: Option<String>,
    /// What tells it from the directory that it changes places with.
    pub(crate) inode: u64,
    /// The same, should the place have been copied meanwhile.
    pub(crate) digest: Option<Digest>,
}

/// Whether this can be the name of a staging directory, or a number in the trash.
pub(crate) fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'z' | b'-'))
}

/// What a journal turned out to be.
pub(crate) enum Found {
    None,
    Some(Journal),
    Newer,
    Broken(String),
}

/// Reads the journal.
pub(crate) fn read(place: &Place) -> Result<Found, RegistryError> {
    #[derive(Deserialize)]
    struct Version {
        version: u64,
    }
    let path = place.journal();
    let bytes = match read_bytes(&path) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(wrong)) => return Ok(Found::Broken(wrong)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Found::None);
        }
        Err(error) => return Err(RegistryError::file("read", &path, error)),
    };
    let later = serde_json::from_slice::<Version>(&bytes).is_ok_and(|later| later.version > VERSION);
    Ok(match serde_json::from_slice::<Journal>(&bytes) {
        _ if later => Found::Newer,
        Ok(journal) if journal.is_sound() => Found::Some(journal),
        Ok(_) => Found::Broken("it names what no journal of ours names".to_owned()),
        Err(error) => Found::Broken(error.to_string()),
    })
}

impl Journal {
    /// Whether it names nothing but what may be ours.
    fn is_sound(&self) -> bool {
        let is_move = |step: &Move| {
            let from = step.comes.as_ref().and_then(|coming| coming.from_trash.as_deref());
            step.kind.may_be_called(&step.name)
                && step.was.is_none_or(|was| was.may_be_called(&step.name))
                && from.is_none_or(is_id)
                && (!step.goes || self.trash.is_some())
        };
        let is_file = |file: &str| matches!(file, REGISTRY | LOCK);
        self.version == VERSION
            && is_id(&self.staging)
            && self.trash.as_deref().is_none_or(is_id)
            && self.moves.iter().all(is_move)
            && self.aside.iter().all(|(file, _)| is_file(file))
            && self.files.iter().all(|file| is_file(file))
    }

    /// Writes it: from here on, the change is decided.
    pub(crate) fn write(&self, place: &Place, disk: &Disk) -> Result<(), RegistryError> {
        let path = place.journal();
        let fail = |error| RegistryError::file("write", &path, error);
        let text = serde_json::to_vec_pretty(self).map_err(|error| fail(error.into()))?;
        disk.replace(&path, &place.next("journal.json"), &text, 0o600).map_err(fail)
    }

    /// Does what it says, or what is left of that, and removes it.
    pub(crate) fn carry_out(&self, place: &Place, disk: &Disk) -> Result<(), RegistryError> {
        place.check()?;
        let work = Work { place, disk, journal: self };
        work.check_staging()?;
        work.make_room_in_trash()?;
        let mut touched = Vec::new();
        for step in &self.moves {
            work.take(step)?;
            touched.extend([Some(step.kind), step.was].into_iter().flatten().map(|kind| place.kind_dir(kind)));
        }
        touched.extend(self.trash.iter().flat_map(|number| [place.trash().join(number), place.trash()]));
        touched.sort();
        touched.dedup();
        for dir in touched.iter().filter(|dir| dir.is_dir()) {
            disk.sync_dir(dir).map_err(|error| RegistryError::file("write", dir, error))?;
        }
        for (file, number) in &self.aside {
            let (from, to) = (place.dir().join(file), aside(place, file, *number));
            if exists(&from) && !exists(&to) {
                work.rename(&from, &to)?;
            }
        }
        for file in &self.files {
            let (from, to) = (place.next(file), place.dir().join(file));
            if from.symlink_metadata().is_ok_and(|found| found.is_file()) {
                work.rename(&from, &to)?;
            }
        }
        if !self.files.is_empty() || !self.aside.is_empty() {
            disk.sync_dir(place.dir()).map_err(|error| RegistryError::file("write", place.dir(), error))?;
        }
        let path = place.journal();
        disk.remove_file(&path)
            .and_then(|()| disk.sync_dir(&place.inner()))
            .map_err(|error| RegistryError::file("remove", &path, error))
    }
}

/// Where a broken file is set aside.
pub(crate) fn aside(place: &Place, file: &str, number: u32) -> PathBuf {
    place.dir().join(format!("{file}.broken-{number}"))
}

/// Whether something is there, be it a dangling link.
pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

struct Work<'w> {
    place: &'w Place,
    disk: &'w Disk,
    journal: &'w Journal,
}

impl Work<'_> {
    fn rename(&self, from: &Path, to: &Path) -> Result<(), RegistryError> {
        self.disk.rename(from, to).map_err(|error| RegistryError::file("move", to, error))
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
    fn make_room_in_trash(&self) -> Result<(), RegistryError> {
        let Some(number) = &self.journal.trash else { return Ok(()) };
        let (from, to) =
            (self.place.staging().join(&self.journal.staging).join("trash"), self.place.trash().join(number));
        if exists(&to) { Ok(()) } else { self.rename(&from, &to) }
    }

    fn take(&self, step: &Move) -> Result<(), RegistryError> {
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

    fn go(&self, target: &Path, gone: &Path) -> Result<(), RegistryError> {
        if exists(target) && !exists(gone) { self.rename(target, gone) } else { Ok(()) }
    }

    fn come(&self, from: &Path, target: &Path) -> Result<(), RegistryError> {
        if !exists(from) {
            return Ok(());
        }
        if !from.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Err(RegistryError::NotADirectory { path: from.to_owned() });
        }
        if exists(target) {
            return Err(RegistryError::InTheWay { path: target.to_owned() });
        }
        if let Some(dir) = target.parent() {
            self.disk.create_dir_all(dir).map_err(|error| RegistryError::file("make", dir, error))?;
        }
        self.rename(from, target)
    }

    /// Lets the new directory take the old one's place, so that nobody ever finds neither.
    fn change(&self, from: &Path, coming: &Coming, target: &Path, gone: &Path) -> Result<(), RegistryError> {
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
                Ok(()) => {}
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
    tree::scan(target).is_ok_and(|tree| Some(tree::digest_of(&tree.leaves)) == coming.digest)
}
