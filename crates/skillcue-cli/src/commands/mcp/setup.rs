//! `skillcue mcp --print-config`: what to paste into an MCP client's configuration.

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

/// A program that speaks MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
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

/// How a client reaches the server.
#[derive(Debug, Clone)]
pub(crate) enum Reach {
    /// It starts it.
    Program { program: String, args: Vec<String> },
    /// It runs already.
    /// With the variable that holds the token, if it wants one.
    Url { url: String, token: Option<String> },
}

/// What to paste, and where.
#[derive(Debug, Serialize)]
pub(crate) struct Snippet {
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

pub(crate) fn snippet(client: Client, reach: &Reach) -> Snippet {
    let is_program = matches!(reach, Reach::Program { .. });
    let (file, also) = match client {
        Client::Claude if !is_program => (".mcp.json in the project (Claude Code)", None),
        Client::Claude => (
            ".mcp.json in the project (Claude Code)",
            Some(
                "claude_desktop_config.json of Claude Desktop, or `claude mcp add-json skillcue '{…}'` with the inner object",
            ),
        ),
        Client::Codex => ("~/.codex/config.toml", None),
        Client::Cursor => ("~/.cursor/mcp.json", Some(".cursor/mcp.json in the project")),
        Client::Vscode => {
            (".vscode/mcp.json in the project", Some("the user's mcp.json: command `MCP: Open User Configuration`"))
        }
        Client::Gemini => ("~/.gemini/settings.json", Some(".gemini/settings.json in the project")),
        Client::Zed => ("~/.config/zed/settings.json", Some(".zed/settings.json in the project")),
    };
    if client == Client::Codex {
        return Snippet { file, also, format: "toml", text: toml(reach) };
    }
    let servers = match client {
        Client::Vscode => "servers",
        Client::Zed => "context_servers",
        _ => "mcpServers",
    };
    let server = match reach {
        Reach::Program { program, args } => {
            let mut server = json!({"command": program, "args": args});
            if client == Client::Vscode {
                server["type"] = json!("stdio");
            }
            server
        }
        Reach::Url { url, token } => {
            let key = if client == Client::Gemini { "httpUrl" } else { "url" };
            let mut server = json!({key: url});
            if matches!(client, Client::Claude | Client::Vscode) {
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
    Snippet { file, also, format: "json", text }
}

fn toml(reach: &Reach) -> String {
    // A JSON string is a basic string of TOML, too.
    let quoted = |text: &str| Value::from(text).to_string().replace('\u{7f}', "\\u007f");
    match reach {
        Reach::Program { program, args } => {
            let args: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
            format!("[mcp_servers.skillcue]\ncommand = {}\nargs = [{}]\n", quoted(program), args.join(", "))
        }
        Reach::Url { url, token } => {
            let token =
                token.as_ref().map(|name| format!("bearer_token_env_var = {}\n", quoted(name))).unwrap_or_default();
            format!("[mcp_servers.skillcue]\nurl = {}\n{token}", quoted(url))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(reach: &Reach) -> Vec<(Client, Snippet)> {
        Client::value_variants().iter().map(|client| (*client, snippet(*client, reach))).collect()
    }

    #[test]
    fn every_snippet_can_be_parsed_and_starts_the_same_program() {
        let program = "/opt/my tools/\"skillcue\"".to_owned();
        let reach =
            Reach::Program { program: program.clone(), args: vec!["--skills-dir".into(), "/a b".into(), "mcp".into()] };
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
        let reach = Reach::Url { url: "http://127.0.0.1:8808/mcp".to_owned(), token: Some("T".to_owned()) };
        for (client, snippet) in all(&reach) {
            assert!(snippet.text.contains("http://127.0.0.1:8808/mcp"));
            let expected = match client {
                Client::Claude | Client::Cursor => "\"mcpServers\"",
                Client::Vscode => "\"servers\"",
                Client::Zed => "\"context_servers\"",
                Client::Gemini => "\"httpUrl\"",
                Client::Codex => "bearer_token_env_var = \"T\"",
            };
            assert!(snippet.text.contains(expected), "{client:?}: {}", snippet.text);
        }
    }
}
