//! `WordPiece`: the pieces of words that the model knows, as numbers.
//!
//! A text is cleaned, put into lower case and stripped of accents; words end at blanks and around punctuation and
//! Chinese characters; each word is cut into the longest known pieces from its beginning. The opt-in test compares the
//! result with the library `tokenizers`. It differs in two respects: `[MASK]` in a text is text, and some characters of
//! rare scripts are of another kind in the version of Unicode that is used here.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization as _;

/// The most tokens of a text, with the two at its ends: the model was trained on so many.
pub const MAX_TOKENS: usize = 256;

/// The most characters of a word that is looked up. A longer one is an unknown word.
const MAX_WORD_CHARS: usize = 100;

/// The most bytes of a text that are looked at: 256 tokens are hardly ever more, and pasted files have megabytes.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// The vocabulary of a model, and the way in which texts are cut into its words.
///
/// ```
/// use skillcue_model::WordPiece;
///
/// let vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "!"];
/// let pieces = WordPiece::of_vocabulary(vocabulary).unwrap();
/// assert_eq!(pieces.encode("Unaffable!"), [2, 4, 5, 6, 7, 3]);
/// assert_eq!(pieces.encode("naïve"), [2, 1, 3], "no pieces of it are known");
/// ```
#[derive(Debug, Clone)]
pub struct WordPiece {
    /// Pieces at the beginning of a word.
    first: HashMap<Box<str>, i32>,
    /// Pieces inside of a word, without the `##` before them.
    further: HashMap<Box<str>, i32>,
    unknown: i32,
    start: i32,
    end: i32,
}

/// The part of a `tokenizer.json` that is needed: the rest of that file is fixed for this kind of model.
#[derive(Deserialize)]
struct TokenizerFile<'f> {
    #[serde(borrow)]
    model: TokenizerModel<'f>,
}

#[derive(Deserialize)]
struct TokenizerModel<'f> {
    #[serde(borrow)]
    vocab: HashMap<std::borrow::Cow<'f, str>, i32>,
}

impl WordPiece {
    /// Reads the vocabulary of a `tokenizer.json`. Fails with the reason.
    pub fn of_json(json: &[u8]) -> Result<WordPiece, String> {
        let file: TokenizerFile<'_> = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        WordPiece::of_pieces(file.model.vocab)
    }

    /// Takes a vocabulary whose order is its numbers, as the lines of a `vocab.txt`. Fails with the reason.
    pub fn of_vocabulary<'v>(words: impl IntoIterator<Item = &'v str>) -> Result<WordPiece, String> {
        WordPiece::of_pieces(words.into_iter().zip(0..))
    }

    fn of_pieces(words: impl IntoIterator<Item = (impl AsRef<str>, i32)>) -> Result<WordPiece, String> {
        let (mut first, mut further) = (HashMap::new(), HashMap::new());
        for (word, number) in words {
            match word.as_ref().strip_prefix("##") {
                Some(piece) if !piece.is_empty() => further.insert(Box::from(piece), number),
                _ => first.insert(Box::from(word.as_ref()), number),
            };
        }
        let special = |word: &str| first.get(word).copied().ok_or_else(|| format!("the vocabulary has no {word}"));
        Ok(WordPiece { unknown: special("[UNK]")?, start: special("[CLS]")?, end: special("[SEP]")?, first, further })
    }

    /// Returns the numbers of a text's pieces between those of its beginning and its end, at most [`MAX_TOKENS`].
    pub fn encode(&self, text: &str) -> Vec<i32> {
        let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
        let mut tokens = vec![self.start];
        let mut word = String::new();
        for c in normalised(text) {
            if tokens.len() >= MAX_TOKENS - 1 {
                break;
            }
            if is_space(c) {
                self.take_word(&mut word, &mut tokens);
            } else if is_punctuation(c) || is_chinese(c) {
                self.take_word(&mut word, &mut tokens);
                word.push(c);
                self.take_word(&mut word, &mut tokens);
            } else {
                word.push(c);
            }
        }
        self.take_word(&mut word, &mut tokens);
        tokens.truncate(MAX_TOKENS - 1);
        tokens.push(self.end);
        tokens
    }

    /// Appends the pieces of a word, and empties it. A word with an unknown piece is unknown as a whole.
    fn take_word(&self, word: &mut String, tokens: &mut Vec<i32>) {
        let before = tokens.len();
        let mut rest = word.as_str();
        if word.chars().nth(MAX_WORD_CHARS).is_some() {
            tokens.push(self.unknown);
            rest = "";
        }
        let mut pieces = &self.first;
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let Some((end, number)) = ends.into_iter().find_map(|end| Some((end, *pieces.get(&rest[..end])?))) else {
                tokens.truncate(before);
                tokens.push(self.unknown);
                break;
            };
            tokens.push(number);
            rest = &rest[end..];
            pieces = &self.further;
        }
        word.clear();
    }
}

/// Returns the characters of a text without control characters and accents, in lower case.
fn normalised(text: &str) -> impl Iterator<Item = char> {
    let cleaned = text.chars().filter(|c| !(matches!(c, '\0' | '\u{fffd}') || is_control(*c)));
    cleaned.nfd().filter(|c| !MARKS.contains(*c)).flat_map(char::to_lowercase)
}

/// The characters of a category of Unicode, as sorted ranges.
struct CharRanges(Vec<(char, char)>);

impl CharRanges {
    /// Returns those of a class of a regular expression; none, if it is no class.
    fn of(class: &str) -> CharRanges {
        let ranges = match regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind) {
            Ok(HirKind::Class(Class::Unicode(class))) => {
                class.iter().map(|range| (range.start(), range.end())).collect()
            }
            _ => Vec::new(),
        };
        CharRanges(ranges)
    }

    fn contains(&self, c: char) -> bool {
        let after = self.0.partition_point(|(start, _)| *start <= c);
        after.checked_sub(1).is_some_and(|at| self.0[at].1 >= c)
    }
}

static MARKS: LazyLock<CharRanges> = LazyLock::new(|| CharRanges::of(r"\p{Mn}"));
static PUNCTUATION: LazyLock<CharRanges> = LazyLock::new(|| CharRanges::of(r"\p{P}"));
static OTHERS: LazyLock<CharRanges> = LazyLock::new(|| CharRanges::of(r"[\p{Cc}\p{Cf}\p{Co}]"));

fn is_space(c: char) -> bool {
    c.is_whitespace()
}

fn is_control(c: char) -> bool {
    !matches!(c, '\t' | '\n' | '\r') && OTHERS.contains(c)
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation() || (!c.is_ascii() && PUNCTUATION.contains(c))
}

/// Returns whether a character is one of the Chinese ones, which are words of their own here.
fn is_chinese(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x20000..=0x2A6DF | 0x2A700..=0x2B73F | 0x2B740..=0x2B81F
        | 0x2B920..=0x2CEAF | 0xF900..=0xFAFF | 0x2F800..=0x2FA1F)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WORDS: [&str; 18] = [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "cat", "##s", "un", "##want", "##ed", "cafe", ",", "表", "格", "##a",
        "-", "“", "##-",
    ];

    fn pieces() -> WordPiece {
        WordPiece::of_vocabulary(WORDS).unwrap()
    }

    /// Returns the words of a text, without the two at its ends.
    fn cut(text: &str) -> Vec<&'static str> {
        let tokens = pieces().encode(text);
        assert_eq!((tokens.first(), tokens.last()), (Some(&2), Some(&3)));
        tokens[1..tokens.len() - 1].iter().map(|token| WORDS[usize::try_from(*token).unwrap()]).collect()
    }

    #[test]
    fn words_are_cut_into_the_longest_known_pieces() {
        assert_eq!(cut("a cats"), ["a", "cat", "##s"]);
        assert_eq!(cut("unwanted"), ["un", "##want", "##ed"]);
        assert_eq!(cut("unwantedx a"), ["[UNK]", "a"], "as a whole");
        assert_eq!(cut(""), Vec::<&str>::new());
        assert_eq!(cut(" \t\r\n\u{a0}\u{3000}"), Vec::<&str>::new());
        assert_eq!(cut(&"a".repeat(MAX_WORD_CHARS)).len(), MAX_WORD_CHARS);
        assert_eq!(cut(&"a".repeat(MAX_WORD_CHARS + 1)), ["[UNK]"]);
    }

    #[test]
    fn case_accents_and_invisible_characters_do_not_count() {
        assert_eq!(cut("CAFÉ cafe\u{301}"), ["cafe", "cafe"]);
        assert_eq!(cut("c\u{200b}a\0t\u{fffd}"), ["cat"]);
        assert_eq!(cut("cat\u{85}cat"), ["[UNK]"], "a control character is no blank");
    }

    #[test]
    fn punctuation_and_chinese_characters_are_words() {
        assert_eq!(cut("cat,cats"), ["cat", ",", "cat", "##s"]);
        assert_eq!(cut("a-a“a"), ["a", "-", "a", "“", "a"]);
        assert_eq!(cut("表格a"), ["表", "格", "a"]);
        assert_eq!(cut("[CLS] ##s").first(), Some(&"[UNK]"), "what looks special is text");
    }

    #[test]
    fn a_long_text_is_cut() {
        let tokens = pieces().encode(&"cats ".repeat(10_000));
        assert_eq!((tokens.len(), tokens.last()), (MAX_TOKENS, Some(&3)));
        assert_eq!(pieces().encode(&"é".repeat(MAX_TEXT_BYTES)), [2, 1, 3], "cut between characters");
    }

    #[test]
    fn a_file_without_the_special_words_is_refused() {
        assert_eq!(WordPiece::of_vocabulary(["a"]).unwrap_err(), "the vocabulary has no [UNK]");
        assert!(WordPiece::of_json(b"{").is_err() && WordPiece::of_json(br#"{"model":{}}"#).is_err());
        let json = br#"{"added_tokens":[],"model":{"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"\u0061":7}}}"#;
        assert_eq!(WordPiece::of_json(json).unwrap().encode("a b"), [1, 7, 0, 2]);
    }

    proptest! {
        #[test]
        fn every_text_has_tokens(text in any::<String>()) {
            let tokens = pieces().encode(&text);
            prop_assert!(tokens.len() >= 2 && tokens.len() <= MAX_TOKENS);
        }
    }
}
