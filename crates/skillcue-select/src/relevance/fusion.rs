//! Fusion: from evidence to a rank and to probabilities, by weights that were learned from labelled messages.
//!
//! Three sums. The first ranks: one weight for each kind of evidence, and of the candidates the highest sum is first. The
//! second is the gate: whether the first is right and needed at all, from how far it is ahead and from what the message
//! and the skill have in common. The third says of each of the first five whether it is worth to be named. The second and
//! the third are logistic, and calibrated.
//!
//! `cargo xtask fit` makes the numbers. They are in raw units, so that the same evidence weighs the same in any catalog.

pub use crate::relevance::evidence::Evidence;
pub use crate::relevance::weights::{WITH_BODIES, WITH_BODIES_AND_MODEL, WITHOUT_BODIES, WITHOUT_BODIES_WITH_MODEL};

/// The kinds of evidence that rank, in the order of their weights.
pub const RANK_PARTS: [&str; RANKS] = [
    "name and description",
    "whole text",
    "request",
    "pairs",
    "near words",
    "code words",
    "clause",
    "verbs",
    "triples",
    "section",
    "passage",
    "name",
    "mention",
    "meaning",
    "programming language",
];
const RANKS: usize = 15;
/// How many values the gate weighs, and as many decide about names.
const GATES: usize = 12;
/// The certainty that one word gives by itself at most: not enough to show a skill.
pub(crate) const MAX_ONE_WORD: f32 = 0.45;
/// How many ranks are weighed for their names.
pub const MAX_NAMED: usize = 5;

/// The names of what the gate weighs.
pub const GATE_PARTS: [&str; GATES] = [
    "share",
    "coverage",
    "rarest word",
    "clause",
    "excluded",
    "question",
    "length",
    "skills",
    "name and description",
    "name",
    "code words",
    "near words",
];
/// The names of what decides whether a skill is named.
pub const NAMING_PARTS: [&str; GATES] = [
    "share",
    "behind",
    "coverage",
    "clause",
    "excluded",
    "question",
    "length",
    "first",
    "name and description",
    "name",
    "code words",
    "near words",
];

/// Learned weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusionWeights {
    /// Of [`rank_values`].
    pub rank: [f32; RANKS],
    /// Of [`gate_values`], and the constant.
    pub gate: [f32; GATES + 1],
    /// Of [`naming_values`], and the constant.
    pub naming: [f32; GATES + 1],
}

impl FusionWeights {
    /// Returns the parts of a skill's sum. `greatest` has the highest evidence of any candidate, by which those parts
    /// are divided that have no unit of their own.
    pub(crate) fn parts(&self, evidence: &Evidence, greatest: &Evidence) -> [f32; RANKS] {
        let values = rank_values(evidence, greatest);
        std::array::from_fn(|at| self.rank[at] * values[at])
    }
}

/// Returns the evidence that ranks, in the order of [`RANK_PARTS`].
pub fn rank_values(evidence: &Evidence, greatest: &Evidence) -> [f32; RANKS] {
    let share = |own: f32, most: f32| if most > 0.0 { own / most } else { 0.0 };
    [
        share(evidence.short, greatest.short),
        share(evidence.long, greatest.long),
        evidence.request,
        evidence.pairs,
        evidence.near,
        evidence.code_words,
        share(evidence.clause, greatest.clause),
        evidence.verbs,
        share(evidence.triples, greatest.triples),
        share(evidence.section, greatest.section),
        share(evidence.passage, greatest.passage),
        share(evidence.name, greatest.name),
        evidence.mention,
        evidence.meaning,
        evidence.language,
    ]
}

/// Facts of a message that count for the gate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MessageFacts {
    /// The number of different terms.
    pub count: f32,
    /// Whether it asks what something is.
    pub question: bool,
    /// The number of skills that it is searched for in.
    pub skills: f32,
}

/// Returns the evidence of the gate for a skill with a share of the ranking, `share`, from 0 to 1.
pub fn gate_values(evidence: &Evidence, facts: MessageFacts, share: f32) -> [f32; GATES] {
    [
        share,
        evidence.coverage,
        evidence.rarest,
        evidence.clause,
        evidence.excluded,
        f32::from(u8::from(facts.question)),
        facts.count.ln_1p(),
        facts.skills.ln_1p() / 10.0,
        evidence.short.ln_1p(),
        evidence.named,
        evidence.code_words,
        evidence.near,
    ]
}

/// Returns the evidence that a skill is worth to be named: by its share of the ranking, and whether it is the first.
pub fn naming_values(evidence: &Evidence, facts: MessageFacts, share: f32, behind: f32, first: bool) -> [f32; GATES] {
    [
        share,
        behind,
        evidence.coverage,
        evidence.clause,
        evidence.excluded,
        f32::from(u8::from(facts.question)),
        facts.count.ln_1p(),
        f32::from(u8::from(first)),
        evidence.short.ln_1p(),
        evidence.named,
        evidence.code_words,
        evidence.near,
    ]
}

/// Returns the probability for a sum of weighed values and the constant behind the weights.
pub(crate) fn probability<const N: usize, const M: usize>(weights: &[f32; M], values: &[f32; N]) -> f32 {
    let sum: f32 = weights.iter().zip(values).map(|(weight, value)| weight * value).sum();
    1.0 / (1.0 + (-(sum + weights.get(N).copied().unwrap_or(0.0))).exp())
}
