//! Edits of JSON with comments. Positions come from a parser; text is only inserted or cut out, never written anew, so that
//! every byte that is not ours stays.

use std::ops::Range;

use jsonc_parser::ast::{self, Object};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::error::TextFault;

/// The text of a document without members.
pub(super) const EMPTY: &str = "{}\n";

/// A list of objects, or of values, in which something is put or found.
#[derive(Clone, Copy)]
enum Container<'t, 'a> {
    Object(&'t Object<'a>),
    Array(&'t ast::Array<'a>),
}

impl Container<'_, '_> {
    fn range(self) -> Range<usize> {
        match self {
            Container::Object(object) => object.range.start..object.range.end,
            Container::Array(array) => array.range.start..array.range.end,
        }
    }

    fn items(self) -> Vec<Range<usize>> {
        let range = |range: jsonc_parser::common::Range| range.start..range.end;
        match self {
            Container::Object(object) => object.properties.iter().map(|property| range(property.range)).collect(),
            Container::Array(array) => array.elements.iter().map(|element| range(element.range())).collect(),
        }
    }
}

fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn parse(text: &str) -> Result<Option<ast::Value<'_>>, TextFault> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options());
    parsed
        .map(|parsed| parsed.value)
        .map_err(|error| TextFault::Syntax { at: error.range().start, message: error.kind().to_string() })
}

/// Fails if a text cannot be parsed, or is not an object.
pub(super) fn check(text: &str) -> Result<(), TextFault> {
    match parse(text)? {
        None | Some(ast::Value::Object(_)) => Ok(()),
        Some(other) => Err(wrong_kind(&other, "", "an object")),
    }
}

/// Returns whether a text has no members and no comments.
pub(super) fn is_blank(text: &str) -> bool {
    let rest: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    rest.is_empty() || rest == "{}"
}

fn wrong_kind(value: &ast::Value<'_>, key: &str, wanted: &'static str) -> TextFault {
    let key = if key.is_empty() { "the document" } else { key };
    TextFault::Shape { at: value.range().start, key: key.to_owned(), wanted }
}

/// Of equal keys the last counts, as for every reader of JSON.
fn member<'t, 'a>(object: &'t Object<'a>, key: &str) -> Option<&'t ast::ObjectProp<'a>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == key)
}

/// Returns the object at a path, as far as it is there: the deepest object, and the keys that are missing below it.
fn walk<'t, 'a, 'k>(
    root: &'t ast::Value<'a>,
    path: &'k [&'k str],
) -> Result<(&'t Object<'a>, &'k [&'k str]), TextFault> {
    let mut at = root.as_object().ok_or_else(|| wrong_kind(root, "", "an object"))?;
    for (depth, key) in path.iter().enumerate() {
        match member(at, key) {
            None => return Ok((at, &path[depth..])),
            Some(property) => match property.value.as_object() {
                Some(object) => at = object,
                None => return Err(wrong_kind(&property.value, &path[..=depth].join("."), "an object")),
            },
        }
    }
    Ok((at, &[]))
}

/// Returns the member of the object at a path.
pub(super) fn get(text: &str, path: &[&str], key: &str) -> Result<Option<Value>, TextFault> {
    let Some(root) = parse(text)? else { return Ok(None) };
    let (object, missing) = walk(&root, path)?;
    Ok(if missing.is_empty() { member(object, key).map(|property| plain(&property.value)) } else { None })
}

/// Puts a member into the object at a path: replaces its value, or appends it. Objects on the way are made.
pub(super) fn put(text: &str, path: &[&str], key: &str, value: &Value) -> Result<String, TextFault> {
    let text = with_root(text)?;
    let Some(root) = parse(&text)? else { return Err(TextFault::Unsafe) };
    let (object, missing) = walk(&root, path)?;
    if missing.is_empty()
        && let Some(property) = member(object, key)
    {
        return Ok(replaced(&text, &property.value, value));
    }
    let mut keys = missing.iter().copied().chain([key]);
    // `chain` gives at least one.
    let first = keys.next().unwrap_or(key);
    let nested = keys.rev().fold(value.clone(), |inner, key| Value::from_iter([(key.to_owned(), inner)]));
    Ok(appended(&text, Container::Object(object), Some(first), &nested))
}

/// Returns the elements of the list at a path. The last key is the list's.
pub(super) fn elements(text: &str, path: &[&str]) -> Result<Vec<Value>, TextFault> {
    let Some(root) = parse(text)? else { return Ok(Vec::new()) };
    Ok(list(&root, path)?.map(|list| list.elements.iter().map(plain).collect()).unwrap_or_default())
}

fn list<'t, 'a>(root: &'t ast::Value<'a>, path: &[&str]) -> Result<Option<&'t ast::Array<'a>>, TextFault> {
    let Some((key, above)) = path.split_last() else { return Ok(None) };
    let (object, missing) = walk(root, above)?;
    if !missing.is_empty() {
        return Ok(None);
    }
    let Some(property) = member(object, key) else { return Ok(None) };
    let array = property.value.as_array().ok_or_else(|| wrong_kind(&property.value, &path.join("."), "a list"))?;
    Ok(Some(array))
}

/// Appends an element to the list at a path, which is made if it is missing.
pub(super) fn push(text: &str, path: &[&str], value: &Value) -> Result<String, TextFault> {
    let text = with_root(text)?;
    let Some(root) = parse(&text)? else { return Err(TextFault::Unsafe) };
    if let Some(array) = list(&root, path)? {
        return Ok(appended(&text, Container::Array(array), None, value));
    }
    let Some((key, above)) = path.split_last() else { return Err(TextFault::Unsafe) };
    put(&text, above, key, &Value::from(vec![value.clone()]))
}

/// A way to a value: a key of an object, or a position in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'k> {
    Key(&'k str),
    At(usize),
}

fn descend<'t, 'a>(root: &'t ast::Value<'a>, steps: &[Step<'_>]) -> Option<&'t ast::Value<'a>> {
    steps.iter().try_fold(root, |value, step| match step {
        Step::Key(key) => Some(&member(value.as_object()?, key)?.value),
        Step::At(at) => value.as_array()?.elements.get(*at),
    })
}

/// Replaces the value at the end of some steps.
pub(super) fn replace(text: &str, steps: &[Step<'_>], value: &Value) -> Result<String, TextFault> {
    let root = parse(text)?;
    let found = root.as_ref().and_then(|root| descend(root, steps)).ok_or(TextFault::Unsafe)?;
    Ok(replaced(text, found, value))
}

/// Cuts out the value at the end of some steps, with its key and its comma.
pub(super) fn cut(text: &str, steps: &[Step<'_>]) -> Result<String, TextFault> {
    let root = parse(text)?;
    let (last, above) = steps.split_last().ok_or(TextFault::Unsafe)?;
    let above = root.as_ref().and_then(|root| descend(root, above)).ok_or(TextFault::Unsafe)?;
    let (container, at) = match (above, last) {
        (ast::Value::Object(object), Step::Key(key)) => {
            let at = object.properties.iter().rposition(|property| property.name.as_str() == *key);
            (Container::Object(object), at.ok_or(TextFault::Unsafe)?)
        }
        (ast::Value::Array(array), Step::At(at)) if *at < array.elements.len() => (Container::Array(array), *at),
        _ => return Err(TextFault::Unsafe),
    };
    Ok(without(text, container, at))
}

/// Cuts out the empty objects and lists along a path that `before` does not have, deepest first, and gives empty ones that it
/// has their former blanks.
pub(super) fn prune(text: &str, path: &[&str], before: &str) -> Result<String, TextFault> {
    let mut text = text.to_owned();
    let old = parse(before).unwrap_or_default();
    // The document itself, at depth 0, is never cut out.
    for depth in (0..=path.len()).rev() {
        let steps: Vec<Step<'_>> = path[..depth].iter().map(|key| Step::Key(key)).collect();
        let Some(inner) = empty_at(parse(&text)?.as_ref(), &steps) else { continue };
        match empty_at(old.as_ref(), &steps).map(|former| &before[former]) {
            Some(former) if former.trim() == text[inner.clone()].trim() => text.replace_range(inner, former),
            None if depth == 0 && text[inner.clone()].trim().is_empty() => text.replace_range(inner, ""),
            None if depth > 0 && text[inner].trim().is_empty() && !is_there(old.as_ref(), &steps) => {
                text = cut(&text, &steps)?;
            }
            _ => {}
        }
    }
    Ok(text)
}

fn is_there(root: Option<&ast::Value<'_>>, steps: &[Step<'_>]) -> bool {
    root.is_some_and(|root| descend(root, steps).is_some())
}

/// Returns what is between the brackets of an object or a list without items.
fn empty_at(root: Option<&ast::Value<'_>>, steps: &[Step<'_>]) -> Option<Range<usize>> {
    let value = descend(root?, steps)?;
    let is_empty = match value {
        ast::Value::Object(object) => object.properties.is_empty(),
        ast::Value::Array(array) => array.elements.is_empty(),
        _ => false,
    };
    is_empty.then(|| inside(value)).flatten()
}

/// Returns the range between the brackets of an object or a list.
fn inside(value: &ast::Value<'_>) -> Option<Range<usize>> {
    let is_container = matches!(value, ast::Value::Object(_) | ast::Value::Array(_));
    is_container.then(|| value.range().start + 1..value.range().end - 1)
}

/// Returns the text with a document in it.
fn with_root(text: &str) -> Result<String, TextFault> {
    if parse(text)?.is_some() {
        return Ok(text.to_owned());
    }
    if text.trim().is_empty() {
        return Ok(EMPTY.to_owned());
    }
    // Comments alone.
    let newline = if text.ends_with('\n') { "" } else { newline_of(text) };
    Ok(format!("{text}{newline}{EMPTY}"))
}

fn newline_of(text: &str) -> &'static str {
    let first = text.find('\n');
    if first.is_some_and(|at| text[..at].ends_with('\r')) { "\r\n" } else { "\n" }
}

/// Returns the blanks at the start of the line that a position is on.
fn indent_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns one level of indentation, as the document has it.
fn unit(text: &str) -> &str {
    let first = text.split('\n').skip(1).find(|line| !line.trim().is_empty() && line.starts_with([' ', '\t']));
    first.map_or("  ", |line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()])
}

/// Returns a value over several lines; those after the first begin with `indent`.
fn pretty(value: &Value, indent: &str, unit: &str, newline: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    // Values serialise, and into UTF-8.
    let _ = serde::Serialize::serialize(value, &mut serializer);
    String::from_utf8(bytes).unwrap_or_default().replace('\n', &format!("{newline}{indent}"))
}

/// Returns the text with a value in place of another.
fn replaced(text: &str, old: &ast::Value<'_>, value: &Value) -> String {
    let range = old.range().start..old.range().end;
    let mut out = text.to_owned();
    let is_wide = text[range.clone()].contains('\n') || !matches!(old, ast::Value::Object(_) | ast::Value::Array(_));
    let new = if is_wide {
        pretty(value, indent_at(text, range.start), unit(text), newline_of(text))
    } else {
        value.to_string()
    };
    out.replace_range(range, &new);
    out
}

/// Returns the text with one item more at the end of a container, in the style of the items before.
fn appended(text: &str, container: Container<'_, '_>, key: Option<&str>, value: &Value) -> String {
    let range = container.range();
    let (open, close) = (range.start + 1, range.end - 1);
    let items = container.items();
    let end = open + text[open..close].trim_end().len();
    let newline = newline_of(text);
    let outer = indent_at(text, range.start);
    let is_wide = match items.first() {
        Some(first) => text[open..first.start].contains('\n') || text[end..close].contains('\n'),
        None => true,
    };
    let indent = match items.first() {
        Some(first) if text[open..first.start].contains('\n') => indent_at(text, first.start).to_owned(),
        _ => format!("{outer}{}", unit(text)),
    };
    let key = key.map(|key| Value::from(key).to_string() + ": ").unwrap_or_default();
    let mut out = text.to_owned();
    let comma = items.last().map(|last| comma_after(text, last.end, close));
    let trail = if matches!(comma, Some(Some(_))) { "," } else { "" };
    let item = if is_wide {
        let value = pretty(value, &indent, unit(text), newline);
        // An empty container on one line is opened.
        let closing = if items.is_empty() && !text[open..close].contains('\n') {
            format!("{newline}{outer}")
        } else {
            String::new()
        };
        format!("{newline}{indent}{key}{value}{trail}{closing}")
    } else {
        format!(" {key}{value}{trail}")
    };
    out.insert_str(end, &item);
    if let (Some(None), Some(last)) = (comma, items.last()) {
        out.insert(last.end, ',');
    }
    out
}

/// Returns the position of the comma behind an item, if there is one.
fn comma_after(text: &str, from: usize, close: usize) -> Option<usize> {
    let mut at = from;
    while at < close {
        let rest = &text[at..close];
        let c = rest.chars().next()?;
        if c == ',' {
            return Some(at);
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if c.is_whitespace() {
            at += c.len_utf8();
        } else {
            return None;
        }
    }
    None
}

/// Returns the text without one item of a container: the inverse of [`appended`].
fn without(text: &str, container: Container<'_, '_>, at: usize) -> String {
    let range = container.range();
    let (open, close) = (range.start + 1, range.end - 1);
    let items = container.items();
    let item = items[at].clone();
    let mut out = text.to_owned();
    let (end, former) = match (comma_after(text, item.end, close), at.checked_sub(1)) {
        (Some(comma), _) => (comma + 1, None),
        (None, Some(before)) => (item.end, comma_after(text, items[before].end, item.start)),
        (None, None) => (item.end, None),
    };
    // With the blanks before it, unless what follows on this line would become part of a comment.
    let blanks = open + text[open..item.start].trim_end().len();
    let rest = text[end..].trim_start_matches([' ', '\t', '\r']);
    let last = at.checked_sub(1).map_or(open, |before| items[before].end);
    let ends_comment = !rest.starts_with('\n') && is_in_line_comment(&text[last..blanks]);
    out.replace_range(if ends_comment { item.start } else { blanks }..end, "");
    if let Some(comma) = former {
        out.remove(comma);
    }
    out
}

/// Returns whether blanks, commas and comments end inside a comment that goes on to the end of its line.
fn is_in_line_comment(trivia: &str) -> bool {
    let mut rest = trivia;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            let Some(end) = rest.find('\n') else { return true };
            rest = &rest[end..];
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
        } else {
            rest = &rest[c.len_utf8()..];
        }
    }
    false
}

/// Returns a parsed value as a plain one.
fn plain(value: &ast::Value<'_>) -> Value {
    match value {
        ast::Value::StringLit(text) => Value::from(text.value.as_ref()),
        ast::Value::NumberLit(number) => serde_json::from_str(number.value).unwrap_or(Value::Null),
        ast::Value::BooleanLit(boolean) => Value::from(boolean.value),
        ast::Value::Object(object) => object
            .properties
            .iter()
            .map(|property| (property.name.as_str().to_owned(), plain(&property.value)))
            .collect(),
        ast::Value::Array(array) => array.elements.iter().map(plain).collect(),
        ast::Value::NullKeyword(_) => Value::Null,
    }
}
