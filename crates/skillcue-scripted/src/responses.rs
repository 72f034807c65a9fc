//! Answers in the wire format of OpenAI's responses.

use serde_json::{Value, json};

use crate::openai::written;
use crate::reply::ModelOutput;

const ID: &str = "resp_Scripted00000000000000000000";
const CREATED: u64 = 1_750_000_000;

/// Events with the numbers that the format wants them to have.
#[derive(Default)]
struct EventSequence {
    events: Vec<Vec<u8>>,
}

impl EventSequence {
    fn push(&mut self, name: &str, mut value: Value) {
        value["type"] = name.into();
        value["sequence_number"] = self.events.len().into();
        self.events.push(format!("event: {name}\ndata: {value}\n\n").into_bytes());
    }
}

fn usage(said: &ModelOutput) -> Value {
    let Some((input, output, cached)) = said.usage else { return Value::Null };
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input.saturating_add(output),
    })
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn message(content: &Value, status: &str) -> Value {
    json!({"id": "msg_scripted", "type": "message", "role": "assistant", "status": status, "content": content})
}

/// Returns a call as an item. A tool of a namespace is written `NAMESPACE/TOOL`.
fn call((id, name, arguments): &(String, String, Value), status: &str) -> Value {
    let mut item = json!({
        "id": format!("fc_{id}"), "type": "function_call", "call_id": id, "name": name, "arguments": written(arguments),
        "status": status,
    });
    if let Some((namespace, tool)) = name.split_once('/') {
        item["namespace"] = namespace.into();
        item["name"] = tool.into();
    }
    item
}

fn output(said: &ModelOutput) -> Vec<Value> {
    let mut output = Vec::new();
    if !said.text.is_empty() {
        output.push(message(&json!([text_part(&said.text)]), "completed"));
    }
    output.extend(said.calls.iter().map(|of| call(of, "completed")));
    output
}

fn response(said: &ModelOutput, model: &str, status: &str) -> Value {
    let is_done = status == "completed";
    json!({
        "id": ID, "object": "response", "created_at": CREATED, "status": status, "model": model, "error": null,
        "incomplete_details": null, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
        "output": if is_done { output(said) } else { Vec::new() },
        "usage": if is_done { usage(said) } else { Value::Null },
    })
}

pub(crate) fn stream(said: &ModelOutput, model: &str) -> Vec<Vec<u8>> {
    let mut sequence = EventSequence::default();
    for name in ["response.created", "response.in_progress"] {
        sequence.push(name, json!({"response": response(said, model, "in_progress")}));
    }
    let mut index = 0;
    if !said.text.is_empty() {
        let place = json!({"item_id": "msg_scripted", "output_index": index, "content_index": 0});
        let at = |further: Value| {
            let mut value = place.clone();
            for (key, further) in further.as_object().into_iter().flatten() {
                value[key] = further.clone();
            }
            value
        };
        let begun = message(&json!([]), "in_progress");
        sequence.push("response.output_item.added", json!({"output_index": index, "item": begun}));
        sequence.push("response.content_part.added", at(json!({"part": text_part("")})));
        for piece in said.pieces(&said.text) {
            sequence.push("response.output_text.delta", at(json!({"delta": piece, "logprobs": []})));
        }
        sequence.push("response.output_text.done", at(json!({"text": said.text, "logprobs": []})));
        sequence.push("response.content_part.done", at(json!({"part": text_part(&said.text)})));
        let whole = message(&json!([text_part(&said.text)]), "completed");
        sequence.push("response.output_item.done", json!({"output_index": index, "item": whole}));
        index += 1;
    }
    for of in &said.calls {
        let mut begun = call(of, "in_progress");
        begun["arguments"] = "".into();
        let item = begun["id"].clone();
        sequence.push("response.output_item.added", json!({"output_index": index, "item": begun}));
        let arguments = written(&of.2);
        for piece in said.pieces(&arguments) {
            let delta = json!({"item_id": item, "output_index": index, "delta": piece});
            sequence.push("response.function_call_arguments.delta", delta);
        }
        let done = json!({"item_id": item, "output_index": index, "arguments": arguments});
        sequence.push("response.function_call_arguments.done", done);
        sequence.push("response.output_item.done", json!({"output_index": index, "item": call(of, "completed")}));
        index += 1;
    }
    sequence.push("response.completed", json!({"response": response(said, model, "completed")}));
    sequence.events
}

pub(crate) fn whole(said: &ModelOutput, model: &str) -> Value {
    response(said, model, "completed")
}
