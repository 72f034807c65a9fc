//! OpenAI's chat completions, as many servers speak them.

use serde_json::{Value, json};

use super::draft::{Draft, sent_arguments};
use super::names::WireNames;
use super::request_error::RequestError;
use super::{FinishReason, ModelRequest};
use crate::Message;

/// The most characters of a tool's name.
pub(super) const MAX_NAME: usize = 64;

/// Fields that one server takes and another does not.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenAiDialect {
    /// `max_completion_tokens`: its own server wants it, others do not know it.
    pub(super) new_limit: bool,
    /// Whether to ask for the cost of the answer.
    pub(super) wants_usage: bool,
}

/// Returns the body of a request. Contents are plain strings: many servers take nothing else.
pub(super) fn body(request: &ModelRequest<'_>, names: &WireNames, model: &str, dialect: OpenAiDialect) -> Value {
    let mut messages = Vec::new();
    let system: Vec<&str> =
        request.system.iter().map(|text| text.text.as_str()).filter(|text| !text.is_empty()).collect();
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system.join("\n\n")}));
    }
    let mut users = false;
    for (at, message) in request.messages.iter().enumerate() {
        match message {
            Message::User { context, text } => {
                let content: String = context.iter().map(|piece| piece.text.as_str()).chain([text.as_str()]).collect();
                match messages.last_mut() {
                    // After a turn that was broken off. The templates of many models insist on taking turns.
                    Some(last) if users => {
                        let before = last["content"].as_str().unwrap_or_default();
                        last["content"] = format!("{before}\n\n{content}").into();
                    }
                    _ => messages.push(json!({"role": "user", "content": content})),
                }
                users = true;
            }
            // Said nothing at all, which no server wants to hear.
            Message::Assistant { text, calls } if text.is_empty() && calls.is_empty() => {}
            Message::Assistant { text, calls } => {
                users = false;
                let mut said = json!({"role": "assistant", "content": text});
                if !calls.is_empty() {
                    said["tool_calls"] =
                        calls.iter().enumerate().map(|(number, of)| call(of, names.id(at, number), names)).collect();
                }
                messages.push(said);
            }
            Message::Tools { results, context } => {
                users = false;
                let result = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
                messages.extend(results.iter().enumerate().map(|(number, of)| result(names.id(at, number), &of.text)));
                // With the last result: templates of some models refuse a user who speaks before the model has answered.
                if let (Some(last), Some(result), false) = (messages.last_mut(), results.last(), context.is_empty()) {
                    let added: String = context.iter().map(|piece| piece.text.as_str()).collect();
                    last["content"] = format!("{}{added}", result.text).into();
                }
            }
        }
    }
    let mut body = json!({"model": model, "messages": messages, "stream": true});
    if !request.tools.is_empty() {
        let tool = |tool: &skillcue::tools::ToolDefinition| {
            let (name, description) = (names.tool(&tool.name), &tool.description);
            json!({"type": "function", "function": {"name": name, "description": description, "parameters": tool.input_schema}})
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if dialect.wants_usage {
        body["stream_options"] = json!({"include_usage": true});
    }
    if let Some(most) = request.max_tokens {
        body[if dialect.new_limit { "max_completion_tokens" } else { "max_tokens" }] = most.into();
    }
    body
}

fn call(call: &crate::ToolCall, id: &str, names: &WireNames) -> Value {
    let arguments = if sent_arguments(&call.arguments).is_some() { call.arguments.as_str() } else { "{}" };
    let function = json!({"name": names.tool(&call.name), "arguments": arguments});
    json!({"id": id, "type": "function", "function": function})
}

/// Takes the data of one event.
pub(super) fn event(data: &str, draft: &mut Draft<'_>) -> Result<(), RequestError> {
    if draft.done {
        return Ok(());
    }
    if data.trim() == "[DONE]" {
        draft.done = true;
        return Ok(());
    }
    let chunk =
        serde_json::from_str(data).map_err(|error| RequestError::malformed(format!("an event is no JSON: {error}")))?;
    take(&chunk, "delta", draft)
}

/// Takes an answer that comes as one document.
pub(super) fn whole(answer: &Value, draft: &mut Draft<'_>) -> Result<(), RequestError> {
    take(answer, "message", draft)?;
    if answer["choices"][0]["message"].is_object() {
        draft.done = true;
        Ok(())
    } else {
        Err(RequestError::malformed("it has no message"))
    }
}

fn take(chunk: &Value, part: &str, draft: &mut Draft<'_>) -> Result<(), RequestError> {
    if !chunk.is_object() {
        return Err(RequestError::malformed("an event is no object"));
    }
    if chunk.get("error").is_some_and(|error| !error.is_null()) || chunk["object"] == "error" {
        return Err(RequestError::said(chunk));
    }
    if chunk["usage"].is_object() {
        let usage = &chunk["usage"];
        draft.cost(usage);
        draft.usage.input = usage["prompt_tokens"].as_u64().or(draft.usage.input);
        draft.usage.output = usage["completion_tokens"].as_u64().or(draft.usage.output);
        let cached = &usage["prompt_tokens_details"]["cached_tokens"];
        let cached = cached.as_u64().or_else(|| usage["prompt_cache_hit_tokens"].as_u64());
        draft.usage.cached = cached.or(draft.usage.cached);
    }
    let choices = chunk["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
    // One answer was asked for.
    let Some(choice) = choices.iter().find(|choice| choice["index"].as_u64().unwrap_or(0) == 0) else { return Ok(()) };
    let delta = &choice[part];
    draft.thinking(delta["reasoning_content"].as_str().or_else(|| delta["reasoning"].as_str()).unwrap_or_default());
    match &delta["content"] {
        Value::String(text) => draft.text(text),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).for_each(|text| draft.text(text)),
        _ => {}
    }
    let refusal = delta["refusal"].as_str().filter(|refusal| !refusal.is_empty());
    if let Some(refusal) = refusal {
        draft.text(refusal);
    }
    for call in delta["tool_calls"].as_array().into_iter().flatten() {
        take_call(call, draft)?;
    }
    // Some servers give an empty reason in each part.
    if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
        draft.stop = Some(match reason {
            "stop" | "eos" => FinishReason::End,
            "tool_calls" | "function_call" => FinishReason::Tools,
            "length" => FinishReason::Length,
            "content_filter" => FinishReason::Refused,
            word => FinishReason::Other(word.to_owned()),
        });
    }
    if refusal.is_some() {
        draft.stop = Some(FinishReason::Refused);
    }
    Ok(())
}

/// Takes a part of a call. By the book, calls have an index, and only the first part has id and name. Servers leave the
/// index out, give the same one to all, repeat ids and names in each part, or send whole calls.
fn take_call(part: &Value, draft: &mut Draft<'_>) -> Result<(), RequestError> {
    let index = part["index"].as_u64();
    let id = part["id"].as_str().unwrap_or_default();
    let name = part["function"]["name"].as_str().unwrap_or_default();
    let arguments = match &part["function"]["arguments"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    };
    let known = match index {
        Some(_) => draft.calls.iter().rposition(|call| call.index == index),
        None => draft.calls.len().checked_sub(1),
    };
    let another = known.map(|at| &draft.calls[at]).is_none_or(|call| {
        let other_id = !id.is_empty() && !call.id.is_empty() && id != call.id;
        let other_name = !call.name.is_empty() && name != call.name;
        let restart = arguments.trim_start().starts_with('{') && call.is_closed();
        !name.is_empty() && (other_id || other_name || restart)
    });
    let call = match known {
        Some(at) if !another => {
            draft.name(at, name);
            &mut draft.calls[at]
        }
        _ => draft.call(index, id, name)?,
    };
    if call.id.is_empty() {
        id.clone_into(&mut call.id);
    }
    call.write(&arguments);
    Ok(())
}

#[cfg(test)]
mod tests;
