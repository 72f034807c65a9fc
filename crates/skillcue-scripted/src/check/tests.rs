use serde_json::json;

use super::*;

fn openai_with(messages: &Value) -> CheckResult {
    openai(&json!({"model": "m", "messages": messages}))
}

fn anthropic_with(messages: &Value) -> CheckResult {
    anthropic(&json!({"model": "m", "max_tokens": 10, "messages": messages}))
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "add", "arguments": "{}"}})
}

#[test]
fn openai_takes_valid_requests() {
    let messages = json!([
        {"role": "system", "content": "s"}, {"role": "user", "content": "u"},
        {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": ""}, {"role": "tool", "tool_call_id": "b", "content": "x"},
        {"role": "assistant", "content": "done"}, {"role": "user", "content": "again"},
    ]);
    assert_eq!(openai_with(&messages), Ok(()));
    let tool =
        json!({"type": "function", "function": {"name": "a", "description": "", "parameters": {"type": "object"}}});
    let mut body = json!({"model": "m", "messages": messages, "tools": [tool], "stream": true});
    body["stream_options"] = json!({"include_usage": true});
    assert_eq!(openai(&body), Ok(()));
}

#[test]
fn openai_refuses_invalid_requests() {
    let user = json!({"role": "user", "content": "u"});
    for (messages, why) in [
        (json!([]), "empty array"),
        (json!([{"role": "assistant", "content": "a"}]), "alternate"),
        (json!([user, user]), "alternate"),
        (json!([user, {"role": "owner", "content": "a"}]), "not one of"),
        (json!([user, {"role": "system", "content": "a"}]), "at the beginning"),
        (json!([user, {"role": "assistant", "content": ""}, user]), "either content"),
        (json!([user, {"role": "assistant", "content": "", "tool_calls": []}]), "empty array"),
        (json!([user, {"role": "assistant", "content": "", "tool_calls": [call("a")]}]), "without response"),
        (json!([user, {"role": "assistant", "content": "", "tool_calls": [call("a")]}, user]), "must be followed"),
        (json!([user, {"role": "assistant", "content": "", "tool_calls": [call("a"), call("a")]}]), "Duplicate"),
        (json!([user, {"role": "assistant", "content": "", "tool_calls": [call(&"a".repeat(41))]}]), "too long"),
        (json!([user, {"role": "tool", "tool_call_id": "a", "content": ""}]), "response to a preceding"),
        (json!([{"role": "user", "content": [{"type": "text", "text": "x"}]}]), "a string"),
        (json!([{"role": "user", "content": "u", "name": "x"}]), "Extra"),
        (json!([user, {"role": "assistant", "content": "a"}]), "last message"),
    ] {
        let said = openai_with(&messages).unwrap_err();
        assert!(said.contains(why), "{messages}: {said}");
    }
    for (key, value, why) in [
        ("tools", json!([]), "minimum length"),
        (
            "tools",
            json!([{"type": "function", "function": {"name": "a.b", "parameters": {"type": "object"}}}]),
            "match",
        ),
        ("tools", json!([{"type": "function", "function": {"name": "a", "parameters": {}}}]), "schema"),
        ("stream_options", json!({}), "only allowed"),
        ("max_tokens", json!(0), "greater"),
        ("thinking", json!(true), "Extra"),
        ("model", json!(""), "required"),
    ] {
        let mut body = json!({"model": "m", "messages": [user]});
        body[key] = value;
        let said = openai(&body).unwrap_err();
        assert!(said.contains(why), "{body}: {said}");
    }
}

#[test]
fn anthropic_takes_valid_requests() {
    let messages = json!([
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": [{"type": "text", "text": "t"},
            {"type": "tool_use", "id": "a", "name": "add", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1", "is_error": true},
            {"type": "text", "text": "and", "cache_control": {"type": "ephemeral"}}]},
    ]);
    assert_eq!(anthropic_with(&messages), Ok(()));
}

#[test]
fn anthropic_refuses_invalid_requests() {
    let user = json!({"role": "user", "content": "u"});
    let uses = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "add", "input": {}}]});
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": "1"});
    let text = json!({"type": "text", "text": "t"});
    for (messages, why) in [
        (json!([]), "at least one"),
        (json!([user, user]), "alternate"),
        (json!([{"role": "user", "content": ""}]), "non-whitespace"),
        (json!([{"role": "user", "content": [{"type": "text", "text": " \n"}]}]), "non-whitespace"),
        (json!([{"role": "user", "content": []}]), "non-empty"),
        (json!([user, {"role": "assistant", "content": "a"}]), "end with a user"),
        (json!([user, uses, user]), "without `tool_result`"),
        (json!([user, uses, {"role": "user", "content": [text, result]}]), "come first"),
        (json!([user, uses, {"role": "user", "content": [result, result]}]), "unexpected"),
        (json!([{"role": "user", "content": [result]}]), "unexpected"),
        (
            json!([user, uses, {"role": "user", "content": [result]}, uses, {"role": "user", "content": [result]}]),
            "unique",
        ),
        (
            json!([user, {"role": "assistant", "content": [{"type": "tool_use", "id": "a b", "name": "x", "input": {}}]}]),
            "match",
        ),
        (
            json!([user, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "x", "input": ""}]}]),
            "an object",
        ),
    ] {
        let said = anthropic_with(&messages).unwrap_err();
        assert!(said.contains(why), "{messages}: {said}");
    }
    let marked = json!({"type": "text", "text": "t", "cache_control": {"type": "ephemeral"}});
    let body =
        json!({"model": "m", "max_tokens": 1, "system": [marked, marked, marked, marked, marked], "messages": [user]});
    assert!(anthropic(&body).unwrap_err().contains("maximum of 4"));
    assert!(anthropic(&json!({"model": "m", "messages": [user]})).unwrap_err().contains("max_tokens"));
}
