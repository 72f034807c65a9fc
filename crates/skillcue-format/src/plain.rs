//! The fast path: the plain front matter that nearly every skill has, read without a YAML parser.
//!
//! It knows a small part of YAML — block mappings and sequences of one-line scalars, simple flow lists, simple block
//! scalars — and gives up (`None`) on the first thing outside of it; [`crate::yaml`] then reads the text. What it does
//! read, it must read exactly as the full parser does: the property tests below hold both to the same trees.

use std::borrow::Cow;

use crate::node::{Node, Span, Value};
use crate::yaml;

/// Deeper structures are the full parser's business.
const MAX_DEPTH: usize = 6;

/// Reads `text` if it is plain enough.
pub(crate) fn parse(text: &str) -> Option<Node<'_>> {
    if !is_tame(text.as_bytes()) {
        return None;
    }
    let mut lines = Lines { text, at: 0, seen: None, gap: false };
    let first = lines.peek()?;
    if first.indent != 0 {
        return None;
    }
    let node = lines.mapping(0, 0)?;
    // A node takes a byte at least. A tree of more nodes than are allowed is for the full parser to refuse.
    let small = text.len() <= yaml::MAX_NODES || node.size() <= yaml::MAX_NODES;
    (small && lines.peek().is_none()).then_some(node)
}

/// Whether the text is free of characters that YAML treats in a special way anywhere: tabs, control characters, lone
/// carriage returns, exotic line breaks, byte order marks.
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

/// One line with something on it.
#[derive(Clone, Copy)]
struct Line<'a> {
    indent: usize,
    /// Without its indentation, its line break and blanks at its end.
    text: &'a str,
    /// Where `text` starts.
    start: usize,
    /// Where the next line starts.
    next: usize,
}

#[derive(Clone, Copy)]
struct Lines<'a> {
    text: &'a str,
    at: usize,
    /// The line at `at`, if it has been looked at.
    seen: Option<Line<'a>>,
    /// Whether blank lines were passed over to get to it.
    gap: bool,
}

impl<'a> Lines<'a> {
    /// The next line as it stands, blank or not.
    fn raw(&self) -> Option<Line<'a>> {
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
        Some(Line { indent, text: line[indent..].trim_end_matches(' '), start: self.at + indent, next })
    }

    /// The next line that is not blank, without taking it.
    fn peek(&mut self) -> Option<Line<'a>> {
        if self.seen.is_some() {
            return self.seen;
        }
        while let Some(line) = self.raw() {
            if !line.text.is_empty() {
                self.seen = Some(line);
                return self.seen;
            }
            self.gap = true;
            self.at = line.next;
        }
        None
    }

    /// Goes on behind a line.
    fn pass(&mut self, line: &Line<'a>) {
        self.at = line.next;
        self.seen = None;
        self.gap = false;
    }

    /// Pairs that all stand at `indent`.
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
            let key = Node::scalar(&line.text[..length], true, Span::new(line.start, line.start + length));
            let after = &line.text[length + 1..];
            let rest = after.trim_start_matches(' ');
            let value_at = line.start + length + 1 + (after.len() - rest.len());
            self.pass(&line);
            let value = if rest.is_empty() {
                self.below(indent, depth, line.start + length + 1)?
            } else {
                self.inline(rest, value_at, indent)?
            };
            end = value.span.range().end;
            pairs.push((key, value));
        }
        Some(Node { span: Span::new(start, end), value: Value::Map(pairs) })
    }

    /// What stands below a key without a value: a deeper block, a sequence at the key's own indent, or nothing.
    fn below(&mut self, indent: usize, depth: usize, after_key: usize) -> Option<Node<'a>> {
        match self.peek() {
            Some(line) if is_item(line.text) && line.indent >= indent => self.sequence(line.indent, indent),
            Some(line) if line.indent > indent && key_length(line.text).is_some() => {
                self.mapping(line.indent, depth + 1)
            }
            Some(line) if line.indent > indent => {
                self.pass(&line);
                self.several(line.text, line.start, indent)
            }
            _ => Some(Node::scalar("", true, Span::new(after_key, after_key))),
        }
    }

    /// `- item` lines at `indent`, below a key at `parent`.
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
            self.pass(&line);
            let item = self.inline(rest, at, indent)?;
            end = item.span.range().end;
            items.push(item);
        }
        Some(Node { span: Span::new(start, end), value: Value::Seq(items) })
    }

    /// A value that starts on its key's line. `indent` is the key's.
    fn inline(&mut self, rest: &'a str, at: usize, indent: usize) -> Option<Node<'a>> {
        match rest.as_bytes()[0] {
            b'|' | b'>' => return self.block(rest, indent),
            _ if self.goes_on(indent) => return self.several(rest, at, indent),
            _ => {}
        }
        match rest.as_bytes()[0] {
            b'[' => flow_list(rest, at),
            b'"' | b'\'' => quoted(rest, at),
            _ => plain(rest).then(|| Node::scalar(rest, true, Span::new(at, at + rest.len()))),
        }
    }

    /// A plain scalar over several lines, of which `first` has been passed: they fold into one.
    fn several(&mut self, first: &'a str, at: usize, indent: usize) -> Option<Node<'a>> {
        let mut text = String::with_capacity(first.len() * 3);
        let mut next = Some((first, at + first.len()));
        let mut end = at;
        while let Some((line, line_end)) = next {
            // What starts with a letter and holds no mark is text, whatever comes before it.
            if !line.starts_with(char::is_alphanumeric) || !plain(line) {
                return None;
            }
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(line);
            end = line_end;
            next = None;
            if let Some(line) = self.peek().filter(|line| line.indent > indent) {
                // A blank line in between would be a line break in the text: not for here.
                if self.gap {
                    return None;
                }
                self.pass(&line);
                next = Some((line.text, line.start + line.text.len()));
            }
        }
        Some(Node::scalar(text, true, Span::new(at, end)))
    }

    /// Whether the next line could belong to the scalar on this one.
    fn goes_on(&mut self, indent: usize) -> bool {
        self.peek().is_some_and(|line| line.indent > indent)
    }

    /// A `|` or `>` scalar, if all of it is at one indentation and nothing is unusual.
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
                // A blank line: inside a literal it is one, at the end it falls away, folding needs care.
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
                self.pass(&line);
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
            self.pass(&line);
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
        let span = Span::new(first.start, end);
        Some(Node { span, value: Value::Scalar { text: Cow::Owned(text), plain: false } })
    }
}

/// The length of the key if the line is `key:` or `key: value` with a simple key.
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

/// Whether `text` without quotes reads back as that text, be it a number, a boolean or words.
pub(crate) fn stands_plain(text: &str) -> bool {
    !text.is_empty()
        && text.trim_matches(' ') == text
        && !text.contains('\n')
        && !text.starts_with("...")
        && is_tame(text.as_bytes())
        && plain(text)
}

/// Whether `text` without quotes reads back as that text and is not mistaken for a number, a boolean or null.
pub(crate) fn stands_as_text(text: &str) -> bool {
    stands_plain(text) && crate::node::is_text(text)
}

/// Whether this is a one-line plain scalar beyond doubt.
fn plain(text: &str) -> bool {
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

/// A quoted scalar that ends where `text` does and holds no unusual escapes.
fn quoted(text: &str, at: usize) -> Option<Node<'_>> {
    let span = Span::new(at, at + text.len());
    let quote = text.as_bytes()[0];
    let inner = text.get(1..)?.strip_suffix(char::from(quote))?;
    if memchr::memchr2(quote, b'\\', inner.as_bytes()).is_none() {
        return Some(Node::scalar(inner, false, span));
    }
    let unquoted = if quote == b'\'' { single_quoted(inner) } else { double_quoted(inner) };
    unquoted.map(|text| Node::scalar(text, false, span))
}

/// In single quotes, two of them are one and a backslash is a backslash.
fn single_quoted(inner: &str) -> Option<String> {
    let text = inner.replace("''", "\0");
    (!text.contains('\'')).then(|| text.replace('\0', "'"))
}

/// In double quotes, the escapes that people use.
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

/// `[a, "b", c]` of simple scalars.
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
                _ if plain(item) => Node::scalar(item, true, Span::new(start, start + item.len())),
                _ => return None,
            });
        }
    }
    Some(Node { span: Span::new(at, at + text.len()), value: Value::Seq(items) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tame_text() {
        for text in ["", "a: b\n", "a: b\r\nc: d\r\n", "é — 表 🎉 \u{a0}", "\u{2027}\u{202a}\u{feef}\u{fffd}"] {
            assert!(is_tame(text.as_bytes()), "{text:?}");
        }
        for odd in
            ["\t", "\0", "\u{1f}", "\u{7f}", "\r", "\u{80}", "\u{9f}", "\u{2028}", "\u{2029}", "\u{feff}", "\u{fffe}"]
        {
            for text in [odd.to_owned(), format!("é: {odd} b\n"), format!("a: b{odd}")] {
                assert!(!is_tame(text.as_bytes()), "{text:?}");
            }
        }
    }

    /// Either the fast path gives up, or it agrees with the full parser, scalars' places included.
    fn agree(text: &str) -> bool {
        let Some(fast) = parse(text) else { return false };
        match yaml::parse(text) {
            Ok((full, _)) => {
                assert!(fast.same(&full), "{text:?}\nfast {fast:?}\nfull {full:?}");
                same_places(text, &fast, &full);
            }
            Err(failure) => panic!("{text:?}: the fast path read what the full parser refuses: {failure:?}"),
        }
        true
    }

    fn same_places(text: &str, fast: &Node<'_>, full: &Node<'_>) {
        match (&fast.value, &full.value) {
            (Value::Scalar { text: scalar, .. }, Value::Scalar { .. }) if !scalar.is_empty() => {
                assert_eq!(fast.span.start, full.span.start, "{text:?}: {scalar:?}");
            }
            (Value::Seq(a), Value::Seq(b)) => a.iter().zip(b).for_each(|(a, b)| same_places(text, a, b)),
            (Value::Map(a), Value::Map(b)) => a.iter().zip(b).for_each(|((k, v), (l, w))| {
                same_places(text, k, l);
                same_places(text, v, w);
            }),
            _ => {}
        }
    }

    #[test]
    fn reads_what_nearly_every_skill_has() {
        for text in [
            "name: pdf\ndescription: Reads PDF files. Use when: never\n",
            "name: pdf\ndescription: Reads C++ and a:b, x#y (see http://x.y/z).\nversion: 1.0\n",
            "name: 'pdf'\ndescription: \"It's fine: really # yes\"\nlicense: MIT\n",
            "name: pdf\r\ndescription: d\r\nmetadata:\r\n  version: 1.2\r\n  triggers:\r\n    keywords:\r\n      - a b\r\n      - \"c++\"\r\n    verbs: [x, 'y z', \"w\"]\r\n",
            "allowed-tools: [Read, Grep]\ntriggers:\n- a\n- b\nname: x\n",
            "description: |\n  line one\n    more\n\n  line two\nname: x\n",
            "description: >-\n  folded text\n  goes on\nname: x\n",
            "description: >\n  folded\nname: x\n",
            "a:\nb: []\nc: ''\nd:\n  e:\n",
            "description: 处理表格。\nname: 表格\n",
            "description: over\n  two lines, or\n    three\nname:\n  below\n",
            "description: 'the project''s own'\nname: \"say \\\"x\\\" \\\\ or\\n\"\n",
        ] {
            // A colon and a blank in a plain text are for the full parser to refuse.
            assert_eq!(agree(text), !text.contains("when: never"), "{text:?}");
        }
    }

    #[test]
    fn gives_up_on_the_rest() {
        for text in [
            "",
            "- a\n",
            "a: b: c\n",
            "a: b #c\n",
            "a: &x b\n",
            "a: *x\n",
            "a: !t b\n",
            "a: b\n  - c\n",
            "a: b\n\n  c\n",
            "a: {b: c}\n",
            "a: [b\n",
            "a: \"b\\x41\"\n",
            "a: 'it's'\n",
            "a: |2\n  b\n",
            "a: |\n\n  b\n",
            "a: |",
            "a\n",
            "a:b\n",
            "? a\n: b\n",
            "\ta: b\n",
            "a: b\rc: d\n",
            "a: \u{85}\n",
            "a: - b\n",
            "a: \"b\" c\n",
            "a: [b,]\n",
            " a: b\n",
            "a: b\n c: d\n",
            "a: |\n  b",
            "...\n",
            "# c\na: b\n",
        ] {
            assert!(parse(text).is_none(), "{text:?}");
        }
        assert!(parse(&"k: v\n".repeat(2_000)).is_some());
        assert!(parse(&"k: v\n".repeat(3_000)).is_none(), "too many nodes");
    }

    fn fragment() -> impl Strategy<Value = String> {
        let bits = prop::sample::select(vec![
            "a",
            "b",
            "name",
            "description",
            ":",
            ": ",
            " ",
            "  ",
            "\n",
            "\n",
            "\n",
            "\n  ",
            "\n    ",
            "\n- ",
            "\n  - ",
            "- ",
            "[",
            "]",
            ", ",
            "{",
            "}",
            "\"",
            "'",
            "|",
            ">",
            "|-",
            ">-",
            "\n\n",
            "#",
            " #",
            "x y",
            "1.0",
            "é",
            "\r\n",
            "\\",
            "&",
            "*",
            "!",
            "%",
            "@",
            "`",
            "~",
            "...",
            "---",
            "?",
            "? ",
            "\t",
            ":\n",
            ": |\n  ",
            ": >\n  ",
        ]);
        prop::collection::vec(bits, 0..24).prop_map(|bits| bits.concat())
    }

    /// Shapes that the fast path takes, with odd scalars in them.
    fn document() -> impl Strategy<Value = String> {
        let scalar = "[a-z\"'#:,\\-\\[\\]{}|> é&*!%@`~?.\\\\]{0,12}";
        let line = prop_oneof![
            scalar.prop_map(|s| format!("k: {s}\n")),
            scalar.prop_map(|s| format!("k: \"{s}\"\n")),
            scalar.prop_map(|s| format!("k: [{s}, {s}]\n")),
            (scalar, scalar).prop_map(|(a, b)| format!("k:\n  - {a}\n  - {b}\n")),
            (scalar, scalar).prop_map(|(a, b)| format!("k:\n- {a}\n- {b}\n")),
            (scalar, scalar).prop_map(|(a, b)| format!("k: |\n  {a}\n  {b}\n")),
            (scalar, scalar).prop_map(|(a, b)| format!("k: |-\n  {a}\n\n   {b}\n\n")),
            (scalar, scalar).prop_map(|(a, b)| format!("k: >\n  {a}\n  {b}\n")),
            (scalar, scalar).prop_map(|(a, b)| format!("k: x{a}\n  y{b}\n")),
            (scalar, scalar).prop_map(|(a, b)| format!("k: x{a}\n\n  y{b}\n \n")),
            (scalar, scalar).prop_map(|(a, b)| format!("k:\n  x{a}\n   y{b}\n")),
            (scalar, scalar).prop_map(|(a, b)| format!("k:\n  a: {a}\n  b:\n    c: {b}\n")),
        ];
        prop::collection::vec(line, 1..5).prop_map(|lines| lines.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_the_full_parser_on_fragments(text in fragment()) {
            agree(&text);
        }

        #[test]
        fn agrees_with_the_full_parser_on_documents(text in document()) {
            agree(&text);
        }
    }
}
