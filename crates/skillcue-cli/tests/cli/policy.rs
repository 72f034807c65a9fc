//! The organisation's policy: a skill that it closes is closed on every surface, by whatever way it came, and nothing that
//! a user, a project, a flag or a variable says opens it.

use std::process::Command;

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::sandbox::SETTINGS;
use crate::{Run, Sandbox};

pub(crate) const POLICY: &str = "etc/policy.toml";

/// A way in which a skill called `inv` comes to the catalog.
struct Way {
    name: &'static str,
    /// Its id.
    id: &'static str,
    /// Its source, as rules name it.
    source: &'static str,
    bring: fn(&Sandbox),
    args: &'static [&'static str],
    /// A text of its body.
    mark: &'static str,
}

/// Writes the skill, each of whose parts says "EVIL".
pub(crate) fn write(sandbox: &Sandbox, dir: &str) {
    let front = "name: inv\ndescription: Writes invoices.\nmetadata:\n  triggers: [invoice]\n  toolsets: [\"toolsets/index:Evil\"]";
    let body = "# Invoices\n\nEVIL-BODY\n\n## Tax\n\nEVIL-SECTION\n";
    sandbox.write(&format!("{dir}/SKILL.md"), format!("---\n{front}\n---\n{body}"));
    sandbox.write(&format!("{dir}/note.md"), "EVIL-FILE\n");
    sandbox.write(&format!("{dir}/scripts/x.sh"), "#!/bin/sh\necho EVIL-RAN\n");
    sandbox.write(
        &format!("{dir}/toolsets/index.ts"),
        "import { Tool } from '@agent/tools';\nexport const Evil = [Tool.define('evil-tool', {\n  description: 'EVIL-TOOL',\n  \
         parameters: { type: 'object' },\n  execute: async () => ({ title: '', metadata: {}, output: 'EVIL-CALLED' }),\n})];\n",
    );
}

fn plugin(sandbox: &Sandbox, dir: &str) {
    sandbox.write(&format!("{dir}/.claude-plugin/plugin.json"), r#"{"name": "evil"}"#);
    write(sandbox, &format!("{dir}/skills/inv"));
}

fn server(sandbox: &Sandbox) {
    write(sandbox, "served/inv");
    let served = sandbox.path("served");
    let command = json!([env!("CARGO_BIN_EXE_skillcue"), "--isolated", "--no-cache", "--skills-dir", served, "mcp"]);
    sandbox.write(SETTINGS, format!("[[mcp]]\nname = \"acme\"\ntimeout_ms = 60000\ncommand = {command}\n"));
    let allowed = sandbox.run(&["allow", "acme:inv", "--yes"]);
    assert_eq!(allowed.code, Some(0), "{allowed}");
}

fn installed(sandbox: &Sandbox) {
    write(sandbox, "from/inv");
    let run = sandbox.run(&["install", "../from", "--skill", "inv", "--enable"]);
    assert_eq!(run.code, Some(0), "{run}");
}

/// Publishes the skill, and brings it back as one of a signed catalog.
#[cfg(feature = "fleet")]
fn catalog(sandbox: &Sandbox) {
    write(sandbox, "published/inv");
    let key = sandbox.run(&["catalog", "keygen", "acme.key", "--json"]).json()["key"].as_str().unwrap().to_owned();
    let url = format!("file://{}", sandbox.path("store/acme").display());
    let run = sandbox.run(&["publish", "../published", &url, "--key", "acme.key"]);
    assert_eq!(run.code, Some(0), "{run}");
    let section = "[[catalog]]\nname = \"acme\"\ntrust = \"signed\"\n";
    sandbox.write(SETTINGS, format!("{section}url = \"{url}\"\nkeys = [\"{key}\"]\n"));
}

/// All ways, with that of catalogs where the program has them.
fn ways() -> impl Iterator<Item = Way> {
    #[cfg(feature = "fleet")]
    let catalogs =
        [Way { name: "a signed catalog", id: "acme:inv", source: "catalog", bring: catalog, args: &[], mark: "EVIL" }];
    #[cfg(not(feature = "fleet"))]
    let catalogs: [Way; 0] = [];
    WAYS.into_iter().chain(catalogs)
}

const WAYS: [Way; 7] = [
    Way {
        name: "the project's directory",
        id: "inv",
        source: "project",
        bring: |it| write(it, "work/.agents/skills/inv"),
        args: &[],
        mark: "EVIL",
    },
    Way {
        name: "a plugin in a checkout",
        id: "evil:inv",
        source: "plugin",
        bring: |it| {
            plugin(it, "work/vendor/evil");
            it.write("work/skillcue.toml", "[skills]\nplugins = [\"vendor/evil\"]\nenable = [\"evil:inv\"]\n");
        },
        args: &[],
        mark: "EVIL",
    },
    Way {
        name: "the user's directory",
        id: "inv",
        source: "user",
        bring: |it| write(it, "home/.agents/skills/inv"),
        args: &[],
        mark: "EVIL",
    },
    Way { name: "the user's registry", id: "inv", source: "installed", bring: installed, args: &[], mark: "EVIL" },
    Way {
        name: "a directory that a flag names",
        id: "inv",
        source: "inline",
        bring: |it| write(it, "work/vendor/inv"),
        args: &["--skills-dir", "vendor"],
        mark: "EVIL",
    },
    Way { name: "an MCP server", id: "acme:inv", source: "mcp", bring: server, args: &[], mark: "EVIL" },
    Way {
        name: "the bundled skills",
        id: "hello-extended",
        source: "bundled",
        bring: |_| (),
        args: &[],
        mark: "Give the greeting first",
    },
];

pub(crate) fn policed(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.command(args);
    command.env("SKILLCUE_POLICY", sandbox.path(POLICY)).env("PATH", "/usr/bin:/bin");
    command
}

pub(crate) fn run(sandbox: &Sandbox, args: &[&str]) -> Run {
    sandbox.finish(policed(sandbox, args).output().unwrap())
}

/// Everything that a command shows of a skill to a model or a person, one command each.
fn commands(id: &str) -> Vec<Vec<String>> {
    let plain = id.rsplit(':').next().unwrap();
    let call = |tool: &str, arguments: Value| vec!["call".to_owned(), tool.to_owned(), arguments.to_string()];
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    vec![
        words(&["load", id]),
        words(&["load", id, "--format", "envelope"]),
        words(&["load", id, "--format", "body"]),
        words(&["load", id, "--section", "Tax"]),
        words(&["read", id, "note.md"]),
        words(&["read", id, "SKILL.md"]),
        words(&["search", "write the invoice", "--json"]),
        words(&["why", "write the invoice or say bonjour"]),
        words(&["context", "write the invoice or say bonjour"]),
        words(&["context", &format!("${id} write the invoice")]),
        words(&["context", &format!("/{plain} write the invoice"), "--eagerness", "1"]),
        words(&["context", "write the invoice", "--policy", "catalog"]),
        words(&["context", "write the invoice", "--policy", "hint"]),
        words(&["context", "write the invoice", "--fallback", "show_all"]),
        words(&["context", "write the invoice", "--no-cache"]),
        words(&["prompt"]),
        words(&["tools", id]),
        words(&["run", id, "scripts/x.sh"]),
        words(&["run", id, "scripts/x.sh", "--allow-unsandboxed"]),
        words(&["enable", id]),
        words(&["allow", id, "--load", "--yes"]),
        call("load_skill", json!({"skill_id": id})),
        call("read_skill_file", json!({"skill_id": id, "path": "note.md"})),
        call("search_skills", json!({"query": "write the invoice"})),
        call("run_skill_script", json!({"skill_id": id, "script": "scripts/x.sh"})),
        call("evil-tool", json!({})),
        call(&format!("{plain}__evil-tool"), json!({})),
    ]
}

/// Returns all that an MCP client gets when it tries everything.
fn over_mcp(sandbox: &Sandbox, way: &Way) -> String {
    let mut client = Client::talk(&mut policed(sandbox, &[way.args, &["mcp"]].concat()));
    let mut all = String::new();
    let mut ask = |method: &str, params: Value| {
        let answer = client.ask(method, &params).to_string();
        all.push_str(&answer);
        all.push('\n');
        answer
    };
    for (tool, arguments) in [
        ("load_skill", json!({"skill_id": way.id})),
        ("read_skill_file", json!({"skill_id": way.id, "path": "note.md"})),
        ("search_skills", json!({"query": "write the invoice"})),
        ("run_skill_script", json!({"skill_id": way.id, "script": "scripts/x.sh"})),
        ("evil-tool", json!({})),
    ] {
        ask("tools/call", json!({"name": tool, "arguments": arguments}));
    }
    for method in ["tools/list", "resources/list", "prompts/list", "skills/list"] {
        let listed = ask(method, json!({}));
        assert!(!listed.contains("Writes invoices"), "{}: {method}: {listed}", way.name);
    }
    let plain = way.id.rsplit(':').next().unwrap();
    for uri in [format!("skill://{plain}/SKILL.md"), format!("skill://{plain}/note.md")] {
        ask("resources/read", json!({"uri": uri}));
        ask("skills/get", json!({"uri": uri}));
    }
    ask("prompts/get", json!({"name": way.id}));
    client.end();
    all
}

#[test]
fn a_closed_skill_is_closed_on_every_surface() {
    for way in ways() {
        let sandbox = Sandbox::new();
        (way.bring)(&sandbox);
        // Without a policy it is there: the policy is what closes it.
        let open = sandbox.run(&[way.args, &["load", way.id]].concat());
        assert!(open.code == Some(0) && open.stdout.contains(way.mark), "{}: {open}", way.name);
        sandbox.write(POLICY, CLOSES);
        check_closed(&sandbox, &way, "Acme ([TMP]/etc/policy.toml)");
    }
}

const CLOSES: &str = "name = \"Acme\"\n[forbid]\nskills = [\"inv\", \"hello-*\"]\n";

/// A policy in a signed catalog closes what one on the machine closes: skills of every source, on every surface.
#[cfg(feature = "fleet")]
#[test]
fn a_policy_of_a_catalog_closes_on_every_surface() {
    for way in ways() {
        let sandbox = Sandbox::new();
        (way.bring)(&sandbox);
        sandbox.write(POLICY, "");
        sandbox.write("closing.toml", CLOSES);
        let key = sandbox.run(&["catalog", "keygen", "house.key", "--json"]).json()["key"].as_str().unwrap().to_owned();
        let url = format!("file://{}", sandbox.path("store/house").display());
        sandbox.write("house/style/SKILL.md", "---\nname: style\ndescription: House style.\n---\nBe brief.\n");
        let run = sandbox.run(&["publish", "../house", &url, "--key", "house.key", "--policy", "../closing.toml"]);
        assert!(run.stdout.contains("changed   the policy that it carries"), "{run}");
        let settings = std::fs::read_to_string(sandbox.path(SETTINGS)).unwrap_or_default();
        let section = format!("[[catalog]]\nname = \"house\"\nurl = \"{url}\"\nkeys = [\"{key}\"]\n");
        sandbox.write(SETTINGS, format!("{settings}\n{section}"));
        let pulled = sandbox.run(&["pull", "house"]);
        assert_eq!(pulled.code, Some(0), "{pulled}");
        // It is in force without the store, and without what is kept of its skills.
        std::fs::remove_dir_all(sandbox.path("store/house")).unwrap();
        std::fs::remove_dir_all(sandbox.path("home/.cache/skillcue/catalogs")).unwrap();
        check_closed(
            &sandbox,
            &way,
            &format!("Acme (the catalog house ({}))", url.replace(&*sandbox.path("").to_string_lossy(), "[TMP]/")),
        );
    }
}

/// Checks that a skill is closed by a policy of this name on every surface.
fn check_closed(sandbox: &Sandbox, way: &Way, policy: &str) {
    let list = run(sandbox, &[way.args, &["list", "--json"]].concat()).json();
    let listed = list
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"].as_str().unwrap().ends_with("inv") || it["name"] == way.id);
    let listed = listed.unwrap_or_else(|| panic!("{}: {list}", way.name));
    assert_eq!(
        (&listed["enabled"], &listed["refused"]["rule"]),
        (&json!(false), &json!("forbid.skills")),
        "{}",
        way.name
    );
    let list = run(sandbox, &[way.args, &["list"]].concat());
    assert!(list.stdout.contains("(closed by policy)"), "{}: {list}", way.name);
    let show = run(sandbox, &[way.args, &["show", way.id]].concat());
    assert!(show.stdout.contains("closed by policy") && show.stdout.contains("forbid.skills"), "{}: {show}", way.name);
    assert!(show.stdout.contains(policy), "{}: {show}", way.name);
    let status = run(sandbox, &[way.args, &["status"]].concat());
    assert!(status.stdout.contains("closed: ") && status.code == Some(0), "{}: {status}", way.name);

    for command in commands(way.id) {
        let args: Vec<&str> = way.args.iter().copied().chain(command.iter().map(String::as_str)).collect();
        let said = run(sandbox, &args);
        assert!(!said.stdout.contains(way.mark), "{}: {command:?}: {said}", way.name);
        // Remote skills have no consent to loads; what is allowed of them stays closed all the same.
        let is_usage = matches!(way.source, "mcp" | "catalog") && command[0] == "allow";
        if ["load", "read", "tools", "run", "enable", "allow"].contains(&command[0].as_str()) && !is_usage {
            assert!(
                said.code == Some(1) && said.stderr.contains("closed by the policy Acme"),
                "{}: {command:?}: {said}",
                way.name
            );
        }
    }
    let why = run(sandbox, &[way.args, &["why", "write the invoice", listed["name"].as_str().unwrap()]].concat());
    assert!(why.stdout.contains("the organisation's policy closes it"), "{}: {why}", way.name);
    let all = over_mcp(sandbox, way);
    assert!(!all.contains(way.mark) && all.contains("policy does not allow"), "{}: {all}", way.name);
}

/// A hook shows nothing of it, and ends well.
#[test]
fn hooks_do_not_show_closed_skills() {
    for way in &WAYS[..4] {
        let sandbox = Sandbox::new();
        (way.bring)(&sandbox);
        let hook = |is_policed: bool| {
            let input = json!({"session_id": "s", "cwd": sandbox.path("work"), "hook_event_name": "UserPromptSubmit",
                "prompt": "please write the invoice"});
            sandbox.write("tmp/input", input.to_string());
            let mut command =
                if is_policed { policed(&sandbox, &["hook", "claude"]) } else { sandbox.command(&["hook", "claude"]) };
            command.env("SKILLCUE_HOOK_DEADLINE_MS", "60000");
            sandbox.finish(command.stdin(std::fs::File::open(sandbox.path("tmp/input")).unwrap()).output().unwrap())
        };
        let open = hook(false);
        if !matches!(way.source, "project" | "plugin") {
            assert!(open.stdout.contains("inv"), "{}: {open}", way.name);
        }
        for policy in ["[forbid]\nskills = [\"inv\"]\n", "[sources]\nallow = []\n", "[forbid]\nskills = 1\n"] {
            sandbox.write(POLICY, policy);
            let closed = hook(true);
            assert!(
                closed.code == Some(0) && !closed.stdout.contains("EVIL") && !closed.stdout.contains("inv"),
                "{}: {closed}",
                way.name
            );
        }
    }
}

/// The agent neither shows nor runs it, whatever the user allows for this run.
#[cfg(feature = "agent")]
#[test]
fn the_agent_does_not_get_closed_skills() {
    use crate::agent::Talk;
    use skillcue_scripted::Reply;
    for way in ways().filter(|way| way.source != "mcp") {
        let id = way.id;
        let talk = Talk::new(move |received| {
            let (tool, arguments) = match received.tool_results().len() {
                0 => ("load_skill", json!({"skill_id": id})),
                1 => ("read_skill_file", json!({"skill_id": id, "path": "SKILL.md"})),
                2 => ("run_skill_script", json!({"skill_id": id, "script": "scripts/x.sh"})),
                _ => return Reply::text("Done."),
            };
            Reply::calls([(format!("a{}", received.number), tool, arguments)])
        });
        (way.bring)(&talk.sandbox);
        talk.sandbox.write(POLICY, "[forbid]\nskills = [\"inv\", \"hello-*\"]\n");
        for message in ["please write the invoice or say bonjour", &format!("${id} now")] {
            let args = [way.args, &["--allow", "all", "-p", message]].concat();
            let run = talk.finish(talk.command(&args).env("SKILLCUE_POLICY", talk.sandbox.path(POLICY)));
            assert_eq!(run.code, Some(0), "{}: {run}", way.name);
        }
        let sent: String = talk.server.requests().iter().map(|request| request.body.to_string()).collect();
        assert!(!sent.contains(way.mark) && sent.contains("policy does not allow"), "{}: {sent}", way.name);
    }
}

#[test]
fn every_rule_closes_and_only_what_it_says() {
    // The very content, as a lock pins it.
    let elsewhere = Sandbox::new();
    installed(&elsewhere);
    let digest = elsewhere.run(&["status", "--json"]).json()["installed"][0]["digest"].as_str().unwrap().to_owned();
    for way in ways() {
        let sandbox = Sandbox::new();
        (way.bring)(&sandbox);
        let refused = |policy: &str| {
            sandbox.write(POLICY, policy);
            let list = run(&sandbox, &[way.args, &["list", "--json"]].concat());
            let list = list.json();
            let named = |it: &&Value| it["name"] == way.id || it["name"].as_str().unwrap().ends_with("inv");
            let found = list.as_array().unwrap().iter().find(named).cloned();
            found.map(|it| it["refused"]["rule"].as_str().unwrap_or("open").to_owned())
        };
        let open = Some("open".to_owned());
        assert_eq!(refused(""), open, "{}", way.name);
        assert_eq!(refused(&format!("[sources]\nallow = [\"{}\"]\n", way.source)), open, "{}", way.name);
        assert_eq!(refused(&format!("[sources]\nallow = [\"{}:*\"]\n", way.source)), open, "{}", way.name);
        // The skills of a server or a catalog that is not allowed are not even asked for.
        let is_remote = matches!(way.source, "mcp" | "catalog");
        let closed = |rule: &str| if is_remote && rule != "audit.refuse" { None } else { Some(rule.to_owned()) };
        assert_eq!(refused("[sources]\nallow = []\n"), closed("sources.allow"), "{}", way.name);
        assert_eq!(
            refused(&format!("[sources]\nallow = [\"{}:/nowhere/*\"]\n", way.source)),
            closed("sources.allow"),
            "{}",
            way.name
        );
        assert_eq!(refused("[forbid]\norigins = [\"*/*\"]\n"), closed("forbid.origins"), "{}", way.name);
        let other = "0".repeat(64);
        assert_eq!(refused(&format!("[forbid]\ndigests = [\"{other}\"]\n")), open, "{}", way.name);
        let by_digest = if way.source == "bundled" { open.clone() } else { Some("forbid.digests".to_owned()) };
        assert_eq!(refused(&format!("[forbid]\ndigests = [\"{digest}\"]\n")), by_digest, "{}", way.name);
        let audit = if is_remote { Some("audit.refuse".to_owned()) } else { open.clone() };
        assert_eq!(refused("[audit]\nrefuse = \"high\"\n"), audit, "{}: what cannot be audited is closed", way.name);
        assert_eq!(refused("[audit]\nrefuse = \"high\"\nexempt = [\"mcp\", \"catalog\"]\n"), open, "{}", way.name);
    }
}
