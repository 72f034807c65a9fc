//! Everything that a client can ask, over a pair of pipes.
//!
//! Over 500 lines: one pair of pipes and its helpers serve every request, and half of it are expected answers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::format_push_string, clippy::needless_pass_by_value, reason = "it reads better")]

mod common;

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Client, pages, server, skills, write};
use serde_json::{Value, json};
use skillcue::catalog::FileListing;
use skillcue::remote::{Remote, RemoteEntry, RemoteError, RemoteFile};
use skillcue::tools::{Call, Effect, ToolContext, ToolDefinition, ToolOutput, ToolProvider};
use skillcue::{Changes, Skillcue};
use skillcue_mcp::server::{ServerOptions, SkillServer};
use tokio::sync::Notify;

fn names(values: &[Value], field: &str) -> Vec<String> {
    values.iter().map(|value| value[field].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn initialize_names_the_server_and_its_capabilities() {
    let tmp = skills();
    let mut client = Client::connect(&server(tmp.path()));
    let result = client.request("initialize", common::initialize_params()).await;
    assert_eq!(result["protocolVersion"], "2025-11-25");
    assert_eq!(result["serverInfo"]["name"], "skillcue");
    let capabilities = &result["capabilities"];
    assert_eq!(capabilities["tools"], json!({ "listChanged": true }));
    assert_eq!(capabilities["resources"], json!({ "subscribe": true, "listChanged": true }));
    assert_eq!(capabilities["prompts"], json!({ "listChanged": true }));
    assert!(capabilities["completions"].is_object() && capabilities["logging"].is_object());
    assert_eq!(capabilities["extensions"]["io.modelcontextprotocol/skills"], json!({ "directoryRead": true }));
    let instructions = result["instructions"].as_str().unwrap();
    assert!(instructions.contains("<id>refunds</id>") && !instructions.contains("hidden"), "{instructions}");

    let mut client = Client::modern(&server(tmp.path()));
    let result = client.request("server/discover", json!({})).await;
    assert!(result["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    assert!(result["instructions"].as_str().unwrap().contains("<id>refunds</id>"));
}

#[tokio::test]
async fn a_catalog_too_large_to_list_is_announced_by_its_number() {
    let tmp = tempfile::tempdir().unwrap();
    for at in 0..2_000 {
        let name = format!("a-skill-with-quite-a-long-name-{at:04}");
        write(tmp.path(), &format!("{name}/SKILL.md"), format!("---\nname: {name}\ndescription: Does {at}.\n---\n"));
    }
    let mut client = Client::connect(&server(tmp.path()));
    let result = client.request("initialize", common::initialize_params()).await;
    let instructions = result["instructions"].as_str().unwrap();
    assert!(instructions.starts_with("[2000 skills available]"), "{instructions}");
    assert!(instructions.contains("search_skills") && instructions.contains("load_skill"));
    assert!(instructions.len() < 500);
}

/// Claude Code cuts longer instructions in the middle of an entry. H-4
#[tokio::test]
async fn instructions_are_whole_entries_below_4096_characters_or_short() {
    for (count, description) in [(3, 200), (10, 400), (30, 60), (100, 300), (1_000, 300)] {
        let tmp = tempfile::tempdir().unwrap();
        for at in 0..count {
            let text = format!("---\nname: skill-{at:04}\ndescription: {}\n---\n", "é ".repeat(description / 2));
            write(tmp.path(), &format!("skill-{at:04}/SKILL.md"), text);
        }
        let mut client = Client::connect(&server(tmp.path()));
        let result = client.request("initialize", common::initialize_params()).await;
        let instructions = result["instructions"].as_str().unwrap();
        assert!(instructions.chars().count() < 4_096, "{count}: {}", instructions.chars().count());
        let listed = instructions.matches("<id>skill-").count();
        assert!(listed == count || (listed == 0 && instructions.starts_with(&format!("[{count} skills available]"))));
        assert_eq!(listed, instructions.matches("</skill>").count(), "whole entries");
        assert_eq!(listed == count, count == 3, "{count}: {listed} listed");
    }
}

#[tokio::test]
async fn tools_are_listed_and_called() {
    let tmp = skills();
    let mut client = Client::legacy(&server(tmp.path())).await;
    let tools = client.request("tools/list", json!({})).await;
    let listed = names(tools["tools"].as_array().unwrap(), "name");
    for name in ["load_skill", "search_skills", "read_skill_file"] {
        assert!(listed.contains(&name.to_owned()), "{listed:?}");
    }
    assert_eq!(tools["tools"][0]["inputSchema"]["additionalProperties"], false);
    assert_eq!(tools["tools"][0]["annotations"]["readOnlyHint"], true);

    let call = json!({ "name": "load_skill", "arguments": { "skill_id": "pdf", "arguments": "x.pdf" } });
    let result = client.request("tools/call", call).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("<skill_context id=\"pdf\">") && text.contains("Read x.pdf."), "{text}");
    assert_eq!(result["isError"], false);

    let result =
        client.request("tools/call", json!({ "name": "load_skill", "arguments": { "skill_id": "pfd" } })).await;
    assert_eq!(result["isError"], true);
    assert!(result["content"][0]["text"].as_str().unwrap().contains("code=\"not_found\""));

    assert_eq!(client.refused("tools/call", json!({ "name": "nothing" })).await["code"], -32602);
    let wrong = json!({ "name": "load_skill", "arguments": "pdf" });
    assert_eq!(client.refused("tools/call", wrong).await["code"], -32602);
    assert_eq!(client.refused("tools/list", json!({ "cursor": "x" })).await["code"], -32602);
    assert_eq!(client.refused("no/such/method", json!({})).await["code"], -32601);
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let tmp = skills();
    let mut client = Client::legacy(&server(tmp.path())).await;
    let (resources, _) = pages(&mut client, "resources/list", "resources").await;
    let uris = names(&resources, "uri");
    assert_eq!(
        uris,
        [
            "skill://mended/SKILL.md",
            "skill://old/SKILL.yaml",
            "skill://old/prompt.md",
            "skill://pdf/SKILL.md",
            "skill://pdf/logo.png",
            "skill://pdf/reference.md",
            "skill://pdf/templates/a%20b.md",
            "skill://pdf/templates/regional/eu.md",
            "skill://quiet/SKILL.md",
            "skill://acme/billing/refunds/SKILL.md",
        ]
    );
    let pdf = &resources[3];
    assert_eq!((&pdf["name"], &pdf["description"]), (&json!("pdf"), &json!("Reads PDF files.")));
    assert_eq!(pdf["mimeType"], "text/markdown");

    for uri in &uris {
        let read = client.request("resources/read", json!({ "uri": uri })).await;
        assert_eq!(read["contents"][0]["uri"], *uri);
    }
    let read = client.request("resources/read", json!({ "uri": "skill://pdf/templates/a%20b.md" })).await;
    assert_eq!(read["contents"][0]["text"], "A\n");
    let read = client.request("resources/read", json!({ "uri": "skill://pdf/logo.png" })).await;
    let png = json!({ "uri": "skill://pdf/logo.png", "mimeType": "image/png", "blob": "iVBOR/8A" });
    assert_eq!(read["contents"][0], png);

    for uri in [
        "skill://pdf/missing.md",
        "skill://pdf",
        "skill://nobody/SKILL.md",
        "skill://hidden/SKILL.md",
        "https://x/",
        "skill://pdf/.git/config",
        "skill://x/pdf/SKILL.md",
    ] {
        let error = client.refused("resources/read", json!({ "uri": uri })).await;
        assert_eq!(error["code"], -32002, "{uri}");
        assert_eq!(error["data"]["uri"], uri);
    }
    let mut modern = Client::modern(&server(tmp.path()));
    let error = modern.refused("resources/read", json!({ "uri": "skill://nobody/SKILL.md" })).await;
    assert_eq!(error["code"], -32602);
    let read = modern.request("resources/read", json!({ "uri": "skill://pdf/reference.md" })).await;
    assert_eq!((&read["resultType"], &read["cacheScope"]), (&json!("complete"), &json!("private")));

    let templates = client.request("resources/templates/list", json!({})).await;
    assert_eq!(templates["resourceTemplates"][1]["uriTemplate"], "skill://{+skill}/{+file}");
}

#[tokio::test]
async fn prompts_are_listed_and_got() {
    let tmp = skills();
    let mut client = Client::legacy(&server(tmp.path())).await;
    let (prompts, _) = pages(&mut client, "prompts/list", "prompts").await;
    assert_eq!(names(&prompts, "name"), ["hidden", "mended", "old", "pdf", "refunds"]);
    let argument = &prompts[3]["arguments"][0];
    assert_eq!(*argument, json!({ "name": "arguments", "description": "[add|append|remove] FILE", "required": false }));
    let got = client.request("prompts/get", json!({ "name": "pdf", "arguments": { "arguments": "x.pdf" } })).await;
    let message = &got["messages"][0];
    assert_eq!(message["role"], "user");
    let text = message["content"]["text"].as_str().unwrap();
    assert!(text.starts_with("Base directory for this skill: ") && text.ends_with("Read x.pdf.\n"), "{text}");
    client.request("prompts/get", json!({ "name": "hidden" })).await;
    assert_eq!(client.refused("prompts/get", json!({ "name": "quiet" })).await["code"], -32602);
    assert_eq!(client.refused("prompts/get", json!({ "name": "nobody" })).await["code"], -32602);
    let wrong = json!({ "name": "pdf", "arguments": { "arguments": 7 } });
    assert_eq!(client.refused("prompts/get", wrong).await["code"], -32602);
}

#[tokio::test]
async fn arguments_of_prompts_and_uris_are_completed() {
    let tmp = skills();
    for (name, hint) in [
        ("notes", "[add|remove|list] [file]"),
        ("listed", "[add|remove]"),
        ("review", "\"<skill> [--depth=1|2] [--dry-run] [file ...]\""),
    ] {
        let text = format!("---\nname: {name}\ndescription: D.\nargument-hint: {hint}\n---\nDo $ARGUMENTS.\n");
        write(tmp.path(), &format!("{name}/SKILL.md"), text);
    }
    let mut client = Client::legacy(&server(tmp.path())).await;
    let mut complete = async |reference: Value, name: &str, value: &str, context: Value| {
        let params = json!({ "ref": reference, "argument": { "name": name, "value": value }, "context": { "arguments": context } });
        client.request("completion/complete", params).await["completion"].clone()
    };
    let prompt = json!({ "type": "ref/prompt", "name": "pdf" });
    let completion = complete(prompt.clone(), "arguments", "a", json!({})).await;
    assert_eq!(completion, json!({ "values": ["add", "append"], "total": 2, "hasMore": false }));
    assert_eq!(complete(prompt.clone(), "other", "", json!({})).await["values"], json!([]));
    assert_eq!(complete(prompt.clone(), "arguments", "", json!({})).await["total"], 3);
    assert_eq!(complete(prompt, "arguments", "x", json!({})).await["total"], 0, "no word begins so");
    // Word by word, however the hint is written: as YAML that had to be mended, as a list, with flags and skills.
    for (name, typed, values) in [
        ("notes", "", json!(["add", "remove", "list"])),
        ("notes", "re", json!(["remove"])),
        ("notes", "add ", json!([])),
        ("notes", "add remove", json!([])),
        ("listed", "", json!(["add", "remove"])),
        (
            "review",
            "",
            json!([
                "listed",
                "mended",
                "notes",
                "old",
                "pdf",
                "quiet",
                "refunds",
                "review",
                "--depth=1",
                "--depth=2",
                "--dry-run"
            ]),
        ),
        ("review", "pdf ", json!(["pdf --depth=1", "pdf --depth=2", "pdf --dry-run"])),
        ("review", "pdf --depth=2 --d", json!(["pdf --depth=2 --dry-run"])),
        ("review", "ref", json!(["refunds"])),
        ("refunds", "", json!([])),
    ] {
        let prompt = json!({ "type": "ref/prompt", "name": name });
        assert_eq!(complete(prompt, "arguments", typed, json!({})).await["values"], values, "{name} {typed:?}");
    }
    let template = json!({ "type": "ref/resource", "uri": "skill://{+skill}/{+file}" });
    let at = complete(template.clone(), "skill", "acme/b", json!({})).await;
    assert_eq!(at["values"], json!(["acme/billing/refunds"]));
    assert_eq!(complete(template.clone(), "skill", "ref", json!({})).await["values"], at["values"]);
    let files = complete(template.clone(), "file", "templates/", json!({ "skill": "pdf" })).await;
    assert_eq!(files["values"], json!(["templates/a b.md", "templates/regional/eu.md"]));
    assert_eq!(complete(template, "file", "", json!({ "skill": "hidden" })).await["values"], json!([]));
    let unknown =
        json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "arguments", "value": "" } });
    assert_eq!(client.refused("completion/complete", unknown).await["code"], -32602);
}

#[tokio::test]
async fn long_lists_come_in_pages() {
    let tmp = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    for at in 0..1_200 {
        let name = format!("skill-{at:04}");
        write(tmp.path(), &format!("{name}/SKILL.md"), format!("---\nname: {name}\ndescription: Does {at}.\n---\n"));
        write(tmp.path(), &format!("{name}/more.md"), "more");
        expected.push(name);
    }
    let skillcue = Arc::new(Skillcue::builder().skills_dir(tmp.path()).build().unwrap());
    let mut options = ServerOptions::default();
    options.page_size = 700;
    let mut client = Client::legacy(&SkillServer::new(skillcue, options)).await;
    let (resources, count) = pages(&mut client, "resources/list", "resources").await;
    let uris: Vec<_> =
        expected.iter().flat_map(|name| ["SKILL.md", "more.md"].map(|file| format!("skill://{name}/{file}"))).collect();
    assert_eq!((names(&resources, "uri"), count), (uris, 4));
    let (prompts, count) = pages(&mut client, "prompts/list", "prompts").await;
    assert_eq!((names(&prompts, "name"), count), (expected.clone(), 2));
    let (listed, count) = pages(&mut client, "skills/list", "skills").await;
    let uris: Vec<_> = expected.iter().map(|name| format!("skill://{name}/SKILL.md")).collect();
    assert_eq!((names(&listed, "uri"), count), (uris, 24));
    let cursor = client.request("skills/list", json!({})).await["nextCursor"].clone();
    for (method, cursor) in
        [("resources/list", json!("?")), ("prompts/list", cursor.clone()), ("skills/list", json!("x"))]
    {
        assert_eq!(client.refused(method, json!({ "cursor": cursor })).await["code"], -32602, "{method}");
    }
    let template = json!({ "type": "ref/resource", "uri": "skill://{+skill}/SKILL.md" });
    let params = json!({ "ref": template, "argument": { "name": "skill", "value": "skill-0" } });
    let completion = client.request("completion/complete", params).await["completion"].clone();
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(1000), &json!(true)));
}

#[tokio::test]
async fn the_extension_tells_front_matter_and_digests() {
    let tmp = skills();
    for mut client in [Client::legacy(&server(tmp.path())).await, Client::modern(&server(tmp.path()))] {
        let result = client.request("skills/list", json!({})).await;
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["cacheScope"], "private");
        assert!(result["ttlMs"].is_u64());
        let listed = result["skills"].as_array().unwrap();
        let uris = names(listed, "uri");
        assert_eq!(uris, ["skill://pdf/SKILL.md", "skill://quiet/SKILL.md", "skill://acme/billing/refunds/SKILL.md"]);
        let pdf = &listed[0];
        let front = json!({ "name": "pdf", "description": "Reads PDF files.", "version": 1.1, "argument-hint": "[add|append|remove] FILE" });
        assert_eq!(pdf["frontmatter"], front);
        let files = names(pdf["resources"].as_array().unwrap(), "uri");
        assert_eq!(files[0], "skill://pdf/SKILL.md");
        assert_eq!(files.len(), 5, "{files:?}");
        let told =
            pdf["resources"].as_array().unwrap().iter().find(|file| file["uri"] == "skill://pdf/reference.md").unwrap();
        let digest = "sha256:cb0730c7d12a2cc1ef8c9942bbc96ef996ecd3afaa6235b49d81c5e800572a81";
        assert_eq!((&told["size"], &told["digest"]), (&json!(12), &json!(digest)));

        let got = client.request("skills/get", json!({ "uri": "skill://pdf/SKILL.md" })).await;
        assert_eq!(got["skill"], *pdf);
        assert_eq!(got["resultType"], "complete");
        for (uri, reason) in [
            ("skill://nobody/SKILL.md", "no skill"),
            ("skill://pdf", "no skill"),
            ("skill://pdf/reference.md", "no skill"),
            ("skill://hidden/SKILL.md", "no skill"),
            ("skill://mended/SKILL.md", "repaired"),
            ("skill://old/SKILL.yaml", "SKILL.yaml"),
        ] {
            let error = client.refused("skills/get", json!({ "uri": uri })).await;
            assert_eq!(error["code"], -32602, "{uri}");
            assert!(error["message"].as_str().unwrap().contains(reason), "{uri}: {error}");
        }
        assert_eq!(client.refused("skills/get", json!({})).await["code"], -32602);
        assert_eq!(client.refused("skills/get", json!({ "uri": 7 })).await["code"], -32602);
    }
}

#[tokio::test]
async fn numbers_keep_their_form_on_the_wire() {
    let tmp = tempfile::tempdir().unwrap();
    let text = "---\nname: a\ndescription: D.\nversion: 1.10\nmetadata: {v: 2.0, n: 3, text: '1.10', big: 12345678901234567890123}\n---\n";
    write(tmp.path(), "a/SKILL.md", text);
    write(tmp.path(), "b/SKILL.md", "---\nname: b\ndescription: D.\nn: .inf\n---\n");
    let mut client = Client::legacy(&server(tmp.path())).await;
    let listed = client.request("skills/list", json!({})).await["skills"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1, "JSON has no infinity");
    // As text: numbers of one value are equal.
    let front = r#"{"description":"D.","metadata":{"big":12345678901234567890123,"n":3,"text":"1.10","v":2.0},"name":"a","version":1.10}"#;
    for (method, params) in [("skills/list", json!({})), ("skills/get", json!({ "uri": "skill://a/SKILL.md" }))] {
        client.send(method, params).await;
        let line = client.line().await;
        assert!(line.contains(&format!("\"frontmatter\":{front}")), "{line}");
    }
}

#[tokio::test]
async fn an_entry_follows_its_files() {
    let tmp = skills();
    let mut client = Client::legacy(&server(tmp.path())).await;
    let uri = json!({ "uri": "skill://pdf/SKILL.md" });
    let before = client.request("skills/get", uri.clone()).await;
    assert_eq!(before, client.request("skills/get", uri.clone()).await);
    write(tmp.path(), "pdf/reference.md", "# Another\n");
    write(tmp.path(), "pdf/new.md", "new\n");
    let after = client.request("skills/get", uri.clone()).await;
    let resources = |entry: &Value| entry["skill"]["resources"].as_array().unwrap().clone();
    let digest =
        |entry: &Value| resources(entry).into_iter().find(|file| file["uri"] == "skill://pdf/reference.md").unwrap();
    assert_ne!(digest(&before), digest(&after));
    assert_eq!(resources(&after).len(), resources(&before).len() + 1);
    // Front matter is that of the file, not that of the catalog.
    write(tmp.path(), "pdf/SKILL.md", "---\nname: pdf\ndescription: Newer.\n---\n");
    let after = client.request("skills/get", uri).await;
    assert_eq!(after["skill"]["frontmatter"]["description"], "Newer.");
    std::os::unix::fs::symlink("/etc/passwd", tmp.path().join("pdf/out")).unwrap();
    let error = client.refused("skills/get", json!({ "uri": "skill://pdf/SKILL.md" })).await;
    let said = "\"out\" is a link that leads out of the skill";
    assert!(error["message"].as_str().unwrap().contains(said), "{error}");
}

#[tokio::test]
async fn directories_are_read_level_by_level() {
    let tmp = skills();
    for at in 0..7 {
        write(tmp.path(), &format!("pdf/many/{at}.txt"), "x");
    }
    let skillcue = Arc::new(Skillcue::builder().skills_dir(tmp.path()).build().unwrap());
    let mut options = ServerOptions::default();
    options.page_size = 3;
    let server = SkillServer::new(skillcue, options);
    let mut client = Client::modern(&server);
    let root = client.request("resources/directory/read", json!({ "uri": "skill://pdf" })).await;
    assert_eq!(root["resultType"], "complete");
    let listed = root["resources"].as_array().unwrap();
    assert_eq!(names(listed, "uri"), ["skill://pdf/SKILL.md", "skill://pdf/empty", "skill://pdf/logo.png"]);
    assert_eq!(names(listed, "name"), ["pdf", "empty", "logo.png"]);
    assert_eq!(names(listed, "mimeType"), ["text/markdown", "inode/directory", "image/png"]);
    let next =
        client.request("resources/directory/read", json!({ "uri": "skill://pdf", "cursor": root["nextCursor"] })).await;
    assert_eq!(names(next["resources"].as_array().unwrap(), "name"), ["many", "reference.md", "templates"]);
    assert!(next.get("nextCursor").is_none());
    let empty = client.request("resources/directory/read", json!({ "uri": "skill://pdf/empty" })).await;
    assert_eq!(empty["resources"], json!([]));
    let below = client.request("resources/directory/read", json!({ "uri": "skill://pdf/templates/" })).await;
    let uris = names(below["resources"].as_array().unwrap(), "uri");
    assert_eq!(uris, ["skill://pdf/templates/a%20b.md", "skill://pdf/templates/regional"]);
    for uri in ["skill://pdf/SKILL.md", "skill://pdf/nothing", "skill://nobody", "skill://pdf/.git", "skill://hidden"] {
        let error = client.refused("resources/directory/read", json!({ "uri": uri })).await;
        assert_eq!(error["code"], -32602, "{uri}");
    }
    let wrong = json!({ "uri": "skill://pdf", "cursor": "x" });
    assert_eq!(client.refused("resources/directory/read", wrong).await["code"], -32602);
}

fn methods(news: &[Value]) -> Vec<&str> {
    news.iter().map(|message| message["method"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn changes_reach_sessions_of_the_older_protocol() {
    let tmp = skills();
    let server = server(tmp.path());
    let mut client = Client::legacy(&server).await;
    let mut other = Client::legacy(&server).await;
    client.request("resources/subscribe", json!({ "uri": "skill://pdf/reference.md" })).await;
    client.request("resources/subscribe", json!({ "uri": "skill://acme/billing/refunds/SKILL.md" })).await;
    client.request("resources/subscribe", json!({ "uri": "skill://quiet/SKILL.md" })).await;
    client.request("resources/unsubscribe", json!({ "uri": "skill://acme/billing/refunds/SKILL.md" })).await;
    client.request("logging/setLevel", json!({ "level": "info" })).await;
    write(tmp.path(), "pdf/reference.md", "# Changed\n");
    server.skillcue().refresh();
    server.announce(&changed(true, &["pdf", "refunds"]));
    let news = [client.news().await, client.news().await, client.news().await, client.news().await];
    assert_eq!(
        methods(&news),
        [
            "notifications/message",
            "notifications/resources/list_changed",
            "notifications/prompts/list_changed",
            "notifications/resources/updated"
        ]
    );
    assert_eq!(news[0]["params"]["level"], "info");
    assert_eq!(news[0]["params"]["data"]["message"], "2 skills changed: pdf, refunds");
    assert_eq!(news[3]["params"]["uri"], "skill://pdf/reference.md");
    let news = [other.news().await, other.news().await];
    assert_eq!(methods(&news), ["notifications/resources/list_changed", "notifications/prompts/list_changed"]);

    assert_eq!(server.listeners(), 2);
    assert!(client.close().await.is_empty());
    assert!(other.close().await.is_empty());
    assert_eq!(server.listeners(), 0, "a closed client is forgotten");
}

fn changed(listing: bool, skills: &[&str]) -> Changes {
    Changes { listing, updated: skills.iter().map(|name| (*name).to_owned()).collect(), ..Changes::default() }
}

#[tokio::test]
async fn changes_of_unserved_skills_are_not_announced() {
    let tmp = skills();
    let off = "---\nname: off\ndescription: Off.\ndisable-model-invocation: true\nuser-invocable: false\n---\n";
    write(tmp.path(), "off/SKILL.md", off);
    write(tmp.path(), "quiet/hidden/notes.md", "Not of the skill that is called so.\n");
    let server = server(tmp.path());
    let mut client = Client::legacy(&server).await;
    client.request("logging/setLevel", json!({ "level": "debug" })).await;
    let uris = ["skill://hidden/SKILL.md", "skill://off/SKILL.md", "skill://quiet/hidden/notes.md", "skill://x/pdf/a"];
    for uri in uris {
        client.request("resources/subscribe", json!({ "uri": uri })).await;
    }
    // A skill that is only a prompt, and one that is nothing.
    server.announce(&changed(true, &["off"]));
    server.announce(&changed(true, &["hidden", "off"]));
    assert_eq!(methods(&[client.news().await]), ["notifications/prompts/list_changed"]);
    // A skill's name elsewhere in a URI means nothing.
    server.announce(&changed(false, &["pdf", "off"]));
    assert_eq!(client.news().await["params"]["data"]["message"], "1 skill changed: pdf");
    server.announce(&changed(false, &["quiet"]));
    let news = [client.news().await, client.news().await];
    assert_eq!(methods(&news), ["notifications/message", "notifications/resources/updated"]);
    assert_eq!(news[1]["params"]["uri"], "skill://quiet/hidden/notes.md");
    // A skill that appears is announced, and one that was served before, too.
    write(tmp.path(), "hidden/SKILL.md", "---\nname: hidden\ndescription: For all.\n---\n");
    fs::remove_dir_all(tmp.path().join("pdf")).unwrap();
    server.skillcue().refresh();
    server.announce(&changed(true, &["hidden", "off", "pdf"]));
    let news = [client.news().await, client.news().await, client.news().await, client.news().await];
    assert_eq!(news[0]["params"]["data"]["message"], "2 skills changed: hidden, pdf");
    assert_eq!(news[3]["params"]["uri"], "skill://hidden/SKILL.md");
    assert!(client.close().await.is_empty());
}

#[tokio::test]
async fn subscriptions_are_bounded() {
    let tmp = skills();
    let server = server(tmp.path());
    let mut client = Client::legacy(&server).await;
    let long = format!("skill://pdf/{}", "x".repeat(4 << 10));
    assert_eq!(client.refused("resources/subscribe", json!({ "uri": long })).await["code"], -32602);
    for at in 0..1_000 {
        client.request("resources/subscribe", json!({ "uri": format!("skill://pdf/{at}") })).await;
    }
    client.request("resources/subscribe", json!({ "uri": "skill://pdf/7" })).await;
    assert_eq!(client.refused("resources/subscribe", json!({ "uri": "skill://pdf/more" })).await["code"], -32602);
    client.request("resources/unsubscribe", json!({ "uri": "skill://pdf/7" })).await;
    client.request("resources/subscribe", json!({ "uri": "skill://pdf/more" })).await;

    // A stream says which of them it accepts; the bound is the client's, however many streams it has.
    let mut client = Client::modern(&server);
    let uris = |from: usize, to: usize| (from..to).map(|at| format!("skill://pdf/{at}")).collect::<Vec<_>>();
    let mut first = uris(0, 900);
    first.push(long);
    for (asked, accepted) in [(first, 900), (uris(900, 1_100), 100), (uris(1_100, 1_101), 0)] {
        let before = server.listeners();
        client.send("subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": asked } })).await;
        let told = client.news().await["params"]["notifications"]["resourceSubscriptions"].clone();
        assert_eq!(told.as_array().map_or(0, Vec::len), accepted);
        while server.listeners() == before {
            tokio::task::yield_now().await;
        }
    }
    // Streams, too.
    for _ in 3..64 {
        let before = server.listeners();
        client.send("subscriptions/listen", json!({ "notifications": { "promptsListChanged": true } })).await;
        client.news().await;
        while server.listeners() == before {
            tokio::task::yield_now().await;
        }
    }
    let id = client.send("subscriptions/listen", json!({ "notifications": { "promptsListChanged": true } })).await;
    assert_eq!(client.answer(id).await["error"]["code"], -32602);
    client.request("tools/list", json!({})).await;
}

#[tokio::test]
async fn front_matter_with_keys_that_are_no_texts_is_left_out() {
    let tmp = tempfile::tempdir().unwrap();
    for (name, extra) in [("number", "metadata: {1: a}"), ("truth", "true: a"), ("plain", "\"1\": a")] {
        write(tmp.path(), &format!("{name}/SKILL.md"), format!("---\nname: {name}\ndescription: D.\n{extra}\n---\n"));
    }
    let mut client = Client::legacy(&server(tmp.path())).await;
    let listed = client.request("skills/list", json!({})).await;
    let skills = listed["skills"].as_array().unwrap();
    assert_eq!(skills.len(), 1);
    assert_eq!(skills[0]["frontmatter"]["1"], "a");
    let message = client.news().await["params"]["data"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("number: a key") && message.contains("truth: a key"), "{message}");
}

#[tokio::test]
async fn changes_reach_streams_of_the_newer_protocol() {
    let tmp = skills();
    let server = server(tmp.path());
    let mut client = Client::modern(&server);
    let filter = json!({ "notifications": {
        "promptsListChanged": true,
        "resourceSubscriptions": ["skill://pdf/SKILL.md", "skill://quiet/SKILL.md"],
    } });
    let id = client.send("subscriptions/listen", filter).await;
    let acknowledged = client.news().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    // An answered request says nothing about the stream; it is there once there is a listener.
    while server.listeners() == 0 {
        tokio::task::yield_now().await;
    }
    server.announce(&Changes { listing: true, updated: vec!["pdf".to_owned()], ..Changes::default() });
    let news = [client.news().await, client.news().await];
    assert_eq!(methods(&news), ["notifications/prompts/list_changed", "notifications/resources/updated"]);
    assert_eq!(news[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    assert_eq!(news[1]["params"]["uri"], "skill://pdf/SKILL.md");
    for method in ["ping", "logging/setLevel", "resources/subscribe"] {
        let params = json!({ "uri": "skill://pdf/SKILL.md", "level": "info" });
        assert_eq!(client.refused(method, params).await["code"], -32601, "{method}");
    }
    client.close().await;
    while server.listeners() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn refusals_and_omissions_are_logged_to_the_client() {
    let tmp = skills();
    let server = server(tmp.path());
    let mut client = Client::legacy(&server).await;
    client.refused("resources/read", json!({ "uri": "skill://pdf/%2e%2e/x" })).await;
    let news = client.news().await;
    assert_eq!(news["params"]["level"], "warning");
    assert_eq!(news["params"]["logger"], "skillcue.security");
    client.request("skills/list", json!({})).await;
    let news = client.news().await;
    let message = news["params"]["data"]["message"].as_str().unwrap();
    assert!(message.contains("mended") && message.contains("old"), "{message}");
    // Sent once; and not at all to a client that wants errors only.
    client.request("skills/list", json!({})).await;
    client.request("logging/setLevel", json!({ "level": "error" })).await;
    client.refused("resources/read", json!({ "uri": "skill://pdf/%2e%2e/x" })).await;
    assert!(client.close().await.is_empty());

    // The newer protocol says with each request what it wants to hear.
    let mut client = Client::modern(&server);
    client.refused("resources/read", json!({ "uri": "skill://pdf/%2e%2e/x" })).await;
    let params = json!({ "uri": "skill://pdf/%2e%2e/y", "_meta": { "io.modelcontextprotocol/logLevel": "debug" } });
    client.refused("resources/read", params).await;
    let news = client.news().await;
    assert!(news["params"]["data"]["message"].as_str().unwrap().contains("../y"), "{news}");
    assert!(client.close().await.is_empty());
}

/// Tools that panic, wait, report and appear.
#[derive(Debug, Default)]
struct Odd {
    has_begun: Notify,
    was_cancelled: AtomicBool,
    seen: Mutex<Vec<Vec<String>>>,
}

impl ToolProvider for Odd {
    fn definitions(&self, _: &Skillcue, loaded: &[String]) -> Vec<ToolDefinition> {
        let tool = |name: &str| ToolDefinition {
            name: name.to_owned().into(),
            title: "Odd".into(),
            description: "Odd.".into(),
            input_schema: json!({ "type": "object" }),
            read_only: false,
        };
        let mut tools = vec![tool("panic"), tool("wait"), tool("report")];
        tools.extend(loaded.iter().map(|name| tool(&format!("{name}__tool"))));
        tools
    }

    fn brings_tools(&self, _: &Skillcue, _: &str, _: &FileListing) -> bool {
        true
    }

    fn call(&self, _: &Skillcue, call: &Call, context: &ToolContext<'_>) -> Option<ToolOutput> {
        self.seen.lock().unwrap().push(context.loaded.to_vec());
        match call.name() {
            "panic" => panic!("a tool is broken"),
            "wait" => {
                self.has_begun.notify_one();
                while !(context.cancelled)() {
                    std::thread::yield_now();
                }
                self.was_cancelled.store(true, Ordering::Release);
                self.has_begun.notify_one();
            }
            "report" => {
                (context.progress)(1.0, Some(2.0), "half");
                (context.progress)(2.0, Some(2.0), "");
            }
            _ => return None,
        }
        let (name, files) = ("pdf".to_owned(), Arc::default());
        let effect = Some(Effect::Loaded {
            name,
            arguments: String::new(),
            content: "".into(),
            parts: vec![0..0],
            files,
            is_known: false,
        });
        Some(ToolOutput { text: "done".to_owned(), structured: Some(json!({ "a": 1 })), is_error: false, effect })
    }
}

fn odd_server(odd: &Arc<Odd>) -> SkillServer {
    let odd: Arc<dyn ToolProvider> = Arc::<Odd>::clone(odd);
    SkillServer::new(Arc::new(Skillcue::builder().tools(odd).build().unwrap()), ServerOptions::default())
}

#[tokio::test]
async fn a_tool_that_panics_is_an_error_and_nothing_else() {
    let odd = Arc::default();
    let mut client = Client::legacy(&odd_server(&odd)).await;
    assert_eq!(client.refused("tools/call", json!({ "name": "panic" })).await["code"], -32603);
    client.request("ping", json!({})).await;
}

#[tokio::test]
async fn tools_report_progress_and_appear_once_their_skill_is_loaded() {
    let odd = Arc::default();
    let mut client = Client::legacy(&odd_server(&odd)).await;
    let before = client.request("tools/list", json!({})).await;
    let params = json!({ "name": "report", "_meta": { "progressToken": "t" } });
    let result = client.request("tools/call", params).await;
    assert_eq!(result["structuredContent"], json!({ "a": 1 }));
    let news = [client.news().await, client.news().await, client.news().await];
    assert_eq!(
        methods(&news),
        ["notifications/progress", "notifications/progress", "notifications/tools/list_changed"]
    );
    let half = json!({ "progressToken": "t", "progress": 1.0, "total": 2.0, "message": "half" });
    assert_eq!(news[0]["params"], half);
    let after = client.request("tools/list", json!({})).await;
    let count = |tools: &Value| tools["tools"].as_array().unwrap().len();
    assert_eq!(count(&after), count(&before) + 2, "its tool, and the one that unloads it");
    // Another session has loaded nothing, and without a token no progress is sent.
    let mut other = Client::legacy(&odd_server(&odd)).await;
    other.request("tools/call", json!({ "name": "report" })).await;
    assert_eq!(methods(&[other.news().await]), ["notifications/tools/list_changed"]);
    client.request("tools/call", json!({ "name": "report" })).await;
    let seen = odd.seen.lock().unwrap().clone();
    assert_eq!(seen, [vec![], vec![], vec!["pdf".to_owned()]]);
    let unload = json!({ "name": "unload_skill", "arguments": { "skill_id": "pdf" } });
    assert_eq!(client.request("tools/call", unload.clone()).await["isError"], false);
    assert_eq!(
        methods(&[client.news().await]),
        ["notifications/tools/list_changed"],
        "loading it again changed nothing"
    );
    assert_eq!(client.request("tools/list", json!({})).await["tools"], before["tools"]);
    assert_eq!(client.request("tools/call", unload).await["isError"], true, "it has left");
    assert!(client.close().await.is_empty());
}

#[tokio::test]
async fn a_call_is_cancelled() {
    let odd: Arc<Odd> = Arc::default();
    let mut client = Client::legacy(&odd_server(&odd)).await;
    let id = client.send("tools/call", json!({ "name": "wait" })).await;
    odd.has_begun.notified().await;
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    client.raw(format!("{message}\n").as_bytes()).await;
    odd.has_begun.notified().await;
    assert!(odd.was_cancelled.load(Ordering::Acquire));
    client.request("ping", json!({})).await;
}

#[tokio::test]
async fn a_closed_connection_cancels_its_calls() {
    let odd: Arc<Odd> = Arc::default();
    let mut client = Client::legacy(&odd_server(&odd)).await;
    client.send("tools/call", json!({ "name": "wait" })).await;
    odd.has_begun.notified().await;
    drop(client);
    odd.has_begun.notified().await;
    assert!(odd.was_cancelled.load(Ordering::Acquire));
}

#[tokio::test]
async fn closing_the_pipe_ends_the_server() {
    let tmp = skills();
    let server = server(tmp.path());
    assert!(Client::connect(&server).close().await.is_empty(), "even before a word was said");
    assert!(Client::legacy(&server).await.close().await.is_empty());
    // Earlier requests are answered.
    let mut client = Client::legacy(&server).await;
    let id = client.send("tools/list", json!({})).await;
    let rest = client.close().await;
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["id"], id);
    // A last line without an end is a line.
    let mut client = Client::legacy(&server).await;
    client.raw(br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#).await;
    assert_eq!(client.close().await[0]["id"], "last");
}

#[tokio::test]
async fn malformed_messages_get_json_rpc_errors() {
    let tmp = skills();
    let mut client = Client::connect(&server(tmp.path()));
    for (text, code) in [
        ("garbage", -32700),
        ("{\"jsonrpc\": \"2.0\", ", -32700),
        ("\u{0}\u{1}", -32700),
        ("[]", -32600),
        ("7", -32600),
        ("{}", -32600),
    ] {
        client.raw(format!("{text}\n").as_bytes()).await;
        let answer = client.next().await.unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &Value::Null), "{text}");
    }
    client.raw(b"\xff\xfe\n").await;
    assert_eq!(client.next().await.unwrap()["error"]["code"], -32700);
    // A blank line, an unknown notification and a stray answer are nothing.
    client.raw(b"\n  \r\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n").await;
    client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n").await;
    client.request("initialize", common::initialize_params()).await;
    client.request("ping", json!({})).await;
    assert!(client.close().await.is_empty());
}

#[tokio::test]
async fn a_line_without_bounds_is_refused_and_passed_over() {
    let tmp = skills();
    let mut client = Client::legacy(&server(tmp.path())).await;
    client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\",\"params\":{\"x\":\"").await;
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..50 {
        client.raw(&chunk).await;
    }
    client.raw(b"\"}}\n").await;
    let answer = client.next().await.unwrap();
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null));
    client.request("ping", json!({})).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_read_from() {
    const ENOUGH: usize = 20_000;
    let tmp = skills();
    let mut client = Client::legacy(&server(tmp.path())).await;
    let mut asked = 0;
    while asked < ENOUGH {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{asked},\"method\":\"tools/list\"}}\n");
        let sent = tokio::time::timeout(Duration::from_secs(2), client.raw(line.as_bytes()));
        if sent.await.is_err() {
            break;
        }
        asked += 1;
    }
    // As much as fits into the pipes and buffers on the way, and little more.
    assert!(asked < 6_000, "{asked} requests were taken");
    // A client that begins to read gets all of them. (The last line is half written, and stays that.)
    let mut answered = std::collections::HashSet::new();
    while answered.len() < asked {
        let answer = client.next().await.unwrap();
        assert!(answer["result"]["tools"].is_array());
        assert!(answered.insert(answer["id"].as_u64().unwrap()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_answers_are_not_made_ahead() {
    let tmp = skills();
    // Each is larger than what may wait.
    write(tmp.path(), "pdf/large.txt", vec![b'x'; 9 << 20]);
    let odd: Arc<Odd> = Arc::default();
    let tools: Arc<dyn ToolProvider> = Arc::<Odd>::clone(&odd);
    let skillcue = Skillcue::builder().skills_dir(tmp.path()).tools(tools).build().unwrap();
    let mut client = Client::legacy(&SkillServer::new(Arc::new(skillcue), ServerOptions::default())).await;
    let read = client.send("resources/read", json!({ "uri": "skill://pdf/large.txt" })).await;
    // The answer has begun to come, and the rest of it waits.
    client.peek().await;
    let call = client.send("tools/call", json!({ "name": "report" })).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(odd.seen.lock().unwrap().is_empty(), "nothing is worked on while its answer could not be sent");
    let answer = client.answer(read).await;
    assert_eq!(answer["result"]["contents"][0]["text"].as_str().unwrap().len(), 9 << 20);
    assert_eq!(client.answer(call).await["result"]["isError"], false);
    assert_eq!(odd.seen.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_cancellation_behind_too_many_requests_gets_through() {
    let odd: Arc<Odd> = Arc::default();
    let mut client = Client::legacy(&odd_server(&odd)).await;
    let mut calls = Vec::new();
    for _ in 0..64 {
        calls.push(client.send("tools/call", json!({ "name": "wait" })).await);
    }
    let pings = [client.send("ping", json!({})).await, client.send("ping", json!({})).await];
    // It waits like the others if the pings make room for it before it is cancelled.
    let never = client.send("tools/call", json!({ "name": "wait" })).await;
    for id in calls.into_iter().chain([never]).rev() {
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        client.raw(format!("{message}\n").as_bytes()).await;
    }
    let mut answered = Vec::new();
    while answered.len() < 2 {
        let message = client.next().await.unwrap();
        // Tools that began before they were cancelled may tell how far they got.
        if message.get("id").is_none() {
            assert!(message["method"].is_string(), "{message}");
            continue;
        }
        answered.push(message["id"].clone());
    }
    answered.sort_by_key(Value::as_u64);
    assert_eq!(answered, pings.map(Value::from));
    // None of the places is lost.
    for _ in 0..200 {
        client.request("ping", json!({})).await;
    }
    assert!(client.close().await.is_empty());
}

/// A server whose skill cannot be had until it is let go.
#[derive(Debug, Default)]
struct Slow {
    is_over: AtomicBool,
}

impl Remote for Slow {
    fn label(&self) -> &'static str {
        "slow"
    }

    fn entries(&self) -> Arc<[Arc<RemoteEntry>]> {
        let front = json!({ "name": "far", "description": "Far away." });
        let uri = "skill://far/SKILL.md".to_owned();
        let file = RemoteFile { uri: uri.clone(), digest: String::new(), size: 1 };
        let front_matter = front.as_object().unwrap().clone();
        [Arc::new(RemoteEntry { uri, front_matter, files: Some(vec![file]) })].into()
    }

    fn is_allowed(&self, _: &RemoteEntry) -> bool {
        true
    }

    fn read(&self, _: &RemoteEntry, _: &str) -> Result<Vec<u8>, RemoteError> {
        while !self.is_over.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(RemoteError::Unreachable("it is gone".to_owned()))
    }
}

#[tokio::test]
async fn a_slow_server_keeps_no_local_tool_waiting() {
    let tmp = skills();
    let slow: Arc<Slow> = Arc::default();
    let remote: Arc<dyn Remote> = Arc::<Slow>::clone(&slow);
    let skillcue = Skillcue::builder().skills_dir(tmp.path()).remote(remote).build().unwrap();
    assert!(skillcue.catalog().get("slow:far").is_some());
    let mut client = Client::legacy(&SkillServer::new(Arc::new(skillcue), ServerOptions::default())).await;
    let load = |id: &str| json!({ "name": "load_skill", "arguments": { "skill_id": id } });
    for _ in 0..50 {
        client.send("tools/call", load("slow:far")).await;
    }
    let result = client.request("tools/call", load("pdf")).await;
    assert_eq!(result["isError"], false, "{result}");
    slow.is_over.store(true, Ordering::Release);
    for _ in 0..50 {
        assert_eq!(client.next().await.unwrap()["result"]["isError"], true);
    }
}

#[tokio::test]
async fn a_skill_inside_a_skill_is_found_either_way() {
    let tmp = tempfile::tempdir().unwrap();
    write(tmp.path(), "outer/SKILL.md", "---\nname: outer\ndescription: Out.\n---\n");
    write(tmp.path(), "outer/inner/SKILL.md", "---\nname: inner\ndescription: In.\n---\n");
    // Not called like its directory, beside a directory called like it.
    write(tmp.path(), "outer/other/SKILL.md", "---\nname: odd\ndescription: Odd.\n---\n");
    write(tmp.path(), "outer/odd/file.md", "plain");
    let skillcue = Arc::new(Skillcue::builder().skills_dir(tmp.path()).nested(true).build().unwrap());
    let mut client = Client::legacy(&SkillServer::new(skillcue, ServerOptions::default())).await;
    let (listed, _) = pages(&mut client, "skills/list", "skills").await;
    assert_eq!(
        names(&listed, "uri"),
        ["skill://outer/inner/SKILL.md", "skill://outer/odd/SKILL.md", "skill://outer/SKILL.md"]
    );
    for skill in &listed {
        for file in skill["resources"].as_array().unwrap() {
            let read = client.request("resources/read", json!({ "uri": file["uri"] })).await;
            let text = read["contents"][0]["text"].as_str().unwrap();
            assert_eq!(text.len().to_string(), file["size"].to_string());
        }
    }
    fs::remove_dir_all(tmp.path().join("outer")).unwrap();
    assert_eq!(client.refused("resources/read", json!({ "uri": "skill://outer/SKILL.md" })).await["code"], -32002);
}

#[tokio::test]
async fn a_body_is_sent_once_unless_the_client_has_dropped_it() {
    let tmp = skills();
    let server = server(tmp.path());
    for mut client in [Client::legacy(&server).await, Client::legacy(&server).await] {
        let mut load = async |arguments: Value| {
            let result = client.request("tools/call", json!({ "name": "load_skill", "arguments": arguments })).await;
            result["content"][0]["text"].as_str().unwrap().to_owned()
        };
        let pdf = || json!({ "skill_id": "pdf" });
        assert!(load(pdf()).await.starts_with("<skill_context id=\"pdf\">"));
        let line = "The skill \"pdf\" is in this conversation already, unchanged: follow it. If you no longer see it, call \
                    load_skill once more.";
        assert_eq!(load(pdf()).await, line);
        // The server is not told what a client drops; a model that asks again has lost it.
        assert!(load(pdf()).await.starts_with("<skill_context id=\"pdf\">"));
        assert_eq!(load(pdf()).await, line);
        assert!(load(json!({ "skill_id": "pdf", "arguments": "x" })).await.starts_with("<skill_context"));
    }
}
