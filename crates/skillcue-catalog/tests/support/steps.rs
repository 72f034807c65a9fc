//! Things that happen to directories of skills, and what a watcher would tell of each.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

/// Where something happens: in one of two roots or beside them, at a path of few names, so that things meet.
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
    /// Does it below a directory, as far as it can be done. Returns the real paths that a watcher would name.
    pub(crate) fn take(&self, base: &Path) -> Vec<PathBuf> {
        let mut told = Vec::new();
        // What cannot be done has done nothing, or a part of it that was noted.
        let _ = self.try_to(base, &mut told);
        told
    }

    fn try_to(&self, base: &Path, told: &mut Vec<PathBuf>) -> io::Result<()> {
        let dir = |at: &At| base.join(&at.0);
        match self {
            Step::Write(at, file, text) => {
                make(&dir(at), told)?;
                write(&dir(at).join(file), text, told)
            }
            Step::Replace(at, text) => {
                make(&dir(at), told)?;
                write(&dir(at).join(".SKILL.md.tmp"), text, told)?;
                rename(&dir(at).join(".SKILL.md.tmp"), &dir(at).join("SKILL.md"), told)
            }
            Step::Vim(at, text) => {
                let file = dir(at).join("SKILL.md");
                write(&dir(at).join("4913"), "", told)?;
                fs::remove_file(dir(at).join("4913"))?;
                rename(&file, &dir(at).join("SKILL.md~"), told)?;
                write(&file, text, told)?;
                fs::remove_file(dir(at).join("SKILL.md~"))
            }
            Step::Emacs(at, text) => {
                let lock = dir(at).join(".#SKILL.md");
                symlink("somebody@somewhere.1:2", &lock)?;
                tell(&lock, told);
                let written = write(&dir(at).join("SKILL.md"), text, told);
                fs::remove_file(&lock)?;
                written
            }
            Step::MakeDir(at) => make(&dir(at), told),
            Step::Remove(at) => {
                tell(&dir(at), told);
                if dir(at).is_symlink() { fs::remove_file(dir(at)) } else { fs::remove_dir_all(dir(at)) }
            }
            Step::RemoveFile(at, file) => {
                tell(&dir(at).join(file), told);
                fs::remove_file(dir(at).join(file))
            }
            Step::Rename(from, to) => {
                make(dir(to).parent().unwrap_or(base), told)?;
                rename(&dir(from), &dir(to), told)
            }
            Step::LinkDir(from, to) => {
                make(dir(from).parent().unwrap_or(base), told)?;
                symlink(dir(to), dir(from))?;
                tell(&dir(from), told);
                Ok(())
            }
            Step::LinkFile(from, to) => {
                make(&dir(from), told)?;
                let link = dir(from).join("SKILL.md");
                symlink(dir(to).join("SKILL.md"), &link)?;
                tell(&link, told);
                Ok(())
            }
            Step::Other(at, other) => {
                let file = dir(at).join(other);
                make(file.parent().unwrap_or(base), told)?;
                write(&file, "Something else.\n", told)
            }
        }
    }
}

/// Notes the real path of an entry: its directory's, and its own name.
fn tell(path: &Path, told: &mut Vec<PathBuf>) {
    if let (Some(parent), Some(name)) = (path.parent(), path.file_name())
        && let Ok(parent) = parent.canonicalize()
    {
        told.push(parent.join(name));
    }
}

fn make(dir: &Path, told: &mut Vec<PathBuf>) -> io::Result<()> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|dir| dir.symlink_metadata().is_err()).collect();
    let made = fs::create_dir_all(dir);
    for dir in missing {
        tell(dir, told);
    }
    made
}

fn write(file: &Path, text: &str, told: &mut Vec<PathBuf>) -> io::Result<()> {
    let before = file.canonicalize();
    let written = fs::write(file, text);
    tell(file, told);
    // Through a link it happens where that leads, even if nothing was there before.
    told.extend([before, file.canonicalize()].into_iter().flatten());
    written
}

fn rename(from: &Path, to: &Path, told: &mut Vec<PathBuf>) -> io::Result<()> {
    tell(from, told);
    tell(to, told);
    fs::rename(from, to)
}
