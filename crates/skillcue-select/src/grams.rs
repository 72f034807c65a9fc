//! A filter for patterns: a pattern can match a message only if one of its required literals occurs.
//!
//! Of each literal, a gram of one to three bytes is looked up at every position of the message; where it occurs, the
//! whole literal is compared.

use std::collections::BTreeMap;

use crate::index::NONE;

/// The size of the sieve before the table, in bits.
const SIEVE: usize = 1 << 15;

/// Literals, and a table of their grams.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Grams {
    /// The literals' bytes, lower case, and the start of each (and one more).
    pub(crate) bytes: Vec<u8>,
    pub(crate) starts: Vec<u32>,
    /// Per literal: the item of its pattern.
    pub(crate) items: Vec<u32>,
    /// Per literal: the offset of its gram in it.
    pub(crate) offsets: Vec<u32>,
    /// Grams, ascending, and per literal in the same order: the literals sorted by gram.
    pub(crate) keys: Vec<u32>,
    pub(crate) order: Vec<u32>,
    /// A bit for each gram; made from the keys.
    pub(crate) sieve: Vec<u64>,
    /// The lengths of grams that occur; made from the keys.
    pub(crate) lengths: [bool; 4],
}

impl Grams {
    /// Makes the table from patterns' items and their literals.
    pub(crate) fn of(patterns: &[(u32, Vec<Vec<u8>>)]) -> Grams {
        let mut grams = Grams { starts: vec![0], ..Grams::default() };
        let mut sorted: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (item, literals) in patterns {
            for literal in literals {
                let (offset, key) = rarest(literal);
                let at = u32::try_from(grams.items.len()).unwrap_or(NONE);
                grams.bytes.extend_from_slice(literal);
                grams.starts.push(u32::try_from(grams.bytes.len()).unwrap_or(NONE));
                grams.items.push(*item);
                grams.offsets.push(offset);
                sorted.entry(key).or_default().push(at);
            }
        }
        for (key, literals) in sorted {
            for literal in literals {
                grams.keys.push(key);
                grams.order.push(literal);
            }
        }
        grams.sift();
        grams
    }

    /// Makes the sieve and the lengths from the keys.
    pub(crate) fn sift(&mut self) {
        self.sieve = vec![0; if self.keys.is_empty() { 0 } else { SIEVE / 64 }];
        self.lengths = [false; 4];
        for key in &self.keys {
            let bit = sieve_bit(*key);
            self.sieve[bit / 64] |= 1 << (bit % 64);
            self.lengths[length_of(*key)] = true;
        }
    }

    /// Calls `found` with the item of every pattern one of whose literals occurs in `text`, lower case. It may be
    /// called more than once for an item.
    pub(crate) fn scan(&self, text: &[u8], mut found: impl FnMut(u32)) {
        if self.keys.is_empty() {
            return;
        }
        for at in 0..text.len() {
            let rest = &text[at..];
            for length in 1..=rest.len().min(3) {
                if !self.lengths[length] {
                    continue;
                }
                let key = gram(&rest[..length]);
                let bit = sieve_bit(key);
                if self.sieve[bit / 64] & (1 << (bit % 64)) != 0 {
                    self.check(key, text, at, &mut found);
                }
            }
        }
    }

    fn check(&self, key: u32, text: &[u8], at: usize, found: &mut impl FnMut(u32)) {
        let first = self.keys.partition_point(|other| *other < key);
        for (_, literal) in self.keys[first..].iter().zip(&self.order[first..]).take_while(|(other, _)| **other == key)
        {
            let literal = *literal as usize;
            let bytes = &self.bytes[self.starts[literal] as usize..self.starts[literal + 1] as usize];
            let start = at.checked_sub(self.offsets[literal] as usize);
            if start.and_then(|start| text.get(start..start + bytes.len())) == Some(bytes) {
                found(self.items[literal]);
            }
        }
    }
}

/// Returns a gram as a number: its bytes and its length.
fn gram(bytes: &[u8]) -> u32 {
    let length = u32::try_from(bytes.len()).unwrap_or(0);
    bytes.iter().fold(length, |key, byte| key << 8 | u32::from(*byte))
}

fn length_of(key: u32) -> usize {
    3_usize.saturating_sub(key.leading_zeros() as usize / 8)
}

fn sieve_bit(key: u32) -> usize {
    (key.wrapping_mul(0x9E37_79B1) >> 17) as usize
}

/// Returns the gram of a literal that probably occurs least, and its offset.
fn rarest(literal: &[u8]) -> (u32, u32) {
    let length = literal.len().min(3);
    let common = |gram: &[u8]| {
        gram.iter().map(|b| b" etaoinsrhldcum".iter().rev().position(|c| c == b).map_or(0, |at| at + 4)).sum::<usize>()
    };
    let best = (0..=literal.len() - length).min_by_key(|at| common(&literal[*at..at + length])).unwrap_or(0);
    (u32::try_from(best).unwrap_or(0), gram(&literal[best..best + length]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_found_at_every_position() {
        let literals: Vec<Vec<u8>> =
            ["say ", ".pdf", "x", "go", "表格", "the end"].map(|s| s.as_bytes().to_vec()).into();
        let grams = Grams::of(&(0..).zip(&literals).map(|(at, l)| (at, vec![l.clone()])).collect::<Vec<_>>());
        let found = |text: &str| {
            let mut items = Vec::new();
            grams.scan(text.as_bytes(), |item| items.push(item));
            items.sort_unstable();
            items.dedup();
            items
        };
        assert_eq!(found("say it"), [0]);
        assert!(found("say").is_empty());
        assert_eq!(found("a.pdf"), [1]);
        assert_eq!(found("x"), [2]);
        assert_eq!(found("ago, this is the end"), [3, 5]);
        assert_eq!(found("把表格"), [4]);
        assert!(found("").is_empty());
        Grams::default().scan(b"abc", |_| unreachable!());
    }

    #[test]
    fn grams_know_their_length() {
        for text in ["a", "ab", "abc", "\0", "\0\0\0", "\u{7f}", "é"] {
            assert_eq!(length_of(gram(text.as_bytes())), text.len(), "{text:?}");
        }
    }
}
