//! What a skill has of a message, as if its rivals were not there.
//!
//! Rarity tells how much a word says, and rivals make it less rare: every further skill for a task lowers what the task's
//! words are worth to each. So a skill's own evidence counts words by their rarity among the other skills, those that the
//! message is not about.

use crate::relevance::field::rarity;
use crate::relevance::index::TextIndex;
use crate::relevance::search::Lead;

/// Rivals are looked for among so many of the best.
const MAX_RIVALS: usize = 32;
/// Skills that have no word of any message are imagined beside those that there are: among a handful, that a word is in
/// one and not in another says little of how rare it is.
const IMAGINED: f64 = 50.0;

/// The best documents of a search, and which of them have what.
pub(crate) struct Apart<'a> {
    index: &'a TextIndex,
    /// Those in the short and the long text.
    leads: Vec<&'a Lead<'a>>,
    best: Vec<usize>,
    /// For each of the best, whether it has each of the leads.
    having: Vec<bool>,
}

impl<'a> Apart<'a> {
    pub(crate) fn of(index: &'a TextIndex, leads: &'a [Lead<'a>], best: &[(f32, usize)]) -> Apart<'a> {
        let leads: Vec<&Lead<'_>> = leads.iter().filter(|lead| lead.field < 2).collect();
        let best: Vec<usize> = best.iter().take(MAX_RIVALS).map(|(_, document)| *document).collect();
        let having = best.iter().flat_map(|document| leads.iter().map(|lead| has(lead, *document))).collect();
        Apart { index, leads, best, having }
    }

    /// What a document has of the message, in units of a word that no skill has. A rival has at least half of the words
    /// that the document has: that is for the two to say, whatever other skills there are.
    pub(crate) fn evidence(&self, document: usize) -> f64 {
        let own: Vec<bool> = self.leads.iter().map(|lead| has(lead, document)).collect();
        let words = own.iter().filter(|has| **has).count();
        if words == 0 {
            return 0.0;
        }
        let mut rivals = Vec::with_capacity(self.best.len());
        for (other, having) in self.best.iter().zip(self.having.chunks(self.leads.len())) {
            let shared = own.iter().zip(having).filter(|(own, other)| **own && **other).count();
            if *other != document && 2 * shared >= words {
                rivals.push(*other);
            }
        }
        let all = (self.index.len() - rivals.len()) as f64;
        // Lengths are measured against the mean of those that are left.
        let means = [0, 1].map(|number| {
            let Some(field) = self.index.field(number) else { return 1.0 };
            let taken: f32 = rivals.iter().map(|other| field.length(*other)).sum();
            ((self.index.len() as f32 - taken) / all as f32).max(f32::MIN_POSITIVE)
        });
        let mut sum = 0.0;
        for (lead, _) in self.leads.iter().zip(own).filter(|(_, has)| *has) {
            let Some(field) = self.index.field(lead.field) else { continue };
            let taken = rivals.iter().filter(|other| lead.postings.has(**other)).count();
            let rarity = rarity(all + IMAGINED, (lead.postings.len() - taken) as f64);
            let impact = field.impact_apart(lead.postings, document, rarity, means[lead.field]);
            sum += f64::from(lead.factor) * f64::from(impact.unwrap_or(0.0));
        }
        // Without bodies, the long text is the short one.
        let both = if self.index.field(1).is_some() { 1.0 } else { 2.0 };
        both * sum / (2.0 * (all + IMAGINED) + 2.0).ln()
    }
}

fn has(lead: &Lead<'_>, document: usize) -> bool {
    lead.postings.has(document) && !lead.unless.is_some_and(|unless| unless.has(document))
}
