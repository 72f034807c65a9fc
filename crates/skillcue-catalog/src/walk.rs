//! The walk that finds skill directories below one root, in parallel, reading as little as possible.
//!
//! A directory with a `SKILL.md` needs no listing: the file is simply opened. Only directories without one are listed
//! and their subdirectories inspected. A skill file of an earlier run ([`RootSection`]) is not even opened again if its
//! stamp is unchanged.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use skillcue_format::{Code, Diagnostic};

use crate::candidate::{Inspection, InvalidSkill, ScanBuffers, inspect, inspect_file};
use crate::discovery_state::TouchedDirs;
use crate::parallel::{map_chunks, sort_distinct_by};
use crate::section::RootSection;
use crate::{FileStamp, Skill, SkillFile, SkillRoot};
use skillcue_base::os_message;

/// How deep below a root skills may be.
pub const MAX_DEPTH: usize = 5;
/// How many directories are listed below one root at the most.
const MAX_DIRS: usize = 1_000_000;
/// How many entries of one directory are read.
const MAX_ENTRIES: usize = 1_000_000;
/// How many bytes are allocated for a directory's names before they are known.
const MAX_NAMES: usize = 16 << 20;
/// How many directories one task inspects. Their texts share one allocation: small ones leave less unused.
pub(crate) const DIRS_PER_TASK: usize = 32;

/// Directories that are never searched: not for skills, and not for a skill's files.
pub const SKIPPED_DIRECTORIES: [&str; 5] = [".git", "node_modules", "target", "__pycache__", ".venv"];

/// The findings below one root.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Boxed: they are moved about, and memory touched for the first time is what costs most.
    pub(crate) skills: Vec<Box<Skill>>,
    /// Skills of the section that are still valid, by their number.
    pub(crate) reused: Vec<u32>,
    pub(crate) invalid: Vec<InvalidSkill>,
    /// Invalid skills of the section that are unchanged, by their number.
    pub(crate) reused_invalid: Vec<u32>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Directories that were listed.
    pub(crate) dirs: Vec<ListedDir>,
    /// Directories that must be inspected anew each time: nothing about them can be cached.
    pub(crate) volatile: Vec<Box<[u8]>>,
    pub(crate) links: Vec<DirectoryLink>,
    /// Whether any directory link was followed.
    pub(crate) followed: bool,
    /// How many skill files were opened.
    pub(crate) opened: usize,
}

/// A directory that was listed.
#[derive(Debug, Clone)]
pub(crate) struct ListedDir {
    pub(crate) rel: Box<[u8]>,
    pub(crate) stamp: FileStamp,
    /// Whether its listing can be trusted as long as the stamp is unchanged: no links in it, nothing unusual.
    pub(crate) stable: bool,
}

/// A link in a directory, to be followed after the walk.
#[derive(Debug)]
pub(crate) struct DirectoryLink {
    pub(crate) rel: Vec<u8>,
    pub(crate) depth: usize,
}

impl Findings {
    /// Concatenates findings; every skill is moved once.
    pub(crate) fn concat(parts: Vec<Findings>) -> Findings {
        let mut all = Findings::default();
        all.skills.reserve_exact(parts.iter().map(|part| part.skills.len()).sum());
        all.reused.reserve_exact(parts.iter().map(|part| part.reused.len()).sum());
        parts.into_iter().fold(all, Findings::merge)
    }

    pub(crate) fn merge(mut self, mut other: Findings) -> Findings {
        if self.skills.is_empty() && self.skills.capacity() < other.skills.len() {
            std::mem::swap(&mut self.skills, &mut other.skills);
        }
        self.skills.append(&mut other.skills);
        self.reused.append(&mut other.reused);
        self.invalid.append(&mut other.invalid);
        self.reused_invalid.append(&mut other.reused_invalid);
        self.diagnostics.append(&mut other.diagnostics);
        self.dirs.append(&mut other.dirs);
        self.volatile.append(&mut other.volatile);
        self.links.append(&mut other.links);
        self.followed |= other.followed;
        self.opened += other.opened;
        self
    }

    /// Adds a single inspection, whose text gets an allocation of its own.
    pub(crate) fn take_one(&mut self, found: Inspection, scratch: &mut ScanBuffers) -> bool {
        let taken = self.take(found);
        scratch.seal(&mut self.skills);
        taken
    }

    fn take(&mut self, found: Inspection) -> bool {
        self.opened += 1;
        match found {
            Inspection::Skill(skill, diagnostics) => {
                self.skills.push(skill);
                self.diagnostics.extend(diagnostics);
            }
            Inspection::Invalid(invalid) => self.invalid.push(invalid),
            Inspection::Nothing => {
                self.opened -= 1;
                return false;
            }
        }
        true
    }
}

/// Finds everything below `root`. With `nested`, also skills inside skills.
///
/// `touched` are the directories that changed since the section was made; the rest of the section is reused without a
/// check. Without it, the stamp of every file is checked.
pub(crate) fn walk(
    root: &Arc<SkillRoot>,
    section: Option<&RootSection>,
    touched: Option<&TouchedDirs>,
    nested: bool,
) -> Findings {
    let handle = match open_dir(rustix::fs::CWD, root.path.as_os_str().as_bytes()) {
        Ok(handle) => handle,
        Err(error) => {
            let mut findings = Findings::default();
            if root.required || error.kind() != io::ErrorKind::NotFound {
                let found =
                    Diagnostic::new(Code::Unreadable, format!("the directory cannot be read: {}", os_message(&error)))
                        .at(root.path.clone())
                        .with_help("check that it is there and that you may read it");
                findings.diagnostics.push(found);
            }
            return findings;
        }
    };
    let section = section.filter(|_| !nested);
    let touched = touched.filter(|_| section.is_some());
    let walker = Walker { root, base: handle.as_fd(), section, touched, nested, listed: AtomicUsize::new(0) };
    let mut findings = Findings::default();
    let mut scratch = ScanBuffers::new(root);
    // The root itself may be a skill, unless the section knows that it was listed.
    let is_skill = section.is_none_or(|section| section.dir(b"").is_none())
        && (walker.reuse(b"", &mut scratch, &mut findings) || {
            let found = inspect(walker.base, root, b"", &mut scratch);
            findings.take_one(found, &mut scratch)
        });
    if is_skill {
        if nested {
            findings = findings.merge(walker.list_anew(b"", 0, ListingScope::InsideSkill));
        }
    } else {
        let known = section.and_then(|section| section.dir(b""));
        findings = findings.merge(walker.list(b"", 0, known));
    }
    walker.links(findings)
}

pub(crate) struct Walker<'w> {
    pub(crate) root: &'w Arc<SkillRoot>,
    pub(crate) base: BorrowedFd<'w>,
    pub(crate) section: Option<&'w RootSection>,
    pub(crate) touched: Option<&'w TouchedDirs>,
    nested: bool,
    listed: AtomicUsize,
}

/// The part of a directory in which a listing looks for skills.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListingScope {
    /// Its skill file and its subdirectories.
    Directory,
    /// Its subdirectories: its skill file has been inspected already.
    InsideSkill,
}

impl Walker<'_> {
    /// Lists the directory `rel` and inspects its subdirectories.
    pub(crate) fn list(&self, rel: &[u8], depth: usize, known: Option<u32>) -> Findings {
        if let (Some(section), Some(number)) = (self.section, known)
            && let Some(findings) = self.revalidate(section, number, rel, depth)
        {
            return findings;
        }
        self.list_anew(rel, depth, ListingScope::Directory)
    }

    fn list_anew(&self, rel: &[u8], depth: usize, scope: ListingScope) -> Findings {
        let count = self.listed.fetch_add(1, Ordering::Relaxed);
        if count >= MAX_DIRS {
            let mut findings = Findings::default();
            if count == MAX_DIRS {
                findings.diagnostics.push(self.limit(rel, &format!("more than {MAX_DIRS} directories")));
            }
            return findings;
        }
        match self.entries(rel) {
            Ok(listing) => self.listing(rel, depth, listing, scope),
            Err(error) => {
                let message = format!("the directory cannot be read: {}", os_message(&error));
                let found = Diagnostic::new(Code::Unreadable, message)
                    .at(self.path(rel))
                    .with_help("check that it is there and that you may read it");
                Findings { diagnostics: vec![found], volatile: vec![rel.into()], ..Findings::default() }
            }
        }
    }

    fn listing(&self, rel: &[u8], depth: usize, listing: DirectoryListing, scope: ListingScope) -> Findings {
        let mut findings = Findings::default();
        let mut scratch = ScanBuffers::new(self.root);
        // A skill file that opening by name did not find: another spelling, a dangling link, or one just written.
        if let Some(file) = listing.skill_file.filter(|_| scope == ListingScope::Directory) {
            let found = inspect_file(self.base, self.root, rel, file, &mut scratch);
            if findings.take_one(found, &mut scratch) && !self.nested {
                return findings;
            }
        }
        if let Some(limit) = listing.limit {
            findings.diagnostics.push(limit);
        }
        let stable = listing.links.is_empty() && listing.skill_file.is_none() && findings.diagnostics.is_empty();
        findings.dirs.push(ListedDir { rel: rel.into(), stamp: listing.stamp, stable });
        if depth >= MAX_DEPTH {
            return findings;
        }
        let join = |name: &[u8]| if rel.is_empty() { name.to_vec() } else { [rel, b"/", name].concat() };
        let names = &listing.dirs;
        findings.links.extend(listing.links.iter().map(|name| DirectoryLink { rel: join(name), depth: depth + 1 }));
        let below = map_chunks(
            &names.each,
            DIRS_PER_TASK,
            || ScanBuffers::new(self.root),
            |scratch: &mut ScanBuffers, chunk| {
                let mut findings = Findings::default();
                findings.skills.reserve_exact(chunk.len());
                let mut groups = Vec::new();
                let mut path = if rel.is_empty() { Vec::new() } else { [rel, b"/"].concat() };
                let above = path.len();
                for name in chunk {
                    path.truncate(above);
                    path.extend_from_slice(names.text(name));
                    if !self.reuse(&path, scratch, &mut findings) {
                        let is_skill = findings.take(inspect(self.base, self.root, &path, scratch));
                        if !is_skill {
                            groups.push((path.clone(), ListingScope::Directory));
                        } else if self.nested {
                            groups.push((path.clone(), ListingScope::InsideSkill));
                        }
                    }
                }
                scratch.seal(&mut findings.skills);
                let list = |(rel, scope): (Vec<u8>, ListingScope)| match scope {
                    ListingScope::Directory => {
                        self.list(&rel, depth + 1, self.section.and_then(|section| section.dir(&rel)))
                    }
                    ListingScope::InsideSkill => self.list_anew(&rel, depth + 1, scope),
                };
                let dirs = if groups.is_empty() { Vec::new() } else { groups.into_par_iter().map(list).collect() };
                findings.merge(Findings::concat(dirs))
            },
        );
        findings.merge(Findings::concat(below))
    }

    /// Follows the directory links that were found, and those found behind them, in a fixed order.
    fn links(&self, mut findings: Findings) -> Findings {
        let mut visited = HashSet::new();
        let mut scratch = ScanBuffers::new(self.root);
        while !findings.links.is_empty() {
            let mut links = std::mem::take(&mut findings.links);
            links.sort_by(|a, b| a.rel.cmp(&b.rel));
            for link in links {
                let path = self.path(&link.rel);
                let target = match target(&path, &mut visited) {
                    Ok(Some(target)) => target,
                    Ok(None) => continue,
                    Err(found) => {
                        findings.diagnostics.push(found.at(path));
                        continue;
                    }
                };
                findings.followed = true;
                let mut behind = Findings::default();
                let found = inspect(self.base, self.root, &link.rel, &mut scratch);
                let is_skill = behind.take_one(found, &mut scratch);
                if !is_skill {
                    behind = behind.merge(self.list(&link.rel, link.depth, None));
                } else if self.nested {
                    behind = behind.merge(self.list_anew(&link.rel, link.depth, ListingScope::InsideSkill));
                }
                for skill in &mut behind.skills {
                    let rest = skill.bytes(skill.rel).get(link.rel.len()..).unwrap_or_default();
                    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
                    let canonical = if rest.is_empty() { target.clone() } else { target.join(OsStr::from_bytes(rest)) };
                    skill.extra_mut().canonical = Some(canonical);
                }
                // The target of a link can change without a change of the link's directory.
                behind.dirs.clear();
                behind.volatile.clear();
                for invalid in &mut behind.invalid {
                    invalid.stamp = None;
                }
                findings = findings.merge(behind);
            }
        }
        findings
    }

    fn path(&self, rel: &[u8]) -> PathBuf {
        if rel.is_empty() { self.root.path.clone() } else { self.root.path.join(OsStr::from_bytes(rel)) }
    }

    fn limit(&self, rel: &[u8], what: &str) -> Diagnostic {
        Diagnostic::new(Code::SearchLimit, format!("{what}: the rest was not searched"))
            .at(self.path(rel))
            .with_help("name a directory that holds skills and little else")
    }

    fn entries(&self, rel: &[u8]) -> io::Result<DirectoryListing> {
        let handle = open_dir(self.base, if rel.is_empty() { b"." } else { rel })?;
        let stat = rustix::fs::fstat(&handle)?;
        // The size of a directory is about what its names take, or nothing of use.
        let size = usize::try_from(stat.st_size).unwrap_or(0).min(MAX_NAMES);
        let (mut dirs, mut count_dirs) = (Vec::with_capacity(size), 0);
        let (mut links, mut skill_file, mut limit) = (Vec::new(), None, None);
        for (count, entry) in rustix::fs::Dir::new(handle)?.enumerate() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if count >= MAX_ENTRIES {
                limit = Some(self.limit(rel, &format!("more than {MAX_ENTRIES} entries")));
                break;
            }
            if let Some(file) = SkillFile::of(name) {
                // The best spelling wins, whatever order the file system lists them in.
                skill_file = Some(skill_file.map_or(file, |other| rank(other).min(rank(file)).1));
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => self.kind(rel, name),
                known => known,
            };
            match kind {
                FileType::Directory if !is_skipped(name) => {
                    dirs.extend_from_slice(entry.file_name().to_bytes_with_nul());
                    count_dirs += 1;
                }
                FileType::Symlink if !is_skipped(name) => links.push(name.into()),
                _ => {}
            }
        }
        // Names mostly are in the order in which the files were made, and sorted results need no sorting later.
        let dirs = SortedNames::sorted(dirs, count_dirs);
        Ok(DirectoryListing { stamp: FileStamp::of_stat(&stat), dirs, links, skill_file, limit })
    }

    /// Returns the kind of an entry, for file systems that do not report it in their listing.
    fn kind(&self, rel: &[u8], name: &[u8]) -> FileType {
        let path = if rel.is_empty() { name.to_vec() } else { [rel, b"/", name].concat() };
        rustix::fs::statat(self.base, path.as_slice(), AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
    }
}

/// Returns the target of a link: `None` if it is not a directory, or was visited before.
fn target(path: &Path, visited: &mut HashSet<PathBuf>) -> Result<Option<PathBuf>, Box<Diagnostic>> {
    let target = match path.canonicalize() {
        Ok(target) => target,
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            let found = Diagnostic::new(Code::LinkCycle, "the link leads back to itself");
            return Err(Box::new(found.with_help("remove it")));
        }
        Err(error) => {
            let message = format!("the link leads nowhere: {}", os_message(&error));
            let found = Diagnostic::new(Code::DanglingLink, message);
            return Err(Box::new(found.with_help("correct or remove the link")));
        }
    };
    if !target.is_dir() {
        return Ok(None);
    }
    let home = path.parent().and_then(|parent| parent.canonicalize().ok()).unwrap_or_default();
    if home.starts_with(&target) {
        let message = format!("the link leads back up to {}", target.display());
        return Err(Box::new(Diagnostic::new(Code::LinkCycle, message).with_help("remove it")));
    }
    Ok(visited.insert(target.clone()).then_some(target))
}

/// The entries of a directory that matter for the walk.
struct DirectoryListing {
    stamp: FileStamp,
    dirs: SortedNames,
    links: Vec<Box<[u8]>>,
    skill_file: Option<SkillFile>,
    limit: Option<Diagnostic>,
}

/// Many names in one allocation.
struct SortedNames {
    text: Vec<u8>,
    /// Sorted.
    each: Vec<NameRange>,
}

/// One name of [`SortedNames`].
struct NameRange {
    /// Its first bytes, such that comparing these numbers compares names: most comparisons do not need the text.
    head: [u64; 2],
    start: u32,
    end: u32,
}

impl SortedNames {
    /// Reads names that each end with a zero. They are at most 1,000,000, of at most 255 bytes.
    fn sorted(text: Vec<u8>, count: usize) -> SortedNames {
        let mut each = Vec::with_capacity(count);
        let mut start = 0;
        while let Some(length) = text[start..].iter().position(|byte| *byte == 0) {
            let end = start + length;
            let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            each.push(NameRange { head: head(&text[start..end]), start: narrow(start), end: narrow(end) });
            start = end + 1;
        }
        let names = |name: &NameRange| &text[name.start as usize..name.end as usize];
        sort_distinct_by(&mut each, |a, b| a.head.cmp(&b.head).then_with(|| names(a).cmp(names(b))));
        SortedNames { text, each }
    }

    fn text(&self, name: &NameRange) -> &[u8] {
        &self.text[name.start as usize..name.end as usize]
    }
}

/// Returns the first bytes of a name. Missing bytes count as zeros, which no name contains: a prefix sorts first.
fn head(name: &[u8]) -> [u64; 2] {
    let mut head = [0; 16];
    let count = name.len().min(16);
    head[..count].copy_from_slice(&name[..count]);
    let (one, two) = head.split_at(8);
    [one, two].map(|part| part.iter().fold(0, |head, byte| head << 8 | u64::from(*byte)))
}

fn rank(file: SkillFile) -> (u8, SkillFile) {
    let rank = match file {
        SkillFile::Yaml => 0,
        SkillFile::Markdown => 1,
        SkillFile::LowerCase => 2,
        SkillFile::TitleCase => 3,
    };
    (rank, file)
}

pub(crate) fn is_skipped(name: &[u8]) -> bool {
    name == b"." || name == b".." || SKIPPED_DIRECTORIES.iter().any(|skipped| skipped.as_bytes() == name)
}

fn open_dir(base: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(rustix::fs::openat(base, path, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_as_bytes_are() {
        let mut names: Vec<Vec<u8>> = vec![b"a".to_vec(), b"B".to_vec(), "é".into(), b"\xff".to_vec(), b"-".to_vec()];
        for length in [7, 8, 9, 15, 16, 17, 40] {
            names.extend([b"a", b"b", b"\xff"].map(|byte| byte.repeat(length)));
            names.push([&b"a".repeat(length)[..], b"-"].concat());
        }
        let text: Vec<u8> = names.iter().rev().flat_map(|name| [&name[..], b"\0"].concat()).collect();
        let sorted = SortedNames::sorted(text, names.len());
        names.sort();
        assert!(sorted.each.iter().map(|name| sorted.text(name)).eq(names.iter().map(Vec::as_slice)));
    }
}
