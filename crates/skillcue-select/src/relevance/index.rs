//! The text index: an index over the texts of a catalog.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use skillcue_catalog::{Catalog, Skill};
use twox_hash::XxHash3_128;

use crate::relevance::bags::{Bags, SkillTexts};
use crate::relevance::bodies::{BodyTerms, DocTerms, body_key, text_key};
use crate::relevance::field::{MAX_DOCUMENTS, TextField};
use crate::relevance::lookalikes::{Lookalikes, LookalikesStore};
use crate::relevance::profile::{ProfileStore, ProfileWriter};
use crate::relevance::word_vectors::TextVector;

/// How many skills are read at a time, and from how many on several threads are used.
const SKILLS_PER_CHUNK: usize = 1024;
const MIN_PARALLEL: usize = 256;
/// With shorter bodies on average, in words, skills are weighed as if they had none.
const MIN_BODY_WORDS: u64 = 5;

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
    /// A key of each document's texts, by which an unchanged one is recognised.
    pub(crate) text_keys: Vec<u64>,
    /// Whether each document's body is indexed.
    pub(crate) bodies: Vec<bool>,
    /// A key of each document's name in lower case.
    pub(crate) names: Vec<u64>,
    pub(crate) short: TextField,
    /// `None` if there is no body: then it would equal `short`.
    pub(crate) long: Option<TextField>,
    pub(crate) name: TextField,
    /// Whether skills are weighed as having bodies.
    pub(crate) has_bodies: bool,
    pub(crate) lookalikes: Arc<LookalikesStore>,
    pub(crate) profiles: ProfileStore,
    /// The vectors of all documents' words, once a message is compared with them.
    pub(crate) vectors: OnceLock<Vec<TextVector>>,
    /// Set when a stored part turns out to be damaged.
    pub(crate) damaged: Arc<AtomicBool>,
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
        let skills: Vec<(u32, &Skill)> = documents(catalog).collect();
        TextIndex::build(&skills, |number, skill, bags| push_skill(number, skill, bodies, bags))
    }

    /// Indexes plain texts, numbered in their order.
    pub fn of_documents<'a>(documents: impl IntoIterator<Item = SkillDocument<'a>>) -> TextIndex {
        let documents: Vec<SkillDocument<'a>> = documents.into_iter().collect();
        let numbered: Vec<(u32, &SkillDocument<'a>)> = (0..).zip(&documents).collect();
        TextIndex::build(&numbered, |number, document, bags| {
            let body: Option<DocTerms> = document.body.map(BodyTerms::of_body);
            let triggers = document.triggers.iter().copied();
            let SkillDocument { name, description, .. } = *document;
            bags.push(number, SkillTexts { name, description, triggers, body: body.as_ref(), key: 0 });
        })
    }

    /// Indexes what `read` puts into the bags, each item with its number.
    pub(crate) fn build<T: Sync>(items: &[(u32, &T)], read: impl Fn(u32, &T, &mut Bags) + Sync) -> TextIndex {
        let items = &items[..items.len().min(MAX_DOCUMENTS)];
        let read_chunk = |items: &[(u32, &T)]| {
            let mut bags = Bags::default();
            for (number, item) in items {
                read(*number, item, &mut bags);
            }
            bags
        };
        let bags: Vec<Bags> = if items.len() < MIN_PARALLEL {
            items.chunks(SKILLS_PER_CHUNK).map(read_chunk).collect()
        } else {
            items.par_chunks(SKILLS_PER_CHUNK).map(read_chunk).collect()
        };
        let has_body = bags.iter().any(|bags| bags.bodies.contains(&true));
        let long = || has_body.then(|| TextField::of(bags.iter().flat_map(|bags| bags.long().iter())));
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
        let mut bags = bags;
        let mut profiles = ProfileWriter::default();
        for bags in &mut bags {
            profiles.append(std::mem::take(&mut bags.profiles));
        }
        TextIndex {
            skills: bags.iter().flat_map(|bags| bags.skills.iter().copied()).collect(),
            text_keys: bags.iter().flat_map(|bags| bags.text_keys.iter().copied()).collect(),
            bodies: bags.iter().flat_map(|bags| bags.bodies.iter().copied()).collect(),
            names: bags.iter().flat_map(|bags| bags.names.iter().copied()).collect(),
            has_bodies: has_bodies(&short, long.as_ref()),
            short,
            long,
            name,
            lookalikes: Arc::new(lookalikes.into()),
            profiles: profiles.finish(),
            vectors: OnceLock::new(),
            damaged: Arc::default(),
        }
    }

    /// Returns the key of each term of the skills' whole texts, and the share of the skills that have it.
    ///
    /// ```
    /// use skillcue_select::{SkillDocument, TextIndex};
    ///
    /// let document = |name| SkillDocument { name, ..SkillDocument::default() };
    /// let index = TextIndex::of_documents([document("pdf-forms"), document("pdf-pages")]);
    /// let shares: Vec<f64> = index.term_shares().map(|(_, share)| share).collect();
    /// assert!(shares.contains(&1.0) && shares.contains(&0.5));
    /// ```
    pub fn term_shares(&self) -> impl Iterator<Item = (u32, f64)> {
        let whole = self.long.as_ref().unwrap_or(&self.short);
        whole.keys().iter().map(move |key| (*key, f64::from(whole.count(*key)) / self.len() as f64))
    }

    /// Returns the number of skills in it.
    pub fn len(&self) -> usize {
        self.skills.len()
    }

    /// Returns whether the body of any skill is in it.
    pub fn has_any_body(&self) -> bool {
        self.bodies.contains(&true)
    }

    /// Returns whether there is no skill in it.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }
}

/// Returns the skills of a catalog that are indexed, with their numbers in [`Catalog::all`].
pub(crate) fn documents(catalog: &Catalog) -> impl Iterator<Item = (u32, &Skill)> {
    (0u32..).zip(catalog.all().iter().map(|skill| &**skill)).filter(|(_, skill)| !skill.shadowed())
}

/// Adds the texts of a skill to the bags, with its body if that is in `bodies`.
pub(crate) fn push_skill(number: u32, skill: &Skill, bodies: &BodyTerms, bags: &mut Bags) {
    let body = if bodies.is_empty() { None } else { bodies.get(body_key(skill)) };
    let manifest = skill.make_manifest();
    let triggers = manifest.triggers();
    let triggers = triggers.keywords.iter().chain(&triggers.verbs).map(AsRef::as_ref);
    let (name, description) = (skill.name(), manifest.description());
    bags.push(number, SkillTexts { name, description, triggers, body, key: text_key(skill) });
}

/// Returns whether skills are weighed as having bodies, given the fields without and with them.
pub(crate) fn has_bodies(short: &TextField, long: Option<&TextField>) -> bool {
    let words = |field: &TextField| field.lengths.iter().copied().map(u64::from).sum::<u64>();
    long.is_some_and(|long| words(long) >= words(short) + MIN_BODY_WORDS * short.documents().max(1) as u64)
}
