//! Permission to load a server's skill: what a person has allowed, by content.

use skillcue::ErrorInfo;
use skillcue::consent::{Answer, ConsentError};

/// Why a skill of a server cannot be allowed.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum AllowError {
    /// The skill's files are generated on request: there is no content to look at.
    #[error("{0} cannot be allowed: its server generates its files on request")]
    #[info(code = "not_grantable", hint = "its server has to list the digests of its files")]
    Dynamic(String),
    /// There is no such server.
    #[error("there is no MCP server {0:?}")]
    #[info(code = "not_found", hint = "name a server that is configured")]
    UnknownServer(String),
    /// The answer cannot be remembered.
    #[error(transparent)]
    #[info(transparent)]
    Consent(#[from] ConsentError),
}

/// Whether an entry may be loaded, or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadPermission {
    Allowed,
    Never,
    Changed,
    Denied,
    Dynamic,
}

impl LoadPermission {
    /// Returns the reason in words.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            LoadPermission::Allowed => "it is allowed",
            LoadPermission::Never => "a user has to allow it first",
            LoadPermission::Changed => "its content has changed since it was allowed",
            LoadPermission::Denied => "it is denied",
            LoadPermission::Dynamic => "its server generates its files on request, so no consent can cover them",
        }
    }
}

impl From<Answer> for LoadPermission {
    fn from(answer: Answer) -> LoadPermission {
        match answer {
            Answer::Allowed => LoadPermission::Allowed,
            Answer::NotAsked => LoadPermission::Never,
            Answer::Changed => LoadPermission::Changed,
            // Also any answer that is new.
            _ => LoadPermission::Denied,
        }
    }
}
