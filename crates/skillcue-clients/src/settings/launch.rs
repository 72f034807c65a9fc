//! The way in which a client starts this program.

use crate::Client;

/// The program and the words before its command: options that hold for every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program: a path from the root of the file system, or a name on `PATH`.
    pub program: String,
    /// Options before the command, such as further directories of skills.
    pub options: Vec<String>,
    /// Whether the client also starts the MCP server: hooks then name its tools.
    pub is_served: bool,
}

/// The end of every hook's command. A program that is missing, or too old to know hooks, must not block a prompt: an exit
/// code of 2 would.
const NEVER_FAIL: &str = "2>/dev/null || true";

impl Launch {
    /// Makes the launch of a program without options.
    ///
    /// ```
    /// use skillcue_clients::Client;
    /// use skillcue_clients::settings::Launch;
    ///
    /// let launch = Launch::new("/opt/my tools/skillcue");
    /// assert_eq!(launch.hook_command(Client::Claude), "'/opt/my tools/skillcue' hook claude 2>/dev/null || true");
    /// ```
    pub fn new(program: impl Into<String>) -> Launch {
        Launch { program: program.into(), options: Vec::new(), is_served: false }
    }

    /// Adds options before the command.
    #[must_use]
    pub fn with_options(self, options: Vec<String>) -> Launch {
        Launch { options, ..self }
    }

    /// Sets whether the client also starts the MCP server.
    #[must_use]
    pub fn served(self, is_served: bool) -> Launch {
        Launch { is_served, ..self }
    }

    /// Returns the words of a client's hook, the program first.
    ///
    /// ```
    /// use skillcue_clients::Client;
    /// use skillcue_clients::settings::Launch;
    /// assert_eq!(Launch::new("skillcue").served(true).hook_words(Client::Codex), ["skillcue", "hook", "codex", "--mcp"]);
    /// ```
    pub fn hook_words(&self, client: Client) -> Vec<String> {
        let mut words = vec![self.program.clone()];
        words.extend(self.options.iter().cloned());
        words.extend(["hook".to_owned(), client.as_str().to_owned()]);
        words.extend(self.is_served.then(|| "--mcp".to_owned()));
        words
    }

    /// Returns the shell command of a client's hook, which never fails.
    pub fn hook_command(&self, client: Client) -> String {
        format!("{} {NEVER_FAIL}", self.plain_hook_command(client))
    }

    /// Returns the shell command of a client's hook, which fails if the program does.
    ///
    /// ```
    /// use skillcue_clients::Client;
    /// use skillcue_clients::settings::Launch;
    ///
    /// assert_eq!(Launch::new("skillcue").plain_hook_command(Client::Qwen), "skillcue hook qwen");
    /// ```
    pub fn plain_hook_command(&self, client: Client) -> String {
        let words: Vec<String> = self.hook_words(client).iter().map(|word| shell_word(word)).collect();
        words.join(" ")
    }

    /// Returns the arguments that start the MCP server.
    ///
    /// ```
    /// use skillcue_clients::settings::Launch;
    /// let launch = Launch::new("skillcue").with_options(vec!["--isolated".to_owned()]);
    /// assert_eq!(launch.server_arguments(), ["--isolated", "mcp"]);
    /// ```
    pub fn server_arguments(&self) -> Vec<String> {
        self.options.iter().cloned().chain(["mcp".to_owned()]).collect()
    }
}

/// Returns whether a command is a hook of ours for a client, whichever program it starts.
pub(super) fn is_hook_command(command: &str, client: Client) -> bool {
    let Some(start) = command.trim_end().strip_suffix(NEVER_FAIL) else { return false };
    let Some((_, words)) = start.rsplit_once(" hook ") else { return false };
    let mut words = words.split_whitespace();
    words.next() == Some(client.as_str()) && words.all(|word| word.starts_with("--"))
}

/// Returns a word as a shell reads it: in quotes where it needs them.
///
/// ```
/// use skillcue_clients::settings::shell_word;
/// assert_eq!(shell_word("/usr/bin/skillcue"), "/usr/bin/skillcue");
/// assert_eq!(shell_word("it's"), r"'it'\''s'");
/// ```
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_known_by_their_end() {
        for program in ["/a/skillcue", "/it's here/x", "skillcue"] {
            let launch = Launch::new(program).with_options(vec!["--skills-dir".into(), "/a b".into()]);
            assert!(is_hook_command(&launch.hook_command(Client::Gemini), Client::Gemini));
            assert!(is_hook_command(&launch.clone().served(true).hook_command(Client::Gemini), Client::Gemini));
            assert!(!is_hook_command(&launch.hook_command(Client::Gemini), Client::Qwen));
        }
        for other in ["", "echo hi", "skillcue hook claude", "my-hook claude 2>/dev/null || true"] {
            assert!(!is_hook_command(other, Client::Claude), "{other}");
        }
    }
}
