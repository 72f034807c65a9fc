//! A skill that is not for models reaches no client of the MCP server, whatever the reason and whatever the request;
//! and one that people may call is a prompt, which people pick.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "../../skillcue/tests/support/not_for_models.rs"]
mod not_for_models;

use std::sync::Arc;

use common::Client;
use not_for_models::{KINDS, OPEN, SECRET, builder, check, check_for_people, write};
use serde_json::{Value, json};
use skillcue_mcp::server::{ServerOptions, SkillServer};

fn house() -> (tempfile::TempDir, SkillServer) {
    let tmp = tempfile::tempdir().unwrap();
    write(tmp.path());
    let skills = Arc::new(builder(tmp.path()).build().unwrap());
    (tmp, SkillServer::new(skills, ServerOptions::default()))
}

#[tokio::test]
async fn nothing_that_is_listed_shows_them() {
    let (_tmp, server) = house();
    let mut legacy = Client::connect(&server);
    let hello = legacy.request("initialize", common::initialize_params()).await.to_string();
    assert!(hello.contains("<id>open</id>"), "the control: {hello}");
    check("initialize", &hello);
    let mut client = Client::modern(&server);
    check("server/discover", &client.request("server/discover", json!({})).await.to_string());
    for method in ["tools/list", "resources/list", "resources/templates/list", "skills/list"] {
        let listed = client.request(method, json!({})).await.to_string();
        assert!(
            listed.contains("open") || !matches!(method, "resources/list" | "skills/list"),
            "the control: {listed}"
        );
        check(method, &listed);
    }
    let prompts = client.request("prompts/list", json!({})).await.to_string();
    assert!(prompts.contains("hides") && prompts.contains("open"), "people may call these: {prompts}");
    check_for_people("prompts/list", &prompts);
}

#[tokio::test]
async fn no_tool_shows_them() {
    let (_tmp, server) = house();
    let mut client = Client::legacy(&server).await;
    let found = client.request("tools/call", call("search_skills", &json!({"query": "invoice"}))).await.to_string();
    assert!(found.contains(OPEN), "the control: {found}");
    check("search_skills", &found);
    let opened = client.request("tools/call", call("load_skill", &json!({"skill_id": "open"}))).await.to_string();
    assert!(opened.contains(OPEN), "the control: {opened}");
    for kind in &KINDS {
        for (tool, arguments) in [
            ("load_skill", json!({"skill_id": kind.name})),
            ("load_skill", json!({"skill_id": format!("{}@user", kind.name)})),
            ("read_skill_file", json!({"skill_id": kind.name, "path": "note.md"})),
        ] {
            let result = client.request("tools/call", call(tool, &arguments)).await;
            assert_eq!(result["isError"], true, "{tool} {}: {result}", kind.name);
            check(&format!("{tool} {}", kind.name), &result.to_string());
        }
    }
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({ "name": tool, "arguments": arguments })
}

#[tokio::test]
async fn no_resource_shows_them() {
    let (_tmp, server) = house();
    let mut client = Client::modern(&server);
    let read = client.request("resources/read", json!({"uri": "skill://open/note.md"})).await.to_string();
    assert!(read.contains(OPEN), "the control: {read}");
    for kind in &KINDS {
        for path in ["SKILL.md", "note.md", ""] {
            let uri = format!("skill://{}/{path}", kind.name);
            for method in ["resources/read", "resources/directory/read", "skills/get"] {
                let error = client.refused(method, json!({ "uri": uri })).await.to_string();
                check(&format!("{method} {}", kind.name), &error);
            }
        }
    }
    // Of two skills of one name, the one that is not shadowed.
    let read = client.request("resources/read", json!({"uri": "skill://twice/note.md"})).await.to_string();
    assert!(read.contains(OPEN) && !read.contains(SECRET), "{read}");
}

#[tokio::test]
async fn nothing_is_completed_with_them() {
    let (_tmp, server) = house();
    let mut client = Client::modern(&server);
    for start in ["", "h", "i", "l", "o"] {
        let templates = client.request("resources/templates/list", json!({})).await["resourceTemplates"].clone();
        for template in templates.as_array().unwrap() {
            let uri = template["uriTemplate"].as_str().unwrap();
            for argument in uri.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
                let name = argument.trim_start_matches('+');
                let params = json!({
                    "ref": { "type": "ref/resource", "uri": uri },
                    "argument": { "name": name, "value": start },
                });
                check(&format!("{uri} {name}"), &client.request("completion/complete", params).await.to_string());
            }
        }
        let params = json!({
            "ref": { "type": "ref/prompt", "name": "open" },
            "argument": { "name": "arguments", "value": start },
        });
        check_for_people("completion of a prompt", &client.request("completion/complete", params).await.to_string());
    }
}

#[tokio::test]
async fn a_prompt_is_for_people() {
    let (_tmp, server) = house();
    let mut client = Client::modern(&server);
    for kind in &KINDS {
        if kind.is_for_people {
            let prompt = client.request("prompts/get", json!({ "name": kind.name })).await.to_string();
            assert!(prompt.contains(SECRET), "a person has picked it: {prompt}");
        } else {
            let error = client.refused("prompts/get", json!({ "name": kind.name })).await.to_string();
            check(&format!("prompts/get {}", kind.name), &error);
        }
    }
}
