//! Other agents on this machine: which there are, and how they are connected.

use std::path::{Path, PathBuf};

use serde::Serialize;
use skillcue_clients::Client;
use skillcue_clients::settings::{
    ClientFolders, ConnectionPart, ConnectionStore, Connector, Launch, SettingsError, SettingsFile,
};
use skillcue_host::absolute;

use crate::context::Context;
use crate::error::CliError;

/// The words for clients on the command line.
pub(crate) const CLIENTS: &[(&str, Client, &str)] = &[
    ("claude", Client::Claude, "Claude Code"),
    ("codex", Client::Codex, "Codex"),
    ("gemini", Client::Gemini, "Gemini CLI"),
    ("opencode", Client::Opencode, "opencode"),
    ("qwen", Client::Qwen, "Qwen Code"),
    ("copilot", Client::Copilot, "GitHub Copilot CLI"),
    ("cursor", Client::Cursor, "Cursor (MCP only)"),
    ("vscode", Client::Vscode, "Visual Studio Code (MCP only)"),
    ("zed", Client::Zed, "Zed (MCP only)"),
];

/// Returns the name of a client's program.
fn program_of(client: Client) -> &'static str {
    match client {
        Client::Vscode => "code",
        other => other.as_str(),
    }
}

/// Returns the launch of this program, or of another one, with the global options of this command.
pub(crate) fn launch(context: &Context, program: Option<&Path>) -> Launch {
    let own = || std::env::current_exe().ok().and_then(|path| path.to_str().map(str::to_owned));
    let named = program.map(|program| match program.to_str() {
        // A name is looked for on PATH by the client's own shell.
        Some(name) if !name.contains('/') => name.to_owned(),
        _ => absolute(program).display().to_string(),
    });
    let program = named.or_else(own).unwrap_or_else(|| "skillcue".to_owned());
    Launch::new(program).with_options(context.global_words(&|path| absolute(path).display().to_string()))
}

/// Returns the folders of clients: the user's, or the project's.
pub(crate) fn folders(context: &Context, project: bool) -> Result<ClientFolders, CliError> {
    let environment = context.environment()?;
    if project {
        return Ok(ClientFolders::of_project(crate::consent::this_project(context)?));
    }
    let home = environment.home.as_deref().ok_or_else(|| {
        CliError::failure("no_home", "there is no home directory").help("set HOME to a directory that you may write to")
    })?;
    let variable = |name: &str| environment.variable(name).filter(|value| !value.is_empty());
    Ok(ClientFolders::new(home, &variable))
}

/// Returns the store of what files were before they were connected.
pub(crate) fn store(context: &Context) -> Result<ConnectionStore, CliError> {
    let dir = context.environment()?.data("connections").ok_or_else(|| {
        CliError::failure("no_home", "there is no directory for backups").help("set HOME or XDG_DATA_HOME")
    })?;
    Ok(ConnectionStore::new(dir))
}

/// One part of one client's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PartState {
    /// The client has no place for it.
    Unsupported,
    /// It is not connected.
    Off,
    /// It is connected with another program, or written as an earlier version wrote it.
    Outdated,
    /// It is connected.
    On,
}

impl PartState {
    /// Returns the word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            PartState::Unsupported => "–",
            PartState::Off => "no",
            PartState::Outdated => "outdated",
            PartState::On => "yes",
        }
    }

    /// Returns whether something of ours is there.
    pub(crate) fn is_there(self) -> bool {
        matches!(self, PartState::On | PartState::Outdated)
    }
}

/// How a client is connected.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ClientState {
    pub(crate) client: Client,
    pub(crate) name: &'static str,
    /// Whether its program or its folder is on this machine.
    pub(crate) found: bool,
    pub(crate) hook: PartState,
    pub(crate) mcp: PartState,
    /// The files that have, or would have, something of ours.
    #[serde(serialize_with = "crate::text::all_lossy")]
    pub(crate) files: Vec<PathBuf>,
    /// Why one of them cannot be read.
    pub(crate) problem: Option<String>,
}

/// Returns how each client is connected.
pub(crate) fn states(connector: &Connector, path: &[PathBuf]) -> Vec<ClientState> {
    Client::ALL.into_iter().map(|client| state(connector, client, path)).collect()
}

fn state(connector: &Connector, client: Client, path: &[PathBuf]) -> ClientState {
    let is_program = |dir: &PathBuf| dir.join(program_of(client)).is_file();
    let found = path.iter().any(is_program) || connector.folders().of(client).is_dir();
    // Whether there is a server decides how a hook is written.
    let files = |is_served: bool| {
        let launch = connector.launch().clone().served(is_served);
        Connector::new(connector.folders().clone(), launch).files(client)
    };
    let parts = parts_of(&files(false));
    let is_served = parts.as_ref().is_ok_and(|parts| parts.iter().any(|(part, _)| *part == ConnectionPart::Mcp));
    let files = files(is_served);
    let (parts, problem) = match parts_of(&files) {
        Ok(parts) => (parts, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let state = |part: ConnectionPart| {
        let of_part: Vec<bool> = parts.iter().filter(|(of, _)| *of == part).map(|(_, current)| *current).collect();
        if !connector.parts(client).contains(&part) {
            PartState::Unsupported
        } else if of_part.is_empty() {
            PartState::Off
        } else if of_part.iter().all(|current| *current) {
            PartState::On
        } else {
            PartState::Outdated
        }
    };
    ClientState {
        client,
        name: client.name(),
        found,
        hook: state(ConnectionPart::Hook),
        mcp: state(ConnectionPart::Mcp),
        files: files.into_iter().flatten().map(|file| file.path).collect(),
        problem,
    }
}

type Files = Result<Vec<SettingsFile>, SettingsError>;

fn parts_of(files: &Files) -> Result<Vec<(ConnectionPart, bool)>, String> {
    let files = files.as_ref().map_err(ToString::to_string)?;
    let mut parts = Vec::new();
    for file in files {
        parts.extend(file.connected().map_err(|error| error.to_string())?);
    }
    Ok(parts)
}
