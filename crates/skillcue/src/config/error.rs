//! Errors of a `skillcue.toml`: the message and its place.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::{Config, DiscloseSection};

/// The reason why a `skillcue.toml` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// A sentence on what is wrong.
    pub message: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1 in characters.
    pub column: usize,
    /// The number of characters that are wrong.
    pub width: usize,
    /// A sentence on what to do about it.
    pub help: String,
}

impl ConfigError {
    /// Makes an error about a range of the text, in bytes.
    pub(super) fn at(text: &str, span: Range<usize>, message: String, help: String) -> ConfigError {
        let before = text.get(..span.start).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let marked = text.get(span).and_then(|marked| marked.lines().next()).unwrap_or_default();
        ConfigError {
            message,
            line: line_of(before),
            column: before[start..].chars().count() + 1,
            width: marked.chars().count().max(1),
            help,
        }
    }
}

/// Returns the number of the line that comes after a text, or goes on with it.
fn line_of(before: &str) -> usize {
    before.matches('\n').count() + 1
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ConfigError {}

/// Returns the error about a setting that is below `[select]` and below `[disclose]`. None of the two has priority: a
/// file that says two things has a mistake, and its author knows which of them is meant.
pub(super) fn doubled(text: &str, config: &Config) -> Option<ConfigError> {
    let Config { select, disclose, .. } = config;
    let pairs = [
        ("mode", select.mode.is_some() && disclose.mode.is_some()),
        ("max_skills", select.max_skills.is_some() && disclose.max_skills.is_some()),
        ("fallback", select.fallback.is_some() && disclose.fallback.is_some()),
        ("eagerness", select.eagerness.is_some() && disclose.eagerness.is_some()),
        ("model", select.model.is_some() && disclose.model.is_some()),
    ];
    let (setting, _) = pairs.into_iter().find(|(_, is_doubled)| *is_doubled)?;
    let spans: SelectionSpans = toml::from_str(text).ok()?;
    let (first, second) = (spans.select.get(setting)?.span(), spans.disclose.get(setting)?.span());
    let line = line_of(text.get(..first.start)?);
    let message = format!("`{setting}` is below [disclose] here, and below [select] in line {line}");
    Some(ConfigError::at(text, second, message, "keep the one below [select]".to_owned()))
}

/// Returns the error about a number that must be from 0 to 1, and is not. It names the section in which the number is.
pub(super) fn out_of_range(text: &str, disclose: &DiscloseSection) -> Option<ConfigError> {
    let setting = disclose.config().check().err()?.setting;
    let spans: SelectionSpans = toml::from_str(text).unwrap_or_default();
    let sections = [("select", &spans.select), ("disclose", &spans.disclose)];
    let found = sections.into_iter().find_map(|(section, settings)| Some((section, settings.get(setting)?.span())));
    let (section, span) = found.unwrap_or(("disclose", 0..0));
    let written = text.get(span.clone()).unwrap_or_default();
    let message = format!("`{setting}` must be a number from 0 to 1, not {written}");
    Some(ConfigError::at(text, span, message, format!("write a number from 0 to 1 below [{section}]")))
}

/// The places of the settings in the two sections that may hold those about selection.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SelectionSpans {
    select: BTreeMap<String, Spanned<toml::Value>>,
    disclose: BTreeMap<String, Spanned<toml::Value>>,
}
