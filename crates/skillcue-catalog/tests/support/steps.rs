//! Changes of directories of skills, and the paths that a watcher would report for each.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

/// The path of a change: in one of two roots or beside them, of few names, so that changes collide.
#[derive(Debug, Clone)]
pub(crate) struct At(String);

#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Writes a skill file in place.
    Write(At, &'static str, String),
    /// Writes beside it and renames, as VS Code does.
    Replace(At, String),
    /// As vim does: a test file, a backup, the file, the backup removed.
    Vim(At, String),
    /// As emacs does: a lock that is a link to nowhere.
    Emacs(At, String),
    MakeDir(At),
    Remove(At),
    RemoveFile(At, &'static str),
    Rename(At, At),
    LinkDir(At, At),
    LinkFile(At, At),
    Other(At, &'static str),
}

const NAMES: [&str; 4] = ["a", "b", "c", "node_modules"];
const FILES: [&str; 4] = ["SKILL.md", "skill.md", "SKILL.yaml", "SKILL.md"];
const OTHERS: [&str; 3] = ["README.md", "references/more.md", "prompt.md"];

fn at() -> impl Strategy<Value = At> {
    let root = prop::sample::select(vec!["one", "one", "two", "beside"]);
    let names = prop::collection::vec(prop::sample::select(NAMES.to_vec()), 1..4);
    (root, names).prop_map(|(root, names)| At(format!("{root}/{}", names.join("/"))))
}

fn text() -> impl Strategy<Value = String> {
    let skill = |(name, description, body): (&str, &str, &str)| {
        format!("---\nname: {name}\ndescription: {description}\n---\n{body}")
    };
    let name = prop::sample::select(vec!["a", "b", "c"]);
    let description = prop::sample::select(vec!["One.", "Two.", "Longer than the two."]);
    prop_oneof![
        8 => (name, description, prop::sample::select(vec!["", "Body.\n", "Longer body.\n"])).prop_map(skill),
        1 => Just("no front matter\n".to_owned()),
        1 => Just("---\nname: a\n---\n".to_owned()),
        1 => Just("name: y\ndescription: In YAML.\nprompt:\n  system_prompt_file: prompt.md\n".to_owned()),
    ]
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let file = || prop::sample::select(FILES.to_vec());
    prop_oneof![
        6 => (at(), file(), text()).prop_map(|(at, file, text)| Step::Write(at, file, text)),
        2 => (at(), text()).prop_map(|(at, text)| Step::Replace(at, text)),
        1 => (at(), text()).prop_map(|(at, text)| Step::Vim(at, text)),
        1 => (at(), text()).prop_map(|(at, text)| Step::Emacs(at, text)),
        1 => at().prop_map(Step::MakeDir),
        2 => at().prop_map(Step::Remove),
        2 => (at(), file()).prop_map(|(at, file)| Step::RemoveFile(at, file)),
        3 => (at(), at()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (at(), at()).prop_map(|(from, to)| Step::LinkDir(from, to)),
        1 => (at(), at()).prop_map(|(from, to)| Step::LinkFile(from, to)),
        1 => (at(), prop::sample::select(OTHERS.to_vec())).prop_map(|(at, other)| Step::Other(at, other)),
    ]
}

impl Step {
    /// Makes the change below a directory, as far as possible. Returns the real paths that a watcher would report.
    pub(crate) fn take(&self, base: &Path) -> Vec<PathBuf> {
        let mut reported = Vec::new();
        // A change that fails has done nothing, or a part of it that was noted.
        let _ = self.try_to(base, &mut reported);
        reported
    }

    fn try_to(&self, base: &Path, reported: &mut Vec<PathBuf>) -> io::Result<()> {
        let dir = |at: &At| base.join(&at.0);
        match self {
            Step::Write(at, file, text) => {
                make(&dir(at), reported)?;
                write(&dir(at).join(file), text, reported)
            }
            Step::Replace(at, text) => {
                make(&dir(at), reported)?;
                write(&dir(at).join(".SKILL.md.tmp"), text, reported)?;
                rename(&dir(at).join(".SKILL.md.tmp"), &dir(at).join("SKILL.md"), reported)
            }
            Step::Vim(at, text) => {
                let file = dir(at).join("SKILL.md");
                write(&dir(at).join("4913"), "", reported)?;
                fs::remove_file(dir(at).join("4913"))?;
                rename(&file, &dir(at).join("SKILL.md~"), reported)?;
                write(&file, text, reported)?;
                fs::remove_file(dir(at).join("SKILL.md~"))
            }
            Step::Emacs(at, text) => {
                let lock = dir(at).join(".#SKILL.md");
                symlink("user@host.1:2", &lock)?;
                report(&lock, reported);
                let written = write(&dir(at).join("SKILL.md"), text, reported);
                fs::remove_file(&lock)?;
                written
            }
            Step::MakeDir(at) => make(&dir(at), reported),
            Step::Remove(at) => {
                report(&dir(at), reported);
                if dir(at).is_symlink() { fs::remove_file(dir(at)) } else { fs::remove_dir_all(dir(at)) }
            }
            Step::RemoveFile(at, file) => {
                report(&dir(at).join(file), reported);
                fs::remove_file(dir(at).join(file))
            }
            Step::Rename(from, to) => {
                make(dir(to).parent().unwrap_or(base), reported)?;
                rename(&dir(from), &dir(to), reported)
            }
            Step::LinkDir(from, to) => {
                make(dir(from).parent().unwrap_or(base), reported)?;
                symlink(dir(to), dir(from))?;
                report(&dir(from), reported);
                Ok(())
            }
            Step::LinkFile(from, to) => {
                make(&dir(from), reported)?;
                let link = dir(from).join("SKILL.md");
                symlink(dir(to).join("SKILL.md"), &link)?;
                report(&link, reported);
                Ok(())
            }
            Step::Other(at, other) => {
                let file = dir(at).join(other);
                make(file.parent().unwrap_or(base), reported)?;
                write(&file, "Something else.\n", reported)
            }
        }
    }
}

/// Notes the real path of an entry: its directory's, and its own name.
fn report(path: &Path, reported: &mut Vec<PathBuf>) {
    if let (Some(parent), Some(name)) = (path.parent(), path.file_name())
        && let Ok(parent) = parent.canonicalize()
    {
        reported.push(parent.join(name));
    }
}

fn make(dir: &Path, reported: &mut Vec<PathBuf>) -> io::Result<()> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|dir| dir.symlink_metadata().is_err()).collect();
    let made = fs::create_dir_all(dir);
    for dir in missing {
        report(dir, reported);
    }
    made
}

fn write(file: &Path, text: &str, reported: &mut Vec<PathBuf>) -> io::Result<()> {
    let before = file.canonicalize();
    let written = fs::write(file, text);
    report(file, reported);
    // Through a link it happens where that leads, even if nothing was there before.
    reported.extend([before, file.canonicalize()].into_iter().flatten());
    written
}

fn rename(from: &Path, to: &Path, reported: &mut Vec<PathBuf>) -> io::Result<()> {
    report(from, reported);
    report(to, reported);
    fs::rename(from, to)
}
