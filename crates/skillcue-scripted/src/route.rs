//! The addresses that the server has: which API a request is for, and what is answered without asking the script.

use serde_json::{Value, json};

use crate::gemini::{self, GeminiMethod};
use crate::http::Head;
use crate::{Wire, check};

/// The rules by which requests are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestRules {
    /// Those for our own requests, which use little of the formats: whatever else is in them is a mistake.
    Ours,
    /// Those for requests of other programs.
    Clients,
}

/// Returns the path without its query.
fn place(head: &Head) -> &str {
    head.path.split('?').next().unwrap_or_default()
}

/// Returns the API that a request is for.
pub(crate) fn wire(head: &Head) -> Wire {
    let place = place(head);
    if place.ends_with("/messages") || head.header("anthropic-version").is_some() {
        Wire::Anthropic
    } else if place.ends_with("/responses") {
        Wire::Responses
    } else if gemini::target(&head.path).is_some() || head.header("x-goog-api-key").is_some() {
        Wire::Gemini
    } else {
        Wire::OpenAi
    }
}

/// Returns `None` if the script is to be asked, or what to answer instead.
pub(crate) fn admit(
    head: &Head,
    api: Wire,
    key: Option<&str>,
    rules: RequestRules,
) -> Result<Option<Value>, (u16, String)> {
    if let Some(key) = key {
        let given = match api {
            Wire::OpenAi | Wire::Responses => {
                head.header("authorization").and_then(|value| value.strip_prefix("Bearer "))
            }
            Wire::Anthropic => head.header("x-api-key"),
            Wire::Gemini => head.header("x-goog-api-key"),
        };
        if given != Some(key) {
            return Err((401, "the key is missing or wrong".to_owned()));
        }
    }
    let place = place(head);
    if head.method == "GET" && place.ends_with("/models") {
        return Ok(Some(json!({"object": "list", "data": [{"id": "scripted", "object": "model", "created": 0}]})));
    }
    let count = tokens(&head.body);
    let target = gemini::target(&head.path);
    if let Some((_, GeminiMethod::CountTokens)) = target {
        return Ok(Some(json!({ "totalTokens": count })));
    }
    if head.method == "POST" && place.ends_with("/messages/count_tokens") {
        return Ok(Some(json!({ "input_tokens": count })));
    }
    let ends = ["/chat/completions", "/messages", "/responses"];
    if target.is_none() && !ends.iter().any(|end| place.ends_with(end)) {
        return Err((404, format!("Invalid URL ({} {place})", head.method)));
    }
    if head.method != "POST" {
        return Err((405, "Not allowed to GET here".to_owned()));
    }
    if !head.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        return Err((415, "Unsupported content type".to_owned()));
    }
    let body: Value = serde_json::from_slice(&head.body)
        .map_err(|error| (400, format!("We could not parse the JSON body of your request: {error}")))?;
    let checked = match (api, rules) {
        (Wire::Anthropic, _) if head.header("anthropic-version") != Some("2023-06-01") => {
            Err("anthropic-version: header is required".to_owned())
        }
        (Wire::OpenAi, RequestRules::Ours) => check::openai(&body),
        (Wire::Anthropic, RequestRules::Ours) => check::anthropic(&body),
        _ => check::foreign(api, &body),
    };
    checked.map(|()| None).map_err(|why| (400, why))
}

/// Returns an estimate of the tokens of a body, where a client asks for their number.
fn tokens(body: &[u8]) -> usize {
    body.len() / 4 + 1
}
