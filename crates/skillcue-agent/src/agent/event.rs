//! Events of a turn while it goes on.

use serde::Serialize;
use skillcue::{Decision, Disclosure};

use crate::model::FinishReason;
use crate::{LineSkill, RequestTokens};

/// An event of a turn. As JSON, this is what `skillcue agent --json` prints, one a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnEvent<'e> {
    /// The turn belongs to this conversation.
    Session {
        /// Its id.
        id: &'e str,
    },
    /// A context provider added something.
    Context {
        /// Its name.
        provider: &'e str,
        /// Its cost, with its text for the instructions.
        tokens: u64,
        /// How much of skills is disclosed, from 0 to 3.
        #[serde(skip_serializing_if = "Option::is_none")]
        tier: Option<u8>,
        /// The decisions about the skills that matched.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        skills: Vec<LineSkill>,
        /// The files that were taken to be what the turn is about.
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        files: &'e [String],
    },
    /// Skills are named that fit what the model does. The next request has the hint.
    Hint {
        /// Its cost.
        tokens: u64,
        /// The skills, best first.
        skills: &'e [String],
    },
    /// A skill was loaded, or has left.
    Skill {
        /// Its name.
        name: &'e str,
        /// `loaded`, or `referred` if its text was there before; `unloaded`, `expired` or `evicted` if it has left.
        how: &'e str,
    },
    /// Something went wrong, and the turn goes on without it.
    Problem {
        /// The part that has the problem: a context provider's name, `session` or `trace`.
        provider: &'e str,
        /// The problem.
        message: String,
    },
    /// The model is asked.
    Request {
        /// Which turn of the conversation.
        turn: u64,
        /// Which request of the turn.
        round: u32,
        /// Its cost.
        tokens: RequestTokens,
    },
    /// The next words of an answer.
    Text {
        /// The words.
        text: &'e str,
    },
    /// The model's thinking.
    Thinking {
        /// The words.
        text: &'e str,
    },
    /// The request failed and is made again: its words so far do not count.
    Retry {
        /// Which attempt comes next.
        attempt: u32,
        /// How long it is waited for.
        wait_ms: u64,
        /// The error.
        why: &'e str,
    },
    /// The model calls a tool.
    Call {
        /// The call.
        id: &'e str,
        /// The tool.
        name: &'e str,
        /// Its arguments, as the model wrote them.
        arguments: &'e str,
    },
    /// A tool returned.
    Result {
        /// The call.
        id: &'e str,
        /// The tool.
        name: &'e str,
        /// Its result, which the model reads.
        text: &'e str,
        /// Whether it failed.
        is_error: bool,
    },
    /// The conversation was made shorter, to fit into the model's window.
    Compacted {
        /// Its cost before.
        before: u64,
        /// Its cost now.
        after: u64,
        /// How many messages were replaced.
        messages: usize,
        /// Whether they were summarised; else they are only left out.
        summarised: bool,
        /// The skills that are shown again.
        skills: Vec<String>,
    },
    /// The turn has ended with an answer.
    Answer {
        /// The answer.
        text: &'e str,
        /// Why the model stopped.
        stop: &'e FinishReason,
        /// How many rounds it took.
        rounds: u32,
        /// The cost of all requests.
        tokens: RequestTokens,
        /// Tokens of requests, as the provider counts.
        input: u64,
        /// Tokens of answers.
        output: u64,
        /// Tokens that came from the provider's cache.
        cached: u64,
    },
}

/// Returns the decisions about the skills that matched.
pub(super) fn shown(disclosure: &Disclosure) -> Vec<LineSkill> {
    let word = |decision| match decision {
        Decision::Included => "included",
        Decision::Shortened => "shortened",
        Decision::Named => "named",
        Decision::Omitted => "omitted",
    };
    let shown = disclosure.skills.iter().map(|skill| LineSkill {
        name: skill.name.clone(),
        decision: word(skill.decision).to_owned(),
        tokens: skill.tokens.0 as u64,
    });
    shown.collect()
}
