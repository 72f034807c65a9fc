//! Transcripts of Claude Code 2.1.325 and Codex 0.166.0. Two are sessions of these programs against a scripted model, without
//! the programs' own instructions and identifiers (`tests/fixtures`); the others have the same shapes and made-up contents.

use std::path::Path;

use serde_json::{Value, json};
use skillcue::usage::UsageKind::{self, FileRead, Loaded, Run};
use skillcue_usage::{Ledger, LedgerEvent, LedgerQuery, TranscriptImport, TranscriptKind, import_transcripts};

use crate::ageless;

pub(crate) fn lines(path: &Path, lines: &[Value]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(path, lines.join("\n") + "\n").unwrap();
}

/// Returns a line of Claude Code's, with the fields that every line has.
pub(crate) fn claude(second: u64, line: &Value) -> Value {
    let mut all = json!({
        "parentUuid": null, "isSidechain": false, "uuid": format!("u{second}"), "userType": "external",
        "timestamp": format!("2026-11-17T21:32:{second:02}.507Z"), "cwd": "/work/site", "sessionId": "17481b8b",
        "version": "2.1.325", "gitBranch": "main",
    });
    all.as_object_mut().unwrap().extend(line.as_object().unwrap().clone());
    all
}

pub(crate) fn claude_call(second: u64, id: &str, name: &str, input: &Value) -> Value {
    let content = json!([{"id": id, "input": input, "name": name, "type": "tool_use"}]);
    claude(second, &json!({"type": "assistant", "message": {"role": "assistant", "content": content}}))
}

fn claude_lines() -> Vec<Value> {
    let listing = "- pdf-forms: Fills in PDF forms. Use when: a form must be filled in\n- dead-skill: Never used.\n";
    let failed = json!([{"type": "tool_result", "tool_use_id": "c9", "is_error": true, "content": "Unknown skill"}]);
    vec![
        json!({"type": "queue-operation", "operation": "enqueue", "sessionId": "17481b8b", "content": "secret words"}),
        claude(1, &json!({"type": "user", "message": {"role": "user", "content": "fill in the secret words"}})),
        claude(2, &json!({"type": "attachment", "attachment": {"type": "skill_listing", "content": listing}})),
        claude_call(3, "c1", "Skill", &json!({"skill": "pdf-forms"})),
        claude_call(4, "c2", "Read", &json!({"file_path": "/home/ann/.claude/skills/pdf-forms/forms.md"})),
        claude_call(
            5,
            "c3",
            "Bash",
            &json!({"command": "python ~/.claude/skills/pdf-forms/scripts/fill.py 'secret words'"}),
        ),
        claude_call(6, "c4", "Read", &json!({"file_path": "/work/site/skills/not-a-skill/readme.md"})),
        claude_call(7, "c5", "mcp__skillcue__load_skill", &json!({"skill_id": "csv"})),
        claude_call(8, "c9", "Skill", &json!({"skill": "made-up"})),
        claude(9, &json!({"type": "user", "message": {"role": "user", "content": failed}})),
        claude(
            10,
            &json!({"type": "user", "message": {"role": "user", "content":
            "<command-name>/pdf-forms</command-name>\n<command-args>secret words</command-args>"}}),
        ),
        claude(
            11,
            &json!({"type": "user", "message": {"role": "user", "content": "<command-name>/clear</command-name>"}}),
        ),
    ]
}

/// Returns a line of Codex's.
fn codex(second: u64, kind: &str, payload: &Value) -> Value {
    let timestamp = format!("2026-11-17T21:33:{second:02}.088Z");
    json!({"timestamp": timestamp, "ordinal": second, "type": kind, "payload": payload})
}

fn codex_lines() -> Vec<Value> {
    let listing = "<skills_instructions>\n## Skills\n- not: an entry\n### Skill roots\n- `r0` = `/home/ann/.codex/skills`\n\
                   ### Available skills\n- pdf-forms: Fills in forms. (file: r0/pdf-forms/SKILL.md)\n- dead-skill: Never.\n";
    let called = "<skill>\n<name>csv</name>\n<path>/home/ann/.codex/skills/csv/SKILL.md</path>\nHow.\n</skill>";
    let user =
        |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let call = |id: &str, name: &str, arguments: &Value| json!({"type": "function_call", "name": name, "call_id": id, "arguments": arguments.to_string()});
    let ours = json!({"type": "function_call", "name": "load_skill", "namespace": "mcp__skillcue", "call_id": "call_4",
                      "arguments": "{\"skill_id\":\"csv\"}"});
    vec![
        codex(0, "session_meta", &json!({"id": "01a1eb6d", "cwd": "/work/site", "cli_version": "0.166.0"})),
        codex(1, "event_msg", &json!({"type": "task_started"})),
        codex(
            2,
            "response_item",
            &json!({"type": "message", "role": "developer",
            "content": [{"type": "input_text", "text": listing}]}),
        ),
        codex(3, "response_item", &user("fill in the secret words")),
        codex(
            4,
            "response_item",
            &call(
                "call_1",
                "shell",
                &json!({"command":
            ["bash", "-lc", "sed -n '1,200p' /home/ann/.codex/skills/pdf-forms/SKILL.md"]}),
            ),
        ),
        codex(
            5,
            "response_item",
            &call(
                "call_2",
                "exec_command",
                &json!({"cmd":
            "python /home/ann/.codex/skills/pdf-forms/scripts/fill.py"}),
            ),
        ),
        codex(6, "response_item", &call("call_3", "shell", &json!({"command": ["cat", "r0/unknown/SKILL.md"]}))),
        codex(30, "response_item", &ours),
        codex(50, "response_item", &user(called)),
    ]
}

pub(crate) fn import(home: &Path, ledger: &Ledger, kind: TranscriptKind) -> TranscriptImport {
    import_of(home, ledger, kind, &["csv".to_owned()])
}

/// Imports the transcripts of a home in which there are skills.
pub(crate) fn import_of(home: &Path, ledger: &Ledger, kind: TranscriptKind, known: &[String]) -> TranscriptImport {
    let now = skillcue_base::parse_rfc3339("2026-11-19T00:00:00Z").unwrap();
    let project_of = |cwd: &Path| cwd.parent().unwrap().to_path_buf();
    // One of a plugin has the plugin's name in front.
    let name_of = |called: &str| {
        let name = called.strip_prefix("office:").unwrap_or(called);
        known.iter().find(|known| *known == name).cloned()
    };
    import_transcripts(ledger, kind, &kind.dir(home), &name_of, &project_of, now).unwrap()
}

fn found(ledger: &Ledger) -> Vec<(UsageKind, String, u64)> {
    let events = ledger.events(&LedgerQuery::default()).unwrap();
    events.into_iter().map(|event| (event.kind, event.skill, event.turn)).collect()
}

fn of(kind: UsageKind, skill: &str, turn: u64) -> (UsageKind, String, u64) {
    (kind, skill.to_owned(), turn)
}

#[test]
fn a_transcript_of_claude_code_tells_what_was_listed_loaded_and_used() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/projects/-work-site/17481b8b.jsonl");
    lines(&path, &claude_lines());
    let ledger = ageless(home.path().join("usage.db"));
    let read = import(home.path(), &ledger, TranscriptKind::Claude);
    let pdf = "pdf-forms";
    let expected =
        [of(Loaded, pdf, 1), of(FileRead, pdf, 1), of(Run, pdf, 1), of(Loaded, "csv", 1), of(Loaded, pdf, 2)];
    assert_eq!(found(&ledger), expected);
    let counts: Vec<_> =
        read.skills.iter().map(|skill| (skill.name.as_str(), skill.listed, skill.loaded, skill.used)).collect();
    assert_eq!(counts, [("csv", 0, 1, 0), ("dead-skill", 1, 0, 0), (pdf, 1, 2, 2)]);
    assert_eq!((read.transcripts, read.added, read.known, read.bad_lines), (1, 5, 0, 0));
    let event = &ledger.events(&LedgerQuery::default()).unwrap()[1];
    assert_eq!((event.project.as_str(), event.session.as_str()), ("/work", "17481b8b"));
    assert_eq!((event.client.as_str(), event.item.as_deref()), ("claude", Some("forms.md")));
    assert_eq!(ledger.listings().unwrap().len(), 2);
}

#[test]
fn a_transcript_of_codex_tells_what_was_listed_loaded_and_used() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".codex/sessions/2026/11/17/rollout-2026-11-17T21-32-54-01a1eb6d.jsonl");
    lines(&path, &codex_lines());
    std::fs::write(path.with_file_name("other.jsonl"), "{}\n").unwrap();
    let ledger = ageless(home.path().join("usage.db"));
    let read = import(home.path(), &ledger, TranscriptKind::Codex);
    let expected = [of(Loaded, "pdf-forms", 1), of(Run, "pdf-forms", 1), of(Loaded, "csv", 1), of(Loaded, "csv", 1)];
    assert_eq!(found(&ledger), expected);
    assert_eq!((read.transcripts, read.added), (1, 4));
    assert_eq!(read.skills.iter().find(|skill| skill.name == "dead-skill").unwrap().listed, 1);
}

/// Returns the skills of an import that were loaded or used, or are ours: listed, loaded, used.
fn counts(read: &TranscriptImport) -> Vec<(&str, usize, usize, usize)> {
    let is_ours = |name: &str| ["html-email", "pdf-forms"].contains(&name);
    let skills = read.skills.iter().filter(|skill| is_ours(&skill.name) || skill.loaded + skill.used > 0);
    skills.map(|skill| (skill.name.as_str(), skill.listed, skill.loaded, skill.used)).collect()
}

/// Returns the events of a ledger with the files of skills that they are about.
fn found_items(ledger: &Ledger) -> Vec<(UsageKind, String, u64, String)> {
    let events = ledger.events(&LedgerQuery::default()).unwrap().into_iter();
    events.map(|event| (event.kind, event.skill, event.turn, event.item.unwrap_or_default())).collect()
}

fn of_item(kind: UsageKind, skill: &str, turn: u64, item: &str) -> (UsageKind, String, u64, String) {
    (kind, skill.to_owned(), turn, item.to_owned())
}

#[test]
fn a_session_that_claude_code_wrote_tells_what_was_listed_loaded_and_used() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/projects/-work-site/id-1.jsonl");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, include_str!("../fixtures/claude-session.jsonl")).unwrap();
    let ledger = ageless(home.path().join("usage.db"));
    let read = import(home.path(), &ledger, TranscriptKind::Claude);
    // Calls of a skill, a file and a script that there are not failed, and count for nothing.
    assert_eq!(counts(&read), [("html-email", 1, 1, 0), ("pdf-forms", 1, 1, 3)]);
    assert_eq!(read.skills.iter().filter(|skill| skill.listed == 1).count(), 15);
    let (pdf, script) = ("pdf-forms", "scripts/list.sh");
    let expected = [
        of_item(Loaded, pdf, 1, ""),
        of_item(FileRead, pdf, 1, "fields.md"),
        of_item(Run, pdf, 1, script),
        // cd …/pdf-forms && sh scripts/list.sh
        of_item(Run, pdf, 1, script),
        of_item(Loaded, "html-email", 2, ""),
    ];
    assert_eq!(found_items(&ledger), expected);
    assert_eq!((read.transcripts, read.added, read.known, read.bad_lines), (1, 5, 0, 0));
}

#[test]
fn a_session_that_codex_wrote_tells_what_was_listed_loaded_and_used() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".codex/sessions/2026/11/18/rollout-2026-11-18T17-01-50-id-1.jsonl");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, include_str!("../fixtures/codex-session.jsonl")).unwrap();
    let ledger = ageless(home.path().join("usage.db"));
    let read = import(home.path(), &ledger, TranscriptKind::Codex);
    // A command that read a file that is not there failed, and counts for nothing.
    assert_eq!(counts(&read), [("html-email", 1, 1, 1), ("pdf-forms", 1, 1, 3)]);
    assert_eq!(read.skills.iter().filter(|skill| skill.listed == 1).count(), 6);
    let (pdf, script) = ("pdf-forms", "scripts/list.sh");
    let expected = [
        of_item(Loaded, pdf, 1, ""),
        of_item(FileRead, pdf, 1, "fields.md"),
        of_item(Run, pdf, 1, script),
        // In the working directory of the call.
        of_item(Run, pdf, 1, script),
        of_item(FileRead, "html-email", 1, "fields.md"),
        of_item(Loaded, "html-email", 2, ""),
    ];
    assert_eq!(found_items(&ledger), expected);
    assert_eq!((read.transcripts, read.added, read.known, read.bad_lines), (1, 6, 0, 0));
}

#[test]
fn an_import_adds_each_event_once() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/projects/-work-site/17481b8b.jsonl");
    let all = claude_lines();
    lines(&path, &all[..4]);
    let ledger = ageless(home.path().join("usage.db"));
    // The client's hook has recorded the load already.
    let at = skillcue_base::parse_rfc3339("2026-11-17T21:32:03.900Z").unwrap();
    let hooked = LedgerEvent {
        at,
        client: "hook:claude".to_owned(),
        session: "17481b8b".to_owned(),
        ..LedgerEvent::new(Loaded, "pdf-forms")
    };
    ledger.write(&[hooked]).unwrap();
    assert_eq!(import(home.path(), &ledger, TranscriptKind::Claude).known, 1);
    // It goes on: the last line is half written.
    lines(&path, &all);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{{\"type\":\"assis")).unwrap();
    let again = import(home.path(), &ledger, TranscriptKind::Claude);
    assert_eq!((again.transcripts, again.added, again.bad_lines), (1, 4, 1));
    assert_eq!(again.skills.iter().map(|skill| skill.listed).sum::<usize>(), 2);
    assert!(ledger.listings().unwrap().iter().all(|(.., sessions)| *sessions == 1), "the listing counted before");
    let third = import(home.path(), &ledger, TranscriptKind::Claude);
    assert_eq!((third.transcripts, third.unchanged, third.added), (0, 1, 0));
    assert_eq!(found(&ledger).len(), 5);
}

#[test]
fn a_listing_after_the_first_import_counts_once() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/projects/-work-site/17481b8b.jsonl");
    let all = claude_lines();
    let ledger = ageless(home.path().join("usage.db"));
    for count in [2, 3, 4] {
        lines(&path, &all[..count]);
        import(home.path(), &ledger, TranscriptKind::Claude);
    }
    let listed = |name: &str| (name.to_owned(), "claude".to_owned(), 1);
    assert_eq!(ledger.listings().unwrap(), [listed("dead-skill"), listed("pdf-forms")]);
}

#[test]
fn a_call_that_was_imported_before_it_failed_is_taken_back() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/projects/-work-site/17481b8b.jsonl");
    let all = claude_lines();
    let ledger = ageless(home.path().join("usage.db"));
    lines(&path, &all[..9]);
    import(home.path(), &ledger, TranscriptKind::Claude);
    assert!(found(&ledger).contains(&of(Loaded, "made-up", 1)));
    lines(&path, &all[..10]);
    import(home.path(), &ledger, TranscriptKind::Claude);
    assert!(!found(&ledger).contains(&of(Loaded, "made-up", 1)));
    assert_eq!(found(&ledger).len(), 4);
}

#[test]
fn a_file_that_a_skill_on_this_machine_does_not_have_is_not_imported() {
    let home = tempfile::tempdir().unwrap();
    let skill = home.path().join(".claude/skills/csv");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(skill.join("SKILL.md"), "").unwrap();
    std::fs::write(skill.join("fields.md"), "").unwrap();
    let run = |second, id, command: &str| claude_call(second, id, "Bash", &json!({"command": command}));
    let all = [
        run(1, "c1", "cat ~/.claude/skills/csv/fields.md"),
        run(10, "c2", "cat $HOME/.claude/skills/csv/jane-doe.md"),
        run(20, "c3", "cd ~/.claude/skills/csv && cat jane-doe.md"),
        run(30, "c4", &format!("cat {}/jane-doe.md", skill.display())),
    ];
    lines(&home.path().join(".claude/projects/-work-site/a.jsonl"), &all);
    let ledger = ageless(home.path().join("usage.db"));
    import(home.path(), &ledger, TranscriptKind::Claude);
    assert_eq!(found_items(&ledger), [of_item(FileRead, "csv", 0, "fields.md")]);
}

/// Returns the answer to a call of a tool.
fn claude_result(second: u64, id: &str, is_error: bool) -> Value {
    let content = json!([{"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": "…"}]);
    claude(second, &json!({"type": "user", "message": {"role": "user", "content": content}}))
}

#[test]
fn a_skill_that_is_unloaded_is_not_loaded() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/projects/-work-site/17481b8b.jsonl");
    let unload = claude_call(3, "c1", "mcp__skillcue__unload_skill", &json!({"skill_id": "csv"}));
    lines(&path, &[unload, claude_result(4, "c1", false)]);
    let ledger = ageless(home.path().join("usage.db"));
    assert_eq!(import(home.path(), &ledger, TranscriptKind::Claude).added, 0);
}

#[test]
fn words_that_a_model_writes_into_calls_of_our_tools_are_not_kept() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/projects/-work-site/17481b8b.jsonl");
    let load =
        |second, id, name: &str| claude_call(second, id, "mcp__skillcue__load_skill", &json!({"skill_id": name}));
    let file = |second, id, path: &str| {
        claude_call(second, id, "mcp__skillcue__read_skill_file", &json!({"skill_id": "csv", "path": path}))
    };
    let script = json!({"skill_id": "csv", "script": "call Mr. Hunter2"});
    let all = [
        // Of a skill that has gone since.
        load(1, "c1", "old-skill"),
        claude_result(2, "c1", false),
        load(3, "c2", "patient-hunter2"),
        claude_result(4, "c2", true),
        load(5, "c3", "hunter2-without-an-answer"),
        load(6, "c4", "Jane.Hunter2"),
        claude_result(7, "c4", false),
        file(10, "c5", "references/fields.md"),
        file(20, "c6", "the diagnosis of Hunter2"),
        file(30, "c7", "hunter2@clinic.example"),
        claude_call(40, "c8", "mcp__skillcue__run_skill_script", &script),
    ];
    lines(&path, &all);
    let ledger = ageless(home.path().join("usage.db"));
    import(home.path(), &ledger, TranscriptKind::Claude);
    let expected = [
        of_item(Loaded, "old-skill", 0, ""),
        of_item(FileRead, "csv", 0, "references/fields.md"),
        of_item(FileRead, "csv", 0, ""),
        of_item(FileRead, "csv", 0, ""),
        of_item(Run, "csv", 0, ""),
    ];
    assert_eq!(found_items(&ledger), expected);
}

#[test]
fn a_call_that_takes_long_is_known_by_the_time_of_its_result() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".claude/projects/-work-site/17481b8b.jsonl");
    let run = json!({"command": "python ~/.claude/skills/csv/scripts/fill.py"});
    lines(
        &path,
        &[claude_call(3, "c1", "Bash", &run), claude_result(43, "c1", false), claude_call(59, "c2", "Bash", &run)],
    );
    let ledger = ageless(home.path().join("usage.db"));
    let hooked = LedgerEvent {
        at: skillcue_base::parse_rfc3339("2026-11-17T21:32:43.900Z").unwrap(),
        client: "hook:claude".to_owned(),
        session: "17481b8b".to_owned(),
        item: Some("scripts/fill.py".to_owned()),
        ..LedgerEvent::new(Run, "csv")
    };
    ledger.write(&[hooked]).unwrap();
    let read = import(home.path(), &ledger, TranscriptKind::Claude);
    assert_eq!((read.known, read.added), (1, 1), "the second call is another one");
    // Codex has the result in a line of its own.
    let path = home.path().join(".codex/sessions/2026/11/17/rollout-a.jsonl");
    let arguments = json!({"cmd": "sh scripts/fill.sh", "workdir": "/x/skills/csv"}).to_string();
    let call = json!({"type": "function_call", "name": "exec_command", "call_id": "c1", "arguments": arguments});
    let result = json!({"type": "function_call_output", "call_id": "c1", "output": "Exit code: 0\nOutput:\n"});
    let meta = codex(0, "session_meta", &json!({"id": "01a1eb6d", "cwd": "/work/site"}));
    lines(&path, &[meta, codex(1, "response_item", &call), codex(50, "response_item", &result)]);
    let hooked = LedgerEvent {
        at: skillcue_base::parse_rfc3339("2026-11-17T21:33:50.900Z").unwrap(),
        client: "hook:codex".to_owned(),
        project: "/work".to_owned(),
        item: Some("scripts/fill.sh".to_owned()),
        ..LedgerEvent::new(Run, "csv")
    };
    ledger.write(&[hooked]).unwrap();
    let read = import(home.path(), &ledger, TranscriptKind::Codex);
    assert_eq!((read.known, read.added), (1, 0));
}

#[test]
fn a_line_of_the_future_is_not_imported() {
    let home = tempfile::tempdir().unwrap();
    let mut all = claude_lines();
    let mut later = |line: usize, time: &str| all[line]["timestamp"] = time.into();
    later(3, "2999-01-01T00:00:00Z");
    later(4, "9999-12-31T23:59:59Z");
    // A clock that is ahead by less than a day.
    later(5, "2026-11-19T20:00:00Z");
    lines(&home.path().join(".claude/projects/-work-site/17481b8b.jsonl"), &all);
    let ledger = ageless(home.path().join("usage.db"));
    let read = import(home.path(), &ledger, TranscriptKind::Claude);
    assert_eq!((read.added, read.bad_lines), (3, 2));
    let expected = [of(Loaded, "csv", 1), of(Loaded, "pdf-forms", 2), of(Run, "pdf-forms", 1)];
    assert_eq!(found(&ledger), expected);
}

#[test]
fn no_text_of_a_transcript_is_kept() {
    let home = tempfile::tempdir().unwrap();
    lines(&home.path().join(".claude/projects/-work-site/a.jsonl"), &claude_lines());
    lines(&home.path().join(".codex/sessions/2026/11/17/rollout-a.jsonl"), &codex_lines());
    let data = tempfile::tempdir().unwrap();
    let ledger = ageless(data.path().join("usage.db"));
    for kind in TranscriptKind::ALL {
        import(home.path(), &ledger, kind);
    }
    for entry in std::fs::read_dir(data.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"secret"));
    }
}
