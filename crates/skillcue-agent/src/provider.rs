//! Context providers, which add context to a turn.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde_json::{Map, Value};
use skillcue::tools::{ToolDefinition, ToolOutput, attribute};

use crate::{Message, RequestPart};

/// A future that can be sent to another thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Adds context to the turns of one conversation, and is notified of their outcome.
///
/// Skills are one, memory is another. Several compose: each is asked, in order, and what they say is sent in that order.
/// One that fails, panics or takes too long is left out of the turn, which goes on without it.
///
/// ```
/// use skillcue_agent::{BoxFuture, TurnContext, ContextProvider, Message, RequestPart, ProviderError};
///
/// /// Tells the model what day it is.
/// struct Today(String);
///
/// impl ContextProvider for Today {
///     fn name(&self) -> &str {
///         "today"
///     }
///
///     fn before_turn<'a>(&'a mut self, _: &'a [Message]) -> BoxFuture<'a, Result<TurnContext, ProviderError>> {
///         Box::pin(async { Ok(TurnContext::turn(RequestPart::History, format!("Today is {}.", self.0))) })
///     }
/// }
/// ```
pub trait ContextProvider: Send {
    /// Returns its name, in traces and for people.
    fn name(&self) -> &str;

    /// Returns the context for the last of these messages, which is the user's.
    fn before_turn<'a>(&'a mut self, messages: &'a [Message]) -> BoxFuture<'a, Result<TurnContext, ProviderError>>;

    /// Takes the outcome of the turn: the messages that were sent last, and the model's answer to them.
    fn after_turn<'a>(
        &'a mut self,
        request: &'a [Message],
        response: &'a Message,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        let _ = (request, response);
        Box::pin(async { Ok(()) })
    }

    /// Returns the tools that it offers to the model in this conversation: none, unless it says otherwise. They need no
    /// consent, and a skill's tool of the same name is hidden.
    fn tools(&self) -> Vec<ToolDefinition> {
        Vec::new()
    }

    /// Calls one of its [`tools`](ContextProvider::tools). `messages` are the conversation so far; the last one has the
    /// call.
    fn call_tool<'a>(
        &'a mut self,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        messages: &'a [Message],
    ) -> BoxFuture<'a, ToolOutput> {
        let _ = (arguments, messages);
        let opening = format!("tool_result name=\"{}\"", attribute(name));
        Box::pin(async move { ToolOutput::failure(&opening, "not_found", "There is no such tool.") })
    }
}

/// The context that a provider adds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnContext {
    /// The text that goes with the instructions, equal in every turn; empty if there is none.
    pub stable: String,
    /// The text that goes with the user's message; empty if there is none.
    pub turn: String,
    /// The part that the turn's text counts as.
    pub part: Option<RequestPart>,
}

impl TurnContext {
    /// Makes a context for this turn alone.
    pub fn turn(part: RequestPart, text: impl Into<String>) -> TurnContext {
        TurnContext { turn: text.into(), part: Some(part), ..TurnContext::default() }
    }
}

/// The reason why a provider has nothing to add.
#[derive(Debug, thiserror::Error)]
pub struct ProviderError(String);

impl ProviderError {
    /// Makes an error of a reason, in one sentence.
    pub fn new(why: impl fmt::Display) -> ProviderError {
        ProviderError(why.to_string())
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
