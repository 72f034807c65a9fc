//! Edits of TOML. Positions come from `toml_edit`; text is only inserted or cut out: `toml_edit` itself would write Unix line
//! ends into a file that has others.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::Value;
use toml_edit::{Document, Item, Table, TableLike};

use super::error::TextFault;

fn parse(text: &str) -> Result<Document<&str>, TextFault> {
    Document::parse(text).map_err(|error| TextFault::Syntax {
        at: error.span().map_or(0, |span| span.start),
        message: error.message().lines().next().unwrap_or_default().to_owned(),
    })
}

/// Fails if a text cannot be parsed.
pub(super) fn check(text: &str) -> Result<(), TextFault> {
    parse(text).map(drop)
}

/// Returns the member of the table at a path.
pub(super) fn get(text: &str, path: &[&str], key: &str) -> Result<Option<Value>, TextFault> {
    let document = parse(text)?;
    Ok(table_at(&document, path)?.and_then(|table| table.get(key)).map(plain))
}

/// Returns whether the document has a key at its top.
pub(super) fn has(text: &str, key: &str) -> bool {
    parse(text).is_ok_and(|document| document.contains_key(key))
}

fn table_at<'d>(document: &'d Document<&str>, path: &[&str]) -> Result<Option<&'d dyn TableLike>, TextFault> {
    let mut at: &dyn TableLike = document.as_table();
    for (depth, key) in path.iter().enumerate() {
        let Some(item) = at.get(key) else { return Ok(None) };
        let wrong = || {
            let (at, key) = (item.span().map_or(0, |span| span.start), path[..=depth].join("."));
            TextFault::Shape { at, key, wanted: "a table" }
        };
        at = item.as_table_like().ok_or_else(wrong)?;
    }
    Ok(Some(at))
}

/// Returns the elements of the list at a path: tables below `[[…]]`, or a list in one piece.
pub(super) fn elements(text: &str, path: &[&str]) -> Result<Vec<Value>, TextFault> {
    let Some((key, above)) = path.split_last() else { return Ok(Vec::new()) };
    let document = parse(text)?;
    let Some(item) = table_at(&document, above)?.and_then(|table| table.get(key)) else { return Ok(Vec::new()) };
    if let Value::Array(elements) = plain(item) {
        return Ok(elements);
    }
    let at = item.span().map_or(0, |span| span.start);
    Err(TextFault::Shape { at, key: path.join("."), wanted: "a list" })
}

/// Puts a table into the table at a path: below a header of its own at the end, or where the tables around it are.
pub(super) fn put(text: &str, path: &[&str], key: &str, value: &Value) -> Result<String, TextFault> {
    let document = parse(text)?;
    let name = path.iter().copied().chain([key]).collect::<Vec<_>>().join(".");
    let parent = table_at(&document, path)?;
    let item = (!path.is_empty()).then(|| item_at(&document, path)).flatten();
    let put = match (item, parent) {
        (Some(Item::Value(inline)), Some(parent)) => {
            let span = inline.span().ok_or(TextFault::Unsafe)?;
            let close = span.end - 1;
            let end = span.start + 1 + text[span.start + 1..close].trim_end().len();
            let mut out = text.to_owned();
            let comma = if parent.is_empty() || text[..end].ends_with(',') { " " } else { ", " };
            let after = if parent.is_empty() { " " } else { "" };
            out.insert_str(end, &format!("{comma}{key} = {}{after}", inline_table(value)));
            out
        }
        // Keys such as `mcp_servers.other.command`: a header would define the table twice.
        (Some(Item::Table(table)), _) if table.is_dotted() => {
            let last = last_value_end(table).ok_or(TextFault::Unsafe)?;
            let end = text[last..].find('\n').map_or(text.len(), |newline| last + newline + 1);
            let newline = newline_of(text);
            let first = if text[..end].ends_with('\n') { "" } else { newline };
            let mut out = text.to_owned();
            out.insert_str(end, &format!("{first}{name} = {}{newline}", inline_table(value)));
            out
        }
        _ => with_block(text, &format!("[{name}]\n{}", quoted(value))),
    };
    check_same(text, &put)?;
    Ok(put)
}

/// Puts a hook at the end: a group `[[path]]` with one hook in it.
pub(super) fn push_hook(text: &str, path: &[&str], hook: &Value) -> Result<String, TextFault> {
    let name = path.join(".");
    let out = with_block(text, &format!("[[{name}]]\n\n[[{name}.hooks]]\n{}", quoted(hook)));
    check_same(text, &out)?;
    Ok(out)
}

/// Fails if a text with something of ours cannot be parsed, or has lost something.
fn check_same(before: &str, after: &str) -> Result<(), TextFault> {
    let after = plain_table(parse(after).map_err(|_| TextFault::Unsafe)?.as_table());
    if contains(&after, &plain_table(parse(before)?.as_table())) { Ok(()) } else { Err(TextFault::Unsafe) }
}

/// Returns whether a value has all of another one.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| contains(whole, part)))
        }
        (Value::Array(whole), Value::Array(part)) => part.len() <= whole.len() && *part == whole[..part.len()],
        _ => whole == part,
    }
}

fn newline_of(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Returns the text with a block of lines at its end, behind an empty line.
fn with_block(text: &str, block: &str) -> String {
    let newline = newline_of(text);
    let gap = match text {
        "" => String::new(),
        text if text.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    };
    format!("{text}{gap}{}", block.replace('\n', newline))
}

fn item_at<'d>(document: &'d Document<&str>, path: &[&str]) -> Option<&'d Item> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(document.get(first)?, |item, key| item.get(key))
}

/// Cuts out a table, with its header and the tables below it.
pub(super) fn cut(text: &str, path: &[&str], key: &str) -> Result<String, TextFault> {
    let document = parse(text)?;
    let parent = table_at(&document, path)?.ok_or(TextFault::Unsafe)?;
    let item = parent.get(key).ok_or(TextFault::Unsafe)?;
    let out = match item {
        Item::Table(table) if !table.is_dotted() => {
            let mut ranges = Vec::new();
            table_ranges(text, table, &mut ranges);
            without(text, ranges)
        }
        Item::Value(value) => {
            let span = value.span().ok_or(TextFault::Unsafe)?;
            let is_inline = item_at(&document, path).is_some_and(Item::is_value);
            let line = text[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
            if is_inline {
                let (name, _) = parent.get_key_value(key).ok_or(TextFault::Unsafe)?;
                let start = name.span().ok_or(TextFault::Unsafe)?.start;
                let before = text[..start].trim_end();
                let rest = &text[span.end..];
                let after = span.end + rest.len() - rest.trim_start().len();
                let mut out = text.to_owned();
                if before.ends_with(',') {
                    out.replace_range(before.len() - 1..span.end, "");
                } else if text[after..].starts_with(',') {
                    out.replace_range(start..=after, "");
                } else {
                    out.replace_range(before.len()..after, "");
                }
                out
            } else {
                let end = text[span.end..].find('\n').map_or(text.len(), |newline| span.end + newline + 1);
                without(text, std::iter::once(line..end))
            }
        }
        _ => return Err(TextFault::Unsafe),
    };
    check(&out).map_err(|_| TextFault::Unsafe)?;
    if get(&out, path, key)?.is_some() { Err(TextFault::Unsafe) } else { Ok(out) }
}

/// Cuts out a group of hooks, or one hook of it.
pub(super) fn cut_hook(text: &str, path: &[&str], group: usize, inner: Option<usize>) -> Result<String, TextFault> {
    let document = parse(text)?;
    let groups = item_at(&document, path).and_then(Item::as_array_of_tables).ok_or(TextFault::Unsafe)?;
    let group = groups.get(group).ok_or(TextFault::Unsafe)?;
    let table = match inner {
        None => group,
        Some(inner) => {
            let hooks = group.get("hooks").and_then(Item::as_array_of_tables).ok_or(TextFault::Unsafe)?;
            hooks.get(inner).ok_or(TextFault::Unsafe)?
        }
    };
    let mut ranges = Vec::new();
    table_ranges(text, table, &mut ranges);
    let out = without(text, ranges);
    check(&out).map_err(|_| TextFault::Unsafe)?;
    Ok(out)
}

/// Returns the end of the last value in a table and the tables below it that have no header of their own.
fn last_value_end(table: &Table) -> Option<usize> {
    let ends = table.iter().filter_map(|(_, item)| match item {
        Item::Value(value) => Some(value.span()?.end),
        Item::Table(table) if table.is_dotted() => last_value_end(table),
        _ => None,
    });
    ends.max()
}

/// Collects the lines of a table and of all tables below it: each from its header to its last value.
fn table_ranges(text: &str, table: &Table, ranges: &mut Vec<Range<usize>>) {
    if let Some(header) = table.span().filter(|_| !table.is_dotted() && !table.is_implicit()) {
        let last = last_value_end(table).unwrap_or(header.end).max(header.end);
        let start = text[..header.start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[last..].find('\n').map_or(text.len(), |newline| last + newline + 1);
        ranges.push(start..end);
    }
    for (_, item) in table {
        match item {
            Item::Table(below) => table_ranges(text, below, ranges),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|below| table_ranges(text, below, ranges)),
            _ => {}
        }
    }
}

/// Returns the text without some ranges of whole lines, each with one empty line before it.
fn without(text: &str, ranges: impl IntoIterator<Item = Range<usize>>) -> String {
    let mut ranges: Vec<Range<usize>> = ranges.into_iter().collect();
    ranges.sort_by_key(|range| range.start);
    let mut out = text.to_owned();
    for range in ranges.into_iter().rev() {
        let before = &out[..range.start];
        let is_gap = before.ends_with("\n\n") || before.ends_with("\n\r\n") || before == "\n" || before == "\r\n";
        let gap = if !is_gap {
            0
        } else if before.ends_with("\r\n") {
            2
        } else {
            1
        };
        out.replace_range(range.start - gap..range.end, "");
    }
    out
}

/// Returns the members of an object as lines of TOML, in the order in which people write them.
pub(super) fn quoted(value: &Value) -> String {
    let mut out = String::new();
    for (key, value) in members(value) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{key} = {}", one_value(value));
    }
    out
}

fn inline_table(value: &Value) -> String {
    let members: Vec<String> =
        members(value).into_iter().map(|(key, value)| format!("{key} = {}", one_value(value))).collect();
    format!("{{ {} }}", members.join(", "))
}

/// Returns the members of an object, those that name a program first.
fn members(value: &Value) -> Vec<(&String, &Value)> {
    let mut members: Vec<_> = value.as_object().into_iter().flatten().collect();
    let rank = |key: &str| ["type", "command", "args", "url"].iter().position(|known| *known == key).unwrap_or(9);
    members.sort_by_key(|(key, _)| rank(key));
    members
}

fn one_value(value: &Value) -> String {
    match value {
        Value::Object(_) => inline_table(value),
        Value::Array(values) => format!("[{}]", values.iter().map(one_value).collect::<Vec<_>>().join(", ")),
        // A JSON string is a basic string of TOML, but for one character.
        other => other.to_string().replace('\u{7f}', "\\u007f"),
    }
}

/// Returns an item as a plain value.
fn plain(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => plain_value(value),
        Item::Table(table) => plain_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(plain_table).collect(),
    }
}

fn plain_table(table: &Table) -> Value {
    table.iter().map(|(key, item)| (key.to_owned(), plain(item))).collect()
}

fn plain_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => Value::from(*number.value()),
        toml_edit::Value::Boolean(boolean) => Value::from(*boolean.value()),
        toml_edit::Value::Datetime(time) => Value::from(time.value().to_string()),
        toml_edit::Value::Array(array) => array.iter().map(plain_value).collect(),
        toml_edit::Value::InlineTable(table) => {
            table.iter().map(|(key, value)| (key.to_owned(), plain_value(value))).collect()
        }
    }
}
