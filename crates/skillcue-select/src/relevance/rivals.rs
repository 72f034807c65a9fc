//! A skill's own evidence: its share of a message, computed as if its rivals did not exist.
//!
//! Rarity measures how much a word says, and rivals make it less rare: every further skill for a task lowers the value
//! of the task's words for each. So a skill's own evidence counts words by their rarity among the other skills, those
//! that the message is not about.

use crate::relevance::field::rarity;
use crate::relevance::index::TextIndex;
use crate::relevance::search::WeightedPostings;

/// So many of the best may be rivals, whatever their scores.
pub(crate) const MIN_RIVALS: usize = 32;
/// Further down, a rival has at least this share of the skill's score. All such count, however many there are:
/// otherwise a hundred equal skills would make each other unlikely.
pub(crate) const MIN_RIVAL_SHARE: f32 = 0.5;
/// The number of imagined skills, with no word of any message, beside the real ones: among a handful, that a word is in
/// one and not in another says little about its rarity.
const IMAGINED_SKILLS: f64 = 50.0;

/// Documents of a search that may be rivals of each other, and the terms that each has.
pub(crate) struct RivalTable<'a> {
    index: &'a TextIndex,
    /// The posting lists of the short and the long text.
    lists: Vec<&'a WeightedPostings<'a>>,
    /// The documents with their scores, best first.
    documents: &'a [(f32, usize)],
    /// For each document a bit for each list, in words of 64: whether it counts there, and whether it has the term at
    /// all.
    counting: Vec<u64>,
    having: Vec<u64>,
    /// How many words of 64 bits a document takes.
    row: usize,
}

impl<'a> RivalTable<'a> {
    /// Makes the table. `position` returns the position of a document in `documents`.
    pub(crate) fn of(
        index: &'a TextIndex,
        lists: &'a [WeightedPostings<'a>],
        documents: &'a [(f32, usize)],
        position: impl Fn(usize) -> Option<usize>,
    ) -> RivalTable<'a> {
        let lists: Vec<&WeightedPostings<'_>> = lists.iter().filter(|list| list.field < 2).collect();
        let row = lists.len().div_ceil(64);
        let mut having = vec![0; row * documents.len()];
        let mut counting = having.clone();
        for (number, list) in lists.iter().enumerate() {
            let (word, bit) = (number / 64, 1 << (number % 64));
            for document in list.postings.documents() {
                let Some(at) = position(document) else { continue };
                having[at * row + word] |= bit;
                // A synonym does not count where the term itself is.
                if !list.unless.is_some_and(|unless| unless.has(document)) {
                    counting[at * row + word] |= bit;
                }
            }
        }
        RivalTable { index, lists, documents, counting, having, row }
    }

    /// Returns the evidence of the document at a position, in units of a word that no skill has. A rival has at least
    /// half of the words that the document has: that depends only on the two, not on other skills.
    pub(crate) fn evidence(&self, at: usize) -> f64 {
        let row = |at: usize| at * self.row..(at + 1) * self.row;
        let Some(&(score, document)) = self.documents.get(at) else { return 0.0 };
        let own = &self.counting[row(at)];
        let words = ones(own.iter().copied());
        if words == 0 {
            return 0.0;
        }
        let (mut rivals, mut lengths) = (0_usize, [0.0_f32; 2]);
        let mut taken = vec![0_usize; self.lists.len()];
        for (position, &(other_score, other)) in self.documents.iter().enumerate() {
            if position >= MIN_RIVALS && other_score < MIN_RIVAL_SHARE * score {
                break;
            }
            let theirs = &self.counting[row(position)];
            if position == at || 2 * ones(own.iter().zip(theirs).map(|(own, theirs)| own & theirs)) < words {
                continue;
            }
            rivals += 1;
            for (number, length) in lengths.iter_mut().enumerate() {
                *length += self.index.field(number).map_or(0.0, |field| field.length(other));
            }
            let theirs = &self.having[row(position)];
            for (word, (own, theirs)) in own.iter().zip(theirs).enumerate() {
                let mut both = own & theirs;
                while both != 0 {
                    taken[word * 64 + both.trailing_zeros() as usize] += 1;
                    both &= both - 1;
                }
            }
        }
        let all = (self.index.len() - rivals) as f64;
        // Lengths are measured against the mean of the documents that are left.
        let means = lengths.map(|length| ((self.index.len() as f32 - length) / all as f32).max(f32::MIN_POSITIVE));
        let mut sum = 0.0;
        for (number, list) in self.lists.iter().enumerate() {
            let Some(field) = self.index.field(list.field) else { continue };
            if own[number / 64] & 1 << (number % 64) == 0 {
                continue;
            }
            let rarity = rarity(all + IMAGINED_SKILLS, (list.postings.len() - taken[number]) as f64);
            let impact = field.impact_without_rivals(list.postings, document, rarity, means[list.field]);
            sum += f64::from(list.factor) * f64::from(impact.unwrap_or(0.0));
        }
        // Without bodies, the long text is the short one.
        let both = if self.index.field(1).is_some() { 1.0 } else { 2.0 };
        both * sum / (2.0 * (all + IMAGINED_SKILLS) + 2.0).ln()
    }
}

fn ones(bits: impl Iterator<Item = u64>) -> u32 {
    bits.map(u64::count_ones).sum()
}
