//! `skillcue mcp --print-config`: the text to paste into an MCP client's configuration.

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

/// A program that speaks MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClient {
    /// Claude Code and Claude Desktop
    Claude,
    /// Codex
    Codex,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    Vscode,
    /// Gemini CLI
    Gemini,
    /// Zed
    Zed,
}

/// The way in which a client reaches the server.
#[derive(Debug, Clone)]
pub(crate) enum ClientConnection {
    /// The client starts it.
    Program { program: String, args: Vec<String> },
    /// It runs already. With the variable that holds the token, if it wants one.
    Url { url: String, token: Option<String> },
}

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
}

/// Stands where the token goes: a token is nothing to print.
const TOKEN: &str = "YOUR_TOKEN";

pub(crate) fn snippet(client: McpClient, reach: &ClientConnection) -> ConfigSnippet {
    let is_program = matches!(reach, ClientConnection::Program { .. });
    let (file, also) = match client {
        McpClient::Claude if !is_program => (".mcp.json in the project (Claude Code)", None),
        McpClient::Claude => (
            ".mcp.json in the project (Claude Code)",
            Some(
                "claude_desktop_config.json of Claude Desktop, or `claude mcp add-json skillcue '{…}'` with the inner object",
            ),
        ),
        McpClient::Codex => ("~/.codex/config.toml", None),
        McpClient::Cursor => ("~/.cursor/mcp.json", Some(".cursor/mcp.json in the project")),
        McpClient::Vscode => {
            (".vscode/mcp.json in the project", Some("the user's mcp.json: command `MCP: Open User Configuration`"))
        }
        McpClient::Gemini => ("~/.gemini/settings.json", Some(".gemini/settings.json in the project")),
        McpClient::Zed => ("~/.config/zed/settings.json", Some(".zed/settings.json in the project")),
    };
    if client == McpClient::Codex {
        return ConfigSnippet { file, also, format: "toml", text: toml(reach) };
    }
    let servers = match client {
        McpClient::Vscode => "servers",
        McpClient::Zed => "context_servers",
        _ => "mcpServers",
    };
    let server = match reach {
        ClientConnection::Program { program, args } => {
            let mut server = json!({"command": program, "args": args});
            if client == McpClient::Vscode {
                server["type"] = json!("stdio");
            }
            server
        }
        ClientConnection::Url { url, token } => {
            let key = if client == McpClient::Gemini { "httpUrl" } else { "url" };
            let mut server = json!({key: url});
            if matches!(client, McpClient::Claude | McpClient::Vscode) {
                server["type"] = json!("http");
            }
            if token.is_some() {
                server["headers"] = json!({"Authorization": format!("Bearer {TOKEN}")});
            }
            server
        }
    };
    let document: Value = json!({servers: {"skillcue": server}});
    // A value of text and lists serialises.
    let text = serde_json::to_string_pretty(&document).unwrap_or_default() + "\n";
    ConfigSnippet { file, also, format: "json", text }
}

fn toml(reach: &ClientConnection) -> String {
    // A JSON string is a basic string of TOML, too.
    let quoted = |text: &str| Value::from(text).to_string().replace('\u{7f}', "\\u007f");
    match reach {
        ClientConnection::Program { program, args } => {
            let args: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
            format!("[mcp_servers.skillcue]\ncommand = {}\nargs = [{}]\n", quoted(program), args.join(", "))
        }
        ClientConnection::Url { url, token } => {
            let token =
                token.as_ref().map(|name| format!("bearer_token_env_var = {}\n", quoted(name))).unwrap_or_default();
            format!("[mcp_servers.skillcue]\nurl = {}\n{token}", quoted(url))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(reach: &ClientConnection) -> Vec<(McpClient, ConfigSnippet)> {
        McpClient::value_variants().iter().map(|client| (*client, snippet(*client, reach))).collect()
    }

    #[test]
    fn every_snippet_can_be_parsed_and_starts_the_same_program() {
        let program = "/opt/my tools/\"skillcue\"".to_owned();
        let reach = ClientConnection::Program {
            program: program.clone(),
            args: vec!["--skills-dir".into(), "/a b".into(), "mcp".into()],
        };
        for (client, snippet) in all(&reach) {
            let document: Value = match snippet.format {
                "toml" => toml::from_str(&snippet.text).unwrap(),
                _ => serde_json::from_str(&snippet.text).unwrap(),
            };
            let servers = document.as_object().unwrap().values().next().unwrap();
            assert_eq!(servers["skillcue"]["command"], json!(program), "{client:?}");
            assert_eq!(servers["skillcue"]["args"], json!(["--skills-dir", "/a b", "mcp"]), "{client:?}");
        }
    }

    #[test]
    fn each_client_calls_things_differently() {
        let reach = ClientConnection::Url { url: "http://127.0.0.1:8808/mcp".to_owned(), token: Some("T".to_owned()) };
        for (client, snippet) in all(&reach) {
            assert!(snippet.text.contains("http://127.0.0.1:8808/mcp"));
            let expected = match client {
                McpClient::Claude | McpClient::Cursor => "\"mcpServers\"",
                McpClient::Vscode => "\"servers\"",
                McpClient::Zed => "\"context_servers\"",
                McpClient::Gemini => "\"httpUrl\"",
                McpClient::Codex => "bearer_token_env_var = \"T\"",
            };
            assert!(snippet.text.contains(expected), "{client:?}: {}", snippet.text);
        }
    }
}
