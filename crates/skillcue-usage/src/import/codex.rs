//! Codex's transcripts: `~/.codex/sessions/**/rollout-*.jsonl`, as version 0.166 writes them.

use std::path::Path;

use serde_json::Value;
use skillcue::usage::UsageKind;

use super::{NameSource, Transcript, TranscriptUse, listed_names, time_of};
use crate::tools::{FileUse, is_name, own_tool_use};

/// Most lines above a command's output.
const MAX_HEAD: usize = 6;

/// Reads one line.
pub(super) fn read_line(line: &Value, transcript: &mut Transcript) {
    let payload = &line["payload"];
    match (line["type"].as_str(), payload["type"].as_str()) {
        (Some("session_meta"), _) => {
            for (key, text) in [("id", payload["id"].as_str()), ("cwd", payload["cwd"].as_str())] {
                match (key, text) {
                    ("id", Some(id)) => id.clone_into(&mut transcript.session),
                    (_, Some(cwd)) => transcript.cwd = Some(cwd.into()),
                    _ => {}
                }
            }
        }
        (Some("response_item"), Some("message")) => message(line, payload, transcript),
        (Some("response_item"), Some("function_call" | "custom_tool_call" | "local_shell_call")) => {
            call(line, payload, transcript);
        }
        (Some("response_item"), Some("function_call_output" | "custom_tool_call_output")) => {
            let has_failed = payload["output"].as_str().is_some_and(says_failure);
            match payload["call_id"].as_str() {
                Some(call) if has_failed => transcript.failed(call),
                Some(call) => transcript.answered(call, time_of(line)),
                None => {}
            }
        }
        (Some("event_msg"), Some("item_completed")) => {
            let item = &payload["item"];
            if let Some(call) = item["id"].as_str().filter(|_| item["status"] == "failed") {
                transcript.failed(call);
            }
        }
        (Some("event_msg"), Some("task_started")) => transcript.turn += 1,
        _ => {}
    }
}

/// Returns whether a command's output begins with another exit code than 0: on its first line, or above `Output:`.
fn says_failure(output: &str) -> bool {
    let head = output.lines().take_while(|line| *line != "Output:").take(MAX_HEAD);
    let mut codes = head
        .filter_map(|line| line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code ")));
    codes.next().is_some_and(|code| code.trim() != "0")
}

/// Reads a message: the list of skills, or a skill that the user called by its name, whose text the client adds.
fn message(line: &Value, payload: &Value, transcript: &mut Transcript) {
    for part in payload["content"].as_array().into_iter().flatten() {
        let Some(text) = part["text"].as_str() else { continue };
        if let Some(list) = text.strip_prefix("<skills_instructions>") {
            let list = list.split("### Available skills").nth(1).unwrap_or_default();
            transcript.listed.extend(listed_names(list));
        } else if let (Some(rest), Some("user")) = (text.trim_start().strip_prefix("<skill>"), payload["role"].as_str())
        {
            let name = rest.split("<name>").nth(1).and_then(|rest| rest.split("</name>").next());
            if let (Some(name), Some(at)) = (name.filter(|name| is_name(name)), time_of(line)) {
                let (kind, skill, turn) = (UsageKind::Loaded, name.to_owned(), transcript.turn);
                let source = NameSource::Client;
                transcript.used(TranscriptUse { kind, skill, at, turn, call: None, item: None, source });
            }
        }
    }
}

/// Reads a call of a tool: of ours over MCP, or a command that reads or runs a skill's files.
fn call(line: &Value, payload: &Value, transcript: &mut Transcript) {
    let Some(at) = time_of(line) else { return };
    let call = (at, payload["call_id"].as_str());
    let written = payload["arguments"].as_str().or_else(|| payload["input"].as_str()).unwrap_or_default();
    let arguments: Value = serde_json::from_str(written).unwrap_or_default();
    let name = payload["name"].as_str().unwrap_or_default();
    let is_ours =
        payload["namespace"].as_str().is_some_and(|space| space.contains("skillcue")) || name.contains("skillcue");
    if is_ours {
        let id = arguments["skill_id"].as_str().filter(|id| is_name(id));
        if let (Some(id), Some((kind, item))) = (id, own_tool_use(name, &arguments)) {
            transcript.called(call, NameSource::OwnTool, FileUse::of(kind, id, item));
        }
        return;
    }
    // Of `local_shell_call`, the call itself has the command.
    let (name, arguments) = match &payload["action"] {
        Value::Null => (name, &arguments),
        action => ("local_shell", action),
    };
    let cwd = transcript.cwd.clone();
    for used in transcript.file_uses(name, arguments, cwd.as_deref().and_then(Path::to_str)) {
        transcript.called(call, NameSource::Guess, used);
    }
}
