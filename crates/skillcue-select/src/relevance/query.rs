//! What a message asks for: terms, and what each is worth.

use std::ops::Range;

use hashbrown::HashTable;

use crate::relevance::bags::narrow;
use crate::relevance::fuzzy::Room;
use crate::relevance::index::TextIndex;
use crate::relevance::search::LARGE;
use crate::relevance::tokens::{Tokenizer, head};
use crate::relevance::words::{LISTS, key_of};

/// How much of a message is read, and how many of its terms are searched for.
const MAX_MESSAGE: usize = 64 * 1024;
const MAX_TERMS: usize = 64;
/// From how many characters on a guess is made at an unknown word; and, among many skills, at how many words.
const GUESSED: usize = 5;
const GUESSES: usize = 8;

/// A term of a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    pub(crate) stem: Box<str>,
    pub(crate) key: u64,
    /// Where the word first stands.
    pub(crate) span: Range<usize>,
    pub(crate) weight: f32,
}

/// A message, ready to be searched for.
#[derive(Debug, Default)]
pub(crate) struct Query {
    /// Every distinct term of the message, as they appear.
    pub(crate) message: Vec<Term>,
    /// What is searched for: the terms worth most, and stems that misspelt words may have meant.
    pub(crate) terms: Vec<Term>,
}

impl Query {
    pub(crate) fn of(index: &TextIndex, message: &str, tokenizer: &mut Tokenizer, room: &mut Room) -> Query {
        let half = index.tuning.half;
        let terms = distinct(head(message, MAX_MESSAGE), half, tokenizer);
        let mut query = Query { terms: terms.clone(), message: terms };
        if query.terms.len() > MAX_TERMS {
            let worth = |term: &Term| term.weight * rarity(index, term.key).unwrap_or(0.0);
            let mut worths: Vec<(f32, Term)> = query.terms.drain(..).map(|term| (worth(&term), term)).collect();
            worths.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.stem.cmp(&b.1.stem)));
            query.terms.extend(worths.into_iter().take(MAX_TERMS).map(|(_, term)| term));
        }
        query.guess(index, room);
        query
    }

    /// Adds, for unknown words, known ones that look like them.
    fn guess(&mut self, index: &TextIndex, room: &mut Room) {
        let own = self.terms.len();
        let most = if index.len() > LARGE { GUESSES } else { MAX_TERMS };
        let is_word = |stem: &str| stem.chars().nth(GUESSED - 1).is_some() && stem.chars().all(char::is_alphabetic);
        let unknown =
            (0..own).filter(|at| is_word(&self.terms[*at].stem) && rarity(index, self.terms[*at].key).is_none());
        for at in unknown.take(most).collect::<Vec<_>>() {
            let span = self.terms[at].span.clone();
            let Some(lookalikes) = index.lookalikes.get() else { return };
            for lookalike in lookalikes.find(&self.terms[at].stem, room) {
                let key = key_of(lookalike.stem);
                let half = index.tuning.half;
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

/// Every distinct term of a text, as they appear.
fn distinct(text: &str, half: f32, tokenizer: &mut Tokenizer) -> Vec<Term> {
    let mut terms = Vec::new();
    let mut seen: HashTable<u64> = HashTable::new();
    tokenizer.each(text, &mut |token| {
        let key = token.key;
        if seen.find(key, |seen| *seen == key).is_none() {
            seen.insert_unique(key, key, |key| *key);
            terms.push(Term { stem: token.stem.into(), key, span: token.span, weight: weight(token.stem, key, half) });
        }
    });
    terms
}

/// How rare a term is where it is rarest; nothing, if no skill has it.
fn rarity(index: &TextIndex, key: u64) -> Option<f32> {
    let (short, long) = (index.short.idf(key), index.long.as_ref().and_then(|long| long.idf(narrow(key))));
    // Not the same as the greater of two options: nothing is less than 0.
    match (short, long) {
        (Some(short), Some(long)) => Some(short.max(long)),
        (one, other) => one.or(other),
    }
}

fn weight(stem: &str, key: u64, half: f32) -> f32 {
    let number = stem.chars().all(char::is_numeric);
    if number || LISTS.is_weak(key) { half } else { 1.0 }
}
