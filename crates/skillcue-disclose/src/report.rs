//! The disclosure of a turn: its text, its cost, and the decision about each skill.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};
use skillcue_format::Tokens;
use skillcue_select::{Reason, Thresholds};

use crate::{Policy, SkillList};

/// The amount of documentation that a message calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Nothing, because no skill is enabled.
    Nothing,
    /// The number of skills, because none fits.
    Breadcrumb,
    /// A line for each of the few skills that are likely to fit, because none is sure to. Its number is that of the
    /// registry.
    Shortlist,
    /// A line for each skill.
    Registry,
    /// The documentation of the skills that fit, or of all if they are asked for.
    Documentation,
}

impl Tier {
    /// Returns the tier's number, from 0 to 3.
    pub fn number(self) -> u8 {
        match self {
            Tier::Nothing => 0,
            Tier::Breadcrumb => 1,
            Tier::Shortlist | Tier::Registry => 2,
            Tier::Documentation => 3,
        }
    }
}

impl Serialize for Tier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

/// The decision about a skill or a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The whole text is in context.
    Included,
    /// The beginning of the text is in context, with a line that says so.
    Shortened,
    /// The skill's name and its brief description are in context, and not its text.
    Named,
    /// The text is not in context.
    Omitted,
}

/// The text that a model is shown this turn, and a report of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disclosure {
    /// The tier that the message calls for.
    pub tier: Tier,
    /// The policy that was applied.
    pub policy: Policy,
    /// The part that does not change while the catalog and the configuration do not.
    pub stable: Arc<str>,
    /// The part for this message.
    pub turn: String,
    /// The cost of both parts.
    pub tokens: DisclosureCost,
    /// Every skill that matched or was asked for, in the order of its rank.
    pub skills: Vec<DisclosedSkill>,
    /// The number of skills that matched in all.
    pub matched: usize,
    /// The certainty from which bodies were shown, and the likelihood from which skills were named.
    pub thresholds: Thresholds,
    /// The omissions of the list of skills: of that in the stable part, or of the registry.
    #[serde(skip_serializing_if = "is_complete")]
    pub listed: Arc<ListOmissions>,
    /// The time that it took to select and to decide, in microseconds. This crate looks at no clock: the caller fills
    /// it in.
    #[serde(rename = "elapsed_us", serialize_with = "microseconds")]
    pub elapsed: Duration,
}

fn is_complete(listed: &Arc<ListOmissions>) -> bool {
    listed.shortened.count == 0 && listed.omitted.count == 0
}

/// The parts of a list of all skills that are omitted to save space.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ListOmissions {
    /// Skills whose descriptions are cut or left out.
    pub shortened: NameSample,
    /// Skills that are missing.
    pub omitted: NameSample,
}

/// A count of skills and the first names: of 100,000 not every one is worth a line in a report. [`SkillList`] has them
/// all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct NameSample {
    /// The number of skills.
    pub count: usize,
    /// The first names, at most [`NameSample::MAX_NAMES`].
    pub first: Vec<String>,
}

impl NameSample {
    /// The number of skills that are named at most.
    pub const MAX_NAMES: usize = 100;

    fn of(names: &[String]) -> NameSample {
        NameSample { count: names.len(), first: names[..names.len().min(NameSample::MAX_NAMES)].to_vec() }
    }
}

impl ListOmissions {
    pub(crate) fn of(section: &SkillList) -> ListOmissions {
        ListOmissions { shortened: NameSample::of(&section.shortened), omitted: NameSample::of(&section.omitted) }
    }
}

fn microseconds<S: Serializer>(elapsed: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
}

impl Disclosure {
    /// Emits one event at `DEBUG` with target `skillcue::disclose`, which has tier, policy, skills, scores, tokens and
    /// time, and never the message.
    pub fn trace(&self) {
        if !tracing::enabled!(target: "skillcue::disclose", tracing::Level::DEBUG) {
            return;
        }
        let shown = |skill: &&DisclosedSkill| skill.decision != Decision::Omitted;
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

/// The cost of a disclosure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct DisclosureCost {
    /// The cost of the stable part.
    pub stable: Tokens,
    /// The cost of the turn part: the sum of its parts' costs, each counted by itself.
    pub turn: Tokens,
    /// The cost of what in the turn part is neither body nor cut marker: headings, and lines that name skills.
    pub overhead: Tokens,
    /// The cost that the documentation of all skills would have had, estimated from the sizes of their files, and
    /// [`DisclosureCost::BODY_FRAME`] for each.
    pub eager: Tokens,
}

impl DisclosureCost {
    /// The cost of the text around each body: its heading, and the line that names the base directory. A mean,
    /// because to build 100,000 of them only to count them would take longer than it is worth.
    pub const BODY_FRAME: Tokens = Tokens(24);
}

/// The reason for the omission of a skill that does not fit well enough.
pub(crate) const TOO_WEAK: &str = "it matches too weakly";
/// The reason for the omission of a skill that fits, but not clearly better than others.
pub(crate) const NOT_ALONE: &str = "others fit as well or better; name the one you want";

impl DisclosedSkill {
    /// Returns whether it is omitted because it does not fit well enough, or not clearly better than others.
    pub fn is_weak(&self) -> bool {
        matches!(self.why.as_deref(), Some(TOO_WEAK | NOT_ALONE))
    }
}

/// A skill in a [`Disclosure`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DisclosedSkill {
    /// The skill's name.
    pub name: String,
    /// The decision about it.
    pub decision: Decision,
    /// The score: how well the skill fits.
    pub score: f32,
    /// How likely it is to fit, from 0 to 1.
    pub confidence: f32,
    /// How likely it is to be the one that the message needs: the number that decides whether its body is shown.
    pub certainty: f32,
    /// How likely it is that naming it helps: the number that decides whether it is named.
    pub likelihood: f32,
    /// The reasons for the score.
    pub reasons: Vec<Reason>,
    /// The cost of the skill's text this turn.
    pub tokens: Tokens,
    /// The reason why it is not included whole, or not again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The text that a session remembers, if it is in context.
    #[serde(skip)]
    pub(crate) shown_text: Option<ShownText>,
}

/// The identity of a text in context, by which a session recognises it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownText {
    pub(crate) address: String,
    pub(crate) digest: u128,
    pub(crate) shortened: bool,
    pub(crate) shown: usize,
    /// The ranges of the text that were shown.
    pub(crate) parts: Vec<Range<usize>>,
    /// The cost of the text, even if only a reference to it was shown.
    pub(crate) tokens: Tokens,
    pub(crate) reference: bool,
}
