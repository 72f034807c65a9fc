use std::sync::Mutex;

use skillcue_agent::Message;
use skillcue_agent::model::{Api, Endpoint, Model, ModelError, Overrides, Secret};
use skillcue_base::ErrorInfo as _;
use skillcue_scripted::{Received, Reply, Server};

use crate::{APIS, KEY, ask, model, say};

/// A server's answers that repeat the key that it was sent.
fn echoes(received: &Received) -> Vec<Reply> {
    let key = received.header("authorization").or(received.header("x-api-key")).unwrap().to_owned();
    let stream = |text: String| Reply::body("text/event-stream", text);
    vec![
        Reply::status(400).message(format!("no {key} no")),
        Reply::status(401).message(format!("Incorrect API key provided: {key}.")),
        Reply::status(404).message(key.clone()),
        Reply::status(413).message(key.clone()),
        Reply::status(500).message(format!("{}{key}", "x".repeat(490))),
        Reply::status(307).header("location", format!("http://elsewhere/?key={key}")),
        Reply::status(429).header("retry-after", "9999").message(key.clone()),
        Reply::body(format!("text/{key}"), ""),
        Reply::body("application/json", format!("{{\"error\":{{\"message\":\"{key}\"}}}}")),
        Reply::body("application/json", format!("{{\"error\":\"{key}\"}}")),
        Reply::body("application/json", format!("\"{key}\"")),
        stream(format!("data: {{\"error\":{{\"message\":\"{key}\",\"code\":400}}}}\n\n")),
        stream(format!("data: {{\"type\":\"error\",\"error\":{{\"type\":\"{key}\",\"message\":\"{key}\"}}}}\n\n")),
        stream(format!("data: {key}\n\n")),
        Reply::raw(format!("HTTP/1.1 {key}\r\n{key}\r\n\r\n{key}")),
        Reply::body("text/html", format!("<html>{key}</html>")),
    ]
}

#[tokio::test]
async fn the_key_is_never_shown() {
    for api in APIS {
        let count = Mutex::new(0);
        let server = Server::start(move |received| {
            let replies = echoes(received);
            let mut count = count.lock().unwrap();
            *count = received.last_user().parse().unwrap();
            replies[*count].clone()
        });
        let model = model(&server, api);
        let mut shown = vec![format!("{model:?} {:?}", model.endpoint())];
        for number in 0..16 {
            let (answer, heard) = ask(&model, &[Message::user(number.to_string())]).await;
            let error = answer.unwrap_err();
            shown.push(format!("{error} {error:?} {} {heard:?}", error.hint().unwrap()));
        }
        // Its place is shown: what is tested did come back.
        assert!(shown.iter().filter(|text| text.contains("[key]")).count() > 10, "{shown:?}");
        for text in shown {
            assert!(!text.contains(KEY) && !text.contains(&KEY[..12]), "{text}");
            assert!(text.len() < 8_000, "{text}");
        }
        // It was sent each time.
        assert!(server.requests().iter().all(|received| {
            received.headers.iter().any(|(name, value)| match api {
                Api::OpenAi => name == "authorization" && *value == format!("Bearer {KEY}"),
                Api::Anthropic => name == "x-api-key" && value == KEY,
            })
        }));
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    for api in APIS {
        let elsewhere = Server::start(|_| Reply::text("give me the key"));
        let url = elsewhere.url();
        let server = Server::start(move |_| Reply::status(307).header("location", format!("{url}/chat/completions")));
        let error = say(&model(&server, api), "x").await.unwrap_err();
        let ModelError::Refused { status: 307, says, .. } = &error else { panic!("{error:?}") };
        assert!(says.contains(&elsewhere.url()) && error.hint().unwrap().contains("redirects"), "{says}");
        assert!(elsewhere.requests().is_empty());
    }
}

#[tokio::test]
async fn keys_right_wrong_and_missing() {
    for api in APIS {
        let server = Server::with_key(KEY, |_| Reply::text("welcome"));
        assert_eq!(say(&model(&server, api), "x").await.unwrap().text, "welcome");
        for (key, words) in [(Some("wrong"), "refuses the key"), (None, "which has no key")] {
            let key = key.map(|key| Secret::new(key.to_owned()));
            let over = Overrides { api: Some(api), base_url: Some(server.url()), key };
            let model = Model::new(Endpoint::resolve("scripted", &over, &|_| None).unwrap()).unwrap();
            let error = say(&model, "x").await.unwrap_err();
            assert_eq!(error.code(), "auth");
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_told_apart() {
    for (api, text) in [
        (Api::OpenAi, "This model's maximum context length is 8192 tokens."),
        (Api::OpenAi, "the request exceeds the available context size, try increasing it"),
        (Api::Anthropic, "prompt is too long: 210000 tokens > 200000 maximum"),
    ] {
        let server = Server::start(move |_| Reply::status(400).message(text));
        let error = say(&model(&server, api), "x").await.unwrap_err();
        let ModelError::TooLong { model, says, attempts: 1 } = &error else { panic!("{error:?}") };
        assert_eq!((model.as_str(), says.as_str()), ("scripted", text));
    }
}

#[tokio::test]
async fn too_long_an_answer_is_refused() {
    let text = "'max_tokens' or 'max_completion_tokens' is too large: 100000. This model's maximum context length is \
        8192 tokens and your request has 50 input tokens (100000 > 8192 - 50).";
    let server = Server::start(move |_| Reply::status(400).message(text));
    for api in APIS {
        let error = say(&model(&server, api), "x").await.unwrap_err();
        assert_eq!((error.code(), error.attempts()), ("refused", 1));
        assert!(error.hint().unwrap().contains("shorter answer"), "{}", error.hint().unwrap());
    }
}

#[tokio::test]
async fn a_wrong_address_says_what_to_do() {
    for api in APIS {
        let server = Server::start(|_| Reply::text("x"));
        let over = Overrides { api: Some(api), base_url: Some(format!("{}/v1/chat", server.url())), key: None };
        let mut endpoint = Endpoint::resolve("m", &over, &|_| None).unwrap();
        endpoint.base_url = format!("{}/nowhere/x?y", server.url());
        assert_eq!(Model::new(endpoint.clone()).unwrap_err().code(), "bad_url");
        endpoint.base_url = server.url();
        endpoint.key = Some(Secret::new("a\u{7f}b".to_owned()));
        assert_eq!(Model::new(endpoint).unwrap_err().code(), "bad_key");
    }
}

#[tokio::test]
async fn words_from_a_server_cannot_forge_lines() {
    let text = "bad\n2026-01-01 INFO all is well\u{1b}[2J\u{202e}";
    for api in APIS {
        let server = Server::start(move |_| Reply::status(400).message(text));
        let shown = say(&model(&server, api), "x").await.unwrap_err().to_string();
        assert!(!shown.contains(['\n', '\u{1b}', '\u{202e}']), "{shown:?}");
        let long = Server::start(|_| Reply::status(400).message("x".repeat(1 << 20)));
        let shown = say(&model(&long, api), "x").await.unwrap_err().to_string();
        assert!(shown.len() < 700, "{}", shown.len());
    }
}
