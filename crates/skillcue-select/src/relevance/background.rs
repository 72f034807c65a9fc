//! The background: how often skills at large have a word.
//!
//! In a catalog of twenty skills, that one has "fetch" and none has "actually" says next to nothing about either. So each
//! catalog is counted together with imagined skills that have words as often as 4,000 real ones of public repositories. The
//! more skills a catalog has, the less they count.

use crate::relevance::field;

/// The number of imagined skills. From 100 to 600, labelled messages are answered alike.
const BACKGROUND_SKILLS: f64 = 200.0;
/// The length of a record: a term's key, and the share of skills that have it, as `(byte / 255)²`.
const RECORD: usize = 5;
/// The terms that one skill in a hundred has or more, by their keys. `cargo xtask fit DATA --background` writes them.
const TERMS: &[[u8; RECORD]] = include_bytes!("background.bin").as_chunks().0;

/// Returns the share of skills at large that have a term.
fn share(key: u32) -> f64 {
    let key_of = |record: &[u8; RECORD]| u32::from_be_bytes([record[0], record[1], record[2], record[3]]);
    let found = TERMS.binary_search_by_key(&key, key_of);
    found.map_or(0.0, |at| (f64::from(TERMS[at][4]) / 255.0).powi(2))
}

/// Returns the rarity of a term, given its key and how many of some skills have it; of one that nothing has, without these.
pub(crate) fn rarity(skills: usize, term: Option<(u32, u32)>) -> f32 {
    let having = term.map_or(0.0, |(key, having)| f64::from(having) + BACKGROUND_SKILLS * share(key));
    field::rarity(skills as f64 + BACKGROUND_SKILLS, having)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relevance::words::{key_of, stem};

    fn of(word: &str, skills: usize, having: u32) -> f32 {
        rarity(skills, Some((key_of(&stem(word)), having)))
    }

    #[test]
    fn terms_are_sorted_and_each_is_there_once() {
        assert!(TERMS.len() > 1000, "{}", TERMS.len());
        assert!(TERMS.is_sorted_by(|a, b| a[..4] < b[..4]));
        assert!(share(key_of("file")) > 0.4, "{}", share(key_of("file")));
        assert!(share(key_of("qwzrtk")).abs() < 1e-9);
    }

    #[test]
    fn common_words_are_common_in_a_small_catalog_too() {
        for common in ["check", "find", "files", "write", "changes"] {
            assert!(of(common, 20, 1) < 0.5 * of("invoice", 20, 1), "{common}");
        }
        assert!(of("bonjour", 2, 0) <= rarity(2, None));
    }

    #[test]
    fn in_a_large_catalog_its_own_counts_decide() {
        let (often, seldom) = (of("file", 100_000, 90_000), of("file", 100_000, 10));
        assert!(often < 0.2 && seldom > 5.0, "{often} {seldom}");
    }
}
