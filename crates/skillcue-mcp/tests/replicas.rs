//! Servers without sessions: what a client has loaded travels with it, from replica to replica (O-4).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::web::{Reply, Running, request, run, run_server};
use common::{PATIENCE, meta, skills, write};
use serde_json::{Value, json};
use skillcue::Skillcue;
use skillcue::catalog::FileListing;
use skillcue::remote::{Remote, RemoteEntry, RemoteError};
use skillcue::tools::{Call, ToolContext, ToolDefinition, ToolOutput, ToolProvider, for_model};
use skillcue_mcp::server::{HANDLE_META, HandleKeys, HttpOptions, ServerOptions, SkillServer};
use tokio::sync::Notify;

const SECRET: &str = "a secret that every replica has, and nothing else";

/// A tool of every loaded skill that may be had by models: `stamp`. It waits until it is let go, if it is told to.
#[derive(Debug, Default)]
struct Stamp {
    waits: AtomicBool,
    has_begun: Notify,
    go: AtomicBool,
}

impl ToolProvider for Stamp {
    fn definitions(&self, skills: &Skillcue, loaded: &[String]) -> Vec<ToolDefinition> {
        let catalog = skills.catalog();
        let tool = ToolDefinition {
            name: "stamp".into(),
            title: "Stamp".into(),
            description: "Stamps.".into(),
            input_schema: json!({ "type": "object" }),
            read_only: false,
        };
        loaded.iter().any(|name| for_model(&catalog, name).is_ok()).then_some(tool).into_iter().collect()
    }

    fn brings_tools(&self, _: &Skillcue, skill: &str, _: &FileListing) -> bool {
        skill != "refunds"
    }

    fn call(&self, skills: &Skillcue, call: &Call, context: &ToolContext<'_>) -> Option<ToolOutput> {
        let catalog = skills.catalog();
        let has_loaded = context.loaded.iter().any(|name| for_model(&catalog, name).is_ok());
        if call.name() != "stamp" || !has_loaded {
            return None;
        }
        if self.waits.load(Ordering::Acquire) {
            self.has_begun.notify_one();
            while !self.go.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        }
        Some(ToolOutput::from_text(format!("stamped for {}", context.loaded.join(","))))
    }
}

fn server(dir: &Path, keys: HandleKeys, stamp: &Arc<Stamp>) -> SkillServer {
    let stamp: Arc<dyn ToolProvider> = Arc::<Stamp>::clone(stamp);
    let skills = Skillcue::builder().skills_dir(dir).tools(stamp).build().unwrap();
    SkillServer::new(Arc::new(skills), ServerOptions::new(keys))
}

async fn replica(keys: HandleKeys) -> Running {
    let skills = skills();
    let server = server(skills.path(), keys, &Arc::default());
    run_server(skills, server, HttpOptions::default()).await
}

fn shared() -> HandleKeys {
    HandleKeys::from_secrets(SECRET).unwrap()
}

/// Calls a tool as 2026-07-28 wants it, with a handle in the metadata if one is given.
async fn call(replica: &Running, tool: &str, arguments: Value, handle: Option<&str>) -> Reply {
    let mut meta = meta();
    if let Some(handle) = handle {
        meta[HANDLE_META] = handle.into();
    }
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
    replica.post(&headers, &request("tools/call", params)).await
}

fn text(reply: &Reply) -> String {
    reply.message()["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{}", reply.body)).to_owned()
}

fn handle(reply: &Reply) -> String {
    reply.message()["result"]["_meta"][HANDLE_META].as_str().unwrap_or_else(|| panic!("{}", reply.body)).to_owned()
}

#[tokio::test]
async fn skills_loaded_by_one_replica_are_known_to_another() {
    let (one, two) = (replica(shared()).await, replica(shared()).await);
    let loaded = call(&one, "load_skill", json!({ "skill_id": "pdf" }), None).await;
    let carried = handle(&loaded);
    let said = text(&loaded);
    assert!(said.contains("call_skill_tool") && said.contains(&carried), "a model can carry it: {said}");

    // As an argument, which a model repeats.
    let arguments = |more: Value| {
        let mut arguments = json!({ "skill_id": "pdf", "handle": carried });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let listed = call(&two, "call_skill_tool", arguments(json!({})), None).await;
    assert!(text(&listed).contains("- stamp: Stamps."), "{}", listed.body);
    assert_eq!(listed.message()["result"]["structuredContent"]["tools"][0]["name"], "stamp");
    let stamped = call(&two, "call_skill_tool", arguments(json!({ "tool": "stamp" })), None).await;
    assert_eq!(text(&stamped), "stamped for pdf");
    // In the metadata, which a program repeats; then the tool has its own name, too.
    let stamped = call(&two, "call_skill_tool", json!({ "skill_id": "pdf", "tool": "stamp" }), Some(&carried)).await;
    assert_eq!(text(&stamped), "stamped for pdf");
    assert_eq!(text(&call(&two, "stamp", json!({}), Some(&carried)).await), "stamped for pdf");
    let refused = call(&two, "stamp", json!({}), None).await;
    assert_eq!(refused.message()["error"]["code"], -32602, "{}", refused.body);

    // No text twice, and the way back to one that the client has dropped.
    let again = call(&two, "load_skill", json!({ "skill_id": "pdf" }), Some(&carried)).await;
    assert!(text(&again).contains("in this conversation already") && !text(&again).contains("# PDF"), "{}", again.body);
    let once_more = call(&one, "load_skill", json!({ "skill_id": "pdf" }), Some(&handle(&again))).await;
    assert!(text(&once_more).contains("# PDF"), "{}", once_more.body);

    // A load with arguments leaves the text known.
    let other = call(&one, "load_skill", json!({ "skill_id": "pdf", "arguments": "x" }), Some(&carried)).await;
    assert!(text(&other).contains("Read x."), "{}", other.body);
    let again = call(&two, "load_skill", json!({ "skill_id": "pdf" }), Some(&handle(&other))).await;
    assert!(text(&again).contains("in this conversation already"), "{}", again.body);

    // A second skill joins the first, and one that is unloaded leaves.
    let both = handle(&call(&one, "load_skill", json!({ "skill_id": "refunds" }), Some(&carried)).await);
    assert_eq!(text(&call(&two, "stamp", json!({}), Some(&both)).await), "stamped for pdf,refunds");
    let unloaded = call(&two, "unload_skill", json!({ "skill_id": "pdf" }), Some(&both)).await;
    assert_eq!(text(&call(&one, "stamp", json!({}), Some(&handle(&unloaded))).await), "stamped for refunds");
    let refunds = call(&one, "load_skill", json!({ "skill_id": "refunds" }), None).await;
    assert!(!text(&refunds).contains("call_skill_tool"), "a skill without tools needs no advice: {}", refunds.body);
    one.end().await;
    two.end().await;
}

#[tokio::test]
async fn the_list_of_tools_does_not_depend_on_earlier_calls() {
    let running = replica(shared()).await;
    let carried = handle(&call(&running, "load_skill", json!({ "skill_id": "pdf" }), None).await);
    let names = |reply: &Reply| {
        let tools = reply.message()["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let plain = names(&running.modern("tools/list", json!({})).await);
    assert_eq!(plain, ["load_skill", "search_skills", "read_skill_file", "call_skill_tool"]);
    let mut meta = meta();
    meta[HANDLE_META] = carried.into();
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];
    let reply = running.post(&headers, &request("tools/list", json!({ "_meta": meta }))).await;
    assert_eq!(names(&reply), plain);

    // A session has its own list.
    let id = running.session().await;
    let headers = [("Mcp-Session-Id", id.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
    assert_eq!(names(&running.post(&headers, &request("tools/list", json!({}))).await), plain[..3]);
    let asked = json!({ "name": "call_skill_tool", "arguments": { "skill_id": "pdf" } });
    let reply = running.post(&headers, &request("tools/call", asked)).await;
    assert_eq!(reply.message()["error"]["code"], -32602, "there is none in a session: {}", reply.body);
    running.end().await;
}

#[tokio::test]
async fn a_handle_that_is_not_ours_is_ignored_with_a_line() {
    let (ours, other) = (replica(shared()).await, replica(HandleKeys::generate().unwrap()).await);
    let good = handle(&call(&ours, "load_skill", json!({ "skill_id": "pdf" }), None).await);
    let mut forged = good.clone().into_bytes();
    forged[10] = if forged[10] == b'A' { b'B' } else { b'A' };
    let forged = String::from_utf8(forged).unwrap();
    for (replica, handle, reason) in [
        (&ours, forged.as_str(), "it was changed, or signed for another server or view"),
        (&other, good.as_str(), "it was changed, or signed for another server or view"),
        (&ours, "nonsense", "it is no handle, or not all of one"),
        (&ours, &"h1.".repeat(5_000), "it is longer than any handle"),
    ] {
        let arguments = json!({ "skill_id": "pdf", "tool": "stamp", "handle": handle });
        let refused = call(replica, "call_skill_tool", arguments, None).await;
        let said = text(&refused);
        assert_eq!(refused.status, 200);
        assert!(said.contains("not_loaded") && said.contains(reason) && said.contains("load_skill"), "{said}");
        // Calls that can do without go on.
        let loaded = call(replica, "load_skill", json!({ "skill_id": "pdf" }), Some(handle)).await;
        assert!(text(&loaded).contains("# PDF"), "{}", loaded.body);
        let logging = json!({
            "name": "load_skill",
            "arguments": { "skill_id": "pdf" },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/logLevel": "warning",
                HANDLE_META: handle,
            },
        });
        let headers =
            [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "load_skill")];
        let reply = replica.post(&headers, &request("tools/call", logging)).await;
        assert_eq!(reply.body.matches("the handle was ignored").count(), 1, "one line: {}", reply.body);
    }
    let metrics = ours.ask("GET", "/metrics", &[], "").await.body;
    assert!(metrics.contains("skillcue_handles_ignored_total{kind=\"not_signed\"} 3"), "{metrics}");
    ours.end().await;
    other.end().await;
}

#[tokio::test]
async fn a_handle_does_not_outlive_the_text_that_was_loaded() {
    let running = replica(shared()).await;
    let carried = handle(&call(&running, "load_skill", json!({ "skill_id": "pdf" }), None).await);
    let arguments = json!({ "skill_id": "pdf", "tool": "stamp", "handle": carried });
    assert_eq!(text(&call(&running, "call_skill_tool", arguments.clone(), None).await), "stamped for pdf");
    write(running.skills.path(), "pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF files.\n---\nOther.\n");
    running.server.skillcue().refresh();
    let said = text(&call(&running, "call_skill_tool", arguments.clone(), None).await);
    assert!(said.contains("not_loaded") && said.contains("has changed since it was loaded"), "{said}");
    let direct = call(&running, "stamp", json!({}), Some(&carried)).await;
    assert_eq!(direct.message()["error"]["code"], -32602, "by its own name neither: {}", direct.body);
    let loaded = call(&running, "load_skill", json!({ "skill_id": "pdf" }), Some(&carried)).await;
    assert!(text(&loaded).contains("Other."), "and the new text is sent: {}", loaded.body);

    // A skill that hides from models from now on is not found, whatever the handle says.
    let carried = handle(&loaded);
    let hidden = "---\nname: pdf\ndescription: Reads PDF files.\ndisable-model-invocation: true\n---\nOther.\n";
    write(running.skills.path(), "pdf/SKILL.md", hidden);
    running.server.skillcue().refresh();
    let arguments = json!({ "skill_id": "pdf", "tool": "stamp", "handle": carried });
    let said = text(&call(&running, "call_skill_tool", arguments, None).await);
    assert!(said.contains("not_found") && !said.contains("Other."), "{said}");
    assert!(call(&running, "stamp", json!({}), Some(&carried)).await.message()["error"].is_object());
    running.end().await;
}

#[tokio::test]
async fn the_generic_tool_calls_nothing_else() {
    let running = replica(shared()).await;
    let carried = handle(&call(&running, "load_skill", json!({ "skill_id": "pdf" }), None).await);
    for (arguments, code) in [
        (json!({ "skill_id": "pdf", "tool": "load_skill", "handle": carried }), "invalid_argument"),
        (json!({ "skill_id": "pdf", "tool": "call_skill_tool", "handle": carried }), "invalid_argument"),
        (json!({ "skill_id": "pdf", "tool": "nothing", "handle": carried }), "not_found"),
        (json!({ "skill_id": "pdf", "tool": "stamp", "arguments": "x", "handle": carried }), "invalid_argument"),
        (json!({ "skill_id": "pdf", "tool": "stamp", "handle": 7 }), "invalid_argument"),
        (json!({ "skill_id": "pdf", "tool": "stamp" }), "not_loaded"),
        (json!({ "skill_id": "refunds", "tool": "stamp", "handle": carried }), "not_loaded"),
        (json!({ "skill_id": "hidden", "tool": "stamp", "handle": carried }), "not_found"),
        (json!({ "tool": "stamp", "handle": carried }), "invalid_argument"),
    ] {
        let reply = call(&running, "call_skill_tool", arguments.clone(), None).await;
        assert!(text(&reply).contains(&format!("code=\"{code}\"")), "{arguments}: {}", reply.body);
        assert_eq!(reply.message()["result"]["isError"], true);
    }
    running.end().await;
}

#[tokio::test]
async fn a_session_that_is_elsewhere_is_not_found_and_says_what_to_do() {
    let running = run(HttpOptions::default()).await;
    let elsewhere =
        [("Mcp-Session-Id", "6f2d4c1e-0000-4000-8000-000000000000"), ("MCP-Protocol-Version", "2025-11-25")];
    for (method, body) in [("POST", request("tools/list", json!({})).to_string()), ("GET", String::new())] {
        let reply = running.ask(method, "/mcp", &elsewhere, &body).await;
        assert_eq!(reply.status, 404, "clients begin again: {}", reply.body);
        assert!(reply.body.contains("another replica") && reply.body.contains("initialize"), "{}", reply.body);
    }
    running.end().await;
}

/// A catalog that is configured, and of which nothing was read until it is let go.
#[derive(Debug, Default)]
struct Awaited {
    is_known: AtomicBool,
}

impl Remote for Awaited {
    fn label(&self) -> &'static str {
        "acme"
    }

    fn entries(&self) -> Arc<[Arc<RemoteEntry>]> {
        [].into()
    }

    fn is_allowed(&self, _: &RemoteEntry) -> bool {
        false
    }

    fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Acquire)
    }

    fn read(&self, _: &RemoteEntry, _: &str) -> Result<Vec<u8>, RemoteError> {
        Err(RemoteError::Unreachable("it is far away".to_owned()))
    }
}

#[tokio::test]
async fn a_replica_is_not_ready_before_its_catalogs_were_read_once() {
    let (tmp, acme): (_, Arc<Awaited>) = (skills(), Arc::default());
    let remote: Arc<dyn Remote> = Arc::<Awaited>::clone(&acme);
    let skillcue = Skillcue::builder().skills_dir(tmp.path()).remote(remote).build().unwrap();
    let server = SkillServer::new(Arc::new(skillcue), ServerOptions::default());
    let running = run_server(tmp, server, HttpOptions::default()).await;
    let ready = running.ask("GET", "/ready", &[], "").await;
    assert_eq!(
        (ready.status, ready.body.as_str()),
        (503, "not ready: nothing was read yet of the catalog acme"),
        "it has skills of its own"
    );
    assert_eq!(running.ask("GET", "/health", &[], "").await.status, 200);
    acme.is_known.store(true, Ordering::Release);
    assert_eq!(running.ask("GET", "/ready", &[], "").await.status, 200);
    running.end().await;
}

#[tokio::test]
async fn metrics_count_and_name_no_skill() {
    let running = replica(shared()).await;
    let ready = running.ask("GET", "/ready", &[], "").await;
    assert_eq!((ready.status, ready.body.as_str()), (200, "ready"));
    assert_eq!(running.ask("GET", "/health", &[], "").await.status, 200);
    call(&running, "load_skill", json!({ "skill_id": "pdf" }), None).await;
    call(&running, "load_skill", json!({ "skill_id": "no-such-skill" }), None).await;
    running.modern("resources/read", json!({ "uri": "skill://pdf/none.md" })).await;
    running.modern("made/up", json!({})).await;
    let session = running.session().await;
    assert_eq!(running.ask("POST", "/elsewhere", &[], "{}").await.status, 404);
    write(running.skills.path(), "new/SKILL.md", "---\nname: new\ndescription: New.\n---\nNew.\n");
    let before = running.server.skillcue().catalog();
    let after = running.server.skillcue().refresh();
    running.server.announce(&skillcue::Changes::between(&before, &after));

    let reply = running.ask("GET", "/metrics", &[], "").await;
    let metrics = reply.body.clone();
    assert!(reply.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    for line in [
        "skillcue_requests_total{method=\"tools/call\",outcome=\"ok\"} 2",
        "skillcue_requests_total{method=\"resources/read\",outcome=\"error\"} 1",
        "skillcue_requests_total{method=\"other\",outcome=\"error\"} 1",
        "skillcue_requests_total{method=\"other\",outcome=\"refused\"} 1",
        "skillcue_tool_calls_total{tool=\"load_skill\",outcome=\"ok\"} 1",
        "skillcue_tool_calls_total{tool=\"load_skill\",outcome=\"error\"} 1",
        "skillcue_request_seconds_count{method=\"tools/call\"} 2",
        "skillcue_requests_in_flight 0",
        "skillcue_sessions 1",
        "skillcue_draining 0",
        "skillcue_catalog_skills{view=\"\"} 7",
        "skillcue_catalog_refreshes_total{view=\"\"} 1",
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line}\n{metrics}");
    }
    let generation = format!("{:016x}", after.generation().0 >> 64);
    assert!(metrics.contains(&format!("generation=\"{generation}\"")), "{metrics}");
    assert!(!metrics.contains("pdf") && !metrics.contains("no-such"), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"));
    let forwarded = running.ask("GET", "/metrics", &[("X-Forwarded-For", "192.0.2.7")], "").await;
    assert_eq!(forwarded.status, 403, "a proxy on this machine passes nothing on");
    drop(session);
    running.end().await;
}

#[tokio::test]
async fn draining_finishes_what_has_begun_and_takes_nothing_new() {
    let skills = skills();
    let stamp = Arc::new(Stamp::default());
    stamp.waits.store(true, Ordering::Release);
    let server = server(skills.path(), shared(), &stamp);
    let mut options = HttpOptions::default();
    options.drain_delay = std::time::Duration::from_millis(300);
    options.drain_timeout = PATIENCE;
    let running = Arc::new(run_server(skills, server, options).await);

    // A session with a stream, a stream of the newer protocol, and calls under way in both.
    let id = running.session().await;
    let headers = [("Mcp-Session-Id", id.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
    let mut stream = running.open("GET", "/mcp", &headers, "").await;
    let mut listen = json!({ "notifications": { "toolsListChanged": true } });
    listen["_meta"] = meta();
    let modern = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")];
    let body = request("subscriptions/listen", listen).to_string();
    let mut listening = running.open("POST", "/mcp", &modern, &body).await;
    let carried = handle(&call(&running, "load_skill", json!({ "skill_id": "pdf" }), None).await);
    let load = json!({ "name": "load_skill", "arguments": { "skill_id": "pdf" } });
    running.post(&headers, &request("tools/call", load)).await;
    let (here, there) = (Arc::clone(&running), Arc::clone(&running));
    let by_handle = tokio::spawn(async move { call(&here, "stamp", json!({}), Some(&carried)).await });
    let by_session = tokio::spawn(async move {
        let headers = [("Mcp-Session-Id", id.as_str()), ("MCP-Protocol-Version", "2025-11-25")];
        there.post(&headers, &request("tools/call", json!({ "name": "stamp", "arguments": {} }))).await
    });
    stamp.has_begun.notified().await;
    while !running.ask("GET", "/metrics", &[], "").await.body.contains("skillcue_requests_in_flight 2\n") {
        tokio::task::yield_now().await;
    }

    running.cancel.cancel();
    let ready = loop {
        let ready = running.ask("GET", "/ready", &[], "").await;
        if ready.status != 200 {
            break ready;
        }
    };
    assert_eq!(ready.status, 503);
    assert!(ready.body.contains("draining"), "{}", ready.body);
    assert_eq!(running.ask("GET", "/health", &[], "").await.status, 200, "it is alive");
    let late = running.modern("tools/list", json!({})).await;
    assert_eq!((late.status, late.header("connection")), (200, Some("close")), "while the proxy has not noticed");
    while tokio::net::TcpStream::connect(running.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!by_handle.is_finished() && !by_session.is_finished());
    stamp.go.store(true, Ordering::Release);
    assert_eq!(text(&by_handle.await.unwrap()), "stamped for pdf");
    assert_eq!(text(&by_session.await.unwrap()), "stamped for pdf");
    for stream in [&mut stream, &mut listening] {
        let mut rest = String::new();
        let read = tokio::io::AsyncReadExt::read_to_string(stream, &mut rest);
        tokio::time::timeout(PATIENCE, read).await.expect("streams end").unwrap();
        assert!(rest.ends_with("0\r\n\r\n"), "and they end as HTTP wants it: {rest}");
    }
    let running = Arc::into_inner(running).unwrap();
    running.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_catalog_that_is_swapped_under_load_drops_nothing() {
    let running = Arc::new(replica(shared()).await);
    let is_over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..8)
        .map(|client| {
            let (running, is_over) = (Arc::clone(&running), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut answered = 0;
                while !is_over.load(Ordering::Acquire) || answered == 0 {
                    let loaded = call(&running, "load_skill", json!({ "skill_id": "refunds" }), None).await;
                    assert!(text(&loaded).contains("Pay."), "{client}: {}", loaded.body);
                    let read = running.modern("resources/read", json!({ "uri": "skill://pdf/reference.md" })).await;
                    assert_eq!(read.message()["result"]["contents"][0]["text"], "# Reference\n", "{}", read.body);
                    answered += 2;
                }
                answered
            })
        })
        .collect();
    for n in 0..20 {
        let file = format!("---\nname: swap-{n}\ndescription: Is swapped in.\n---\nSwapped.\n");
        write(running.skills.path(), &format!("swap-{n}/SKILL.md"), file);
        if n > 0 {
            std::fs::remove_dir_all(running.skills.path().join(format!("swap-{}", n - 1))).unwrap();
        }
        let skills = Arc::clone(running.server.skillcue());
        let before = skills.catalog();
        let after = tokio::task::spawn_blocking(move || skills.refresh()).await.unwrap();
        running.server.announce(&skillcue::Changes::between(&before, &after));
        let loaded = call(&running, "load_skill", json!({ "skill_id": format!("swap-{n}") }), None).await;
        assert!(text(&loaded).contains("Swapped."), "{}", loaded.body);
    }
    is_over.store(true, Ordering::Release);
    for client in clients {
        assert!(client.await.unwrap() > 0);
    }
    Arc::into_inner(running).unwrap().end().await;
}
