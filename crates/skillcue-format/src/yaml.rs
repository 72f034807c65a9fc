//! The full YAML parser: text to [`Node`] tree, safely.
//!
//! The only module that uses the YAML crate. It reads the crate's events rather than a `serde` deserializer's values,
//! because events keep what a deserializer loses: both of two duplicate keys, the text of a number, every position.

use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span as Mark};

use crate::node::{ByteRange, Node, Value};

/// Maximum number of nodes of a document, aliases expanded. The largest real front matter has a few hundred.
pub(crate) const MAX_NODES: usize = 5_000;
/// Maximum nesting.
const MAX_DEPTH: usize = 64;

/// The parser's findings besides the tree.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Notes {
    /// Tags, which are ignored.
    pub(crate) tags: Vec<ByteRange>,
    /// Anchors and aliases, flow collections: valid YAML that strict readers refuse.
    pub(crate) unusual: Vec<(ByteRange, &'static str)>,
    /// Texts in quotes.
    pub(crate) quoted: Vec<ByteRange>,
    /// Texts in blocks, `|` and `>`.
    pub(crate) blocks: Vec<ByteRange>,
}

/// The reason why there is no tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum YamlError {
    /// Broken syntax, at a byte.
    Syntax { message: String, span: Range<usize> },
    /// Nesting or expansion beyond the limits.
    Limit { message: String, span: Range<usize> },
}

/// Parses one YAML document. An empty one is null.
pub(crate) fn parse(text: &str) -> Result<(Node<'_>, Notes), YamlError> {
    TreeBuilder { text, nodes: 0, anchors: HashMap::new(), notes: Notes::default() }.document()
}

/// Builds the tree from events, within the limits.
struct TreeBuilder<'a> {
    text: &'a str,
    nodes: usize,
    /// Finished anchored nodes with their sizes.
    anchors: HashMap<usize, (Node<'a>, usize)>,
    notes: Notes,
}

/// A collection that is still open.
struct OpenCollection<'a> {
    start: usize,
    anchor: usize,
    /// The number of nodes before it.
    before: usize,
    items: Vec<Node<'a>>,
    map: bool,
}

impl<'a> TreeBuilder<'a> {
    fn document(mut self) -> Result<(Node<'a>, Notes), YamlError> {
        let options = granit_parser::options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
        let mut open: Vec<OpenCollection<'a>> = Vec::new();
        let mut root = None;
        for event in Parser::new_from_str_with_options(self.text, options) {
            let (event, mark) = event.map_err(|error| self.failure(&error))?;
            let span = self.span(&mark);
            let done = match event {
                Event::Scalar(text, style, anchor, tag) => {
                    if tag.is_some() {
                        self.notes.tags.push(self.property('!', span));
                    }
                    match style {
                        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => self.notes.quoted.push(span),
                        ScalarStyle::Literal | ScalarStyle::Folded => self.notes.blocks.push(span),
                        ScalarStyle::Plain => {}
                    }
                    let plain = style == ScalarStyle::Plain && tag.is_none();
                    // The crate writes `~` for a missing value; the tree has an empty one, behind the colon.
                    let absent = plain && span.range().is_empty();
                    let span = if absent { self.behind_colon(span) } else { span };
                    let node = Node::scalar(if absent { "".into() } else { text }, plain, span);
                    self.count(1, span)?;
                    self.keep(anchor, &node, 1, span);
                    node
                }
                Event::SequenceStart(style, anchor, tag) | Event::MappingStart(style, anchor, tag) => {
                    if tag.is_some() {
                        self.notes.tags.push(self.property('!', span));
                    }
                    if style == granit_parser::StructureStyle::Flow {
                        self.notes.unusual.push((span, "a flow collection (`[…]` or `{…}`)"));
                    }
                    let before = self.nodes;
                    self.count(1, span)?;
                    if open.len() >= MAX_DEPTH {
                        return Err(limit(format!("nested deeper than {MAX_DEPTH} levels"), span));
                    }
                    open.push(OpenCollection {
                        start: span.range().start,
                        anchor,
                        before,
                        items: Vec::new(),
                        map: false,
                    });
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    let Some(mut frame) = open.pop() else { continue };
                    frame.map = matches!(event, Event::MappingEnd);
                    let node = frame.close(span.range().end);
                    let size = self.nodes - frame.before;
                    self.keep(frame.anchor, &node, size, node.span);
                    node
                }
                Event::Alias(id) => {
                    self.notes.unusual.push((span, "an alias"));
                    let Some(size) = self.anchors.get(&id).map(|(_, size)| *size) else {
                        return Err(limit("an alias inside its own anchor".to_owned(), span));
                    };
                    self.count(size, span)?;
                    Node { span, value: self.anchors[&id].0.value.clone() }
                }
                Event::DocumentStart(..) if root.is_some() => {
                    return Err(YamlError::Syntax {
                        message: "a second YAML document starts here".to_owned(),
                        span: span.range(),
                    });
                }
                _ => continue,
            };
            match open.last_mut() {
                Some(frame) => frame.items.push(done),
                None => root = Some(done),
            }
        }
        let root = root.unwrap_or_else(|| Node::scalar("", true, ByteRange::default()));
        Ok((root, self.notes))
    }

    fn count(&mut self, more: usize, span: ByteRange) -> Result<(), YamlError> {
        self.nodes += more;
        if self.nodes > MAX_NODES {
            return Err(limit(format!("more than {MAX_NODES} nodes, aliases expanded"), span));
        }
        Ok(())
    }

    fn keep(&mut self, anchor: usize, node: &Node<'a>, size: usize, span: ByteRange) {
        if anchor > 0 {
            self.notes.unusual.push((self.property('&', span), "an anchor"));
            self.anchors.insert(anchor, (node.clone(), size));
        }
    }

    fn span(&self, mark: &Mark) -> ByteRange {
        match mark.byte_range() {
            Some(range) => ByteRange::new(range.start, range.end),
            None => ByteRange::new(self.text.len(), self.text.len()),
        }
    }

    /// Returns the position of the tag (`!`) or anchor (`&`) of the value at `span`.
    fn property(&self, mark: char, span: ByteRange) -> ByteRange {
        let mut before = self.text.get(..span.range().start).unwrap_or_default().trim_end();
        while let Some(word) = before.split_whitespace().next_back().filter(|word| word.starts_with(['!', '&'])) {
            let start = before.len() - word.len();
            if word.starts_with(mark) {
                return ByteRange::new(start, before.len());
            }
            before = before[..start].trim_end();
        }
        span
    }

    fn behind_colon(&self, span: ByteRange) -> ByteRange {
        let at = span.range().start;
        let colon = self.text.as_bytes().get(at) == Some(&b':');
        if colon { ByteRange::new(at + 1, at + 1) } else { span }
    }

    fn failure(&self, error: &ScanError) -> YamlError {
        let at = error.marker().byte_offset().unwrap_or(self.text.len());
        let span = at..(at + 1).min(self.text.len().max(at));
        let message = error.kind().to_string();
        if is_limit(error.kind()) { YamlError::Limit { message, span } } else { YamlError::Syntax { message, span } }
    }
}

impl<'a> OpenCollection<'a> {
    fn close(&mut self, end: usize) -> Node<'a> {
        let items = std::mem::take(&mut self.items);
        let value = if self.map {
            let mut pairs = Vec::with_capacity(items.len() / 2);
            let mut items = items.into_iter();
            while let (Some(key), Some(value)) = (items.next(), items.next()) {
                pairs.push((key, value));
            }
            Value::Map(pairs)
        } else {
            Value::Seq(items)
        };
        Node { span: ByteRange::new(self.start, end.max(self.start)), value }
    }
}

fn limit(message: String, span: ByteRange) -> YamlError {
    YamlError::Limit { message, span: span.range() }
}

fn is_limit(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::RecursionLimitExceeded | ErrorKind::AnchorCountOverflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        serde_json::to_string(&parse(text).unwrap().0).unwrap()
    }

    #[test]
    fn trees_keep_order_and_duplicates() {
        let (node, _) = parse("b: 1\na: [x, {y: z}]\nb: 2\n").unwrap();
        let keys: Vec<_> = node.entries().iter().filter_map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["b", "a", "b"]);
        assert_eq!(json("b: 1\na: [x, {y: z}]\nb: 2\n"), r#"{"b":1,"a":["x",{"y":"z"}]}"#);
    }

    #[test]
    fn aliases_expand_and_bombs_do_not() {
        assert_eq!(json("a: &x [1]\nb: *x\n"), r#"{"a":[1],"b":[1]}"#);
        let bomb = (0..20)
            .fold("a0: &a0 [x]\n".to_owned(), |text, n| format!("{text}a{0}: &a{0} [*a{n}, *a{n}, *a{n}]\n", n + 1));
        assert!(matches!(parse(&bomb), Err(YamlError::Limit { .. })));
    }

    #[test]
    fn nesting_is_bounded_and_cheap() {
        let deep = "[".repeat(80_000);
        assert!(matches!(parse(&deep), Err(YamlError::Limit { .. })));
        let block = (0..200).map(|depth| " ".repeat(depth) + "a:\n").collect::<String>();
        assert!(matches!(parse(&block), Err(YamlError::Limit { .. })));
    }

    #[test]
    fn a_second_document_is_an_error() {
        assert!(matches!(parse("a: b\n...\n---\nc: d\n"), Err(YamlError::Syntax { .. })));
    }

    #[test]
    fn failures_say_where() {
        let text = "name: a\ndescription: Use when: b\n";
        let Err(YamlError::Syntax { span, .. }) = parse(text) else { panic!() };
        assert!(text[..span.start].contains("name: a"), "{span:?}");
    }
}
