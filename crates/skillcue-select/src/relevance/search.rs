//! The search: from a message to a ranking.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::Range;

use serde::Serialize;

use crate::relevance::bags::narrow;
use crate::relevance::confidence::{Evidence, LeadEvidence, MAX_ONE_WORD, of_lower};
use crate::relevance::field::{Postings, TextField};
use crate::relevance::index::TextIndex;
use crate::relevance::lookalikes::LookalikeScratch;
use crate::relevance::query::{Term, TextQuery};
use crate::relevance::rivals::{MIN_RIVAL_SHARE, MIN_RIVALS, RivalTable};
use crate::relevance::tokens::Tokenizer;
use crate::relevance::words::LISTS;

/// The runner-up is searched for among at least so many.
const MIN_RUNNERS: usize = MIN_RIVALS;
/// The share of the best score from which on a skill is as good as the best; and how many such there may be. Chosen on
/// `tests/labelled` as the share, of 0.85, 0.9, 0.95 and 0.98, that adds no false triggers there.
const MIN_EQUAL_SHARE: f32 = 0.98;
const MAX_EQUALS: usize = 3;
/// How many words are listed for a hit.
const MAX_WORDS: usize = 8;
/// With more skills than this, the postings of common words are not read completely.
pub(crate) const LARGE_INDEX: usize = 10_000;
/// In a large index, a word that more than one in so many skills have only adds to skills that a rarer word found.
const COMMON_SHARE: usize = 10;
/// In a large index, a synonym that more than one in so many skills have is left out: at half weight it distinguishes
/// few of them.
const COMMON_SYNONYM_SHARE: usize = 50;
/// In a large index, so many postings are read in a field, those of rare words first.
const MAX_POSTINGS_READ: usize = 300_000;

/// The skills whose texts fit a message, best first.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Ranking {
    /// The hits; equal ones are in the order of the catalog.
    pub hits: Vec<TextHit>,
}

/// A skill whose texts fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextHit {
    /// Its position in [`Catalog::all`](skillcue_catalog::Catalog::all).
    pub skill: usize,
    /// How well it fits. Comparable within one ranking only.
    pub score: f32,
    /// How likely it is to fit, from 0 to 1, by its own text alone: other skills, however good, do not lower it.
    pub confidence: f32,
    /// How likely it is to be the one that the message needs, from 0 to 1: this depends on its lead over the others.
    /// Falls from rank to rank; only the first's is fitted.
    pub certainty: f32,
    /// The words that count for it, strongest first: at most eight.
    pub words: Vec<TextWord>,
}

/// A word of a message that counts for a skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextWord {
    /// The word, as the message has it.
    pub text: String,
    /// The range of its first occurrence in the message, in bytes.
    pub span: Range<usize>,
    /// The term that the skill has: its stem, or that of a synonym or of a similar word.
    pub term: String,
    /// The amount that it adds to the score.
    pub weight: f32,
}

/// The postings of a query's term in one field, with their weight.
pub(crate) struct WeightedPostings<'a> {
    pub(crate) field: usize,
    term: &'a Term,
    /// The stem that is looked up: the term's own, or a synonym.
    stem: &'a str,
    pub(crate) postings: Postings<'a>,
    pub(crate) factor: f32,
    /// A synonym does not count where the term itself is.
    pub(crate) unless: Option<Postings<'a>>,
}

/// The scores of a document in the three fields.
#[derive(Debug, Clone, Copy, Default)]
struct DocumentScores {
    /// The number of the search that they belong to: so nothing need be cleared.
    search: u32,
    scores: [f32; 3],
    /// Its position among those that may be rivals; `NO_POSITION`, if it is not.
    position: u32,
}

/// The absence of a position.
const NO_POSITION: u32 = u32::MAX;

/// The buffers of searches. One for each thread, so that no thread waits.
#[derive(Debug, Default)]
struct SearchScratch {
    search: u32,
    slots: Vec<DocumentScores>,
    touched: Vec<u32>,
    tokenizer: Tokenizer,
    lookalikes: LookalikeScratch,
}

thread_local! {
    /// This thread's buffers. Taken out while in use: a search within a search, from `usable`, makes its own.
    static SCRATCH: Cell<Option<Box<SearchScratch>>> = const { Cell::new(None) };
}

impl TextIndex {
    /// Returns the skills that fit `message`, at most `limit`, and only those that are `usable`.
    ///
    /// Its time depends on the words that it searches for, not on the length of the message: 64 KiB and 64 words are
    /// read.
    pub fn search(&self, message: &str, limit: usize, usable: &dyn Fn(usize) -> bool) -> Ranking {
        if self.is_empty() || limit == 0 {
            return Ranking::default();
        }
        let mut scratch = SCRATCH.take().unwrap_or_default();
        let ranking = self.search_in(&mut scratch, message, limit, usable);
        SCRATCH.set(Some(scratch));
        ranking
    }

    /// Returns the words of a message that the description of a skill excludes, as in "Do not use for spreadsheets".
    pub fn excluded<'m>(&self, message: &'m str, skill: usize) -> Vec<&'m str> {
        let is_it = |other: &u32| usize::try_from(*other).is_ok_and(|other| other == skill);
        let Some(document) = self.skills.iter().position(is_it) else { return Vec::new() };
        let query = TextQuery::of(self, message, &mut Tokenizer::default(), &mut LookalikeScratch::default());
        let excluded = query.message.iter().filter(|term| self.excludes(document, term.key));
        excluded.filter_map(|term| message.get(term.span.clone())).collect()
    }

    fn search_in(
        &self,
        scratch: &mut SearchScratch,
        message: &str,
        limit: usize,
        usable: &dyn Fn(usize) -> bool,
    ) -> Ranking {
        let query = TextQuery::of(self, message, &mut scratch.tokenizer, &mut scratch.lookalikes);
        scratch.begin(self.len());
        let mut lists = Vec::new();
        for number in 0..3 {
            self.add_field_scores(scratch, &query, number, &mut lists);
        }
        let deviations = self.deviations(scratch);
        let best = self.best(scratch, deviations, limit.max(MIN_RUNNERS), usable);
        let Some(&(top, first)) = best.first() else { return Ranking::default() };
        let lead = self.lead(scratch, &best);
        let least = best.get(limit - 1).or(best.last()).map_or(0.0, |(score, _)| MIN_RIVAL_SHARE * score);
        let rivals = self.rivals(scratch, deviations, &best, least, usable);
        let rival_table = RivalTable::of(self, &lists, &rivals, |document| scratch.position(document));
        let unit = self.unit();
        let mass: f64 = query.message.iter().map(|term| self.value(term)).sum();
        let length = query.message.iter().map(|term| f64::from(term.weight)).sum();
        let mut most: f32 = 1.0;
        let mut hits: Vec<TextHit> = Vec::with_capacity(limit.min(best.len()));
        for (at, &(score, document)) in best.iter().enumerate().take(limit) {
            let words = self.words(message, &lists, deviations, document);
            let excluded = query.message.iter().filter(|term| self.excludes(document, term.key));
            let excluded: f64 = excluded.map(|term| self.value(term)).sum();
            if document == first && words.len() < 2 {
                // Where only one word counts for the first, no lower one is more certain.
                most = MAX_ONE_WORD;
            }
            let sure = LeadEvidence { lead, mass, excluded, unit }.certainty();
            let sure = sure.min(if words.len() < 2 { MAX_ONE_WORD } else { most });
            let certainty = if document == first { sure } else { of_lower(sure, score / top) };
            let excluded = if mass > 0.0 { excluded / mass } else { 0.0 };
            let own = Evidence { has: rival_table.evidence(at), length, excluded }.confidence();
            let confidence = own.min(if words.len() < 2 { MAX_ONE_WORD } else { 1.0 });
            // A skill that excludes the subject is not the one that is needed, however far ahead its words are.
            let certainty = match excluded {
                0.5.. => 0.0,
                0.0 => certainty,
                _ => certainty.min(confidence),
            };
            hits.push(TextHit { skill: self.skills[document] as usize, score, confidence, certainty, words });
        }
        // A skill that excludes the message's subject ranks below those that do not.
        hits.sort_by(|a, b| b.certainty.total_cmp(&a.certainty));
        Ranking { hits }
    }

    pub(crate) fn field(&self, number: usize) -> Option<&TextField> {
        [Some(&self.short), self.long.as_ref(), Some(&self.name)][number]
    }

    /// Adds up the scores of every document in a field.
    fn add_field_scores<'a>(
        &'a self,
        scratch: &mut SearchScratch,
        query: &'a TextQuery,
        number: usize,
        lists: &mut Vec<WeightedPostings<'a>>,
    ) {
        let Some(field) = self.field(number) else { return };
        let large = self.len() > LARGE_INDEX;
        let from = lists.len();
        for term in &query.terms {
            self.add_lists(field, number, query, term, lists);
        }
        let mut budget = usize::MAX;
        if large {
            // Rare ones first: they find documents, the others only add to them.
            lists[from..].sort_by_key(|list| list.postings.len());
            budget = MAX_POSTINGS_READ;
        }
        for at in from..lists.len() {
            let list = &lists[at];
            let size = list.postings.len();
            // The rarest is read in any case: otherwise a message of one frequent word would find nothing.
            if size > budget && at > from {
                lists.truncate(at);
                break;
            }
            budget = budget.saturating_sub(size);
            let finds = !large || size <= self.len() / COMMON_SHARE || scratch.touched.is_empty();
            let impacts = field.impacts(list.postings);
            match list.unless {
                None if finds => impacts.for_each(|(document, impact)| {
                    scratch.touch(document).scores[number] += list.factor * impact;
                }),
                None => impacts.for_each(|(document, impact)| scratch.add(document, number, list.factor * impact)),
                Some(unless) => {
                    let mut having = unless.documents().peekable();
                    for (document, impact) in impacts {
                        while having.next_if(|having| *having < document).is_some() {}
                        if having.peek() == Some(&document) {
                        } else if finds {
                            scratch.touch(document).scores[number] += list.factor * impact;
                        } else {
                            scratch.add(document, number, list.factor * impact);
                        }
                    }
                }
            }
        }
    }

    /// Adds the postings of a term in a field, and those of its synonyms.
    fn add_lists<'a>(
        &self,
        field: &'a TextField,
        number: usize,
        query: &TextQuery,
        term: &'a Term,
        lists: &mut Vec<WeightedPostings<'a>>,
    ) {
        let is_long = number == 1;
        let key_in = |key: u64| if is_long { narrow(key) } else { key };
        let own = field.postings(key_in(term.key));
        if let Some(postings) = own {
            lists.push(WeightedPostings {
                field: number,
                term,
                stem: &term.stem,
                postings,
                factor: term.weight,
                unless: None,
            });
        }
        for synonym in LISTS.synonyms(term.key) {
            if query.terms.iter().any(|term| term.key == synonym.key) {
                continue;
            }
            let Some(postings) = field.postings(key_in(synonym.key)) else { continue };
            if self.len() > LARGE_INDEX && postings.len() > self.len() / COMMON_SYNONYM_SHARE {
                continue;
            }
            // A rare synonym of a common word has no higher weight than the word.
            let rarity = own.map_or(1.0, |own| (own.idf / postings.idf).min(1.0));
            let factor = self.tuning.half * term.weight * rarity;
            lists.push(WeightedPostings { field: number, term, stem: &synonym.stem, postings, factor, unless: own });
        }
    }

    /// Returns the standard deviation of the scores of each field, over all documents.
    fn deviations(&self, scratch: &SearchScratch) -> [f32; 3] {
        let mut sums = [[0.0f64; 3]; 2];
        let mut greatest = [0.0f32; 3];
        for document in &scratch.touched {
            for (number, score) in scratch.slots[*document as usize].scores.into_iter().enumerate() {
                sums[0][number] += f64::from(score);
                sums[1][number] += f64::from(score) * f64::from(score);
                greatest[number] = greatest[number].max(score);
            }
        }
        let count = self.len() as f64;
        let mut deviations = [0, 1, 2].map(|number| {
            let mean = sums[0][number] / count;
            let variance = sums[1][number] / count - mean * mean;
            if variance > 1e-12 {
                variance.sqrt() as f32
            } else if greatest[number] > 0.0 {
                greatest[number]
            } else {
                1.0
            }
        });
        if self.long.is_none() {
            deviations[1] = deviations[0];
        }
        deviations
    }

    /// Returns the three scores of a document. Without bodies, the long text is the short one.
    fn scores(&self, scratch: &SearchScratch, document: usize) -> [f32; 3] {
        let [short, long, name] = scratch.slots[document].scores;
        [short, if self.long.is_some() { long } else { short }, name]
    }

    fn total(&self, scratch: &SearchScratch, deviations: [f32; 3], document: usize) -> f32 {
        let [short, long, name] = self.scores(scratch, document);
        short / deviations[0] + long / deviations[1] + self.tuning.name * name / deviations[2]
    }

    /// Returns the best, and after them all others that score at least `least`, best first. Stores the position of
    /// each.
    fn rivals(
        &self,
        scratch: &mut SearchScratch,
        deviations: [f32; 3],
        best: &[(f32, usize)],
        least: f32,
        usable: &dyn Fn(usize) -> bool,
    ) -> Vec<(f32, usize)> {
        let mut rivals = best.to_vec();
        scratch.store_positions(&rivals);
        // With fewer than requested, these are all.
        if best.len() >= MIN_RUNNERS {
            for document in scratch.touched.iter().map(|document| *document as usize) {
                let score = self.total(scratch, deviations, document);
                let is_new = score >= least && score > 0.0 && scratch.position(document).is_none();
                if is_new && usable(self.skills[document] as usize) {
                    rivals.push((score, document));
                }
            }
            rivals[best.len()..].sort_unstable_by(by_score);
            scratch.store_positions(&rivals);
        }
        rivals
    }

    /// Returns the documents with the highest scores, best first.
    fn best(
        &self,
        scratch: &SearchScratch,
        deviations: [f32; 3],
        count: usize,
        usable: &dyn Fn(usize) -> bool,
    ) -> Vec<(f32, usize)> {
        let mut best: Vec<(f32, usize)> = Vec::new();
        let mut last: Option<(f32, usize)> = None;
        for document in scratch.touched.iter().map(|document| *document as usize) {
            let one = (self.total(scratch, deviations, document), document);
            let beaten = last.is_some_and(|last| by_score(&last, &one) == Ordering::Less);
            if one.0 <= 0.0 || beaten || !usable(self.skills[document] as usize) {
                continue;
            }
            best.push(one);
            // Half of them go at once, so that each costs little however many are wanted.
            if best.len() >= count.saturating_mul(2) {
                best.select_nth_unstable_by(count - 1, by_score);
                best.truncate(count);
                last = best.last().copied();
            }
        }
        best.sort_unstable_by(by_score);
        best.truncate(count);
        best
    }

    /// Returns how far the best are ahead of the rest: the raw score of the first less that of the next skill of
    /// another name that is not as good. Two or three skills that fit equally well do not count against each other; if
    /// many do, the message is not about one of them.
    fn lead(&self, scratch: &SearchScratch, best: &[(f32, usize)]) -> f64 {
        let raw = |document: usize| {
            let [short, long, _] = self.scores(scratch, document);
            f64::from(short) + f64::from(long)
        };
        let Some(&(top, first)) = best.first() else { return 0.0 };
        // A copy of the first is not a rival: whichever is taken, it is the right one.
        let mut names = vec![self.names[first]];
        for &(score, document) in &best[1..] {
            let name = self.names[document];
            if names.contains(&name) {
                continue;
            }
            if names.len() == MAX_EQUALS || score < MIN_EQUAL_SHARE * top {
                return raw(first) - raw(document);
            }
            names.push(name);
        }
        raw(first)
    }

    /// Returns the value of a word that no skill has.
    fn unit(&self) -> f64 {
        (2.0 * self.len() as f64 + 2.0).ln()
    }

    fn value(&self, term: &Term) -> f64 {
        f64::from(term.weight) * self.short.idf(term.key).map_or(self.unit(), f64::from)
    }

    /// Returns the words of the message that count for a document.
    fn words(
        &self,
        message: &str,
        lists: &[WeightedPostings<'_>],
        deviations: [f32; 3],
        document: usize,
    ) -> Vec<TextWord> {
        let both = if self.long.is_some() { 1.0 } else { 2.0 };
        let scale = [both / deviations[0], 1.0 / deviations[1], self.tuning.name / deviations[2]];
        // Each word with all that it adds, and the stem that adds most.
        let mut words: Vec<(&Term, &str, f32, f32)> = Vec::new();
        for list in lists {
            let Some(field) = self.field(list.field) else { continue };
            let Some(impact) = field.impact_on(list.postings, document) else { continue };
            if list.unless.is_some_and(|unless| field.impact_on(unless, document).is_some()) {
                continue;
            }
            let weight = scale[list.field] * list.factor * impact;
            match words.iter_mut().find(|word| word.0.span == list.term.span) {
                Some((_, stem, most, sum)) => {
                    *sum += weight;
                    if weight > *most {
                        (*stem, *most) = (list.stem, weight);
                    }
                }
                None => words.push((list.term, list.stem, weight, weight)),
            }
        }
        words.sort_by(|a, b| b.3.total_cmp(&a.3).then(a.0.span.start.cmp(&b.0.span.start)));
        words.truncate(MAX_WORDS);
        let word = |(term, stem, _, weight): (&Term, &str, f32, f32)| {
            let span = term.span.clone();
            TextWord { text: message[span.clone()].to_owned(), span, term: stem.to_owned(), weight }
        };
        words.into_iter().map(word).collect()
    }
}

/// Orders by score, the higher first, and of equals the one that is first in the index.
fn by_score(a: &(f32, usize), b: &(f32, usize)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

impl SearchScratch {
    /// Starts a new search.
    fn begin(&mut self, documents: usize) {
        self.touched.clear();
        if self.slots.len() < documents {
            self.slots.resize(documents, DocumentScores::default());
        }
        self.search = self.search.wrapping_add(1);
        if self.search == 0 {
            self.slots.fill(DocumentScores::default());
            self.search = 1;
        }
    }

    /// Returns a document's scores, which are of this search from now on.
    fn touch(&mut self, document: usize) -> &mut DocumentScores {
        let slot = &mut self.slots[document];
        if slot.search != self.search {
            *slot = DocumentScores { search: self.search, scores: [0.0; 3], position: NO_POSITION };
            self.touched.push(u32::try_from(document).unwrap_or(u32::MAX));
        }
        slot
    }

    /// Stores the positions of documents among those that may be rivals.
    fn store_positions(&mut self, documents: &[(f32, usize)]) {
        for (position, (_, document)) in (0..).zip(documents) {
            self.slots[*document].position = position;
        }
    }

    /// Returns the position of a document among those that may be rivals.
    fn position(&self, document: usize) -> Option<usize> {
        let slot = self.slots.get(document)?;
        (slot.search == self.search && slot.position != NO_POSITION).then_some(slot.position as usize)
    }

    /// Adds to the score of a document that was found already.
    fn add(&mut self, document: usize, number: usize, score: f32) {
        let slot = &mut self.slots[document];
        if slot.search == self.search {
            slot.scores[number] += score;
        }
    }
}
