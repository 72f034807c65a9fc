//! The identity of content: [`ContentId`], and the pinned files ([`Leaf`]) that it is computed from.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skillcue_base::{Digest, Digester};

use super::{Content, ContentError, UnpinnableReason};
use crate::{SkillDir, TreeLimits};

/// The identity of a skill's content: one SHA-256 over the paths of all its files, the bytes of each, and whether it
/// may be executed. Consent is bound to it, and `skillcue.lock` pins it, in the same 64 hexadecimal digits.
///
/// [`ContentId::of`] reads a directory. [`ContentId::of_listed`] takes a list of files that are elsewhere, such as on a
/// server. Both give the same id for the same files, as long as the directory has no links, no executable files and
/// none of the directories that listings leave out (`.git`, `node_modules`): a list cannot express those.
///
/// ```
/// use skillcue_base::Digest;
/// use skillcue_catalog::{ContentId, SkillDir};
///
/// let tmp = tempfile::tempdir()?;
/// std::fs::write(tmp.path().join("SKILL.md"), "# Forms")?;
/// let id = ContentId::of(&SkillDir::open("pdf", tmp.path())?)?;
/// assert_eq!(id, ContentId::of_listed([("SKILL.md", Digest::of("# Forms"))]));
/// assert_eq!(id.to_string().parse(), Ok(id));
///
/// std::fs::write(tmp.path().join("SKILL.md"), "# forms")?;
/// assert_ne!(id, ContentId::of(&SkillDir::open("pdf", tmp.path())?)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentId(Digest);

impl ContentId {
    /// The limits of [`ContentId::of`]. A skill that exceeds them cannot be consented to.
    pub const LIMITS: TreeLimits =
        TreeLimits { max_files: 20_000, max_bytes: 512 * 1024 * 1024, max_depth: 100, max_entries: 1 << 17 };

    /// Reads every file of a skill and returns the id of all of it.
    ///
    /// Files that listings leave out (`node_modules`, compiled Python, `.git`) are included, because they run too. Of a
    /// link, its target's text is included. Fails rather than leaving out a file.
    pub fn of(dir: &SkillDir) -> Result<ContentId, ContentError> {
        let content = Content::of(dir, &ContentId::LIMITS)?;
        match content.unpinnable.iter().find(|odd| odd.reason == UnpinnableReason::NotUtf8) {
            Some(odd) => Err(ContentError::NotUtf8 { path: odd.path.clone() }),
            None => Ok(content.id()),
        }
    }

    /// Returns the id of files that are listed by path and SHA-256, none of them executable.
    pub fn of_listed<P: Into<String>>(files: impl IntoIterator<Item = (P, Digest)>) -> ContentId {
        let leaf = |digest| Leaf::File { digest, executable: false };
        ContentId::of_leaves(&files.into_iter().map(|(path, digest)| (path.into(), leaf(digest))).collect())
    }

    pub(super) fn from_digest(digest: Digest) -> ContentId {
        ContentId(digest)
    }

    /// Returns the id of files as a lock lists them.
    pub fn of_leaves(leaves: &Leaves) -> ContentId {
        let mut digester = Digester::default();
        add_leaves(&mut digester, leaves);
        ContentId(digester.finish())
    }
}

pub(super) fn add_leaves(digester: &mut Digester, leaves: &Leaves) {
    for (path, leaf) in leaves {
        // Neither may contain the byte that ends it: no two trees give the same input.
        digester.update(path).update([0]).update(leaf.to_string()).update([0]);
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ContentId {
    type Err = String;

    fn from_str(text: &str) -> Result<ContentId, String> {
        text.parse().map(ContentId)
    }
}

/// One file of a skill as a lock pins it: the digest, with ` x` behind it if the file may be executed; `-> TARGET` for
/// a link.
///
/// ```
/// use skillcue_base::Digest;
/// use skillcue_catalog::Leaf;
///
/// let script = Leaf::File { digest: Digest::of("true"), executable: true };
/// assert!(script.to_string().ends_with(" x"));
/// assert_eq!("-> ../a.md".parse(), Ok(Leaf::Link { target: "../a.md".to_owned() }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaf {
    /// An ordinary file.
    File {
        /// The digest of its bytes.
        digest: Digest,
        /// Whether its owner, its group or others may execute it.
        executable: bool,
    },
    /// A symbolic link.
    Link {
        /// The target, as it is written.
        target: String,
    },
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leaf::File { digest, executable } => write!(f, "{digest}{}", if *executable { " x" } else { "" }),
            Leaf::Link { target } => write!(f, "-> {target}"),
        }
    }
}

impl FromStr for Leaf {
    type Err = String;

    fn from_str(text: &str) -> Result<Leaf, String> {
        if let Some(target) = text.strip_prefix("-> ") {
            return Ok(Leaf::Link { target: target.to_owned() });
        }
        let (digest, executable) = text.strip_suffix(" x").map_or((text, false), |digest| (digest, true));
        Ok(Leaf::File { digest: digest.parse()?, executable })
    }
}

impl Serialize for Leaf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Leaf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Leaf, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The files of a skill, by their path in it.
pub type Leaves = BTreeMap<String, Leaf>;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn leaf() -> impl Strategy<Value = Leaf> {
        prop_oneof![
            (any::<[u8; 32]>(), any::<bool>())
                .prop_map(|(bytes, executable)| Leaf::File { digest: bytes.into(), executable }),
            "[a-z/. x>-]{0,12}".prop_map(|target| Leaf::Link { target }),
        ]
    }

    proptest! {
        #[test]
        fn pinned_leaves_are_read_back(leaves in proptest::collection::btree_map("[a-z/]{1,6}", leaf(), 0..6)) {
            let text = serde_json::to_string(&leaves).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Leaves>(&text).unwrap(), &leaves);
        }

        #[test]
        fn other_files_have_another_id(
            one in proptest::collection::btree_map("[a-c/]{1,3}", leaf(), 0..4),
            other in proptest::collection::btree_map("[a-c/]{1,3}", leaf(), 0..4),
        ) {
            prop_assert_eq!(one == other, ContentId::of_leaves(&one) == ContentId::of_leaves(&other));
        }
    }
}
