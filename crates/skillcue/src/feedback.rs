//! Feedback: what the use of skills so far does to a selection. Off unless a host passes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use skillcue_select::{Hit, Mode, Reason, ReasonKind, Selection, Thresholds};

use crate::snapshot::Snapshot;
use crate::{Explanation, Skillcue};

/// The most that the logarithm of the odds is shifted, either way. At the usual threshold of 0.68, a skill that loses all of
/// it needs 0.81 instead.
const MAX_SHIFT: f32 = 0.7;

/// The effect that the use of one skill so far has on its rank.
///
/// ```
/// use std::collections::BTreeMap;
/// use skillcue::select::SkillFeedback;
/// use skillcue::{Request, Skillcue};
///
/// # let dir = tempfile::tempdir()?;
/// # for (name, does) in [("trails", "Plans hikes in the Alps."), ("huts", "Books huts in the Alps for hikes.")] {
/// #     std::fs::create_dir(dir.path().join(name))?;
/// #     std::fs::write(dir.path().join(name).join("SKILL.md"), format!("---\nname: {name}\ndescription: {does}\n---\n"))?;
/// # }
/// let unused = SkillFeedback { shift: -0.7, why: "shown 9 times here, never used".to_owned() };
/// let feedback = BTreeMap::from([("trails".to_owned(), unused)]);
/// let skills = Skillcue::builder().skills_dir(dir.path()).feedback(feedback).build()?;
/// let hits = skills.select(&Request::new("plan hikes in the Alps")).hits;
/// let trails = hits.iter().find(|hit| hit.name == "trails").unwrap();
/// assert_eq!(trails.reasons.last().unwrap().text, "shown 9 times here, never used");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SkillFeedback {
    /// The shift of the logarithm of the odds, from -0.7 to 0.7; what is beyond is cut.
    pub shift: f32,
    /// The reason, in a few words.
    pub why: String,
}

/// Feedback by the names of skills.
pub(crate) type SkillShifts = Arc<BTreeMap<String, SkillFeedback>>;

impl Skillcue {
    /// Applies the feedback to a selection. In [`Mode::Keyword`] there is nothing to weigh: whatever has a trigger counts.
    pub(crate) fn with_feedback(
        &self,
        selection: Arc<Selection>,
        mode: Mode,
        thresholds: Thresholds,
    ) -> Arc<Selection> {
        let Some(shifts) = self.feedback.as_ref().filter(|shifts| mode != Mode::Keyword && !shifts.is_empty()) else {
            return selection;
        };
        if !selection.hits.iter().any(|hit| shifts.contains_key(&hit.name)) {
            return selection;
        }
        let mut selection = Arc::unwrap_or_clone(selection);
        let by_certainty = |hits: &[Hit]| hits.is_sorted_by(|a, b| a.certainty >= b.certainty);
        let was_sorted = by_certainty(&selection.hits);
        settle_ties(&mut selection.hits);
        for hit in &mut selection.hits {
            shift(hit, shifts, thresholds);
        }
        if was_sorted {
            selection.hits.sort_by(|a, b| b.certainty.total_cmp(&a.certainty));
        }
        Arc::new(selection)
    }

    /// Applies the feedback to an explanation.
    pub(crate) fn explain_feedback(&self, explanation: &mut Explanation, snapshot: &Snapshot, eagerness: Option<f32>) {
        if let (Some(shifts), Some(hit)) = (&self.feedback, &mut explanation.hit) {
            shift(hit, shifts, thresholds_of(snapshot, eagerness));
        }
    }
}

/// Lowers likelihoods that are equal by the least step, in the order of hits: which of two equals is named must not depend on
/// the order that feedback gives them.
fn settle_ties(hits: &mut [Hit]) {
    for at in 1..hits.len() {
        while hits[..at].iter().any(|before| before.likelihood.to_bits() == hits[at].likelihood.to_bits())
            && hits[at].likelihood > 0.0
        {
            hits[at].likelihood = hits[at].likelihood.next_down();
        }
    }
}

/// Returns the thresholds that a message is graded by: those of the request's eagerness, or of the configuration's.
pub(crate) fn thresholds_of(snapshot: &Snapshot, eagerness: Option<f32>) -> Thresholds {
    let config = snapshot.discloser().config();
    let Thresholds { body, name } = Thresholds::of(eagerness.unwrap_or(config.eagerness));
    Thresholds { body, name: name.max(config.min_likelihood) }
}

/// Shifts the certainty of a hit. Its likelihood stays: it decides which skills are named, of which there are a few at most, so
/// that one that gained would take the place of one that the message calls for. A gain never lifts one over the threshold for
/// its body. A loss turns a body into a name, and takes no name away: of the names that it would take, one in fifty was the
/// right one, and a name costs twenty tokens. A skill that the message names is not touched.
fn shift(hit: &mut Hit, shifts: &SkillShifts, thresholds: Thresholds) {
    let Some(feedback) = shifts.get(&hit.name).filter(|_| hit.mention.is_none()) else { return };
    let by = if feedback.shift.is_finite() { feedback.shift.clamp(-MAX_SHIFT, MAX_SHIFT) } else { 0.0 };
    let before = hit.certainty;
    hit.certainty = shifted(hit.certainty, by, thresholds.body);
    let score = hit.certainty - before;
    hit.reasons.push(Reason {
        kind: ReasonKind::Use,
        trigger: String::new(),
        text: feedback.why.clone(),
        span: None,
        score,
    });
}

/// Returns a probability with its odds shifted, still below the threshold if it was.
fn shifted(number: f32, by: f32, threshold: f32) -> f32 {
    if number <= 0.0 || number >= 1.0 || by == 0.0 {
        return number;
    }
    let odds = number / (1.0 - number) * by.exp();
    let shifted = odds / (1.0 + odds);
    if number < threshold && shifted >= threshold { threshold.next_down().max(number) } else { shifted }
}

#[cfg(test)]
mod tests {
    use skillcue_select::Grade;

    use super::*;

    #[test]
    fn a_gain_stops_below_the_threshold_and_a_loss_may_fall_below_it() {
        for threshold in [0.04_f32, 0.3, 0.68, 0.95] {
            for step in 0..=1_000_u16 {
                let number = f32::from(step) / 1_000.0;
                let (more, less) = (shifted(number, MAX_SHIFT, threshold), shifted(number, -MAX_SHIFT, threshold));
                assert_eq!(more >= threshold, number >= threshold, "{number} at {threshold} became {more}");
                assert!(more >= number && less <= number && (0.0..=1.0).contains(&more) && (0.0..=1.0).contains(&less));
            }
        }
        assert!(shifted(0.7, -MAX_SHIFT, 0.68) < 0.68 && shifted(0.85, -MAX_SHIFT, 0.68) > 0.68);
    }

    #[test]
    fn a_loss_turns_a_body_into_a_name_and_takes_no_name_away() {
        let shifts =
            Arc::new(BTreeMap::from([("a".to_owned(), SkillFeedback { shift: -99.0, why: "unused".to_owned() })]));
        let thresholds = Thresholds::default();
        for step in 0..=1_000_u16 {
            let certainty = f32::from(step) / 1_000.0;
            for likelihood in [certainty, thresholds.name, 1.0] {
                let likelihood = likelihood.max(certainty);
                let mut hit = Hit { name: "a".to_owned(), certainty, likelihood, ..Hit::default() };
                let before = hit.grade(Mode::Hybrid, &thresholds);
                shift(&mut hit, &shifts, thresholds);
                let after = hit.grade(Mode::Hybrid, &thresholds);
                let is_kept = after == before || (before, after) == (Grade::Body, Grade::Name);
                assert!(is_kept, "{certainty}, {likelihood}: {before:?} became {after:?}");
            }
        }
    }

    #[test]
    fn a_shift_is_bounded_and_no_number_breaks_it() {
        let hit = Hit { name: "a".to_owned(), certainty: 0.5, likelihood: 0.5, ..Hit::default() };
        let of = |shift_by: f32| {
            let mut hit = hit.clone();
            let feedback = SkillFeedback { shift: shift_by, why: "x".to_owned() };
            shift(&mut hit, &Arc::new(BTreeMap::from([("a".to_owned(), feedback)])), Thresholds::default());
            hit.certainty
        };
        assert!(
            (of(-100.0) - of(-MAX_SHIFT)).abs() < f32::EPSILON
                && (of(f32::NAN) - 0.5).abs() < f32::EPSILON
                && of(100.0) < 0.68
        );
    }
}
