//! Listings of a skill's files: sorted, bounded, and with the reasons for what is missing.
//!
//! The walk is that of a [`SkillTree`], in the order of the whole paths' bytes; files are added until a limit is
//! reached. A link to a file inside counts as that file, unlike for all other users of the walk.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use serde::Serialize;

use super::error::SecurityReason;
use super::lexical;
use super::open::{ConfinedDir, ResolveError, TargetKind};
use super::tree::{EntryKind, EntryMetadata, GapReason, SkillTree, TreeEntry, TreeGap, TreeLimits};
use crate::SKIPPED_DIRECTORIES;

/// The files of a skill, within limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileListing {
    /// Every file, sorted by its path's bytes. Each can be opened by that path.
    pub files: Vec<ListedFile>,
    /// The sum of the files' sizes.
    pub total_bytes: u64,
    /// The skipped entries, one row a reason.
    pub skipped: Vec<Skipped>,
    /// The limit that made the listing incomplete, if there was one.
    pub stopped: Option<Stopped>,
}

/// One file of a [`FileListing`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedFile {
    /// Relative to the skill's directory, separated by `/`.
    pub path: String,
    /// In bytes; of a link, the size of the file it leads to.
    pub size: u64,
}

/// The entries that a listing skipped for one [`reason`](SkipReason).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The reason.
    pub reason: SkipReason,
    /// How many entries; a directory counts once, whatever is in it.
    pub count: usize,
    /// The first of them in order.
    pub first: String,
}

/// The reason why a listing skips an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// A link that leads out of the skill's directory, or in a circle.
    LinkOut,
    /// A link to nothing.
    DanglingLink,
    /// A link to a directory inside the skill. Its files are listed where they are, once; so no circle of links
    /// can make a listing endless, nor a few links make it exponentially long.
    DirectoryLink,
    /// A device, a pipe or a socket.
    SpecialFile,
    /// A directory such as `.git` or `node_modules`.
    IgnoredDirectory,
    /// A directory below [`TreeLimits::max_depth`].
    TooDeep,
    /// A name that no path can ask for: not UTF-8, or with a backslash in it.
    Unaddressable,
    /// The operating system refused access, or it was removed meanwhile.
    Unreadable,
}

impl SkipReason {
    /// Returns one such entry in words, for messages: `"out" is a link that leads out of the skill`.
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

/// The point and the reason at which a listing is incomplete.
///
/// A directory that is too deep is skipped and the listing goes on; each other limit ends it. If both happen, the one
/// that ended it is here and the other is counted in [`FileListing::skipped`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stopped {
    /// The limit that was reached.
    pub reason: StopReason,
    /// That limit's value.
    pub limit: u64,
    /// The first path that is missing from the listing because of it. A directory ends with `/`; the skill's own is
    /// `./`.
    pub at: String,
}

/// The one of the [`TreeLimits`] that a listing reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// [`TreeLimits::max_files`].
    Files,
    /// [`TreeLimits::max_bytes`].
    Bytes,
    /// [`TreeLimits::max_depth`].
    Depth,
    /// [`TreeLimits::max_entries`].
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

/// Starts a walk below the directory at `path`; the skill's own is the empty path.
pub(super) fn tree(root: &ConfinedDir, path: &str, limits: &TreeLimits) -> Result<SkillTree, ResolveError> {
    let directory = root.open_directory(if path.is_empty() { "." } else { path })?;
    SkillTree::new(&directory, limits).map_err(ResolveError::Io)
}

/// Lists the files below the directory at `below`, which is clean; the skill's own is the empty path.
pub(super) fn list(root: &ConfinedDir, below: &str, limits: &TreeLimits) -> Result<FileListing, ResolveError> {
    let mut listing = FileListing::default();
    let mut tree = tree(root, below, limits)?;
    let below = Path::new(below);
    while let Some(entry) = tree.next_entry() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(TreeGap { path, reason: GapReason::Unreadable(error) }) if path.as_os_str().is_empty() => {
                return Err(ResolveError::Io(error));
            }
            Err(TreeGap { path, reason }) => {
                if listing.add_gap(&below.join(path), &reason) {
                    continue;
                }
                break;
            }
        };
        let is_directory = entry.kind() == EntryKind::Directory;
        let full = if below.as_os_str().is_empty() {
            Cow::Borrowed(entry.path())
        } else {
            Cow::Owned(below.join(entry.path()))
        };
        let Some(path) = full.to_str().filter(|path| lexical::check(path).is_ok()) else {
            listing.skip(SkipReason::Unaddressable, &with_slash(&full, is_directory));
            tree.skip_directory();
            continue;
        };
        if is_directory {
            if is_ignored_name(entry.name()) {
                listing.skip(SkipReason::IgnoredDirectory, &with_slash(&full, true));
                tree.skip_directory();
            }
            continue;
        }
        let limit = match file_size(root, &entry, path) {
            Ok(size) => listing.add(path, size, limits),
            Err(reason) => {
                listing.skip(reason, path);
                continue;
            }
        };
        if let Err((reason, limit)) = limit {
            listing.stopped = Some(Stopped { reason, limit, at: path.to_owned() });
            break;
        }
    }
    listing.skipped.sort_by_key(|skipped| skipped.reason);
    Ok(listing)
}

/// One entry of a directory, as [`SkillDir::children`](super::SkillDir::children) returns it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DirectoryEntry {
    /// Its name, without the directory's path.
    pub name: String,
    /// Its size in bytes, if it is a file; `None`, if it is a directory.
    pub size: Option<u64>,
}

/// Returns whether a listing skips the path because a directory on the way holds no resources, such as `.git`.
pub(super) fn is_ignored(path: &str) -> bool {
    path.split('/').any(|segment| is_ignored_name(OsStr::new(segment)))
}

fn is_ignored_name(name: &OsStr) -> bool {
    SKIPPED_DIRECTORIES.iter().any(|skipped| name == *skipped)
}

/// Lists the entries of the directory at `path`, sorted by name: the files that a listing would have, and directories.
pub(super) fn children(
    root: &ConfinedDir,
    path: &str,
    limits: &TreeLimits,
) -> Result<Vec<DirectoryEntry>, ResolveError> {
    let mut children = Vec::new();
    let mut tree = tree(root, path, limits)?;
    while let Some(entry) = tree.next_entry() {
        let entry = entry.map_err(|gap| match gap.reason {
            GapReason::Unreadable(error) => ResolveError::Io(error),
            GapReason::Depth(limit) | GapReason::Entries(limit) => {
                ResolveError::Io(std::io::Error::other(format!("more than {limit} entries")))
            }
        })?;
        let Some(name) = entry.name().to_str() else {
            tree.skip_directory();
            continue;
        };
        if entry.kind() == EntryKind::Directory {
            if lexical::check(name).is_ok() && !is_ignored_name(entry.name()) {
                children.push(DirectoryEntry { name: name.to_owned(), size: None });
            }
            tree.skip_directory();
            continue;
        }
        let full = if path.is_empty() { name.to_owned() } else { format!("{}/{name}", path.trim_end_matches('/')) };
        if lexical::check(&full).is_ok()
            && let Ok(size) = file_size(root, &entry, &full)
        {
            children.push(DirectoryEntry { name: name.to_owned(), size: Some(size) });
        }
    }
    children.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(children)
}

/// Returns the path as a listing has it: a directory's ends with `/`.
fn with_slash(path: &Path, is_directory: bool) -> String {
    let mut text = path.to_string_lossy().into_owned();
    if is_directory {
        text.push('/');
    }
    text
}

/// Returns the size of the file at `path` below the root, or the reason why it is skipped.
fn file_size(root: &ConfinedDir, entry: &TreeEntry<'_>, path: &str) -> Result<u64, SkipReason> {
    if entry.kind() == EntryKind::File
        && let Ok(EntryMetadata { kind: EntryKind::File, size, .. }) = entry.metadata()
    {
        return Ok(size);
    }
    let is_link = entry.kind() == EntryKind::Link;
    match root.probe(path) {
        Ok(TargetKind::File { size }) => Ok(size),
        Ok(TargetKind::Directory) if is_link => Err(SkipReason::DirectoryLink),
        Ok(TargetKind::Special) | Err(ResolveError::Security(SecurityReason::SpecialFile)) => {
            Err(SkipReason::SpecialFile)
        }
        Err(ResolveError::Security(_)) => Err(SkipReason::LinkOut),
        Err(ResolveError::NotFound) if is_link => Err(SkipReason::DanglingLink),
        Ok(TargetKind::Directory) | Err(ResolveError::NotFound | ResolveError::Io(_)) => Err(SkipReason::Unreadable),
    }
}

impl FileListing {
    /// Adds a file, or returns the limit that it exceeds.
    fn add(&mut self, path: &str, size: u64, limits: &TreeLimits) -> Result<(), (StopReason, u64)> {
        if self.files.len() == limits.max_files {
            return Err((StopReason::Files, limits.max_files as u64));
        }
        let total_bytes = self.total_bytes.saturating_add(size);
        if total_bytes > limits.max_bytes {
            return Err((StopReason::Bytes, limits.max_bytes));
        }
        self.total_bytes = total_bytes;
        self.files.push(ListedFile { path: path.to_owned(), size });
        Ok(())
    }

    /// Records a directory of which nothing can be listed. Returns whether the listing goes on.
    fn add_gap(&mut self, path: &Path, reason: &GapReason) -> bool {
        let at = if path.as_os_str().is_empty() { "./".to_owned() } else { with_slash(path, true) };
        match reason {
            GapReason::Unreadable(_) => self.skip(SkipReason::Unreadable, &at),
            GapReason::Depth(limit) => {
                if self.stopped.is_none() {
                    self.stopped = Some(Stopped { reason: StopReason::Depth, limit: *limit as u64, at: at.clone() });
                }
                self.skip(SkipReason::TooDeep, &at);
            }
            GapReason::Entries(limit) => {
                self.stopped = Some(Stopped { reason: StopReason::Entries, limit: *limit as u64, at });
                return false;
            }
        }
        true
    }

    fn skip(&mut self, reason: SkipReason, path: &str) {
        match self.skipped.iter_mut().find(|row| row.reason == reason) {
            Some(row) => row.count += 1,
            None => self.skipped.push(Skipped { reason, count: 1, first: path.to_owned() }),
        }
    }
}
