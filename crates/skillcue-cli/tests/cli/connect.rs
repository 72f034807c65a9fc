//! `skillcue connect`, `disconnect`, `link` and `unlink`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::{Run, Sandbox};

/// A program that answers as `hook` and as an MCP server do.
const PROGRAM: &str = r#"#!/bin/sh
case "$*" in
  *" hook "*|"hook "*) cat >/dev/null; echo '{"hookSpecificOutput":{"additionalContext":"twelve chars"}}' ;;
  *) while read -r line; do case "$line" in
       *tools/list*) echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"load_skill"}]}}' ;;
     esac; done ;;
esac
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    program(&sandbox, "opt/skillcue", PROGRAM);
    sandbox.skill("home/.agents/skills/tea", "Brews tea. Use when the user wants tea.");
    sandbox
}

fn program(sandbox: &Sandbox, path: &str, text: &str) {
    sandbox.write(path, text);
    fs::set_permissions(sandbox.path(path), fs::Permissions::from_mode(0o755)).unwrap();
}

fn connect(sandbox: &Sandbox, args: &[&str]) -> Run {
    sandbox.act(&[&["connect", "--program", "../opt/skillcue"], args].concat())
}

fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.path(path)).unwrap()
}

/// The hook is tried with a message that no person wrote: in the ledger it would be a skill that was shown for nothing.
#[test]
fn the_trial_of_a_connection_is_not_recorded_as_use() {
    let sandbox = sandbox();
    let run = sandbox.act(&["connect", "claude", "--yes"]);
    assert!(run.code == Some(0) && run.stderr.contains("a message that names tea got "), "{run}");
    let recorded = || {
        let names = ["usage.db", "usage.db-spool"];
        names.iter().any(|name| sandbox.path(&format!("home/.local/share/skillcue/{name}")).exists())
    };
    assert!(!recorded(), "{run}");
    let input = json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "$tea please"});
    let run = sandbox.run_with(input.to_string().as_bytes(), &["hook", "claude"]);
    assert!(run.stdout.contains("tea") && recorded(), "{run}");
}

#[test]
fn a_client_is_connected_proved_and_disconnected() {
    let sandbox = sandbox();
    let text = "{\n  // mine\n  \"model\": \"opus\",\n}\n";
    sandbox.write("home/.claude/settings.json", text);
    let run = connect(&sandbox, &["claude", "--yes"]);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("+  \"hooks\": {\n"), "{run}");
    assert!(run.stderr.contains("Claude Code is connected\n  ✓ hook: answered in "), "{run}");
    assert!(run.stderr.contains(" ms; a message that names tea got 12 characters\n"), "{run}");
    assert!(run.stderr.contains(" ms; its tools are load_skill\n"), "{run}");
    assert!(run.stderr.contains("  before: ~/.local/share/skillcue/connections/"), "{run}");
    let status = sandbox.act(&["connect", "--status", "--json"]).json();
    // This program is another one.
    assert_eq!((&status[0]["client"], &status[0]["hook"]), (&json!("claude"), &json!("outdated")));
    let run = sandbox.act(&["disconnect", "claude", "--yes"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), "Claude Code is disconnected\n"), "{run}");
    assert_eq!(read(&sandbox, "home/.claude/settings.json"), text);
    assert!(!sandbox.path("home/.claude.json").exists());
    assert!(!sandbox.path("home/.local/share/skillcue/connections").exists());
    let again = sandbox.act(&["disconnect", "claude", "--yes"]);
    assert_eq!(again.stderr, "Claude Code was not connected\n");
}

#[test]
fn nothing_is_written_without_a_yes() {
    let sandbox = sandbox();
    let run = connect(&sandbox, &["gemini"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("nothing was written: stdin is no terminal"), "{run}");
    let run = connect(&sandbox, &["gemini", "--dry-run"]);
    assert!(run.stdout.starts_with("~/.gemini/settings.json  (new)\n") && run.code == Some(0), "{run}");
    assert_eq!(run.stderr, "Gemini CLI would be connected; nothing was written\n");
    assert!(!sandbox.path("home/.gemini").exists());
}

#[test]
fn all_or_none_is_written() {
    let sandbox = sandbox();
    sandbox.write("home/.codex/config.toml", "model = [\n");
    let run = connect(&sandbox, &["gemini", "codex", "--yes"]);
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.stderr.contains("error[settings_syntax]: ") && run.stderr.contains("config.toml:1:10: "), "{run}");
    assert!(!sandbox.path("home/.gemini").exists());
}

#[test]
fn a_hook_that_does_not_work_is_reported() {
    let sandbox = sandbox();
    program(&sandbox, "opt/skillcue", "#!/bin/sh\necho 'no such command' >&2\nexit 2\n");
    let run = connect(&sandbox, &["qwen", "--hook", "--yes"]);
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.stderr.contains("✗ hook: the program ended with exit code 2: no such command"), "{run}");
}

/// A program that is older than hooks, or gone, exits with 2 or 127: written as it is, the command exits with 0 and says nothing.
#[test]
fn an_old_or_missing_program_blocks_no_prompt() {
    fn commands(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::String(text) if text.contains(" hook ") => out.push(text.clone()),
            Value::Array(values) => values.iter().for_each(|value| commands(value, out)),
            Value::Object(values) => values.values().for_each(|value| commands(value, out)),
            _ => {}
        }
    }
    for (client, file) in [
        ("claude", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json"),
        ("qwen", ".qwen/settings.json"),
        ("copilot", ".copilot/hooks/skillcue.json"),
    ] {
        let sandbox = Sandbox::new();
        let old = sandbox.path("opt/skillcue");
        let usage = "#!/bin/sh\necho 'error: unrecognized subcommand hook' >&2\nexit 2\n";
        for text in [Some(usage), None] {
            if let Some(text) = text {
                program(&sandbox, "opt/skillcue", text);
            } else {
                fs::remove_file(&old).unwrap();
            }
            // Its proof fails, and says so; the files are written.
            sandbox.run(&["connect", client, "--hook", "--yes", "--program", old.to_str().unwrap()]);
            let settings: Value = serde_json::from_str(&read(&sandbox, &format!("home/{file}"))).unwrap();
            let mut found = Vec::new();
            commands(&settings, &mut found);
            assert!(found.len() >= 3, "{client}: {settings}");
            for command in found {
                let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
                assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{client}: {command}");
            }
        }
    }
}

#[test]
fn options_are_written_into_the_files() {
    let sandbox = sandbox();
    let args = ["--skills-dir", "skills", "--isolated", "connect", "cursor", "opencode", "--yes", "--program", "x y/z"];
    sandbox.act(&args);
    let cursor: Value = serde_json::from_str(&read(&sandbox, "home/.cursor/mcp.json")).unwrap();
    let server = &cursor["mcpServers"]["skillcue"];
    let skills = sandbox.path("work/skills").canonicalize().unwrap_or_else(|_| sandbox.path("work/skills"));
    assert_eq!(server["args"], json!(["--skills-dir", skills.to_str().unwrap(), "--isolated", "mcp"]));
    assert!(server["command"].as_str().unwrap().ends_with("/work/x y/z"));
    assert!(
        read(&sandbox, "home/.config/opencode/plugin/skillcue.js")
            .contains("\"--isolated\",\"hook\",\"opencode\",\"--mcp\"")
    );
}

#[test]
fn variables_of_clients_are_respected() {
    let sandbox = sandbox();
    for (client, variable, file) in [
        ("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("qwen", "QWEN_HOME", "settings.json"),
        ("copilot", "COPILOT_HOME", "mcp-config.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
    ] {
        let dir = sandbox.path("elsewhere").join(client);
        let mut command = sandbox.command(&["connect", client, "--mcp", "--yes", "--program", "../opt/skillcue"]);
        let run = sandbox.finish(command.env(variable, &dir).env("PATH", "/usr/bin:/bin").output().unwrap());
        assert_eq!(run.code, Some(0), "{run}");
        assert!(dir.join(file).is_file(), "{client}: {run}");
    }
}

#[test]
fn a_project_has_its_own_files() {
    let sandbox = sandbox();
    let run = connect(&sandbox, &["claude", "--project", "--yes"]);
    assert!(run.stderr.contains("next: Claude Code asks once"), "{run}");
    assert!(sandbox.path("work/.claude/settings.local.json").is_file() && sandbox.path("work/.mcp.json").is_file());
    let run = connect(&sandbox, &["copilot", "--mcp", "--project", "--yes"]);
    assert!(
        run.stderr.contains("error[settings_unsupported]: Copilot CLI reads no MCP servers from a project"),
        "{run}"
    );
    let run = connect(&sandbox, &["zed", "--hook", "--yes"]);
    assert!(run.stderr.contains("Zed has no hook that can add something to a prompt"), "{run}");
}

#[test]
fn a_server_of_your_own_is_never_touched() {
    let sandbox = sandbox();
    let own = "{ \"mcpServers\": { \"skillcue\": { \"url\": \"https://example.org\" } } }\n";
    sandbox.write("home/.gemini/settings.json", own);
    let run = connect(&sandbox, &["gemini", "--yes"]);
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.stderr.contains("error[settings_foreign]: "), "{run}");
    assert!(run.stderr.contains(".gemini/settings.json: `mcpServers.skillcue` is a server of your own"), "{run}");
    assert_eq!(read(&sandbox, "home/.gemini/settings.json"), own);
    let run = connect(&sandbox, &["gemini", "--hook", "--yes"]);
    assert_eq!(run.code, Some(0), "{run}");
    let now: Value = serde_json::from_str(&read(&sandbox, "home/.gemini/settings.json")).unwrap();
    assert_eq!(now["mcpServers"]["skillcue"]["url"], "https://example.org");
    let backup = run.stderr.lines().find_map(|line| line.strip_prefix("  before: ~/")).unwrap();
    assert_eq!(read(&sandbox, &format!("home/{backup}")), own);
    sandbox.act(&["disconnect", "gemini", "--yes"]);
    assert_eq!(read(&sandbox, "home/.gemini/settings.json"), own);
}

#[test]
fn a_hook_alone_leaves_the_server_as_it_is() {
    let sandbox = sandbox();
    let rule = "{ \"permissions\": { \"allow\": [\"mcp__skillcue__load_skill\"] } }\n";
    sandbox.write("home/.claude/settings.json", rule);
    let run = connect(&sandbox, &["claude", "--hook", "--yes"]);
    assert!(run.code == Some(0) && !sandbox.path("home/.claude.json").exists(), "{run}");
    assert!(read(&sandbox, "home/.claude/settings.json").contains("skillcue hook claude 2>"), "{run}");
    sandbox.act(&["disconnect", "claude", "--yes"]);
    assert_eq!(read(&sandbox, "home/.claude/settings.json"), rule);
    // A server of ours is named by the hook, and not written anew.
    connect(&sandbox, &["claude", "--mcp", "--yes"]);
    let servers = read(&sandbox, "home/.claude.json");
    sandbox.act(&["connect", "claude", "--hook", "--yes"]);
    assert_eq!(read(&sandbox, "home/.claude.json"), servers);
    assert!(read(&sandbox, "home/.claude/settings.json").contains("skillcue hook claude --mcp 2>"));
}

#[test]
fn a_project_that_leads_elsewhere_is_refused() {
    let sandbox = sandbox();
    sandbox.write("elsewhere/x.json", "{}\n");
    std::os::unix::fs::symlink(sandbox.path("elsewhere/x.json"), sandbox.path("work/.mcp.json")).unwrap();
    let run = connect(&sandbox, &["claude", "--project", "--yes"]);
    assert!(run.code == Some(1) && run.stderr.contains("error[settings_outside]: "), "{run}");
    assert!(run.stderr.contains("work/.mcp.json leads out of the project, to "), "{run}");
    assert_eq!(read(&sandbox, "elsewhere/x.json"), "{}\n");
    assert!(!sandbox.path("work/.claude").exists());
}

#[test]
fn a_disconnect_that_fails_keeps_the_records() {
    let sandbox = sandbox();
    let text = "{ \"model\": \"opus\" }\n";
    sandbox.write("home/.claude/settings.json", text);
    sandbox.write("home/.claude.json", "{ }\n");
    connect(&sandbox, &["claude", "--yes"]);
    let connected = read(&sandbox, "home/.claude/settings.json");
    let servers = sandbox.path("home/.claude.json");
    fs::set_permissions(&servers, fs::Permissions::from_mode(0o444)).unwrap();
    let run = sandbox.act(&["disconnect", "claude", "--yes"]);
    assert!(run.code == Some(1) && run.stderr.contains("nothing was changed"), "{run}");
    assert_eq!(read(&sandbox, "home/.claude/settings.json"), connected);
    fs::set_permissions(&servers, fs::Permissions::from_mode(0o644)).unwrap();
    sandbox.act(&["disconnect", "claude", "--yes"]);
    assert_eq!(read(&sandbox, "home/.claude/settings.json"), text);
    assert_eq!(read(&sandbox, "home/.claude.json"), "{ }\n");
    assert!(!sandbox.path("home/.local/share/skillcue/connections").exists());
}

#[test]
fn a_program_of_any_name_is_found_again() {
    let sandbox = sandbox();
    program(&sandbox, "opt/cue", PROGRAM);
    let run = sandbox.act(&["connect", "qwen", "--program", "../opt/cue", "--yes"]);
    assert_eq!(run.code, Some(0), "{run}");
    let status = sandbox.act(&["connect", "--status", "--json"]).json();
    let qwen = status.as_array().unwrap().iter().find(|state| state["client"] == "qwen").unwrap();
    assert_eq!((&qwen["hook"], &qwen["mcp"]), (&json!("outdated"), &json!("outdated")));
    let run = sandbox.act(&["disconnect", "qwen", "--yes"]);
    assert!(run.code == Some(0) && !sandbox.path("home/.qwen").exists(), "{run}");
}

#[test]
fn a_pipe_in_place_of_settings_hangs_nothing() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.path("home/.codex")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(sandbox.path("home/.codex/config.toml")).status();
    if !made.is_ok_and(|made| made.success()) {
        println!("skipped: there is no mkfifo");
        return;
    }
    let status = sandbox.act(&["connect", "--status"]);
    assert!(status.stdout.contains(".codex/config.toml: it is not a file"), "{status}");
    assert!(sandbox.act(&["doctor"]).stdout.contains("it is not a file"));
}

#[test]
fn doctor_says_which_agents_are_connected() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.path("home/.codex")).unwrap();
    let page = sandbox.act(&["doctor"]).stdout;
    assert!(page.contains("Agents on this machine\n  Codex  hook not connected, MCP not connected\n"), "{page}");
    assert!(
        page.contains(
            "    skillcue connect codex would change ~/.codex/hooks.json (+48 lines), ~/.codex/config.toml (+3 lines)\n"
        ),
        "{page}"
    );
    let json = sandbox.act(&["doctor", "--json"]).json();
    let [codex] = json["connections"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!(
        (&codex["client"], &codex["hook"], &codex["changes"][0]["change"]),
        (&"codex".into(), &"off".into(), &"made".into())
    );
    assert!(codex["changes"][1]["diff"].as_str().unwrap().contains("+[mcp_servers.skillcue]"), "{codex}");
    sandbox.act(&["connect", "codex", "--yes"]);
    let page = sandbox.act(&["doctor"]).stdout;
    assert!(page.contains("  Codex  hook connected, MCP connected\n"), "{page}");
    assert!(!page.contains("would change"), "{page}");
}

#[test]
fn an_installed_skill_is_linked_listed_once_and_removed() {
    let sandbox = Sandbox::new();
    sandbox.skill("repo/pdf", "Reads PDF files. Use when the user has a PDF.");
    let run = sandbox.act(&["install", "../repo/pdf", "--enable", "--link", "claude,qwen"]);
    assert!(run.stdout.contains("pdf  linked  ~/.claude/skills/pdf\npdf  linked  ~/.qwen/skills/pdf\n"), "{run}");
    let list = sandbox.act(&["list", "--json"]).json();
    let named = list.as_array().unwrap().iter().filter(|skill| skill["name"] == "pdf").count();
    assert_eq!(named, 1, "{list}");
    let run = sandbox.act(&["unlink", "pdf", "--client", "qwen"]);
    assert_eq!(run.stdout, "pdf  unlinked  ~/.qwen/skills/pdf\n");
    let run = sandbox.act(&["link", "pdf", "--client", "zed"]);
    assert!(run.stderr.contains("error[not_linkable]: Zed has no folder of skills"), "{run}");
    sandbox.act(&["remove", "pdf"]);
    assert!(sandbox.path("home/.claude/skills/pdf").symlink_metadata().is_err());
    sandbox.act(&["remove", "--undo"]);
    assert!(sandbox.path("home/.claude/skills/pdf/SKILL.md").is_file());
}

/// The folders of an agent are as they were, whatever comes first: links, or the connection.
#[test]
fn links_and_a_connection_leave_nothing_behind() {
    let home = |sandbox: &Sandbox| {
        let mut found = Vec::new();
        let mut dirs = vec![sandbox.path("home")];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
                // What is installed, and caches, are no folders of an agent.
                if !entry.ends_with(".local/share/skillcue") && !entry.ends_with(".cache") {
                    let content = if entry.is_symlink() { Vec::new() } else { fs::read(&entry).unwrap_or_default() };
                    found.push((entry.clone(), content));
                    if entry.is_dir() && !entry.is_symlink() {
                        dirs.push(entry);
                    }
                }
            }
        }
        found.sort();
        found
    };
    for client in ["claude", "codex", "gemini", "opencode", "qwen", "copilot"] {
        let sandbox = Sandbox::new();
        sandbox.skill("repo/pdf", "Reads PDF files. Use when the user has a PDF.");
        sandbox.act(&["list"]);
        let before = home(&sandbox);
        // The links first: a connection comes and goes, and they stay.
        sandbox.act(&["install", "../repo/pdf", "--enable", "--link", client]);
        let linked = home(&sandbox);
        sandbox.act(&["connect", client, "--yes"]);
        let run = sandbox.act(&["disconnect", client, "--yes"]);
        assert_eq!(home(&sandbox), linked, "{client}");
        assert!(run.stderr.contains(&format!("skillcue unlink --client {client} removes the links")), "{run}");
        sandbox.act(&["unlink", "--client", client]);
        assert_eq!(home(&sandbox), before, "{client}");
        // The connection first.
        sandbox.act(&["connect", client, "--yes"]);
        sandbox.act(&["link", "pdf", "--client", client]);
        sandbox.act(&["disconnect", client, "--yes"]);
        assert_ne!(home(&sandbox), before, "{client}");
        sandbox.act(&["remove", "pdf"]);
        assert_eq!(home(&sandbox), before, "{client}");
    }
}
