//! Errors of traces.

use std::io;
use std::path::{Path, PathBuf};

use skillcue_base::{ErrorInfo, os_message, shown_path};

use crate::sessions::FileOpenError;

/// The reason why a trace cannot be written or read.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum TraceError {
    /// There is none.
    #[error("there is no trace at {}", shown_path(path))]
    #[info(code = "trace_not_found", hint = "a trace is written while an agent works")]
    NotFound {
        /// The path that was tried.
        path: PathBuf,
    },
    /// It is a link, a directory, a pipe.
    #[error("{} is no regular file", shown_path(path))]
    #[info(code = "trace_unreadable", hint = "links are not followed here; put the file itself there")]
    NotAFile {
        /// Its path.
        path: PathBuf,
    },
    /// The operating system refuses.
    #[error("{}: cannot {doing}: {}", shown_path(path), os_message(error))]
    #[info(code = "trace_unreadable", hint = file_hint(error))]
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

impl TraceError {
    pub(super) fn file(doing: &'static str, path: &Path, error: io::Error) -> TraceError {
        if error.kind() == io::ErrorKind::NotFound {
            return TraceError::NotFound { path: path.to_owned() };
        }
        TraceError::File { path: path.to_owned(), doing, error }
    }

    pub(super) fn open(path: &Path, error: FileOpenError) -> TraceError {
        match error {
            FileOpenError::NotAFile => TraceError::NotAFile { path: path.to_owned() },
            FileOpenError::File(error) => TraceError::file("open", path, error),
        }
    }
}

fn file_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "make room; the conversation goes on without a trace",
        _ => "check that the directory is yours and can be written",
    }
}
