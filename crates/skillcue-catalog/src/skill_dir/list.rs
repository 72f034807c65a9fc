//! Listing a skill's files: sorted, bounded, and honest about what is missing.
//!
//! The order is that of the whole paths' bytes, which a depth-first walk gives if a directory is sorted as its name
//! with a `/` behind it: `a-b` stands before `a/x` and `a.md` between them. Sorting needs all names of a directory at
//! once, so names are read first (they are cheap: no file is touched) and files are looked at in order until a limit
//! is reached. The number of names is bounded over the whole listing; a directory that goes over the bound
//! contributes nothing, because any part of it would depend on the order in which the file system lists.

use std::fmt;

use serde::Serialize;

use super::error::SecurityReason;
use super::lexical;
use super::open::{OpenError, Probe, Root};
use crate::SKIPPED_DIRECTORIES;

/// How far a listing goes.
///
/// ```
/// use skillcue_catalog::ListLimits;
///
/// let limits = ListLimits { max_files: 20, ..ListLimits::default() };
/// assert_eq!((limits.max_bytes, limits.max_depth), (16 * 1024 * 1024, 16));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListLimits {
    /// At most so many files are listed.
    pub max_files: usize,
    /// The listed files' sizes add up to at most this.
    pub max_bytes: u64,
    /// Directories are entered down to this many levels below the skill's own.
    pub max_depth: usize,
    /// At most so many names are read from the file system. The default lists the beginning of a directory of
    /// 100,000 files, and holds at most some 30 MiB while it does, even with the longest names there can be.
    pub max_entries: usize,
}

impl Default for ListLimits {
    fn default() -> Self {
        Self { max_files: 512, max_bytes: 16 * 1024 * 1024, max_depth: 16, max_entries: 1 << 17 }
    }
}

/// The files of a skill, as far as the limits let it be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// Every file, sorted by its path's bytes. Each can be opened by that path.
    pub files: Vec<ListedFile>,
    /// The sum of the files' sizes.
    pub total_bytes: u64,
    /// What was passed over, one row a reason.
    pub skipped: Vec<Skipped>,
    /// The limit that made the listing incomplete, if one did.
    pub stopped: Option<Stopped>,
}

/// One file of a [`Listing`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedFile {
    /// Relative to the skill's directory, separated by `/`.
    pub path: String,
    /// In bytes; of a link, the size of the file it leads to.
    pub size: u64,
}

/// What a listing passed over for one [`reason`](SkipReason).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Why.
    pub reason: SkipReason,
    /// How many entries; a directory counts once, whatever is in it.
    pub count: usize,
    /// The first of them in order.
    pub first: String,
}

/// Why a listing passes over an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// A link that leads out of the skill's directory, or in a circle.
    LinkOut,
    /// A link to nothing.
    DanglingLink,
    /// A link to a directory inside the skill. Its files are listed where they stand, once; so no circle of links
    /// can make a listing endless, nor a few links make it exponentially long.
    DirectoryLink,
    /// A device, a pipe or a socket.
    SpecialFile,
    /// A directory such as `.git` or `node_modules`.
    IgnoredDirectory,
    /// A directory below [`ListLimits::max_depth`].
    TooDeep,
    /// A name that no path can ask for: not UTF-8, or with a backslash in it.
    Unaddressable,
    /// The operating system would not let it be looked at, or it vanished meanwhile.
    Unreadable,
}

impl SkipReason {
    /// One such entry in words, for messages: `"out" is a link that leads out of the skill`.
    pub fn noun(self) -> &'static str {
        match self {
            SkipReason::LinkOut => "a link that leads out of the skill",
            SkipReason::DanglingLink => "a link to nothing",
            SkipReason::DirectoryLink => "a link to a directory",
            SkipReason::SpecialFile => "a device, a pipe or a socket",
            SkipReason::IgnoredDirectory => "a directory that holds no resources",
            SkipReason::TooDeep => "a directory too far down",
            SkipReason::Unaddressable => "a name that no path can ask for",
            SkipReason::Unreadable => "not readable",
        }
    }
}

/// Where and why a listing is incomplete.
///
/// A directory that is too deep is passed over and the listing goes on; each other limit ends it. If both happen, the
/// one that ended it is told here and the other is counted in [`Listing::skipped`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stopped {
    /// Which limit was reached.
    pub reason: StopReason,
    /// That limit's value.
    pub limit: u64,
    /// The first path that is missing from the listing because of it. A directory ends with `/`; the skill's own is
    /// `./`.
    pub at: String,
}

/// Which of the [`ListLimits`] a listing ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// [`ListLimits::max_files`].
    Files,
    /// [`ListLimits::max_bytes`].
    Bytes,
    /// [`ListLimits::max_depth`].
    Depth,
    /// [`ListLimits::max_entries`].
    Entries,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = skillcue_base::Shown(&self.at);
        let limit = self.limit;
        match self.reason {
            StopReason::Files => write!(f, "stopped before {at}: more than {limit} files"),
            StopReason::Bytes => write!(f, "stopped before {at}: more than {limit} bytes in all"),
            StopReason::Depth => write!(f, "did not enter {at}: more than {limit} levels deep"),
            StopReason::Entries => write!(f, "stopped before {at}: more than {limit} entries"),
        }
    }
}

pub(super) fn list(root: &Root, limits: &ListLimits) -> Result<Listing, OpenError> {
    let mut walk = Walk { root, limits, entries_left: limits.max_entries, listing: Listing::default() };
    match walk.read_directory("")? {
        Names::Sorted(entries) => walk.run(entries),
        Names::TooMany => walk.stop(StopReason::Entries, "./"),
    }
    walk.listing.skipped.sort_by_key(|skipped| skipped.reason);
    Ok(walk.listing)
}

/// One entry of a directory, as [`SkillDir::children`](super::SkillDir::children) tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Child {
    /// Its name, without the directory's path.
    pub name: String,
    /// Its size in bytes, if it is a file; nothing, if it is a directory.
    pub size: Option<u64>,
}

/// Whether a listing passes over the path because a directory on the way holds no resources, such as `.git`.
pub(super) fn is_ignored(path: &str) -> bool {
    path.split('/').any(|segment| SKIPPED_DIRECTORIES.contains(&segment))
}

/// What stands directly in the directory at `path`, sorted by name: what a listing would tell of it, and directories.
pub(super) fn children(root: &Root, path: &str, limits: &ListLimits) -> Result<Vec<Child>, OpenError> {
    let mut walk = Walk { root, limits, entries_left: limits.max_entries, listing: Listing::default() };
    let Names::Sorted(entries) = walk.read_directory(path)? else {
        return Err(OpenError::Io(std::io::Error::other(format!("more than {} entries", limits.max_entries))));
    };
    let mut children = Vec::new();
    for Entry { mut name, kind } in entries {
        if kind == EntryKind::NotUtf8 {
            continue;
        }
        if kind == EntryKind::Directory {
            name.pop();
            if lexical::check(&name).is_ok() && !is_ignored(&name) {
                children.push(Child { name, size: None });
            }
            continue;
        }
        let full = if path.is_empty() { name.clone() } else { format!("{}/{name}", path.trim_end_matches('/')) };
        if lexical::check(&full).is_ok()
            && let Some(size) = walk.look(&full, kind)
        {
            children.push(Child { name, size: Some(size) });
        }
    }
    children.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(children)
}

struct Walk<'a> {
    root: &'a Root,
    limits: &'a ListLimits,
    entries_left: usize,
    listing: Listing,
}

/// One name in a directory. A directory's ends with `/`, which makes it sort as its contents will.
struct Entry {
    name: String,
    kind: EntryKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Directory,
    Link,
    Other,
    /// Its name is only for show.
    NotUtf8,
}

enum Names {
    Sorted(Vec<Entry>),
    TooMany,
}

/// A directory that is being walked: where its path ends in the common buffer, and what is left of it.
struct Frame {
    path_len: usize,
    rest: std::vec::IntoIter<Entry>,
}

impl Walk<'_> {
    /// Walks with a stack of its own: how deep a tree goes is up to whoever wrote it.
    fn run(&mut self, entries: Vec<Entry>) {
        let mut path = String::new();
        let mut stack = vec![Frame { path_len: 0, rest: entries.into_iter() }];
        while let Some(frame) = stack.last_mut() {
            path.truncate(frame.path_len);
            let Some(entry) = frame.rest.next() else {
                stack.pop();
                continue;
            };
            path.push_str(&entry.name);
            if entry.kind == EntryKind::NotUtf8 || lexical::check(&path).is_err() {
                self.skip(SkipReason::Unaddressable, &path);
            } else if entry.kind == EntryKind::Directory {
                match self.enter(&path, stack.len()) {
                    Some(Names::Sorted(entries)) => {
                        stack.push(Frame { path_len: path.len(), rest: entries.into_iter() });
                    }
                    Some(Names::TooMany) => return self.stop(StopReason::Entries, &path),
                    None => {}
                }
            } else if let Some(size) = self.look(&path, entry.kind)
                && let Err(limit) = self.add(&path, size)
            {
                return self.stop(limit, &path);
            }
        }
    }

    /// The entries of the directory at `path`, unless it is to be passed over.
    fn enter(&mut self, path: &str, depth: usize) -> Option<Names> {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if SKIPPED_DIRECTORIES.contains(&name) {
            self.skip(SkipReason::IgnoredDirectory, path);
            return None;
        }
        if depth > self.limits.max_depth {
            if self.listing.stopped.is_none() {
                self.stop(StopReason::Depth, path);
            }
            self.skip(SkipReason::TooDeep, path);
            return None;
        }
        let names = self.read_directory(path).ok();
        if names.is_none() {
            self.skip(SkipReason::Unreadable, path);
        }
        names
    }

    /// The size of the file at `path`, unless it is to be passed over.
    fn look(&mut self, path: &str, kind: EntryKind) -> Option<u64> {
        let is_link = kind == EntryKind::Link;
        let reason = match self.root.probe(path) {
            Ok(Probe::File { size }) => return Some(size),
            Ok(Probe::Directory) if is_link => SkipReason::DirectoryLink,
            Ok(Probe::Special) | Err(OpenError::Security(SecurityReason::SpecialFile)) => SkipReason::SpecialFile,
            Err(OpenError::Security(_)) => SkipReason::LinkOut,
            Err(OpenError::NotFound) if is_link => SkipReason::DanglingLink,
            Ok(Probe::Directory) | Err(OpenError::NotFound | OpenError::Io(_)) => SkipReason::Unreadable,
        };
        self.skip(reason, path);
        None
    }

    fn add(&mut self, path: &str, size: u64) -> Result<(), StopReason> {
        if self.listing.files.len() == self.limits.max_files {
            return Err(StopReason::Files);
        }
        let total_bytes = self.listing.total_bytes.saturating_add(size);
        if total_bytes > self.limits.max_bytes {
            return Err(StopReason::Bytes);
        }
        self.listing.total_bytes = total_bytes;
        self.listing.files.push(ListedFile { path: path.to_owned(), size });
        Ok(())
    }

    fn stop(&mut self, reason: StopReason, at: &str) {
        let limit = match reason {
            StopReason::Files => self.limits.max_files as u64,
            StopReason::Bytes => self.limits.max_bytes,
            StopReason::Depth => self.limits.max_depth as u64,
            StopReason::Entries => self.limits.max_entries as u64,
        };
        self.listing.stopped = Some(Stopped { reason, limit, at: at.to_owned() });
    }

    fn skip(&mut self, reason: SkipReason, path: &str) {
        let skipped = &mut self.listing.skipped;
        match skipped.iter_mut().find(|row| row.reason == reason) {
            Some(row) => row.count += 1,
            None => skipped.push(Skipped { reason, count: 1, first: path.to_owned() }),
        }
    }

    fn read_directory(&mut self, path: &str) -> Result<Names, OpenError> {
        let directory = self.root.open_directory(if path.is_empty() { "." } else { path })?;
        let mut entries = Vec::new();
        for entry in directory.entries().map_err(OpenError::Io)? {
            let entry = entry.map_err(OpenError::Io)?;
            let Some(left) = self.entries_left.checked_sub(1) else {
                return Ok(Names::TooMany);
            };
            self.entries_left = left;
            let kind = kind_of(&entry).map_err(OpenError::Io)?;
            entries.push(match entry.file_name().into_string() {
                Ok(mut name) => {
                    if kind == EntryKind::Directory {
                        name.push('/');
                    }
                    Entry { name, kind }
                }
                Err(name) => Entry { name: name.to_string_lossy().into_owned(), kind: EntryKind::NotUtf8 },
            });
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(Names::Sorted(entries))
    }
}

fn kind_of(entry: &cap_std::fs::DirEntry) -> std::io::Result<EntryKind> {
    let mut file_type = entry.file_type()?;
    // Some file systems do not say in the directory what an entry is.
    if !(file_type.is_file() || file_type.is_dir() || file_type.is_symlink()) {
        file_type = match entry.metadata() {
            Ok(metadata) => metadata.file_type(),
            // Gone since: looking at it will say so.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(EntryKind::Other),
            Err(error) => return Err(error),
        };
    }
    Ok(if file_type.is_dir() {
        EntryKind::Directory
    } else if file_type.is_symlink() {
        EntryKind::Link
    } else {
        EntryKind::Other
    })
}
