//! What is installed, and whether it is still what was installed.

use std::path::PathBuf;

use serde::Serialize;
use skillcue::Source;
use skillcue::format::Severity;
use skillcue_registry::{Standing, Verified};

use super::findings::Finding;
use crate::context::Context;
use crate::error::CliError;
use crate::progress::Progress;

/// One registry.
#[derive(Debug, Serialize)]
pub(super) struct Installed {
    pub(super) source: Source,
    #[serde(serialize_with = "crate::text::lossy")]
    pub(super) path: PathBuf,
    pub(super) things: usize,
    /// How much is wrong with its files; the findings say what.
    pub(super) trouble: usize,
    /// What is not as it was installed.
    pub(super) drift: Vec<Verified>,
    pub(super) trash: usize,
}

/// Compares everything that is installed with its lock.
pub(super) fn section(context: &Context, found: &mut Vec<Finding>) -> Result<Vec<Installed>, CliError> {
    let mut sections = Vec::new();
    for (registry, source) in context.registries()?.present() {
        let path = registry.place().registry_file();
        let progress = Progress::unknown("comparing what is installed with its lock");
        let verified = registry.verify_all();
        drop(progress);
        let drift: Vec<Verified> = match verified {
            Ok(verified) => verified.into_iter().filter(|one| !one.is_clean()).collect(),
            Err(error) => {
                found.push(Finding { code: "registry".to_owned(), ..Finding::of(&error, Severity::Error) }.at(&path));
                Vec::new()
            }
        };
        found.extend(drift.iter().map(|one| finding(one).at(registry.dir_of(one.kind, &one.name))));
        let state = registry.state();
        let (things, trouble) = (state.installed.len(), state.trouble.len());
        sections.push(Installed { source, path, things, trouble, drift, trash: registry.trash().len() });
    }
    Ok(sections)
}

fn finding(one: &Verified) -> Finding {
    let (severity, said, help) = match one.standing {
        Standing::Absent => (
            Severity::Error,
            format!("`{}` is installed, and not there", one.name),
            "`skillcue install` brings back what skillcue.lock pins; `skillcue remove` forgets it",
        ),
        Standing::Stray => (
            Severity::Warning,
            format!("`{}` stands among what is installed, and the registry does not know it", one.name),
            "install it, or move it to a directory of your own",
        ),
        Standing::Unlocked => {
            (Severity::Warning, format!("skillcue.lock says nothing of `{}`", one.name), "install it again to pin it")
        }
        _ => (
            Severity::Warning,
            format!("`{}` is not as it was installed", one.name),
            "`skillcue verify` says what is different; `skillcue update --overwrite-edits` takes it back",
        ),
    };
    Finding::new("drift", severity, said).help(help)
}
