//! Requests to models and their answers, independent of the API.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use skillcue::tools::ToolDefinition;

use crate::{Message, RequestPart, ToolCall};

/// A request to a model, with everything that is sent.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'r> {
    /// The instructions, in order; an API that has room for one gets them as one, with a blank line between.
    pub system: &'r [SystemText],
    /// The tools that the model may call.
    pub tools: &'r [ToolDefinition],
    /// The conversation. It begins with the user.
    pub messages: &'r [Message],
    /// How many tokens the answer may have; the API's own limit if nothing is said.
    pub max_tokens: Option<u32>,
}

/// A text of the instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemText {
    /// The part that it counts as.
    pub part: RequestPart,
    /// The text exactly as it is sent.
    pub text: String,
}

/// A piece of news while an answer comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta<'d> {
    /// The next words of the answer.
    Text(&'d str),
    /// The model's thinking, if it shows it; no part of the answer.
    Thinking(&'d str),
    /// The model begins to write the arguments of a call.
    Call {
        /// The tool.
        name: &'d str,
    },
    /// The request failed and will be made again. The words so far do not count.
    Retry {
        /// Which attempt comes next, from 2 on.
        attempt: u32,
        /// How long it is waited for.
        wait: Duration,
        /// The error, in one sentence.
        why: &'d str,
    },
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// Its words.
    pub text: String,
    /// The tools that it calls, in its order, each with an id of its own.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub stop: FinishReason,
    /// Its cost, as the provider counts.
    pub usage: TokenUsage,
    /// How many requests it took.
    pub attempts: u32,
    /// How long it took until the first words or call of the attempt that succeeded, from its beginning.
    pub first: Option<Duration>,
}

/// The reason why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// It has said everything.
    End,
    /// It waits for its tools.
    Tools,
    /// The answer would be longer than it may be.
    Length,
    /// It, or its provider, refuses.
    Refused,
    /// Something else, in the provider's word.
    Other(String),
}

/// The cost of a request, as the provider reports it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TokenUsage {
    /// Tokens of the request, cached ones included.
    pub input: Option<u64>,
    /// Tokens of the request that came from the provider's cache.
    pub cached: Option<u64>,
    /// Tokens of the answer.
    pub output: Option<u64>,
    /// The provider's own words; null if it said nothing.
    pub raw: Value,
}
