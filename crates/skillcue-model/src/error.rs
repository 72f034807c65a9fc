//! Errors of the sentence model.

use std::path::PathBuf;

use skillcue_base::{Digest, ErrorInfo, Shown, os_message, shown_path};

/// The reason why the model cannot be used, installed or removed.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum SentenceModelError {
    /// It is not installed.
    #[error("the sentence model is not installed: {} is missing", shown_path(path))]
    #[info(code = "model_missing", hint = "install it once; it is a download of 22 MB")]
    Missing {
        /// The file that is not there.
        path: PathBuf,
    },
    /// A file of it is not the one that was installed.
    #[error("{} is not the file of the sentence model: {reason}", shown_path(path))]
    #[info(code = "model_damaged", hint = "install the model again: a file that differs is replaced")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// In what it differs.
        reason: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {action} {}: {}", shown_path(path), os_message(error))]
    #[info(
        code = "model_file",
        hint = "check that the directory can be read and written, and that the disk is not full"
    )]
    File {
        /// The verb for what failed.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        error: std::io::Error,
    },
    /// The address of the package index is none.
    #[error("the address of the package index is no URL: {:?}: {reason}", Shown(url).to_string())]
    #[info(code = "bad_index", hint = "write it as for pip, such as https://pypi.org/simple")]
    BadIndex {
        /// The address, without a password.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The package index does not have the package.
    #[error("{} lists no {file}", Shown(url))]
    #[info(code = "not_in_index", hint = "use an index that mirrors PyPI, or PyPI itself")]
    NotInIndex {
        /// The page of the package, without a password.
        url: String,
        /// The name of the wheel.
        file: &'static str,
    },
    /// A download failed.
    #[error("{} cannot be downloaded: {reason}", Shown(url))]
    #[info(
        code = "download",
        hint = "check the connection and the proxy, then try again; an index of your own can be named"
    )]
    Download {
        /// The address, without a password.
        url: String,
        /// The reason.
        reason: String,
    },
    /// A download is not the pinned file. Nothing was installed.
    #[error("{} has the SHA-256 {found}, not {expected}: nothing was installed", Shown(url))]
    #[info(code = "wrong_digest", hint = "the server or a proxy sent another file; try again, or use another index")]
    WrongDigest {
        /// The address, without a password.
        url: String,
        /// The digest of the download.
        found: Digest,
        /// The pinned one.
        expected: Digest,
    },
    /// The model failed on a text.
    #[error("the sentence model failed: {reason}")]
    #[info(code = "model_failed", hint = "install the model again; if that does not help, go on without it")]
    Failed {
        /// The reason.
        reason: String,
    },
}
