//! Origins in a canonical form: whether two spellings mean the same source.

use std::path::{Component, Path};

use crate::InstallOrigin;
use crate::entries::InstalledItem;

/// Returns whether two items are of one kind and from one source: the same directory of the same repository, directory
/// or archive. Another branch, tag or commit is another version of the same.
pub(crate) fn is_same_source(one: &InstalledItem, other: &InstalledItem) -> bool {
    let as_written = (&one.origin, &one.at) == (&other.origin, &other.at);
    one.kind == other.kind
        && (as_written || canonical_origin(one).is_some_and(|origin| Some(origin) == canonical_origin(other)))
}

/// The kind of origin, the repository or archive, and the path in it, part by part.
type CanonicalOrigin = (&'static str, String, Vec<String>);

fn canonical_origin(entry: &InstalledItem) -> Option<CanonicalOrigin> {
    let at = parts(Path::new(&entry.at));
    Some(match InstallOrigin::from_text(&entry.origin).ok()? {
        InstallOrigin::Git { url, subdir, .. } => {
            let url = url.trim_end_matches('/');
            let mut way = subdir.map(|subdir| parts(Path::new(&subdir))).unwrap_or_default();
            way.extend(at);
            ("git", url.strip_suffix(".git").unwrap_or(url).to_owned(), way)
        }
        InstallOrigin::Directory { path } => {
            let mut way = parts(&path);
            way.extend(at);
            ("directory", String::new(), way)
        }
        InstallOrigin::Oci(reference) => ("oci", reference.repository_address(), at),
        InstallOrigin::Archive { path } => ("archive", path.to_string_lossy().into_owned(), at),
    })
}

fn parts(path: &Path) -> Vec<String> {
    let named = path.components().filter(|part| !matches!(part, Component::CurDir | Component::RootDir));
    named.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InstallableKind;

    fn from(origin: &str, at: &str) -> InstalledItem {
        let digest = "0".repeat(64).parse().unwrap();
        let (commit, version, installed, other) = (None, None, None, std::collections::BTreeMap::new());
        let (origin, at) = (origin.to_owned(), at.to_owned());
        InstalledItem {
            kind: InstallableKind::Skill,
            origin,
            at,
            commit,
            version,
            skills: Vec::new(),
            digest,
            installed,
            links: Vec::new(),
            other,
        }
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
            assert!(is_same_source(&from(one.0, one.1), &from(other.0, other.1)), "{one:?} {other:?}");
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
            assert!(!is_same_source(&from(one.0, one.1), &from(other.0, other.1)), "{one:?} {other:?}");
        }
        let mut plugin = from("/x", "a");
        plugin.kind = InstallableKind::Plugin;
        assert!(!is_same_source(&plugin, &from("/x", "a")));
    }
}
