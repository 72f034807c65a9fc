//! Anthropic's messages.

use serde_json::{Value, json};

use super::draft::{Draft, sent_arguments};
use super::names::WireNames;
use super::request_error::RequestError;
use super::{FinishReason, ModelRequest};
use crate::Message;

/// The version of the API that this is written for.
pub(super) const VERSION: &str = "2023-06-01";
/// The most tokens of an answer if the request has no limit: the API has none of its own.
const DEFAULT_MAX_TOKENS: u32 = 8192;
/// The most characters of a tool's name.
pub(super) const MAX_NAME: usize = 128;

/// Returns the body of a request. The parts that the next one repeats are marked for the server's cache: tools and
/// instructions, and the conversation so far.
pub(super) fn body(request: &ModelRequest<'_>, names: &WireNames, model: &str) -> Value {
    let texts = request.system.iter().filter_map(|text| block(&text.text));
    let mut system: Vec<Value> = texts.collect();
    let tool = |tool: &skillcue::tools::ToolDefinition| json!({"name": names.tool(&tool.name), "description": tool.description, "input_schema": tool.input_schema});
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for (at, message) in request.messages.iter().enumerate() {
        let (role, blocks) = blocks(message, at, names);
        match messages.last_mut() {
            // Two in a row must be one: results and what the user says then, or a turn that was broken off.
            Some((last, before)) if *last == role => before.extend(blocks),
            _ if blocks.is_empty() && role == "assistant" => {}
            _ => messages.push((role, blocks)),
        }
    }
    for (_, blocks) in &mut messages {
        if blocks.is_empty() {
            // A message must say something.
            blocks.push(json!({"type": "text", "text": "(nothing)"}));
        }
    }
    mark(system.last_mut().or(tools.last_mut()));
    mark(messages.last_mut().and_then(|(_, blocks)| blocks.last_mut()));
    let messages: Vec<Value> =
        messages.into_iter().map(|(role, blocks)| json!({"role": role, "content": blocks})).collect();
    let most = request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
    let mut body = json!({"model": model, "max_tokens": most, "stream": true, "messages": messages});
    if !system.is_empty() {
        body["system"] = system.into();
    }
    if !tools.is_empty() {
        body["tools"] = tools.into();
    }
    body
}

fn mark(block: Option<&mut Value>) {
    if let Some(block) = block {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}

/// Returns a block of text; none if it is empty: such blocks are refused.
fn block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn blocks(message: &Message, at: usize, names: &WireNames) -> (&'static str, Vec<Value>) {
    match message {
        Message::User { context, text } => {
            let texts = context.iter().map(|piece| piece.text.as_str()).chain([text.as_str()]);
            ("user", texts.filter_map(block).collect())
        }
        Message::Assistant { text, calls } => {
            let mut blocks: Vec<Value> = block(text).into_iter().collect();
            for (number, call) in calls.iter().enumerate() {
                let input = sent_arguments(&call.arguments).unwrap_or_else(|| json!({}));
                let name = names.tool(&call.name);
                blocks.push(json!({"type": "tool_use", "id": names.id(at, number), "name": name, "input": input}));
            }
            ("assistant", blocks)
        }
        Message::Tools { results, context } => {
            let mut blocks = Vec::new();
            for (number, result) in results.iter().enumerate() {
                let mut answer = json!({"type": "tool_result", "tool_use_id": names.id(at, number)});
                if !result.text.is_empty() {
                    answer["content"] = result.text.as_str().into();
                }
                if result.is_error {
                    answer["is_error"] = true.into();
                }
                blocks.push(answer);
            }
            blocks.extend(context.iter().filter_map(|piece| block(&piece.text)));
            ("user", blocks)
        }
    }
}

/// Takes the data of one event.
pub(super) fn event(data: &str, draft: &mut Draft<'_>) -> Result<(), RequestError> {
    // Some servers end both APIs' streams alike.
    if draft.done || data.trim() == "[DONE]" {
        return Ok(());
    }
    let event: Value =
        serde_json::from_str(data).map_err(|error| RequestError::malformed(format!("an event is no JSON: {error}")))?;
    let index = event["index"].as_u64();
    match event["type"].as_str() {
        Some("message_start") => cost(&event["message"]["usage"], draft),
        Some("content_block_start") => begin(index, &event["content_block"], draft)?,
        Some("content_block_delta") => {
            let delta = &event["delta"];
            match delta["type"].as_str() {
                Some("text_delta") => draft.text(delta["text"].as_str().unwrap_or_default()),
                Some("thinking_delta") => draft.thinking(delta["thinking"].as_str().unwrap_or_default()),
                Some("input_json_delta") => {
                    let call = draft.calls.iter_mut().rfind(|call| call.index == index);
                    let call = call.ok_or_else(|| RequestError::malformed("it writes arguments of no call"))?;
                    call.write(delta["partial_json"].as_str().unwrap_or_default());
                }
                _ => {}
            }
        }
        Some("message_delta") => {
            cost(&event["usage"], draft);
            stop(&event["delta"], draft);
        }
        Some("message_stop") => draft.done = true,
        Some("error") => return Err(RequestError::said(&event)),
        // Servers that only look like Anthropic's say it in their own way.
        _ if event["error"].is_object() => return Err(RequestError::said(&event)),
        Some(_) => {}
        None => return Err(RequestError::malformed("an event has no type")),
    }
    Ok(())
}

/// Takes an answer that comes as one document.
pub(super) fn whole(answer: &Value, draft: &mut Draft<'_>) -> Result<(), RequestError> {
    if answer["type"] == "error" || answer["error"].is_object() {
        return Err(RequestError::said(answer));
    }
    let blocks = answer["content"].as_array().ok_or_else(|| RequestError::malformed("it has no content"))?;
    for (index, block) in blocks.iter().enumerate() {
        begin(Some(index as u64), block, draft)?;
    }
    cost(&answer["usage"], draft);
    stop(answer, draft);
    draft.done = true;
    Ok(())
}

fn begin(index: Option<u64>, block: &Value, draft: &mut Draft<'_>) -> Result<(), RequestError> {
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    match block["type"].as_str() {
        Some("text") => draft.text(text("text")),
        Some("thinking") => draft.thinking(text("thinking")),
        Some("tool_use") => {
            let call = draft.call(index, text("id"), text("name"))?;
            // An empty object means that the arguments are still to come.
            if block["input"].as_object().is_some_and(|input| !input.is_empty()) {
                call.write(&block["input"].to_string());
            }
        }
        _ => {}
    }
    Ok(())
}

fn stop(of: &Value, draft: &mut Draft<'_>) {
    if let Some(reason) = of["stop_reason"].as_str().filter(|reason| !reason.is_empty()) {
        draft.stop = Some(match reason {
            "end_turn" | "stop_sequence" => FinishReason::End,
            "tool_use" => FinishReason::Tools,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "refusal" => FinishReason::Refused,
            word => FinishReason::Other(word.to_owned()),
        });
    }
}

/// Takes the cost. Tokens that were written to the cache, and read from it, are not in `input_tokens`.
fn cost(usage: &Value, draft: &mut Draft<'_>) {
    draft.cost(usage);
    let raw = &draft.usage.raw;
    let count = |key: &str| raw[key].as_u64();
    let cached = count("cache_read_input_tokens");
    let parts = [count("input_tokens"), count("cache_creation_input_tokens"), cached];
    let input = parts.into_iter().flatten().reduce(u64::saturating_add);
    let output = count("output_tokens");
    draft.usage.input = input;
    draft.usage.cached = cached;
    draft.usage.output = output;
}

#[cfg(test)]
mod tests;
