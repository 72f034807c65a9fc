//! Paths that try to lead out: each is refused, and each leaves exactly one line in the security log.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::format_push_string, clippy::needless_pass_by_value, reason = "it reads better")]

mod common;

use std::sync::Mutex;

use common::{Client, server, skills, write};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Every event with the target of the security log.
static EVENTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Recorder;

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!("{field}={value:?} "));
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "skillcue::security"
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        assert_eq!(*event.metadata().level(), Level::WARN);
        let mut text = Text(String::new());
        event.record(&mut text);
        EVENTS.lock().unwrap().push(text.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

// One test: the log is the process's.
#[tokio::test]
async fn every_attack_is_refused_and_logged_once() {
    tracing::subscriber::set_global_default(Recorder).unwrap();
    let tmp = skills();
    write(tmp.path(), "secret.txt", "hunter2");
    std::os::unix::fs::symlink("../secret.txt", tmp.path().join("pdf/link.txt")).unwrap();
    std::os::unix::fs::symlink("/etc", tmp.path().join("pdf/etc")).unwrap();
    let server = server(tmp.path());
    let attacks = [
        "skill://pdf/../secret.txt",
        "skill://pdf/%2e%2e/secret.txt",
        "skill://pdf/%2E%2E%2Fsecret.txt",
        "skill://pdf/..%2fsecret.txt",
        "skill://pdf/templates/../../secret.txt",
        "skill://pdf/missing/../../secret.txt",
        "skill://pdf/%252e%252e/secret.txt",
        "skill://pdf/%252e%252e%252fsecret.txt",
        "skill://pdf/%25252e%25252e/secret.txt",
        "skill://pdf//etc/passwd",
        "skill://pdf/%2Fetc%2Fpasswd",
        "skill:///etc/passwd",
        "file:///etc/passwd",
        "skill://pdf/reference.md%00.png",
        "skill://pdf/%00",
        "skill://pdf/..%5csecret.txt",
        "skill://pdf/..\\secret.txt",
        "skill://pdf/C:%5CWindows%5Cwin.ini",
        "skill://pdf/file:%2f%2f%2fetc/passwd",
        "skill://../pdf/SKILL.md",
        "skill://%2e%2e/SKILL.md",
        "skill://nobody/../../etc/passwd",
        "skill://acme/../pdf/SKILL.md",
        "skill://nobody/%00/SKILL.md",
        "skill://pdf/link.txt",
        "skill://pdf/etc/passwd",
        "skill://pdf/c:/x",
        "skill://pdf/%c0%ae%c0%ae/x",
        "skill://nobody/%c0%ae%c0%ae/x",
        "/etc/passwd",
        "../../etc/passwd",
        "~/.ssh/id_rsa",
        "C:\\Windows\\win.ini",
    ];
    for mut client in [Client::legacy(&server).await, Client::modern(&server)] {
        // Proper requests are answered, and log no event: the refusals below have no other cause.
        EVENTS.lock().unwrap().clear();
        for (method, uri) in [
            ("resources/read", "skill://pdf/reference.md"),
            ("resources/directory/read", "skill://pdf"),
            ("skills/get", "skill://acme/billing/refunds/SKILL.md"),
        ] {
            client.request(method, json!({ "uri": uri })).await;
        }
        let call = json!({ "name": "read_skill_file", "arguments": { "skill_id": "pdf", "path": "reference.md" } });
        assert_eq!(client.request("tools/call", call).await["isError"], false);
        assert_eq!(*EVENTS.lock().unwrap(), Vec::<String>::new());
        for method in ["resources/read", "resources/directory/read", "skills/get"] {
            for uri in attacks {
                EVENTS.lock().unwrap().clear();
                let error = client.refused(method, json!({ "uri": uri })).await;
                assert!(error["code"] == -32602 || error["code"] == -32002, "{method} {uri}: {error}");
                assert!(!error.to_string().contains("hunter2"), "{method} {uri}: {error}");
                let events = EVENTS.lock().unwrap().clone();
                assert_eq!(events.len(), 1, "{method} {uri}: {events:?}");
            }
        }
        for path in ["../secret.txt", "/etc/passwd", "a\u{0}b", "..\\secret.txt", "link.txt", "etc/passwd"] {
            EVENTS.lock().unwrap().clear();
            let call = json!({ "name": "read_skill_file", "arguments": { "skill_id": "pdf", "path": path } });
            let result = client.request("tools/call", call).await;
            assert_eq!(result["isError"], true, "{path}: {result}");
            assert!(result["content"][0]["text"].as_str().unwrap().contains("<error code=\"security\">"), "{path}");
            assert_eq!(EVENTS.lock().unwrap().len(), 1, "{path}");
        }
        // Mistakes are no attacks.
        EVENTS.lock().unwrap().clear();
        for uri in
            ["skill://pdf/nothing.md", "skill://nobody/SKILL.md", "https://example.com/", "skill://pdf/100%25.md", ""]
        {
            client.refused("resources/read", json!({ "uri": uri })).await;
        }
        client.request("resources/read", json!({ "uri": "skill://pdf/templates/../reference.md" })).await;
        for uri in ["skill://nobody/SKILL.md", "skill://pdf", "skill://pdf/reference.md", "skill://pdf/templates/.."] {
            client.refused("skills/get", json!({ "uri": uri })).await;
        }
        client.refused("resources/directory/read", json!({ "uri": "skill://pdf/reference.md" })).await;
        assert_eq!(*EVENTS.lock().unwrap(), Vec::<String>::new());
        client.refused("skills/get", json!({ "uri": "skill://pdf/%252e%252e/SKILL.md" })).await;
        assert_eq!(EVENTS.lock().unwrap().len(), 1);
    }
}
