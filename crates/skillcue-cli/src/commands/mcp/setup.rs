//! `skillcue mcp --print-config`: the text to paste into an MCP client's configuration.

use serde::Serialize;
use skillcue_clients::Client;
use skillcue_clients::settings::{ServerReach, allow_rules, server_snippet};

/// A text to paste into a client's configuration, and the file.
#[derive(Debug, Serialize)]
pub(crate) struct ConfigSnippet {
    /// The file, as people write its path.
    pub(crate) file: &'static str,
    /// Other places for the same text.
    pub(crate) also: Option<&'static str>,
    /// `json` or `toml`.
    pub(crate) format: &'static str,
    pub(crate) text: String,
    /// Rules by which the client calls the tools without asking, if it has such rules.
    pub(crate) rules: Option<Vec<String>>,
}

/// Returns what connects a client. `words` are further arguments of the program that it starts.
pub(crate) fn snippet(client: Client, reach: &ServerReach, words: &[&str]) -> ConfigSnippet {
    let is_program = matches!(reach, ServerReach::Program(_));
    let (file, also) = match client {
        Client::Claude if !is_program => ("~/.claude.json (Claude Code)", Some(".mcp.json in the project")),
        Client::Claude => (
            "~/.claude.json (Claude Code)",
            Some(
                ".mcp.json in the project, claude_desktop_config.json of Claude Desktop, or `claude mcp add-json -s user \
                 skillcue '{…}'` with the inner object",
            ),
        ),
        Client::Codex => ("~/.codex/config.toml", Some(".codex/config.toml in the project")),
        Client::Gemini => ("~/.gemini/settings.json", Some(".gemini/settings.json in the project")),
        Client::Opencode => ("~/.config/opencode/opencode.json", Some("opencode.json in the project")),
        Client::Qwen => ("~/.qwen/settings.json", Some(".qwen/settings.json in the project")),
        Client::Copilot => ("~/.copilot/mcp-config.json", None),
        Client::Cursor => ("~/.cursor/mcp.json", Some(".cursor/mcp.json in the project")),
        Client::Vscode => {
            (".vscode/mcp.json in the project", Some("the user's mcp.json: command `MCP: Open User Configuration`"))
        }
        Client::Zed => ("~/.config/zed/settings.json", Some(".zed/settings.json in the project")),
    };
    let format = if client == Client::Codex { "toml" } else { "json" };
    ConfigSnippet {
        file,
        also,
        format,
        text: with_words(server_snippet(client, reach), format, words),
        rules: (client == Client::Claude).then(allow_rules),
    }
}

/// Adds arguments to the program that a configuration starts: after `mcp`, which is its last word.
fn with_words(text: String, format: &str, words: &[&str]) -> String {
    // Such a list reads the same in JSON and in TOML, but JSON has each word on a line of its own.
    let last = "\"mcp\"";
    let Some(at) = text.rfind(last).filter(|_| !words.is_empty()) else { return text };
    let (before, after) = text.split_at(at + last.len());
    let indent = before.rsplit('\n').next().unwrap_or_default();
    let indent = &indent[..indent.len() - indent.trim_start().len()];
    let separator = if format == "toml" { ", ".to_owned() } else { format!(",\n{indent}") };
    let words: Vec<String> = words.iter().map(|word| format!("{separator}{}", serde_json::json!(word))).collect();
    let words = words.concat();
    format!("{before}{words}{after}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use skillcue_clients::settings::Launch;

    use super::*;

    fn all(reach: &ServerReach) -> Vec<(Client, ConfigSnippet)> {
        Client::ALL.into_iter().map(|client| (client, snippet(client, reach, &[]))).collect()
    }

    #[test]
    fn every_snippet_can_be_parsed_and_starts_the_same_program() {
        let program = "/opt/my tools/\"skillcue\"";
        let launch = Launch::new(program).with_options(vec!["--skills-dir".into(), "/a b".into()]);
        for (client, snippet) in all(&ServerReach::Program(launch)) {
            let document: Value = match snippet.format {
                "toml" => toml::from_str(&snippet.text).unwrap(),
                _ => serde_json::from_str(&snippet.text).unwrap(),
            };
            let servers = document.as_object().unwrap().values().next().unwrap();
            let server = &servers["skillcue"];
            if client == Client::Opencode {
                assert_eq!(server["command"], json!([program, "--skills-dir", "/a b", "mcp"]));
                continue;
            }
            assert_eq!(server["command"], json!(program), "{client:?}");
            assert_eq!(server["args"], json!(["--skills-dir", "/a b", "mcp"]), "{client:?}");
        }
    }

    #[test]
    fn further_arguments_come_last() {
        // A directory may be called like the command.
        let launch = Launch::new("skillcue").with_options(vec!["--skills-dir".into(), "mcp".into()]);
        let reach = ServerReach::Program(launch);
        for client in Client::ALL {
            let snippet = snippet(client, &reach, &["--view", "sales"]);
            let document: Value = match snippet.format {
                "toml" => toml::from_str(&snippet.text).unwrap(),
                _ => serde_json::from_str(&snippet.text).unwrap(),
            };
            let server = &document.as_object().unwrap().values().next().unwrap()["skillcue"];
            let words = if client == Client::Opencode { &server["command"] } else { &server["args"] };
            let words = words.as_array().unwrap();
            assert_eq!(words[words.len() - 5..], ["--skills-dir", "mcp", "mcp", "--view", "sales"], "{client:?}");
            if snippet.format == "json" {
                assert_eq!(snippet.text, serde_json::to_string_pretty(&document).unwrap() + "\n");
            }
        }
    }

    #[test]
    fn each_client_calls_things_differently() {
        let reach = ServerReach::Url { url: "http://127.0.0.1:8808/mcp".to_owned(), token: Some("T".to_owned()) };
        for (client, snippet) in all(&reach) {
            assert!(snippet.text.contains("http://127.0.0.1:8808/mcp"));
            let expected = match client {
                Client::Claude => "\"alwaysLoad\": true",
                Client::Cursor | Client::Copilot => "\"mcpServers\"",
                Client::Vscode => "\"servers\"",
                Client::Zed => "\"context_servers\"",
                Client::Gemini => "\"httpUrl\"",
                Client::Qwen => "\"trust\": true",
                Client::Opencode => "\"remote\"",
                Client::Codex => "bearer_token_env_var = \"T\"",
            };
            assert!(snippet.text.contains(expected), "{client:?}: {}", snippet.text);
        }
    }
}
