//! Why memory does not work.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use skillcue_base::{Shown, os_message};

use crate::sessions::shown;

/// Why nothing can be remembered or recalled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The file is no database, or a damaged one.
    #[error("the memory in {} is damaged, or is none: {}", shown(path), Shown(why))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the database says.
        why: String,
    },
    /// A newer version made it.
    #[error("the memory in {} was made by a newer version of skillcue (version {version})", shown(path))]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
    /// It is a link, a directory, a pipe.
    #[error("{} is no regular file", shown(path))]
    NotAFile {
        /// What is there.
        path: PathBuf,
    },
    /// Somebody else keeps it locked.
    #[error("the memory in {} is in use, and stays so", shown(path))]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// What looks like a password or a key is not remembered.
    #[error("this looks like a password or a key, and is not remembered")]
    Secret,
    /// What is to be remembered is empty or too long.
    #[error("what is remembered has between 1 and {} characters, and this has {chars}", super::MOST_CHARS)]
    Length {
        /// How many it has.
        chars: usize,
    },
    /// The operating system refuses.
    #[error("{}: cannot {doing}: {}", shown(path), os_message(error))]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What went wrong.
        #[source]
        error: io::Error,
    },
    /// The database fails otherwise.
    #[error("the memory in {} fails: {error}", shown(path))]
    Database {
        /// The file.
        path: PathBuf,
        /// What it says.
        #[source]
        error: rusqlite::Error,
    },
}

impl MemoryError {
    pub(super) fn file(doing: &'static str, path: &Path, error: io::Error) -> MemoryError {
        MemoryError::File { path: path.to_owned(), doing, error }
    }

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

    /// A stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            MemoryError::Damaged { .. } | MemoryError::NotAFile { .. } => "memory_damaged",
            MemoryError::Newer { .. } => "memory_newer",
            MemoryError::Busy { .. } => "memory_in_use",
            MemoryError::Secret => "memory_secret",
            MemoryError::Length { .. } => "memory_length",
            MemoryError::File { .. } | MemoryError::Database { .. } => "memory_failed",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            MemoryError::Damaged { .. } => {
                "the file is left as it is; move it away, and a new memory is begun".to_owned()
            }
            MemoryError::Newer { .. } => "use the newer version; the file is left as it is".to_owned(),
            MemoryError::NotAFile { .. } => "links are not followed here; put the file itself there".to_owned(),
            MemoryError::Busy { .. } => "see which other process uses it; is one stopped or hanging?".to_owned(),
            MemoryError::Secret => {
                "keep it in a password manager, and give it to tools by their environment".to_owned()
            }
            MemoryError::Length { .. } => "say it in one or two sentences".to_owned(),
            MemoryError::File { .. } | MemoryError::Database { .. } => {
                "check that the directory is yours and can be written; the conversation goes on without memory"
                    .to_owned()
            }
        }
    }
}
