//! The word lists: stop words, weak words, and synonyms.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use twox_hash::XxHash3_64;

/// Words without a meaning of their own. They are dropped, in skills and in messages.
const STOP: &str = include_str!("stop.txt");
/// Words that occur in every other message and name no subject. They count half.
const WEAK: &str = include_str!("weak.txt");
/// Synonyms, one group a line.
const SYNONYMS: &str = include_str!("synonyms.txt");

/// The lists, with stems instead of words.
pub(crate) static LISTS: LazyLock<WordLists> = LazyLock::new(WordLists::read);

/// The stop words, the weak words and the synonyms.
#[derive(Debug)]
pub(crate) struct WordLists {
    stop: HashSet<&'static str>,
    weak: HashSet<u32>,
    synonyms: HashMap<u32, Vec<Synonym>>,
}

/// A synonym of a stem.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Synonym {
    pub(crate) stem: Box<str>,
    pub(crate) key: u32,
}

impl WordLists {
    fn read() -> WordLists {
        let stem_of = |word: &str| stem(word).into_owned();
        let weak = WEAK.split_whitespace().map(|word| key_of(&stem_of(word))).collect();
        let mut synonyms: HashMap<u32, Vec<Synonym>> = HashMap::new();
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
        WordLists { stop: STOP.split_whitespace().collect(), weak, synonyms }
    }

    /// Returns whether a word, in lower case, is a stop word.
    pub(crate) fn is_stop(&self, word: &str) -> bool {
        self.stop.contains(word)
    }

    /// Returns whether the stem with that key is weak.
    pub(crate) fn is_weak(&self, key: u32) -> bool {
        self.weak.contains(&key)
    }

    /// Returns the synonyms of a stem, sorted.
    pub(crate) fn synonyms(&self, key: u32) -> &[Synonym] {
        self.synonyms.get(&key).map_or(&[], Vec::as_slice)
    }
}

/// Returns the key of a stem, by which it is identified everywhere: a number of 31 bits that is not 0.
///
/// Two stems with one key are treated as one. Among 100,000 stems that is to be expected of two or three pairs.
pub(crate) fn key_of(stem: &str) -> u32 {
    u32::try_from(hash_of(stem) & 0x7fff_ffff).map_or(1, |key| key.max(1))
}

/// Returns a hash of a text that identifies it.
pub(crate) fn hash_of(text: &str) -> u64 {
    XxHash3_64::oneshot(text.as_bytes())
}

/// Returns the stem of a word in lower case.
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
        assert_eq!(
            of("song"),
            ["album", "artist", "band", "lyric", "melodi", "music", "playlist", "spotifi", "track", "tune"]
        );
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
