//! Why a session cannot be had.

use std::io;
use std::path::{Path, PathBuf};

use skillcue_base::{Shown, os_message};

/// Why a session cannot be begun, continued, read or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionsError {
    /// What was given cannot be an id.
    #[error("`{}` is no id of a session: those are small letters, digits and `-`", Shown(id))]
    BadId {
        /// What was given.
        id: String,
    },
    /// There is none with that id.
    #[error("there is no session `{}` in {}", Shown(id), shown(dir))]
    NotFound {
        /// What was looked for.
        id: String,
        /// Where.
        dir: PathBuf,
    },
    /// Several ids begin so.
    #[error("`{}` is the beginning of {} sessions: {}", Shown(id), matches.len(), few(matches))]
    Ambiguous {
        /// What was looked for.
        id: String,
        /// What begins so, sorted.
        matches: Vec<String>,
    },
    /// Somebody else continues it.
    #[error("session `{id}` is in use by another process, or elsewhere in this one")]
    Busy {
        /// The session.
        id: String,
    },
    /// A newer version wrote it.
    #[error("{}: written by a newer version of skillcue ({what})", shown(path))]
    Newer {
        /// The file.
        path: PathBuf,
        /// What this one does not know.
        what: String,
    },
    /// A line in it cannot be read.
    #[error("{}, line {line}: {why}", shown(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// It is a link, a directory, a pipe.
    #[error("{} is no regular file", shown(path))]
    NotAFile {
        /// What is there.
        path: PathBuf,
    },
    /// A record is longer than one may be.
    #[error("a record of {bytes} bytes is longer than a line of {} may be", shown(path))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: usize,
    },
    /// Somebody has removed the file while it was in use.
    #[error("{} was removed while the session was going on", shown(path))]
    Gone {
        /// Where it was.
        path: PathBuf,
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
}

impl SessionsError {
    pub(super) fn file(doing: &'static str, path: &Path, error: io::Error) -> SessionsError {
        SessionsError::File { path: path.to_owned(), doing, error }
    }

    /// A stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            SessionsError::BadId { .. } => "invalid_session_id",
            SessionsError::NotFound { .. } => "session_not_found",
            SessionsError::Ambiguous { .. } => "session_ambiguous",
            SessionsError::Busy { .. } => "session_in_use",
            SessionsError::Newer { .. } => "session_newer",
            SessionsError::Damaged { .. } | SessionsError::NotAFile { .. } => "session_damaged",
            SessionsError::TooLarge { .. } => "session_record_too_large",
            SessionsError::Gone { .. } => "session_removed",
            SessionsError::File { .. } => "session_unreadable",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            SessionsError::BadId { .. } | SessionsError::NotFound { .. } => {
                "`skillcue sessions` lists those that there are".to_owned()
            }
            SessionsError::Ambiguous { .. } => "give more of the id".to_owned(),
            SessionsError::Busy { .. } => "end the other one first, or begin a new session".to_owned(),
            SessionsError::Newer { .. } => "use the newer version; the file is left as it is".to_owned(),
            SessionsError::Damaged { line: 1, .. } => {
                "the file is left as it is; it is no session, or its first line is damaged".to_owned()
            }
            SessionsError::Damaged { line, .. } => {
                format!("the file is left as it is; without line {line}, the rest of it can be continued")
            }
            SessionsError::NotAFile { .. } => "links are not followed here; put the file itself there".to_owned(),
            SessionsError::TooLarge { .. } => "the conversation goes on, but what is so long is not saved".to_owned(),
            SessionsError::Gone { .. } => "what is said from here on would be lost; begin a new session".to_owned(),
            SessionsError::File { error, .. } if error.kind() == io::ErrorKind::StorageFull => {
                "make room and try again; what was saved so far is whole".to_owned()
            }
            SessionsError::File { .. } => "check that the directory is yours and can be written".to_owned(),
        }
    }
}

/// A path as it may be shown.
pub(crate) fn shown(path: &Path) -> String {
    Shown(&path.to_string_lossy()).to_string()
}

fn few(ids: &[String]) -> String {
    let mut list = ids.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    if ids.len() > 5 {
        list.push_str(", …");
    }
    list
}
