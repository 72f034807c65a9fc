//! The journal: what is decided, written down before it is done, so that whoever comes next can finish it.
//!
//! Everything is staged first. The journal's appearance is the moment of the change: before it nothing has happened,
//! from then on it is only finished; or undone, by whoever has written it, if something in it cannot be done. Each step can be taken again, and the journal goes last. It may come with a
//! checkout: it names things by names, never by paths, and nothing outside the place can be reached by it.

mod check;
mod work;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillcue_catalog::ContentId;

use crate::entries::{VERSION, read_bytes};
use crate::place::{LOCK, REGISTRY};
use crate::{Disk, Kind, Place, RegistryError};

use work::Work;

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
    pub(crate) digest: Option<ContentId>,
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
    let bytes = match read_bytes(&path, place.max_bytes()) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(unfit)) => return Ok(Found::Broken(unfit.to_string())),
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
        Work::new(place, disk, self).run()?;
        remove(place, disk)
    }

    /// The same, for whoever has just written it: if something cannot be done, what was done so far is undone, and the
    /// journal taken back. Only if not even that can be done it is [`RegistryError::Unfinished`].
    pub(crate) fn carry_out_or_undo(&self, place: &Place, disk: &Disk) -> Result<(), RegistryError> {
        let unfinished = |error| RegistryError::Unfinished { error: Box::new(error) };
        let mut work = Work::new(place, disk, self);
        let Err(error) = work.run() else { return remove(place, disk).map_err(unfinished) };
        let undone = work.undo().and_then(|()| match remove(place, disk) {
            Err(_) if !exists(&place.journal()) => Ok(()),
            removed => removed,
        });
        match undone {
            Ok(()) => Err(error),
            Err(worse) => {
                tracing::debug!(error = %worse, "what was done so far cannot be undone");
                Err(unfinished(error))
            }
        }
    }
}

/// Removes the journal: what it says is done, or undone.
fn remove(place: &Place, disk: &Disk) -> Result<(), RegistryError> {
    let path = place.journal();
    disk.remove_file(&path)
        .and_then(|()| disk.sync_dir(&place.inner()))
        .map_err(|error| RegistryError::file("remove", &path, error))
}

/// Where a broken file is set aside.
pub(crate) fn aside(place: &Place, file: &str, number: u32) -> PathBuf {
    place.dir().join(format!("{file}.broken-{number}"))
}

/// Whether something is there, be it a dangling link.
pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
