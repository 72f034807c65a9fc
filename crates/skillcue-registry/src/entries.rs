//! The formats of `registry.json` and `skillcue.lock`, and how they are read and written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::Path;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use skillcue_base::os_message;
use skillcue_catalog::{ContentId, Leaves};
use skillcue_format::{Diagnostic, Severity};

use crate::InstallableKind;
use crate::links::SkillLink;
use crate::location::{LOCK, REGISTRY};
use crate::tree;

/// The version of the files' formats.
pub(crate) const VERSION: u64 = 1;
/// The length of the longest address, in bytes.
const MAX_ADDRESS: usize = 256;

/// The version of a file, read before its other fields: a later version may have another shape.
#[derive(Deserialize)]
pub(crate) struct VersionField {
    pub(crate) version: u64,
}

/// The registry's entry of an installed item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InstalledItem {
    /// A skill or a plugin.
    pub kind: InstallableKind,
    /// The origin that it was installed from.
    pub origin: String,
    /// Its path in its origin; empty for the origin itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// The commit it was at, if it is from git.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "commit")]
    pub commit: Option<String>,
    /// The version it gives itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The skills of a plugin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// The digest over all its files.
    pub digest: ContentId,
    /// When it was installed or updated, as RFC 3339 writes it. Not known if the registry had to be rebuilt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installed: Option<String>,
    /// Links in the folders of other agents that lead to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<SkillLink>,
    /// Fields that other versions of this program have written.
    #[serde(flatten)]
    pub(crate) other: BTreeMap<String, Value>,
}

/// Reads a commit. The file may have come with a checkout, and the commit is given to git: a text that is no commit is
/// ignored. The digest still decides which content may be installed.
fn commit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let is_commit = |text: &String| matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let said = Option::<String>::deserialize(deserializer)?;
    if said.as_ref().is_some_and(|text| !is_commit(text)) {
        tracing::debug!(commit = ?said, "this is no commit, and does not count");
    }
    Ok(said.filter(is_commit))
}

/// The content of `registry.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RegistryContents {
    pub(crate) version: u64,
    #[serde(default)]
    pub(crate) installed: BTreeMap<String, InstalledItem>,
    #[serde(default)]
    pub(crate) enabled: BTreeMap<String, bool>,
    #[serde(flatten)]
    pub(crate) other: BTreeMap<String, Value>,
}

/// The lock's entry of an installed item: the exact content of every file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LockPin {
    pub(crate) kind: InstallableKind,
    pub(crate) source: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) at: String,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "commit")]
    pub(crate) commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) skills: Vec<String>,
    pub(crate) digest: ContentId,
    pub(crate) files: Leaves,
    #[serde(flatten)]
    pub(crate) other: BTreeMap<String, Value>,
}

/// The content of `skillcue.lock`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LockContents {
    pub(crate) version: u64,
    #[serde(default, rename = "locked")]
    pub(crate) pins: BTreeMap<String, LockPin>,
    #[serde(flatten)]
    pub(crate) other: BTreeMap<String, Value>,
}

impl Default for RegistryContents {
    fn default() -> RegistryContents {
        RegistryContents {
            version: VERSION,
            installed: BTreeMap::new(),
            enabled: BTreeMap::new(),
            other: BTreeMap::new(),
        }
    }
}

impl Default for LockContents {
    fn default() -> LockContents {
        LockContents { version: VERSION, pins: BTreeMap::new(), other: BTreeMap::new() }
    }
}

impl LockPin {
    pub(crate) fn new(installed: &InstalledItem, files: Leaves) -> LockPin {
        let InstalledItem { kind, origin, at, commit, version, skills, digest, .. } = installed.clone();
        LockPin { kind, source: origin, at, commit, version, skills, digest, files, other: BTreeMap::new() }
    }

    /// Returns the registry's entry for it.
    pub(crate) fn installed(&self) -> InstalledItem {
        let LockPin { kind, source, at, commit, version, skills, digest, .. } = self.clone();
        let (installed, links, other) = (None, Vec::new(), BTreeMap::new());
        InstalledItem { kind, origin: source, at, commit, version, skills, digest, installed, links, other }
    }
}

/// A file of the registry.
pub(crate) trait RegistryFile: Serialize + DeserializeOwned + Default {
    /// Its name.
    const FILE: &'static str;
    /// Its keys, for messages.
    const KEYS: &'static str;

    fn version(&self) -> u64;

    /// Returns whether it is empty, as a foreign file appears.
    fn is_blank(&self) -> bool;

    /// Returns a problem with its content, if there is one. It may have come with a checkout.
    fn wrong(&self) -> Option<String>;

    /// Returns the text to write: sorted, a line for each value, so that versions are easy to compare.
    fn text(&self) -> io::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(text)
    }
}

impl RegistryFile for RegistryContents {
    const FILE: &'static str = REGISTRY;
    const KEYS: &'static str = "`installed` or `enabled`";

    fn version(&self) -> u64 {
        self.version
    }

    fn is_blank(&self) -> bool {
        self.installed.is_empty() && self.enabled.is_empty()
    }

    fn wrong(&self) -> Option<String> {
        let entry = |(name, entry): (&String, &InstalledItem)| wrong_entry(entry.kind, name, &entry.skills);
        let address = |address: &&String| !is_address(address);
        self.installed
            .iter()
            .find_map(entry)
            .or_else(|| self.enabled.keys().find(address).map(|address| format!("{address:?} is no address")))
    }
}

impl RegistryFile for LockContents {
    const FILE: &'static str = LOCK;
    const KEYS: &'static str = "`locked`";

    fn version(&self) -> u64 {
        self.version
    }

    fn is_blank(&self) -> bool {
        self.pins.is_empty()
    }

    fn wrong(&self) -> Option<String> {
        self.pins.iter().find_map(|(name, pinned)| {
            wrong_entry(pinned.kind, name, &pinned.skills)
                .or_else(|| {
                    let bad = pinned.files.keys().find(|path| !tree::is_inside(path));
                    bad.map(|path| format!("{path:?} is no path below a skill"))
                })
                .or_else(|| {
                    (ContentId::of_leaves(&pinned.files) != pinned.digest)
                        .then(|| format!("the digest of {name} is not that of its files"))
                })
        })
    }
}

fn wrong_entry(kind: InstallableKind, name: &str, skills: &[String]) -> Option<String> {
    if !kind.may_be_called(name) {
        return Some(format!("{name:?} cannot be the name of a {}", kind.word()));
    }
    let bad = skills.iter().find(|skill| !InstallableKind::Skill.may_be_called(skill));
    bad.map(|skill| format!("{skill:?} cannot be the name of a skill"))
}

/// Returns whether this may be the address of a skill: `name`, `name@source`, `plugin:name`, `plugin:*`.
pub(crate) fn is_address(address: &str) -> bool {
    (1..=MAX_ADDRESS).contains(&address.len()) && !address.contains(|c: char| c.is_control() || c.is_whitespace())
}

/// The outcome of reading a file of the registry.
#[derive(Debug)]
pub(crate) enum ReadOutcome<T> {
    Missing,
    Good(T),
    /// Written by a later version.
    Newer,
    /// Not valid, and why.
    Broken(String),
    /// Another program's, and why.
    Foreign(String),
}

/// Reads one of our files, following no link. An error is the disk's.
pub(crate) fn read<T: RegistryFile>(path: &Path, max: u64) -> io::Result<ReadOutcome<T>> {
    let bytes = match read_bytes(path, max) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(UnfitFile::TooLarge)) => return Ok(ReadOutcome::Foreign(UnfitFile::TooLarge.to_string())),
        Ok(Err(unfit)) => return Ok(ReadOutcome::Broken(unfit.to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ReadOutcome::Missing),
        Err(error) => return Err(error),
    };
    Ok(parse(&bytes))
}

pub(crate) fn parse<T: RegistryFile>(bytes: &[u8]) -> ReadOutcome<T> {
    let parsed = serde_json::from_slice::<T>(bytes);
    if parsed.as_ref().map_or(true, RegistryFile::is_blank) && is_foreign(bytes) {
        return ReadOutcome::Foreign(format!("it has no `version` together with {}", T::KEYS));
    }
    match parsed {
        Ok(file) if file.version() > VERSION => ReadOutcome::Newer,
        Ok(file) if file.version() < VERSION => ReadOutcome::Broken("its version number is not valid".to_owned()),
        Ok(file) => match file.wrong() {
            Some(wrong) => ReadOutcome::Broken(wrong),
            None => ReadOutcome::Good(file),
        },
        // A later version may have another shape.
        Err(error) => match serde_json::from_slice::<VersionField>(bytes) {
            Ok(later) if later.version > VERSION => ReadOutcome::Newer,
            _ => ReadOutcome::Broken(error.to_string()),
        },
    }
}

/// Returns whether this is another program's JSON: others have a `registry.json`, too. A truncated file is no JSON.
fn is_foreign(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct KnownKeys {
        version: Option<Value>,
        installed: Option<IgnoredAny>,
        enabled: Option<IgnoredAny>,
        locked: Option<IgnoredAny>,
    }
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => serde_json::from_slice::<KnownKeys>(bytes).is_ok_and(|shape| {
            let ours = shape.installed.or(shape.enabled).or(shape.locked).is_some();
            !ours || !shape.version.is_some_and(|version| version.is_u64())
        }),
        Some(b'[') => serde_json::from_slice::<IgnoredAny>(bytes).is_ok(),
        _ => false,
    }
}

/// Why a path is no file of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnfitFile {
    #[error("it is no regular file")]
    NoFile,
    #[error("it is too large")]
    TooLarge,
}

/// Reads a regular file of at most `max` bytes. The inner error says why it is none of ours.
pub(crate) fn read_bytes(path: &Path, max: u64) -> io::Result<Result<Vec<u8>, UnfitFile>> {
    if !path.symlink_metadata()?.is_file() {
        return Ok(Err(UnfitFile::NoFile));
    }
    let mut bytes = Vec::new();
    tree::open(path)?.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Ok(Err(UnfitFile::TooLarge));
    }
    Ok(Ok(bytes))
}

/// Returns a diagnostic about a file or a directory of the registry that does not stop it.
pub(crate) fn wrong(
    path: &Path,
    message: impl Into<Cow<'static, str>>,
    help: impl Into<Cow<'static, str>>,
) -> Diagnostic {
    Diagnostic::named("registry", Severity::Error, message).with_help(help).at(path)
}

pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    wrong(path, format!("it cannot be read: {}", os_message(error)), "nothing of it counts until it can")
}

pub(crate) fn foreign(path: &Path, why: &str) -> Diagnostic {
    let help =
        "it is left alone, and nothing can be changed here while it is there; rename it, or install for the user";
    wrong(path, format!("it is not a file of Skillcue: {why}"), help)
}

pub(crate) fn newer(path: &Path) -> Diagnostic {
    let help = "nothing of it counts here, and nothing can be changed; use the newer version";
    wrong(path, "a newer version of Skillcue has written it", help)
}
