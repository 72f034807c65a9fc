//! From a message to a ranking.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::Range;

use serde::Serialize;

use crate::relevance::apart::{Apart, NEAREST, NEARLY};
use crate::relevance::bags::narrow;
use crate::relevance::confidence::{Evidence, ONE_WORD, Standing, of_lower};
use crate::relevance::field::{Field, Postings};
use crate::relevance::fuzzy::Room;
use crate::relevance::index::TextIndex;
use crate::relevance::query::{Query, Term};
use crate::relevance::tokens::Tokenizer;
use crate::relevance::words::LISTS;

/// The runner-up is looked for among at least so many.
const RUNNERS: usize = NEAREST;
/// From which share of the best score on a skill is as good as the best; and how many such there may be. Chosen on
/// `tests/labelled` as the share, of 0.85, 0.9, 0.95 and 0.98, that adds no false triggers there.
const EQUAL: f32 = 0.98;
const MAX_EQUALS: usize = 3;
/// How many words are named for a hit.
const WORDS: usize = 8;
/// With more skills than this, words that many have are not followed everywhere.
pub(crate) const LARGE: usize = 10_000;
/// Then: a word that more than one in so many skills have only adds to skills that a rarer word found.
const COMMON: usize = 10;
/// And a synonym that more than one in so many skills have is left out: at half weight it tells few of them apart.
const COMMON_SYNONYM: usize = 50;
/// And so many postings are read in a field, those of rare words first.
const BUDGET: usize = 300_000;

/// The skills whose texts fit a message, best first.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Ranking {
    /// Equal ones stand in the order of the catalog.
    pub hits: Vec<TextHit>,
}

/// A skill whose texts fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextHit {
    /// Where it stands in [`Catalog::all`](skillcue_catalog::Catalog::all).
    pub skill: usize,
    /// How well it fits. Comparable within one ranking only.
    pub score: f32,
    /// How likely it is to fit, from 0 to 1, by what its own text has of the message: other skills, however good, do not
    /// lower it.
    pub confidence: f32,
    /// How likely it is to be the one that the message needs, from 0 to 1: this depends on its lead over the others. Falls
    /// from rank to rank; only the first's is fitted.
    pub certainty: f32,
    /// The words that speak for it, strongest first: at most eight.
    pub words: Vec<TextWord>,
}

/// A word of a message that speaks for a skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextWord {
    /// The word, as the message has it.
    pub text: String,
    /// Where in the message it first stands, in bytes.
    pub span: Range<usize>,
    /// What the skill has of it: its stem, or that of a synonym or of a word that looks like it.
    pub term: String,
    /// What it adds to the score.
    pub weight: f32,
}

/// One list of postings to follow.
pub(crate) struct Lead<'a> {
    pub(crate) field: usize,
    term: &'a Term,
    /// What is looked up: the term's stem, or a synonym.
    stem: &'a str,
    pub(crate) postings: Postings<'a>,
    pub(crate) factor: f32,
    /// A synonym does not count where the term itself is.
    pub(crate) unless: Option<Postings<'a>>,
}

/// What a document has in the three fields.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// In which search that was: so nothing need be cleared.
    search: u32,
    scores: [f32; 3],
    /// Where it is among those that may be rivals; `NOWHERE`, if it is not.
    place: u32,
}

/// No place.
const NOWHERE: u32 = u32::MAX;

/// What searches need room for. One for each thread, so that nobody waits.
#[derive(Debug, Default)]
struct Scratch {
    search: u32,
    slots: Vec<Slot>,
    touched: Vec<u32>,
    tokenizer: Tokenizer,
    room: Room,
}

thread_local! {
    /// Taken out while in use: a search within a search, from `usable`, makes its own.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl TextIndex {
    /// The skills that fit `message`, at most `limit`, and only those that are `usable`.
    ///
    /// Takes time by the words that it looks for, not by the length of the message: 64 KiB and 64 words are read.
    pub fn search(&self, message: &str, limit: usize, usable: &dyn Fn(usize) -> bool) -> Ranking {
        if self.is_empty() || limit == 0 {
            return Ranking::default();
        }
        let mut scratch = SCRATCH.take().unwrap_or_default();
        let ranking = self.search_in(&mut scratch, message, limit, usable);
        SCRATCH.set(Some(scratch));
        ranking
    }

    /// The words of a message that the description of a skill excludes, as in "Do not use for spreadsheets".
    pub fn excluded<'m>(&self, message: &'m str, skill: usize) -> Vec<&'m str> {
        let is_it = |other: &u32| usize::try_from(*other).is_ok_and(|other| other == skill);
        let Some(document) = self.skills.iter().position(is_it) else { return Vec::new() };
        let query = Query::of(self, message, &mut Tokenizer::default(), &mut Room::default());
        let excluded = query.message.iter().filter(|term| self.excludes(document, term.key));
        excluded.filter_map(|term| message.get(term.span.clone())).collect()
    }

    fn search_in(&self, scratch: &mut Scratch, message: &str, limit: usize, usable: &dyn Fn(usize) -> bool) -> Ranking {
        let query = Query::of(self, message, &mut scratch.tokenizer, &mut scratch.room);
        scratch.begin(self.len());
        let mut leads = Vec::new();
        for number in 0..3 {
            self.follow(scratch, &query, number, &mut leads);
        }
        let widths = self.widths(scratch);
        let best = self.best(scratch, widths, limit.max(RUNNERS), usable);
        let Some(&(top, first)) = best.first() else { return Ranking::default() };
        let lead = self.lead(scratch, &best);
        let least = best.get(limit - 1).or(best.last()).map_or(0.0, |(score, _)| NEARLY * score);
        let rivals = self.rivals(scratch, widths, &best, least, usable);
        let apart = Apart::of(self, &leads, &rivals, |document| scratch.place(document));
        let unit = self.unit();
        let mass: f64 = query.message.iter().map(|term| self.worth(term)).sum();
        let length = query.message.iter().map(|term| f64::from(term.weight)).sum();
        let mut most: f32 = 1.0;
        let mut hits: Vec<TextHit> = Vec::with_capacity(limit.min(best.len()));
        for (at, &(score, document)) in best.iter().enumerate().take(limit) {
            let words = self.words(message, &leads, widths, document);
            let excluded = query.message.iter().filter(|term| self.excludes(document, term.key));
            let excluded: f64 = excluded.map(|term| self.worth(term)).sum();
            if document == first && words.len() < 2 {
                // Where one word is all that speaks for the first, no lower one is surer.
                most = ONE_WORD;
            }
            let sure = Standing { lead, mass, excluded, unit }.certainty();
            let sure = sure.min(if words.len() < 2 { ONE_WORD } else { most });
            let certainty = if document == first { sure } else { of_lower(sure, score / top) };
            let excluded = if mass > 0.0 { excluded / mass } else { 0.0 };
            let own = Evidence { has: apart.evidence(at), length, excluded }.confidence();
            let confidence = own.min(if words.len() < 2 { ONE_WORD } else { 1.0 });
            // A skill that says it is not for this is not the one that is needed, however far ahead its words are.
            let certainty = match excluded {
                0.5.. => 0.0,
                0.0 => certainty,
                _ => certainty.min(confidence),
            };
            hits.push(TextHit { skill: self.skills[document] as usize, score, confidence, certainty, words });
        }
        // One that excludes what the message speaks of goes below those that do not.
        hits.sort_by(|a, b| b.certainty.total_cmp(&a.certainty));
        Ranking { hits }
    }

    pub(crate) fn field(&self, number: usize) -> Option<&Field> {
        [Some(&self.short), self.long.as_ref(), Some(&self.name)][number]
    }

    /// Adds up what every document has in a field.
    fn follow<'a>(&'a self, scratch: &mut Scratch, query: &'a Query, number: usize, leads: &mut Vec<Lead<'a>>) {
        let Some(field) = self.field(number) else { return };
        let large = self.len() > LARGE;
        let from = leads.len();
        for term in &query.terms {
            self.leads(field, number, query, term, leads);
        }
        let mut budget = usize::MAX;
        if large {
            // Rare ones first: they find, the others only add.
            leads[from..].sort_by_key(|lead| lead.postings.len());
            budget = BUDGET;
        }
        for at in from..leads.len() {
            let lead = &leads[at];
            let size = lead.postings.len();
            // The rarest is followed in any case: or a message of one frequent word would find nothing.
            if size > budget && at > from {
                leads.truncate(at);
                break;
            }
            budget = budget.saturating_sub(size);
            let finds = !large || size <= self.len() / COMMON || scratch.touched.is_empty();
            let impacts = field.impacts(lead.postings);
            match lead.unless {
                None if finds => impacts.for_each(|(document, impact)| {
                    scratch.touch(document).scores[number] += lead.factor * impact;
                }),
                None => impacts.for_each(|(document, impact)| scratch.add(document, number, lead.factor * impact)),
                Some(unless) => {
                    let mut having = unless.documents().peekable();
                    for (document, impact) in impacts {
                        while having.next_if(|having| *having < document).is_some() {}
                        if having.peek() == Some(&document) {
                        } else if finds {
                            scratch.touch(document).scores[number] += lead.factor * impact;
                        } else {
                            scratch.add(document, number, lead.factor * impact);
                        }
                    }
                }
            }
        }
    }

    /// The postings of a term in a field, and those of its synonyms.
    fn leads<'a>(&self, field: &'a Field, number: usize, query: &Query, term: &'a Term, leads: &mut Vec<Lead<'a>>) {
        let is_long = number == 1;
        let key_in = |key: u64| if is_long { narrow(key) } else { key };
        let own = field.postings(key_in(term.key));
        if let Some(postings) = own {
            leads.push(Lead { field: number, term, stem: &term.stem, postings, factor: term.weight, unless: None });
        }
        for synonym in LISTS.synonyms(term.key) {
            if query.terms.iter().any(|term| term.key == synonym.key) {
                continue;
            }
            let Some(postings) = field.postings(key_in(synonym.key)) else { continue };
            if self.len() > LARGE && postings.len() > self.len() / COMMON_SYNONYM {
                continue;
            }
            // A rare synonym of a common word is worth no more than the word.
            let rarity = own.map_or(1.0, |own| (own.idf / postings.idf).min(1.0));
            let factor = self.tuning.half * term.weight * rarity;
            leads.push(Lead { field: number, term, stem: &synonym.stem, postings, factor, unless: own });
        }
    }

    /// How widely the scores of each field lie apart: the standard deviation over all documents.
    fn widths(&self, scratch: &Scratch) -> [f32; 3] {
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
        let mut widths = [0, 1, 2].map(|number| {
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
            widths[1] = widths[0];
        }
        widths
    }

    /// The three scores of a document. Without bodies, the long text is the short one.
    fn scores(&self, scratch: &Scratch, document: usize) -> [f32; 3] {
        let [short, long, name] = scratch.slots[document].scores;
        [short, if self.long.is_some() { long } else { short }, name]
    }

    fn total(&self, scratch: &Scratch, widths: [f32; 3], document: usize) -> f32 {
        let [short, long, name] = self.scores(scratch, document);
        short / widths[0] + long / widths[1] + self.tuning.name * name / widths[2]
    }

    /// The best, and after them all others that score at least `least`, best first. Notes where each is.
    fn rivals(
        &self,
        scratch: &mut Scratch,
        widths: [f32; 3],
        best: &[(f32, usize)],
        least: f32,
        usable: &dyn Fn(usize) -> bool,
    ) -> Vec<(f32, usize)> {
        let mut rivals = best.to_vec();
        scratch.note_places(&rivals);
        // With fewer than were asked for, these are all.
        if best.len() >= RUNNERS {
            for document in scratch.touched.iter().map(|document| *document as usize) {
                let score = self.total(scratch, widths, document);
                let is_new = score >= least && score > 0.0 && scratch.place(document).is_none();
                if is_new && usable(self.skills[document] as usize) {
                    rivals.push((score, document));
                }
            }
            rivals[best.len()..].sort_unstable_by(by_score);
            scratch.note_places(&rivals);
        }
        rivals
    }

    /// The documents with the highest scores, best first.
    fn best(
        &self,
        scratch: &Scratch,
        widths: [f32; 3],
        count: usize,
        usable: &dyn Fn(usize) -> bool,
    ) -> Vec<(f32, usize)> {
        let mut best: Vec<(f32, usize)> = Vec::new();
        let mut last: Option<(f32, usize)> = None;
        for document in scratch.touched.iter().map(|document| *document as usize) {
            let one = (self.total(scratch, widths, document), document);
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

    /// How far the best are ahead of the rest: the raw score of the first less that of the next skill of another name that
    /// is not as good. Two or three skills that fit equally well say nothing against each other; that many do says that
    /// the message is not about one of them.
    fn lead(&self, scratch: &Scratch, best: &[(f32, usize)]) -> f64 {
        let raw = |document: usize| {
            let [short, long, _] = self.scores(scratch, document);
            f64::from(short) + f64::from(long)
        };
        let Some(&(top, first)) = best.first() else { return 0.0 };
        // A copy of the first is no rival: whichever is taken, it is the right one.
        let mut names = vec![self.names[first]];
        for &(score, document) in &best[1..] {
            let name = self.names[document];
            if names.contains(&name) {
                continue;
            }
            if names.len() == MAX_EQUALS || score < EQUAL * top {
                return raw(first) - raw(document);
            }
            names.push(name);
        }
        raw(first)
    }

    /// What a word is worth that no skill has.
    fn unit(&self) -> f64 {
        (2.0 * self.len() as f64 + 2.0).ln()
    }

    fn worth(&self, term: &Term) -> f64 {
        f64::from(term.weight) * self.short.idf(term.key).map_or(self.unit(), f64::from)
    }

    /// The words of the message that speak for a document.
    fn words(&self, message: &str, leads: &[Lead<'_>], widths: [f32; 3], document: usize) -> Vec<TextWord> {
        let both = if self.long.is_some() { 1.0 } else { 2.0 };
        let scale = [both / widths[0], 1.0 / widths[1], self.tuning.name / widths[2]];
        // Each word with all that it adds, and the stem that adds most.
        let mut words: Vec<(&Term, &str, f32, f32)> = Vec::new();
        for lead in leads {
            let Some(field) = self.field(lead.field) else { continue };
            let Some(impact) = field.impact_on(lead.postings, document) else { continue };
            if lead.unless.is_some_and(|unless| field.impact_on(unless, document).is_some()) {
                continue;
            }
            let weight = scale[lead.field] * lead.factor * impact;
            match words.iter_mut().find(|word| word.0.span == lead.term.span) {
                Some((_, stem, most, sum)) => {
                    *sum += weight;
                    if weight > *most {
                        (*stem, *most) = (lead.stem, weight);
                    }
                }
                None => words.push((lead.term, lead.stem, weight, weight)),
            }
        }
        words.sort_by(|a, b| b.3.total_cmp(&a.3).then(a.0.span.start.cmp(&b.0.span.start)));
        words.truncate(WORDS);
        let word = |(term, stem, _, weight): (&Term, &str, f32, f32)| {
            let span = term.span.clone();
            TextWord { text: message[span.clone()].to_owned(), span, term: stem.to_owned(), weight }
        };
        words.into_iter().map(word).collect()
    }
}

/// The higher score first, and of equals the one that is first in the index.
fn by_score(a: &(f32, usize), b: &(f32, usize)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

impl Scratch {
    /// Forgets the last search.
    fn begin(&mut self, documents: usize) {
        self.touched.clear();
        if self.slots.len() < documents {
            self.slots.resize(documents, Slot::default());
        }
        self.search = self.search.wrapping_add(1);
        if self.search == 0 {
            self.slots.fill(Slot::default());
            self.search = 1;
        }
    }

    /// A document's slot, found by this search from now on.
    fn touch(&mut self, document: usize) -> &mut Slot {
        let slot = &mut self.slots[document];
        if slot.search != self.search {
            *slot = Slot { search: self.search, scores: [0.0; 3], place: NOWHERE };
            self.touched.push(u32::try_from(document).unwrap_or(u32::MAX));
        }
        slot
    }

    /// Notes where documents are among those that may be rivals.
    fn note_places(&mut self, documents: &[(f32, usize)]) {
        for (place, (_, document)) in (0..).zip(documents) {
            self.slots[*document].place = place;
        }
    }

    /// Where a document is among them.
    fn place(&self, document: usize) -> Option<usize> {
        let slot = self.slots.get(document)?;
        (slot.search == self.search && slot.place != NOWHERE).then_some(slot.place as usize)
    }

    /// Adds to a document that was found already.
    fn add(&mut self, document: usize, number: usize, score: f32) {
        let slot = &mut self.slots[document];
        if slot.search == self.search {
            slot.scores[number] += score;
        }
    }
}
