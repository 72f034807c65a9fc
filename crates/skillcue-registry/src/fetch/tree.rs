//! The files of a fetch as they arrive: every name checked, every byte counted, links made last.
//!
//! Nothing is ever written through a link, because there is none until everything else is written: an archive's links
//! are kept here and resolved against its actual entries.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use super::context::{FetchContext, carried, carry};
use super::error::{Exceeded, FetchError, Refusal};
use crate::{Disk, FetchEvent};

/// The length of the longest part of a name, in bytes, as file systems have it.
const MAX_PART: usize = 255;
/// The length of the longest name, in bytes. Systems allow 4096 with everything above it.
const MAX_NAME: usize = 1024;
/// How many links may be followed for one path, as Linux has it.
const MAX_HOPS: usize = 40;
/// How many parts are looked up for one link: those of the longest name, and then some.
const MAX_STEPS: usize = 1024;
/// Archives that unpack to less than this are not held to the ratio.
const MIN_RATIO_BYTES: u64 = 1 << 20;

/// The kind of a node.
enum FetchNodeKind {
    Directory,
    File,
    Link(Box<str>),
}

struct FetchNode {
    parent: usize,
    name: Box<str>,
    kind: FetchNodeKind,
}

/// The root's index among the nodes.
const ROOT: usize = 0;

/// A directory that is being filled.
pub(crate) struct FetchTree<'a> {
    into: &'a Path,
    disk: &'a Disk,
    context: &'a FetchContext<'a>,
    nodes: Vec<FetchNode>,
    /// Directory and folded name → node.
    index: HashMap<(usize, Box<str>), usize>,
    /// Entries that are not copied count, too: they take time.
    left_out: usize,
    bytes: u64,
    /// How many bytes the archive's own size allows.
    max_unpacked: Option<u64>,
    /// How many bytes there will be, for the progress.
    of: Option<u64>,
}

impl<'a> FetchTree<'a> {
    pub(crate) fn new(into: &'a Path, disk: &'a Disk, context: &'a FetchContext<'a>) -> FetchTree<'a> {
        let root = FetchNode { parent: ROOT, name: "".into(), kind: FetchNodeKind::Directory };
        FetchTree {
            into,
            disk,
            context,
            nodes: vec![root],
            index: HashMap::new(),
            left_out: 0,
            bytes: 0,
            max_unpacked: None,
            of: None,
        }
    }

    /// Sets the limit for an archive of `packed` bytes.
    pub(crate) fn packed(mut self, packed: u64) -> FetchTree<'a> {
        self.max_unpacked = Some(packed.saturating_mul(self.context.limits.ratio).max(MIN_RATIO_BYTES));
        self
    }

    /// Sets how many bytes there will be, for the progress.
    pub(crate) fn of(mut self, bytes: u64) -> FetchTree<'a> {
        self.of = Some(bytes);
        self
    }

    /// Makes a directory and those above it.
    pub(crate) fn directory(&mut self, name: &[u8]) -> Result<(), FetchError> {
        let Some(parts) = self.parts(name)? else { return Ok(()) };
        let mut at = ROOT;
        for part in parts {
            at = self.enter(at, part, name)?;
        }
        Ok(())
    }

    /// Writes a file, read to its end.
    pub(crate) fn file(&mut self, name: &[u8], mode: u32, from: &mut dyn Read) -> Result<(), FetchError> {
        let Some(path) = self.add_leaf(name, FetchNodeKind::File)? else { return Ok(()) };
        let mode = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
        let disk = self.disk;
        let mut guard = CountingReader { tree: self, name, from, read: 0 };
        match disk.write_loosely(&path, &mut guard, mode) {
            Ok(_) => Ok(()),
            Err(error) => Err(carried(error).unwrap_or_else(|source| FetchError::Write { path, source })),
        }
    }

    /// Adds a symbolic link. Whether it stays inside is checked once every entry is there.
    pub(crate) fn link(&mut self, name: &[u8], target: &[u8]) -> Result<(), FetchError> {
        let refused = |reason| self.context.refused(name, reason);
        let text = std::str::from_utf8(target).map_err(|_| refused(Refusal::NotUtf8))?;
        let out = || refused(Refusal::LinkOut(text.to_owned()));
        if text.is_empty() || text.starts_with('/') || text.contains('\\') || has_drive(text) {
            return Err(out());
        }
        if text.chars().any(char::is_control) {
            return Err(refused(Refusal::Control));
        }
        if text.len() > MAX_NAME {
            return Err(refused(Refusal::TooLong));
        }
        self.add_leaf(name, FetchNodeKind::Link(text.into())).map(|_| ())
    }

    /// Writes a hard link, as a copy of a file that came before.
    pub(crate) fn copy(&mut self, name: &[u8], mode: u32, earlier: &[u8]) -> Result<(), FetchError> {
        let text = || String::from_utf8_lossy(earlier).into_owned();
        let not_there = |tree: &FetchTree<'_>| tree.context.refused(name, Refusal::HardLink(text()));
        let parts = self.parts(earlier).map_err(|_| not_there(self))?.ok_or_else(|| not_there(self))?;
        let mut at = ROOT;
        for part in &parts {
            at = self.child(at, part).ok_or_else(|| not_there(self))?;
        }
        if !matches!(self.nodes[at].kind, FetchNodeKind::File) {
            return Err(not_there(self));
        }
        // All above it are directories of ours: there is no link yet.
        let path = self.path(at);
        let mut file = File::open(&path).map_err(|source| FetchError::Read { path, source })?;
        self.file(name, mode, &mut file)
    }

    /// Makes the links, now that their targets are known.
    pub(crate) fn finish(self) -> Result<(), FetchError> {
        for (at, node) in self.nodes.iter().enumerate() {
            let FetchNodeKind::Link(target) = &node.kind else { continue };
            self.context.check()?;
            if let Err(reason) = self.resolve(node.parent, target) {
                return Err(self.context.refused(self.name(at).as_bytes(), reason));
            }
        }
        // Only when all of them are good is the first one made.
        for (at, node) in self.nodes.iter().enumerate() {
            let FetchNodeKind::Link(target) = &node.kind else { continue };
            let path = self.path(at);
            self.disk.symlink(Path::new(&**target), &path).map_err(|source| FetchError::Write { path, source })?;
        }
        Ok(())
    }

    /// Splits a name into its parts; `None` for an entry that is left out.
    fn parts<'n>(&mut self, name: &'n [u8]) -> Result<Option<Vec<&'n str>>, FetchError> {
        self.context.check()?;
        let parts = parts(name, self.context.limits.depth).map_err(|reason| self.context.refused(name, reason))?;
        // Git's own directory is no part of a skill, and its hooks and settings would run programs.
        if parts.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
            tracing::debug!(from = %self.context.from, "an entry below .git is left out");
            self.left_out += 1;
            self.count()?;
            return Ok(None);
        }
        Ok(Some(parts))
    }

    /// Adds a file or a link, makes its directories, and returns its path. `None` for an entry that is left out.
    fn add_leaf(&mut self, name: &[u8], kind: FetchNodeKind) -> Result<Option<PathBuf>, FetchError> {
        let Some(parts) = self.parts(name)? else { return Ok(None) };
        let Some((last, above)) = parts.split_last() else {
            return Err(self.context.refused(name, Refusal::EmptyPart));
        };
        let mut at = ROOT;
        for part in above {
            at = self.enter(at, part, name)?;
        }
        if self.known(at, last, name)?.is_some() {
            return Err(self.context.refused(name, Refusal::Twice));
        }
        let at = self.add(at, last, kind)?;
        Ok(Some(self.path(at)))
    }

    /// Returns the node of a directory, which is made if it is new.
    fn enter(&mut self, parent: usize, part: &str, name: &[u8]) -> Result<usize, FetchError> {
        if let Some(at) = self.known(parent, part, name)? {
            return match self.nodes[at].kind {
                FetchNodeKind::Directory => Ok(at),
                FetchNodeKind::File | FetchNodeKind::Link(_) => {
                    Err(self.context.refused(name, Refusal::Through(self.name(at))))
                }
            };
        }
        let at = self.add(parent, part, FetchNodeKind::Directory)?;
        let path = self.path(at);
        self.disk.create_dir(&path).map_err(|source| FetchError::Write { path, source })?;
        Ok(at)
    }

    /// Returns the node of exactly this name. One that some file systems would take for it is an error.
    fn known(&self, parent: usize, part: &str, name: &[u8]) -> Result<Option<usize>, FetchError> {
        match self.index.get(&(parent, folded(part))) {
            Some(&at) if *self.nodes[at].name == *part => Ok(Some(at)),
            Some(&at) => Err(self.context.refused(name, Refusal::Collides(self.name(at)))),
            None => Ok(None),
        }
    }

    fn add(&mut self, parent: usize, part: &str, kind: FetchNodeKind) -> Result<usize, FetchError> {
        let at = self.nodes.len();
        self.nodes.push(FetchNode { parent, name: part.into(), kind });
        self.index.insert((parent, folded(part)), at);
        self.count()?;
        Ok(at)
    }

    fn entries(&self) -> usize {
        self.nodes.len() - 1 + self.left_out
    }

    fn count(&self) -> Result<(), FetchError> {
        let max = self.context.limits.entries;
        if self.entries() > max {
            return Err(self.context.exceeded(Exceeded::Entries(max)));
        }
        self.report();
        Ok(())
    }

    fn report(&self) {
        self.context.report(FetchEvent::Unpacking { entries: self.entries() as u64, bytes: self.bytes, of: self.of });
    }

    /// Resolves a link: `Ok` if it stays inside all the way, whether its target exists or not.
    fn resolve(&self, from: usize, target: &str) -> Result<(), Refusal> {
        let mut at = from;
        let (mut hops, mut steps) = (0, 0);
        let mut rest: VecDeque<&str> = target.split('/').collect();
        while let Some(part) = rest.pop_front() {
            steps += 1;
            if steps > MAX_STEPS {
                return Err(Refusal::LinkCircle(target.to_owned()));
            }
            match part {
                "" | "." => {}
                ".." if at == ROOT => return Err(Refusal::LinkOut(target.to_owned())),
                ".." => at = self.nodes[at].parent,
                name => match self.child(at, name).map(|child| (child, &self.nodes[child].kind)) {
                    Some((child, FetchNodeKind::Directory)) => at = child,
                    Some((_, FetchNodeKind::Link(next))) => {
                        hops += 1;
                        if hops > MAX_HOPS {
                            return Err(Refusal::LinkCircle(target.to_owned()));
                        }
                        for part in next.split('/').rev() {
                            rest.push_front(part);
                        }
                    }
                    // Nothing is there. A path that goes up again from here could lead anywhere once something is.
                    Some((_, FetchNodeKind::File)) | None if rest.contains(&"..") => {
                        return Err(Refusal::LinkOut(target.to_owned()));
                    }
                    Some((_, FetchNodeKind::File)) | None => return Ok(()),
                },
            }
        }
        Ok(())
    }

    fn child(&self, parent: usize, name: &str) -> Option<usize> {
        let at = *self.index.get(&(parent, folded(name)))?;
        (*self.nodes[at].name == *name).then_some(at)
    }

    /// Returns a node's name from the root.
    fn name(&self, mut at: usize) -> String {
        let mut parts = Vec::new();
        while at != ROOT {
            parts.push(&*self.nodes[at].name);
            at = self.nodes[at].parent;
        }
        parts.reverse();
        parts.join("/")
    }

    fn path(&self, at: usize) -> PathBuf {
        self.into.join(self.name(at))
    }
}

/// Splits an entry's name into its parts, if it is a plain relative one.
fn parts(name: &[u8], depth: usize) -> Result<Vec<&str>, Refusal> {
    let text = std::str::from_utf8(name).map_err(|_| Refusal::NotUtf8)?;
    if text.chars().any(char::is_control) {
        return Err(Refusal::Control);
    }
    if text.contains('\\') {
        return Err(Refusal::Backslash);
    }
    if text.starts_with('/') || has_drive(text) {
        return Err(Refusal::Absolute);
    }
    if text.len() > MAX_NAME {
        return Err(Refusal::TooLong);
    }
    // `tar c .` writes `./` before every name, and directories end with a slash.
    let text = text.strip_prefix("./").unwrap_or(text);
    let text = text.strip_suffix('/').unwrap_or(text);
    if text == "." || (text.is_empty() && !name.is_empty()) {
        return Ok(Vec::new());
    }
    let parts: Vec<&str> = text.split('/').collect();
    for part in &parts {
        match *part {
            "" | "." => return Err(Refusal::EmptyPart),
            ".." => return Err(Refusal::LeadsOut),
            long if long.len() > MAX_PART => return Err(Refusal::TooLong),
            _ => {}
        }
    }
    if parts.len() > depth {
        return Err(Refusal::TooDeep(depth));
    }
    Ok(parts)
}

fn has_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Folds a name as file systems do that ignore case or the Unicode form of letters.
fn folded(part: &str) -> Box<str> {
    if part.is_ascii() {
        return part.to_ascii_lowercase().into();
    }
    part.nfc().flat_map(char::to_lowercase).nfc().collect::<String>().into()
}

/// Reads and counts a file's bytes, and stops when there are too many of them or the fetch is cancelled.
struct CountingReader<'t, 'a> {
    tree: &'t mut FetchTree<'a>,
    name: &'t [u8],
    from: &'t mut dyn Read,
    read: u64,
}

impl CountingReader<'_, '_> {
    fn count(&mut self, count: usize) -> Result<(), FetchError> {
        let FetchTree { context, .. } = *self.tree;
        let limits = context.limits;
        self.read += count as u64;
        self.tree.bytes += count as u64;
        if self.read > limits.file_bytes {
            let entry = String::from_utf8_lossy(self.name).into_owned();
            return Err(context.exceeded(Exceeded::FileBytes { entry, limit: limits.file_bytes }));
        }
        if self.tree.bytes > limits.bytes {
            return Err(context.exceeded(Exceeded::Bytes(limits.bytes)));
        }
        if self.tree.max_unpacked.is_some_and(|max| self.tree.bytes > max) {
            return Err(context.exceeded(Exceeded::Ratio(limits.ratio)));
        }
        self.tree.report();
        Ok(())
    }
}

impl Read for CountingReader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.tree.context.check().map_err(carry)?;
        match self.from.read(buffer) {
            Ok(count) => self.count(count).map(|()| count).map_err(carry),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            // Marked as an error of the source: those without a mark are the disk's.
            Err(error) => Err(carry(self.tree.context.unreadable(error))),
        }
    }
}
