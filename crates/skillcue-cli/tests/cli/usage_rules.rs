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
