//! `allow`, `deny` and `allowed`, and what follows from them.

use serde_json::{Value, json};
use skillcue_scripted::Reply;

use crate::Sandbox;
use crate::agent::Talk;
use crate::far_server;
use crate::mcp::{Client, Web};
use crate::sandbox::SETTINGS;

/// Issue 15: `. is trusted as it is now` says nothing to a reader elsewhere, and the list printed `.`, too.
#[test]
fn projects_are_named_by_their_whole_path() {
    let sandbox = Sandbox::new();
    sandbox.write("work/skillcue.toml", "[run]\ntimeout_s = 5\n");
    assert_eq!(sandbox.run(&["allowed"]).to_string(), "exit 0\n--- stderr\nnothing is allowed\n");
    let run = sandbox.run(&["allow", "--yes"]);
    assert!(run.stderr.ends_with("[TMP]/work is allowed as it is now\n"), "{run}");
    assert!(sandbox.run(&["allowed"]).stdout.starts_with("[TMP]/work  project\n"));
    let run = sandbox.run(&["deny"]);
    assert_eq!(run.stderr, "not allowed any more: [TMP]/work\n", "{run}");
    let run = sandbox.run(&["deny", "."]);
    let said = "exit 1\n--- stderr\nnothing was allowed to .; `skillcue allowed` lists what is\n";
    assert_eq!(run.to_string(), said);
    for narrow in ["--script=x", "--load", "--toolsets"] {
        let run = sandbox.run(&["allow", "./skillcue.toml", narrow, "--yes"]);
        assert!(run.code == Some(2) && run.stderr.contains("error[usage]"), "{run}");
    }
}

/// A way to something that needs consent. Returns whether it was had.
type Surface = (&'static str, fn(&Talk) -> bool);

/// Something that needs consent, on every surface that offers it.
struct Case {
    subject: &'static str,
    set_up: fn(&Sandbox),
    /// Changes a byte of what was looked at.
    change: fn(&Sandbox),
    /// The call of a model that has loaded the skill.
    call: (&'static str, fn() -> Value),
    surfaces: &'static [Surface],
}

/// The output that is seen only with consent.
const HAD: &str = "hunter2";

impl Case {
    /// Refused without consent, had with it, refused after a change, and after it was taken back.
    fn check(&self) {
        let (tool, arguments) = self.call;
        // A model that loads the skill, then calls the tool, then says what came of it.
        let talk = Talk::on(Sandbox::new(), move |received| match received.new_results().last() {
            None => Reply::calls([("c0", "load_skill", json!({"skill_id": skill_of(&arguments())}))]),
            Some((id, _)) if id == "c0" && tool != "load_skill" => Reply::calls([("c1", tool, arguments())]),
            Some((_, result)) => Reply::text(result.clone()),
        });
        (self.set_up)(&talk.sandbox);
        let had = |expected: bool, when: &str| {
            for (surface, had) in self.surfaces {
                assert_eq!(had(&talk), expected, "{} on {surface} {when}", self.subject);
            }
        };
        had(false, "before");
        let allow = || {
            let run = talk.sandbox.act(&["allow", self.subject, "--yes"]);
            assert_eq!(run.code, Some(0), "{run}");
        };
        allow();
        had(true, "once it is allowed");
        let listed = talk.sandbox.act(&["allowed", "--json"]).json();
        for row in listed.as_array().unwrap() {
            let keys: Vec<&String> = row.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["content", "current", "permissions", "scope", "since", "subject"]);
            assert_eq!((&row["scope"], &row["current"]), (&json!("always"), &json!(true)), "{row}");
        }
        (self.change)(&talk.sandbox);
        had(false, "after a change");
        allow();
        had(true, "allowed again");
        let run = talk.sandbox.act(&["deny", self.subject]);
        assert!(run.stderr.starts_with("not allowed any more: "), "{run}");
        had(false, "once it is denied");
        assert_eq!(talk.sandbox.act(&["allowed", "--json"]).json(), json!([]));
    }
}

fn skill_of(arguments: &Value) -> &str {
    arguments["skill_id"].as_str().unwrap_or("theirs")
}

fn by_agent(talk: &Talk) -> bool {
    talk.finish(talk.command(&["-p", "go"]).env("PATH", "/usr/bin:/bin").env("SECRET", HAD)).stdout.contains(HAD)
}

/// Returns the MCP server's answer to a client that has loaded the skill.
fn by_client(talk: &Talk, skill: &str, tool: &str, arguments: &Value) -> bool {
    let mut command = talk.sandbox.command(&["mcp"]);
    let mut client = Client::talk(command.env("PATH", "/usr/bin:/bin").env("SECRET", HAD));
    if tool != "load_skill" {
        client.ask("tools/call", &json!({"name": "load_skill", "arguments": {"skill_id": skill}}));
    }
    client.ask("tools/call", &json!({"name": tool, "arguments": arguments})).to_string().contains(HAD)
}

/// Returns the answer of an MCP server without sessions to a client that has loaded the skill, and carries the handle.
fn by_handle(talk: &Talk, skill: &str, tool: &str, arguments: &Value) -> bool {
    let mut command = talk.sandbox.command(&["mcp", "--http", "0"]);
    let web = Web::serve(command.env("PATH", "/usr/bin:/bin").env("SECRET", HAD), 256);
    let loaded = web.call("load_skill", &json!({"skill_id": skill}));
    let handle = loaded["result"]["_meta"]["skillcue/handle"].as_str().unwrap_or_default();
    let arguments = json!({"skill_id": skill, "tool": tool, "arguments": arguments, "handle": handle});
    web.call("call_skill_tool", &arguments).to_string().contains(HAD)
}

fn script() -> Value {
    json!({"skill_id": "theirs", "script": "scripts/tell.sh"})
}

/// A skill of the project, so that loading needs consent, too.
fn skill(sandbox: &Sandbox, front_matter: &str) {
    let text = format!("---\nname: theirs\ndescription: Tells. Use when asked.\n{front_matter}---\nIt is hunter2.\n");
    sandbox.write("work/skills/theirs/SKILL.md", text);
}

#[test]
fn a_script_needs_consent_on_every_surface() {
    Case {
        subject: "theirs",
        set_up: |sandbox| {
            skill(sandbox, "metadata:\n  permissions:\n    env: [SECRET]\n");
            sandbox.write("work/skills/theirs/scripts/tell.sh", "#!/bin/sh\necho \"it is $SECRET\"\n");
        },
        change: |sandbox| sandbox.write("work/skills/theirs/scripts/tell.sh", "#!/bin/sh\necho \"It is $SECRET\"\n"),
        call: ("run_skill_script", script),
        surfaces: &[
            ("run", |talk| talk.sandbox.act(&["run", "theirs", "scripts/tell.sh"]).stdout.contains(HAD)),
            ("the table of tools", |talk| {
                let arguments = script().to_string();
                let run = talk.sandbox.act(&["call", "run_skill_script", &arguments, "--skill", "theirs"]);
                run.stdout.contains(HAD)
            }),
            ("the MCP server", |talk| by_client(talk, "theirs", "run_skill_script", &script())),
            ("the MCP server without sessions", |talk| by_handle(talk, "theirs", "run_skill_script", &script())),
            ("the agent", by_agent),
        ],
    }
    .check();
}

const TOOLSET: &str = "import { Tool } from '@agent/tools';\nexport const It = [Tool.define('tell-it', {\n  description: 'Tells',\n  \
                       parameters: { type: 'object' },\n  execute: async () => ({ title: '', metadata: {}, output: 'hunter' + 2 }),\n})];\n";

/// A toolset gets nothing beyond the sandbox: only the agent asks.
#[test]
fn a_toolset_needs_consent_in_the_agent() {
    Case {
        subject: "theirs",
        set_up: |sandbox| {
            skill(sandbox, "metadata:\n  toolsets: [\"toolsets/index:It\"]\n");
            sandbox.write("work/skills/theirs/toolsets/index.ts", TOOLSET);
        },
        change: |sandbox| sandbox.write("work/skills/theirs/toolsets/index.ts", format!("{TOOLSET}// more\n")),
        call: ("theirs__tell-it", || json!({})),
        surfaces: &[("the agent", by_agent)],
    }
    .check();
}

#[test]
fn a_skill_of_a_checkout_needs_consent_in_the_agent() {
    Case {
        subject: "theirs",
        set_up: |sandbox| skill(sandbox, ""),
        change: |sandbox| sandbox.write("work/skills/theirs/more.md", "More.\n"),
        call: ("load_skill", || json!({"skill_id": "theirs"})),
        surfaces: &[("the agent", by_agent)],
    }
    .check();
}

#[test]
fn a_remote_skill_needs_consent_on_every_surface() {
    fn serve(sandbox: &Sandbox, text: &str) {
        sandbox
            .write("served/pay/SKILL.md", format!("---\nname: pay\ndescription: Pays. Use when asked.\n---\n{text}\n"));
    }
    Case {
        subject: "acme:pay",
        set_up: |sandbox| {
            serve(sandbox, "It is hunter2.");
            let (program, dir) = (env!("CARGO_BIN_EXE_skillcue"), sandbox.path("served"));
            let command = json!([program, "--isolated", "--no-cache", "--skills-dir", dir, "mcp"]);
            let config = format!("[[mcp]]\nname = \"acme\"\ntimeout_ms = 60000\ncommand = {command}\n");
            sandbox.write(SETTINGS, config);
        },
        change: |sandbox| {
            serve(sandbox, "It is hunter22.");
            // So that the server is asked again.
            std::fs::remove_dir_all(sandbox.path("home/.cache")).unwrap();
        },
        call: ("load_skill", || json!({"skill_id": "acme:pay"})),
        surfaces: &[
            ("load", |talk| talk.sandbox.act(&["load", "acme:pay"]).stdout.contains(HAD)),
            ("read", |talk| talk.sandbox.act(&["read", "acme:pay", "SKILL.md"]).stdout.contains(HAD)),
            ("the table of tools", |talk| {
                talk.sandbox.act(&["call", "load_skill", r#"{"skill_id": "acme:pay"}"#]).stdout.contains(HAD)
            }),
            ("the MCP server", |talk| by_client(talk, "acme:pay", "load_skill", &json!({"skill_id": "acme:pay"}))),
            ("the agent", by_agent),
        ],
    }
    .check();
}

#[test]
fn a_project_needs_consent_for_its_settings() {
    Case {
        subject: ".",
        set_up: |sandbox| {
            sandbox.write(
                "elsewhere/far/SKILL.md",
                "---\nname: theirs\ndescription: It is hunter2.\n---\nIt is hunter2.\n",
            );
            let dir = sandbox.path("elsewhere");
            sandbox.write("work/skillcue.toml", format!("[skills]\ndirs = [{:?}]\n", dir.to_str().unwrap()));
        },
        change: |sandbox| {
            let dir = sandbox.path("elsewhere");
            sandbox.write("work/skillcue.toml", format!("[skills]\ndirs = [ {:?} ]\n", dir.to_str().unwrap()));
        },
        call: ("load_skill", || json!({"skill_id": "theirs"})),
        surfaces: &[
            ("load", |talk| talk.sandbox.act(&["load", "theirs"]).stdout.contains(HAD)),
            ("the table of tools", |talk| {
                talk.sandbox.act(&["call", "load_skill", r#"{"skill_id": "theirs"}"#]).stdout.contains(HAD)
            }),
            ("the MCP server", |talk| by_client(talk, "theirs", "load_skill", &json!({"skill_id": "theirs"}))),
        ],
    }
    .check();
}

/// `approve`, `revoke`, `trust` and `permissions` are no commands any more.
#[test]
fn other_words_for_consent_lead_to_ours() {
    let sandbox = Sandbox::new();
    for (word, verb) in [("approve", "allow"), ("trust", "allow"), ("revoke", "deny"), ("permissions", "allowed")] {
        let run = sandbox.run(&[word]);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(&format!("a similar subcommand exists: '{verb}'")), "{run}");
    }
}

#[test]
fn parts_of_a_skill_are_allowed_one_by_one() {
    let sandbox = Sandbox::new();
    skill(&sandbox, "metadata:\n  toolsets: [\"toolsets/index:It\"]\n");
    for script in ["a.sh", "b.sh"] {
        sandbox.write(&format!("work/skills/theirs/scripts/{script}"), "#!/bin/sh\n");
    }
    sandbox.write("work/skills/theirs/toolsets/index.ts", TOOLSET);
    let subjects = |args: &[&str]| {
        assert_eq!(sandbox.run(&["deny", "--all"]).code, Some(0));
        let run = sandbox.run(&[&["allow", "theirs", "--yes", "--json"], args].concat());
        let rows = run.json();
        let subject = |row: &Value| {
            let (kind, path) = (row["subject"]["kind"].as_str().unwrap(), row["subject"]["path"].as_str());
            format!("{kind} {}", path.unwrap_or_default()).trim().to_owned()
        };
        rows.as_array().unwrap().iter().map(subject).collect::<Vec<_>>()
    };
    assert_eq!(subjects(&[]), ["load", "script scripts/a.sh", "script scripts/b.sh", "toolset"]);
    assert_eq!(subjects(&["--script", "scripts/b.sh"]), ["script scripts/b.sh"]);
    assert_eq!(subjects(&["--script", "b.sh"]), ["script scripts/b.sh"], "as `run` takes it");
    assert_eq!(subjects(&["--toolsets"]), ["toolset"]);
    assert_eq!(subjects(&["--load"]), ["load"]);
    let run = sandbox.run(&["allow", "theirs", "--script", "scripts/c.sh", "--yes"]);
    assert!(run.code == Some(1) && run.stderr.contains("error[not_found]"), "{run}");
    let run = sandbox.run(&["allow", "skill-author", "--yes"]);
    assert!(run.code == Some(1) && run.stderr.contains("error[nothing_asked]"), "{run}");
    let run = sandbox.run(&["allow", "."]);
    assert!(run.code == Some(1) && run.stderr.contains("error[no_config]"), "{run}");
    skill(&sandbox, "disable-model-invocation: true\n");
    assert_eq!(subjects(&[]), ["script scripts/a.sh", "script scripts/b.sh"], "no model may load it anyway");
    let run = sandbox.run(&["allow", "theirs", "--load", "--yes"]);
    assert!(run.code == Some(1) && run.stderr.contains("error[nothing_asked]"), "{run}");
}

/// `reading data` says nothing about ~/.ssh.
#[test]
fn a_question_says_where_a_link_leads() {
    let sandbox = Sandbox::new();
    skill(&sandbox, "metadata:\n  permissions:\n    read: [data]\n");
    sandbox.write("work/skills/theirs/scripts/tell.sh", "#!/bin/sh\n");
    sandbox.write("home/.ssh/id", "hunter2");
    std::os::unix::fs::symlink(sandbox.path("home/.ssh"), sandbox.path("work/skills/theirs/data")).unwrap();
    let real = "reading data, which is [TMP]/home/.ssh";
    let run = sandbox.run(&["run", "theirs", "tell.sh"]);
    assert!(run.stderr.contains(&format!("asks for {real}\n")), "{run}");
    let run = sandbox.run(&["allow", "theirs", "--yes"]);
    assert!(run.stderr.contains(&format!("may run, with {real}\n")), "{run}");
    let run = sandbox.run(&["allowed"]);
    assert!(run.stdout.contains(&format!("scripts/tell.sh  {real}\n")), "{run}");
}

/// The command that a hint names means the skill that the error is about, and `deny` takes exactly that back.
#[test]
fn a_shadowed_skill_is_named_by_its_address() {
    let sandbox = Sandbox::new();
    let asks = "metadata:\n  permissions:\n    env: [SECRET]\n";
    skill(&sandbox, asks);
    sandbox.write("work/skills/theirs/scripts/tell.sh", "#!/bin/sh\n");
    let mine = format!("---\nname: theirs\ndescription: Tells mine. Use when asked.\n{asks}---\nMine.\n");
    sandbox.write("home/.agents/skills/theirs/SKILL.md", mine);
    sandbox.write("home/.agents/skills/theirs/scripts/tell.sh", "#!/bin/sh\necho mine\n");
    let listed = sandbox.run(&["list", "--all", "--json"]);
    let run = sandbox.run(&["run", "theirs@user", "tell.sh"]);
    assert!(run.stderr.ends_with("then: skillcue allow theirs@user\n"), "{run}{listed}");
    for id in ["theirs", "theirs@user"] {
        assert_eq!(sandbox.run(&["allow", id, "--yes"]).code, Some(0));
    }
    let dirs = || {
        let rows = sandbox.run(&["allowed", "--json"]).json();
        let dir = |row: &Value| row["subject"]["dir"].as_str().unwrap().contains("/work/");
        rows.as_array().unwrap().iter().map(dir).collect::<Vec<_>>()
    };
    assert_eq!(dirs(), [true, false, true], "loading and running the one, running the other");
    assert_eq!(sandbox.run(&["deny", "theirs@user"]).code, Some(0));
    assert_eq!(dirs(), [true, true], "the other is left");
    assert_eq!(sandbox.run(&["deny", "theirs@user"]).code, Some(1));
    assert_eq!(sandbox.run(&["deny", "theirs@plugin#2"]).code, Some(0), "there is none: whatever has the name");
    assert_eq!(dirs(), [false; 0]);
}

/// Issue 16: a server lists two skills of one name. `--show` printed the other one, as text even with `--json`, and
/// `deny NAME#2` took nothing back.
#[test]
fn one_of_two_remote_skills_of_one_name_is_meant() {
    let sandbox = Sandbox::new();
    let mut skills = ["skill://a/pay", "skill://b/pay"].map(|root| far_server::Skill::at(root, "pay"));
    skills[1].files.get_mut("SKILL.md").unwrap().extend(b"The second.\n");
    let uris = skills.each_ref().map(|skill| skill.uri.clone());
    let texts = skills.each_ref().map(|skill| String::from_utf8(skill.files["SKILL.md"].clone()).unwrap());
    assert_ne!(texts[0], texts[1]);
    let server = far_server::Fake::start(far_server::Mode::Good, skills.to_vec());
    let config = format!("[[mcp]]\nname = \"acme\"\ntimeout_ms = 60000\nurl = \"{}\"\n", server.url);
    sandbox.write("home/.config/skillcue/skillcue.toml", config);
    for (uri, text) in uris.iter().zip(&texts) {
        let subject = format!("acme:{uri}");
        assert_eq!(&sandbox.run(&["allow", &subject, "--show"]).stdout, text);
        let run = sandbox.run(&["allow", &subject, "--show", "--json"]);
        assert_eq!(run.json(), json!([{"label": "acme", "uri": uri, "content": text}]), "{run}");
    }
    assert_eq!(sandbox.run(&["allowed", "--json"]).json(), json!([]), "showing a skill allows nothing");
    for uri in &uris {
        assert_eq!(sandbox.run(&["allow", &format!("acme:{uri}"), "--yes"]).code, Some(0));
    }
    let left = || {
        let rows = sandbox.run(&["allowed", "--json"]).json();
        rows.as_array().unwrap().iter().map(|row| row["subject"]["uri"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(left(), uris.each_ref().map(|uri| json!(uri)));
    let run = sandbox.run(&["deny", "acme:pay#2"]);
    assert_eq!((run.code, left()), (Some(0), vec![json!(uris[0])]), "{run}");
}
