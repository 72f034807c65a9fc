//! Why a turn has no answer.

use crate::model::ModelError;
use crate::sessions::SessionsError;

/// Why a turn has no answer. Whatever it is, the conversation can go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The model could not be asked, or gave no answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Somebody interrupted it.
    #[error("the turn was interrupted")]
    Cancelled,
    /// The model went on calling tools.
    #[error("the model has called tools {0} times without answering")]
    Rounds(u32),
    /// The turn does not fit into the model's window, even with everything left out that can be.
    #[error("the turn takes about {tokens} tokens, and the model's window has {window}")]
    Full {
        /// What is needed.
        tokens: u64,
        /// What there is.
        window: u64,
    },
    /// We have made a mistake.
    #[error("the conversation could not be held: something is wrong with this program")]
    Internal,
    /// The conversation cannot be written down.
    #[error(transparent)]
    Sessions(#[from] SessionsError),
}

impl AgentError {
    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            AgentError::Model(error) => error.code(),
            AgentError::Cancelled => "cancelled",
            AgentError::Rounds(_) => "rounds",
            AgentError::Full { .. } => "context_full",
            AgentError::Internal => "internal",
            AgentError::Sessions(error) => error.code(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            AgentError::Model(error) => error.hint(),
            AgentError::Cancelled => "the conversation is kept, and can go on".to_owned(),
            AgentError::Rounds(_) => "ask for less at once, or allow more rounds".to_owned(),
            AgentError::Full { .. } => "send a shorter message, or say how large the window really is".to_owned(),
            AgentError::Internal => "please report it; others are not affected".to_owned(),
            AgentError::Sessions(error) => error.hint(),
        }
    }

    /// An interrupted request is an interrupted turn.
    pub(crate) fn of_model(error: ModelError) -> AgentError {
        match error {
            ModelError::Cancelled => AgentError::Cancelled,
            other => AgentError::Model(other),
        }
    }
}
