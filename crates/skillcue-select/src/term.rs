//! Verification of terms: whether a term is at a position of a message, given that its tokens are.

use std::ops::Range;

use crate::fold::{FoldClass, Folded, WordToken, tokens};
use crate::index::{TriggerKind, token_hash};
use crate::verb::inflects;

/// A message, cut into tokens.
#[derive(Debug)]
pub(crate) struct MessageText<'m> {
    pub(crate) original: &'m str,
    pub(crate) folded: Folded,
    pub(crate) tokens: Vec<WordToken>,
    pub(crate) hashes: Vec<u64>,
}

impl<'m> MessageText<'m> {
    pub(crate) fn of(original: &'m str) -> MessageText<'m> {
        // Positions are 32 bits wide.
        let original = &original[..original.floor_char_boundary(1 << 30)];
        let folded = Folded::of(original);
        let tokens = tokens(&folded.text);
        let hashes = tokens.iter().map(|token| token_hash(&folded.text[token.range()])).collect();
        MessageText { original, folded, tokens, hashes }
    }

    pub(crate) fn word(&self, token: usize) -> &str {
        &self.folded.text[self.tokens[token].range()]
    }

    /// Returns the range in the message of a range in the folded text.
    pub(crate) fn source(&self, range: Range<usize>) -> Range<usize> {
        self.folded.source(range, self.original)
    }

    /// Returns the range of a term whose tokens are those from `first` to `last`. `base` is the word of which the first
    /// one is an inflection, if it is to count as one.
    pub(crate) fn verify(
        &self,
        term: &str,
        kind: TriggerKind,
        first: usize,
        last: usize,
        base: Option<&str>,
    ) -> Option<Range<usize>> {
        let text = self.folded.text.as_str();
        let (opening, closing) = (self.tokens[first], self.tokens[last]);
        let lead = term.find(|c| FoldClass::of(c) != FoldClass::Other).unwrap_or(0);
        let names = kind == TriggerKind::Name;
        let (rest, at) = match base {
            None => (&term[lead..], opening.range().start),
            Some(base) => {
                let rest = term[lead..].strip_prefix(base)?;
                let whole = rest.chars().next().is_none_or(|c| FoldClass::of(c) == FoldClass::Other);
                (whole && inflects(base, self.word(first))).then_some((rest, opening.range().end))?
            }
        };
        let end = at + same_start(rest, &text[at..], names)?;
        let start = opening.range().start - same_end(&term[..lead], &text[..opening.range().start])?;

        // A Korean word starts where no other one continues.
        let glued = first > 0 && self.tokens[first - 1].end == opening.start;
        if lead == 0 && opening.class == FoldClass::Hangul && glued && self.tokens[first - 1].class == FoldClass::Hangul
        {
            return None;
        }
        // A name within a longer one is another name: `hello-extended` in `my-hello-extended-fix`.
        if names && (joined(text[..start].chars().rev()) || joined(text[end..].chars())) {
            return None;
        }
        let ends_in_word = term.chars().next_back().is_some_and(|c| FoldClass::of(c) != FoldClass::Other);
        let after = &text[end..];
        let goes_on = if ends_in_word {
            end != closing.range().end || (closing.class == FoldClass::Word && !names && goes_on(after))
        } else {
            // `c++` is in `C++20`, not in `C+++` or `c++filt`.
            term.ends_with(['+', '#'])
                && after.chars().next().is_some_and(|c| {
                    matches!(c, '+' | '#') || (FoldClass::of(c) == FoldClass::Word && c.is_alphabetic())
                })
        };
        (!goes_on).then_some(start..end)
    }

    /// Returns the range of a term without tokens, if it is at byte `at`.
    pub(crate) fn verify_symbol(&self, term: &str, at: usize) -> Option<Range<usize>> {
        let text = self.folded.text.as_str();
        let end = at + same_start(term, &text[at..], false)?;
        // `==` is not in `===`; but of three thumbs, each is one.
        let longer = |c: Option<char>, other: Option<char>| c == other && c.is_some_and(|c| c.is_ascii());
        let before = longer(text[..at].chars().next_back(), term.chars().next());
        let after = longer(text[end..].chars().next(), term.chars().next_back());
        (!before && !after).then_some(at..end)
    }
}

/// Returns whether a hyphen or an underscore joins a word to another one.
fn joined(mut beside: impl Iterator<Item = char>) -> bool {
    matches!(beside.next(), Some('-' | '_')) && beside.next().is_some_and(char::is_alphanumeric)
}

/// Returns whether a word goes on in the text directly after it: `C` in `C++`, `node` in `node.js`.
pub(crate) fn goes_on(after: &str) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        Some('+' | '#') => true,
        Some('.') => chars.next().is_some_and(char::is_alphabetic),
        _ => false,
    }
}

/// Returns the length of the start of `text` that equals `term`, in which a blank is any run of white space; in names,
/// of hyphens or of underscores, too.
fn same_start(term: &str, text: &str, names: bool) -> Option<usize> {
    let mut at = 0;
    for c in term.chars() {
        let rest = &text[at..];
        if c == ' ' {
            let blanks = rest.len() - rest.trim_start().len();
            let hyphens = rest.len() - rest.trim_start_matches(['-', '_']).len();
            at += if blanks > 0 || !names { blanks } else { hyphens };
            if text.len() - at == rest.len() {
                return None;
            }
        } else {
            at += rest.starts_with(c).then_some(c.len_utf8())?;
        }
    }
    Some(at)
}

/// Returns the length of the end of `text` that equals `term`.
fn same_end(term: &str, text: &str) -> Option<usize> {
    let mut rest = text;
    for c in term.chars().rev() {
        if c == ' ' {
            let trimmed = rest.trim_end();
            if trimmed.len() == rest.len() {
                return None;
            }
            rest = trimmed;
        } else {
            rest = rest.strip_suffix(c)?;
        }
    }
    Some(text.len() - rest.len())
}
