//! The agent's memory, for `memory` and for the chat.

use std::fmt::Write as _;
use std::path::Path;

use skillcue_agent::{Fact, Memory};

use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::text;

/// So many facts are shown.
const MOST: usize = 10_000;
/// So many answer a search.
const FOUND: usize = 20;

/// The memory, if there is one: looking makes none.
pub(crate) fn open(file: &Path) -> Result<Option<Memory>, CliError> {
    match file.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        _ => Ok(Some(Memory::open(file)?)),
    }
}

/// Returns the facts that fit some words; without words, all of them.
pub(crate) fn look(file: &Path, words: &str) -> Result<Vec<Fact>, CliError> {
    let Some(memory) = open(file)? else { return Ok(Vec::new()) };
    Ok(if words.is_empty() { memory.list(MOST)? } else { memory.recall(words, FOUND)? })
}

/// A line for each: its number, and what was said.
pub(crate) fn table(facts: &[Fact], columns: Option<usize>) -> String {
    let width = facts.iter().map(|fact| fact.id.to_string().len()).max().unwrap_or(0);
    let mut out = String::new();
    for fact in facts {
        let said = text::one_line(&fact.text);
        let said = columns
            .map_or(said.clone(), |columns| text::cut(&said, columns.saturating_sub(width + 2).max(20)).into_owned());
        let _ = writeln!(out, "{}  {said}", paint(style::DIM, format_args!("{:>width$}", fact.id)));
    }
    out
}
