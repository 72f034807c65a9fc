//! `--judge`, and `judge` below `[select]`: a model that chooses among skills.

use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use skillcue_scripted::{Received, Reply, Server};

use crate::Sandbox;
use crate::mcp::Client;
use crate::sandbox::SETTINGS;

const MESSAGE: &str = "plan a route in the Alps with good weather";

/// Returns the instructions' question, if a request is one to a judge.
fn question(received: &Received) -> Option<Value> {
    serde_json::from_str(&received.last_user()).ok()
}

/// Answers questions to a judge with the number of `huts`, and others with words.
fn huts(received: &Received) -> Reply {
    let Some(question) = question(received) else { return Reply::text("Done.") };
    let skills = question["skills"].as_array().unwrap();
    let number = skills.iter().find(|skill| skill["name"] == "huts").map_or(json!(0), |skill| skill["number"].clone());
    Reply::text(number.to_string())
}

/// A machine with three skills of which several may fit, and a judge.
fn house(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> (Sandbox, Server) {
    let sandbox = Sandbox::new();
    sandbox.skill("work/skills/trails", "Plans hikes in the Alps, with routes and the weather.");
    sandbox.skill("work/skills/peaks", "Plans climbs in the Alps, with routes, ropes and the weather.");
    sandbox.skill("work/skills/huts", "Books huts in the Alps.");
    let server = Server::start(script);
    let settings = format!(
        "[select]\njudge = \"ollama:small\"\njudge_base_url = \"{}/v1\"\njudge_deadline_ms = 60000\n",
        server.url()
    );
    sandbox.write("work/judge.toml", settings);
    (sandbox, server)
}

const CONFIG: [&str; 5] = ["--isolated", "--skills-dir", "skills", "--config", "judge.toml"];

fn first(sandbox: &Sandbox, args: &[&str]) -> String {
    let found = sandbox.run(&[&CONFIG[..], args, &["--json"]].concat()).json();
    found["hits"][0]["name"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn search_and_why_ask_it_when_told_to() {
    let (sandbox, server) = house(huts);
    assert_eq!(first(&sandbox, &["search", MESSAGE]), "trails");
    assert!(server.requests().is_empty(), "configured, and not asked for");
    assert_eq!(first(&sandbox, &["search", "--judge", MESSAGE]), "huts");
    assert_eq!(first(&sandbox, &["why", "--judge", MESSAGE]), "huts");
    assert_eq!(server.requests().len(), 2, "why selects and discloses with one question");
    assert_eq!(server.requests()[0].body["model"], "small");
    let why = sandbox.run(&[&CONFIG[..], &["why", "--judge", MESSAGE]].concat()).stdout;
    assert!(why.contains("the judge ollama:small chose 1 of 3\n"), "{why}");
    assert!(why.contains("judge     ollama:small  +0.00  chosen, 1 of 3\n"), "{why}");
    assert!(why.contains("not chosen among 3\n"), "{why}");
    let shown = sandbox.run(&[&CONFIG[..], &["context", "--judge", MESSAGE]].concat()).stdout;
    assert!(shown.contains("# huts"), "{shown}");
    let called =
        sandbox.run(&[&CONFIG[..], &["call", "search_skills", &json!({"query": MESSAGE}).to_string()]].concat());
    assert!(called.stdout.contains("- huts ("), "{called}");
}

#[test]
fn a_judge_that_fails_is_a_note() {
    let (sandbox, _server) = house(|_| Reply::text("I think it is huts."));
    let why = sandbox.run(&[&CONFIG[..], &["why", "--judge", MESSAGE]].concat());
    let line = "the judge ollama:small failed, and the order is that without it: its answer \"I think it is huts\" is no list \
                of numbers";
    assert!(why.stdout.replace("huts.\"", "huts\"").contains(line), "{why}");
    let logged = why.stderr.matches("the judge has no answer").count();
    assert_eq!(logged, 1, "why selects and discloses, and the failure is logged once: {why}");
    assert_eq!(first(&sandbox, &["search", "--judge", MESSAGE]), "trails");
}

#[test]
fn a_wrong_judge_is_an_error_that_lists_the_right_ones() {
    let (sandbox, _server) = house(huts);
    sandbox.write("work/wrong.toml", "[select]\nmode = \"hybrid\"\njudge = \"olama:qwen3\"\n");
    assert_snapshot!(sandbox.run(&["--config", "wrong.toml", "search", "x"]), @r#"
    exit 1
    --- stderr
    error[config]: unknown provider `olama`, expected one of `openai`, `anthropic`, `ollama`, `llamacpp`, `lmstudio`, `vllm`
     --> [TMP]/work/wrong.toml:3:9
      |
    3 | judge = "olama:qwen3"
      |         ^^^^^^^^^^^^^
      |
      = help: did you mean `ollama`?
    "#);
    assert_snapshot!(sandbox.isolated(&["search", "--judge=qwen3:8b", "x"]), @r"
    exit 2
    --- stderr
    error[judge]: --judge: unknown provider `qwen3`, expected one of `openai`, `anthropic`, `ollama`, `llamacpp`, `lmstudio`, `vllm`
      help: write a model as for `agent --model`, such as --judge=ollama:qwen3; nothing was sent
    ");
    assert_snapshot!(sandbox.isolated(&["search", "--judge", "x"]), @r"
    exit 2
    --- stderr
    error[judge]: no judge is set, and --judge wants one
      help: write `--judge=MODEL`, or `judge` below [select] in skillcue.toml
    ");
    assert_snapshot!(sandbox.isolated(&["search", "--judge=gpt-5-nano", "x"]), @r"
    exit 2
    --- stderr
    error[no_key]: openai wants a key, and there is none
      help: set OPENAI_API_KEY, or name the variable that has it with `api_key_env` below [agent] in skillcue.toml; a model on this machine, such as ollama:qwen3, needs none; nothing was sent
    ");
}

#[test]
fn eval_shows_the_figures_with_it_and_without() {
    let (sandbox, server) = house(huts);
    sandbox.write(
        "work/set.jsonl",
        format!(
            "{{\"query\": \"{MESSAGE}\", \"relevant\": [\"huts\"]}}\n{{\"query\": \"What is 2+2?\", \"none\": true}}\n"
        ),
    );
    let run = sandbox.run(&[&CONFIG[..], &["eval", "--judge", "set.jsonl"]].concat());
    // The other figures without a judge change with every fit.
    let without = "without judge    0.0  100.0  100.0 ";
    assert!(run.stdout.lines().nth(1).is_some_and(|line| line.starts_with(without)), "{run}");
    let others: Vec<&str> = run.stdout.lines().take(6).filter(|line| !line.starts_with("without")).collect();
    assert_snapshot!(others.join("\n"), @r"
                    at 1   at 3   at 5  shown  named  wrongly shown  wrongly named
    judge          100.0  100.0  100.0  100.0  100.0            0.0            0.0
    ollama:small was asked about 1 of 2 messages

    2 messages over 3 skills, eagerness 0.5: 1 needs a skill, 1 must not select one
    ");
    assert_eq!(server.requests().len(), 1, "a clear message is not judged");
    let plain = sandbox.run(&[&CONFIG[..], &["eval", "--json", "set.jsonl"]].concat());
    assert!(plain.json().get("judge").is_none());
    sandbox.write("work/plain.json", &plain.stdout);
    let compared =
        sandbox.run(&[&CONFIG[..], &["eval", "--judge", "--compare", "plain.json", "--json", "set.jsonl"]].concat());
    let json = compared.json();
    assert_eq!((&json["recall_at"]["1"], &json["without_judge"]["recall_at"]["1"]), (&json!(1.0), &json!(0.0)));
    assert_eq!(json["judge"], json!({"name": "ollama:small", "asked": 1, "failed": 0}));
    assert_eq!(json["comparison"]["better"].as_array().map(Vec::len), Some(1));
}

#[test]
fn search_skills_over_mcp_asks_it_when_configured() {
    let (sandbox, server) = house(huts);
    let mut client = Client::start(&sandbox, &[&CONFIG[..], &["mcp"]].concat());
    for _ in 0..2 {
        let answer = client.ask("tools/call", &json!({"name": "search_skills", "arguments": {"query": MESSAGE}}));
        assert_eq!(answer["result"]["structuredContent"]["hits"][0]["name"], "huts", "{answer}");
    }
    assert_eq!(server.requests().len(), 1, "the second answer is kept");
}

#[test]
fn the_agent_asks_it_when_configured() {
    let (sandbox, server) = house(huts);
    let url = format!("{}/v1", server.url());
    let args = ["agent", "--no-save", "--model", "ollama:big", "--base-url", &url, "--allow", "all", "-p", MESSAGE];
    let mut command = sandbox.command(&[&CONFIG[..], &args].concat());
    let run = sandbox.finish(command.stdin(Stdio::null()).output().unwrap());
    assert_eq!(run.stdout, "Done.\n", "{run}");
    let requests = server.requests();
    let models: Vec<&Value> = requests.iter().map(|request| &request.body["model"]).collect();
    assert_eq!(models, [&json!("small"), &json!("big")]);
    assert!(requests[1].last_user().contains("# huts"), "{:?}", requests[1]);
}

#[test]
fn a_checkout_does_not_choose_a_judge() {
    let (sandbox, server) = house(huts);
    std::fs::rename(sandbox.path("work/judge.toml"), sandbox.path("work/skillcue.toml")).unwrap();
    sandbox.write(SETTINGS, "[agent]\nbackoff_ms = 1\n");
    let run = sandbox.run(&["search", "--judge", MESSAGE]);
    assert!(run.stderr.contains("warning[untrusted_judge]: [TMP]/work/skillcue.toml may not choose a judge"), "{run}");
    assert!(run.stderr.contains("no judge is set, and --judge wants one"), "{run}");
    let mut client = Client::start(&sandbox, &["mcp"]);
    client.ask("tools/call", &json!({"name": "search_skills", "arguments": {"query": MESSAGE}}));
    assert!(server.requests().is_empty(), "nothing is sent where a checkout says");
    let allowed = sandbox.run(&["allow", "--yes"]);
    assert!(allowed.stderr.contains("for selection, judge = \"ollama:small\""), "{allowed}");
    assert!(allowed.stderr.contains("sends what you say, and what skills are for, to the judge"), "{allowed}");
    sandbox.run(&["search", "--judge", MESSAGE]);
    assert_eq!(server.requests().len(), 1);
}
