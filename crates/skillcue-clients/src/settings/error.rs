//! Why a client's settings cannot be changed.

use std::io;
use std::path::{Path, PathBuf};

use skillcue_base::{ErrorInfo, Shown, os_message, shown_path};

use crate::Client;

/// Why a client's settings cannot be changed. Nothing was written.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[info(code = "settings")]
#[non_exhaustive]
pub enum SettingsError {
    /// The file cannot be parsed.
    #[error("{}:{line}:{column}: {}", shown_path(path), Shown(message))]
    #[info(code = "settings_syntax", hint = "the file is left as it is; correct that line, then try again")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The column, in characters, counted from 1.
        column: usize,
        /// The reason.
        message: String,
    },
    /// A key has a value of another kind than the client's own documentation has.
    #[error("{}:{line}:{column}: `{key}` is not {wanted}", shown_path(path))]
    #[info(code = "settings_shape", hint = "the file is left as it is; correct that value, then try again")]
    Shape {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The column, in characters, counted from 1.
        column: usize,
        /// The key, with those above it.
        key: String,
        /// The kind of value that belongs there.
        wanted: &'static str,
    },
    /// The file is not UTF-8.
    #[error("{} is not UTF-8", shown_path(path))]
    #[info(code = "settings_syntax", hint = "the file is left as it is; save it as UTF-8, then try again")]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A file of another origin has the name of one that is ours as a whole.
    #[error("{} is not a file of Skillcue", shown_path(path))]
    #[info(code = "settings_foreign", hint = "it is left as it is; rename it, then try again")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file changed while a person was asked.
    #[error("{} has changed meanwhile", shown_path(path))]
    #[info(code = "settings_changed", hint = "nothing was written; try again")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The text that would be written is not what was meant.
    #[error("{} is written in a way that cannot be edited safely", shown_path(path))]
    #[info(code = "settings_shape", hint = "the file is left as it is; add the lines by hand")]
    Unsafe {
        /// The file.
        path: PathBuf,
    },
    /// The client has no place for it.
    #[error("{client} {why}")]
    #[info(code = "settings_unsupported")]
    Unsupported {
        /// The client.
        client: Client,
        /// The reason, as the end of a sentence that begins with the client.
        why: &'static str,
    },
    /// The disk refuses.
    #[error("cannot {doing} {}: {}", shown_path(path), os_message(error))]
    #[info(code = "settings_file", hint = "nothing was changed; check that you may write there")]
    File {
        /// The attempted action, as a verb.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
}

impl SettingsError {
    pub(super) fn file(doing: &'static str, path: &Path, error: io::Error) -> SettingsError {
        SettingsError::File { doing, path: path.to_owned(), error }
    }
}

/// A fault at a position of a text whose file is not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextFault {
    Syntax { at: usize, message: String },
    Shape { at: usize, key: String, wanted: &'static str },
    Unsafe,
}

impl TextFault {
    /// Makes it an error about a file with this text.
    pub(super) fn of_file(self, path: &Path, text: &str) -> SettingsError {
        let path = path.to_owned();
        let position = |at: usize| {
            let before = text.get(..at).unwrap_or(text);
            let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
            (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
        };
        match self {
            TextFault::Syntax { at, message } => {
                let (line, column) = position(at);
                SettingsError::Syntax { path, line, column, message }
            }
            TextFault::Shape { at, key, wanted } => {
                let (line, column) = position(at);
                SettingsError::Shape { path, line, column, key, wanted }
            }
            TextFault::Unsafe => SettingsError::Unsafe { path },
        }
    }
}
