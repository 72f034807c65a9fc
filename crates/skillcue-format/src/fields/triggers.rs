//! The triggers of a manifest, and the checks of their patterns and globs.

use std::collections::HashSet;

use super::{ListSyntax, ManifestReader, ReadDepth, all_without_hidden, truncated};
use crate::manifest::Triggers;
use crate::node::{Node, Value};
use crate::pattern::{self, Verdict};
use crate::{Code, Diagnostic};

/// Maximum number of patterns, and of globs, of one skill that are checked.
const MAX_CHECKED: usize = 200;
/// Maximum number of patterns of one skill that are compiled to be checked: one may take milliseconds.
const MAX_COMPILED: usize = 8;

impl ManifestReader<'_, '_> {
    pub(super) fn triggers(&mut self, node: Option<&Node<'_>>) -> Triggers {
        let Some(node) = node else { return Triggers::default() };
        match &node.value {
            Value::Map(entries) => {
                self.unknown_triggers(entries);
                let get = |key| node.get(key);
                if self.source.depth != ReadDepth::Checked {
                    self.check_patterns(get("patterns"));
                    self.check_globs(get("files"));
                }
                Triggers {
                    keywords: all_without_hidden(self.list(get("keywords"), "triggers.keywords", ListSyntax::Commas)),
                    verbs: all_without_hidden(self.list(get("verbs"), "triggers.verbs", ListSyntax::Commas)),
                    patterns: self.list(get("patterns"), "triggers.patterns", ListSyntax::No),
                    files: self.list(get("files"), "triggers.files", ListSyntax::Commas),
                    languages: self.list(get("languages"), "triggers.languages", ListSyntax::Commas),
                }
            }
            _ => Triggers {
                keywords: all_without_hidden(self.list(Some(node), "triggers", ListSyntax::Commas)),
                ..Triggers::default()
            },
        }
    }

    /// Reports patterns that can never match.
    fn check_patterns(&mut self, node: Option<&Node<'_>>) {
        let Some(node) = node else { return };
        let written = distinct(node, ListSyntax::No);
        let (mut checked, mut compiled) = (0, 0);
        for (item, text) in written.iter().take(MAX_CHECKED) {
            let fault = match pattern::judge(text) {
                Verdict::Usable => None,
                Verdict::Unusable(reason) => Some(reason),
                Verdict::Large if compiled == MAX_COMPILED => continue,
                Verdict::Large => {
                    compiled += 1;
                    pattern::compile(text).err().map(|error| pattern::reason(&error))
                }
            };
            checked += 1;
            if let Some(reason) = fault {
                let message = format!("the pattern `{}` never matches: {reason}", truncated(text, 60));
                self.diagnostics.push(
                    Diagnostic::new(Code::InvalidPattern, message)
                        .with_place(self.place(item))
                        .with_help("patterns are linear-time regular expressions: no look-around, no back-references"),
                );
            }
        }
        if checked < written.len() {
            let message = format!("of {} patterns, only {checked} were checked", written.len());
            self.diagnostics.push(
                Diagnostic::new(Code::InvalidPattern, message)
                    .with_place(self.place(node))
                    .with_help("a skill with so many patterns costs every message: keep the few that matter"),
            );
        }
    }

    /// Reports globs that can never match.
    fn check_globs(&mut self, node: Option<&Node<'_>>) {
        let Some(node) = node else { return };
        for (item, text) in distinct(node, ListSyntax::Commas).into_iter().take(MAX_CHECKED) {
            if let Err(reason) = pattern::check_glob(text) {
                let message = format!("the glob `{}` never matches: {reason}", truncated(text, 60));
                self.diagnostics.push(
                    Diagnostic::new(Code::InvalidPattern, message)
                        .with_place(self.place(item))
                        .with_help("close every `[` and `{`, or put a `\\` before it"),
                );
            }
        }
    }

    fn unknown_triggers(&mut self, entries: &[(Node<'_>, Node<'_>)]) {
        for (key, _) in entries {
            let name = key.as_str().unwrap_or_default();
            if !["keywords", "verbs", "patterns", "files", "languages"].contains(&name) {
                let message = format!("`triggers` has no part called `{}`; it is ignored", truncated(name, 40));
                self.diagnostics.push(
                    Diagnostic::new(Code::WrongType, message)
                        .with_place(self.place(key))
                        .with_help("its parts are keywords, verbs, patterns, files and languages"),
                );
            }
        }
    }
}

/// Returns the texts of a list, each once, with its node.
fn distinct<'n>(node: &'n Node<'_>, split: ListSyntax) -> Vec<(&'n Node<'n>, &'n str)> {
    let mut seen = HashSet::new();
    let mut texts = Vec::new();
    let mut put = |node: &'n Node<'n>, text: &'n str| {
        if !text.trim().is_empty() && seen.insert(text) {
            texts.push((node, text));
        }
    };
    match &node.value {
        Value::Scalar { .. } if node.is_null() => {}
        Value::Scalar { text, .. } if split == ListSyntax::Commas => {
            text.split(',').for_each(|text| put(node, text.trim()));
        }
        Value::Scalar { text, .. } => put(node, text),
        Value::Seq(items) => items.iter().for_each(|item| {
            if let Some(text) = item.as_str() {
                put(item, if split == ListSyntax::Commas { text.trim() } else { text });
            }
        }),
        Value::Map(_) => {}
    }
    texts
}
