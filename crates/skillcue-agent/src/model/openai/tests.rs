use serde_json::json;
use skillcue::tools::ToolDefinition;

use super::*;
use crate::model::{Delta, ModelAnswer, SystemText};
use crate::{Piece, PieceOrigin, RequestPart, ToolCall, ToolResult};

const DIALECT: OpenAiDialect = OpenAiDialect { new_limit: false, wants_usage: true };

fn read(events: &[Value]) -> Result<ModelAnswer, RequestError> {
    let mut on = |_: Delta<'_>| {};
    let mut draft = Draft::new(&mut on);
    for data in events {
        event(&data.to_string(), &mut draft)?;
    }
    assert!(draft.is_complete());
    Ok(draft.finish(&[], 1))
}

fn deltas(deltas: &[Value]) -> Result<ModelAnswer, RequestError> {
    let chunk = |delta: &Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let mut events: Vec<Value> = deltas.iter().map(chunk).collect();
    events.push(json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}));
    read(&events)
}

fn calls(parts: &[Value]) -> Vec<(String, String, String)> {
    let parts: Vec<Value> = parts.iter().map(|part| json!({"tool_calls": part})).collect();
    let answer = deltas(&parts).unwrap();
    assert_eq!(answer.stop, FinishReason::Tools);
    answer.calls.into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), arguments.to_owned())
}

#[test]
fn a_request_is_written_as_plainly_as_possible() {
    let system = [
        SystemText { part: RequestPart::System, text: "a".into() },
        SystemText { part: RequestPart::System, text: String::new() },
        SystemText { part: RequestPart::SkillsStable, text: "b\n".into() },
    ];
    let piece = Piece {
        provider: PieceOrigin::Provider("p".into()),
        part: RequestPart::SkillsTurn,
        text: "context\n\n".into(),
        skills: Vec::new(),
    };
    let calls = vec![
        ToolCall { id: "1".into(), name: "add".into(), arguments: "{ \"x\": 1 }".into() },
        ToolCall { id: "2".into(), name: "no.such".into(), arguments: "{".into() },
    ];
    let results = vec![
        ToolResult { id: "1".into(), name: "add".into(), text: "\u{0}2\r\n".into(), is_error: false },
        ToolResult { id: "2".into(), name: "no.such".into(), text: String::new(), is_error: true },
    ];
    let messages = [
        Message::user("broken off"),
        Message::assistant(""),
        Message::User { context: vec![piece], text: "words".into() },
        Message::Assistant { text: String::new(), calls },
        Message::results(results),
    ];
    let tools = [ToolDefinition {
        name: "add".into(),
        title: "Add".into(),
        description: "Adds.".into(),
        input_schema: json!({"type": "object"}),
        read_only: true,
    }];
    let request = ModelRequest { system: &system, tools: &tools, messages: &messages, max_tokens: Some(7) };
    let expected = json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 7,
        "tools": [{"type": "function", "function": {
            "name": "add", "description": "Adds.", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "system", "content": "a\n\nb\n"},
            {"role": "user", "content": "broken off\n\ncontext\n\nwords"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{ \"x\": 1 }"}},
                {"id": "2", "type": "function", "function": {"name": "no_such_10644a73", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "\u{0}2\r\n"},
            {"role": "tool", "tool_call_id": "2", "content": ""},
        ],
    });
    assert_eq!(body(&request, &WireNames::new(&request, MAX_NAME), "m", DIALECT), expected);

    let bare = ModelRequest { system: &[], tools: &[], messages: &messages[..1], max_tokens: Some(7) };
    let expected = json!({"model": "m", "stream": true, "max_completion_tokens": 7,
        "messages": [{"role": "user", "content": "broken off"}]});
    assert_eq!(
        body(&bare, &WireNames::new(&bare, MAX_NAME), "m", OpenAiDialect { new_limit: true, wants_usage: false }),
        expected
    );
}

#[test]
fn calls_by_the_book() {
    let found = calls(&[
        json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "add", "arguments": ""}}]),
        json!([{"index": 0, "function": {"arguments": "{\"x\""}}]),
        json!([{"index": 1, "id": "b", "type": "function", "function": {"name": "sub", "arguments": ""}}]),
        json!([{"index": 0, "function": {"arguments": ":1}"}}, {"index": 1, "function": {"arguments": "{}"}}]),
    ]);
    assert_eq!(found, [call("a", "add", "{\"x\":1}"), call("b", "sub", "{}")]);
}

#[test]
fn calls_as_servers_write_them() {
    // Whole calls at once, without an index.
    let whole = json!([
        {"id": "a", "function": {"name": "add", "arguments": "{\"x\":1}"}},
        {"id": "b", "function": {"name": "add", "arguments": {"x": 2}}},
    ]);
    assert_eq!(calls(&[whole]), [call("a", "add", "{\"x\":1}"), call("b", "add", "{\"x\":2}")]);
    // The same index for all.
    let same = [
        json!([{"index": 0, "id": "a", "function": {"name": "add", "arguments": "{}"}}]),
        json!([{"index": 0, "id": "b", "function": {"name": "add", "arguments": "{}"}}]),
    ];
    assert_eq!(calls(&same), [call("a", "add", "{}"), call("b", "add", "{}")]);
    // Id and name in each part.
    let again = [
        json!([{"index": 0, "id": "a", "function": {"name": "add", "arguments": "{\"x\":"}}]),
        json!([{"index": 0, "id": "a", "function": {"name": "add", "arguments": "1}"}}]),
        json!([{"index": 0, "id": "a", "function": {"name": "add", "arguments": ""}}]),
    ];
    assert_eq!(calls(&again), [call("a", "add", "{\"x\":1}")]);
    // Neither index nor id after the first part, and a new id in each.
    let bare = [
        json!([{"id": "a", "function": {"name": "add", "arguments": "{\"x\":"}}]),
        json!([{"function": {"arguments": "1"}}]),
        json!([{"id": "z", "function": {"arguments": "}"}}]),
        json!([{"id": "b", "function": {"name": "sub"}}]),
    ];
    assert_eq!(calls(&bare), [call("a", "add", "{\"x\":1}"), call("b", "sub", "{}")]);
    // The id comes late.
    let late = [
        json!([{"index": 0, "function": {"name": "add"}}]),
        json!([{"index": 0, "id": "a", "function": {"arguments": "{}"}}]),
    ];
    assert_eq!(calls(&late), [call("a", "add", "{}")]);
    // No ids at all, or the same for two: they are made.
    for id in [json!(null), json!("a")] {
        let none = calls(&[json!([
            {"id": id, "function": {"name": "add", "arguments": "{\"x\":1}"}},
            {"id": id, "function": {"name": "add", "arguments": "{\"x\":2}"}},
        ])]);
        assert_eq!(none.len(), 2);
        assert_ne!(none[0].0, none[1].0);
        assert!(none.iter().all(|(id, ..)| !id.is_empty()));
        assert_eq!((none[0].2.as_str(), none[1].2.as_str()), ("{\"x\":1}", "{\"x\":2}"));
    }
}

#[test]
fn a_call_is_heard_of_when_it_has_a_name() {
    let mut heard = Vec::new();
    let mut on = |delta: Delta<'_>| heard.push(format!("{delta:?}"));
    let mut draft = Draft::new(&mut on);
    for part in [json!({"index": 0, "id": "a"}), json!({"index": 0, "function": {"name": "add"}})] {
        event(&json!({"choices": [{"delta": {"tool_calls": [part]}}]}).to_string(), &mut draft).unwrap();
    }
    assert_eq!(heard, ["Call { name: \"add\" }"]);
}

#[test]
fn an_index_of_any_size_is_only_a_name() {
    let far = json!([{"index": u64::MAX, "id": "a", "function": {"name": "add", "arguments": "{}"}}]);
    assert_eq!(calls(&[far]), [call("a", "add", "{}")]);
}

#[test]
fn words_thoughts_and_refusals() {
    let mut heard = Vec::new();
    let mut on = |delta: Delta<'_>| heard.push(format!("{delta:?}"));
    let mut draft = Draft::new(&mut on);
    for delta in [
        json!({"role": "assistant", "content": null, "reasoning": "hm"}),
        json!({"reasoning_content": "so"}),
        json!({"content": "a"}),
        json!({"content": [{"type": "text", "text": "b"}]}),
        json!({"content": ""}),
        json!({"refusal": "no"}),
    ] {
        event(&json!({"choices": [{"delta": delta}]}).to_string(), &mut draft).unwrap();
    }
    event(r#"{"choices":[{"index":1,"delta":{"content":"another"}}]}"#, &mut draft).unwrap();
    event("[DONE]", &mut draft).unwrap();
    event("whatever comes then", &mut draft).unwrap();
    let answer = draft.finish(&[], 1);
    assert_eq!((answer.text.as_str(), answer.stop), ("abno", FinishReason::Refused));
    assert_eq!(heard, ["Thinking(\"hm\")", "Thinking(\"so\")", "Text(\"a\")", "Text(\"b\")", "Text(\"no\")"]);
    assert!(answer.first.is_some());
}

#[test]
fn why_it_stopped() {
    for (word, stop) in [
        ("stop", FinishReason::End),
        ("tool_calls", FinishReason::End),
        ("length", FinishReason::Length),
        ("content_filter", FinishReason::Refused),
        ("a\nb", FinishReason::Other("a\\nb".into())),
    ] {
        assert_eq!(read(&[json!({"choices": [{"delta": {}, "finish_reason": word}]})]).unwrap().stop, stop);
    }
}

#[test]
fn costs_may_come_anywhere() {
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": null});
    let early = json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 0}});
    let late = json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4}}});
    let usage = read(&[early, end.clone(), late.clone()]).unwrap().usage;
    assert_eq!((usage.input, usage.cached, usage.output), (Some(9), Some(4), Some(3)));
    assert_eq!(usage.raw, late["usage"]);
    let none = read(&[end]).unwrap().usage;
    assert_eq!((none.input, none.raw), (None, Value::Null));
}

#[test]
fn errors_and_nonsense_in_a_stream() {
    assert!(read(&[json!({"error": {"message": "x", "code": 503}})]).is_err_and(|failed| failed.passes()));
    assert!(read(&[json!({"error": {"message": "x", "code": 400}})]).is_err_and(|failed| !failed.passes()));
    assert!(read(&[json!({"object": "error", "message": "x", "code": 400})]).is_err());
    assert!(read(&[json!(5)]).is_err_and(|failed| !failed.passes()));
    let mut on = |_: Delta<'_>| {};
    assert!(event("{", &mut Draft::new(&mut on)).is_err());
    assert!(whole(&json!({"choices": []}), &mut Draft::new(&mut on)).is_err());
    // An empty reason is none.
    let mut draft = Draft::new(&mut on);
    event(r#"{"choices":[{"delta":{"content":"a"},"finish_reason":""}]}"#, &mut draft).unwrap();
    assert!(!draft.is_complete());
    // What has other types than by the book is passed over.
    let odd = json!({"choices": [{"delta": {"content": 5, "tool_calls": 7}, "finish_reason": 1}], "usage": 1});
    event(&odd.to_string(), &mut Draft::new(&mut on)).unwrap();
}

#[test]
fn any_number_may_be_a_cost() {
    let chunk = |usage: &Value| json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage});
    let cost = |count: &Value| {
        json!({"prompt_tokens": count, "completion_tokens": count,
        "prompt_tokens_details": {"cached_tokens": count}})
    };
    let most = u64::MAX;
    let found = read(&[chunk(&cost(&json!(most)))]).unwrap().usage;
    assert_eq!((found.input, found.cached, found.output), (Some(most), Some(most), Some(most)));
    // What is no count does not count, and leaves what was said before.
    for odd in [json!(-1), json!(1.5), json!(1e30), json!("9"), json!([])] {
        let found = read(&[chunk(&cost(&odd))]).unwrap().usage;
        assert_eq!((found.input, found.cached, found.output), (None, None, None), "{odd}");
        let found = read(&[chunk(&cost(&json!(3))), chunk(&cost(&odd))]).unwrap().usage;
        assert_eq!((found.input, found.cached, found.output), (Some(3), Some(3), Some(3)), "{odd}");
        assert_eq!(found.raw["prompt_tokens"], 3);
    }
}
