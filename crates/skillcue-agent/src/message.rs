//! A conversation as it is kept: what was said, in the order in which models are told it.

use serde::{Deserialize, Serialize};

use crate::Part;

/// One message. A conversation begins with the user, and after an assistant's message with calls come their results.
///
/// ```
/// use skillcue_agent::Message;
///
/// let said = Message::user("What is 2+2?");
/// let json = serde_json::to_string(&said)?;
/// assert_eq!(json, r#"{"role":"user","text":"What is 2+2?"}"#);
/// assert_eq!(serde_json::from_str::<Message>(&json)?, said);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// What the user said, and what context providers put before it.
    User {
        /// What came with it, in the order in which it is sent; the model reads it before the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        context: Vec<Piece>,
        /// The user's words.
        text: String,
    },
    /// What the model said, and which tools it called.
    Assistant {
        /// Its words; may be empty if it called tools.
        text: String,
        /// What it called, in its order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// What the tools returned: one result for each call of the message before, in the same order.
    Tools {
        /// The results.
        results: Vec<ToolResult>,
    },
}

/// A text that a context provider added to a message. It stays where it is for as long as the message does, so that
/// what was sent once is sent again byte for byte, and the model's prompt cache holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Who added it.
    pub provider: String,
    /// As what it counts in the turn that it was added in. Later, it is history.
    pub part: Part,
    /// Exactly what is sent, with what separates it from what comes next.
    pub text: String,
}

/// A tool that the model called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What its result refers to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, as the model wrote them: mostly a JSON object.
    pub arguments: String,
}

/// What a tool returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that it belongs to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What the model reads, byte for byte what the tool returned.
    pub text: String,
    /// Whether it failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl Message {
    /// What a user said, with nothing beside it.
    pub fn user(text: impl Into<String>) -> Message {
        Message::User { context: Vec::new(), text: text.into() }
    }

    /// What a model said, without calling anything.
    pub fn assistant(text: impl Into<String>) -> Message {
        Message::Assistant { text: text.into(), calls: Vec::new() }
    }
}
