//! Answers in the wire format of Gemini.

use serde_json::{Value, json};

use crate::reply::ModelOutput;

/// The methods of a model that the server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GeminiMethod {
    Generate,
    Stream,
    CountTokens,
}

/// Returns the model and the method of a path such as `/v1beta/models/MODEL:generateContent`.
pub(crate) fn target(path: &str) -> Option<(&str, GeminiMethod)> {
    let place = path.split('?').next().unwrap_or_default();
    let (_, last) = place.rsplit_once("models/")?;
    let (model, method) = last.split_once(':')?;
    let method = match method {
        "generateContent" => GeminiMethod::Generate,
        "streamGenerateContent" => GeminiMethod::Stream,
        "countTokens" => GeminiMethod::CountTokens,
        _ => return None,
    };
    Some((model, method))
}

fn response(parts: &[Value], stop: Option<&str>, said: &ModelOutput, model: &str) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(stop) = stop {
        candidate["finishReason"] = stop.into();
    }
    let mut response = json!({"candidates": [candidate], "modelVersion": model, "responseId": "scripted"});
    if let Some((input, output, cached)) = said.usage {
        response["usageMetadata"] = json!({
            "promptTokenCount": input, "candidatesTokenCount": output, "cachedContentTokenCount": cached,
            "totalTokenCount": input.saturating_add(output),
        });
    }
    response
}

fn thought(text: &str) -> Value {
    json!({"text": text, "thought": true})
}

fn call((id, name, arguments): &(String, String, Value)) -> Value {
    json!({"functionCall": {"id": id, "name": name, "args": arguments}, "thoughtSignature": "c2NyaXB0ZWQ="})
}

fn stop(said: &ModelOutput) -> &str {
    said.stop.as_deref().unwrap_or("STOP")
}

pub(crate) fn stream(said: &ModelOutput, model: &str) -> Vec<Vec<u8>> {
    let mut parts: Vec<Value> = said.pieces(&said.thinking).into_iter().map(thought).collect();
    parts.extend(said.pieces(&said.text).into_iter().map(|piece| json!({ "text": piece })));
    parts.extend(said.calls.iter().map(call));
    let last = parts.pop().unwrap_or_else(|| json!({"text": ""}));
    let mut responses: Vec<Value> = parts.into_iter().map(|part| response(&[part], None, said, model)).collect();
    responses.push(response(&[last], Some(stop(said)), said, model));
    responses.into_iter().map(|response| format!("data: {response}\r\n\r\n").into_bytes()).collect()
}

pub(crate) fn whole(said: &ModelOutput, model: &str) -> Value {
    let mut parts = Vec::new();
    if !said.thinking.is_empty() {
        parts.push(thought(&said.thinking));
    }
    if !said.text.is_empty() || said.calls.is_empty() {
        parts.push(json!({"text": said.text}));
    }
    parts.extend(said.calls.iter().map(call));
    response(&parts, Some(stop(said)), said, model)
}

pub(crate) fn error(status: u16, message: Option<&str>) -> String {
    let (word, usual) = match status {
        400 => ("INVALID_ARGUMENT", "Request contains an invalid argument."),
        401 => ("UNAUTHENTICATED", "API key not valid. Please pass a valid API key."),
        403 => ("PERMISSION_DENIED", "The caller does not have permission."),
        404 => ("NOT_FOUND", "The model is not found."),
        429 => ("RESOURCE_EXHAUSTED", "Resource has been exhausted."),
        503 => ("UNAVAILABLE", "The model is overloaded."),
        _ => ("INTERNAL", "An internal error has occurred."),
    };
    json!({"error": {"code": status, "message": message.unwrap_or(usual), "status": word}}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_and_the_method_are_in_the_path() {
        let streamed = target("/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse");
        assert_eq!(streamed, Some(("gemini-3-pro", GeminiMethod::Stream)));
        assert_eq!(target("/models/m:countTokens"), Some(("m", GeminiMethod::CountTokens)));
        assert_eq!(target("/v1beta/models/m:embedContent"), None);
        assert_eq!(target("/v1/messages"), None);
    }
}
