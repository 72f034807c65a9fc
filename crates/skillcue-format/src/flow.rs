//! Lists and mappings in brackets that were not closed, as in `allowed-tools: ["read", "write`.
//!
//! A bracket or a quote that its author forgot is put in where the entry ends, before a comment. Entries that begin
//! with a character YAML keeps for itself are put in quotes.

use std::ops::Range;

/// A piece of a text and its replacement.
pub(crate) type Replacement = (Range<usize>, String);

/// Returns the changes that close `text`, which starts with a bracket. `None` if text follows the closing bracket.
pub(crate) fn close(text: &str) -> Option<Vec<Replacement>> {
    let mut scan = FlowScanner { text, at: 0, open: Vec::new(), end: 0, changes: Vec::new() };
    scan.run().then_some(())?;
    let missing: String = scan.open.iter().rev().collect();
    if !missing.is_empty() {
        scan.changes.push((scan.end..scan.end, missing));
    }
    Some(scan.changes)
}

/// Returns whether the bracket that `text` starts with is not closed.
pub(crate) fn is_open(text: &str) -> bool {
    let mut scan = FlowScanner { text, at: 0, open: Vec::new(), end: 0, changes: Vec::new() };
    scan.run() && !scan.open.is_empty()
}

/// A walk over a list or a mapping in brackets.
struct FlowScanner<'t> {
    text: &'t str,
    at: usize,
    /// The closing brackets that are still due, the outermost first.
    open: Vec<char>,
    /// Behind the last character that is neither blank nor in a comment.
    end: usize,
    changes: Vec<Replacement>,
}

impl FlowScanner<'_> {
    /// Walks over the whole text. `false` if it goes on behind the bracket that closes it.
    fn run(&mut self) -> bool {
        while let Some(c) = self.text[self.at..].chars().next() {
            if c.is_whitespace() {
                self.at += c.len_utf8();
                continue;
            }
            if c == '#' && self.is_comment(self.at) {
                self.at = self.line_end(self.at);
                continue;
            }
            if self.at > 0 && self.open.is_empty() {
                return false;
            }
            match c {
                '[' => self.open.push(']'),
                '{' => self.open.push('}'),
                ']' | '}' => {
                    if let Some(due) = self.open.pop().filter(|due| *due != c) {
                        self.changes.push((self.at..self.at + 1, due.to_string()));
                    }
                }
                ',' | ':' => {}
                '"' | '\'' => {
                    self.quoted(c);
                    continue;
                }
                _ => {
                    self.plain(c);
                    continue;
                }
            }
            self.at += 1;
            self.end = self.at;
        }
        true
    }

    /// Steps over an entry in quotes. A quote that no other closes ends where a plain entry would.
    fn quoted(&mut self, quote: char) {
        let closed = quoted_length(&self.text[self.at..], quote).map(|length| self.at + length);
        let is_meant = |end: usize| {
            let rest = self.text[end..].trim_start_matches([' ', '\t']);
            rest.chars().next().is_none_or(|next| matches!(next, ',' | ']' | '}' | ':' | '#' | '\n' | '\r'))
        };
        if let Some(end) = closed.filter(|end| is_meant(*end)) {
            self.at = end;
        } else {
            self.at = self.entry_end(self.at + 1);
            self.changes.push((self.at..self.at, quote.to_string()));
        }
        self.end = self.at;
    }

    /// Steps over an entry without quotes.
    fn plain(&mut self, first: char) {
        let start = self.at;
        self.at = self.entry_end(start).max(start + first.len_utf8());
        self.end = self.at;
        if matches!(first, '@' | '`' | '%' | '*' | '&' | '!' | '|' | '>') {
            self.changes.push((start..self.at, crate::write::quote(&self.text[start..self.at])));
        }
    }

    /// Returns where an entry ends that goes on at `from`: before a comma, a bracket, a comment, the end of the line.
    /// Blanks before those are not part of it. Text in parentheses is, as in `Bash(git add:*, git rm:*)`.
    fn entry_end(&self, from: usize) -> usize {
        let mut depth = 0_usize;
        let mut end = from;
        for (offset, c) in self.text[from..].char_indices() {
            match c {
                '\n' | '\r' => break,
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                ',' | ']' | '}' | '[' | '{' if depth == 0 => break,
                ':' if depth == 0 && self.text[from + offset + 1..].starts_with([' ', '\n', '\r']) => break,
                '#' if self.is_comment(from + offset) => break,
                _ => {}
            }
            if !c.is_whitespace() {
                end = from + offset + c.len_utf8();
            }
        }
        end
    }

    fn is_comment(&self, at: usize) -> bool {
        self.text[..at].ends_with(char::is_whitespace)
    }

    fn line_end(&self, from: usize) -> usize {
        self.text[from..].find(['\n', '\r']).map_or(self.text.len(), |length| from + length)
    }
}

/// Returns the length of the quoted text that `text` begins with, its quotes included.
pub(crate) fn quoted_length(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices().skip(1).peekable();
    loop {
        match chars.next()? {
            (_, '\\') if quote == '"' => drop(chars.next()),
            (_, c) if c == quote && quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == quote) => {
                chars.next();
            }
            (offset, c) if c == quote => return Some(offset + 1),
            _ => {}
        }
    }
}
