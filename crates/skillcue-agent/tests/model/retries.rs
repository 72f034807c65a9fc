use std::net::TcpListener;
use std::time::Duration;

use skillcue_agent::Message;
use skillcue_agent::model::{Delta, ModelError, ModelRequest};
use skillcue_base::ErrorInfo as _;
use skillcue_scripted::{Reply, Server};
use tokio_util::sync::CancellationToken;

use crate::{APIS, ask, model, model_with, say};

#[tokio::test]
async fn passing_errors_are_retried() {
    for api in APIS {
        for status in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
            let server = Server::start(move |received| match received.number {
                1 => Reply::status(status).message("not now"),
                _ => Reply::text("now"),
            });
            let (answer, heard) = ask(&model(&server, api), &[Message::user("x")]).await;
            let answer = answer.unwrap();
            assert_eq!((answer.text.as_str(), answer.attempts, server.requests().len()), ("now", 2, 2), "{status}");
            assert!(heard[0].starts_with("Retry { attempt: 2, wait: 0ns") && heard[0].contains("not now"), "{heard:?}");
            let [first, second] = server.requests().try_into().unwrap();
            assert_eq!(first.raw, second.raw);
        }
    }
}

#[tokio::test]
async fn lasting_errors_are_not_retried() {
    for api in APIS {
        for (status, code) in [
            (307, "refused"),
            (400, "refused"),
            (401, "auth"),
            (402, "refused"),
            (403, "auth"),
            (404, "model_not_found"),
            (413, "too_long"),
            (422, "refused"),
        ] {
            let server = Server::start(move |_| Reply::status(status).message("never"));
            let error = say(&model(&server, api), "x").await.unwrap_err();
            assert_eq!((error.code(), error.attempts(), server.requests().len()), (code, 1, 1), "{status}: {error}");
            assert!(error.hint().is_some());
        }
    }
}

#[tokio::test]
async fn there_is_an_end_to_it() {
    for api in APIS {
        for (attempts, made) in [(0, 1), (1, 1), (3, 3)] {
            let server = Server::start(|_| Reply::status(503).message("still not"));
            let model = model_with(&server.url(), api, |timing| timing.attempts = attempts);
            let error = say(&model, "x").await.unwrap_err();
            assert_eq!((error.code(), error.attempts()), ("overloaded", made));
            assert_eq!(server.requests().len(), made as usize);
            assert!(error.to_string().contains("still not"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_server_says_how_long_it_wants_to_be_left_alone() {
    for api in APIS {
        for (name, value) in
            [("retry-after", "0"), ("retry-after-ms", "0"), ("Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT")]
        {
            let server = Server::start(move |received| match received.number {
                1 => Reply::status(429).header(name, value),
                _ => Reply::text("now"),
            });
            // Without the header an hour would be waited for, and is not.
            let model = model_with(&server.url(), api, |timing| {
                timing.backoff = Duration::from_hours(1);
                timing.most_backoff = Duration::from_hours(1);
            });
            let cancel = CancellationToken::new();
            let messages = [Message::user("x")];
            let request = ModelRequest { system: &[], tools: &[], messages: &messages, max_tokens: None };
            let mut on = |delta: Delta<'_>| {
                if let Delta::Retry { wait, .. } = delta
                    && !wait.is_zero()
                {
                    cancel.cancel();
                }
            };
            assert_eq!(model.ask(&request, &cancel, &mut on).await.unwrap().attempts, 2);
        }
        let server = Server::start(|_| Reply::status(429).header("retry-after", "3600").message("tomorrow"));
        let error = say(&model(&server, api), "x").await.unwrap_err();
        let ModelError::Overloaded { wait, attempts, status, .. } = &error else { panic!("{error:?}") };
        assert_eq!((*wait, *attempts, *status), (Some(Duration::from_hours(1)), 1, 429));
        assert!(error.to_string().contains("tomorrow; it wants to be asked again in 3600 s"), "{error}");
    }
}

#[tokio::test]
async fn many_clients_do_not_come_back_all_at_once() {
    let server = Server::start(|received| match received.number % 2 {
        1 => Reply::status(429).header("retry-after-ms", "20"),
        _ => Reply::text("now"),
    });
    let model = model(&server, APIS[0]);
    let messages = [Message::user("x")];
    let request = ModelRequest { system: &[], tools: &[], messages: &messages, max_tokens: None };
    let mut waits = std::collections::BTreeSet::new();
    for _ in 0..10 {
        let mut on = |delta: Delta<'_>| {
            if let Delta::Retry { wait, .. } = delta {
                waits.insert(wait);
            }
        };
        model.ask(&request, &CancellationToken::new(), &mut on).await.unwrap();
    }
    let wanted = Duration::from_millis(20)..=Duration::from_millis(22);
    assert!(waits.len() > 1 && waits.iter().all(|wait| wanted.contains(wait)), "{waits:?}");
}

#[tokio::test]
async fn an_error_in_the_stream_counts_as_its_status() {
    use skillcue_agent::model::Api;

    let openai = "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\ndata: ";
    let anthropic = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
        \"content_block\":{\"type\":\"text\",\"text\":\"half\"}}\n\nevent: error\ndata: ";
    for (api, error, passes) in [
        (Api::OpenAi, r#"{"error":{"message":"busy","code":503}}"#, true),
        (Api::OpenAi, r#"{"error":{"message":"no","code":400,"type":"invalid_request_error"}}"#, false),
        (Api::Anthropic, r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#, true),
        (Api::Anthropic, r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#, false),
    ] {
        let begin = if api == Api::OpenAi { openai } else { anthropic };
        let server = Server::start(move |received| match received.number {
            1 => Reply::body("text/event-stream", format!("{begin}{error}\n\n")),
            _ => Reply::text("whole"),
        });
        let (answer, heard) = ask(&model(&server, api), &[Message::user("x")]).await;
        assert_eq!(heard[0], "Text(\"half\")");
        if passes {
            // What came before the error does not count.
            assert_eq!(answer.unwrap().text, "whole");
            assert!(heard[1].starts_with("Retry") && heard[1].contains("busy"), "{heard:?}");
        } else {
            assert_eq!(answer.unwrap_err().code(), "refused");
        }
    }
}

#[tokio::test]
async fn there_is_no_server() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for api in APIS {
        let model = model_with(&format!("http://{free}"), api, |timing| timing.attempts = 3);
        let error = say(&model, "x").await.unwrap_err();
        assert_eq!((error.code(), error.attempts()), ("unreachable", 3));
        assert!(error.to_string().contains("connection refused"), "{error}");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_not_asked_again() {
    use std::io::{Read, Write};

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        let _ = stream.read(&mut buffer);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Until the client has gone, so that it reads all of it.
        while stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
    });
    let model = model_with(&format!("https://{address}"), APIS[0], |_| {});
    let error = say(&model, "x").await.unwrap_err();
    assert_eq!((error.code(), error.attempts()), ("unreachable", 1), "{error}");
    server.join().unwrap();
}
