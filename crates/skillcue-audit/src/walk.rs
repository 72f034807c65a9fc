//! Walks over every file below a directory, in order, without following links.

use std::fs::{File, Metadata};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use skillcue_base::{Shown, os_message};
use skillcue_catalog::{EntryKind, FileError, GapReason, SkillDir, TreeEntry, TreeGap, TreeLimits};

use super::compiled::{HEADER_BYTES, Sources};
use super::rules::{
    COMPILED_CODE, EXECUTABLE_BINARY, HARD_LINK, LINK_DANGLING, LINK_OUT, NOT_READ, SETUID, SPECIAL_FILE,
    WORLD_WRITABLE,
};
use super::scan::{MAX_FILE, scan};
use super::{Audit, Rule, names};

/// The limits of the walk. Files are read whatever their number and size, one window at a time.
const LIMITS: TreeLimits =
    TreeLimits { max_files: usize::MAX, max_bytes: u64::MAX, max_depth: 100, max_entries: 1 << 20 };

const SETUID_BIT: u32 = 0o4000;
const SETGID_BIT: u32 = 0o2000;
const WRITABLE_BY_OTHERS: u32 = 0o0002;

pub(super) fn walk(dir: &Path) -> Audit {
    let mut walk = AuditWalk {
        root: dir,
        real: dir.canonicalize().ok(),
        audit: Audit::default(),
        sources: Sources::default(),
        compiled: Vec::new(),
    };
    match SkillDir::open(&dir.to_string_lossy(), dir) {
        Ok(opened) => {
            match opened.metadata() {
                Ok(found) => walk.mode(found.mode, true, Path::new("")),
                Err(error) => walk.not_read(Path::new(""), &error),
            }
            walk.run(&opened);
            walk.judge_compiled(&opened);
        }
        Err(error) => walk.not_opened(error),
    }
    walk.audit
}

/// The state of the walk.
struct AuditWalk<'r> {
    root: &'r Path,
    /// The canonical path of the directory; `None` if it cannot be resolved.
    real: Option<PathBuf>,
    audit: Audit,
    sources: Sources,
    /// The findings about compiled files, with each file's first bytes: their severity is known once all sources were
    /// found.
    compiled: Vec<(usize, Vec<u8>)>,
}

impl AuditWalk<'_> {
    fn run(&mut self, dir: &SkillDir) {
        let mut tree = match dir.tree(&LIMITS) {
            Ok(tree) => tree,
            Err(error) => return self.not_opened(error),
        };
        while let Some(entry) = tree.next_entry() {
            match entry {
                Ok(entry) => {
                    if let Err(error) = self.entry(&entry) {
                        self.not_read(entry.path(), &error);
                    }
                }
                Err(gap) => self.gap(&gap),
            }
        }
    }

    fn entry(&mut self, entry: &TreeEntry<'_>) -> io::Result<()> {
        let path = entry.path();
        for (rule, message) in names::suspicions(path, entry.kind() == EntryKind::File) {
            self.add(rule, path, message);
        }
        let what = match entry.kind() {
            EntryKind::Link => return self.link(entry),
            EntryKind::Directory => {
                self.mode(entry.metadata()?.mode, true, path);
                return Ok(());
            }
            EntryKind::File => return self.file(entry),
            EntryKind::Pipe => "a pipe",
            EntryKind::Socket => "a socket",
            EntryKind::Device => "a device",
            EntryKind::Unknown => "not a file",
        };
        self.add(&SPECIAL_FILE, path, format!("this is {what}"));
        Ok(())
    }

    fn file(&mut self, entry: &TreeEntry<'_>) -> io::Result<()> {
        let path = entry.path();
        let mut file = entry.open_file()?;
        let found: Metadata = file.metadata()?;
        self.mode(found.mode(), false, path);
        if found.nlink() > 1 {
            self.add(&HARD_LINK, path, format!("has {} names", found.nlink()));
        }
        if found.len() > MAX_FILE {
            self.add(&NOT_READ, path, format!("has {} bytes, more than are read of one file", found.len()));
            return Ok(());
        }
        self.sources.add(path, found.len());
        let first = self.audit.findings.len();
        let bytes = scan(&mut file, path, &mut self.audit.findings)?;
        let is_compiled = |index: &usize| self.audit.findings[*index].code.as_str() == EXECUTABLE_BINARY.id;
        let compiled: Vec<usize> = (first..self.audit.findings.len()).filter(is_compiled).collect();
        if !compiled.is_empty() {
            let head = head(&mut file)?;
            self.compiled.extend(compiled.into_iter().map(|index| (index, head.clone())));
        }
        self.audit.files += 1;
        self.audit.bytes += bytes;
        Ok(())
    }

    /// Raises the severity of compiled code without the source it comes from.
    fn judge_compiled(&mut self, dir: &SkillDir) {
        for (index, head) in std::mem::take(&mut self.compiled) {
            let finding = &mut self.audit.findings[index];
            let path = finding.path.as_deref().unwrap_or(Path::new(""));
            if let Some(doubt) = self.sources.doubt(dir, path, &head) {
                COMPILED_CODE.takes(finding);
                finding.message = format!("{}; {doubt}", finding.message).into();
            }
        }
    }

    fn mode(&mut self, mode: u32, is_directory: bool, path: &Path) {
        let mode = mode & 0o7777;
        if mode & (SETUID_BIT | SETGID_BIT) != 0 && !is_directory {
            let who = if mode & SETUID_BIT != 0 { "owner" } else { "group" };
            self.add(&SETUID, path, format!("runs with the rights of its {who} ({mode:04o})"));
        } else if mode & SETUID_BIT != 0 {
            self.add(&SETUID, path, format!("a directory with the set-user-ID bit ({mode:04o})"));
        }
        if mode & WRITABLE_BY_OTHERS != 0 {
            self.add(&WORLD_WRITABLE, path, format!("every user may write here ({mode:04o})"));
        }
    }

    fn link(&mut self, entry: &TreeEntry<'_>) -> io::Result<()> {
        let path = entry.path();
        let target = entry.link_target()?;
        let text = target.to_string_lossy();
        let shown = Shown(&text);
        let target = Path::new(&target);
        if target.is_absolute() {
            self.add(&LINK_OUT, path, format!("leads to the absolute path {shown}"));
            return Ok(());
        }
        let up = path.parent().unwrap_or(Path::new(""));
        if leaves(up, target) {
            self.add(&LINK_OUT, path, format!("leads to {shown}, outside of the skill"));
            return Ok(());
        }
        // Other links on the way may lead elsewhere. Nothing is opened for this.
        match (self.root.join(path).canonicalize(), &self.real) {
            (Ok(real), Some(root)) if real.starts_with(root) => {}
            (Ok(_), _) => self.add(&LINK_OUT, path, format!("leads to {shown}, by other links, outside of the skill")),
            (Err(error), _) => self.add(&LINK_DANGLING, path, format!("leads to {shown}: {}", os_message(&error))),
        }
        Ok(())
    }

    fn gap(&mut self, gap: &TreeGap) {
        let message = match &gap.reason {
            GapReason::Unreadable(error) => return self.not_read(&gap.path, error),
            GapReason::Depth(limit) => format!("is more than {limit} directories deep"),
            _ => format!("{gap}; the others were not read"),
        };
        self.add(&NOT_READ, &gap.path, message);
    }

    fn not_opened(&mut self, error: FileError) {
        self.not_read(Path::new(""), &error.into());
    }

    fn not_read(&mut self, path: &Path, error: &io::Error) {
        self.add(&NOT_READ, path, format!("cannot be read: {}", os_message(error)));
    }

    fn add(&mut self, rule: &'static Rule, path: &Path, message: String) {
        self.audit.findings.push(rule.found(path, message));
    }
}

/// Returns the first bytes of a file that was read.
fn head(file: &mut File) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut head = Vec::new();
    file.take(HEADER_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

/// Returns whether a relative target leads above the root, without resolving links.
fn leaves(from: &Path, target: &Path) -> bool {
    let mut depth = from.components().count();
    for part in target.components() {
        match part {
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
    }
    false
}
