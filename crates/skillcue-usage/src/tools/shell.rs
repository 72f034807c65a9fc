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

/// Returns the simple commands of a command, an inner one before the one that it is in. The lines of a here-document (`<<`) and
/// arithmetic are left out, and a quote that is not closed is no word.
pub(super) fn simple_commands(text: &str) -> Vec<SimpleCommand> {
    let rest = text.chars().peekable();
    let mut reader = ShellReader { rest, commands: Vec::new(), documents: Vec::new(), is_over: false };
    reader.list(None, 0);
    reader.commands
}

/// The use of the next word, if it is no argument.
#[derive(Debug, Clone, Copy)]
enum Redirection {
    Input,
    Output,
    /// The input itself, by `<<<`.
    Text,
}

/// A here-document that begins with the next line.
struct HereDocument {
    /// The line that ends it.
    delimiter: String,
    /// Whether that line may have tabs in front, by `<<-`.
    is_indented: bool,
}

struct ShellReader<'t> {
    rest: Peekable<Chars<'t>>,
    commands: Vec<SimpleCommand>,
    documents: Vec<HereDocument>,
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
                '$' if self.rest.next_if_eq(&'(').is_some() => {
                    self.substituted_or_added(open.word.get_or_insert_default(), depth);
                }
                '<' | '>' if self.rest.next_if_eq(&'(').is_some() => {
                    self.substituted(open.word.get_or_insert_default(), ')', depth);
                }
                '<' if self.rest.next_if_eq(&'<').is_some() => {
                    open.redirect(Redirection::Text);
                    if self.rest.next_if_eq(&'<').is_none() {
                        open.redirection = None;
                        self.begin_document();
                    }
                }
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
                    if !self.skip_arithmetic() {
                        self.list(Some(')'), depth + 1);
                    }
                }
                '\n' => {
                    self.commands.push(open.end());
                    self.skip_documents();
                }
                ';' | '|' | '&' | ')' => self.commands.push(open.end()),
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
                Some('$') if self.rest.next_if_eq(&'(').is_some() => self.substituted_or_added(word, depth),
                Some(c) => word.push(c),
            }
        }
    }

    fn substituted(&mut self, word: &mut String, end: char, depth: usize) {
        word.push('$');
        self.list(Some(end), depth + 1);
    }

    /// Reads what follows `$(`: a command, or arithmetic.
    fn substituted_or_added(&mut self, word: &mut String, depth: usize) {
        if self.skip_arithmetic() {
            word.push('$');
        } else {
            self.substituted(word, ')', depth);
        }
    }

    /// Goes behind `((…))`, of which the first parenthesis was read. Returns whether it was that: in `((a); b)` there are
    /// commands.
    fn skip_arithmetic(&mut self) -> bool {
        let mut ahead = self.rest.clone();
        if ahead.next() != Some('(') {
            return false;
        }
        let mut open = 2_usize;
        while let Some(c) = ahead.next() {
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 1 {
                let is_closed = ahead.next() == Some(')');
                if is_closed {
                    self.rest = ahead;
                }
                return is_closed;
            }
        }
        false
    }

    /// Reads the word behind `<<`, which ends a here-document.
    fn begin_document(&mut self) {
        let is_indented = self.rest.next_if_eq(&'-').is_some();
        while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let mut delimiter = None;
        while let Some(c) = self.rest.next_if(|c| !c.is_whitespace() && !";|&()<>`".contains(*c)) {
            let word: &mut String = delimiter.get_or_insert_default();
            match c {
                '\'' | '"' => word.extend(self.rest.by_ref().take_while(|other| *other != c)),
                '\\' => word.extend(self.rest.next()),
                c => word.push(c),
            }
        }
        match delimiter {
            Some(delimiter) => self.documents.push(HereDocument { delimiter, is_indented }),
            None => self.is_over = true,
        }
    }

    /// Goes behind the here-documents that begin with this line. Behind one without an end, there is nothing.
    fn skip_documents(&mut self) {
        for HereDocument { delimiter, is_indented } in std::mem::take(&mut self.documents) {
            loop {
                let mut is_last = true;
                let is_of_line = |c: &char| {
                    is_last = *c != '\n';
                    is_last
                };
                let line: String = self.rest.by_ref().take_while(is_of_line).collect();
                if delimiter == if is_indented { line.trim_start_matches('\t') } else { &line } {
                    break;
                }
                if is_last {
                    self.is_over = true;
                    return;
                }
            }
        }
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
                Some(Redirection::Text) => return,
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
        assert_eq!(read("a <<'END' b\nc"), ["a·b"]);
        assert_eq!(read("a \\\n b"), ["a·b"]);
        assert_eq!(read("a 'b"), ["a"]);
        assert_eq!(read("a \"b $(c"), ["c", "a"]);
    }

    #[test]
    fn here_documents_are_left_out_and_what_follows_is_read() {
        assert_eq!(read("a <<'E F' b; c\nd\nE F\ne"), ["a·b", "c", "e"]);
        assert_eq!(read("a 3<<X <<-\\Y >b\nX\n\tc 'd\n\tY\ne"), ["a·>b", "e"]);
        assert_eq!(read("a \"$(b <<\"X\"\nit's\nX\n)\" && c"), ["b", "a·$", "c"]);
        assert_eq!(read("a <<X # b\nX \nX\nc"), ["a", "c"]);
        assert_eq!(read("a <<<b c <<<\"d e\"\nf"), ["a·c", "f"]);
        assert_eq!(read("a <<X\nb\nX"), ["a"]);
        assert_eq!(read("a <<; b\nc"), ["a"]);
    }

    #[test]
    fn arithmetic_has_no_commands() {
        assert_eq!(read("a $((1 << (2)))b; c"), ["a·$b", "c"]);
        assert_eq!(read("a \"$((1 << 2))\"; ((i <<= 3)); b"), ["a·$", "b"]);
        assert_eq!(read("a $((b); c) d"), ["b", "c", "a·$·d"]);
        assert_eq!(read("((a); b)"), ["a", "b"]);
        assert!(read(&"$((".repeat(5_000)).len() < 100);
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
