//! Keeps Python from running compiled code that lies in a skill beside its source.
//!
//! A file in `__pycache__` can be marked such that Python never compares it with its source, so a reader of the source
//! sees other code than the one that runs. Such code is hidden from the job where it has mounts of its own, whichever
//! interpreter it starts; variables and options serve where it has none, and where there is more than can be hidden.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use skillcue_catalog::{EntryKind, GapReason, SkillDir, SkillTree, TreeGap, TreeLimits};

/// Directories and files of a skill that are looked through for compiled code. With more, there may be some.
const MAX_ENTRIES: usize = 20_000;

/// Directories and files that are hidden. Each is a mount, of about 20 µs.
const MAX_HIDDEN: usize = 1000;

/// Bytes of a directory's path up to which it is looked through. A deeper one is hidden whole: the kernel takes paths
/// of 4,095 bytes, of which the job's own root needs some.
const MAX_PATH: usize = 3000;

/// Levels of directories that are looked through. A deeper directory is hidden whole.
const MAX_DEPTH: usize = 100;

/// A prefix below which nothing can exist: `/dev/null` is no directory.
const NO_CACHE: &str = "/dev/null/pycache";

/// Compiled Python code of a skill, as far as a bounded walk finds it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PythonBytecode {
    /// Directories and files to be hidden, without links on the way.
    pub(crate) hidden: Vec<PathBuf>,
    /// Whether Python may find compiled code beside a source.
    is_cache_possible: bool,
}

impl PythonBytecode {
    /// Looks for compiled code in a skill, whose directory's path without links is `real`.
    pub(crate) fn of(dir: &SkillDir, real: &Path) -> PythonBytecode {
        PythonBytecode::within(dir, real, MAX_ENTRIES, MAX_HIDDEN)
    }

    fn within(dir: &SkillDir, real: &Path, max_entries: usize, max_hidden: usize) -> PythonBytecode {
        let mut found = PythonBytecode::default();
        let limits = TreeLimits { max_depth: MAX_DEPTH, max_entries, ..TreeLimits::default() };
        match dir.tree(&limits) {
            Ok(mut tree) => found.look_through(&mut tree, real),
            Err(_) => found.hide_whole(real.to_path_buf()),
        }
        found.is_cache_possible |= found.hidden.len() > max_hidden;
        found.hidden.truncate(max_hidden);
        found
    }

    /// Walks through a skill. A directory that cannot be listed is hidden whole, because files in it may be reachable
    /// all the same.
    fn look_through(&mut self, tree: &mut SkillTree, real: &Path) {
        while let Some(entry) = tree.next_entry() {
            let entry = match entry {
                Ok(entry) => entry,
                // Entries beyond the bound may be compiled files.
                Err(TreeGap { reason: GapReason::Entries(_), .. }) => {
                    self.is_cache_possible = true;
                    return;
                }
                Err(gap) => {
                    self.hide_whole(real.join(gap.path));
                    continue;
                }
            };
            match entry.kind() {
                EntryKind::Link => self.look_at_link(real, &real.join(entry.path())),
                EntryKind::Directory => {
                    let length = real.as_os_str().len() + 1 + entry.path().as_os_str().len();
                    if entry.name() == "__pycache__" || length > MAX_PATH {
                        self.hide_whole(real.join(entry.path()));
                        tree.skip_directory();
                    }
                }
                _ if is_compiled(entry.name()) => self.hidden.push(real.join(entry.path())),
                _ => {}
            }
        }
    }

    fn hide_whole(&mut self, directory: PathBuf) {
        self.is_cache_possible = true;
        self.hidden.push(directory);
    }

    /// Looks at a link, which Python follows. A directory of the skill that it leads to is walked through anyway, and
    /// compiled code has an ending of its own there.
    fn look_at_link(&mut self, skill: &Path, link: &Path) {
        let Ok(target) = link.canonicalize() else { return };
        if target.is_dir() {
            self.is_cache_possible |= !target.starts_with(skill) || link.ends_with("__pycache__");
        } else if link.file_name().is_some_and(is_compiled) && target.starts_with(skill) {
            self.hidden.push(target);
        }
    }

    /// Returns the variables that keep Python from writing compiled code, and from reading it where the skill has some.
    ///
    /// Only there, because the prefix holds for the interpreter's own libraries as well: compiling those on each start
    /// takes 0.4 s for a dozen imports of the standard library.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let elsewhere = self.is_cache_possible.then_some(("PYTHONPYCACHEPREFIX", NO_CACHE));
        [("PYTHONDONTWRITEBYTECODE", "1")].into_iter().chain(elsewhere)
    }

    /// Returns the options for an interpreter whose own options, `-I` or `-E`, make it ignore
    /// [`PythonBytecode::variables`].
    pub(crate) fn options(&self, interpreter: &Path) -> Vec<String> {
        let is_python =
            interpreter.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("python"));
        if is_python && self.is_cache_possible {
            vec!["-X".to_owned(), format!("pycache_prefix={NO_CACHE}")]
        } else {
            Vec::new()
        }
    }
}

/// Returns whether Python imports a file of this name without a source.
fn is_compiled(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "pyc" || ending == "pyo")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn of(skill: &Path) -> PythonBytecode {
        PythonBytecode::of(&SkillDir::open("x", skill).unwrap(), skill)
    }

    fn names(skill: &Path) -> Vec<&'static str> {
        of(skill).variables().map(|(name, _)| name).collect()
    }

    #[test]
    fn reading_is_kept_from_only_where_there_may_be_something_to_read() {
        let skill = tempfile::tempdir().unwrap();
        fs::create_dir_all(skill.path().join("scripts/lib")).unwrap();
        fs::write(skill.path().join("scripts/lib/mod.py"), "").unwrap();
        assert_eq!(names(skill.path()), ["PYTHONDONTWRITEBYTECODE"]);
        fs::create_dir(skill.path().join("scripts/lib/__pycache__")).unwrap();
        assert_eq!(names(skill.path()), ["PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"]);

        let (linked, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(other.path().join("file"), "").unwrap();
        symlink(other.path().join("file"), linked.path().join("file")).unwrap();
        assert_eq!(names(linked.path()), ["PYTHONDONTWRITEBYTECODE"]);
        symlink(other.path(), linked.path().join("lib")).unwrap();
        assert_eq!(names(linked.path()), ["PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"]);
    }

    #[test]
    fn caches_and_compiled_files_of_the_skill_are_hidden() {
        let tmp = tempfile::tempdir().unwrap();
        let skill = tmp.path().canonicalize().unwrap();
        fs::create_dir_all(skill.join("a/__pycache__/__pycache__")).unwrap();
        fs::create_dir_all(skill.join("data")).unwrap();
        for name in ["a/__pycache__/b.pyc", "a/old.pyo", "a/mod.py", "a/pyc", "data/blob", "data/c.cpython-313.pyc"] {
            fs::write(skill.join(name), "").unwrap();
        }
        symlink("data/blob", skill.join("linked.pyc")).unwrap();
        symlink("data", skill.join("__pycache__")).unwrap();
        symlink("/etc/passwd", skill.join("outside.pyc")).unwrap();
        symlink("nowhere", skill.join("gone.pyc")).unwrap();
        let mut found = of(&skill);
        found.hidden.sort();
        let expected = ["a/__pycache__", "a/old.pyo", "data/blob", "data/c.cpython-313.pyc"];
        assert_eq!(found.hidden, expected.map(|name| skill.join(name)));
        assert!(found.is_cache_possible);
    }

    /// Makes directories inside each other, deeper than a path can name.
    fn nest(top: &Path, name: &str, depth: usize) {
        use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
        let open = |at: std::os::fd::BorrowedFd<'_>, name: &Path| {
            openat(at, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
        };
        let mut at = open(CWD, top);
        for _ in 0..depth {
            mkdirat(&at, name, Mode::RWXU).unwrap();
            at = open(std::os::fd::AsFd::as_fd(&at), Path::new(name));
        }
    }

    #[test]
    fn a_directory_that_cannot_be_listed_is_hidden_and_the_others_are_looked_through() {
        use std::os::unix::fs::PermissionsExt as _;
        let tmp = tempfile::tempdir().unwrap();
        let skill = tmp.path().canonicalize().unwrap();
        let name = "d".repeat(250);
        nest(&skill, &name, 20);
        let mut expected = Vec::new();
        for number in 0..10 {
            let directory = skill.join(format!("{number}"));
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("a.pyc"), "").unwrap();
            expected.push(directory.join("a.pyc"));
        }
        let is_root = rustix::process::geteuid().is_root();
        let closed = skill.join("closed");
        fs::create_dir(&closed).unwrap();
        fs::write(closed.join("a.pyc"), "").unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o111)).unwrap();
        // Modes do not keep root from listing.
        expected.push(if is_root { closed.join("a.pyc") } else { closed.clone() });
        let mut found = of(&skill);
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
        let deep = found.hidden.iter().position(|path| path.starts_with(skill.join(&name))).unwrap();
        let deep = found.hidden.swap_remove(deep);
        assert!(deep.as_os_str().len() < MAX_PATH + 300, "{} bytes can be mounted on", deep.as_os_str().len());
        found.hidden.sort();
        assert_eq!(found.hidden, expected);
        assert!(found.is_cache_possible);
    }

    #[test]
    fn a_skill_with_too_much_to_look_through_may_have_some() {
        let skill = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(skill.path().join(name), "").unwrap();
        }
        let dir = SkillDir::open("x", skill.path()).unwrap();
        let within = |entries, hidden| PythonBytecode::within(&dir, skill.path(), entries, hidden);
        assert!(within(2, 10).is_cache_possible);
        assert!(!within(3, 10).is_cache_possible);
        for name in ["a.pyc", "b.pyc", "c.pyc"] {
            fs::write(skill.path().join(name), "").unwrap();
        }
        let all = within(6, 3);
        assert_eq!((all.hidden.len(), all.is_cache_possible), (3, false));
        let some = within(6, 2);
        assert_eq!((some.hidden.len(), some.is_cache_possible), (2, true));
    }
}
