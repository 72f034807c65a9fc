//! Sections: how well each part of one body fits a message.

use std::collections::HashMap;

use crate::relevance::query::{HALF, distinct};
use crate::relevance::refusal::refused;
use crate::relevance::tokens::{Tokenizer, head};
use crate::relevance::words::LISTS;

/// How many bytes of a message are read.
const MAX_MESSAGE: usize = 64 * 1024;
/// The constants of BM25: how soon a word that is repeated adds nothing, and how much length counts.
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.75;
/// How often a word of the title counts, beside its place in the text, and one of the titles above.
const TITLE: f32 = 2.0;
const ABOVE: f32 = 0.7;

/// A section of a body that is to be scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SectionText<'a> {
    /// Its title; empty, if it has none.
    pub title: &'a str,
    /// The titles above it.
    pub above: &'a str,
    /// Its text, with the title.
    pub text: &'a str,
}

/// The number of times that a section has a term of the message, and synonyms of it.
#[derive(Debug, Clone, Copy, Default)]
struct TermCount {
    own: f32,
    synonyms: f32,
}

/// Returns how well each section fits a message, compared to the others of the same body: BM25 over the sections, with
/// the words, synonyms and refusals by which skills are selected. 0 for one that has none of the message's words.
///
/// ```
/// use skillcue_select::{SectionText, section_scores};
///
/// let of = |title, text| SectionText { title, text, ..SectionText::default() };
/// let sections = [of("Merge", "Merge several files."), of("Forms", "Fill in forms."), of("Limits", "At most 1 GB.")];
/// let scores = section_scores("fill in this form", &sections);
/// assert!(scores[1] > scores[0] && scores[1] > scores[2] && scores[2] == 0.0);
/// ```
pub fn section_scores(message: &str, sections: &[SectionText<'_>]) -> Vec<f32> {
    let mut tokenizer = Tokenizer::default();
    let message = head(message, MAX_MESSAGE);
    let terms = distinct(message, &refused(message), HALF, &mut tokenizer);
    // Of each stem, the terms that it counts for: as themselves, and as synonyms of another one.
    let mut wanted: HashMap<u32, Vec<(usize, bool)>> = HashMap::new();
    for (at, term) in terms.iter().enumerate() {
        wanted.entry(term.key).or_default().push((at, true));
        for synonym in LISTS.synonyms(term.key) {
            wanted.entry(synonym.key).or_default().push((at, false));
        }
    }
    let mut lengths = Vec::with_capacity(sections.len());
    let mut counts = vec![TermCount::default(); sections.len() * terms.len()];
    for (section, counts) in sections.iter().zip(counts.chunks_mut(terms.len().max(1))) {
        let mut length = 0.0;
        for (text, weight) in [(section.text, 1.0), (section.title, TITLE), (section.above, ABOVE)] {
            tokenizer.each(text, &mut |token| {
                length += weight;
                for (at, own) in wanted.get(&token.key).into_iter().flatten() {
                    let count = &mut counts[*at];
                    if *own { count.own += weight } else { count.synonyms += weight }
                }
            });
        }
        lengths.push(length);
    }
    if terms.is_empty() {
        return vec![0.0; sections.len()];
    }
    let all = sections.len() as f32;
    let mean = (lengths.iter().sum::<f32>() / all).max(1.0);
    let rarities: Vec<f32> = (0..terms.len())
        .map(|at| {
            let has = |counts: &&[TermCount]| counts[at].own + counts[at].synonyms > 0.0;
            let having = counts.chunks(terms.len()).filter(has).count() as f32;
            ((all - having + 0.5) / (having + 0.5)).ln_1p()
        })
        .collect();
    let score = |(counts, length): (&[TermCount], &f32)| {
        let norm = SATURATION * (1.0 - LENGTH + LENGTH * length / mean);
        let one = |(at, count): (usize, &TermCount)| {
            let (times, factor) = if count.own > 0.0 { (count.own, 1.0) } else { (count.synonyms, HALF) };
            factor * terms[at].weight * rarities[at] * times * (SATURATION + 1.0) / (times + norm)
        };
        counts.iter().enumerate().map(one).sum::<f32>()
    };
    counts.chunks(terms.len()).zip(&lengths).map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(message: &str, sections: &[(&str, &str)]) -> Option<usize> {
        let sections: Vec<SectionText<'_>> =
            sections.iter().map(|(title, text)| SectionText { title, text, above: "" }).collect();
        let scores = section_scores(message, &sections);
        let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b]))?;
        (scores[best] > 0.0).then_some(best)
    }

    #[test]
    fn the_section_that_fits_scores_highest() {
        let sections = [
            ("Deploy", "Run deploy.sh. Wait for the health check."),
            ("Roll back", "Run rollback.sh with the last version."),
            ("Pictures", "Crop each photo."),
            ("ロールバック手順", "前のバージョンに戻す。"),
        ];
        assert_eq!(best("how do I roll it back to the last version", &sections), Some(1));
        assert_eq!(best("rotate this image", &sections), Some(2), "by a synonym");
        assert_eq!(best("前のバージョンに戻したい", &sections), Some(3));
        assert_eq!(best("publish it, do not use rollback", &sections), Some(0), "what is refused does not count");
        assert_eq!(best("zebra", &sections), None);
        assert_eq!(best("", &sections), None);
        assert_eq!(best("deploy", &[]), None);
    }
}
