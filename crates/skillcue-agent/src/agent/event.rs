//! What is heard of a turn while it goes on.

use serde::Serialize;
use skillcue::{Decision, Disclosure};

use crate::model::FinishReason;
use crate::{LineSkill, RequestTokens};

/// Something that happened in a turn. As JSON, this is what `skillcue agent --json` prints, one a line.
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
        /// Which one.
        provider: &'e str,
        /// What it costs, with what goes into the instructions.
        tokens: u64,
        /// How much of skills is disclosed, from 0 to 3.
        #[serde(skip_serializing_if = "Option::is_none")]
        tier: Option<u8>,
        /// What became of the skills that matched.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        skills: Vec<LineSkill>,
        /// The files that were taken to be what the turn is about.
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        files: &'e [String],
    },
    /// Something went wrong, and the turn goes on without it.
    Problem {
        /// Whose problem it is: a context provider's name, `session` or `trace`.
        provider: &'e str,
        /// What is wrong.
        message: String,
    },
    /// The model is asked.
    Request {
        /// Which turn of the conversation.
        turn: u64,
        /// Which request of the turn.
        round: u32,
        /// What it costs.
        tokens: RequestTokens,
    },
    /// The next words of an answer.
    Text {
        /// The words.
        text: &'e str,
    },
    /// What the model thinks aloud.
    Thinking {
        /// The words.
        text: &'e str,
    },
    /// The request failed and is made again: what came of it so far does not count.
    Retry {
        /// Which attempt comes next.
        attempt: u32,
        /// How long it is waited for.
        wait_ms: u64,
        /// What went wrong.
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
        /// What it returned, and the model reads.
        text: &'e str,
        /// Whether it failed.
        is_error: bool,
    },
    /// The conversation was made shorter, to fit into the model's window.
    Compacted {
        /// What it cost before.
        before: u64,
        /// What it costs now.
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
        /// What all requests cost.
        tokens: RequestTokens,
        /// The same as the provider counts: tokens of requests.
        input: u64,
        /// Tokens of answers.
        output: u64,
        /// Tokens that came from the provider's cache.
        cached: u64,
    },
}

/// What became of the skills that matched.
pub(super) fn shown(disclosure: &Disclosure) -> Vec<LineSkill> {
    let word = |decision| match decision {
        Decision::Included => "included",
        Decision::Shortened => "shortened",
        Decision::Omitted => "omitted",
    };
    let shown = disclosure.skills.iter().map(|skill| LineSkill {
        name: skill.name.clone(),
        decision: word(skill.decision).to_owned(),
        tokens: skill.tokens.0 as u64,
    });
    shown.collect()
}
