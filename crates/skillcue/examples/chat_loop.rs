//! A conversation with a model that speaks OpenAI's chat completions over HTTP: `cargo run --example chat_loop [URL]`.
//! Without a URL (`http://host:port/v1`) a scripted model answers.
//!
//! Each message is disclosed within a session, so that nothing is shown twice. The model gets the tools, calls them,
//! and what it loads is remembered.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use skillcue::tools::{Call, Effect, ToolContext, ToolDefinition};
use skillcue::{Request, Session, Skillcue};
use skillcue_scripted::{Received, Reply, Server};

/// The number of rounds after which a model that still calls tools is stopped.
const MAX_ROUNDS: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let out = &mut io::stdout().lock();
    match std::env::args().nth(1) {
        Some(url) => converse(&url, out),
        None => run(out),
    }
}

/// Talks to a scripted model.
pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let server = Server::start(script);
    converse(&format!("{}/v1", server.url()), out)
}

/// Loads a skill and one of its files when it is first asked, and answers.
fn script(received: &Received) -> Reply {
    match received.tool_results().len() {
        0 => Reply::calls([("call_1", "load_skill", json!({"skill_id": "hello-extended"}))]),
        1 => {
            let arguments = json!({"skill_id": "hello-extended", "path": "references/etiquette.md"});
            Reply::calls([("call_2", "read_skill_file", arguments)])
        }
        _ if received.last_user().contains("Bob") => Reply::text("Konnichiwa, Bob!"),
        _ => Reply::text("Bonjour, Alice!"),
    }
}

fn converse(url: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills");
    let skills = Skillcue::builder().skills_dir(dir).build()?;
    let mut chat = Chat { skills, url, session: Session::default(), loaded: Vec::new(), messages: Vec::new() };
    for message in ["Say bonjour to Alice", "And greet Bob in Japanese"] {
        writeln!(out, "user: {message}")?;
        let answer = chat.turn(message, out)?;
        writeln!(out, "model: {answer}")?;
    }
    // A host writes it down with its conversation, and reads it back by `Session::from_json`.
    writeln!(out, "session: {} turns, {} skill remembered", chat.session.turn(), chat.session.remembered().count())?;
    Ok(())
}

struct Chat<'c> {
    skills: Skillcue,
    url: &'c str,
    session: Session,
    /// The skills that the model has loaded: they may bring tools.
    loaded: Vec<String>,
    messages: Vec<Value>,
}

impl Chat<'_> {
    fn turn(&mut self, message: &str, out: &mut impl Write) -> Result<String, Box<dyn Error>> {
        let shown = self.skills.disclose(Request::new(message).session(&mut self.session));
        writeln!(out, "disclosed: {} tokens", shown.tokens.turn.0)?;
        self.messages.push(json!({"role": "user", "content": format!("{}\n\n{message}", shown.turn)}));
        for _ in 0..MAX_ROUNDS {
            let answer = self.ask(&shown.stable)?;
            self.messages.push(answer.clone());
            let calls = answer["tool_calls"].as_array().cloned().unwrap_or_default();
            if calls.is_empty() {
                return Ok(answer["content"].as_str().unwrap_or_default().to_owned());
            }
            for call in &calls {
                let result = self.call(call, out)?;
                self.messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": result}));
            }
        }
        Err("the model does not come to an end".into())
    }

    /// Runs a tool that the model called.
    fn call(&mut self, call: &Value, out: &mut impl Write) -> Result<String, Box<dyn Error>> {
        let name = call["function"]["name"].as_str().unwrap_or_default();
        let arguments = serde_json::from_str(call["function"]["arguments"].as_str().unwrap_or("{}"))?;
        let context = ToolContext { loaded: &self.loaded, shown: Some(&self.session), ..ToolContext::default() };
        let Some(output) = self.skills.call_tool(&Call::new(name, arguments), &context) else {
            return Ok(format!("There is no tool {name:?}."));
        };
        writeln!(out, "tool: {name}, {} bytes", output.text.len())?;
        if let Some(effect) = &output.effect {
            effect.record(&mut self.session);
        }
        if let Some(Effect::Loaded { name, .. }) = &output.effect {
            self.loaded.push(name.clone());
        }
        Ok(output.text)
    }

    /// Sends the conversation, and returns the model's message.
    fn ask(&self, stable: &str) -> Result<Value, Box<dyn Error>> {
        let system =
            json!({"role": "system", "content": format!("You are a helpful assistant.\n\n{stable}").trim_end()});
        let messages: Vec<&Value> = std::iter::once(&system).chain(&self.messages).collect();
        let tools: Vec<Value> = self.skills.tools(&self.loaded).iter().map(function).collect();
        let body = json!({"model": "example", "messages": messages, "tools": tools});
        let answer = post(&format!("{}/chat/completions", self.url), &body)?;
        // Servers send more in a message than they take back.
        let message = &answer["choices"][0]["message"];
        let mut kept = json!({"role": "assistant", "content": message["content"]});
        if message["tool_calls"].is_array() {
            kept["tool_calls"] = message["tool_calls"].clone();
        }
        Ok(kept)
    }
}

/// A tool in the words of the wire format.
fn function(tool: &ToolDefinition) -> Value {
    let (name, description, parameters) = (&tool.name, &tool.description, &tool.input_schema);
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
}

/// The least of HTTP that does. A program of yours has a client already.
fn post(url: &str, body: &Value) -> Result<Value, Box<dyn Error>> {
    let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).ok_or("http:// only")?;
    let body = body.to_string();
    let mut stream = TcpStream::connect(host)?;
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut reader = BufReader::new(stream);
    let (mut status, mut line, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut status)?;
    while reader.read_line(&mut line)? > 2 {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
        line.clear();
    }
    let mut answer = vec![0; length];
    reader.read_exact(&mut answer)?;
    if !status.contains(" 200 ") {
        return Err(format!("{}: {}", status.trim(), String::from_utf8_lossy(&answer)).into());
    }
    Ok(serde_json::from_slice(&answer)?)
}
