//! The lines of ours in one file of a client, and how they are put in, found and taken out.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::TextFault;
use super::json::{self, Step};
use super::launch::is_hook_command;
use super::plugin::is_own_plugin;
use super::{ConnectionPart, SettingsError, toml};
use crate::Client;

/// The format of a client's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsFormat {
    /// JSON, with comments and trailing commas where their owner has some.
    Json,
    /// TOML.
    Toml,
    /// A program that is ours as a whole.
    Program,
}

/// Something of ours in a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SettingsEntry {
    /// A member of the object at a path, as `mcpServers.skillcue`.
    Member {
        /// The keys above it.
        path: Vec<&'static str>,
        /// Its key.
        key: &'static str,
        /// Its value.
        value: Value,
    },
    /// A text in the list at a path, as in `permissions.allow`.
    Text {
        /// The keys of the list.
        path: Vec<&'static str>,
        /// The text.
        text: String,
    },
    /// A hook in the list at a path: an object with a command. It is known by its command's end.
    Hook {
        /// The keys of the list.
        path: Vec<&'static str>,
        /// The client that calls it.
        client: Client,
        /// The hook.
        hook: Value,
        /// Whether the list has groups, each with a list `hooks` of its own.
        is_grouped: bool,
    },
    /// The whole file.
    Whole {
        /// Its text.
        text: String,
    },
}

/// A file of a client, and what of ours belongs into it.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingsFile {
    /// The client.
    pub client: Client,
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: SettingsFormat,
    /// Our entries that belong into it.
    pub entries: Vec<(ConnectionPart, SettingsEntry)>,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

impl SettingsFile {
    pub(super) fn fault(&self, text: &str, fault: TextFault) -> SettingsError {
        fault.of_file(&self.path, text)
    }

    /// Fails if a text is not of this file's format.
    pub(super) fn check(&self, text: &str) -> Result<(), SettingsError> {
        let bare = text.trim_start_matches(BYTE_ORDER_MARK);
        let checked = match self.format {
            SettingsFormat::Json => json::check(bare),
            SettingsFormat::Toml => toml::check(bare),
            SettingsFormat::Program if is_own_plugin(bare) => Ok(()),
            SettingsFormat::Program => return Err(SettingsError::Foreign { path: self.path.clone() }),
        };
        checked.map_err(|fault| self.fault(bare, fault))
    }

    /// Returns a text with the entries of some parts in it.
    pub(super) fn put(&self, text: &str, parts: &[ConnectionPart]) -> Result<String, SettingsError> {
        self.fold(text, |text| {
            let mut out = text.to_owned();
            for (_, entry) in self.entries.iter().filter(|(part, _)| parts.contains(part)) {
                out = entry.put(&out, self.format)?;
            }
            // What was written is what was meant.
            let is_whole = self.entries.iter().filter(|(part, _)| parts.contains(part));
            let mut is_whole = is_whole.map(|(_, entry)| entry.state(&out, self.format));
            if is_whole.all(|state| matches!(state, Ok(EntryState::Current))) {
                Ok(out)
            } else {
                Err(TextFault::Unsafe)
            }
        })
    }

    /// Returns a text without the entries of some parts. Objects and lists that are empty then, and that the text before does
    /// not have, go with them.
    pub(super) fn take(&self, text: &str, parts: &[ConnectionPart], before: &str) -> Result<String, SettingsError> {
        let before = before.trim_start_matches(BYTE_ORDER_MARK);
        self.fold(text, |text| {
            let mut out = text.to_owned();
            for (_, entry) in self.entries.iter().rev().filter(|(part, _)| parts.contains(part)) {
                out = entry.take(&out, before, self.format)?;
            }
            Ok(out)
        })
    }

    fn fold(&self, text: &str, edit: impl FnOnce(&str) -> Result<String, TextFault>) -> Result<String, SettingsError> {
        let bare = text.trim_start_matches(BYTE_ORDER_MARK);
        let mark = &text[..text.len() - bare.len()];
        let edited = edit(bare).map_err(|fault| self.fault(bare, fault))?;
        Ok(format!("{mark}{edited}"))
    }

    /// Returns the parts that a text has, each with whether all of it is as it would be written now.
    pub(super) fn parts_in(&self, text: &str) -> Result<Vec<(ConnectionPart, bool)>, SettingsError> {
        let bare = text.trim_start_matches(BYTE_ORDER_MARK);
        let mut found = Vec::new();
        for part in ConnectionPart::ALL {
            let mut states = Vec::new();
            for (_, entry) in self.entries.iter().filter(|(of, _)| *of == part) {
                states.push(entry.state(bare, self.format).map_err(|fault| self.fault(bare, fault))?);
            }
            if states.iter().any(|state| *state != EntryState::Absent) {
                found.push((part, states.iter().all(|state| *state == EntryState::Current)));
            }
        }
        Ok(found)
    }

    /// Returns whether a text has nothing in it.
    pub(super) fn is_blank(&self, text: &str) -> bool {
        let bare = text.trim_start_matches(BYTE_ORDER_MARK);
        match self.format {
            SettingsFormat::Json => json::is_blank(bare),
            SettingsFormat::Toml | SettingsFormat::Program => bare.trim().is_empty(),
        }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The state of an entry in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryState {
    Absent,
    /// It is there, and differs from what would be written now.
    Outdated,
    Current,
}

fn state_of(found: Option<bool>) -> EntryState {
    match found {
        None => EntryState::Absent,
        Some(false) => EntryState::Outdated,
        Some(true) => EntryState::Current,
    }
}

impl SettingsEntry {
    pub(super) fn state(&self, text: &str, format: SettingsFormat) -> Result<EntryState, TextFault> {
        let found = match (self, format) {
            (SettingsEntry::Whole { text: whole }, _) => (!text.trim().is_empty()).then_some(text == whole),
            (SettingsEntry::Member { path, key, value }, SettingsFormat::Toml) => {
                toml::get(text, path, key)?.map(|found| found == *value)
            }
            (SettingsEntry::Member { path, key, value }, _) => json::get(text, path, key)?.map(|found| found == *value),
            (SettingsEntry::Text { path, text: own }, _) => {
                json::elements(text, path)?.iter().any(|element| element == own).then_some(true)
            }
            (SettingsEntry::Hook { path, client, hook, is_grouped }, _) => {
                let elements = match format {
                    SettingsFormat::Toml => toml::elements(text, path)?,
                    _ => json::elements(text, path)?,
                };
                find_hook(&elements, *client, *is_grouped).map(|(_, _, found)| found == hook)
            }
        };
        Ok(state_of(found))
    }

    fn put(&self, text: &str, format: SettingsFormat) -> Result<String, TextFault> {
        match self.state(text, format)? {
            EntryState::Current => return Ok(text.to_owned()),
            // TOML's tables are written anew.
            EntryState::Outdated if format == SettingsFormat::Toml => {
                return self.put(&self.take(text, "", format)?, format);
            }
            EntryState::Outdated | EntryState::Absent => {}
        }
        match self {
            SettingsEntry::Whole { text } => Ok(text.clone()),
            SettingsEntry::Member { path, key, value } if format == SettingsFormat::Toml => {
                toml::put(text, path, key, value)
            }
            SettingsEntry::Member { path, key, value } => json::put(text, path, key, value),
            SettingsEntry::Text { path, text: own } => json::push(text, path, &Value::from(own.as_str())),
            SettingsEntry::Hook { path, hook, .. } if format == SettingsFormat::Toml => {
                toml::push_hook(text, path, hook)
            }
            SettingsEntry::Hook { path, client, hook, is_grouped } => {
                let elements = json::elements(text, path)?;
                match find_hook(&elements, *client, *is_grouped) {
                    Some((group, inner, _)) => json::replace(text, &steps(path, group, inner), hook),
                    None if *is_grouped => json::push(text, path, &serde_json::json!({"hooks": [hook]})),
                    None => json::push(text, path, hook),
                }
            }
        }
    }

    fn take(&self, text: &str, before: &str, format: SettingsFormat) -> Result<String, TextFault> {
        if self.state(text, format)? == EntryState::Absent {
            return Ok(text.to_owned());
        }
        match self {
            SettingsEntry::Whole { .. } => Ok(String::new()),
            SettingsEntry::Member { path, key, .. } if format == SettingsFormat::Toml => toml::cut(text, path, key),
            SettingsEntry::Member { path, key, .. } => {
                let steps: Vec<Step<'_>> = path.iter().chain([key]).map(|key| Step::Key(key)).collect();
                json::prune(&json::cut(text, &steps)?, path, before)
            }
            SettingsEntry::Text { path, text: own } => {
                let at = json::elements(text, path)?.iter().position(|element| element == own);
                let at = at.ok_or(TextFault::Unsafe)?;
                json::prune(&json::cut(text, &steps(path, at, None))?, path, before)
            }
            SettingsEntry::Hook { path, client, is_grouped, .. } => {
                let is_toml = format == SettingsFormat::Toml;
                let mut out = text.to_owned();
                loop {
                    let elements = if is_toml { toml::elements(&out, path)? } else { json::elements(&out, path)? };
                    let Some((group, inner, _)) = find_hook(&elements, *client, *is_grouped) else { break };
                    // Hooks of others in the same group stay.
                    let is_alone = elements[group]["hooks"].as_array().is_none_or(|hooks| hooks.len() == 1);
                    let inner = inner.filter(|_| !is_alone);
                    out = if is_toml {
                        toml::cut_hook(&out, path, group, inner)?
                    } else {
                        json::cut(&out, &steps(path, group, inner))?
                    };
                }
                if is_toml { Ok(out) } else { json::prune(&out, path, before) }
            }
        }
    }
}

fn steps<'k>(path: &'k [&'static str], at: usize, inner: Option<usize>) -> Vec<Step<'k>> {
    let mut steps: Vec<Step<'k>> = path.iter().map(|key| Step::Key(key)).collect();
    steps.push(Step::At(at));
    if let Some(inner) = inner {
        steps.extend([Step::Key("hooks"), Step::At(inner)]);
    }
    steps
}

/// Returns our hook in a list: the position in it, the position in the group, and the hook.
fn find_hook(elements: &[Value], client: Client, is_grouped: bool) -> Option<(usize, Option<usize>, &Value)> {
    let is_ours = |hook: &Value| {
        let command = ["command", "bash"].iter().find_map(|key| hook[*key].as_str());
        command.is_some_and(|command| is_hook_command(command, client))
    };
    elements.iter().enumerate().find_map(|(at, element)| {
        if !is_grouped {
            return is_ours(element).then_some((at, None, element));
        }
        let hooks = element["hooks"].as_array()?;
        let inner = hooks.iter().position(is_ours)?;
        Some((at, Some(inner), &hooks[inner]))
    })
}
