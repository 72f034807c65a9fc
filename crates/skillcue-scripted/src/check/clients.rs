//! Checks of requests that programs of others send.
//!
//! They use fields that are newer than any list here could be. So only the meaning is checked: a request that the real
//! servers would refuse for its conversation or its tools is refused.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{CheckResult, array, model, name, object};
use crate::Wire;
use crate::conversation::{self, ConversationContent};

/// The longest name of a tool. The APIs differ: 64 in two of them, 128 in the others.
fn max_name(api: Wire) -> usize {
    match api {
        Wire::OpenAi | Wire::Gemini => 64,
        Wire::Anthropic | Wire::Responses => 128,
    }
}

/// Checks a request of another program.
pub(crate) fn foreign(api: Wire, body: &Value) -> CheckResult {
    let fields = object(body, "body")?;
    let (messages, roles): (_, &[&str]) = match api {
        Wire::OpenAi => ("messages", &["system", "developer", "user", "assistant", "tool"]),
        Wire::Anthropic => ("messages", &["user", "assistant", "system"]),
        Wire::Responses => ("input", &["system", "developer", "user", "assistant"]),
        Wire::Gemini => ("contents", &["user", "model"]),
    };
    if api != Wire::Gemini {
        model(fields)?;
    }
    if api == Wire::Anthropic && body["max_tokens"].as_u64().is_none_or(|most| most == 0) {
        return Err("max_tokens: Field required".to_owned());
    }
    let listed = array(&body[messages], messages)?;
    if listed.is_empty() {
        return Err(format!("Invalid '{messages}': empty array. Expected an array with minimum length 1."));
    }
    for (index, message) in listed.iter().enumerate() {
        let at = format!("{messages}[{index}]");
        // Items of the responses are not all messages.
        if let Some(role) = object(message, &at)?.get("role").and_then(Value::as_str)
            && !roles.contains(&role)
        {
            return Err(format!("{at}.role: {role:?} is not one of {roles:?}."));
        }
    }
    tools(api, body)?;
    results_answer_calls(api, body)
}

fn tools(api: Wire, body: &Value) -> CheckResult {
    let mut names = BTreeSet::new();
    let Some(tools) = body.get("tools").filter(|tools| !tools.is_null()) else { return Ok(()) };
    for (index, tool) in array(tools, "tools")?.iter().enumerate() {
        let at = format!("tools[{index}]");
        let named: Vec<&Value> = match api {
            Wire::OpenAi => vec![&tool["function"]["name"]],
            Wire::Anthropic => vec![&tool["name"]],
            Wire::Responses if matches!(tool["type"].as_str(), Some("function" | "custom" | "namespace")) => {
                vec![&tool["name"]]
            }
            // Tools that the server itself has are known by their types.
            Wire::Responses => Vec::new(),
            Wire::Gemini => {
                let declared = tool["functionDeclarations"].as_array().map(Vec::as_slice).unwrap_or_default();
                declared.iter().map(|tool| &tool["name"]).collect()
            }
        };
        for of in named {
            name(of, max_name(api), &at)?;
            if !names.insert(of.to_string()) {
                return Err(format!("{at}: Tool names must be unique ({of})."));
            }
        }
    }
    Ok(())
}

fn results_answer_calls(api: Wire, body: &Value) -> CheckResult {
    let mut open: BTreeSet<String> = BTreeSet::new();
    for part in conversation::parts(api, body) {
        let at = format!("message {}", part.message);
        match part.content {
            ConversationContent::Call { id, .. } => {
                open.insert(id);
            }
            ConversationContent::ToolResult { id, .. } if !open.remove(&id) => {
                return Err(format!("{at}: a result for {id:?}, which is no open call."));
            }
            ConversationContent::Text(_) if part.role == "user" && !open.is_empty() && api != Wire::Anthropic => {
                return Err(format!("{at}: calls without results: {open:?}"));
            }
            _ => {}
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("calls without results: {open:?}")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_are_not_known_pass() {
        let body = json!({
            "model": "m", "max_tokens": 5, "thinking": {"type": "adaptive"}, "tools": [{"name": "a"}, {"name": "b"}],
            "messages": [{"role": "user", "content": "u"}, {"role": "system", "content": "s"}],
        });
        assert_eq!(foreign(Wire::Anthropic, &body), Ok(()));
        let body = json!({"contents": [{"role": "user", "parts": [{"text": "u"}]}], "generationConfig": {}});
        assert_eq!(foreign(Wire::Gemini, &body), Ok(()));
    }

    #[test]
    fn requests_without_a_meaning_are_refused() {
        let item = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "x"});
        let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "t", "arguments": "{}"});
        for (input, why) in [
            (json!([]), "empty array"),
            (json!([{"role": "owner", "content": "x"}]), "not one of"),
            (json!([item("a")]), "no open call"),
            (json!([call("a")]), "calls without results"),
            (json!([call("a"), {"role": "user", "content": "x"}, item("a")]), "calls without results"),
        ] {
            let refused = foreign(Wire::Responses, &json!({"model": "m", "input": input})).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        let twice = json!({"function": {"name": "a"}});
        let user = json!({"role": "user", "content": "x"});
        let body = json!({"model": "m", "messages": [user], "tools": [twice, twice]});
        assert!(foreign(Wire::OpenAi, &body).unwrap_err().contains("unique"));
    }
}
