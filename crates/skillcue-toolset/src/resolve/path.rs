//! Paths of modules, below the skill's directory or the user's packages, and with `/` on every system.

/// Returns the directory of a path.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Returns whether a path is below a root.
pub(super) fn is_below(path: &str, root: &str) -> bool {
    root.is_empty() || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'))
}

/// Joins `dir` and a relative path; none if the path climbs out of the root.
pub(crate) fn join(dir: &str, relative: &str) -> Option<String> {
    let mut names: Vec<&str> = dir.split('/').filter(|name| !name.is_empty()).collect();
    for name in relative.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

/// Returns the root of the package a file belongs to: behind the last `node_modules`.
pub(crate) fn package_root(path: &str) -> Option<&str> {
    let at = if let Some(at) = path.rfind("/node_modules/") {
        at + 1
    } else if path.starts_with("node_modules/") {
        0
    } else {
        return None;
    };
    let rest = &path[at + "node_modules/".len()..];
    let mut parts = rest.match_indices('/');
    let end = if rest.starts_with('@') { parts.nth(1) } else { parts.next() };
    end.map(|(end, _)| &path[..at + "node_modules/".len() + end])
}

/// Splits `@scope/name/sub/path` into the package's name and the rest.
pub(super) fn split_package(specifier: &str) -> (&str, &str) {
    let mut slashes = specifier.match_indices('/').map(|(at, _)| at);
    let end = if specifier.starts_with('@') { slashes.nth(1) } else { slashes.next() };
    end.map_or((specifier, ""), |end| (&specifier[..end], &specifier[end + 1..]))
}
