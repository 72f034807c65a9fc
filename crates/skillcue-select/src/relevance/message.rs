//! Messages: what a message asks for, apart from what it carries along.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::relevance::acts::{is_question, is_success};
use crate::relevance::evidence::MAX_PAIRS;
use crate::relevance::glossary::translated;
use crate::relevance::language::FunctionWords;
use crate::relevance::programming::{languages_of, languages_written};
use crate::relevance::refusal::Refusals;
use crate::relevance::sequence::{code_words, key, number};
use crate::relevance::tokens::{Tokenizer, head};
use crate::relevance::words::{key_of, stem};

/// How many bytes of a message are read, and how many of its terms are weighed.
pub(crate) const MAX_MESSAGE: usize = 64 * 1024;
pub(crate) const MAX_TERMS: usize = 128;
/// The most terms that a message counts as having. One labelled message in a hundred has more: of how certain a message of
/// thousands is, nothing is known.
const MAX_COUNT: usize = 64;
/// Of a request that is longer than this, in bytes, the head and the tail are read.
const LONG_REQUEST: usize = 600;
const REQUEST_HEAD: usize = 400;
const REQUEST_TAIL: usize = 200;
/// A quotation of at most so many characters, with its marks, is part of the request.
const SHORT_QUOTATION: usize = 41;
/// The worth of a number beside a word of its rarity.
const NUMBER_WEIGHT: f32 = 0.25;
/// In how many characters of a message triples are looked for.
const MAX_TRIPLES: usize = 600;

/// The size of the table of a message's terms, four times as many as there can be, and the bits of a hash that remain.
const SLOTS: usize = 512;
const SLOT_SHIFT: u32 = 32 - SLOTS.trailing_zeros();
/// A place of the table without a term: a number that no term has.
const NOT_THERE: u8 = u8::MAX;

/// Verbs of requests, about 150: what is to be done, apart from what it is to be done with.
const VERBS: &str = include_str!("verbs.txt");

static VERB_STEMS: LazyLock<std::collections::HashSet<u32>> =
    LazyLock::new(|| VERBS.split_whitespace().map(|verb| key_of(&stem(verb))).collect());

/// A term of a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MessageTerm {
    /// Its key among the terms of sequences.
    pub(crate) key: u32,
    /// How rare it is among all texts.
    pub(crate) idf: f32,
    /// Whether it is in the request, and not only in what the message carries along.
    pub(crate) request: bool,
    pub(crate) verb: bool,
}

/// The pairs that begin with a term, and those that end with it, as bits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PairsOfTerm {
    pub(crate) first: u128,
    pub(crate) second: u128,
}

/// A message, taken apart.
#[derive(Debug, Default)]
pub(crate) struct MessageTerms {
    /// The terms, each once, in the order of their first appearance; the rarest, if there are many.
    pub(crate) terms: Vec<MessageTerm>,
    /// Where a key is in `terms`: a hash table with linear probing. It is asked for every word of sixty bodies.
    at: Vec<u8>,
    /// Neighbouring terms, and what such a pair is worth.
    pub(crate) pairs: Vec<(u8, u8, f32)>,
    /// The pairs that each term is in.
    pub(crate) pairs_of: Vec<PairsOfTerm>,
    /// The sums over all terms: the rarity of all, of those in the request, of verbs, of pairs.
    pub(crate) total: f32,
    pub(crate) request_total: f32,
    pub(crate) verb_total: f32,
    pub(crate) pair_total: f32,
    /// The rarity of a word that no skill has.
    pub(crate) unit: f32,
    /// The number of different terms, up to as many as labelled messages have.
    pub(crate) count: usize,
    pub(crate) code_words: Vec<u32>,
    /// The triples of characters, as a set of 16-bit numbers, and how many there are.
    triples: Vec<u64>,
    pub(crate) triple_count: usize,
    /// Whether it asks what something is.
    pub(crate) question: bool,
    /// The programming languages that it names, as bits.
    pub(crate) languages: u16,
    /// The keys of the words that it refuses, which are not among `terms`.
    pub(crate) refused: Vec<u32>,
    /// The keys of things that it refuses and that are called by several words, which may be among `terms`.
    pub(crate) refused_names: Vec<Vec<u32>>,
}

/// How rare terms are in a catalog, by their keys.
pub(crate) struct Rarities<'r> {
    /// The rarity of a term that nothing has.
    pub(crate) unit: f32,
    /// Returns the rarity of a term.
    pub(crate) of: &'r dyn Fn(u32) -> f32,
    /// Returns whether any skill has a term.
    pub(crate) is_known: &'r dyn Fn(u32) -> bool,
}

impl MessageTerms {
    /// Takes a message apart.
    pub(crate) fn of(
        text: &str,
        refusals: &Refusals,
        tokenizer: &mut Tokenizer,
        rarities: &Rarities<'_>,
    ) -> MessageTerms {
        let Rarities { unit, of: rarity, is_known } = *rarities;
        let text = head(text, MAX_MESSAGE);
        let function_words = FunctionWords::of(text);
        let request = request(text);
        let in_request = |at: usize| request.iter().any(|range| range.contains(&at));
        let mut refused: Vec<u32> = Vec::new();
        let mut refused_names: Vec<Vec<u32>> = vec![Vec::new(); refusals.names.len()];
        let mut found: Vec<MessageTerm> = Vec::new();
        let mut known: HashMap<u32, usize> = HashMap::new();
        // The terms in order, without compounds.
        let mut order: Vec<u32> = Vec::new();
        let mut languages = languages_written(text);
        let translations = Translations::of(text, tokenizer, is_known);
        tokenizer.each(text, &mut |token| {
            if function_words.has(&text[token.span.clone()].to_lowercase()) {
                return;
            }
            languages |= languages_of(token.key);
            if !is_known(token.key) && translations.replace(&token.span) {
                return;
            }
            let (key, compound) = key(number(&token));
            if refusals.has(token.span.start) {
                return refused.push(key);
            }
            let name = refusals.name_at(token.span.start);
            if let Some(name) = name.filter(|_| !compound) {
                refused_names[name].push(key);
            }
            if !compound {
                order.push(key);
            }
            let at = *known.entry(key).or_insert_with(|| {
                let verb = VERB_STEMS.contains(&token.key);
                let is_number = token.stem.bytes().all(|byte| byte.is_ascii_digit());
                let weight = if is_number { NUMBER_WEIGHT } else { 1.0 };
                found.push(MessageTerm { key, idf: weight * rarity(token.key), request: false, verb });
                found.len() - 1
            });
            found[at].request |= in_request(token.span.start);
        });
        for (span, key) in translations.terms {
            if !refusals.has(span.start) && !known.contains_key(&key) {
                known.insert(key, found.len());
                let (verb, request) = (VERB_STEMS.contains(&key), in_request(span.start));
                found.push(MessageTerm { key, idf: rarity(key), request, verb });
            }
        }
        if found.iter().filter(|term| term.request).count() < 2 {
            for term in &mut found {
                term.request = true;
            }
        }
        let sum = |of: &dyn Fn(&&MessageTerm) -> bool| found.iter().filter(of).map(|term| term.idf).sum::<f32>();
        let mut message = MessageTerms {
            unit,
            total: sum(&|_| true),
            request_total: sum(&|term| term.request),
            verb_total: sum(&|term| term.verb),
            count: found.len().min(MAX_COUNT),
            code_words: code_words(head(text, 8 * 1024)),
            question: is_question(text) || is_success(text),
            languages,
            // What is said elsewhere, too, is not refused.
            refused: refused.into_iter().filter(|key| !known.contains_key(key)).collect(),
            refused_names,
            ..MessageTerms::default()
        };
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for pair in order.windows(2).take(512).filter(|pair| pair[0] != pair[1]) {
            if !pairs.contains(&(pair[0], pair[1])) {
                pairs.push((pair[0], pair[1]));
            }
        }
        if found.len() > MAX_TERMS {
            // What is asked for comes before what is carried along.
            found.sort_by(|a, b| b.request.cmp(&a.request).then(b.idf.total_cmp(&a.idf)));
            found.truncate(MAX_TERMS);
        }
        message.at = vec![NOT_THERE; SLOTS];
        for (at, term) in (0u8..).zip(&found) {
            let mut slot = first_slot(term.key);
            while message.at[slot] != NOT_THERE {
                slot = (slot + 1) % SLOTS;
            }
            message.at[slot] = at;
        }
        message.terms = found;
        let idf = |at: u8| message.terms[usize::from(at)].idf;
        for (a, b) in pairs {
            let (Some(a), Some(b)) = (message.position(a), message.position(b)) else { continue };
            if message.pairs.len() < MAX_PAIRS {
                message.pairs.push((a, b, f32::midpoint(idf(a), idf(b))));
            }
        }
        message.pairs_of = vec![PairsOfTerm::default(); message.terms.len()];
        for (number, (a, b, _)) in message.pairs.iter().enumerate() {
            message.pairs_of[usize::from(*a)].first |= 1 << number;
            message.pairs_of[usize::from(*b)].second |= 1 << number;
        }
        message.pair_total = message.pairs.iter().map(|pair| pair.2).sum();
        message.triples = vec![0; 1024];
        for triple in triples(head(text, MAX_TRIPLES)) {
            message.triples[usize::from(triple >> 6)] |= 1 << (triple & 63);
        }
        message.triple_count = message.triples.iter().map(|word| word.count_ones() as usize).sum();
        message
    }

    /// Returns where a key is among the terms.
    #[inline]
    pub(crate) fn position(&self, key: u32) -> Option<u8> {
        let mut slot = first_slot(key);
        loop {
            let at = *self.at.get(slot)?;
            if self.terms.get(usize::from(at))?.key == key {
                return Some(at);
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// Returns the share of the message's triples that are among others, each of which is there once.
    pub(crate) fn triple_share(&self, others: &[u16]) -> f32 {
        let has = |triple: &&u16| self.triples[usize::from(**triple >> 6)] >> (**triple & 63) & 1 == 1;
        others.iter().filter(has).count() as f32 / self.triple_count.max(1) as f32
    }
}

/// The words of a message in English, as far as skills have them.
#[derive(Debug, Default)]
struct Translations {
    /// The places of the words that are translated.
    words: Vec<Range<usize>>,
    /// The keys of the English terms, each with the place of its word.
    terms: Vec<(Range<usize>, u32)>,
}

impl Translations {
    /// Translates the words that the glossary has. `is_known` says whether any skill has a term.
    fn of(text: &str, tokenizer: &mut Tokenizer, is_known: &dyn Fn(u32) -> bool) -> Translations {
        let mut all = Translations::default();
        for word in translated(text) {
            let before = all.terms.len();
            for english in word.english {
                tokenizer.each(english, &mut |token| {
                    if !token.compound && is_known(token.key) {
                        all.terms.push((word.span.clone(), token.key));
                    }
                });
            }
            if all.terms.len() > before {
                all.words.push(word.span);
            }
        }
        all
    }

    /// Returns whether a word that no skill has is at a place where a translation counts in its stead.
    fn replace(&self, span: &Range<usize>) -> bool {
        self.words.iter().any(|word| word.start < span.end && span.start < word.end)
    }
}

/// Returns the place where a key is looked for first in the table of a message's terms.
fn first_slot(key: u32) -> usize {
    (key.wrapping_mul(0x9e37_79b1) >> SLOT_SHIFT) as usize
}

/// Returns the triples of neighbouring characters of a text in lower case, as hashes.
pub(crate) fn triples(text: &str) -> impl Iterator<Item = u16> {
    let (mut a, mut b, mut blank) = (0u32, 0u32, false);
    text.chars().filter_map(move |char| {
        let char = if char.is_whitespace() { ' ' } else { char.to_lowercase().next().unwrap_or(char) };
        if char == ' ' && std::mem::replace(&mut blank, true) {
            return None;
        }
        blank = char == ' ';
        let c = u32::from(char);
        let triple = (a != 0).then(|| {
            let mixed = (a.wrapping_mul(0x9e37_79b1) ^ b).wrapping_mul(0x85eb_ca6b) ^ c;
            (mixed.wrapping_mul(0xc2b2_ae35) >> 16) as u16
        });
        (a, b) = (b, c);
        triple
    })
}

/// Returns the parts of a message that ask for something, without what it carries along: code blocks, addresses, paths,
/// file names, long quotations; of a long one the head and the tail.
pub(crate) fn request(text: &str) -> Vec<Range<usize>> {
    static PAYLOAD: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r#"(?s)```.*?(?:```|$)|https?://[^ \t\r\n]+|[~.]?/?(?:[A-Za-z0-9_.-]+/)+[A-Za-z0-9_.-]*|(?-u:\b)[A-Za-z0-9_-]+\.[a-z]{1,5}(?-u:\b)|["“「][^"”」]+["”」]"#,
        )
        .ok()
    });
    let mut parts = Vec::new();
    let mut start = 0;
    for found in PAYLOAD.as_ref().into_iter().flat_map(|payload| payload.find_iter(text)) {
        if found.as_str().starts_with(['"', '“', '「']) && found.as_str().chars().nth(SHORT_QUOTATION).is_none() {
            continue;
        }
        parts.push(start..found.start());
        start = found.end();
    }
    parts.push(start..text.len());
    let total: usize = parts.iter().map(ExactSizeIterator::len).sum();
    if total <= LONG_REQUEST {
        return parts;
    }
    let (mut before, mut kept) = (0, Vec::new());
    for part in parts {
        let (from, to) = (before, before + part.len());
        before = to;
        let first = part.start..part.start + REQUEST_HEAD.saturating_sub(from).min(part.len());
        let last = part.end - to.saturating_sub(total - REQUEST_TAIL).min(part.len())..part.end;
        kept.extend([first, last].into_iter().filter(|range| !range.is_empty()));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_apart_from_what_they_carry_along() {
        let of = |text: &str| request(text).into_iter().map(|range| text[range].to_owned()).collect::<String>();
        assert_eq!(of("Sum up report.pdf and src/main.rs, see https://x.y/z please"), "Sum up  and , see  please");
        assert_eq!(of("Fix this: ```rust\nlet x = 1;\n``` now"), "Fix this:  now");
        assert_eq!(of("Say \"hello there\" twice"), "Say \"hello there\" twice");
        let long = format!("Translate “{}” for me", "many words ".repeat(9));
        assert_eq!(of(&long), "Translate  for me");
        let tail = format!("{}the end", "a ".repeat(500));
        assert_eq!((of(&tail).len(), of(&tail).ends_with("the end")), (600, true));
    }
}
