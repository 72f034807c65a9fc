//! Looking at one directory: is it a skill, and what does its front matter say?

use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use skillcue_format::split::{FrontMatter, FrontMatterScan, scan};
use skillcue_format::{
    Code, Diagnostic, DiscoveryInfo, FileKind, ListingFields, MAX_FILE, Node, Parsed, SkillName, YamlText,
};

use crate::skill::{Extra, Passage, Passages, Shelf, Slice, State};
use crate::skill_dir::SmallStamp;
use crate::{BodyAt, Root, Skill, SkillDir, SkillFile, Stamp};
use skillcue_base::os_message;

/// The block that discovery reads: front matter is 300 bytes at the median, 1 KiB at the 99th percentile. Reading 4 KiB
/// instead copies what nobody looks at.
const BLOCK: usize = 1536;

/// A skill file that is not usable, and why.
#[derive(Debug, Clone)]
pub struct Invalid {
    /// The skill's directory.
    pub dir: PathBuf,
    /// The file.
    pub path: PathBuf,
    /// The name that it gives itself, if that much could be read.
    pub name: Option<Box<str>>,
    /// Below its root.
    pub(crate) rel: Box<[u8]>,
    pub(crate) file: SkillFile,
    /// The file's stamp, if it could be had.
    pub(crate) stamp: Option<Stamp>,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
}

impl Invalid {
    /// The name of its directory, by which people look for it.
    pub fn dir_name(&self) -> &str {
        self.dir.file_name().and_then(OsStr::to_str).unwrap_or_default()
    }
}

/// What a directory turned out to be.
#[derive(Debug)]
pub(crate) enum Look {
    /// A skill, with what was remarked about it. It has no text until the scratch is sealed.
    Skill(Box<Skill>, Vec<Diagnostic>),
    /// A skill that is not usable.
    Invalid(Invalid),
    /// Neither `SKILL.yaml` nor `SKILL.md` is there.
    Nothing,
}

/// Buffers that one thread uses for many directories.
pub(crate) struct Scratch {
    path: Vec<u8>,
    block: Vec<u8>,
    /// The texts of the skills that were found and not [sealed](Scratch::seal) yet.
    texts: Vec<u8>,
    /// Theirs, too.
    passages: Vec<Passage>,
    /// What stands for a skill's shelf until it is sealed.
    blank: Arc<Shelf>,
}

impl Scratch {
    pub(crate) fn new(root: &Arc<Root>) -> Scratch {
        let passages = Passages::Here(Vec::new());
        let blank = Arc::new(Shelf { text: Vec::new(), passages, root: Arc::clone(root) });
        Scratch { path: Vec::new(), block: Vec::new(), texts: Vec::new(), passages: Vec::new(), blank }
    }

    /// Gives the skills that were found since the last time their texts, in one piece of memory: thousands of small
    /// ones cost more than what is in them.
    pub(crate) fn seal(&mut self, skills: &mut [Box<Skill>]) {
        if self.texts.is_empty() {
            return;
        }
        // Copies of just the right size; the buffers go on being used.
        let passages = Passages::Here(self.passages.clone());
        let shelf = Arc::new(Shelf { text: self.texts.clone(), passages, root: Arc::clone(&self.blank.root) });
        for skill in skills.iter_mut().rev().take_while(|skill| skill.shelf.text.is_empty()) {
            skill.shelf = Arc::clone(&shelf);
        }
        self.texts.clear();
        self.passages.clear();
    }

    /// `dir/file`, ready for a system call.
    pub(crate) fn path(&mut self, dir: &[u8], file: &str) -> &[u8] {
        self.path.clear();
        if !dir.is_empty() {
            self.path.extend_from_slice(dir);
            self.path.push(b'/');
        }
        self.path.extend_from_slice(file.as_bytes());
        &self.path
    }
}

/// Why a skill file could not be opened.
enum Refused {
    Missing,
    Link,
    Other(Errno),
}

/// Looks for a skill in the directory `rel` below `root`, whose handle is `base`.
pub(crate) fn look(base: BorrowedFd<'_>, root: &Arc<Root>, rel: &[u8], scratch: &mut Scratch) -> Look {
    match there(base, scratch.path(rel, SkillFile::Yaml.name())) {
        Err(Errno::NOENT) => return look_for(base, root, rel, SkillFile::Markdown, scratch),
        // The directory is closed: that is told when it is listed.
        Err(Errno::ACCESS) => return Look::Nothing,
        _ => {}
    }
    match look_for(base, root, rel, SkillFile::Yaml, scratch) {
        Look::Nothing => look_for(base, root, rel, SkillFile::Markdown, scratch),
        found => found,
    }
}

/// The cheapest question there is about a name that should not be there: `open` would first make room for a file.
fn there(base: BorrowedFd<'_>, path: &[u8]) -> Result<(), Errno> {
    // A link is there, even if it leads nowhere.
    // By the effective ids: for the real ones the kernel would have to change credentials, which costs as much again.
    rustix::fs::accessat(base, path, Access::EXISTS, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EACCESS)
}

/// Looks for one skill file there.
pub(crate) fn look_for(
    base: BorrowedFd<'_>,
    root: &Arc<Root>,
    rel: &[u8],
    file: SkillFile,
    scratch: &mut Scratch,
) -> Look {
    let mut candidate = Candidate { root, rel, file, scratch, extra: None };
    match open(base, candidate.scratch.path(rel, file.name())) {
        Ok(handle) => candidate.read(&handle),
        Err(Refused::Missing) => Look::Nothing,
        Err(Refused::Link) => candidate.follow(),
        // What a socket gives to `open`.
        Err(Refused::Other(Errno::NXIO)) => candidate.not_a_file("a socket"),
        Err(Refused::Other(error)) => candidate.unreadable(&error.into()),
    }
}

/// Opens without following a link and without waiting: a FIFO must not hang discovery.
fn open(base: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Refused> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    loop {
        return match rustix::fs::openat(base, path, flags, Mode::empty()) {
            Ok(handle) => Ok(handle),
            Err(Errno::INTR) => continue,
            Err(Errno::NOENT | Errno::NOTDIR) => Err(Refused::Missing),
            Err(Errno::LOOP) => Err(Refused::Link),
            Err(error) => Err(Refused::Other(error)),
        };
    }
}

/// What was made of the front matter.
struct Seen {
    digest: u128,
    demanding: bool,
    listing: Option<ListingFields>,
}

struct Candidate<'c> {
    root: &'c Arc<Root>,
    rel: &'c [u8],
    file: SkillFile,
    scratch: &'c mut Scratch,
    extra: Option<Box<Extra>>,
}

impl Candidate<'_> {
    fn dir(&self) -> PathBuf {
        if self.rel.is_empty() { self.root.path.clone() } else { self.root.path.join(OsStr::from_bytes(self.rel)) }
    }

    fn invalid(&self, stamp: Option<Stamp>, diagnostics: Vec<Diagnostic>) -> Look {
        let dir = self.dir();
        let path = dir.join(self.file.name());
        let diagnostics = diagnostics.into_iter().map(|found| found.at(path.clone())).collect();
        let name = None;
        Look::Invalid(Invalid { dir, path, name, rel: self.rel.into(), file: self.file, stamp, diagnostics })
    }

    fn not_a_file(&self, what: &str) -> Look {
        let found = Diagnostic::new(Code::NotAFile, format!("{what} stands where a skill file should"))
            .with_help("replace it by a regular file");
        self.invalid(None, vec![found])
    }

    fn unreadable(&self, error: &io::Error) -> Look {
        let found = Diagnostic::new(Code::Unreadable, format!("it cannot be read: {}", os_message(error)))
            .with_help("check that it is there and that you may read it");
        self.invalid(None, vec![found])
    }

    /// The skill file is a link: fine if it leads to another skill file, as links between skill folders do.
    fn follow(&mut self) -> Look {
        let path = self.dir().join(self.file.name());
        let target = match path.canonicalize() {
            Ok(target) => target,
            Err(error) => {
                let found =
                    Diagnostic::new(Code::DanglingLink, format!("the link leads nowhere: {}", os_message(&error)))
                        .with_help("correct or remove the link");
                return self.invalid(None, vec![found]);
            }
        };
        let kind = target.file_name().and_then(|name| SkillFile::of(name.as_bytes())).map(SkillFile::kind);
        if kind != Some(self.file.kind()) {
            let found = Diagnostic::new(Code::LinkLeadsOut, format!("the link leads to {}", target.display()))
                .with_help(format!("let it lead to a file called {}", self.file.name()));
            return self.invalid(None, vec![found]);
        }
        let Some(real_dir) = target.parent() else { return Look::Nothing };
        self.extra = Some(Box::new(Extra { real_dir: Some(real_dir.to_path_buf()), ..Extra::default() }));
        match open(rustix::fs::CWD, target.as_os_str().as_bytes()) {
            Ok(handle) => match self.read(&handle) {
                // The file behind a link can change or go without a word here: nothing is remembered of it.
                Look::Invalid(invalid) => Look::Invalid(Invalid { stamp: None, ..invalid }),
                found => found,
            },
            Err(Refused::Missing | Refused::Link) => self.unreadable(&Errno::NOENT.into()),
            Err(Refused::Other(error)) => self.unreadable(&error.into()),
        }
    }

    fn read(&mut self, handle: &OwnedFd) -> Look {
        let stat = match rustix::fs::fstat(handle) {
            Ok(stat) => stat,
            Err(error) => return self.unreadable(&error.into()),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return self.not_a_file("a directory"),
            FileType::Fifo => return self.not_a_file("a FIFO"),
            FileType::CharacterDevice | FileType::BlockDevice => return self.not_a_file("a device"),
            _ => return self.not_a_file("a special file"),
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > MAX_FILE {
            let message = format!("the file has {size} bytes; a skill file has at most {MAX_FILE}");
            let help = "move most of it into files of their own, below references/";
            let stamp = Stamp::of_stat(&stat);
            return self.invalid(Some(stamp), vec![Diagnostic::new(Code::TooLarge, message).with_help(help)]);
        }
        let stamp = SmallStamp::of_stat(&stat);
        match fill(handle, &mut self.scratch.block, self.file.kind()) {
            Ok((_, FrontMatterScan::Found(front))) if self.file != SkillFile::Yaml => self.glance(&front, stamp),
            Ok((read, _)) => self.parse(read, stamp),
            Err(error) => self.unreadable(&error),
        }
    }

    /// The front matter of a `SKILL.md` is all there.
    fn glance(&mut self, front: &FrontMatter, stamp: SmallStamp) -> Look {
        let mut glance = DiscoveryInfo::of(&self.scratch.block, front);
        let Some(name) = &glance.name else {
            // Bad files are few: this one may be parsed again for the name it gives itself.
            let parsed = Parsed::of(&self.scratch.block[..front.body], FileKind::Markdown);
            return with_name(self.invalid(Some(stamp.wide()), glance.diagnostics), parsed.raw.as_ref());
        };
        if matches!(self.file, SkillFile::LowerCase | SkillFile::TitleCase) {
            let message = format!("the file is called `{}`", self.file.name());
            let found = Diagnostic::new(Code::FileNameCase, message).with_help("rename it to `SKILL.md`");
            glance.diagnostics.push(found);
        }
        let seen = Seen { digest: glance.digest, demanding: glance.demanding, listing: glance.listing };
        self.skill(name, front, stamp, seen, glance.diagnostics)
    }

    /// A `SKILL.yaml`, or a `SKILL.md` without front matter.
    fn parse(&mut self, read: usize, stamp: SmallStamp) -> Look {
        let parsed = Parsed::of(&self.scratch.block[..read], self.file.kind());
        let Some(manifest) = parsed.manifest else {
            return with_name(self.invalid(Some(stamp.wide()), parsed.diagnostics), parsed.raw.as_ref());
        };
        let digest = parsed.raw.as_ref().map_or(0, Node::digest);
        let mut diagnostics = parsed.diagnostics;
        let (body, remark) = yaml_body(&self.dir(), manifest.name(), manifest.prompt_file());
        diagnostics.extend(remark);
        self.extra.get_or_insert_default().body = Some(body);
        let front = FrontMatter { yaml: parsed.yaml, body: parsed.body, first_line: parsed.first_line };
        let seen = Seen { digest, demanding: manifest.requires().next().is_some(), listing: None };
        self.skill(manifest.name(), &front, stamp, seen, diagnostics)
    }

    fn skill(
        &mut self,
        name: &str,
        front: &FrontMatter,
        stamp: SmallStamp,
        seen: Seen,
        mut diagnostics: Vec<Diagnostic>,
    ) -> Look {
        if !diagnostics.is_empty() {
            let path = self.dir().join(self.file.name());
            diagnostics = diagnostics.into_iter().map(|found| found.at(path.clone())).collect();
        }
        let Scratch { texts, passages, block, blank, .. } = &mut *self.scratch;
        let mut put = |bytes: &[u8]| {
            let start = narrow(texts.len());
            texts.extend_from_slice(bytes);
            Slice { start, end: narrow(texts.len()) }
        };
        let rel = put(self.rel);
        // Nearly every skill is called as its directory is.
        let name = if self.rel.ends_with(name.as_bytes()) {
            Slice { start: rel.end - narrow(name.len()), end: rel.end }
        } else {
            put(name.as_bytes())
        };
        let yaml = put(&block[front.yaml.clone()]);
        let within = |range: Range<usize>| Slice {
            start: yaml.start + narrow(range.start),
            end: yaml.start + narrow(range.end),
        };
        let mut passage = Passage {
            yaml,
            first_line: front.first_line,
            body: narrow(front.body),
            digest: seen.digest.to_le_bytes(),
            ..Passage::default()
        };
        if let Some(ListingFields { description, version, model, allowed_tools }) = seen.listing {
            passage.description = match description {
                YamlText::Verbatim(range) => within(range),
                YamlText::Decoded(text) => put(text.as_bytes()),
            };
            [passage.version, passage.model, passage.allowed_tools] =
                [version, model, allowed_tools].map(|range| range.map(within).unwrap_or_default());
        }
        let number = narrow(passages.len());
        passages.push(passage);
        let skill = Skill {
            shelf: Arc::clone(blank),
            number,
            rel,
            name,
            stamp,
            made: OnceLock::new(),
            extra: self.extra.take(),
            file: self.file,
            demanding: seen.demanding,
            state: State::NEW,
        };
        Look::Skill(Box::new(skill), diagnostics)
    }
}

/// Notes the name that a bad file gives itself: people will ask for it by that.
fn with_name(look: Look, raw: Option<&Node<'_>>) -> Look {
    let written = raw.and_then(|raw| raw.get("name")).and_then(Node::as_str);
    match (look, written.and_then(|name| SkillName::lenient(name).ok())) {
        (Look::Invalid(invalid), Some(name)) => Look::Invalid(Invalid { name: Some(name.as_str().into()), ..invalid }),
        (look, _) => look,
    }
}

fn narrow(count: usize) -> u32 {
    // Files are at most 1 MiB and paths at most 4 KiB.
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Reads until the front matter has ended (or, of a `SKILL.yaml`, everything). Returns how much of `block` is filled,
/// and what was found in it.
fn fill(handle: &OwnedFd, block: &mut Vec<u8>, kind: FileKind) -> io::Result<(usize, FrontMatterScan)> {
    let mut filled = 0;
    loop {
        // Front matter that goes on for blocks is rare and may be a trap: doubling keeps the scans linear.
        let more = filled.max(BLOCK);
        if block.len() < filled + more {
            block.resize(filled + more, 0);
        }
        let read = match rustix::io::read(handle, &mut block[filled..filled + more]) {
            Ok(read) => read,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        filled += read;
        let complete = read == 0;
        let found = match kind {
            FileKind::Markdown => scan(&block[..filled], complete),
            FileKind::Yaml => FrontMatterScan::NeedMore,
        };
        // The file may grow while it is read; the limit holds all the same.
        if found != FrontMatterScan::NeedMore || complete || filled as u64 > MAX_FILE {
            return Ok((filled, found));
        }
    }
}

/// Where the body of a `SKILL.yaml` stands, how large it is, and what is to be said about it.
fn yaml_body(dir: &Path, name: &str, prompt_file: Option<&str>) -> ((BodyAt, u64), Option<Diagnostic>) {
    let opened = SkillDir::open(name, dir);
    if let Some(path) = prompt_file {
        return match opened.and_then(|dir| dir.open_file(path)) {
            Ok(file) => ((BodyAt::WholeFile(path.into()), file.stamp.size), None),
            Err(error) => {
                let found = Diagnostic::new(Code::MissingBody, format!("the prompt file cannot be used: {error}"))
                    .with_help("correct `prompt.system_prompt_file`");
                ((BodyAt::WholeFile(path.into()), 0), Some(found))
            }
        };
    }
    let beside = SkillFile::Markdown.name();
    let Ok(text) = opened.and_then(|dir| dir.read(beside, MAX_FILE)) else { return ((BodyAt::None, 0), None) };
    if matches!(scan(&text, true), FrontMatterScan::Found(_)) {
        let found = Diagnostic::new(Code::IgnoredBody, "the `SKILL.md` beside it has front matter and is ignored")
            .with_help("remove its front matter to make it the body, or name a `prompt.system_prompt_file`");
        return ((BodyAt::None, 0), Some(found));
    }
    ((BodyAt::WholeFile(beside.into()), text.len() as u64), None)
}

/// Whether the skill file at `rel` is still the one that was read: the same stamp, and no `SKILL.yaml` beside it.
pub(crate) fn unchanged(base: BorrowedFd<'_>, rel: &[u8], stamp: Stamp, scratch: &mut Scratch) -> bool {
    if there(base, scratch.path(rel, SkillFile::Yaml.name())) != Err(Errno::NOENT) {
        return false;
    }
    let file = scratch.path(rel, SkillFile::Markdown.name());
    rustix::fs::statat(base, file, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| Stamp::of_stat(&stat) == stamp)
}
