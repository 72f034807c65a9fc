//! The agents that people already use, and the folders in which each of them keeps its skills: one table.

use std::fmt;

use serde::Serialize;

/// An agent of others that Skillcue works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Client {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// Qwen Code.
    Qwen,
    /// GitHub Copilot CLI.
    Copilot,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
    /// Zed.
    Zed,
}

/// A line of the table of clients.
struct ClientRow {
    client: Client,
    word: &'static str,
    name: &'static str,
    /// The client's own folder of skills below a project, if it has one.
    project: Option<&'static str>,
    /// The client's own folder of skills below the home directory, if it has one.
    user: Option<&'static str>,
}

const fn row(
    client: Client,
    word: &'static str,
    name: &'static str,
    project: Option<&'static str>,
    user: Option<&'static str>,
) -> ClientRow {
    ClientRow { client, word, name, project, user }
}

/// The clients, in the order of [`Client::ALL`].
const CLIENTS: [ClientRow; 9] = [
    row(Client::Claude, "claude", "Claude Code", Some(".claude/skills"), Some(".claude/skills")),
    row(Client::Codex, "codex", "Codex", Some(".codex/skills"), Some(".codex/skills")),
    row(Client::Gemini, "gemini", "Gemini CLI", Some(".gemini/skills"), Some(".gemini/skills")),
    row(Client::Opencode, "opencode", "opencode", Some(".opencode/skills"), Some(".config/opencode/skills")),
    row(Client::Qwen, "qwen", "Qwen Code", Some(".qwen/skills"), Some(".qwen/skills")),
    row(Client::Copilot, "copilot", "Copilot CLI", Some(".github/skills"), Some(".copilot/skills")),
    row(Client::Cursor, "cursor", "Cursor", Some(".cursor/skills"), Some(".cursor/skills")),
    row(Client::Vscode, "vscode", "VS Code", Some(".github/skills"), Some(".copilot/skills")),
    row(Client::Zed, "zed", "Zed", None, None),
];

/// Folders of skills that several agents read, those of a project, in the order of their precedence.
const SHARED: [&str; 5] = [".agents/skills", ".claude/skills", ".agent/skills", "skills", ".github/skills"];

/// Folders of skills below a home directory that several agents read.
const SHARED_BY_USER: [&str; 3] = [".agents/skills", ".claude/skills", ".agent/skills"];

/// Returns the folders of skills below a project, highest precedence first: those that several agents read, then those of
/// single ones.
///
/// ```
/// let folders: Vec<&str> = skillcue_catalog::project_folders().collect();
/// assert_eq!(folders[..2], [".agents/skills", ".claude/skills"]);
/// assert!(folders.contains(&".qwen/skills"));
/// ```
pub fn project_folders() -> impl Iterator<Item = &'static str> {
    with_own(&SHARED, |row| row.project)
}

/// Returns the folders of skills below a home directory, highest precedence first.
///
/// ```
/// assert!(skillcue_catalog::user_folders().any(|folder| folder == ".copilot/skills"));
/// ```
pub fn user_folders() -> impl Iterator<Item = &'static str> {
    with_own(&SHARED_BY_USER, |row| row.user)
}

/// Returns shared folders, then each client's own that is not among them, once.
fn with_own(
    shared: &'static [&'static str],
    own: fn(&ClientRow) -> Option<&'static str>,
) -> impl Iterator<Item = &'static str> {
    let is_first = move |at: usize, folder: &str| {
        !shared.contains(&folder) && !CLIENTS[..at].iter().any(|row| own(row) == Some(folder))
    };
    let own = CLIENTS.iter().enumerate().filter_map(move |(at, row)| own(row).filter(|folder| is_first(at, folder)));
    shared.iter().copied().chain(own)
}

impl Client {
    /// All clients, in the order in which they are listed.
    pub const ALL: [Client; 9] = [
        Client::Claude,
        Client::Codex,
        Client::Gemini,
        Client::Opencode,
        Client::Qwen,
        Client::Copilot,
        Client::Cursor,
        Client::Vscode,
        Client::Zed,
    ];

    fn row(self) -> &'static ClientRow {
        let row = &CLIENTS[self as usize];
        debug_assert_eq!(row.client, self, "the table is in the order of the enum");
        row
    }

    /// Returns the word for it on the command line.
    pub fn as_str(self) -> &'static str {
        self.row().word
    }

    /// Returns the client of a word.
    ///
    /// ```
    /// use skillcue_catalog::Client;
    /// assert_eq!(Client::from_word("codex"), Some(Client::Codex));
    /// ```
    pub fn from_word(word: &str) -> Option<Client> {
        Client::ALL.into_iter().find(|client| client.as_str() == word)
    }

    /// Returns its name, as its makers write it.
    ///
    /// ```
    /// use skillcue_catalog::Client;
    /// assert_eq!(Client::Qwen.name(), "Qwen Code");
    /// ```
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the client's own folder of skills below a project, if it has one.
    ///
    /// ```
    /// use skillcue_catalog::Client;
    /// assert_eq!(Client::Copilot.project_folder(), Some(".github/skills"));
    /// ```
    pub fn project_folder(self) -> Option<&'static str> {
        self.row().project
    }

    /// Returns the client's own folder of skills below the home directory, if it has one.
    ///
    /// ```
    /// use skillcue_catalog::Client;
    /// assert_eq!(Client::Copilot.user_folder(), Some(".copilot/skills"));
    /// ```
    pub fn user_folder(self) -> Option<&'static str> {
        self.row().user
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_line_for_each_client() {
        for (client, row) in Client::ALL.into_iter().zip(&CLIENTS) {
            assert_eq!(row.client, client);
            assert_eq!(Client::from_word(client.as_str()), Some(client));
        }
    }

    #[test]
    fn every_folder_is_listed_once() {
        for folders in [project_folders().collect::<Vec<_>>(), user_folders().collect()] {
            let mut once = folders.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), folders.len(), "{folders:?}");
        }
        for client in Client::ALL {
            assert!(client.project_folder().is_none_or(|own| project_folders().any(|folder| folder == own)));
            assert!(client.user_folder().is_none_or(|own| user_folders().any(|folder| folder == own)));
        }
        let shared = [".agents/skills", ".claude/skills", ".agent/skills", "skills", ".github/skills"];
        assert_eq!(project_folders().take(5).collect::<Vec<_>>(), shared);
    }
}
