//! Inspection of one directory: whether it is a skill, and what its front matter says.

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

use crate::arena::{ArenaRange, FrontMatterLayout, Layouts, SkillArena};
use crate::skill::{RareSkillFields, SkillState};
use crate::skill_dir::CompactStamp;
use crate::{BodyAt, FileStamp, Skill, SkillDir, SkillFile, SkillRoot};
use skillcue_base::os_message;

/// The size of the block that discovery reads: front matter is 300 bytes at the median, 1 KiB at the 99th percentile.
/// Reading 4 KiB instead copies bytes that are never used.
const BLOCK_SIZE: usize = 1536;

/// A skill file that cannot be used, and the reasons.
#[derive(Debug, Clone)]
pub struct InvalidSkill {
    /// The skill's directory.
    pub dir: PathBuf,
    /// The file.
    pub path: PathBuf,
    /// The name in its front matter, if that much could be read.
    pub name: Option<Box<str>>,
    /// The directory's path below its root.
    pub(crate) rel: Box<[u8]>,
    pub(crate) file: SkillFile,
    /// The file's stamp, if it could be read.
    pub(crate) stamp: Option<FileStamp>,
    /// The errors found in it.
    pub diagnostics: Vec<Diagnostic>,
}

impl InvalidSkill {
    /// Returns the name of its directory, by which people look for it.
    pub fn dir_name(&self) -> &str {
        self.dir.file_name().and_then(OsStr::to_str).unwrap_or_default()
    }
}

/// The result of inspecting a directory.
#[derive(Debug)]
pub(crate) enum Inspection {
    /// A skill, with the diagnostics about it. It has no text until the buffers are [sealed](ScanBuffers::seal).
    Skill(Box<Skill>, Vec<Diagnostic>),
    /// A skill that cannot be used.
    Invalid(InvalidSkill),
    /// The directory has neither `SKILL.yaml` nor `SKILL.md`.
    Nothing,
}

/// Buffers that one thread uses for many directories.
pub(crate) struct ScanBuffers {
    path: Vec<u8>,
    block: Vec<u8>,
    /// The texts of the skills that were found and not [sealed](ScanBuffers::seal) yet.
    texts: Vec<u8>,
    /// The front matter layouts of the same skills.
    layouts: Vec<FrontMatterLayout>,
    /// The placeholder for a skill's arena until the buffers are sealed.
    blank: Arc<SkillArena>,
}

impl ScanBuffers {
    pub(crate) fn new(root: &Arc<SkillRoot>) -> ScanBuffers {
        let layouts = Layouts::InMemory(Vec::new());
        let blank = Arc::new(SkillArena { text: Vec::new(), layouts, root: Arc::clone(root) });
        ScanBuffers { path: Vec::new(), block: Vec::new(), texts: Vec::new(), layouts: Vec::new(), blank }
    }

    /// Gives the skills that were found since the last call their texts, in one allocation: thousands of small
    /// allocations cost more than what is in them.
    pub(crate) fn seal(&mut self, skills: &mut [Box<Skill>]) {
        if self.texts.is_empty() {
            return;
        }
        // Copies of just the right size; the buffers go on being used.
        let layouts = Layouts::InMemory(self.layouts.clone());
        let arena = Arc::new(SkillArena { text: self.texts.clone(), layouts, root: Arc::clone(&self.blank.root) });
        for skill in skills.iter_mut().rev().take_while(|skill| skill.arena.text.is_empty()) {
            skill.arena = Arc::clone(&arena);
        }
        self.texts.clear();
        self.layouts.clear();
    }

    /// Returns `dir/file`, ready for a system call.
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

/// The reason why a skill file could not be opened.
enum SkillFileOpenError {
    Missing,
    Link,
    Other(Errno),
}

/// Inspects the directory `rel` below `root`, whose handle is `base`.
pub(crate) fn inspect(
    base: BorrowedFd<'_>,
    root: &Arc<SkillRoot>,
    rel: &[u8],
    scratch: &mut ScanBuffers,
) -> Inspection {
    match check_exists(base, scratch.path(rel, SkillFile::Yaml.name())) {
        Err(Errno::NOENT) => return inspect_file(base, root, rel, SkillFile::Markdown, scratch),
        // The directory may not be entered: that is reported when it is listed.
        Err(Errno::ACCESS) => return Inspection::Nothing,
        _ => {}
    }
    match inspect_file(base, root, rel, SkillFile::Yaml, scratch) {
        Inspection::Nothing => inspect_file(base, root, rel, SkillFile::Markdown, scratch),
        found => found,
    }
}

/// Checks that a path exists, with the cheapest system call for a name that usually does not: `open` would first
/// allocate a file.
fn check_exists(base: BorrowedFd<'_>, path: &[u8]) -> Result<(), Errno> {
    // A link exists, even if it is dangling. By the effective ids: for the real ones the kernel would have to change
    // credentials, which costs as much again.
    rustix::fs::accessat(base, path, Access::EXISTS, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EACCESS)
}

/// Inspects a directory for one kind of skill file.
pub(crate) fn inspect_file(
    base: BorrowedFd<'_>,
    root: &Arc<SkillRoot>,
    rel: &[u8],
    file: SkillFile,
    scratch: &mut ScanBuffers,
) -> Inspection {
    let mut candidate = SkillFileReader { root, rel, file, scratch, extra: None };
    match open(base, candidate.scratch.path(rel, file.name())) {
        Ok(handle) => candidate.read(&handle),
        Err(SkillFileOpenError::Missing) => Inspection::Nothing,
        Err(SkillFileOpenError::Link) => candidate.follow(),
        // The error that `open` returns for a socket.
        Err(SkillFileOpenError::Other(Errno::NXIO)) => candidate.not_a_file("a socket"),
        Err(SkillFileOpenError::Other(error)) => candidate.unreadable(&error.into()),
    }
}

/// Opens without following a link and without waiting: a FIFO must not hang discovery.
fn open(base: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, SkillFileOpenError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    loop {
        return match rustix::fs::openat(base, path, flags, Mode::empty()) {
            Ok(handle) => Ok(handle),
            Err(Errno::INTR) => continue,
            Err(Errno::NOENT | Errno::NOTDIR) => Err(SkillFileOpenError::Missing),
            Err(Errno::LOOP) => Err(SkillFileOpenError::Link),
            Err(error) => Err(SkillFileOpenError::Other(error)),
        };
    }
}

/// The facts that discovery keeps of a front matter.
struct FrontMatterFacts {
    digest: u128,
    demanding: bool,
    listing: Option<ListingFields>,
}

/// Reads one skill file of a directory.
struct SkillFileReader<'c> {
    root: &'c Arc<SkillRoot>,
    rel: &'c [u8],
    file: SkillFile,
    scratch: &'c mut ScanBuffers,
    extra: Option<Box<RareSkillFields>>,
}

impl SkillFileReader<'_> {
    fn dir(&self) -> PathBuf {
        if self.rel.is_empty() { self.root.path.clone() } else { self.root.path.join(OsStr::from_bytes(self.rel)) }
    }

    fn invalid(&self, stamp: Option<FileStamp>, diagnostics: Vec<Diagnostic>) -> Inspection {
        let dir = self.dir();
        let path = dir.join(self.file.name());
        let diagnostics = diagnostics.into_iter().map(|found| found.at(path.clone())).collect();
        let name = None;
        Inspection::Invalid(InvalidSkill { dir, path, name, rel: self.rel.into(), file: self.file, stamp, diagnostics })
    }

    fn not_a_file(&self, what: &str) -> Inspection {
        let found = Diagnostic::new(Code::NotAFile, format!("{what} is where a skill file should be"))
            .with_help("replace it by a regular file");
        self.invalid(None, vec![found])
    }

    fn unreadable(&self, error: &io::Error) -> Inspection {
        let found = Diagnostic::new(Code::Unreadable, format!("it cannot be read: {}", os_message(error)))
            .with_help("check that it is there and that you may read it");
        self.invalid(None, vec![found])
    }

    /// Follows a skill file that is a link. It must lead to another skill file, as links between skill directories do.
    fn follow(&mut self) -> Inspection {
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
                .with_help(format!("point it to a file called {}", self.file.name()));
            return self.invalid(None, vec![found]);
        }
        let Some(real_dir) = target.parent() else { return Inspection::Nothing };
        self.extra =
            Some(Box::new(RareSkillFields { real_dir: Some(real_dir.to_path_buf()), ..RareSkillFields::default() }));
        match open(rustix::fs::CWD, target.as_os_str().as_bytes()) {
            Ok(handle) => match self.read(&handle) {
                // The file behind a link can change or go without a trace here: nothing of it is cached.
                Inspection::Invalid(invalid) => Inspection::Invalid(InvalidSkill { stamp: None, ..invalid }),
                found => found,
            },
            Err(SkillFileOpenError::Missing | SkillFileOpenError::Link) => self.unreadable(&Errno::NOENT.into()),
            Err(SkillFileOpenError::Other(error)) => self.unreadable(&error.into()),
        }
    }

    fn read(&mut self, handle: &OwnedFd) -> Inspection {
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
            let stamp = FileStamp::of_stat(&stat);
            return self.invalid(Some(stamp), vec![Diagnostic::new(Code::TooLarge, message).with_help(help)]);
        }
        let stamp = CompactStamp::of_stat(&stat);
        match fill(handle, &mut self.scratch.block, self.file.kind()) {
            Ok((_, FrontMatterScan::Found(front))) if self.file != SkillFile::Yaml => self.glance(&front, stamp),
            Ok((read, _)) => self.parse(read, stamp),
            Err(error) => self.unreadable(&error),
        }
    }

    /// Makes a skill of a `SKILL.md` whose front matter has been read completely.
    fn glance(&mut self, front: &FrontMatter, stamp: CompactStamp) -> Inspection {
        let mut glance = DiscoveryInfo::of(&self.scratch.block, front);
        let Some(name) = &glance.name else {
            // Invalid files are few: this one may be parsed again for its name.
            let parsed = Parsed::of(&self.scratch.block[..front.body], FileKind::Markdown);
            return with_name(self.invalid(Some(stamp.wide()), glance.diagnostics), parsed.raw.as_ref());
        };
        if matches!(self.file, SkillFile::LowerCase | SkillFile::TitleCase) {
            let message = format!("the file is called `{}`", self.file.name());
            let found = Diagnostic::new(Code::FileNameCase, message).with_help("rename it to `SKILL.md`");
            glance.diagnostics.push(found);
        }
        let facts = FrontMatterFacts { digest: glance.digest, demanding: glance.demanding, listing: glance.listing };
        self.skill(name, front, stamp, facts, glance.diagnostics)
    }

    /// Makes a skill of a `SKILL.yaml`, or of a `SKILL.md` without front matter.
    fn parse(&mut self, read: usize, stamp: CompactStamp) -> Inspection {
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
        let facts = FrontMatterFacts { digest, demanding: manifest.requires().next().is_some(), listing: None };
        self.skill(manifest.name(), &front, stamp, facts, diagnostics)
    }

    fn skill(
        &mut self,
        name: &str,
        front: &FrontMatter,
        stamp: CompactStamp,
        facts: FrontMatterFacts,
        mut diagnostics: Vec<Diagnostic>,
    ) -> Inspection {
        if !diagnostics.is_empty() {
            let path = self.dir().join(self.file.name());
            diagnostics = diagnostics.into_iter().map(|found| found.at(path.clone())).collect();
        }
        let ScanBuffers { texts, layouts, block, blank, .. } = &mut *self.scratch;
        let mut put = |bytes: &[u8]| {
            let start = narrow(texts.len());
            texts.extend_from_slice(bytes);
            ArenaRange { start, end: narrow(texts.len()) }
        };
        let rel = put(self.rel);
        // Nearly every skill has the name of its directory.
        let name = if self.rel.ends_with(name.as_bytes()) {
            ArenaRange { start: rel.end - narrow(name.len()), end: rel.end }
        } else {
            put(name.as_bytes())
        };
        let yaml = put(&block[front.yaml.clone()]);
        let within = |range: Range<usize>| ArenaRange {
            start: yaml.start + narrow(range.start),
            end: yaml.start + narrow(range.end),
        };
        let mut layout = FrontMatterLayout {
            yaml,
            first_line: front.first_line,
            body: narrow(front.body),
            digest: facts.digest.to_le_bytes(),
            ..FrontMatterLayout::default()
        };
        if let Some(ListingFields { description, version, model, allowed_tools }) = facts.listing {
            layout.description = match description {
                YamlText::Verbatim(range) => within(range),
                YamlText::Decoded(text) => put(text.as_bytes()),
            };
            [layout.version, layout.model, layout.allowed_tools] =
                [version, model, allowed_tools].map(|range| range.map(within).unwrap_or_default());
        }
        let number = narrow(layouts.len());
        layouts.push(layout);
        let skill = Skill {
            arena: Arc::clone(blank),
            number,
            rel,
            name,
            stamp,
            lazy: OnceLock::new(),
            extra: self.extra.take(),
            file: self.file,
            demanding: facts.demanding,
            state: SkillState::NEW,
        };
        Inspection::Skill(Box::new(skill), diagnostics)
    }
}

/// Adds the name in an invalid file's front matter: users will ask for it by that name.
fn with_name(inspection: Inspection, raw: Option<&Node<'_>>) -> Inspection {
    let written = raw.and_then(|raw| raw.get("name")).and_then(Node::as_str);
    match (inspection, written.and_then(|name| SkillName::lenient(name).ok())) {
        (Inspection::Invalid(invalid), Some(name)) => {
            Inspection::Invalid(InvalidSkill { name: Some(name.as_str().into()), ..invalid })
        }
        (inspection, _) => inspection,
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
        let more = filled.max(BLOCK_SIZE);
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

/// Returns the location of a `SKILL.yaml`'s body, its size, and a diagnostic about it, if there is one.
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

/// Returns whether the skill file at `rel` is still the one that was read: the same stamp, and no `SKILL.yaml` beside
/// it.
pub(crate) fn is_skill_file_unchanged(
    base: BorrowedFd<'_>,
    rel: &[u8],
    stamp: FileStamp,
    scratch: &mut ScanBuffers,
) -> bool {
    if check_exists(base, scratch.path(rel, SkillFile::Yaml.name())) != Err(Errno::NOENT) {
        return false;
    }
    let file = scratch.path(rel, SkillFile::Markdown.name());
    rustix::fs::statat(base, file, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| FileStamp::of_stat(&stat) == stamp)
}
