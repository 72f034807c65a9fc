//! Sequences of terms: the texts of a skill in their order, as numbers, with marks between their parts.
//!
//! An inverted index knows which skills have a word. What a message and a skill share beyond words, the neighbours that
//! a word has, the clause or the section that several are in, is found here, and only for the few skills that the index
//! has found.

use std::sync::LazyLock;

use regex::Regex;

use crate::relevance::tokens::{StemToken, Tokenizer};
use crate::relevance::words::key_of;

/// The mark between two parts of a text.
pub(crate) const BREAK: u32 = 0;
/// The mark before the subjects that a description excludes.
pub(crate) const EXCLUDED: u32 = u32::MAX;
/// The bit of terms that are several parts written together.
const COMPOUND: u32 = 1 << 31;
/// How long a code word is, at most.
const MAX_CODE_CHARS: usize = 60;
/// How long a part of a section is, in bytes, at most.
const MAX_SECTION: usize = 2500;

/// Returns a token as a number of a sequence.
pub(crate) fn number(token: &StemToken<'_>) -> u32 {
    if token.compound { token.key | COMPOUND } else { token.key }
}

/// Returns the key of a number, and whether it is a compound.
pub(crate) fn key(number: u32) -> (u32, bool) {
    (number & !COMPOUND, number & COMPOUND != 0)
}

/// Appends the terms of a text and a break.
pub(crate) fn push(tokenizer: &mut Tokenizer, text: &str, most: usize, terms: &mut Vec<u32>) {
    let start = terms.len();
    tokenizer.each(text, &mut |token| {
        if terms.len() < most {
            terms.push(number(&token));
        }
    });
    if terms.len() > start {
        terms.push(BREAK);
    }
}

/// Returns the sections of a body: its parts from heading to heading, long ones in pieces.
pub(crate) fn sections(body: &str) -> impl Iterator<Item = &str> {
    let mut rest = body;
    let mut fenced = false;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = 0;
        for line in rest.split_inclusive('\n') {
            let is_fence = line.trim_start().starts_with("```");
            if end > 0 && (!fenced && is_heading(line) || end + line.len() > MAX_SECTION) {
                break;
            }
            fenced ^= is_fence;
            end += line.len();
            if end > MAX_SECTION {
                break;
            }
        }
        let (section, behind) = rest.split_at(rest.floor_char_boundary(end.min(2 * MAX_SECTION)));
        rest = behind;
        Some(section)
    })
}

fn is_heading(line: &str) -> bool {
    let depth = line.bytes().take_while(|byte| *byte == b'#').count();
    (1..=6).contains(&depth) && line[depth..].starts_with([' ', '\t'])
}

/// Splits a sentence into its clauses, at punctuation and at "and" and "or".
pub(crate) fn clauses(sentence: &str) -> impl Iterator<Item = &str> {
    static BETWEEN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"[,;\n()—–。，、；：（）]|[.:!?](?:\s|$)|\s-\s|(?i:\bor\b|\band\b)|/\s").ok());
    let mut rest = Some(sentence);
    std::iter::from_fn(move || {
        let text = rest?;
        match BETWEEN.as_ref().and_then(|between| between.find(text)) {
            Some(found) => {
                rest = Some(&text[found.end()..]);
                Some(&text[..found.start()])
            }
            None => rest.take(),
        }
    })
}

/// Returns the code words of a text, as sorted keys: what is in backticks, identifiers with capitals or underscores
/// inside, words in capitals, file names and their extensions, options, words with a number.
pub(crate) fn code_words(text: &str) -> Vec<u32> {
    static CODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"`([^`\n]+)`|(?-u:\b)([A-Za-z]+[a-z][A-Z][A-Za-z0-9_]*|[A-Z]{2,}[0-9a-z][A-Za-z0-9_]*|[A-Za-z0-9_]+_[A-Za-z0-9_]+|[A-Za-z0-9_-]+\.[a-z]{1,5}(?-u:\b)|[A-Z]{2,}(?-u:\b)|[a-z]+[0-9]+(?-u:\b))|(\.[a-z]{1,5}(?-u:\b)|--?[a-z][A-Za-z0-9_-]+)",
        )
        .ok()
    });
    let mut keys = Vec::new();
    let mut add = |word: &str| keys.push(key_of(word));
    for found in CODE.as_ref().into_iter().flat_map(|code| code.captures_iter(text)) {
        let Some(word) = (1..4).find_map(|group| found.get(group)) else { continue };
        let word = word.as_str().to_lowercase();
        let word = word.trim_matches('.');
        if word.is_empty() || word.chars().nth(MAX_CODE_CHARS).is_some() {
            continue;
        }
        add(word);
        if let Some((_, extension)) = word.rsplit_once('.') {
            add(extension);
        }
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_cut_at_headings_and_by_length() {
        let found: Vec<&str> = sections("Lead.\n# One\na\n```\n# no heading\n```\n## Two\nb").collect();
        assert_eq!(found, ["Lead.\n", "# One\na\n```\n# no heading\n```\n", "## Two\nb"]);
        let long = "word ".repeat(3000);
        assert_eq!(sections(&long).collect::<String>(), long);
        assert!(sections(&long).all(|section| section.len() <= 2 * MAX_SECTION));
        assert_eq!(sections("").count(), 0);
        assert_eq!(sections(&"ä".repeat(10_000)).collect::<String>().chars().count(), 10_000);
    }

    #[test]
    fn clauses_end_at_punctuation_and_conjunctions() {
        let found: Vec<&str> = clauses("Reads PDF and Word (node.js), or e-mail. Then: more").map(str::trim).collect();
        assert_eq!(found, ["Reads PDF", "Word", "node.js", "", "", "e-mail", "Then", "more"]);
    }

    #[test]
    fn code_words_are_found() {
        let key = key_of;
        let found = code_words("Call `a b`, readCsv, SQL, my_file, x.pdf with --force on net9 and words");
        for word in ["a b", "readcsv", "sql", "my_file", "x.pdf", "pdf", "--force", "net9"] {
            assert!(found.contains(&key(word)), "{word}");
        }
        assert_eq!(found.len(), 8);
    }
}
