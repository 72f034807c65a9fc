//! A conversation as it is kept: its messages, in the order in which models read them.

use serde::{Deserialize, Serialize};

use crate::RequestPart;

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
    /// A message of the user, and the context that providers put before it.
    User {
        /// The context, in the order in which it is sent; the model reads it before the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        context: Vec<Piece>,
        /// The user's words.
        text: String,
    },
    /// A message of the model, and the tools that it called.
    Assistant {
        /// Its words; may be empty if it called tools.
        text: String,
        /// Its calls, in its order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// The results of tools: one result for each call of the message before, in the same order.
    Tools {
        /// The results.
        results: Vec<ToolResult>,
        /// The context that was added because of the calls, in the order in which it is sent; the model reads it after
        /// the results.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        context: Vec<Piece>,
    },
}

/// A text that a context provider added to a message. It stays where it is for as long as the message does, so that
/// what was sent once is sent again byte for byte, and the model's prompt cache holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Its origin.
    pub provider: PieceOrigin,
    /// The part that it counts as in the turn that it was added in. Later, it is history.
    pub part: RequestPart,
    /// The text exactly as it is sent, with the separator: behind it, or before it if it comes after results.
    pub text: String,
    /// The skills whose bodies are in the text; empty for pieces that were written before this was remembered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
}

/// The origin of a [`Piece`]. In a file it is one word.
///
/// ```
/// use skillcue_agent::PieceOrigin;
///
/// assert_eq!(PieceOrigin::from("skills".to_owned()), PieceOrigin::Skills);
/// // A provider cannot pass for one of these by its name.
/// assert_eq!(String::from(PieceOrigin::Provider("skills".to_owned())), "provider:skills");
/// assert_eq!(PieceOrigin::from("provider:skills".to_owned()), PieceOrigin::Provider("skills".to_owned()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum PieceOrigin {
    /// The disclosure of skills.
    Skills,
    /// The user, by loading a skill.
    User,
    /// The summary of earlier messages.
    Summary,
    /// A context provider of this name.
    Provider(String),
}

/// The prefix of a provider's name in a file, where the name alone would mean something else.
const PROVIDER: &str = "provider:";

impl PieceOrigin {
    /// Returns its name for people.
    pub fn name(&self) -> &str {
        match self {
            PieceOrigin::Skills => "skills",
            PieceOrigin::User => "user",
            PieceOrigin::Summary => "summary",
            PieceOrigin::Provider(name) => name,
        }
    }
}

impl From<String> for PieceOrigin {
    fn from(word: String) -> PieceOrigin {
        match word.as_str() {
            "skills" => PieceOrigin::Skills,
            "user" => PieceOrigin::User,
            "summary" => PieceOrigin::Summary,
            name => PieceOrigin::Provider(name.strip_prefix(PROVIDER).unwrap_or(name).to_owned()),
        }
    }
}

impl From<PieceOrigin> for String {
    fn from(origin: PieceOrigin) -> String {
        let is_plain = |name: &String| PieceOrigin::from(name.clone()) == PieceOrigin::Provider(name.clone());
        match origin {
            PieceOrigin::Provider(name) if is_plain(&name) => name,
            PieceOrigin::Provider(name) => format!("{PROVIDER}{name}"),
            own => own.name().to_owned(),
        }
    }
}

/// A tool that the model called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that its result refers to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, as the model wrote them: mostly a JSON object.
    pub arguments: String,
}

/// The result of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that it belongs to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The text for the model, byte for byte as the tool returned it.
    pub text: String,
    /// Whether it failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl Message {
    /// Makes a message of the user, without context.
    pub fn user(text: impl Into<String>) -> Message {
        Message::User { context: Vec::new(), text: text.into() }
    }

    /// Makes a message of results, without context.
    pub fn results(results: Vec<ToolResult>) -> Message {
        Message::Tools { results, context: Vec::new() }
    }

    /// Makes a message of the model, without calls.
    pub fn assistant(text: impl Into<String>) -> Message {
        Message::Assistant { text: text.into(), calls: Vec::new() }
    }
}
