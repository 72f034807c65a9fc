//! Triggers that fire for everything: words of every message, and patterns that match any.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::pattern;

/// The commonest words of English, which say nothing about a task; and a few that are in most messages to agents.
static COMMON: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("common_words.txt").split_whitespace().collect());

/// Messages that ordinary patterns do not match: they have next to nothing in common but their commonness.
const PROBES: [&str; 5] = ["hello, how are you", "thanks!", "What is 2+2?", "please continue", "fix the bug"];

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

#[cfg(test)]
mod tests {
    use super::*;

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
