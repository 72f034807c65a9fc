//! The journal: a change that is decided, written down before it is carried out, so that the next process can finish
//! it.
//!
//! Everything is staged first. The journal's appearance is the commit point: before it nothing has happened, from then
//! on the change is only finished; or undone, by the process that has written it, if a step fails. Each step can be
//! repeated, and the journal is removed last. It may come with a checkout: it has names, never paths, and nothing
//! outside the registry's location can be reached by it.

mod check;
mod execution;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillcue_catalog::ContentId;

use crate::entries::{VERSION, VersionField, read_bytes};
use crate::location::{LOCK, REGISTRY};
use crate::{Disk, InstallableKind, RegistryError, RegistryLocation};

use execution::JournalRun;

/// A change that is decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Journal {
    pub(crate) version: u64,
    /// The staging directory of the change.
    pub(crate) staging: String,
    /// The number that the removed directories get in the trash.
    pub(crate) trash: Option<String>,
    /// The directories that are added, replaced or removed.
    pub(crate) moves: Vec<DirectoryMove>,
    /// Broken files, and the numbers under which they are set aside.
    pub(crate) aside: Vec<(String, u32)>,
    /// The files whose next text is written.
    pub(crate) files: Vec<String>,
}

/// One directory that is added, removed, or replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DirectoryMove {
    pub(crate) kind: InstallableKind,
    pub(crate) name: String,
    /// The directory that is added.
    pub(crate) comes: Option<IncomingDir>,
    /// Whether the directory in its place goes to the trash.
    pub(crate) goes: bool,
    /// The kind of the directory that goes to the trash.
    pub(crate) was: Option<InstallableKind>,
}

/// A directory that is added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IncomingDir {
    /// The number in the trash that it comes from; from staging otherwise.
    pub(crate) from_trash: Option<String>,
    /// Its inode, which tells it from the directory that it is exchanged with.
    pub(crate) inode: u64,
    /// The digest of its files, which tells it apart if the registry's location has been copied meanwhile.
    pub(crate) digest: Option<ContentId>,
}

/// Returns whether this can be the name of a staging directory, or a number in the trash.
pub(crate) fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'z' | b'-'))
}

/// The outcome of reading the journal.
pub(crate) enum JournalState {
    None,
    Some(Journal),
    Newer,
    Broken(String),
}

/// Reads the journal.
pub(crate) fn read(location: &RegistryLocation) -> Result<JournalState, RegistryError> {
    let path = location.journal();
    let bytes = match read_bytes(&path, location.max_bytes()) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(unfit)) => return Ok(JournalState::Broken(unfit.to_string())),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(JournalState::None);
        }
        Err(error) => return Err(RegistryError::file("read", &path, error)),
    };
    let later = serde_json::from_slice::<VersionField>(&bytes).is_ok_and(|later| later.version > VERSION);
    Ok(match serde_json::from_slice::<Journal>(&bytes) {
        _ if later => JournalState::Newer,
        Ok(journal) if journal.is_sound() => JournalState::Some(journal),
        Ok(_) => JournalState::Broken("it has names that no journal of ours has".to_owned()),
        Err(error) => JournalState::Broken(error.to_string()),
    })
}

impl Journal {
    /// Returns whether it names nothing but what a journal of ours may name.
    fn is_sound(&self) -> bool {
        let is_move = |step: &DirectoryMove| {
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

    /// Writes the journal: from here on, the change is decided.
    pub(crate) fn write(&self, location: &RegistryLocation, disk: &Disk) -> Result<(), RegistryError> {
        let path = location.journal();
        let fail = |error| RegistryError::file("write", &path, error);
        let text = serde_json::to_vec_pretty(self).map_err(|error| fail(error.into()))?;
        disk.replace(&path, &location.next("journal.json"), &text, 0o600).map_err(fail)
    }

    /// Carries out the steps that are left, and removes the journal.
    pub(crate) fn carry_out(&self, location: &RegistryLocation, disk: &Disk) -> Result<(), RegistryError> {
        JournalRun::new(location, disk, self).run()?;
        remove(location, disk)
    }

    /// Like `carry_out`, for the process that has just written the journal: if a step fails, those before it are undone
    /// and the journal is removed. Only if undoing fails, too, the error is [`RegistryError::Unfinished`].
    pub(crate) fn carry_out_or_undo(&self, location: &RegistryLocation, disk: &Disk) -> Result<(), RegistryError> {
        let unfinished = |error| RegistryError::Unfinished { error: Box::new(error) };
        let mut work = JournalRun::new(location, disk, self);
        let Err(error) = work.run() else { return remove(location, disk).map_err(unfinished) };
        let undone = work.undo().and_then(|()| match remove(location, disk) {
            Err(_) if !exists(&location.journal()) => Ok(()),
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

/// Removes the journal: its change is done, or undone.
fn remove(location: &RegistryLocation, disk: &Disk) -> Result<(), RegistryError> {
    let path = location.journal();
    disk.remove_file(&path)
        .and_then(|()| disk.sync_dir(&location.inner()))
        .map_err(|error| RegistryError::file("remove", &path, error))
}

/// Returns the path at which a broken file is set aside.
pub(crate) fn aside(location: &RegistryLocation, file: &str, number: u32) -> PathBuf {
    location.dir().join(format!("{file}.broken-{number}"))
}

/// Returns whether something is there, be it a dangling link.
pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
