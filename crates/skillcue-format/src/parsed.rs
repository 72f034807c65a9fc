//! Bytes in, a manifest and diagnostics out.

use std::ops::Range;

use crate::diagnostic::{Places, line_of};
use crate::fields::{self, Extent, Ground};
use crate::node::{Node, Value};
use crate::repair::{self, Edit};
use crate::split::{self, FrontMatter, Scan};
use crate::yaml::{self, Failure, Notes};
use crate::{Code, Diagnostic, Manifest, Place, SkillName, plain};

/// Largest skill file, in bytes.
pub const MAX_FILE: u64 = 1 << 20;

/// What kind of file a skill is described by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// `SKILL.md`: front matter and a body.
    Markdown,
    /// `SKILL.yaml`: YAML all through, the body stands elsewhere.
    Yaml,
}

/// What a skill file says. Parsing never fails: there is a manifest, or a diagnostic that says why there is none.
///
/// The same function reads the first block of a file for discovery and the whole of it for loading: nothing behind
/// the closing line of the front matter is looked at.
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
    /// Where the YAML stands in the file.
    pub yaml: Range<usize>,
    /// The 1-based line on which the YAML starts.
    pub first_line: u32,
    /// Where the body starts.
    pub body: usize,
    /// What was found on the way, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// What repair changed, in bytes of the file.
    pub edits: Vec<Edit>,
    pub(crate) notes: Notes,
}

impl<'a> Parsed<'a> {
    /// Reads a skill file, of which the front matter (or more) is there.
    pub fn of(bytes: &'a [u8], kind: FileKind) -> Parsed<'a> {
        Parsed::with(bytes, kind, Path::Fast)
    }

    /// The same without the fast path. What comes out is the same, and tests hold the two to it; strict checks need
    /// the notes that only the full parser leaves.
    pub fn thorough(bytes: &'a [u8], kind: FileKind) -> Parsed<'a> {
        Parsed::with(bytes, kind, Path::Full)
    }

    fn with(bytes: &'a [u8], kind: FileKind, path: Path) -> Parsed<'a> {
        let front = match kind {
            FileKind::Yaml => FrontMatter { yaml: bom(bytes)..bytes.len(), body: bytes.len(), first_line: 1 },
            FileKind::Markdown => match split::scan(bytes, true) {
                Scan::Found(found) => found,
                Scan::Unclosed => return Parsed::failed(bytes, unclosed()),
                Scan::Missing | Scan::NeedMore => return Parsed::failed(bytes, missing(bytes)),
            },
        };
        Parsed::cut(bytes, front, kind, path, Extent::Whole)
    }

    fn cut(bytes: &'a [u8], front: FrontMatter, kind: FileKind, path: Path, extent: Extent) -> Parsed<'a> {
        let FrontMatter { yaml, body, first_line } = front;
        let text = match std::str::from_utf8(&bytes[yaml.clone()]) {
            Ok(text) => text,
            Err(error) => return Parsed::failed(bytes, not_utf8(bytes, yaml.start + error.valid_up_to())),
        };
        let mut parsed = Parsed::front_matter_via(text, first_line, kind, path, extent);
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
        Parsed::front_matter_via(text, first_line, kind, Path::Fast, Extent::Again)
    }

    /// Like [`front_matter`](Parsed::front_matter), for text that no file was read for: checks patterns and globs.
    pub fn new_front_matter(text: &'a str, kind: FileKind) -> Parsed<'a> {
        Parsed::front_matter_via(text, 1, kind, Path::Fast, Extent::Whole)
    }

    fn front_matter_via(text: &'a str, first_line: u32, kind: FileKind, path: Path, extent: Extent) -> Parsed<'a> {
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
        if path == Path::Fast
            && let Some(node) = plain::parse(text)
        {
            let places = Places::new(text, first_line);
            let place = |range| places.of(range);
            parsed.read(node, &Ground { parsed: text, place: &place, kind, extent });
            return parsed;
        }
        match yaml::parse(text) {
            Ok((node, notes)) => {
                parsed.notes = notes;
                let places = Places::new(text, first_line);
                let place = |range| places.of(range);
                parsed.read(node, &Ground { parsed: text, place: &place, kind, extent });
            }
            Err(failure) => parsed.mend(text, failure, kind, extent),
        }
        parsed
    }

    /// The second try: repair, and read what that gives.
    fn mend(&mut self, text: &'a str, failure: Failure, kind: FileKind, extent: Extent) {
        let first_line = self.first_line;
        let (message, span) = match failure {
            Failure::Limit { message, span } => {
                let found = Diagnostic::new(Code::YamlLimit, format!("the YAML is refused: {message}"))
                    .with_place(Place::of(text, span, first_line))
                    .with_help("write it out flat, without anchors");
                self.diagnostics.push(found);
                return;
            }
            Failure::Syntax { message, span } => (message, span),
        };
        let Some(repair) = repair::repair(text) else {
            self.diagnostics.push(broken(text, &message, span, first_line));
            return;
        };
        let places = Places::new(text, first_line);
        for edit in &repair.edits {
            let width = text[edit.at..].chars().next().map_or(1, char::len_utf8);
            self.diagnostics.push(
                Diagnostic::new(Code::YamlRepaired, format!("{}; {}", edit.why, edit.how))
                    .with_place(places.of(edit.at..edit.at + width))
                    .with_help("write it that way"),
            );
        }
        // The repaired text parses: `repair` has tried it.
        if let Ok((node, notes)) = yaml::parse(&repair.text) {
            self.notes = notes;
            let place = |range: Range<usize>| {
                let original = |at| repair::original(&repair.edits, at);
                places.of(original(range.start)..original(range.end))
            };
            let extent = if extent == Extent::Again { extent } else { Extent::Whole };
            self.read(node.into_owned(), &Ground { parsed: &repair.text, place: &place, kind, extent });
        }
        self.edits = repair.edits;
    }

    fn read(&mut self, node: Node<'a>, ground: &Ground<'_>) {
        for tag in &self.notes.tags {
            let found = Diagnostic::new(Code::YamlTag, "the tag is ignored: nothing is constructed from it")
                .with_place((ground.place)(tag.range()))
                .with_help("remove the tag");
            self.diagnostics.push(found);
        }
        if matches!(node.value, Value::Map(_)) || node.is_null() {
            self.manifest = fields::read(&node, ground, &mut self.diagnostics);
        } else {
            let found = Diagnostic::new(Code::NotAMapping, "the front matter is no list of `key: value` pairs")
                .with_place((ground.place)(node.span.range()))
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

    /// The YAML as text. Empty if it is none.
    pub(crate) fn yaml_text<'b>(&self, bytes: &'b [u8]) -> &'b str {
        bytes.get(self.yaml.clone()).and_then(|yaml| std::str::from_utf8(yaml).ok()).unwrap_or_default()
    }

    /// The places of this file's YAML.
    pub(crate) fn places<'b>(&self, bytes: &'b [u8]) -> Places<'b> {
        Places::new(self.yaml_text(bytes), self.first_line)
    }

    /// Where something stood before repair that the tree speaks of: bytes of the YAML, both.
    pub(crate) fn original(&self, range: Range<usize>) -> Range<usize> {
        let before = self.yaml.start;
        let original = |at: usize| repair::original(&self.edits, at + before).saturating_sub(before);
        original(range.start)..original(range.end)
    }

    /// The file with what repair changed, and nothing else.
    pub fn repaired(&self, bytes: &[u8]) -> Vec<u8> {
        repair::apply(bytes, &self.edits)
    }
}

/// What discovery needs of a `SKILL.md`: enough to find and trust it, and nothing that would have to be stored. The
/// [`Manifest`] is made of the same text when somebody asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// The canonical name, unless an error forbids using the skill.
    pub name: Option<SkillName>,
    /// Whether it requires programs.
    pub demanding: bool,
    /// A digest of what the front matter says.
    pub digest: u128,
    /// What a listing shows of the skill, unless that takes more than a few texts.
    pub listing: Option<Listing>,
    /// What was found on the way.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a listing shows of a skill that says nothing about types, hiding and brief descriptions, and whose other texts
/// stand in the YAML letter for letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The description.
    pub description: Written,
    /// Where in the YAML the version stands.
    pub version: Option<Range<usize>>,
    /// Where the model does.
    pub model: Option<Range<usize>>,
    /// Where the tools do, as [`split_tools`](crate::split_tools) reads them.
    pub allowed_tools: Option<Range<usize>>,
}

/// How a text stands in YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// Letter for letter.
    Verbatim(Range<usize>),
    /// Folded over several lines, or with escapes. This is what it says.
    Otherwise(Box<str>),
}

impl Glance {
    /// Reads the front matter that [`split::scan`] found in `bytes`. Finds exactly what [`Parsed::of`] finds.
    ///
    /// ```
    /// use skillcue_format::{Glance, split::{Scan, scan}};
    ///
    /// let file = b"---\nname: PDF\ndescription: Reads PDF files.\n---\n";
    /// let Scan::Found(front) = scan(file, true) else { panic!() };
    /// let glance = Glance::of(file, &front);
    /// assert_eq!(glance.name.as_deref(), Some("pdf"));
    /// assert_eq!(glance.diagnostics.len(), 1, "the name was canonicalised");
    /// ```
    pub fn of(bytes: &[u8], front: &FrontMatter) -> Glance {
        let mut parsed = Parsed::cut(bytes, front.clone(), FileKind::Markdown, Path::Fast, Extent::Glance);
        let name =
            parsed.manifest.as_mut().map(|manifest| std::mem::replace(&mut manifest.name, SkillName::unchecked("")));
        let yaml = &bytes[front.yaml.clone()];
        Glance {
            name,
            listing: parsed.raw.as_ref().and_then(|raw| fields::listing(raw, yaml)),
            demanding: parsed.manifest.is_some_and(|manifest| manifest.requires().next().is_some()),
            digest: parsed.raw.map_or(0, |raw| raw.digest()),
            diagnostics: parsed.diagnostics,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Fast,
    Full,
}

fn bom(bytes: &[u8]) -> usize {
    if bytes.starts_with(split::BOM) { split::BOM.len() } else { 0 }
}

/// `before` is all that stands before the YAML, the opening line included.
fn leading(before: &[u8]) -> Diagnostic {
    let found = match before.trim_ascii_start().first() {
        Some(b'<') => Diagnostic::new(Code::LeadingText, "a comment stands before the front matter"),
        Some(b'`' | b'~') => Diagnostic::new(Code::LeadingText, "the front matter stands inside a code fence"),
        _ => Diagnostic::new(Code::LeadingBlank, "blank lines stand before the front matter"),
    };
    found.with_place(Place { line: 1, column: 1, width: 1 }).with_help("make `---` the first line")
}

/// YAML that repair gave up on.
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
        .with_place(Place::of(text, span, first_line))
        .with_help(help)
}

fn unclosed() -> Diagnostic {
    Diagnostic::new(Code::UnclosedFrontMatter, "the front matter is never closed")
        .with_place(Place { line: 1, column: 1, width: 3 })
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
        .with_place(Place { line: 1, column: 1, width: 1 })
        .with_help(help)
}

/// Text that is not UTF-8, at a byte.
pub fn not_utf8(bytes: &[u8], at: usize) -> Diagnostic {
    let at = at.min(bytes.len());
    let (lines, line_start) = line_of(bytes, at);
    let line = lines + 1;
    let column = String::from_utf8_lossy(&bytes[line_start..at]).chars().count() + 1;
    let narrow = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Diagnostic::new(Code::NotUtf8, format!("byte {at} is not UTF-8 text"))
        .with_place(Place { line: narrow(line), column: narrow(column), width: 1 })
        .with_help("save the file as UTF-8")
}
