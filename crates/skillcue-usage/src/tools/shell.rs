//! Commands for a shell: their words, and where each simple command begins and ends.

use std::iter::Peekable;
use std::str::Chars;

/// The depth of parentheses and substitutions at which a command is not read on.
const MAX_DEPTH: usize = 16;

/// One program with its words, without their quotes. In place of what the shell puts in, a word has a `$`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<String>,
    /// The files that it reads by `<`.
    pub(super) inputs: Vec<String>,
    /// The files that it writes by `>`.
    pub(super) outputs: Vec<String>,
    /// How many parentheses and substitutions it is in.
    pub(super) depth: usize,
}

/// Returns the simple commands of a command, an inner one before the one that it is in. What follows `<<` is content, and a
/// quote that is not closed is no word.
pub(super) fn simple_commands(text: &str) -> Vec<SimpleCommand> {
    let mut reader = ShellReader { rest: text.chars().peekable(), commands: Vec::new(), is_over: false };
    reader.list(None, 0);
    reader.commands
}

/// The use of the next word, if it is no argument.
#[derive(Debug, Clone, Copy)]
enum Redirection {
    Input,
    Output,
}

struct ShellReader<'t> {
    rest: Peekable<Chars<'t>>,
    commands: Vec<SimpleCommand>,
    is_over: bool,
}

impl ShellReader<'_> {
    /// Reads commands until a character that is not in one of them, or until the text is over.
    fn list(&mut self, end: Option<char>, depth: usize) {
        if depth > MAX_DEPTH {
            self.is_over = true;
            return;
        }
        let mut open = OpenCommand::new(depth);
        while !self.is_over
            && let Some(c) = self.rest.next()
        {
            match c {
                _ if end == Some(c) => break,
                '\'' => {
                    let word = open.word.get_or_insert_default();
                    self.is_over = true;
                    for c in self.rest.by_ref() {
                        if c == '\'' {
                            self.is_over = false;
                            break;
                        }
                        word.push(c);
                    }
                }
                '"' => self.quoted(open.word.get_or_insert_default(), depth),
                '\\' => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(c) => open.word.get_or_insert_default().push(c),
                },
                '`' => self.substituted(open.word.get_or_insert_default(), '`', depth),
                '$' | '<' | '>' if self.rest.next_if_eq(&'(').is_some() => {
                    self.substituted(open.word.get_or_insert_default(), ')', depth);
                }
                '<' if self.rest.peek() == Some(&'<') => self.is_over = true,
                '<' => {
                    open.redirect(Redirection::Input);
                    self.rest.next_if_eq(&'&');
                }
                '>' => {
                    open.redirect(Redirection::Output);
                    self.rest.next_if(|c| ">|&".contains(*c));
                }
                '#' if open.word.is_none() => while self.rest.next_if(|c| *c != '\n').is_some() {},
                '&' if self.rest.peek() == Some(&'>') => open.end_word(),
                '(' => {
                    open.end_word();
                    self.list(Some(')'), depth + 1);
                }
                ';' | '|' | '&' | '\n' | ')' => self.commands.push(open.end()),
                c if c.is_whitespace() => open.end_word(),
                c => open.word.get_or_insert_default().push(c),
            }
        }
        if self.is_over {
            // It may have been cut off.
            open.word = None;
        }
        self.commands.push(open.end());
    }

    /// Reads the rest of a word in double quotes.
    fn quoted(&mut self, word: &mut String, depth: usize) {
        while !self.is_over {
            match self.rest.next() {
                None => self.is_over = true,
                Some('"') => return,
                Some('\\') => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(c) => {
                        if !"\"\\$`".contains(c) {
                            word.push('\\');
                        }
                        word.push(c);
                    }
                },
                Some('`') => self.substituted(word, '`', depth),
                Some('$') if self.rest.next_if_eq(&'(').is_some() => self.substituted(word, ')', depth),
                Some(c) => word.push(c),
            }
        }
    }

    fn substituted(&mut self, word: &mut String, end: char, depth: usize) {
        word.push('$');
        self.list(Some(end), depth + 1);
    }
}

/// A simple command that is being read.
struct OpenCommand {
    command: SimpleCommand,
    word: Option<String>,
    redirection: Option<Redirection>,
}

impl OpenCommand {
    fn new(depth: usize) -> OpenCommand {
        OpenCommand { command: SimpleCommand { depth, ..SimpleCommand::default() }, word: None, redirection: None }
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            let words = match self.redirection.take() {
                None => &mut self.command.words,
                Some(Redirection::Input) => &mut self.command.inputs,
                Some(Redirection::Output) => &mut self.command.outputs,
            };
            words.push(word);
        }
    }

    fn redirect(&mut self, redirection: Redirection) {
        // The number in front, as in `2>`, is none of the arguments.
        self.word = self.word.take().filter(|word| !word.chars().all(|c| c.is_ascii_digit()));
        self.end_word();
        self.redirection = Some(redirection);
    }

    /// Returns the command, and begins the next one.
    fn end(&mut self) -> SimpleCommand {
        self.end_word();
        let next = OpenCommand::new(self.command.depth);
        std::mem::replace(self, next).command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words of each command that has some, with its redirections.
    fn read(text: &str) -> Vec<String> {
        let commands = simple_commands(text).into_iter().map(|command| {
            let files = [("<", command.inputs), (">", command.outputs)];
            let files =
                files.into_iter().flat_map(|(sign, files)| files.into_iter().map(move |file| format!("{sign}{file}")));
            command.words.into_iter().chain(files).collect::<Vec<_>>().join("·")
        });
        commands.filter(|command| !command.is_empty()).collect()
    }

    #[test]
    fn words_are_read_as_a_shell_reads_them() {
        assert_eq!(read("a 'b c' \"d \\\"e\" f\\ g h''i '' "), ["a·b c·d \"e·f g·hi·"]);
        assert_eq!(read("a b;c|d && e & f\ng"), ["a·b", "c", "d", "e", "f", "g"]);
        assert_eq!(read("a 2>/dev/null <b >>c >|d x 2>&1"), ["a·x·<b·>/dev/null·>c·>d·>1"]);
        assert_eq!(read("a 2 > b&>c"), ["a·2·>b·>c"]);
        assert_eq!(read("a # it's b\nc a#b"), ["a", "c·a#b"]);
        assert_eq!(read("a <<'END' b\nc"), ["a"]);
        assert_eq!(read("a \\\n b"), ["a·b"]);
        assert_eq!(read("a 'b"), ["a"]);
        assert_eq!(read("a \"b $(c"), ["c", "a"]);
    }

    #[test]
    fn inner_commands_come_before_the_ones_that_they_are_in() {
        assert_eq!(read("a $(b 'c)' | d) e"), ["b·c)", "d", "a·$·e"]);
        assert_eq!(read("a \"x `b c` y\" <(d)"), ["b·c", "d", "a·x $ y·$"]);
        let depths: Vec<usize> = simple_commands("(a; (b)) c").iter().map(|command| command.depth).collect();
        assert_eq!(depths, [1, 2, 1, 0]);
        assert!(read(&"$(".repeat(5_000)).len() < 100);
    }
}
