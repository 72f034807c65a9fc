//! The word lists: words that say nothing, words that say little, and words that say the same.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use twox_hash::XxHash3_64;

/// Words without a meaning of their own. They are dropped, in skills and in messages.
const STOP: &str = include_str!("stop.txt");
/// Words that stand in every other message and name no subject. They count half.
const WEAK: &str = include_str!("weak.txt");
/// Words that people use for one another, one group a line.
const SYNONYMS: &str = include_str!("synonyms.txt");

/// The lists, with stems instead of words.
pub(crate) static LISTS: LazyLock<Lists> = LazyLock::new(Lists::read);

#[derive(Debug)]
pub(crate) struct Lists {
    stop: HashSet<&'static str>,
    weak: HashSet<u64>,
    synonyms: HashMap<u64, Vec<Synonym>>,
}

/// A stem that stands for another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Synonym {
    pub(crate) stem: Box<str>,
    pub(crate) key: u64,
}

impl Lists {
    fn read() -> Lists {
        let stem_of = |word: &str| stem(word).into_owned();
        let weak = WEAK.split_whitespace().map(|word| key_of(&stem_of(word))).collect();
        let mut synonyms: HashMap<u64, Vec<Synonym>> = HashMap::new();
        for line in SYNONYMS.lines() {
            let group: Vec<String> = line.split_whitespace().map(stem_of).collect();
            for one in &group {
                let list = synonyms.entry(key_of(one)).or_default();
                let others = group.iter().filter(|other| *other != one);
                list.extend(others.map(|other| Synonym { stem: other.as_str().into(), key: key_of(other) }));
            }
        }
        for list in synonyms.values_mut() {
            list.sort();
            list.dedup();
        }
        Lists { stop: STOP.split_whitespace().collect(), weak, synonyms }
    }

    /// Whether a word, in lower case, is to be dropped.
    pub(crate) fn is_stop(&self, word: &str) -> bool {
        self.stop.contains(word)
    }

    /// Whether the stem with that key counts half.
    pub(crate) fn is_weak(&self, key: u64) -> bool {
        self.weak.contains(&key)
    }

    /// The stems that say the same, sorted.
    pub(crate) fn synonyms(&self, key: u64) -> &[Synonym] {
        self.synonyms.get(&key).map_or(&[], Vec::as_slice)
    }
}

/// By what a stem is known everywhere.
///
/// Two stems with one key are taken for one. With 64 bits that is to be expected once among four billion stems.
pub(crate) fn key_of(stem: &str) -> u64 {
    XxHash3_64::oneshot(stem.as_bytes())
}

/// The stem of a word in lower case.
///
/// Only of words in ASCII: the stemmer knows English only, and steps over bytes, not characters.
pub(crate) fn stem(word: &str) -> std::borrow::Cow<'_, str> {
    if !word.is_ascii() || word.len() <= 2 || word.bytes().all(|byte| byte.is_ascii_digit()) {
        return word.into();
    }
    Stemmer::create(Algorithm::English).stem(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_read_whole() {
        assert_eq!(LISTS.stop.len(), 277);
        assert_eq!(LISTS.weak.len(), 301);
        assert!(LISTS.synonyms.len() > 600);
        assert!(LISTS.is_stop("the") && LISTS.is_stop("skill") && !LISTS.is_stop("database"));
        assert!(LISTS.is_weak(key_of("current")) && !LISTS.is_weak(key_of("york")));
    }

    #[test]
    fn synonyms_hold_both_ways_and_never_for_oneself() {
        let of = |word: &str| -> Vec<&str> {
            LISTS.synonyms(key_of(&stem(word))).iter().map(|synonym| &*synonym.stem).collect()
        };
        assert_eq!(of("pictures"), ["imag", "photo", "photograph", "pic", "snapshot"]);
        // In two groups: what a song is, and what it has.
        assert_eq!(of("song"), ["lyric", "melodi", "music", "playlist", "track", "tune"]);
        assert!(of("xylophone").is_empty());
        for (key, list) in &LISTS.synonyms {
            for synonym in list {
                assert!(synonym.key != *key && LISTS.synonyms(synonym.key).iter().any(|back| back.key == *key));
            }
        }
    }

    #[test]
    fn stems_are_of_english_words() {
        for (word, expected) in
            [("leads", "lead"), ("prioritize", "priorit"), ("c#", "c#"), ("2024", "2024"), ("cafés", "cafés")]
        {
            assert_eq!(stem(word), expected);
        }
    }
}
