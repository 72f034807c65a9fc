//! `eval --model`: messages through the agent, with a model at the far end of a wire.

use std::process::Stdio;

use serde_json::json;
use skillcue_scripted::{Received, Reply, Server};

use crate::{Run, Sandbox};

const SET: &str = "{\"query\": \"open the pdf\", \"relevant\": [\"pdf\"]}\n\
{\"query\": \"fold me a paper crane\", \"relevant\": [\"origami\"]}\n\
{\"query\": \"What is 2+2?\", \"none\": true}\n";

/// Loads `csv` for the crane, nothing else.
fn script(received: &Received) -> Reply {
    let is_first = received.tool_results().is_empty();
    if received.last_user().contains("crane") && is_first {
        return Reply::calls([("one", "load_skill", json!({"skill_id": "csv"}))]);
    }
    Reply::text("Done.")
}

fn eval(sandbox: &Sandbox, server: &Server, args: &[&str]) -> Run {
    let url = format!("{}/v1", server.url());
    let model = ["--model", "ollama:small", "--base-url", &url];
    let args = [&["--isolated", "--skills-dir", "skills", "eval", "set.jsonl"], &model[..], args].concat();
    sandbox.finish(sandbox.command(&args).stdin(Stdio::null()).output().unwrap())
}

#[test]
fn a_model_is_judged_by_what_it_loads() {
    let sandbox = Sandbox::with_library();
    sandbox.write("work/set.jsonl", SET);
    let server = Server::start(script);
    let run = eval(&sandbox, &server, &[]);
    assert_eq!(run.code, Some(0), "{run}");
    let said: Vec<String> = server.requests().iter().map(Received::last_user).collect();
    assert_eq!(said.len(), 4, "three messages, one call: {said:#?}");
    assert!(run.stdout.starts_with("small answered 3 messages\n"), "{run}");
    assert!(run.stdout.contains("wrongly loaded"), "{run}");
    assert!(run.stdout.contains("  fold me a paper crane\n    needs origami;"), "{run}");
    let json = eval(&sandbox, &server, &["--json", "--keep"]).json();
    let model = &json["model"];
    assert_eq!((&model["name"], &model["figures"]["answered"]), (&"small".into(), &3.into()), "{model}");
    assert_eq!(model["figures"]["wrongly_loaded"], 0.5);
    assert_eq!(model["figures"]["loaded_for_nothing"], 0.0);
    assert_eq!(model["cases"][1]["loaded"], json!(["csv"]));
    assert_eq!((&model["cases"][1]["right"], &model["cases"][2]["right"]), (&false.into(), &true.into()));
    assert!(json["recall_at"]["3"].is_f64(), "the figures of selection are there, too");
    // It is a series of its own, and no use of skills.
    let history = sandbox.isolated(&["eval", "--history", "--json"]).json();
    assert_eq!(history["runs"][0]["model"], "small");
    assert!(!sandbox.path("home/.local/share/skillcue/usage.db").exists());
    assert!(!sandbox.path("home/.local/share/skillcue/sessions").exists(), "conversations are not saved");
}

#[test]
fn a_model_that_loads_less_is_a_regression() {
    let sandbox = Sandbox::with_library();
    sandbox.write("work/set.jsonl", SET);
    let server = Server::start(|received| {
        let needs = received.last_user().contains("crane") && received.tool_results().is_empty();
        if needs { Reply::calls([("one", "load_skill", json!({"skill_id": "origami"}))]) } else { Reply::text("Done.") }
    });
    let first = eval(&sandbox, &server, &["--keep", "--max-worse", "0"]);
    assert_eq!(first.code, Some(0), "{first}");
    let worse = Server::start(script);
    for _ in 0..2 {
        let files = ["--max-worse", "0", "--junit", "junit.xml", "--summary", "summary.md"];
        let run = eval(&sandbox, &worse, &files);
        assert_eq!(run.code, Some(1), "{run}");
        assert!(run.stderr.contains("error[max_worse]: 1 message got worse"), "{run}");
        assert!(run.stdout.contains("reached, a wrong one loaded"), "{run}");
    }
    let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).unwrap();
    let junit = read("work/junit.xml");
    assert!(junit.contains("reached; the model loaded csv\""), "{junit}");
    let summary = read("work/summary.md");
    assert!(summary.contains("| wrong skill loaded by it | 0.0 % | 50.0 % |"), "{summary}");
    assert!(summary.contains("reached, a wrong one loaded"), "{summary}");
}

#[test]
fn a_server_that_fails_is_an_error_and_some_failures_are_counted() {
    let sandbox = Sandbox::with_library();
    sandbox.write("work/set.jsonl", SET);
    sandbox.write("work/quick.toml", "[agent]\nattempts = 1\n");
    let server = Server::start(|_| Reply::status(400).message("no such model"));
    let run = eval(&sandbox, &server, &["--config", "quick.toml"]);
    assert!(run.code == Some(1) && run.stderr.contains("answered no message"), "{run}");
    let server = Server::start(|received| {
        if received.last_user().contains("2+2") { Reply::status(400).message("too hard") } else { Reply::text("Done.") }
    });
    let json = eval(&sandbox, &server, &["--config", "quick.toml", "--json"]).json();
    assert_eq!((&json["model"]["figures"]["answered"], &json["model"]["figures"]["failed"]), (&2.into(), &1.into()));
    assert!(json["model"]["cases"][2]["error"]["message"].is_string(), "{json}");
}
