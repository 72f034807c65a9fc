//! Parsing: bytes in, a manifest and diagnostics out.

use std::ops::Range;

use crate::diagnostic::{LineIndex, line_of};
use crate::fields::{self, ReadDepth, SourceContext};
use crate::node::{Node, Value};
use crate::repair::{self, Edit};
use crate::split::{self, FrontMatter, FrontMatterScan};
use crate::yaml::{self, Notes, YamlError};
use crate::{Code, Diagnostic, Manifest, SkillName, Span, plain};

/// Maximum size of a skill file, in bytes.
pub const MAX_FILE: u64 = 1 << 20;

/// The kind of file that describes a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// `SKILL.md`: front matter and a body.
    Markdown,
    /// `SKILL.yaml`: YAML only, the body is in another file.
    Yaml,
}

/// A parsed skill file. Parsing never fails: there is a manifest, or a diagnostic that says why there is none.
///
/// One function reads the first block of a file for discovery and the whole of it for loading: nothing behind the
/// closing line of the front matter is read.
///
/// ```
/// use skillcue_format::{Code, FileKind, Parsed};
///
/// let parsed = Parsed::of(b"---\nname: pdf\ndescription: Use when: asked\n---\n# Body\n", FileKind::Markdown);
/// assert_eq!(parsed.manifest.unwrap().description(), "Use when: asked");
/// assert_eq!(parsed.diagnostics[0].code, Code::YamlRepaired);
/// assert_eq!(parsed.diagnostics[0].place.unwrap().line, 3);
/// assert_eq!(parsed.body, 47);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed<'a> {
    /// The typed front matter, unless an error forbids it.
    pub manifest: Option<Manifest>,
    /// The raw tree, if the YAML could be read.
    pub raw: Option<Node<'a>>,
    /// The byte range of the YAML in the file.
    pub yaml: Range<usize>,
    /// The 1-based line on which the YAML starts.
    pub first_line: u32,
    /// The offset at which the body starts.
    pub body: usize,
    /// The findings, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// The edits of repair, in bytes of the file.
    pub edits: Vec<Edit>,
    pub(crate) notes: Notes,
}

impl<'a> Parsed<'a> {
    /// Reads a skill file, of which the front matter (or more) is there.
    pub fn of(bytes: &'a [u8], kind: FileKind) -> Parsed<'a> {
        Parsed::with_parser(bytes, kind, ParserChoice::Fast)
    }

    /// Like [`of`](Parsed::of), without the fast path. The results are equal, which tests check; strict checks need the
    /// notes that only the full parser makes.
    pub fn thorough(bytes: &'a [u8], kind: FileKind) -> Parsed<'a> {
        Parsed::with_parser(bytes, kind, ParserChoice::Full)
    }

    fn with_parser(bytes: &'a [u8], kind: FileKind, path: ParserChoice) -> Parsed<'a> {
        let front = match kind {
            FileKind::Yaml => FrontMatter { yaml: bom(bytes)..bytes.len(), body: bytes.len(), first_line: 1 },
            FileKind::Markdown => match split::scan(bytes, true) {
                FrontMatterScan::Found(found) => found,
                FrontMatterScan::Unclosed => return Parsed::failed(bytes, unclosed()),
                FrontMatterScan::Missing | FrontMatterScan::NeedMore => return Parsed::failed(bytes, missing(bytes)),
            },
        };
        Parsed::cut(bytes, front, kind, path, ReadDepth::Whole)
    }

    fn cut(bytes: &'a [u8], front: FrontMatter, kind: FileKind, path: ParserChoice, depth: ReadDepth) -> Parsed<'a> {
        let FrontMatter { yaml, body, first_line } = front;
        let text = match std::str::from_utf8(&bytes[yaml.clone()]) {
            Ok(text) => text,
            Err(error) => return Parsed::failed(bytes, not_utf8(bytes, yaml.start + error.valid_up_to())),
        };
        let mut parsed = Parsed::front_matter_via(text, first_line, kind, path, depth);
        for edit in &mut parsed.edits {
            edit.range = edit.range.start + yaml.start..edit.range.end + yaml.start;
            edit.at += yaml.start;
        }
        parsed.yaml = yaml;
        parsed.body = body;
        let opening = if kind == FileKind::Markdown { 2 } else { 1 };
        if first_line > opening {
            parsed.diagnostics.insert(0, leading(&bytes[bom(bytes)..parsed.yaml.start]));
        }
        parsed
    }

    /// Reads front matter that has been cut out of its file already; `first_line` is the line it started on. Patterns
    /// and globs are not checked again.
    pub fn front_matter(text: &'a str, first_line: u32, kind: FileKind) -> Parsed<'a> {
        Parsed::front_matter_via(text, first_line, kind, ParserChoice::Fast, ReadDepth::Checked)
    }

    /// Like [`front_matter`](Parsed::front_matter), for text that does not come from a file: checks patterns and globs.
    pub fn new_front_matter(text: &'a str, kind: FileKind) -> Parsed<'a> {
        Parsed::front_matter_via(text, 1, kind, ParserChoice::Fast, ReadDepth::Whole)
    }

    fn front_matter_via(
        text: &'a str,
        first_line: u32,
        kind: FileKind,
        path: ParserChoice,
        depth: ReadDepth,
    ) -> Parsed<'a> {
        let mut parsed = Parsed {
            manifest: None,
            raw: None,
            yaml: 0..text.len(),
            first_line,
            body: text.len(),
            diagnostics: Vec::new(),
            edits: Vec::new(),
            notes: Notes::default(),
        };
        if path == ParserChoice::Fast
            && let Some(node) = plain::parse(text)
        {
            let lines = LineIndex::new(text, first_line);
            let span = |range| lines.span(range);
            parsed.read(node, &SourceContext { text, span: &span, kind, depth });
            return parsed;
        }
        match yaml::parse(text) {
            Ok((node, notes)) => {
                parsed.notes = notes;
                let lines = LineIndex::new(text, first_line);
                let span = |range| lines.span(range);
                parsed.read(node, &SourceContext { text, span: &span, kind, depth });
            }
            Err(failure) => parsed.repair_and_read(text, failure, kind, depth),
        }
        parsed
    }

    /// Makes the second attempt: repairs the text, and reads the result.
    fn repair_and_read(&mut self, text: &'a str, failure: YamlError, kind: FileKind, depth: ReadDepth) {
        let first_line = self.first_line;
        let (message, span) = match failure {
            YamlError::Limit { message, span } => {
                let found = Diagnostic::new(Code::YamlLimit, format!("the YAML is refused: {message}"))
                    .with_place(Span::of(text, span, first_line))
                    .with_help("write it out flat, without anchors");
                self.diagnostics.push(found);
                return;
            }
            YamlError::Syntax { message, span } => (message, span),
        };
        let Some(repair) = repair::repair(text) else {
            self.diagnostics.push(broken(text, &message, span, first_line));
            return;
        };
        let lines = LineIndex::new(text, first_line);
        for edit in &repair.edits {
            let width = text[edit.at..].chars().next().map_or(1, char::len_utf8);
            self.diagnostics.push(
                Diagnostic::new(Code::YamlRepaired, format!("{}; {}", edit.why, edit.how))
                    .with_place(lines.span(edit.at..edit.at + width))
                    .with_help("write it that way"),
            );
        }
        // The repaired text parses: `repair` has tried it.
        if let Ok((node, notes)) = yaml::parse(&repair.text) {
            self.notes = notes;
            let span = |range: Range<usize>| {
                let original = |at| repair::original_offset(&repair.edits, at);
                lines.span(original(range.start)..original(range.end))
            };
            let depth = if depth == ReadDepth::Checked { depth } else { ReadDepth::Whole };
            self.read(node.into_owned(), &SourceContext { text: &repair.text, span: &span, kind, depth });
        }
        self.edits = repair.edits;
    }

    fn read(&mut self, node: Node<'a>, source: &SourceContext<'_>) {
        for tag in &self.notes.tags {
            let found = Diagnostic::new(Code::YamlTag, "the tag is ignored: nothing is constructed from it")
                .with_place((source.span)(tag.range()))
                .with_help("remove the tag");
            self.diagnostics.push(found);
        }
        if matches!(node.value, Value::Map(_)) || node.is_null() {
            self.manifest = fields::read(&node, source, &mut self.diagnostics);
        } else {
            let found = Diagnostic::new(Code::NotAMapping, "the front matter is not a list of `key: value` pairs")
                .with_place((source.span)(node.span.range()))
                .with_help("start with `name: …` and `description: …`");
            self.diagnostics.push(found);
        }
        self.diagnostics.sort_by_key(|found| found.place);
        self.raw = Some(node);
    }

    fn failed(bytes: &[u8], found: Diagnostic) -> Parsed<'a> {
        Parsed {
            manifest: None,
            raw: None,
            yaml: 0..0,
            first_line: 1,
            body: bytes.len(),
            diagnostics: vec![found],
            edits: Vec::new(),
            notes: Notes::default(),
        }
    }

    /// Returns the YAML as text, empty if it is not UTF-8.
    pub(crate) fn yaml_text<'b>(&self, bytes: &'b [u8]) -> &'b str {
        bytes.get(self.yaml.clone()).and_then(|yaml| std::str::from_utf8(yaml).ok()).unwrap_or_default()
    }

    /// Returns the line index of this file's YAML.
    pub(crate) fn line_index<'b>(&self, bytes: &'b [u8]) -> LineIndex<'b> {
        LineIndex::new(self.yaml_text(bytes), self.first_line)
    }

    /// Maps a range of the tree to the range before repair. Both are bytes of the YAML.
    pub(crate) fn original(&self, range: Range<usize>) -> Range<usize> {
        let before = self.yaml.start;
        let original = |at: usize| repair::original_offset(&self.edits, at + before).saturating_sub(before);
        original(range.start)..original(range.end)
    }

    /// Returns the file with the edits of repair, and no other change.
    pub fn repaired(&self, bytes: &[u8]) -> Vec<u8> {
        repair::apply(bytes, &self.edits)
    }
}

/// The part of a `SKILL.md` that discovery needs: enough to find and trust it, and nothing that would have to be
/// stored. The [`Manifest`] is made from the same text on demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveryInfo {
    /// The canonical name, unless an error forbids using the skill.
    pub name: Option<SkillName>,
    /// Whether it requires programs.
    pub demanding: bool,
    /// A digest of the front matter's content.
    pub digest: u128,
    /// The texts that a listing shows, unless they take more than copying ranges of the YAML.
    pub listing: Option<ListingFields>,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
}

/// The texts that a listing shows of a skill whose front matter has no types, no `disable-model-invocation` and no
/// brief description, and whose texts other than the description are in the YAML letter for letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingFields {
    /// The description.
    pub description: YamlText,
    /// The range of the version in the YAML.
    pub version: Option<Range<usize>>,
    /// The range of the model in the YAML.
    pub model: Option<Range<usize>>,
    /// The range of the tools in the YAML, as [`split_tools`](crate::split_tools) reads them.
    pub allowed_tools: Option<Range<usize>>,
}

/// A text of the YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum YamlText {
    /// Written letter for letter, in this range.
    Verbatim(Range<usize>),
    /// Folded over several lines, or with escapes: the decoded text.
    Decoded(Box<str>),
}

impl DiscoveryInfo {
    /// Reads the front matter that [`split::scan`] found in `bytes`. Finds exactly what [`Parsed::of`] finds.
    ///
    /// ```
    /// use skillcue_format::{DiscoveryInfo, split::{FrontMatterScan, scan}};
    ///
    /// let file = b"---\nname: PDF\ndescription: Reads PDF files.\n---\n";
    /// let FrontMatterScan::Found(front) = scan(file, true) else { panic!() };
    /// let info = DiscoveryInfo::of(file, &front);
    /// assert_eq!(info.name.as_deref(), Some("pdf"));
    /// assert_eq!(info.diagnostics.len(), 1, "the name was canonicalised");
    /// ```
    pub fn of(bytes: &[u8], front: &FrontMatter) -> DiscoveryInfo {
        let mut parsed =
            Parsed::cut(bytes, front.clone(), FileKind::Markdown, ParserChoice::Fast, ReadDepth::Discovery);
        let name =
            parsed.manifest.as_mut().map(|manifest| std::mem::replace(&mut manifest.name, SkillName::unchecked("")));
        let yaml = &bytes[front.yaml.clone()];
        DiscoveryInfo {
            name,
            listing: parsed.raw.as_ref().and_then(|raw| fields::listing(raw, yaml)),
            demanding: parsed.manifest.is_some_and(|manifest| manifest.requires().next().is_some()),
            digest: parsed.raw.map_or(0, |raw| raw.digest()),
            diagnostics: parsed.diagnostics,
        }
    }
}

/// The parsers that may read the YAML.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParserChoice {
    /// The fast path first, then the full parser.
    Fast,
    /// Only the full parser.
    Full,
}

fn bom(bytes: &[u8]) -> usize {
    if bytes.starts_with(split::BOM) { split::BOM.len() } else { 0 }
}

/// Reports text before the front matter. `before` is everything before the YAML, the opening line included.
fn leading(before: &[u8]) -> Diagnostic {
    let found = match before.trim_ascii_start().first() {
        Some(b'<') => Diagnostic::new(Code::LeadingText, "there is a comment before the front matter"),
        Some(b'`' | b'~') => Diagnostic::new(Code::LeadingText, "the front matter is inside a code fence"),
        _ => Diagnostic::new(Code::LeadingBlank, "there are blank lines before the front matter"),
    };
    found.with_place(Span { line: 1, column: 1, width: 1 }).with_help("make `---` the first line")
}

/// Reports YAML that could not be repaired.
fn broken(text: &str, message: &str, span: Range<usize>, first_line: u32) -> Diagnostic {
    let marker =
        |mark: &str| text.starts_with(mark).then_some(0).or_else(|| Some(text.find(&format!("\n{mark}"))? + 1));
    let (message, span, help) = match marker("<<<<<<< ").or_else(|| marker(">>>>>>> ")) {
        Some(at) => {
            ("a merge conflict was not resolved", at..at + 7, "keep one of the two sides and remove the markers")
        }
        None => (message, span, "put the value into quotes, or mend the line's indentation"),
    };
    Diagnostic::new(Code::YamlSyntax, format!("the YAML is broken: {message}"))
        .with_place(Span::of(text, span, first_line))
        .with_help(help)
}

fn unclosed() -> Diagnostic {
    Diagnostic::new(Code::UnclosedFrontMatter, "the front matter is never closed")
        .with_place(Span { line: 1, column: 1, width: 3 })
        .with_help("end it with a line that is just `---`")
}

fn missing(bytes: &[u8]) -> Diagnostic {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]);
    let start = start.trim_start();
    let first = start.lines().next().unwrap_or_default().trim_end();
    let help = if bytes.is_empty() {
        "the file is empty; write the front matter between two `---` lines, and the body after it"
    } else if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        "the file is UTF-16; save it as UTF-8"
    } else if start.lines().count() == 1
        && first.contains('/')
        && std::path::Path::new(first).extension().is_some_and(|end| end == "md")
    {
        "the file holds the text of a git symlink; check the repository out with symlinks enabled"
    } else if first.starts_with("```") {
        "the file starts with a code fence; remove it, and put the fields between two `---` lines"
    } else {
        "start the file with `---`, `name: …`, `description: …`, `---`"
    };
    Diagnostic::new(Code::NoFrontMatter, "the file does not start with a `---` line")
        .with_place(Span { line: 1, column: 1, width: 1 })
        .with_help(help)
}

/// Returns the finding for text that is not UTF-8 at byte `at`.
pub fn not_utf8(bytes: &[u8], at: usize) -> Diagnostic {
    let at = at.min(bytes.len());
    let (lines, line_start) = line_of(bytes, at);
    let line = lines + 1;
    let column = String::from_utf8_lossy(&bytes[line_start..at]).chars().count() + 1;
    let narrow = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Diagnostic::new(Code::NotUtf8, format!("byte {at} is not UTF-8 text"))
        .with_place(Span { line: narrow(line), column: narrow(column), width: 1 })
        .with_help("save the file as UTF-8")
}
