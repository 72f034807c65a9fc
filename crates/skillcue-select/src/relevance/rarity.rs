//! How rare terms are: in a catalog, and in skills at large.

use crate::relevance::background;
use crate::relevance::field::{Postings, TextField, rarity};
use crate::relevance::index::TextIndex;
use crate::relevance::tokens::Tokenizer;

/// The number of imagined skills beside the real ones, with no word of any message: among a handful, that a word is in one
/// and not in another says little about how telling it is there.
const IMAGINED_SKILLS: f64 = 50.0;

impl TextIndex {
    /// Returns how telling some words are among the texts, in units of a word that no skill has: all of them together,
    /// at most 1, and the least telling one. Stop words tell nothing.
    pub(crate) fn telling(&self, words: &str) -> (f32, f32) {
        let (mut sum, mut least) = (0.0, f32::INFINITY);
        Tokenizer::default().each(words, &mut |token| {
            if !token.compound {
                let share = self.rarity_here(Some(token.key)) / self.rarity_here(None);
                (sum, least) = (sum + share, least.min(share));
            }
        });
        (sum.min(1.0), if least.is_finite() { least } else { 0.0 })
    }

    /// Returns how many skills have a term in their whole texts.
    pub(crate) fn having(&self, key: u32) -> u32 {
        self.long.as_ref().unwrap_or(&self.short).count(key)
    }

    /// Returns the rarity of a term in this catalog alone; of one that no skill has, without a key.
    fn rarity_here(&self, key: Option<u32>) -> f32 {
        let having = key.map_or(0, |key| self.having(key));
        rarity(self.len() as f64 + IMAGINED_SKILLS, f64::from(having))
    }

    /// Returns the rarity of a term among the whole texts and in skills at large; of one that is in neither, without a key.
    pub(crate) fn rarity(&self, key: Option<u32>) -> f32 {
        background::rarity(self.len(), key.map(|key| (key, self.having(key))))
    }

    /// Returns the postings of a term in a field.
    ///
    /// Descriptions have few words, so what a word is worth in a catalog of them is known better by skills at large. With
    /// bodies it is known well enough: there it gave nothing.
    pub(crate) fn postings<'a>(&self, field: &'a TextField, key: u32) -> Option<Postings<'a>> {
        let own = field.postings(key)?;
        let having = u32::try_from(own.len()).unwrap_or(u32::MAX);
        let idf = if self.has_bodies { own.idf } else { background::rarity(field.documents(), Some((key, having))) };
        Some(Postings { idf, ..own })
    }
}
