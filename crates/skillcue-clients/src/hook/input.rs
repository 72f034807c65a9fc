//! The input of a hook, as each client writes it.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{HookAdapter, HookError};

/// The number of bytes of a prompt that count: half from its beginning, half from its end. What is longer is pasted content
/// for the most part, and matching it would take longer than a hook may.
const MAX_PROMPT: usize = 64 << 10;
/// The number of bytes of a tool's arguments that are read.
const MAX_ARGUMENTS: usize = 256 << 10;

/// The input of a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct HookInput {
    /// The client's id of the conversation.
    pub session: Option<String>,
    /// The directory that the client works in.
    pub cwd: Option<PathBuf>,
    /// The name of the event, as the client writes it.
    pub event_name: String,
    /// The event.
    pub event: HookEvent,
}

/// The events that a hook answers.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEvent {
    /// The user has sent a message.
    Prompt(String),
    /// A tool was called.
    AfterTool {
        /// The tool's name.
        tool: String,
        /// Its arguments. Its result is not read: that is text of strangers, who must not choose the skills.
        arguments: Value,
        /// Whether its result says that it failed.
        has_failed: bool,
    },
    /// A session begins, or goes on.
    Start(StartSource),
    /// The context is about to be compacted, or was.
    Compaction,
    /// Another event, which has no answer.
    Other,
}

/// The reason for the start of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartSource {
    /// It is new, or goes on with the whole of its history.
    New,
    /// Its context was compacted.
    Compacted,
    /// Its context was emptied.
    Cleared,
}

impl HookInput {
    /// Reads the input of a client. `event` is the name of the event, if the caller knows it; else the input says it, or
    /// its fields do.
    ///
    /// ```
    /// use skillcue_clients::Client;
    /// use skillcue_clients::hook::{HookAdapter, HookEvent, HookInput};
    ///
    /// let adapter = HookAdapter::of(Client::Copilot).unwrap();
    /// let sent = br#"{"sessionId":"7","timestamp":1763414400000,"cwd":"/work","prompt":"open a.pdf"}"#;
    /// let input = HookInput::parse(adapter, sent, None)?;
    /// assert_eq!(input.event, HookEvent::Prompt("open a.pdf".to_owned()));
    /// # Ok::<(), skillcue_clients::hook::HookError>(())
    /// ```
    pub fn parse(adapter: &HookAdapter, sent: &[u8], event: Option<&str>) -> Result<HookInput, HookError> {
        let mut fields: Map<String, Value> = serde_json::from_slice(sent).map_err(HookError::Malformed)?;
        let named = ["hook_event_name", "hookEventName", "event"].into_iter().find_map(|name| text(&fields, name));
        let event_name = match event.map(str::to_owned).or(named) {
            Some(name) => name,
            None => adapter.event_of(&fields).ok_or(HookError::Missing("name of its event"))?.to_owned(),
        };
        let session = text(&fields, adapter.session).filter(|id| !id.is_empty());
        let cwd = text(&fields, "cwd").map(PathBuf::from).filter(|dir| dir.is_absolute());
        let [tool, arguments] = adapter.tool;
        let event = match &*event_name {
            name if name == adapter.prompt => match fields.remove("prompt") {
                Some(Value::String(prompt)) => HookEvent::Prompt(unquoted(shortened(prompt))),
                _ => return Err(HookError::Missing("prompt")),
            },
            name if name == adapter.after_tool => HookEvent::AfterTool {
                tool: text(&fields, tool).ok_or(HookError::Missing("name of a tool"))?,
                arguments: tool_arguments(fields.remove(arguments)),
                has_failed: ["tool_response", "toolResult"]
                    .iter()
                    .any(|name| fields.get(*name).is_some_and(is_failure)),
            },
            name if name == adapter.start => HookEvent::Start(match fields.get("source").and_then(Value::as_str) {
                Some("compact") => StartSource::Compacted,
                Some("clear") => StartSource::Cleared,
                _ => StartSource::New,
            }),
            name if adapter.compaction.contains(&name) => HookEvent::Compaction,
            _ => HookEvent::Other,
        };
        Ok(HookInput { session, cwd, event_name, event })
    }
}

impl HookAdapter {
    /// Returns the name of the event that has these fields. One client does not name its events.
    fn event_of(&self, fields: &Map<String, Value>) -> Option<&'static str> {
        let has = |name: &str| fields.contains_key(name);
        match () {
            () if has(self.tool[0]) => Some(self.after_tool),
            () if has("source") => Some(self.start),
            () if has("prompt") => Some(self.prompt),
            () if has("trigger") => self.compaction.first().copied(),
            () => None,
        }
    }
}

fn text(fields: &Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// Returns the arguments of a tool. One client writes them as text with JSON in it.
fn tool_arguments(value: Option<Value>) -> Value {
    match value {
        Some(Value::String(text)) if text.len() > MAX_ARGUMENTS => Value::Null,
        Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        value => value.unwrap_or_default(),
    }
}

/// Returns whether the result of a tool is a failure, by the marks that clients and servers use.
fn is_failure(result: &Value) -> bool {
    let Value::Object(fields) = result else {
        let text = result.as_str().filter(|text| text.starts_with('{') && text.len() <= MAX_ARGUMENTS);
        return text
            .and_then(|text| serde_json::from_str(text).ok())
            .is_some_and(|inner: Value| inner.is_object() && is_failure(&inner));
    };
    fields.iter().any(|(name, value)| match &**name {
        "isError" | "is_error" => *value != Value::Bool(false) && !value.is_null(),
        "error" => !matches!(value, Value::Null | Value::Bool(false)),
        "success" => *value == Value::Bool(false),
        "resultType" => value != "success",
        _ => false,
    })
}

/// Returns a message without the quotation marks around all of it, which opencode adds to one from the command line. What is
/// quoted counts as payload, which this is not.
fn unquoted(prompt: String) -> String {
    let inner = prompt.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner.filter(|inner| !inner.contains('"')) {
        Some(inner) => inner.to_owned(),
        None => prompt,
    }
}

/// Returns the part of a prompt that counts.
fn shortened(prompt: String) -> String {
    if prompt.len() <= MAX_PROMPT {
        return prompt;
    }
    let head = &prompt[..prompt.floor_char_boundary(MAX_PROMPT / 2)];
    let tail = &prompt[prompt.ceil_char_boundary(prompt.len() - MAX_PROMPT / 2)..];
    format!("{head}\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotation_marks_around_a_whole_message_go() {
        for (sent, read) in [("\"sum it up\"\n", "sum it up"), ("\"a\" or \"b\"", "\"a\" or \"b\""), ("\"", "\"")] {
            assert_eq!(unquoted(sent.to_owned()), read);
        }
    }
}
