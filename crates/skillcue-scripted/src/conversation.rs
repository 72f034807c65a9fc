//! The conversation of a request, in one form for all wire formats.

use serde_json::Value;

use crate::Wire;

/// A part of a message, in the order of the request.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationPart {
    /// The message's number, counted from 0. In OpenAI's responses, each item is a message.
    pub message: usize,
    /// The message's role, in the word of the API: `user`, `assistant`, `model`, `developer`, `tool` and others.
    pub role: String,
    /// The part itself.
    pub content: ConversationContent,
}

/// The content of a part.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ConversationContent {
    /// A block of text.
    Text(String),
    /// A call of a tool.
    Call {
        /// The call's id; its tool's name in a format without ids.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments; null if they are no JSON.
        arguments: Value,
    },
    /// The result of a call.
    ToolResult {
        /// The call's id; its tool's name in a format without ids.
        id: String,
        /// The result's text.
        text: String,
    },
}

impl ConversationPart {
    /// Returns the text, if the part is a block of text.
    ///
    /// ```
    /// use skillcue_scripted::{ConversationContent, ConversationPart};
    ///
    /// let content = ConversationContent::Text("Hello".to_owned());
    /// let part = ConversationPart { message: 0, role: "user".to_owned(), content };
    /// assert_eq!(part.text(), Some("Hello"));
    /// ```
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            ConversationContent::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Returns the parts of all messages. The instructions beside the messages are not among them.
pub(crate) fn parts(api: Wire, body: &Value) -> Vec<ConversationPart> {
    let messages = match api {
        Wire::OpenAi | Wire::Anthropic => &body["messages"],
        Wire::Responses => &body["input"],
        Wire::Gemini => &body["contents"],
    };
    if let Some(only) = messages.as_str() {
        let content = ConversationContent::Text(only.to_owned());
        return vec![ConversationPart { message: 0, role: "user".to_owned(), content }];
    }
    let mut parts = Vec::new();
    for (number, message) in messages.as_array().into_iter().flatten().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        let contents = match api {
            Wire::OpenAi => of_chat(message),
            Wire::Anthropic => blocks(&message["content"]).iter().filter_map(of_block).collect(),
            Wire::Responses => of_item(message),
            Wire::Gemini => message["parts"].as_array().into_iter().flatten().filter_map(of_gemini).collect(),
        };
        let of = |content| ConversationPart { message: number, role: role.to_owned(), content };
        parts.extend(contents.into_iter().map(of));
    }
    parts
}

fn of_chat(message: &Value) -> Vec<ConversationContent> {
    if message["role"] == "tool" {
        let (id, text) = (string(&message["tool_call_id"]), plain(&message["content"]));
        return vec![ConversationContent::ToolResult { id, text }];
    }
    let mut contents: Vec<_> = texts(&message["content"]).into_iter().map(ConversationContent::Text).collect();
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let arguments = parsed(&call["function"]["arguments"]);
        let (id, name) = (string(&call["id"]), string(&call["function"]["name"]));
        contents.push(ConversationContent::Call { id, name, arguments });
    }
    contents
}

fn of_block(block: &Value) -> Option<ConversationContent> {
    match block["type"].as_str()? {
        "text" => Some(ConversationContent::Text(string(&block["text"]))),
        "tool_use" => {
            let (id, name) = (string(&block["id"]), string(&block["name"]));
            Some(ConversationContent::Call { id, name, arguments: block["input"].clone() })
        }
        "tool_result" => {
            let (id, text) = (string(&block["tool_use_id"]), plain(&block["content"]));
            Some(ConversationContent::ToolResult { id, text })
        }
        _ => None,
    }
}

fn of_item(item: &Value) -> Vec<ConversationContent> {
    match item["type"].as_str().unwrap_or("message") {
        "message" => texts(&item["content"]).into_iter().map(ConversationContent::Text).collect(),
        "function_call" => {
            let name = match item["namespace"].as_str() {
                Some(namespace) => format!("{namespace}/{}", string(&item["name"])),
                None => string(&item["name"]),
            };
            let (id, arguments) = (string(&item["call_id"]), parsed(&item["arguments"]));
            vec![ConversationContent::Call { id, name, arguments }]
        }
        "function_call_output" => {
            let (id, text) = (string(&item["call_id"]), plain(&item["output"]));
            vec![ConversationContent::ToolResult { id, text }]
        }
        _ => Vec::new(),
    }
}

fn of_gemini(part: &Value) -> Option<ConversationContent> {
    if let Some(text) = part["text"].as_str() {
        return (part["thought"] != true).then(|| ConversationContent::Text(text.to_owned()));
    }
    let id = |of: &Value| of["id"].as_str().or_else(|| of["name"].as_str()).unwrap_or_default().to_owned();
    if let Some(call) = part.get("functionCall") {
        let name = string(&call["name"]);
        return Some(ConversationContent::Call { id: id(call), name, arguments: call["args"].clone() });
    }
    let result = part.get("functionResponse")?;
    let output = &result["response"]["output"];
    let text = output.as_str().map_or_else(|| result["response"].to_string(), str::to_owned);
    Some(ConversationContent::ToolResult { id: id(result), text })
}

/// Returns a content as blocks.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

/// Returns the texts of a content: a string, or blocks of text.
pub(crate) fn texts(content: &Value) -> Vec<String> {
    let is_text = |block: &&Value| matches!(block["type"].as_str(), Some("text" | "input_text" | "output_text"));
    blocks(content).iter().filter(is_text).map(|block| string(&block["text"])).collect()
}

/// Returns the texts of a content as one.
pub(crate) fn plain(content: &Value) -> String {
    texts(content).concat()
}

fn parsed(arguments: &Value) -> Value {
    serde_json::from_str(arguments.as_str().unwrap_or_default()).unwrap_or(Value::Null)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
