//! Files of a turn against globs.

use globset::GlobMatcher;
use skillcue_format::pattern;

/// How a glob is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A file's name, or `*.` and an extension: found by its text.
    Plain,
    /// Anything else is tried.
    Glob,
}

impl Shape {
    pub(crate) fn of(glob: &str) -> Shape {
        let rest = glob.strip_prefix("*.").unwrap_or(glob);
        if rest.contains(['*', '?', '[', ']', '{', '}', '!', '\\', '/']) { Shape::Glob } else { Shape::Plain }
    }
}

/// A file's path as globs with a `/` see it.
pub(crate) fn path_of(file: &str) -> &str {
    file.strip_prefix("./").unwrap_or(file)
}

/// A file's name.
pub(crate) fn name_of(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// Calls `probe` with every plain glob that matches a file of that name.
pub(crate) fn plain_globs(name: &str, mut probe: impl FnMut(&str)) {
    probe(name);
    let mut glob = String::with_capacity(name.len() + 1);
    for (at, _) in name.match_indices('.') {
        glob.clear();
        glob.push('*');
        glob.push_str(&name[at..]);
        probe(&glob);
    }
}

/// Whether a glob can match at all, judged by its end: what stands behind its last wildcard.
pub(crate) fn may_match(glob: &str, file: &str) -> bool {
    let tail = glob.rfind(['*', '?', '[', ']', '{', '}', '!', '\\']).map_or(glob, |at| &glob[at + 1..]);
    file.ends_with(tail)
}

/// Compiles a glob.
pub(crate) fn compile(glob: &str) -> Result<GlobMatcher, globset::Error> {
    pattern::glob(glob).map(|glob| glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        for plain in ["*.tsx", "*.test.tsx", "Dockerfile", ".env"] {
            assert_eq!(Shape::of(plain), Shape::Plain, "{plain}");
        }
        for glob in ["src/*.rs", "*", "*.{ts,tsx}", "test_*.py", "a/b", "*.[ch]"] {
            assert_eq!(Shape::of(glob), Shape::Glob, "{glob}");
        }
    }

    #[test]
    fn plain_globs_of_a_name() {
        let mut globs = Vec::new();
        plain_globs("a.test.tsx", |glob| globs.push(glob.to_owned()));
        assert_eq!(globs, ["a.test.tsx", "*.test.tsx", "*.tsx"]);
    }

    #[test]
    fn tails() {
        assert!(may_match("src/**/*.rs", "src/a/b.rs"));
        assert!(!may_match("src/**/*.rs", "src/a/b.py"));
        assert!(may_match("*.{ts,tsx}", "a.ts"));
        assert!(may_match("test_*", "test_x"));
    }
}
