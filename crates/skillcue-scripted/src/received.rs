//! Requests that the server received.

use serde_json::Value;

/// The API that a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI's chat completions.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
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
        match self.api {
            Wire::OpenAi => {
                let system = self.messages().iter().filter(|message| message["role"] == "system");
                system.map(|message| plain(&message["content"])).collect::<Vec<_>>().join("\n\n")
            }
            Wire::Anthropic => blocks(&self.body["system"]).join("\n\n"),
        }
    }

    /// Returns the user's last message: context and words.
    pub fn last_user(&self) -> String {
        let users = self.messages().iter().rev().filter(|message| message["role"] == "user");
        users.map(|message| plain(&message["content"])).find(|text| !text.is_empty()).unwrap_or_default()
    }

    /// Returns the text of every message, with its role, in order. Results of tools are not among them.
    pub fn texts(&self) -> Vec<(String, String)> {
        let said = self.messages().iter().filter(|message| message["role"] == "user" || message["role"] == "assistant");
        let said = said.map(|message| (role(message), plain(&message["content"])));
        said.filter(|(_, text)| !text.is_empty()).collect()
    }

    /// Returns the names of the tools that are offered.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        let name = |tool: &Value| match self.api {
            Wire::OpenAi => tool["function"]["name"].as_str().unwrap_or_default().to_owned(),
            Wire::Anthropic => tool["name"].as_str().unwrap_or_default().to_owned(),
        };
        tools.iter().map(name).collect()
    }

    /// Returns all calls of the conversation so far, in order: id, tool, arguments.
    pub fn calls(&self) -> Vec<(String, String, Value)> {
        let mut calls = Vec::new();
        for message in self.messages().iter().filter(|message| message["role"] == "assistant") {
            match self.api {
                Wire::OpenAi => {
                    for call in message["tool_calls"].as_array().into_iter().flatten() {
                        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                        let arguments = serde_json::from_str(arguments).unwrap_or(Value::Null);
                        calls.push((text(&call["id"]), text(&call["function"]["name"]), arguments));
                    }
                }
                Wire::Anthropic => {
                    for block in message["content"].as_array().into_iter().flatten() {
                        if block["type"] == "tool_use" {
                            calls.push((text(&block["id"]), text(&block["name"]), block["input"].clone()));
                        }
                    }
                }
            }
        }
        calls
    }

    /// Returns all results of tools in the conversation so far, in order: the call's id, and the text of the result.
    pub fn tool_results(&self) -> Vec<(String, String)> {
        let mut results = Vec::new();
        for message in self.messages() {
            match self.api {
                Wire::OpenAi if message["role"] == "tool" => {
                    results.push((text(&message["tool_call_id"]), plain(&message["content"])));
                }
                Wire::OpenAi => {}
                Wire::Anthropic => {
                    for block in message["content"].as_array().into_iter().flatten() {
                        if block["type"] == "tool_result" {
                            results.push((text(&block["tool_use_id"]), plain(&block["content"])));
                        }
                    }
                }
            }
        }
        results
    }

    /// Returns the results that came with the last message, which answer the last calls; none if that is the user's.
    pub fn new_results(&self) -> Vec<(String, String)> {
        let after_calls = self.messages().iter().rposition(|message| message["role"] == "assistant");
        let known = after_calls.map_or(0, |last| {
            let before = Received { body: serde_json::json!({ "messages": self.messages()[..last] }), ..self.clone() };
            before.tool_results().len()
        });
        self.tool_results().split_off(known)
    }

    /// Returns whether the client asks for a stream.
    pub fn streams(&self) -> bool {
        self.body["stream"] == true
    }

    fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }
}

fn role(message: &Value) -> String {
    text(&message["role"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the text of a content: a string, or blocks of text.
fn plain(content: &Value) -> String {
    content.as_str().map_or_else(|| blocks(content).concat(), str::to_owned)
}

fn blocks(content: &Value) -> Vec<String> {
    if let Some(text) = content.as_str() {
        return vec![text.to_owned()];
    }
    let texts = content.as_array().into_iter().flatten().filter(|block| block["type"] == "text");
    texts.map(|block| text(&block["text"])).collect()
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
    fn both_formats_read_alike() {
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
        for received in [openai, anthropic] {
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
