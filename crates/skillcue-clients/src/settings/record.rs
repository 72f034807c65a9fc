//! The record of a connection: the file as it was before, so that the way back is exact.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillcue_base::{Digest, replace_file};

use super::SettingsError;
use crate::Client;

/// The directory of records: one directory a file that was changed, with the file as it was before.
#[derive(Debug, Clone)]
pub struct ConnectionStore {
    dir: PathBuf,
}

/// The record of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ConnectionRecord {
    pub(super) version: u32,
    pub(super) client: String,
    pub(super) path: PathBuf,
    /// Whether the file existed before.
    pub(super) existed: bool,
    /// The digest of what was written.
    pub(super) after: Digest,
    /// Directories that were made for the file, the outermost first.
    pub(super) dirs: Vec<PathBuf>,
}

/// The version of the format.
const VERSION: u32 = 1;
const RECORD: &str = "record.json";
const BEFORE: &str = "before";

impl ConnectionStore {
    /// Makes a store of records in a directory, which need not exist.
    pub fn new(dir: impl Into<PathBuf>) -> ConnectionStore {
        ConnectionStore { dir: dir.into() }
    }

    /// Returns the directory of a file's record.
    fn place(&self, path: &Path) -> PathBuf {
        let digest = Digest::of(path.as_os_str().as_encoded_bytes()).to_string();
        self.dir.join(&digest[..16])
    }

    /// Returns the copy of a file as it was before it was first changed, if it is kept.
    pub fn backup(&self, path: &Path) -> Option<PathBuf> {
        Some(self.place(path).join(BEFORE)).filter(|backup| backup.is_file())
    }

    /// Returns a file's record and its text before. A record that cannot be read counts as none: then our lines are found by
    /// what they say.
    pub(super) fn read(&self, path: &Path) -> Option<(ConnectionRecord, Option<String>)> {
        let place = self.place(path);
        let record: ConnectionRecord = serde_json::from_slice(&fs::read(place.join(RECORD)).ok()?).ok()?;
        if record.version != VERSION || record.path != path {
            return None;
        }
        let before = if record.existed { Some(fs::read_to_string(place.join(BEFORE)).ok()?) } else { None };
        Some((record, before))
    }

    /// Writes a record, before the file itself is changed.
    pub(super) fn write(
        &self,
        client: Client,
        path: &Path,
        before: Option<&str>,
        after: &str,
        dirs: &[PathBuf],
    ) -> Result<(), SettingsError> {
        let place = self.place(path);
        let record = ConnectionRecord {
            version: VERSION,
            client: client.as_str().to_owned(),
            path: path.to_owned(),
            existed: before.is_some(),
            after: Digest::of(after),
            dirs: dirs.to_vec(),
        };
        let fail = |error: io::Error| SettingsError::file("write", &place, error);
        if let Some(before) = before {
            replace_file(&place.join(BEFORE), [before.as_bytes()]).map_err(fail)?;
        }
        let text = serde_json::to_vec_pretty(&record).map_err(|error| fail(error.into()))?;
        replace_file(&place.join(RECORD), [text.as_slice(), b"\n"]).map_err(fail)
    }

    /// Removes a record, and the directories above it that are empty then.
    pub(super) fn remove(&self, path: &Path) {
        let place = self.place(path);
        // Best effort: a record that stays says only what the file once was.
        for file in [RECORD, BEFORE] {
            let _ = fs::remove_file(place.join(file));
        }
        let above = self.dir.parent();
        for dir in [Some(place.as_path()), Some(self.dir.as_path()), above].into_iter().flatten() {
            if fs::remove_dir(dir).is_err() {
                break;
            }
        }
    }

    /// Returns the directories that a record would be written to, if they are missing.
    pub(super) fn missing_dirs(&self) -> Vec<PathBuf> {
        missing(&self.dir)
    }
}

/// Returns the directories that are missing up to a path, the outermost first.
pub(super) fn missing(dir: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> =
        dir.ancestors().take_while(|dir| dir.symlink_metadata().is_err()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}
