//! The tool `remember`: a sentence of the user that the model keeps for later conversations.
//!
//! A document or the result of a tool must not plant a memory, in whatever turn the model read it. So the model only
//! chooses: a fact is a whole sentence that the user wrote in the message of this turn, before anything pasted into it, and
//! no question. What the model sends is compared with it word for word, in order; only the person may differ (`I like
//! tea`, `The user likes tea`). What is kept is the user's sentence, not the model's.

use serde_json::{Map, Value, json};
use skillcue::tools::ToolDefinition;
use skillcue_base::visible_line;

use super::rules::{sentence_words, stated_sentences};
use super::{MAX_CHARS, MemoryError};
use crate::Message;

pub(super) const REMEMBER: &str = "remember";

/// Words for the user, and words that follow from their person: none of them tells two sentences apart.
const PERSON: &str =
    "user users user's i me my we our us ich mein meine mich mir wir unser unsere the a an that am is are";

/// Returns the definition that models read.
pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: REMEMBER.into(),
        title: "Remember a fact".into(),
        description:
            "Remembers a lasting fact for later conversations: one whole sentence of the user's message, word for word."
                .into(),
        input_schema: json!({
            "type": "object",
            "properties": {"text": {"type": "string", "description": "one sentence", "maxLength": MAX_CHARS}},
            "required": ["text"],
        }),
        read_only: false,
    }
}

/// Returns the sentence that a call asks to keep, if the user wrote it in the last of their messages.
pub(super) fn fact(arguments: &Map<String, Value>, messages: &[Message]) -> Result<String, MemoryError> {
    let text = arguments.get("text").and_then(Value::as_str).unwrap_or_default().trim();
    let chars = text.chars().count();
    if chars == 0 || chars > MAX_CHARS {
        return Err(MemoryError::Length { chars });
    }
    if text.contains(['\n', '\r']) {
        return Err(MemoryError::Lines);
    }
    let last = messages.iter().rev().find_map(|message| match message {
        Message::User { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let asked = compared(text);
    let sentences = stated_sentences(last.unwrap_or_default()).into_iter();
    let mut stated = sentences.filter(|sentence| !asked.is_empty() && compared(sentence) == asked);
    stated.next().map(|sentence| visible_line(sentence).into_owned()).ok_or(MemoryError::NotStated)
}

/// Returns the words by which a fact and a sentence are compared: in order, without those for the user's person, and
/// without the `s` at the end of a word.
fn compared(text: &str) -> Vec<String> {
    let text = visible_line(text);
    let words = sentence_words(&text).into_iter().filter(|word| !PERSON.split(' ').any(|other| other == word));
    words.map(stem).collect()
}

/// Returns a word without the `s` at its end: the user likes what they like.
fn stem(word: String) -> String {
    match word.strip_suffix('s') {
        Some(stem) if stem.chars().count() > 2 => stem.to_owned(),
        _ => word,
    }
}
