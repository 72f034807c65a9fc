//! The fast path: the plain front matter that nearly every skill has, read without a YAML parser.
//!
//! It knows a small part of YAML — block mappings and sequences of one-line scalars, simple flow lists, simple block
//! scalars — and gives up (`None`) on the first thing outside of it; [`crate::yaml`] then reads the text. The trees
//! that it returns must equal those of the full parser: property tests compare both.

use std::borrow::Cow;

use crate::node::{ByteRange, Node, Value};
use crate::yaml;

/// Maximum depth of structures; deeper ones are left to the full parser.
const MAX_DEPTH: usize = 6;

/// Reads `text` if all of it is in the supported part of YAML.
pub(crate) fn parse(text: &str) -> Option<Node<'_>> {
    if !is_tame(text.as_bytes()) {
        return None;
    }
    let mut parser = PlainParser { text, at: 0, peeked: None, gap: false };
    let first = parser.peek()?;
    if first.indent != 0 {
        return None;
    }
    let node = parser.mapping(0, 0)?;
    // A node takes a byte at least. The full parser refuses trees of more nodes than are allowed.
    let small = text.len() <= yaml::MAX_NODES || node.size() <= yaml::MAX_NODES;
    (small && parser.peek().is_none()).then_some(node)
}

/// Returns whether the text is free of characters that YAML treats in a special way anywhere: tabs, control characters,
/// lone carriage returns, exotic line breaks, byte order marks.
fn is_tame(bytes: &[u8]) -> bool {
    // Loops over bytes without early exits run on vectors, and nearly all front matter ends with the first.
    let is_odd = |byte: u8| u8::from(byte.wrapping_sub(b' ') > b'~' - b' ') & u8::from(byte != b'\n');
    if bytes.iter().fold(0, |odd, byte| odd | is_odd(*byte)) == 0 {
        return true;
    }
    let is_control =
        |byte: u8| (u8::from(byte < b' ') & u8::from(byte != b'\n') & u8::from(byte != b'\r')) | u8::from(byte == 0x7F);
    let next = |at: usize, n: usize| bytes.get(at + n).copied();
    let is_special = |at: usize| match bytes[at] {
        0xC2 => matches!(next(at, 1), Some(0x80..=0x9F)),
        0xE2 => next(at, 1) == Some(0x80) && matches!(next(at, 2), Some(0xA8 | 0xA9)),
        _ => matches!((next(at, 1), next(at, 2)), (Some(0xBB), Some(0xBF)) | (Some(0xBF), Some(0xBE | 0xBF))),
    };
    bytes.iter().fold(0, |odd, byte| odd | is_control(*byte)) == 0
        && memchr::memchr_iter(b'\r', bytes).all(|at| next(at, 1) == Some(b'\n'))
        && !memchr::memchr3_iter(0xC2, 0xE2, 0xEF, bytes).any(is_special)
}

/// One line without its indentation.
#[derive(Clone, Copy)]
struct ContentLine<'a> {
    indent: usize,
    /// Without its indentation, its line break and blanks at its end.
    text: &'a str,
    /// The offset at which `text` starts.
    start: usize,
    /// The offset at which the next line starts.
    next: usize,
}

/// The parser's position in the text.
#[derive(Clone, Copy)]
struct PlainParser<'a> {
    text: &'a str,
    at: usize,
    /// The line at `at`, if [`peek`](PlainParser::peek) has found it.
    peeked: Option<ContentLine<'a>>,
    /// Whether blank lines were skipped to get to it.
    gap: bool,
}

impl<'a> PlainParser<'a> {
    /// Returns the next line, blank or not.
    fn raw(&self) -> Option<ContentLine<'a>> {
        let rest = self.text.get(self.at..)?;
        if rest.is_empty() {
            return None;
        }
        let (line, next) = match memchr::memchr(b'\n', rest.as_bytes()) {
            Some(newline) => (&rest[..newline], self.at + newline + 1),
            None => (rest, self.text.len()),
        };
        let line = line.strip_suffix('\r').unwrap_or(line);
        let indent = line.len() - line.trim_start_matches(' ').len();
        Some(ContentLine { indent, text: line[indent..].trim_end_matches(' '), start: self.at + indent, next })
    }

    /// Returns the next line that is not blank, without taking it.
    fn peek(&mut self) -> Option<ContentLine<'a>> {
        if self.peeked.is_some() {
            return self.peeked;
        }
        while let Some(line) = self.raw() {
            if !line.text.is_empty() {
                self.peeked = Some(line);
                return self.peeked;
            }
            self.gap = true;
            self.at = line.next;
        }
        None
    }

    /// Moves behind a line.
    fn advance(&mut self, line: &ContentLine<'a>) {
        self.at = line.next;
        self.peeked = None;
        self.gap = false;
    }

    /// Reads pairs that are all at `indent`.
    fn mapping(&mut self, indent: usize, depth: usize) -> Option<Node<'a>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let start = self.peek()?.start;
        let mut end = start;
        let mut pairs = Vec::with_capacity(if depth == 0 { 8 } else { 4 });
        while let Some(line) = self.peek() {
            if line.indent < indent {
                break;
            }
            if line.indent > indent {
                return None;
            }
            let length = key_length(line.text)?;
            let key = Node::scalar(&line.text[..length], true, ByteRange::new(line.start, line.start + length));
            let after = &line.text[length + 1..];
            let rest = after.trim_start_matches(' ');
            let value_at = line.start + length + 1 + (after.len() - rest.len());
            self.advance(&line);
            let value = if rest.is_empty() {
                self.value_below(indent, depth, line.start + length + 1)?
            } else {
                self.inline(rest, value_at, indent)?
            };
            end = value.span.range().end;
            pairs.push((key, value));
        }
        Some(Node { span: ByteRange::new(start, end), value: Value::Map(pairs) })
    }

    /// Reads the value below a key that has none on its line: a deeper block, a sequence at the key's own indent, or
    /// nothing.
    fn value_below(&mut self, indent: usize, depth: usize, after_key: usize) -> Option<Node<'a>> {
        match self.peek() {
            Some(line) if is_item(line.text) && line.indent >= indent => self.sequence(line.indent, indent),
            Some(line) if line.indent > indent && key_length(line.text).is_some() => {
                self.mapping(line.indent, depth + 1)
            }
            Some(line) if line.indent > indent => {
                self.advance(&line);
                self.multiline(line.text, line.start, indent)
            }
            _ => Some(Node::scalar("", true, ByteRange::new(after_key, after_key))),
        }
    }

    /// Reads `- item` lines at `indent`, below a key at `parent`.
    fn sequence(&mut self, indent: usize, parent: usize) -> Option<Node<'a>> {
        let start = self.peek()?.start;
        let mut end = start;
        let mut items = Vec::with_capacity(8);
        while let Some(line) = self.peek() {
            if line.indent < indent || (line.indent == indent && indent == parent && !is_item(line.text)) {
                break;
            }
            if line.indent != indent || !is_item(line.text) {
                return None;
            }
            let after = &line.text[1..];
            let rest = after.trim_start_matches(' ');
            let at = line.start + 1 + (after.len() - rest.len());
            // `- key: value` is a mapping, `- - x` a sequence, a bare `-` may hold anything.
            if rest.is_empty() || is_item(rest) || rest.ends_with(':') || rest.contains(": ") {
                return None;
            }
            self.advance(&line);
            let item = self.inline(rest, at, indent)?;
            end = item.span.range().end;
            items.push(item);
        }
        Some(Node { span: ByteRange::new(start, end), value: Value::Seq(items) })
    }

    /// Reads a value that starts on its key's line. `indent` is the key's.
    fn inline(&mut self, rest: &'a str, at: usize, indent: usize) -> Option<Node<'a>> {
        match rest.as_bytes()[0] {
            b'|' | b'>' => return self.block(rest, indent),
            _ if self.continues(indent) => return self.multiline(rest, at, indent),
            _ => {}
        }
        match rest.as_bytes()[0] {
            b'[' => flow_list(rest, at),
            b'"' | b'\'' => quoted(rest, at),
            _ => is_plain(rest).then(|| Node::scalar(rest, true, ByteRange::new(at, at + rest.len()))),
        }
    }

    /// Reads a plain scalar over several lines, of which `first` has been taken: they fold into one.
    fn multiline(&mut self, first: &'a str, at: usize, indent: usize) -> Option<Node<'a>> {
        let mut text = String::with_capacity(first.len() * 3);
        let mut next = Some((first, at + first.len()));
        let mut end = at;
        while let Some((line, line_end)) = next {
            // A line that starts with a letter and has no special character is text, whatever comes before it.
            if !line.starts_with(char::is_alphanumeric) || !is_plain(line) {
                return None;
            }
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(line);
            end = line_end;
            next = None;
            if let Some(line) = self.peek().filter(|line| line.indent > indent) {
                // A blank line in between would be a line break in the text, which is not supported here.
                if self.gap {
                    return None;
                }
                self.advance(&line);
                next = Some((line.text, line.start + line.text.len()));
            }
        }
        Some(Node::scalar(text, true, ByteRange::new(at, end)))
    }

    /// Returns whether the next line could belong to the scalar on this one.
    fn continues(&mut self, indent: usize) -> bool {
        self.peek().is_some_and(|line| line.indent > indent)
    }

    /// Reads a `|` or `>` scalar, if all of it is at one indentation and nothing is unusual.
    fn block(&mut self, header: &str, indent: usize) -> Option<Node<'a>> {
        let (folded, strip) = match header {
            "|" => (false, false),
            "|-" => (false, true),
            ">" => (true, false),
            ">-" => (true, true),
            _ => return None,
        };
        let first = self.raw().filter(|line| line.indent > indent && !line.text.is_empty())?;
        let inner = first.indent;
        let mut text = String::new();
        let mut end = first.start;
        while let Some(line) = self.raw() {
            if line.text.is_empty() {
                // A blank line: inside a literal it is part of the text, at the end it is dropped, when folding it is
                // left to the full parser.
                let mut ahead = *self;
                let more = ahead.peek().is_some_and(|next| next.indent > indent);
                if more && (folded || line.indent > inner) {
                    return None;
                }
                if !more && line.indent > indent {
                    return None;
                }
                if more {
                    text.push('\n');
                }
                self.advance(&line);
                continue;
            }
            if line.indent <= indent {
                break;
            }
            if line.indent < inner || (folded && line.indent != inner) {
                return None;
            }
            // Blanks at a line's end are part of a block scalar; carriage returns are not.
            let raw = self.text[line.start - (line.indent - inner)..line.next].trim_end_matches(['\n', '\r']);
            if folded && raw.ends_with(' ') {
                return None;
            }
            if folded && !text.is_empty() {
                text.push(' ');
            }
            text.push_str(raw);
            if !folded {
                text.push('\n');
            }
            end = line.next;
            self.advance(&line);
        }
        if folded && !strip {
            text.push('\n');
        }
        if !folded {
            // Clip and strip both start from nothing after the last line; blank lines before it are kept.
            text.truncate(text.trim_end_matches('\n').len());
            if !strip {
                text.push('\n');
            }
        }
        // Without a line break at the very end of the text, clipping has nothing to keep.
        if !self.text.ends_with('\n') && self.at >= self.text.len() {
            return None;
        }
        let span = ByteRange::new(first.start, end);
        Some(Node { span, value: Value::Scalar { text: Cow::Owned(text), plain: false } })
    }
}

/// Returns the length of the key if the line is `key:` or `key: value` with a simple key.
fn key_length(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    if !bytes.first()?.is_ascii_alphanumeric() {
        return None;
    }
    let length = bytes.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')))?;
    (bytes[length] == b':' && matches!(bytes.get(length + 1), None | Some(b' '))).then_some(length)
}

fn is_item(line: &str) -> bool {
    line == "-" || line.starts_with("- ")
}

/// Returns whether `text` without quotes reads back as that text, as a number, a boolean or words.
pub(crate) fn is_plain_scalar(text: &str) -> bool {
    !text.is_empty()
        && text.trim_matches(' ') == text
        && !text.contains('\n')
        && !text.starts_with("...")
        && is_tame(text.as_bytes())
        && is_plain(text)
}

/// Returns whether `text` without quotes reads back as that text and is not a number, a boolean or null.
pub(crate) fn is_plain_text(text: &str) -> bool {
    is_plain_scalar(text) && crate::node::is_text(text)
}

/// Returns whether `text` is a one-line plain scalar in any context.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    if matches!(
        bytes[0],
        b'-' | b'?'
            | b':'
            | b','
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'#'
            | b'&'
            | b'*'
            | b'!'
            | b'|'
            | b'>'
            | b'\''
            | b'"'
            | b'%'
            | b'@'
            | b'`'
    ) {
        return false;
    }
    memchr::memchr2_iter(b':', b'#', bytes).all(|at| match bytes[at] {
        b':' => bytes.get(at + 1).is_some_and(|next| *next != b' '),
        _ => at > 0 && bytes[at - 1] != b' ',
    })
}

/// Reads a quoted scalar that ends where `text` does and has no unusual escapes.
fn quoted(text: &str, at: usize) -> Option<Node<'_>> {
    let span = ByteRange::new(at, at + text.len());
    let quote = text.as_bytes()[0];
    let inner = text.get(1..)?.strip_suffix(char::from(quote))?;
    if memchr::memchr2(quote, b'\\', inner.as_bytes()).is_none() {
        return Some(Node::scalar(inner, false, span));
    }
    let unquoted = if quote == b'\'' { single_quoted(inner) } else { double_quoted(inner) };
    unquoted.map(|text| Node::scalar(text, false, span))
}

/// Decodes single quotes: two of them are one, and a backslash is a backslash.
fn single_quoted(inner: &str) -> Option<String> {
    let text = inner.replace("''", "\0");
    (!text.contains('\'')).then(|| text.replace('\0', "'"))
}

/// Decodes double quotes with the escapes that people use.
fn double_quoted(inner: &str) -> Option<String> {
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        let escaped = rest[at..].strip_prefix('\\')?;
        text.push(match escaped.as_bytes().first()? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'n' => '\n',
            b't' => '\t',
            _ => return None,
        });
        rest = &escaped[1..];
    }
    text.push_str(rest);
    Some(text)
}

/// Reads `[a, "b", c]` of simple scalars.
fn flow_list(text: &str, at: usize) -> Option<Node<'_>> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let mut items = Vec::new();
    if !inner.trim_matches(' ').is_empty() {
        let mut offset = at + 1;
        for part in inner.split(',') {
            let item = part.trim_matches(' ');
            let start = offset + (part.len() - part.trim_start_matches(' ').len());
            offset += part.len() + 1;
            let odd = |b: u8| matches!(b, b'[' | b']' | b'{' | b'}' | b':' | b'#' | b'\\');
            if item.is_empty() || item.bytes().any(odd) {
                return None;
            }
            items.push(match item.as_bytes()[0] {
                b'"' | b'\'' => quoted(item, start)?,
                _ if is_plain(item) => Node::scalar(item, true, ByteRange::new(start, start + item.len())),
                _ => return None,
            });
        }
    }
    Some(Node { span: ByteRange::new(at, at + text.len()), value: Value::Seq(items) })
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
