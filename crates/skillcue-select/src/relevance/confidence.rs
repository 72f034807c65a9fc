//! Confidence and certainty: how likely a skill is to fit, and how likely the first of a ranking is to be the right
//! one.
//!
//! Two logistic functions, because these are two questions. Confidence, which is shown, depends on the skill alone: how
//! much of the message its text has, against how long the message is, and how much of it the skill excludes. Certainty,
//! which ranks and decides whether a skill is disclosed, depends on the lead over the next skill that is not as good.
//! Own evidence alone decides worse: where the lead discloses 1,331 skills of which 1,034 are right, it has 949 right
//! among as many.
//!
//! The numbers come from a fit on two collections of labelled messages, 1,949 in all, of which 15 in 100 need no skill;
//! with the messages of a skill left out of the fit, 92 of 100 with a certainty of 0.8 or more were right. Two
//! corrections were reasoned, not fitted. In conversations more messages need none: the constant of certainty is 0.5
//! lower than fitted, which is right for one in three. And one word that a message and a skill share says little,
//! however rare it is among a handful of skills: by itself it gives at most [`MAX_ONE_WORD`].

/// The constant of confidence, and its factors: for the skill's own evidence, for the message's length, for the
/// excluded share.
const OWN: [f64; 4] = [-1.89, 2.41, -1.0, EXCLUDED];

/// The constant of certainty and its two factors.
const CONSTANT: f64 = FITTED - 0.5;
const FITTED: f64 = -1.5;
const LEAD: f64 = 5.2;
const EXCLUDED: f64 = -8.8;
/// How much a longer message is expected to give a greater lead.
const LENGTH: f64 = 0.65;
/// The certainty that one word gives by itself at most: not enough to show a skill.
pub(crate) const MAX_ONE_WORD: f32 = 0.45;
/// Lower ranks stay below the first by at least this share.
const MAX_LOWER_SHARE: f32 = 0.999;

/// The evidence for a skill by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence {
    /// Its share of the message, in units of a word that no other skill has.
    pub(crate) has: f64,
    /// The message's length, in words.
    pub(crate) length: f64,
    /// The share of the message that the skill excludes.
    pub(crate) excluded: f64,
}

impl Evidence {
    pub(crate) fn confidence(self) -> f32 {
        let [constant, has, length, excluded] = OWN;
        logistic(
            constant + has * self.has.max(0.0).ln_1p() + length * (self.length + 0.1).ln() + excluded * self.excluded,
        )
    }
}

/// The evidence for the first of a ranking against the others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeadEvidence {
    /// The difference of its score and that of the next skill of another name that is not as good.
    pub(crate) lead: f64,
    /// The value of the message's words in all, and of those that the skill excludes.
    pub(crate) mass: f64,
    pub(crate) excluded: f64,
    /// The value of a word that no skill has.
    pub(crate) unit: f64,
}

impl LeadEvidence {
    pub(crate) fn certainty(self) -> f32 {
        self.with_constant(CONSTANT)
    }

    fn with_constant(self, constant: f64) -> f32 {
        let unit = self.unit.max(f64::MIN_POSITIVE);
        let ahead = (self.lead.max(0.0) / unit / (self.mass / unit + 0.1).powf(LENGTH)).ln_1p();
        let excluded = if self.mass > 0.0 { self.excluded / self.mass } else { 0.0 };
        logistic(constant + LEAD * ahead + EXCLUDED * excluded)
    }
}

fn logistic(sum: f64) -> f32 {
    (1.0 / (1.0 + (-sum).exp())) as f32
}

/// Returns the certainty of a lower rank: the first's, times the square of the ratio of the scores. The fit says
/// nothing about lower ranks; this falls with the score, and is never above that of a higher rank.
pub(crate) fn of_lower(first: f32, share: f32) -> f32 {
    first * (share * share).min(MAX_LOWER_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certainty_is_that_of_the_reference() {
        let unit = 188.0f64.ln();
        let of = |lead: f64, mass: f64, share: f64| {
            LeadEvidence { lead: lead * unit, mass: mass * unit, excluded: share * mass * unit, unit }
                .with_constant(FITTED)
        };
        for (lead, mass, share, expected) in [
            (2.1317, 4.1123, 0.0, 0.8406),
            (0.0, 2.7102, 0.0, 0.1824),
            (4.8656, 8.2317, 0.1978, 0.7153),
            (5.1599, 4.6234, 0.0, 0.9821),
        ] {
            assert!((of(lead, mass, share) - expected).abs() < 2e-4);
        }
        assert!(of(0.0, 0.0, 0.0).is_finite() && of(-1.0, 0.0, 0.0) > 0.0);
    }

    #[test]
    fn confidence_rises_with_the_evidence() {
        let of = |has: f64, length: f64, excluded: f64| Evidence { has, length, excluded }.confidence();
        assert!(of(1.0, 3.0, 0.0) < of(2.0, 3.0, 0.0) && of(2.0, 9.0, 0.0) < of(2.0, 3.0, 0.0));
        assert!(of(2.0, 3.0, 0.5) < 0.1 * of(2.0, 3.0, 0.0));
        assert!(of(0.0, 1.0, 0.0) < 0.25 && of(f64::MAX, 1.0, 0.0) <= 1.0);
    }

    #[test]
    fn lower_ranks_are_less_sure() {
        assert!(of_lower(0.8, 1.0) < 0.8);
        assert!(of_lower(0.8, 0.5) < of_lower(0.8, 0.6));
    }
}
