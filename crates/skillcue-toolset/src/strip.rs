//! TypeScript to JavaScript, in place: types become spaces, so every line and column stays as the author wrote it and
//! no source map is needed. Only `enum` and parameter properties, which are code, are written anew, on the same lines.
//!
//! The method is that of `ts-blank-space` and of node's `--strip-types`; the parser is oxc's. Syntax that neither is
//! nor can be made JavaScript in place (`namespace` with values, `import x = require()`, `export =`, decorators, JSX)
//! is an error with a position.

mod blank;
mod edits;
mod enums;
mod visit;

use oxc_allocator::Allocator;
use oxc_parser::{Parser, ParserReturn};
use oxc_span::SourceType;

use crate::message::WireDiagnostic;
use crate::position::line_and_column;

/// The deepest nesting of brackets that is parsed: the parser recurses for each.
const MAX_NESTING: usize = 1_000;

/// An error of syntax, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub(crate) struct SyntaxError {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl SyntaxError {
    fn at(text: &str, offset: usize, message: impl Into<String>, help: Option<String>) -> SyntaxError {
        let (line, column) = line_and_column(text, offset);
        SyntaxError { line, column, message: message.into(), help }
    }

    /// Returns it as a finding about a file.
    pub(crate) fn in_file(self, file: &str) -> WireDiagnostic {
        WireDiagnostic {
            file: Some(file.to_owned()),
            line: Some(self.line),
            column: Some(self.column),
            help: self.help,
            ..WireDiagnostic::new("toolset_syntax", self.message, None)
        }
    }
}

/// Returns the text without its types, and the moves of its bytes as [`edits::Edits::apply`] returns them.
pub(crate) fn strip(text: &str) -> Result<(String, Vec<(usize, usize)>), SyntaxError> {
    let allocator = Allocator::default();
    let parsed = parse(&allocator, text, SourceType::ts())?;
    let edits = blank::edits(text, &parsed.program)?;
    Ok(edits.apply(text))
}

/// Returns the first error in the syntax of a text that should be JavaScript.
pub(crate) fn check(text: &str) -> Option<SyntaxError> {
    parse(&Allocator::default(), text, SourceType::mjs()).err()
}

fn parse<'a>(allocator: &'a Allocator, text: &'a str, kind: SourceType) -> Result<ParserReturn<'a>, SyntaxError> {
    if let Some(offset) = too_deep_at(text) {
        return Err(SyntaxError::at(text, offset, format!("brackets nest deeper than {MAX_NESTING}"), None));
    }
    let parsed = Parser::new(allocator, text, kind).parse();
    let Some(first) = parsed.diagnostics.iter().next() else { return Ok(parsed) };
    let offset = first.labels.first().map_or(0, |label| label.offset() as usize);
    let jsx = text.get(offset..).is_some_and(|rest| rest.starts_with('<')) || first.message.contains("JSX");
    let help = if jsx {
        Some("JSX is not supported in toolsets".to_owned())
    } else {
        first.help.as_ref().map(ToString::to_string)
    };
    Err(SyntaxError::at(text, offset, first.message.to_string(), help))
}

/// Returns the offset at which brackets nest too deeply, counted without regard to strings and comments: close enough
/// for a bound.
fn too_deep_at(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                if depth > MAX_NESTING {
                    return Some(offset);
                }
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests;
