//! Whether two origins are the same place, however they are written.

use std::path::{Component, Path};

use crate::Origin;
use crate::entries::Installed;

/// Whether two are of one kind and from one place: the same directory of the same repository, directory or archive. Another
/// branch, tag or commit is another version of the same.
pub(crate) fn same_source(one: &Installed, other: &Installed) -> bool {
    let as_written = (&one.origin, &one.at) == (&other.origin, &other.at);
    one.kind == other.kind && (as_written || place(one).is_some_and(|place_of_one| Some(place_of_one) == place(other)))
}

/// What is fetched, and the way to it from there, part by part.
type Whence = (&'static str, String, Vec<String>);

fn place(entry: &Installed) -> Option<Whence> {
    let at = parts(Path::new(&entry.at));
    Some(match Origin::from_text(&entry.origin).ok()? {
        Origin::Git { url, subdir, .. } => {
            let url = url.trim_end_matches('/');
            let mut way = subdir.map(|subdir| parts(Path::new(&subdir))).unwrap_or_default();
            way.extend(at);
            ("git", url.strip_suffix(".git").unwrap_or(url).to_owned(), way)
        }
        Origin::Directory { path } => {
            let mut way = parts(&path);
            way.extend(at);
            ("directory", String::new(), way)
        }
        Origin::Archive { path } => ("archive", path.to_string_lossy().into_owned(), at),
    })
}

fn parts(path: &Path) -> Vec<String> {
    let named = path.components().filter(|part| !matches!(part, Component::CurDir | Component::RootDir));
    named.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn from(origin: &str, at: &str) -> Installed {
        let digest = "0".repeat(64).parse().unwrap();
        let (commit, version, installed, other) = (None, None, None, std::collections::BTreeMap::new());
        let (origin, at) = (origin.to_owned(), at.to_owned());
        Installed { kind: Kind::Skill, origin, at, commit, version, skills: Vec::new(), digest, installed, other }
    }

    #[test]
    fn one_place_has_many_spellings() {
        let url = "https://github.com/o/r.git";
        for (one, other) in [
            ((url, "skills/a"), ("https://github.com/o/r.git//skills/a", "")),
            ((url, "skills/a"), ("https://github.com/o/r.git//skills@v2", "a")),
            ((url, "a"), ("https://github.com/o/r.git@main", "./a")),
            (("/x", "a"), ("/x/a", "")),
            (("/x", "a"), ("/x/a/", ".")),
            (("/x.zip", "a"), ("/x.zip", "a/")),
            (("what is this", ""), ("what is this", "")),
        ] {
            assert!(same_source(&from(one.0, one.1), &from(other.0, other.1)), "{one:?} {other:?}");
        }
    }

    #[test]
    fn another_place_is_another() {
        let url = "https://github.com/o/r.git";
        for (one, other) in [
            ((url, "a"), (url, "b")),
            ((url, "a"), ("https://github.com/o/r2.git", "a")),
            ((url, "a"), ("https://gitlab.com/o/r.git", "a")),
            (("/x", "a"), ("/x", "b")),
            (("/x.zip", "a"), ("/x.zip/", "a")),
            (("/x", "a"), ("what is this", "a")),
        ] {
            assert!(!same_source(&from(one.0, one.1), &from(other.0, other.1)), "{one:?} {other:?}");
        }
        let mut plugin = from("/x", "a");
        plugin.kind = Kind::Plugin;
        assert!(!same_source(&plugin, &from("/x", "a")));
    }
}
