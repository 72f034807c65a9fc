//! Rules about uses: calls of tools that count, imports that are refused, and a purge that leaves nothing.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::Sandbox;
use crate::mcp::Client;
use crate::usage::{exported, hook, house, kinds, tool};

#[test]
fn nothing_is_imported_while_the_ledger_is_off() {
    let sandbox = house();
    let call = json!({"type": "assistant", "sessionId": "s", "cwd": "/w", "timestamp": "2026-11-17T21:32:03.507Z",
        "message": {"content": [{"type": "tool_use", "id": "c", "name": "Skill", "input": {"skill": "pdf-forms"}}]}});
    sandbox.write("home/.claude/projects/-work/s.jsonl", format!("{call}\n"));
    assert_eq!(sandbox.run(&["usage", "off"]).code, Some(0));
    assert_snapshot!(sandbox.run(&["usage", "import"]), @r"
    exit 1
    --- stderr
    error[usage_off]: no transcript is imported while the ledger is off
      help: nothing is recorded: it is off; `skillcue usage on` switches it on
    ");
    assert_eq!(exported(&sandbox).len(), 0);
    assert_eq!(sandbox.run(&["usage", "on"]).code, Some(0));
    assert_eq!((sandbox.run(&["usage", "import"]).code, exported(&sandbox).len()), (Some(0), 1));
}

#[test]
fn an_import_names_at_most_ten_skills_that_no_transcript_loads() {
    let sandbox = house();
    let list: Vec<String> = (10..22).map(|number| format!("- skill-{number}: Does it.")).collect();
    let listing = json!({"type": "attachment", "sessionId": "s", "timestamp": "2026-11-17T21:32:01.507Z",
        "attachment": {"type": "skill_listing", "content": list.join("\n")}});
    sandbox.write("home/.claude/projects/-work/s.jsonl", format!("{listing}\n"));
    let said = sandbox.run(&["usage", "import"]).stderr;
    assert!(said.contains("12 skills listed and never loaded in them: skill-10, skill-11, "), "{said}");
    assert!(said.contains(", skill-19 and 2 more\n"), "{said}");
}

#[test]
fn hooks_judge_a_call_by_what_its_tool_does_with_the_file() {
    let sandbox = house();
    let dir = sandbox.path("home/.agents/skills/pdf-forms").display().to_string();
    let call = |name: &str, input: Value| {
        let input: Value = serde_json::from_str(&input.to_string().replace("$F", &dir)).unwrap();
        hook(&sandbox, &tool(&sandbox, "s1", name, &input));
    };
    for (name, key) in [("Edit", "file_path"), ("Write", "file_path"), ("Grep", "path"), ("write_file", "path")] {
        call(name, json!({key: "$F/SKILL.md"}));
        call(name, json!({key: "$F/scripts/fill.py"}));
    }
    for command in [
        "echo $F/scripts/fill.py",
        "git add $F/forms.md",
        "rm $F/forms.md",
        "sed -i s/a/b/ $F/SKILL.md",
        "python $F/scripts/none.py",
        "cp a.pdf $F/forms.md",
    ] {
        call("Bash", json!({"command": command}));
    }
    assert_eq!(exported(&sandbox), [] as [Value; 0]);
    call("Bash", json!({"command": "cat $F/scripts/fill.py"}));
    call("Bash", json!({"command": "cd $F && python scripts/fill.py a.pdf"}));
    call("exec_command", json!({"cmd": "sh scripts/fill.py", "workdir": "$F"}));
    call("Bash", json!({"command": "cat ~/.agents/skills/pdf-forms/SKILL.md"}));
    call("Read", json!({"file_path": "$F/SKILL.md"}));
    let events = exported(&sandbox);
    let expected = ["file_read", "run", "run", "loaded", "loaded"].map(|kind| format!("hook:claude {kind} pdf-forms"));
    assert_eq!(kinds(&events), expected);
    assert_eq!(events[..3].iter().filter(|event| event["item"] == "scripts/fill.py").count(), 3);
}

#[test]
fn hooks_know_files_of_skills_by_whichever_path_leads_there() {
    let sandbox = house();
    sandbox.skill("home/.agents/skills/csv", "Reads tables.");
    sandbox.write("work/secret-customer-jane.md", "# Jane\n");
    std::fs::create_dir_all(sandbox.path("home/.claude")).unwrap();
    std::os::unix::fs::symlink(sandbox.path("home/.agents/skills"), sandbox.path("home/.claude/skills")).unwrap();
    std::os::unix::fs::symlink(sandbox.path("work"), sandbox.path("home/.agents/skills/csv/work")).unwrap();
    let dir = sandbox.path("home/.agents/skills").display().to_string();
    let linked = sandbox.path("home/.claude/skills").display().to_string();
    for command in [
        "cat $S/pdf-forms/../csv/SKILL.md",
        "cat $L/pdf-forms/SKILL.md",
        "cd $L/pdf-forms && python scripts/fill.py",
        "cat $S/pdf-forms/../../../../work/secret-customer-jane.md",
        "cat $S/csv/work/secret-customer-jane.md",
    ] {
        let command = command.replace("$S", &dir).replace("$L", &linked);
        hook(&sandbox, &tool(&sandbox, "s1", "Bash", &json!({"command": command})));
    }
    let events = exported(&sandbox);
    let expected = ["loaded csv", "loaded pdf-forms", "run pdf-forms"].map(|kind| format!("hook:claude {kind}"));
    assert_eq!(kinds(&events), expected);
    assert_eq!(events[2]["item"], "scripts/fill.py");
}

#[test]
fn a_skill_directory_that_is_a_link_is_known_by_the_path_behind_it() {
    let sandbox = house();
    sandbox.skill("store/csv", "Reads tables.");
    std::os::unix::fs::symlink(sandbox.path("store/csv"), sandbox.path("home/.agents/skills/csv")).unwrap();
    for path in ["store/csv/SKILL.md", "home/.agents/skills/csv/SKILL.md"] {
        let read = json!({"file_path": sandbox.path(path)});
        hook(&sandbox, &tool(&sandbox, "s1", "Read", &read));
    }
    assert_eq!(kinds(&exported(&sandbox)), ["hook:claude loaded csv"; 2]);
}

#[test]
fn a_skill_that_one_agent_listed_and_the_other_loaded_is_not_named() {
    let sandbox = house();
    let call = json!({"type": "assistant", "sessionId": "s", "cwd": "/w", "timestamp": "2026-11-17T21:32:03.507Z",
        "message": {"content": [{"type": "tool_use", "id": "c", "name": "Skill", "input": {"skill": "pdf-forms"}}]}});
    sandbox.write("home/.claude/projects/-work/s.jsonl", format!("{call}\n"));
    let text = "<skills_instructions>\n### Available skills\n- pdf-forms: Fills in forms.\n- origami: Folds.\n";
    let payload = json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]});
    let line = json!({"timestamp": "2026-11-17T21:33:00.088Z", "type": "response_item", "payload": payload});
    sandbox.write("home/.codex/sessions/2026/11/17/rollout-a.jsonl", format!("{line}\n"));
    let said = sandbox.run(&["usage", "import"]).stderr;
    assert!(said.contains("1 skill listed and never loaded in them: origami\n"), "{said}");
}

#[test]
fn an_import_names_a_skill_of_a_plugin_as_hooks_do() {
    let sandbox = house();
    sandbox.write("home/office/.claude-plugin/plugin.json", r#"{"name": "office"}"#);
    sandbox.skill("home/office/skills/tables", "Reads tables.");
    let known = json!({"version": 2, "plugins": {"office@mp": [{"scope": "user", "installPath": sandbox.path("home/office")}]}});
    sandbox.write("home/.claude/plugins/installed_plugins.json", known.to_string());
    let call = json!({"type": "assistant", "sessionId": "s", "cwd": "/w", "timestamp": "2026-11-17T21:32:03.507Z",
        "message": {"content": [{"type": "tool_use", "id": "c", "name": "Skill", "input": {"skill": "office:tables"}}]}});
    sandbox.write("home/.claude/projects/-work/s.jsonl", format!("{call}\n"));
    hook(&sandbox, &tool(&sandbox, "s", "Skill", &json!({"skill": "office:tables"})));
    assert_eq!(sandbox.run(&["usage", "import"]).code, Some(0));
    assert_eq!(kinds(&exported(&sandbox)), ["claude loaded tables", "hook:claude loaded tables"]);
}

/// Returns whether a word is in a file below a directory.
fn is_below(dir: &std::path::Path, word: &[u8]) -> bool {
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
        let has = |path| std::fs::read(path).unwrap().windows(word.len()).any(|window| window == word);
        if path.is_dir() { is_below(&path, word) } else { has(&path) }
    })
}

#[test]
fn a_purge_removes_counts_that_lists_are_ordered_by() {
    let sandbox = Sandbox::new();
    let add = |name: &str| {
        let does = format!("Does {name} things. ").repeat(40);
        sandbox.skill(&format!("home/.agents/skills/{name}"), &does);
    };
    for name in ["one", "three", "two"] {
        add(name);
    }
    let list = || sandbox.run(&["prompt", "--window", "20000"]).stdout;
    let mut server = Client::start(&sandbox, &["mcp"]);
    for _ in 0..3 {
        server.ask("tools/call", &json!({"name": "load_skill", "arguments": {"skill_id": "two"}}));
    }
    server.end();
    // Lists count anew with another catalog.
    add("four");
    let with = list();
    let cache = sandbox.path("home/.cache/skillcue");
    assert!(is_below(&cache, b"{\"two\":"), "nothing is kept");
    // Of another project.
    std::fs::write(cache.join("uses-0123456789abcdef"), "{\"two\":3}").unwrap();
    let purged = sandbox.run(&["usage", "purge", "--yes"]);
    assert_eq!(purged.code, Some(0), "{purged}");
    assert!(!is_below(&cache, b"{\"two\":") && !cache.join("uses-0123456789abcdef").exists());
    assert_ne!(list(), with);
    // Counts are removed where no event is recorded, too.
    std::fs::write(cache.join("uses-0123456789abcdef"), "{\"two\":3}").unwrap();
    assert_eq!(sandbox.run(&["usage", "purge"]).code, Some(0));
    assert!(!cache.join("uses-0123456789abcdef").exists());
}
