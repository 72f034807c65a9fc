//! Evidence: what a message and a skill's texts have in common, one number for each kind.

use crate::relevance::field::TextField;
use crate::relevance::message::{MAX_TERMS, MessageTerms};
use crate::relevance::profile::Profile;
use crate::relevance::programming::agreement;
use crate::relevance::sequence::{BREAK, EXCLUDED, key};

/// How many pairs of neighbouring words of a message are looked for.
pub(crate) const MAX_PAIRS: usize = 128;
/// Words are near each other if at most one less than so many are between them.
const NEAR: usize = 3;
/// The length of a passage, in words.
const PASSAGE: u32 = 12;

/// The evidence for one skill: how much a message and its texts have in common.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evidence {
    /// BM25 of the name with the description. Synonyms and guesses at misspelt words count half.
    pub short: f32,
    /// BM25 of these with the body.
    pub long: f32,
    /// BM25 of the name alone.
    pub name: f32,
    /// BM25 of the request, without what the message carries along, as a share of the most that it could be.
    pub request: f32,
    /// The share of the message's neighbouring words that are neighbours in the description or in the body.
    pub pairs: f32,
    /// The share that are near each other there, in any order.
    pub near: f32,
    /// The share of the message's code words that the body has.
    pub code_words: f32,
    /// How well one clause of the description fits: the cosine of its words and the message's, weighed by rarity.
    pub clause: f32,
    /// The share of the message's verbs that the description has.
    pub verbs: f32,
    /// The share of the message's triples of characters that the name and the description have.
    pub triples: f32,
    /// The share of the message that the best section of the body has.
    pub section: f32,
    /// The share of the message that the best twelve words of the body have.
    pub passage: f32,
    /// The share of the name, weighed by rarity, that the message has.
    pub named: f32,
    /// Whether the message has the name as written: with hyphens, or in quotation marks.
    pub mention: f32,
    /// The cosine of the message and the skill by a sentence model; 0 without one.
    pub meaning: f32,
    /// Whether the skill is for the programming language of the message: 1 if so, −1 if for others, 0 if either names none.
    pub language: f32,
    /// The share of the message that the texts have.
    pub coverage: f32,
    /// The rarity of the rarest word that the description shares with the message, in units of that of a word which one
    /// skill has.
    pub rarest: f32,
    /// The share of the message that the description excludes, and does not have otherwise; 1, if the message refuses
    /// what the skill is named after.
    pub excluded: f32,
    /// The number of different words that it shares with the message.
    pub shared: u32,
}

/// The buffers of a walk over texts.
#[derive(Debug, Default)]
pub(crate) struct EvidenceScratch {
    counts: Vec<u16>,
    seen: Vec<u32>,
    hits: Vec<(u32, u8)>,
    inside: Vec<u16>,
}

/// The terms of a text that a message has, as bits, and the pairs of them.
#[derive(Debug, Clone, Copy, Default)]
struct SharedTerms {
    terms: u128,
    /// The pairs of neighbours that are neighbours in the text, too.
    pairs: u128,
    /// The pairs that are near each other there.
    near: u128,
}

impl SharedTerms {
    fn add(&mut self, other: SharedTerms) {
        self.terms |= other.terms;
        self.pairs |= other.pairs;
        self.near |= other.near;
    }
}

impl MessageTerms {
    /// Returns the rarity of some terms together.
    fn weight(&self, mut terms: u128) -> f32 {
        let mut sum = 0.0;
        while terms != 0 {
            sum += self.terms[terms.trailing_zeros() as usize].idf;
            terms &= terms - 1;
        }
        sum
    }

    /// Walks over one part of a text. `hits` receives the places of the message's words.
    fn shared(&self, part: &[u32], counts: &mut [u16], hits: &mut Vec<(u32, u8)>) -> SharedTerms {
        hits.clear();
        let mut shared = SharedTerms::default();
        let mut before: [Option<u8>; NEAR] = [None; NEAR];
        let mut place = 0;
        for &number in part {
            let (key, compound) = key(number);
            let at = self.position(key);
            if let Some(at) = at {
                counts[usize::from(at)] = counts[usize::from(at)].saturating_add(1);
                shared.terms |= 1 << at;
            }
            if compound {
                continue;
            }
            place += 1;
            if let Some(at) = at {
                let own = &self.pairs_of[usize::from(at)];
                if let Some(last) = before[0] {
                    shared.pairs |= self.pairs_of[usize::from(last)].first & own.second;
                }
                for other in before.into_iter().flatten().filter(|other| *other != at) {
                    let other = &self.pairs_of[usize::from(other)];
                    shared.near |= (other.first | other.second) & (own.first | own.second);
                }
                hits.push((place, at));
            }
            before = [at, before[0], before[1]];
        }
        shared
    }

    /// Returns the highest rarity, together, of different terms in one passage of a part.
    fn best_passage(&self, hits: &[(u32, u8)], inside: &mut [u16]) -> f32 {
        let (mut best, mut sum): (f32, f32) = (0.0, 0.0);
        let mut from = 0;
        for (place, at) in hits {
            let count = &mut inside[usize::from(*at)];
            if *count == 0 {
                sum += self.terms[usize::from(*at)].idf;
            }
            *count += 1;
            while place - hits[from].0 >= PASSAGE {
                let gone = usize::from(hits[from].1);
                inside[gone] -= 1;
                if inside[gone] == 0 {
                    sum -= self.terms[gone].idf;
                }
                from += 1;
            }
            best = best.max(sum);
        }
        for (_, at) in &hits[from..] {
            inside[usize::from(*at)] = 0;
        }
        best
    }

    /// Returns the rarity of the different terms of a clause together.
    fn clause_weight(&self, clause: &[u32], rarity: &dyn Fn(u32) -> f32, seen: &mut Vec<u32>) -> f32 {
        seen.clear();
        let mut own = 0.0;
        for key in clause.iter().map(|number| key(*number).0) {
            if !seen.contains(&key) {
                seen.push(key);
                own += self.position(key).map_or_else(|| rarity(key), |at| self.terms[usize::from(at)].idf);
            }
        }
        own
    }

    /// Returns the cosine of a clause and the message, if it may be more than `least`: given the rarity of the terms that
    /// they share, and that of the clause, which is at least as much.
    fn cosine(&self, shared: f32, least: f32, own: impl FnOnce() -> f32) -> f32 {
        if shared <= least * least * self.total {
            return least;
        }
        shared / (own() * self.total).max(f32::MIN_POSITIVE).sqrt()
    }

    /// Returns whether the message refuses a word of the name, which is the first clause, and has none of the others; or
    /// whether the name has all words of a thing that it refuses.
    fn refuses(&self, clauses: &[u32]) -> bool {
        let name = || clauses.iter().take_while(|number| **number != BREAK).map(|number| key(*number).0);
        let is_whole = |words: &Vec<u32>| words.len() > 1 && words.iter().all(|word| name().any(|key| key == *word));
        !self.refused.is_empty()
            && name().any(|key| self.refused.contains(&key))
            && name().all(|key| self.position(key).is_none())
            || self.refused_names.iter().any(is_whole)
    }

    fn pair_share(&self, pairs: u128) -> f32 {
        let has = self.pairs.iter().enumerate().filter(|(at, _)| pairs >> at & 1 == 1);
        has.map(|(_, pair)| pair.2).sum::<f32>() / self.pair_total.max(f32::MIN_POSITIVE)
    }

    /// Returns what the message has in common with the texts of a profile. `field` and `document` are those of the whole
    /// text, `rarity` that of any term.
    pub(crate) fn evidence(
        &self,
        profile: &Profile,
        (field, document): (&TextField, usize),
        rarity: &dyn Fn(u32) -> f32,
        scratch: &mut EvidenceScratch,
    ) -> Evidence {
        let EvidenceScratch { counts, seen, hits, inside } = scratch;
        for numbers in [&mut *counts, &mut *inside] {
            numbers.clear();
            numbers.resize(MAX_TERMS, 0);
        }
        let mut evidence = Evidence::default();
        let total = self.total.max(f32::MIN_POSITIVE);
        let front = profile.front();
        let (positive, negative) =
            front.split_at(front.iter().position(|number| *number == EXCLUDED).unwrap_or(front.len()));
        let mut described = SharedTerms::default();
        for (number, clause) in positive.split(|number| *number == BREAK).enumerate() {
            let shared = self.shared(clause, counts, hits);
            described.add(shared);
            let weight = self.weight(shared.terms);
            let mut own = || self.clause_weight(clause, rarity, seen);
            if number == 0 && shared.terms != 0 {
                evidence.named = weight / own();
            }
            evidence.clause = evidence.clause.max(self.cosine(weight, evidence.clause, own));
        }
        evidence.language = agreement(self.languages, positive);
        let mut excluded = 0;
        for number in negative {
            excluded |= self.position(key(*number).0).map_or(0, |at| 1 << at);
        }
        evidence.excluded = self.weight(excluded & !described.terms) / total;
        if self.refuses(positive) {
            evidence.excluded = 1.0;
        }
        let mut body = SharedTerms::default();
        for section in profile.body().split(|number| *number == BREAK) {
            let shared = self.shared(section, counts, hits);
            body.add(shared);
            if shared.terms != 0 {
                evidence.section = evidence.section.max(self.weight(shared.terms) / total);
                evidence.passage = evidence.passage.max(self.best_passage(hits, inside) / total);
            }
        }
        evidence.pairs = self.pair_share(described.pairs | body.pairs);
        evidence.near = self.pair_share(described.near | body.near);
        evidence.coverage = self.weight(described.terms | body.terms) / total;
        evidence.shared = (described.terms | body.terms).count_ones();
        for (at, term) in self.terms.iter().enumerate() {
            if described.terms >> at & 1 == 1 {
                evidence.rarest = evidence.rarest.max(term.idf / self.unit);
                if term.verb {
                    evidence.verbs += term.idf / self.verb_total;
                }
            }
            if term.request && counts[at] > 0 {
                evidence.request += term.idf * field.saturation(document, f32::from(counts[at]));
            }
        }
        evidence.request /= self.request_total.max(f32::MIN_POSITIVE);
        if !self.code_words.is_empty() {
            let has = |word: &&u32| profile.code_words().binary_search(word).is_ok();
            evidence.code_words = self.code_words.iter().filter(has).count() as f32 / self.code_words.len() as f32;
        }
        evidence.triples = self.triple_share(profile.triples());
        evidence
    }
}

impl Evidence {
    /// Returns the highest of each kind of two.
    #[must_use]
    pub fn greatest(self, other: Evidence) -> Evidence {
        Evidence {
            short: self.short.max(other.short),
            long: self.long.max(other.long),
            name: self.name.max(other.name),
            clause: self.clause.max(other.clause),
            triples: self.triples.max(other.triples),
            section: self.section.max(other.section),
            passage: self.passage.max(other.passage),
            ..self
        }
    }
}
