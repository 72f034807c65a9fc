//! The text index: an index over the texts of a catalog.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;
use skillcue_catalog::Catalog;
use twox_hash::XxHash3_128;

use crate::relevance::bags::{Bags, SkillTexts, Texts};
use crate::relevance::bodies::{BodyTerms, DocTerms, body_key};
use crate::relevance::field::{Bag, MAX_DOCUMENTS, TextField};
use crate::relevance::lookalikes::{Lookalikes, LookalikesStore};

/// How many skills are read at a time, and from how many on several threads are used.
const SKILLS_PER_CHUNK: usize = 1024;
const MIN_PARALLEL: usize = 256;

/// An index that finds the skills whose texts fit a message. Made from one catalog, and valid for that one only.
///
/// ```
/// use skillcue_select::{SkillDocument, TextIndex};
///
/// let document = |name, description| SkillDocument { name, description, ..SkillDocument::default() };
/// let index = TextIndex::of_documents([
///     document("pdf-forms", "Fills in PDF forms. Not for scans."),
///     document("photo-edit", "Crops and rotates pictures."),
/// ]);
/// let ranking = index.search("Please rotate this image", 3, &|_| true);
/// let best = &ranking.hits[0];
/// assert_eq!(best.skill, 1);
/// // `image` occurs nowhere, but `photo` and `pictures` do.
/// assert_eq!(best.words.iter().map(|word| &*word.text).collect::<Vec<_>>(), ["image", "rotate"]);
/// ```
#[derive(Debug)]
pub struct TextIndex {
    /// The skill of each document.
    pub(crate) skills: Vec<u32>,
    /// A key of each document's name in lower case.
    pub(crate) names: Vec<u64>,
    pub(crate) short: TextField,
    /// `None` if there is no body: then it would equal `short`.
    pub(crate) long: Option<TextField>,
    pub(crate) name: TextField,
    /// For each document the sorted keys of terms that it excludes.
    pub(crate) negative: ExcludedTerms,
    pub(crate) lookalikes: LookalikesStore,
    pub(crate) tuning: Tuning,
    /// Set when a stored part turns out to be damaged.
    pub(crate) damaged: Arc<AtomicBool>,
}

/// The two parameters of the ranking that were chosen by measurements. `tests/relevance_data.rs` chooses them again, on
/// parts of the data, and measures on the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuning {
    /// The weight of the name alone beside the two other fields.
    pub name: f32,
    /// The weight of weak words, numbers, synonyms and guesses.
    pub half: f32,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning { name: 0.3, half: 0.5 }
    }
}

/// The texts of a skill that are indexed.
#[derive(Debug, Clone, Copy, Default)]
pub struct SkillDocument<'a> {
    /// The skill's name.
    pub name: &'a str,
    /// The description: what it does and when to use it.
    pub description: &'a str,
    /// Words and phrases that call for it.
    pub triggers: &'a [&'a str],
    /// Its body, if that is to be indexed.
    pub body: Option<&'a str>,
}

/// The excluded terms of documents. Few documents exclude anything.
#[derive(Debug, Default)]
pub(crate) struct ExcludedTerms {
    terms: Vec<u64>,
    /// The range of each document's terms.
    at: HashMap<u32, std::ops::Range<u32>>,
}

impl TextIndex {
    /// Indexes level 1: names, descriptions and triggers. Skills are numbered as in [`Catalog::all`]; shadowed ones are
    /// left out.
    pub fn of(catalog: &Catalog) -> TextIndex {
        TextIndex::with_bodies(catalog, &BodyTerms::default())
    }

    /// Returns an id of everything in a catalog that an index with the bodies of all skills depends on.
    pub fn key(catalog: &Catalog) -> u128 {
        let mut bytes = Vec::with_capacity(catalog.all().len() * 40);
        for skill in catalog.all() {
            bytes.extend_from_slice(skill.name().as_bytes());
            bytes.push(u8::from(skill.shadowed()));
            bytes.extend_from_slice(&body_key(skill).to_le_bytes());
        }
        XxHash3_128::oneshot(&bytes)
    }

    /// Indexes level 1, and the bodies of all skills whose [`body_key`] is in `bodies`.
    pub fn with_bodies(catalog: &Catalog, bodies: &BodyTerms) -> TextIndex {
        TextIndex::build(catalog.all(), !bodies.is_empty(), |number, skill, bags| {
            if skill.shadowed() {
                return;
            }
            let body = if bodies.is_empty() { None } else { bodies.get(body_key(skill)) };
            let manifest = skill.make_manifest();
            let triggers = manifest.triggers();
            let triggers = triggers.keywords.iter().chain(&triggers.verbs).map(AsRef::as_ref);
            bags.push(number, SkillTexts { name: skill.name(), description: manifest.description(), triggers, body });
        })
    }

    /// Indexes plain texts, numbered in their order.
    pub fn of_documents<'a>(documents: impl IntoIterator<Item = SkillDocument<'a>>) -> TextIndex {
        let documents: Vec<SkillDocument<'a>> = documents.into_iter().collect();
        let bodies = documents.iter().any(|document| document.body.is_some());
        TextIndex::build(&documents, bodies, |number, document, bags| {
            let body: Option<DocTerms> = document.body.map(BodyTerms::of_body);
            let triggers = document.triggers.iter().copied();
            let SkillDocument { name, description, .. } = *document;
            bags.push(number, SkillTexts { name, description, triggers, body: body.as_ref() });
        })
    }

    fn build<T: Sync>(items: &[T], bodies: bool, read: impl Fn(u32, &T, &mut Bags) + Sync) -> TextIndex {
        let items = &items[..items.len().min(MAX_DOCUMENTS)];
        let read_chunk = |(chunk, items): (usize, &[T])| {
            let mut bags = Bags::default();
            bags.long = bodies.then(Texts::default);
            for (item, number) in items.iter().zip(chunk * SKILLS_PER_CHUNK..) {
                read(u32::try_from(number).unwrap_or(u32::MAX), item, &mut bags);
            }
            bags
        };
        let bags: Vec<Bags> = if items.len() < MIN_PARALLEL {
            items.chunks(SKILLS_PER_CHUNK).enumerate().map(read_chunk).collect()
        } else {
            items.par_chunks(SKILLS_PER_CHUNK).enumerate().map(read_chunk).collect()
        };
        let long =
            || bodies.then(|| TextField::of(bags.iter().filter_map(|bags| bags.long.as_ref()).flat_map(Texts::iter)));
        let short = || {
            let short = TextField::of(bags.iter().flat_map(|bags| bags.short.iter()));
            // In the order of the terms' numbers, each once.
            let mut stems: Vec<&str> = vec![""; short.keys().len()];
            for (key, stem) in bags.iter().flat_map(|bags| bags.vocabulary.stems()) {
                if let Some(id) = short.id(key) {
                    stems[id as usize] = stem;
                }
            }
            (Lookalikes::of(stems.into_iter()), short)
        };
        let name = || TextField::of(bags.iter().flat_map(|bags| bags.name.iter()));
        let ((lookalikes, short), (long, name)) = if items.len() < MIN_PARALLEL {
            (short(), (long(), name()))
        } else {
            rayon::join(short, || (long(), name()))
        };
        TextIndex {
            skills: bags.iter().flat_map(|bags| bags.skills.iter().copied()).collect(),
            names: bags.iter().flat_map(|bags| bags.names.iter().copied()).collect(),
            negative: ExcludedTerms::of(bags.iter().flat_map(|bags| bags.negative.iter())),
            short,
            long,
            name,
            lookalikes: lookalikes.into(),
            tuning: Tuning::default(),
            damaged: Arc::default(),
        }
    }

    /// Sets other parameters of the ranking.
    #[must_use]
    pub fn tuned(mut self, tuning: Tuning) -> TextIndex {
        self.tuning = tuning;
        self
    }

    /// Returns the number of skills in it.
    pub fn len(&self) -> usize {
        self.skills.len()
    }

    /// Returns whether there is no skill in it.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// Returns whether a document excludes a term.
    pub(crate) fn excludes(&self, document: usize, key: u64) -> bool {
        self.negative.of_document(document).binary_search(&key).is_ok()
    }
}

impl ExcludedTerms {
    fn of<'a>(bags: impl Iterator<Item = Bag<'a>>) -> ExcludedTerms {
        let mut negative = ExcludedTerms::default();
        for (document, bag) in (0..).zip(bags).filter(|(_, bag)| !bag.terms.is_empty()) {
            let end = |negative: &ExcludedTerms| u32::try_from(negative.terms.len()).unwrap_or(u32::MAX);
            let start = end(&negative);
            negative.terms.extend(bag.terms.iter().map(|(key, _)| key));
            negative.at.insert(document, start..end(&negative));
        }
        negative
    }

    /// Returns it as lists: the documents, ascending, the end of each one's terms, the terms.
    pub(crate) fn flat(&self) -> (Vec<u32>, Vec<u32>, &[u64]) {
        let mut at: Vec<_> = self.at.iter().collect();
        at.sort_unstable_by_key(|(document, _)| **document);
        (
            at.iter().map(|(document, _)| **document).collect(),
            at.iter().map(|(_, range)| range.end).collect(),
            &self.terms,
        )
    }

    /// Makes it from such lists, if they are consistent.
    pub(crate) fn of_flat(documents: Vec<u32>, ends: &[u32], terms: Vec<u64>) -> Option<ExcludedTerms> {
        let fits = documents.len() == ends.len() && ends.is_sorted();
        if !fits || ends.last().copied().unwrap_or(0) as usize != terms.len() {
            return None;
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let at = documents.into_iter().zip(starts.zip(ends).map(|(start, end)| start..*end)).collect();
        Some(ExcludedTerms { terms, at })
    }

    fn of_document(&self, document: usize) -> &[u64] {
        let at = u32::try_from(document).ok().and_then(|document| self.at.get(&document));
        at.map_or(&[], |at| &self.terms[at.start as usize..at.end as usize])
    }
}
