//! Vectors of words: how near a message and a description are in meaning where they share no word.
//!
//! 8,000 stems with 64 numbers of one byte each. They were fitted so that the sum of a sentence's vectors is near to what
//! a sentence model makes of it (`tools/word_vectors.py`). Far less exact than the model, but they cost nothing to have: they
//! are used where only descriptions are known, as long as no sentence model is there. Where bodies are indexed, they add
//! nothing that the bodies' own words do not.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::relevance::index::TextIndex;
use crate::relevance::sequence::{BREAK, EXCLUDED, key};
use crate::relevance::words::key_of;

const DIMENSIONS: usize = 64;
/// The stems, one a line, and their vectors, in the same order.
const STEMS: &str = include_str!("word_stems.txt");
const ROWS: &[u8] = include_bytes!("word_vectors.bin");
/// The number of skills up to which a message is compared with all of them, and not only with those that share a word.
const MAX_COMPARED: usize = 5_000;
/// The number of skills that are candidates for their meaning alone.
const NEAREST: usize = 30;

/// The cosine from which on a description is near a message.
const MIN_COSINE: f32 = 0.4;

/// The row of each stem, by its key.
static ROW_OF: LazyLock<HashMap<u32, u16>> =
    LazyLock::new(|| STEMS.lines().zip(0..).map(|(stem, row)| (key_of(stem), row)).collect());

/// The vector of a text: of length 1, or 0 if none of its words is known.
pub(crate) type TextVector = [f32; DIMENSIONS];

/// Returns the vector of a text, given the keys of its words.
pub(crate) fn text_vector(keys: impl Iterator<Item = u32>) -> TextVector {
    let mut rows: Vec<u16> = keys.filter_map(|key| ROW_OF.get(&key).copied()).collect();
    rows.sort_unstable();
    let mut sum = [0.0; DIMENSIONS];
    for same in rows.chunk_by(|a, b| a == b) {
        let from = usize::from(same[0]) * DIMENSIONS;
        let weight = (same.len() as f32).sqrt();
        for (sum, value) in sum.iter_mut().zip(&ROWS[from..]) {
            *sum += weight * f32::from(value.cast_signed());
        }
    }
    let length = cosine(&sum, &sum).sqrt();
    if length > 0.0 { sum.map(|value| value / length) } else { sum }
}

/// Returns the cosine of two vectors of length 1.
pub(crate) fn cosine(a: &TextVector, b: &TextVector) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl TextIndex {
    /// Returns the vector of a document's name and description.
    pub(crate) fn document_vector(&self, document: usize) -> TextVector {
        if let Some(vectors) = self.vectors.get() {
            return vectors[document];
        }
        let profile = self.profiles.get(document);
        let own = profile.front().iter().take_while(|number| **number != EXCLUDED);
        text_vector(own.filter(|number| **number != BREAK).map(|number| key(*number)).filter(|it| !it.1).map(|it| it.0))
    }

    /// Returns the documents whose descriptions are nearest to a message, if there are not too many to compare.
    pub(crate) fn nearest_documents(&self, message: &TextVector) -> Vec<usize> {
        if self.len() > MAX_COMPARED || message.iter().all(|value| *value == 0.0) {
            return Vec::new();
        }
        let vectors = self.vectors.get_or_init(|| (0..self.len()).map(|at| self.document_vector(at)).collect());
        let mut near: Vec<(f32, usize)> =
            vectors.iter().map(|vector| cosine(vector, message)).zip(0..).filter(|near| near.0 >= MIN_COSINE).collect();
        let count = NEAREST.min(near.len());
        if count < near.len() {
            near.select_nth_unstable_by(count, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        near.into_iter().take(count).map(|near| near.1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relevance::words::stem;

    fn of(text: &str) -> TextVector {
        text_vector(text.split_whitespace().map(|word| key_of(&stem(word))))
    }

    #[test]
    fn every_stem_has_a_row() {
        assert_eq!(ROWS.len(), STEMS.lines().count() * DIMENSIONS);
        // Two of them have one key: among 8,000 stems and two thousand million keys, that may be.
        assert!(ROW_OF.len() + 1 >= STEMS.lines().count(), "{}", ROW_OF.len());
    }

    #[test]
    fn words_of_one_subject_are_near_each_other() {
        let near = cosine(&of("lawyer"), &of("legal advice"));
        assert!(near > cosine(&of("lawyer"), &of("weather forecast")), "{near}");
        assert!(cosine(&of("doctor"), &of("medicine")) > cosine(&of("doctor"), &of("database")));
        assert!((cosine(&of("weather"), &of("weather")) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn unknown_words_have_no_direction() {
        assert!(of("qwzrtk").iter().all(|value| *value == 0.0));
        assert!(of("").iter().all(|value| *value == 0.0));
    }
}
