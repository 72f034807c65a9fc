//! The lines of ours in one file of a client, and how they are put in, found and taken out.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::TextFault;
use super::json::{self, Step};
use super::launch::is_hook_command;
use super::plugin::is_own_plugin;
use super::server::{SERVER, is_own_server};
use super::{ConnectionPart, ConnectionStore, SettingsError, toml};
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
    /// Our entries that belonged into it while its owner's files were others: they only go.
    pub(super) former: Vec<(ConnectionPart, SettingsEntry)>,
    /// The programs whose entries are ours, whatever their names.
    pub(super) programs: Vec<String>,
    /// The project that the file must not lead out of.
    pub(super) project: Option<PathBuf>,
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

    /// Returns the file with the programs that a record says were written into it.
    pub(super) fn known_by(&self, store: &ConnectionStore) -> SettingsFile {
        let mut file = self.clone();
        let recorded = store.read(&self.path).map(|(record, _)| record.programs).unwrap_or_default();
        file.programs.extend(recorded.into_iter().filter(|program| !self.programs.contains(program)));
        file
    }

    /// Returns all entries that may be in the file.
    fn all_entries(&self) -> impl DoubleEndedIterator<Item = &(ConnectionPart, SettingsEntry)> {
        self.entries.iter().chain(&self.former)
    }

    /// Returns a text with the entries of some parts in it.
    pub(super) fn put(&self, text: &str, parts: &[ConnectionPart]) -> Result<String, SettingsError> {
        self.fold(text, |text| {
            let mut out = text.to_owned();
            for (_, entry) in self.entries.iter().filter(|(part, _)| parts.contains(part)) {
                out = entry.put(&out, self.format, &self.programs)?;
            }
            // What was written is what was meant.
            let is_whole = self.entries.iter().filter(|(part, _)| parts.contains(part));
            let mut is_whole = is_whole.map(|(_, entry)| entry.state(&out, self.format, &self.programs));
            if is_whole.all(|state| matches!(state, Ok(EntryState::Current))) {
                Ok(out)
            } else {
                Err(TextFault::Unsafe)
            }
        })
    }

    /// Returns a text without the entries of some parts. Objects and lists that are empty then, and that the text before does
    /// not have, go with them; a server and texts that it has are as they were. If the text before is not known, all that is
    /// surely ours goes.
    pub(super) fn take(
        &self,
        text: &str,
        parts: &[ConnectionPart],
        before: Option<&str>,
    ) -> Result<String, SettingsError> {
        self.taken(text, self.all_entries().rev().filter(|(part, _)| parts.contains(part)), before)
    }

    /// Returns a text without the entries of some parts that belong into it no more.
    pub(super) fn take_former(
        &self,
        text: &str,
        parts: &[ConnectionPart],
        before: Option<&str>,
    ) -> Result<String, SettingsError> {
        self.taken(text, self.former.iter().rev().filter(|(part, _)| parts.contains(part)), before)
    }

    fn taken<'e>(
        &self,
        text: &str,
        entries: impl Iterator<Item = &'e (ConnectionPart, SettingsEntry)>,
        before: Option<&str>,
    ) -> Result<String, SettingsError> {
        let before = before.map(|before| before.trim_start_matches(BYTE_ORDER_MARK));
        self.fold(text, |text| {
            let mut out = text.to_owned();
            for (_, entry) in entries {
                out = entry.take(&out, before, self.format, &self.programs)?;
            }
            Ok(out)
        })
    }

    /// Returns whether a text has entries of other parts than some, which the text before does not have.
    pub(super) fn has_others(
        &self,
        text: &str,
        parts: &[ConnectionPart],
        before: Option<&str>,
    ) -> Result<bool, SettingsError> {
        let bare = text.trim_start_matches(BYTE_ORDER_MARK);
        let before = before.map(|before| before.trim_start_matches(BYTE_ORDER_MARK));
        for (_, entry) in self.all_entries().filter(|(part, _)| !parts.contains(part)) {
            let state = |text| entry.state(text, self.format, &self.programs).map_err(|fault| self.fault(bare, fault));
            let is_ours = match before {
                _ if entry.is_proof() => true,
                Some(before) => !state(before)?.is_there(),
                None => false,
            };
            if is_ours && state(bare)?.is_there() {
                return Ok(true);
            }
        }
        Ok(false)
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
            let (mut is_there, mut is_current) = (false, true);
            let state = |entry: &SettingsEntry| {
                entry.state(bare, self.format, &self.programs).map_err(|fault| self.fault(bare, fault))
            };
            for (_, entry) in self.entries.iter().filter(|(of, _)| *of == part) {
                let state = state(entry)?;
                is_there |= entry.is_proof() && state.is_there();
                is_current &= state == EntryState::Current;
            }
            for (_, entry) in self.former.iter().filter(|(of, _)| *of == part) {
                let is_left = entry.is_proof() && state(entry)?.is_there();
                is_there |= is_left;
                is_current &= !is_left;
            }
            if is_there {
                found.push((part, is_current));
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
    /// Something of its owner's is in its place.
    Foreign,
    /// It is there, and differs from what would be written now.
    Outdated,
    Current,
}

impl EntryState {
    fn is_there(self) -> bool {
        matches!(self, EntryState::Outdated | EntryState::Current)
    }
}

fn state_of(found: Option<bool>) -> EntryState {
    match found {
        None => EntryState::Absent,
        Some(false) => EntryState::Outdated,
        Some(true) => EntryState::Current,
    }
}

impl SettingsEntry {
    /// Returns whether the entry proves by itself that its part is connected: what a person may have written as well does not.
    fn is_proof(&self) -> bool {
        match self {
            SettingsEntry::Member { key, .. } => *key == SERVER,
            SettingsEntry::Text { .. } => false,
            SettingsEntry::Hook { .. } | SettingsEntry::Whole { .. } => true,
        }
    }

    /// Returns the state of the entry in a text. Entries that start one of the programs are ours, too.
    pub(super) fn state(
        &self,
        text: &str,
        format: SettingsFormat,
        programs: &[String],
    ) -> Result<EntryState, TextFault> {
        let found = match (self, format) {
            (SettingsEntry::Whole { text: whole }, _) => (!text.trim().is_empty()).then_some(text == whole),
            (SettingsEntry::Member { path, key, value }, _) => {
                let found = match format {
                    SettingsFormat::Toml => toml::get(text, path, key)?,
                    _ => json::get(text, path, key)?,
                };
                let is_foreign = |found: &Value| found != value && self.is_proof() && !is_own_server(found, programs);
                if found.as_ref().is_some_and(is_foreign) {
                    return Ok(EntryState::Foreign);
                }
                found.map(|found| found == *value)
            }
            (SettingsEntry::Text { path, text: own }, _) => {
                json::elements(text, path)?.iter().any(|element| element == own).then_some(true)
            }
            (SettingsEntry::Hook { path, client, hook, is_grouped }, _) => {
                let elements = match format {
                    SettingsFormat::Toml => toml::elements(text, path)?,
                    _ => json::elements(text, path)?,
                };
                find_hook(&elements, *client, *is_grouped, programs).map(|(_, _, found)| found == hook)
            }
        };
        Ok(state_of(found))
    }

    fn put(&self, text: &str, format: SettingsFormat, programs: &[String]) -> Result<String, TextFault> {
        match self.state(text, format, programs)? {
            EntryState::Current => return Ok(text.to_owned()),
            // TOML's tables are written anew.
            EntryState::Outdated if format == SettingsFormat::Toml => {
                return self.put(&self.take(text, None, format, programs)?, format, programs);
            }
            EntryState::Foreign => return Err(TextFault::Foreign { member: self.name() }),
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
                match find_hook(&elements, *client, *is_grouped, programs) {
                    Some((group, inner, _)) => json::replace(text, &steps(path, group, inner), hook),
                    None if *is_grouped => json::push(text, path, &serde_json::json!({"hooks": [hook]})),
                    None => json::push(text, path, hook),
                }
            }
        }
    }

    /// Returns the keys of a member.
    fn name(&self) -> String {
        match self {
            SettingsEntry::Member { path, key, .. } => path.iter().chain([key]).copied().collect::<Vec<_>>().join("."),
            _ => String::new(),
        }
    }

    fn take(
        &self,
        text: &str,
        before: Option<&str>,
        format: SettingsFormat,
        programs: &[String],
    ) -> Result<String, TextFault> {
        if !self.state(text, format, programs)?.is_there() {
            return Ok(text.to_owned());
        }
        if !self.is_proof() {
            // Without a record, it may be its owner's as well.
            let was_there = |before| self.state(before, format, programs).is_ok_and(EntryState::is_there);
            if before.is_none_or(was_there) {
                return Ok(text.to_owned());
            }
        }
        let before_or_now = before.unwrap_or(text);
        match self {
            SettingsEntry::Whole { .. } => Ok(String::new()),
            SettingsEntry::Member { path, key, .. } if format == SettingsFormat::Toml => {
                let former =
                    before.map(|before| toml::get(before, path, key)).transpose().unwrap_or_default().flatten();
                if former.is_some() && former == toml::get(text, path, key)? {
                    return Ok(text.to_owned());
                }
                let out = toml::cut(text, path, key)?;
                former.map_or(Ok(out.clone()), |former| toml::put(&out, path, key, &former))
            }
            SettingsEntry::Member { path, key, .. } => {
                let steps: Vec<Step<'_>> = path.iter().chain([key]).map(|key| Step::Key(key)).collect();
                let restored = before.map(|before| json::restored(text, &steps, before)).transpose()?.flatten();
                if let Some(restored) = restored {
                    return Ok(restored);
                }
                json::prune(&json::cut(text, &steps)?, path, before_or_now)
            }
            SettingsEntry::Text { path, text: own } => {
                let at = json::elements(text, path)?.iter().position(|element| element == own);
                let at = at.ok_or(TextFault::Unsafe)?;
                json::prune(&json::cut(text, &steps(path, at, None))?, path, before_or_now)
            }
            SettingsEntry::Hook { path, client, is_grouped, .. } => {
                let is_toml = format == SettingsFormat::Toml;
                let mut out = text.to_owned();
                loop {
                    let elements = if is_toml { toml::elements(&out, path)? } else { json::elements(&out, path)? };
                    let found = find_hook(&elements, *client, *is_grouped, programs);
                    let Some((group, inner, _)) = found else { break };
                    // Hooks of others in the same group stay.
                    let is_alone = elements[group]["hooks"].as_array().is_none_or(|hooks| hooks.len() == 1);
                    let inner = inner.filter(|_| !is_alone);
                    out = if is_toml {
                        toml::cut_hook(&out, path, group, inner)?
                    } else {
                        json::cut(&out, &steps(path, group, inner))?
                    };
                }
                if is_toml { Ok(out) } else { json::prune(&out, path, before_or_now) }
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
fn find_hook<'e>(
    elements: &'e [Value],
    client: Client,
    is_grouped: bool,
    programs: &[String],
) -> Option<(usize, Option<usize>, &'e Value)> {
    let is_ours = |hook: &Value| {
        let command = ["command", "bash"].iter().find_map(|key| hook[*key].as_str());
        command.is_some_and(|command| is_hook_command(command, client, programs))
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
