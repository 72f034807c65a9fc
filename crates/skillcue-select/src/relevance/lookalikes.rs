//! Lookalikes: known words that are similar to a misspelt one.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::relevance::storage::LazyPart;
use crate::relevance::words::key_of;

/// The likeness that two words need, and how many of the most similar are returned.
const MIN_LIKENESS: f32 = 0.5;
const MAX_LOOKALIKES: usize = 3;

/// The stems of a vocabulary, to be found by the groups of three characters in them.
#[derive(Debug, Default)]
pub(crate) struct Lookalikes {
    pub(crate) text: String,
    /// The start of each stem in `text`; one more than there are stems.
    pub(crate) starts: Vec<u32>,
    /// The number of groups of each stem.
    pub(crate) sizes: Vec<u8>,
    pub(crate) groups: Vec<u64>,
    /// The start of each group's stems in `stems`; one more than there are groups.
    pub(crate) offsets: Vec<u32>,
    pub(crate) stems: Vec<u32>,
}

/// Lookalikes that are in memory, or read or made when first needed.
#[derive(Debug)]
pub(crate) struct LookalikesStore {
    /// `None`, if the stored ones are damaged.
    made: OnceLock<Option<Lookalikes>>,
    origin: LookalikesOrigin,
}

/// The data that lookalikes are made from.
#[derive(Debug)]
enum LookalikesOrigin {
    Nothing,
    Parts(Box<[LazyPart; 6]>),
    /// The stems of two others whose keys are among these, ascending.
    Merged {
        stores: [Arc<LookalikesStore>; 2],
        keys: Vec<u32>,
    },
}

impl From<Lookalikes> for LookalikesStore {
    fn from(lookalikes: Lookalikes) -> LookalikesStore {
        LookalikesStore { made: OnceLock::from(Some(lookalikes)), origin: LookalikesOrigin::Nothing }
    }
}

impl LookalikesStore {
    pub(crate) fn stored(parts: [LazyPart; 6]) -> LookalikesStore {
        LookalikesStore { made: OnceLock::new(), origin: LookalikesOrigin::Parts(Box::new(parts)) }
    }

    /// Returns those of a vocabulary with these keys, ascending, all of whose stems are in one store or the other.
    pub(crate) fn merged(stores: [Arc<LookalikesStore>; 2], keys: &[u32]) -> LookalikesStore {
        for store in &stores {
            if matches!(store.origin, LookalikesOrigin::Merged { .. }) {
                // Otherwise each update would keep those before it alive.
                store.get();
            }
        }
        let origin = LookalikesOrigin::Merged { stores, keys: keys.to_vec() };
        LookalikesStore { made: OnceLock::new(), origin }
    }

    pub(crate) fn get(&self) -> Option<&Lookalikes> {
        let make = || match &self.origin {
            LookalikesOrigin::Nothing => None,
            LookalikesOrigin::Parts(parts) => parts[0].sound(LookalikesStore::read(parts)),
            LookalikesOrigin::Merged { stores: [some, others], keys } => {
                Some(Lookalikes::merged([some.get()?, others.get()?], keys))
            }
        };
        self.made.get_or_init(make).as_ref()
    }
}

/// A stem that is similar to a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lookalike<'a> {
    pub(crate) stem: &'a str,
    /// The likeness, from [`MIN_LIKENESS`] to 1.
    pub(crate) alike: f32,
}

/// The buffers of a search, reused.
#[derive(Debug, Default)]
pub(crate) struct LookalikeScratch {
    shared: Vec<u8>,
    touched: Vec<u32>,
}

impl Lookalikes {
    /// Indexes the stems that are worth a guess: neither short nor long nor a number.
    pub(crate) fn of<'a>(vocabulary: impl Iterator<Item = &'a str>) -> Lookalikes {
        let mut index = Lookalikes::default();
        for stem in vocabulary.filter(|stem| is_candidate(stem)) {
            index.starts.push(u32::try_from(index.text.len()).unwrap_or(u32::MAX));
            index.text.push_str(stem);
        }
        index.starts.push(u32::try_from(index.text.len()).unwrap_or(u32::MAX));
        let all: Vec<Vec<u64>> = (0..index.len()).into_par_iter().map(|id| groups(index.stem(id))).collect();
        index.sizes = all.iter().map(|groups| u8::try_from(groups.len()).unwrap_or(u8::MAX)).collect();
        let mut pairs: Vec<(u64, u32)> =
            (0u32..).zip(&all).flat_map(|(id, groups)| groups.iter().map(move |group| (*group, id))).collect();
        pairs.par_sort_unstable();
        for (at, (group, stem)) in (0u32..).zip(pairs) {
            if index.groups.last() != Some(&group) {
                index.groups.push(group);
                index.offsets.push(at);
            }
            index.stems.push(stem);
        }
        index.offsets.push(u32::try_from(index.stems.len()).unwrap_or(u32::MAX));
        index
    }

    /// Indexes the stems of two others whose keys are among `keys`, ascending.
    fn merged(others: [&Lookalikes; 2], keys: &[u32]) -> Lookalikes {
        let mut stems: Vec<(u32, &str)> = Vec::new();
        for other in others {
            stems.extend((0..other.len()).map(|id| (key_of(other.stem(id)), other.stem(id))));
        }
        // Stable: of two stems with one key, which count as one, the first is kept.
        stems.sort_by_key(|stem| stem.0);
        stems.dedup_by_key(|stem| stem.0);
        let mut keys = keys.iter().peekable();
        stems.retain(|(key, _)| {
            while keys.next_if(|known| *known < key).is_some() {}
            keys.peek() == Some(&key)
        });
        Lookalikes::of(stems.into_iter().map(|(_, stem)| stem))
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns whether every number is in range.
    pub(crate) fn is_sound(&self) -> bool {
        let leads = |starts: &[u32], count: usize, end: usize| {
            starts.len() == count + 1 && starts[0] == 0 && starts[count] as usize == end && starts.is_sorted()
        };
        leads(&self.starts, self.sizes.len(), self.text.len())
            && self.starts.iter().all(|at| self.text.is_char_boundary(*at as usize))
            && leads(&self.offsets, self.groups.len(), self.stems.len())
            && self.groups.is_sorted()
            && self.stems.iter().all(|stem| (*stem as usize) < self.sizes.len())
            // Counts of shared groups are bytes: a stem is at most once in each group.
            && self.offsets.windows(2).all(|ends| {
                self.stems[ends[0] as usize..ends[1] as usize].windows(2).all(|pair| pair[0] < pair[1])
            })
    }

    fn stem(&self, id: usize) -> &str {
        &self.text[self.starts[id] as usize..self.starts[id + 1] as usize]
    }

    /// Returns the stems most similar to `word`, best first.
    pub(crate) fn find(&self, word: &str, scratch: &mut LookalikeScratch) -> Vec<Lookalike<'_>> {
        if !is_candidate(word) || self.groups.is_empty() {
            return Vec::new();
        }
        if scratch.shared.len() < self.len() {
            scratch.shared.resize(self.len(), 0);
        }
        let own = groups(word);
        for group in &own {
            let Ok(at) = self.groups.binary_search(group) else { continue };
            for id in &self.stems[self.offsets[at] as usize..self.offsets[at + 1] as usize] {
                let shared = &mut scratch.shared[*id as usize];
                if *shared == 0 {
                    scratch.touched.push(*id);
                }
                *shared += 1;
            }
        }
        let mut found = Vec::new();
        for id in scratch.touched.drain(..) {
            let shared = std::mem::take(&mut scratch.shared[id as usize]);
            let both = own.len() + usize::from(self.sizes[id as usize]);
            let alike = 2.0 * f32::from(shared) / both as f32;
            if alike >= MIN_LIKENESS {
                found.push(Lookalike { stem: self.stem(id as usize), alike });
            }
        }
        found.sort_unstable_by(|a, b| b.alike.total_cmp(&a.alike).then_with(|| a.stem.cmp(b.stem)));
        found.truncate(MAX_LOOKALIKES);
        found
    }
}

/// Returns whether a stem is long enough to be recognised with a letter wrong, and short enough for counts in one byte.
fn is_candidate(stem: &str) -> bool {
    stem.len() >= 4
        && stem.len() <= 64
        && stem.chars().nth(3).is_some()
        && !stem.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the distinct groups of three characters of `^word$`, sorted.
fn groups(word: &str) -> Vec<u64> {
    let chars: Vec<u64> = std::iter::once('^').chain(word.chars()).chain(['$']).map(u64::from).collect();
    let mut groups: Vec<u64> = chars.windows(3).map(|three| three[0] << 42 | three[1] << 21 | three[2]).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_come_first() {
        let index = Lookalikes::of(["benchmark", "bench", "market", "2024", "abc", "bänke"].into_iter());
        let mut scratch = LookalikeScratch::default();
        for _ in 0..2 {
            let found = index.find("benchmrak", &mut scratch);
            assert_eq!(found.iter().map(|one| one.stem).collect::<Vec<_>>(), ["bench", "benchmark"]);
            assert!(found.iter().all(|one| one.alike >= MIN_LIKENESS && one.alike <= 1.0));
        }
        assert_eq!(index.find("bänkee", &mut scratch)[0].stem, "bänke");
        assert!(index.find("zzzzzz", &mut scratch).is_empty());
        assert!(index.find("abc", &mut scratch).is_empty());
        assert!(Lookalikes::of(std::iter::empty()).find("benchmark", &mut scratch).is_empty());
    }
}
