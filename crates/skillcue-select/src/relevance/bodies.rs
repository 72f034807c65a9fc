//! The terms of bodies: a forward index that is stored between runs.

use std::collections::HashMap;

use skillcue_base::binary::{BinaryFormat, Reader, Writer, u32s};
use skillcue_catalog::Skill;
use twox_hash::XxHash3_64;

use crate::relevance::bags::narrow;
use crate::relevance::tokens::{Tokenizer, head};

/// How many bytes of a body are read, and how many of its terms are kept.
const MAX_BODY: usize = 64 * 1024;
const MAX_TERMS: usize = 256;
/// The format of the stored bytes. The magic changes whenever the layout does, or the terms of a text: stems, keys.
const FORMAT: BinaryFormat = BinaryFormat { magic: *b"skcbody2", build: env!("CARGO_PKG_VERSION") };

/// The terms of skills' bodies, by a key of the caller's choice ([`body_key`]).
///
/// Bodies are not read at start. A background task reads one after another, adds its terms, and stores all of them; the
/// next start has them, and only changed bodies must be read again.
///
/// ```
/// use skillcue_select::BodyTerms;
///
/// let mut bodies = BodyTerms::default();
/// bodies.insert(7, BodyTerms::of_body("# Merge\n\nUse `qpdf` to merge."));
/// let stored = bodies.to_bytes();
/// assert_eq!(BodyTerms::from_bytes(&stored), Some(bodies));
/// assert_eq!(BodyTerms::from_bytes(&stored[1..]), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BodyTerms {
    bodies: HashMap<u64, DocTerms>,
}

/// The terms of one body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocTerms {
    /// The number of its terms in all, including those that were not kept.
    length: u32,
    /// How often some terms occur, and the number of such terms; most frequent first.
    runs: Box<[(u8, u16)]>,
    /// The terms, in the order of `runs`.
    terms: Box<[u32]>,
}

impl DocTerms {
    /// Returns the number of words in the body, without stop words.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Returns the number of its terms that are kept.
    pub fn kept(&self) -> usize {
        self.terms.len()
    }

    /// Returns its terms and how often each occurs.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (u32, u32)> {
        let counts = self.runs.iter().flat_map(|(count, size)| std::iter::repeat_n(u32::from(*count), (*size).into()));
        self.terms.iter().copied().zip(counts)
    }
}

impl BodyTerms {
    /// Returns the terms of a body: of its first 64 KiB, the 256 most frequent ones.
    pub fn of_body(text: &str) -> DocTerms {
        let mut found: Vec<(u32, u32)> = Vec::new();
        Tokenizer::default().each(head(text, MAX_BODY), &mut |token| {
            let place = u32::try_from(found.len()).unwrap_or(u32::MAX);
            found.push((u32::try_from(narrow(token.key)).unwrap_or_default(), place));
        });
        let length = u32::try_from(found.len()).unwrap_or(u32::MAX);
        found.sort_unstable();
        let mut terms: Vec<(u8, u32, u32)> = found
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| (u8::try_from(same.len()).unwrap_or(u8::MAX), same[0].1, same[0].0))
            .collect();
        // Most frequent first, then in order of appearance.
        terms.sort_unstable_by_key(|(count, place, _)| (u8::MAX - count, *place));
        terms.truncate(MAX_TERMS);
        let runs = terms.chunk_by(|a, b| a.0 == b.0).map(|same| (same[0].0, u16::try_from(same.len()).unwrap_or(0)));
        DocTerms { length, runs: runs.collect(), terms: terms.iter().map(|(_, _, term)| *term).collect() }
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

    /// Returns all bodies as bytes, to be stored: four bytes a term and some fifty a body.
    pub fn to_bytes(&self) -> Vec<u8> {
        let size = |body: &DocTerms| 16 + 3 * body.runs.len() + 4 * body.terms.len();
        let mut out = Writer::with_capacity(8 + self.bodies.values().map(size).sum::<usize>());
        out.count(self.bodies.len());
        let mut keys: Vec<u64> = self.bodies.keys().copied().collect();
        keys.sort_unstable();
        for (key, body) in keys.iter().filter_map(|key| Some((key, self.bodies.get(key)?))) {
            out.u64(*key);
            out.u32(body.length);
            // At most as many as terms, and those are few.
            out.u16(u16::try_from(body.runs.len()).unwrap_or(0));
            out.u16(u16::try_from(body.terms.len()).unwrap_or(0));
            for (count, size) in &body.runs {
                out.u8(*count);
                out.u16(*size);
            }
            for term in &body.terms {
                out.u32(*term);
            }
        }
        FORMAT.seal(out.as_bytes())
    }

    /// Reads the bytes that [`to_bytes`](BodyTerms::to_bytes) made; `None`, if they are of another version or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<BodyTerms> {
        let mut reader = Reader::new(FORMAT.unseal(bytes)?);
        let count = reader.count()?;
        let mut bodies = HashMap::with_capacity(count.min(bytes.len() / 16));
        for _ in 0..count {
            let key = reader.u64()?;
            bodies.insert(key, read_body(&mut reader)?);
        }
        (reader.is_empty() && bodies.len() == count).then_some(BodyTerms { bodies })
    }
}

fn read_body(reader: &mut Reader<'_>) -> Option<DocTerms> {
    let length = reader.u32()?;
    let (runs, kept) = (reader.u16()?, usize::from(reader.u16()?));
    if kept > MAX_TERMS || usize::from(runs) > kept {
        return None;
    }
    let runs: Box<[(u8, u16)]> = (0..runs).map(|_| Some((reader.u8()?, reader.u16()?))).collect::<Option<_>>()?;
    let terms = u32s(reader.raw(4 * kept)?)?.into_boxed_slice();
    let counted: usize = runs.iter().map(|(_, size)| usize::from(*size)).sum();
    let whole = counted == kept && runs.iter().all(|(count, size)| *count > 0 && *size > 0);
    whole.then_some(DocTerms { length, runs, terms })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> BodyTerms {
        let mut bodies = BodyTerms::default();
        bodies.insert(1, BodyTerms::of_body("merge merge split PDF pages, merge"));
        bodies.insert(u64::MAX, BodyTerms::of_body(""));
        bodies.insert(3, BodyTerms::of_body(&(0..2000).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ")));
        bodies
    }

    #[test]
    fn the_most_frequent_terms_are_kept() {
        let body = BodyTerms::of_body("split merge merge PDF pages, merge the split");
        assert_eq!((body.length(), body.kept()), (7, 4));
        assert_eq!(body.counts().map(|(_, count)| count).collect::<Vec<_>>(), [3, 2, 1, 1]);
        let many = some().get(3).cloned().unwrap();
        assert_eq!((many.kept(), many.length()), (MAX_TERMS, 6000));
        // The last word is cut.
        let long = BodyTerms::of_body(&"word ".repeat(100_000));
        assert_eq!((long.kept(), long.counts().next().unwrap().1), (2, 255));
        assert!(long.length() <= 64 * 1024 / 5 + 1);
    }

    #[test]
    fn stored_bodies_are_read_back() {
        let bodies = some();
        assert_eq!(BodyTerms::from_bytes(&bodies.to_bytes()), Some(bodies.clone()));
        assert_eq!(BodyTerms::from_bytes(&BodyTerms::default().to_bytes()), Some(BodyTerms::default()));
        let mut fewer = bodies;
        fewer.retain(|key| key == 1);
        assert_eq!((fewer.len(), fewer.get(3)), (1, None));
    }

    #[test]
    fn damage_is_seen() {
        let bytes = some().to_bytes();
        for at in 0..bytes.len() {
            assert_eq!(BodyTerms::from_bytes(&bytes[..at]), None);
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            assert_eq!(BodyTerms::from_bytes(&flipped), None, "{at}");
        }
    }

    #[test]
    fn forged_bytes_with_a_valid_checksum_do_no_harm() {
        let bytes = some().to_bytes();
        let mut accepted = 0;
        let head = FORMAT.unseal(&bytes).unwrap();
        for at in 0..head.len().min(400) {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = head.to_vec();
                changed[at] = value;
                let changed = FORMAT.seal(&changed);
                if let Some(terms) = BodyTerms::from_bytes(&changed) {
                    accepted += 1;
                    // Accepted bytes are written and read back equal.
                    assert_eq!(BodyTerms::from_bytes(&terms.to_bytes()), Some(terms));
                }
            }
        }
        assert!(accepted > 0, "the test reaches beyond the checksum");
    }
}
