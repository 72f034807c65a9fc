//! Answers in OpenAI's wire format.

use serde_json::{Value, json};

use crate::reply::ModelOutput;

const ID: &str = "chatcmpl-Scripted0000000000000000000";
const CREATED: u64 = 1_750_000_000;

fn event(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}

fn stop(said: &ModelOutput) -> String {
    let usual = if said.calls.is_empty() { "stop" } else { "tool_calls" };
    said.stop.clone().unwrap_or_else(|| usual.to_owned())
}

fn usage((input, output, cached): (u64, u64, u64)) -> Value {
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input.saturating_add(output),
        "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    })
}

pub(crate) fn stream(said: &ModelOutput, model: &str, with_usage: bool) -> Vec<Vec<u8>> {
    let with_usage = said.usage.filter(|_| with_usage);
    let chunk = |choices: Value| {
        let mut chunk = json!({
            "id": ID, "object": "chat.completion.chunk", "created": CREATED, "model": model,
            "service_tier": "default", "system_fingerprint": "fp_scripted", "choices": choices,
        });
        if with_usage.is_some() {
            chunk["usage"] = Value::Null;
        }
        chunk
    };
    let delta = |delta: Value, stop: Option<String>| {
        event(&chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": stop}])))
    };
    let mut events = vec![b": ping\n\n".to_vec()];
    events.push(delta(json!({"role": "assistant", "content": "", "refusal": null}), None));
    for piece in said.pieces(&said.thinking) {
        events.push(delta(json!({"reasoning_content": piece}), None));
    }
    for piece in said.pieces(&said.text) {
        events.push(delta(json!({"content": piece}), None));
    }
    for (index, (id, name, arguments)) in said.calls.iter().enumerate() {
        let begin = json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        events.push(delta(json!({"tool_calls": [begin]}), None));
        for piece in said.pieces(&written(arguments)) {
            events.push(delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}), None));
        }
    }
    events.push(delta(json!({}), Some(stop(said))));
    if let Some(cost) = with_usage {
        let mut last = chunk(json!([]));
        last["usage"] = usage(cost);
        events.push(event(&last));
    }
    events.push(b"data: [DONE]\n\n".to_vec());
    events
}

pub(crate) fn whole(said: &ModelOutput, model: &str) -> Value {
    let call = |(id, name, arguments): &(String, String, Value)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": written(arguments)}});
    let mut message = json!({"role": "assistant", "content": said.text, "refusal": null});
    if !said.calls.is_empty() {
        message["tool_calls"] = said.calls.iter().map(call).collect();
    }
    if !said.thinking.is_empty() {
        message["reasoning_content"] = said.thinking.clone().into();
    }
    let mut whole = json!({
        "id": ID, "object": "chat.completion", "created": CREATED, "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": stop(said)}],
    });
    if let Some(cost) = said.usage {
        whole["usage"] = usage(cost);
    }
    whole
}

/// Returns arguments as a model writes them. A string is taken literally, so that a script can have a model write
/// nonsense.
pub(crate) fn written(arguments: &Value) -> String {
    arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned)
}

pub(crate) fn error(status: u16, message: Option<&str>) -> String {
    let (kind, code, usual) = match status {
        400 => ("invalid_request_error", Value::Null, "The request is invalid."),
        401 => ("invalid_request_error", "invalid_api_key".into(), "Incorrect API key provided."),
        403 => ("invalid_request_error", Value::Null, "You are not allowed to do this."),
        404 => ("invalid_request_error", "model_not_found".into(), "The model does not exist."),
        429 => ("requests", "rate_limit_exceeded".into(), "Rate limit reached."),
        503 => ("service_unavailable_error", Value::Null, "The engine is currently overloaded."),
        _ => ("server_error", Value::Null, "The server had an error while processing your request."),
    };
    json!({"error": {"message": message.unwrap_or(usual), "type": kind, "param": null, "code": code}}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_may_be_a_cost() {
        let most = u64::MAX;
        assert_eq!(usage((most, most, most))["total_tokens"], most);
        assert_eq!(usage((3, 4, 0))["total_tokens"], 7);
    }
}
