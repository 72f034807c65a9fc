//! Installed skills and plugins, compared with their lock.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;
use skillcue::format::{Code, Severity};
use skillcue::{Diagnostic, Source};
use skillcue_registry::{InstallStatus, Registry, SkillLink, VerifiedItem};

use crate::context::Context;
use crate::error::CliError;
use crate::hints;
use crate::progress::ProgressIndicator;
use crate::text;

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
        closed_links(registry, context, found)?;
        let state = registry.state();
        let (things, trouble) = (state.installed.len(), state.diagnostics.len());
        sections.push(RegistryCheck { source, path, things, trouble, drift, trash: registry.trash().len() });
    }
    Ok(sections)
}

/// Reports links to skills that a policy has closed since they were made: other agents do not know of the policy.
fn closed_links(registry: &Registry, context: &Context, found: &mut Vec<Diagnostic>) -> Result<(), CliError> {
    let location = registry.location();
    for (name, installed) in &registry.state().installed {
        let path = |link: &SkillLink| location.dir().join(&link.path);
        let there = installed.links.iter().filter(|link| path(link).symlink_metadata().is_ok());
        let clients: BTreeSet<&str> = there.map(|link| link.client.as_str()).collect();
        if clients.is_empty() {
            continue;
        }
        let Err(error) = registry.check_linkable(&[name], context.host()?.policy()?) else { continue };
        let clients = clients.into_iter().map(text::one_line).collect::<Vec<_>>().join(", ");
        let message = format!("{error}; through its link it stays open to: {clients}");
        let project = if location.is_project() { " --project" } else { "" };
        let help = format!("`skillcue unlink {name}{project}` takes the link away");
        found.push(
            Diagnostic::named("closed_link", Severity::Error, message)
                .at(registry.dir_of(installed.kind, name))
                .with_help(help),
        );
    }
    Ok(())
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
