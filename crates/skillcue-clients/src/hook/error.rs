//! The reasons why a hook has no answer.

use std::io;
use std::path::PathBuf;

use skillcue_base::{ErrorInfo, os_message, shown_path};
use thiserror::Error;

/// The reason why a hook has no answer.
#[derive(Debug, Error, ErrorInfo)]
#[non_exhaustive]
pub enum HookError {
    /// The input is no JSON object.
    #[error("the input on stdin is no JSON object: {0}")]
    #[info(
        code = "hook_input",
        hint = "the client writes it; to try a hook by hand, pipe an object with \"prompt\" in"
    )]
    Malformed(serde_json::Error),
    /// The input lacks a field that its event needs.
    #[error("the input on stdin has no {0}")]
    #[info(
        code = "hook_input",
        hint = "the client writes it; to try a hook by hand, pipe an object with \"prompt\" in"
    )]
    Missing(&'static str),
    /// Another process works on the session for too long.
    #[error("another process has kept the session locked for too long")]
    #[info(code = "hook_session", hint = "it answers for this turn")]
    Locked,
    /// The session cannot be read or written.
    #[error("the session {} cannot be used: {}", shown_path(path), os_message(error))]
    #[info(code = "hook_session", hint = "check that the directory is there and that you may write to it")]
    Session {
        /// The session's file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        error: io::Error,
    },
}
