//! Errors of a model that has not answered.

use std::fmt;
use std::time::Duration;

use skillcue_base::{ErrorInfo, Shown};

use super::EndpointError;

/// The reason why a model has not answered. A server's message is in it without the key, escaped, and cut if it is long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum ModelError {
    /// The request was cancelled.
    #[error("the request was cancelled")]
    #[info(code = "cancelled", hint = "ask again")]
    Cancelled,
    /// The endpoint is none.
    #[error(transparent)]
    #[info(transparent)]
    Endpoint(#[from] EndpointError),
    /// No client can be made.
    #[error("no HTTP client can be made: {reason}")]
    #[info(code = "no_client", hint = "are the system's certificates installed?")]
    Client {
        /// The reason.
        reason: String,
    },
    /// There is no answer from that address.
    #[error("{url} cannot be reached: {reason}")]
    #[info(code = "unreachable", hint = "does the server run, and is that its address, with http or https?")]
    Unreachable {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// The key is missing, wrong, or not good for this (401, 403).
    #[error("{url} refuses the {}: {says}", if *key { "key" } else { "request, which has no key" })]
    #[info(code = "auth", hint = key_hint(*key))]
    Auth {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// Whether a key was sent.
        key: bool,
        /// The server's message.
        says: String,
        /// How many requests were made.
        attempts: u32,
    },
    /// There is no such model, or nothing at this address (404).
    #[error("{url} does not know the model {:?} or has no such address: {says}", Shown(model).to_string())]
    #[info(code = "model_not_found", hint = NAME_OR_ADDRESS)]
    NotFound {
        /// The address.
        url: String,
        /// Which model.
        model: String,
        /// The server's message.
        says: String,
        /// How many requests were made.
        attempts: u32,
    },
    /// The conversation is longer than the model's context window.
    #[error("the request is too long for the model {:?}: {says}", Shown(model).to_string())]
    #[info(code = "too_long", hint = "begin a new conversation, or use a model with a larger context window")]
    TooLong {
        /// Which model.
        model: String,
        /// The server's message.
        says: String,
        /// How many requests were made.
        attempts: u32,
    },
    /// The server does not do what is asked.
    #[error("{url} refuses the request (HTTP {status}): {says}")]
    #[info(code = "refused", hint = refusal_hint(*status, says))]
    Refused {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The server's message.
        says: String,
        /// How many requests were made.
        attempts: u32,
    },
    /// The server had too much to do, or failed, each time; or wants to be asked again much later.
    #[error("{url} is overloaded or out of order (HTTP {status}): {says}{}", Later(*wait))]
    #[info(code = "overloaded", hint = if wait.is_some() { "try again when it wants to be asked, or use another model" } else { LATER })]
    Overloaded {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The server's message.
        says: String,
        /// How long it wants to be left alone, if that is too long to wait for.
        wait: Option<Duration>,
        /// How many requests were made.
        attempts: u32,
    },
    /// The answer began, or was about to, and did not end.
    #[error("the answer of {url} broke off: {reason}")]
    #[info(code = "cut", hint = LATER)]
    Cut {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
        /// How many requests were made.
        attempts: u32,
    },
    /// The response is no answer.
    #[error("{url} sends what is no answer: {reason}")]
    #[info(code = "malformed", hint = "is that the address of a model server, and of one that speaks this API?")]
    Malformed {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
        /// How many requests were made.
        attempts: u32,
    },
    /// The response is larger than the limit.
    #[error("{what} has more than {most} bytes")]
    #[info(code = "too_large", hint = "the server is out of order, or is no model server")]
    TooLarge {
        /// The part that is too large.
        what: &'static str,
        /// How many bytes it may have.
        most: usize,
        /// How many requests were made.
        attempts: u32,
    },
}

/// Returns whether a server's message is about the length of an answer.
fn is_about_limit(says: &str) -> bool {
    const WORDS: [&str; 6] =
        ["max_tokens", "max_completion_tokens", "completion tokens", "output tokens", "the completion", "the output"];
    WORDS.iter().any(|word| says.contains(word))
}

/// The hint for a wrong name or address, which servers answer in different ways.
const NAME_OR_ADDRESS: &str =
    "is the model's name right, and is it there? Most base URLs end with /v1, as in http://localhost:8080/v1";
/// The hint where the answer may not be as long as was asked for.
const SHORTER: &str = "ask for a shorter answer, or do not say how long it may be";
const LATER: &str = "try again later, or use another model";

fn key_hint(was_sent: bool) -> &'static str {
    if was_sent {
        "is it the key for this server, and is it allowed to use this model?"
    } else {
        "set the key: OPENAI_API_KEY or ANTHROPIC_API_KEY, or where the model is configured"
    }
}

fn refusal_hint(status: u16, says: &str) -> &'static str {
    match status {
        405 => NAME_OR_ADDRESS,
        300..400 => "redirects are not followed: give the address that it leads to",
        402 | 429 => "look at plan and billing where the key comes from",
        _ if says.contains("support tools") => "use a model that can call tools",
        _ if is_about_limit(says) => SHORTER,
        _ => "the server's words say what it does not like",
    }
}

struct Later(Option<Duration>);

impl fmt::Display for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(wait) => write!(f, "; it wants to be asked again in {} s", wait.as_secs()),
            None => Ok(()),
        }
    }
}

/// Borrows the number of requests that were made for an error, shared or not; none if none was made.
macro_rules! attempts {
    ($error:expr) => {
        match $error {
            ModelError::Cancelled | ModelError::Endpoint(_) | ModelError::Client { .. } => None,
            ModelError::Unreachable { attempts, .. }
            | ModelError::Auth { attempts, .. }
            | ModelError::NotFound { attempts, .. }
            | ModelError::TooLong { attempts, .. }
            | ModelError::Refused { attempts, .. }
            | ModelError::Overloaded { attempts, .. }
            | ModelError::Cut { attempts, .. }
            | ModelError::Malformed { attempts, .. }
            | ModelError::TooLarge { attempts, .. } => Some(attempts),
        }
    };
}

impl ModelError {
    /// Returns whether the server refuses the most tokens that its answer was to have.
    pub fn is_about_max_tokens(&self) -> bool {
        matches!(self, ModelError::Refused { status, says, .. } if refusal_hint(*status, says) == SHORTER)
    }

    /// Returns how many requests were made; 0 if none was, or if they were cancelled.
    pub fn attempts(&self) -> u32 {
        attempts!(self).copied().unwrap_or(0)
    }

    /// Sets how many requests were made.
    pub(super) fn after(mut self, made: u32) -> ModelError {
        if let Some(attempts) = attempts!(&mut self) {
            *attempts = made;
        }
        self
    }
}
