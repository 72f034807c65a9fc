//! The tool `remember`: a fact that the model keeps for the user.
//!
//! A document or the result of a tool must not plant a memory, in whatever turn the model read it. So the model may only
//! keep words of the user: every word of the fact, but for function words and `user` and `name`, must be in one message
//! that the user wrote in this conversation, before anything pasted into it. A negation is no function word: the fact
//! cannot deny what the user said. What remains is that a fact may leave out words of the user's, or change their order.

use serde_json::{Map, Value, json};
use skillcue::tools::ToolDefinition;

use super::recall::{FUNCTION_WORDS, is_in, words};
use super::rules::own_lines;
use super::{MAX_CHARS, MemoryError};
use crate::Message;

pub(super) const REMEMBER: &str = "remember";

/// Words that a fact may have beside those of the user.
const FRAME: &str = "user users name i me my we our ich mein meine wir";

/// Returns the definition that models read.
pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: REMEMBER.into(),
        title: "Remember a fact".into(),
        description:
            "Remembers a lasting fact about the user for later conversations. Only if the user stated it: use \
                      the words of their message."
                .into(),
        input_schema: json!({
            "type": "object",
            "properties": {"text": {"type": "string", "description": "one sentence", "maxLength": MAX_CHARS}},
            "required": ["text"],
        }),
        read_only: false,
    }
}

/// Returns the fact that a call asks to keep, if the user stated it in one of these messages.
pub(super) fn fact(arguments: &Map<String, Value>, messages: &[Message]) -> Result<String, MemoryError> {
    let text = arguments.get("text").and_then(Value::as_str).unwrap_or_default().trim();
    let chars = text.chars().count();
    if chars == 0 || chars > MAX_CHARS {
        return Err(MemoryError::Length { chars });
    }
    if text.contains(['\n', '\r']) {
        return Err(MemoryError::Lines);
    }
    let is_content = |word: &String| !is_in(FUNCTION_WORDS, word) && !is_in(FRAME, word);
    let content: Vec<String> = words(text).filter(is_content).map(stem).collect();
    let mut unstated = content.first().cloned();
    for message in messages {
        let Message::User { text: message, .. } = message else { continue };
        let own: Vec<String> = own_lines(message).concat().into_iter().flat_map(words).map(stem).collect();
        unstated = content.iter().find(|word| !own.contains(word)).cloned();
        if unstated.is_none() && !content.is_empty() {
            return Ok(text.to_owned());
        }
    }
    Err(MemoryError::NotStated { word: unstated.unwrap_or_default() })
}

/// Returns a word without the `s` at its end: the user likes what they like.
fn stem(word: String) -> String {
    match word.strip_suffix('s') {
        Some(stem) if stem.chars().count() > 2 => stem.to_owned(),
        _ => word,
    }
}
