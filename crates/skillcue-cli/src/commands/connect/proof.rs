//! The proof that a connection works: a sample through the hook, exactly as it was written, and a listing of the server's
//! tools.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Value, json};
use skillcue_base::os_message;
use skillcue_clients::Client;
use skillcue_clients::settings::{ConnectionPart, Launch};
use skillcue_host::LEDGER_VARIABLE;

use super::ClientPlan;
use crate::context::Context;
use crate::error::CliError;
use crate::text;

/// How long the hook and the server have. The hook's own deadline is a second.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// The proof that one part works, or the reason why it does not.
#[derive(Debug, Serialize)]
pub(super) struct PartProof {
    pub(super) part: ConnectionPart,
    pub(super) ok: bool,
    pub(super) seen: String,
}

pub(super) fn prove(plan: &ClientPlan, context: &Context) -> Result<Vec<PartProof>, CliError> {
    let cwd = context.environment()?.cwd.clone().unwrap_or_else(|| "/".into());
    let launch = plan.connector.launch();
    let mut proofs = Vec::new();
    for part in &plan.parts {
        let seen = match part {
            ConnectionPart::Hook => {
                let skill = sample_skill(context);
                let prompt = match &skill {
                    Some(skill) => format!("Use the skill {skill}."),
                    None => "hello".to_owned(),
                };
                hook(launch, plan.client, &sample(plan.client, &prompt, &cwd.to_string_lossy()), skill.as_deref())
            }
            ConnectionPart::Mcp => server(launch),
        };
        let (ok, seen) = match seen {
            Ok(seen) => (true, seen),
            Err(why) => (false, why),
        };
        proofs.push(PartProof { part: *part, ok, seen: text::one_line(&seen) });
    }
    Ok(proofs)
}

/// Returns a skill that the hook may show: bundled ones are left out there.
fn sample_skill(context: &Context) -> Option<String> {
    let skills = context.local_skills().ok()?;
    let catalog = skills.catalog();
    let is_own = |skill: &&skillcue::Skill| {
        skill.enabled()
            && skill.is_for_models()
            && !skill.is_foreign()
            && skill.source() != skillcue::Source::Bundled
            && skill.server().is_none()
    };
    catalog.skills().find(is_own).map(|skill| skill.name().to_owned())
}

/// Returns the input of a hook, as the client would send it.
fn sample(client: Client, prompt: &str, cwd: &str) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Sessions remember what was shown: this one is no other's.
    let session = format!("connect-check-{}-{}", std::process::id(), now.as_nanos());
    if client == Client::Copilot {
        let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        return json!({"sessionId": session, "timestamp": now, "cwd": cwd, "prompt": prompt});
    }
    let event = match client {
        Client::Gemini => "BeforeAgent",
        Client::Opencode => "chat.message",
        _ => "UserPromptSubmit",
    };
    json!({"session_id": session, "cwd": cwd, "hook_event_name": event, "prompt": prompt})
}

/// Runs the hook's command in a shell, as the client does.
fn hook(launch: &Launch, client: Client, input: &Value, skill: Option<&str>) -> Result<String, String> {
    let start = Instant::now();
    let written = run(&launch.hook_command(client), input)?;
    let took = start.elapsed().as_millis();
    if written.code != Some(0) {
        return Err(format!("the command ended with {}, which may block prompts", code(written.code)));
    }
    if written.stdout.trim().is_empty() {
        // The command hides errors, so that it never blocks a prompt; here they matter.
        let plain = run(&launch.plain_hook_command(client), input)?;
        if plain.code != Some(0) {
            let why = plain.stderr.lines().next().unwrap_or_default();
            return Err(format!("the program ended with {}: {why}", code(plain.code)));
        }
        return Ok(match skill {
            Some(skill) => format!("answered in {took} ms; a message that names {skill} added nothing"),
            None => format!("answered in {took} ms; there is no skill of yours to show yet"),
        });
    }
    let answer: Value =
        serde_json::from_str(&written.stdout).map_err(|error| format!("the answer is no JSON document: {error}"))?;
    let added = [&answer["hookSpecificOutput"]["additionalContext"], &answer["additionalContext"]];
    let added = added.into_iter().find_map(Value::as_str).ok_or("the answer has no additionalContext")?;
    let characters = text::count(added.chars().count(), "character");
    let skill = skill.unwrap_or("no skill");
    Ok(format!("answered in {took} ms; a message that names {skill} got {characters}"))
}

fn code(code: Option<i32>) -> String {
    code.map_or("a signal".to_owned(), |code| format!("exit code {code}"))
}

/// The outcome of a command.
struct ShellRun {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run(command: &str, input: &Value) -> Result<ShellRun, String> {
    let shell = |error: io::Error| format!("cannot start a shell: {}", os_message(&error));
    let mut child = Command::new("sh")
        .args(["-c", command])
        .env(LEDGER_VARIABLE, "off")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(shell)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that reads nothing has closed it.
        let _ = stdin.write_all(input.to_string().as_bytes());
    }
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut out, mut err) = (String::new(), String::new());
        let _ = stdout.map(|mut stream| stream.read_to_string(&mut out));
        let _ = stderr.map(|mut stream| stream.read_to_string(&mut err));
        let _ = send.send((out, err));
    });
    let Ok((stdout, stderr)) = receive.recv_timeout(MAX_WAIT) else {
        end(&mut child);
        return Err(format!("there was no answer within {} s", MAX_WAIT.as_secs()));
    };
    let status = child.wait().map_err(shell)?;
    Ok(ShellRun { code: status.code(), stdout, stderr })
}

fn end(child: &mut Child) {
    // It may have ended meanwhile.
    let _ = child.kill();
    let _ = child.wait();
}

/// Starts the server as the client does, and lists its tools.
fn server(launch: &Launch) -> Result<String, String> {
    let start = Instant::now();
    let mut child = Command::new(&launch.program)
        .args(launch.server_arguments())
        .env(LEDGER_VARIABLE, "off")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start {}: {}", launch.program, os_message(&error)))?;
    let listed = list_tools(&mut child);
    end(&mut child);
    let tools = listed?;
    let took = start.elapsed().as_millis();
    if tools.is_empty() {
        return Err("the server has no tools".to_owned());
    }
    Ok(format!("answered in {took} ms; its tools are {}", tools.join(", ")))
}

fn list_tools(child: &mut Child) -> Result<Vec<String>, String> {
    let requests = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": {"name": "skillcue-connect", "version": env!("CARGO_PKG_VERSION")}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ];
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("the server has no streams".to_owned());
    };
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let answer: Value = serde_json::from_str(&line).unwrap_or_default();
            if answer["id"] == 2 && send.send(answer).is_err() {
                break;
            }
        }
    });
    for request in requests {
        writeln!(stdin, "{request}").map_err(|error| format!("the server went away: {}", os_message(&error)))?;
    }
    let answer = receive.recv_timeout(MAX_WAIT).map_err(|_| "the server did not list its tools".to_owned())?;
    let tools = answer["result"]["tools"].as_array().into_iter().flatten();
    Ok(tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect())
}
