//! Mending YAML that is broken the way real skills are: line by line, and only lines that are broken by themselves.
//!
//! A strict parse comes first, so that what is valid is never touched. For the rest, each `key: value` (or `- item`)
//! is parsed alone; if it fails alone, its value is put into quotes, which is what its author meant. Tabs in the
//! indentation become blanks, the lines of a quoted text are indented, control characters go. Nothing else changes:
//! the repair is a list of [`Edit`]s of the original bytes, and `lint --fix` applies just those.

use std::ops::{Range, RangeInclusive};

use crate::{fields, flow, split as file, yaml};

/// A replacement of some bytes of the YAML text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced.
    pub range: Range<usize>,
    /// By what.
    pub replacement: String,
    /// Where the trouble is: the character to point at.
    pub at: usize,
    /// What the trouble is.
    pub why: &'static str,
    /// What was made of it.
    pub how: &'static str,
}

/// The repaired text and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repair {
    pub(crate) text: String,
    pub(crate) edits: Vec<Edit>,
}

/// Where a byte of the repaired text stood before.
pub(crate) fn original(edits: &[Edit], at: usize) -> usize {
    let mut shift = 0_isize;
    for edit in edits {
        let start = edit.range.start.saturating_add_signed(shift);
        if at < start {
            break;
        }
        if at < start + edit.replacement.len() {
            return edit.range.start;
        }
        shift += edit.replacement.len().cast_signed() - edit.range.len().cast_signed();
    }
    at.saturating_add_signed(-shift)
}

/// Applies edits, which are sorted and do not overlap.
pub(crate) fn apply(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 16 * edits.len());
    let mut at = 0;
    for edit in edits {
        out.extend_from_slice(&bytes[at..edit.range.start]);
        out.extend_from_slice(edit.replacement.as_bytes());
        at = edit.range.end;
    }
    out.extend_from_slice(&bytes[at..]);
    out
}

/// A quoted text that goes on at the indentation of its key or less. YAML 1.2 forbids it, most readers do not mind.
pub(crate) const UNINDENTED: &str = "a text in quotes goes on without indentation";

/// What needs more edits than this is no front matter with slips. Each becomes a diagnostic, too.
const MAX_EDITS: usize = 500;

/// Tries to mend `text`, which a strict parse refused. `None` if the result would still be broken.
pub(crate) fn repair(text: &str) -> Option<Repair> {
    let mut edits = Vec::new();
    let lines = Line::all(text);
    let mut at = 0;
    while at < lines.len() && edits.len() <= MAX_EDITS {
        at = entry(text, &lines, at, &mut edits);
    }
    remove_controls(text, &mut edits);
    edits.sort_by_key(|edit| edit.range.start);
    // A line that was moved may turn out to be a part of a value that is replaced as a whole.
    let mut end = 0;
    edits.retain(|edit| {
        let is_apart = edit.range.start >= end;
        end = end.max(edit.range.end);
        is_apart
    });
    if edits.is_empty() || edits.len() > MAX_EDITS {
        return None;
    }
    let repaired = String::from_utf8(apply(text.as_bytes(), &edits)).ok()?;
    yaml::parse(&repaired).ok()?;
    // Nothing may turn into the closing line: the front matter ends where its author ended it.
    let closes = Line::all(&repaired).iter().any(|line| file::is_fence(line.text.as_bytes()));
    (!closes).then_some(Repair { text: repaired, edits })
}

/// Control characters that YAML does not allow anywhere. Where a value is replaced anyway, they went with it.
fn remove_controls(text: &str, edits: &mut Vec<Edit>) {
    let mut found = Vec::new();
    edits.sort_by_key(|edit| edit.range.start);
    let mut replaced = edits.iter().map(|edit| edit.range.clone()).peekable();
    for (at, c) in text.char_indices().filter(|(_, c)| is_forbidden(*c)) {
        while replaced.next_if(|range| range.end <= at).is_some() {}
        if found.len() > MAX_EDITS {
            break;
        }
        if !replaced.peek().is_some_and(|range| range.contains(&at)) {
            let why = "a control character";
            let how = "it was left out";
            found.push(Edit { range: at..at + c.len_utf8(), replacement: String::new(), at, why, how });
        }
    }
    edits.extend(found);
}

/// What must not stand in YAML at all.
pub(crate) fn is_forbidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}')) || matches!(c, '\u{FFFE}' | '\u{FFFF}')
}

struct Line<'a> {
    start: usize,
    /// Without line break.
    text: &'a str,
    indent: usize,
}

impl<'a> Line<'a> {
    fn all(text: &'a str) -> Vec<Line<'a>> {
        let mut lines = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let rest = &text[start..];
            let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
            let line = &rest[..length];
            let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
            lines.push(Line { start, text: line, indent });
            let crlf = rest[length..].starts_with("\r\n");
            start += length + if crlf { 2 } else { 1 };
        }
        lines
    }

    fn is_blank(&self) -> bool {
        self.text.len() == self.indent
    }
}

/// Looks at the entry that starts at line `at`, adds the edits it needs, and returns the line after it.
fn entry(text: &str, lines: &[Line<'_>], at: usize, edits: &mut Vec<Edit>) -> usize {
    let line = &lines[at];
    if line.is_blank() || line.text[line.indent..].starts_with('#') {
        return at + 1;
    }
    untab(line, edits);
    let Some((key, value)) = split(line) else { return at + 1 };
    if value.start == value.end {
        return at + 1;
    }
    if let Some(end) = quoted_lines(text, lines, at, value.start) {
        indent(lines, at, end, edits);
        return end + 1;
    }
    // Everything deeper than the key belongs to its value, blank lines between included.
    let mut end = at + 1;
    let mut last = at;
    while end < lines.len() && (lines[end].is_blank() || lines[end].indent > line.indent) {
        if !lines[end].is_blank() {
            last = end;
        }
        end += 1;
    }
    if is_block_header(&text[value.clone()]) {
        return end;
    }
    // A `- key: value` item: what is below may be more pairs of it, to be looked at one by one.
    let below_is_own = key == Kind::Item && last > at && lines[at + 1..=last].iter().any(|l| split(l).is_some());
    if below_is_own {
        last = at;
        end = at + 1;
    }
    if let Some(stray) = stray_key(text, lines, at, last, &value) {
        outdent(lines, at, stray..=last, edits);
        last = lines[at..stray].iter().rposition(|line| !line.is_blank()).map_or(at, |below| at + below);
        end = stray;
    }
    // A bracket that closes may stand below its key, not deeper.
    let closes = |line: &Line<'_>| line.indent == lines[at].indent && line.text[line.indent..].starts_with([']', '}']);
    let until = |last: usize| lines[last].start + lines[last].text.trim_end().len();
    let is_open =
        |last: usize| text[value.clone()].starts_with(['[', '{']) && flow::is_open(&text[value.start..until(last)]);
    while end < lines.len() && closes(&lines[end]) && is_open(last) {
        last = end;
        end += 1;
    }
    let value_end = until(last);
    let whole = &text[value.start..value_end];
    let alone = match key {
        Kind::Pair => format!("k: {}\n", tame(whole)),
        Kind::Item => format!("- {}\n", tame(whole)),
        Kind::Tight => String::from("k:x: y: z"),
    };
    if let Some(edit) = escape(whole, value.start, key) {
        edits.push(edit);
    } else if let Some(closing) = unclosed(line, whole, value.start) {
        edits.extend(closing);
        lines[at + 1..=last].iter().for_each(|line| untab(line, edits));
    } else if yaml::parse(&alone).is_err() {
        let (offset, why) = trouble(whole, key);
        let replacement = match key {
            Kind::Tight => format!(
                " {}",
                if yaml::parse(&format!("k: {whole}\n")).is_ok() { whole.to_owned() } else { quote(whole) }
            ),
            _ => quote(whole),
        };
        let how = if key == Kind::Tight { "it was read with one" } else { "it was read as if the value were quoted" };
        edits.push(Edit { range: value.start..value_end, replacement, at: value.start + offset, why, how });
    } else {
        for line in &lines[at + 1..=last] {
            untab(line, edits);
        }
    }
    end
}

/// The first line below a value that is a field of its own, indented by mistake: YAML has no mapping below a value, and read
/// as a part of the value the field would be lost. Below plain text a line such as `version: 2 and up` may be more text; it
/// is a field there only if a tab indents it.
fn stray_key(text: &str, lines: &[Line<'_>], at: usize, last: usize, value: &Range<usize>) -> Option<usize> {
    let key = |line: &Line<'_>| {
        let content = &line.text[line.indent..];
        matches!(split(line), Some((Kind::Pair, _))) && content.split(':').next().is_some_and(fields::is_field)
    };
    let own = &text[value.clone()];
    let is_text = !own.starts_with(['[', '{', '"', '\'', '@', '`', '%', '*', '&', '!']);
    let is_stray = |line: &Line<'_>| key(line) && (!is_text || line.text.starts_with('\t'));
    (at + 1..=last).find(|below| is_stray(&lines[*below]))
}

/// Moves lines out to the indentation of line `at`, as far as the first of them is deeper.
fn outdent(lines: &[Line<'_>], at: usize, below: RangeInclusive<usize>, edits: &mut Vec<Edit>) {
    // Where line `at` itself was moved to, if it was.
    let moved = edits.iter().find(|edit| edit.range.start == lines[at].start).map(|edit| edit.replacement.clone());
    let outer = moved.unwrap_or_else(|| lines[at].text[..lines[at].indent].replace('\t', "  "));
    let deeper = lines[*below.start()].indent;
    for line in lines[below].iter().filter(|line| !line.is_blank()) {
        let rest = line.text[deeper.min(line.indent)..line.indent].replace('\t', "  ");
        edits.retain(|edit| edit.range.start != line.start);
        edits.push(Edit {
            range: line.start..line.start + line.indent,
            replacement: format!("{outer}{rest}"),
            at: line.start + line.indent,
            why: "a field is indented below the value of another",
            how: "it was read as a field of its own",
        });
    }
}

/// Closes a list or a mapping, as in `allowed-tools: [Read, Write`, where nothing else is due.
fn unclosed(line: &Line<'_>, whole: &str, start: usize) -> Option<Vec<Edit>> {
    let key = line.text[line.indent..].split(':').next()?;
    let is_due = fields::is_list(key) || (whole.starts_with('{') && fields::is_mapping(key));
    if !is_due || !whole.starts_with(['[', '{']) || yaml::parse(&format!("k: {}\n", tame(whole))).is_ok() {
        return None;
    }
    let is_list = whole.starts_with('[');
    let why = if is_list { "a list that is not closed" } else { "a mapping that is not closed" };
    let how = "it was read as if closed";
    let edit = |(range, replacement): flow::Change| Edit { at: range.end, range, replacement, why, how };
    let mut edits: Vec<_> = flow::close(whole)?.into_iter().map(edit).collect();
    let closed = String::from_utf8(apply(whole.as_bytes(), &edits)).ok()?;
    yaml::parse(&format!("k: {}\n", tame(&closed))).ok()?;
    for edit in &mut edits {
        edit.range = edit.range.start + start..edit.range.end + start;
        edit.at += start;
    }
    Some(edits)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `key: value`
    Pair,
    /// `- value`
    Item,
    /// `key:value`, where the blank was forgotten
    Tight,
}

/// Keys after which a forgotten blank is surely forgotten.
const TIGHT: [&str; 3] = ["name", "description", "version"];

/// Where the value of a line stands.
fn split(line: &Line<'_>) -> Option<(Kind, Range<usize>)> {
    let content = &line.text[line.indent..];
    let from = line.start + line.indent;
    let end = line.start + line.text.trim_end().len();
    if let Some(rest) = content.strip_prefix("- ") {
        let skip = content.len() - rest.trim_start().len();
        return Some((Kind::Item, (from + skip).min(end)..end));
    }
    let length = content.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')))?;
    let rest = content[length..].strip_prefix(':')?;
    if length == 0 {
        return None;
    }
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        let tight = line.indent == 0 && TIGHT.contains(&&content[..length]);
        return tight.then_some((Kind::Tight, from + length + 1..end));
    }
    let skip = content.len() - rest.trim_start().len();
    Some((Kind::Pair, (from + skip).min(end)..end))
}

/// The line on which the quoted text ends that starts at byte `start` of line `at`: if it is a later line, and the
/// text cannot be meant otherwise.
fn quoted_lines(text: &str, lines: &[Line<'_>], at: usize, start: usize) -> Option<usize> {
    let quote = text[start..].chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let closing = start + flow::closing(&text[start..], quote)? - 1;
    let end = at + lines[at..].iter().take_while(|line| line.start <= closing).count() - 1;
    let behind = lines[end].text[closing + 1 - lines[end].start..].trim();
    let meant = (behind.is_empty() || behind.starts_with('#'))
        && lines[at + 1..=end].iter().all(|line| {
            let rest = line.text.strip_prefix("---").or_else(|| line.text.strip_prefix("..."));
            let ends_document = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
            let is_key = matches!(split(line), Some((Kind::Pair | Kind::Tight, _)));
            line.indent > lines[at].indent || (!is_key && !ends_document)
        });
    (end > at && meant).then_some(end)
}

/// Indents the lines after `at` up to `end` that are not indented enough.
fn indent(lines: &[Line<'_>], at: usize, end: usize, edits: &mut Vec<Edit>) {
    for line in &lines[at + 1..=end] {
        let blanks = line.text.len() - line.text.trim_start_matches(' ').len();
        if !line.is_blank() && blanks <= lines[at].indent {
            edits.push(Edit {
                range: line.start..line.start + line.indent,
                replacement: " ".repeat(lines[at].indent + 2),
                at: line.start + line.indent,
                why: UNINDENTED,
                how: "it was read as if indented",
            });
        }
    }
}

fn is_block_header(value: &str) -> bool {
    let header = value.split(" #").next().unwrap_or(value).trim_end();
    let mut chars = header.chars();
    matches!(chars.next(), Some('|' | '>')) && chars.all(|c| matches!(c, '+' | '-' | '1'..='9'))
}

/// Tabs in the indentation become two blanks each.
fn untab(line: &Line<'_>, edits: &mut Vec<Edit>) {
    let indentation = &line.text[..line.indent];
    let is_moved = edits.iter().rev().any(|edit| edit.range.start == line.start);
    if let Some(tab) = indentation.find('\t').filter(|_| !is_moved) {
        edits.push(Edit {
            range: line.start..line.start + line.indent,
            replacement: indentation.replace('\t', "  "),
            at: line.start + tab,
            why: "a tab in the indentation",
            how: "it was read as two blanks",
        });
    }
}

/// A text in double quotes with a backslash that starts no escape, such as `"C:\Users"`: its backslashes are meant.
fn escape(value: &str, start: usize, key: Kind) -> Option<Edit> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    let mut replacement = String::with_capacity(value.len() + 4);
    let mut trouble = None;
    let mut chars = inner.char_indices().peekable();
    replacement.push('"');
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return None,
            '\\' => {
                let next = chars.next_if(|(_, next)| matches!(next, '"' | '\\'));
                trouble = trouble.or((next.is_none()).then_some(start + 1 + at));
                replacement.push('\\');
                replacement.push(next.map_or('\\', |(_, next)| next));
            }
            '\t' => replacement.push(' '),
            _ if is_forbidden(c) => {}
            _ => replacement.push(c),
        }
    }
    replacement.push('"');
    let broken = |text: &str| yaml::parse(&format!("k: {text}\n")).is_err();
    if key == Kind::Tight || !broken(value) || broken(&replacement) {
        return None;
    }
    let why = "a backslash that starts no escape";
    let how = "the backslashes were read as they stand";
    Some(Edit { range: start..start + value.len(), replacement, at: trouble?, why, how })
}

/// What is wrong with a value that does not parse, and where in it.
fn trouble(value: &str, key: Kind) -> (usize, &'static str) {
    if key == Kind::Tight {
        return (0, "no blank after the colon");
    }
    let first = value.chars().next().unwrap_or(' ');
    match first {
        '@' => return (0, "an unquoted value cannot start with `@`"),
        '`' => return (0, "an unquoted value cannot start with a backtick"),
        '%' => return (0, "an unquoted value cannot start with `%`"),
        '*' => return (0, "an unquoted `*` means an alias"),
        '&' => return (0, "an unquoted `&` means an anchor"),
        '[' | '{' => return (0, "an unquoted bracket starts a list or a mapping, and it is not one"),
        '"' | '\'' => return (0, "text stands after the closing quote, or the quote is not closed"),
        '|' | '>' => return (0, "text stands behind the mark of a block scalar"),
        _ => {}
    }
    if let Some(colon) = value.find(": ").or_else(|| value.ends_with(':').then(|| value.len() - 1)) {
        return (colon, "an unquoted `: ` inside the value");
    }
    (0, "the value needs quotes")
}

/// A value without what has a repair of its own.
fn tame(value: &str) -> String {
    value.chars().filter(|c| !is_forbidden(*c)).map(|c| if c == '\t' { ' ' } else { c }).collect()
}

/// The value in double quotes, its line breaks as they are: they fold as those of plain text do.
fn quote(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\t' => out.push(' '),
            _ if is_forbidden(c) => {}
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    fn mended(text: &str) -> String {
        assert!(yaml::parse(text).is_err(), "{text:?} is not broken");
        let repair = repair(text).unwrap_or_else(|| panic!("{text:?} was not repaired"));
        serde_json::to_string(&yaml::parse(&repair.text).unwrap().0).unwrap()
    }

    #[test]
    fn the_classes_found_in_the_wild() {
        assert_eq!(mended("a: Use when: x\nb: c\n"), r#"{"a":"Use when: x","b":"c"}"#);
        assert_eq!(mended("a: @x `y`\n"), r#"{"a":"@x `y`"}"#);
        assert_eq!(mended("a: `x` does y\n"), r#"{"a":"`x` does y"}"#);
        assert_eq!(mended("a: [x] [y]\n"), r#"{"a":"[x] [y]"}"#);
        assert_eq!(mended("a: \"x\" and y\n"), r#"{"a":"\"x\" and y"}"#);
        assert_eq!(mended("a: *\n"), r#"{"a":"*"}"#);
        assert_eq!(mended("a: {{x}} y\n"), r#"{"a":"{{x}} y"}"#);
        assert_eq!(mended("a:\n\tb: c\n\td: e\n"), r#"{"a":{"b":"c","d":"e"}}"#);
        assert_eq!(
            mended("a: Use when\n  he says: x\n  or \"y\\z\"\nb: c\n"),
            r#"{"a":"Use when he says: x or \"y\\z\"","b":"c"}"#
        );
        assert_eq!(mended("a: > Use it\nb: c\n"), r#"{"a":"> Use it","b":"c"}"#);
        assert_eq!(mended("k:\n  - @x\n  - y\n"), r#"{"k":["@x","y"]}"#);
        assert_eq!(mended("a: x: y\r\nb: z\r\n"), r#"{"a":"x: y","b":"z"}"#);
        assert_eq!(mended("name:pdf\ndescription: d\n"), r#"{"name":"pdf","description":"d"}"#);
        assert_eq!(mended("a: ends with:\nb: c\n"), r#"{"a":"ends with:","b":"c"}"#);
        assert_eq!(mended("a: x\u{0}y\nb: @\u{1b}z\n"), r#"{"a":"xy","b":"@z"}"#);
        assert_eq!(mended("a: x: y\rb: z\r"), r#"{"a":"x: y","b":"z"}"#);
        assert_eq!(mended("a: \"C:\\Users\\new \\\"x\\\"\"\n"), r#"{"a":"C:\\Users\\new \"x\""}"#);
    }

    #[test]
    fn fields_that_are_indented_by_mistake_stay_fields() {
        assert_eq!(
            mended("argument-hint: [x] [y]\n\tversion: 1.0\n\tlicense: MIT\nb: c\n"),
            r#"{"argument-hint":"[x] [y]","version":1.0,"license":"MIT","b":"c"}"#
        );
        assert_eq!(
            mended("argument-hint: [x] [y]\n  metadata:\n    version: @1\n"),
            r#"{"argument-hint":"[x] [y]","metadata":{"version":"@1"}}"#
        );
        assert_eq!(mended("description: Reads.\n\tversion: 1.0\n"), r#"{"description":"Reads.","version":1.0}"#);
        // Text goes on as text.
        assert_eq!(mended("description: Reads\n  version: 2 and up\n"), r#"{"description":"Reads version: 2 and up"}"#);
        assert_eq!(mended("a: [x] [y]\n  says: z\n"), r#"{"a":"[x] [y] says: z"}"#);
    }

    #[test]
    fn lists_that_are_not_closed_are_lists() {
        assert_eq!(mended("allowed-tools: [read, write\nb: c\n"), r#"{"allowed-tools":["read","write"],"b":"c"}"#);
        assert_eq!(mended("m:\n  keywords: [a,\n    b\n"), r#"{"m":{"keywords":["a","b"]}}"#);
        assert_eq!(mended("argument-hint: [file\n"), r#"{"argument-hint":"[file"}"#);
        let both = r#"{"allowed-tools":["read","write"],"b":"c"}"#;
        for text in [
            "allowed-tools: [\"read\", \"write\nb: c\n",
            "allowed-tools: [\"read\", \"write]\nb: c\n",
            "allowed-tools: [\"read\", 'write # both\nb: c\n",
            "allowed-tools: [\"read, \"write\"]\nb: c\n",
            "allowed-tools: [read, write}\nb: c\n",
            "allowed-tools: [read, write # both of them, really\nb: c\n",
            "allowed-tools: [read, # one: reading\n  # version: 2\n  write # two\n\nb: c\n",
            "allowed-tools: [\n\tread,\n\t'write\nb: c\n",
            "allowed-tools: [\n  read, # one\n  \"write\n]\nb: c\n",
        ] {
            assert_eq!(mended(text), both, "{text}");
        }
        // A list that is closed on the key's own level stays one beside a line that is broken.
        assert_eq!(
            mended("allowed-tools: [\n  read,\n  write\n]\na: Use when: x\n"),
            r#"{"allowed-tools":["read","write"],"a":"Use when: x"}"#
        );
        assert_eq!(
            mended("allowed-tools: [@x/y, Bash(git add:*)\nb: c\n"),
            r#"{"allowed-tools":["@x/y","Bash(git add:*)"],"b":"c"}"#
        );
        assert_eq!(
            mended("triggers: {keywords: [a, 'b c'\nb: c\n"),
            r#"{"triggers":{"keywords":["a","b c"]},"b":"c"}"#
        );
        assert_eq!(
            mended("metadata: {version: 1.0, author: me\nb: c\n"),
            r#"{"metadata":{"version":1.0,"author":"me"},"b":"c"}"#
        );
    }

    #[test]
    fn quoted_texts_may_go_on_anywhere() {
        assert_eq!(mended("a: \"one\ntwo\"\nb: c\n"), r#"{"a":"one two","b":"c"}"#);
        assert_eq!(mended("a: 'one\n\n\ttwo''s' # x\nb: c\n"), r#"{"a":"one\ntwo's","b":"c"}"#);
        assert_eq!(mended("m:\n  a: 'one\n  two'\n"), r#"{"m":{"a":"one two"}}"#);
        assert_eq!(mended("k:\n- \"one\ntwo\"\n"), r#"{"k":["one two"]}"#);
        // An apostrophe is not the end of a text that the next line's value ends.
        assert_eq!(mended("a: 'tis\nb: 'x'\n"), r#"{"a":"'tis","b":"x"}"#);
    }

    #[test]
    fn block_scalars_and_good_lines_are_left_alone() {
        let text = "a: |\n  x: y: z\n  @b\nc: d: e\nf: 'g'\n";
        let repair = repair(text).unwrap();
        assert_eq!(repair.text, "a: |\n  x: y: z\n  @b\nc: \"d: e\"\nf: 'g'\n");
        assert_eq!(repair.edits.len(), 1);
    }

    #[test]
    fn hopeless_text_stays_broken() {
        for text in ["<<<<<<< HEAD\na: b\n=======\n", "a: b\nsome words\n", "a: b\n\0---\nc: d\n"] {
            assert!(repair(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn places_lead_back_to_the_original() {
        let text = "a: b: c\nd: e: f\ng: h\n";
        let repair = repair(text).unwrap();
        let at = repair.text.find("g: h").unwrap();
        assert_eq!(original(&repair.edits, at), text.find("g: h").unwrap());
        assert_eq!(original(&repair.edits, 1), 1);
        assert_eq!(repair.edits[0].at, 4, "the second colon");
    }

    use proptest::prelude::*;

    proptest! {
        /// Whatever is wrong with the values, no field is swallowed by another, before or after the repair.
        #[test]
        fn no_field_is_lost(lines in proptest::collection::vec((0_usize..VALUES.len(), 0_usize..3), 1..KEYS.len())) {
            let mut text = String::new();
            let mut before_is_text = true;
            for (number, (value, depth)) in lines.iter().enumerate() {
                // Blanks below plain text are more of it; a tab never is.
                let indent = match depth {
                    1 if number > 0 => "\t",
                    2 if number > 0 && !before_is_text => "  ",
                    _ => "",
                };
                before_is_text = !VALUES[*value].starts_with(['[', '{', '"', '\'', '@', '`', '%', '*', '&', '!']);
                let _ = writeln!(text, "{indent}{}: {}", KEYS[number], VALUES[*value]);
            }
            let mended = match yaml::parse(&text) {
                Ok(_) => text.clone(),
                Err(_) => repair(&text).map_or_else(String::new, |repair| repair.text),
            };
            prop_assert!(!mended.is_empty(), "not repaired: {text:?}");
            let tree = yaml::parse(&mended).unwrap().0;
            for key in &KEYS[..lines.len()] {
                prop_assert!(tree.get(key).is_some(), "{key} is lost: {text:?} became {mended:?}");
            }
        }
    }

    const KEYS: [&str; 8] =
        ["name", "description", "argument-hint", "allowed-tools", "version", "license", "requires", "model"];
    const VALUES: [&str; 17] = [
        "[a, b",
        "[\"a\", \"b",
        "{a, b",
        "[a, 'b # both",
        "{a: [b",
        "pdf",
        "1.0",
        "Use when: x",
        "[x] [y]",
        "{{x}} y",
        "@x",
        "`x` y",
        "\"x\" and y",
        "'tis",
        "\"quoted\"",
        "[a, b]",
        "*",
    ];
}
