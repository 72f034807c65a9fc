//! Diagnostics for people: the finding, its place with the line underlined, and what to do.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use skillcue::Diagnostic;
use skillcue::format::Severity;
use skillcue_format::Span;

use crate::context::Context;
use crate::error::{CliError, Excerpt};
use crate::hints;
use crate::terminal::{paint, style};
use crate::{skill_file, text};

/// With more findings than this, a command that is not about them prints their number.
const MAX_IN_FULL: usize = 10;
/// With more findings than this of one code in one file, the others are counted. More than the style checks ever make.
const MAX_PER_CODE: usize = 100;

/// How much is printed of many findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// For a command that is not about them: a few in full; of many a line each, on a terminal just their number.
    Short,
    /// For a command that is about them.
    Full,
}

/// Prints findings on stderr.
pub(crate) fn print_findings(context: &Context, findings: &[&Diagnostic], detail: Detail) {
    for remark in finding_remarks(context, findings, detail) {
        context.terminal.say(&remark);
    }
}

/// Returns the remarks about findings: each in full, or, of many, a line each and a summary.
pub(crate) fn finding_remarks(context: &Context, findings: &[&Diagnostic], detail: Detail) -> Vec<String> {
    let mut remarks = Vec::new();
    if findings.is_empty() {
        return remarks;
    }
    if detail == Detail::Full || findings.len() <= MAX_IN_FULL || context.verbose() {
        let mut source = SourceFile::default();
        for of_file in findings.chunk_by(|a, b| a.path == b.path) {
            let mut counts = BTreeMap::new();
            for found in of_file {
                let count = counts.entry(found.code.as_str()).or_insert(0_usize);
                *count += 1;
                if *count <= MAX_PER_CODE {
                    // With a blank line below, as each has several.
                    remarks.push(format!("{}\n", full(context, found, &mut source)));
                }
            }
            for (code, count) in counts.into_iter().filter(|(_, count)| *count > MAX_PER_CODE) {
                let place = of_file[0].path.as_deref().map(|path| format!(" in {}", context.short_path(path)));
                let more =
                    format!("and {} more {code}{}", text::thousands(count - MAX_PER_CODE), place.unwrap_or_default());
                remarks.push(format!("{}\n", paint(style::DIM, more)));
            }
        }
        return remarks;
    }
    // A log has room for a line each, so that a search in it finds the file; a screen has not.
    if !context.terminal.stderr_is_terminal() {
        remarks.extend(findings.iter().map(|found| text::one_line(&found.to_string())));
    }
    remarks.push(summary(findings));
    remarks
}

/// `12 errors, 3 warnings`
pub(crate) fn tally<'d>(findings: impl IntoIterator<Item = &'d Diagnostic>) -> String {
    let mut counts = BTreeMap::new();
    for found in findings {
        *counts.entry(found.severity).or_insert(0) += 1;
    }
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(severity, number)| match severity {
            Severity::Error => text::count(number, "error"),
            Severity::Warning => text::count(number, "warning"),
            Severity::Info => text::count(number, "suggestion"),
        })
        .collect();
    counts.join(", ")
}

fn summary(findings: &[&Diagnostic]) -> String {
    let mut codes = BTreeMap::new();
    for found in findings {
        *codes.entry(found.code.as_str()).or_insert(0) += 1;
    }
    let mut codes: Vec<(usize, &str)> = codes.into_iter().map(|(code, number)| (number, code)).collect();
    codes.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let listed: Vec<String> =
        codes.iter().map(|(number, code)| format!("{} {code}", text::thousands(*number))).collect();
    let worst = if findings.iter().any(|found| found.is_error()) { style::BAD } else { style::WARNING };
    format!(
        "{}: {}\n  {}: -v shows each of them with its line",
        paint(worst, tally(findings.iter().copied())),
        listed.join(", "),
        paint(style::HELP, "help"),
    )
}

/// The file that was shown last, kept because findings are sorted by file.
#[derive(Default)]
struct SourceFile {
    path: PathBuf,
    text: String,
    /// The offsets at which its lines start.
    lines: Vec<usize>,
}

impl SourceFile {
    /// Returns a line of a file, counted from 1. None if the file cannot be read any more.
    fn line(&mut self, path: &Path, number: u32) -> Option<&str> {
        if self.path != path {
            // As lossy as need be: that a file is not UTF-8 may be the very thing to show.
            let bytes = skill_file::read(path).unwrap_or_default();
            self.text = String::from_utf8_lossy(&bytes).into_owned();
            self.lines = std::iter::once(0).chain(self.text.match_indices('\n').map(|(at, _)| at + 1)).collect();
            path.clone_into(&mut self.path);
        }
        let number = number.checked_sub(1)? as usize;
        let start = *self.lines.get(number)?;
        let end = self.lines.get(number + 1).map_or(self.text.len(), |next| next - 1);
        Some(&self.text[start..end])
    }
}

fn full(context: &Context, found: &Diagnostic, source: &mut SourceFile) -> String {
    let level = match found.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let mut group = Group::with_title(level.primary_title(text::one_line(&found.message)).id(found.code.as_str()));
    if let Some(path) = &found.path {
        let shown = context.short_path(path);
        let line = found.place.and_then(|place| Some((place, source.line(path, place.line)?)));
        group = match (line, found.place) {
            (Some((place, line)), _) => group.element(snippet(shown, line, place)),
            (None, Some(place)) => {
                group.element(Origin::path(shown).line(place.line as usize).char_column(place.column as usize))
            }
            (None, None) => group.element(Origin::path(shown)),
        };
    }
    if let Some(help) = hints::hint_of(found) {
        group = group.element(Level::HELP.message(text::one_line(&help)));
    }
    render(&[group])
}

/// Returns an error as text, with the line that it is about.
pub(crate) fn excerpt(error: &CliError, excerpt: &Excerpt) -> String {
    let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let place = Span { line: narrow(excerpt.line), column: narrow(excerpt.column), width: narrow(excerpt.width) };
    let line = excerpt.text.split('\n').nth(excerpt.line.saturating_sub(1)).unwrap_or_default();
    let title = Level::ERROR.primary_title(text::one_line(error.message())).id(error.code());
    let mut group = Group::with_title(title).element(snippet(text::one_line(&excerpt.path), line, place));
    if let Some(help) = error.hint() {
        group = group.element(Level::HELP.message(text::one_line(help)));
    }
    render(&[group])
}

fn snippet<'s>(path: String, line: &str, place: Span) -> Snippet<'s, annotate_snippets::Annotation<'s>> {
    // Each character becomes one character, so that columns still hold, and none that a terminal obeys.
    let line: String = line
        .trim_end_matches('\r')
        .chars()
        .map(|c| if skillcue_base::is_hidden(c) && c != '\t' { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    let byte = |column: usize| line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let start = (place.column as usize).saturating_sub(1);
    let span = byte(start)..byte(start + place.width as usize);
    Snippet::source(line).line_start(place.line as usize).path(path).annotation(AnnotationKind::Primary.span(span))
}

fn render(report: &[Group<'_>]) -> String {
    // Always with colours: the stream takes them away where they do not belong.
    let mut renderer = Renderer::styled();
    if std::io::stderr().is_terminal()
        && let Some((width, _)) = terminal_size::terminal_size()
    {
        renderer = renderer.term_width(usize::from(width.0));
    }
    renderer.render(report)
}
