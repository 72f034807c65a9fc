//! Completion by the Tab key in the chat.

use super::input::COMMANDS;

/// Words that may replace the text before the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// The start of the text that they replace, up to the cursor.
    pub(crate) start: usize,
    /// In order, each with what separates it from what is typed next.
    pub(crate) words: Vec<String>,
}

/// Completes a line that is typed up to `cursor`: names of skills after `$` anywhere and after `/load `, commands and
/// names after a `/` at the beginning.
pub(crate) fn offer(line: &str, cursor: usize, skills: &[String]) -> Completion {
    let nothing = Completion { start: cursor, words: Vec::new() };
    let Some(typed) = line.get(..cursor) else { return nothing };
    let named = |start: usize| {
        let begun = &typed[start..];
        let fitting = skills.iter().filter(|name| name.starts_with(begun));
        Completion { start, words: fitting.map(|name| format!("{name} ")).collect() }
    };
    if let Some(begun) = typed.strip_prefix('/')
        && !begun.contains(char::is_whitespace)
    {
        let mut offer = named(1);
        // Commands first: they are what a `/` means when a skill has the same name.
        let commands = COMMANDS.iter().filter(|command| command.name.starts_with(begun));
        let commands: Vec<String> = commands
            .map(|command| format!("{}{}", command.name, if command.takes.is_empty() { "" } else { " " }))
            .collect();
        offer.words.retain(|name| !commands.iter().any(|command| command.trim_end() == name.trim_end()));
        offer.words.splice(0..0, commands);
        return offer;
    }
    let word =
        typed.rfind(char::is_whitespace).map_or(0, |at| at + typed[at..].chars().next().map_or(0, char::len_utf8));
    if typed[..word].trim() == "/load" {
        return named(word);
    }
    match typed[word..].rfind('$') {
        // Not inside of a word, where it is money or a variable of a shell: `US$`, `${`.
        Some(at) if !typed[..word + at].ends_with(char::is_alphanumeric) => named(word + at + 1),
        _ => nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> (usize, Vec<String>) {
        let skills = ["hello-extended", "help", "pdf", "pdf-forms"].map(str::to_owned);
        let offer = offer(line, line.len(), &skills);
        (offer.start, offer.words)
    }

    #[test]
    fn names_come_after_a_dollar() {
        assert_eq!(words("$hel"), (1, vec!["hello-extended ".into(), "help ".into()]));
        assert_eq!(words("use $pdf-"), (5, vec!["pdf-forms ".into()]));
        assert_eq!(words("ça ($pd"), (6, vec!["pdf ".into(), "pdf-forms ".into()]));
        assert_eq!(words("costs US$pdf").1, Vec::<String>::new());
        assert_eq!(words("$nothing").1, Vec::<String>::new());
        assert_eq!(words("pdf").1, Vec::<String>::new(), "a word is a word");
    }

    #[test]
    fn a_slash_at_the_beginning_is_a_command_or_a_skill() {
        assert_eq!(words("/he"), (1, vec!["help".into(), "hello-extended ".into()]), "one `help`: the command");
        assert_eq!(words("/pdf-"), (1, vec!["pdf-forms ".into()]));
        assert_eq!(words("/lo"), (1, vec!["load ".into()]));
        assert_eq!(words("see /lo").1, Vec::<String>::new());
        assert!(words("/").1.len() > 4 + 4);
    }

    #[test]
    fn load_takes_a_skill() {
        assert_eq!(words("/load hel"), (6, vec!["hello-extended ".into(), "help ".into()]));
        assert_eq!(words("/load  p").1.len(), 2);
        assert_eq!(words("/load pdf for").1, Vec::<String>::new(), "its arguments are anything");
        assert_eq!(words("/why $p"), (6, vec!["pdf ".into(), "pdf-forms ".into()]));
    }

    #[test]
    fn only_what_stands_before_the_cursor_counts() {
        let skills = ["pdf".to_owned()];
        assert_eq!(offer("$p and more", 2, &skills), Completion { start: 1, words: vec!["pdf ".into()] });
        assert_eq!(offer("é", 1, &skills).words, Vec::<String>::new(), "inside of a character");
    }
}
