//! Skills to serve, and clients that speak JSON and nothing of ours.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

pub mod web;

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use skillcue::Skillcue;
use skillcue_mcp::server::{ServerOptions, SkillServer, serve_stdio};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Longer than anything takes: only a test that would hang for ever runs into it.
pub const PATIENCE: Duration = Duration::from_mins(2);

pub fn write(dir: &Path, path: &str, text: impl AsRef<[u8]>) {
    let file = dir.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// A handful of skills of every kind.
pub fn skills() -> TempDir {
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path();
    let pdf = "---\nname: pdf\ndescription: Reads PDF files.\nversion: 1.10\nargument-hint: \"[add|append|remove] FILE\"\n---\n# PDF\nRead $ARGUMENTS.\n";
    write(dir, "pdf/SKILL.md", pdf);
    write(dir, "pdf/reference.md", "# Reference\n");
    write(dir, "pdf/templates/a b.md", "A\n");
    write(dir, "pdf/templates/regional/eu.md", "EU\n");
    write(dir, "pdf/logo.png", b"\x89PNG\xff\x00");
    write(dir, "pdf/.git/config", "secret\n");
    fs::create_dir_all(dir.join("pdf/empty")).unwrap();
    write(dir, "acme/billing/refunds/SKILL.md", "---\nname: refunds\ndescription: Pays back.\n---\nPay.\n");
    let hidden = "---\nname: hidden\ndescription: For people.\ndisable-model-invocation: true\n---\nHi.\n";
    write(dir, "hidden/SKILL.md", hidden);
    write(dir, "quiet/SKILL.md", "---\nname: quiet\ndescription: For models.\nuser-invocable: false\n---\nHush.\n");
    write(dir, "mended/SKILL.md", "---\nname: mended\ndescription: Use when: broken\n---\nX.\n");
    let old = "name: old\nversion: 1.0.0\ndescription: In YAML.\nprompt:\n  system_prompt_file: prompt.md\n";
    write(dir, "old/SKILL.yaml", old);
    write(dir, "old/prompt.md", "Old.\n");
    tmp
}

pub fn server(dir: &Path) -> SkillServer {
    SkillServer::new(Arc::new(Skillcue::builder().skills_dir(dir).build().unwrap()), ServerOptions::default())
}

/// The metadata that a request of 2026-07-28 must carry.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

pub fn initialize_params() -> Value {
    json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } })
}

/// A client at the other end of a pair of pipes in memory.
pub struct Client {
    writer: Option<DuplexStream>,
    lines: Lines<BufReader<DuplexStream>>,
    serving: JoinHandle<std::io::Result<()>>,
    next_id: u64,
    /// Notifications that came while something else was waited for.
    news: VecDeque<Value>,
    is_modern: bool,
}

impl Client {
    /// A client that has said nothing yet.
    pub fn connect(server: &SkillServer) -> Client {
        let (writer, to_server) = tokio::io::duplex(1 << 16);
        let (from_server, reader) = tokio::io::duplex(1 << 16);
        let server = server.clone();
        let serving =
            tokio::spawn(async move { serve_stdio(&server, to_server, from_server, CancellationToken::new()).await });
        let lines = BufReader::new(reader).lines();
        Client { writer: Some(writer), lines, serving, next_id: 0, news: VecDeque::new(), is_modern: false }
    }

    /// A client of 2025-11-25.
    pub async fn legacy(server: &SkillServer) -> Client {
        let before = server.listeners();
        let mut client = Client::connect(server);
        client.request("initialize", initialize_params()).await;
        client.notify("notifications/initialized").await;
        while server.listeners() == before {
            tokio::task::yield_now().await;
        }
        client
    }

    /// A client of 2026-07-28.
    pub fn modern(server: &SkillServer) -> Client {
        let mut client = Client::connect(server);
        client.is_modern = true;
        client
    }

    pub async fn raw(&mut self, text: &[u8]) {
        self.writer.as_mut().unwrap().write_all(text).await.unwrap();
    }

    pub async fn notify(&mut self, method: &str) {
        let message = json!({ "jsonrpc": "2.0", "method": method });
        self.raw(format!("{message}\n").as_bytes()).await;
    }

    pub async fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.next_id += 1;
        if self.is_modern {
            let mut all = meta();
            if let (Some(all), Some(own)) = (all.as_object_mut(), params["_meta"].as_object()) {
                all.extend(own.clone());
            }
            params["_meta"] = all;
        }
        let message = json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params });
        self.raw(format!("{message}\n").as_bytes()).await;
        self.next_id
    }

    /// Waits until something comes, and reads none of it beyond a small buffer.
    pub async fn peek(&mut self) {
        assert!(!self.lines.get_mut().fill_buf().await.unwrap().is_empty());
    }

    /// The next answer, as text: what is no number of JSON's readers stays what it is.
    pub async fn line(&mut self) -> String {
        loop {
            let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await.expect("no message came").unwrap();
            let line = line.expect("the server is there");
            if line.contains("\"result\"") {
                return line;
            }
        }
    }

    /// The next message, whatever it is. Nothing at the end.
    pub async fn next(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await.expect("no message came").unwrap()?;
        Some(serde_json::from_str(&line).expect("only messages are written"))
    }

    /// The answer to a request, the whole message.
    pub async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await.expect("the server is there");
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.news.push_back(message);
        }
    }

    /// Asks, and expects a result.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        let answer = self.answer(id).await;
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Asks, and expects an error.
    pub async fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        let answer = self.answer(id).await;
        assert!(answer.get("error").is_some(), "{method}: {answer}");
        answer["error"].clone()
    }

    /// The next notification.
    pub async fn news(&mut self) -> Value {
        match self.news.pop_front() {
            Some(news) => news,
            None => self.next().await.expect("the server is there"),
        }
    }

    /// Closes the pipe to the server, and returns what else it says until it ends.
    pub async fn close(mut self) -> Vec<Value> {
        self.writer = None;
        let mut rest = Vec::new();
        while let Some(message) = self.next().await {
            rest.push(message);
        }
        tokio::time::timeout(PATIENCE, self.serving).await.expect("the server ends").unwrap().unwrap();
        rest
    }
}

/// All pages of a list, and how many there were.
pub async fn pages(client: &mut Client, method: &str, items: &str) -> (Vec<Value>, usize) {
    let (mut all, mut count, mut cursor) = (Vec::new(), 0, Value::Null);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let mut page = client.request(method, params).await;
        all.append(page[items].as_array_mut().unwrap());
        count += 1;
        cursor = page["nextCursor"].take();
        if cursor.is_null() {
            return (all, count);
        }
    }
}
