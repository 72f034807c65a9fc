//! `skillcue usage`: what hooks, the server and transcripts leave in the ledger, and what is made of it.

use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::Sandbox;
use crate::mcp::Client;

const PDF: &str = "---\nname: pdf-forms\ndescription: Fills in PDF forms and flattens them.\nmetadata:\n  triggers:\n    keywords: [pdf, form]\n---\nUse pdftk.\n";
const MESSAGE: &str = "fill in the pdf form of the quokka";

pub(crate) fn house() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("home/.agents/skills/pdf-forms/SKILL.md", PDF);
    sandbox.write("home/.agents/skills/pdf-forms/scripts/fill.py", "print('filled')\n");
    sandbox.write("home/.agents/skills/pdf-forms/forms.md", "# Forms\n");
    sandbox.skill("home/.agents/skills/origami", "Folds cranes out of paper. Use when folding.");
    sandbox
}

/// Calls a hook, and returns what it printed.
pub(crate) fn hook(sandbox: &Sandbox, sent: &Value) -> String {
    hook_by(sandbox.command(&["hook", "claude"]), sandbox, sent)
}

fn hook_by(mut command: Command, sandbox: &Sandbox, sent: &Value) -> String {
    sandbox.write("tmp/sent", sent.to_string());
    let sent = std::fs::File::open(sandbox.path("tmp/sent")).unwrap();
    command.env("SKILLCUE_HOOK_DEADLINE_MS", "60000").stdin(sent).stderr(Stdio::piped());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn prompt(sandbox: &Sandbox, session: &str) -> Value {
    let cwd = sandbox.path("work");
    json!({"session_id": session, "cwd": cwd, "hook_event_name": "UserPromptSubmit", "prompt": MESSAGE})
}

pub(crate) fn tool(sandbox: &Sandbox, session: &str, name: &str, input: &Value) -> Value {
    let cwd = sandbox.path("work");
    json!({"session_id": session, "cwd": cwd, "hook_event_name": "PostToolUse", "tool_name": name, "tool_input": input,
           "tool_response": {"success": true}})
}

pub(crate) fn exported(sandbox: &Sandbox) -> Vec<Value> {
    let run = sandbox.run(&["usage", "export"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn kinds(events: &[Value]) -> Vec<String> {
    let of = |event: &Value| format!("{} {} {}", event["client"], event["kind"], event["skill"]).replace('"', "");
    events.iter().map(of).collect()
}

#[test]
fn nothing_was_recorded_yet() {
    assert_snapshot!(house().run(&["usage"]), @r"
    exit 0
    --- stderr
    nothing was recorded yet
    `skillcue mcp`, `skillcue agent` and hooks (`skillcue connect CLIENT --hook`) record what happens to skills
    `skillcue usage import` reads the transcripts of Claude Code and Codex
    ");
    assert_snapshot!(house().run(&["usage", "--since", "soon"]), @r"
    exit 2
    --- stderr
    error: invalid value 'soon' for '--since <TIME>': write 12h, 30d, 8w, a date such as 2026-11-01, or all

    For more information, try '--help'.
    ");
    assert_eq!(house().run(&["usage", "--skill", "no-such-skill"]).code, Some(1));
}

/// Messages that get no answer are counted, whether their hook failed or had no more time.
#[test]
fn a_message_without_an_answer_counts_as_dropped() {
    let sandbox = house();
    hook(&sandbox, &prompt(&sandbox, "s1"));
    let dropped = || {
        let report: Value = serde_json::from_str(&sandbox.run(&["usage", "--json"]).stdout).unwrap();
        (report["dropped"].clone(), report["messages"].clone())
    };
    assert_eq!(dropped(), (json!(0), json!(1)));
    let unanswered = |session: &str, deadline: &str| {
        sandbox.write("tmp/sent", prompt(&sandbox, session).to_string());
        let mut command = sandbox.command(&["hook", "claude"]);
        command.env("SKILLCUE_HOOK_DEADLINE_MS", deadline);
        let output = command.stdin(std::fs::File::open(sandbox.path("tmp/sent")).unwrap()).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    // Its session is locked by a process that hangs.
    let all = std::fs::read_dir(sandbox.path("home/.cache/skillcue/hooks")).unwrap();
    let locks: Vec<_> = all.map(|entry| entry.unwrap().path()).filter(|it| it.extension().is_some()).collect();
    let held: Vec<_> = locks.iter().map(|path| std::fs::File::options().write(true).open(path).unwrap()).collect();
    for file in &held {
        file.lock().unwrap();
    }
    unanswered("s1", "60000");
    assert_eq!(dropped(), (json!(1), json!(1)));
    drop(held);
    assert!(unanswered("stall in a test", "3000").contains("no answer within 3000 ms"));
    assert_eq!(dropped(), (json!(2), json!(1)));
    let off = sandbox.run(&["usage", "off"]);
    assert_eq!(off.code, Some(0), "{off}");
    unanswered("stall in a test", "3000");
    assert_eq!(dropped(), (json!(2), json!(1)), "nothing is recorded while it is off");
}

#[test]
fn hooks_record_what_they_showed_and_what_was_done_with_it() {
    let sandbox = house();
    for session in ["s1", "s2", "s3"] {
        assert!(hook(&sandbox, &prompt(&sandbox, session)).contains("pdftk"));
    }
    // Shown already: no second event.
    assert_eq!(hook(&sandbox, &prompt(&sandbox, "s1")), "");
    let script = sandbox.path("home/.agents/skills/pdf-forms/scripts/fill.py");
    hook(&sandbox, &tool(&sandbox, "s1", "Bash", &json!({"command": format!("python {}", script.display())})));
    let file = sandbox.path("home/.agents/skills/pdf-forms/forms.md");
    hook(&sandbox, &tool(&sandbox, "s2", "Read", &json!({"file_path": file})));
    hook(&sandbox, &tool(&sandbox, "s2", "Read", &json!({"file_path": sandbox.path("work/other.md")})));
    let events = exported(&sandbox);
    let shown = "hook:claude shown pdf-forms";
    let expected = [shown, shown, shown, "hook:claude run pdf-forms", "hook:claude file_read pdf-forms"];
    assert_eq!(kinds(&events), expected);
    assert_eq!((&events[0]["tier"], &events[0]["mode"], &events[0]["turn"]), (&json!(3), &json!("hybrid"), &json!(1)));
    assert_eq!(events[3]["item"], "scripts/fill.py");
    let work = sandbox.redact(events[0]["project"].as_str().unwrap());
    assert_eq!(work, "[TMP]/work");
    let run = sandbox.run(&["usage", "--json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["accuracy"], json!({"right": 2, "wrong": 1, "offered": 0, "missed": 0, "unclear": 0}));
    assert_eq!(report["messages"], 4);
    assert_eq!((&report["findings"]["dead"], &report["findings"]["untried"]), (&json!([]), &json!(["origami"])));
    // The body's heading has the path of this test's directory.
    let tokens = report["skills"][0]["tokens"].as_u64().unwrap();
    let page = sandbox.run(&["usage", "--by", "client"]).stdout.replace(&format!("{tokens:>6}"), "    NN");
    assert_snapshot!(page, @r#"
    CLIENT       SHOWN  LOADED  RIGHT  WRONG  MISSED  OFFERED  UNCLEAR  TOKENS  ACCURACY
    hook:claude      3       0      2      1       0        0        0      NN      67 %  █████████████░░░░░░░

    SKILL      SHOWN  LOADED  USED  MISSED  DECLINED  TOKENS  RIGHT  BY WEEK
    pdf-forms      3       0     2       0         0      NN   67 %  █

    To look at
      untried   origami: not shown yet, in 4 messages; nothing to do: a skill counts as dead after 14 days and 100 messages without being shown
    "#);
}

#[test]
fn the_server_records_what_a_model_searches_for_and_loads() {
    let sandbox = house();
    let mut server = Client::start(&sandbox, &["mcp"]);
    for (name, arguments) in [
        ("search_skills", json!({"query": "pdf form of the quokka"})),
        ("load_skill", json!({"skill_id": "pdf-forms"})),
        ("read_skill_file", json!({"skill_id": "pdf-forms", "path": "forms.md"})),
        ("load_skill", json!({"skill_id": "origami"})),
        ("load_skill", json!({"skill_id": "quokka"})),
    ] {
        server.ask("tools/call", &json!({"name": name, "arguments": arguments}));
    }
    for path in ["pdf-forms/forms.md", "origami/SKILL.md", "pdf-forms/quokka.md"] {
        server.ask("resources/read", &json!({"uri": format!("skill://{path}")}));
    }
    server.end();
    let events = exported(&sandbox);
    let expected = [
        "mcp missed pdf-forms",
        "mcp loaded pdf-forms",
        "mcp file_read pdf-forms",
        "mcp loaded origami",
        "mcp file_read pdf-forms",
        "mcp loaded origami",
    ];
    assert_eq!(kinds(&events), expected);
    assert!(!has_message(&sandbox));
}

/// Returns whether a word of the messages is in a file of the data directory.
fn has_message(sandbox: &Sandbox) -> bool {
    let has = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(path).unwrap() } else { Vec::new() };
        bytes.windows(6).any(|window| window.eq_ignore_ascii_case(b"quokka"))
    };
    std::fs::read_dir(sandbox.path("home/.local/share/skillcue")).unwrap().any(has)
}

#[test]
fn no_text_of_a_message_is_in_the_files_of_the_ledger() {
    let sandbox = house();
    for session in ["s1", "s2"] {
        hook(&sandbox, &prompt(&sandbox, session));
    }
    // In the spool, and then in the database.
    assert!(sandbox.path("home/.local/share/skillcue/usage.db-spool").exists());
    assert!(!has_message(&sandbox));
    let exported = sandbox.run(&["usage", "export"]).stdout;
    assert!(
        exported.contains("pdf-forms") && !exported.contains("quokka") && !exported.contains("\"text\""),
        "{exported}"
    );
    assert!(!sandbox.path("home/.local/share/skillcue/usage.db-spool").exists());
    assert!(!has_message(&sandbox));
}

#[test]
fn a_skill_without_events_has_a_line_and_no_empty_tables() {
    let sandbox = house();
    hook(&sandbox, &prompt(&sandbox, "s1"));
    let run = sandbox.run(&["usage", "--skill", "origami"]);
    assert!(run.code == Some(0) && run.stdout.starts_with("To look at\n  untried   origami: not shown yet"), "{run}");
    assert!(!run.stdout.contains("WEEK OF") && !run.stdout.contains("\n\n"), "{run}");
}

#[test]
fn a_command_of_a_person_is_not_recorded() {
    let sandbox = house();
    for args in [&["context", MESSAGE][..], &["why", MESSAGE], &["search", MESSAGE], &["load", "pdf-forms"]] {
        assert_eq!(sandbox.run(args).code, Some(0));
    }
    assert_eq!(exported(&sandbox), [] as [Value; 0]);
    assert!(!sandbox.path("home/.local/share/skillcue/usage.db").exists());
}

#[test]
fn recording_is_switched_off_by_a_command_a_setting_or_a_variable() {
    let sandbox = house();
    assert_eq!(sandbox.run(&["usage", "off"]).code, Some(0));
    assert!(!hook(&sandbox, &prompt(&sandbox, "s1")).is_empty());
    assert_eq!(exported(&sandbox).len(), 0);
    assert_eq!(sandbox.run(&["usage", "on"]).stderr, "what happens to skills is recorded, on this machine only\n");
    let mut command = sandbox.command(&["hook", "claude"]);
    command.env("SKILLCUE_USAGE", "off");
    assert!(!hook_by(command, &sandbox, &prompt(&sandbox, "s2")).is_empty());
    sandbox.write(crate::sandbox::SETTINGS, "[usage]\nrecord = false\n");
    assert!(!hook(&sandbox, &prompt(&sandbox, "s3")).is_empty());
    assert_eq!(exported(&sandbox).len(), 0);
    assert!(sandbox.run(&["usage"]).stderr.contains("`record = false` is below [usage]"));
    std::fs::remove_file(sandbox.path(crate::sandbox::SETTINGS)).unwrap();
    assert!(!hook(&sandbox, &prompt(&sandbox, "s4")).is_empty());
    assert_eq!(exported(&sandbox).len(), 1);
}

#[test]
fn text_is_kept_and_exported_only_if_it_is_asked_for() {
    let sandbox = house();
    sandbox.write(crate::sandbox::SETTINGS, "[usage]\ntext = true\n");
    hook(&sandbox, &prompt(&sandbox, "s1"));
    let exported = sandbox.run(&["usage", "export"]).stdout;
    assert!(
        exported.contains("pdf-forms") && !exported.contains("quokka") && !exported.contains("\"text\""),
        "{exported}"
    );
    assert!(sandbox.run(&["usage", "export", "--with-text"]).stdout.contains(MESSAGE));
    assert_eq!(sandbox.run(&["usage", "purge"]).code, Some(2));
    assert_eq!(sandbox.run(&["usage", "purge", "--yes"]).stderr, "removed 1 event\n");
    assert!(!has_message(&sandbox));
}

#[test]
fn tune_learns_from_messages_that_were_kept() {
    let sandbox = house();
    let run = sandbox.run(&["tune", "pdf-forms"]);
    assert!(run.code == Some(1) && run.stderr.contains("error[too_few_messages]: 0 labelled messages"), "{run}");
    sandbox.write(crate::sandbox::SETTINGS, "[usage]\ntext = true\n");
    let file = sandbox.path("home/.agents/skills/pdf-forms/forms.md");
    for (at, task) in ["flatten", "lock", "print", "send", "copy", "open", "rename", "check"].into_iter().enumerate() {
        let session = format!("s{at}");
        let message = json!({"prompt": format!("{task} the pdf form number {at}")});
        let mut sent = prompt(&sandbox, &session);
        sent["prompt"] = message["prompt"].clone();
        hook(&sandbox, &sent);
        // What nothing was used for is no example.
        if at != 7 {
            hook(&sandbox, &tool(&sandbox, &session, "Read", &json!({"file_path": file})));
        }
    }
    let found = sandbox.run(&["tune", "pdf-forms", "--json"]).json();
    let own = |half: &str| found["messages"][half].as_u64().unwrap();
    assert_eq!((own("own_train") + own("own_unseen"), own("all")), (7, 7), "{found}");
}

#[test]
fn a_checkout_does_not_decide_about_the_ledger() {
    let sandbox = house();
    sandbox.write("work/skillcue.toml", "[usage]\ntext = true\nfeedback = true\n");
    let run = sandbox.run(&["list"]);
    assert!(run.stderr.contains("untrusted_usage"), "{}", run.stderr);
    sandbox.command(&["hook", "claude"]);
    sandbox.write("tmp/sent", prompt(&sandbox, "s1").to_string());
    let sent = std::fs::read(sandbox.path("tmp/sent")).unwrap();
    assert_eq!(sandbox.run_with(&sent, &["hook", "claude"]).code, Some(0));
    assert!(!sandbox.run(&["usage", "export", "--with-text"]).stdout.contains("quokka"));
}

#[test]
fn a_hook_answers_where_the_ledger_cannot_be_written() {
    let sandbox = house();
    sandbox.write(
        "home/.local/share/skillcue/usage.db",
        "no database, but a letter that is long enough to be read as one",
    );
    assert!(hook(&sandbox, &prompt(&sandbox, "s1")).contains("pdftk"));
    let run = sandbox.run(&["usage"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.starts_with("error[usage_damaged]"), "{}", run.stderr);
}

#[test]
fn feedback_is_off_unless_it_is_switched_on_and_is_seen_in_why() {
    let sandbox = house();
    for session in 0..9 {
        let by_name = sandbox.command(&["hook", "claude", "--style", "name"]);
        hook_by(by_name, &sandbox, &prompt(&sandbox, &format!("s{session}")));
    }
    let why = |sandbox: &Sandbox| sandbox.run(&["why", MESSAGE, "pdf-forms"]).stdout;
    let before = why(&sandbox);
    assert!(!before.contains("in this project"), "{before}");
    sandbox.write(crate::sandbox::SETTINGS, "[usage]\nfeedback = true\n");
    let after = why(&sandbox);
    assert!(after.contains("use") && after.contains("shown 9 times in this project, never used"), "{after}");
    // One sign of use, and nothing is held against it.
    let file = sandbox.path("home/.agents/skills/pdf-forms/forms.md");
    hook(&sandbox, &tool(&sandbox, "s0", "Read", &json!({"file_path": file})));
    assert_eq!(why(&sandbox), before);
    let stable = |sandbox: &Sandbox| sandbox.run(&["prompt"]).stdout;
    let with = stable(&sandbox);
    std::fs::remove_file(sandbox.path(crate::sandbox::SETTINGS)).unwrap();
    assert_eq!(with, stable(&sandbox));
}

#[test]
fn transcripts_are_imported_once() {
    let sandbox = house();
    let line = |second: u64, name: &str, input: &Value| {
        json!({"type": "assistant", "sessionId": "17481b8b", "cwd": sandbox.path("work"),
               "timestamp": format!("2026-11-17T21:32:{second:02}.507Z"),
               "message": {"content": [{"type": "tool_use", "id": format!("c{second}"), "name": name, "input": input}]}})
    };
    let listing = json!({"type": "attachment", "sessionId": "17481b8b", "timestamp": "2026-11-17T21:32:01.507Z",
        "attachment": {"type": "skill_listing", "content": "- pdf-forms: Fills in forms.\n- origami: Folds.\n"}});
    let lines =
        [listing, line(3, "Skill", &json!({"skill": "pdf-forms"})), line(9, "Skill", &json!({"skill": "pdf-forms"}))];
    let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n";
    sandbox.write("home/.claude/projects/-work/17481b8b.jsonl", text);
    assert_snapshot!(sandbox.run(&["usage", "import"]), @r"
    exit 0
    --- stdout
    SKILL      AGENT   LISTED  LOADED  USED
    pdf-forms  claude       1       2     0
    --- stderr
    read 1 transcript, 0 unchanged: 2 events new, 0 known already
    1 skill listed and never loaded in them: origami
    `skillcue usage` adds them up
    ");
    assert_snapshot!(sandbox.run(&["usage", "import", "claude"]), @r"
    exit 0
    --- stderr
    read 0 transcripts, 1 unchanged: 0 events new, 0 known already
    `skillcue usage` adds them up
    ");
    let page = sandbox.run(&["usage", "--since", "all"]).stdout;
    // Nothing was asked of Skillcue itself: no skill had a chance to be shown.
    assert!(page.contains("origami: not shown yet, in 0 messages; nothing to do: "), "{page}");
}

#[test]
fn a_list_describes_skills_that_are_used_and_changes_with_the_catalog_alone() {
    let sandbox = Sandbox::new();
    let add = |name: &str| {
        let does = format!("Does {name} things. ").repeat(40);
        sandbox.skill(&format!("home/.agents/skills/{name}"), &does);
    };
    for name in ["one", "three", "two"] {
        add(name);
    }
    let load = |name: &str| {
        let mut server = Client::start(&sandbox, &["mcp"]);
        for _ in 0..3 {
            server.ask("tools/call", &json!({"name": "load_skill", "arguments": {"skill_id": name}}));
        }
        server.end();
    };
    let list = || sandbox.run(&["prompt", "--window", "20000"]).stdout;
    let described = |list: &str, name: &str| list.matches(&format!("Does {name} things.")).count();
    let before = list();
    assert!(described(&before, "two") < 40, "{before}");
    load("two");
    assert_eq!(list(), before, "the catalog is the same");
    add("four");
    let after = list();
    let [two, others] = [
        described(&after, "two"),
        ["one", "three", "four"].map(|name| described(&after, name)).into_iter().max().unwrap(),
    ];
    assert!(two > others, "{two} of two, {others} of another:\n{after}");
    let off = sandbox.run(&["usage", "off"]);
    assert_eq!(off.code, Some(0), "{}", off.stderr);
    assert!(described(&list(), "two") < two, "the ledger is off");
}
