//! The cost of a request, part by part.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};
use skillcue::Tokens;

/// A part of a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestPart {
    /// The instructions that never change.
    System,
    /// Disclosure of skills that is in every turn alike.
    SkillsStable,
    /// Disclosure of skills for this turn.
    SkillsTurn,
    /// The definitions of tools.
    Tools,
    /// The conversation: messages, calls and results, and recalled facts.
    History,
}

/// How many tokens each part of a request costs. The total is their sum, always: it is never stored.
///
/// ```
/// use skillcue::Tokens;
/// use skillcue_agent::{RequestPart, RequestTokens};
///
/// let mut parts = RequestTokens::default();
/// parts.add(RequestPart::System, Tokens(40));
/// parts.add(RequestPart::SkillsTurn, Tokens(5));
/// assert_eq!(parts.total(), 45);
/// assert_eq!(
///     serde_json::to_string(&parts)?,
///     r#"{"system":40,"skills_stable":0,"skills_turn":5,"tools":0,"history":0,"total":45}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "RecordedTokens", try_from = "RecordedTokens")]
pub struct RequestTokens {
    /// [`RequestPart::System`].
    pub system: u64,
    /// [`RequestPart::SkillsStable`].
    pub skills_stable: u64,
    /// [`RequestPart::SkillsTurn`].
    pub skills_turn: u64,
    /// [`RequestPart::Tools`].
    pub tools: u64,
    /// [`RequestPart::History`].
    pub history: u64,
}

impl RequestTokens {
    /// Returns the sum of all parts.
    pub fn total(&self) -> u64 {
        // Numbers from a file may be any.
        [self.system, self.skills_stable, self.skills_turn, self.tools, self.history]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Adds to a part.
    pub fn add(&mut self, part: RequestPart, tokens: Tokens) {
        let place = match part {
            RequestPart::System => &mut self.system,
            RequestPart::SkillsStable => &mut self.skills_stable,
            RequestPart::SkillsTurn => &mut self.skills_turn,
            RequestPart::Tools => &mut self.tools,
            RequestPart::History => &mut self.history,
        };
        *place = place.saturating_add(tokens.0 as u64);
    }
}

impl AddAssign for RequestTokens {
    fn add_assign(&mut self, other: RequestTokens) {
        self.system = self.system.saturating_add(other.system);
        self.skills_stable = self.skills_stable.saturating_add(other.skills_stable);
        self.skills_turn = self.skills_turn.saturating_add(other.skills_turn);
        self.tools = self.tools.saturating_add(other.tools);
        self.history = self.history.saturating_add(other.history);
    }
}

impl Add for RequestTokens {
    type Output = RequestTokens;

    fn add(mut self, other: RequestTokens) -> RequestTokens {
        self += other;
        self
    }
}

impl Sum for RequestTokens {
    fn sum<I: Iterator<Item = RequestTokens>>(all: I) -> RequestTokens {
        all.fold(RequestTokens::default(), Add::add)
    }
}

/// The parts as they are written down, with their sum.
#[derive(Serialize, Deserialize)]
struct RecordedTokens {
    system: u64,
    skills_stable: u64,
    skills_turn: u64,
    tools: u64,
    history: u64,
    total: u64,
}

impl From<RequestTokens> for RecordedTokens {
    fn from(parts: RequestTokens) -> RecordedTokens {
        let RequestTokens { system, skills_stable, skills_turn, tools, history } = parts;
        RecordedTokens { system, skills_stable, skills_turn, tools, history, total: parts.total() }
    }
}

impl TryFrom<RecordedTokens> for RequestTokens {
    type Error = String;

    fn try_from(written: RecordedTokens) -> Result<RequestTokens, String> {
        let RecordedTokens { system, skills_stable, skills_turn, tools, history, total } = written;
        let parts = RequestTokens { system, skills_stable, skills_turn, tools, history };
        if parts.total() == total {
            Ok(parts)
        } else {
            Err(format!("the parts add up to {} tokens, and the total says {total}", parts.total()))
        }
    }
}
