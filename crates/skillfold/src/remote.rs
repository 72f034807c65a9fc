//! Skills that a remote server serves, as the rest of the house sees them.
//!
//! What a server lists joins the catalog at once; a body or a file is fetched when somebody loads or reads it, and
//! only if the content was approved. How servers are reached is not known here: see the crate `skillfold-mcp`.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

/// A server whose skills join the catalog.
///
/// It is called from many threads. None of its methods may wait longer than the time limit its user has set.
pub trait Remote: Send + Sync + fmt::Debug {
    /// What the user calls the server. Never what the server calls itself.
    fn label(&self) -> &str;

    /// The skills as the server last listed them. It never asks the server.
    fn entries(&self) -> Arc<[Arc<RemoteEntry>]>;

    /// Whether a person has approved exactly this content.
    fn is_approved(&self, entry: &RemoteEntry) -> bool;

    /// One file of an approved skill, its size and digest verified, of a `SKILL.md` the front matter, too. `path` is
    /// relative to the skill's root, and must be listed in the entry.
    fn read(&self, entry: &RemoteEntry, path: &str) -> Result<Vec<u8>, RemoteError>;
}

/// One skill that a server lists.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteEntry {
    /// The URI of its `SKILL.md`.
    pub uri: String,
    /// Its front matter, as the server sent it.
    pub front_matter: Map<String, Value>,
    /// Its files, the `SKILL.md` among them, sorted by URI. None if the server makes them up as it goes: such a skill
    /// cannot be approved, and so not be loaded.
    pub files: Option<Vec<RemoteFile>>,
}

/// One file of a skill that a server lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    /// Its URI.
    pub uri: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// How many bytes it has.
    pub size: u64,
}

impl RemoteEntry {
    /// The skill's name.
    pub fn name(&self) -> &str {
        self.front_matter.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// The URI of the skill's directory, without a slash at its end.
    ///
    /// ```
    /// let entry = skillfold::RemoteEntry {
    ///     uri: "skill://acme/refunds/SKILL.md".to_owned(),
    ///     front_matter: serde_json::Map::new(),
    ///     files: None,
    /// };
    /// assert_eq!(entry.root(), "skill://acme/refunds");
    /// ```
    pub fn root(&self) -> &str {
        self.uri.strip_suffix("/SKILL.md").unwrap_or(&self.uri)
    }

    /// The file at a path relative to the skill's root, as its URI spells it once decoded.
    pub fn file(&self, path: &str) -> Option<&RemoteFile> {
        self.files.as_deref()?.iter().find(|file| self.path_of(file).is_some_and(|known| known == path))
    }

    /// Where a file stands below the skill's root.
    pub fn path_of<'f>(&self, file: &'f RemoteFile) -> Option<std::borrow::Cow<'f, str>> {
        let path = file.uri.strip_prefix(self.root())?.strip_prefix('/')?;
        Some(skillfold_catalog::uri::decode_once(path))
    }
}

/// Why a remote skill cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// No person has approved the content as it is now.
    #[error("the skill is not approved: {0}")]
    NotApproved(String),
    /// The server cannot be reached, is too slow or refuses.
    #[error("the server cannot be asked: {0}")]
    Unreachable(String),
    /// What the server sent is not what it had listed.
    #[error("what the server sent is refused: {0}")]
    Unverified(String),
    /// The file is not among those that the server lists.
    #[error("the skill has no file {0:?}")]
    NotListed(String),
}

impl RemoteError {
    /// The error as a stable word.
    pub fn code(&self) -> &'static str {
        match self {
            RemoteError::NotApproved(_) => "declined",
            RemoteError::Unreachable(_) | RemoteError::Unverified(_) => "unreadable",
            RemoteError::NotListed(_) => "not_found",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            RemoteError::NotApproved(_) => "`skillfold approve NAME` shows what it is and asks",
            RemoteError::Unreachable(_) => "`skillfold status` says how the servers are",
            RemoteError::Unverified(_) => "the server is broken or lies; tell whoever runs it",
            RemoteError::NotListed(_) => "`skillfold files NAME` lists what there is",
        }
    }
}
