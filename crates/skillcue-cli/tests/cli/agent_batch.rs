//! `skillcue agent --batch`: many conversations, none lost and none mixed.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::Value;
use skillcue_scripted::{Received, Reply};

use crate::agent::{Talk, interrupt, script_caller, with_script};

/// A number that looks like any other, and is always the same for the same words.
fn chance(words: &str, salt: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in words.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^ (hash >> 29)
}

/// The tokens that the user has said in this conversation, in order.
fn tokens(received: &Received) -> Vec<String> {
    let said = received.texts().into_iter().filter(|(role, _)| role == "user");
    let words = said.flat_map(|(_, text)| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    words.filter(|word| word.starts_with("token-")).collect()
}

/// Late, wrong, cut, and at last the conversation's own tokens; some never.
fn weather(received: &Received, attempts: &Mutex<HashMap<String, u64>>) -> Reply {
    let said = tokens(received).join(" ");
    let attempt = {
        let mut attempts = attempts.lock().unwrap();
        let attempt = attempts.entry(said.clone()).or_default();
        *attempt += 1;
        *attempt
    };
    let whole = Reply::text(format!("you said {said}"))
        .in_chunks(7)
        .delayed(Duration::from_millis(chance(&said, attempt) % 40));
    let last = said.rsplit(' ').next().unwrap_or_default();
    let number: u64 = last.trim_start_matches("token-").parse().unwrap_or(0);
    match number % 25 {
        // Whatever one tries.
        3 => return Reply::status(400).message("this one is refused"),
        7 => return Reply::status(503),
        _ if attempt > 3 => return whole,
        _ => {}
    }
    match chance(&said, attempt * 31) % 6 {
        0 => Reply::status(429).header("retry-after-ms", "3"),
        1 => Reply::status(500),
        2 => Reply::raw(""),
        3 => {
            let length = whole.bytes(received.api).len() as u64;
            let cut = usize::try_from(chance(&said, attempt * 57) % length).unwrap_or(0);
            whole.cut_after(cut)
        }
        _ => whole,
    }
}

#[test]
fn two_hundred_conversations_at_once() {
    let attempts = Mutex::default();
    let talk = Talk::new(move |received| weather(received, &attempts));
    let mut file = String::new();
    for number in 0..200 {
        if number % 10 == 0 {
            let first = 1_000 + number * 25;
            let _ = writeln!(
                file,
                "{{\"id\": \"c{number}\", \"messages\": [\"first token-{first}\", \"then token-{number}\"]}}"
            );
        } else {
            let _ = writeln!(file, "{{\"id\": \"c{number}\", \"message\": \"say token-{number}\"}}");
        }
    }
    talk.sandbox.write("work/tasks.jsonl", &file);
    let run = talk.run(&["--batch", "tasks.jsonl", "--jobs", "200"]);
    assert_eq!(run.code, Some(1), "some fail: {run}");
    let mut seen: BTreeMap<String, Value> = BTreeMap::new();
    for line in run.stdout.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let id = line["id"].as_str().unwrap().to_owned();
        assert!(seen.insert(id, line).is_none(), "each once");
    }
    assert_eq!(seen.len(), 200);
    let mut sessions: Vec<&str> = seen.values().map(|line| line["session"].as_str().unwrap()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    assert_eq!(sessions.len(), 200, "each its own session");
    let mut failed = 0;
    for number in 0..200 {
        let line = &seen[&format!("c{number}")];
        if matches!(number % 25, 3 | 7) {
            let error = &line["error"];
            assert!(error["code"].is_string() && error["message"].is_string() && error["help"].is_string(), "{line}");
            failed += 1;
            continue;
        }
        let both = format!("token-{} token-{number}", 1_000 + number * 25);
        let own = if number % 10 == 0 { both } else { format!("token-{number}") };
        assert_eq!(line["answer"], format!("you said {own}"), "{line}");
        assert_eq!(line["answers"].as_array().map(Vec::len), (number % 10 == 0).then_some(2), "{line}");
        assert!(line["usage"]["output"].is_number(), "{line}");
        assert!(line["tokens"]["total"].as_u64() > Some(0), "{line}");
    }
    assert_eq!(run.stderr, format!("200 conversations: {} answered, {failed} failed\n", 200 - failed));
}

#[test]
fn every_line_is_looked_at_first() {
    let talk = Talk::new(|_| Reply::text("hi"));
    talk.sandbox
        .write("work/tasks.jsonl", "{\"message\": \"a\"}\n{\"message\": 5}\n{\"id\": \"1\", \"message\": \"b\"}\n");
    assert_snapshot!(talk.run(&["--batch", "tasks.jsonl"]), @r#"
    exit 2
    --- stderr
    error[batch]: tasks.jsonl:2:13: invalid type: integer `5`, expected a string (and 1 more line)
      help: write a line for each conversation: {"id": "a", "message": "…"} or {"id": "b", "messages": ["…", "…"]}
    "#);
    assert_snapshot!(talk.run(&["--batch", "gone.jsonl"]), @r"
    exit 2
    --- stderr
    error[usage]: cannot read gone.jsonl: no such file or directory
      help: name a file of JSON lines, or - for stdin
    ");
    assert!(talk.server.requests().is_empty());
}

#[test]
fn no_question_is_asked() {
    let talk = Talk::new(script_caller);
    with_script(&talk.sandbox);
    talk.sandbox.write("tmp/stdin", "{\"id\": \"a\", \"message\": \"go\"}\n");
    let run = |args: &[&str]| {
        let stdin = std::fs::File::open(talk.sandbox.path("tmp/stdin")).unwrap();
        let run =
            talk.finish(talk.command(&[&["--batch", "-"], args].concat()).env("PATH", "/usr/bin:/bin").stdin(stdin));
        (run.code, run.json()["answer"].clone())
    };
    assert_eq!(run(&[]), (Some(0), "It was declined.".into()));
    assert_eq!(run(&["--allow", "scripts"]), (Some(0), "It ran.".into()));
}

#[test]
fn ctrl_c_ends_all_of_them() {
    let talk = Talk::new(|received| match received.last_user() {
        said if said.ends_with("quick") => Reply::text("done"),
        _ => Reply::stall(),
    });
    let mut file = "{\"id\": \"quick\", \"message\": \"quick\"}\n".to_owned();
    for number in 0..20 {
        let _ = writeln!(file, "{{\"id\": \"{number}\", \"message\": \"slow\"}}");
    }
    talk.sandbox.write("work/tasks.jsonl", &file);
    let mut command = talk.command(&["--batch", "tasks.jsonl", "--jobs", "4"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(talk.server.wait_for_requests(5));
    interrupt(&child);
    let run = talk.sandbox.finish(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(130), "{run}");
    let lines: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 21, "each is told of: {run}");
    let answered: Vec<&Value> = lines.iter().filter(|line| line["answer"] == "done").collect();
    assert_eq!(answered.len(), 1);
    assert!(lines.iter().all(|line| line["id"] == "quick" || line["error"]["code"] == "cancelled"), "{run}");
}

#[test]
fn a_batch_recalls_facts_and_stores_none() {
    let talk = Talk::new(|received| {
        Reply::text(if received.last_user().contains("## What the user said before") { "recalled" } else { "no" })
    });
    talk.run(&["--memory", "-p", "My name is Alice."]);
    let file = "{\"message\": \"I live in Berlin.\"}\n{\"message\": \"What's my name?\"}\n";
    talk.sandbox.write("work/tasks.jsonl", file);
    let run = talk.run(&["--memory", "--batch", "tasks.jsonl", "--jobs", "1"]);
    assert_eq!(run.code, Some(0), "{run}");
    let answers: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&answers[0]["answer"], &answers[1]["answer"]), (&"no".into(), &"recalled".into()), "{run}");
    let offers = |received: &Received| received.tools().contains(&"remember".to_owned());
    assert_eq!(talk.server.requests().iter().map(offers).collect::<Vec<_>>(), [true, false, false]);
    let facts = talk.sandbox.run(&["memory", "--json"]).json();
    assert_eq!((facts.as_array().unwrap().len(), &facts[0]["text"]), (1, &"My name is Alice.".into()), "{facts}");
}
