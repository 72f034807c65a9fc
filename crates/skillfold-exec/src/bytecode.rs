//! Keeps Python from running compiled code that lies in a skill beside its source.
//!
//! A file in `__pycache__` can be marked such that Python never compares it with its source, so a reader of the source
//! sees other code than the one that runs.

use std::path::Path;

/// Directories and files of a skill that are looked through for compiled code. With more, there may be some.
const MAX_ENTRIES: usize = 20_000;

/// A prefix below which nothing can exist: `/dev/null` is no directory.
const NO_CACHE: &str = "/dev/null/pycache";

/// Returns the variables that keep Python from writing compiled code, and from reading it where the skill has some.
///
/// Only there, because the prefix holds for the interpreter's own libraries as well: compiling those on each start
/// takes 0.4 s for a dozen imports of the standard library.
pub(crate) fn variables(skill: &Path) -> impl Iterator<Item = (&'static str, &'static str)> {
    let elsewhere = is_possible_in(skill, &mut { MAX_ENTRIES }).then_some(("PYTHONPYCACHEPREFIX", NO_CACHE));
    [("PYTHONDONTWRITEBYTECODE", "1")].into_iter().chain(elsewhere)
}

/// Returns the options that do the same for an interpreter whose own options, `-I` or `-E`, make it ignore variables.
pub(crate) fn options(skill: &Path, interpreter: &Path) -> Vec<String> {
    let is_python =
        interpreter.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("python"));
    if is_python && is_possible_in(skill, &mut { MAX_ENTRIES }) {
        vec!["-X".to_owned(), format!("pycache_prefix={NO_CACHE}")]
    } else {
        Vec::new()
    }
}

/// Whether there is a `__pycache__` below `dir`, as far as `left` entries tell. Python looks for it beside a source
/// under exactly this name, and follows links, which are taken for one here wherever they lead to a directory.
fn is_possible_in(dir: &Path, left: &mut usize) -> bool {
    // What cannot be listed may still be entered.
    let Ok(entries) = std::fs::read_dir(dir) else { return true };
    for entry in entries {
        let Ok(entry) = entry else { return true };
        *left = left.saturating_sub(1);
        if *left == 0 || entry.file_name() == "__pycache__" {
            return true;
        }
        let Ok(kind) = entry.file_type() else { return true };
        let is_found = if kind.is_symlink() {
            entry.path().is_dir()
        } else {
            kind.is_dir() && is_possible_in(&entry.path(), left)
        };
        if is_found {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn names(skill: &Path) -> Vec<&'static str> {
        variables(skill).map(|(name, _)| name).collect()
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
    fn a_skill_with_too_much_to_look_through_may_have_some() {
        let skill = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(skill.path().join(name), "").unwrap();
        }
        assert!(is_possible_in(skill.path(), &mut 3));
        assert!(!is_possible_in(skill.path(), &mut 4));
    }
}
