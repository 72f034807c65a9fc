use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use skillcue_agent::Message;
use skillcue_agent::model::{Api, FinishReason};
use skillcue_base::ErrorInfo as _;
use skillcue_scripted::{Reply, Server};

use crate::{APIS, ask, model, model_with, say, wire};

fn reply() -> Reply {
    Reply::calls([("call_1", "add", json!({"x": "ü"})), ("call_2", "sub", json!({}))]).saying("Ü 🦀.").in_chunks(6)
}

/// Returns the end of the event with the finish reason, with its blank line. From there on the answer is whole.
fn whole_at(bytes: &[u8], api: Api) -> usize {
    let text = std::str::from_utf8(bytes).unwrap();
    let word = if api == Api::OpenAi { "\"finish_reason\":\"tool_calls\"" } else { "\"stop_reason\":\"tool_use\"" };
    let at = text.find(word).unwrap();
    at + text[at..].find("\n\n").unwrap() + 2
}

#[tokio::test]
async fn a_cut_anywhere_leads_to_a_second_request_and_the_right_answer() {
    for api in APIS {
        let bytes = reply().bytes(wire(api));
        let whole = whole_at(&bytes, api);
        for until_close in [false, true] {
            let cut = Mutex::new(BTreeSet::new());
            let server = Server::start(move |received| {
                let at: usize = received.last_user().parse().unwrap();
                let first = cut.lock().unwrap().insert(at);
                let reply = if until_close { reply().until_close() } else { reply() };
                if first { reply.cut_after(at) } else { reply }
            });
            let model = model(&server, api);
            let expected = say(&model, &bytes.len().to_string()).await.unwrap();
            assert_eq!((expected.attempts, expected.text.as_str(), &expected.stop), (1, "Ü 🦀.", &FinishReason::Tools));
            // The server writes the model's name where `bytes` does, and it is as long.
            // Without a length a cut looks like an end, and only the events tell: the blank line may be missing. With
            // one, any cut is an error.
            let whole = if until_close { whole - 2 } else { whole };
            for at in (0..bytes.len()).step_by(if until_close { 1 } else { 5 }) {
                let (answer, heard) = ask(&model, &[Message::user(at.to_string())]).await;
                let answer = answer.unwrap_or_else(|error| panic!("{api:?} cut at {at}: {error}"));
                assert_eq!(answer.attempts, if at < whole { 2 } else { 1 }, "{api:?} cut at {at}");
                assert_eq!((&answer.text, &answer.calls), (&expected.text, &expected.calls), "{api:?} cut at {at}");
                assert_eq!(answer.stop, expected.stop);
                let again = heard.iter().filter(|delta| delta.starts_with("Retry")).count();
                assert_eq!(again, usize::from(at < whole));
            }
        }
    }
}

#[tokio::test]
async fn a_cut_in_the_head_too() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5\r\ndata:";
    let seen = Mutex::new(BTreeSet::new());
    let server = Server::start(move |received| {
        let at: usize = received.last_user().parse().unwrap();
        if seen.lock().unwrap().insert(at) { Reply::raw(&head.as_bytes()[..at]) } else { reply() }
    });
    let model = model(&server, Api::OpenAi);
    for at in 0..head.len() {
        let answer = say(&model, &at.to_string()).await.unwrap_or_else(|error| panic!("cut at {at}: {error}"));
        assert_eq!((answer.attempts, answer.calls.len()), (2, 2), "cut at {at}");
    }
}

#[tokio::test]
async fn an_answer_that_is_always_cut_is_an_error() {
    for api in APIS {
        let server = Server::start(|_| reply().cut_after(300));
        let error = say(&model(&server, api), "x").await.unwrap_err();
        assert_eq!((error.code(), error.attempts(), server.requests().len()), ("cut", 5, 5));
    }
}

#[tokio::test]
async fn a_whole_document_may_be_cut_too() {
    for (api, close) in APIS.into_iter().zip([false, true]) {
        let server = Server::start(move |received| {
            let reply = if close { reply().whole().until_close() } else { reply().whole() };
            if received.number == 1 { reply.cut_after(99) } else { reply }
        });
        let answer = say(&model(&server, api), "x").await.unwrap();
        assert_eq!((answer.attempts, answer.calls.len()), (2, 2));
    }
}

#[tokio::test]
async fn the_last_event_may_end_with_the_body() {
    let openai = [
        r#"{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":""}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    ];
    let anthropic = [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
    ];
    for (api, [first, last]) in [(Api::OpenAi, openai), (Api::Anthropic, anthropic)] {
        for end in ["", "\n", "\r\n"] {
            let body = format!("data: {first}\n\ndata: {last}{end}");
            let server = Server::start(move |_| Reply::body("text/event-stream", body.clone()));
            let answer = say(&model(&server, api), "x").await.unwrap();
            assert_eq!((answer.text.as_str(), answer.stop, answer.attempts), ("hi", FinishReason::End, 1));
        }
        // Half an event is none.
        let half = format!("data: {first}\n\ndata: {}", &last[..last.len() - 1]);
        let server = Server::start(move |received| match received.number {
            1 => Reply::body("text/event-stream", half.clone()),
            _ => Reply::text("whole"),
        });
        let answer = say(&model(&server, api), "x").await.unwrap();
        assert_eq!((answer.text.as_str(), answer.attempts), ("whole", 2));
    }
}

/// Some servers give an empty reason with each piece.
#[tokio::test]
async fn an_empty_reason_to_stop_is_none() {
    let openai = r#"{"choices":[{"index":0,"delta":{"content":"The answer is "},"finish_reason":""}]}"#;
    let anthropic = r#"{"type":"message_delta","delta":{"stop_reason":""}}"#;
    for (api, event) in [(Api::OpenAi, openai), (Api::Anthropic, anthropic)] {
        let server = Server::start(move |received| match received.number {
            1 => Reply::body("text/event-stream", format!("data: {event}\n\n")),
            _ => Reply::text("The answer is 4."),
        });
        let answer = say(&model(&server, api), "x").await.unwrap();
        assert_eq!((answer.text.as_str(), answer.attempts), ("The answer is 4.", 2));
    }
}

/// The bytes that a server writes: something first, then one thing again and again, so often or until the client has gone, then the
/// rest.
#[derive(Clone, Copy)]
struct Drips {
    kind: &'static str,
    first: &'static str,
    drip: &'static str,
    times: usize,
    last: &'static str,
}

impl Drips {
    /// Repeats without end.
    fn of(drip: &'static str) -> Drips {
        Drips { kind: "text/event-stream", first: "", drip, times: usize::MAX, last: "" }
    }

    /// A server that does so to each of so many clients.
    fn start(self, clients: usize) -> (String, std::thread::JoinHandle<()>) {
        use std::io::{Read, Write};

        let Drips { kind, first, drip, times, last } = self;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            for _ in 0..clients {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 8192]);
                let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n{first}");
                let mut sent = stream.write_all(head.as_bytes());
                for _ in 0..times {
                    if sent.is_err() {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(10));
                    sent = stream.write_all(drip.as_bytes());
                }
                let _ = sent.and_then(|()| stream.write_all(last.as_bytes()));
            }
        });
        (url, server)
    }
}

fn says_for_ever(text: &'static str, clients: usize) -> (String, std::thread::JoinHandle<()>) {
    Drips::of(text).start(clients)
}

const COMMENT: &str = ": ping\n\n";
const PING: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
/// Events without content, as servers send them to show that they are there.
const EMPTY: [(Api, &str); 10] = [
    (Api::OpenAi, COMMENT),
    (Api::Anthropic, COMMENT),
    (Api::Anthropic, PING),
    (Api::OpenAi, "\n\n"),
    (Api::OpenAi, "data: {\"choices\":[]}\n\n"),
    (Api::OpenAi, "data: {\"choices\":[{\"index\":0,\"delta\":{}}]}\n\n"),
    (
        Api::OpenAi,
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}],\
         \"usage\":{\"prompt_tokens\":1}}\n\n",
    ),
    (
        Api::Anthropic,
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\"}}\n\n",
    ),
    (Api::Anthropic, "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}\n\n"),
    (
        Api::Anthropic,
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    ),
];

/// Why a server that drips is given up, if it may be idle for 200 ms.
async fn given_up(drips: Drips, api: Api) -> String {
    for _ in 0..20 {
        let (url, server) = drips.start(1);
        let model = model_with(&url, api, |timing| {
            timing.idle = Duration::from_millis(200);
            // Long after anything that is waited for here.
            timing.total = Duration::from_mins(2);
            timing.attempts = 1;
        });
        let error = say(&model, "x").await.unwrap_err();
        assert_eq!((error.code(), error.attempts()), ("cut", 1), "{error}");
        drop(model);
        tokio::task::spawn_blocking(move || server.join().unwrap()).await.unwrap();
        // On a busy machine the drips themselves may be late.
        if !error.to_string().contains("nothing came for") {
            return error.to_string();
        }
    }
    panic!("this machine is too busy to let anything drip")
}

/// Why each of these servers is given up, all at once.
async fn all_given_up(all: impl IntoIterator<Item = (Api, Drips)>) -> Vec<String> {
    futures_util::future::join_all(all.into_iter().map(|(api, drips)| given_up(drips, api))).await
}

#[tokio::test]
async fn a_server_that_is_only_there_is_not_waited_for_for_ever() {
    let errors = all_given_up(EMPTY.map(|(api, text)| (api, Drips::of(text)))).await;
    for (error, (_, text)) in errors.iter().zip(EMPTY) {
        assert!(error.contains("the server is there, but no content came for 2 s"), "{text}: {error}");
    }
}

#[tokio::test]
async fn after_the_first_words_what_says_nothing_is_not_waited_for() {
    let begun = |(api, text): (Api, &'static str)| {
        let first = match api {
            Api::OpenAi => "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Well\"}}]}\n\n",
            Api::Anthropic => {
                "data: {\"type\":\"content_block_delta\",\"index\":0,\
                 \"delta\":{\"type\":\"text_delta\",\"text\":\"Well\"}}\n\n"
            }
        };
        (api, Drips { first, ..Drips::of(text) })
    };
    let errors = all_given_up(EMPTY.map(begun)).await;
    for (error, (_, text)) in errors.iter().zip(EMPTY) {
        assert!(error.contains("no content came for 0.2 s"), "{text}: {error}");
    }
}

#[tokio::test]
async fn blanks_are_no_document() {
    let blanks = Drips { kind: "application/json", ..Drips::of(" \n") };
    let begun = Drips { first: "{\"choices\":", ..blanks };
    let all = APIS.into_iter().flat_map(|api| [(api, blanks), (api, begun)]);
    let errors = all_given_up(all).await;
    for (at, error) in errors.iter().enumerate() {
        let seconds = if at % 2 == 0 { "2 s" } else { "0.2 s" };
        assert!(error.contains(&format!("no content came for {seconds}")), "{error}");
    }
}

/// A sign of life keeps a server from being given up while its model reads a long request, and while it
/// writes arguments that come as a whole.
#[tokio::test]
async fn a_model_that_takes_its_time_is_waited_for() {
    let openai = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\
                  \"function\":{\"name\":\"add\",\"arguments\":\"\"}}]}}]}\n\n";
    let openai_rest = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\
                       \"function\":{\"arguments\":\"{\\\"x\\\":1}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n\
                       data: [DONE]\n\n";
    let anthropic = "data: {\"type\":\"content_block_start\",\"index\":0,\
                     \"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"add\",\"input\":{}}}\n\n";
    let anthropic_rest = "data: {\"type\":\"content_block_delta\",\"index\":0,\
                          \"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"x\\\":1}\"}}\n\n\
                          data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n\
                          data: {\"type\":\"message_stop\"}\n\n";
    let whole = [
        concat!(
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",",
            "\"function\":{\"name\":\"add\",\"arguments\":\"{\\\"x\\\":1}\"}}]},",
            "\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"
        ),
        concat!(
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":",
            "{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"add\",\"input\":{\"x\":1}}}\n\n",
            "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n",
            "data: {\"type\":\"message_stop\"}\n\n"
        ),
    ];
    // For longer than a second, which is what an idle server gets.
    let often = |drip| Drips { times: 130, ..Drips::of(drip) };
    let cases = [
        (Api::OpenAi, Drips { last: whole[0], ..often(COMMENT) }),
        (Api::OpenAi, Drips { last: whole[0], ..often(EMPTY[6].1) }),
        (Api::Anthropic, Drips { last: whole[1], ..often(PING) }),
        (Api::OpenAi, Drips { first: openai, last: openai_rest, ..often(COMMENT) }),
        (Api::Anthropic, Drips { first: anthropic, last: anthropic_rest, ..often(PING) }),
    ];
    let asked = cases.into_iter().map(|(api, drips)| async move {
        let (url, server) = drips.start(1);
        let model = model_with(&url, api, |timing| {
            timing.idle = Duration::from_secs(1);
            timing.attempts = 1;
        });
        let answer = say(&model, "x").await.unwrap();
        assert_eq!((answer.calls[0].arguments.as_str(), answer.attempts), ("{\"x\":1}", 1));
        drop(model);
        tokio::task::spawn_blocking(move || server.join().unwrap()).await.unwrap();
    });
    futures_util::future::join_all(asked).await;
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_not_asked_for_again() {
    let openai = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"and \"}}]}\n\n";
    let anthropic = "data: {\"type\":\"content_block_delta\",\"index\":0,\
        \"delta\":{\"type\":\"text_delta\",\"text\":\"and \"}}\n\n";
    for (api, text) in [(Api::OpenAi, openai), (Api::Anthropic, anthropic)] {
        let (url, server) = says_for_ever(text, 1);
        let model = model_with(&url, api, |timing| {
            timing.idle = Duration::from_secs(1);
            timing.total = Duration::from_secs(1);
        });
        let (answer, heard) = ask(&model, &[Message::user("x")]).await;
        let error = answer.unwrap_err();
        assert_eq!((error.code(), error.attempts()), ("cut", 1), "{error}");
        assert!(error.to_string().contains("not whole after 1 s"), "{error}");
        assert!(heard.iter().all(|delta| delta == "Text(\"and \")"), "{heard:?}");
        drop(model);
        tokio::task::spawn_blocking(move || server.join().unwrap()).await.unwrap();
    }
}

#[tokio::test]
async fn after_the_last_word_comments_do_not_count() {
    let openai = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n: ping\n\n";
    let anthropic = "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n";
    for (api, text) in [(Api::OpenAi, openai), (Api::Anthropic, anthropic)] {
        let (url, server) = says_for_ever(text, 1);
        let model = model_with(&url, api, |timing| {
            timing.idle = Duration::from_secs(1);
            timing.attempts = 1;
        });
        assert_eq!(say(&model, "x").await.unwrap().stop, FinishReason::End);
        drop(model);
        tokio::task::spawn_blocking(move || server.join().unwrap()).await.unwrap();
    }
}

#[tokio::test]
async fn waits_may_be_as_long_as_they_like() {
    let server = Server::start(|_| reply());
    for api in APIS {
        let model = model_with(&server.url(), api, |timing| {
            (timing.idle, timing.total, timing.connect) = (Duration::MAX, Duration::MAX, Duration::MAX);
        });
        assert_eq!(say(&model, "x").await.unwrap().calls.len(), 2);
    }
}

#[tokio::test]
async fn an_answer_that_is_whole_need_not_end() {
    for api in APIS {
        let whole = whole_at(&reply().bytes(wire(api)), api);
        let server = Server::start(move |_| reply().stalled_after(whole));
        let model = model_with(&server.url(), api, |timing| {
            timing.idle = Duration::from_secs(1);
            timing.attempts = 50;
        });
        let answer = say(&model, "x").await.unwrap();
        assert_eq!((answer.text.as_str(), answer.calls.len(), answer.stop), ("Ü 🦀.", 2, FinishReason::Tools));
    }
}

#[tokio::test]
async fn an_answer_that_stalls_is_asked_for_again() {
    for api in APIS {
        let server = Server::start(|received| match received.number {
            1 => Reply::stall(),
            2 => reply().stalled_after(400),
            _ => reply(),
        });
        let model = model_with(&server.url(), api, |timing| {
            timing.idle = Duration::from_millis(500);
            timing.attempts = 50;
        });
        let answer = say(&model, "x").await.unwrap();
        assert!(answer.attempts >= 3);
        assert_eq!(answer.calls.len(), 2);
        assert!(tokio::task::spawn_blocking(move || server.wait_for_disconnects(2)).await.unwrap());
    }
}
