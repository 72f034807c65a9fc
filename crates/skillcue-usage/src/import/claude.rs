//! Claude Code's transcripts: `~/.claude/projects/*/*.jsonl`, as version 2.1 writes them.

use serde_json::Value;
use skillcue::usage::UsageKind;

use super::{NameSource, Transcript, TranscriptUse, listed_names, time_of};
use crate::tools::{FileUse, is_name, own_tool_use};

/// Reads one line.
pub(super) fn read_line(line: &Value, transcript: &mut Transcript) {
    if let Some(session) = line["sessionId"].as_str().filter(|_| transcript.session.is_empty()) {
        session.clone_into(&mut transcript.session);
    }
    if let Some(cwd) = line["cwd"].as_str().filter(|_| transcript.cwd.is_none()) {
        transcript.cwd = Some(cwd.into());
    }
    match line["type"].as_str() {
        Some("attachment") if line["attachment"]["type"] == "skill_listing" => {
            let attachment = &line["attachment"];
            // A description may have lines that look like entries. Older versions have no names beside the text.
            match attachment["names"].as_array() {
                Some(names) => {
                    let names = names.iter().filter_map(Value::as_str).filter(|name| is_name(name));
                    transcript.listed.extend(names.map(str::to_owned));
                }
                None => transcript.listed.extend(attachment["content"].as_str().into_iter().flat_map(listed_names)),
            }
        }
        Some("assistant") => {
            for block in line["message"]["content"].as_array().into_iter().flatten() {
                if block["type"] == "tool_use" {
                    call(line, block, transcript);
                }
            }
        }
        Some("user") => message(line, transcript),
        _ => {}
    }
}

/// Reads a message of the user, or the results of tools, which have the same type.
fn message(line: &Value, transcript: &mut Transcript) {
    match &line["message"]["content"] {
        Value::String(text) => {
            if line["isMeta"] != true {
                transcript.turn += 1;
            }
            // A skill that the user called by its name.
            let name = text.split("<command-name>/").nth(1).and_then(|rest| rest.split("</command-name>").next());
            if let (Some(name), Some(at)) = (name.filter(|name| is_name(name)), time_of(line)) {
                let (kind, skill, turn) = (UsageKind::Loaded, name.to_owned(), transcript.turn);
                let source = NameSource::Guess;
                transcript.used(TranscriptUse { kind, skill, at, turn, call: None, item: None, source });
            }
        }
        Value::Array(blocks) => {
            for block in blocks {
                match (block["type"].as_str(), block["tool_use_id"].as_str()) {
                    (Some("tool_result"), Some(call)) if block["is_error"] == true => transcript.failed(call),
                    (Some("tool_result"), Some(call)) => transcript.answered(call, time_of(line)),
                    (Some("text"), _) if line["isMeta"] != true => transcript.turn += 1,
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// Reads a call of a tool.
fn call(line: &Value, block: &Value, transcript: &mut Transcript) {
    let (Some(name), Some(at)) = (block["name"].as_str(), time_of(line)) else { return };
    let input = &block["input"];
    let call = (at, block["id"].as_str());
    if name == "Skill" {
        let skill = ["skill", "command", "name"].iter().find_map(|key| input[*key].as_str());
        if let Some(skill) = skill.map(|skill| skill.trim_start_matches('/')).filter(|skill| is_name(skill)) {
            transcript.called(call, NameSource::Client, FileUse::of(UsageKind::Loaded, skill, None));
        }
    } else if name.starts_with("mcp__") && name.contains("skillcue") {
        let id = input["skill_id"].as_str().filter(|id| is_name(id));
        if let (Some(id), Some((kind, item))) = (id, own_tool_use(name, input)) {
            transcript.called(call, NameSource::OwnTool, FileUse::of(kind, id, item));
        }
    } else {
        for used in transcript.file_uses(name, input, line["cwd"].as_str()) {
            transcript.called(call, NameSource::Guess, used);
        }
    }
}
