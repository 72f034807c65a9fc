//! The raw YAML tree: every key and value the author wrote, with its place, nothing interpreted.

use std::borrow::Cow;
use std::ops::Range;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use twox_hash::XxHash3_128;

/// One YAML value and its position (bytes of the parsed text).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node<'a> {
    /// Its position.
    pub span: ByteRange,
    /// Its content.
    pub value: Value<'a>,
}

/// A byte range. `u32`s, because skill files are at most 1 MiB and trees are many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByteRange {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl ByteRange {
    pub(crate) fn new(start: usize, end: usize) -> ByteRange {
        let narrow = |at| u32::try_from(at).unwrap_or(u32::MAX);
        ByteRange { start: narrow(start), end: narrow(end) }
    }

    /// Returns it as a range to slice with.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The content of a [`Node`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    /// A text, as written: `1.10` stays `1.10`.
    Scalar {
        /// The text, unquoted and unfolded.
        text: Cow<'a, str>,
        /// Whether it was written without quotes. Only then can it be a number, a boolean or null.
        plain: bool,
    },
    /// A list.
    Seq(Vec<Node<'a>>),
    /// Pairs, in the author's order, duplicates included.
    Map(Vec<(Node<'a>, Node<'a>)>),
}

/// The value of a plain scalar under YAML's core schema.
#[derive(Debug, Clone, Copy, PartialEq)]
enum CoreScalar {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text,
}

impl<'a> Node<'a> {
    pub(crate) fn scalar(text: impl Into<Cow<'a, str>>, plain: bool, span: ByteRange) -> Node<'a> {
        Node { span, value: Value::Scalar { text: text.into(), plain } }
    }

    /// Returns the text of a scalar.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Returns whether it is YAML's null: nothing, `~` or `null`.
    pub fn is_null(&self) -> bool {
        match &self.value {
            Value::Scalar { text, plain: true } => meaning(text) == CoreScalar::Null,
            _ => false,
        }
    }

    /// Returns the pairs of a mapping, else none.
    pub fn entries(&self) -> &[(Node<'a>, Node<'a>)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the items of a sequence, else none.
    pub fn items(&self) -> &[Node<'a>] {
        match &self.value {
            Value::Seq(items) => items,
            _ => &[],
        }
    }

    /// Returns the value of a mapping's first key of that name.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.entries().iter().find(|(k, _)| k.as_str() == Some(key)).map(|(_, v)| v)
    }

    /// Returns the tree with its text owned.
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

    /// Returns the number of nodes: itself and all below it.
    pub(crate) fn size(&self) -> usize {
        1 + match &self.value {
            Value::Scalar { .. } => 0,
            Value::Seq(items) => items.iter().map(Node::size).sum(),
            Value::Map(entries) => entries.iter().map(|(key, value)| key.size() + value.size()).sum(),
        }
    }

    /// Returns whether both have the same content, regardless of their positions.
    pub fn is_equivalent(&self, other: &Node<'_>) -> bool {
        match (&self.value, &other.value) {
            (Value::Scalar { text: a, plain: p }, Value::Scalar { text: b, plain: q }) => a == b && p == q,
            (Value::Seq(a), Value::Seq(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_equivalent(b)),
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|((k, v), (l, w))| k.is_equivalent(l) && v.is_equivalent(w))
            }
            _ => false,
        }
    }

    /// Returns a 128-bit digest of the tree's content. Comments, blanks and quoting style that do not change the
    /// meaning do not change it.
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

/// Returns a length as bytes. Everything here came out of a file of at most 1 MiB.
fn narrow(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}

/// Returns whether a plain scalar is text. Words that older YAML takes for booleans are not.
pub(crate) fn is_text(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    meaning(text) == CoreScalar::Text
        && !is_number(text)
        && !matches!(lower.as_str(), "yes" | "no" | "on" | "off" | "y" | "n")
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'))
        && text.parse::<f64>().is_ok()
}

/// Resolves a plain scalar by YAML 1.2's core schema.
fn meaning(text: &str) -> CoreScalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return CoreScalar::Null,
        "true" | "True" | "TRUE" => return CoreScalar::Bool(true),
        "false" | "False" | "FALSE" => return CoreScalar::Bool(false),
        _ => {}
    }
    if !is_number(text) {
        return CoreScalar::Text;
    }
    // A number that would be written otherwise (`1.10`, `007`, `1e3`) stays the text that its author wrote.
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(int), _) if int.to_string() == text => CoreScalar::Int(int),
        (_, Ok(float)) if format!("{float:?}") == text => CoreScalar::Float(float),
        _ => CoreScalar::Text,
    }
}

/// JSON form: numbers, booleans and nulls where YAML's core schema has them; of duplicate keys the first.
impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Scalar { text, plain } => match if *plain { meaning(text) } else { CoreScalar::Text } {
                CoreScalar::Null => serializer.serialize_unit(),
                CoreScalar::Bool(value) => serializer.serialize_bool(value),
                CoreScalar::Int(value) => serializer.serialize_i64(value),
                CoreScalar::Float(value) => serializer.serialize_f64(value),
                CoreScalar::Text => serializer.serialize_str(text),
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

/// Returns whether the key of entry `at` occurred before. Quadratic, but the number of nodes was bounded when the text
/// was parsed. A null key is `null`, and no other text: `:` and `"": ` in one mapping are two keys, before and after
/// writing.
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

/// Returns a key as text, as JSON has text keys only; a key that is a collection is written as flow YAML.
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
        Node::scalar(text, true, ByteRange::default())
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
        assert_eq!(json(&Node::scalar("1", false, ByteRange::default())), "\"1\"");
    }

    #[test]
    fn digests_tell_trees_apart() {
        let nested = Node { span: ByteRange::default(), value: Value::Seq(vec![plain("a"), plain("b")]) };
        let one = Node { span: ByteRange::default(), value: Value::Seq(vec![plain("ab")]) };
        assert_ne!(nested.digest(), one.digest());
        assert_ne!(plain("1").digest(), Node::scalar("1", false, ByteRange::default()).digest());
    }
}
