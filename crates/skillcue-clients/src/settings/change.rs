//! A change of one file: planned, shown, applied, taken back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use skillcue_base::{Digest, replace_file, rewrite_file};

use super::record::{ConnectionRecord, missing};
use super::{ConnectionPart, ConnectionStore, SettingsError, SettingsFile, SettingsFormat};
use crate::Client;

/// The largest file that is edited. Claude Code's own state, with a user's whole history of projects, has a few megabytes.
const MAX_BYTES: u64 = 64 << 20;

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct SettingsChange {
    file: SettingsPlace,
    now: Option<String>,
    after: Option<String>,
    record: RecordChange,
    /// Directories that were made when the file was connected, or are made now.
    dirs: Vec<PathBuf>,
    /// The programs whose entries are in the file.
    programs: Vec<String>,
    /// The record before, with the text in it.
    former: Option<(ConnectionRecord, Option<String>)>,
}

/// The place of a file that is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SettingsPlace {
    client: Client,
    path: PathBuf,
    project: Option<PathBuf>,
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
        &self.file.path
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

    /// Applies the change: a new record first, then the file, as a whole. A record that is needed no more stays until
    /// [`finish`](SettingsChange::finish): a later change may fail, and this one be taken back.
    pub fn apply(&self, store: &ConnectionStore) -> Result<(), SettingsError> {
        let path = self.path();
        if read(path, self.file.project.as_deref())? != self.now {
            return Err(SettingsError::Changed { path: path.to_owned() });
        }
        let written = self.write_record(store).and_then(|()| {
            let written = match &self.after {
                _ if !self.is_change() => Ok(()),
                Some(after) if self.now.is_some() => rewrite_file(path, after.as_bytes()),
                Some(after) => replace_file(path, [after.as_bytes()]),
                None => fs::remove_file(path),
            };
            written.map_err(|error| SettingsError::file("write", path, error))
        });
        if written.is_err() {
            self.take_record_back(store);
        }
        written
    }

    fn write_record(&self, store: &ConnectionStore) -> Result<(), SettingsError> {
        let RecordChange::Write(before) = &self.record else { return Ok(()) };
        let after = self.after.as_deref().unwrap_or_default();
        let record = ConnectionRecord::new(self.file.client, self.path(), before.as_deref(), after);
        let record = ConnectionRecord { dirs: self.dirs.clone(), programs: self.programs.clone(), ..record };
        store.write(&record, before.as_deref())
    }

    fn take_record_back(&self, store: &ConnectionStore) {
        match (&self.record, &self.former) {
            (RecordChange::Write(_), Some((record, before))) => {
                // Best effort, as all of the way back: the newer record serves as well.
                let _ = store.write(record, before.as_deref());
            }
            (RecordChange::Write(_), None) => {
                store.remove(self.path());
                remove_dirs(&self.dirs);
            }
            (RecordChange::Keep | RecordChange::Remove, _) => {}
        }
    }

    /// Removes the record that is needed no more, and the directories that were made for a file that is gone. To be called
    /// once all changes are applied: directories of two files are empty only then. Returns those that stay, because others use
    /// them by now.
    pub fn finish(&self, store: &ConnectionStore) -> Vec<PathBuf> {
        if self.record != RecordChange::Remove {
            return Vec::new();
        }
        store.remove(self.path());
        remove_dirs(&self.dirs);
        self.dirs.iter().filter(|dir| dir.is_dir()).cloned().collect()
    }

    /// Takes an applied change back, because a later one failed. A file that has changed since is left as it is.
    pub fn take_back(&self, store: &ConnectionStore) {
        let path = self.path();
        if !read(path, self.file.project.as_deref()).is_ok_and(|text| text == self.after) {
            return;
        }
        let back = match &self.now {
            _ if !self.is_change() => Ok(()),
            Some(now) if self.after.is_some() => rewrite_file(path, now.as_bytes()),
            Some(now) => replace_file(path, [now.as_bytes()]),
            None => fs::remove_file(path),
        };
        if back.is_ok() {
            self.take_record_back(store);
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
        read(&self.path, self.project.as_deref())
    }

    /// Returns the parts that the file has, each with whether it is as it would be written now.
    pub fn connected(&self) -> Result<Vec<(ConnectionPart, bool)>, SettingsError> {
        match self.read()? {
            Some(text) => self.parts_in(&text),
            None => Ok(Vec::new()),
        }
    }

    /// Plans to put some parts into the file. A server of the owner's with the name of ours is refused.
    pub fn connect(&self, parts: &[ConnectionPart], store: &ConnectionStore) -> Result<SettingsChange, SettingsError> {
        self.known_by(store).plan_connect(parts, store)
    }

    fn plan_connect(&self, parts: &[ConnectionPart], store: &ConnectionStore) -> Result<SettingsChange, SettingsError> {
        if self.entries.is_empty() {
            return self.plan_disconnect(parts, store);
        }
        let now = self.read()?;
        if let Some(text) = &now {
            self.check(text)?;
        }
        let kept = store.read(&self.path);
        let former = kept.as_ref().map(|(_, before)| before.clone().unwrap_or_default());
        let is_wanted = self.entries.iter().any(|(part, _)| parts.contains(part));
        let mut after =
            if is_wanted { Some(self.put(now.as_deref().unwrap_or_default(), parts)?) } else { now.clone() };
        if let Some(text) = &after {
            after = Some(self.take_former(text, parts, former.as_deref())?);
        }
        if now == after {
            return Ok(self.change(now, after, RecordChange::Keep, kept));
        }
        let before = match (&now, &kept) {
            (Some(text), Some((record, before))) => self.before(text, record, before.as_deref())?,
            (Some(text), None) => Some(text.clone()),
            (None, _) => None,
        };
        let mut change = self.change(now, after, RecordChange::Write(before), kept);
        for dir in store.missing_dirs().into_iter().chain(missing(self.path.parent().unwrap_or(Path::new("/")))) {
            if !change.dirs.contains(&dir) {
                change.dirs.push(dir);
            }
        }
        Ok(change)
    }

    /// Plans to take some parts out of the file. It becomes what it was, byte for byte, if nothing else has changed it since;
    /// else only our lines go.
    pub fn disconnect(
        &self,
        parts: &[ConnectionPart],
        store: &ConnectionStore,
    ) -> Result<SettingsChange, SettingsError> {
        self.known_by(store).plan_disconnect(parts, store)
    }

    fn plan_disconnect(
        &self,
        parts: &[ConnectionPart],
        store: &ConnectionStore,
    ) -> Result<SettingsChange, SettingsError> {
        let now = self.read()?;
        let kept = store.read(&self.path);
        let change =
            |after: Option<String>, record: RecordChange| Ok(self.change(now.clone(), after, record, kept.clone()));
        let Some(text) = now.clone() else {
            return change(None, if kept.is_some() { RecordChange::Remove } else { RecordChange::Keep });
        };
        let is_program = self.format == SettingsFormat::Program;
        if is_program && self.check(&text).is_err() {
            return change(Some(text), RecordChange::Keep);
        }
        self.check(&text)?;
        let former = kept.as_ref().map(|(_, before)| before.as_deref().unwrap_or_default());
        let is_all = !self.has_others(&text, parts, former)?;
        if let (Some((record, before)), true, false) = (&kept, is_all, is_program)
            && Digest::of(&text) == record.after
        {
            // A hook in it is of an earlier connection, whose record was lost.
            let hook = [ConnectionPart::Hook];
            let before = before.as_deref().map(|before| self.take(before, &hook, None)).transpose()?;
            return change(before, RecordChange::Remove);
        }
        let bare = self.take(&text, parts, former)?;
        let is_gone = is_program || kept.as_ref().is_some_and(|(record, _)| !record.existed) && self.is_blank(&bare);
        match (is_all, &kept) {
            (true, _) if is_gone => change(None, RecordChange::Remove),
            (true, Some(_)) => change(Some(bare), RecordChange::Remove),
            (false, Some((record, before))) => {
                let before = self.before(&text, record, before.as_deref())?;
                change(Some(self.refreshed(&bare, parts)?), RecordChange::Write(before))
            }
            (false, None) => change(Some(self.refreshed(&bare, parts)?), RecordChange::Keep),
            (true, None) => change(Some(bare), RecordChange::Keep),
        }
    }

    /// Returns the text without anything of ours: the one before, or, if the file has changed since, what it is without us.
    fn before(
        &self,
        text: &str,
        record: &ConnectionRecord,
        before: Option<&str>,
    ) -> Result<Option<String>, SettingsError> {
        if Digest::of(text) == record.after {
            return Ok(before.map(str::to_owned));
        }
        let bare = self.take(text, &ConnectionPart::ALL, Some(before.unwrap_or_default()))?;
        Ok((record.existed || !self.is_blank(&bare)).then_some(bare))
    }

    fn change(
        &self,
        now: Option<String>,
        after: Option<String>,
        record: RecordChange,
        former: Option<(ConnectionRecord, Option<String>)>,
    ) -> SettingsChange {
        let dirs = former.as_ref().map(|(record, _)| record.dirs.clone()).unwrap_or_default();
        let file = SettingsPlace { client: self.client, path: self.path.clone(), project: self.project.clone() };
        SettingsChange { file, now, after, record, dirs, programs: self.programs.clone(), former }
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

/// Reads a regular file of a bounded size. A project's file must not lead out of it.
fn read(path: &Path, project: Option<&Path>) -> Result<Option<String>, SettingsError> {
    if let Some(project) = project {
        check_inside(path, project)?;
    }
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

/// Fails if a path leads out of a project: by a link of its own, or by one of a directory above it.
fn check_inside(path: &Path, project: &Path) -> Result<(), SettingsError> {
    let fail = |error| SettingsError::file("read", path, error);
    let Some(there) = path.ancestors().find(|above| above.symlink_metadata().is_ok()) else { return Ok(()) };
    // A project that does not exist yet has no links.
    if !there.starts_with(project) {
        return Ok(());
    }
    let (target, root) = (there.canonicalize().map_err(fail)?, project.canonicalize().map_err(fail)?);
    if target.starts_with(root) {
        return Ok(());
    }
    Err(SettingsError::Outside { path: path.to_owned(), target })
}
