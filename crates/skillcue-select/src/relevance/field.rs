//! One inverted index: BM25 over one text of each document.

use std::sync::OnceLock;

use hashbrown::HashTable;

use crate::relevance::storage::LazyPart;

/// The parameters of BM25: how fast repetitions of a word stop to matter, and how much a long text counts against its
/// words.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// A posting is a document and a count in 32 bits.
const COUNT_BITS: u32 = 8;
/// How many documents a field can hold.
pub(crate) const MAX_DOCUMENTS: usize = 1 << (32 - COUNT_BITS);

/// The terms of one text, for [`TextField::of`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bag<'a> {
    /// Each term's key, once, and how often it occurs.
    pub(crate) terms: &'a [(u32, u32)],
    /// The number of words in all.
    pub(crate) length: u32,
}

/// An inverted index of one text of each document.
///
/// Postings are four bytes: a document's number in the upper bits, how often it has the term in the lower. The impact
/// of a posting is computed from that and from `norms` when it is read: one division costs less than fetching four more
/// bytes.
#[derive(Debug)]
pub(crate) struct TextField {
    /// The terms, ascending.
    pub(crate) keys: Vec<u32>,
    /// The start of each term's postings; one more than there are terms.
    pub(crate) starts: Vec<u32>,
    pub(crate) postings: PostingBlocks,
    /// The number of words of each document.
    pub(crate) lengths: Vec<u32>,
    /// For each document, the term of its length in the denominator of BM25.
    norms: Vec<f32>,
}

/// Postings of all terms: in memory, or in blocks of whole terms that are read when first needed.
#[derive(Debug)]
pub(crate) enum PostingBlocks {
    InMemory(Vec<u32>),
    Stored {
        /// The first term of each block.
        firsts: Vec<u32>,
        parts: Vec<LazyPart>,
        /// Empty, if the block is damaged.
        read: Vec<OnceLock<Vec<u32>>>,
    },
}

impl PostingBlocks {
    pub(crate) fn stored(firsts: Vec<u32>, parts: Vec<LazyPart>) -> PostingBlocks {
        let read = parts.iter().map(|_| OnceLock::new()).collect();
        PostingBlocks::Stored { firsts, parts, read }
    }
}

/// The number of a document that is in a field no more.
pub(crate) const GONE: u32 = u32::MAX;

/// A field whose documents get other numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Renumbered<'a> {
    pub(crate) field: &'a TextField,
    /// The new number of each document, or [`GONE`].
    pub(crate) numbers: &'a [u32],
}

/// How many postings a block of a stored field holds, about: 64 KiB.
const POSTINGS_PER_BLOCK: u32 = 16 << 10;

/// How many postings are compared one by one before some are skipped.
const SINGLE_STEPS: usize = 16;

/// The postings of a term in a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Postings<'a> {
    pub(crate) list: &'a [u32],
    pub(crate) idf: f32,
}

impl TextField {
    pub(crate) fn of<'a>(bags: impl Iterator<Item = Bag<'a>> + Clone) -> TextField {
        let mut lengths = Vec::new();
        let mut ids: HashTable<u32> = HashTable::new();
        // Keys in order of first appearance, and how many documents have each.
        let mut found: Vec<(u32, u32)> = Vec::new();
        // Terms by document, as numbers, so that each is looked up once.
        let mut numbered: Vec<u32> = Vec::new();
        for bag in bags.clone().take(MAX_DOCUMENTS) {
            lengths.push(bag.length);
            for &(key, _) in bag.terms {
                let id = if let Some(id) = ids.find(spread(key), |id| found[*id as usize].0 == key) {
                    *id
                } else {
                    let id = u32::try_from(found.len()).unwrap_or(u32::MAX);
                    found.push((key, 0));
                    ids.insert_unique(spread(key), id, |id| spread(found[*id as usize].0));
                    id
                };
                found[id as usize].1 += 1;
                numbered.push(id);
            }
        }
        let mut order: Vec<u32> = (0..u32::try_from(found.len()).unwrap_or(u32::MAX)).collect();
        order.sort_unstable_by_key(|id| found[*id as usize].0);
        let keys = order.iter().map(|id| found[*id as usize].0).collect();
        let mut starts = Vec::with_capacity(order.len() + 1);
        // The position of the next posting of each number.
        let mut next = vec![0; order.len()];
        let mut start = 0;
        starts.push(start);
        for id in order {
            next[id as usize] = start;
            start += found[id as usize].1;
            starts.push(start);
        }
        let mut postings = vec![0; numbered.len()];
        let mut ids = numbered.into_iter();
        for (document, bag) in (0u32..).zip(bags.take(MAX_DOCUMENTS)) {
            for (&(_, count), id) in bag.terms.iter().zip(&mut ids) {
                let at = &mut next[id as usize];
                postings[*at as usize] = document << COUNT_BITS | count.min((1 << COUNT_BITS) - 1);
                *at += 1;
            }
        }
        TextField::new(keys, starts, PostingBlocks::InMemory(postings), lengths)
    }

    pub(crate) fn new(keys: Vec<u32>, starts: Vec<u32>, postings: PostingBlocks, lengths: Vec<u32>) -> TextField {
        let total: f64 = lengths.iter().copied().map(f64::from).sum();
        let mean = if total > 0.0 { total / lengths.len() as f64 } else { 1.0 };
        let norms = lengths.iter().map(|length| K1 * (1.0 - B + B * (f64::from(*length) / mean) as f32)).collect();
        TextField { keys, starts, postings, lengths, norms }
    }

    /// Returns the field over documents of two others: equal to one that was made from their texts. `None`, if stored
    /// postings are damaged.
    pub(crate) fn merged(sources: [Renumbered<'_>; 2], documents: usize) -> Option<TextField> {
        let mut lengths = vec![0; documents];
        for Renumbered { field, numbers } in sources {
            for (length, number) in field.lengths.iter().zip(numbers) {
                if let Some(place) = lengths.get_mut(*number as usize) {
                    *place = *length;
                }
            }
        }
        let [some, others] = sources.map(|source| source.field);
        let mut keys = Vec::with_capacity(some.keys.len() + others.keys.len());
        let mut starts = Vec::with_capacity(keys.capacity() + 1);
        let most = [some, others].map(|field| field.starts.last().map_or(0, |end| *end as usize));
        let mut postings: Vec<u32> = Vec::with_capacity(most.iter().sum());
        starts.push(0);
        let mut at = [0, 0];
        while let Some(key) = [some.keys.get(at[0]), others.keys.get(at[1])].into_iter().flatten().min().copied() {
            let start = postings.len();
            for (Renumbered { field, numbers }, at) in sources.iter().zip(&mut at) {
                if field.keys.get(*at) != Some(&key) {
                    continue;
                }
                let renumber = |posting: &u32| {
                    let number = numbers.get(document_of(*posting)).copied().filter(|number| *number != GONE)?;
                    Some(number << COUNT_BITS | posting & ((1 << COUNT_BITS) - 1))
                };
                postings.extend(field.list(*at)?.iter().filter_map(renumber));
                *at += 1;
            }
            let list = &mut postings[start..];
            if !list.is_sorted() {
                // Of two ascending parts as a rule, which a stable sort merges.
                list.sort_by_key(|posting| *posting);
            }
            if !list.is_empty() {
                keys.push(key);
                starts.push(u32::try_from(postings.len()).ok()?);
            }
        }
        Some(TextField::new(keys, starts, PostingBlocks::InMemory(postings), lengths))
    }

    /// Returns the number of documents.
    pub(crate) fn documents(&self) -> usize {
        self.norms.len()
    }

    /// Returns the keys of all terms, ascending.
    pub(crate) fn keys(&self) -> &[u32] {
        &self.keys
    }

    /// Returns the position of the term with that key in [`keys`](TextField::keys).
    pub(crate) fn id(&self, key: u32) -> Option<u32> {
        self.keys.binary_search(&key).ok().and_then(|at| u32::try_from(at).ok())
    }

    /// Returns the first term of each block when the field is stored.
    pub(crate) fn block_firsts(&self) -> Vec<u32> {
        let mut firsts: Vec<u32> = Vec::new();
        let mut filled = POSTINGS_PER_BLOCK;
        for (id, ends) in (0..).zip(self.starts.windows(2)) {
            if filled >= POSTINGS_PER_BLOCK {
                firsts.push(id);
                filled = 0;
            }
            filled += ends[1] - ends[0];
        }
        firsts
    }

    /// Returns the postings of a term by its number; `None`, if the stored ones are damaged.
    pub(crate) fn list(&self, id: usize) -> Option<&[u32]> {
        let (start, end) = (self.starts[id], self.starts[id + 1]);
        match &self.postings {
            PostingBlocks::InMemory(postings) => postings.get(start as usize..end as usize),
            PostingBlocks::Stored { firsts, parts, read } => {
                let at = firsts.partition_point(|first| *first as usize <= id).checked_sub(1)?;
                let first = self.starts[firsts[at] as usize];
                let block = read[at].get_or_init(|| {
                    let last = firsts.get(at + 1).map_or(self.keys.len(), |next| *next as usize);
                    let expected = (self.starts[last] - first) as usize;
                    let sound = |postings: &Vec<u32>| {
                        postings.len() == expected && postings.iter().all(|it| document_of(*it) < self.norms.len())
                    };
                    parts[at].sound(parts[at].numbers().filter(sound)).unwrap_or_default()
                });
                block.get((start - first) as usize..(end - first) as usize)
            }
        }
    }

    fn idf_of(&self, id: usize) -> f32 {
        rarity(self.documents() as f64, f64::from(self.starts[id + 1] - self.starts[id]))
    }

    /// Returns the postings of a term.
    pub(crate) fn postings(&self, key: u32) -> Option<Postings<'_>> {
        let id = self.id(key)? as usize;
        Some(Postings { list: self.list(id)?, idf: self.idf_of(id) })
    }

    /// Returns how many documents have a term.
    pub(crate) fn count(&self, key: u32) -> u32 {
        self.id(key).map_or(0, |id| self.starts[id as usize + 1] - self.starts[id as usize])
    }

    /// Returns the inverse document frequency of a term, if a document has it.
    pub(crate) fn idf(&self, key: u32) -> Option<f32> {
        self.id(key).map(|id| self.idf_of(id as usize))
    }

    /// Returns the impact on each document of `postings`.
    pub(crate) fn impacts(&self, postings: Postings<'_>) -> impl Iterator<Item = (usize, f32)> {
        let top = postings.idf * (K1 + 1.0);
        postings.list.iter().map(move |posting| self.impact(*posting, top))
    }

    /// Returns the impact on one document; `None`, if it lacks the term.
    pub(crate) fn impact_on(&self, postings: Postings<'_>, document: usize) -> Option<f32> {
        let at = postings.list.partition_point(|posting| document_of(*posting) < document);
        let posting = postings.list.get(at).filter(|posting| document_of(**posting) == document)?;
        Some(self.impact(*posting, postings.idf * (K1 + 1.0)).1)
    }

    /// Returns how much of a term's highest impact a document gets that has it so often: from 0 to 1.
    pub(crate) fn saturation(&self, document: usize, count: f32) -> f32 {
        count / (count + self.norms[document])
    }

    fn impact(&self, posting: u32, top: f32) -> (usize, f32) {
        let document = document_of(posting);
        let count = (posting & ((1 << COUNT_BITS) - 1)) as f32;
        (document, top * count / (count + self.norms[document]))
    }
}

/// Returns the rarity of a term that `having` of `all` documents have.
pub(crate) fn rarity(all: f64, having: f64) -> f32 {
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln() as f32
}

impl Postings<'_> {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns whether a document is among them. Forgets all before it: documents must be asked for in order.
    ///
    /// After a few single steps, steps double until one is too far: among many postings, a few are found without a look
    /// at the others.
    pub(crate) fn skip_to(&mut self, document: usize) -> bool {
        let before = |posting: &u32| document_of(*posting) < document;
        for _ in 0..SINGLE_STEPS {
            match self.list.split_first() {
                Some((first, rest)) if before(first) => self.list = rest,
                first => return first.is_some_and(|(first, _)| document_of(*first) == document),
            }
        }
        let mut step = 1;
        while self.list.get(step).is_some_and(before) {
            step *= 2;
        }
        let (start, end) = (step / 2, (step + 1).min(self.list.len()));
        let at = start + self.list[start..end].partition_point(before);
        self.list = &self.list[at..];
        self.list.first().is_some_and(|posting| document_of(*posting) == document)
    }
}

fn document_of(posting: u32) -> usize {
    (posting >> COUNT_BITS) as usize
}

/// Spreads a key for a hash table, which uses high and low bits.
pub(crate) fn spread(key: u32) -> u64 {
    u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bag(terms: &[(u32, u32)]) -> Bag<'_> {
        Bag { terms, length: terms.iter().map(|(_, count)| count).sum() }
    }

    #[test]
    fn impacts_are_those_of_bm25() {
        let texts = [vec![(1, 1), (2, 1)], vec![(2, 3), (3, 1)], vec![]];
        let field = TextField::of(texts.iter().map(|terms| bag(terms)));
        assert_eq!((field.documents(), field.keys()), (3, &[1, 2, 3][..]));
        let two = field.postings(2).unwrap();
        let idf = (1.0f32 + 1.5 / 2.5).ln();
        assert!((two.idf - idf).abs() < 1e-6);
        let worth = |count: f32, length: f32| idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / 2.0));
        let expected = [(0, worth(1.0, 2.0)), (1, worth(3.0, 4.0))];
        for ((document, impact), (expected_document, expected)) in field.impacts(two).zip(expected) {
            assert_eq!(document, expected_document);
            assert!((impact - expected).abs() < 1e-6);
            assert_eq!(field.impact_on(two, document), Some(impact));
        }
        assert_eq!(field.impact_on(two, 2), None);
        assert!(field.postings(4).is_none() && field.idf(4).is_none());
    }

    #[test]
    fn documents_in_order_are_skipped_to() {
        let texts: Vec<Vec<(u32, u32)>> = (0..200).map(|at| if at % 3 == 0 { vec![(1, 1)] } else { vec![] }).collect();
        let field = TextField::of(texts.iter().map(|terms| bag(terms)));
        for step in [1, 2, 3, 7, 50, 199] {
            let mut postings = field.postings(1).unwrap();
            for document in (0..220).step_by(step) {
                assert_eq!(postings.skip_to(document), document < 200 && document % 3 == 0, "{step} {document}");
            }
        }
    }

    #[test]
    fn a_field_of_nothing_is_empty() {
        let field = TextField::of(std::iter::empty());
        assert_eq!(field.documents(), 0);
        assert!(field.postings(1).is_none());
        let field = TextField::of([bag(&[]), bag(&[])].into_iter());
        assert_eq!(field.documents(), 2);
    }
}
