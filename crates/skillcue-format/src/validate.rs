//! The strict rules: those of agentskills.io, as its reference validator has them.
//!
//! Where the two differ, and why, is in `docs/reference/validate.md`; `tests/reference` holds both to the same verdicts.

use std::borrow::Cow;
use std::ops::Range;

use crate::diagnostic::LineIndex;
use crate::name::{normalise, normalise_directory, strip};
use crate::node::{Node, Value};
use crate::{Code, Diagnostic, FileKind, Parsed, Severity, SkillName, Span, not_utf8, repair};

/// The keys that the standard has at the top level.
const KEYS: [&str; 6] = ["name", "description", "license", "allowed-tools", "metadata", "compatibility"];
/// Maximum number of characters in a description.
const MAX_DESCRIPTION: usize = 1024;
/// Maximum number of characters in `compatibility`.
const MAX_COMPATIBILITY: usize = 500;
/// Maximum number of remarks about single characters.
const MAX_REMARKS: usize = 100;

/// Checks a `SKILL.md` strictly. `directory` is the name of its directory. Valid means: no errors among
/// the diagnostics.
///
/// ```
/// use skillcue_format::{Diagnostic, validate};
///
/// let file = b"---\nname: pdf\ndescription: Reads PDF files.\nversion: 1\n---\n";
/// let found = validate(file, "pdf");
/// assert!(found.iter().any(Diagnostic::is_error), "`version` belongs below `metadata`");
/// assert_eq!(found[0].to_string(), "4:1: error[unknown_field]: `version` is not a top-level key of the standard");
/// ```
pub fn validate(bytes: &[u8], directory: &str) -> Vec<Diagnostic> {
    let mut found = front_matter(bytes, directory);
    // Discovery does not read bodies; loading one needs text.
    if let Err(error) = std::str::from_utf8(bytes)
        && !found.iter().any(|finding| finding.code == Code::NotUtf8)
    {
        found.push(not_utf8(bytes, error.valid_up_to()));
    }
    found.sort_by_key(|finding| finding.place);
    found
}

fn front_matter(bytes: &[u8], directory: &str) -> Vec<Diagnostic> {
    let parsed = Parsed::thorough(bytes, FileKind::Markdown);
    let repaired = if parsed.edits.is_empty() { Cow::Borrowed(bytes) } else { Cow::Owned(parsed.repaired(bytes)) };
    let growth = repaired.len().cast_signed() - bytes.len().cast_signed();
    let text = repaired.get(parsed.yaml.start..parsed.yaml.end.saturating_add_signed(growth)).unwrap_or_default();
    let text = std::str::from_utf8(text).unwrap_or_default();
    let yaml_lines = parsed.line_index(bytes);
    let mut check = StrictCheck { bytes, parsed: &parsed, yaml_lines: &yaml_lines, text, found: Vec::new() };
    check.run(directory);
    check.found
}

/// The strict checks of one file.
struct StrictCheck<'a> {
    bytes: &'a [u8],
    parsed: &'a Parsed<'a>,
    yaml_lines: &'a LineIndex<'a>,
    /// The YAML that the tree was read from: repaired, if that was necessary.
    text: &'a str,
    found: Vec<Diagnostic>,
}

impl StrictCheck<'_> {
    fn run(&mut self, directory: &str) {
        self.lenient();
        let Some(root) = &self.parsed.raw else { return };
        if !matches!(root.value, Value::Map(_)) {
            return;
        }
        self.yaml(root);
        for (key, _) in root.entries() {
            let name = key.as_str().unwrap_or_default();
            if !KEYS.contains(&name) {
                self.report(
                    Code::UnknownField,
                    format!("`{name}` is not a top-level key of the standard"),
                    key.span.range(),
                    "move it below `metadata`, where skillcue reads it too",
                );
            }
        }
        self.name(root.get("name"), directory);
        if let Some(node) = root.get("description") {
            self.text(node, "description", MAX_DESCRIPTION);
        }
        if let Some(node) = root.get("compatibility") {
            self.text(node, "compatibility", MAX_COMPATIBILITY);
        }
        self.inner_fence(directory);
    }

    /// Takes over the findings of lenient reading: repairs are errors here, remarks stay remarks.
    fn lenient(&mut self) {
        for finding in &self.parsed.diagnostics {
            let mut finding = finding.clone();
            let mended = match finding.code {
                // The reference reads a quoted text at any indentation.
                Code::YamlRepaired => !finding.message.starts_with(repair::UNINDENTED),
                Code::DuplicateKey | Code::YamlTag | Code::LeadingBlank | Code::LeadingText => true,
                _ => false,
            };
            if mended {
                finding.severity = Severity::Error;
            }
            // The strict rules report these themselves, below.
            if !matches!(finding.code, Code::NameCanonicalised | Code::InvalidName) {
                self.found.push(finding);
            }
        }
    }

    fn place(&self, range: Range<usize>) -> Span {
        self.yaml_lines.span(self.parsed.original(range))
    }

    fn report(&mut self, code: Code, message: impl Into<Cow<'static, str>>, range: Range<usize>, help: &'static str) {
        let place = self.place(range);
        self.found.push(Diagnostic::new(code, message).with_place(place).with_help(help));
    }

    /// Reports unusual YAML, at most once a line: `{{x}}` is one mistake, not five.
    fn report_unusual(&mut self, message: impl Into<Cow<'static, str>>, range: Range<usize>, help: &'static str) {
        let line = self.place(range.clone()).line;
        let same = |finding: &Diagnostic| {
            finding.code == Code::NotStrictYaml
                && finding.is_error()
                && finding.place.is_some_and(|place| place.line == line)
        };
        if !self.found.iter().any(same) {
            self.report(Code::NotStrictYaml, message, range, help);
        }
    }

    /// Checks for YAML that is valid by its own rules but not for the reader of the reference.
    fn yaml(&mut self, root: &Node<'_>) {
        for (span, what) in &self.parsed.notes.unusual {
            let help = "write it as block YAML: one `- item` or `key: value` a line";
            self.report_unusual(format!("not every reader accepts {what}"), span.range(), help);
        }
        self.mappings(root);
        self.characters();
        self.document_ends();
    }

    /// Checks that `...` ends the YAML at most once, and not before it has begun.
    fn document_ends(&mut self) {
        let mut begun = false;
        let mut at = 0;
        for line in self.text.split_inclusive(['\n', '\r']) {
            let is_end =
                line.strip_prefix("...").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\n', '\r']));
            if is_end && !begun {
                self.report_unusual("`...` ends the YAML before it begins", at..at + 3, "remove the line");
            }
            begun = if is_end { false } else { begun || !(line.trim().is_empty() || line.starts_with('#')) };
            at += line.len();
        }
    }

    fn mappings(&mut self, node: &Node<'_>) {
        let mut inner = None;
        for (key, value) in node.entries() {
            match &key.value {
                Value::Scalar { text, plain: true } if text == "<<" && !is_mergeable(value) => {
                    let message = "`<<` merges mappings, and its value is not a mapping";
                    self.report_unusual(message, key.span.range(), "put the key into quotes, or write the mapping out");
                }
                Value::Scalar { .. } => {}
                _ => self.report_unusual("a key that is not text", key.span.range(), "use a word as the key"),
            }
            self.mappings(key);
            self.mappings(value);
            // Neighbouring mappings start in one column.
            if !value.entries().is_empty() {
                let column = self.place(value.span.range()).column;
                if *inner.get_or_insert(column) != column {
                    let help = "indent neighbouring mappings by the same number of spaces";
                    self.report_unusual(
                        "a mapping is indented differently from the one before it",
                        value.span.range(),
                        help,
                    );
                }
            }
        }
        for item in node.items() {
            self.mappings(item);
        }
    }

    /// Checks for characters that some readers take for something else: tabs outside texts that are marked as such,
    /// rare line breaks in blocks, a byte order mark before a key, control characters.
    fn characters(&mut self) {
        let opening = &self.bytes[..self.parsed.yaml.start];
        if opening.iter().rev().take_while(|byte| **byte != b'-').any(|byte| *byte == b'\t') {
            let place = Span { line: self.parsed.first_line.saturating_sub(1).max(1), column: 4, width: 1 };
            let message = "there is a tab after the opening `---`";
            self.found.push(Diagnostic::new(Code::NotStrictYaml, message).with_place(place).with_help("remove it"));
        }
        let notes = &self.parsed.notes;
        let mut quoted = notes.quoted.iter().map(|span| span.range()).peekable();
        let mut blocks = notes.blocks.iter().map(|span| span.range()).peekable();
        let mut comment = false;
        let mut blank = true;
        let mut line_start = true;
        let enough = self.found.len() + MAX_REMARKS;
        // Whether this line has a remark already: one is enough.
        let mut said = false;
        for (at, c) in self.text.char_indices() {
            if self.found.len() > enough {
                break;
            }
            if matches!(c, '\n' | '\r') {
                said = false;
            }
            while quoted.next_if(|range| range.end <= at).is_some() {}
            while blocks.next_if(|range| range.end <= at).is_some() {}
            let in_block = blocks.peek().is_some_and(|range| range.contains(&at));
            match c {
                _ if !said && repair::is_forbidden(c) => {
                    said = true;
                    let message = format!("U+{:04X} is a control character", u32::from(c));
                    self.report_unusual(message, at..at + c.len_utf8(), "remove it");
                }
                '\u{85}' | '\u{2028}' | '\u{2029}' if in_block && !said => {
                    said = true;
                    let message = format!("U+{:04X} is a line break to some readers and none to others", u32::from(c));
                    self.report_unusual(message, at..at + c.len_utf8(), "remove it, or put the value into quotes");
                }
                _ if in_block || quoted.peek().is_some_and(|range| range.contains(&at)) => {
                    blank = false;
                    continue;
                }
                '\u{FEFF}' if line_start => {
                    said = true;
                    self.report_unusual(
                        "there is a byte order mark before the key",
                        at..at + c.len_utf8(),
                        "remove it",
                    );
                }
                '\n' | '\r' => comment = false,
                '#' if blank => comment = true,
                '\t' if !comment && !said => {
                    said = true;
                    self.report_unusual("not every reader accepts a tab outside quotes", at..at + 1, "use blanks");
                }
                _ => {}
            }
            line_start = matches!(c, '\n' | '\r');
            blank = line_start || matches!(c, ' ' | '\t');
        }
    }

    fn name(&mut self, node: Option<&Node<'_>>, directory: &str) {
        let Some(node) = node else { return };
        let Some(name) = node.as_str() else {
            let help = "write one name, such as `name: pdf-tools`";
            return self.report(Code::InvalidName, "the name is not text", node.span.range(), help);
        };
        if node.is_null() || strip(name).is_empty() {
            return self.empty(node, "name");
        }
        if let Err(error) = SkillName::check(name) {
            let help = "use 1 to 64 lower-case letters, digits and single inner hyphens";
            self.report(Code::InvalidName, error.to_string(), node.span.range(), help);
        }
        if normalise(name) != normalise_directory(directory) {
            let message = format!("the name is `{}`, its directory is `{directory}`", strip(name));
            self.report(Code::NameMismatch, message, node.span.range(), "give both the same name");
        }
        self.special(node, "name");
    }

    fn text(&mut self, node: &Node<'_>, field: &str, max: usize) {
        let Some(text) = node.as_str() else {
            // The manifest's own remark has the place; strictly it is an error.
            let remark = format!("`{field}` should be");
            for finding in &mut self.found {
                if finding.code == Code::WrongType && finding.message.starts_with(&remark) {
                    finding.severity = Severity::Error;
                }
            }
            return;
        };
        if field == "description" && strip(text).is_empty() {
            return self.empty(node, field);
        }
        let length = text.chars().count();
        if length > max {
            let message = format!("`{field}` has {length} characters; the standard allows {max}");
            self.report(Code::TooLong, message, node.span.range(), "say less here and more in the body");
        }
        self.special(node, field);
    }

    /// Reports an empty field, unless lenient reading did: separators of ASCII are not white space to it.
    fn empty(&mut self, node: &Node<'_>, field: &str) {
        let message = format!("`{field}` is missing or empty");
        if !self.found.iter().any(|finding| finding.message == message) {
            self.report(Code::MissingField, message, node.span.range(), "add a value");
        }
    }

    /// Reports values that older YAML does not read as text.
    fn special(&mut self, node: &Node<'_>, field: &str) {
        if let Value::Scalar { text, plain: true } = &node.value
            && matches!(&**text, "=" | "<<")
        {
            self.report_unusual(
                format!("`{field}` is a word that YAML reserves"),
                node.span.range(),
                "put it into quotes",
            );
        }
    }

    /// Reports `---` inside the front matter, where the reference cuts it. The part before it may be valid, too.
    fn inner_fence(&mut self, directory: &str) {
        let Some(at) = self.text.find("---") else { return };
        let seen = format!("---\n{}\n---\n", &self.text[..at]);
        let help = "keep `---` out of the front matter, even inside a value";
        self.report(
            Code::NotStrictYaml,
            "some readers take this `---` for the end of the front matter",
            at..at + 3,
            help,
        );
        let valid = !front_matter(seen.as_bytes(), directory).iter().any(Diagnostic::is_error);
        if let Some(finding) = self.found.last_mut().filter(|_| valid) {
            finding.severity = Severity::Warning;
        }
    }
}

/// Returns whether YAML 1.1 can merge a node into a mapping.
fn is_mergeable(node: &Node<'_>) -> bool {
    match &node.value {
        Value::Scalar { .. } => false,
        Value::Seq(items) => items.iter().all(|item| matches!(item.value, Value::Map(_))),
        Value::Map(_) => true,
    }
}
