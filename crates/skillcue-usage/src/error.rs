//! Errors of the ledger.

use std::io;
use std::path::{Path, PathBuf};

use skillcue_base::{ErrorInfo, Shown, os_message, shown_path};
use skillcue_sqlite::OpenError;

/// The hint where the file or the database fails.
const FAILED: &str =
    "check that the directory is yours, can be written and has space left; answers come without the ledger";

/// The reason why the ledger cannot be read or written.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum LedgerError {
    /// The file is no database, or a damaged one.
    #[error("the ledger in {} is damaged, or is none: {}", shown_path(path), Shown(why))]
    #[info(code = "usage_damaged", hint = "the file is left as it is; move it away, and a new ledger is begun")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The database's message.
        why: String,
    },
    /// A newer version made it.
    #[error("the ledger in {} was made by a newer version of skillcue (version {version})", shown_path(path))]
    #[info(code = "usage_newer", hint = "use the newer version; the file is left as it is")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
    /// An earlier version made it, and it is too large to be brought up to date while an answer waits.
    #[error("the ledger in {} is still in the form of an earlier version (version {version})", shown_path(path))]
    #[info(code = "usage_older", hint = "the next process that writes to it or reports brings it up to date")]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
    /// It is a link, a directory, a pipe.
    #[error("{} is no regular file", shown_path(path))]
    #[info(code = "usage_damaged", hint = "links are not followed here; put the file itself there")]
    NotAFile {
        /// Its path.
        path: PathBuf,
    },
    /// Another process keeps it locked.
    #[error("the ledger in {} is locked by another process", shown_path(path))]
    #[info(code = "usage_in_use", hint = "see which other process uses it; is one stopped or hanging?")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// All events were removed, but the bytes of some may still be in the database's log.
    #[error(
        "the events in {} were removed, but another process still reads its log, which has their text",
        shown_path(path)
    )]
    #[info(code = "usage_in_use", hint = "end the process that reads it, and purge again")]
    NotPurged {
        /// The file.
        path: PathBuf,
    },
    /// The file system refused.
    #[error("cannot {doing} {}: {}", shown_path(path), os_message(error))]
    #[info(code = "usage_failed", hint = FAILED)]
    File {
        /// The action, as a verb.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The database refused.
    #[error("the ledger in {} cannot be used: {}", shown_path(path), Shown(why))]
    #[info(code = "usage_failed", hint = FAILED)]
    Database {
        /// The file.
        path: PathBuf,
        /// The database's message.
        why: String,
    },
}

impl LedgerError {
    pub(crate) fn database(path: &Path, error: &rusqlite::Error) -> LedgerError {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseCorrupt, DatabaseLocked, NotADatabase};
        let (path, why) = (path.to_path_buf(), error.to_string());
        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => LedgerError::Busy { path },
            Some(DatabaseCorrupt | NotADatabase) => LedgerError::Damaged { path, why },
            _ => LedgerError::Database { path, why },
        }
    }
}

impl From<OpenError> for LedgerError {
    fn from(error: OpenError) -> LedgerError {
        match error {
            OpenError::NotAFile { path } => LedgerError::NotAFile { path },
            OpenError::File { doing, path, error } => LedgerError::File { doing, path, error },
            OpenError::Database { path, error } => LedgerError::database(&path, &error),
        }
    }
}
