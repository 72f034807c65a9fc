//! Errors of a turn.

use skillcue_base::ErrorInfo;

use crate::model::ModelError;
use crate::sessions::SessionsError;

/// The reason why a turn has no answer. Whatever it is, the conversation can go on.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum AgentError {
    /// The model could not be asked, or gave no answer.
    #[error(transparent)]
    #[info(transparent)]
    Model(#[from] ModelError),
    /// The user interrupted it.
    #[error("the turn was interrupted")]
    #[info(code = "cancelled", hint = "the conversation is kept, and can go on")]
    Cancelled,
    /// The model went on calling tools.
    #[error("the model has called tools {0} times without answering")]
    #[info(code = "rounds", hint = "ask for less at once, or allow more rounds")]
    Rounds(u32),
    /// The turn does not fit into the model's window, even with everything left out that can be.
    #[error("the turn takes about {tokens} tokens, and the model's window has {window}")]
    #[info(code = "context_full", hint = "send a shorter message, or say how large the window really is")]
    Full {
        /// The tokens that are needed.
        tokens: u64,
        /// The tokens that there are.
        window: u64,
    },
    /// We have made a mistake.
    #[error("the conversation could not be held: something is wrong with this program")]
    #[info(code = "internal", hint = "please report it; others are not affected")]
    Internal,
    /// The conversation cannot be written down.
    #[error(transparent)]
    #[info(transparent)]
    Sessions(#[from] SessionsError),
}

impl AgentError {
    /// An interrupted request is an interrupted turn.
    pub(crate) fn of_model(error: ModelError) -> AgentError {
        match error {
            ModelError::Cancelled => AgentError::Cancelled,
            other => AgentError::Model(other),
        }
    }
}
