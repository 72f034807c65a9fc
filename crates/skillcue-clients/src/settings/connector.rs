//! The entries that belong into the files of each client.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Value, json};

use super::plugin::plugin;
use super::server::{SERVER, allow_rules, server_entry, servers_key};
use super::{ClientFolders, Launch, ServerReach, SettingsEntry, SettingsError, SettingsFile, SettingsFormat, toml};
use crate::Client;
use crate::hook::HookAdapter;

/// A part of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConnectionPart {
    /// The hook that the client calls before a prompt, and at a few other events.
    Hook,
    /// The MCP server that the client starts.
    Mcp,
}

impl ConnectionPart {
    /// Both parts.
    pub const ALL: [ConnectionPart; 2] = [ConnectionPart::Hook, ConnectionPart::Mcp];

    /// Returns the word for it.
    ///
    /// ```
    /// assert_eq!(skillcue_clients::settings::ConnectionPart::Mcp.as_str(), "mcp");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            ConnectionPart::Hook => "hook",
            ConnectionPart::Mcp => "mcp",
        }
    }
}

/// How long a client waits for the hook. Its own deadline is a second.
const HOOK_SECONDS: u64 = 5;

/// Connects clients: knows what belongs into which of their files.
#[derive(Debug, Clone)]
pub struct Connector {
    folders: ClientFolders,
    launch: Launch,
}

impl Connector {
    /// Makes a connector for a user's or a project's folders.
    pub fn new(folders: ClientFolders, launch: Launch) -> Connector {
        Connector { folders, launch }
    }

    /// Returns the folders.
    pub fn folders(&self) -> &ClientFolders {
        &self.folders
    }

    /// Returns the launch of the program.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Returns the parts that a client has a place for.
    ///
    /// ```
    /// use std::path::Path;
    /// use skillcue_clients::Client;
    /// use skillcue_clients::settings::{ClientFolders, ConnectionPart, Connector, Launch};
    ///
    /// let connector = Connector::new(ClientFolders::of_project(Path::new("/repo")), Launch::new("skillcue"));
    /// assert_eq!(connector.parts(Client::Copilot), [ConnectionPart::Hook]);
    /// assert_eq!(connector.parts(Client::Zed), [ConnectionPart::Mcp]);
    /// ```
    pub fn parts(&self, client: Client) -> Vec<ConnectionPart> {
        let has_hook = !matches!(client, Client::Cursor | Client::Vscode | Client::Zed);
        let has_server = !(client == Client::Copilot && self.folders.project.is_some());
        let parts = [(has_hook, ConnectionPart::Hook), (has_server, ConnectionPart::Mcp)];
        parts.into_iter().filter(|(has, _)| *has).map(|(_, part)| part).collect()
    }

    /// Fails if a client has no place for a part.
    pub fn check(&self, client: Client, part: ConnectionPart) -> Result<(), SettingsError> {
        if self.parts(client).contains(&part) {
            return Ok(());
        }
        let why = match part {
            ConnectionPart::Hook => "has no hook that can add something to a prompt",
            ConnectionPart::Mcp => "reads no MCP servers from a project",
        };
        Err(SettingsError::Unsupported { client, why })
    }

    /// Returns the files of a client, with what of ours belongs into each.
    pub fn files(&self, client: Client) -> Result<Vec<SettingsFile>, SettingsError> {
        let at = |name: &str| self.folders.of(client).join(name);
        let file = |path: PathBuf, format, entries| SettingsFile { client, path, format, entries };
        let json = |path, entries| file(path, SettingsFormat::Json, entries);
        let (hook, server) = (|entry| (ConnectionPart::Hook, entry), |entry| (ConnectionPart::Mcp, entry));
        let member = server(SettingsEntry::Member {
            path: vec![servers_key(client)],
            key: SERVER,
            value: server_entry(client, &ServerReach::Program(self.launch.clone())),
        });
        let command = self.launch.hook_command(client);
        let called = match client {
            Client::Copilot => json!({"type": "command", "bash": command, "timeoutSec": HOOK_SECONDS}),
            // In milliseconds, as nowhere else.
            Client::Gemini => json!({"type": "command", "command": command, "timeout": HOOK_SECONDS * 1000}),
            _ => json!({"type": "command", "command": command, "timeout": HOOK_SECONDS}),
        };
        let events = HookAdapter::of(client).into_iter().flat_map(HookAdapter::events);
        let hooks = events.map(|event| {
            let is_grouped = client != Client::Copilot;
            hook(SettingsEntry::Hook { path: vec!["hooks", event], client, hook: called.clone(), is_grouped })
        });
        Ok(match client {
            Client::Claude => {
                // A project's shared file would carry one person's paths to all others.
                let settings = if self.folders.project.is_some() { "settings.local.json" } else { "settings.json" };
                let rule = |text| server(SettingsEntry::Text { path: vec!["permissions", "allow"], text });
                let rules = allow_rules().into_iter().map(rule);
                vec![
                    json(at(settings), hooks.chain(rules).collect()),
                    json(self.folders.claude_servers.clone(), vec![member]),
                ]
            }
            Client::Codex => {
                let (config, own) = (at("config.toml"), at("hooks.json"));
                // Two places for hooks in one folder are one too many: Codex warns of it.
                let has_table = std::fs::read_to_string(&config).is_ok_and(|text| toml::has(&text, "hooks"));
                if has_table && !own.exists() {
                    vec![file(config, SettingsFormat::Toml, hooks.chain([member]).collect())]
                } else {
                    vec![json(own, hooks.collect()), file(config, SettingsFormat::Toml, vec![member])]
                }
            }
            Client::Gemini | Client::Qwen => vec![json(at("settings.json"), hooks.chain([member]).collect())],
            Client::Opencode => {
                let whole = hook(SettingsEntry::Whole { text: plugin(&self.launch) });
                let dir = self.folders.project.as_deref().unwrap_or(&self.folders.opencode);
                // It reads both; a second file beside the one that its owner has would be in the way.
                let (plain, commented) = (dir.join("opencode.json"), dir.join("opencode.jsonc"));
                let config = if commented.exists() && !plain.exists() { commented } else { plain };
                vec![file(at("plugin/skillcue.js"), SettingsFormat::Program, vec![whole]), json(config, vec![member])]
            }
            Client::Copilot => {
                let version = SettingsEntry::Member { path: Vec::new(), key: "version", value: Value::from(1) };
                let entries = [hook(version)].into_iter().chain(hooks).collect();
                let mut files = vec![json(at("hooks/skillcue.json"), entries)];
                if self.folders.project.is_none() {
                    files.push(json(at("mcp-config.json"), vec![member]));
                }
                files
            }
            Client::Cursor | Client::Vscode => vec![json(at("mcp.json"), vec![member])],
            Client::Zed => vec![json(at("settings.json"), vec![member])],
        })
    }
}
