//! Errors of sessions.

use std::io;
use std::path::{Path, PathBuf};

use skillcue_base::{ErrorInfo, Shown, os_message, shown_path};

/// The reason why a session cannot be begun, continued, read or removed.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum SessionsError {
    /// The text cannot be an id.
    #[error("`{}` is no id of a session: those are small letters, digits and `-`", Shown(id))]
    #[info(code = "invalid_session_id", hint = "list the sessions to see which there are")]
    BadId {
        /// The text.
        id: String,
    },
    /// There is none with that id.
    #[error("there is no session `{}` in {}", Shown(id), shown_path(dir))]
    #[info(code = "session_not_found", hint = "list the sessions to see which there are")]
    NotFound {
        /// The id that was looked for.
        id: String,
        /// The directory.
        dir: PathBuf,
    },
    /// Several ids begin so.
    #[error("`{}` is the beginning of {} sessions: {}", Shown(id), matches.len(), few(matches))]
    #[info(code = "session_ambiguous", hint = "give more of the id")]
    Ambiguous {
        /// The id that was looked for.
        id: String,
        /// The ids that begin so, sorted.
        matches: Vec<String>,
    },
    /// Another process continues it.
    #[error("session `{id}` is in use by another process, or elsewhere in this one")]
    #[info(code = "session_in_use", hint = "end the other one first, or begin a new session")]
    Busy {
        /// The session.
        id: String,
    },
    /// A newer version wrote it.
    #[error("{}: written by a newer version of skillcue ({what})", shown_path(path))]
    #[info(code = "session_newer", hint = "use the newer version; the file is left as it is")]
    Newer {
        /// The file.
        path: PathBuf,
        /// The part that this version does not know.
        what: String,
    },
    /// A line in it cannot be read.
    #[error("{}, line {line}: {why}", shown_path(path))]
    #[info(code = "session_damaged", hint = damage_hint(*line))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        line: u64,
        /// The reason.
        why: String,
    },
    /// It is a link, a directory, a pipe.
    #[error("{} is no regular file", shown_path(path))]
    #[info(code = "session_damaged", hint = "links are not followed here; put the file itself there")]
    NotAFile {
        /// Its path.
        path: PathBuf,
    },
    /// A record is longer than one may be.
    #[error("a record of {bytes} bytes is longer than a line of {} may be", shown_path(path))]
    #[info(code = "session_record_too_large", hint = "the conversation goes on, but what is so long is not saved")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: usize,
    },
    /// The file was removed while it was in use.
    #[error("{} was removed while the session was going on", shown_path(path))]
    #[info(code = "session_removed", hint = "what is said from here on would be lost; begin a new session")]
    Gone {
        /// Its path.
        path: PathBuf,
    },
    /// The operating system refuses.
    #[error("{}: cannot {doing}: {}", shown_path(path), os_message(error))]
    #[info(code = "session_unreadable", hint = file_hint(error))]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The operation.
        doing: &'static str,
        /// Its error.
        #[source]
        error: io::Error,
    },
}

impl SessionsError {
    pub(super) fn file(doing: &'static str, path: &Path, error: io::Error) -> SessionsError {
        SessionsError::File { path: path.to_owned(), doing, error }
    }
}

fn damage_hint(line: u64) -> String {
    match line {
        1 => "the file is left as it is; it is no session, or its first line is damaged".to_owned(),
        line => format!("the file is left as it is; without line {line}, the rest of it can be continued"),
    }
}

fn file_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "make room and try again; what was saved so far is whole",
        _ => "check that the directory is yours and can be written",
    }
}

fn few(ids: &[String]) -> String {
    let mut list = ids.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
    if ids.len() > 5 {
        list.push_str(", …");
    }
    list
}
