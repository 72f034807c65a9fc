//! The raw YAML tree: every key and value the author wrote, with its place, nothing interpreted.

use std::borrow::Cow;
use std::ops::Range;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use twox_hash::XxHash3_128;

/// One YAML value and where it stands (bytes of the parsed text).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node<'a> {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub value: Value<'a>,
}

/// A byte range. `u32`s, because skill files are at most 1 MiB and trees are many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Span {
        let narrow = |at| u32::try_from(at).unwrap_or(u32::MAX);
        Span { start: narrow(start), end: narrow(end) }
    }

    /// As a range to slice with.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// What a [`Node`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    /// A text, as written: `1.10` stays `1.10`.
    Scalar {
        /// The text, unquoted and unfolded.
        text: Cow<'a, str>,
        /// Whether it stood there without quotes. Only then can it be a number, a boolean or null.
        plain: bool,
    },
    /// A list.
    Seq(Vec<Node<'a>>),
    /// Pairs, in the author's order, duplicates included.
    Map(Vec<(Node<'a>, Node<'a>)>),
}

/// What a plain scalar means under YAML's core schema.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meaning {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text,
}

impl<'a> Node<'a> {
    pub(crate) fn scalar(text: impl Into<Cow<'a, str>>, plain: bool, span: Span) -> Node<'a> {
        Node { span, value: Value::Scalar { text: text.into(), plain } }
    }

    /// The text of a scalar.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether it is YAML's null: nothing, `~` or `null`.
    pub fn is_null(&self) -> bool {
        match &self.value {
            Value::Scalar { text, plain: true } => meaning(text) == Meaning::Null,
            _ => false,
        }
    }

    /// The pairs of a mapping, else none.
    pub fn entries(&self) -> &[(Node<'a>, Node<'a>)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a sequence, else none.
    pub fn items(&self) -> &[Node<'a>] {
        match &self.value {
            Value::Seq(items) => items,
            _ => &[],
        }
    }

    /// The value of a mapping's first key of that name.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.entries().iter().find(|(k, _)| k.as_str() == Some(key)).map(|(_, v)| v)
    }

    /// The same tree, owning its text.
    pub fn into_owned(self) -> Node<'static> {
        let value = match self.value {
            Value::Scalar { text, plain } => Value::Scalar { text: Cow::Owned(text.into_owned()), plain },
            Value::Seq(items) => Value::Seq(items.into_iter().map(Node::into_owned).collect()),
            Value::Map(entries) => {
                Value::Map(entries.into_iter().map(|(k, v)| (k.into_owned(), v.into_owned())).collect())
            }
        };
        Node { span: self.span, value }
    }

    /// How many nodes it is, itself and all below it.
    pub(crate) fn size(&self) -> usize {
        1 + match &self.value {
            Value::Scalar { .. } => 0,
            Value::Seq(items) => items.iter().map(Node::size).sum(),
            Value::Map(entries) => entries.iter().map(|(key, value)| key.size() + value.size()).sum(),
        }
    }

    /// Whether both say the same, wherever they stand.
    pub fn same(&self, other: &Node<'_>) -> bool {
        match (&self.value, &other.value) {
            (Value::Scalar { text: a, plain: p }, Value::Scalar { text: b, plain: q }) => a == b && p == q,
            (Value::Seq(a), Value::Seq(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|((k, v), (l, w))| k.same(l) && v.same(w))
            }
            _ => false,
        }
    }

    /// A 128-bit digest of what the tree says. Comments, blanks and quoting style that do not change the meaning do
    /// not change it.
    pub fn digest(&self) -> u128 {
        let mut bytes = Vec::with_capacity(1024);
        self.feed(&mut bytes);
        XxHash3_128::oneshot(&bytes)
    }

    // Each node is a tag, a length and its content, so that no two trees give the same bytes.
    fn feed(&self, out: &mut Vec<u8>) {
        match &self.value {
            Value::Scalar { text, plain } => {
                out.push(if *plain { b'p' } else { b'q' });
                out.extend_from_slice(&narrow(text.len()));
                out.extend_from_slice(text.as_bytes());
            }
            Value::Seq(items) => {
                out.push(b's');
                out.extend_from_slice(&narrow(items.len()));
                for item in items {
                    item.feed(out);
                }
            }
            Value::Map(entries) => {
                out.push(b'm');
                out.extend_from_slice(&narrow(entries.len()));
                for (key, value) in entries {
                    key.feed(out);
                    value.feed(out);
                }
            }
        }
    }
}

/// A length as bytes. Everything here came out of a file of at most 1 MiB.
fn narrow(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}

/// Whether a plain scalar is just text. Also wary of what older YAML takes for booleans.
pub(crate) fn is_text(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    meaning(text) == Meaning::Text
        && !is_number(text)
        && !matches!(lower.as_str(), "yes" | "no" | "on" | "off" | "y" | "n")
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'))
        && text.parse::<f64>().is_ok()
}

/// Resolves a plain scalar by YAML 1.2's core schema.
fn meaning(text: &str) -> Meaning {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Meaning::Null,
        "true" | "True" | "TRUE" => return Meaning::Bool(true),
        "false" | "False" | "FALSE" => return Meaning::Bool(false),
        _ => {}
    }
    if !is_number(text) {
        return Meaning::Text;
    }
    // A number that would be written otherwise (`1.10`, `007`, `1e3`) stays the text that its author wrote.
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(int), _) if int.to_string() == text => Meaning::Int(int),
        (_, Ok(float)) if format!("{float:?}") == text => Meaning::Float(float),
        _ => Meaning::Text,
    }
}

/// As JSON: numbers, booleans and nulls where YAML's core schema has them; of duplicate keys the first.
impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Scalar { text, plain } => match if *plain { meaning(text) } else { Meaning::Text } {
                Meaning::Null => serializer.serialize_unit(),
                Meaning::Bool(value) => serializer.serialize_bool(value),
                Meaning::Int(value) => serializer.serialize_i64(value),
                Meaning::Float(value) => serializer.serialize_f64(value),
                Meaning::Text => serializer.serialize_str(text),
            },
            Value::Seq(items) => {
                let mut out = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    out.serialize_element(item)?;
                }
                out.end()
            }
            Value::Map(entries) => {
                let mut out = serializer.serialize_map(None)?;
                for (at, (key, value)) in entries.iter().enumerate() {
                    if !is_repeated(entries, at) {
                        out.serialize_entry(&key_text(key), value)?;
                    }
                }
                out.end()
            }
        }
    }
}

/// Whether the key of entry `at` has stood before. Quadratic, but over what was bounded when it was parsed. A null key is
/// `null`, and no other text: `:` and `"": ` in one mapping are two keys, before and after writing.
pub(crate) fn is_repeated(entries: &[(Node<'_>, Node<'_>)], at: usize) -> bool {
    let key = &entries[at].0;
    let text = key_text(key);
    if key.as_str().is_none() {
        return entries[..at].iter().any(|(earlier, _)| key_text(earlier) == text);
    }
    // What a scalar means is looked at last: it takes longer than comparing texts.
    let is_same = |earlier: &Node<'_>| {
        earlier.as_str().is_some_and(|own| (own == text || text == "null") && key_text(earlier) == text)
    };
    entries[..at].iter().any(|(earlier, _)| is_same(earlier))
}

/// JSON has text keys only; a key that is a collection is written out as YAML would flow it.
fn key_text<'n>(key: &'n Node<'_>) -> Cow<'n, str> {
    match &key.value {
        Value::Scalar { .. } if key.is_null() => Cow::Borrowed("null"),
        Value::Scalar { text, .. } => Cow::Borrowed(text),
        _ => Cow::Owned(crate::write::flow(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Node<'_> {
        Node::scalar(text, true, Span::default())
    }

    #[test]
    fn json_resolves_plain_scalars_only() {
        let json = |node: &Node<'_>| serde_json::to_string(node).unwrap();
        assert_eq!(json(&plain("1")), "1");
        assert_eq!(json(&plain("-1.5")), "-1.5");
        assert_eq!(json(&plain("~")), "null");
        assert_eq!(json(&plain("true")), "true");
        assert_eq!(json(&plain("1.0")), "1.0");
        for text in ["1.10", "007", "+1", "1e3", "1e999", ".5", "-0"] {
            assert_eq!(json(&plain(text)), format!("{text:?}"), "not the text that was written");
        }
        assert_eq!(json(&plain("1.2.3")), "\"1.2.3\"");
        assert_eq!(json(&Node::scalar("1", false, Span::default())), "\"1\"");
    }

    #[test]
    fn digests_tell_trees_apart() {
        let nested = Node { span: Span::default(), value: Value::Seq(vec![plain("a"), plain("b")]) };
        let one = Node { span: Span::default(), value: Value::Seq(vec![plain("ab")]) };
        assert_ne!(nested.digest(), one.digest());
        assert_ne!(plain("1").digest(), Node::scalar("1", false, Span::default()).digest());
    }
}
