//! A server over HTTP, and a client that knows nothing but sockets.
#![allow(clippy::format_push_string, clippy::needless_pass_by_value, reason = "it reads better")]

use std::net::SocketAddr;

use super::{PATIENCE, initialize_params, meta, server, skills};
use serde_json::{Value, json};
use skillcue_mcp::server::{HttpOptions, HttpServer, SkillServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub struct Running {
    pub address: SocketAddr,
    pub cancel: CancellationToken,
    pub serving: JoinHandle<std::io::Result<()>>,
    pub server: SkillServer,
    pub skills: tempfile::TempDir,
}

pub async fn run(options: HttpOptions) -> Running {
    let skills = skills();
    let server = server(skills.path());
    run_server(skills, server, options).await
}

/// Runs a server that was made otherwise.
pub async fn run_server(skills: tempfile::TempDir, server: SkillServer, options: HttpOptions) -> Running {
    let http = HttpServer::bind(server.clone(), options).await.unwrap();
    let cancel = CancellationToken::new();
    let address = http.address();
    let serving = tokio::spawn(http.run(cancel.clone()));
    Running { address, cancel, serving, server, skills }
}

pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")))?;
        Some(line.split_once(':')?.1.trim())
    }

    /// The one message in it, whether it came as JSON or as an event.
    pub fn message(&self) -> Value {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data:")).find(|data| !data.trim().is_empty());
        serde_json::from_str(data.unwrap_or(&self.body)).unwrap_or_else(|_| panic!("{}\n{}", self.head, self.body))
    }
}

impl Running {
    pub async fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        let usual = [
            ("Host", format!("127.0.0.1:{}", self.address.port())),
            ("Accept", "application/json, text/event-stream".to_owned()),
            ("Content-Type", "application/json".to_owned()),
        ];
        for (name, value) in &usual {
            if !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
        BufReader::new(stream)
    }

    pub async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut stream = self.open(method, path, headers, body).await;
        let mut bytes = Vec::new();
        // A server that refuses a body may close before all of it was sent.
        let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("an answer");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body =
            if head.to_lowercase().contains("transfer-encoding: chunked") { unchunk(body) } else { body.to_owned() };
        Reply { status, head: head.to_owned(), body }
    }

    pub async fn post(&self, headers: &[(&str, &str)], message: &Value) -> Reply {
        self.ask("POST", "/mcp", headers, &message.to_string()).await
    }

    /// Asks as 2026-07-28 wants it.
    pub async fn modern(&self, method: &str, mut params: Value) -> Reply {
        params["_meta"] = meta();
        let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
        let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        if !name.is_empty() {
            headers.push(("Mcp-Name", &name));
        }
        self.post(&headers, &request(method, params)).await
    }

    /// Begins a session of 2025-11-25.
    pub async fn session(&self) -> String {
        let reply = self.post(&[], &request("initialize", initialize_params())).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let id = reply.header("mcp-session-id").unwrap().to_owned();
        let headers = [("Mcp-Session-Id", id.as_str())];
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(&headers, &message).await.status, 202);
        id
    }

    pub async fn end(self) {
        self.cancel.cancel();
        tokio::time::timeout(PATIENCE, self.serving).await.expect("the server ends").unwrap().unwrap();
    }
}

pub fn unchunk(mut text: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        body.push_str(&rest[..size]);
        text = &rest[size + 2..];
    }
    body
}

pub fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}
