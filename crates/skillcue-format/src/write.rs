//! Writes trees as YAML: block style, quotes only where they are needed, stable.

use std::fmt::Write;

use crate::node::{Node, Value};

/// Writes a tree as block YAML. Reading it again gives a tree that means the same; writing that one gives the same
/// bytes.
///
/// ```
/// use skillcue_format::{Parsed, FileKind, write};
///
/// let parsed = Parsed::of(b"---\nname: pdf\ndescription: 'Reads: PDF'\ntags: [a, b]\n---\n", FileKind::Markdown);
/// assert_eq!(write::block(&parsed.raw.unwrap()), "name: pdf\ndescription: \"Reads: PDF\"\ntags:\n  - a\n  - b\n");
/// ```
pub fn block(node: &Node<'_>) -> String {
    let mut out = String::new();
    match &node.value {
        Value::Map(pairs) if !pairs.is_empty() => mapping(&mut out, pairs, 0),
        Value::Seq(items) if !items.is_empty() => sequence(&mut out, items, 0),
        _ => {
            out.push_str(&flow(node));
            out.push('\n');
        }
    }
    out
}

/// Writes a tree on one line.
pub(crate) fn flow(node: &Node<'_>) -> String {
    match &node.value {
        Value::Scalar { text, plain } => scalar(text, *plain),
        Value::Seq(items) => format!("[{}]", items.iter().map(flow_inside).collect::<Vec<_>>().join(", ")),
        Value::Map(pairs) => {
            let pairs: Vec<_> = pairs.iter().map(|(k, v)| format!("{}: {}", flow_inside(k), flow_inside(v))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

/// Writes a tree inside brackets, where more characters need quotes.
fn flow_inside(node: &Node<'_>) -> String {
    match &node.value {
        Value::Scalar { text, plain } if text.contains([',', '[', ']', '{', '}', ':', '#', '?']) || text.is_empty() => {
            if *plain && text.is_empty() {
                "null".to_owned()
            } else {
                quote(text)
            }
        }
        _ => flow(node),
    }
}

fn mapping(out: &mut String, pairs: &[(Node<'_>, Node<'_>)], indent: usize) {
    for (key, value) in pairs {
        pad(out, indent);
        pair(out, key, value, indent);
    }
}

fn pair(out: &mut String, key: &Node<'_>, value: &Node<'_>, indent: usize) {
    let simple = matches!(&key.value, Value::Scalar { text, .. } if text.len() < 200);
    if simple {
        out.push_str(&flow_inside(key));
    } else {
        // A key that is a collection or long needs YAML's explicit form.
        let _ = write!(out, "? {}\n{}", flow_inside(key), " ".repeat(indent));
    }
    out.push(':');
    match &value.value {
        Value::Map(pairs) if !pairs.is_empty() => {
            out.push('\n');
            mapping(out, pairs, indent + 2);
        }
        Value::Seq(items) if !items.is_empty() => {
            out.push('\n');
            sequence(out, items, indent + 2);
        }
        Value::Scalar { text, plain: true } if text.is_empty() => out.push('\n'),
        _ => {
            let _ = writeln!(out, " {}", flow(value));
        }
    }
}

fn sequence(out: &mut String, items: &[Node<'_>], indent: usize) {
    for item in items {
        pad(out, indent);
        match &item.value {
            Value::Map(pairs) if !pairs.is_empty() => {
                out.push_str("- ");
                pair(out, &pairs[0].0, &pairs[0].1, indent + 2);
                mapping(out, &pairs[1..], indent + 2);
            }
            Value::Scalar { text, plain: true } if text.is_empty() => out.push_str("- null\n"),
            _ => {
                let _ = writeln!(out, "- {}", flow(item));
            }
        }
    }
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Writes a scalar in block context: plain where that reads back as the same text, else in double quotes.
pub(crate) fn scalar(text: &str, plain: bool) -> String {
    if plain && text.is_empty() {
        return "null".to_owned();
    }
    let reads_back = if plain { crate::plain::is_plain_scalar(text) } else { crate::plain::is_plain_text(text) };
    if reads_back { text.to_owned() } else { quote(text) }
}

/// Writes a double-quoted scalar on one line.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
