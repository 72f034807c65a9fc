//! Installed skills and plugins, compared with their lock.

use std::path::PathBuf;

use serde::Serialize;
use skillcue::format::{Code, Severity};
use skillcue::{Diagnostic, Source};
use skillcue_registry::{InstallStatus, VerifiedItem};

use crate::context::Context;
use crate::error::CliError;
use crate::hints;
use crate::progress::ProgressIndicator;

/// A registry, and what is wrong with it.
#[derive(Debug, Serialize)]
pub(super) struct RegistryCheck {
    pub(super) source: Source,
    #[serde(serialize_with = "crate::text::lossy")]
    pub(super) path: PathBuf,
    pub(super) things: usize,
    /// The number of findings about the registry's own files.
    pub(super) trouble: usize,
    /// Skills and plugins that are not as they were installed.
    pub(super) drift: Vec<VerifiedItem>,
    pub(super) trash: usize,
}

/// Compares everything that is installed with its lock.
pub(super) fn section(context: &Context, found: &mut Vec<Diagnostic>) -> Result<Vec<RegistryCheck>, CliError> {
    let mut sections = Vec::new();
    for (registry, source) in context.registries()?.present() {
        let path = registry.location().registry_file();
        let progress = ProgressIndicator::spinner("comparing what is installed with its lock");
        let verified = registry.verify_all();
        drop(progress);
        let drift: Vec<VerifiedItem> = match verified {
            Ok(verified) => verified.into_iter().filter(|one| !one.is_clean()).collect(),
            Err(error) => {
                let found_here = hints::diagnostic_of(&error, Severity::Error).at(&path);
                found.push(Diagnostic { code: Code::Named("registry"), ..found_here });
                Vec::new()
            }
        };
        found.extend(drift.iter().map(|one| finding(one).at(registry.dir_of(one.kind, &one.name))));
        let state = registry.state();
        let (things, trouble) = (state.installed.len(), state.diagnostics.len());
        sections.push(RegistryCheck { source, path, things, trouble, drift, trash: registry.trash().len() });
    }
    Ok(sections)
}

fn finding(one: &VerifiedItem) -> Diagnostic {
    let (severity, said, help) = match one.standing {
        InstallStatus::Absent => (
            Severity::Error,
            format!("`{}` is installed, and not there", one.name),
            "`skillcue install` brings back what skillcue.lock pins; `skillcue remove` forgets it",
        ),
        InstallStatus::Stray => (
            Severity::Warning,
            format!("`{}` is among the installed skills, but not in the registry", one.name),
            "install it, or move it to a directory of your own",
        ),
        InstallStatus::Unlocked => {
            (Severity::Warning, format!("skillcue.lock says nothing of `{}`", one.name), "install it again to pin it")
        }
        _ => (
            Severity::Warning,
            format!("`{}` is not as it was installed", one.name),
            "`skillcue verify` says what is different; `skillcue update --overwrite-edits` takes it back",
        ),
    };
    Diagnostic::named("drift", severity, said).with_help(help)
}
