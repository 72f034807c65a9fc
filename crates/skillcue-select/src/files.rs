//! Globs, matched with the files of a turn.

use globset::GlobMatcher;
use skillcue_format::pattern;

/// The shape of a glob, which decides how it is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GlobShape {
    /// A file's name, or `*.` and an extension: found by its text.
    Plain,
    /// Anything else: it must be compiled and tried.
    Glob,
}

impl GlobShape {
    pub(crate) fn of(glob: &str) -> GlobShape {
        let rest = glob.strip_prefix("*.").unwrap_or(glob);
        if rest.contains(['*', '?', '[', ']', '{', '}', '!', '\\', '/']) { GlobShape::Glob } else { GlobShape::Plain }
    }
}

/// Returns a file's path as globs with a `/` are matched with it.
pub(crate) fn path_of(file: &str) -> &str {
    file.strip_prefix("./").unwrap_or(file)
}

/// Returns a file's name.
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

/// Returns whether a glob can match at all, judged by its end: the text after its last wildcard.
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
            assert_eq!(GlobShape::of(plain), GlobShape::Plain, "{plain}");
        }
        for glob in ["src/*.rs", "*", "*.{ts,tsx}", "test_*.py", "a/b", "*.[ch]"] {
            assert_eq!(GlobShape::of(glob), GlobShape::Glob, "{glob}");
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
