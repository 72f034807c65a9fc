//! What was disclosed, and what was not.

use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};
use skillcue_format::Tokens;
use skillcue_select::Reason;

use crate::{Policy, Section};

/// How much a message calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// No skill is enabled: nothing.
    Nothing,
    /// None fits: how many there are.
    Breadcrumb,
    /// What there is: a line each.
    Registry,
    /// Some fit, or all are asked for: their documentation.
    Documentation,
}

impl Tier {
    /// Its number, from 0 to 3.
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl Serialize for Tier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

/// What became of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// All of it is in context.
    Included,
    /// Its beginning is, with a line that says so.
    Shortened,
    /// It is not.
    Omitted,
}

/// What a model is shown this turn, and a report of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disclosure {
    /// How much the message calls for.
    pub tier: Tier,
    /// Where what the model is shown stands.
    pub policy: Policy,
    /// The part that stays the same while the catalog and the configuration do.
    pub stable: Arc<str>,
    /// The part for this message.
    pub turn: String,
    /// What they cost.
    pub tokens: Spent,
    /// Every skill that matched or was asked for, in the order of its rank.
    pub skills: Vec<Disclosed>,
    /// How many skills matched in all.
    pub matched: usize,
    /// What the list of skills leaves out: that in the stable part, or the registry.
    #[serde(skip_serializing_if = "is_complete")]
    pub listed: Arc<Listed>,
    /// How long it took to select and to decide, in microseconds. This crate looks at no clock: whoever does fills it in.
    #[serde(rename = "elapsed_us", serialize_with = "microseconds")]
    pub elapsed: Duration,
}

fn is_complete(listed: &Arc<Listed>) -> bool {
    listed.shortened.count == 0 && listed.omitted.count == 0
}

/// What a list of all skills leaves out to save space.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Listed {
    /// Skills whose descriptions are cut or left out.
    pub shortened: Names,
    /// Skills that are missing.
    pub omitted: Names,
}

/// Some skills by name: of 100,000 not every one is worth a line in a report. [`Section`] has them all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Names {
    /// How many there are.
    pub count: usize,
    /// The first of them, at most [`Names::MOST`].
    pub first: Vec<String>,
}

impl Names {
    /// How many are named.
    pub const MOST: usize = 100;

    fn of(names: &[String]) -> Names {
        Names { count: names.len(), first: names[..names.len().min(Names::MOST)].to_vec() }
    }
}

impl Listed {
    pub(crate) fn of(section: &Section) -> Listed {
        Listed { shortened: Names::of(&section.shortened), omitted: Names::of(&section.omitted) }
    }
}

fn microseconds<S: Serializer>(elapsed: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
}

impl Disclosure {
    /// One event at `DEBUG` with target `skillcue::disclose`, which tells tier, policy, skills, scores, tokens and time,
    /// and never what the message was.
    pub fn trace(&self) {
        if !tracing::enabled!(target: "skillcue::disclose", tracing::Level::DEBUG) {
            return;
        }
        let shown = |skill: &&Disclosed| skill.decision != Decision::Omitted;
        let skills: Vec<&str> = self.skills.iter().filter(shown).map(|skill| &*skill.name).collect();
        let scores: Vec<f32> = self.skills.iter().filter(shown).map(|skill| skill.score).collect();
        tracing::debug!(
            target: "skillcue::disclose",
            tier = self.tier.number(),
            policy = self.policy.as_str(),
            skills = ?skills,
            scores = ?scores,
            omitted = self.skills.len() - skills.len(),
            matched = self.matched,
            list_shortened = self.listed.shortened.count,
            list_omitted = self.listed.omitted.count,
            tokens_stable = self.tokens.stable.0,
            tokens_turn = self.tokens.turn.0,
            tokens_overhead = self.tokens.overhead.0,
            tokens_eager = self.tokens.eager.0,
            elapsed_us = u64::try_from(self.elapsed.as_micros()).unwrap_or(u64::MAX),
            "disclosed"
        );
    }
}

/// What a disclosure costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Spent {
    /// The stable part.
    pub stable: Tokens,
    /// The turn part, all of it: the sum of what its parts cost, each counted by itself.
    pub turn: Tokens,
    /// What of the turn part is neither body nor cut marker: headings, and lines that name skills.
    pub overhead: Tokens,
    /// What the documentation of all skills would have cost, estimated from the sizes of their files, and
    /// [`Spent::AROUND`] for each.
    pub eager: Tokens,
}

impl Spent {
    /// What stands around a body wherever it is shown, in tokens: its heading, and the line that names the base
    /// directory. A mean, because to build 100,000 of them only to count them would take longer than it is worth.
    pub const AROUND: Tokens = Tokens(24);
}

/// The reason for which a skill is omitted that does not fit well enough.
pub(crate) const TOO_WEAK: &str = "it matches too weakly";
/// The reason for which a skill is omitted that fits, and not clearly better than others.
pub(crate) const NOT_ALONE: &str = "others fit as well or better; name the one you want";

impl Disclosed {
    /// Whether it is omitted because it does not fit well enough, or not clearly better than others.
    pub fn is_weak(&self) -> bool {
        matches!(self.why.as_deref(), Some(TOO_WEAK | NOT_ALONE))
    }
}

/// A skill in a [`Disclosure`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disclosed {
    /// Its name.
    pub name: String,
    /// What became of it.
    pub decision: Decision,
    /// How well it fits.
    pub score: f32,
    /// How likely it is to be the right one, from 0 to 1.
    pub confidence: f32,
    /// What speaks for it.
    pub reasons: Vec<Reason>,
    /// What it costs this turn.
    pub tokens: Tokens,
    /// Why it is not included whole, or not again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What a session remembers of it, if its text is in context.
    #[serde(skip)]
    pub(crate) trace: Option<Trace>,
}

/// What a session must know to tell whether a text is already in context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) address: String,
    pub(crate) digest: u128,
    pub(crate) shortened: bool,
    pub(crate) shown: usize,
    /// What the text costs, even if only a reference to it was shown.
    pub(crate) tokens: Tokens,
    pub(crate) reference: bool,
}
