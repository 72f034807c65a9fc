//! Answers in Anthropic's wire format.

use serde_json::{Value, json};

use crate::openai::written;
use crate::reply::ModelOutput;

const ID: &str = "msg_01Scripted0000000000000";

fn event(value: &Value) -> Vec<u8> {
    let name = value["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {value}\n\n").into_bytes()
}

fn stop(said: &ModelOutput) -> String {
    let usual = if said.calls.is_empty() { "end_turn" } else { "tool_use" };
    said.stop.clone().unwrap_or_else(|| usual.to_owned())
}

/// Returns the usage of a request. Tokens from the cache are counted beside the rest.
fn usage(said: &ModelOutput) -> Value {
    let (input, output, cached) = said.usage.unwrap_or_default();
    json!({
        "input_tokens": input.saturating_sub(cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": output,
        "service_tier": "standard",
    })
}

pub(crate) fn stream(said: &ModelOutput, model: &str) -> Vec<Vec<u8>> {
    let mut first = usage(said);
    first["output_tokens"] = 1.into();
    let message = json!({
        "id": ID, "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": first,
    });
    let mut events = vec![event(&json!({"type": "message_start", "message": message}))];
    let mut index = 0;
    let mut block = |begin: Value, deltas: Vec<Value>, events: &mut Vec<Vec<u8>>| {
        events.push(event(&json!({"type": "content_block_start", "index": index, "content_block": begin})));
        if index == 0 {
            events.push(event(&json!({"type": "ping"})));
        }
        for delta in deltas {
            events.push(event(&json!({"type": "content_block_delta", "index": index, "delta": delta})));
        }
        events.push(event(&json!({"type": "content_block_stop", "index": index})));
        index += 1;
    };
    if !said.thinking.is_empty() {
        let pieces = said.pieces(&said.thinking);
        let mut deltas: Vec<Value> =
            pieces.into_iter().map(|piece| json!({"type": "thinking_delta", "thinking": piece})).collect();
        deltas.push(json!({"type": "signature_delta", "signature": "c2NyaXB0ZWQ="}));
        block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas, &mut events);
    }
    if !said.text.is_empty() {
        let pieces = said.pieces(&said.text);
        let deltas = pieces.into_iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect();
        block(json!({"type": "text", "text": ""}), deltas, &mut events);
    }
    for (id, name, arguments) in &said.calls {
        let arguments = written(arguments);
        let mut deltas = vec![json!({"type": "input_json_delta", "partial_json": ""})];
        let pieces = said.pieces(&arguments);
        deltas.extend(pieces.into_iter().map(|piece| json!({"type": "input_json_delta", "partial_json": piece})));
        block(json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas, &mut events);
    }
    let (_, output, _) = said.usage.unwrap_or_default();
    events.push(event(&json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop(said), "stop_sequence": null},
        "usage": {"output_tokens": output},
    })));
    events.push(event(&json!({"type": "message_stop"})));
    events
}

pub(crate) fn whole(said: &ModelOutput, model: &str) -> Value {
    let mut content = Vec::new();
    if !said.thinking.is_empty() {
        content.push(json!({"type": "thinking", "thinking": said.thinking, "signature": "c2NyaXB0ZWQ="}));
    }
    if !said.text.is_empty() {
        content.push(json!({"type": "text", "text": said.text}));
    }
    for (id, name, arguments) in &said.calls {
        content.push(json!({"type": "tool_use", "id": id, "name": name, "input": arguments}));
    }
    json!({
        "id": ID, "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": stop(said), "stop_sequence": null, "usage": usage(said),
    })
}

pub(crate) fn error(status: u16, message: Option<&str>) -> String {
    let (kind, usual) = match status {
        400 => ("invalid_request_error", "The request is invalid."),
        401 => ("authentication_error", "invalid x-api-key"),
        403 => ("permission_error", "You are not allowed to do this."),
        404 => ("not_found_error", "model: no such model"),
        413 => ("request_too_large", "Request exceeds the maximum size"),
        429 => ("rate_limit_error", "This request would exceed your rate limit."),
        504 => ("timeout_error", "The request timed out."),
        529 => ("overloaded_error", "Overloaded"),
        _ => ("api_error", "Internal server error"),
    };
    json!({"type": "error", "error": {"type": kind, "message": message.unwrap_or(usual)}, "request_id": "req_scripted"})
        .to_string()
}
