//! Lines of a file's owner that look like ours: they are refused, or stay.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use skillcue_clients::Client;
use skillcue_clients::settings::{ClientFolders, ConnectionPart, Connector, Launch};

use crate::Home;

/// A server of the owner's, in JSON.
const OWN_JSON: &str =
    "{\n  \"mcpServers\": {\n    \"skillcue\": {\"url\": \"https://example.org\", \"x\": 1} // mine\n  }\n}\n";
/// A server of the owner's, in TOML.
const OWN_TOML: &str = "# mine\n[mcp_servers.skillcue]\ncommand = \"npx\" # mine\nargs = [\"other\"]\n";

#[test]
fn a_server_of_the_owner_with_our_name_is_refused() {
    for (client, path, text, member) in [
        (Client::Gemini, ".gemini/settings.json", OWN_JSON, "`mcpServers.skillcue`"),
        (Client::Claude, ".claude.json", OWN_JSON, "`mcpServers.skillcue`"),
        (Client::Codex, ".codex/config.toml", OWN_TOML, "`mcp_servers.skillcue`"),
    ] {
        let home = Home::new();
        home.write(path, text);
        let before = home.everything();
        let error = home.connect(client).unwrap_err().to_string();
        assert!(error.contains(path) && error.contains(member), "{client}: {error}");
        assert_eq!(home.everything(), before, "{client}");
    }
}

#[test]
fn a_hook_beside_a_server_of_the_owner_leaves_it_alone() {
    for (client, path, text) in [
        (Client::Gemini, ".gemini/settings.json", OWN_JSON.to_owned()),
        (Client::Codex, ".codex/config.toml", format!("[hooks]\n\n{OWN_TOML}")),
    ] {
        for is_changed in [false, true] {
            let home = Home::new();
            home.write(path, &text);
            home.connect_with("/opt/skillcue", client, &[ConnectionPart::Hook]).unwrap();
            assert_eq!(fs::read_to_string(home.store().backup(&home.path(path)).unwrap()).unwrap(), text, "{client}");
            if is_changed {
                home.write(path, home.read(path) + "\n");
            }
            home.disconnect(client);
            assert_eq!(home.read(path).trim_end(), text.trim_end(), "{client}");
        }
    }
}

#[test]
fn a_server_of_ours_that_was_there_before_is_restored() {
    let json = "{\n  \"mcpServers\": {\n    \"skillcue\": {\"command\": \"skillcue\", \"args\": [\"mcp\"], \"env\": {\"A\": \"1\"}}\n  }\n}\n";
    let toml = "[mcp_servers.skillcue]\ncommand = \"skillcue\"\nargs = [\"mcp\"]\nstartup = 3\n";
    for (client, path, text) in
        [(Client::Qwen, ".qwen/settings.json", json), (Client::Codex, ".codex/config.toml", toml)]
    {
        for is_changed in [false, true] {
            let home = Home::new();
            home.write(path, text);
            home.connect(client).unwrap();
            assert!(home.read(path).contains("/opt/skillcue"), "{client}");
            if is_changed {
                home.write(path, home.read(path) + "\n");
            }
            home.disconnect(client);
            assert_eq!(home.read(path).trim(), text.trim(), "{client}");
        }
    }
}

#[test]
fn a_server_of_a_view_is_ours() {
    let json = |arguments: &str| {
        format!("{{\"mcpServers\": {{\"skillcue\": {{\"command\": \"skillcue\", \"args\": [{arguments}]}}}}}}\n")
    };
    let (path, toml_path) = (".qwen/settings.json", ".codex/config.toml");
    for arguments in
        [r#""mcp", "--view", "sales""#, r#""--isolated", "mcp", "--view", "mcp""#, r#""mcp", "--view=sales""#]
    {
        let toml = format!("[mcp_servers.skillcue]\ncommand = \"skillcue\"\nargs = [{arguments}]\n");
        for (client, path, text) in [(Client::Qwen, path, json(arguments)), (Client::Codex, toml_path, toml)] {
            let home = Home::new();
            home.write(path, &text);
            home.connect(client).unwrap();
            assert!(home.read(path).contains("/opt/skillcue"), "{client}: {arguments}");
            home.disconnect(client);
            assert_eq!(home.read(path).trim(), text.trim(), "{client}: {arguments}");
        }
    }
    for arguments in [r#""mcp", "inspect""#, r#""list", "--view", "sales""#, r#""mcp", "--view""#] {
        let home = Home::new();
        home.write(path, json(arguments));
        assert!(home.connect(Client::Qwen).is_err(), "{arguments}");
    }
}

#[test]
fn a_hook_of_another_program_stays() {
    let home = Home::new();
    let other = json!({"type": "command", "command": "entire hook claude 2>/dev/null || true"});
    let text = json!({"hooks": {"UserPromptSubmit": [{"hooks": [other]}]}}).to_string();
    home.write(".claude/settings.json", &text);
    home.disconnect(Client::Claude);
    assert_eq!(home.read(".claude/settings.json"), text);
    home.connect(Client::Claude).unwrap();
    let now: Value = serde_json::from_str(&home.read(".claude/settings.json")).unwrap();
    assert_eq!(now["hooks"]["UserPromptSubmit"][0]["hooks"][0], other);
    home.write(".claude/settings.json", home.read(".claude/settings.json") + "\n");
    home.disconnect(Client::Claude);
    let left: Value = serde_json::from_str(&home.read(".claude/settings.json")).unwrap();
    assert_eq!(left, json!({"hooks": {"UserPromptSubmit": [{"hooks": [other]}]}}));
}

#[test]
fn a_recorded_program_is_known_whatever_its_name() {
    for client in Client::ALL {
        let home = Home::new();
        fs::create_dir_all(home.path("")).unwrap();
        let before = home.everything();
        let changes = home.connect_with("/it's/mine", client, &ConnectionPart::ALL).unwrap();
        for change in changes.iter().filter(|change| change.path().extension().is_some_and(|end| end == "json")) {
            fs::write(change.path(), format!("{}\n", change.after().unwrap())).unwrap();
        }
        home.disconnect(client);
        assert_eq!(home.everything(), before, "{client}");
    }
}

#[test]
fn a_rule_of_the_owner_is_no_connection_and_stays() {
    for is_changed in [false, true] {
        let home = Home::new();
        let text = "{\n  \"permissions\": {\n    \"allow\": [\"mcp__skillcue__load_skill\"]\n  }\n}\n";
        home.write(".claude/settings.json", text);
        for file in home.connector("/opt/skillcue", false).files(Client::Claude).unwrap() {
            assert_eq!(file.connected().unwrap(), [], "{}", file.path.display());
        }
        home.connect(Client::Claude).unwrap();
        // Our other rules stay with the server.
        home.disconnect_parts(Client::Claude, &[ConnectionPart::Hook]);
        assert!(home.read(".claude/settings.json").matches("mcp__skillcue__").count() > 1);
        if is_changed {
            home.write(".claude/settings.json", home.read(".claude/settings.json") + "\n");
        }
        home.disconnect(Client::Claude);
        assert_eq!(home.read(".claude/settings.json").trim_end(), text.trim_end());
    }
}

#[test]
fn a_project_does_not_lead_out_of_itself() {
    for (link, target) in [(".mcp.json", "elsewhere/x.json"), (".claude", "elsewhere"), (".claude", "nowhere")] {
        let home = Home::new();
        home.write("elsewhere/x.json", "{}\n");
        home.write("repo/a", "");
        symlink(home.path(target), home.path("repo").join(link)).unwrap();
        let before = home.everything();
        let connector = Connector::new(ClientFolders::of_project(&home.path("repo")), Launch::new("/opt/skillcue"));
        let files = connector.files(Client::Claude).unwrap();
        let errors: Vec<String> = files
            .iter()
            .filter_map(|file| file.connect(&ConnectionPart::ALL, &home.store()).err())
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors.len(), 1, "{link}: {errors:?}");
        assert!(target == "nowhere" || errors[0].contains("leads out of the project, to "), "{errors:?}");
        assert_eq!(home.everything(), before);
    }
    // A link within the project is its own affair.
    let home = Home::new();
    home.write("repo/shared/x.json", "{}\n");
    symlink("shared/x.json", home.path("repo/.mcp.json")).unwrap();
    let connector = Connector::new(ClientFolders::of_project(&home.path("repo")), Launch::new("/opt/skillcue"));
    for file in connector.files(Client::Claude).unwrap() {
        file.connect(&ConnectionPart::ALL, &home.store()).unwrap().apply(&home.store()).unwrap();
    }
    assert!(home.read("repo/shared/x.json").contains("/opt/skillcue"));
}

#[test]
fn a_change_that_is_taken_back_keeps_its_record() {
    let home = Home::new();
    home.write(".qwen/settings.json", "{ \"a\": 1 }\n");
    home.connect(Client::Qwen).unwrap();
    let connected = home.everything();
    let file = &home.connector("/opt/skillcue", true).files(Client::Qwen).unwrap()[0];
    for parts in [&ConnectionPart::ALL[..], &[ConnectionPart::Mcp]] {
        let change = file.disconnect(parts, &home.store()).unwrap();
        change.apply(&home.store()).unwrap();
        assert_ne!(home.everything(), connected);
        change.take_back(&home.store());
        assert_eq!(home.everything(), connected);
    }
    let change = file.disconnect(&ConnectionPart::ALL, &home.store()).unwrap();
    change.apply(&home.store()).unwrap();
    home.write(".qwen/settings.json", "{ \"b\": 2 }\n");
    change.take_back(&home.store());
    assert_eq!(home.read(".qwen/settings.json"), "{ \"b\": 2 }\n", "changed since");
}

#[test]
fn lines_in_a_file_that_is_used_no_more_are_found_and_go() {
    let both = ConnectionPart::ALL;
    let connected = |home: &Home, client| {
        let files = home.connector("/opt/skillcue", true).files(client).unwrap();
        files.iter().flat_map(|file| file.connected().unwrap()).collect::<Vec<_>>()
    };
    for is_connected_again in [false, true] {
        let home = Home::new();
        home.write(".config/opencode/opencode.jsonc", "{} // mine\n");
        home.connect(Client::Opencode).unwrap();
        home.write(".config/opencode/opencode.json", "{ }\n");
        assert_eq!(connected(&home, Client::Opencode), [(both[0], true), (both[1], false)]);
        if is_connected_again {
            home.connect(Client::Opencode).unwrap();
            assert_eq!(home.read(".config/opencode/opencode.jsonc"), "{} // mine\n");
            assert_eq!(connected(&home, Client::Opencode), [(both[0], true), (both[1], true)]);
        }
        home.disconnect(Client::Opencode);
        assert_eq!(home.read(".config/opencode/opencode.jsonc"), "{} // mine\n");
        assert_eq!(home.read(".config/opencode/opencode.json"), "{ }\n");

        let home = Home::new();
        home.write(".codex/config.toml", "[hooks]\n");
        home.connect(Client::Codex).unwrap();
        home.write(".codex/hooks.json", "{ }\n");
        assert_eq!(connected(&home, Client::Codex), [(both[0], false), (both[1], true)]);
        if is_connected_again {
            home.connect(Client::Codex).unwrap();
            assert!(!home.read(".codex/config.toml").contains("hook codex"));
            assert_eq!(connected(&home, Client::Codex), [(both[0], true), (both[1], true)]);
        }
        home.disconnect(Client::Codex);
        assert_eq!(home.read(".codex/config.toml"), "[hooks]\n");
        assert_eq!(home.read(".codex/hooks.json"), "{ }\n");
    }
}

#[test]
fn a_pipe_in_place_of_a_file_is_refused() {
    let home = Home::new();
    fs::create_dir_all(home.path(".codex")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(home.path(".codex/config.toml")).status();
    if !made.is_ok_and(|made| made.success()) {
        println!("skipped: there is no mkfifo");
        return;
    }
    let error = home.connect(Client::Codex).unwrap_err().to_string();
    assert!(error.contains("it is not a file"), "{error}");
}
