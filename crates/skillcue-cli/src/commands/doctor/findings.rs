//! Findings of `doctor`: their order, and copies that differ.

use std::path::PathBuf;

use serde::Serialize;
use skillcue::catalog::{Location, SkillDir, SkillFile};
use skillcue::format::Severity;
use skillcue::{Catalog, Diagnostic, Skill};
use skillcue_format::MAX_FILE;

/// Sorts findings by how bad they are, by their places and by their codes, as words.
pub(super) fn sort(found: &mut Vec<Diagnostic>) {
    fn key(found: &Diagnostic) -> impl Ord {
        let place = (&found.path, found.line(), found.column());
        (found.severity, place, found.code.as_str(), &found.message, &found.help)
    }
    found.sort_by(|a, b| key(a).cmp(&key(b)));
    found.dedup();
}

/// A skill that is in several places.
#[derive(Debug, Serialize)]
pub(super) struct SkillCopies {
    pub(super) name: String,
    #[serde(serialize_with = "crate::text::all_lossy")]
    pub(super) places: Vec<PathBuf>,
    /// Whether all bodies are equal.
    pub(super) same: bool,
}

/// Compares the bodies of copies, which discovery takes for one skill by front matter and size.
pub(super) fn copies(catalog: &Catalog) -> Vec<SkillCopies> {
    let mut found = Vec::new();
    for skill in catalog.all().iter().filter(|skill| skill.server().is_none()) {
        let places = skill.locations();
        if places.len() < 2 {
            continue;
        }
        let texts: Vec<Option<Vec<u8>>> = places.iter().map(|place| text(skill, place)).collect();
        // One that cannot be read any more is not the same.
        let same = texts.iter().all(|text| text.is_some() && *text == texts[0]);
        let places = places.into_iter().map(|place| place.dir).collect();
        found.push(SkillCopies { name: skill.name().to_owned(), places, same });
    }
    found
}

fn text(skill: &Skill, place: &Location) -> Option<Vec<u8>> {
    let file = place.path.file_name().and_then(|name| SkillFile::of(name.as_encoded_bytes()))?;
    // A skill file may be a link to that of another directory; then it is the same one, which discovery has followed.
    SkillDir::open(skill.name(), &place.dir)
        .and_then(|dir| dir.read(file.name(), MAX_FILE))
        .or_else(|_| SkillDir::open(skill.name(), &skill.body_file().open_dir)?.read(file.name(), MAX_FILE))
        .ok()
}

impl SkillCopies {
    pub(super) fn finding(&self) -> Option<Diagnostic> {
        let first = self.places.first().filter(|_| !self.same)?;
        let others: Vec<String> = self.places.iter().skip(1).map(|place| place.display().to_string()).collect();
        let message = format!(
            "`{}` is in {} places with equal front matter and size, but the bodies differ; this one counts",
            self.name,
            self.places.len()
        );
        let help = format!("compare it with {}, and remove or rename one", others.join(", "));
        Some(Diagnostic::named("copies_differ", Severity::Warning, message).at(first).with_help(help))
    }
}
