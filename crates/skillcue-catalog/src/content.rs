//! The content of a skill: every file with its SHA-256, and one [`ContentId`] for all of them.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skillcue_base::{Digest, Digester, ErrorInfo, Shown, os_message};

use crate::{EntryKind, EntryMetadata, FileError, SkillDir, TreeEntry, TreeGap, TreeLimits};

/// The identity of a skill's content: one SHA-256 over the paths of all its files, what is in each, and whether it may be
/// executed. Consent is bound to it, and `skillcue.lock` pins it, in the same 64 hexadecimal digits.
///
/// [`ContentId::of`] reads a directory. [`ContentId::of_listed`] takes a list of files that are elsewhere, such as on a
/// server. Both give the same id for the same files, as long as the directory has no links, no executable files and none
/// of the directories that listings leave out (`.git`, `node_modules`): a list has no word for those.
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
    /// The limits of [`ContentId::of`]. What has more cannot be consented to.
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

    /// Returns the id of files as a lock lists them.
    pub fn of_leaves(leaves: &Leaves) -> ContentId {
        let mut digester = Digester::default();
        add_leaves(&mut digester, leaves);
        ContentId(digester.finish())
    }
}

fn add_leaves(digester: &mut Digester, leaves: &Leaves) {
    for (path, leaf) in leaves {
        // Neither may contain the byte that ends it: no two trees give the same text.
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

/// One file of a skill as a lock pins it: the digest, with ` x` behind it if the file may be executed; `-> TARGET` for a
/// link.
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
        /// Where it leads, as it is written.
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

/// Everything in a skill's directory, read to the last byte.
///
/// ```
/// use skillcue_catalog::{Content, ContentId, SkillDir};
///
/// let tmp = tempfile::tempdir()?;
/// std::fs::write(tmp.path().join("SKILL.md"), "# Forms")?;
/// std::os::unix::fs::symlink("/etc/passwd", tmp.path().join("out"))?;
/// let content = Content::of(&SkillDir::open("pdf", tmp.path())?, &ContentId::LIMITS)?;
/// assert_eq!(content.sizes["SKILL.md"], 7);
/// assert_eq!(content.unpinnable[0].reason.to_string(), "it is a link that leads out");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Content {
    /// The files and the links that stay inside.
    pub leaves: Leaves,
    /// The files' sizes.
    pub sizes: BTreeMap<String, u64>,
    /// Files and directories that others may write to, and files that run as another user, by path.
    pub loose: Vec<String>,
    /// Entries that no lock can pin, by path.
    pub unpinnable: Vec<Unpinnable>,
}

/// Something in a skill's directory that no lock can pin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unpinnable {
    /// Its path.
    pub path: PathBuf,
    /// Why.
    pub reason: UnpinnableReason,
    /// The identity of its content: for a link, the target.
    text: Vec<u8>,
}

/// Why something can be neither locked nor installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum UnpinnableReason {
    /// Its name is not UTF-8. What is in a directory of such a name is not looked at.
    NotUtf8,
    /// It is a link out of the skill's directory.
    LinkOut,
    /// It is a device, a pipe or a socket.
    Special,
}

impl UnpinnableReason {
    /// Returns the reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            UnpinnableReason::NotUtf8 => "its name is not UTF-8",
            UnpinnableReason::LinkOut => "it is a link that leads out",
            UnpinnableReason::Special => "it is neither a file nor a directory",
        }
    }
}

impl fmt::Display for UnpinnableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why the content of a skill cannot be told.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum ContentError {
    /// A directory cannot be listed, or there is too much in it.
    #[error(transparent)]
    #[info(code = "unreadable", hint = "check that its directories can be listed, and move away what is no part of it")]
    Gap(#[from] TreeGap),
    /// The directory cannot be opened.
    #[error(transparent)]
    #[info(transparent)]
    Dir(#[from] FileError),
    /// A file or a link cannot be read.
    #[error("cannot read {}: {}", Shown(&path.to_string_lossy()), os_message(source))]
    #[info(code = "unreadable", hint = "check that its permissions let it be read")]
    Unreadable {
        /// Its path in the skill.
        path: PathBuf,
        /// The operating system's message.
        source: io::Error,
    },
    /// There are more files than are read.
    #[error("it has more than {limit} files")]
    #[info(code = "too_large", hint = "move away what is no part of the skill")]
    Files {
        /// The limit.
        limit: usize,
    },
    /// The files have more bytes than are read.
    #[error("its files have more than {} MiB", limit / (1024 * 1024))]
    #[info(code = "too_large", hint = "move away what is no part of the skill")]
    Bytes {
        /// The limit.
        limit: u64,
    },
    /// A name is not UTF-8.
    #[error("{}: a name is not UTF-8", Shown(&path.to_string_lossy()))]
    #[info(code = "not_text", hint = "rename it")]
    NotUtf8 {
        /// Its path in the skill.
        path: PathBuf,
    },
}

impl Content {
    /// Reads every file below a skill's directory, following no link.
    pub fn of(dir: &SkillDir, limits: &TreeLimits) -> Result<Content, ContentError> {
        let mut content = Content::default();
        let mut buffer = vec![0; 64 * 1024];
        let mut bytes_left = limits.max_bytes;
        let mut entries = 0_usize;
        let mut tree = dir.tree(limits)?;
        while let Some(entry) = tree.next_entry() {
            let entry = entry?;
            let unreadable = |source| ContentError::Unreadable { path: entry.path().to_owned(), source };
            if entry.kind() != EntryKind::Directory {
                entries += 1;
                if entries > limits.max_files {
                    return Err(ContentError::Files { limit: limits.max_files });
                }
            }
            let Some(name) = entry.path().to_str() else {
                content.add_unpinnable(&entry, UnpinnableReason::NotUtf8, Vec::new());
                tree.skip_directory();
                continue;
            };
            match entry.kind() {
                EntryKind::Directory => {
                    if entry.metadata().is_ok_and(|found| found.mode & 0o022 != 0) {
                        content.loose.push(name.to_owned());
                    }
                }
                EntryKind::Link => {
                    let target = entry.link_target().map_err(unreadable)?;
                    match target.to_str() {
                        Some(text) if stays_inside(entry.path(), Path::new(&target)) => {
                            content.leaves.insert(name.to_owned(), Leaf::Link { target: text.to_owned() });
                        }
                        _ => {
                            let target = target.as_bytes().to_vec();
                            content.add_unpinnable(&entry, UnpinnableReason::LinkOut, target);
                        }
                    }
                }
                EntryKind::File => {
                    let file = read(&entry, &mut buffer, bytes_left).map_err(unreadable)?;
                    bytes_left =
                        bytes_left.checked_sub(file.size).ok_or(ContentError::Bytes { limit: limits.max_bytes })?;
                    let executable = file.mode & 0o111 != 0;
                    content.loose.extend((file.mode & 0o7022 != 0).then(|| name.to_owned()));
                    content.sizes.insert(name.to_owned(), file.size);
                    content.leaves.insert(name.to_owned(), Leaf::File { digest: file.digest, executable });
                }
                EntryKind::Pipe | EntryKind::Socket | EntryKind::Device | EntryKind::Unknown => {
                    content.add_unpinnable(&entry, UnpinnableReason::Special, Vec::new());
                }
            }
        }
        content.loose.sort();
        content.unpinnable.sort();
        Ok(content)
    }

    /// Returns the id of all of it. It equals one that a lock pins only if a lock can pin all of it.
    pub fn id(&self) -> ContentId {
        let mut digester = Digester::default();
        add_leaves(&mut digester, &self.leaves);
        for odd in &self.unpinnable {
            let text: &[u8] = match odd.reason {
                UnpinnableReason::NotUtf8 => b"unread",
                UnpinnableReason::LinkOut => b"-> ",
                UnpinnableReason::Special => b"special",
            };
            digester.update(odd.path.as_os_str().as_bytes()).update([0]).update(text).update(&odd.text).update([0]);
        }
        ContentId(digester.finish())
    }

    fn add_unpinnable(&mut self, entry: &TreeEntry<'_>, reason: UnpinnableReason, text: Vec<u8>) {
        self.unpinnable.push(Unpinnable { path: entry.path().to_owned(), reason, text });
    }
}

/// Stamps of all files of a skill. No file is read, so it takes far less time than a [`ContentId`].
///
/// Taken before a [`ContentId`] and again later, two equal ones mean that the files are still those of the id: every change
/// of a file sets its time, as exactly as the file system keeps times.
///
/// ```
/// use skillcue_catalog::{ContentStamps, SkillDir};
///
/// let tmp = tempfile::tempdir()?;
/// std::fs::write(tmp.path().join("SKILL.md"), "# Forms")?;
/// let dir = SkillDir::open("pdf", tmp.path())?;
/// let before = ContentStamps::of(&dir)?;
/// assert_eq!(before, ContentStamps::of(&dir)?);
/// std::fs::write(tmp.path().join("SKILL.md"), "# Others")?;
/// assert_ne!(before, ContentStamps::of(&dir)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentStamps(BTreeMap<PathBuf, EntryMetadata>);

impl ContentStamps {
    /// Looks at every file below a skill's directory, following no link.
    pub fn of(dir: &SkillDir) -> Result<ContentStamps, ContentError> {
        let mut stamps = BTreeMap::new();
        let mut tree = dir.tree(&ContentId::LIMITS)?;
        while let Some(entry) = tree.next_entry() {
            let entry = entry?;
            // A directory by itself is no content.
            if entry.kind() != EntryKind::Directory {
                let path = entry.path().to_owned();
                match entry.metadata() {
                    Ok(found) => stamps.insert(path, found),
                    Err(source) => return Err(ContentError::Unreadable { path, source }),
                };
            }
        }
        Ok(ContentStamps(stamps))
    }
}

/// A file that was read.
struct ReadFile {
    digest: Digest,
    size: u64,
    mode: u32,
}

/// Reads a file to its end, or to the first byte that is more than `max_bytes`.
fn read(entry: &TreeEntry<'_>, buffer: &mut [u8], max_bytes: u64) -> io::Result<ReadFile> {
    let mut file = entry.open_file()?;
    let mut digester = Digester::default();
    let mut size = 0;
    loop {
        match file.read(buffer) {
            Ok(0) => break,
            Ok(count) => {
                digester.update(&buffer[..count]);
                size += count as u64;
                if size > max_bytes {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // After reading: it is the mode of what was read.
    let mode = file.metadata()?.mode();
    Ok(ReadFile { digest: digester.finish(), size, mode })
}

/// Whether a link at `path` stays in the tree, as far as its text says.
fn stays_inside(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count() - 1;
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

    fn content(dir: &Path) -> Content {
        Content::of(&SkillDir::open("x", dir).unwrap(), &ContentId::LIMITS).unwrap()
    }

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
        let tree = content(dir.path());
        let leaves: Vec<_> = tree.leaves.iter().map(|(path, leaf)| (path.as_str(), leaf.to_string())).collect();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad x".to_owned();
        assert_eq!(leaves, [("a/b/run", abc), ("a/in", "-> ../a/b/run".to_owned())]);
        assert_eq!(tree.sizes["a/b/run"], 3);
        assert_eq!(tree.unpinnable.len(), 2);
        assert_ne!(tree.id(), ContentId::of_leaves(&tree.leaves), "what cannot be pinned counts");
    }

    /// Locks that exist pin ids of this form: another one would make all of them fail.
    #[test]
    fn the_id_is_the_one_that_locks_pin() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("scripts")).unwrap();
        std::fs::write(dir.path().join("SKILL.md"), "# Forms").unwrap();
        std::fs::write(dir.path().join("scripts/run.sh"), "true").unwrap();
        std::fs::set_permissions(dir.path().join("scripts/run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        symlink("SKILL.md", dir.path().join("link")).unwrap();
        // Computed by another program from the paths, digests and targets, each with a NUL behind it.
        let expected = "8257a55642f6c08eada779c36d3f7455a818092b521df15e71e1f9aa48c1d4fb";
        assert_eq!(content(dir.path()).id().to_string(), expected);
    }

    #[test]
    fn whatever_changes_changes_the_id() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        let id = || ContentId::of(&SkillDir::open("x", dir.path()).unwrap()).unwrap();
        let mut known = vec![id()];
        let mut differs = |what: &str| {
            let id = id();
            assert!(!known.contains(&id), "{what}");
            known.push(id);
        };
        std::fs::write(at("run"), "a").unwrap();
        differs("a file");
        std::fs::set_permissions(at("run"), std::fs::Permissions::from_mode(0o755)).unwrap();
        differs("a mode");
        std::fs::create_dir(at("node_modules")).unwrap();
        std::fs::write(at("node_modules/x.js"), "").unwrap();
        differs("a file that listings leave out");
        symlink("run", at("link")).unwrap();
        differs("a link");
        for target in ["/etc/passwd", "/etc/shadow"] {
            let _ = std::fs::remove_file(at("out"));
            symlink(target, at("out")).unwrap();
            differs("a link out");
        }
        std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        differs("a socket");
    }

    #[test]
    fn nothing_is_left_out_for_its_number_or_size() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            std::fs::write(dir.path().join(name), "123").unwrap();
        }
        let skill = SkillDir::open("x", dir.path()).unwrap();
        let of = |limits: TreeLimits| Content::of(&skill, &limits).map(|content| content.leaves.len());
        let all = TreeLimits { max_files: 3, max_bytes: 9, max_depth: 0, max_entries: 3 };
        assert_eq!(of(all.clone()).unwrap(), 3);
        let text = |limits| of(limits).unwrap_err().to_string();
        assert_eq!(text(TreeLimits { max_files: 2, ..all.clone() }), "it has more than 2 files");
        assert_eq!(text(TreeLimits { max_bytes: 8, ..all.clone() }), "its files have more than 0 MiB");
        assert_eq!(text(TreeLimits { max_entries: 2, ..all.clone() }), "it has more than 2 files and directories");
        std::fs::create_dir(dir.path().join("d")).unwrap();
        let deep = TreeLimits { max_entries: 4, ..all };
        assert_eq!(text(deep), "d is more than 0 directories deep");
    }

    fn leaf() -> impl Strategy<Value = Leaf> {
        prop_oneof![
            (any::<[u8; 32]>(), any::<bool>())
                .prop_map(|(bytes, executable)| Leaf::File { digest: bytes.into(), executable }),
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
        fn other_files_have_another_id(
            one in proptest::collection::btree_map("[a-c/]{1,3}", leaf(), 0..4),
            other in proptest::collection::btree_map("[a-c/]{1,3}", leaf(), 0..4),
        ) {
            prop_assert_eq!(one == other, ContentId::of_leaves(&one) == ContentId::of_leaves(&other));
        }
    }
}
