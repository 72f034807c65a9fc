//! The content of a skill: every file with its SHA-256, and one [`ContentId`] for all of them.

mod id;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use skillcue_base::{Digest, Digester, ErrorInfo, Shown, os_message};

pub use id::{ContentId, Leaf, Leaves};

use crate::{EntryKind, EntryMetadata, FileError, SkillDir, TreeEntry, TreeGap, TreeLimits};

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

/// An entry in a skill's directory that no lock can pin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unpinnable {
    /// Its path.
    pub path: PathBuf,
    /// The reason.
    pub reason: UnpinnableReason,
    /// The identity of its content: for a link, the target.
    text: Vec<u8>,
}

/// The reason why an entry can be neither locked nor installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum UnpinnableReason {
    /// Its name is not UTF-8. The entries of a directory with such a name are not read.
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

/// The reason why the content of a skill cannot be determined.
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

    /// Returns the id of all entries. It equals one that a lock pins only if a lock can pin all of them.
    pub fn id(&self) -> ContentId {
        let mut digester = Digester::default();
        id::add_leaves(&mut digester, &self.leaves);
        for odd in &self.unpinnable {
            let text: &[u8] = match odd.reason {
                UnpinnableReason::NotUtf8 => b"unread",
                UnpinnableReason::LinkOut => b"-> ",
                UnpinnableReason::Special => b"special",
            };
            digester.update(odd.path.as_os_str().as_bytes()).update([0]).update(text).update(&odd.text).update([0]);
        }
        ContentId::from_digest(digester.finish())
    }

    fn add_unpinnable(&mut self, entry: &TreeEntry<'_>, reason: UnpinnableReason, text: Vec<u8>) {
        self.unpinnable.push(Unpinnable { path: entry.path().to_owned(), reason, text });
    }
}

/// Stamps of all files of a skill. No file is read, so it takes far less time than a [`ContentId`].
///
/// If stamps taken before a [`ContentId`] equal those taken later, the files are still those of the id: every change of
/// a file sets its time, as exactly as the file system keeps times.
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
    /// Returns the digest of all stamps, for records that outlive the process.
    ///
    /// ```
    /// use skillcue_catalog::{ContentStamps, SkillDir};
    /// let tmp = tempfile::tempdir()?;
    /// std::fs::write(tmp.path().join("SKILL.md"), "# Forms")?;
    /// let dir = SkillDir::open("pdf", tmp.path())?;
    /// assert_eq!(ContentStamps::of(&dir)?.digest(), ContentStamps::of(&dir)?.digest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn digest(&self) -> Digest {
        let mut digester = Digester::default();
        for (path, stamp) in &self.0 {
            let EntryMetadata { kind, mode, size, identity: (device, inode), changed_ns } = stamp;
            let line = format!("\0{kind:?} {mode:o} {size} {device} {inode} {changed_ns}\n");
            digester.update(path.as_os_str().as_bytes()).update(line);
        }
        digester.finish()
    }

    /// Returns the time of the last change of any file, in nanoseconds since 1970.
    pub fn changed_ns(&self) -> i128 {
        self.0.values().map(|stamp| stamp.changed_ns).max().unwrap_or_default()
    }

    /// Takes the stamp of every file below a skill's directory, following no link.
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
    // After reading: it is the mode of the file that was read.
    let mode = file.metadata()?.mode();
    Ok(ReadFile { digest: digester.finish(), size, mode })
}

/// Returns whether a link at `path` stays in the tree, judged by its text.
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
        assert_ne!(tree.id(), ContentId::of_leaves(&tree.leaves), "entries that cannot be pinned count");
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
}
