//! The record of one request.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::time::written;
use crate::model::FinishReason;
use crate::{Message, RequestTokens, SkillMove};

/// A line of a trace: one request to a model, and its outcome.
///
/// ```
/// use std::time::UNIX_EPOCH;
///
/// use skillcue_agent::{TraceLine, Purpose};
///
/// let line = TraceLine { turn: 1, round: 1, model: "some-model".to_owned(), ..TraceLine::new("s-1", UNIX_EPOCH) };
/// let json = serde_json::to_string(&line)?;
/// assert!(json.starts_with(r#"{"time":"1970-01-01T00:00:00.000Z","session":"s-1","turn":1,"round":1,"purpose":"answer""#));
/// assert!(json.contains(r#""usage":null"#));
/// assert_eq!(serde_json::from_str::<TraceLine>(&json)?, line);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceLine {
    /// When the request was begun, before its first attempt: not when its answer was there.
    #[serde(with = "written")]
    pub time: SystemTime,
    /// The session that it belongs to.
    pub session: String,
    /// The turn, from 1 on.
    pub turn: u64,
    /// Which request of the turn, from 1 on.
    pub round: u32,
    /// Its purpose.
    pub purpose: Purpose,
    /// The API that was spoken.
    pub api: String,
    /// The model that was asked.
    pub model: String,
    /// The cost of each part of the request, as we count.
    pub tokens: RequestTokens,
    /// Its cost, in the provider's own words; null if it said nothing.
    #[serde(default)]
    pub usage: Value,
    /// How much the message called for, from 0 to 3.
    #[serde(default)]
    pub tier: Option<u8>,
    /// The policy by which skills were disclosed.
    #[serde(default)]
    pub policy: Option<String>,
    /// The decision about each skill.
    #[serde(default)]
    pub skills: Vec<LineSkill>,
    /// The cost of all skills in this request, had they been loaded eagerly.
    #[serde(default)]
    pub eager: u64,
    /// The files that were taken to be what the turn is about: those that the message names, and those that have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The skills that a hint in this request names for the first time, because of what tools have touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// The skills that were loaded, or have left, since the last request of the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<SkillMove>,
    /// How many tokens of the history are documentation of skills: shown or loaded in earlier turns, or loaded in this
    /// one. They are history in `tokens`, but it is skills that took them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub skills_in_history: u64,
    /// How many tokens, from the beginning of the request on, repeat the last one of the conversation byte for byte, in the
    /// order in which the server reads it: as much as its prompt cache can hold. None, if this process made none before.
    #[serde(default, skip_serializing_if = "is_none")]
    pub repeated: u64,
    /// How long it took, retries and all.
    pub latency_ms: u64,
    /// How long it took until the first words.
    #[serde(default)]
    pub first_ms: Option<u64>,
    /// How many requests it took.
    pub attempts: u32,
    /// Why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<FinishReason>,
    /// The tools that were called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Problems that did not stop the turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The code of the error that stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The text of the messages, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<LineText>,
}

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To answer the user.
    Answer,
    /// To sum up what was said.
    Summary,
}

/// A skill in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineSkill {
    /// Its name.
    pub name: String,
    /// The decision about it, in the words of a disclosure.
    pub decision: String,
    /// Its cost.
    pub tokens: u64,
}

/// The text of a request and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineText {
    /// The conversation that was sent.
    pub request: Vec<Message>,
    /// The answer.
    pub answer: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(tokens: &u64) -> bool {
    *tokens == 0
}

impl TraceLine {
    /// Returns how many tokens of the request skills took, wherever they are in it: their disclosure, the part of it that is
    /// history by now, and the definitions of tools, nearly all of which are there for skills.
    pub fn skills_took(&self) -> u64 {
        let RequestTokens { skills_stable, skills_turn, tools, .. } = self.tokens;
        let parts = [skills_stable, skills_turn, tools, self.skills_in_history];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// Makes a line that says nothing yet.
    pub fn new(session: impl Into<String>, time: SystemTime) -> TraceLine {
        TraceLine {
            time,
            session: session.into(),
            turn: 0,
            round: 0,
            purpose: Purpose::Answer,
            api: String::new(),
            model: String::new(),
            tokens: RequestTokens::default(),
            usage: Value::Null,
            tier: None,
            policy: None,
            skills: Vec::new(),
            eager: 0,
            files: Vec::new(),
            hints: Vec::new(),
            moves: Vec::new(),
            skills_in_history: 0,
            repeated: 0,
            latency_ms: 0,
            first_ms: None,
            attempts: 0,
            stop: None,
            calls: Vec::new(),
            problems: Vec::new(),
            error: None,
            text: None,
        }
    }
}
