//! A view shows nothing of the skills that are out of it, whatever the request: as if there were none (O-4).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::web::{Running, request};
use common::{Client, meta, write};
use serde_json::{Value, json};
use skillcue::catalog::ViewRule;
use skillcue::{Changes, SkillRoot, Skillcue, Source};
use skillcue_mcp::server::{HandleKeys, HttpOptions, HttpServer, ServedView, ServerOptions, SkillServer};
use tokio_util::sync::CancellationToken;

/// A word in the descriptions, bodies and files of the skills that are out, and nowhere else.
const SECRET: &str = "quetzal";

/// The skills that are out: by name, by source, by plugin, by what is included, and by its address.
const OUT: [&str; 5] = ["payroll", "project-plan", "plug-in", "other", "shared"];

fn skill(dir: &Path, path: &str, word: &str) {
    let name = path.rsplit('/').next().unwrap();
    let text = format!(
        "---\nname: {name}\ndescription: Writes invoices, {word}.\ntriggers: [invoice]\nargument-hint: <skill>\n---\nBody {word}.\n"
    );
    write(dir, &format!("{path}/SKILL.md"), text);
    write(dir, &format!("{path}/note.md"), format!("Note {word}.\n"));
    write(dir, &format!("{path}/scripts/run.sh"), "#!/bin/sh\necho hi\n");
}

fn house(dir: &Path) -> Skillcue {
    for name in ["payroll", "other", "sales-open", "sales-plan"] {
        skill(dir, &format!("user/{name}"), if name.starts_with("sales") { "openly" } else { SECRET });
    }
    skill(dir, "project/project-plan", SECRET);
    // In the view by its name, and out by its source; the user's, which it shadows, is not shown in its place.
    skill(dir, "project/shared", SECRET);
    skill(dir, "user/shared", SECRET);
    skill(dir, "plugin/plug-in", SECRET);
    let mut plugin = SkillRoot::new(dir.join("plugin"), Source::Plugin);
    plugin.plugin = Some("acme".into());
    let roots = [SkillRoot::new(dir.join("user"), Source::User), SkillRoot::new(dir.join("project"), Source::Project)];
    Skillcue::builder().roots(roots).root(plugin).build().unwrap()
}

fn rule() -> ViewRule {
    let list = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect::<Vec<_>>();
    ViewRule {
        skills: list(&["sales-*", "payroll", "project-*", "plug-*", "shared"]),
        exclude_skills: list(&["payroll", "shared@user"]),
        exclude_sources: list(&["project"]),
        exclude_plugins: list(&["ac?e"]),
        ..ViewRule::default()
    }
}

/// Fails if a text shows a skill that is out. A name that the request has is said back.
fn check(asked: &str, text: &str) {
    assert!(!text.contains(SECRET), "{asked}: {text}");
    for name in OUT {
        assert!(!text.contains(name) || asked.contains(name), "{asked} names {name}: {text}");
    }
}

fn view() -> (tempfile::TempDir, Skillcue, Arc<Skillcue>, SkillServer) {
    let dir = tempfile::tempdir().unwrap();
    let whole = house(dir.path());
    let view = Arc::new(whole.view(rule()));
    let server = SkillServer::new(Arc::clone(&view), ServerOptions::default());
    (dir, whole, view, server)
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({ "name": tool, "arguments": arguments })
}

#[tokio::test]
async fn no_list_shows_what_is_out() {
    let (_dir, _whole, view, server) = view();
    let names: Vec<_> = view.catalog().skills().map(|skill| skill.name().to_owned()).collect();
    assert_eq!(names, ["sales-open", "sales-plan"]);
    let mut legacy = Client::connect(&server);
    let hello = legacy.request("initialize", common::initialize_params()).await.to_string();
    assert!(hello.contains("sales-open"), "the control: {hello}");
    check("initialize", &hello);
    let mut client = Client::modern(&server);
    for method in
        ["server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list", "skills/list"]
    {
        let listed = client.request(method, json!({})).await.to_string();
        let has_names = matches!(method, "resources/list" | "prompts/list" | "skills/list");
        assert!(listed.contains("sales-open") || !has_names, "the control: {listed}");
        check(method, &listed);
    }
}

#[tokio::test]
async fn no_tool_shows_what_is_out() {
    let (_dir, _whole, _view, server) = view();
    let mut client = Client::legacy(&server).await;
    let found = client.request("tools/call", call("search_skills", &json!({ "query": "invoice" }))).await.to_string();
    assert!(found.contains("sales-open") && found.contains("\"matched\":2"), "the control: {found}");
    check("search_skills", &found);
    let none = client.request("tools/call", call("search_skills", &json!({ "query": "zzzz" }))).await.to_string();
    assert!(none.contains("2 are available"), "{none}");
    for name in OUT {
        for id in [name.to_owned(), format!("{name}@user"), format!("{name}@project"), format!("acme:{name}")] {
            for (tool, arguments) in [
                ("load_skill", json!({ "skill_id": id })),
                ("read_skill_file", json!({ "skill_id": id, "path": "note.md" })),
                ("unload_skill", json!({ "skill_id": id })),
            ] {
                let result = client.request("tools/call", call(tool, &arguments)).await;
                assert_eq!(result["isError"], true, "{tool} {id}: {result}");
                check(&id, &result.to_string());
            }
        }
        // Names that are close to it are not those of others that are out.
        let near = &name[..name.len() - 1];
        let result = client.request("tools/call", call("load_skill", &json!({ "skill_id": near }))).await;
        assert_eq!(result["isError"], true);
        check("a close name", &result.to_string());
    }
    let near = client.request("tools/call", call("load_skill", &json!({ "skill_id": "sales-opn" }))).await.to_string();
    assert!(near.contains("sales-open"), "the control: {near}");
}

#[tokio::test]
async fn no_resource_prompt_or_completion_shows_what_is_out() {
    let (_dir, _whole, _view, server) = view();
    let mut client = Client::modern(&server);
    let read = client.request("resources/read", json!({ "uri": "skill://sales-open/note.md" })).await.to_string();
    assert!(read.contains("openly"), "the control: {read}");
    for name in OUT {
        for path in ["SKILL.md", "note.md", "scripts/run.sh", ""] {
            let uri = format!("skill://{name}/{path}");
            for method in ["resources/read", "resources/directory/read", "skills/get"] {
                let error = client.refused(method, json!({ "uri": uri })).await.to_string();
                check(&uri, &error);
            }
        }
        let error = client.refused("prompts/get", json!({ "name": name })).await.to_string();
        check(name, &error);
        let params = json!({
            "ref": { "type": "ref/prompt", "name": name },
            "argument": { "name": "arguments", "value": "" },
        });
        let id = client.send("completion/complete", params).await;
        check(name, &client.answer(id).await.to_string());
    }
    for typed in ["", "p", "o", "s"] {
        for (uri, argument) in [("skill://{+skill}/SKILL.md", "skill"), ("skill://{+skill}/{+file}", "skill")] {
            let params = json!({
                "ref": { "type": "ref/resource", "uri": uri },
                "argument": { "name": argument, "value": typed },
            });
            check("a template", &client.request("completion/complete", params).await.to_string());
        }
        let params = json!({
            "ref": { "type": "ref/prompt", "name": "sales-open" },
            "argument": { "name": "arguments", "value": typed },
        });
        let completed = client.request("completion/complete", params).await.to_string();
        assert!(typed != "s" || completed.contains("sales-plan"), "the control: {completed}");
        check("a prompt's argument", &completed);
    }
}

#[tokio::test]
async fn changes_of_what_is_out_are_not_announced() {
    let (dir, whole, view, server) = view();
    let mut client = Client::legacy(&server).await;
    let changed = |name: &str, word: &str| {
        skill(dir.path(), &format!("user/{name}"), word);
        whole.refresh();
        let changes = view.follow(&whole);
        let names: Vec<String> = changes.names().map(str::to_owned).collect();
        if !changes.is_empty() {
            server.announce(&changes);
        }
        names
    };
    assert!(changed("payroll", "quetzal, anew").is_empty());
    assert!(changed("payroll-new", SECRET).is_empty(), "a new skill is out, too");
    assert_eq!(view.refresh().len(), 2, "a view does not look by itself");
    assert_eq!(changed("sales-new", "openly"), ["sales-new"]);
    let news = client.news().await.to_string();
    check("a notification", &news);
    let loaded = client.request("tools/call", call("load_skill", &json!({ "skill_id": "sales-new" }))).await;
    assert!(loaded.to_string().contains("openly"), "{loaded}");
}

#[test]
fn a_view_is_never_more_than_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let whole = house(dir.path());
    let all: Vec<String> = whole.catalog().all().iter().map(|skill| skill.address()).collect();
    let everything = whole.view(ViewRule::default());
    assert!(Changes::between(&whole.catalog(), &everything.catalog()).is_empty(), "an empty rule keeps all");
    let words = ["*", "sales-*", "shared", "user", "acme", ""];
    for skills in words {
        for sources in words {
            for exclude in words {
                let list = |word: &str| if word.is_empty() { Vec::new() } else { vec![word.parse().unwrap()] };
                let rule = ViewRule {
                    skills: list(skills),
                    sources: list(sources),
                    exclude_skills: list(exclude),
                    ..ViewRule::default()
                };
                let view = whole.view(rule.clone());
                let catalog = view.catalog();
                assert!(catalog.all().iter().all(|skill| all.contains(&skill.address())), "{rule:?}");
                let twin = |skill: &skillcue::Skill| {
                    let catalog = whole.catalog();
                    let twin = catalog.get(&skill.address()).unwrap();
                    (twin.shadowed(), twin.enabled(), twin.is_for_models())
                };
                for skill in catalog.all() {
                    let state = (skill.shadowed(), skill.enabled(), skill.is_for_models());
                    assert_eq!(state, twin(skill), "{}: {rule:?}", skill.address());
                }
            }
        }
    }
}

#[tokio::test]
async fn each_view_has_a_path_and_a_token() {
    let dir = tempfile::tempdir().unwrap();
    let whole = Arc::new(house(dir.path()));
    let keys = HandleKeys::from_secrets("a secret that is long enough to be one").unwrap();
    let server = SkillServer::new(Arc::clone(&whole), ServerOptions::new(keys));
    let sales = server.for_view("sales", Arc::new(whole.view(rule())));
    let mut pay = ViewRule::default();
    pay.skills.push("payroll".parse().unwrap());
    let pay = server.for_view("pay", Arc::new(whole.view(pay)));
    let view = |name: &str, server: &SkillServer| ServedView {
        name: name.to_owned(),
        server: server.clone(),
        token: Some(format!("{name}-token")),
    };
    let mut options = HttpOptions::default();
    options.token = Some("main-token".to_owned());
    let http = HttpServer::bind_views(vec![view("sales", &sales), view("pay", &pay)], options).await.unwrap();
    assert_eq!(http.paths().collect::<Vec<_>>(), ["/mcp/sales", "/mcp/pay"]);
    let (address, cancel) = (http.address(), CancellationToken::new());
    let serving = tokio::spawn(http.run(cancel.clone()));
    let running = Running { address, cancel, serving, server, skills: dir };

    let load = |id: &str, more: Value| {
        let mut meta = meta();
        meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let params = json!({ "name": "load_skill", "arguments": { "skill_id": id }, "_meta": meta });
        request("tools/call", params).to_string()
    };
    let headers = |token: &'static str| {
        [
            ("Authorization", token),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "load_skill"),
        ]
    };
    for (path, token, status) in [
        ("/mcp/sales", "Bearer sales-token", 200),
        ("/mcp/sales", "Bearer main-token", 200),
        ("/mcp/sales", "Bearer pay-token", 401),
        ("/mcp/pay", "Bearer sales-token", 401),
        ("/mcp/pay", "", 401),
        ("/mcp", "Bearer main-token", 404),
        ("/mcp/none", "Bearer main-token", 404),
        // A path that is not there answers like one whose token is missing.
        ("/mcp", "", 401),
        ("/mcp/none", "", 401),
        ("/mcp/none", "Bearer sales-token", 401),
        ("/.well-known/oauth-protected-resource", "", 404),
    ] {
        let reply = running.ask("POST", path, &headers(token), &load("payroll", json!({}))).await;
        assert_eq!(reply.status, status, "{path} {token}: {}", reply.body);
        assert_eq!(reply.body.contains(SECRET), status == 200 && path == "/mcp/pay");
    }
    // A handle of one view is none in another.
    let reply = running.ask("POST", "/mcp/pay", &headers("Bearer pay-token"), &load("payroll", json!({}))).await;
    let handle = reply.message()["result"]["_meta"]["skillcue/handle"].clone();
    assert!(handle.is_string(), "{}", reply.body);
    let again = load("payroll", json!({ "skillcue/handle": handle }));
    let reply = running.ask("POST", "/mcp/pay", &headers("Bearer pay-token"), &again).await;
    assert!(reply.body.contains("in this conversation already"), "{}", reply.body);
    let reply = running.ask("POST", "/mcp/sales", &headers("Bearer sales-token"), &again).await;
    check("payroll", &reply.body);
    for token in ["", "Bearer sales-token"] {
        let reply = running.ask("GET", "/metrics", &[("Authorization", token)], "").await;
        assert_eq!(reply.status, 403, "metrics name all views: {}", reply.body);
    }
    let metrics = running.ask("GET", "/metrics", &[("Authorization", "Bearer main-token")], "").await.body;
    assert!(!metrics.contains("view=\"\""), "the whole catalog is not served: {metrics}");
    assert!(metrics.contains("skillcue_catalog_skills{view=\"pay\"} 1"), "{metrics}");
    assert!(metrics.contains("skillcue_handles_ignored_total{kind=\"not_signed\"} 1"), "{metrics}");
    running.end().await;
}
