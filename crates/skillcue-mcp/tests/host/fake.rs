//! A scripted server for tests: raw HTTP and JSON-RPC, no SDK.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// How a server behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Good,
    /// Answers as streams of events, with other events before the answer.
    Events,
    /// Speaks the version before, with a handshake.
    Legacy,
    /// Never answers.
    Silent,
    /// Never answers `resources/read`.
    SilentReads,
    /// Answers with what is no JSON.
    Garbage,
    /// Answers with JSON that is no message.
    WrongShape,
    /// Answers `skills/list` with something else.
    NoList,
    /// Sends the same cursor for ever.
    SameCursor,
    /// Sends another cursor for ever.
    EndlessPages,
    /// Sends more than any limit allows.
    Huge,
    /// Sends events for ever.
    EndlessEvents,
    /// Accepts and hangs up.
    HangsUp,
    /// Hangs up in the middle of an answer.
    Dies,
    /// Knows nothing of skills.
    NoExtension,
    /// Wants a token.
    Locked,
    /// Sends everything twice in one answer to `resources/read`.
    TwoContents,
    /// Sends another file than the one asked for.
    OtherUri,
}

#[derive(Debug, Clone)]
pub(crate) struct Skill {
    pub(crate) uri: String,
    pub(crate) front_matter: Value,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// The bytes that are sent instead of a file, the listing staying as it is.
    pub(crate) sent: BTreeMap<String, Vec<u8>>,
    pub(crate) dynamic: bool,
}

impl Skill {
    pub(crate) fn new(name: &str) -> Skill {
        Skill::at(&format!("skill://{name}"), name)
    }

    pub(crate) fn at(root: &str, name: &str) -> Skill {
        let text = format!("---\nname: {name}\ndescription: Does {name}.\nmetadata:\n  version: 1.10\n---\n# {name}\n");
        let files = BTreeMap::from([
            ("SKILL.md".to_owned(), text.into_bytes()),
            ("references/a%20b.md".to_owned(), b"# Reference\n".to_vec()),
            ("assets/logo.bin".to_owned(), vec![0, 159, 146, 150]),
        ]);
        Skill {
            uri: format!("{root}/SKILL.md"),
            front_matter: json!({ "name": name, "description": format!("Does {name}."), "metadata": { "version": 1.1 } }),
            files,
            sent: BTreeMap::new(),
            dynamic: false,
        }
    }

    pub(crate) fn root(&self) -> &str {
        self.uri.strip_suffix("/SKILL.md").unwrap()
    }

    pub(crate) fn entry(&self) -> Value {
        let resources = self.files.iter().map(|(path, bytes)| {
            let digest = format!("{:x}", Sha256::digest(bytes));
            json!({ "uri": format!("{}/{path}", self.root()), "digest": format!("sha256:{digest}"), "size": bytes.len() })
        });
        let resources = if self.dynamic { json!("dynamic") } else { resources.collect() };
        json!({ "uri": self.uri, "frontmatter": self.front_matter, "resources": resources })
    }
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) mode: Mode,
    pub(crate) skills: Vec<Skill>,
    /// Further entries, as they are.
    pub(crate) raw: Vec<Value>,
    pub(crate) ttl: u64,
    /// Methods that were called, `resources/read` with its URI.
    pub(crate) log: Vec<String>,
}

impl World {
    pub(crate) fn new(mode: Mode, skills: Vec<Skill>) -> World {
        World { mode, skills, raw: Vec::new(), ttl: 300_000, log: Vec::new() }
    }

    /// The result of a request, or an error's code.
    pub(crate) fn answer(&mut self, request: &Value) -> Result<Value, i64> {
        let method = request["method"].as_str().unwrap_or_default();
        let uri = request["params"]["uri"].as_str().unwrap_or_default();
        self.log.push(format!("{method} {uri}").trim().to_owned());
        let extensions = match self.mode {
            Mode::NoExtension => json!({}),
            _ => json!({ "io.modelcontextprotocol/skills": {} }),
        };
        let capabilities = json!({ "resources": {}, "extensions": extensions });
        let about = json!({ "name": "fake", "version": "1" });
        let mut result = match method {
            "server/discover" if self.mode == Mode::Legacy => return Err(-32601),
            "server/discover" => json!({
                "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "serverInfo": about,
            }),
            "initialize" => {
                json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": about })
            }
            "skills/list" => {
                let skills: Vec<Value> = self.skills.iter().map(Skill::entry).chain(self.raw.iter().cloned()).collect();
                match self.mode {
                    Mode::NoList => json!({ "skills": "none" }),
                    Mode::SameCursor => json!({ "skills": skills, "nextCursor": "again" }),
                    Mode::EndlessPages => json!({ "skills": [], "nextCursor": self.log.len().to_string() }),
                    // One skill a page.
                    _ => {
                        let page: usize = request["params"]["cursor"].as_str().map_or(0, |at| at.parse().unwrap());
                        let mut result = json!({ "skills": skills.iter().skip(page).take(1).collect::<Vec<_>>() });
                        if page + 1 < skills.len() {
                            result["nextCursor"] = json!((page + 1).to_string());
                        }
                        result
                    }
                }
            }
            "skills/get" => match self.skills.iter().find(|skill| skill.uri == uri) {
                Some(skill) => json!({ "skill": skill.entry() }),
                None => return Err(-32602),
            },
            "resources/read" => {
                let found = self.skills.iter().find_map(|skill| {
                    let path = uri.strip_prefix(skill.root())?.strip_prefix('/')?;
                    skill.sent.get(path).or_else(|| skill.files.get(path)).cloned()
                });
                let Some(bytes) = found else { return Err(-32602) };
                let sent = if self.mode == Mode::OtherUri { "skill://other/SKILL.md" } else { uri };
                let content = match String::from_utf8(bytes) {
                    Ok(text) => json!({ "uri": sent, "mimeType": "text/markdown", "text": text }),
                    Err(error) => json!({ "uri": sent, "blob": base64(error.as_bytes()) }),
                };
                let count = if self.mode == Mode::TwoContents { 2 } else { 1 };
                json!({ "contents": vec![content; count] })
            }
            _ => return Err(-32601),
        };
        result["resultType"] = json!("complete");
        result["ttlMs"] = json!(self.ttl);
        result["cacheScope"] = json!("private");
        // As servers of the latest version do.
        result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": about });
        Ok(result)
    }

    pub(crate) fn respond(&mut self, request: &Value) -> Value {
        match self.answer(request) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }),
            Err(code) => json!({ "jsonrpc": "2.0", "id": request["id"], "error": { "code": code, "message": "no" } }),
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// A server over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Fake {
    pub(crate) url: String,
    pub(crate) world: Arc<Mutex<World>>,
}

impl Fake {
    pub(crate) fn start(mode: Mode, skills: Vec<Skill>) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let world = Arc::new(Mutex::new(World::new(mode, skills)));
        let shared = Arc::clone(&world);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let world = Arc::clone(&shared);
                // A client that hangs up is no failure of the test.
                std::thread::spawn(move || drop(serve(stream, &world)));
            }
        });
        Fake { url, world }
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut World)) {
        change(&mut self.world.lock().unwrap());
    }

    /// How often a method was called.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.world.lock().unwrap().log.iter().filter(|call| call.split(' ').next() == Some(method)).count()
    }
}

fn serve(stream: TcpStream, world: &Mutex<World>) -> std::io::Result<()> {
    let mode = world.lock().unwrap().mode;
    if mode == Mode::HangsUp {
        return Ok(());
    }
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_ascii_lowercase());
    }
    let length =
        head.iter().find_map(|line| line.strip_prefix("content-length:")).map_or(0, |n| n.trim().parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if !head[0].starts_with("post") {
        return reply(&mut stream, "405 Method Not Allowed", "text/plain", b"");
    }
    if mode == Mode::Locked && !head.contains(&"authorization: bearer s3cret".to_owned()) {
        return reply(&mut stream, "401 Unauthorized", "text/plain", b"");
    }
    let request: Value = serde_json::from_slice(&body)?;
    if request.get("id").is_none() {
        return reply(&mut stream, "202 Accepted", "text/plain", b"");
    }
    let method = request["method"].as_str().unwrap_or_default().to_owned();
    let answer = world.lock().unwrap().respond(&request);
    let lists = method == "skills/list";
    match mode {
        Mode::Silent => sleep(&mut stream),
        Mode::SilentReads if method == "resources/read" => sleep(&mut stream),
        Mode::Garbage => reply(&mut stream, "200 OK", "application/json", b"<html>\xff\x00 no json"),
        Mode::WrongShape => {
            reply(&mut stream, "200 OK", "application/json", b"{\"jsonrpc\":\"2.0\",\"id\":[],\"result\":7}")
        }
        Mode::Huge if lists => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n[")?;
            loop {
                stream.write_all(&[b' '; 4096])?;
            }
        }
        Mode::EndlessEvents if lists => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
            loop {
                stream.write_all(b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")?;
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        Mode::Dies if lists => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{{\"json")
        }
        Mode::Events => {
            let text = format!(
                ": hello\n\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":0,\"progress\":1}}}}\n\ndata: {answer}\n\n"
            );
            reply(&mut stream, "200 OK", "text/event-stream", text.as_bytes())
        }
        Mode::Legacy if method == "server/discover" => reply(&mut stream, "400 Bad Request", "text/plain", b"what?"),
        _ => reply(&mut stream, "200 OK", "application/json", answer.to_string().as_bytes()),
    }
}

/// Waits until the client hangs up.
fn sleep(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.read(&mut [0]).map(drop)
}

fn reply(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nMcp-Session-Id: s1\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)
}
