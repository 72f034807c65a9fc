//! Better words for a skill: candidates by rules, and a choice among them by labelled messages.
//!
//! Messages are split by a digest of their text. One half is mined for words and chooses among candidates, in folds: a word
//! counts for a message only if other messages have it, too. The other half is for the caller to judge the result on, once.
//! This module judges nothing itself: the caller evaluates a draft, and returns how well each message fares.

mod mining;
mod trial;
mod verdict;

use std::collections::BTreeSet;

use serde::Serialize;
use skillcue_base::Digest;
use skillcue_select::Grade;

use crate::eval::{CaseResult, EvalCase};
pub use mining::{Rival, TuneSource, candidates};
pub use trial::{TuneError, TuneTrial, remove_common_keywords, rivals_of};
use verdict::changes_by_skill;
pub use verdict::{NO_SKILL, TuneEvaluations, TuneVerdict};

/// The longest description that the standard allows, in characters.
pub const MAX_DESCRIPTION: usize = 1024;
/// The number of folds of the training half.
pub const FOLDS: usize = 3;
/// Most candidates that are taken.
const MAX_STEPS: usize = 5;
/// Most keywords that are added: with many, each counts for less.
const MAX_KEYWORDS: usize = 8;
/// The weight of a loss of another skill, beside a gain of the tuned one.
const LOSS_WEIGHT: f32 = 4.0;
/// The least gain of a step: a tenth of a message that moves into the first three.
const MIN_GAIN: f32 = 0.08;

/// The texts by which a skill is found, changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TuneDraft {
    /// The description.
    pub description: String,
    /// The keywords that are added.
    pub keywords: Vec<String>,
}

/// The origin of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TuneOrigin {
    /// Words that the right messages share, and others lack.
    Messages,
    /// Headings of the body.
    Headings,
    /// Code words and kinds of files in the body.
    Code,
    /// Words of a competitor, to be excluded.
    Rival,
    /// A model.
    Model,
}

/// A change that may make a skill easier to find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TuneCandidate {
    /// Its origin.
    pub origin: TuneOrigin,
    /// A sentence that is added to the description.
    pub sentence: Option<String>,
    /// Keywords that are added.
    pub keywords: Vec<String>,
    /// For each fold, whether messages outside of it propose the candidate.
    #[serde(skip)]
    pub folds: [bool; FOLDS],
}

/// A candidate that was taken, and its gain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TuneStep {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: TuneCandidate,
    /// The gain on the training half, in messages, with the losses of other skills four times.
    pub gain: f32,
}

/// The choice among candidates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TuneChoice {
    /// The texts with all steps.
    pub draft: TuneDraft,
    /// The steps, in the order in which they were taken.
    pub steps: Vec<TuneStep>,
    /// The number of drafts that were evaluated.
    pub evaluated: usize,
}

/// Returns whether a message belongs to the half that is not used for choosing.
///
/// ```
/// let unseen = (0..1000).filter(|number| skillcue::tune::is_unseen(&format!("message {number}"))).count();
/// assert!((400..600).contains(&unseen));
/// ```
pub fn is_unseen(query: &str) -> bool {
    Digest::of(query.trim()).as_bytes()[0] & 1 == 1
}

/// Returns the fold of a message of the training half.
pub fn fold_of(query: &str) -> usize {
    usize::from(Digest::of(query.trim()).as_bytes()[1]) % FOLDS
}

/// Returns how well a message fares, from -1 to 1.2: by the rank of a right skill, and by what is shown of it; of messages
/// that need none, by what is shown wrongly.
pub fn quality(case: &EvalCase, result: &CaseResult) -> f32 {
    if case.relevant.is_empty() {
        return match result.grade {
            Grade::Body => -1.0,
            Grade::Name => -0.1,
            Grade::Nothing => 0.0,
        };
    }
    let rank = match result.rank {
        Some(1) => 1.0,
        Some(2 | 3) => 0.8,
        Some(4 | 5) => 0.3,
        Some(_) => 0.1,
        None => 0.0,
    };
    let shown = match result.grade {
        Grade::Body => 0.2,
        Grade::Name => 0.1,
        Grade::Nothing => 0.0,
    };
    rank + shown
}

impl TuneCandidate {
    /// Returns the words that it adds, in lower case.
    pub fn words(&self) -> Vec<String> {
        let sentence = self.sentence.iter().flat_map(|sentence| crate::collisions::words_of(sentence));
        sentence.chain(self.keywords.iter().map(|word| word.to_lowercase())).collect()
    }

    /// Returns a draft with the candidate, if it adds something and the description stays within its limit.
    fn added_to(&self, draft: &TuneDraft) -> Option<TuneDraft> {
        let mut new = draft.clone();
        if let Some(sentence) = self.sentence.as_deref().filter(|sentence| !draft.description.contains(sentence)) {
            let text = draft.description.trim_end();
            let stop = if text.ends_with(['.', '!', '?', '。']) || text.is_empty() { "" } else { "." };
            format!("{text}{stop} {sentence}").trim_start().clone_into(&mut new.description);
            if new.description.chars().count() > MAX_DESCRIPTION {
                return None;
            }
        }
        for word in &self.keywords {
            if !new.keywords.contains(word) {
                new.keywords.push(word.clone());
            }
        }
        (new != *draft && new.keywords.len() <= MAX_KEYWORDS).then_some(new)
    }
}

impl TuneChoice {
    /// Chooses among candidates, one after the other, those that help most. `judge` evaluates a draft and returns the
    /// [`quality`] of each message of `train`, in their order.
    ///
    /// A message of the skill itself counts for a candidate only if other folds propose it; all others count always. What
    /// another skill loses in sum counts four times: the messages here are a sample of those that a word may cost it.
    pub fn of(
        name: &str,
        description: &str,
        candidates: Vec<TuneCandidate>,
        train: &[EvalCase],
        judge: &mut dyn FnMut(&TuneDraft) -> Vec<f32>,
    ) -> TuneChoice {
        let draft = TuneDraft { description: description.to_owned(), keywords: Vec::new() };
        let mut choice = TuneChoice { steps: Vec::new(), evaluated: 1, draft };
        let own: Vec<Option<usize>> = train
            .iter()
            .map(|case| case.relevant.iter().any(|needed| needed == name).then(|| fold_of(&case.query)))
            .collect();
        let mut before = judge(&choice.draft);
        let mut open = candidates;
        while choice.steps.len() < MAX_STEPS && !open.is_empty() {
            let mut best: Option<(f32, usize, TuneDraft, Vec<f32>)> = None;
            let mut helpful: BTreeSet<usize> = BTreeSet::new();
            for (at, candidate) in open.iter().enumerate() {
                let Some(draft) = candidate.added_to(&choice.draft) else { continue };
                let after = judge(&draft);
                choice.evaluated += 1;
                let counted = own.iter().zip(after.iter().zip(&before)).map(|(fold, (after, before))| {
                    let counts = fold.is_none_or(|fold| candidate.folds[fold]);
                    if counts { after - before } else { (after - before).min(0.0) }
                });
                let changes = changes_by_skill(name, train.iter().zip(counted));
                let weigh = |(skill, change): (&String, &f32)| {
                    if *change < 0.0 && skill != name { LOSS_WEIGHT * change } else { *change }
                };
                let gain: f32 = changes.iter().map(weigh).sum();
                if gain >= MIN_GAIN {
                    helpful.insert(at);
                }
                if gain >= MIN_GAIN && best.as_ref().is_none_or(|(most, ..)| gain > *most + 1e-6) {
                    best = Some((gain, at, draft, after));
                }
            }
            let Some((gain, at, draft, after)) = best else { break };
            choice.draft = draft;
            before = after;
            choice.steps.push(TuneStep { candidate: open[at].clone(), gain });
            // One that did not help by itself is not tried again beside another.
            let mut number = 0;
            open.retain(|_| {
                number += 1;
                helpful.contains(&(number - 1)) && number - 1 != at
            });
        }
        choice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(sentence: &str, folds: [bool; FOLDS]) -> TuneCandidate {
        TuneCandidate { origin: TuneOrigin::Messages, sentence: Some(sentence.to_owned()), keywords: Vec::new(), folds }
    }

    fn case(query: &str, relevant: &str) -> EvalCase {
        EvalCase { query: query.into(), relevant: vec![relevant.into()], not_relevant: Vec::new(), lang: None }
    }

    #[test]
    fn a_gain_that_costs_others_more_is_not_taken() {
        let train = [case("a", "pdf"), case("b", "csv")];
        let candidates = vec![candidate("Greedy.", [true; FOLDS]), candidate("Modest.", [true; FOLDS])];
        let mut judge = |draft: &TuneDraft| match &draft.description {
            text if text.contains("Greedy") => vec![1.0, -0.5],
            text if text.contains("Modest") => vec![0.4, 0.5],
            _ => vec![0.0, 0.5],
        };
        let choice = TuneChoice::of("pdf", "Reads", candidates, &train, &mut judge);
        assert_eq!(choice.draft.description, "Reads. Modest.");
        assert_eq!(choice.steps.len(), 1);
    }

    #[test]
    fn a_word_of_one_message_alone_does_not_count_for_it() {
        let train = [case("a", "pdf")];
        let mut folds = [true; FOLDS];
        folds[fold_of("a")] = false;
        let mut judge = |draft: &TuneDraft| vec![if draft.description.contains("Own") { 1.0 } else { 0.0 }];
        let choice = TuneChoice::of("pdf", "Reads.", vec![candidate("Own.", folds)], &train, &mut judge);
        assert!(choice.steps.is_empty(), "{choice:?}");
    }

    #[test]
    fn a_description_stays_within_its_limit() {
        let long = "x".repeat(MAX_DESCRIPTION - 4);
        let draft = TuneDraft { description: long, keywords: Vec::new() };
        assert!(candidate("Too long.", [true; FOLDS]).added_to(&draft).is_none());
    }
}
