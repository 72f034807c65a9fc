//! TypeScript to JavaScript, in place: types become spaces, so every line and column stays what the author wrote and no
//! source map is needed. Only `enum` and parameter properties, which are code, are written anew, on the same lines.
//!
//! The way is that of `ts-blank-space` and of node's `--strip-types`; the parser is oxc's. What neither is nor can be
//! made JavaScript in place (`namespace` with values, `import x = require()`, `export =`, decorators, JSX) is a problem
//! with a place.

mod blank;
mod edits;
mod enums;

use oxc_allocator::Allocator;
use oxc_parser::{Parser, ParserReturn};
use oxc_span::SourceType;

use crate::message::WireDiagnostic;

/// The deepest nesting of brackets that is parsed: the parser calls itself for each.
const NESTING: usize = 1_000;

/// Why a text is not what it should be.
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
        let (line, column) = place(text, offset);
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

/// Line and column of a byte, from 1, the column in characters.
fn place(text: &str, offset: usize) -> (u32, u32) {
    let before = crate::cut(text, offset);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before[start..].chars().count() + 1;
    (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}

/// The text without its types, and which of its bytes were which.
pub(crate) fn strip(text: &str) -> Result<(String, Vec<(usize, usize)>), SyntaxError> {
    let allocator = Allocator::default();
    let parsed = parse(&allocator, text, SourceType::ts())?;
    let edits = blank::edits(text, &parsed.program)?;
    Ok(edits.apply(text))
}

/// What is wrong with a text that should be JavaScript, as far as its syntax goes.
pub(crate) fn check(text: &str) -> Option<SyntaxError> {
    parse(&Allocator::default(), text, SourceType::mjs()).err()
}

fn parse<'a>(allocator: &'a Allocator, text: &'a str, kind: SourceType) -> Result<ParserReturn<'a>, SyntaxError> {
    if let Some(offset) = nests_too_deeply(text) {
        return Err(SyntaxError::at(text, offset, format!("brackets nest deeper than {NESTING}"), None));
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

/// Where brackets nest too deeply, counted without looking for strings and comments: close enough for a bound.
fn nests_too_deeply(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                if depth > NESTING {
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
