//! The search: from a message to a ranking.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use crate::relevance::acts::is_reply;
use crate::relevance::evidence::{Evidence, EvidenceScratch};
use crate::relevance::field::{Postings, TextField};
use crate::relevance::fusion::{
    self, FusionWeights, MAX_NAMED, MAX_ONE_WORD, MessageFacts, RANK_PARTS, gate_values, naming_values, probability,
};
use crate::relevance::index::TextIndex;
use crate::relevance::lookalikes::LookalikeScratch;
use crate::relevance::message::{MAX_MESSAGE, MessageTerms, Rarities};
use crate::relevance::query::{HALF, Term, TextQuery};
use crate::relevance::ranking::{EvidencePart, RankCandidate, Ranking, SearchContext, TextHit, TextWord};
use crate::relevance::refusal::{Refusals, refused};
use crate::relevance::sequence::{self, BREAK, EXCLUDED};
use crate::relevance::tokens::{Tokenizer, head};
use crate::relevance::top::TopDocuments;
use crate::relevance::word_vectors::{cosine, text_vector};
use crate::relevance::words::LISTS;

/// How many skills are weighed, of the best by name and description and of the best by the whole text.
const CANDIDATES: usize = 30;
/// The share of a message from which on a description excludes it, and how far that takes it back.
const MOSTLY: f32 = 0.5;
const EXCLUDED_SCORE: f32 = 20.0;
/// The share of a rank's certainty that the next one has at most.
const LOWER_RANK: f32 = 0.995;
/// How many words are listed for a hit.
const MAX_WORDS: usize = 8;
/// With more skills than this, the postings of common words are not read completely.
pub(crate) const LARGE_INDEX: usize = 10_000;
/// In a large index, a word that more than one in so many skills have only adds to skills that a rarer word found.
const COMMON_SHARE: usize = 10;
/// In a large index, a synonym that more than one in so many skills have is left out: at half weight it distinguishes
/// few of them.
const COMMON_SYNONYM_SHARE: usize = 50;
/// How many rarities are kept while a message is searched for.
const KNOWN_RARITIES: usize = 1024;
/// In a large index, so many postings are read in a field, those of rare words first.
const MAX_POSTINGS_READ: usize = 240_000;

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
}

/// The buffers of searches. One for each thread, so that no thread waits.
#[derive(Debug, Default)]
struct SearchScratch {
    search: u32,
    slots: Vec<DocumentScores>,
    touched: Vec<u32>,
    tokenizer: Tokenizer,
    lookalikes: LookalikeScratch,
    evidence: EvidenceScratch,
}

thread_local! {
    /// This thread's buffers. Taken out while in use: a search within a search, from `usable`, makes its own.
    static SCRATCH: Cell<Option<Box<SearchScratch>>> = const { Cell::new(None) };
}

impl SearchContext<'_> {
    /// Returns the parts of a message that are refused.
    fn refused(&self, message: &str) -> Cow<'_, Refusals> {
        self.refused.map_or_else(|| Cow::Owned(refused(head(message, MAX_MESSAGE))), Cow::Borrowed)
    }
}

impl TextIndex {
    /// Returns the skills that fit `message`, at most `limit`, and only those that are `usable`.
    ///
    /// Its time depends on the words that it searches for, not on the length of the message: 64 KiB and 64 words are
    /// read.
    pub fn search(&self, message: &str, limit: usize, usable: &dyn Fn(usize) -> bool) -> Ranking {
        self.search_with(message, limit, &SearchContext { usable, ..SearchContext::default() })
    }

    /// Like [`search`](TextIndex::search), with more that is known about skills.
    pub fn search_with(&self, message: &str, limit: usize, context: &SearchContext<'_>) -> Ranking {
        if self.is_empty() || limit == 0 || is_reply(message) {
            return Ranking::default();
        }
        let mut scratch = SCRATCH.take().unwrap_or_default();
        let ranking = self.search_in(&mut scratch, message, limit, context);
        SCRATCH.set(Some(scratch));
        ranking
    }

    /// Returns the candidates for a message with all evidence, and the facts of the message: what weights are fitted on.
    pub fn candidates(&self, message: &str, context: &SearchContext<'_>) -> (Vec<RankCandidate>, MessageFacts) {
        let mut scratch = SCRATCH.take().unwrap_or_default();
        let refused = context.refused(message);
        let query = TextQuery::of(self, message, &refused, &mut scratch.tokenizer, &mut scratch.lookalikes);
        let mut lists = Vec::new();
        let found = self.weigh(&mut scratch, (message, &refused), &query, &mut lists, CANDIDATES, context);
        SCRATCH.set(Some(scratch));
        let candidate =
            |(document, evidence): (usize, Evidence)| RankCandidate { skill: self.skill(document), evidence };
        (found.0.into_iter().map(candidate).collect(), found.1)
    }

    /// Returns the words of a message that the description of a skill excludes, as in "Do not use for spreadsheets".
    pub fn excluded<'m>(&self, message: &'m str, skill: usize) -> Vec<&'m str> {
        let is_it = |other: &u32| usize::try_from(*other).is_ok_and(|other| other == skill);
        let Some(document) = self.skills.iter().position(is_it) else { return Vec::new() };
        let query = TextQuery::of(
            self,
            message,
            &refused(head(message, MAX_MESSAGE)),
            &mut Tokenizer::default(),
            &mut LookalikeScratch::default(),
        );
        let profile = self.profiles.get(document);
        let mut parts = profile.front().split(|number| *number == EXCLUDED);
        let has = |part: &[u32], key: u32| part.iter().any(|number| sequence::key(*number).0 == key);
        let (own, not) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let excluded = query.message.iter().filter(|term| has(not, term.key) && !has(own, term.key));
        excluded.filter_map(|term| message.get(term.span.clone())).collect()
    }

    /// Returns the words of the name or the description of a skill that a message says not to use, as in "no PDF please".
    pub fn refused<'m>(&self, message: &'m str, skill: usize) -> Vec<&'m str> {
        let is_it = |other: &u32| usize::try_from(*other).is_ok_and(|other| other == skill);
        let Some(document) = self.skills.iter().position(is_it) else { return Vec::new() };
        let (message, profile) = (head(message, MAX_MESSAGE), self.profiles.get(document));
        let ranges = refused(message);
        let own =
            || profile.front().iter().take_while(|number| **number != EXCLUDED).map(|number| sequence::key(*number).0);
        let name =
            || profile.front().iter().take_while(|number| **number != BREAK).map(|number| sequence::key(*number).0);
        let is_name = |range: &&Range<usize>| {
            let mut is_whole = true;
            Tokenizer::default().each(&message[(*range).clone()], &mut |token| {
                is_whole &= token.compound || name().any(|key| key == sequence::key(sequence::number(&token)).0);
            });
            is_whole
        };
        let whole: Vec<&Range<usize>> = ranges.names.iter().filter(is_name).collect();
        let mut words = Vec::new();
        Tokenizer::default().each(message, &mut |token| {
            let is_refused = ranges.has(token.span.start) || whole.iter().any(|name| name.contains(&token.span.start));
            if is_refused && !token.compound && own().any(|key| key == sequence::key(sequence::number(&token)).0) {
                words.extend(message.get(token.span));
            }
        });
        words
    }

    fn skill(&self, document: usize) -> usize {
        self.skills[document] as usize
    }

    /// Finds the candidates, and collects the evidence for each.
    fn weigh<'a>(
        &'a self,
        scratch: &mut SearchScratch,
        (message, refused): (&str, &Refusals),
        query: &'a TextQuery,
        lists: &mut Vec<WeightedPostings<'a>>,
        count: usize,
        context: &SearchContext<'_>,
    ) -> (Vec<(usize, Evidence)>, MessageFacts) {
        scratch.begin(self.len());
        for number in 0..3 {
            self.add_field_scores(scratch, query, number, lists);
        }
        let whole = self.long.as_ref().unwrap_or(&self.short);
        // The words of sixty descriptions, many of them in several: each is looked up once.
        let known = [const { Cell::new((0, f32::NAN)) }; KNOWN_RARITIES];
        let rarity_of = |key: u32| {
            let slot = &known[key as usize % KNOWN_RARITIES];
            let (of, rarity) = slot.get();
            if of == key && !rarity.is_nan() {
                return rarity;
            }
            slot.set((key, self.rarity(Some(key))));
            slot.get().1
        };
        let rarities = Rarities { unit: self.rarity(None), of: &rarity_of, is_known: &|key| self.having(key) > 0 };
        let message = MessageTerms::of(message, refused, &mut scratch.tokenizer, &rarities);
        let usable = |document: &usize| (context.usable)(self.skill(*document));
        let mut documents = self.best(scratch, count, &usable);
        for skill in context.meaning.iter().flat_map(|meaning| meaning.nearest) {
            // Documents are in the order of skills.
            let document = self.skills.binary_search_by_key(skill, |skill| *skill as usize).ok();
            documents.extend(document.filter(usable));
        }
        // Descriptions alone have few words: one that has none of the message's may yet be about it.
        let by_words = (context.meaning.is_none() && !self.has_bodies)
            .then(|| text_vector(message.terms.iter().filter(|term| term.request).map(|term| term.key)));
        if let Some(own) = &by_words {
            documents.extend(self.nearest_documents(own).into_iter().filter(usable));
        }
        documents.sort_unstable();
        documents.dedup();
        let mut found = Vec::with_capacity(documents.len());
        for document in documents {
            let profile = self.profiles.get(document);
            let [short, long, name] = self.scores(scratch, document);
            let own = message.evidence(&profile, (whole, document), &rarity_of, &mut scratch.evidence);
            let mention = (context.mention)(self.skill(document));
            let meaning = match (context.meaning, &by_words) {
                (Some(meaning), _) => (meaning.cosine)(self.skill(document)).unwrap_or(0.0),
                (None, Some(own)) => cosine(own, &self.document_vector(document)),
                (None, None) => 0.0,
            };
            found.push((document, Evidence { short, long, name, mention, meaning, ..own }));
        }
        let facts = MessageFacts { count: message.count as f32, question: message.question, skills: self.len() as f32 };
        (found, facts)
    }

    fn search_in(
        &self,
        scratch: &mut SearchScratch,
        message: &str,
        limit: usize,
        context: &SearchContext<'_>,
    ) -> Ranking {
        let refused = context.refused(message);
        let query = TextQuery::of(self, message, &refused, &mut scratch.tokenizer, &mut scratch.lookalikes);
        let mut lists = Vec::new();
        let (found, facts) =
            self.weigh(scratch, (message, &refused), &query, &mut lists, limit.max(CANDIDATES), context);
        let greatest = found.iter().fold(Evidence::default(), |all, (_, one)| all.greatest(*one));
        let weights = self.weights(context.meaning.is_some());
        let mut ranked: Vec<(f32, usize, Evidence)> = found
            .into_iter()
            .map(|(document, evidence)| {
                // A skill that excludes the subject is not the one that is needed, however well its other words fit.
                let against = if evidence.excluded >= MOSTLY { EXCLUDED_SCORE } else { 0.0 };
                (weights.parts(&evidence, &greatest).iter().sum::<f32>() - against, document, evidence)
            })
            .collect();
        ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let shares = self.shares(&ranked);
        let mut certainty: f32 = 1.0;
        let mut hits = Vec::with_capacity(limit.min(ranked.len()));
        for (at, (score, document, evidence)) in ranked.iter().enumerate().take(limit) {
            let words = self.words(message, &lists, &greatest, *document);
            let is_number = |word: &TextWord| word.term.bytes().all(|byte| byte.is_ascii_digit());
            // A number that a text has, too, says nothing; nor does its meaning, if the text excludes the subject.
            let is_near = evidence.meaning > 0.0 && evidence.excluded == 0.0;
            if !is_near && words.iter().all(is_number) {
                continue;
            }
            let one_word = if words.len() < 2 { MAX_ONE_WORD } else { 1.0 };
            let gate = |share: f32| probability(&weights.gate, &gate_values(evidence, facts, share)).min(one_word);
            let confidence = gate(1.0);
            // Lower ranks are less certain, equals as certain.
            let is_equal = at > 0 && ranked[at - 1].0 <= *score;
            certainty = gate(shares[at]).min(if at == 0 || is_equal { certainty } else { LOWER_RANK * certainty });
            let behind = score - ranked[0].0;
            let naming = naming_values(evidence, facts, shares[at], behind, at == 0);
            let likelihood = if at < MAX_NAMED { probability(&weights.naming, &naming) } else { 0.0 };
            let parts = RANK_PARTS.into_iter().zip(weights.parts(evidence, &greatest));
            let parts = parts.filter(|(_, score)| *score != 0.0).map(|(kind, score)| EvidencePart { kind, score });
            hits.push(TextHit {
                skill: self.skill(*document),
                score: *score,
                confidence,
                certainty,
                likelihood: likelihood.max(certainty),
                words,
                parts: parts.collect(),
            });
        }
        Ranking { hits }
    }

    /// Returns the weights that fit the index.
    fn weights(&self, model: bool) -> &'static FusionWeights {
        match (self.has_bodies, model) {
            (true, false) => &fusion::WITH_BODIES,
            (false, false) => &fusion::WITHOUT_BODIES,
            (true, true) => &fusion::WITH_BODIES_AND_MODEL,
            (false, true) => &fusion::WITHOUT_BODIES_WITH_MODEL,
        }
    }

    /// Returns the share of each candidate among all, of which none is a copy of it: a softmax of the scores.
    fn shares(&self, ranked: &[(f32, usize, Evidence)]) -> Vec<f32> {
        let first = ranked.first().map_or(0.0, |one| one.0);
        let share = |(score, document, _): &(f32, usize, Evidence)| {
            let name = self.names[*document];
            let others = ranked.iter().filter(|other| other.1 == *document || self.names[other.1] != name);
            let sum: f32 = others.map(|other| (other.0 - first).exp()).sum();
            (score - first).exp() / sum.max(f32::MIN_POSITIVE)
        };
        ranked.iter().map(share).collect()
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
                Some(mut unless) => {
                    for (document, impact) in impacts {
                        if unless.skip_to(document) {
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
        let own = self.postings(field, term.key);
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
            let Some(postings) = self.postings(field, synonym.key) else { continue };
            if self.len() > LARGE_INDEX && postings.len() > self.len() / COMMON_SYNONYM_SHARE {
                continue;
            }
            // A rare synonym of a common word has no higher weight than the word.
            let rarity = own.map_or(1.0, |own| (own.idf / postings.idf).min(1.0));
            let factor = HALF * term.weight * rarity;
            lists.push(WeightedPostings { field: number, term, stem: &synonym.stem, postings, factor, unless: own });
        }
    }

    /// Returns the three scores of a document. Without bodies, the long text is the short one.
    fn scores(&self, scratch: &SearchScratch, document: usize) -> [f32; 3] {
        let slot = &scratch.slots[document];
        let [short, long, name] = if slot.search == scratch.search { slot.scores } else { [0.0; 3] };
        [short, if self.long.is_some() { long } else { short }, name]
    }

    /// Returns the documents with the highest scores by name and description, and those by the whole text, in any order.
    fn best(&self, scratch: &SearchScratch, count: usize, usable: &dyn Fn(&usize) -> bool) -> Vec<usize> {
        let mut best = [TopDocuments::default(), TopDocuments::default()];
        // Scores are far apart in memory: each document's are fetched once.
        for document in scratch.touched.iter().map(|document| *document as usize) {
            for (best, score) in best.iter_mut().zip(self.scores(scratch, document)) {
                best.offer((score, document), count, usable);
            }
        }
        best.into_iter().flat_map(|best| best.first(count)).collect()
    }

    /// Returns the words of the message that count for a document.
    fn words(
        &self,
        message: &str,
        lists: &[WeightedPostings<'_>],
        greatest: &Evidence,
        document: usize,
    ) -> Vec<TextWord> {
        let scale =
            [greatest.short, greatest.long, greatest.name].map(|most| if most > 0.0 { 1.0 / most } else { 0.0 });
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
            *slot = DocumentScores { search: self.search, scores: [0.0; 3] };
            self.touched.push(u32::try_from(document).unwrap_or(u32::MAX));
        }
        slot
    }

    /// Adds to the score of a document that was found already.
    fn add(&mut self, document: usize, number: usize, score: f32) {
        let slot = &mut self.slots[document];
        if slot.search == self.search {
            slot.scores[number] += score;
        }
    }
}
