//! Why a trace cannot be written or read.

use std::io;
use std::path::{Path, PathBuf};

use skillcue_base::os_message;

use crate::sessions::{OpenError, shown};

/// Why a trace cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// There is none.
    #[error("there is no trace at {}", shown(path))]
    NotFound {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// It is a link, a directory, a pipe.
    #[error("{} is no regular file", shown(path))]
    NotAFile {
        /// What is there.
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

impl TraceError {
    pub(super) fn file(doing: &'static str, path: &Path, error: io::Error) -> TraceError {
        if error.kind() == io::ErrorKind::NotFound {
            return TraceError::NotFound { path: path.to_owned() };
        }
        TraceError::File { path: path.to_owned(), doing, error }
    }

    pub(super) fn open(path: &Path, error: OpenError) -> TraceError {
        match error {
            OpenError::NotAFile => TraceError::NotAFile { path: path.to_owned() },
            OpenError::File(error) => TraceError::file("open", path, error),
        }
    }

    /// A stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            TraceError::NotFound { .. } => "trace_not_found",
            TraceError::NotAFile { .. } | TraceError::File { .. } => "trace_unreadable",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            TraceError::NotFound { .. } => {
                "a trace is written while an agent works; `skillcue trace` lists those that \
                                            there are"
                    .to_owned()
            }
            TraceError::NotAFile { .. } => "links are not followed here; put the file itself there".to_owned(),
            TraceError::File { error, .. } if error.kind() == io::ErrorKind::StorageFull => {
                "make room; the conversation goes on without a trace".to_owned()
            }
            TraceError::File { .. } => "check that the directory is yours and can be written".to_owned(),
        }
    }
}
