//! Repairs YAML that is broken the way real skills are: line by line, and only lines that are broken by themselves.
//!
//! A strict parse comes first, so that valid YAML is never changed. For the rest, each `key: value` (or `- item`)
//! is parsed alone; if it fails alone, its value is put into quotes, which is what its author meant. Tabs in the
//! indentation become blanks, the lines of a quoted text are indented, control characters go. Nothing else changes:
//! the repair is a list of [`Edit`]s of the original bytes, and `lint --fix` applies just those.

use std::ops::{Range, RangeInclusive};

use crate::{fields, flow, split as file, yaml};

/// A replacement of some bytes of the YAML text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that are replaced.
    pub range: Range<usize>,
    /// The new text.
    pub replacement: String,
    /// The offset of the mistake: the character to point at.
    pub at: usize,
    /// The mistake.
    pub why: &'static str,
    /// The reading that was assumed instead.
    pub how: &'static str,
}

/// The repaired text and its edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repair {
    pub(crate) text: String,
    pub(crate) edits: Vec<Edit>,
}

/// Maps an offset in the repaired text to the original text.
pub(crate) fn original_offset(edits: &[Edit], at: usize) -> usize {
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

/// Maximum number of edits: a text that needs more is not front matter with slips. Each becomes a diagnostic, too.
const MAX_EDITS: usize = 500;

/// Tries to repair `text`, which a strict parse refused. `None` if the result would still be broken.
pub(crate) fn repair(text: &str) -> Option<Repair> {
    let mut edits = Vec::new();
    let lines = YamlLine::all(text);
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
    let closes = YamlLine::all(&repaired).iter().any(|line| file::is_fence(line.text.as_bytes()));
    (!closes).then_some(Repair { text: repaired, edits })
}

/// Removes control characters that YAML does not allow anywhere, except in values that are replaced anyway.
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

/// Returns whether YAML forbids a character everywhere.
pub(crate) fn is_forbidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}')) || matches!(c, '\u{FFFE}' | '\u{FFFF}')
}

/// One line of the broken text.
struct YamlLine<'a> {
    start: usize,
    /// Without line break.
    text: &'a str,
    indent: usize,
}

impl<'a> YamlLine<'a> {
    fn all(text: &'a str) -> Vec<YamlLine<'a>> {
        let mut lines = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let rest = &text[start..];
            let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
            let line = &rest[..length];
            let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
            lines.push(YamlLine { start, text: line, indent });
            let crlf = rest[length..].starts_with("\r\n");
            start += length + if crlf { 2 } else { 1 };
        }
        lines
    }

    fn is_blank(&self) -> bool {
        self.text.len() == self.indent
    }
}

/// Checks the entry that starts at line `at`, adds the edits it needs, and returns the line after it.
fn entry(text: &str, lines: &[YamlLine<'_>], at: usize, edits: &mut Vec<Edit>) -> usize {
    let line = &lines[at];
    if line.is_blank() || line.text[line.indent..].starts_with('#') {
        return at + 1;
    }
    expand_tabs(line, edits);
    let Some((key, value)) = split_entry(line) else { return at + 1 };
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
    // A `- key: value` item: the lines below may be more pairs of it, to be checked one by one.
    let below_is_own =
        key == EntryForm::Item && last > at && lines[at + 1..=last].iter().any(|l| split_entry(l).is_some());
    if below_is_own {
        last = at;
        end = at + 1;
    }
    if let Some(stray) = stray_key(text, lines, at, last, &value) {
        outdent(lines, at, stray..=last, edits);
        last = lines[at..stray].iter().rposition(|line| !line.is_blank()).map_or(at, |below| at + below);
        end = stray;
    }
    // A closing bracket may be at the indentation of its key.
    let closes =
        |line: &YamlLine<'_>| line.indent == lines[at].indent && line.text[line.indent..].starts_with([']', '}']);
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
        EntryForm::Pair => format!("k: {}\n", without_tabs_and_controls(whole)),
        EntryForm::Item => format!("- {}\n", without_tabs_and_controls(whole)),
        EntryForm::Tight => String::from("k:x: y: z"),
    };
    if let Some(edit) = escape(whole, value.start, key) {
        edits.push(edit);
    } else if let Some(closing) = unclosed(line, whole, value.start) {
        edits.extend(closing);
        lines[at + 1..=last].iter().for_each(|line| expand_tabs(line, edits));
    } else if yaml::parse(&alone).is_err() {
        let (offset, why) = diagnose(whole, key);
        let replacement = match key {
            EntryForm::Tight => format!(
                " {}",
                if yaml::parse(&format!("k: {whole}\n")).is_ok() { whole.to_owned() } else { quote(whole) }
            ),
            _ => quote(whole),
        };
        let how =
            if key == EntryForm::Tight { "it was read with one" } else { "it was read as if the value were quoted" };
        edits.push(Edit { range: value.start..value_end, replacement, at: value.start + offset, why, how });
    } else {
        for line in &lines[at + 1..=last] {
            expand_tabs(line, edits);
        }
    }
    end
}

/// Returns the first line below a value that is a field of its own, indented by mistake: YAML has no mapping below a
/// value, and read as a part of the value the field would be lost. Below plain text a line such as `version: 2 and up`
/// may be more text; it is a field there only if a tab indents it.
fn stray_key(text: &str, lines: &[YamlLine<'_>], at: usize, last: usize, value: &Range<usize>) -> Option<usize> {
    let key = |line: &YamlLine<'_>| {
        let content = &line.text[line.indent..];
        matches!(split_entry(line), Some((EntryForm::Pair, _)))
            && content.split(':').next().is_some_and(fields::is_field)
    };
    let own = &text[value.clone()];
    let is_text = !own.starts_with(['[', '{', '"', '\'', '@', '`', '%', '*', '&', '!']);
    let is_stray = |line: &YamlLine<'_>| key(line) && (!is_text || line.text.starts_with('\t'));
    (at + 1..=last).find(|below| is_stray(&lines[*below]))
}

/// Moves lines to the indentation of line `at`, as far as the first of them is deeper.
fn outdent(lines: &[YamlLine<'_>], at: usize, below: RangeInclusive<usize>, edits: &mut Vec<Edit>) {
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

/// Closes a list or a mapping, as in `allowed-tools: [Read, Write`, where the field can be nothing else.
fn unclosed(line: &YamlLine<'_>, whole: &str, start: usize) -> Option<Vec<Edit>> {
    let key = line.text[line.indent..].split(':').next()?;
    let is_due = fields::is_list(key) || (whole.starts_with('{') && fields::is_mapping(key));
    if !is_due
        || !whole.starts_with(['[', '{'])
        || yaml::parse(&format!("k: {}\n", without_tabs_and_controls(whole))).is_ok()
    {
        return None;
    }
    let is_list = whole.starts_with('[');
    let why = if is_list { "a list that is not closed" } else { "a mapping that is not closed" };
    let how = "it was read as if closed";
    let edit = |(range, replacement): flow::Replacement| Edit { at: range.end, range, replacement, why, how };
    let mut edits: Vec<_> = flow::close(whole)?.into_iter().map(edit).collect();
    let closed = String::from_utf8(apply(whole.as_bytes(), &edits)).ok()?;
    yaml::parse(&format!("k: {}\n", without_tabs_and_controls(&closed))).ok()?;
    for edit in &mut edits {
        edit.range = edit.range.start + start..edit.range.end + start;
        edit.at += start;
    }
    Some(edits)
}

/// The form of a line that has a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryForm {
    /// `key: value`
    Pair,
    /// `- value`
    Item,
    /// `key:value`, where the blank was forgotten
    Tight,
}

/// Keys after which a missing blank is surely a mistake.
const TIGHT: [&str; 3] = ["name", "description", "version"];

/// Returns the form of a line and the range of its value.
fn split_entry(line: &YamlLine<'_>) -> Option<(EntryForm, Range<usize>)> {
    let content = &line.text[line.indent..];
    let from = line.start + line.indent;
    let end = line.start + line.text.trim_end().len();
    if let Some(rest) = content.strip_prefix("- ") {
        let skip = content.len() - rest.trim_start().len();
        return Some((EntryForm::Item, (from + skip).min(end)..end));
    }
    let length = content.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')))?;
    let rest = content[length..].strip_prefix(':')?;
    if length == 0 {
        return None;
    }
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        let tight = line.indent == 0 && TIGHT.contains(&&content[..length]);
        return tight.then_some((EntryForm::Tight, from + length + 1..end));
    }
    let skip = content.len() - rest.trim_start().len();
    Some((EntryForm::Pair, (from + skip).min(end)..end))
}

/// Returns the line on which the quoted text ends that starts at byte `start` of line `at`: if it is a later line, and
/// the text has no other reading.
fn quoted_lines(text: &str, lines: &[YamlLine<'_>], at: usize, start: usize) -> Option<usize> {
    let quote = text[start..].chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let closing = start + flow::quoted_length(&text[start..], quote)? - 1;
    let end = at + lines[at..].iter().take_while(|line| line.start <= closing).count() - 1;
    let behind = lines[end].text[closing + 1 - lines[end].start..].trim();
    let meant = (behind.is_empty() || behind.starts_with('#'))
        && lines[at + 1..=end].iter().all(|line| {
            let rest = line.text.strip_prefix("---").or_else(|| line.text.strip_prefix("..."));
            let ends_document = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
            let is_key = matches!(split_entry(line), Some((EntryForm::Pair | EntryForm::Tight, _)));
            line.indent > lines[at].indent || (!is_key && !ends_document)
        });
    (end > at && meant).then_some(end)
}

/// Indents the lines after `at` up to `end` that are not indented enough.
fn indent(lines: &[YamlLine<'_>], at: usize, end: usize, edits: &mut Vec<Edit>) {
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

/// Replaces each tab in the indentation by two blanks.
fn expand_tabs(line: &YamlLine<'_>, edits: &mut Vec<Edit>) {
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

/// Escapes the backslashes of a text in double quotes in which one starts no escape, such as `"C:\Users"`: they are
/// meant literally.
fn escape(value: &str, start: usize, key: EntryForm) -> Option<Edit> {
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
    if key == EntryForm::Tight || !broken(value) || broken(&replacement) {
        return None;
    }
    let why = "a backslash that starts no escape";
    let how = "the backslashes were read literally";
    Some(Edit { range: start..start + value.len(), replacement, at: trouble?, why, how })
}

/// Returns what is wrong with a value that does not parse, and where in it.
fn diagnose(value: &str, key: EntryForm) -> (usize, &'static str) {
    if key == EntryForm::Tight {
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
        '"' | '\'' => return (0, "there is text after the closing quote, or the quote is not closed"),
        '|' | '>' => return (0, "there is text after the sign that starts a block of text"),
        _ => {}
    }
    if let Some(colon) = value.find(": ").or_else(|| value.ends_with(':').then(|| value.len() - 1)) {
        return (colon, "an unquoted `: ` inside the value");
    }
    (0, "the value needs quotes")
}

/// Returns a value without the characters that have a repair of their own.
fn without_tabs_and_controls(value: &str) -> String {
    value.chars().filter(|c| !is_forbidden(*c)).map(|c| if c == '\t' { ' ' } else { c }).collect()
}

/// Returns the value in double quotes, its line breaks unchanged: they fold as those of plain text do.
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
#[path = "repair_tests.rs"]
mod tests;
