//! Triggers that fire for everything: words of every message, patterns that match any, globs that match any file, and lists
//! of most languages.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use crate::pattern;

/// The commonest words of English, which say nothing about a task; and a few that are in most messages to agents.
static COMMON: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("common_words.txt").split_whitespace().collect());

/// Messages that ordinary patterns do not match: they have next to nothing in common but their commonness.
const PROBES: [&str; 5] = ["hello, how are you", "thanks!", "What is 2+2?", "please continue", "fix the bug"];

/// Files that have neither a directory, nor an ending, nor a depth in common.
const FILE_PROBES: [&str; 3] = ["src/main.rs", "a/b/table.xlsx", "media/2024/05/figure.png"];

/// Maximum number of languages of a skill that is about some. One that helps with nearly all code lists more.
const MAX_LANGUAGES: usize = 6;

/// Second names of languages, with the first ones: those of `skillcue_select::languages_of`.
const SECOND_NAMES: [(&str, &str); 14] = [
    ("py", "python"),
    ("rs", "rust"),
    ("js", "javascript"),
    ("ts", "typescript"),
    ("golang", "go"),
    ("cpp", "c++"),
    ("csharp", "c#"),
    ("fsharp", "f#"),
    ("rb", "ruby"),
    ("bash", "shell"),
    ("sh", "shell"),
    ("sass", "scss"),
    ("hcl", "terraform"),
    ("dockerfile", "docker"),
];

/// Returns whether a word is so common that it says nothing about a task.
pub(crate) fn is_common(word: &str) -> bool {
    COMMON.contains(word.to_lowercase().as_str())
}

/// Returns whether a keyword or verb is in most messages: it has no word that is not common.
pub(crate) fn is_generic(keyword: &str) -> bool {
    let mut words = keyword.split_whitespace().peekable();
    words.peek().is_some() && words.all(is_common)
}

/// Returns the message that shows that a pattern matches nearly everything; `None` if it does not.
///
/// A pattern may match a single probe because of its subject: one about greetings matches `hello`. It is generic if it
/// matches nothing at all, several probes, or common words of one.
pub(crate) fn generic_pattern(text: &str) -> Option<&'static str> {
    // Whatever is wrong with it is another finding.
    let compiled = pattern::compile(text).ok()?;
    if compiled.is_match("") {
        return Some("");
    }
    let found = PROBES.into_iter().filter_map(|probe| Some((probe, compiled.find(probe)?.as_str())));
    let found: Vec<(&str, &str)> = found.collect();
    let is_common_text = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).all(is_common)
    };
    match found[..] {
        [] => None,
        [(_, text)] if !is_common_text(text) => None,
        [(probe, _), ..] => Some(probe),
    }
}

/// Returns whether a glob matches files that have nothing in common. A glob without a `/` is matched with their names.
pub(crate) fn is_generic_glob(text: &str) -> bool {
    // Whatever is wrong with it is another finding.
    let Ok(glob) = pattern::glob(text) else { return false };
    let matcher = glob.compile_matcher();
    FILE_PROBES.into_iter().all(|file| {
        let name = file.rsplit('/').next().unwrap_or(file);
        matcher.is_match(if text.contains('/') { file } else { name })
    })
}

/// Returns the number of languages, if it is too large for a skill that is about some. A language with two names counts
/// once.
pub(crate) fn generic_languages<'l>(languages: impl IntoIterator<Item = &'l str>) -> Option<usize> {
    let first_name = |language: &str| {
        let name = language.trim().to_lowercase();
        let known = SECOND_NAMES.iter().find(|(second, _)| *second == name);
        known.map_or(name, |(_, first)| (*first).to_owned())
    };
    let distinct: BTreeSet<String> = languages.into_iter().map(first_name).collect();
    (distinct.len() > MAX_LANGUAGES).then_some(distinct.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_globs_match_files_that_have_nothing_in_common() {
        for glob in ["*", "**", "*.*", "**/*", "**/*.*", "*/**", "?*", "*.[a-z]*", "{*,x}"] {
            assert!(is_generic_glob(glob), "{glob}");
        }
        for glob in ["*.rs", "src/**", "**/*.{ts,tsx}", "Makefile", "test_*", "*/*", "data/*.*", "*.x*", "[", ""] {
            assert!(!is_generic_glob(glob), "{glob}");
        }
    }

    #[test]
    fn languages_are_counted_once_whatever_their_names() {
        let six = ["python", "rust", "go", "ruby", "java", "c"];
        assert_eq!(generic_languages(six), None);
        assert_eq!(generic_languages(six.into_iter().chain(["py", "RS", "golang", "rb", "Java"])), None);
        assert_eq!(generic_languages(six.into_iter().chain(["swift"])), Some(7));
        assert_eq!(generic_languages([]), None);
    }

    #[test]
    fn generic_keywords_have_no_word_of_their_own() {
        for word in ["the", "Please", "how to", "can you help me", "FILE"] {
            assert!(is_generic(word), "{word}");
        }
        for word in ["pdf", "hello", "fix", "how to fold", "deploy the app", "", " ", "データ"] {
            assert!(!is_generic(word), "{word}");
        }
    }

    #[test]
    fn generic_patterns_match_what_has_nothing_to_do_with_them() {
        for (text, probe) in [
            (".*", ""),
            ("a?", ""),
            ("^", ""),
            (r"\w+", "hello, how are you"),
            (".", "hello, how are you"),
            (r"\?$", "What is 2+2?"),
            (r"\b(the|a)\b", "fix the bug"),
            ("please", "please continue"),
            ("how|what", "hello, how are you"),
            ("(fix|hello).*", "hello, how are you"),
        ] {
            assert_eq!(generic_pattern(text), Some(probe), "{text}");
        }
        for text in
            [r"\bhello\b", "say .* in .*", "fix .*bug", r"\bfill(ed)? in\b", "thank", r"\.pdf$", "(", r"\d+\+\d+"]
        {
            assert_eq!(generic_pattern(text), None, "{text}");
        }
    }
}
