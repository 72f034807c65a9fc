//! One inverted index: BM25 over one text of each document.

use hashbrown::HashTable;

/// How fast more of the same word stops to matter, and how much a long text is held against its words.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// A posting is a document and a count in 32 bits.
const COUNT_BITS: u32 = 8;
/// Most documents that a field holds.
pub(crate) const MAX_DOCUMENTS: usize = 1 << (32 - COUNT_BITS);

/// What stands in one text, for [`Field::of`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bag<'a> {
    /// Each term's key, once, and how often it is there.
    pub(crate) terms: &'a [(u64, u32)],
    /// How many words there are in all.
    pub(crate) length: u32,
}

/// An inverted index of one text of each document.
///
/// Postings are four bytes: a document's number above, how often it has the term below. What a posting is worth is
/// computed from that and from `norms` when it is read: one division costs less than fetching four more bytes.
#[derive(Debug, Default)]
pub(crate) struct Field {
    ids: HashTable<u32>,
    keys: Vec<u64>,
    /// Where each term's postings start; one more than there are terms.
    starts: Vec<u32>,
    postings: Vec<u32>,
    /// For each document, what its length adds below the fraction.
    norms: Vec<f32>,
}

/// A term of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Postings<'a> {
    list: &'a [u32],
    pub(crate) idf: f32,
}

impl Field {
    pub(crate) fn of<'a>(bags: impl Iterator<Item = Bag<'a>> + Clone) -> Field {
        let mut field = Field::default();
        let mut lengths = Vec::new();
        let mut counts: Vec<u32> = Vec::new();
        // Terms by document, as numbers, so that each is looked up once.
        let mut numbered: Vec<u32> = Vec::new();
        for bag in bags.clone().take(MAX_DOCUMENTS) {
            lengths.push(bag.length);
            for &(key, _) in bag.terms {
                let id = field.insert(key);
                if id as usize == counts.len() {
                    counts.push(0);
                }
                counts[id as usize] += 1;
                numbered.push(id);
            }
        }
        let mut start = 0;
        field.starts.push(start);
        for count in counts {
            start += count;
            field.starts.push(start);
        }
        field.postings = vec![0; numbered.len()];
        let mut next = field.starts.clone();
        let mut ids = numbered.into_iter();
        for (document, bag) in (0u32..).zip(bags.take(MAX_DOCUMENTS)) {
            for (&(_, count), id) in bag.terms.iter().zip(&mut ids) {
                let at = &mut next[id as usize];
                field.postings[*at as usize] = document << COUNT_BITS | count.min((1 << COUNT_BITS) - 1);
                *at += 1;
            }
        }
        let total: f64 = lengths.iter().copied().map(f64::from).sum();
        let mean = if total > 0.0 { total / lengths.len() as f64 } else { 1.0 };
        field.norms = lengths.iter().map(|length| K1 * (1.0 - B + B * (f64::from(*length) / mean) as f32)).collect();
        field
    }

    /// The number of the term with that key, a new one if there was none.
    fn insert(&mut self, key: u64) -> u32 {
        let Field { ids, keys, .. } = self;
        let same = |id: &u32| keys[*id as usize] == key;
        if let Some(id) = ids.find(spread(key), same) {
            return *id;
        }
        let id = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        keys.push(key);
        ids.insert_unique(spread(key), id, |id| spread(keys[*id as usize]));
        id
    }

    /// How many documents there are.
    pub(crate) fn documents(&self) -> usize {
        self.norms.len()
    }

    /// The keys of all terms, in order of first appearance.
    pub(crate) fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Where the term with that key stands in [`keys`](Field::keys).
    pub(crate) fn id(&self, key: u64) -> Option<u32> {
        self.ids.find(spread(key), |id| self.keys[*id as usize] == key).copied()
    }

    /// Where a term stands.
    pub(crate) fn postings(&self, key: u64) -> Option<Postings<'_>> {
        let id = self.id(key)? as usize;
        let list = &self.postings[self.starts[id] as usize..self.starts[id + 1] as usize];
        let (all, having) = (self.documents() as f64, list.len() as f64);
        Some(Postings { list, idf: (1.0 + (all - having + 0.5) / (having + 0.5)).ln() as f32 })
    }

    /// How rare a term is, if it is there at all.
    pub(crate) fn idf(&self, key: u64) -> Option<f32> {
        self.postings(key).map(|postings| postings.idf)
    }

    /// What each document of `postings` has of it.
    pub(crate) fn impacts(&self, postings: Postings<'_>) -> impl Iterator<Item = (usize, f32)> {
        let top = postings.idf * (K1 + 1.0);
        postings.list.iter().map(move |posting| self.impact(*posting, top))
    }

    /// What one document has of it; nothing, if it lacks the term.
    pub(crate) fn impact_on(&self, postings: Postings<'_>, document: usize) -> Option<f32> {
        let at = postings.list.partition_point(|posting| document_of(*posting) < document);
        let posting = postings.list.get(at).filter(|posting| document_of(**posting) == document)?;
        Some(self.impact(*posting, postings.idf * (K1 + 1.0)).1)
    }

    fn impact(&self, posting: u32, top: f32) -> (usize, f32) {
        let document = document_of(posting);
        let count = (posting & ((1 << COUNT_BITS) - 1)) as f32;
        (document, top * count / (count + self.norms[document]))
    }
}

impl Postings<'_> {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The documents, in order.
    pub(crate) fn documents(&self) -> impl Iterator<Item = usize> {
        self.list.iter().map(|posting| document_of(*posting))
    }
}

fn document_of(posting: u32) -> usize {
    (posting >> COUNT_BITS) as usize
}

/// Keys may be 32 bits wide, and the table wants its bits high and low.
fn spread(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bag(terms: &[(u64, u32)]) -> Bag<'_> {
        Bag { terms, length: terms.iter().map(|(_, count)| count).sum() }
    }

    #[test]
    fn impacts_are_those_of_bm25() {
        let texts = [vec![(1, 1), (2, 1)], vec![(2, 3), (3, 1)], vec![]];
        let field = Field::of(texts.iter().map(|terms| bag(terms)));
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
    fn a_field_of_nothing_is_empty() {
        let field = Field::of(std::iter::empty());
        assert_eq!(field.documents(), 0);
        assert!(field.postings(1).is_none());
        let field = Field::of([bag(&[]), bag(&[])].into_iter());
        assert_eq!(field.documents(), 2);
    }
}
