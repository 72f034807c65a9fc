//! The terms of bodies, in their order.

use std::collections::HashMap;
use std::sync::Arc;

use skillcue_base::binary::{Reader, Writer};
use skillcue_catalog::Skill;
use twox_hash::XxHash3_64;

use crate::relevance::sequence::{self, BREAK};
use crate::relevance::tokens::{Tokenizer, head};

/// How many bytes of a body are read, how many of its terms are kept, and in how many bytes code words are looked for.
const MAX_BODY: usize = 64 * 1024;
const MAX_TERMS: usize = 8192;
const MAX_CODE: usize = 20_000;
/// How many code words are kept.
const MAX_CODE_WORDS: usize = 1024;
/// The terms of skills' bodies, by a key of the caller's choice ([`body_key`]).
///
/// Bodies are not read at start. A background task reads one after another and adds its terms; the index over texts
/// stores them, so that at the next start only changed bodies must be read.
///
/// ```
/// use skillcue_select::BodyTerms;
///
/// let mut bodies = BodyTerms::default();
/// bodies.insert(7, BodyTerms::of_body("# Merge\n\nUse `qpdf` to merge."));
/// assert_eq!(bodies.get(7).map(|body| body.length()), Some(3));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BodyTerms {
    bodies: HashMap<u64, DocTerms>,
}

/// The terms of one body. Clones share them: a publisher has each in several lists at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocTerms {
    /// The terms in their order, with breaks between sections.
    pub(crate) terms: Arc<[u32]>,
    /// The keys of its code words, sorted.
    pub(crate) code_words: Arc<[u32]>,
}

impl DocTerms {
    /// Returns the number of words in the body, without stop words.
    pub fn length(&self) -> u32 {
        u32::try_from(self.terms.iter().filter(|term| **term != BREAK).count()).unwrap_or(u32::MAX)
    }

    /// Appends it to bytes, for [`DocTerms::read`].
    ///
    /// ```
    /// use skillcue_base::binary::{Reader, Writer};
    /// use skillcue_select::{BodyTerms, DocTerms};
    ///
    /// let body = BodyTerms::of_body("Merge the pages of `report.pdf`.");
    /// let mut bytes = Writer::default();
    /// body.write(&mut bytes);
    /// assert_eq!(DocTerms::read(&mut Reader::new(bytes.as_bytes())), Some(body));
    /// ```
    pub fn write(&self, bytes: &mut Writer) {
        bytes.u32s(&self.terms);
        bytes.u32s(&self.code_words);
    }

    /// Reads what [`DocTerms::write`] has written. `None`, if it is damaged or larger than any body's.
    pub fn read(bytes: &mut Reader<'_>) -> Option<DocTerms> {
        let (terms, code_words) = (bytes.u32s()?, bytes.u32s()?);
        let sound = terms.len() <= MAX_TERMS && code_words.len() <= MAX_CODE_WORDS && code_words.is_sorted();
        sound.then(|| DocTerms { terms: terms.into(), code_words: code_words.into() })
    }

    /// Returns its terms and how often each occurs.
    pub(crate) fn counts(&self) -> Vec<(u32, u32)> {
        let mut terms: Vec<u32> =
            self.terms.iter().filter(|term| **term != BREAK).map(|term| sequence::key(*term).0).collect();
        terms.sort_unstable();
        let count = |same: &[u32]| (same[0], u32::try_from(same.len()).unwrap_or(u32::MAX));
        terms.chunk_by(|a, b| a == b).map(count).collect()
    }
}

impl BodyTerms {
    /// Returns the terms of a body: of its first 64 KiB, at most 8,192.
    pub fn of_body(text: &str) -> DocTerms {
        let mut terms = Vec::new();
        let mut tokenizer = Tokenizer::default();
        for section in sequence::sections(head(text, MAX_BODY)) {
            sequence::push(&mut tokenizer, section, MAX_TERMS, &mut terms);
        }
        terms.truncate(MAX_TERMS);
        let mut code_words = sequence::code_words(head(text, MAX_CODE));
        code_words.truncate(MAX_CODE_WORDS);
        DocTerms { terms: terms.into(), code_words: code_words.into() }
    }

    /// Adds a body, in place of one with the same key.
    pub fn insert(&mut self, key: u64, terms: DocTerms) {
        self.bodies.insert(key, terms);
    }

    /// Returns the terms of the body with that key.
    pub fn get(&self, key: u64) -> Option<&DocTerms> {
        self.bodies.get(&key)
    }

    /// Keeps only bodies for whose key `wanted` returns true.
    pub fn retain(&mut self, mut wanted: impl FnMut(u64) -> bool) {
        self.bodies.retain(|key, _| wanted(*key));
    }

    /// Returns the number of bodies.
    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    /// Returns whether there is no body.
    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }
}

/// Returns the key of a skill's body in [`BodyTerms`]. It changes with the front matter and with the skill file's
/// stamp.
pub fn body_key(skill: &Skill) -> u64 {
    let stamp = skill.stamp();
    let mut bytes = [0; 48];
    bytes[..16].copy_from_slice(&skill.digest().to_le_bytes());
    bytes[16..32].copy_from_slice(&stamp.modified_ns.to_le_bytes());
    bytes[32..40].copy_from_slice(&stamp.size.to_le_bytes());
    bytes[40..].copy_from_slice(&stamp.inode.to_le_bytes());
    XxHash3_64::oneshot(&bytes)
}

/// Returns a key of all texts of a skill. The name counts besides [`body_key`]: it need not be in the file.
pub(crate) fn text_key(skill: &Skill) -> u64 {
    XxHash3_64::oneshot_with_seed(body_key(skill), skill.name().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_kept_in_their_order() {
        let body = BodyTerms::of_body("split merge merge PDF pages, merge the split\n# Use `qpdf`\nmerge");
        assert_eq!((body.length(), body.terms.len()), (9, 11));
        let mut counts: Vec<u32> = body.counts().into_iter().map(|(_, count)| count).collect();
        counts.sort_unstable();
        assert_eq!((counts, body.code_words.len()), (vec![1, 1, 1, 2, 4], 2));
        let long = BodyTerms::of_body(&"word ".repeat(100_000));
        assert!(long.length() <= 8192 && long.terms.len() <= 8192);
    }
}
