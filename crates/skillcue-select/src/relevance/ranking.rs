//! Rankings: the skills whose texts fit a message, with the evidence for each.

use std::ops::Range;

use serde::Serialize;

use crate::relevance::evidence::Evidence;
use crate::relevance::refusal::Refusals;

/// The skills whose texts fit a message, best first.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Ranking {
    /// The hits; equal ones are in the order of the catalog.
    pub hits: Vec<TextHit>,
}

/// A skill whose texts fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextHit {
    /// Its position in [`Catalog::all`](skillcue_catalog::Catalog::all).
    pub skill: usize,
    /// How well it fits: the sum of `parts`.
    pub score: f32,
    /// How likely it is to fit, from 0 to 1, if it had no rivals.
    pub confidence: f32,
    /// How likely it is to be the one that the message needs, from 0 to 1. Falls from rank to rank.
    pub certainty: f32,
    /// How likely it is that naming it helps, from 0 to 1.
    pub likelihood: f32,
    /// The words that count for it, strongest first: at most eight.
    pub words: Vec<TextWord>,
    /// The kinds of evidence for it and what each adds to the score, without those that add nothing.
    pub parts: Vec<EvidencePart>,
}

/// One kind of evidence, and the amount that it adds to a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EvidencePart {
    /// The kind, in words.
    pub kind: &'static str,
    /// The amount that it adds.
    pub score: f32,
}

/// A skill that a message may be about, with all evidence for it. For fitting weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankCandidate {
    /// Its position among the skills.
    pub skill: usize,
    /// The evidence for it.
    pub evidence: Evidence,
}

/// Facts about skills beside their texts, for a search.
#[derive(Clone, Copy)]
pub struct SearchContext<'a> {
    /// Whether a skill may be found.
    pub usable: &'a dyn Fn(usize) -> bool,
    /// How clearly the message has the name of a skill as it is written: 0, not at all; 1, with its hyphens; 2, in
    /// quotation marks, or beside the word "skill".
    pub mention: &'a dyn Fn(usize) -> f32,
    /// The answers of a sentence model, if there is one.
    pub meaning: Option<&'a Meaning<'a>>,
    /// The parts of the message that are refused, if they are known; they are found otherwise.
    pub refused: Option<&'a Refusals>,
}

/// The answers of a sentence model about a message.
#[derive(Clone, Copy)]
pub struct Meaning<'a> {
    /// The cosine of the vectors of the message and of a skill; `None`, if the skill has none.
    pub cosine: &'a dyn Fn(usize) -> Option<f32>,
    /// The skills that are nearest by it: they are weighed even if they share no word with the message.
    pub nearest: &'a [usize],
}

impl std::fmt::Debug for Meaning<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meaning").field("nearest", &self.nearest).finish_non_exhaustive()
    }
}

impl Default for SearchContext<'_> {
    fn default() -> Self {
        SearchContext { usable: &|_| true, mention: &|_| 0.0, meaning: None, refused: None }
    }
}

impl std::fmt::Debug for SearchContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchContext").finish_non_exhaustive()
    }
}

/// A word of a message that counts for a skill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextWord {
    /// The word, as the message has it.
    pub text: String,
    /// The range of its first occurrence in the message, in bytes.
    pub span: Range<usize>,
    /// The term that the skill has: its stem, or that of a synonym or of a similar word.
    pub term: String,
    /// The amount that it adds to the score.
    pub weight: f32,
}
