use serde_json::json;
use skillcue::tools::ToolDefinition;

use super::*;
use crate::model::{Delta, ModelAnswer, SystemText};
use crate::{Piece, PieceOrigin, RequestPart, ToolCall, ToolResult};

fn read(events: &[Value]) -> Result<ModelAnswer, RequestError> {
    let mut on = |_: Delta<'_>| {};
    let mut draft = Draft::new(&mut on);
    for data in events {
        event(&data.to_string(), &mut draft)?;
    }
    assert!(draft.is_complete());
    Ok(draft.finish(&[], 1))
}

fn tool(name: &'static str) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        title: name.into(),
        description: "Does.".into(),
        input_schema: json!({"type": "object"}),
        read_only: true,
    }
}

#[test]
fn a_request_has_blocks_and_two_marks() {
    let mark = json!({"type": "ephemeral"});
    let system = [
        SystemText { part: RequestPart::System, text: "a".into() },
        SystemText { part: RequestPart::SkillsStable, text: "b".into() },
        SystemText { part: RequestPart::SkillsStable, text: " \n".into() },
    ];
    let piece = |text: &str| Piece {
        provider: PieceOrigin::Provider("p".into()),
        part: RequestPart::SkillsTurn,
        text: text.into(),
        skills: Vec::new(),
    };
    let calls = vec![
        ToolCall { id: "1".into(), name: "add".into(), arguments: "{ \"x\": 1 }".into() },
        ToolCall { id: "2".into(), name: "no.such".into(), arguments: "[]".into() },
    ];
    let results = vec![
        ToolResult { id: "1".into(), name: "add".into(), text: "\u{0}2\r\n".into(), is_error: false },
        ToolResult { id: "2".into(), name: "no.such".into(), text: String::new(), is_error: true },
    ];
    let messages = [
        Message::user("broken off"),
        Message::assistant(" "),
        Message::User { context: vec![piece("context\n\n"), piece("")], text: "words".into() },
        Message::Assistant { text: String::new(), calls },
        Message::results(results),
        Message::user("and?"),
    ];
    let tools = [tool("add"), tool("sub")];
    let request = ModelRequest { system: &system, tools: &tools, messages: &messages, max_tokens: None };
    let plain = json!({"name": "add", "description": "Does.", "input_schema": {"type": "object"}});
    let mut other = plain.clone();
    other["name"] = "sub".into();
    let expected = json!({
        "model": "m", "stream": true, "max_tokens": 8192,
        "system": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "cache_control": mark}],
        "tools": [plain, other],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "broken off"}, {"type": "text", "text": "context\n\n"},
                {"type": "text", "text": "words"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "add", "input": {"x": 1}},
                {"type": "tool_use", "id": "2", "name": "no_such_10644a73", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "\u{0}2\r\n"},
                {"type": "tool_result", "tool_use_id": "2", "is_error": true},
                {"type": "text", "text": "and?", "cache_control": mark}]},
        ],
    });
    assert_eq!(body(&request, &WireNames::new(&request, MAX_NAME), "m"), expected);

    // Without instructions the tools are marked, and without both only the conversation.
    let bare = ModelRequest { system: &[], tools: &tools, messages: &[Message::user(" ")], max_tokens: Some(5) };
    let written = body(&bare, &WireNames::new(&bare, MAX_NAME), "m");
    assert_eq!((&written["tools"][1]["cache_control"], written["tools"][0].get("cache_control")), (&mark, None));
    let nothing = json!([{"role": "user", "content": [{"type": "text", "text": "(nothing)", "cache_control": mark}]}]);
    assert_eq!((&written["messages"], &written["max_tokens"], written.get("system")), (&nothing, &json!(5), None));
}

#[test]
fn a_stream_is_read() {
    let mut heard = Vec::new();
    let mut on = |delta: Delta<'_>| heard.push(format!("{delta:?}"));
    let mut draft = Draft::new(&mut on);
    for data in [
        json!({"type": "message_start", "message": {"usage": {
            "input_tokens": 3, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 20, "output_tokens": 1}}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "a"}}),
        json!({"type": "content_block_start", "index": 2, "content_block":
            {"type": "tool_use", "id": "t1", "name": "add", "input": {}}}),
        json!({"type": "content_block_start", "index": 3, "content_block":
            {"type": "tool_use", "id": "t2", "name": "sub", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"x\":"}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "1}"}}),
        json!({"type": "new_event", "index": 9}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 7, "input_tokens": null}}),
        json!({"type": "message_stop"}),
    ] {
        event(&data.to_string(), &mut draft).unwrap();
    }
    assert!(draft.done);
    let answer = draft.finish(&[], 2);
    let calls: Vec<(&str, &str)> =
        answer.calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str())).collect();
    assert_eq!(calls, [("t1", "{\"x\":1}"), ("t2", "{}")]);
    assert_eq!((answer.text.as_str(), answer.stop, answer.attempts), ("a", FinishReason::Tools, 2));
    assert_eq!((answer.usage.input, answer.usage.cached, answer.usage.output), (Some(33), Some(20), Some(7)));
    assert_eq!(
        answer.usage.raw,
        json!({"input_tokens": 3, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 20, "output_tokens": 7})
    );
    assert_eq!(heard, ["Thinking(\"hm\")", "Text(\"a\")", "Call { name: \"add\" }", "Call { name: \"sub\" }"]);
}

/// llama.cpp begins so if the first character of the answer takes several tokens.
#[test]
fn a_stream_may_begin_in_the_middle() {
    let answer = read(&[
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "🦀"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}}),
        json!({"type": "message_stop"}),
    ])
    .unwrap();
    assert_eq!((answer.text.as_str(), answer.usage.input, answer.usage.output), ("🦀", None, Some(4)));
}

#[test]
fn why_it_stopped() {
    for (word, stop) in [
        ("end_turn", FinishReason::End),
        ("stop_sequence", FinishReason::End),
        ("max_tokens", FinishReason::Length),
        ("refusal", FinishReason::Refused),
        ("pause_turn", FinishReason::Other("pause_turn".into())),
    ] {
        let end = json!({"type": "message_delta", "delta": {"stop_reason": word}, "usage": {"output_tokens": 1}});
        assert_eq!(read(&[end]).unwrap().stop, stop);
    }
}

#[test]
fn errors_and_nonsense_in_a_stream() {
    let error = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "x"}});
    assert!(read(&[error("overloaded_error")]).is_err_and(|failed| failed.passes()));
    assert!(read(&[error("api_error")]).is_err_and(|failed| failed.passes()));
    assert!(read(&[error("invalid_request_error")]).is_err_and(|failed| !failed.passes()));
    assert!(read(&[json!({"error": {"message": "x"}})]).is_err_and(|failed| failed.passes()));
    assert!(read(&[json!([])]).is_err_and(|failed| !failed.passes()));
    let stray =
        json!({"type": "content_block_delta", "index": 4, "delta": {"type": "input_json_delta", "partial_json": "{"}});
    assert!(read(&[stray]).is_err());
}

#[test]
fn a_whole_answer_is_read() {
    let mut on = |_: Delta<'_>| {};
    let mut draft = Draft::new(&mut on);
    let answer = json!({
        "type": "message", "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 2},
        "content": [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "t", "name": "add", "input": {"x": 1}}],
    });
    whole(&answer, &mut draft).unwrap();
    let answer = draft.finish(&[], 1);
    assert_eq!((answer.text.as_str(), answer.calls[0].arguments.as_str()), ("a", "{\"x\":1}"));
    assert!(whole(&json!({}), &mut Draft::new(&mut on)).is_err());
    assert!(whole(&json!({"type": "error", "error": {"type": "api_error"}}), &mut Draft::new(&mut on)).is_err());
}

#[test]
fn any_number_may_be_a_cost() {
    let most = u64::MAX;
    let start = |usage: &Value| json!({"type": "message_start", "message": {"usage": usage}});
    let end = |usage: &Value| json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage});
    let usage = json!({"input_tokens": most, "cache_creation_input_tokens": most, "cache_read_input_tokens": most,
        "output_tokens": most});
    let found = read(&[start(&usage), end(&usage)]).unwrap().usage;
    assert_eq!((found.input, found.cached, found.output), (Some(most), Some(most), Some(most)));
    // What is no count does not count, and leaves what was said before.
    for odd in [json!(-1), json!(1.5), json!(1e30), json!("9"), json!([])] {
        let usage = json!({"input_tokens": odd, "cache_read_input_tokens": odd, "output_tokens": odd});
        let found = read(&[start(&usage), end(&usage)]).unwrap().usage;
        assert_eq!((found.input, found.cached, found.output), (None, None, None), "{odd}");
        let fine = json!({"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5});
        for usages in [[&fine, &usage], [&usage, &fine]] {
            let found = read(&[start(usages[0]), end(usages[1])]).unwrap().usage;
            assert_eq!((found.input, found.cached, found.output), (Some(7), Some(4), Some(5)), "{odd}");
        }
    }
}
