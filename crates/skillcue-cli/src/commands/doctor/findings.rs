//! What is wrong, whoever found it.

use std::path::PathBuf;

use serde::Serialize;
use skillcue::catalog::{Place, SkillDir, SkillFile};
use skillcue::format::Severity;
use skillcue::{Catalog, Diagnostic, ErrorInfo, Skill};

use skillcue_host::Notice;

/// Largest skill file there is.
const MAX_FILE: u64 = 1 << 20;

/// One thing that is wrong: a diagnostic, or something about the set-up that no file is to blame for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Finding {
    #[serde(serialize_with = "crate::text::maybe_lossy")]
    pub(super) path: Option<PathBuf>,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
    pub(super) code: String,
    pub(super) severity: Severity,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Finding {
    pub(super) fn new(code: &str, severity: Severity, message: impl Into<String>) -> Finding {
        let (path, line, column, help) = (None, None, None, None);
        Finding { path, line, column, code: code.to_owned(), severity, message: message.into(), help }
    }

    pub(super) fn of(error: &(impl ErrorInfo + 'static), severity: Severity) -> Finding {
        let mut found = Finding::new(error.code(), severity, error.to_string());
        found.help = crate::hints::hint_of(error);
        found
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Finding {
        self.help = Some(help.into());
        self
    }

    pub(super) fn at(mut self, path: impl Into<PathBuf>) -> Finding {
        self.path = Some(path.into());
        self
    }
}

impl From<&Diagnostic> for Finding {
    fn from(found: &Diagnostic) -> Finding {
        Finding {
            path: found.path.clone(),
            line: found.place.map(|place| place.line),
            column: found.place.map(|place| place.column),
            code: found.code.as_str().to_owned(),
            severity: found.severity,
            message: found.message.to_string(),
            help: found.help.as_ref().map(ToString::to_string),
        }
    }
}

/// What the configuration wants and does not get is as good as broken: somebody relies on it.
impl From<&Notice> for Finding {
    fn from(notice: &Notice) -> Finding {
        let broken = notice.code.starts_with("untrusted") || matches!(notice.code, "registry" | "config");
        let severity = if broken { Severity::Error } else { Severity::Warning };
        Finding::new(notice.code, severity, &notice.message).help(&notice.help)
    }
}

/// Skills that stand in several places.
#[derive(Debug, Serialize)]
pub(super) struct Copies {
    pub(super) name: String,
    #[serde(serialize_with = "crate::text::all_lossy")]
    pub(super) places: Vec<PathBuf>,
    /// Whether all bodies are the same.
    pub(super) same: bool,
}

/// Compares the bodies of copies, which discovery takes for one skill by front matter and size.
pub(super) fn copies(catalog: &Catalog) -> Vec<Copies> {
    let mut found = Vec::new();
    for skill in catalog.all().iter().filter(|skill| skill.server().is_none()) {
        let places = skill.places();
        if places.len() < 2 {
            continue;
        }
        let texts: Vec<Option<Vec<u8>>> = places.iter().map(|place| text(skill, place)).collect();
        // One that cannot be read any more is not the same.
        let same = texts.iter().all(|text| text.is_some() && *text == texts[0]);
        let places = places.into_iter().map(|place| place.dir).collect();
        found.push(Copies { name: skill.name().to_owned(), places, same });
    }
    found
}

fn text(skill: &Skill, place: &Place) -> Option<Vec<u8>> {
    let file = place.path.file_name().and_then(|name| SkillFile::of(name.as_encoded_bytes()))?;
    // A skill file may be a link to that of another directory; then it is the same one, which discovery has followed.
    SkillDir::open(skill.name(), &place.dir)
        .and_then(|dir| dir.read(file.name(), MAX_FILE))
        .or_else(|_| SkillDir::open(skill.name(), &skill.body_file().open_dir)?.read(file.name(), MAX_FILE))
        .ok()
}

impl Copies {
    pub(super) fn finding(&self) -> Option<Finding> {
        let first = self.places.first().filter(|_| !self.same)?;
        let others: Vec<String> = self.places.iter().skip(1).map(|place| place.display().to_string()).collect();
        let message = format!(
            "`{}` stands in {} places with equal front matter and size, but the bodies differ; this one counts",
            self.name,
            self.places.len()
        );
        let help = format!("compare it with {}, and remove or rename one", others.join(", "));
        Some(Finding::new("copies_differ", Severity::Warning, message).at(first).help(help))
    }
}
