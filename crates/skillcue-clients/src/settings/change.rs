//! A change of one file: planned, shown, applied, taken back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use skillcue_base::{Digest, replace_file, rewrite_file};

use super::record::missing;
use super::{ConnectionPart, ConnectionStore, SettingsError, SettingsFile, SettingsFormat};
use crate::Client;

/// The largest file that is edited. Claude Code's own state, with a user's whole history of projects, has a few megabytes.
const MAX_BYTES: u64 = 64 << 20;

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct SettingsChange {
    client: Client,
    path: PathBuf,
    now: Option<String>,
    after: Option<String>,
    record: RecordChange,
    /// Directories that were made when the file was connected, or are made now.
    dirs: Vec<PathBuf>,
    /// Whether there was a record before.
    was_recorded: bool,
}

/// The change of a file's record.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RecordChange {
    Keep,
    /// Written, with this text before.
    Write(Option<String>),
    Remove,
}

impl SettingsChange {
    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its text now; `None` if there is no file.
    pub fn now(&self) -> Option<&str> {
        self.now.as_deref()
    }

    /// Returns its text after the change; `None` if the file is removed.
    pub fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// Returns whether the file changes at all.
    pub fn is_change(&self) -> bool {
        self.now != self.after
    }

    /// Applies the change: the record first, then the file, as a whole.
    pub fn apply(&self, store: &ConnectionStore) -> Result<(), SettingsError> {
        if read(&self.path)? != self.now {
            return Err(SettingsError::Changed { path: self.path.clone() });
        }
        if let RecordChange::Write(before) = &self.record {
            let after = self.after.as_deref().unwrap_or_default();
            store.write(self.client, &self.path, before.as_deref(), after, &self.dirs)?;
        }
        if self.is_change() {
            let written = match &self.after {
                Some(after) if self.now.is_some() => rewrite_file(&self.path, after.as_bytes()),
                Some(after) => replace_file(&self.path, [after.as_bytes()]),
                None => fs::remove_file(&self.path),
            };
            if let Err(error) = written {
                if matches!(self.record, RecordChange::Write(_)) && !self.was_recorded {
                    store.remove(&self.path);
                    remove_dirs(&self.dirs);
                }
                return Err(SettingsError::file("write", &self.path, error));
            }
        }
        if self.record == RecordChange::Remove {
            store.remove(&self.path);
            self.clear_dirs();
        }
        Ok(())
    }

    /// Removes the directories that were made for a file that is gone. To be called again after the last change of a client:
    /// directories of two files are empty only then. Those that others use by now are not empty, and stay.
    pub fn clear_dirs(&self) {
        if self.record == RecordChange::Remove {
            remove_dirs(&self.dirs);
        }
    }

    /// Takes an applied change back, because a later one failed.
    pub fn take_back(&self, store: &ConnectionStore) {
        if !self.is_change() {
            return;
        }
        let back = match &self.now {
            Some(now) if self.after.is_some() => rewrite_file(&self.path, now.as_bytes()),
            Some(now) => replace_file(&self.path, [now.as_bytes()]),
            None => fs::remove_file(&self.path),
        };
        if back.is_ok() && matches!(self.record, RecordChange::Write(_)) && !self.was_recorded {
            store.remove(&self.path);
            remove_dirs(&self.dirs);
        }
    }
}

/// Removes directories, the innermost first, as far as they are empty.
fn remove_dirs(dirs: &[PathBuf]) {
    for dir in dirs.iter().rev() {
        let _ = fs::remove_dir(dir);
    }
}

impl SettingsFile {
    /// Reads the file. `None` if there is none.
    pub fn read(&self) -> Result<Option<String>, SettingsError> {
        read(&self.path)
    }

    /// Returns the parts that the file has, each with whether it is as it would be written now.
    pub fn connected(&self) -> Result<Vec<(ConnectionPart, bool)>, SettingsError> {
        match self.read()? {
            Some(text) => self.parts_in(&text),
            None => Ok(Vec::new()),
        }
    }

    /// Plans to put some parts into the file.
    pub fn connect(&self, parts: &[ConnectionPart], store: &ConnectionStore) -> Result<SettingsChange, SettingsError> {
        let now = self.read()?;
        if let Some(text) = &now {
            self.check(text)?;
        }
        let is_wanted = self.entries.iter().any(|(part, _)| parts.contains(part));
        let after = if is_wanted { Some(self.put(now.as_deref().unwrap_or_default(), parts)?) } else { now.clone() };
        if now == after {
            let (client, path) = (self.client, self.path.clone());
            return Ok(SettingsChange {
                client,
                path,
                now,
                after,
                record: RecordChange::Keep,
                dirs: Vec::new(),
                was_recorded: true,
            });
        }
        let kept = store.read(&self.path);
        let was_recorded = kept.is_some();
        let mut dirs = kept.as_ref().map(|(record, _)| record.dirs.clone()).unwrap_or_default();
        for dir in store.missing_dirs().into_iter().chain(missing(self.path.parent().unwrap_or(Path::new("/")))) {
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        let before = match (&now, kept) {
            (Some(text), Some((record, before))) if Digest::of(text) == record.after => before,
            (Some(text), kept) => {
                let former = kept.as_ref().and_then(|(_, before)| before.as_deref()).unwrap_or(text);
                let bare = self.take(text, &ConnectionPart::ALL, former)?;
                let existed = kept.is_none_or(|(record, _)| record.existed) || !self.is_blank(&bare);
                existed.then_some(bare)
            }
            (None, _) => None,
        };
        Ok(SettingsChange {
            client: self.client,
            path: self.path.clone(),
            now,
            after,
            record: RecordChange::Write(before),
            dirs,
            was_recorded,
        })
    }

    /// Plans to take some parts out of the file. It becomes what it was, byte for byte, if nothing else has changed it since;
    /// else only our lines go.
    pub fn disconnect(
        &self,
        parts: &[ConnectionPart],
        store: &ConnectionStore,
    ) -> Result<SettingsChange, SettingsError> {
        let now = self.read()?;
        let kept = store.read(&self.path);
        let dirs = kept.as_ref().map(|(record, _)| record.dirs.clone()).unwrap_or_default();
        let change = |after: Option<String>, record: RecordChange| SettingsChange {
            client: self.client,
            path: self.path.clone(),
            now: now.clone(),
            after,
            record,
            dirs: dirs.clone(),
            was_recorded: true,
        };
        let Some(text) = now.clone() else {
            return Ok(change(None, if kept.is_some() { RecordChange::Remove } else { RecordChange::Keep }));
        };
        if self.format == SettingsFormat::Program && self.check(&text).is_err() {
            return Ok(change(Some(text), RecordChange::Keep));
        }
        self.check(&text)?;
        let is_all = self.parts_in(&text)?.iter().all(|(part, _)| parts.contains(part));
        if let (Some((record, before)), true) = (&kept, is_all)
            && Digest::of(&text) == record.after
        {
            return Ok(change(before.clone(), RecordChange::Remove));
        }
        let former = kept.as_ref().map(|(_, before)| before.as_deref().unwrap_or_default());
        let bare = self.take(&text, parts, former.unwrap_or(&text))?;
        let is_gone = self.format == SettingsFormat::Program
            || kept.as_ref().is_some_and(|(record, _)| !record.existed) && self.is_blank(&bare);
        Ok(match (is_all, kept) {
            (true, _) if is_gone => change(None, RecordChange::Remove),
            (true, Some(_)) => change(Some(bare), RecordChange::Remove),
            (false, Some((_, before))) => change(Some(self.refreshed(&bare, parts)?), RecordChange::Write(before)),
            (false, None) => change(Some(self.refreshed(&bare, parts)?), RecordChange::Keep),
            (true, None) => change(Some(bare), RecordChange::Keep),
        })
    }
}

impl SettingsFile {
    /// Returns a text with the parts that stay as they are written now: a hook says whether there is a server.
    fn refreshed(&self, text: &str, gone: &[ConnectionPart]) -> Result<String, SettingsError> {
        let staying: Vec<ConnectionPart> = self.parts_in(text)?.into_iter().map(|(part, _)| part).collect();
        let staying: Vec<ConnectionPart> = staying.into_iter().filter(|part| !gone.contains(part)).collect();
        self.put(text, &staying)
    }
}

fn read(path: &Path) -> Result<Option<String>, SettingsError> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => return Ok(None),
        Err(error) => return Err(SettingsError::file("read", path, error)),
    };
    if !found.is_file() || found.len() > MAX_BYTES {
        let error = io::Error::other(if found.is_file() { "it is too large" } else { "it is not a file" });
        return Err(SettingsError::file("read", path, error));
    }
    let bytes = fs::read(path).map_err(|error| SettingsError::file("read", path, error))?;
    String::from_utf8(bytes).map(Some).map_err(|_| SettingsError::NotText { path: path.to_owned() })
}
