//! Why a model has not answered.

use std::fmt;
use std::time::Duration;

use skillcue_base::Shown;

use super::EndpointError;

/// Why a model has not answered. What servers say is in it with the key taken out, made fit to show, and not all of it
/// if it is long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Nobody waits for the answer any more.
    #[error("the request was cancelled")]
    Cancelled,
    /// The endpoint is none.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// No client can be made.
    #[error("no HTTP client can be made: {reason}")]
    Client {
        /// Why.
        reason: String,
    },
    /// Nobody answers there.
    #[error("{url} cannot be reached: {reason}")]
    Unreachable {
        /// Where.
        url: String,
        /// Why.
        reason: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// The key is missing, wrong, or not good for this (401, 403).
    #[error("{url} refuses the {}: {says}", if *key { "key" } else { "request, which has no key" })]
    Auth {
        /// Where.
        url: String,
        /// The HTTP status.
        status: u16,
        /// Whether a key was sent.
        key: bool,
        /// What the server says.
        says: String,
        /// How many requests were made.
        attempts: u32,
    },
    /// There is no such model, or nothing at this address (404).
    #[error("{url} does not know the model {:?} or has no such address: {says}", Shown(model).to_string())]
    NotFound {
        /// Where.
        url: String,
        /// Which model.
        model: String,
        /// What the server says.
        says: String,
        /// How many requests were made.
        attempts: u32,
    },
    /// The conversation is longer than the model's context window.
    #[error("the request is too long for the model {:?}: {says}", Shown(model).to_string())]
    TooLong {
        /// Which model.
        model: String,
        /// What the server says.
        says: String,
        /// How many requests were made.
        attempts: u32,
    },
    /// The server does not do what is asked.
    #[error("{url} refuses the request (HTTP {status}): {says}")]
    Refused {
        /// Where.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What the server says.
        says: String,
        /// How many requests were made.
        attempts: u32,
    },
    /// The server had too much to do, or failed, each time; or wants to be asked again much later.
    #[error("{url} is overloaded or out of order (HTTP {status}): {says}{}", Later(*wait))]
    Overloaded {
        /// Where.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What the server says.
        says: String,
        /// How long it wants to be left alone, if that is too long to wait for.
        wait: Option<Duration>,
        /// How many requests were made.
        attempts: u32,
    },
    /// The answer began, or was about to, and did not end.
    #[error("the answer of {url} broke off: {reason}")]
    Cut {
        /// Where.
        url: String,
        /// How.
        reason: String,
        /// How many requests were made.
        attempts: u32,
    },
    /// What came back is no answer.
    #[error("{url} sends what is no answer: {reason}")]
    Malformed {
        /// Where.
        url: String,
        /// What is wrong with it.
        reason: String,
        /// How many requests were made.
        attempts: u32,
    },
    /// More came back than anybody can use.
    #[error("{what} has more than {most} bytes")]
    TooLarge {
        /// Of what there is too much.
        what: &'static str,
        /// How many bytes it may have.
        most: usize,
        /// How many requests were made.
        attempts: u32,
    },
}

/// Whether a server speaks of how long an answer may be.
fn is_about_limit(says: &str) -> bool {
    const WORDS: [&str; 6] =
        ["max_tokens", "max_completion_tokens", "completion tokens", "output tokens", "the completion", "the output"];
    WORDS.iter().any(|word| says.contains(word))
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

impl ModelError {
    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            ModelError::Cancelled => "cancelled",
            ModelError::Endpoint(error) => error.code(),
            ModelError::Client { .. } => "no_client",
            ModelError::Unreachable { .. } => "unreachable",
            ModelError::Auth { .. } => "auth",
            ModelError::NotFound { .. } => "model_not_found",
            ModelError::TooLong { .. } => "too_long",
            ModelError::Refused { .. } => "refused",
            ModelError::Overloaded { .. } => "overloaded",
            ModelError::Cut { .. } => "cut",
            ModelError::Malformed { .. } => "malformed",
            ModelError::TooLarge { .. } => "too_large",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        let hint = match self {
            ModelError::Cancelled => "ask again",
            ModelError::Endpoint(error) => return error.hint(),
            ModelError::Client { .. } => "are the system's certificates installed?",
            ModelError::Unreachable { .. } => "does the server run, and is that its address, with http or https?",
            ModelError::Auth { key: false, .. } => {
                "set the key: OPENAI_API_KEY or ANTHROPIC_API_KEY, or where the model is configured"
            }
            ModelError::Auth { .. } => "is it the key for this server, and is it allowed to use this model?",
            ModelError::NotFound { .. } | ModelError::Refused { status: 405, .. } => {
                "is the model's name right, and is it there? Most base URLs end with /v1, as in http://localhost:8080/v1"
            }
            ModelError::TooLong { .. } => "begin a new conversation, or use a model with a larger context window",
            ModelError::Refused { status: 300..400, .. } => {
                "redirects are not followed: give the address that it leads to"
            }
            ModelError::Refused { status: 402 | 429, .. } => "look at plan and billing where the key comes from",
            ModelError::Refused { says, .. } if says.contains("support tools") => "use a model that can call tools",
            ModelError::Refused { says, .. } if is_about_limit(says) => {
                "ask for a shorter answer with --max-tokens, or do not say how long it may be"
            }
            ModelError::Refused { .. } => "the server's words say what it does not like",
            ModelError::Overloaded { wait: Some(_), .. } => "try again when it wants to be asked, or use another model",
            ModelError::Overloaded { .. } | ModelError::Cut { .. } => "try again later, or use another model",
            ModelError::Malformed { .. } => "is that the address of a model server, and of one that speaks this API?",
            ModelError::TooLarge { .. } => "the server is out of order, or is no model server",
        };
        hint.to_owned()
    }

    /// How many requests were made; 0 if none was, or if they were cancelled.
    pub fn attempts(&self) -> u32 {
        match self {
            ModelError::Cancelled | ModelError::Endpoint(_) | ModelError::Client { .. } => 0,
            ModelError::Unreachable { attempts, .. }
            | ModelError::Auth { attempts, .. }
            | ModelError::NotFound { attempts, .. }
            | ModelError::TooLong { attempts, .. }
            | ModelError::Refused { attempts, .. }
            | ModelError::Overloaded { attempts, .. }
            | ModelError::Cut { attempts, .. }
            | ModelError::Malformed { attempts, .. }
            | ModelError::TooLarge { attempts, .. } => *attempts,
        }
    }

    /// The same after so many requests.
    pub(super) fn after(mut self, made: u32) -> ModelError {
        match &mut self {
            ModelError::Cancelled | ModelError::Endpoint(_) | ModelError::Client { .. } => {}
            ModelError::Unreachable { attempts, .. }
            | ModelError::Auth { attempts, .. }
            | ModelError::NotFound { attempts, .. }
            | ModelError::TooLong { attempts, .. }
            | ModelError::Refused { attempts, .. }
            | ModelError::Overloaded { attempts, .. }
            | ModelError::Cut { attempts, .. }
            | ModelError::Malformed { attempts, .. }
            | ModelError::TooLarge { attempts, .. } => *attempts = made,
        }
        self
    }
}
