//! Checks that the real servers would take a request.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

mod clients;

pub(crate) use clients::foreign;

/// The result of a check: nothing, or what is wrong.
pub(crate) type CheckResult = Result<(), String>;

fn only(object: &Map<String, Value>, known: &[&str], at: &str) -> CheckResult {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("{at}{key}: Extra inputs are not permitted")),
        None => Ok(()),
    }
}

fn object<'v>(value: &'v Value, at: &str) -> Result<&'v Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{at}: Input should be an object"))
}

fn array<'v>(value: &'v Value, at: &str) -> Result<&'v [Value], String> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| format!("{at}: Input should be an array"))
}

fn string<'v>(value: &'v Value, at: &str) -> Result<&'v str, String> {
    value.as_str().ok_or_else(|| format!("{at}: Input should be a string"))
}

fn name(value: &Value, most: usize, at: &str) -> CheckResult {
    let name = string(value, at)?;
    let fits = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if fits && (1..=most).contains(&name.len()) {
        Ok(())
    } else {
        Err(format!("{at}: {name:?} does not match '^[a-zA-Z0-9_-]{{1,{most}}}$'"))
    }
}

fn model(body: &Map<String, Value>) -> CheckResult {
    match body.get("model").and_then(Value::as_str) {
        Some("") | None => Err("model: Field required".to_owned()),
        Some(_) => Ok(()),
    }
}

/// Checks a tool's schema, and that no two tools have one name.
fn schema(tool: &Value, at: &str) -> CheckResult {
    let schema = object(tool, at)?;
    if schema.get("type") == Some(&Value::from("object")) {
        Ok(())
    } else {
        Err(format!("{at}: schema must be a JSON Schema of 'type: \"object\"'"))
    }
}

fn positive(value: Option<&Value>, at: &str) -> CheckResult {
    match value {
        Some(number) if number.as_u64().is_none_or(|number| number == 0) => {
            Err(format!("{at}: Input should be greater than or equal to 1"))
        }
        _ => Ok(()),
    }
}

pub(crate) fn openai(body: &Value) -> CheckResult {
    let body = object(body, "body")?;
    let known = [
        "model",
        "messages",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "stream",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
    ];
    only(body, &known, "")?;
    model(body)?;
    positive(body.get("max_tokens"), "max_tokens")?;
    positive(body.get("max_completion_tokens"), "max_completion_tokens")?;
    if body.contains_key("stream_options") && body.get("stream") != Some(&Value::Bool(true)) {
        return Err("The 'stream_options' parameter is only allowed when 'stream' is enabled.".to_owned());
    }
    if let Some(tools) = body.get("tools") {
        let tools = array(tools, "tools")?;
        if tools.is_empty() {
            return Err("Invalid 'tools': empty array. Expected an array with minimum length 1.".to_owned());
        }
        let mut names = BTreeSet::new();
        for (index, tool) in tools.iter().enumerate() {
            let at = format!("tools[{index}]");
            only(object(tool, &at)?, &["type", "function"], &format!("{at}."))?;
            if tool["type"] != "function" {
                return Err(format!("{at}.type: Supported values are: 'function'."));
            }
            let function = object(&tool["function"], &format!("{at}.function"))?;
            only(function, &["name", "description", "parameters", "strict"], &format!("{at}.function."))?;
            name(&tool["function"]["name"], 64, &format!("{at}.function.name"))?;
            schema(&tool["function"]["parameters"], &format!("{at}.function.parameters"))?;
            if !names.insert(tool["function"]["name"].to_string()) {
                return Err(format!("{at}.function.name: Tool names must be unique."));
            }
        }
    }
    let messages = array(body.get("messages").unwrap_or(&Value::Null), "messages")?;
    if messages.is_empty() {
        return Err("Invalid 'messages': empty array. Expected an array with minimum length 1.".to_owned());
    }
    openai_messages(messages)
}

fn openai_messages(messages: &[Value]) -> CheckResult {
    let mut awaited: Vec<&str> = Vec::new();
    let mut said: Option<&str> = None;
    for (index, message) in messages.iter().enumerate() {
        let at = format!("messages[{index}]");
        let fields = object(message, &at)?;
        let role = string(&message["role"], &format!("{at}.role"))?;
        if role != "tool" && !awaited.is_empty() {
            return Err(format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
                 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
                awaited.join(", ")
            ));
        }
        match role {
            "system" => {
                only(fields, &["role", "content"], &format!("{at}."))?;
                string(&message["content"], &format!("{at}.content"))?;
                if index != 0 {
                    // OpenAI would take it; many templates of local models do not.
                    return Err(format!("{at}: System message must be at the beginning."));
                }
                continue;
            }
            "user" => {
                only(fields, &["role", "content"], &format!("{at}."))?;
                string(&message["content"], &format!("{at}.content"))?;
                if said == Some("user") {
                    return Err(format!("{at}: Conversation roles must alternate user/assistant/user/assistant/..."));
                }
            }
            "assistant" => {
                only(fields, &["role", "content", "tool_calls"], &format!("{at}."))?;
                if said.is_none() || said == Some("assistant") {
                    return Err(format!("{at}: Conversation roles must alternate user/assistant/user/assistant/..."));
                }
                let calls = openai_calls(message, &at)?;
                if message["content"].as_str().is_none_or(str::is_empty) && calls.is_empty() {
                    return Err(format!("{at}: Assistant message must have either content or tool_calls."));
                }
                awaited = calls;
            }
            "tool" => {
                only(fields, &["role", "content", "tool_call_id"], &format!("{at}."))?;
                string(&message["content"], &format!("{at}.content"))?;
                let id = string(&message["tool_call_id"], &format!("{at}.tool_call_id"))?;
                let Some(place) = awaited.iter().position(|of| *of == id) else {
                    return Err(format!(
                        "{at}: messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                    ));
                };
                awaited.remove(place);
            }
            other => return Err(format!("{at}.role: {other:?} is not one of 'system', 'user', 'assistant', 'tool'.")),
        }
        said = Some(role);
    }
    match said {
        _ if !awaited.is_empty() => Err(format!("tool_call_ids without response messages: {}", awaited.join(", "))),
        Some("user" | "tool") => Ok(()),
        _ => Err("The last message must be the user's or a tool's.".to_owned()),
    }
}

fn openai_calls<'v>(message: &'v Value, at: &str) -> Result<Vec<&'v str>, String> {
    let Some(calls) = message.get("tool_calls") else {
        if !message["content"].is_string() {
            return Err(format!("{at}.content: Expected a string."));
        }
        return Ok(Vec::new());
    };
    let calls = array(calls, &format!("{at}.tool_calls"))?;
    if calls.is_empty() {
        return Err(format!("Invalid '{at}.tool_calls': empty array."));
    }
    let mut ids = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let at = format!("{at}.tool_calls[{index}]");
        only(object(call, &at)?, &["id", "type", "function"], &format!("{at}."))?;
        if call["type"] != "function" {
            return Err(format!("{at}.type: Supported values are: 'function'."));
        }
        only(object(&call["function"], &at)?, &["name", "arguments"], &format!("{at}.function."))?;
        name(&call["function"]["name"], 64, &format!("{at}.function.name"))?;
        let arguments = string(&call["function"]["arguments"], &format!("{at}.function.arguments"))?;
        // OpenAI would take any text; vLLM and llama.cpp read it.
        if !serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments.is_object()) {
            return Err(format!("{at}.function.arguments: Failed to parse tool call arguments as JSON"));
        }
        let id = string(&call["id"], &format!("{at}.id"))?;
        if id.len() > 40 {
            return Err(format!("Invalid '{at}.id': string too long. Expected a string with maximum length 40."));
        }
        if id.is_empty() || ids.contains(&id) {
            return Err(format!("{at}.id: Duplicate or empty id."));
        }
        ids.push(id);
    }
    Ok(ids)
}

pub(crate) fn anthropic(body: &Value) -> CheckResult {
    let body = object(body, "body")?;
    let known = ["model", "messages", "system", "tools", "tool_choice", "stream", "max_tokens", "temperature"];
    only(body, &known, "")?;
    model(body)?;
    if !body.contains_key("max_tokens") {
        return Err("max_tokens: Field required".to_owned());
    }
    positive(body.get("max_tokens"), "max_tokens")?;
    let mut marks = 0;
    if let Some(system) = body.get("system")
        && !system.is_string()
    {
        for (index, block) in array(system, "system")?.iter().enumerate() {
            text_block(block, &format!("system.{index}"), &mut marks)?;
        }
    }
    let mut names = BTreeSet::new();
    for (index, tool) in body.get("tools").map_or(Ok(&[][..]), |tools| array(tools, "tools"))?.iter().enumerate() {
        let at = format!("tools.{index}.custom");
        only(object(tool, &at)?, &["name", "description", "input_schema", "cache_control"], &format!("{at}."))?;
        name(&tool["name"], 128, &format!("{at}.name"))?;
        schema(&tool["input_schema"], &format!("{at}.input_schema"))?;
        mark(tool, &at, &mut marks)?;
        if !names.insert(tool["name"].to_string()) {
            return Err("tools: Tool names must be unique.".to_owned());
        }
    }
    let messages = array(body.get("messages").unwrap_or(&Value::Null), "messages")?;
    if messages.is_empty() {
        return Err("messages: at least one message is required".to_owned());
    }
    anthropic_messages(messages, &mut marks)?;
    if marks > 4 {
        return Err(format!("A maximum of 4 blocks with cache_control may be provided. Found {marks}."));
    }
    Ok(())
}

fn text_block(block: &Value, at: &str, marks: &mut usize) -> CheckResult {
    only(object(block, at)?, &["type", "text", "cache_control"], &format!("{at}."))?;
    if block["type"] != "text" {
        return Err(format!("{at}.type: Input should be 'text'"));
    }
    if string(&block["text"], &format!("{at}.text"))?.trim().is_empty() {
        return Err(format!("{at}: text content blocks must contain non-whitespace text"));
    }
    mark(block, at, marks)
}

fn mark(block: &Value, at: &str, marks: &mut usize) -> CheckResult {
    match block.get("cache_control") {
        None => return Ok(()),
        Some(mark) if mark["type"] == "ephemeral" => *marks += 1,
        Some(_) => return Err(format!("{at}.cache_control.type: Input should be 'ephemeral'")),
    }
    Ok(())
}

fn anthropic_messages(messages: &[Value], marks: &mut usize) -> CheckResult {
    let mut awaited: BTreeSet<&str> = BTreeSet::new();
    let mut used: BTreeSet<String> = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let at = format!("messages.{index}");
        only(object(message, &at)?, &["role", "content"], &format!("{at}."))?;
        let role = string(&message["role"], &format!("{at}.role"))?;
        if role != ["user", "assistant"][index % 2] {
            return Err(format!("{at}: roles must alternate between \"user\" and \"assistant\""));
        }
        let text;
        let blocks = if let Some(plain) = message["content"].as_str() {
            text = vec![serde_json::json!({"type": "text", "text": plain})];
            &text
        } else {
            array(&message["content"], &format!("{at}.content"))?
        };
        if blocks.is_empty() {
            return Err(format!("{at}: all messages must have non-empty content"));
        }
        let results = blocks.iter().take_while(|block| block["type"] == "tool_result").count();
        let mut answered: BTreeSet<String> = BTreeSet::new();
        for (number, block) in blocks.iter().enumerate() {
            let at = format!("{at}.content.{number}");
            match (string(&block["type"], &format!("{at}.type"))?, role) {
                ("text", _) => text_block(block, &at, marks)?,
                ("tool_result", "user") if number < results => {
                    let known = ["type", "tool_use_id", "content", "is_error", "cache_control"];
                    only(object(block, &at)?, &known, &format!("{at}."))?;
                    mark(block, &at, marks)?;
                    let id = string(&block["tool_use_id"], &format!("{at}.tool_use_id"))?;
                    if !awaited.contains(id) || !answered.insert(id.to_owned()) {
                        return Err(format!("{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}"));
                    }
                    match block.get("content") {
                        None | Some(Value::String(_)) => {}
                        Some(inner) => {
                            for block in array(inner, &format!("{at}.content"))? {
                                text_block(block, &at, &mut 0)?;
                            }
                        }
                    }
                }
                ("tool_result", "user") => {
                    return Err(format!("{at}: `tool_result` blocks must come first in a message's content"));
                }
                ("tool_use", "assistant") => {
                    only(object(block, &at)?, &["type", "id", "name", "input", "cache_control"], &format!("{at}."))?;
                    mark(block, &at, marks)?;
                    name(&block["id"], 512, &format!("{at}.id"))?;
                    name(&block["name"], 128, &format!("{at}.name"))?;
                    object(&block["input"], &format!("{at}.input"))?;
                    if !used.insert(block["id"].to_string()) {
                        return Err(format!("{at}: `tool_use` ids must be unique"));
                    }
                }
                (other, _) => return Err(format!("{at}.type: {other:?} does not belong into a message of the {role}")),
            }
        }
        if let Some(missing) = awaited.iter().find(|id| !answered.contains(**id)) {
            return Err(format!("{at}: `tool_use` ids were found without `tool_result` blocks after: {missing}"));
        }
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let uses = blocks.iter().filter(|block| block["type"] == "tool_use");
        awaited = uses.filter_map(|block| block["id"].as_str()).collect();
    }
    if messages.len().is_multiple_of(2) {
        return Err("The conversation must end with a user message.".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
