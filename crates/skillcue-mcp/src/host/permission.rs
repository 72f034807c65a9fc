//! Whether a server's skill may be loaded: what a person has allowed, by content.

use skillcue::ErrorInfo;
use skillcue::consent::{Answer, ConsentError};

/// Why a skill of a server cannot be allowed.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum AllowError {
    /// The skill's files are made up as it goes: there is no content to look at.
    #[error("{0} cannot be allowed: its server makes its files up as it goes")]
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

/// Whether an entry may be loaded, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Allowed,
    Never,
    Changed,
    Denied,
    Dynamic,
}

impl Standing {
    /// The reason in words.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Standing::Allowed => "it is allowed",
            Standing::Never => "nobody has allowed it yet",
            Standing::Changed => "its content has changed since it was allowed",
            Standing::Denied => "it is denied",
            Standing::Dynamic => "its server makes its files up as it goes, so that no consent can cover them",
        }
    }
}

impl From<Answer> for Standing {
    fn from(answer: Answer) -> Standing {
        match answer {
            Answer::Allowed => Standing::Allowed,
            Answer::NotAsked => Standing::Never,
            Answer::Changed => Standing::Changed,
            // Also any answer that is new.
            _ => Standing::Denied,
        }
    }
}
