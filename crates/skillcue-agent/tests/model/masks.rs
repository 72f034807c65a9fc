//! A key that an answer repeats.

use serde_json::{Value, json};
use skillcue_agent::Message;
use skillcue_agent::model::{Api, FinishReason};
use skillcue_scripted::{Reply, Server};

use crate::{APIS, KEY, all_taken, ask, model, say};

/// Says a word in every place of an answer that has words.
fn repeats(word: &str) -> Reply {
    // JSON may be written with escapes, and means the same.
    let escaped = word.bytes().map(|byte| format!("\\u{byte:04x}")).collect::<Vec<_>>().concat();
    let calls = [
        ("call_1".to_owned(), "add".to_owned(), json!({"x": format!("a {word} b"), word: [word]})),
        ("call_2".to_owned(), "add".to_owned(), Value::String(format!("{{\"x\": \"{escaped}\"}}"))),
        ("call_3".to_owned(), "add".to_owned(), Value::String(format!("no JSON: {word}"))),
        (word.to_owned(), word.to_owned(), json!({})),
    ];
    Reply::calls(calls).saying(format!("It is {word}, or {word}")).thinking(format!("So {word} it is"))
}

#[tokio::test]
async fn is_hidden_however_it_is_cut() {
    for chunk in [1, 2, 3, 5, 7, 11, 24, 25, 26, 400] {
        let server = Server::start(move |_| repeats(KEY).in_chunks(chunk));
        for api in APIS {
            let (answer, heard) = ask(&model(&server, api), &[Message::user("x")]).await;
            let answer = answer.unwrap();
            assert_eq!(answer.text, "It is [key], or [key]", "{chunk}");
            let arguments: Vec<&str> = answer.calls.iter().map(|call| call.arguments.as_str()).collect();
            assert_eq!(
                arguments,
                [r#"{"[key]":["[key]"],"x":"a [key] b"}"#, r#"{"x":"[key]"}"#, "no JSON: [key]", "{}"],
                "{chunk}"
            );
            assert_eq!(answer.calls[3].name, "[key]");
            assert!(answer.calls[3].id.starts_with("call_"), "{:?}", answer.calls[3]);
            let of = |kind: &str| -> String {
                let pieces = heard.iter().filter_map(|delta| delta.strip_prefix(kind)?.strip_suffix("\")"));
                pieces.collect()
            };
            assert_eq!(
                (of("Text(\"").as_str(), of("Thinking(\"").as_str()),
                ("It is [key], or [key]", "So [key] it is")
            );
            let all = heard.concat() + &format!("{answer:?}");
            assert!(!all.contains(KEY) && !all.contains(&KEY[..8]), "{chunk}: {all}");
        }
        all_taken(&server);
    }
}

#[tokio::test]
async fn is_hidden_in_a_document_in_what_it_cost_and_in_why_it_stopped() {
    let usage = json!({"prompt_tokens": 1, "input_tokens": 1, KEY: KEY, "more": {"x": [KEY]}});
    let openai = json!({
        "choices": [{"index": 0, "message": {"role": "assistant", "content": KEY}, "finish_reason": KEY}],
        "usage": usage,
    });
    let anthropic = json!({
        "type": "message", "content": [{"type": "text", "text": KEY}], "stop_reason": KEY, "usage": usage,
    });
    for (api, document) in [(Api::OpenAi, openai), (Api::Anthropic, anthropic)] {
        let server = Server::start(move |_| Reply::body("application/json", document.to_string()));
        let answer = say(&model(&server, api), "x").await.unwrap();
        assert_eq!((answer.text.as_str(), &answer.stop), ("[key]", &FinishReason::Other("[key]".into())));
        assert_eq!(answer.usage.raw["[key]"], "[key]");
        assert_eq!((answer.usage.input, &answer.usage.raw["more"]["x"][0]), (Some(1), &json!("[key]")));
    }
}

/// Text that is no key is not hidden, also if it begins like one and ends the answer.
#[tokio::test]
async fn nothing_else_is_hidden() {
    for word in ["sk-very-secret-0123456788", "sk-very-secret-012345678", "sk-", "[key]"] {
        for chunk in [1, 4, 400] {
            let server = Server::start(move |_| repeats(word).in_chunks(chunk));
            for api in APIS {
                let (answer, heard) = ask(&model(&server, api), &[Message::user("x")]).await;
                let answer = answer.unwrap();
                assert_eq!(answer.text, format!("It is {word}, or {word}"));
                assert_eq!(answer.calls[0].arguments, json!({"x": format!("a {word} b"), word: [word]}).to_string());
                let said: String =
                    heard.iter().filter_map(|delta| delta.strip_prefix("Text(\"")?.strip_suffix("\")")).collect();
                assert_eq!(said, answer.text);
            }
        }
    }
}
