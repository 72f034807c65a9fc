//! `skillcue sessions`, `trace` and `memory`: what is kept of conversations.

use insta::assert_snapshot;
use serde_json::json;
use skillcue_scripted::{Received, Reply};

use crate::Sandbox;
use crate::agent::Talk;

/// Asks for a file of a skill first, and answers then.
fn reader(received: &Received) -> Reply {
    match received.new_results().last() {
        None if received.last_user().ends_with("list") => {
            Reply::calls([("c1", "search_skills", json!({"query": "bonjour"}))]).saying("Let me see.").usage(100, 20)
        }
        _ => Reply::text("Here\u{1b}[2J you are.").cached_usage(120, 7, 80),
    }
}

#[test]
fn nothing_is_kept_yet() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run(&["sessions"]), @r"
    exit 0
    --- stderr
    there are no conversations yet: `skillcue agent` begins one
    ");
    assert_snapshot!(sandbox.run(&["sessions", "--json"]), @r"
    exit 0
    --- stdout
    []
    ");
    assert_snapshot!(sandbox.run(&["sessions", "show"]), @r"
    exit 1
    --- stderr
    error[not_found]: there is no conversation yet
      help: `skillcue agent` begins one
    ");
    assert_snapshot!(sandbox.run(&["trace"]), @r"
    exit 0
    --- stderr
    nothing was traced yet: `skillcue agent` writes traces
    ");
    assert_snapshot!(sandbox.run(&["trace", "nope"]), @r#"
    exit 1
    --- stderr
    error[not_found]: there is no trace of a conversation "nope"
      help: `skillcue trace --all` lists those that there are; a file is named with a / in it
    "#);
    assert_snapshot!(sandbox.run(&["memory"]), @r"
    exit 0
    --- stderr
    nothing is remembered
    ");
    assert_snapshot!(sandbox.run(&["memory", "forget", "3"]), @r"
    exit 1
    --- stderr
    error[not_found]: nothing is remembered as 3
      help: `skillcue memory` shows the numbers
    ");
    assert!(!sandbox.path("home/.local/share/skillcue/memory.db").exists(), "looking makes none");
}

#[test]
fn sessions_are_listed_shown_and_removed() {
    let talk = Talk::new(reader);
    talk.run(&["-p", "please list"]);
    let first = talk.session();
    talk.run(&["-p", "and another"]);
    let second = talk.session();
    assert_ne!(first, second);
    let text =
        |args: &[&str]| talk.sandbox.run(args).to_string().replace(&first, "[FIRST]").replace(&second, "[SECOND]");
    let listed = text(&["sessions"]);
    let lines: Vec<&str> = listed.lines().skip(2).collect();
    assert!(lines[0].starts_with("[SECOND]  ") && lines[0].ends_with("1  scripted  and another"), "{listed}");
    assert!(lines[1].starts_with("[FIRST]  ") && lines[1].ends_with("1  scripted  please list"), "{listed}");
    assert_eq!(lines.len(), 2, "{listed}");
    let shown = text(&["sessions", "show", &first]);
    let shown: Vec<&str> = shown.lines().filter(|line| !line.contains("[FIRST]")).collect();
    assert_snapshot!(shown.join("\n"), @r#"
    exit 0
    --- stdout
    you
      please list
    model
      Let me see.
      → search_skills {"query":"bonjour"}
    ← search_skills
      1 skill fits "bonjour":
      - hello-extended (0.68): Greetings in many languages [keyword "bonjour"]
    model
      Here\u{1b}[2J you are.
    --- stderr
    "#);
    let json = talk.sandbox.run(&["sessions", "show", &first, "--json"]).json();
    assert_eq!(
        (&json["id"], &json["turns"], json["messages"].as_array().unwrap().len()),
        (&json!(first), &json!(1), 4)
    );
    assert_eq!(json["messages"][1]["calls"][0]["name"], "search_skills");
    let listed = talk.sandbox.run(&["sessions", "list", "--json"]).json();
    assert_eq!((&listed[0]["id"], &listed[0]["first"]), (&json!(second), &json!("and another")));
    let traces = talk.sandbox.path("home/.local/share/skillcue/traces");
    assert!(traces.join(format!("{first}.jsonl")).exists());
    let run = talk.sandbox.run(&["sessions", "remove", &first, "nope", "--json"]);
    assert_eq!((run.code, &run.json()["error"]["code"]), (Some(1), &json!("session_not_found")));
    assert_eq!(talk.sandbox.run(&["sessions", "--json"]).json().as_array().unwrap().len(), 2, "all or none");
    assert_eq!(talk.sandbox.run(&["sessions", "remove", &first, "--json"]).json(), json!({"removed": [first]}));
    assert!(!traces.join(format!("{first}.jsonl")).exists(), "its trace goes with it");
    assert_eq!(talk.sandbox.run(&["sessions", "--json"]).json().as_array().unwrap().len(), 1);
}

#[test]
fn a_trace_adds_up() {
    let talk = Talk::new(reader);
    talk.run(&["-p", "please list"]);
    talk.run(&["--continue", "-p", "Say bonjour to Alice"]);
    let id = talk.session();
    let json = talk.sandbox.run(&["trace", "--json"]).json();
    assert_eq!((&json["session"], &json["problems"]), (&json!(id), &json!([])));
    let turns = json["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2);
    assert_eq!((&turns[0]["requests"], &turns[1]["requests"]), (&json!(2), &json!(1)));
    assert_eq!((&json["total"]["input"], &json["total"]["cached"]), (&json!(100 + 120 + 120), &json!(160)));
    for row in turns.iter().chain([&json["total"]]) {
        let tokens = &row["tokens"];
        let parts = ["system", "skills_stable", "skills_turn", "tools", "history"];
        let sum: u64 = parts.iter().map(|part| tokens[part].as_u64().unwrap()).sum();
        assert_eq!(tokens["total"], sum, "{row}");
        // All that skills took, tools and all, is set against all of them in every request.
        let number = |key: &str| row[key].as_i64().unwrap();
        assert_eq!(number("saved"), number("eager") - number("skills"), "{row}");
        let parts = ["skills_stable", "skills_turn", "tools"].map(|part| tokens[part].as_i64().unwrap());
        assert!(number("skills") >= parts.iter().sum(), "{row}");
    }
    assert!(json["total"]["tokens"]["tools"].as_u64() > Some(400), "{json}");
    let total = |key: &str| turns.iter().map(|turn| turn[key].as_i64().unwrap()).sum::<i64>();
    assert_eq!((&json["saved"], &json["total"]["requests"]), (&json!(total("saved")), &json!(3)));
    // The text is the same numbers, and a bar each.
    let text = talk.sandbox.run(&["trace", &id[..id.len() - 1]]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("TURN  REQUESTS  SYSTEM  STABLE  SKILLS  TOOLS  HISTORY  TOTAL"), "{text}");
    assert!(lines[3].trim_start().starts_with("all"), "{text}");
    assert!(text.contains('█') && text.contains("█ skills, this turn"), "{text}");
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("skills and their tools took ") && last.ends_with(" every skill in every request"),
        "{text}"
    );
    // Numbers, and no words.
    let file = talk.sandbox.path(&format!("home/.local/share/skillcue/traces/{id}.jsonl"));
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(!written.contains("Alice") && !written.contains("you are"), "{written}");
    let run = talk.sandbox.run(&["trace", file.to_str().unwrap(), "--json"]);
    assert_eq!(run.json()["total"], json["total"], "a file is as good as an id");
    // A damaged line is told of, and the others count.
    std::fs::write(&file, format!("{{broken\n{written}")).unwrap();
    let run = talk.sandbox.run(&["trace", "--json"]);
    assert_eq!((run.json()["problems"].as_array().unwrap().len(), &run.json()["total"]), (1, &json["total"]));
    talk.run(&["-p", "another"]);
    let all = talk.sandbox.run(&["trace", "--all", "--json"]).json();
    assert_eq!((all["sessions"].as_array().unwrap().len(), &all["total"]["requests"]), (2, &json!(4)));
    assert!(talk.sandbox.run(&["trace", "--all"]).stdout.contains(&id));
}

#[test]
fn messages_are_traced_only_with_trace_text() {
    let talk = Talk::new(reader);
    talk.run(&["--trace-text", "-p", "Say bonjour to Alice"]);
    let id = talk.session();
    let file = talk.sandbox.path(&format!("home/.local/share/skillcue/traces/{id}.jsonl"));
    let written = std::fs::read_to_string(file).unwrap();
    assert!(written.contains("Say bonjour to Alice") && written.contains("you are"), "{written}");
}

#[test]
fn memory_is_shown_and_forgotten() {
    let talk = Talk::new(reader);
    talk.run(&["--memory", "-p", "My name is Alice."]);
    talk.run(&["--memory", "-p", "I live in Berlin."]);
    let all = talk.sandbox.run(&["memory", "--json"]).json();
    let said: Vec<&str> = all.as_array().unwrap().iter().map(|fact| fact["text"].as_str().unwrap()).collect();
    assert_eq!(said.len(), 2, "{all}");
    assert!(said[0].contains("Berlin") && said[1].contains("Alice"), "the newest first: {all}");
    let shown = talk.sandbox.run(&["memory", "search", "what's", "my", "name"]);
    assert!(shown.stdout.contains("Alice") && !shown.stdout.contains("Berlin"), "{shown}");
    let id = all[1]["id"].to_string();
    assert_eq!(talk.sandbox.run(&["memory", "forget", &id]).stderr, format!("forgotten: {id}\n"));
    let run = talk.sandbox.run(&["memory", "forget", &id]);
    assert!(run.code == Some(1) && run.stderr.contains("nothing is remembered as"), "{run}");
    let run = talk
        .sandbox
        .finish(talk.sandbox.command(&["memory", "clear"]).stdin(std::process::Stdio::null()).output().unwrap());
    assert_eq!(run.code, Some(2), "without a terminal nothing is asked: {run}");
    assert_eq!(talk.sandbox.run(&["memory", "clear", "--yes", "--json"]).json(), json!({"forgotten": 1}));
    assert_eq!(talk.sandbox.run(&["memory", "--json"]).json(), json!([]));
}

#[test]
fn a_summary_of_the_conversation_is_reported() {
    let talk = Talk::new(|received| {
        if received.system().starts_with("You shorten conversations.") {
            Reply::text("The user counts\nfruit \u{1b}[2J.")
        } else {
            Reply::text("Well, yes.")
        }
    });
    for turn in 0..7 {
        let message = format!("{turn} {}", "apple ".repeat(500));
        let go_on: &[&str] = if turn == 0 { &[] } else { &["--continue"] };
        let run = talk.run(&[go_on, &["--window", "3000", "--max-tokens", "100", "-p", &message]].concat());
        assert_eq!(run.code, Some(0), "{run}");
    }
    let json = talk.sandbox.run(&["sessions", "show", "--json"]).json();
    let gone = json["summarised"]["turns"].as_u64().unwrap();
    let left = json["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user").count();
    assert_eq!((json["turns"].as_u64(), gone + left as u64), (Some(7), 7), "{json}");
    assert!(gone > 1, "{json}");
    let shown = talk.sandbox.run(&["sessions", "show"]).stdout;
    let head =
        format!("{gone} earlier turns summarised, to make room\n  The user counts\n  fruit \\u{{1b}}[2J.\nyou\n");
    assert!(shown.starts_with(&head), "{shown}");
    // A conversation that is all there says nothing of it.
    talk.run(&["-p", "hello"]);
    assert_eq!(talk.sandbox.run(&["sessions", "show", "--json"]).json()["summarised"], json!(null));
    assert!(talk.sandbox.run(&["sessions", "show"]).stdout.starts_with("you\n"));
}
