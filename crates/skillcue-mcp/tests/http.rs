//! The server over HTTP, asked by a client that knows nothing but sockets.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::format_push_string, clippy::needless_pass_by_value, reason = "it reads better")]

mod common;

use common::web::{Running, request, run};
use common::{PATIENCE, initialize_params, meta};
use serde_json::{Value, json};
use skillcue::Changes;
use skillcue_mcp::server::HttpOptions;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

#[tokio::test]
async fn both_protocols_are_served() {
    let running = run(HttpOptions::default()).await;
    let id = running.session().await;
    let headers = [("Mcp-Session-Id", id.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
    let call = json!({ "name": "load_skill", "arguments": { "skill_id": "pdf" } });
    let reply = running.post(&headers, &request("tools/call", call.clone())).await;
    assert!(reply.message()["result"]["content"][0]["text"].as_str().unwrap().contains("skill_context"));
    let reply = running.post(&headers, &request("skills/list", json!({}))).await;
    assert_eq!(reply.message()["result"]["skills"].as_array().unwrap().len(), 3);
    assert!(reply.body.contains("\"version\":1.10}"), "{}", reply.body);
    let reply = running.post(&headers, &request("no/such", json!({}))).await;
    assert_eq!(reply.message()["error"]["code"], -32601);
    assert_eq!(running.ask("DELETE", "/mcp", &headers, "").await.status, 200, "202 would be a failure to clients");
    assert_eq!(running.post(&headers, &request("tools/list", json!({}))).await.status, 404);

    let reply = running.modern("tools/call", call).await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert!(reply.message()["result"]["content"][0]["text"].as_str().unwrap().contains("skill_context"));
    let reply = running.modern("resources/read", json!({ "uri": "skill://pdf/reference.md" })).await;
    assert_eq!(reply.message()["result"]["contents"][0]["text"], "# Reference\n");
    let reply = running.modern("skills/get", json!({ "uri": "skill://pdf/SKILL.md" })).await;
    assert_eq!(reply.message()["result"]["skill"]["frontmatter"]["name"], "pdf", "{}", reply.body);
    assert!(reply.body.contains("\"version\":1.10}"), "{}", reply.body);
    let reply = running.modern("no/such", json!({})).await;
    assert_eq!((reply.status, reply.message()["error"]["code"].clone()), (404, json!(-32601)));
    assert_eq!(running.server.listeners(), 0, "no listener is left behind");
    running.end().await;
}

#[tokio::test]
async fn tokens_hosts_and_origins_are_checked() {
    let mut options = HttpOptions::default();
    options.token = Some("s3cret".to_owned());
    options.allowed_hosts = vec!["skills.example".to_owned()];
    options.allowed_origins = vec!["https://app.example:443".to_owned()];
    let running = run(options).await;
    let hello = request("initialize", initialize_params());
    let token = ("Authorization", "Bearer s3cret");
    for wrong in [vec![], vec![("Authorization", "Bearer s3cre")], vec![("Authorization", "Basic s3cret")]] {
        let reply = running.post(&wrong, &hello).await;
        assert_eq!(reply.status, 401);
        assert!(reply.header("www-authenticate").unwrap().starts_with("Bearer"));
    }
    assert_eq!(running.post(&[token], &hello).await.status, 200);
    for (name, value, status) in [
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://localhost:1234", 200),
        ("Origin", "http://127.0.0.1", 200),
        ("Origin", "http://[::1]:99", 200),
        ("Origin", "https://app.example", 200),
        ("Origin", "http://app.example", 403),
        ("Origin", "http://[::1].evil.com", 403),
        ("Origin", "http://[::1].evil.com:80", 403),
        ("Origin", "http://localhost.evil.com", 403),
        ("Origin", "http://localhost@evil.com", 403),
        ("Origin", "http://evil.com@localhost", 403),
        ("Origin", "http://localhost:1234/", 403),
        ("Origin", "http://[localhost]", 403),
        ("Origin", "", 403),
        ("Host", "[::1]:99", 200),
        ("Host", "[::1].evil.com", 400),
        ("Host", "evil.com@localhost", 400),
        ("Host", "evil.example", 403),
        ("Host", "skills.example", 200),
        ("Host", "localhost:80", 200),
    ] {
        assert_eq!(running.post(&[token, (name, value)], &hello).await.status, status, "{name}: {value}");
    }
    let origins = [token, ("Origin", "http://localhost"), ("Origin", "http://evil.com")];
    assert_eq!(running.post(&origins, &hello).await.status, 403, "more than one");
    // A target that names a host must name the one of the Host header.
    let (port, hello) = (running.address.port(), hello.to_string());
    for (target, host, status) in [
        (format!("http://127.0.0.1:{port}/mcp"), format!("127.0.0.1:{port}"), 200),
        ("http://SKILLS.example/mcp".to_owned(), "skills.example:80".to_owned(), 200),
        ("http://evil.com/mcp".to_owned(), format!("127.0.0.1:{port}"), 400),
        ("http://evil.com/health".to_owned(), format!("127.0.0.1:{port}"), 400),
        (format!("http://127.0.0.1:{}/mcp", port ^ 1), format!("127.0.0.1:{port}"), 400),
        ("http://[::1].evil.com/mcp".to_owned(), "[::1]".to_owned(), 400),
        ("http://evil.com/mcp".to_owned(), "evil.com".to_owned(), 403),
    ] {
        let reply = running.ask("POST", &target, &[token, ("Host", &host)], &hello).await;
        assert_eq!(reply.status, status, "{target} {host}: {}", reply.body);
    }
    // Whether the server is there is no secret.
    let health = running.ask("GET", "/health", &[], "").await;
    assert_eq!((health.status, health.body.as_str()), (200, "ok"));
    for (method, path) in [("GET", "/"), ("POST", "/health"), ("POST", "/mcp/x"), ("GET", "/mc")] {
        assert_eq!(running.ask(method, path, &[token], "").await.status, 404, "{method} {path}");
    }
    running.end().await;
}

#[tokio::test]
async fn malformed_messages_are_answered() {
    let running = run(HttpOptions::default()).await;
    for (body, code) in [("garbage", -32700), ("", -32700), ("[]", -32600), ("{}", -32600)] {
        let reply = running.ask("POST", "/mcp", &[], body).await;
        assert_eq!((reply.status, reply.message()["error"]["code"].clone()), (400, json!(code)), "{body}");
    }
    assert_eq!(running.ask("POST", "/mcp", &[("Content-Type", "text/plain")], "{}").await.status, 415);
    assert_eq!(running.ask("POST", "/mcp", &[("Accept", "text/html")], "{}").await.status, 406);
    assert_eq!(running.ask("PUT", "/mcp", &[], "{}").await.status, 405);
    running.end().await;
}

#[tokio::test]
async fn large_requests_are_refused() {
    let mut options = HttpOptions::default();
    options.max_body = 1_000;
    let running = run(options).await;
    assert_eq!(running.ask("POST", "/mcp", &[], &" ".repeat(1_001)).await.status, 413);
    // The length is not declared beforehand.
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        running.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(format!("800\r\n{}\r\n", " ".repeat(0x800)).as_bytes()).await.unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await.unwrap();
    assert!(line.contains("413"), "{line}");
    // A client that writes everything before reading sees the answer, too.
    for sent in [&format!("Content-Length: {}", 32 << 20), "Transfer-Encoding: chunked"] {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        let head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\n{sent}\r\n\r\n", running.address);
        stream.write_all(head.as_bytes()).await.unwrap();
        let is_chunked = sent.contains("chunked");
        let chunk = " ".repeat(1 << 20);
        for _ in 0..32 {
            let part = if is_chunked { format!("{:x}\r\n{chunk}\r\n", chunk.len()) } else { chunk.clone() };
            stream.write_all(part.as_bytes()).await.unwrap();
        }
        if is_chunked {
            stream.write_all(b"0\r\n\r\n").await.unwrap();
        }
        let mut text = String::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut text));
        read.await.expect("an answer").unwrap();
        assert!(text.starts_with("HTTP/1.1 413"), "{text}");
        assert!(text.ends_with("exceeds 1000 bytes"), "{text}");
    }
    let reply = running.modern("tools/list", json!({})).await;
    assert_eq!(reply.status, 200);
    running.end().await;
}

#[tokio::test]
async fn there_are_only_so_many_sessions() {
    let mut options = HttpOptions::default();
    options.max_sessions = 2;
    let running = run(options).await;
    let first = running.session().await;
    running.session().await;
    let reply = running.post(&[], &request("initialize", initialize_params())).await;
    assert_eq!((reply.status, reply.message()["id"].clone()), (503, json!(1)));
    assert_eq!(running.modern("tools/list", json!({})).await.status, 200, "which needs no session");
    running.ask("DELETE", "/mcp", &[("Mcp-Session-Id", &first)], "").await;
    running.session().await;
    running.end().await;
}

/// Opens a connection and sends what is given, and no more.
async fn half_open(running: &Running, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Waits until the server closes the connection, and returns what it said before.
async fn until_closed(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection that is reset is closed, too.
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("the server closes it");
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn requests_that_never_come_take_no_place_from_others() {
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let halves = [head.to_owned(), format!("{head}Content-Length: 100\r\n\r\n{{"), String::new()];
    for half in halves {
        let mut options = HttpOptions::default();
        options.max_connections = 6;
        let running = run(options).await;
        let mut waiting = Vec::new();
        for _ in 0..50 {
            waiting.push(half_open(&running, &half).await);
        }
        let health = running.ask("GET", "/health", &[], "").await;
        assert_eq!((health.status, health.body.as_str()), (200, "ok"), "{half:?}");
        assert_eq!(running.modern("tools/list", json!({})).await.status, 200, "{half:?}");
        assert_eq!(until_closed(&mut waiting[0]).await, "", "the first has made room");
        // To wait is no offence: one that goes on in time is answered.
        let mut late = half_open(&running, "GET /health HTTP/1.1\r\nHost: localhost\r\n").await;
        late.write_all(b"Connection: close\r\n\r\n").await.unwrap();
        assert!(until_closed(&mut late).await.ends_with("ok"), "{half:?}");
        // The server would wait for them.
        drop(waiting);
        running.end().await;
    }
}

#[tokio::test]
async fn a_head_that_takes_too_long_ends_its_connection() {
    let mut options = HttpOptions::default();
    options.head_timeout = std::time::Duration::from_millis(20);
    let running = run(options).await;
    let mut slow = half_open(&running, "GET /health HTTP/1.1\r\nHost: localhost\r\n").await;
    let said = until_closed(&mut slow).await;
    assert!(!said.contains("200 OK"), "{said}");
    // With the usual limit the same connection is still there when another has been answered.
    running.end().await;
    let running = run(HttpOptions::default()).await;
    let mut slow = half_open(&running, "GET /health HTTP/1.1\r\nHost: localhost\r\n").await;
    assert_eq!(running.ask("GET", "/health", &[], "").await.status, 200);
    slow.write_all(b"Connection: close\r\n\r\n").await.unwrap();
    assert!(until_closed(&mut slow).await.ends_with("ok"));
    running.end().await;
}

#[tokio::test]
async fn requests_under_way_keep_their_places_and_health_has_one_left() {
    let mut options = HttpOptions::default();
    // Three places, and three more for health.
    options.max_connections = 6;
    let running = run(options).await;
    let listen =
        request("subscriptions/listen", json!({ "_meta": meta(), "notifications": { "resourcesListChanged": true } }));
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")];
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = running.open("POST", "/mcp", &headers, &listen.to_string()).await;
        event(&mut stream, "notifications/subscriptions/acknowledged").await;
        streams.push(stream);
    }
    for _ in 0..10 {
        assert_eq!(running.ask("GET", "/health", &[], "").await.body, "ok");
        let reply = running.modern("tools/list", json!({})).await;
        assert_eq!((reply.status, reply.header("connection")), (503, Some("close")), "{}", reply.body);
    }
    running.server.announce(&Changes { listing: true, updated: vec!["pdf".to_owned()], ..Changes::default() });
    for stream in &mut streams {
        event(stream, "notifications/resources/list_changed").await;
    }
    // A place that is left is there for the next.
    streams.pop();
    while running.modern("tools/list", json!({})).await.status == 503 {
        tokio::task::yield_now().await;
    }
    assert_eq!(running.modern("tools/list", json!({})).await.status, 200);
    running.end().await;
}

/// Reads a stream of events until one has a message of that method.
async fn event(stream: &mut BufReader<TcpStream>, method: &str) -> Value {
    loop {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_line(&mut line)).await.expect("an event").unwrap();
        assert!(read > 0, "the stream ended before {method}");
        let message = line.strip_prefix("data:").and_then(|data| serde_json::from_str::<Value>(data.trim()).ok());
        if let Some(message) = message.filter(|message| message["method"] == method) {
            return message;
        }
    }
}

#[tokio::test]
async fn changes_are_announced() {
    let running = run(HttpOptions::default()).await;
    let id = running.session().await;
    let headers = [("Mcp-Session-Id", id.as_str())];
    let mut legacy = running.open("GET", "/mcp", &headers, "").await;
    let watch = request("resources/subscribe", json!({ "uri": "skill://pdf/SKILL.md" }));
    assert!(running.post(&headers, &watch).await.message()["result"].is_object());

    let listen = request(
        "subscriptions/listen",
        json!({ "_meta": meta(), "notifications": { "resourcesListChanged": true, "resourceSubscriptions": ["skill://pdf/SKILL.md"] } }),
    );
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")];
    let mut modern = running.open("POST", "/mcp", &headers, &listen.to_string()).await;
    event(&mut modern, "notifications/subscriptions/acknowledged").await;
    while running.server.listeners() < 2 {
        tokio::task::yield_now().await;
    }
    running.server.announce(&Changes { listing: true, updated: vec!["pdf".to_owned()], ..Changes::default() });
    for stream in [&mut legacy, &mut modern] {
        event(stream, "notifications/resources/list_changed").await;
        let updated = event(stream, "notifications/resources/updated").await;
        assert_eq!(updated["params"]["uri"], "skill://pdf/SKILL.md");
    }
    drop(modern);
    while running.server.listeners() > 1 {
        tokio::task::yield_now().await;
    }
    running.ask("DELETE", "/mcp", &[("Mcp-Session-Id", &id)], "").await;
    while running.server.listeners() > 0 {
        tokio::task::yield_now().await;
    }
    running.end().await;
}

#[tokio::test]
async fn the_server_ends_while_streams_are_open() {
    let running = run(HttpOptions::default()).await;
    let id = running.session().await;
    let _stream = running.open("GET", "/mcp", &[("Mcp-Session-Id", id.as_str())], "").await;
    let server = running.server.clone();
    running.end().await;
    while server.listeners() > 0 {
        tokio::task::yield_now().await;
    }
}
