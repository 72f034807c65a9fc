//! What a skill has of a message, as if its rivals were not there.
//!
//! Rarity tells how much a word says, and rivals make it less rare: every further skill for a task lowers what the task's
//! words are worth to each. So a skill's own evidence counts words by their rarity among the other skills, those that the
//! message is not about.

use crate::relevance::field::rarity;
use crate::relevance::index::TextIndex;
use crate::relevance::search::Lead;

/// So many of the best may be rivals whatever they score.
pub(crate) const NEAREST: usize = 32;
/// Further down, a rival scores at least this share of what the skill does. All such count, however many there are: or a
/// hundred equal skills would make each other unlikely.
pub(crate) const NEARLY: f32 = 0.5;
/// Skills that have no word of any message are imagined beside those that there are: among a handful, that a word is in
/// one and not in another says little of how rare it is.
const IMAGINED: f64 = 50.0;

/// Documents of a search that may be rivals of each other, and which of them have what.
pub(crate) struct Apart<'a> {
    index: &'a TextIndex,
    /// Those in the short and the long text.
    leads: Vec<&'a Lead<'a>>,
    /// With their scores, best first.
    documents: &'a [(f32, usize)],
    /// For each document a bit for each lead, in words of 64: whether it counts there, and whether it has the term at all.
    counting: Vec<u64>,
    having: Vec<u64>,
    /// How many words of 64 bits a document takes.
    row: usize,
}

impl<'a> Apart<'a> {
    /// `place` returns where in `documents` a document is.
    pub(crate) fn of(
        index: &'a TextIndex,
        leads: &'a [Lead<'a>],
        documents: &'a [(f32, usize)],
        place: impl Fn(usize) -> Option<usize>,
    ) -> Apart<'a> {
        let leads: Vec<&Lead<'_>> = leads.iter().filter(|lead| lead.field < 2).collect();
        let row = leads.len().div_ceil(64);
        let mut having = vec![0; row * documents.len()];
        let mut counting = having.clone();
        for (number, lead) in leads.iter().enumerate() {
            let (word, bit) = (number / 64, 1 << (number % 64));
            for document in lead.postings.documents() {
                let Some(at) = place(document) else { continue };
                having[at * row + word] |= bit;
                // A synonym does not count where the term itself is.
                if !lead.unless.is_some_and(|unless| unless.has(document)) {
                    counting[at * row + word] |= bit;
                }
            }
        }
        Apart { index, leads, documents, counting, having, row }
    }

    /// What the document at a place has of the message, in units of a word that no skill has. A rival has at least half of
    /// the words that the document has: that is for the two to say, whatever other skills there are.
    pub(crate) fn evidence(&self, at: usize) -> f64 {
        let row = |at: usize| at * self.row..(at + 1) * self.row;
        let Some(&(score, document)) = self.documents.get(at) else { return 0.0 };
        let own = &self.counting[row(at)];
        let words = ones(own.iter().copied());
        if words == 0 {
            return 0.0;
        }
        let (mut rivals, mut lengths) = (0_usize, [0.0_f32; 2]);
        let mut taken = vec![0_usize; self.leads.len()];
        for (place, &(other_score, other)) in self.documents.iter().enumerate() {
            if place >= NEAREST && other_score < NEARLY * score {
                break;
            }
            let theirs = &self.counting[row(place)];
            if place == at || 2 * ones(own.iter().zip(theirs).map(|(own, theirs)| own & theirs)) < words {
                continue;
            }
            rivals += 1;
            for (number, length) in lengths.iter_mut().enumerate() {
                *length += self.index.field(number).map_or(0.0, |field| field.length(other));
            }
            let theirs = &self.having[row(place)];
            for (word, (own, theirs)) in own.iter().zip(theirs).enumerate() {
                let mut both = own & theirs;
                while both != 0 {
                    taken[word * 64 + both.trailing_zeros() as usize] += 1;
                    both &= both - 1;
                }
            }
        }
        let all = (self.index.len() - rivals) as f64;
        // Lengths are measured against the mean of those that are left.
        let means = lengths.map(|length| ((self.index.len() as f32 - length) / all as f32).max(f32::MIN_POSITIVE));
        let mut sum = 0.0;
        for (number, lead) in self.leads.iter().enumerate() {
            let Some(field) = self.index.field(lead.field) else { continue };
            if own[number / 64] & 1 << (number % 64) == 0 {
                continue;
            }
            let rarity = rarity(all + IMAGINED, (lead.postings.len() - taken[number]) as f64);
            let impact = field.impact_apart(lead.postings, document, rarity, means[lead.field]);
            sum += f64::from(lead.factor) * f64::from(impact.unwrap_or(0.0));
        }
        // Without bodies, the long text is the short one.
        let both = if self.index.field(1).is_some() { 1.0 } else { 2.0 };
        both * sum / (2.0 * (all + IMAGINED) + 2.0).ln()
    }
}

fn ones(bits: impl Iterator<Item = u64>) -> u32 {
    bits.map(u64::count_ones).sum()
}
