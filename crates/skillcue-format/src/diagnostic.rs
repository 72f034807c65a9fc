//! Findings: what is wrong with a file, where, and what to do about it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use skillcue_base::ErrorInfo;

use crate::Code;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The skill cannot be used, or breaks a rule it was checked against.
    Error,
    /// The skill works, but not as its author wrote it down.
    Warning,
    /// Nothing is wrong; something could be better.
    Info,
}

impl Severity {
    /// Returns `error`, `warning` or `info`.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// One finding about one place in one file.
///
/// As JSON it is `{path, line, column, code, severity, message, help}`; lines and columns count from 1, columns in
/// characters, and both are `null` where a finding concerns the whole file.
///
/// ```
/// use skillcue_format::{Code, Diagnostic};
///
/// let finding = Diagnostic::new(Code::MissingField, "`description` is missing").with_help("add one");
/// assert_eq!(finding.at("pdf/SKILL.md").to_string(), "pdf/SKILL.md: error[missing_field]: `description` is missing");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// The file, filled in by the caller that knows it (parsing does no I/O and knows no path).
    pub path: Option<PathBuf>,
    /// The place in the file, if the finding is about one place.
    pub place: Option<Span>,
    /// The kind of finding: a stable word.
    pub code: Code,
    /// Its severity.
    pub severity: Severity,
    /// The mistake, in one sentence.
    pub message: Cow<'static, str>,
    /// The next step for the author.
    pub help: Option<Cow<'static, str>>,
    /// The text at the place, shortened and made fit to show, where readers could not read the file for it.
    pub excerpt: Option<Cow<'static, str>>,
}

/// A part of one line. Counted from 1, columns in characters. In a binary file the line is 0, and the column says how
/// many bytes are before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The line.
    pub line: u32,
    /// The first column.
    pub column: u32,
    /// The number of characters, at least 1.
    pub width: u32,
}

impl Span {
    /// Returns the span of `range` in `text`, whose first line is line `first_line` of the file. A range over several
    /// lines is cut at the end of its first. Lines end with LF, CRLF or, on a very old Mac, CR.
    pub fn of(text: &str, range: Range<usize>, first_line: u32) -> Span {
        let start = floor_char(text, range.start);
        let (breaks, line_start) = line_of(text.as_bytes(), start);
        Span::on(text, start..range.end, line_start, first_line.saturating_add(clamp(breaks)))
    }

    /// Returns the span of `range` on a line that starts at `line_start`.
    fn on(text: &str, range: Range<usize>, line_start: usize, line: u32) -> Span {
        let end = floor_char(text, range.end.max(range.start));
        let marked = &text[range.start..end];
        let marked = marked[..marked.find(['\n', '\r']).unwrap_or(marked.len())].trim_end();
        Span {
            line,
            column: clamp(text[line_start..range.start].chars().count()).saturating_add(1),
            width: clamp(marked.chars().count()).max(1),
        }
    }
}

/// The line starts of one text, computed once: for callers that need many spans of it.
pub(crate) struct LineIndex<'t> {
    text: &'t str,
    first_line: u32,
    /// The offset at which each line but the first starts.
    starts: OnceCell<Vec<usize>>,
}

impl<'t> LineIndex<'t> {
    pub(crate) fn new(text: &'t str, first_line: u32) -> LineIndex<'t> {
        LineIndex { text, first_line, starts: OnceCell::new() }
    }

    /// Like [`Span::of`], without looking for line ends again.
    pub(crate) fn span(&self, range: Range<usize>) -> Span {
        let start = floor_char(self.text, range.start);
        let starts = self.starts.get_or_init(|| line_starts(self.text.as_bytes()).collect());
        let breaks = starts.partition_point(|line| *line <= start);
        let line_start = breaks.checked_sub(1).map_or(0, |last| starts[last]);
        Span::on(self.text, start..range.end, line_start, self.first_line.saturating_add(clamp(breaks)))
    }
}

/// Returns where lines start, but the first: behind LF, CRLF or CR.
fn line_starts(bytes: &[u8]) -> impl Iterator<Item = usize> {
    memchr::memchr2_iter(b'\n', b'\r', bytes)
        // The CR of a CRLF ends nothing by itself.
        .filter(|&found| bytes[found] == b'\n' || bytes.get(found + 1) != Some(&b'\n'))
        .map(|found| found + 1)
}

/// Returns how many lines end before byte `at`, and where the line of that byte starts.
pub(crate) fn line_of(bytes: &[u8], at: usize) -> (usize, usize) {
    line_starts(bytes).take_while(|start| *start <= at).fold((0, 0), |(lines, _), start| (lines + 1, start))
}

/// Returns the nearest character boundary at or before `at`.
pub(crate) fn floor_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn clamp(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Diagnostic {
    /// Creates a finding with the code's own severity, without a place.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Diagnostic {
        let (severity, message) = (code.severity(), message.into());
        Diagnostic { path: None, place: None, code, severity, message, help: None, excerpt: None }
    }

    /// Returns a finding with a word of its own, without a place.
    ///
    /// ```
    /// use skillcue_format::{Diagnostic, Severity};
    ///
    /// let found = Diagnostic::named("untrusted_server", Severity::Error, "it may not add a server");
    /// assert_eq!(found.to_string(), "error[untrusted_server]: it may not add a server");
    /// ```
    pub fn named(word: &'static str, severity: Severity, message: impl Into<Cow<'static, str>>) -> Diagnostic {
        Diagnostic::new(Code::Named(word), message).with_severity(severity)
    }

    /// Returns a finding with the code, the message and the hint of an error.
    ///
    /// ```
    /// use skillcue_base::ErrorInfo;
    /// use skillcue_format::{Diagnostic, Severity};
    ///
    /// #[derive(Debug, ErrorInfo)]
    /// #[info(code = "full", hint = "make room")]
    /// struct Full;
    ///
    /// impl std::fmt::Display for Full {
    ///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    ///         f.write_str("the disk is full")
    ///     }
    /// }
    ///
    /// impl std::error::Error for Full {}
    ///
    /// let found = Diagnostic::of(&Full, Severity::Error);
    /// assert_eq!((found.to_string().as_str(), found.help.as_deref()), ("error[full]: the disk is full", Some("make room")));
    /// ```
    pub fn of(error: &impl ErrorInfo, severity: Severity) -> Diagnostic {
        let found = Diagnostic::named(error.code(), severity, error.to_string());
        Diagnostic { help: error.hint().map(|hint| Cow::Owned(hint.into_owned())), ..found }
    }

    /// Adds a help text that says what to do.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<Cow<'static, str>>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Sets the place.
    #[must_use]
    pub fn with_place(mut self, place: Span) -> Diagnostic {
        self.place = Some(place);
        self
    }

    /// Sets the severity.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Diagnostic {
        self.severity = severity;
        self
    }

    /// Sets the file.
    #[must_use]
    pub fn at(mut self, path: impl Into<PathBuf>) -> Diagnostic {
        self.path = Some(path.into());
        self
    }

    /// Sets the text at the place; an empty one counts as none.
    #[must_use]
    pub fn with_excerpt(mut self, excerpt: impl Into<Cow<'static, str>>) -> Diagnostic {
        self.excerpt = Some(excerpt.into()).filter(|excerpt| !excerpt.is_empty());
        self
    }

    /// Returns the line, if it is about one place.
    pub fn line(&self) -> Option<u32> {
        self.place.map(|place| place.line)
    }

    /// Returns the first column, if it is about one place.
    pub fn column(&self) -> Option<u32> {
        self.place.map(|place| place.column)
    }

    /// Returns whether the severity is `Error`.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    /// Writes one line, in the form that editors and CI understand: `path:line:column: severity[code]: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}:", path.display())?;
        }
        if let Some(place) = self.place {
            write!(f, "{}:{}:", place.line, place.column)?;
        }
        if self.path.is_some() || self.place.is_some() {
            f.write_str(" ")?;
        }
        write!(f, "{}[{}]: {}", self.severity.as_str(), self.code.as_str(), self.message)
    }
}

impl std::error::Error for Diagnostic {}

/// A finding has a code and a hint like an error, so that a front end can add the command to type to both in one place.
impl ErrorInfo for Diagnostic {
    fn code(&self) -> &'static str {
        self.code.as_str()
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.help.as_deref().map(Cow::Borrowed)
    }
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Diagnostic", 7)?;
        out.serialize_field("path", &self.path.as_deref().map(Path::to_string_lossy))?;
        out.serialize_field("line", &self.line())?;
        out.serialize_field("column", &self.column())?;
        out.serialize_field("code", self.code.as_str())?;
        out.serialize_field("severity", &self.severity)?;
        out.serialize_field("message", &self.message)?;
        out.serialize_field("help", &self.help)?;
        out.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_count_lines_and_characters_from_one() {
        let text = "a: ä\nbé: wörd x\n";
        let at = text.find("wörd").unwrap();
        assert_eq!(Span::of(text, at..at + 5, 2), Span { line: 3, column: 5, width: 4 });
        assert_eq!(Span::of(text, 0..text.len(), 1), Span { line: 1, column: 1, width: 4 });
        let mac = "a: b\rc: d\r\ne: f\r";
        let line = |word: &str| Span::of(mac, mac.find(word).unwrap()..mac.len(), 1);
        assert_eq!(line("d"), Span { line: 2, column: 4, width: 1 });
        assert_eq!(line("f"), Span { line: 3, column: 4, width: 1 });
        for text in [text, mac, "", "\n\n", "\r\n"] {
            let index = LineIndex::new(text, 7);
            for at in 0..=text.len() + 1 {
                assert_eq!(index.span(at..at + 2), Span::of(text, at..at + 2, 7), "{text:?} at {at}");
            }
        }
        assert_eq!(Span::of(text, 4..4, 1).column, 4, "inside `ä`: its start");
        assert_eq!(Span::of("", 9..12, 1), Span { line: 1, column: 1, width: 1 });
    }
}
