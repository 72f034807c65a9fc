//! Input of the chat: commands and messages.

/// A command of the chat.
#[derive(Debug)]
pub(crate) struct ChatCommand {
    pub(crate) name: &'static str,
    /// Its arguments; empty if it takes none.
    pub(crate) takes: &'static str,
    pub(crate) about: &'static str,
}

pub(crate) const COMMANDS: [ChatCommand; 8] = [
    ChatCommand { name: "help", takes: "", about: "this list" },
    ChatCommand { name: "skills", takes: "", about: "every skill; * marks what is loaded" },
    ChatCommand { name: "load", takes: "NAME [ARGUMENTS]", about: "send a skill's instructions with the next message" },
    ChatCommand {
        name: "why",
        takes: "[MESSAGE]",
        about: "which words spoke for which skill, in the last message or another",
    },
    ChatCommand { name: "cost", takes: "", about: "tokens by turn and part, and what skills saved" },
    ChatCommand { name: "memory", takes: "[WORDS]", about: "what is remembered, or what of it fits" },
    ChatCommand { name: "new", takes: "", about: "begin a new conversation" },
    ChatCommand { name: "exit", takes: "", about: "leave; Ctrl-D does, too" },
];

/// A line of input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChatInput<'t> {
    /// Nothing.
    Nothing,
    /// A command, and its arguments.
    Command(&'static str, &'t str),
    /// Anything else, `/name` of a skill included: the selection understands mentions.
    Message(&'t str),
}

/// Returns whether a line is a command or a message.
pub(crate) fn understand(line: &str) -> ChatInput<'_> {
    let line = line.trim();
    if line.is_empty() {
        return ChatInput::Nothing;
    }
    if let Some(rest) = line.strip_prefix('/') {
        let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let word = if word == "quit" { "exit" } else { word };
        if let Some(command) = COMMANDS.iter().find(|command| command.name == word) {
            return ChatInput::Command(command.name, rest.trim());
        }
    }
    ChatInput::Message(line)
}

/// Returns the text of `/help`.
pub(crate) fn help() -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for command in &COMMANDS {
        let form = format!("/{} {}", command.name, command.takes);
        let _ = writeln!(out, "  {:<24} {}", form.trim_end(), command.about);
    }
    out.push_str(
        "  $NAME, /NAME             a skill, in a message or before it; Tab completes names\n\
         \n\
         A line that ends with \\ goes on in the next one. Ctrl-C ends an answer, or clears the line; Ctrl-D leaves.\n",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_messages() {
        assert_eq!(understand("  "), ChatInput::Nothing);
        assert_eq!(understand("/load pdf a.pdf b"), ChatInput::Command("load", "pdf a.pdf b"));
        assert_eq!(understand(" /quit "), ChatInput::Command("exit", ""));
        assert_eq!(understand("/pdf a.pdf"), ChatInput::Message("/pdf a.pdf"), "a skill's name goes to the model");
        assert_eq!(understand("/costs"), ChatInput::Message("/costs"));
        assert_eq!(understand("say /help"), ChatInput::Message("say /help"));
    }

    #[test]
    fn the_help_names_every_command() {
        let help = help();
        assert!(COMMANDS.iter().all(|command| help.contains(&format!("/{}", command.name))), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 110), "{help}");
    }
}
