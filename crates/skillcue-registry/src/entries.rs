//! What stands in `registry.json` and `skillcue.lock`, and how they are read and written.

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

use crate::Kind;
use crate::place::{LOCK, REGISTRY};
use crate::tree;

/// The version of the files' formats.
pub(crate) const VERSION: u64 = 1;
/// No address is longer.
const MAX_ADDRESS: usize = 256;

/// What the registry knows about something that is installed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Installed {
    /// A skill or a plugin.
    pub kind: Kind,
    /// Where it was installed from.
    pub origin: String,
    /// Where in its origin it stood; empty for the origin itself.
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
    /// What other versions of this program have written.
    #[serde(flatten)]
    pub(crate) other: BTreeMap<String, Value>,
}

/// A commit as a file says it. The file may have come with a checkout, and the commit goes to git: what is none is as if
/// nothing was said. The digest still tells what may be installed.
fn commit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let is_commit = |text: &String| matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let said = Option::<String>::deserialize(deserializer)?;
    if said.as_ref().is_some_and(|text| !is_commit(text)) {
        tracing::debug!(commit = ?said, "this is no commit, and does not count");
    }
    Ok(said.filter(is_commit))
}

/// `registry.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) version: u64,
    #[serde(default)]
    pub(crate) installed: BTreeMap<String, Installed>,
    #[serde(default)]
    pub(crate) enabled: BTreeMap<String, bool>,
    #[serde(flatten)]
    pub(crate) other: BTreeMap<String, Value>,
}

/// What the lock pins of something installed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pinned {
    pub(crate) kind: Kind,
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

/// `skillcue.lock`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Locked {
    pub(crate) version: u64,
    #[serde(default, rename = "locked")]
    pub(crate) pins: BTreeMap<String, Pinned>,
    #[serde(flatten)]
    pub(crate) other: BTreeMap<String, Value>,
}

impl Default for Listed {
    fn default() -> Listed {
        Listed { version: VERSION, installed: BTreeMap::new(), enabled: BTreeMap::new(), other: BTreeMap::new() }
    }
}

impl Default for Locked {
    fn default() -> Locked {
        Locked { version: VERSION, pins: BTreeMap::new(), other: BTreeMap::new() }
    }
}

impl Pinned {
    pub(crate) fn new(installed: &Installed, files: Leaves) -> Pinned {
        let Installed { kind, origin, at, commit, version, skills, digest, .. } = installed.clone();
        Pinned { kind, source: origin, at, commit, version, skills, digest, files, other: BTreeMap::new() }
    }

    /// What the registry would say of it.
    pub(crate) fn installed(&self) -> Installed {
        let Pinned { kind, source, at, commit, version, skills, digest, .. } = self.clone();
        let other = BTreeMap::new();
        Installed { kind, origin: source, at, commit, version, skills, digest, installed: None, other }
    }
}

/// A file of the registry.
pub(crate) trait Entries: Serialize + DeserializeOwned + Default {
    /// Its name.
    const FILE: &'static str;
    /// What stands in it, for messages.
    const KEYS: &'static str;

    fn version(&self) -> u64;

    /// Whether it says nothing, as one does that is not ours.
    fn is_blank(&self) -> bool;

    /// What cannot be right in it. It may have come with a checkout.
    fn wrong(&self) -> Option<String>;

    /// As it is written: sorted, a line for each thing, so that it is good to compare.
    fn text(&self) -> io::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(text)
    }
}

impl Entries for Listed {
    const FILE: &'static str = REGISTRY;
    const KEYS: &'static str = "`installed` or `enabled`";

    fn version(&self) -> u64 {
        self.version
    }

    fn is_blank(&self) -> bool {
        self.installed.is_empty() && self.enabled.is_empty()
    }

    fn wrong(&self) -> Option<String> {
        let entry = |(name, entry): (&String, &Installed)| wrong_entry(entry.kind, name, &entry.skills);
        let address = |address: &&String| !is_address(address);
        self.installed
            .iter()
            .find_map(entry)
            .or_else(|| self.enabled.keys().find(address).map(|address| format!("{address:?} is no address")))
    }
}

impl Entries for Locked {
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

fn wrong_entry(kind: Kind, name: &str, skills: &[String]) -> Option<String> {
    if !kind.may_be_called(name) {
        return Some(format!("{name:?} cannot be the name of a {}", kind.word()));
    }
    let bad = skills.iter().find(|skill| !Kind::Skill.may_be_called(skill));
    bad.map(|skill| format!("{skill:?} cannot be the name of a skill"))
}

/// Whether this may be the address of a skill: `name`, `name@source`, `plugin:name`, `plugin:*`.
pub(crate) fn is_address(address: &str) -> bool {
    (1..=MAX_ADDRESS).contains(&address.len()) && !address.contains(|c: char| c.is_control() || c.is_whitespace())
}

/// What a file turned out to hold.
#[derive(Debug)]
pub(crate) enum Read<T> {
    Missing,
    Good(T),
    /// A later version's.
    Newer,
    /// Not what it should be, and why.
    Broken(String),
    /// Somebody else's, and why.
    Foreign(String),
}

/// Reads one of our files, following no link. An error is one of the disk.
pub(crate) fn read<T: Entries>(path: &Path, max: u64) -> io::Result<Read<T>> {
    let bytes = match read_bytes(path, max) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(Unfit::TooLarge)) => return Ok(Read::Foreign(Unfit::TooLarge.to_string())),
        Ok(Err(unfit)) => return Ok(Read::Broken(unfit.to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Read::Missing),
        Err(error) => return Err(error),
    };
    Ok(parse(&bytes))
}

pub(crate) fn parse<T: Entries>(bytes: &[u8]) -> Read<T> {
    #[derive(Deserialize)]
    struct Version {
        version: u64,
    }
    let parsed = serde_json::from_slice::<T>(bytes);
    if parsed.as_ref().map_or(true, Entries::is_blank) && is_foreign(bytes) {
        return Read::Foreign(format!("it has no `version` together with {}", T::KEYS));
    }
    match parsed {
        Ok(file) if file.version() > VERSION => Read::Newer,
        Ok(file) if file.version() < VERSION => Read::Broken("its version is none that ever was".to_owned()),
        Ok(file) => match file.wrong() {
            Some(wrong) => Read::Broken(wrong),
            None => Read::Good(file),
        },
        // A later version may have another shape.
        Err(error) => match serde_json::from_slice::<Version>(bytes) {
            Ok(later) if later.version > VERSION => Read::Newer,
            _ => Read::Broken(error.to_string()),
        },
    }
}

/// Whether this is somebody else's JSON: other programs have a `registry.json`, too. What is cut short is no JSON.
fn is_foreign(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Shape {
        version: Option<Value>,
        installed: Option<IgnoredAny>,
        enabled: Option<IgnoredAny>,
        locked: Option<IgnoredAny>,
    }
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => serde_json::from_slice::<Shape>(bytes).is_ok_and(|shape| {
            let ours = shape.installed.or(shape.enabled).or(shape.locked).is_some();
            !ours || !shape.version.is_some_and(|version| version.is_u64())
        }),
        Some(b'[') => serde_json::from_slice::<IgnoredAny>(bytes).is_ok(),
        _ => false,
    }
}

/// Why something is no file of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("it is no regular file")]
    NoFile,
    #[error("it is too large")]
    TooLarge,
}

/// The bytes of a regular file of no more than `max`; why it is none of ours otherwise.
pub(crate) fn read_bytes(path: &Path, max: u64) -> io::Result<Result<Vec<u8>, Unfit>> {
    if !path.symlink_metadata()?.is_file() {
        return Ok(Err(Unfit::NoFile));
    }
    let mut bytes = Vec::new();
    tree::open(path)?.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Ok(Err(Unfit::TooLarge));
    }
    Ok(Ok(bytes))
}

/// Something that is wrong with a file or a directory of the registry, and does not stop it.
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
