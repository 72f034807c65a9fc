//! The lines that `skillcue watch` prints for an event.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skillcue::format::Severity;
use skillcue::watch::WatchEvent;
use skillcue::{Catalog, Diagnostic, Skill};

use crate::hints;
use crate::terminal::{paint, style};
use crate::text;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WatchLine {
    Added {
        name: String,
        path: PathBuf,
    },
    Updated {
        name: String,
        path: PathBuf,
        changed: Vec<String>,
    },
    Removed {
        name: String,
        path: PathBuf,
    },
    Files {
        name: String,
        path: PathBuf,
    },
    Found(Diagnostic),
    Mended(Diagnostic),
    Polling(String),
    /// The system reports changes, from the start or again.
    Watching {
        directories: Option<usize>,
    },
}

impl WatchLine {
    /// Returns the lines for an event, by the catalogs before it and after.
    pub(super) fn of(event: &WatchEvent, old: &Catalog, new: &Catalog) -> Vec<WatchLine> {
        let path = |catalog: &Catalog, name: &str| catalog.get(name).map(Skill::path).unwrap_or_default();
        match event {
            WatchEvent::Changed(changes) => {
                let added =
                    changes.added.iter().map(|name| WatchLine::Added { name: name.clone(), path: path(new, name) });
                let updated = changes.updated.iter().map(|name| WatchLine::Updated {
                    name: name.clone(),
                    path: path(new, name),
                    changed: changed(old, new, name),
                });
                let removed =
                    changes.removed.iter().map(|name| WatchLine::Removed { name: name.clone(), path: path(old, name) });
                let files =
                    changes.files.iter().map(|name| WatchLine::Files { name: name.clone(), path: path(new, name) });
                let mut news: Vec<WatchLine> = added.chain(updated).chain(removed).chain(files).collect();
                news.extend(missing(old.diagnostics(), new.diagnostics()).map(WatchLine::Mended));
                news.extend(missing(new.diagnostics(), old.diagnostics()).map(WatchLine::Found));
                news
            }
            WatchEvent::Trouble(why) => vec![WatchLine::Polling(why.clone())],
            WatchEvent::Recovered => vec![WatchLine::Watching { directories: None }],
            _ => Vec::new(),
        }
    }

    pub(super) fn json(&self) -> Value {
        let of_skill = |event: &str, name: &str, path: &Path| json!({"event": event, "name": name, "path": path.to_string_lossy()});
        match self {
            WatchLine::Added { name, path } => of_skill("added", name, path),
            WatchLine::Updated { name, path, changed } => {
                let mut line = of_skill("updated", name, path);
                line["changed"] = json!(changed);
                line
            }
            WatchLine::Removed { name, path } => of_skill("removed", name, path),
            WatchLine::Files { name, path } => of_skill("files", name, path),
            WatchLine::Found(found) => json!({"event": "found", "diagnostic": hints::advised(found)}),
            WatchLine::Mended(found) => json!({"event": "mended", "diagnostic": hints::advised(found)}),
            WatchLine::Polling(why) => json!({"event": "polling", "reason": why}),
            WatchLine::Watching { directories } => json!({"event": "watching", "directories": directories}),
        }
    }

    pub(super) fn text(&self, shown: &dyn Fn(&Path) -> String) -> String {
        let named = |style, word: &str, name: &str| format!("{} {}", paint(style, word), text::one_line(name));
        let finding = |found: &Diagnostic| {
            let at = found.path.as_deref().map(shown).unwrap_or_default();
            let at = found.place.map_or(at.clone(), |place| format!("{at}:{}:{}", place.line, place.column));
            format!("[{}] {at}: {}", found.code.as_str(), text::one_line(&found.message))
        };
        match self {
            WatchLine::Added { name, .. } => named(style::GOOD, "added", name),
            WatchLine::Updated { name, changed, .. } if changed.is_empty() => named(style::NAME, "updated", name),
            WatchLine::Updated { name, changed, .. } => {
                let changed = text::one_line(&changed.join(", "));
                format!("{} {}", named(style::NAME, "updated", name), paint(style::DIM, format!("({changed})")))
            }
            WatchLine::Removed { name, .. } => named(style::BAD, "removed", name),
            WatchLine::Files { name, .. } => named(style::DIM, "files", name),
            WatchLine::Found(found) => {
                let style = if found.severity == Severity::Error { style::BAD } else { style::WARNING };
                format!("{}{}", paint(style, found.severity.as_str()), finding(found))
            }
            WatchLine::Mended(found) => format!("{}{}", paint(style::GOOD, "mended"), finding(found)),
            WatchLine::Polling(why) => format!("{} {}", paint(style::WARNING, "now polling:"), text::one_line(why)),
            WatchLine::Watching { .. } => {
                format!("{} the system reports changes", paint(style::GOOD, "watching again:"))
            }
        }
    }
}

/// Returns the findings of one list that are not in the other. Both are sorted.
fn missing<'f>(these: &'f [Diagnostic], those: &'f [Diagnostic]) -> impl Iterator<Item = Diagnostic> + use<'f> {
    these.iter().filter(|found| those.binary_search(found).is_err()).cloned()
}

/// Returns which parts of a skill changed: keys of its front matter, `body`, `place`, `enabled`, `requirements`, or
/// only the `file`.
fn changed(old: &Catalog, new: &Catalog, name: &str) -> Vec<String> {
    let (Some(before), Some(after)) = (old.get(name), new.get(name)) else { return Vec::new() };
    let mut changed = Vec::new();
    if before.digest() != after.digest()
        && let (Some(one), Some(two)) = (before.raw(), after.raw())
    {
        let keys = one.entries().iter().chain(two.entries()).filter_map(|(key, _)| key.as_str());
        for key in keys {
            let same = match (one.get(key), two.get(key)) {
                (Some(one), Some(two)) => one.is_equivalent(two),
                (one, two) => one.is_none() && two.is_none(),
            };
            if !same && !changed.iter().any(|known| known == key) {
                changed.push(key.to_owned());
            }
        }
    }
    if before.body_tokens() != after.body_tokens() {
        changed.push("body".to_owned());
    }
    if !before.is_located_like(after) {
        changed.push("place".to_owned());
    }
    if before.enabled() != after.enabled() {
        changed.push("enabled".to_owned());
    }
    if before.available() != after.available() {
        changed.push("requirements".to_owned());
    }
    if changed.is_empty() && before.stamp() != after.stamp() {
        changed.push("file".to_owned());
    }
    changed
}
