//! The text index: an index over the texts of a catalog.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;
use skillcue_catalog::Catalog;
use twox_hash::XxHash3_128;

use crate::relevance::bags::{Bags, SkillTexts, Texts};
use crate::relevance::bodies::{BodyTerms, DocTerms, body_key};
use crate::relevance::field::{MAX_DOCUMENTS, TextField};
use crate::relevance::lookalikes::{Lookalikes, LookalikesStore};
use crate::relevance::profile::ProfileStore;

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
    /// The key of each document's body; 0, if none is indexed.
    pub(crate) body_keys: Vec<u64>,
    /// A key of each document's name in lower case.
    pub(crate) names: Vec<u64>,
    pub(crate) short: TextField,
    /// `None` if there is no body: then it would equal `short`.
    pub(crate) long: Option<TextField>,
    pub(crate) name: TextField,
    /// Whether skills are weighed as having bodies.
    pub(crate) has_bodies: bool,
    pub(crate) lookalikes: LookalikesStore,
    pub(crate) profiles: ProfileStore,
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
        TextIndex::build(catalog.all(), !bodies.is_empty(), |number, skill, bags| {
            if skill.shadowed() {
                return;
            }
            let body = if bodies.is_empty() { None } else { bodies.get(body_key(skill)) };
            let manifest = skill.make_manifest();
            let triggers = manifest.triggers();
            let triggers = triggers.keywords.iter().chain(&triggers.verbs).map(AsRef::as_ref);
            let body_key = body.map_or(0, |_| body_key(skill));
            let (name, description) = (skill.name(), manifest.description());
            bags.push(number, SkillTexts { name, description, triggers, body, body_key });
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
            bags.push(number, SkillTexts { name, description, triggers, body: body.as_ref(), body_key: 0 });
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
        let mut bags = bags;
        let words = |texts: &Texts| texts.iter().map(|bag| u64::from(bag.length)).sum::<u64>();
        let all = bags.iter().filter_map(|bags| bags.long.as_ref()).map(words).sum::<u64>();
        let fronts = bags.iter().map(|bags| words(&bags.short)).sum::<u64>();
        let has_bodies = all >= fronts + MIN_BODY_WORDS * items.len().max(1) as u64;
        let mut profiles = ProfileStore::default();
        for bags in &mut bags {
            profiles.append(std::mem::take(&mut bags.profiles));
        }
        TextIndex {
            skills: bags.iter().flat_map(|bags| bags.skills.iter().copied()).collect(),
            body_keys: bags.iter().flat_map(|bags| bags.body_keys.iter().copied()).collect(),
            names: bags.iter().flat_map(|bags| bags.names.iter().copied()).collect(),
            short,
            long,
            name,
            lookalikes: lookalikes.into(),
            profiles,
            has_bodies,
            damaged: Arc::default(),
        }
    }

    /// Returns the number of skills in it.
    pub fn len(&self) -> usize {
        self.skills.len()
    }

    /// Returns whether there is no skill in it.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }
}
