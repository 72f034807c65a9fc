//! The life of a connection: what is written, changed, moved, taken back.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};
use skillcue_clients::Client;
use skillcue_clients::settings::{ConnectionPart, SettingsChange};

use crate::Home;

fn json_of(home: &Home, path: &str) -> Value {
    serde_json::from_str(&home.read(path)).unwrap()
}

#[test]
fn every_client_is_connected_from_nothing_and_leaves_nothing() {
    for client in Client::ALL {
        let home = Home::new();
        fs::create_dir_all(home.path("")).unwrap();
        let before = home.everything();
        let changes = home.connect(client).unwrap();
        assert!(changes.iter().all(SettingsChange::is_change), "{client}");
        assert!(home.connect(client).unwrap().iter().all(|change| !change.is_change()), "{client}");
        home.disconnect(client);
        assert_eq!(home.everything(), before, "{client}");
    }
}

#[test]
fn entries_have_the_shape_of_each_client() {
    let home = Home::new();
    for client in Client::ALL {
        home.connect(client).unwrap();
    }
    let command = |client: &str| format!("/opt/skillcue hook {client} --mcp 2>/dev/null || true");
    let group = |client: &str, timeout: u64| json!([{"hooks": [{"type": "command", "command": command(client), "timeout": timeout}]}]);
    let claude = json_of(&home, ".claude/settings.json");
    assert_eq!(claude["hooks"]["UserPromptSubmit"], group("claude", 5));
    assert_eq!(claude["permissions"]["allow"][0], "mcp__skillcue__load_skill");
    let servers = json_of(&home, ".claude.json");
    let server = json!({"type": "stdio", "command": "/opt/skillcue", "args": ["mcp"], "alwaysLoad": true});
    assert_eq!(servers["mcpServers"]["skillcue"], server);
    assert_eq!(json_of(&home, ".codex/hooks.json")["hooks"]["UserPromptSubmit"], group("codex", 5));
    let codex = "[mcp_servers.skillcue]\ncommand = \"/opt/skillcue\"\nargs = [\"mcp\"]\n";
    assert_eq!(home.read(".codex/config.toml"), codex);
    let gemini = json_of(&home, ".gemini/settings.json");
    assert_eq!(gemini["hooks"]["BeforeAgent"], group("gemini", 5000));
    assert_eq!(gemini["mcpServers"]["skillcue"]["trust"], true);
    let qwen = json_of(&home, ".qwen/settings.json");
    assert_eq!(qwen["hooks"]["UserPromptSubmit"], group("qwen", 5));
    assert_eq!(qwen["mcpServers"]["skillcue"]["trust"], true);
    let opencode = json_of(&home, ".config/opencode/opencode.json");
    let server = json!({"type": "local", "command": ["/opt/skillcue", "mcp"], "enabled": true});
    assert_eq!(opencode["mcp"]["skillcue"], server);
    let plugin = home.read(".config/opencode/plugin/skillcue.js");
    assert!(plugin.contains("const WORDS = [\"/opt/skillcue\",\"hook\",\"opencode\",\"--mcp\"];\n"), "{plugin}");
    let copilot = json_of(&home, ".copilot/hooks/skillcue.json");
    let hook = json!({"type": "command", "bash": command("copilot"), "timeoutSec": 5});
    let hooks =
        json!({"userPromptSubmitted": [hook], "sessionStart": [hook], "postToolUse": [hook], "preCompact": [hook]});
    assert_eq!(copilot, json!({"version": 1, "hooks": hooks}));
    assert_eq!(json_of(&home, ".copilot/mcp-config.json")["mcpServers"]["skillcue"]["tools"], json!(["*"]));
    assert_eq!(json_of(&home, ".config/zed/settings.json")["context_servers"]["skillcue"]["args"], json!(["mcp"]));
}

#[test]
fn a_moved_program_is_updated_in_place() {
    for client in Client::ALL {
        let home = Home::new();
        fs::create_dir_all(home.path("")).unwrap();
        let before = home.everything();
        home.connect(client).unwrap();
        let changes = home.connect_with("/new place/skillcue", client, &ConnectionPart::ALL).unwrap();
        for change in changes.iter().filter(|change| change.is_change()) {
            let text = fs::read_to_string(change.path()).unwrap();
            assert!(!text.contains("/opt/skillcue") && text.contains("/new place/skillcue"), "{client}: {text}");
        }
        home.disconnect(client);
        assert_eq!(home.everything(), before, "{client}");
    }
}

#[test]
fn parts_come_and_go_one_by_one() {
    use ConnectionPart::{Hook, Mcp};
    for client in [Client::Claude, Client::Codex, Client::Gemini, Client::Opencode, Client::Qwen, Client::Copilot] {
        let home = Home::new();
        home.write(".gemini/settings.json", "{\n  \"theme\": \"dark\", // mine\n}\n");
        home.write(".codex/config.toml", "model = \"x\"\n");
        home.write(".copilot/x", "");
        let before = home.everything();
        home.connect_with("/opt/skillcue", client, &[Hook]).unwrap();
        home.connect(client).unwrap();
        home.disconnect_parts(client, &[Mcp]);
        let files = home.connector("/opt/skillcue", false).files(client).unwrap();
        let parts: Vec<_> = files.iter().flat_map(|file| file.connected().unwrap()).collect();
        assert_eq!(parts, [(Hook, true)], "{client}");
        home.disconnect_parts(client, &[Hook]);
        assert_eq!(home.everything(), before, "{client}");
    }
}

#[test]
fn lines_that_others_wrote_since_stay() {
    let home = Home::new();
    home.write(".gemini/settings.json", "{\n  \"a\": 1\n}\n");
    home.connect(Client::Gemini).unwrap();
    // The client itself sets its theme, and a person adds a server behind ours and a hook into our groups.
    let text = home.read(".gemini/settings.json");
    let text = text.replacen("{\n", "{\n  \"theme\": \"dark\",\n", 1);
    let text = text.replace("\n    }\n  }\n}\n", "\n    },\n    \"other\": {}\n  }\n}\n");
    let text = text
        .replace("\"type\": \"command\"\n          }", "\"type\": \"command\"\n          }, {\"command\": \"./x\"}");
    home.write(".gemini/settings.json", text);
    home.disconnect(Client::Gemini);
    let left = json_of(&home, ".gemini/settings.json");
    let others = json!([{"hooks": [{"command": "./x"}]}]);
    let hooks = json!({"BeforeAgent": others, "SessionStart": others, "AfterTool": others});
    assert_eq!(left, json!({"a": 1, "theme": "dark", "hooks": hooks, "mcpServers": {"other": {}}}));
}

#[test]
fn lines_that_others_wrote_between_two_parts_stay() {
    let home = Home::new();
    home.write(".qwen/settings.json", "{\n  \"a\": 1\n}\n");
    home.connect(Client::Qwen).unwrap();
    home.write(".qwen/settings.json", home.read(".qwen/settings.json").replacen("{\n", "{\n  \"b\": 2,\n", 1));
    home.disconnect_parts(Client::Qwen, &[ConnectionPart::Mcp]);
    home.disconnect_parts(Client::Qwen, &[ConnectionPart::Hook]);
    assert_eq!(home.read(".qwen/settings.json"), "{\n  \"b\": 2,\n  \"a\": 1\n}\n");
}

#[test]
fn a_file_that_a_client_rewrote_is_cleaned_without_a_record() {
    let home = Home::new();
    home.connect(Client::Qwen).unwrap();
    fs::remove_dir_all(home.path("../data")).unwrap();
    let compact = json_of(&home, ".qwen/settings.json").to_string();
    home.write(".qwen/settings.json", compact);
    home.disconnect(Client::Qwen);
    assert!(!home.read(".qwen/settings.json").contains("skillcue"));
}

#[test]
fn links_modes_and_directories_stay() {
    let home = Home::new();
    home.write("dotfiles/claude.json", "{}\n");
    fs::set_permissions(home.path("dotfiles/claude.json"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(home.path(".claude")).unwrap();
    symlink("../dotfiles/claude.json", home.path(".claude/settings.json")).unwrap();
    home.connect(Client::Claude).unwrap();
    let link = home.path(".claude/settings.json");
    assert!(link.is_symlink() && home.read("dotfiles/claude.json").contains("hook claude"));
    assert_eq!(fs::metadata(&link).unwrap().permissions().mode() & 0o777, 0o640);
    home.disconnect(Client::Claude);
    assert!(link.is_symlink());
    assert_eq!(home.read("dotfiles/claude.json"), "{}\n");
}

#[test]
fn a_dangling_link_and_a_read_only_file_are_refused() {
    let home = Home::new();
    fs::create_dir_all(home.path(".cursor")).unwrap();
    symlink("nowhere.json", home.path(".cursor/mcp.json")).unwrap();
    home.connect(Client::Cursor).unwrap_err();
    home.write(".qwen/settings.json", "{}");
    fs::set_permissions(home.path(".qwen/settings.json"), fs::Permissions::from_mode(0o444)).unwrap();
    let before = home.everything();
    let error = home.connect(Client::Qwen).unwrap_err().to_string();
    assert!(error.contains("read-only"), "{error}");
    assert_eq!(home.everything(), before);
}

#[test]
fn a_file_that_changes_while_a_person_is_asked_is_not_written() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{}");
    let files = home.connector("/opt/skillcue", true).files(Client::Cursor).unwrap();
    let change = files[0].connect(&ConnectionPart::ALL, &home.store()).unwrap();
    home.write(".cursor/mcp.json", "{\"x\": 1}");
    assert!(change.apply(&home.store()).unwrap_err().to_string().contains("changed meanwhile"));
    assert_eq!(home.read(".cursor/mcp.json"), "{\"x\": 1}");
}

#[test]
fn a_backup_is_kept_until_it_is_needed_no_more() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{ }");
    home.connect(Client::Cursor).unwrap();
    let backup = home.store().backup(&home.path(".cursor/mcp.json")).unwrap();
    assert_eq!(fs::read_to_string(&backup).unwrap(), "{ }");
    home.disconnect(Client::Cursor);
    assert!(!backup.exists());
}

#[test]
fn a_projects_files_are_its_own() {
    use skillcue_clients::settings::{ClientFolders, Connector, Launch};
    let home = Home::new();
    let connector = Connector::new(ClientFolders::of_project(&home.path("repo")), Launch::new("/opt/skillcue"));
    for client in Client::ALL {
        for file in connector.files(client).unwrap() {
            assert!(file.path.starts_with(home.path("repo")), "{client}: {}", file.path.display());
        }
    }
}

/// The plugin, run by Node as opencode would.
#[test]
fn opencodes_plugin_adds_a_part_and_never_fails() {
    let home = Home::new();
    home.write("answer", "#!/bin/sh\ncat > \"$0.in\"\necho '{\"additionalContext\":\"use tea\"}'\n");
    home.write("broken", "#!/bin/sh\necho nonsense\nexit 2\n");
    let script = r#"
        import { Skillcue } from "./plugin.mjs";
        const hooks = await Skillcue({ directory: "/x" });
        const part = { id: "prt_1", sessionID: "s", messageID: "m", type: "text", text: "hi" };
        const output = { message: { id: "m" }, parts: [part] };
        await hooks["chat.message"]({ sessionID: "s" }, output);
        console.log(JSON.stringify(output.parts.slice(1)));
    "#;
    home.write("run.mjs", script);
    let added = json!([{"id": "prt_1s", "sessionID": "s", "messageID": "m", "type": "text", "synthetic": true,
        "text": "use tea"}]);
    for (program, expected) in [("answer", added), ("broken", json!([])), ("missing", json!([]))] {
        let path = home.path(program);
        if path.exists() {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        home.connect_with(path.to_str().unwrap(), Client::Opencode, &[ConnectionPart::Hook]).unwrap();
        home.write("plugin.mjs", home.read(".config/opencode/plugin/skillcue.js"));
        let run = std::process::Command::new("node").arg(home.path("run.mjs")).output();
        let Ok(run) = run else {
            println!("skipped: there is no node");
            return;
        };
        let parts: Value = serde_json::from_slice(&run.stdout).unwrap();
        assert_eq!(parts, expected, "{program}: {}", String::from_utf8_lossy(&run.stderr));
    }
    let sent: Value = serde_json::from_str(&home.read("answer.in")).unwrap();
    assert_eq!(sent, json!({"hook_event_name": "chat.message", "session_id": "s", "cwd": "/x", "prompt": "hi"}));
}
