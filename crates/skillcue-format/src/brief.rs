//! `brief_description` for skills that have none: the description's first sentence.

use std::borrow::Cow;

/// Maximum number of characters in a brief description, the ellipsis included.
pub const MAX_BRIEF: usize = 80;

/// Abbreviations whose full stop never ends a sentence, whatever follows.
const ABBREVIATIONS: [&str; 17] = [
    "e.g", "i.e", "eg", "ie", "cf", "vs", "viz", "approx", "incl", "resp", "dr", "mr", "mrs", "ms", "prof", "st", "fig",
];

/// Returns the first sentence of `description`, white space folded, without its full stop, cut at a word boundary to at
/// most 80 characters.
///
/// ```
/// use skillcue_format::brief;
/// assert_eq!(brief("Builds Node.js services, e.g. APIs. Not for browsers."), "Builds Node.js services, e.g. APIs");
/// ```
pub fn brief(description: &str) -> Cow<'_, str> {
    fast_brief(description).unwrap_or_else(|| Cow::Owned(full_brief(description)))
}

fn full_brief(description: &str) -> String {
    let folded = fold(description);
    cut(first_sentence(&folded))
}

/// Handles the common cases in one walk over as many bytes as a brief may have: folded ASCII whose first sentence ends
/// with a full stop behind a plain word, or goes on for longer than a brief may be. `None` for all other texts.
fn fast_brief(description: &str) -> Option<Cow<'_, str>> {
    let bytes = description.as_bytes();
    let head = &bytes[..bytes.len().min(MAX_BRIEF + 3)];
    // A space at the start is folded away, as is one behind another.
    let (mut before, mut word) = (b' ', 0);
    for (at, &byte) in head.iter().enumerate() {
        match byte {
            b' ' if before == b'.' => return sentence(description, word, at - 1).map(Cow::Borrowed),
            b' ' if matches!(before, b' ' | b'!' | b'?') => return None,
            b' ' => word = at + 1,
            b'!'..=b'~' => {}
            _ => return None,
        }
        before = byte;
    }
    (head.len() == MAX_BRIEF + 3).then(|| {
        let end = MAX_BRIEF - 1;
        let whole = if head[end] == b' ' { Some(end) } else { memchr::memrchr(b' ', &head[..end]) };
        Cow::Owned(with_ellipsis(&description[..whole.unwrap_or(end)]))
    })
}

/// Returns the sentence that ends with a full stop at `stop`, if it surely does: the word before, which starts at
/// `word`, is neither an abbreviation nor initials.
fn sentence(description: &str, word: usize, stop: usize) -> Option<&str> {
    let word = description.get(word..stop)?;
    // Four letters or more that are only letters, but for a few.
    let ends = word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_lowercase()) && !ABBREVIATIONS.contains(&word);
    (ends && stop <= MAX_BRIEF).then(|| &description[..stop])
}

/// Returns the beginning of a text, white space folded: as much as decides what the brief is. Briefs of a whole catalog
/// are made at once, and descriptions are much longer than briefs.
fn fold(description: &str) -> String {
    let mut folded = String::with_capacity(MAX_BRIEF * 2);
    let mut chars = 0;
    for word in description.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
        chars += if word.is_ascii() { word.len() } else { word.chars().count() } + 1;
        // A sentence that has not ended by now is cut; whether one has takes the word behind it to know.
        if chars > MAX_BRIEF * 2 {
            break;
        }
    }
    folded
}

fn first_sentence(text: &str) -> &str {
    for (at, c) in text.char_indices() {
        let after = || &text[at + c.len_utf8()..];
        let ends_word = || after().is_empty() || after().starts_with(' ');
        match c {
            // The full-width stops need no space after them.
            '。' | '．' => return &text[..at],
            '！' | '？' => return &text[..at + c.len_utf8()],
            '!' | '?' if ends_word() => return &text[..=at],
            '.' if ends_word() && !is_abbreviation(&text[..at], after()) => return text[..at].trim_end_matches('.'),
            _ => {}
        }
    }
    text
}

/// Returns whether the full stop between `before` and `after` belongs to an abbreviation.
fn is_abbreviation(before: &str, after: &str) -> bool {
    let word = before.rsplit([' ', '(', '[', '"', '\'']).next().unwrap_or_default();
    let lower = word.to_lowercase();
    if ABBREVIATIONS.contains(&lower.as_str()) {
        return !after.is_empty();
    }
    let next = after.trim_start().chars().next();
    match lower.as_str() {
        "no" => next.is_some_and(|c| c.is_ascii_digit()),
        // `etc.` and initials (`U.S.`) end a sentence only if something starts after them.
        _ if lower == "etc" || is_initials(&lower) => next.is_some_and(char::is_lowercase),
        _ => false,
    }
}

fn is_initials(word: &str) -> bool {
    word.contains('.') && word.split('.').all(|part| part.chars().count() == 1 && part.chars().all(char::is_alphabetic))
}

fn cut(sentence: &str) -> String {
    if sentence.len() <= MAX_BRIEF || sentence.chars().count() <= MAX_BRIEF {
        return sentence.to_owned();
    }
    let end = sentence.char_indices().nth(MAX_BRIEF - 1).map_or(sentence.len(), |(at, _)| at);
    let head = &sentence[..end];
    let whole = if sentence[end..].starts_with(' ') { Some(end) } else { head.rfind(' ') };
    // Text without spaces (CJK, one endless word) has no boundary but between characters.
    let head = whole.map_or(head, |at| &head[..at]);
    with_ellipsis(head)
}

fn with_ellipsis(head: &str) -> String {
    let mut brief = String::with_capacity(head.len() + '…'.len_utf8());
    brief.push_str(head.trim_end_matches([' ', ',', ';', ':', '-', '(']));
    brief.push('…');
    brief
}

#[cfg(test)]
mod tests {
    #[test]
    fn fast_and_full_agree_around_the_limit() {
        // Every word boundary, stop and length around the limit.
        let words =
            ["Reads", "a", "PDF.", "e.g.", "and", "v1.0", "writes", "it", "down,", "then!", "Node.js", "x", "(twice)"];
        for start in 0..words.len() {
            for step in 1..words.len() {
                let text: Vec<&str> = (0..60).map(|nth| words[(start + nth * step) % words.len()]).collect();
                let text = text.join(" ");
                for length in (0..text.len()).step_by(7).chain(70..100) {
                    let text = &text[..length.min(text.len())];
                    assert_eq!(brief(text), full_brief(text), "{text}");
                    let dull = text.replace(['.', '!'], "");
                    assert_eq!(brief(&dull), full_brief(&dull), "{dull}");
                    let odd = format!(" {}  {}", &text[..length / 2], &text[length / 2..]);
                    assert_eq!(brief(&odd), full_brief(&odd), "{odd}");
                }
            }
        }
        let endless = "x".repeat(200);
        assert_eq!(brief(&endless), full_brief(&endless));
    }

    use super::*;

    #[test]
    fn golden_cases() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../../vectors/brief_description.json")).unwrap();
        let cases = vectors["cases"].as_array().unwrap();
        assert!(!cases.is_empty());
        for case in cases {
            let description = case["description"].as_str().unwrap();
            let got = brief(description);
            if let Some(expect) = case["expect"].as_str() {
                assert_eq!(got, expect);
            }
            if let Some(max) = case["max_chars"].as_u64() {
                assert!(got.chars().count() as u64 <= max, "{got}");
            }
            if let Some(end) = case["ends_with"].as_str() {
                assert!(got.ends_with(end), "{got}");
            }
            if case["no_split_word"] == true {
                let head = got.trim_end_matches('…');
                assert!(description[head.len()..].starts_with(' '), "{got}");
            }
        }
    }

    /// Checks that the shortcut returns the result of the full algorithm, or `None`.
    fn assert_shortcut_agrees(description: &str) {
        if let Some(brief) = fast_brief(description) {
            assert_eq!(brief, full_brief(description), "{description:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_shortcut_agrees(description in "( |word|e\\.g|etc|approx|No|U\\.S|\\. |\\.|!|\\? |é|\n|。|[a-z]{3,30} ){0,14}") {
            assert_shortcut_agrees(&description);
        }
    }

    #[test]
    fn the_shortcut_is_taken() {
        assert_eq!(fast_brief("Reads PDF files. Use when asked.").as_deref(), Some("Reads PDF files"));
        assert_eq!(fast_brief("Stop! Reads files. Use."), None);
        assert_eq!(fast_brief(&"word, ".repeat(20)).unwrap(), format!("{}word…", "word, ".repeat(12)));
    }

    #[test]
    fn sentences() {
        assert_eq!(brief("Works in the U.S. and abroad. More."), "Works in the U.S. and abroad");
        assert_eq!(brief("Reads CSV, TSV, etc. Use when asked."), "Reads CSV, TSV, etc");
        assert_eq!(brief("Wait... what"), "Wait");
        assert_eq!(brief("See No. 5 (e.g. this). Then."), "See No. 5 (e.g. this)");
        assert_eq!(brief("."), "");
        assert_eq!(brief(&"長".repeat(100)).chars().count(), 80);
        assert_eq!(brief(&"x".repeat(80)), "x".repeat(80));
        let long = format!("{} end. Next.", "word ".repeat(14));
        assert_eq!(brief(&long), format!("{}end", "word ".repeat(14)));
    }
}
