//! The figures of an evaluation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use skillcue_select::Grade;

use super::EvalCase;
use super::outcome::MessageOutcome;

/// The figures of a set of messages, or of those in one language. A share is `None` if there are no messages of its
/// kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The number of messages that need a skill.
    pub positives: usize,
    /// The number of messages that need none, or must not select some.
    pub negatives: usize,
    /// The share of the messages that need a skill that have one of theirs among the first 1, 3 and 5 hits. Empty if
    /// none needs one.
    pub recall_at: BTreeMap<u8, f64>,
    /// The share of the messages that need a skill for which the body of a right one is shown.
    pub shown: Option<f64>,
    /// The share of the messages that need a skill for which a right one is shown or named.
    pub named: Option<f64>,
    /// The share of the messages that need a skill for which the body of a wrong one is shown.
    pub wrong_bodies: Option<f64>,
    /// The share of the messages that need no skill for which the body of one is shown (of those that must not get
    /// some: of one of these).
    pub wrongly_shown: Option<f64>,
    /// Like `wrongly_shown`, for skills that are shown or named.
    pub wrongly_named: Option<f64>,
    /// The share of the messages whose first hit was worth its body that need that skill.
    pub precision: Option<f64>,
    /// The share of the messages that need no skill whose first hit was worth its body (of those that must not select
    /// some: and was one of these).
    pub false_triggers: Option<f64>,
    /// The cost of the turn part.
    pub tokens: TokenFigures,
    /// The expected calibration error: how far the certainty of first hits is from the share of them that are right, on
    /// average over ten buckets of equal width, weighed by the number of hits. `None` without hits.
    pub calibration_error: Option<f64>,
}

/// The cost of the turn part of disclosures, by what the messages need.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TokenFigures {
    /// Of all messages.
    pub all: Option<TokenCost>,
    /// Of messages that need a skill.
    pub needed: Option<TokenCost>,
    /// Of messages that must not get some skill, but may need another.
    pub must_not: Option<TokenCost>,
    /// Of messages that need none.
    pub none: Option<TokenCost>,
}

/// The cost of a message, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TokenCost {
    /// The mean.
    pub mean: f64,
    /// The 95th percentile: the least cost that 95 of 100 messages do not exceed.
    pub p95: usize,
}

/// Best hits of about one certainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bucket {
    /// The least certainty in it; the most is a tenth more.
    pub from: f32,
    /// The number of hits.
    pub hits: usize,
    /// The number of hits that were right.
    pub right: usize,
    /// The mean of their certainties.
    pub certainty: f64,
}

/// Counts of messages at one eagerness.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    positives: usize,
    negatives: usize,
    found: [usize; 3],
    shown: usize,
    named: usize,
    wrong_bodies: usize,
    wrongly_shown: usize,
    wrongly_named: usize,
    selected: usize,
    right: usize,
    false_triggers: usize,
    /// Hits, right ones among them, the sum of their certainties.
    buckets: [(usize, usize, f64); 10],
    /// Of messages that need a skill, must not get some, need none.
    tokens: [Vec<usize>; 3],
}

/// The ranks up to which a skill counts as found.
const RANKS: [u8; 3] = [1, 3, 5];

impl Tally {
    /// Adds a message, with what was shown at the eagerness number `at`.
    pub(super) fn add(&mut self, case: &EvalCase, outcome: &MessageOutcome, at: usize) {
        let shown = outcome.shown[at];
        let count = |is: bool| usize::from(is);
        if case.relevant.is_empty() {
            self.negatives += 1;
            self.wrongly_shown += count(shown.wrong == Grade::Body);
            self.wrongly_named += count(shown.wrong >= Grade::Name);
            self.false_triggers += count(outcome.is_mistake_at(case, at));
            self.tokens[if case.needs_none() { 2 } else { 1 }].push(shown.tokens);
        } else {
            self.positives += 1;
            for (found, k) in self.found.iter_mut().zip(RANKS) {
                *found += count(outcome.rank.is_some_and(|rank| rank < usize::from(k)));
            }
            self.shown += count(shown.right == Grade::Body);
            self.named += count(shown.right >= Grade::Name);
            self.wrong_bodies += count(shown.wrong == Grade::Body);
            self.tokens[0].push(shown.tokens);
        }
        if outcome.is_telling(case) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a certainty is from 0 to 1")]
            let bucket = &mut self.buckets[((outcome.certainty * 10.0) as usize).min(9)];
            bucket.0 += 1;
            bucket.1 += count(outcome.is_first_right);
            bucket.2 += f64::from(outcome.certainty);
            self.selected += count(shown.is_first_sure);
            self.right += count(shown.is_first_sure && outcome.is_first_right);
        }
    }

    pub(super) fn figures(&self) -> Figures {
        let of_positives = |part| share(part, self.positives);
        let of_negatives = |part| share(part, self.negatives);
        let recall = RANKS.into_iter().zip(self.found).filter_map(|(k, found)| Some((k, of_positives(found)?)));
        let all: Vec<usize> = self.tokens.iter().flatten().copied().collect();
        let [needed, must_not, none] = self.tokens.clone().map(TokenCost::of);
        Figures {
            positives: self.positives,
            negatives: self.negatives,
            recall_at: recall.collect(),
            shown: of_positives(self.shown),
            named: of_positives(self.named),
            wrong_bodies: of_positives(self.wrong_bodies),
            wrongly_shown: of_negatives(self.wrongly_shown),
            wrongly_named: of_negatives(self.wrongly_named),
            precision: share(self.right, self.selected),
            false_triggers: of_negatives(self.false_triggers),
            tokens: TokenFigures { all: TokenCost::of(all), needed, must_not, none },
            calibration_error: self.calibration_error(),
        }
    }

    pub(super) fn calibration(&self) -> Vec<Bucket> {
        let froms = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
        let bucket = |(from, (hits, right, sum)): (f32, (usize, usize, f64))| {
            Some(Bucket { from, hits, right, certainty: ratio(sum, hits)? })
        };
        froms.into_iter().zip(self.buckets).filter_map(bucket).collect()
    }

    fn calibration_error(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a number of messages")]
        let off = |(_, right, sum): &(usize, usize, f64)| (sum - *right as f64).abs();
        ratio(self.buckets.iter().map(off).sum(), self.buckets.iter().map(|bucket| bucket.0).sum())
    }
}

impl TokenCost {
    fn of(mut costs: Vec<usize>) -> Option<TokenCost> {
        costs.sort_unstable();
        let at = (costs.len() * 95).div_ceil(100).saturating_sub(1);
        let p95 = *costs.get(at)?;
        Some(TokenCost { mean: share(costs.iter().sum(), costs.len())?, p95 })
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a number of messages or tokens")]
    let part = part as f64;
    ratio(part, whole)
}

fn ratio(part: f64, whole: usize) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a number of messages")]
    let ratio = part / whole as f64;
    (whole > 0).then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::outcome::ShownGrades;

    fn case(relevant: &[&str], not: &[&str]) -> EvalCase {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        EvalCase { query: "q".into(), relevant: names(relevant), not_relevant: names(not), lang: None }
    }

    /// The outcome of these hits, all of which are shown as the grade says.
    fn outcome(case: &EvalCase, names: &[&str], certainty: f32, grade: Grade, tokens: usize) -> MessageOutcome {
        let has = |list: &[String], name: &str| list.iter().any(|wanted| wanted == name);
        let most = |is: &dyn Fn(&str) -> bool| if names.iter().any(|name| is(name)) { grade } else { Grade::Nothing };
        let wrong = |name: &str| match &case.not_relevant[..] {
            [] => !has(&case.relevant, name),
            forbidden => has(forbidden, name),
        };
        let right = most(&|name| has(&case.relevant, name));
        let shown = ShownGrades { right, wrong: most(&wrong), is_first_sure: grade == Grade::Body, tokens };
        MessageOutcome {
            judged: None,
            first: names.first().map(|name| (*name).to_owned()),
            certainty,
            is_first_right: names.first().is_some_and(|name| has(&case.relevant, name)),
            is_first_forbidden: names.first().is_some_and(|name| has(&case.not_relevant, name)),
            rank: names.iter().position(|name| has(&case.relevant, name)),
            shown: vec![shown],
        }
    }

    #[test]
    fn messages_are_counted_by_what_they_need() {
        let mut tally = Tally::default();
        let mut add = |case: &EvalCase, names: &[&str], certainty, grade, tokens| {
            tally.add(case, &outcome(case, names, certainty, grade, tokens), 0);
        };
        let (needs, none, must_not) = (case(&["a"], &[]), case(&[], &[]), case(&[], &["a"]));
        add(&needs, &["a", "b"], 0.9, Grade::Body, 300);
        add(&needs, &["b", "a"], 0.85, Grade::Name, 60);
        add(&needs, &[], 0.0, Grade::Nothing, 6);
        add(&none, &["b"], 0.3, Grade::Name, 60);
        add(&none, &["b"], 0.7, Grade::Body, 200);
        add(&must_not, &["b"], 1.0, Grade::Body, 200);
        add(&must_not, &["a"], 0.6, Grade::Body, 100);
        let figures = tally.figures();
        assert_eq!((figures.positives, figures.negatives), (3, 4));
        assert_eq!(figures.recall_at, BTreeMap::from([(1, 1.0 / 3.0), (3, 2.0 / 3.0), (5, 2.0 / 3.0)]));
        assert_eq!(
            (figures.shown, figures.named, figures.wrong_bodies),
            (Some(1.0 / 3.0), Some(2.0 / 3.0), Some(1.0 / 3.0))
        );
        assert_eq!((figures.wrongly_shown, figures.wrongly_named), (Some(0.5), Some(0.75)));
        assert_eq!(figures.false_triggers, Some(0.5));
        assert_eq!(figures.precision, Some(1.0 / 3.0), "a positive, a negative, a forbidden one");
        assert_eq!(figures.tokens.needed, Some(TokenCost { mean: 122.0, p95: 300 }));
        assert_eq!(figures.tokens.none, Some(TokenCost { mean: 130.0, p95: 200 }));
        assert_eq!(figures.tokens.must_not.map(|cost| cost.mean), Some(150.0));
        let buckets = tally.calibration();
        assert_eq!(buckets.iter().map(|bucket| bucket.hits).sum::<usize>(), 5);
        // 0.9 is right; 0.85, 0.3, 0.7 and 0.6 are not.
        let error = figures.calibration_error.unwrap();
        assert!((error - (0.1 + 0.85 + 0.3 + 0.7 + 0.6) / 5.0).abs() < 1e-6, "{error}");
    }

    #[test]
    fn the_95th_percentile() {
        let cost = |costs: Vec<usize>| TokenCost::of(costs).map(|cost| cost.p95);
        assert_eq!((cost(vec![]), cost(vec![7]), cost((1..=100).collect())), (None, Some(7), Some(95)));
        assert_eq!(cost((1..=20).rev().collect()), Some(19));
    }

    #[test]
    fn without_messages_there_are_no_shares() {
        let figures = Tally::default().figures();
        assert_eq!((figures.shown, figures.wrongly_shown, figures.calibration_error), (None, None, None));
        assert!(figures.recall_at.is_empty() && figures.tokens.all.is_none());
    }
}
