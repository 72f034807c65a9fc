//! Which part of a request costs what.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};
use skillcue::Tokens;

/// A part of a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The instructions that never change.
    System,
    /// What is disclosed of skills in every turn alike.
    SkillsStable,
    /// What is disclosed of skills for this turn.
    SkillsTurn,
    /// The definitions of tools.
    Tools,
    /// The conversation: messages, calls and results, and what memory recalls.
    History,
}

/// How many tokens each part of a request costs. The total is their sum, always: it is never stored.
///
/// ```
/// use skillcue::Tokens;
/// use skillcue_agent::{Part, Parts};
///
/// let mut parts = Parts::default();
/// parts.add(Part::System, Tokens(40));
/// parts.add(Part::SkillsTurn, Tokens(5));
/// assert_eq!(parts.total(), 45);
/// assert_eq!(
///     serde_json::to_string(&parts)?,
///     r#"{"system":40,"skills_stable":0,"skills_turn":5,"tools":0,"history":0,"total":45}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct Parts {
    /// [`Part::System`].
    pub system: u64,
    /// [`Part::SkillsStable`].
    pub skills_stable: u64,
    /// [`Part::SkillsTurn`].
    pub skills_turn: u64,
    /// [`Part::Tools`].
    pub tools: u64,
    /// [`Part::History`].
    pub history: u64,
}

impl Parts {
    /// The sum of all parts.
    pub fn total(&self) -> u64 {
        // Numbers from a file may be any.
        [self.system, self.skills_stable, self.skills_turn, self.tools, self.history]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Adds to a part.
    pub fn add(&mut self, part: Part, tokens: Tokens) {
        let place = match part {
            Part::System => &mut self.system,
            Part::SkillsStable => &mut self.skills_stable,
            Part::SkillsTurn => &mut self.skills_turn,
            Part::Tools => &mut self.tools,
            Part::History => &mut self.history,
        };
        *place = place.saturating_add(tokens.0 as u64);
    }
}

impl AddAssign for Parts {
    fn add_assign(&mut self, other: Parts) {
        self.system = self.system.saturating_add(other.system);
        self.skills_stable = self.skills_stable.saturating_add(other.skills_stable);
        self.skills_turn = self.skills_turn.saturating_add(other.skills_turn);
        self.tools = self.tools.saturating_add(other.tools);
        self.history = self.history.saturating_add(other.history);
    }
}

impl Add for Parts {
    type Output = Parts;

    fn add(mut self, other: Parts) -> Parts {
        self += other;
        self
    }
}

impl Sum for Parts {
    fn sum<I: Iterator<Item = Parts>>(all: I) -> Parts {
        all.fold(Parts::default(), Add::add)
    }
}

/// The parts as they are written down, with their sum.
#[derive(Serialize, Deserialize)]
struct Written {
    system: u64,
    skills_stable: u64,
    skills_turn: u64,
    tools: u64,
    history: u64,
    total: u64,
}

impl From<Parts> for Written {
    fn from(parts: Parts) -> Written {
        let Parts { system, skills_stable, skills_turn, tools, history } = parts;
        Written { system, skills_stable, skills_turn, tools, history, total: parts.total() }
    }
}

impl TryFrom<Written> for Parts {
    type Error = String;

    fn try_from(written: Written) -> Result<Parts, String> {
        let Written { system, skills_stable, skills_turn, tools, history, total } = written;
        let parts = Parts { system, skills_stable, skills_turn, tools, history };
        if parts.total() == total {
            Ok(parts)
        } else {
            Err(format!("the parts add up to {} tokens, and the total says {total}", parts.total()))
        }
    }
}
