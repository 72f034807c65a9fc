//! Queries: the terms of a message, and their weights.

use std::ops::Range;

use hashbrown::HashTable;

use crate::relevance::field::spread;
use crate::relevance::glossary::translated;
use crate::relevance::index::TextIndex;
use crate::relevance::language::FunctionWords;
use crate::relevance::lookalikes::LookalikeScratch;
use crate::relevance::message::request;
use crate::relevance::refusal::Refusals;
use crate::relevance::search::LARGE_INDEX;
use crate::relevance::tokens::{Tokenizer, head};
use crate::relevance::words::{LISTS, key_of};

/// How many bytes of a message are read, and how many of its terms are searched for.
const MAX_MESSAGE: usize = 64 * 1024;
const MAX_TERMS: usize = 64;
/// The weight of weak words, numbers, synonyms and guesses.
pub(crate) const HALF: f32 = 0.5;
/// From how many characters on a guess is made for an unknown word; and, with many skills, for how many words.
const MIN_GUESS_CHARS: usize = 5;
const MAX_GUESSES: usize = 8;

/// A term of a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    pub(crate) stem: Box<str>,
    pub(crate) key: u32,
    /// The range of the word's first occurrence.
    pub(crate) span: Range<usize>,
    pub(crate) weight: f32,
}

/// A message, ready to be searched for.
#[derive(Debug, Default)]
pub(crate) struct TextQuery {
    /// Every distinct term of the message, in order of appearance.
    pub(crate) message: Vec<Term>,
    /// The terms that are searched for: those of the highest value, and lookalikes of misspelt words.
    pub(crate) terms: Vec<Term>,
}

impl TextQuery {
    pub(crate) fn of(
        index: &TextIndex,
        message: &str,
        refused: &Refusals,
        tokenizer: &mut Tokenizer,
        scratch: &mut LookalikeScratch,
    ) -> TextQuery {
        let half = HALF;
        let terms = distinct(head(message, MAX_MESSAGE), refused, half, tokenizer);
        let mut query = TextQuery { terms: terms.clone(), message: terms };
        if query.terms.len() > MAX_TERMS {
            // What is asked for comes before what is carried along.
            let asked = request(head(message, MAX_MESSAGE));
            let worth = |term: &Term| {
                let is_asked = asked.iter().any(|range| range.contains(&term.span.start));
                (is_asked, term.weight * rarity(index, term.key).unwrap_or(0.0))
            };
            let mut worths: Vec<((bool, f32), Term)> = query.terms.drain(..).map(|term| (worth(&term), term)).collect();
            let order = |a: (bool, f32), b: (bool, f32)| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1));
            worths.sort_by(|a, b| order(a.0, b.0).then_with(|| a.1.stem.cmp(&b.1.stem)));
            query.terms.extend(worths.into_iter().take(MAX_TERMS).map(|(_, term)| term));
        }
        query.guess(index, scratch);
        query
    }

    /// Adds, for unknown words, known ones that are similar.
    fn guess(&mut self, index: &TextIndex, scratch: &mut LookalikeScratch) {
        let own = self.terms.len();
        let most = if index.len() > LARGE_INDEX { MAX_GUESSES } else { MAX_TERMS };
        let is_word =
            |stem: &str| stem.chars().nth(MIN_GUESS_CHARS - 1).is_some() && stem.chars().all(char::is_alphabetic);
        let unknown =
            (0..own).filter(|at| is_word(&self.terms[*at].stem) && rarity(index, self.terms[*at].key).is_none());
        for at in unknown.take(most).collect::<Vec<_>>() {
            let span = self.terms[at].span.clone();
            let Some(lookalikes) = index.lookalikes.get() else { return };
            for lookalike in lookalikes.find(&self.terms[at].stem, scratch) {
                let key = key_of(lookalike.stem);
                let half = HALF;
                let weight = half * lookalike.alike * weight(lookalike.stem, key, half);
                match self.terms.iter().position(|term| term.key == key) {
                    Some(known) if known < own => {}
                    Some(guessed) => self.terms[guessed].weight = self.terms[guessed].weight.max(weight),
                    None => self.terms.push(Term { stem: lookalike.stem.into(), key, span: span.clone(), weight }),
                }
            }
        }
    }
}

/// Returns every distinct term of a text, without those in `refused`, in order of appearance.
pub(crate) fn distinct(text: &str, refused: &Refusals, half: f32, tokenizer: &mut Tokenizer) -> Vec<Term> {
    let mut terms = Vec::new();
    let mut seen: HashTable<u32> = HashTable::new();
    let function_words = FunctionWords::of(text);
    tokenizer.each(text, &mut |token| {
        let key = token.key;
        if refused.has(token.span.start) {
            return;
        }
        if function_words.has(&text[token.span.clone()].to_lowercase()) {
            return;
        }
        if seen.find(spread(key), |seen| *seen == key).is_none() {
            seen.insert_unique(spread(key), key, |key| spread(*key));
            terms.push(Term { stem: token.stem.into(), key, span: token.span, weight: weight(token.stem, key, half) });
        }
    });
    for word in translated(text) {
        if refused.has(word.span.start) {
            continue;
        }
        for english in word.english {
            tokenizer.each(english, &mut |token| {
                let key = token.key;
                if !token.compound && seen.find(spread(key), |seen| *seen == key).is_none() {
                    seen.insert_unique(spread(key), key, |key| spread(*key));
                    let weight = weight(token.stem, key, half);
                    terms.push(Term { stem: token.stem.into(), key, span: word.span.clone(), weight });
                }
            });
        }
    }
    terms
}

/// Returns the rarity of a term in the field where it is rarest; `None`, if no skill has it.
fn rarity(index: &TextIndex, key: u32) -> Option<f32> {
    let (short, long) = (index.short.idf(key), index.long.as_ref().and_then(|long| long.idf(key)));
    // A term that a field lacks has no rarity there, which is not a rarity of 0.
    match (short, long) {
        (Some(short), Some(long)) => Some(short.max(long)),
        (one, other) => one.or(other),
    }
}

fn weight(stem: &str, key: u32, half: f32) -> f32 {
    let number = stem.chars().all(char::is_numeric);
    if number || LISTS.is_weak(key) { half } else { 1.0 }
}
