//! Words that look like a misspelt one.

use std::sync::OnceLock;

use rayon::prelude::*;

use crate::relevance::kept::Part;

/// How alike two words must be, and how many of the most alike count.
const ALIKE: f32 = 0.5;
const MOST: usize = 3;

/// The stems of a vocabulary, to be found by the groups of three characters in them.
#[derive(Debug, Default)]
pub(crate) struct Lookalikes {
    pub(crate) text: String,
    /// Where each stem starts in `text`; one more than there are stems.
    pub(crate) starts: Vec<u32>,
    /// How many groups each stem has.
    pub(crate) sizes: Vec<u8>,
    pub(crate) groups: Vec<u64>,
    /// Where the stems of each group start in `stems`; one more than there are groups.
    pub(crate) offsets: Vec<u32>,
    pub(crate) stems: Vec<u32>,
}

/// Lookalikes that are there, or read when first asked for.
#[derive(Debug)]
pub(crate) struct LookalikesStore {
    /// Nothing, if what was kept of them is damaged.
    made: OnceLock<Option<Lookalikes>>,
    kept: Option<[Part; 6]>,
}

impl From<Lookalikes> for LookalikesStore {
    fn from(lookalikes: Lookalikes) -> LookalikesStore {
        LookalikesStore { made: OnceLock::from(Some(lookalikes)), kept: None }
    }
}

impl LookalikesStore {
    pub(crate) fn kept(parts: [Part; 6]) -> LookalikesStore {
        LookalikesStore { made: OnceLock::new(), kept: Some(parts) }
    }

    pub(crate) fn get(&self) -> Option<&Lookalikes> {
        let read = || self.kept.as_ref().and_then(|parts| parts[0].sound(LookalikesStore::read(parts)));
        self.made.get_or_init(read).as_ref()
    }
}

/// A stem that looks like a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lookalike<'a> {
    pub(crate) stem: &'a str,
    /// From [`ALIKE`] to 1.
    pub(crate) alike: f32,
}

/// What one search needs room for.
#[derive(Debug, Default)]
pub(crate) struct Room {
    shared: Vec<u8>,
    touched: Vec<u32>,
}

impl Lookalikes {
    /// Of the stems that are worth a guess: neither short nor long nor a number.
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

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether every number leads to something.
    pub(crate) fn is_sound(&self) -> bool {
        let leads = |starts: &[u32], count: usize, end: usize| {
            starts.len() == count + 1 && starts[0] == 0 && starts[count] as usize == end && starts.is_sorted()
        };
        leads(&self.starts, self.sizes.len(), self.text.len())
            && self.starts.iter().all(|at| self.text.is_char_boundary(*at as usize))
            && leads(&self.offsets, self.groups.len(), self.stems.len())
            && self.groups.is_sorted()
            && self.stems.iter().all(|stem| (*stem as usize) < self.sizes.len())
            // Counts of shared groups are bytes: a stem stands at most once in each group.
            && self.offsets.windows(2).all(|ends| {
                self.stems[ends[0] as usize..ends[1] as usize].windows(2).all(|pair| pair[0] < pair[1])
            })
    }

    fn stem(&self, id: usize) -> &str {
        &self.text[self.starts[id] as usize..self.starts[id + 1] as usize]
    }

    /// The stems most like `word`, best first.
    pub(crate) fn find(&self, word: &str, room: &mut Room) -> Vec<Lookalike<'_>> {
        if !is_candidate(word) || self.groups.is_empty() {
            return Vec::new();
        }
        if room.shared.len() < self.len() {
            room.shared.resize(self.len(), 0);
        }
        let own = groups(word);
        for group in &own {
            let Ok(at) = self.groups.binary_search(group) else { continue };
            for id in &self.stems[self.offsets[at] as usize..self.offsets[at + 1] as usize] {
                let shared = &mut room.shared[*id as usize];
                if *shared == 0 {
                    room.touched.push(*id);
                }
                *shared += 1;
            }
        }
        let mut found = Vec::new();
        for id in room.touched.drain(..) {
            let shared = std::mem::take(&mut room.shared[id as usize]);
            let both = own.len() + usize::from(self.sizes[id as usize]);
            let alike = 2.0 * f32::from(shared) / both as f32;
            if alike >= ALIKE {
                found.push(Lookalike { stem: self.stem(id as usize), alike });
            }
        }
        found.sort_unstable_by(|a, b| b.alike.total_cmp(&a.alike).then_with(|| a.stem.cmp(b.stem)));
        found.truncate(MOST);
        found
    }
}

/// Long enough to be recognised with a letter wrong, short enough for counts in one byte.
fn is_candidate(stem: &str) -> bool {
    stem.len() >= 4
        && stem.len() <= 64
        && stem.chars().nth(3).is_some()
        && !stem.bytes().all(|byte| byte.is_ascii_digit())
}

/// The distinct groups of three characters of `^word$`, sorted.
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
    fn the_most_alike_come_first() {
        let index = Lookalikes::of(["benchmark", "bench", "market", "2024", "abc", "bänke"].into_iter());
        let mut room = Room::default();
        for _ in 0..2 {
            let found = index.find("benchmrak", &mut room);
            assert_eq!(found.iter().map(|one| one.stem).collect::<Vec<_>>(), ["bench", "benchmark"]);
            assert!(found.iter().all(|one| one.alike >= ALIKE && one.alike <= 1.0));
        }
        assert_eq!(index.find("bänkee", &mut room)[0].stem, "bänke");
        assert!(index.find("zzzzzz", &mut room).is_empty());
        assert!(index.find("abc", &mut room).is_empty());
        assert!(Lookalikes::of(std::iter::empty()).find("benchmark", &mut room).is_empty());
    }
}
