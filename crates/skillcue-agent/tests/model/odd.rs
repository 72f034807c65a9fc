use std::cell::Cell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;
use skillcue_agent::model::{Api, FinishReason};
use skillcue_base::ErrorInfo as _;
use skillcue_scripted::{Reply, Server};

use crate::{APIS, all_taken, model, model_with, say, wire};

#[tokio::test]
async fn a_server_that_does_not_know_how_to_say_what_it_cost() {
    let server = Server::start(|received| {
        if received.body.get("stream_options").is_some() {
            Reply::status(400).message("Unrecognized request argument supplied: stream_options")
        } else {
            Reply::text("fine")
        }
    });
    // It does not count as a failure.
    let model = model_with(&server.url(), Api::OpenAi, |timing| timing.attempts = 1);
    let answer = say(&model, "x").await.unwrap();
    assert_eq!((answer.text.as_str(), answer.attempts, answer.usage.input), ("fine", 2, None));
    // And is remembered, by clones too.
    assert_eq!(say(&model.clone(), "x").await.unwrap().attempts, 1);
    assert_eq!(all_taken(&server).len(), 3);
}

#[tokio::test]
async fn a_server_that_refuses_for_ever_is_asked_twice() {
    let server = Server::start(|_| Reply::status(400).message("stream_options and everything else"));
    let error = say(&model(&server, Api::OpenAi), "x").await.unwrap_err();
    assert_eq!((error.code(), error.attempts(), server.requests().len()), ("refused", 2, 2));
}

#[tokio::test]
async fn a_server_that_does_not_stream() {
    let server = Server::start(|_| {
        Reply::calls([("call_1", "add", json!({"x": 1}))]).saying("so").thinking("hm").cached_usage(9, 4, 2).whole()
    });
    for api in APIS {
        let answer = say(&model(&server, api), "x").await.unwrap();
        assert_eq!((answer.text.as_str(), &answer.stop, answer.attempts), ("so", &FinishReason::Tools, 1));
        assert_eq!(answer.calls[0].arguments, "{\"x\":1}");
        assert_eq!((answer.usage.input, answer.usage.cached, answer.usage.output), (Some(9), Some(2), Some(4)));
    }
}

#[tokio::test]
async fn a_document_that_is_called_something_else() {
    let openai = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    let anthropic = r#"{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}"#;
    for (api, body) in [(Api::OpenAi, openai), (Api::Anthropic, anthropic)] {
        for kind in ["text/plain", "text/plain; charset=utf-8", "application/octet-stream", "text/event-stream", ""] {
            for before in ["", "\r\n  "] {
                let body = format!("{before}{body}\n");
                let server = Server::start(move |_| Reply::body(kind, body.clone()));
                let answer = say(&model(&server, api), "x").await.unwrap();
                assert_eq!(
                    (answer.text.as_str(), answer.stop, answer.attempts),
                    ("hi", FinishReason::End, 1),
                    "{kind}"
                );
            }
        }
        let raw = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let server = Server::start(move |_| Reply::raw(raw.clone()));
        assert_eq!(say(&model(&server, api), "x").await.unwrap().text, "hi");
        // An error is one, whatever it is called, and half a document is cut.
        let server = Server::start(move |received| match received.number {
            1 => Reply::body("text/plain", &body[..body.len() - 2]),
            _ => Reply::body("text/plain", r#"{"error":{"message":"no","type":"invalid_request_error"}}"#),
        });
        let error = say(&model(&server, api), "x").await.unwrap_err();
        assert_eq!((error.code(), error.attempts()), ("refused", 2));
    }
}

#[tokio::test]
async fn a_stream_may_be_written_with_other_line_ends() {
    for api in APIS {
        for end in ["\r\n", "\r"] {
            let bytes = Reply::text("größe").in_chunks(1).bytes(wire(api));
            let text = format!("\u{feff}{}", String::from_utf8(bytes).unwrap().replace('\n', end));
            let server = Server::start(move |_| Reply::body("text/event-stream", text.clone()));
            assert_eq!(say(&model(&server, api), "x").await.unwrap().text, "größe");
        }
    }
}

#[tokio::test]
async fn too_much_is_refused() {
    let comments = ": nothing\n\n".repeat((33 << 20) / 11);
    let event = format!("data: {}\n\n", "x".repeat(5 << 20));
    let document = format!("{{\"x\":\"{}\"}}", "x".repeat(33 << 20));
    for (kind, body) in [("text/event-stream", comments), ("text/event-stream", event), ("application/json", document)]
    {
        let server = Server::start(move |_| Reply::body(kind, body.clone()));
        for api in APIS {
            let error = say(&model(&server, api), "x").await.unwrap_err();
            assert_eq!((error.code(), error.attempts()), ("too_large", 1), "{error}");
        }
    }
}

#[tokio::test]
async fn a_web_page_is_no_answer() {
    let server = Server::start(|_| Reply::body("text/html; charset=utf-8", "<html>Log in</html>"));
    for api in APIS {
        let error = say(&model(&server, api), "x").await.unwrap_err();
        assert_eq!((error.code(), error.attempts()), ("malformed", 1));
        assert!(error.to_string().contains("text/html"), "{error}");
    }
}

/// Asks servers that answer so, the same ones every time, and counts answers and errors. Both have to be well formed.
fn each<T: std::fmt::Debug + Clone + Send + Sync + 'static>(
    strategy: &impl Strategy<Value = T>,
    reply: impl Fn(&T) -> Reply + Clone + Send + Sync + 'static,
) -> (usize, usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = Config { failure_persistence: None, cases: 60, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let (answers, errors) = (Cell::new(0), Cell::new(0));
    runner
        .run(strategy, |value| {
            for api in APIS {
                let (reply, value) = (reply.clone(), value.clone());
                let server = Server::start(move |_| reply(&value));
                let model = model_with(&server.url(), api, |timing| timing.attempts = 2);
                match runtime.block_on(say(&model, "x")) {
                    Ok(answer) => {
                        let ids: BTreeSet<&str> = answer.calls.iter().map(|call| call.id.as_str()).collect();
                        prop_assert_eq!(ids.len(), answer.calls.len());
                        prop_assert!(answer.calls.iter().all(|call| !call.arguments.is_empty()), "{:?}", answer);
                        let has_stopped_so = match answer.stop {
                            FinishReason::End => answer.calls.is_empty(),
                            FinishReason::Tools => !answer.calls.is_empty(),
                            _ => true,
                        };
                        prop_assert!(has_stopped_so && (1..=2).contains(&answer.attempts), "{:?}", answer);
                        answers.set(answers.get() + 1);
                    }
                    Err(error) => {
                        let known =
                            ["malformed", "cut", "refused", "overloaded", "auth", "model_not_found", "too_long"];
                        prop_assert!(known.contains(&error.code()), "{:?}", error);
                        prop_assert!((1..=2).contains(&error.attempts()) && error.hint().is_some(), "{:?}", error);
                        errors.set(errors.get() + 1);
                    }
                }
                prop_assert!((1..=2).contains(&server.requests().len()));
            }
            Ok(())
        })
        .unwrap();
    (answers.get(), errors.get())
}

#[test]
fn garbage_is_an_error() {
    let bytes = prop::collection::vec(any::<u8>(), 0..200);
    assert_eq!(each(&bytes, |bytes| Reply::raw(bytes.clone())), (0, 120));
    assert_eq!(each(&bytes, |bytes| Reply::body("text/event-stream", bytes.clone())), (0, 120));
    assert_eq!(each(&bytes, |bytes| Reply::body("application/json", bytes.clone())), (0, 120));
    let event = |bytes: &Vec<u8>| Reply::body("text/event-stream", [b"data: ", bytes.as_slice(), b"\n\n"].concat());
    assert_eq!(each(&bytes, event), (0, 120));
    // What is no garbage is answered here, too.
    assert_eq!(each(&bytes, |_| Reply::text("fine")), (120, 0));
}

#[test]
fn damage_is_an_error_or_an_answer() {
    // Bytes of a good answer changed here and there.
    let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4);
    for wire in APIS.map(wire) {
        let bytes = Reply::calls([("call_1", "add", json!({"x": [1, null, "y"]}))]).saying("so").bytes(wire);
        let damaged = move |damage: &Vec<(prop::sample::Index, u8)>| {
            let mut bytes = bytes.clone();
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Reply::body("text/event-stream", bytes)
        };
        let (answers, errors) = each(&damage, damaged);
        // Half of the requests speak the other API.
        assert!(answers > 0 && errors > 60 && answers + errors == 120, "{answers} answers, {errors} errors");
    }
}

#[test]
fn json_of_any_shape_is_an_error_or_an_answer() {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|value| json!(value)),
        any::<i64>().prop_map(|value| json!(value)),
        "[a-z]{0,4}".prop_map(|value| json!(value)),
    ];
    let keys = prop::sample::select(vec![
        "choices",
        "delta",
        "content",
        "tool_calls",
        "function",
        "arguments",
        "index",
        "id",
        "name",
        "usage",
        "type",
        "error",
        "message",
        "content_block",
        "finish_reason",
        "stop_reason",
        "partial_json",
        "text",
    ]);
    let types = prop::sample::select(vec![
        "message_start",
        "content_block_start",
        "content_block_delta",
        "message_delta",
        "tool_use",
        "input_json_delta",
    ]);
    let leaf = prop_oneof![leaf, types.prop_map(|value| json!(value))];
    let value = leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|values| json!(values)),
            prop::collection::btree_map(keys.clone(), inner, 0..6).prop_map(|values| json!(values)),
        ]
    });
    let events = prop::collection::vec(value, 1..6);
    // Whatever came before, here it ends well, for both APIs.
    let last = json!({
        "type": "message_delta", "delta": {"stop_reason": "end_turn"},
        "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
    });
    for (is_ended, least) in [(false, 0), (true, 1)] {
        let last = last.clone();
        let (answers, errors) = each(&events, move |events| {
            let all = events.iter().chain(is_ended.then_some(&last));
            let lines: Vec<String> = all.map(|event| format!("data: {event}\n\n")).collect();
            Reply::body("text/event-stream", lines.concat())
        });
        assert!(answers >= least && errors > 0, "{answers} answers, {errors} errors");
    }
}
