//! The entry of an MCP server, as each client writes it.

use serde_json::{Value, json};

use super::Launch;
use super::launch::is_own_program;
use super::toml::quoted;
use crate::Client;

/// The name of our server in every client.
pub(super) const SERVER: &str = "skillcue";

/// The way in which a client reaches the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerReach {
    /// The client starts it.
    Program(Launch),
    /// It runs already.
    Url {
        /// Its address.
        url: String,
        /// The variable that holds the token, if it wants one.
        token: Option<String>,
    },
}

/// Returns the rules by which Claude Code calls our tools without asking: those that only read skills.
///
/// ```
/// assert!(skillcue_clients::settings::allow_rules().contains(&"mcp__skillcue__load_skill".to_owned()));
/// ```
pub fn allow_rules() -> Vec<String> {
    skillcue::tools::built_in_names().map(|tool| format!("mcp__{SERVER}__{tool}")).collect()
}

/// Stands where the token goes: a token is nothing to print.
const TOKEN: &str = "YOUR_TOKEN";

/// Returns the key of a client's table of servers.
pub(super) fn servers_key(client: Client) -> &'static str {
    match client {
        Client::Codex => "mcp_servers",
        Client::Opencode => "mcp",
        Client::Vscode => "servers",
        Client::Zed => "context_servers",
        Client::Claude | Client::Gemini | Client::Qwen | Client::Copilot | Client::Cursor => "mcpServers",
    }
}

/// Returns the entry of our server for a client.
///
/// ```
/// use skillcue_clients::Client;
/// use skillcue_clients::settings::{Launch, ServerReach, server_entry};
///
/// let entry = server_entry(Client::Opencode, &ServerReach::Program(Launch::new("skillcue")));
/// assert_eq!(entry["command"], serde_json::json!(["skillcue", "mcp"]));
/// ```
pub fn server_entry(client: Client, reach: &ServerReach) -> Value {
    let mut entry = match reach {
        ServerReach::Program(launch) => match client {
            Client::Opencode => {
                let words: Vec<String> =
                    [launch.program.clone()].into_iter().chain(launch.server_arguments()).collect();
                json!({"type": "local", "command": words, "enabled": true})
            }
            _ => json!({"command": launch.program, "args": launch.server_arguments()}),
        },
        ServerReach::Url { url, token } => {
            let key = if matches!(client, Client::Gemini | Client::Qwen) { "httpUrl" } else { "url" };
            let mut entry = json!({key: url});
            match (client, token) {
                (Client::Codex, Some(variable)) => entry["bearer_token_env_var"] = json!(variable),
                (_, Some(_)) => entry["headers"] = json!({"Authorization": format!("Bearer {TOKEN}")}),
                (_, None) => {}
            }
            if client == Client::Opencode {
                entry["enabled"] = json!(true);
            }
            entry
        }
    };
    let is_program = matches!(reach, ServerReach::Program(_));
    match client {
        // Without it, the tools are behind a search of the client's own, by name alone.
        Client::Claude => {
            entry["type"] = json!(if is_program { "stdio" } else { "http" });
            entry["alwaysLoad"] = json!(true);
        }
        Client::Vscode => entry["type"] = json!(if is_program { "stdio" } else { "http" }),
        Client::Opencode if !is_program => entry["type"] = json!("remote"),
        Client::Copilot => {
            entry["type"] = json!(if is_program { "local" } else { "http" });
            entry["tools"] = json!(["*"]);
        }
        // Without it, none of the tools can be called where no person can be asked.
        Client::Gemini | Client::Qwen => entry["trust"] = json!(true),
        _ => {}
    }
    entry
}

/// Returns whether the entry of a server starts ours: a command of Skillcue, or of one of some programs, that ends in `mcp`,
/// or in `mcp --view NAME`.
pub(super) fn is_own_server(entry: &Value, programs: &[String]) -> bool {
    // opencode has all words in one list.
    let listed = entry["command"].as_array().into_iter().flatten();
    let words: Vec<Option<&str>> = entry["command"]
        .is_string()
        .then_some(&entry["command"])
        .into_iter()
        .chain(listed)
        .map(Value::as_str)
        .collect();
    let arguments = entry["args"].as_array().into_iter().flatten().map(Value::as_str);
    let words: Vec<Option<&str>> = words.into_iter().chain(arguments).collect();
    let command = match &words[..] {
        [command @ .., Some("--view"), Some(_)] => command,
        [command @ .., Some(last)] if last.starts_with("--view=") => command,
        all => all,
    };
    let [Some(program), .., Some("mcp")] = command else { return false };
    is_own_program(program, programs)
}

/// Returns a whole document with our server for a client, to be merged into its file by hand.
///
/// ```
/// use skillcue_clients::Client;
/// use skillcue_clients::settings::{Launch, ServerReach, server_snippet};
///
/// let text = server_snippet(Client::Codex, &ServerReach::Program(Launch::new("skillcue")));
/// assert_eq!(text, "[mcp_servers.skillcue]\ncommand = \"skillcue\"\nargs = [\"mcp\"]\n");
/// ```
pub fn server_snippet(client: Client, reach: &ServerReach) -> String {
    let entry = server_entry(client, reach);
    if client != Client::Codex {
        let document = json!({servers_key(client): {SERVER: entry}});
        // A value of text and lists serialises.
        return serde_json::to_string_pretty(&document).unwrap_or_default() + "\n";
    }
    format!("[mcp_servers.{SERVER}]\n{}", quoted(&entry))
}
