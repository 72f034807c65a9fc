//! Triggers that fire for everything: words of every message, patterns that match any, globs that match any file, and lists
//! of most languages.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use crate::{ORDINARY_FILES, ORDINARY_MESSAGES, pattern};

/// The commonest words of English, which say nothing about a task; and a few that are in most messages to agents.
static COMMON: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("common_words.txt").split_whitespace().collect());

/// Messages that ordinary patterns do not match: they have next to nothing in common but their commonness.
const PROBES: [&str; 5] = ["hello, how are you", "thanks!", "What is 2+2?", "please continue", "fix the bug"];

/// The part of ordinary messages, one in so many, from which on a pattern that fits them is about nothing.
const GENERIC_SHARE: usize = 4;

/// The evidence that a pattern is about nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GenericMatch {
    /// It matches an empty message.
    Empty,
    /// It matches a message that is about nothing, or that has nothing in common with it.
    Message(&'static str),
    /// It matches so many of [`ORDINARY_MESSAGES`].
    Share(usize),
}

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

/// Returns the evidence that a pattern matches nearly everything; `None` if it does not.
///
/// A pattern may match a single probe because of its subject: one about greetings matches `hello`. It is generic if it
/// matches nothing at all, several probes, or common words of one; or a quarter of the longer messages of every day.
pub(crate) fn generic_pattern(text: &str) -> Option<GenericMatch> {
    // Whatever is wrong with it is another finding.
    let compiled = pattern::compile(text).ok()?;
    if compiled.is_match("") {
        return Some(GenericMatch::Empty);
    }
    let found = PROBES.into_iter().filter_map(|probe| Some((probe, compiled.find(probe)?.as_str())));
    let found: Vec<(&str, &str)> = found.collect();
    let is_common_text = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).all(is_common)
    };
    match found[..] {
        [(probe, text)] if is_common_text(text) => return Some(GenericMatch::Message(probe)),
        [(probe, _), _, ..] => return Some(GenericMatch::Message(probe)),
        _ => {}
    }
    let fitting = ORDINARY_MESSAGES.iter().filter(|message| compiled.is_match(message)).count();
    (fitting * GENERIC_SHARE >= ORDINARY_MESSAGES.len()).then_some(GenericMatch::Share(fitting))
}

/// Returns whether a glob matches files that have nothing in common. A glob without a `/` is matched with their names.
pub(crate) fn is_generic_glob(text: &str) -> bool {
    // Whatever is wrong with it is another finding.
    let Ok(glob) = pattern::glob(text) else { return false };
    let matcher = glob.compile_matcher();
    let fits = |file: &&&str| {
        let name = file.rsplit('/').next().unwrap_or(file);
        matcher.is_match(if text.contains('/') { **file } else { name })
    };
    // A list of the endings of one kind, such as all source code, fits half of them at most.
    ORDINARY_FILES.iter().filter(fits).count() * 2 > ORDINARY_FILES.len()
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
        for text in [".*", "a?", "^", "x{0,9}"] {
            assert_eq!(generic_pattern(text), Some(GenericMatch::Empty), "{text}");
        }
        for (text, probe) in [
            (r"\w+", "hello, how are you"),
            (".", "hello, how are you"),
            (r"\?$", "What is 2+2?"),
            (r"\b(the|a)\b", "fix the bug"),
            ("please", "please continue"),
            ("how|what", "hello, how are you"),
            ("(fix|hello).*", "hello, how are you"),
        ] {
            assert_eq!(generic_pattern(text), Some(GenericMatch::Message(probe)), "{text}");
        }
        for text in
            [r"\bhello\b", "say .* in .*", "fix .*bug", r"\bfill(ed)? in\b", "thank", r"\.pdf$", "(", r"\d+\+\d+"]
        {
            assert_eq!(generic_pattern(text), None, "{text}");
        }
    }

    /// Issue 18.
    #[test]
    fn patterns_that_fit_longer_messages_are_generic() {
        for text in [".{25,}", r"(\w+\W+){6,}", r".{60,}", r"(?s).{80,}", r"\b\w{9,}\b", r"[,.] \w"] {
            let found = generic_pattern(text);
            assert!(matches!(found, Some(GenericMatch::Share(count)) if count >= 8), "{text}: {found:?}");
        }
        for vowel in ["[aeiou].*", "[a-f].*[g-z]"] {
            assert!(generic_pattern(vowel).is_some(), "{vowel}");
        }
        let honest = [
            r"\b(merge|split|rotate) .{1,40}\bpdfs?\b",
            r"error(s|ed)?\b.*\bline \d+",
            r"https?://\S+",
            r"\b[A-Z]{2,}-\d+\b",
            r"```(rust|python)",
            r"\b\d{1,2}:\d{2}\b",
            r"\btranslate\b.{1,60}\b(in)?to\b",
            r"[\p{Han}]{2,}",
        ];
        for text in honest {
            assert_eq!(generic_pattern(text), None, "{text}");
        }
    }
}
