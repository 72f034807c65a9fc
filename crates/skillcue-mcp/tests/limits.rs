//! Limits over HTTP that no client gets around: without a session each request is a client of its own.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use common::web::{Reply, Running, request, run};
use common::{PATIENCE, initialize_params, meta, skills};
use serde_json::{Value, json};
use skillcue::Skillcue;
use skillcue::catalog::{FileListing, ViewRule};
use skillcue::tools::{Call, ToolContext, ToolDefinition, ToolOutput, ToolProvider};
use skillcue_mcp::server::{HANDLE_META, HttpOptions, HttpServer, ServedView, ServerOptions, SkillServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const LISTEN: [(&str, &str); 2] = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")];

fn listen(uris: &[String]) -> String {
    let params = json!({ "_meta": meta(), "notifications": { "resourceSubscriptions": uris } });
    request("subscriptions/listen", params).to_string()
}

fn hello() -> String {
    request("initialize", initialize_params()).to_string()
}

/// Sends bytes as they are, and returns the answer.
async fn raw(running: &Running, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("an answer").unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn head(headers: &[u8], body: &str) -> Vec<u8> {
    let usual = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
                 Accept: application/json, text/event-stream\r\n";
    [usual.as_bytes(), headers, format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes()].concat()
}

async fn metrics(running: &Running) -> String {
    running.ask("GET", "/metrics", &[], "").await.body
}

/// Runs a server with some views: `a`, which has the skill `pdf`, `b`, which has the rest, and others, which have all.
async fn run_views(names: &[&str], options: HttpOptions, tools: Option<Arc<dyn ToolProvider>>) -> Running {
    let skills = skills();
    let builder = Skillcue::builder().skills_dir(skills.path());
    let builder = tools.into_iter().fold(builder, skillcue::Builder::tools);
    let whole = Arc::new(builder.build().unwrap());
    let server = SkillServer::new(Arc::clone(&whole), ServerOptions::default());
    let pdf = || vec!["pdf".parse().unwrap()];
    let views = names.iter().map(|name| {
        let rule = match *name {
            "a" => ViewRule { skills: pdf(), ..ViewRule::default() },
            "b" => ViewRule { exclude_skills: pdf(), ..ViewRule::default() },
            _ => ViewRule::default(),
        };
        let server = server.for_view(*name, Arc::new(whole.view(rule)));
        ServedView { name: (*name).to_owned(), server, token: None }
    });
    let http = HttpServer::bind_views(views.collect(), options).await.unwrap();
    let (address, cancel) = (http.address(), CancellationToken::new());
    let serving = tokio::spawn(http.run(cancel.clone()));
    Running { address, cancel, serving, server, skills }
}

#[tokio::test]
async fn streams_of_all_clients_are_limited_together() {
    let mut options = HttpOptions::default();
    options.max_streams = 2;
    let running = run(options).await;
    let body = listen(&["skill://pdf/SKILL.md".to_owned()]);
    let mut streams = Vec::new();
    for count in 1..=2 {
        streams.push(running.open("POST", "/mcp", &LISTEN, &body).await);
        while running.server.listeners() < count {
            tokio::task::yield_now().await;
        }
    }
    let reply = running.ask("POST", "/mcp", &LISTEN, &body).await;
    assert_eq!((reply.status, reply.message()["id"].clone()), (503, json!(1)), "{}", reply.body);
    let message = reply.message()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("at most 2 for all clients"), "{message}");
    assert_eq!(running.modern("tools/list", json!({})).await.status, 200);
    // A stream that ends leaves its place.
    streams.pop();
    while running.server.listeners() > 1 {
        tokio::task::yield_now().await;
    }
    let again = running.open("POST", "/mcp", &LISTEN, &body).await;
    while running.server.listeners() < 2 {
        tokio::task::yield_now().await;
    }
    drop((streams, again));
    running.end().await;
}

#[tokio::test]
async fn requests_that_open_something_are_small() {
    let running = run(HttpOptions::default()).await;
    let uris: Vec<String> = (0..40).map(|at| format!("skill://x/{at:02000}")).collect();
    let mut large = initialize_params();
    large["clientInfo"]["name"] = "t".repeat(70_000).into();
    let large = request("initialize", large).to_string();
    for (headers, body) in [(LISTEN.as_slice(), listen(&uris)), (&[], large)] {
        let reply = running.ask("POST", "/mcp", headers, &body).await;
        assert_eq!((reply.status, reply.message()["id"].clone()), (413, json!(1)), "{}", reply.body);
        let message = reply.message()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("at most 65536 bytes"), "{message}");
    }
    // Headers are kept with the request, so they count.
    let (padding, half) = ("x".repeat(40_000), listen(&uris[..15]));
    let reply = running.ask("POST", "/mcp", &[&LISTEN[..], &[("X-Padding", &padding)]].concat(), &half).await;
    assert_eq!(reply.status, 413, "{}", reply.body);
    // A head has a limit of its own: the answer may be lost, as not all of the head is read, and no session is opened.
    let padding = format!("X-Padding: {}\r\n", "x".repeat(300_000));
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let (_, mut answer) = (stream.write_all(&[&head(padding.as_bytes(), "{}")[..], b"{}"].concat()).await, Vec::new());
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("the connection ends");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    let shown = metrics(&running).await;
    assert!(shown.contains("skillcue_sessions 0\n") && shown.contains("skillcue_streams 0\n"), "{shown}");
    let mut opened = running.open("POST", "/mcp", &LISTEN, &listen(&uris[..20])).await;
    let mut answer = [0; 12];
    opened.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    drop(opened);
    running.end().await;
}

#[tokio::test]
async fn a_session_header_that_is_no_text_opens_no_session() {
    let mut options = HttpOptions::default();
    options.max_sessions = 1;
    let running = run(options).await;
    running.session().await;
    let hello = hello();
    for headers in [b"Mcp-Session-Id: \xff\r\n".as_slice(), b"Mcp-Session-Id: \r\n", b"Mcp-Session-Id: a\xc3\xa4\r\n"] {
        let answer = raw(&running, &[&head(headers, &hello), hello.as_bytes()].concat()).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(answer.contains("visible ASCII"), "{answer}");
    }
    // Nor does a message whose method could be read in two ways.
    let twice = hello.replacen("\"method\"", "\"method\":\"ping\",\"method\"", 1);
    let answer = raw(&running, &[&head(b"", &twice), twice.as_bytes()].concat()).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(metrics(&running).await.contains("skillcue_sessions 1\n"));
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_are_opened_at_once_stay_within_the_limit() {
    let mut options = HttpOptions::default();
    options.max_sessions = 5;
    let running = Arc::new(run(options).await);
    let clients: Vec<_> = (0..40)
        .map(|_| {
            let running = Arc::clone(&running);
            tokio::spawn(async move { running.ask("POST", "/mcp", &[], &hello()).await.status })
        })
        .collect();
    let mut opened = 0;
    for client in clients {
        opened += usize::from(client.await.unwrap() == 200);
    }
    assert!((1..=5).contains(&opened), "{opened}");
    while running.ask("POST", "/mcp", &[], &hello()).await.status == 200 {
        opened += 1;
    }
    assert_eq!(opened, 5, "all places can be taken, one after another");
    Arc::into_inner(running).unwrap().end().await;
}

#[tokio::test]
async fn one_view_leaves_places_to_the_others() {
    let mut options = HttpOptions::default();
    (options.max_sessions, options.max_streams) = (4, 4);
    let running = run_views(&["a", "b"], options, None).await;
    let open = async |path: &str| running.ask("POST", path, &[], &hello()).await.status;
    let mut opened = Vec::new();
    for path in ["/mcp/a", "/mcp/a", "/mcp/a", "/mcp/a", "/mcp/b", "/mcp/b"] {
        opened.push(open(path).await);
    }
    assert_eq!(opened, [200, 200, 200, 503, 200, 503]);

    let mut streams = Vec::new();
    let mut statuses = Vec::new();
    for path in ["/mcp/a", "/mcp/a", "/mcp/a", "/mcp/a", "/mcp/b", "/mcp/b"] {
        let mut stream = running.open("POST", path, &LISTEN, &listen(&[])).await;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        statuses.push(String::from_utf8_lossy(&answer[9..]).into_owned());
        streams.push(stream);
    }
    assert_eq!(statuses, ["200", "200", "200", "503", "200", "503"]);
    drop(streams);
    running.end().await;
}

#[tokio::test]
async fn a_body_that_is_still_arriving_is_waited_for_at_the_end() {
    let mut options = HttpOptions::default();
    options.drain_timeout = PATIENCE;
    let running = run(options).await;
    let params = json!({ "name": "load_skill", "arguments": { "skill_id": "pdf" }, "_meta": meta() });
    let body = request("tools/call", params).to_string();
    let headers = b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: load_skill\r\n";
    let (first, rest) = body.split_at(body.len() / 2);
    let mut slow = TcpStream::connect(running.address).await.unwrap();
    slow.write_all(&[&head(headers, &body), first.as_bytes()].concat()).await.unwrap();
    while !metrics(&running).await.contains("skillcue_requests_in_flight 1\n") {
        tokio::task::yield_now().await;
    }
    running.cancel.cancel();
    while TcpStream::connect(running.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    // A server that does not wait has closed its sessions and streams by now.
    tokio::time::sleep(Duration::from_millis(200)).await;
    slow.write_all(rest.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(PATIENCE, slow.read_to_string(&mut answer)).await.expect("an answer").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("# PDF"), "{answer}");
    running.end().await;
}

#[tokio::test]
async fn a_single_view_is_opened_by_its_token_and_by_the_servers() {
    let skills = skills();
    let server = common::server(skills.path());
    let view = server.for_view("sales", Arc::clone(server.skillcue()));
    let view = ServedView { name: "sales".to_owned(), server: view, token: Some("own".to_owned()) };
    let mut options = HttpOptions::default();
    options.token = Some("main".to_owned());
    let http = HttpServer::bind_view(view, options).await.unwrap();
    assert_eq!(http.paths().collect::<Vec<_>>(), ["/mcp"]);
    let (address, cancel) = (http.address(), CancellationToken::new());
    let serving = tokio::spawn(http.run(cancel.clone()));
    let running = Running { address, cancel, serving, server, skills };
    for (token, status) in [("Bearer own", 200), ("Bearer main", 200), ("Bearer other", 401), ("", 401)] {
        let reply = running.ask("POST", "/mcp", &[("Authorization", token)], &hello()).await;
        assert_eq!(reply.status, status, "{token}: {}", reply.body);
    }
    running.end().await;
}

/// A tool that waits until it may end, unless its skill is `refunds`. Like scripts, it runs eight times at once, and is `busy`
/// beyond that.
#[derive(Debug, Default)]
struct SlowTool {
    waiting: AtomicUsize,
    may_end: AtomicBool,
    running: AtomicUsize,
}

impl ToolProvider for SlowTool {
    fn definitions(&self, _: &Skillcue, _: &[String]) -> Vec<ToolDefinition> {
        Vec::new()
    }

    fn brings_tools(&self, _: &Skillcue, _: &str, _: &FileListing) -> bool {
        true
    }

    fn call(&self, _: &Skillcue, call: &Call, context: &ToolContext<'_>) -> Option<ToolOutput> {
        if call.name() != "slow" {
            return None;
        }
        if self.running.fetch_add(1, Ordering::AcqRel) >= 8 {
            self.running.fetch_sub(1, Ordering::AcqRel);
            return Some(ToolOutput::from_text("busy".to_owned()));
        }
        if !context.loaded.iter().any(|name| name == "refunds") {
            self.waiting.fetch_add(1, Ordering::AcqRel);
            while !self.may_end.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.running.fetch_sub(1, Ordering::AcqRel);
        Some(ToolOutput::from_text("done".to_owned()))
    }
}

/// Calls a tool in a view.
async fn call(running: &Running, view: &str, tool: &str, arguments: Value, handle: Option<&str>) -> Reply {
    let mut meta = meta();
    if let Some(handle) = handle {
        meta[HANDLE_META] = handle.into();
    }
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
    running.ask("POST", &format!("/mcp/{view}"), &headers, &request("tools/call", params).to_string()).await
}

/// Loads a skill in a view, and returns the handle.
async fn load(running: &Running, view: &str, skill: &str) -> String {
    let loaded = call(running, view, "load_skill", json!({ "skill_id": skill }), None).await;
    let handle = loaded.message()["result"]["_meta"][HANDLE_META].as_str().unwrap_or_default().to_owned();
    assert!(!handle.is_empty(), "{}", loaded.body);
    handle
}

/// Loads a skill in a view, and begins to call the slow tool.
async fn call_slowly(running: &Arc<Running>, view: &'static str, skill: &str, times: usize) -> Vec<JoinHandle<Reply>> {
    let handle = load(running, view, skill).await;
    let client = |_| {
        let (running, handle) = (Arc::clone(running), handle.clone());
        tokio::spawn(async move { call(&running, view, "slow", json!({}), Some(&handle)).await })
    };
    (0..times).map(client).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_tools_of_one_view_leave_places_to_the_others() {
    let slow = Arc::new(SlowTool::default());
    let tools: Arc<dyn ToolProvider> = Arc::<SlowTool>::clone(&slow);
    let running = Arc::new(run_views(&["a", "b"], HttpOptions::default(), Some(tools)).await);
    let clients = call_slowly(&running, "a", "pdf", 12).await;
    while slow.waiting.load(Ordering::Acquire) < 4 {
        tokio::task::yield_now().await;
    }
    let handle = load(&running, "b", "refunds").await;
    let other = call(&running, "b", "slow", json!({}), Some(&handle)).await;
    assert!(other.body.contains("done"), "{}", other.body);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(slow.waiting.load(Ordering::Acquire), 4, "the others of the view are queued");
    slow.may_end.store(true, Ordering::Release);
    for client in clients {
        let reply = client.await.unwrap();
        assert!(reply.body.contains("done"), "{}", reply.body);
    }
    Arc::into_inner(running).unwrap().end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_third_busy_view_waits_for_its_turn() {
    let slow = Arc::new(SlowTool::default());
    let tools: Arc<dyn ToolProvider> = Arc::<SlowTool>::clone(&slow);
    let running = Arc::new(run_views(&["a", "c", "d"], HttpOptions::default(), Some(tools)).await);
    let mut clients = call_slowly(&running, "a", "pdf", 12).await;
    clients.extend(call_slowly(&running, "c", "pdf", 12).await);
    while slow.waiting.load(Ordering::Acquire) < 8 {
        tokio::task::yield_now().await;
    }
    // All that may run at once does; the calls of the third view are queued, and not refused.
    clients.extend(call_slowly(&running, "d", "pdf", 12).await);
    tokio::time::sleep(Duration::from_millis(100)).await;
    slow.may_end.store(true, Ordering::Release);
    for client in clients {
        let reply = client.await.unwrap();
        assert!(reply.body.contains("done"), "{}", reply.body);
    }
    Arc::into_inner(running).unwrap().end().await;
}
