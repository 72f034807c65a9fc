//! What can be typed into the chat beside messages.

/// A command of the chat.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// What stands behind it; nothing if it takes nothing.
    pub(crate) takes: &'static str,
    pub(crate) about: &'static str,
}

pub(crate) const COMMANDS: [Command; 8] = [
    Command { name: "help", takes: "", about: "this list" },
    Command { name: "skills", takes: "", about: "every skill; * marks what is loaded" },
    Command { name: "load", takes: "NAME [ARGUMENTS]", about: "send a skill's instructions with the next message" },
    Command {
        name: "why",
        takes: "[MESSAGE]",
        about: "which words spoke for which skill, in the last message or another",
    },
    Command { name: "cost", takes: "", about: "tokens by turn and part, and what skills saved" },
    Command { name: "memory", takes: "[WORDS]", about: "what is remembered, or what of it fits" },
    Command { name: "new", takes: "", about: "begin a new conversation" },
    Command { name: "exit", takes: "", about: "leave; Ctrl-D does, too" },
];

/// What somebody typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed<'t> {
    /// Nothing.
    Nothing,
    /// A command of ours, and what stands behind it.
    Command(&'static str, &'t str),
    /// Anything else, `/name` of a skill included: the selection understands mentions.
    Message(&'t str),
}

/// Tells commands from messages.
pub(crate) fn understand(line: &str) -> Typed<'_> {
    let line = line.trim();
    if line.is_empty() {
        return Typed::Nothing;
    }
    if let Some(rest) = line.strip_prefix('/') {
        let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let word = if word == "quit" { "exit" } else { word };
        if let Some(command) = COMMANDS.iter().find(|command| command.name == word) {
            return Typed::Command(command.name, rest.trim());
        }
    }
    Typed::Message(line)
}

/// What `/help` says.
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
        assert_eq!(understand("  "), Typed::Nothing);
        assert_eq!(understand("/load pdf a.pdf b"), Typed::Command("load", "pdf a.pdf b"));
        assert_eq!(understand(" /quit "), Typed::Command("exit", ""));
        assert_eq!(understand("/pdf a.pdf"), Typed::Message("/pdf a.pdf"), "a skill's name goes to the model");
        assert_eq!(understand("/costs"), Typed::Message("/costs"));
        assert_eq!(understand("say /help"), Typed::Message("say /help"));
    }

    #[test]
    fn the_help_names_every_command() {
        let help = help();
        assert!(COMMANDS.iter().all(|command| help.contains(&format!("/{}", command.name))), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 110), "{help}");
    }
}
