//! [`SkillTree`]: the one walk over everything below a skill's directory.
//!
//! Every directory is opened relative to the handle of the one above it, without following links, so neither a link nor
//! a directory that is swapped during the walk leads out. The names of a directory are read at once and sorted: the
//! order is that of the whole paths' bytes if a directory's name is compared with a `/` behind it (`a-b` comes before
//! `a/x`, `a.md` between them), whatever order the file system has.

use std::cmp::Ordering;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};
use rustix::io::Errno;
use skillcue_base::{Shown, os_message};

const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The limits of a walk over a skill's files, and of reading them.
///
/// ```
/// use skillcue_catalog::TreeLimits;
///
/// let limits = TreeLimits { max_files: 20, ..TreeLimits::default() };
/// assert_eq!((limits.max_bytes, limits.max_depth), (16 * 1024 * 1024, 16));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// At most so many files are listed or read.
    pub max_files: usize,
    /// The sizes of the files that are listed or read add up to at most this.
    pub max_bytes: u64,
    /// Directories are entered down to this many levels below the skill's own. Each level holds a file descriptor.
    pub max_depth: usize,
    /// At most so many names are read from the file system. The default lists the beginning of a directory of
    /// 100,000 files, and holds at most some 30 MiB while it does, even with the longest names there can be.
    pub max_entries: usize,
}

impl Default for TreeLimits {
    /// Returns the limits of listings.
    fn default() -> Self {
        Self { max_files: 512, max_bytes: 16 * 1024 * 1024, max_depth: 16, max_entries: 1 << 17 }
    }
}

/// A walk over everything below a skill's directory, links not followed: [`SkillDir::tree`](crate::SkillDir::tree)
/// starts it.
///
/// It shows every entry, hidden ones and `.git` too, and reports every directory that it cannot show, with the reason.
/// The caller decides about links, special files and directories to leave out: a directory is entered by the step after
/// the one that showed it, unless [`SkillTree::skip_directory`] is called in between.
///
/// ```
/// use skillcue_catalog::{EntryKind, SkillDir, TreeLimits};
///
/// let tmp = tempfile::tempdir()?;
/// std::fs::create_dir_all(tmp.path().join("scripts/.git"))?;
/// std::fs::write(tmp.path().join("scripts/run.sh"), "true")?;
/// std::os::unix::fs::symlink("/etc", tmp.path().join("out"))?;
///
/// let mut seen = Vec::new();
/// let mut tree = SkillDir::open("pdf", tmp.path())?.tree(&TreeLimits::default())?;
/// while let Some(entry) = tree.next_entry() {
///     let entry = entry?;
///     seen.push((entry.path().to_owned(), entry.kind()));
///     if entry.name() == ".git" {
///         tree.skip_directory();
///     }
/// }
/// let expected = [
///     ("out", EntryKind::Link),
///     ("scripts", EntryKind::Directory),
///     ("scripts/.git", EntryKind::Directory),
///     ("scripts/run.sh", EntryKind::File),
/// ];
/// assert_eq!(seen, expected.map(|(path, kind)| (path.into(), kind)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SkillTree {
    max_depth: usize,
    max_entries: usize,
    entries_left: usize,
    /// The directory to begin with, until it is listed.
    start: Option<Dir>,
    stack: Vec<Frame>,
    /// The entry that was shown last, and its path.
    current: Option<ListedName>,
    path: Vec<u8>,
}

/// A directory that is being walked: its handle, its remaining names, and the end of its path in the common buffer.
#[derive(Debug)]
struct Frame {
    dir: Dir,
    rest: std::vec::IntoIter<ListedName>,
    path_len: usize,
}

/// A name in a directory, and the kind of the entry.
#[derive(Debug)]
struct ListedName {
    name: CString,
    kind: EntryKind,
}

impl ListedName {
    /// Compares two names of one directory, a directory's with a `/` behind it, as the paths of its contents have it.
    fn order(&self, other: &ListedName) -> Ordering {
        let (one, two) = (self.name.to_bytes(), other.name.to_bytes());
        let shared = one.len().min(two.len());
        // The bytes behind those that both have.
        let rest = |name: &ListedName, bytes: &[u8]| {
            bytes.get(shared).copied().or_else(|| (name.kind == EntryKind::Directory).then_some(b'/'))
        };
        one[..shared].cmp(&two[..shared]).then_with(|| rest(self, one).cmp(&rest(other, two)))
    }
}

/// The kind of an entry of a [`SkillTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// An ordinary file.
    File,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device.
    Device,
    /// An entry of a kind that the file system does not report, or that was removed meanwhile.
    Unknown,
}

/// One entry below a skill's directory, as a [`SkillTree`] shows it.
#[derive(Clone, Copy, Debug)]
pub struct TreeEntry<'t> {
    parent: BorrowedFd<'t>,
    name: &'t CStr,
    path: &'t [u8],
    kind: EntryKind,
}

/// The metadata of an entry itself, a link not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryMetadata {
    /// Its kind, as of now.
    pub kind: EntryKind,
    /// Permissions and the other bits of its mode.
    pub mode: u32,
    /// In bytes.
    pub size: u64,
    /// The device and the inode: which file or directory it is.
    pub identity: (u64, u64),
    /// Last change of its bytes, its mode or its path, in nanoseconds since 1970. No program can set it.
    pub changed_ns: i128,
}

impl EntryMetadata {
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the types differ between systems")]
    pub(super) fn of(stat: &Stat) -> EntryMetadata {
        EntryMetadata {
            kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
            mode: stat.st_mode as u32 & 0o7777,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            identity: (stat.st_dev as u64, stat.st_ino.into()),
            changed_ns: i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec),
        }
    }
}

impl<'t> TreeEntry<'t> {
    /// Returns the path relative to where the walk began, which need not be UTF-8.
    pub fn path(&self) -> &'t Path {
        Path::new(OsStr::from_bytes(self.path))
    }

    /// Returns the last part of the path.
    pub fn name(&self) -> &'t OsStr {
        OsStr::from_bytes(self.name.to_bytes())
    }

    /// Returns its kind, according to its directory.
    pub fn kind(&self) -> EntryKind {
        self.kind
    }

    /// Returns the metadata of the entry, a link not followed.
    pub fn metadata(&self) -> io::Result<EntryMetadata> {
        Ok(EntryMetadata::of(&statat(self.parent, self.name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Opens the file for reading. Fails if it is not an ordinary file by now, and never blocks.
    pub fn open_file(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(openat(self.parent, self.name, flags, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
    }

    /// Returns the target of the link, as it is written.
    pub fn link_target(&self) -> io::Result<OsString> {
        Ok(OsString::from_vec(readlinkat(self.parent, self.name, Vec::new())?.into_bytes()))
    }
}

/// A directory of which a [`SkillTree`] shows nothing, and the reason.
#[derive(Debug)]
pub struct TreeGap {
    /// The directory, relative to where the walk began; empty for that one.
    pub path: PathBuf,
    /// The reason.
    pub reason: GapReason,
}

/// The reason why a [`SkillTree`] shows nothing of a directory.
#[derive(Debug)]
#[non_exhaustive]
pub enum GapReason {
    /// The operating system refuses to open or list it.
    Unreadable(io::Error),
    /// It is more than [`TreeLimits::max_depth`] levels deep, which is this number.
    Depth(usize),
    /// With its names, there are more than [`TreeLimits::max_entries`], which is this number. The walk ends here,
    /// because a part of the names would depend on the order in which the file system has them.
    Entries(usize),
}

impl std::fmt::Display for TreeGap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = if self.path.as_os_str().is_empty() { Path::new(".") } else { &self.path };
        let path = path.to_string_lossy();
        match &self.reason {
            GapReason::Unreadable(error) => write!(f, "cannot list {}: {}", Shown(&path), os_message(error)),
            GapReason::Depth(limit) => write!(f, "{} is more than {limit} directories deep", Shown(&path)),
            GapReason::Entries(limit) => write!(f, "it has more than {limit} files and directories"),
        }
    }
}

impl std::error::Error for TreeGap {}

impl SkillTree {
    /// Walks below `dir`. Nothing is read yet.
    pub(super) fn new(dir: impl AsFd, limits: &TreeLimits) -> io::Result<SkillTree> {
        // Opened anew: `cap-std` has handles that cannot be listed, and this one's position is the walk's own.
        let dir = openat(dir, c".", LIST, Mode::empty())?;
        Ok(SkillTree {
            max_depth: limits.max_depth,
            max_entries: limits.max_entries,
            entries_left: limits.max_entries,
            start: Some(Dir::new(dir)?),
            stack: Vec::new(),
            current: None,
            path: Vec::new(),
        })
    }

    /// Returns the next entry, or a directory of which nothing can be shown; `None`, if all were shown.
    pub fn next_entry(&mut self) -> Option<Result<TreeEntry<'_>, TreeGap>> {
        if let Err(reason) = self.enter() {
            if matches!(reason, GapReason::Entries(_)) {
                self.stack.clear();
            }
            let path = OsString::from_vec(self.path.clone()).into();
            return Some(Err(TreeGap { path, reason }));
        }
        loop {
            let frame = self.stack.last_mut()?;
            self.path.truncate(frame.path_len);
            if let Some(next) = frame.rest.next() {
                if !self.path.is_empty() {
                    self.path.push(b'/');
                }
                self.path.extend_from_slice(next.name.to_bytes());
                self.current = Some(next);
                break;
            }
            self.stack.pop();
        }
        let parent = match self.stack.last()?.dir.fd() {
            Ok(parent) => parent,
            Err(error) => {
                let path = OsString::from_vec(self.path.clone()).into();
                return Some(Err(TreeGap { path, reason: GapReason::Unreadable(error.into()) }));
            }
        };
        let ListedName { name, kind } = self.current.as_ref()?;
        Some(Ok(TreeEntry { parent, name, path: &self.path, kind: *kind }))
    }

    /// Leaves out the entries of the directory that was shown last. Does nothing if that was not a directory.
    pub fn skip_directory(&mut self) {
        self.current = None;
    }

    /// Enters the directory that was shown last.
    fn enter(&mut self) -> Result<(), GapReason> {
        let dir = match (self.start.take(), self.current.take()) {
            (Some(start), _) => start,
            (None, Some(ListedName { name, kind: EntryKind::Directory })) => {
                if self.stack.len() > self.max_depth {
                    return Err(GapReason::Depth(self.max_depth));
                }
                let Some(above) = self.stack.last() else { return Ok(()) };
                let opened = above.dir.fd().and_then(|above| openat(above, &name, LIST, Mode::empty()));
                opened.and_then(Dir::new).map_err(unreadable)?
            }
            _ => return Ok(()),
        };
        let frame = self.list(dir)?;
        self.stack.push(frame);
        Ok(())
    }

    fn list(&mut self, mut dir: Dir) -> Result<Frame, GapReason> {
        let mut names = Vec::new();
        while let Some(entry) = dir.read() {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let Some(left) = self.entries_left.checked_sub(1) else {
                return Err(GapReason::Entries(self.max_entries));
            };
            self.entries_left = left;
            let mut kind = entry.file_type();
            // Some file systems do not store an entry's kind in the directory.
            if kind == FileType::Unknown {
                let stat = dir.fd().and_then(|fd| statat(fd.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW));
                kind = match stat {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    // It was removed in between, which the caller notices when it opens it.
                    Err(Errno::NOENT) => FileType::Unknown,
                    Err(error) => return Err(unreadable(error)),
                };
            }
            names.push(ListedName { name: name.to_owned(), kind: kind_of(kind) });
        }
        names.sort_unstable_by(ListedName::order);
        Ok(Frame { dir, rest: names.into_iter(), path_len: self.path.len() })
    }
}

fn unreadable(error: Errno) -> GapReason {
    GapReason::Unreadable(error.into())
}

fn kind_of(kind: FileType) -> EntryKind {
    match kind {
        FileType::Directory => EntryKind::Directory,
        FileType::RegularFile => EntryKind::File,
        FileType::Symlink => EntryKind::Link,
        FileType::Fifo => EntryKind::Pipe,
        FileType::Socket => EntryKind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => EntryKind::Device,
        FileType::Unknown => EntryKind::Unknown,
    }
}
