//! The files of a fetch as they arrive: every name checked, every byte counted, links made last.
//!
//! Nothing is ever written through a link, because there is none until everything else stands: what an archive says
//! about links is kept here and resolved against what it really brought.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use super::error::{Exceeded, FetchError, Refusal};
use super::watch::{Watch, carried, carry};
use crate::{Disk, News};

/// Most bytes of one part of a name, as file systems have it.
const MAX_PART: usize = 255;
/// Most bytes of a whole name. Systems allow 4096 with everything above it.
const MAX_NAME: usize = 1024;
/// Most links on the way to one thing, as Linux has it.
const MAX_HOPS: usize = 40;
/// Most parts looked up for one link: those of the longest name, and then some.
const MAX_STEPS: usize = 1024;
/// Archives that unpack to less than this may be as dense as they like.
const DENSE: u64 = 1 << 20;

/// What stands under a name.
enum Kind {
    Directory,
    File,
    Link(Box<str>),
}

struct Node {
    parent: usize,
    name: Box<str>,
    kind: Kind,
}

/// The root's place among the nodes.
const ROOT: usize = 0;

/// A directory that is being filled.
pub(super) struct Tree<'a> {
    into: &'a Path,
    disk: &'a Disk,
    watch: &'a Watch<'a>,
    nodes: Vec<Node>,
    /// Directory and folded name → node.
    index: HashMap<(usize, Box<str>), usize>,
    /// Entries that are not copied count, too: they take time.
    left_out: usize,
    bytes: u64,
    /// What the archive's own size allows.
    dense: Option<u64>,
    /// How many bytes there will be, for the progress.
    of: Option<u64>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(into: &'a Path, disk: &'a Disk, watch: &'a Watch<'a>) -> Tree<'a> {
        let root = Node { parent: ROOT, name: "".into(), kind: Kind::Directory };
        Tree {
            into,
            disk,
            watch,
            nodes: vec![root],
            index: HashMap::new(),
            left_out: 0,
            bytes: 0,
            dense: None,
            of: None,
        }
    }

    /// The same for an archive of `packed` bytes.
    pub(super) fn packed(mut self, packed: u64) -> Tree<'a> {
        self.dense = Some(packed.saturating_mul(self.watch.limits.ratio).max(DENSE));
        self
    }

    /// The same, knowing how many bytes there will be.
    pub(super) fn of(mut self, bytes: u64) -> Tree<'a> {
        self.of = Some(bytes);
        self
    }

    /// A directory. Those above it are made, too.
    pub(super) fn directory(&mut self, name: &[u8]) -> Result<(), FetchError> {
        let Some(parts) = self.parts(name)? else { return Ok(()) };
        let mut at = ROOT;
        for part in parts {
            at = self.enter(at, part, name)?;
        }
        Ok(())
    }

    /// A file, read to its end.
    pub(super) fn file(&mut self, name: &[u8], mode: u32, from: &mut dyn Read) -> Result<(), FetchError> {
        let Some(path) = self.place(name, Kind::File)? else { return Ok(()) };
        let mode = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
        let disk = self.disk;
        let mut guard = Guard { tree: self, name, from, read: 0 };
        match disk.write_loosely(&path, &mut guard, mode) {
            Ok(_) => Ok(()),
            Err(error) => Err(carried(error).unwrap_or_else(|source| FetchError::Write { path, source })),
        }
    }

    /// A symbolic link. Whether it stays inside is decided when everything is there.
    pub(super) fn link(&mut self, name: &[u8], target: &[u8]) -> Result<(), FetchError> {
        let refused = |reason| self.watch.refused(name, reason);
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
        self.place(name, Kind::Link(text.into())).map(|_| ())
    }

    /// A hard link: a copy of a file that came before.
    pub(super) fn copy(&mut self, name: &[u8], mode: u32, earlier: &[u8]) -> Result<(), FetchError> {
        let text = || String::from_utf8_lossy(earlier).into_owned();
        let not_there = |tree: &Tree<'_>| tree.watch.refused(name, Refusal::HardLink(text()));
        let parts = self.parts(earlier).map_err(|_| not_there(self))?.ok_or_else(|| not_there(self))?;
        let mut at = ROOT;
        for part in &parts {
            at = self.child(at, part).ok_or_else(|| not_there(self))?;
        }
        if !matches!(self.nodes[at].kind, Kind::File) {
            return Err(not_there(self));
        }
        // All above it are directories of ours: there is no link yet.
        let path = self.path(at);
        let mut file = File::open(&path).map_err(|source| FetchError::Read { path, source })?;
        self.file(name, mode, &mut file)
    }

    /// Makes the links, now that what they lead to is known.
    pub(super) fn finish(self) -> Result<(), FetchError> {
        for (at, node) in self.nodes.iter().enumerate() {
            let Kind::Link(target) = &node.kind else { continue };
            self.watch.check()?;
            if let Err(reason) = self.resolve(node.parent, target) {
                return Err(self.watch.refused(self.name(at).as_bytes(), reason));
            }
        }
        // Only when all of them are good is the first one made.
        for (at, node) in self.nodes.iter().enumerate() {
            let Kind::Link(target) = &node.kind else { continue };
            let path = self.path(at);
            self.disk.symlink(Path::new(&**target), &path).map_err(|source| FetchError::Write { path, source })?;
        }
        Ok(())
    }

    /// The parts of a name, or `None` for what is left out.
    fn parts<'n>(&mut self, name: &'n [u8]) -> Result<Option<Vec<&'n str>>, FetchError> {
        self.watch.check()?;
        let parts = parts(name, self.watch.limits.depth).map_err(|reason| self.watch.refused(name, reason))?;
        // What git keeps for itself is no part of a skill, and its hooks and settings would run programs.
        if parts.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
            tracing::debug!(from = %self.watch.from, "an entry below .git is left out");
            self.left_out += 1;
            self.count()?;
            return Ok(None);
        }
        Ok(Some(parts))
    }

    /// Where a new file or link goes; its directories are made. `None` for what is left out.
    fn place(&mut self, name: &[u8], kind: Kind) -> Result<Option<PathBuf>, FetchError> {
        let Some(parts) = self.parts(name)? else { return Ok(None) };
        let Some((last, above)) = parts.split_last() else {
            return Err(self.watch.refused(name, Refusal::EmptyPart));
        };
        let mut at = ROOT;
        for part in above {
            at = self.enter(at, part, name)?;
        }
        if self.known(at, last, name)?.is_some() {
            return Err(self.watch.refused(name, Refusal::Twice));
        }
        let at = self.add(at, last, kind)?;
        Ok(Some(self.path(at)))
    }

    /// Goes into a directory, making it if it is new.
    fn enter(&mut self, parent: usize, part: &str, name: &[u8]) -> Result<usize, FetchError> {
        if let Some(at) = self.known(parent, part, name)? {
            return match self.nodes[at].kind {
                Kind::Directory => Ok(at),
                Kind::File | Kind::Link(_) => Err(self.watch.refused(name, Refusal::Through(self.name(at)))),
            };
        }
        let at = self.add(parent, part, Kind::Directory)?;
        let path = self.path(at);
        self.disk.create_dir(&path).map_err(|source| FetchError::Write { path, source })?;
        Ok(at)
    }

    /// What stands under exactly this name. One that some file systems would take for it is an error.
    fn known(&self, parent: usize, part: &str, name: &[u8]) -> Result<Option<usize>, FetchError> {
        match self.index.get(&(parent, folded(part))) {
            Some(&at) if *self.nodes[at].name == *part => Ok(Some(at)),
            Some(&at) => Err(self.watch.refused(name, Refusal::Collides(self.name(at)))),
            None => Ok(None),
        }
    }

    fn add(&mut self, parent: usize, part: &str, kind: Kind) -> Result<usize, FetchError> {
        let at = self.nodes.len();
        self.nodes.push(Node { parent, name: part.into(), kind });
        self.index.insert((parent, folded(part)), at);
        self.count()?;
        Ok(at)
    }

    fn entries(&self) -> usize {
        self.nodes.len() - 1 + self.left_out
    }

    fn count(&self) -> Result<(), FetchError> {
        let most = self.watch.limits.entries;
        if self.entries() > most {
            return Err(self.watch.exceeded(Exceeded::Entries(most)));
        }
        self.news();
        Ok(())
    }

    fn news(&self) {
        self.watch.say(News::Unpacking { entries: self.entries() as u64, bytes: self.bytes, of: self.of });
    }

    /// Where a link leads: `Ok` if it stays inside all the way, whether something is there or not.
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
                    Some((child, Kind::Directory)) => at = child,
                    Some((_, Kind::Link(next))) => {
                        hops += 1;
                        if hops > MAX_HOPS {
                            return Err(Refusal::LinkCircle(target.to_owned()));
                        }
                        for part in next.split('/').rev() {
                            rest.push_front(part);
                        }
                    }
                    // Nothing is there. A way on that goes up again could mean anything once something is.
                    Some((_, Kind::File)) | None if rest.contains(&"..") => {
                        return Err(Refusal::LinkOut(target.to_owned()));
                    }
                    Some((_, Kind::File)) | None => return Ok(()),
                },
            }
        }
        Ok(())
    }

    fn child(&self, parent: usize, name: &str) -> Option<usize> {
        let at = *self.index.get(&(parent, folded(name)))?;
        (*self.nodes[at].name == *name).then_some(at)
    }

    /// A node's name from the root.
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

/// The parts of an entry's name, if it is a plain relative one.
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

/// A name as file systems see it that do not tell case, or the forms of a letter, apart.
fn folded(part: &str) -> Box<str> {
    if part.is_ascii() {
        return part.to_ascii_lowercase().into();
    }
    part.nfc().flat_map(char::to_lowercase).nfc().collect::<String>().into()
}

/// Reads a file's bytes, and stops when there are too many of them, or somebody says so.
struct Guard<'t, 'a> {
    tree: &'t mut Tree<'a>,
    name: &'t [u8],
    from: &'t mut dyn Read,
    read: u64,
}

impl Guard<'_, '_> {
    fn count(&mut self, count: usize) -> Result<(), FetchError> {
        let Tree { watch, .. } = *self.tree;
        let limits = watch.limits;
        self.read += count as u64;
        self.tree.bytes += count as u64;
        if self.read > limits.file_bytes {
            let entry = String::from_utf8_lossy(self.name).into_owned();
            return Err(watch.exceeded(Exceeded::FileBytes { entry, limit: limits.file_bytes }));
        }
        if self.tree.bytes > limits.bytes {
            return Err(watch.exceeded(Exceeded::Bytes(limits.bytes)));
        }
        if self.tree.dense.is_some_and(|most| self.tree.bytes > most) {
            return Err(watch.exceeded(Exceeded::Ratio(limits.ratio)));
        }
        self.tree.news();
        Ok(())
    }
}

impl Read for Guard<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.tree.watch.check().map_err(carry)?;
        match self.from.read(buffer) {
            Ok(count) => self.count(count).map(|()| count).map_err(carry),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            // Marked as the source's fault: what is not marked is the disk's.
            Err(error) => Err(carry(self.tree.watch.unreadable(error))),
        }
    }
}
