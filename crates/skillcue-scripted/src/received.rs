//! Requests that the server received.

use serde_json::Value;

use crate::conversation::{self, ConversationContent, ConversationPart, plain, texts};
use crate::gemini::{self, GeminiMethod};

/// The API that a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI's chat completions.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's responses.
    Responses,
    /// Gemini's generation of content.
    Gemini,
}

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Received {
    /// The API that it is for.
    pub api: Wire,
    /// The method: `POST`, mostly.
    pub method: String,
    /// The path, with its query.
    pub path: String,
    /// The headers, with names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub raw: Vec<u8>,
    /// The body as JSON; null if it is none.
    pub body: Value,
    /// The request's number on this server, counted from 1, refused ones included.
    pub number: usize,
}

impl Received {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let name = name.to_ascii_lowercase();
        self.headers.iter().find(|(of, _)| *of == name).map(|(_, value)| value.as_str())
    }

    /// Returns the instructions, with a blank line between them.
    pub fn system(&self) -> String {
        let instructions = match self.api {
            Wire::OpenAi => {
                let system = self.messages().iter().filter(|message| message["role"] == "system");
                system.map(|message| plain(&message["content"])).collect()
            }
            Wire::Anthropic => texts(&self.body["system"]),
            Wire::Responses => texts(&self.body["instructions"]),
            Wire::Gemini => {
                let parts = self.body["systemInstruction"]["parts"].as_array().into_iter().flatten();
                parts.filter_map(|part| part["text"].as_str().map(str::to_owned)).collect()
            }
        };
        instructions.join("\n\n")
    }

    /// Returns the parts of all messages, in order. The instructions beside the messages are not among them.
    pub fn parts(&self) -> Vec<ConversationPart> {
        conversation::parts(self.api, &self.body)
    }

    /// Returns the user's last message: context and words.
    pub fn last_user(&self) -> String {
        let said = self.texts();
        said.into_iter().rev().find(|(role, _)| role == "user").map(|(_, text)| text).unwrap_or_default()
    }

    /// Returns the text of every message, with its role, in order. Results of tools are not among them.
    pub fn texts(&self) -> Vec<(String, String)> {
        let mut said: Vec<(usize, String, String)> = Vec::new();
        for part in self.parts() {
            let role = if part.role == "model" { "assistant" } else { part.role.as_str() };
            match (part.text(), said.last_mut()) {
                (Some("") | None, _) => {}
                (Some(text), Some((message, _, whole))) if *message == part.message => whole.push_str(text),
                (Some(text), _) if ["user", "assistant"].contains(&role) => {
                    said.push((part.message, role.to_owned(), text.to_owned()));
                }
                _ => {}
            }
        }
        said.into_iter().map(|(_, role, text)| (role, text)).collect()
    }

    /// Returns the names of the tools that are offered. A tool of a namespace is `NAMESPACE/TOOL`.
    pub fn tools(&self) -> Vec<String> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let names = |tools: Vec<Value>| tools.iter().map(|tool| text(&tool["name"])).collect::<Vec<_>>();
        let tools = list(&self.body["tools"]);
        match self.api {
            Wire::OpenAi => tools.iter().map(|tool| text(&tool["function"]["name"])).collect(),
            Wire::Anthropic => names(tools),
            Wire::Responses => {
                let name = |tool: &Value| match tool["type"].as_str() {
                    Some("namespace") => {
                        let namespace = text(&tool["name"]);
                        names(list(&tool["tools"])).iter().map(|name| format!("{namespace}/{name}")).collect()
                    }
                    Some("function" | "custom") => vec![text(&tool["name"])],
                    _ => vec![text(&tool["type"])],
                };
                tools.iter().flat_map(name).collect()
            }
            Wire::Gemini => tools.iter().flat_map(|tool| names(list(&tool["functionDeclarations"]))).collect(),
        }
    }

    /// Returns all calls of the conversation so far, in order: id, tool, arguments.
    pub fn calls(&self) -> Vec<(String, String, Value)> {
        let calls = self.parts().into_iter().filter_map(|part| match part.content {
            ConversationContent::Call { id, name, arguments } => Some((id, name, arguments)),
            _ => None,
        });
        calls.collect()
    }

    /// Returns all results of tools in the conversation so far, in order: the call's id, and the text of the result.
    pub fn tool_results(&self) -> Vec<(String, String)> {
        results(self.parts())
    }

    /// Returns the results that came after the model's last message, which answer the last calls; none if that is the
    /// user's.
    pub fn new_results(&self) -> Vec<(String, String)> {
        let parts = self.parts();
        let is_models = |part: &ConversationPart| {
            matches!(part.content, ConversationContent::Call { .. }) || part.role == "assistant" || part.role == "model"
        };
        let last = parts.iter().rposition(is_models).map_or(0, |last| last + 1);
        results(parts.into_iter().skip(last))
    }

    /// Returns whether the client asks for a stream.
    pub fn streams(&self) -> bool {
        match self.api {
            Wire::Gemini => gemini::target(&self.path).is_some_and(|(_, method)| method == GeminiMethod::Stream),
            _ => self.body["stream"] == true,
        }
    }

    /// Returns the model that is asked.
    pub fn model(&self) -> &str {
        let asked = match self.api {
            Wire::Gemini => gemini::target(&self.path).map(|(model, _)| model),
            _ => self.body["model"].as_str(),
        };
        asked.unwrap_or("scripted")
    }

    fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }
}

fn results(parts: impl IntoIterator<Item = ConversationPart>) -> Vec<(String, String)> {
    let results = parts.into_iter().filter_map(|part| match part.content {
        ConversationContent::ToolResult { id, text } => Some((id, text)),
        _ => None,
    });
    results.collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn received(api: Wire, body: Value) -> Received {
        let (method, path) = ("POST".to_owned(), "/".to_owned());
        Received { api, method, path, headers: Vec::new(), raw: Vec::new(), body, number: 1 }
    }

    #[test]
    fn all_formats_read_alike() {
        let openai = received(
            Wire::OpenAi,
            json!({
                "tools": [{"type": "function", "function": {"name": "add"}}],
                "messages": [
                    {"role": "system", "content": "s"}, {"role": "user", "content": "one"},
                    {"role": "assistant", "content": "", "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "add", "arguments": "{\"x\":1}"}}]},
                    {"role": "tool", "tool_call_id": "a", "content": "2"},
                    {"role": "assistant", "content": "two", "tool_calls": [
                        {"id": "b", "type": "function", "function": {"name": "add", "arguments": "{}"}}]},
                    {"role": "tool", "tool_call_id": "b", "content": "3"},
                ],
            }),
        );
        let anthropic = received(
            Wire::Anthropic,
            json!({
                "system": [{"type": "text", "text": "s"}],
                "tools": [{"name": "add"}],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "one"}]},
                    {"role": "assistant", "content": [
                        {"type": "tool_use", "id": "a", "name": "add", "input": {"x": 1}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "2"}]},
                    {"role": "assistant", "content": [{"type": "text", "text": "two"},
                        {"type": "tool_use", "id": "b", "name": "add", "input": {}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b",
                        "content": [{"type": "text", "text": "3"}]}]},
                ],
            }),
        );
        let responses = received(
            Wire::Responses,
            json!({
                "instructions": "s",
                "tools": [{"type": "function", "name": "add"}],
                "input": [
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]},
                    {"type": "function_call", "call_id": "a", "name": "add", "arguments": "{\"x\":1}"},
                    {"type": "function_call_output", "call_id": "a", "output": "2"},
                    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "two"}]},
                    {"type": "function_call", "call_id": "b", "name": "add", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "b",
                        "output": [{"type": "input_text", "text": "3"}]},
                ],
            }),
        );
        let gemini = received(
            Wire::Gemini,
            json!({
                "systemInstruction": {"parts": [{"text": "s"}]},
                "tools": [{"functionDeclarations": [{"name": "add"}]}],
                "contents": [
                    {"role": "user", "parts": [{"text": "one"}]},
                    {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "add", "args": {"x": 1}}}]},
                    {"role": "user", "parts": [
                        {"functionResponse": {"id": "a", "name": "add", "response": {"output": "2"}}}]},
                    {"role": "model", "parts": [{"text": "two"},
                        {"functionCall": {"id": "b", "name": "add", "args": {}}}]},
                    {"role": "user", "parts": [
                        {"functionResponse": {"id": "b", "name": "add", "response": {"output": "3"}}}]},
                ],
            }),
        );
        for received in [openai, anthropic, responses, gemini] {
            assert_eq!(received.system(), "s");
            assert_eq!(received.last_user(), "one");
            assert_eq!(received.tools(), ["add"]);
            let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
            assert_eq!(received.texts(), [pair("user", "one"), pair("assistant", "two")]);
            assert_eq!(received.tool_results(), [pair("a", "2"), pair("b", "3")]);
            assert_eq!(received.new_results(), [pair("b", "3")]);
            assert_eq!(received.calls()[0], ("a".to_owned(), "add".to_owned(), json!({"x": 1})));
        }
    }
}
