//! Bags of terms: the terms of skills' texts, and how often each occurs.

use hashbrown::HashTable;

use crate::relevance::bodies::DocTerms;
use crate::relevance::field::{Bag, spread};
use crate::relevance::joined::split_name;
use crate::relevance::negation::Claims;
use crate::relevance::profile::{ProfileTexts, ProfileWriter};
use crate::relevance::tokens::{Tokenizer, head};
use crate::relevance::words::hash_of;

/// How much of a description is read.
const MAX_DESCRIPTION: usize = 64 * 1024;

/// The terms of some skills, side by side.
#[derive(Debug, Default)]
pub(crate) struct Bags {
    tokenizer: Tokenizer,
    /// The skills' numbers.
    pub(crate) skills: Vec<u32>,
    /// Keys of their names in lower case, to recognise equal ones.
    pub(crate) names: Vec<u64>,
    /// Keys of all their texts.
    pub(crate) text_keys: Vec<u64>,
    /// Whether each has a body.
    pub(crate) bodies: Vec<bool>,
    /// Name, description and triggers.
    pub(crate) short: Texts,
    /// Name, description, triggers and body. Empty, as long as no skill has a body.
    long: Texts,
    /// The name alone.
    pub(crate) name: Texts,
    pub(crate) vocabulary: Vocabulary,
    /// The texts of each skill in their order.
    pub(crate) profiles: ProfileWriter,
    keys: Vec<u32>,
}

/// Terms of several texts in one list.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    terms: Vec<(u32, u32)>,
    /// The end of each text's terms, and the text's length.
    ends: Vec<(usize, u32)>,
}

/// The spelling of each stem that occurred.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    known: HashTable<u32>,
    stems: Vec<(u32, Box<str>)>,
}

/// The texts of one skill.
pub(crate) struct SkillTexts<'a, T> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) triggers: T,
    pub(crate) body: Option<&'a DocTerms>,
    /// A key of all texts, by which unchanged ones are recognised.
    pub(crate) key: u64,
}

impl Bags {
    pub(crate) fn push<'a>(&mut self, skill: u32, parts: SkillTexts<'a, impl Iterator<Item = &'a str>>) {
        self.skills.push(skill);
        self.text_keys.push(parts.key);
        self.bodies.push(parts.body.is_some());
        self.names.push(hash_of(&parts.name.to_lowercase()));
        let claims = Claims::of(head(parts.description, MAX_DESCRIPTION));
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        self.read(parts.name, &mut keys);
        let split = split_name(parts.name, head(parts.description, MAX_DESCRIPTION));
        if let Some(split) = &split {
            self.read(split, &mut keys);
        }
        self.name.push(&mut keys.clone());
        let triggers: Vec<&str> = parts.triggers.collect();
        let SkillTexts { description, body, .. } = parts;
        let name = split.as_deref().unwrap_or(parts.name);
        let texts = ProfileTexts { name, description, claims: &claims, triggers: &triggers, body };
        self.profiles.push(&mut self.tokenizer, &texts);
        for text in claims.positive.into_iter().chain(triggers) {
            self.read(text, &mut keys);
        }
        self.short.push(&mut keys);
        self.keys = keys;
        if parts.body.is_some() || !self.long.ends.is_empty() {
            for before in self.long.ends.len()..self.short.ends.len() - 1 {
                self.long.push_sum(self.short.get(before), None);
            }
            self.long.push_sum(self.short.last(), parts.body);
        }
    }

    /// Returns the texts with bodies, which equal those without if no skill has one.
    pub(crate) fn long(&self) -> &Texts {
        if self.long.ends.is_empty() { &self.short } else { &self.long }
    }

    /// Adds the keys of a text's terms.
    fn read(&mut self, text: &str, keys: &mut Vec<u32>) {
        let Bags { tokenizer, vocabulary, .. } = self;
        tokenizer.each(text, &mut |token| {
            keys.push(token.key);
            vocabulary.insert(token.key, token.stem);
        });
    }
}

impl Texts {
    /// Adds a text with these terms, in any order and each as often as it is there; sorts them.
    fn push(&mut self, keys: &mut [u32]) {
        keys.sort_unstable();
        for same in keys.chunk_by(|a, b| a == b) {
            self.terms.push((same[0], length(same.len())));
        }
        self.ends.push((self.terms.len(), length(keys.len())));
    }

    /// Adds a text made of two.
    fn push_sum(&mut self, short: Bag<'_>, body: Option<&DocTerms>) {
        let mut terms: Vec<(u32, u32)> = short.terms.to_vec();
        terms.extend(body.into_iter().flat_map(DocTerms::counts));
        terms.sort_unstable();
        for same in terms.chunk_by(|a, b| a.0 == b.0) {
            self.terms.push((same[0].0, same.iter().map(|(_, count)| count).sum()));
        }
        self.ends.push((self.terms.len(), short.length.saturating_add(body.map_or(0, DocTerms::length))));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Bag<'_>> + Clone {
        (0..self.ends.len()).map(|index| self.get(index))
    }

    fn last(&self) -> Bag<'_> {
        self.get(self.ends.len() - 1)
    }

    fn get(&self, index: usize) -> Bag<'_> {
        let start = if index == 0 { 0 } else { self.ends[index - 1].0 };
        let (end, length) = self.ends[index];
        Bag { terms: &self.terms[start..end], length }
    }
}

impl Vocabulary {
    fn insert(&mut self, key: u32, stem: &str) {
        if self.known.find(spread(key), |known| *known == key).is_none() {
            self.known.insert_unique(spread(key), key, |key| spread(*key));
            self.stems.push((key, stem.into()));
        }
    }

    pub(crate) fn stems(&self) -> impl Iterator<Item = (u32, &str)> {
        self.stems.iter().map(|(key, stem)| (*key, &**stem))
    }
}

fn length(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
