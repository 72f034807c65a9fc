//! Texts that a client gets in parts, and skills whose lifecycle ends: over a protocol that has no turns.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::sync::Arc;

use common::{Client, write};
use serde_json::{Value, json};
use skillcue::{DiscloseConfig, Skillcue, Tokens};
use skillcue_mcp::server::{ServerOptions, SkillServer};

async fn call(client: &mut Client, tool: &str, arguments: Value) -> String {
    let result = client.request("tools/call", json!({"name": tool, "arguments": arguments})).await;
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

fn served(dir: &std::path::Path, config: DiscloseConfig) -> SkillServer {
    let skills = Skillcue::builder().skills_dir(dir).disclosure(config).build().unwrap();
    SkillServer::new(Arc::new(skills), ServerOptions::default())
}

#[tokio::test]
async fn a_long_body_comes_in_parts_by_the_last_query() {
    let tmp = tempfile::tempdir().unwrap();
    let section = |at: usize| {
        let title = if at == 15 { "Signatures".to_owned() } else { format!("Step {at}") };
        format!("## {title}\n\n{}\n", format!("Rule of {at}, which is a long one.\n").repeat(10))
    };
    let body: String = (0..20).map(section).collect();
    write(
        tmp.path(),
        "forms/SKILL.md",
        format!("---\nname: forms\ndescription: Fills in forms.\n---\nForms.\n\n{body}"),
    );
    let server = served(tmp.path(), DiscloseConfig { max_load_tokens: Some(Tokens(400)), ..DiscloseConfig::default() });
    let mut client = Client::legacy(&server).await;
    call(&mut client, "search_skills", json!({"query": "signatures in forms"})).await;
    let first = call(&mut client, "load_skill", json!({"skill_id": "forms"})).await;
    assert!(first.contains("## Signatures") && first.contains("[Not shown: Step "), "{first}");
    let next = call(&mut client, "load_skill", json!({"skill_id": "forms"})).await;
    assert!(!next.contains("## Signatures") && next.contains("Rule of "), "{next}");
    assert!(next.contains("more was shown before") || next.contains("[Shown before.]"), "{next}");
    // A client without a session gets parts, too, always those that its arguments ask for.
    let mut modern = Client::modern(&server);
    for _ in 0..2 {
        let given = json!({"skill_id": "forms", "arguments": "signatures"});
        assert!(call(&mut modern, "load_skill", given).await.contains("## Signatures"));
    }
}

#[tokio::test]
async fn a_lifecycle_ends_when_the_client_begins_another_task() {
    let tmp = tempfile::tempdir().unwrap();
    for (name, lifecycle) in [("one-shot", "once"), ("two-turns", "{turns: 2}"), ("always", "session")] {
        let front = format!("name: {name}\ndescription: Does {name}.\nmetadata:\n  lifecycle: {lifecycle}");
        write(tmp.path(), &format!("{name}/SKILL.md"), format!("---\n{front}\n---\nText of {name}.\n"));
    }
    let server = served(tmp.path(), DiscloseConfig::default());
    let mut client = Client::legacy(&server).await;
    let load = |name: &str| json!({"skill_id": name});
    let is_text = |text: &str| text.starts_with("<skill_context");
    for name in ["one-shot", "two-turns", "always"] {
        assert!(is_text(&call(&mut client, "load_skill", load(name)).await));
    }
    // Loading `two-turns` ended `one-shot`; loading `always` was the first of two turns.
    assert!(!is_text(&call(&mut client, "load_skill", load("always")).await), "it is there");
    let unload = async |client: &mut Client, name: &str| call(client, "unload_skill", load(name)).await;
    assert!(unload(&mut client, "one-shot").await.contains("not_loaded"));
    // A search begins a task, and the load after it belongs to it.
    call(&mut client, "search_skills", json!({"query": "anything"})).await;
    call(&mut client, "search_skills", json!({"query": "anything else"})).await;
    assert!(unload(&mut client, "two-turns").await.contains("not_loaded"), "its two turns are over");
    assert!(is_text(&call(&mut client, "load_skill", load("one-shot")).await), "it can come back");
    assert!(!is_text(&call(&mut client, "load_skill", load("one-shot")).await), "and is there until the next task");
    assert!(!unload(&mut client, "always").await.contains("not_loaded"));
}
