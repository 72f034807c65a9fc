//! Errors of memory.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use skillcue_base::{ErrorInfo, Shown, os_message, shown_path};
use skillcue_sqlite::OpenError;

/// The hint where file or database fail.
const FAILED: &str = "check that the directory is yours and can be written; the conversation goes on without memory";

/// The reason why nothing can be remembered or recalled.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum MemoryError {
    /// The file is no database, or a damaged one.
    #[error("the memory in {} is damaged, or is none: {}", shown_path(path), Shown(why))]
    #[info(code = "memory_damaged", hint = "the file is left as it is; move it away, and a new memory is begun")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The database's message.
        why: String,
    },
    /// A newer version made it.
    #[error("the memory in {} was made by a newer version of skillcue (version {version})", shown_path(path))]
    #[info(code = "memory_newer", hint = "use the newer version; the file is left as it is")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
    /// It is a link, a directory, a pipe.
    #[error("{} is no regular file", shown_path(path))]
    #[info(code = "memory_damaged", hint = "links are not followed here; put the file itself there")]
    NotAFile {
        /// Its path.
        path: PathBuf,
    },
    /// Another process keeps it locked.
    #[error("the memory in {} is locked by another process", shown_path(path))]
    #[info(code = "memory_in_use", hint = "see which other process uses it; is one stopped or hanging?")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A password or a key, by its looks, is not remembered.
    #[error("this looks like a password or a key, and is not remembered")]
    #[info(code = "memory_secret", hint = "keep it in a password manager, and give it to tools by their environment")]
    Secret,
    /// The fact is empty or too long.
    #[error("a fact has between 1 and {} characters, and this has {chars}", super::MAX_CHARS)]
    #[info(code = "memory_length", hint = "say it in one or two sentences")]
    Length {
        /// How many it has.
        chars: usize,
    },
    /// The fact has several lines.
    #[error("a fact is one line")]
    #[info(code = "memory_length", hint = "say it in one sentence")]
    Lines,
    /// A model wants to keep something else than a sentence of the user's.
    #[error("not remembered: it is not a sentence that the user wrote in this turn's message")]
    #[info(
        code = "memory_not_stated",
        hint = "send one whole sentence of that message, word for word, and no question"
    )]
    NotStated,
    /// A model has kept many facts in this turn.
    #[error("{} facts were remembered in this turn already", super::provider::MAX_KEPT_IN_TURN)]
    #[info(code = "memory_too_many", hint = "keep what matters most, in a later turn")]
    TooMany,
    /// A thread has ended in the middle of its work.
    #[error("memory stopped in the middle of its work")]
    #[info(code = "memory_failed", hint = FAILED)]
    Stopped,
    /// The operating system refuses.
    #[error("{}: cannot {doing}: {}", shown_path(path), os_message(error))]
    #[info(code = "memory_failed", hint = FAILED)]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The operation.
        doing: &'static str,
        /// Its error.
        #[source]
        error: io::Error,
    },
    /// The database fails otherwise.
    #[error("the memory in {} fails: {error}", shown_path(path))]
    #[info(code = "memory_failed", hint = FAILED)]
    Database {
        /// The file.
        path: PathBuf,
        /// Its error.
        #[source]
        error: rusqlite::Error,
    },
}

impl MemoryError {
    pub(super) fn database(path: &Path, error: rusqlite::Error) -> MemoryError {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                MemoryError::Damaged { path, why: error.to_string() }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => MemoryError::Busy { path },
            _ => MemoryError::Database { path, error },
        }
    }
}

impl From<OpenError> for MemoryError {
    fn from(error: OpenError) -> MemoryError {
        match error {
            OpenError::NotAFile { path } => MemoryError::NotAFile { path },
            OpenError::File { doing, path, error } => MemoryError::File { path, doing, error },
            OpenError::Database { path, error } => MemoryError::database(&path, error),
        }
    }
}
