//! Skills that a remote server serves, as the other modules see them.
//!
//! Skills that a server lists join the catalog at once; a body or a file is fetched when it is loaded or read, and only
//! if a person has allowed the content. How servers are reached is not known here: see the crate `skillcue-mcp`.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use skillcue_base::ErrorInfo;
use skillcue_catalog::{FileError, FileListing, ListedFile, RemoteSkill, Skill, SkillDir};
use skillcue_format::split::{FrontMatterScan, scan};

use crate::Error;

/// A server whose skills join the catalog.
///
/// It is called from many threads. None of its methods may wait longer than the time limit its user has set.
pub trait Remote: Send + Sync + fmt::Debug {
    /// Returns the user's name for the server. Never the server's own.
    fn label(&self) -> &str;

    /// Returns the skills as the server last listed them. Never asks the server.
    fn entries(&self) -> Arc<[Arc<RemoteEntry>]>;

    /// Returns whether a person has allowed exactly this content.
    fn is_allowed(&self, entry: &RemoteEntry) -> bool;

    /// Reads one file of an allowed skill, its size and digest verified, of a `SKILL.md` the front matter, too. `path`
    /// is relative to the skill's root, and must be listed in the entry.
    fn read(&self, entry: &RemoteEntry, path: &str) -> Result<Vec<u8>, RemoteError>;
}

/// One skill that a server lists.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteEntry {
    /// The URI of its `SKILL.md`.
    pub uri: String,
    /// The front matter, as the server sent it.
    pub front_matter: Map<String, Value>,
    /// The files, the `SKILL.md` among them, sorted by URI. `None` if the server generates them on request: such a
    /// skill cannot be allowed, and so not be loaded.
    pub files: Option<Vec<RemoteFile>>,
}

/// One file of a skill that a server lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    /// The file's URI.
    pub uri: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// The number of bytes.
    pub size: u64,
}

impl RemoteEntry {
    /// Returns the skill's name.
    pub fn name(&self) -> &str {
        self.front_matter.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the URI of the skill's directory, without a slash at its end.
    ///
    /// ```
    /// let entry = skillcue::remote::RemoteEntry {
    ///     uri: "skill://acme/refunds/SKILL.md".to_owned(),
    ///     front_matter: serde_json::Map::new(),
    ///     files: None,
    /// };
    /// assert_eq!(entry.root(), "skill://acme/refunds");
    /// ```
    pub fn root(&self) -> &str {
        self.uri.strip_suffix("/SKILL.md").unwrap_or(&self.uri)
    }

    /// Returns the file at a path relative to the skill's root, as its URI spells it once decoded.
    pub fn file(&self, path: &str) -> Option<&RemoteFile> {
        self.files.as_deref()?.iter().find(|file| self.path_of(file).is_some_and(|known| known == path))
    }

    /// Returns the path of a file relative to the skill's root.
    pub fn path_of<'f>(&self, file: &'f RemoteFile) -> Option<std::borrow::Cow<'f, str>> {
        let path = file.uri.strip_prefix(self.root())?.strip_prefix('/')?;
        Some(skillcue_catalog::uri::decode_once(path))
    }
}

/// The reason why a remote skill cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum RemoteError {
    /// No person has allowed the content as it is now.
    #[error("it is not allowed: {0}")]
    #[info(code = "declined", hint = "a person has to look at it and allow it")]
    NotAllowed(String),
    /// The server cannot be reached, is too slow or refuses.
    #[error("the server cannot be asked: {0}")]
    #[info(code = "unreadable", hint = "try again when the server can be reached")]
    Unreachable(String),
    /// The server sent something other than what it had listed.
    #[error("what the server sent is refused: {0}")]
    #[info(code = "unreadable", hint = "the server is broken or lies; tell its operator")]
    Unverified(String),
    /// The file is not among those that the server lists.
    #[error("the skill has no file {0:?}")]
    #[info(code = "not_found", hint = "ask for one of the files that the server lists")]
    NotListed(String),
}

/// Fields of front matter that would let a server decide what runs here, or widen what a model may do.
const WIDENING: [&str; 13] = [
    "allowed-tools",
    "allowed_tools",
    "default-enabled",
    "default_enabled",
    "hooks",
    "permissions",
    "priority",
    "requires",
    "scripts",
    "scripts-ignore",
    "scripts_ignore",
    "toolsets",
    "model",
];

/// The length of the longest brief description that is taken from a server, in characters.
const MAX_BRIEF: usize = 200;

/// Returns the skills that the servers list, as the catalog takes them.
pub(crate) fn remote_skills(remotes: &[Arc<dyn Remote>]) -> Vec<RemoteSkill> {
    let mut skills = Vec::new();
    for remote in remotes {
        let server: Arc<str> = remote.label().into();
        for entry in remote.entries().iter() {
            let front = shown_front_matter(entry, remote.label(), remote.is_allowed(entry));
            let size = entry.file("SKILL.md").map_or(0, |file| file.size);
            let front_matter = Value::Object(front).to_string();
            skills.push(RemoteSkill { server: Arc::clone(&server), uri: entry.uri.clone(), front_matter, size });
        }
    }
    skills
}

/// Returns the part of a server's front matter that the catalog takes: fields that would widen rights or displace other
/// skills are left out, and the description says which server it comes from.
fn shown_front_matter(entry: &RemoteEntry, label: &str, allowed: bool) -> Map<String, Value> {
    let keeps = |key: &str| {
        // Triggers decide which skill a model is shown instead of others: for that, a person must have looked at it.
        !WIDENING.contains(&key) && (allowed || key != "triggers")
    };
    let mark = |fields: &mut Map<String, Value>| {
        fields.retain(|key, _| keeps(key));
        for key in ["brief_description", "brief-description", "description"] {
            match fields.get_mut(key) {
                Some(Value::String(text)) if key == "description" || text.chars().count() <= MAX_BRIEF => {
                    *text = format!("MCP server {label}: {text}");
                }
                Some(_) => drop(fields.remove(key)),
                None => {}
            }
        }
    };
    let mut front = entry.front_matter.clone();
    // Our extensions may be in `metadata`, too; it may be JSON in a string, which is then not looked into.
    match front.get_mut("metadata") {
        Some(Value::Object(metadata)) => mark(metadata),
        Some(_) => drop(front.remove("metadata")),
        None => {}
    }
    mark(&mut front);
    front
}

/// A skill, its entry, and the server that lists it.
pub(crate) struct ServedSkill<'r> {
    pub(crate) remote: &'r dyn Remote,
    pub(crate) entry: Arc<RemoteEntry>,
    /// The address of exactly this skill: errors name it, and hints say to allow it.
    name: String,
}

impl<'r> ServedSkill<'r> {
    pub(crate) fn of(remotes: &'r [Arc<dyn Remote>], server: &str, skill: &Skill) -> Result<ServedSkill<'r>, Error> {
        let name = skill.id();
        let uri = skill.path();
        let found = remotes.iter().find(|remote| remote.label() == server).and_then(|remote| {
            let entry = remote.entries().iter().find(|entry| uri.to_str() == Some(&entry.uri)).cloned();
            Some((&**remote, entry?))
        });
        let Some((remote, entry)) = found else {
            let source = RemoteError::Unreachable(format!("{server:?} does not list the skill any more"));
            return Err(Error::Remote { name, source });
        };
        Ok(ServedSkill { remote, entry, name })
    }

    pub(crate) fn read(&self, path: &str) -> Result<Vec<u8>, Error> {
        let failed = |source| Error::Remote { name: self.name.clone(), source };
        let meant = SkillDir::normalize(&self.name, path)?;
        let below = |file: &RemoteFile| {
            let known = self.entry.path_of(file);
            known.is_some_and(|known| {
                meant.is_empty() || known.strip_prefix(&*meant).is_some_and(|rest| rest.starts_with('/'))
            })
        };
        if self.entry.file(&meant).is_none() && self.entry.files.iter().flatten().any(below) {
            return Err(FileError::NotAFile { skill: self.name.as_str().into(), path: path.into() }.into());
        }
        self.remote.read(&self.entry, &meant).map_err(failed)
    }

    /// Reads the whole `SKILL.md`.
    pub(crate) fn text(&self) -> Result<String, Error> {
        String::from_utf8(self.read("SKILL.md")?).map_err(|_| {
            let source = RemoteError::Unverified("`SKILL.md` is not UTF-8 text".to_owned());
            Error::Remote { name: self.name.clone(), source }
        })
    }

    /// Returns the files as the server lists them.
    pub(crate) fn listing(&self) -> FileListing {
        let listed = self.entry.files.iter().flatten();
        let mut files: Vec<ListedFile> = listed
            .filter_map(|file| Some(ListedFile { path: self.entry.path_of(file)?.into_owned(), size: file.size }))
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        FileListing { total_bytes: files.iter().map(|file| file.size).sum(), files, skipped: Vec::new(), stopped: None }
    }
}

/// Returns the body of a whole `SKILL.md`.
pub(crate) fn body_of(text: &str) -> &str {
    match scan(text.as_bytes(), true) {
        FrontMatterScan::Found(front) => text.get(front.body..).unwrap_or_default(),
        _ => text,
    }
}
