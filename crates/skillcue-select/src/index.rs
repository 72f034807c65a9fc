//! The trigger index: flat arrays, no object per trigger, so that a hundred thousand skills load as fast as memory is
//! copied.
//!
//! An *item* is a distinct trigger: a folded keyword, verb or name, a pattern, a glob, a language. Items are numbered
//! in this order, and within terms by the hash of their tokens. A *node* is the hash of a sequence of tokens that some
//! term is or begins with: scanning a message goes on from a token only as long as there is a node.

use std::ops::Range;

use twox_hash::XxHash3_64;

use crate::grams::Grams;

/// The absence of an item or a skill.
pub(crate) const NONE: u32 = u32::MAX;
/// A flag in [`TriggerIndex::kinds`]: the last item of its node.
pub(crate) const LAST: u8 = 0x80;
/// A flag in [`TriggerIndex::node_items`]: some term goes on from here.
pub(crate) const GOES_ON: u32 = 1 << 31;
/// A value in [`TriggerIndex::node_items`], beneath the flag: no term ends here.
pub(crate) const NO_ITEM: u32 = GOES_ON - 1;

/// A flag of a skill: only a person may load it.
pub(crate) const HIDDEN: u8 = 1;
/// A flag of a skill: a person may not load it by name.
pub(crate) const NOT_BY_PERSON: u8 = 2;
/// A flag of a skill: it has triggers of its own.
pub(crate) const TRIGGERED: u8 = 4;
/// A flag of a skill: it is in the index, as no other skill shadows it.
pub(crate) const INDEXED: u8 = 8;

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum TriggerKind {
    Keyword = 0,
    Phrase = 1,
    Verb = 2,
    Name = 3,
    Pattern = 4,
    BadPattern = 5,
    File = 6,
    Language = 7,
}

impl TriggerKind {
    pub(crate) fn of(byte: u8) -> Option<TriggerKind> {
        use TriggerKind::{BadPattern, File, Keyword, Language, Name, Pattern, Phrase, Verb};
        let all = [Keyword, Phrase, Verb, Name, Pattern, BadPattern, File, Language];
        all.get(usize::from(byte & !LAST)).copied()
    }
}

/// An index over all triggers of a catalog; the module explains its terms.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct TriggerIndex {
    /// The key of the catalog that it was built from: [`Selector::key`](crate::Selector::key).
    pub(crate) key: u128,
    /// Per skill: its flags.
    pub(crate) flags: Vec<u8>,
    /// Per item: its [`TriggerKind`], and [`LAST`].
    pub(crate) kinds: Vec<u8>,
    /// The texts of all items.
    pub(crate) text: String,
    /// Per item, and one more: the start of its text.
    pub(crate) text_starts: Vec<u32>,
    /// Per item, and one more: the start of its skills in `postings`.
    pub(crate) posting_starts: Vec<u32>,
    /// The skills of each item, ascending.
    pub(crate) postings: Vec<u32>,
    /// Per skill, and one more: the start of its triggers.
    pub(crate) trigger_starts: Vec<u32>,
    /// The items of each skill: its name, then its triggers in the order of its manifest; [`NONE`] for triggers that
    /// can never match.
    pub(crate) triggers: Vec<u32>,
    /// The starts of patterns, files and languages among the items.
    pub(crate) bounds: [u32; 3],
    /// A hash table in the order of its hashes: the slot of a hash is its share of the table. 0 is an empty slot.
    pub(crate) node_hashes: Vec<u64>,
    /// For each slot the first item of the node, and [`GOES_ON`].
    pub(crate) node_items: Vec<u32>,
    /// The number of slots that hashes are spread over; the table is a little longer.
    pub(crate) spread: u64,
    /// Terms without letters and digits: their first characters, ascending, and the items.
    pub(crate) symbols: Vec<u32>,
    pub(crate) symbol_items: Vec<u32>,
    /// The literals that patterns require.
    pub(crate) grams: Grams,
    /// Patterns that require no literal.
    pub(crate) always: Vec<u32>,
    /// Globs that are neither a name nor `*.` and an extension.
    pub(crate) globs: Vec<u32>,
}

impl TriggerIndex {
    pub(crate) fn items(&self) -> usize {
        self.kinds.len()
    }

    pub(crate) fn kind(&self, item: u32) -> TriggerKind {
        TriggerKind::of(self.kinds[item as usize]).unwrap_or(TriggerKind::BadPattern)
    }

    pub(crate) fn text(&self, item: u32) -> &str {
        &self.text[span(&self.text_starts, item)]
    }

    pub(crate) fn postings(&self, item: u32) -> &[u32] {
        &self.postings[span(&self.posting_starts, item)]
    }

    pub(crate) fn triggers(&self, skill: u32) -> &[u32] {
        &self.triggers[span(&self.trigger_starts, skill)]
    }

    /// Returns the items that are patterns.
    pub(crate) fn patterns(&self) -> Range<u32> {
        self.bounds[0]..self.bounds[1]
    }

    pub(crate) fn files(&self) -> Range<u32> {
        self.bounds[1]..self.bounds[2]
    }

    pub(crate) fn languages(&self) -> Range<u32> {
        self.bounds[2]..u32::try_from(self.items()).unwrap_or(u32::MAX)
    }

    /// Returns the item of exactly that text within a range that is sorted by text.
    pub(crate) fn find(&self, range: Range<u32>, text: &str) -> Option<u32> {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.text(middle) < text {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low < range.end && self.text(low) == text).then_some(low)
    }

    /// Returns the node of a hash: its first item, or [`NO_ITEM`], and whether a term goes on from here.
    pub(crate) fn node(&self, hash: u64) -> Option<(u32, bool)> {
        let mut slot = slot(hash, self.spread);
        loop {
            let found = *self.node_hashes.get(slot)?;
            if found == hash {
                let items = self.node_items[slot];
                return Some((items & !GOES_ON, items & GOES_ON != 0));
            }
            if found == 0 || found > hash {
                return None;
            }
            slot += 1;
        }
    }

    /// Returns the items of a node.
    pub(crate) fn node_terms(&self, first: u32) -> impl Iterator<Item = u32> {
        let end = if first == NO_ITEM { first } else { self.bounds[0] };
        let mut last = false;
        (first..end).take_while(move |item| {
            let go_on = !last;
            last = self.kinds[*item as usize] & LAST != 0;
            go_on
        })
    }
}

fn span(starts: &[u32], at: u32) -> Range<usize> {
    starts[at as usize] as usize..starts[at as usize + 1] as usize
}

/// Returns the slot of a hash in a table of that many slots: equal shares, in order.
pub(crate) fn slot(hash: u64, spread: u64) -> usize {
    usize::try_from((u128::from(hash) * u128::from(spread)) >> 64).unwrap_or(usize::MAX)
}

/// Returns the hash of one token.
pub(crate) fn token_hash(token: &str) -> u64 {
    XxHash3_64::oneshot(token.as_bytes())
}

/// Returns the hash of a sequence of tokens, from that of all but the last; 0 is that of the empty sequence. Never 0
/// itself.
pub(crate) fn join(before: u64, token: u64) -> u64 {
    // Two odd constants of a well-spread bit pattern; the second multiplication lets high bits depend on low ones.
    let mixed = (before.rotate_left(29) ^ token).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93)).max(1)
}
