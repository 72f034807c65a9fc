//! Catalogs made for a test.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use skillcue_catalog::{Catalog, Discovery, SkillRoot, Source};
use skillcue_select::{SelectOptions, Selection, Selector, Turn};
use tempfile::TempDir;

/// A catalog and its selector, and the directory that both come from.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) catalog: Catalog,
    pub(crate) selector: Selector,
}

impl World {
    /// Makes a catalog from names and the rest of their front matter, as JSON.
    pub(crate) fn new(skills: &[(&str, Value)]) -> World {
        let dir = tempfile::tempdir().unwrap();
        for (name, fields) in skills {
            write(&dir.path().join(name), name, fields);
        }
        World::of(dir, |root| Discovery::new([SkillRoot::new(root, Source::User)]).run())
    }

    pub(crate) fn of(dir: TempDir, discover: impl FnOnce(PathBuf) -> Catalog) -> World {
        let catalog = discover(dir.path().to_path_buf());
        let selector = Selector::of(&catalog);
        World { dir, catalog, selector }
    }

    pub(crate) fn select(&self, turn: &Turn<'_>) -> Selection {
        self.selector.select(&self.catalog, turn, &SelectOptions::default())
    }

    /// Returns the names that a message selects, in order.
    pub(crate) fn names(&self, message: &str) -> Vec<String> {
        self.select(&Turn::new(message)).hits.into_iter().map(|hit| hit.name).collect()
    }

    /// Returns `kind trigger text` of every reason of the first hit.
    pub(crate) fn reasons(&self, turn: &Turn<'_>) -> Vec<String> {
        let selection = self.select(turn);
        let reasons = selection.hits.first().map_or(&[][..], |hit| &hit.reasons);
        reasons.iter().map(|reason| format!("{:?} {} {}", reason.kind, reason.trigger, reason.text)).collect()
    }
}

/// Writes a skill. YAML takes JSON values as they are.
pub(crate) fn write(dir: &std::path::Path, name: &str, fields: &Value) {
    let mut text = format!("---\nname: {name}\n");
    if fields.get("description").is_none() {
        text.push_str("description: Does a thing.\n");
    }
    for (field, value) in fields.as_object().unwrap() {
        writeln!(text, "{field}: {value}").unwrap();
    }
    text.push_str("---\nBody.\n");
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("SKILL.md"), text).unwrap();
}
