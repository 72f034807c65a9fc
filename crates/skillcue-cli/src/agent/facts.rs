//! The agent's memory, for `memory` and for the chat.

use std::fmt::Write as _;
use std::path::Path;

use skillcue_agent::{Fact, Memory};

use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::text;

/// Most facts that are listed.
const MAX_FACTS: usize = 10_000;
/// Most facts that answer a search.
const MAX_FOUND: usize = 20;

/// Opens the memory, if there is one. It is not created.
pub(crate) fn open(file: &Path) -> Result<Option<Memory>, CliError> {
    match file.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        _ => Ok(Some(Memory::open(file)?)),
    }
}

/// Returns the facts that fit some words; without words, all of them.
pub(crate) fn look(file: &Path, words: &str) -> Result<Vec<Fact>, CliError> {
    let Some(memory) = open(file)? else { return Ok(Vec::new()) };
    Ok(if words.is_empty() { memory.list(MAX_FACTS)? } else { memory.recall(words, MAX_FOUND)? })
}

/// Returns a line for each fact: its number, its origin, and its text.
pub(crate) fn table(facts: &[Fact], columns: Option<usize>) -> String {
    let width = facts.iter().map(|fact| fact.id.to_string().len()).max().unwrap_or(0);
    let mut out = String::new();
    for fact in facts {
        let said = text::one_line(&fact.text);
        let said = columns
            .map_or(said.clone(), |columns| text::cut(&said, columns.saturating_sub(width + 9).max(20)).into_owned());
        let head = format_args!("{:>width$}  {:<5}", fact.id, fact.origin.as_str());
        let _ = writeln!(out, "{}  {said}", paint(style::DIM, head));
    }
    out
}
