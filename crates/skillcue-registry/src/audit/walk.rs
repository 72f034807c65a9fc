//! Every file below a directory, in order, without following links.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, Stat, fstat, openat, readlinkat, statat};
use skillcue_base::{Shown, os_message};

use super::compiled::Sources;
use super::rules::{
    COMPILED_CODE, EXECUTABLE_BINARY, HARD_LINK, LINK_DANGLING, LINK_OUT, NOT_READ, SETUID, SPECIAL_FILE,
    WORLD_WRITABLE,
};
use super::scan::{MAX_FILE, scan};
use super::{Audit, Finding, Rule, names};

/// How deep directories are followed; each level holds one open.
const MAX_DEPTH: usize = 100;

pub(super) fn walk(dir: &Path) -> Audit {
    let mut walk = Walk {
        root: dir,
        real: dir.canonicalize().ok(),
        audit: Audit::default(),
        sources: Sources::default(),
        compiled: Vec::new(),
    };
    let opened = openat(CWD, dir, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    match opened {
        Ok(handle) => {
            match fstat(&handle) {
                Ok(stat) => walk.mode(&stat, Path::new("")),
                Err(error) => walk.not_read(Path::new(""), &error.into()),
            }
            walk.directory(&handle, Path::new(""), 0);
        }
        Err(error) => walk.not_read(Path::new(""), &error.into()),
    }
    walk.judge_compiled();
    walk.audit
}

struct Walk<'r> {
    root: &'r Path,
    /// Where the directory really is; `None` if that cannot be told.
    real: Option<PathBuf>,
    audit: Audit,
    sources: Sources,
    /// The findings that say that a file is compiled: what they weigh is known once all sources were seen.
    compiled: Vec<usize>,
}

impl Walk<'_> {
    fn directory(&mut self, handle: &OwnedFd, at: &Path, depth: usize) {
        let names = match list(handle) {
            Ok(names) => names,
            Err(error) => return self.not_read(at, &error),
        };
        for name in names {
            let path = at.join(&name);
            if let Err(error) = self.entry(handle.as_fd(), &name, &path, depth) {
                self.not_read(&path, &error);
            }
        }
    }

    fn entry(&mut self, dir: BorrowedFd<'_>, name: &OsStr, path: &Path, depth: usize) -> io::Result<()> {
        let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let file_type = FileType::from_raw_mode(mode_of(&stat));
        for (rule, message) in names::look(path, file_type == FileType::RegularFile) {
            self.add(rule, path, message);
        }
        match file_type {
            FileType::Symlink => self.link(dir, name, path),
            FileType::Directory => {
                self.mode(&stat, path);
                if depth == MAX_DEPTH {
                    self.add(&NOT_READ, path, format!("stands more than {MAX_DEPTH} directories deep"));
                    return Ok(());
                }
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let handle = openat(dir, name, flags, Mode::empty())?;
                self.directory(&handle, path, depth + 1);
                Ok(())
            }
            FileType::RegularFile => self.file(dir, name, path),
            other => {
                let what = match other {
                    FileType::Fifo => "a pipe",
                    FileType::Socket => "a socket",
                    FileType::CharacterDevice | FileType::BlockDevice => "a device",
                    _ => "no file",
                };
                self.add(&SPECIAL_FILE, path, format!("this is {what}"));
                Ok(())
            }
        }
    }

    fn file(&mut self, dir: BorrowedFd<'_>, name: &OsStr, path: &Path) -> io::Result<()> {
        // Non-blocking: what was a file a moment ago may be a pipe by now.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let handle = openat(dir, name, flags, Mode::empty())?;
        let stat = fstat(&handle)?;
        if FileType::from_raw_mode(mode_of(&stat)) != FileType::RegularFile {
            self.add(&SPECIAL_FILE, path, "this is no file any more".to_owned());
            return Ok(());
        }
        self.mode(&stat, path);
        if stat.st_nlink > 1 {
            self.add(&HARD_LINK, path, format!("has {} names", stat.st_nlink));
        }
        if u64::try_from(stat.st_size).unwrap_or(0) > MAX_FILE {
            self.add(&NOT_READ, path, format!("has {} bytes, more than are read of one file", stat.st_size));
            return Ok(());
        }
        self.sources.see(path, u64::try_from(stat.st_size).unwrap_or(0));
        let first = self.audit.findings.len();
        let bytes = scan(&mut File::from(handle), path, &mut self.audit.findings)?;
        let compiled = |index: &usize| self.audit.findings[*index].rule.id == EXECUTABLE_BINARY.id;
        self.compiled.extend((first..self.audit.findings.len()).filter(compiled));
        self.audit.files += 1;
        self.audit.bytes += bytes;
        Ok(())
    }

    /// Compiled code weighs more without the source it comes from.
    fn judge_compiled(&mut self) {
        for index in std::mem::take(&mut self.compiled) {
            let finding = &mut self.audit.findings[index];
            if let Some(doubt) = self.sources.doubt(self.root, &finding.path) {
                finding.rule = &COMPILED_CODE;
                finding.message = format!("{}; {doubt}", finding.message);
            }
        }
    }

    fn mode(&mut self, stat: &Stat, path: &Path) {
        let mode = Mode::from_raw_mode(mode_of(stat));
        let directory = FileType::from_raw_mode(mode_of(stat)) == FileType::Directory;
        if mode.intersects(Mode::SUID | Mode::SGID) && !directory {
            let who = if mode.contains(Mode::SUID) { "owner" } else { "group" };
            self.add(&SETUID, path, format!("runs with the rights of its {who} ({:04o})", mode.as_raw_mode()));
        } else if mode.contains(Mode::SUID) {
            self.add(&SETUID, path, format!("a directory with the set-user-ID bit ({:04o})", mode.as_raw_mode()));
        }
        if mode.contains(Mode::WOTH) {
            self.add(&WORLD_WRITABLE, path, format!("everybody may write here ({:04o})", mode.as_raw_mode()));
        }
    }

    fn link(&mut self, dir: BorrowedFd<'_>, name: &OsStr, path: &Path) -> io::Result<()> {
        let target = OsString::from_vec(readlinkat(dir, name, Vec::new())?.into_bytes());
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

    fn not_read(&mut self, path: &Path, error: &io::Error) {
        self.add(&NOT_READ, path, format!("cannot be read: {}", os_message(error)));
    }

    fn add(&mut self, rule: &'static Rule, path: &Path, message: String) {
        let path = path.to_owned();
        self.audit.findings.push(Finding { rule, path, line: 0, column: 0, message, excerpt: String::new() });
    }
}

#[allow(clippy::unnecessary_cast, reason = "the type differs between systems")]
fn mode_of(stat: &Stat) -> RawMode {
    stat.st_mode as RawMode
}

/// The names in a directory, sorted by their bytes.
fn list(handle: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(handle)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether a relative target climbs above the root, taken by its letters.
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
