//! Finding skill directories below one root, in parallel, reading as little as can be.
//!
//! A directory with a `SKILL.md` needs no listing: the file is simply opened. Only directories without one are listed
//! and their subdirectories looked at. What an earlier run has seen ([`Section`]) is not even opened again if its
//! stamp still holds.

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

use crate::candidate::{Invalid, Look, Scratch, look, look_for};
use crate::many::{map_chunks, sort_distinct_by};
use crate::memory::Touched;
use crate::section::Section;
use crate::{Root, Skill, SkillFile, Stamp};
use skillcue_base::os_message;

/// How deep below a root skills may stand.
pub const MAX_DEPTH: usize = 5;
/// How many directories are listed below one root at the most.
const MAX_DIRS: usize = 1_000_000;
/// How many entries of one directory are looked at.
const MAX_ENTRIES: usize = 1_000_000;
/// How many bytes are set aside for a directory's names before they are known.
const MAX_NAMES: usize = 16 << 20;
/// How many directories one task looks at. Their texts share one piece of memory: small ones leave less unused.
pub(crate) const CHUNK: usize = 32;

/// Directories that are never looked through: not for skills, and not for a skill's files.
pub const SKIPPED_DIRECTORIES: [&str; 5] = [".git", "node_modules", "target", "__pycache__", ".venv"];

/// What was found below one root.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Boxed: they are moved about, and memory touched for the first time is what costs most.
    pub(crate) skills: Vec<Box<Skill>>,
    /// Skills of the section that still hold, by their number.
    pub(crate) reused: Vec<u32>,
    pub(crate) invalid: Vec<Invalid>,
    /// Invalid files of the section that still hold, by their number.
    pub(crate) reused_invalid: Vec<u32>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Directories that were listed.
    pub(crate) dirs: Vec<ListedDir>,
    /// Directories that must be looked at anew each time: nothing about them can be remembered.
    pub(crate) again: Vec<Box<[u8]>>,
    pub(crate) links: Vec<Link>,
    /// Whether any directory link was followed.
    pub(crate) followed: bool,
    /// How many skill files were opened.
    pub(crate) opened: usize,
}

/// A directory that was listed.
#[derive(Debug, Clone)]
pub(crate) struct ListedDir {
    pub(crate) rel: Box<[u8]>,
    pub(crate) stamp: Stamp,
    /// Whether its listing may be trusted as long as the stamp holds: no links in it, nothing odd.
    pub(crate) tame: bool,
}

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) rel: Vec<u8>,
    pub(crate) depth: usize,
}

impl Findings {
    /// One of many: every skill is moved once.
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
        self.again.append(&mut other.again);
        self.links.append(&mut other.links);
        self.followed |= other.followed;
        self.opened += other.opened;
        self
    }

    /// Takes a single find, which needs no company to share memory with.
    pub(crate) fn take_one(&mut self, found: Look, scratch: &mut Scratch) -> bool {
        let taken = self.take(found);
        scratch.seal(&mut self.skills);
        taken
    }

    fn take(&mut self, found: Look) -> bool {
        self.opened += 1;
        match found {
            Look::Skill(skill, diagnostics) => {
                self.skills.push(skill);
                self.diagnostics.extend(diagnostics);
            }
            Look::Invalid(invalid) => self.invalid.push(invalid),
            Look::Nothing => {
                self.opened -= 1;
                return false;
            }
        }
        true
    }
}

/// Finds everything below `root`. `nested` looks inside skills for further ones.
///
/// `touched`: where something happened since the section was made; the rest of it is believed without asking. Otherwise
/// the system is asked about every file.
pub(crate) fn walk(root: &Arc<Root>, section: Option<&Section>, touched: Option<&Touched>, nested: bool) -> Findings {
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
    let mut scratch = Scratch::new(root);
    // The root itself may be a skill, unless the section knows that it was listed.
    let is_skill = section.is_none_or(|section| section.dir(b"").is_none())
        && (walker.known(b"", &mut scratch, &mut findings) || {
            let found = look(walker.base, root, b"", &mut scratch);
            findings.take_one(found, &mut scratch)
        });
    if !is_skill || nested {
        let known = section.and_then(|section| section.dir(b""));
        findings = findings.merge(walker.list(b"", 0, known));
    }
    walker.links(findings)
}

pub(crate) struct Walker<'w> {
    pub(crate) root: &'w Arc<Root>,
    pub(crate) base: BorrowedFd<'w>,
    pub(crate) section: Option<&'w Section>,
    pub(crate) touched: Option<&'w Touched>,
    nested: bool,
    listed: AtomicUsize,
}

impl Walker<'_> {
    /// Lists the directory `rel` and looks at what is in it.
    pub(crate) fn list(&self, rel: &[u8], depth: usize, known: Option<u32>) -> Findings {
        if let (Some(section), Some(number)) = (self.section, known)
            && let Some(findings) = self.relist(section, number, rel, depth)
        {
            return findings;
        }
        let count = self.listed.fetch_add(1, Ordering::Relaxed);
        if count >= MAX_DIRS {
            let mut findings = Findings::default();
            if count == MAX_DIRS {
                findings.diagnostics.push(self.limit(rel, &format!("more than {MAX_DIRS} directories")));
            }
            return findings;
        }
        match self.entries(rel) {
            Ok(listing) => self.listing(rel, depth, listing),
            Err(error) => {
                let message = format!("the directory cannot be read: {}", os_message(&error));
                let found = Diagnostic::new(Code::Unreadable, message)
                    .at(self.path(rel))
                    .with_help("check that it is there and that you may read it");
                Findings { diagnostics: vec![found], again: vec![rel.into()], ..Findings::default() }
            }
        }
    }

    fn listing(&self, rel: &[u8], depth: usize, listing: Listing) -> Findings {
        let mut findings = Findings::default();
        let mut scratch = Scratch::new(self.root);
        // A skill file that opening by name did not find: another spelling, a dangling link, or one just written.
        if let Some(file) = listing.skill_file {
            let found = look_for(self.base, self.root, rel, file, &mut scratch);
            if findings.take_one(found, &mut scratch) && !self.nested {
                return findings;
            }
        }
        if let Some(limit) = listing.limit {
            findings.diagnostics.push(limit);
        }
        let tame = listing.links.is_empty() && listing.skill_file.is_none() && findings.diagnostics.is_empty();
        findings.dirs.push(ListedDir { rel: rel.into(), stamp: listing.stamp, tame });
        if depth >= MAX_DEPTH {
            return findings;
        }
        let join = |name: &[u8]| if rel.is_empty() { name.to_vec() } else { [rel, b"/", name].concat() };
        let names = &listing.dirs;
        findings.links.extend(listing.links.iter().map(|name| Link { rel: join(name), depth: depth + 1 }));
        let below = map_chunks(
            &names.each,
            CHUNK,
            || Scratch::new(self.root),
            |scratch: &mut Scratch, chunk| {
                let mut findings = Findings::default();
                findings.skills.reserve_exact(chunk.len());
                let mut groups = Vec::new();
                let mut path = if rel.is_empty() { Vec::new() } else { [rel, b"/"].concat() };
                let above = path.len();
                for name in chunk {
                    path.truncate(above);
                    path.extend_from_slice(names.text(name));
                    if !self.known(&path, scratch, &mut findings) {
                        let is_skill = findings.take(look(self.base, self.root, &path, scratch));
                        if !is_skill || self.nested {
                            groups.push(path.clone());
                        }
                    }
                }
                scratch.seal(&mut findings.skills);
                let list =
                    |rel: Vec<u8>| self.list(&rel, depth + 1, self.section.and_then(|section| section.dir(&rel)));
                let dirs = if groups.is_empty() { Vec::new() } else { groups.into_par_iter().map(list).collect() };
                findings.merge(Findings::concat(dirs))
            },
        );
        findings.merge(Findings::concat(below))
    }

    /// Follows the directory links that were found, and those found behind them, in a fixed order.
    fn links(&self, mut findings: Findings) -> Findings {
        let mut visited = HashSet::new();
        let mut scratch = Scratch::new(self.root);
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
                let found = look(self.base, self.root, &link.rel, &mut scratch);
                let is_skill = behind.take_one(found, &mut scratch);
                if !is_skill || self.nested {
                    behind = behind.merge(self.list(&link.rel, link.depth, None));
                }
                for skill in &mut behind.skills {
                    let rest = skill.bytes(skill.rel).get(link.rel.len()..).unwrap_or_default();
                    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
                    let canonical = if rest.is_empty() { target.clone() } else { target.join(OsStr::from_bytes(rest)) };
                    skill.extra_mut().canonical = Some(canonical);
                }
                // What stands behind a link can change without the link's directory noticing.
                behind.dirs.clear();
                behind.again.clear();
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
        Diagnostic::new(Code::SearchLimit, format!("{what}: the rest was not looked at"))
            .at(self.path(rel))
            .with_help("name a directory that holds skills and little else")
    }

    fn entries(&self, rel: &[u8]) -> io::Result<Listing> {
        let handle = open_dir(self.base, if rel.is_empty() { b"." } else { rel })?;
        let stat = rustix::fs::fstat(&handle)?;
        // File systems say of a directory's size about what its names take, or nothing of use.
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
        let dirs = Names::sorted(dirs, count_dirs);
        Ok(Listing { stamp: Stamp::of_stat(&stat), dirs, links, skill_file, limit })
    }

    /// For file systems that do not tell in their listing.
    fn kind(&self, rel: &[u8], name: &[u8]) -> FileType {
        let path = if rel.is_empty() { name.to_vec() } else { [rel, b"/", name].concat() };
        rustix::fs::statat(self.base, path.as_slice(), AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
    }
}

/// Where a link leads: `None` if to no directory, or to one that was visited before.
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

struct Listing {
    stamp: Stamp,
    dirs: Names,
    links: Vec<Box<[u8]>>,
    skill_file: Option<SkillFile>,
    limit: Option<Diagnostic>,
}

/// Many names in one piece of memory.
struct Names {
    text: Vec<u8>,
    /// Sorted.
    each: Vec<Name>,
}

/// One of them.
struct Name {
    /// Its first bytes, such that comparing these numbers compares names: most comparisons need not go to the text.
    head: [u64; 2],
    start: u32,
    end: u32,
}

impl Names {
    /// Reads names that each end with a zero. They are at most 1,000,000, of at most 255 bytes.
    fn sorted(text: Vec<u8>, count: usize) -> Names {
        let mut each = Vec::with_capacity(count);
        let mut start = 0;
        while let Some(length) = text[start..].iter().position(|byte| *byte == 0) {
            let end = start + length;
            let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            each.push(Name { head: head(&text[start..end]), start: narrow(start), end: narrow(end) });
            start = end + 1;
        }
        let names = |name: &Name| &text[name.start as usize..name.end as usize];
        sort_distinct_by(&mut each, |a, b| a.head.cmp(&b.head).then_with(|| names(a).cmp(names(b))));
        Names { text, each }
    }

    fn text(&self, name: &Name) -> &[u8] {
        &self.text[name.start as usize..name.end as usize]
    }
}

/// The first bytes of a name. What is missing counts as zeros, which no name holds: a beginning comes before what goes on.
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
        let sorted = Names::sorted(text, names.len());
        names.sort();
        assert!(sorted.each.iter().map(|name| sorted.text(name)).eq(names.iter().map(Vec::as_slice)));
    }
}
