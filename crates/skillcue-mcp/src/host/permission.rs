//! Permission to load a server's skill: what a person has allowed, by content.

use skillcue::ErrorInfo;
use skillcue::consent::{Answer, ConsentError, ConsentGate, Question, Subject};
use skillcue::remote::RemoteEntry;

use super::entry::content_id;

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
pub enum LoadPermission {
    /// It may be loaded.
    Allowed,
    /// No person has been asked.
    Never,
    /// Another content was allowed.
    Changed,
    /// A person has refused it.
    Denied,
    /// Its content is not known in advance.
    Dynamic,
}

impl LoadPermission {
    /// Asks the gate whether an entry may be loaded with exactly the content that it lists.
    pub fn of(consent: &dyn ConsentGate, subject: Subject, entry: &RemoteEntry) -> LoadPermission {
        // Most entries of most servers were never allowed: for them, no digest is computed.
        if entry.files.is_none() {
            return LoadPermission::Dynamic;
        }
        if !consent.knows(&subject) {
            return LoadPermission::Never;
        }
        let asked = content_id(entry).map(|content| Question::new(subject, content));
        asked.map_or(LoadPermission::Dynamic, |question| consent.answer(&question).into())
    }

    /// Returns the reason in words.
    pub fn reason(self) -> &'static str {
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
