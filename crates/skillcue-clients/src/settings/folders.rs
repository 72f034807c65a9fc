//! The folders in which clients keep their settings.

use std::path::{Path, PathBuf};

/// The folders in which clients keep their settings, for a user or for a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFolders {
    pub(super) claude: PathBuf,
    /// The file of Claude Code's servers, which is beside its folder and not in it.
    pub(super) claude_servers: PathBuf,
    pub(super) codex: PathBuf,
    pub(super) gemini: PathBuf,
    pub(super) opencode: PathBuf,
    pub(super) qwen: PathBuf,
    pub(super) copilot: PathBuf,
    pub(super) cursor: PathBuf,
    pub(super) vscode: PathBuf,
    pub(super) zed: PathBuf,
    /// The project, if these are a project's.
    pub(super) project: Option<PathBuf>,
}

impl ClientFolders {
    /// Returns a user's folders. Variables that the clients themselves read are looked up: `CLAUDE_CONFIG_DIR`, `CODEX_HOME`,
    /// `GEMINI_CLI_HOME`, `QWEN_HOME`, `COPILOT_HOME`, `XDG_CONFIG_HOME`.
    ///
    /// ```
    /// use std::path::Path;
    /// use skillcue_clients::Client;
    /// use skillcue_clients::settings::ClientFolders;
    ///
    /// let folders = ClientFolders::new(Path::new("/home/a"), &|name| (name == "CODEX_HOME").then(|| "/codex".into()));
    /// assert_eq!(folders.of(Client::Codex), Path::new("/codex"));
    /// assert_eq!(folders.of(Client::Qwen), Path::new("/home/a/.qwen"));
    /// ```
    pub fn new(home: &Path, variable: &dyn Fn(&str) -> Option<String>) -> ClientFolders {
        let set = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let config = set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let claude = set("CLAUDE_CONFIG_DIR");
        // Visual Studio Code's own folder of users is where the system has such folders.
        let vscode = if cfg!(target_os = "macos") { home.join("Library/Application Support") } else { config.clone() };
        ClientFolders {
            claude_servers: claude.as_deref().unwrap_or(home).join(".claude.json"),
            claude: claude.unwrap_or_else(|| home.join(".claude")),
            codex: set("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
            // The folder above `.gemini`, unlike those of the others.
            gemini: set("GEMINI_CLI_HOME").unwrap_or_else(|| home.to_owned()).join(".gemini"),
            opencode: config.join("opencode"),
            qwen: set("QWEN_HOME").unwrap_or_else(|| home.join(".qwen")),
            copilot: set("COPILOT_HOME").unwrap_or_else(|| home.join(".copilot")),
            cursor: home.join(".cursor"),
            vscode: vscode.join("Code/User"),
            zed: config.join("zed"),
            project: None,
        }
    }

    /// Returns a project's folders.
    pub fn of_project(project: &Path) -> ClientFolders {
        let below = |name: &str| project.join(name);
        ClientFolders {
            claude: below(".claude"),
            claude_servers: below(".mcp.json"),
            codex: below(".codex"),
            gemini: below(".gemini"),
            opencode: below(".opencode"),
            qwen: below(".qwen"),
            copilot: below(".github"),
            cursor: below(".cursor"),
            vscode: below(".vscode"),
            zed: below(".zed"),
            project: Some(project.to_owned()),
        }
    }

    /// Returns the folder of a client.
    pub fn of(&self, client: crate::Client) -> &Path {
        use crate::Client;
        match client {
            Client::Claude => &self.claude,
            Client::Codex => &self.codex,
            Client::Gemini => &self.gemini,
            Client::Opencode => &self.opencode,
            Client::Qwen => &self.qwen,
            Client::Copilot => &self.copilot,
            Client::Cursor => &self.cursor,
            Client::Vscode => &self.vscode,
            Client::Zed => &self.zed,
        }
    }
}
