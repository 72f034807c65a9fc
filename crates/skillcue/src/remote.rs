//! Skills that a remote server serves, or that a catalog on an object store holds, as the other modules see them.
//!
//! Skills that a server lists join the catalog at once; a body or a file is fetched when it is loaded or read, and only
//! if a person has allowed the content. How servers are reached is not known here: see the crates `skillcue-mcp` and
//! `skillcue-fleet`.

use std::fmt;
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::{Map, Value};
use skillcue_base::ErrorInfo;
use skillcue_catalog::{
    ContentId, FileError, FileListing, ListedFile, OrgPolicy, RemoteSkill, Skill, SkillDir, SkillOrigin, Source,
};
use skillcue_format::split::{FrontMatterScan, scan};
use skillcue_select::{DocTerms, ReadAt};

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

    /// Returns whether a person has refused this skill, whatever its content. Then no model gets to know of it.
    fn is_refused(&self, entry: &RemoteEntry) -> bool {
        let _ = entry;
        false
    }

    /// Reads one file of an allowed skill, its size and digest verified, of a `SKILL.md` the front matter, too. `path`
    /// is relative to the skill's root, and must be listed in the entry.
    fn read(&self, entry: &RemoteEntry, path: &str) -> Result<Vec<u8>, RemoteError>;

    /// Returns the source of its skills: [`Source::Mcp`] or [`Source::Catalog`].
    fn source(&self) -> Source {
        Source::Mcp
    }

    /// Returns its place among the servers or catalogs: lower ones come first.
    fn precedence(&self) -> u32 {
        0
    }

    /// Returns whether the user trusts all that it lists, as it is signed with a key that they trust.
    fn is_trusted(&self) -> bool {
        false
    }

    /// Returns its address and the keys that have signed what it lists, for rules of the organisation's policy. `None`, if the
    /// host knows them: see [`Setup::origins`](crate::Setup::origins). Never asks the server.
    fn origin(&self) -> Option<SkillOrigin> {
        None
    }

    /// Returns the policy that was published and signed with the skills; empty without one. It applies to all skills, of
    /// whatever source, beside that of [`Builder::policy`](crate::Builder::policy), and can only close some. Never asks the
    /// server.
    fn policy(&self) -> OrgPolicy {
        OrgPolicy::default()
    }

    /// Returns whether it is known what it lists. A catalog of which no generation was ever read is not known. Never asks the
    /// server.
    fn is_known(&self) -> bool {
        true
    }

    /// Returns the indexes that were published with the skills, so that bodies count in a selection without one having
    /// been read. Only those of a [trusted](Remote::is_trusted) one are used. Never asks the server.
    fn published_index(&self) -> PublishedIndex {
        PublishedIndex::default()
    }
}

/// Indexes that were published with skills. What does not fit the skills as they are now is not used.
#[derive(Clone, Default)]
pub struct PublishedIndex {
    /// The [index over texts](skillcue_select::TextIndex), of these skills as they were when it was made.
    pub texts: Option<ReadAt>,
    /// The index over triggers, likewise.
    pub triggers: Option<ReadAt>,
    /// The size of the index over triggers.
    pub triggers_size: usize,
    /// The terms of bodies that are not in the index over texts.
    pub bodies: Arc<Vec<PublishedBody>>,
}

/// The terms of the body of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedBody {
    /// The URI of the `SKILL.md`.
    pub uri: String,
    /// The [number](RemoteFile::content_number) of its content.
    pub content: u64,
    /// The terms.
    pub terms: DocTerms,
}

impl fmt::Debug for PublishedIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PublishedIndex { texts, triggers, bodies, .. } = self;
        f.debug_struct("PublishedIndex")
            .field("texts", &texts.is_some())
            .field("triggers", &triggers.is_some())
            .field("bodies", &bodies.len())
            .finish_non_exhaustive()
    }
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

impl RemoteFile {
    /// Returns a number that changes with the content: the beginning of the digest.
    ///
    /// ```
    /// let digest = format!("sha256:00000000000000ff{}", "0".repeat(48));
    /// let file = skillcue::remote::RemoteFile { uri: "skill://a/SKILL.md".to_owned(), digest, size: 1 };
    /// assert_eq!(file.content_number(), 255);
    /// ```
    pub fn content_number(&self) -> u64 {
        let digits = self.digest.strip_prefix("sha256:").unwrap_or(&self.digest);
        digits.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
    }
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

    /// Returns the id of its files; `None` if the server does not list them, or not with digests.
    pub fn content_id(&self) -> Option<ContentId> {
        let listed = self.files.as_ref()?.iter().map(|file| {
            let digest = file.digest.strip_prefix("sha256:")?.parse().ok()?;
            Some((self.path_of(file)?.into_owned(), digest))
        });
        Some(ContentId::of_listed(listed.collect::<Option<Vec<_>>>()?))
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
    remotes.iter().flat_map(|remote| listed_skills(&**remote)).collect()
}

/// Returns the skills that one server or catalog lists, as a [`Discovery`](skillcue_catalog::Discovery) takes them.
pub fn listed_skills(remote: &dyn Remote) -> Vec<RemoteSkill> {
    let server: Arc<str> = remote.label().into();
    let (source, precedence, is_trusted) = (remote.source(), remote.precedence(), remote.is_trusted());
    // What a server serves may change at any time, and a model must see where a sentence comes from.
    let mark = match source {
        Source::Catalog if is_trusted => String::new(),
        Source::Catalog => format!("Catalog {}: ", remote.label()),
        _ => format!("MCP server {}: ", remote.label()),
    };
    let of_entry = |entry: &Arc<RemoteEntry>| {
        // Of a trusted catalog, all that a person has not refused.
        let is_allowed = remote.is_allowed(entry);
        let front_matter = Value::Object(shown_front_matter(entry, &mark, is_allowed)).to_string();
        let main = entry.file("SKILL.md");
        // The content of a server's skill counts only once it is loaded.
        let main_number = main.filter(|_| source == Source::Catalog).map_or(0, RemoteFile::content_number);
        let (uri, size) = (entry.uri.clone(), main.map_or(0, |file| file.size));
        let content = entry.content_id();
        RemoteSkill { server: Arc::clone(&server), source, precedence, uri, front_matter, size, main_number, content }
    };
    // The one place where refused skills are left out, so that no surface has them.
    remote.entries().par_iter().filter(|entry| !remote.is_refused(entry)).map(of_entry).collect()
}

/// Returns the part of a server's front matter that the catalog takes: fields that would widen rights or displace other
/// skills are left out, and the description says which server it comes from.
fn shown_front_matter(entry: &RemoteEntry, origin: &str, allowed: bool) -> Map<String, Value> {
    let keeps = |key: &str| {
        // Triggers decide which skill a model is shown instead of others: for that, a person must have looked at it.
        !WIDENING.contains(&key) && (allowed || key != "triggers")
    };
    let mark = |fields: &mut Map<String, Value>| {
        fields.retain(|key, _| keeps(key));
        for key in ["brief_description", "brief-description", "description"] {
            match fields.get_mut(key) {
                Some(Value::String(text)) if key == "description" || text.chars().count() <= MAX_BRIEF => {
                    *text = format!("{origin}{text}");
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
pub fn body_of(text: &str) -> &str {
    match scan(text.as_bytes(), true) {
        FrontMatterScan::Found(front) => text.get(front.body..).unwrap_or_default(),
        _ => text,
    }
}
