//! `skillcue verify`: what is installed, against the lock.

use std::fmt::Write as _;

use serde_json::{Value, json};
use skillcue::Source;
use skillcue_registry::{DriftKind, InstallStatus, Registry, VerifiedItem};

use crate::context::Context;
use crate::error::CliError;
use crate::registries::{RegistryArgs, registry_of};
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue verify            everything that is installed, against skillcue.lock
  skillcue verify pdf        one of it
  skillcue verify --project  what is installed in the project; for CI

Exit code 1 if something is not as it was installed.
With --json it prints {valid, verified: [{name, kind, standing, drift: [{path, what}], project}]}; `standing` is
locked, unlocked, absent or stray, `what` is changed, missing, added, mode or link, `project` is true if it is
installed in the project.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Installed skills and plugins; all without any
    names: Vec<String>,
    #[command(flatten)]
    registry: RegistryArgs,
}

/// Returns the document that `verify --json` prints about everything that is installed.
pub(super) fn json(context: &Context) -> Result<Vec<u8>, CliError> {
    let mut verified = Vec::new();
    for (registry, source) in context.registries()?.present() {
        verified.extend(registry.verify_all()?.into_iter().map(|item| (item, source == Source::Project)));
    }
    Ok(serde_json::to_vec(&document(&verified))?)
}

/// Returns items as JSON; those of the project's registry say so, because commands must be told whose they mean.
fn document(verified: &[(VerifiedItem, bool)]) -> Value {
    let row = |(item, is_project): &(VerifiedItem, bool)| {
        let mut row = json!(item);
        if *is_project && let Some(fields) = row.as_object_mut() {
            fields.insert("project".to_owned(), true.into());
        }
        row
    };
    let valid = verified.iter().all(|(item, _)| item.is_clean());
    json!({"valid": valid, "verified": verified.iter().map(row).collect::<Vec<_>>()})
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let registries = context.registries()?;
    // Without being told whose: everything that counts here.
    let registries: Vec<(&Registry, bool)> = if args.registry.project || !args.names.is_empty() {
        vec![(registry_of(registries, args.registry)?, args.registry.project)]
    } else {
        registries.present().map(|(registry, source)| (registry, source == Source::Project)).collect()
    };
    let mut verified = Vec::new();
    for (registry, is_project) in registries {
        let progress = crate::progress::ProgressIndicator::spinner("comparing files");
        let found = if args.names.is_empty() { registry.verify_all() } else { registry.verify(&args.names) };
        drop(progress);
        verified.extend(found?.into_iter().map(|item| (item, is_project)));
        for found in registry.state().diagnostics {
            context.warn(&found);
        }
    }
    let valid = verified.iter().all(|(item, _)| item.is_clean());
    context.report(Outcome::of(valid), &document(&verified), || match &verified[..] {
        [] => Printout::of_remark("nothing is installed"),
        verified => verified.iter().map(|(item, _)| lines(item)).collect::<String>().into(),
    })
}

fn lines(one: &VerifiedItem) -> String {
    let said = match one.standing {
        _ if one.is_clean() => paint(style::GOOD, "as it was installed"),
        InstallStatus::Locked => paint(style::BAD, "not as it was installed"),
        InstallStatus::Unlocked => paint(style::WARNING, "skillcue.lock says nothing of it"),
        InstallStatus::Absent => paint(style::BAD, "not there; `skillcue install` brings it back"),
        InstallStatus::Stray => paint(style::WARNING, "there, and the registry does not know it"),
        _ => paint(style::WARNING, "not as it should be"),
    };
    let mut lines = format!("{}  {said}\n", paint(style::NAME, text::one_line(&one.name)));
    for drift in &one.drift {
        let what = match drift.what {
            DriftKind::Changed => "changed",
            DriftKind::Missing => "missing",
            DriftKind::Added => "added",
            DriftKind::Mode => "mode",
            DriftKind::Link => "link",
            _ => "different",
        };
        let _ = writeln!(lines, "  {what:<8}{}", text::one_line(&drift.path));
    }
    lines
}
