//! What exactly stands in a directory: every file with its SHA-256.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use rustix::fs::OFlags;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use skillcue_base::hex;

use crate::RegistryError;

/// A SHA-256, written as hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Digest, String> {
        let wrong = || "a SHA-256 has 64 hexadecimal digits".to_owned();
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| wrong())?;
        }
        if hex(&bytes) == text { Ok(Digest(bytes)) } else { Err(wrong()) }
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// One file of a tree as the lock pins it: the digest, ` x` behind it if it may be executed; `-> TARGET` for a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Leaf {
    File { digest: Digest, executable: bool },
    Link { target: String },
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

/// The files of a directory, by their path in it.
pub(crate) type Leaves = BTreeMap<String, Leaf>;

/// The digest over all files.
pub(crate) fn digest_of(leaves: &Leaves) -> Digest {
    let mut hash = Sha256::new();
    for (path, leaf) in leaves {
        // Neither may contain the byte that ends it: no two trees give the same text.
        hash.update(path.as_bytes());
        hash.update([0]);
        hash.update(leaf.to_string().as_bytes());
        hash.update([0]);
    }
    Digest(hash.finalize().into())
}

/// Whether a path of the lock is one that a file in a directory can have.
pub(crate) fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.contains('\0')
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// A directory as it is on the disk.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) leaves: Leaves,
    /// The files' sizes.
    pub(crate) sizes: BTreeMap<String, u64>,
    /// Files and directories that others may write to, and files that run as somebody else.
    pub(crate) loose: Vec<String>,
    /// What can be neither locked nor installed, and why.
    pub(crate) odd: Vec<(PathBuf, &'static str)>,
}

/// Reads a directory and every file in it, following no link.
pub(crate) fn scan(dir: &Path) -> Result<Tree, RegistryError> {
    let mut tree = Tree::default();
    if !dir.symlink_metadata().map_err(|error| RegistryError::file("look at", dir, error))?.is_dir() {
        return Err(RegistryError::NotADirectory { path: dir.to_owned() });
    }
    let mut next = vec![PathBuf::new()];
    while let Some(below) = next.pop() {
        let here = dir.join(&below);
        let fail = |error| RegistryError::file("list", &here, error);
        for entry in here.read_dir().map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let path = entry.path();
            let kind = entry.file_type().map_err(|error| RegistryError::file("look at", &path, error))?;
            let rel = below.join(entry.file_name());
            let Some(name) = rel.to_str().map(str::to_owned) else {
                tree.odd.push((rel, "its name is not UTF-8"));
                continue;
            };
            if kind.is_dir() {
                if entry.metadata().is_ok_and(|found| found.mode() & 0o022 != 0) {
                    tree.loose.push(name);
                }
                next.push(rel);
            } else if kind.is_symlink() {
                let target = path.read_link().map_err(|error| RegistryError::file("read", &path, error))?;
                match target.to_str() {
                    Some(text) if stays_inside(&below, &target) => {
                        tree.leaves.insert(name, Leaf::Link { target: text.to_owned() });
                    }
                    _ => tree.odd.push((rel, "it is a link that leads out")),
                }
            } else if kind.is_file() {
                let (leaf, size, loose) = read(&path).map_err(|error| RegistryError::file("read", &path, error))?;
                tree.loose.extend(loose.then(|| name.clone()));
                tree.sizes.insert(name.clone(), size);
                tree.leaves.insert(name, leaf);
            } else {
                tree.odd.push((rel, "it is neither a file nor a directory"));
            }
        }
    }
    tree.odd.sort();
    tree.loose.sort();
    Ok(tree)
}

fn read(path: &Path) -> io::Result<(Leaf, u64, bool)> {
    let mut file = open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut size = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                hash.update(&buffer[..count]);
                size += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mode = file.metadata()?.mode();
    let leaf = Leaf::File { digest: Digest(hash.finalize().into()), executable: mode & 0o111 != 0 };
    Ok((leaf, size, mode & 0o7022 != 0))
}

/// Opens a regular file, and neither a link nor a pipe that somebody has put in its place.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

/// Whether a link in the directory `below` the tree's stays in the tree, as far as its text says.
fn stays_inside(below: &Path, target: &Path) -> bool {
    let mut depth = below.components().count();
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tree_is_read_without_following_links() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::write(at("a/b/run"), "abc").unwrap();
        std::fs::set_permissions(at("a/b/run"), std::fs::Permissions::from_mode(0o755)).unwrap();
        symlink("../a/b/run", at("a/in")).unwrap();
        symlink("../../etc/passwd", at("a/out")).unwrap();
        symlink("/etc/passwd", at("absolute")).unwrap();
        let tree = scan(dir.path()).unwrap();
        let leaves: Vec<_> = tree.leaves.iter().map(|(path, leaf)| (path.as_str(), leaf.to_string())).collect();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad x".to_owned();
        assert_eq!(leaves, [("a/b/run", abc), ("a/in", "-> ../a/b/run".to_owned())]);
        assert_eq!(tree.sizes["a/b/run"], 3);
        assert_eq!(tree.odd.len(), 2);
        symlink(dir.path(), at("link")).unwrap();
        assert!(matches!(scan(&at("link")), Err(RegistryError::NotADirectory { .. })));
    }

    #[test]
    fn paths_of_a_lock() {
        for bad in ["", "/", "/a", "a/", "a//b", "../a", "a/..", "./a", "a\0"] {
            assert!(!is_inside(bad), "{bad:?}");
        }
        assert!(is_inside("a") && is_inside("a/..b/c d"));
    }

    fn leaf() -> impl Strategy<Value = Leaf> {
        prop_oneof![
            (any::<[u8; 32]>(), any::<bool>())
                .prop_map(|(bytes, executable)| Leaf::File { digest: Digest(bytes), executable }),
            "[a-z/. x>-]{0,12}".prop_map(|target| Leaf::Link { target }),
        ]
    }

    proptest! {
        #[test]
        fn what_a_lock_pins_is_read_back(leaves in proptest::collection::btree_map("[a-z/]{1,6}", leaf(), 0..6)) {
            let text = serde_json::to_string(&leaves).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Leaves>(&text).unwrap(), &leaves);
        }

        #[test]
        fn other_files_have_another_digest(
            one in proptest::collection::btree_map("[a-c/]{1,3}", leaf(), 0..4),
            other in proptest::collection::btree_map("[a-c/]{1,3}", leaf(), 0..4),
        ) {
            prop_assert_eq!(one == other, digest_of(&one) == digest_of(&other));
        }
    }
}
