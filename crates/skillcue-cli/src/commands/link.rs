//! `skillcue link`: one installed copy of a skill, seen by other agents through links in their folders.

use std::fmt::Write as _;
use std::path::PathBuf;

use skillcue_clients::Client;
use skillcue_registry::{LinkChange, Registry};

use crate::Outcome;
use crate::cli::words;
use crate::clients::CLIENTS;
use crate::context::Context;
use crate::error::CliError;
use crate::registries::{RegistryArgs, registry_of};
use crate::terminal::{paint, style};

const AFTER: &str = "\
Examples:
  skillcue link pdf --client claude              ~/.claude/skills/pdf leads to the installed pdf
  skillcue link pdf csv --client codex,qwen      two skills, two agents
  skillcue link pdf --client copilot --project   from the project's registry, into .github/skills
  skillcue unlink pdf                            no agent sees it through a link any more

Only installed skills that are on, and that no policy closes, can be linked; what is there already is never touched. `skillcue remove` removes
the links, too. Where links do not work, a copy is made, and kept up to date by `skillcue update`.
With --json it prints [{name, client, path, changed, copied}].";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Installed skills
    #[arg(required = true)]
    names: Vec<String>,
    /// The agents that shall see them
    #[arg(long, value_name = "CLIENT", required = true, value_delimiter = ',', value_parser = words(CLIENTS))]
    client: Vec<Client>,
    #[command(flatten)]
    registry: RegistryArgs,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let registry = registry_of(context.registries()?, args.registry)?;
    let changes = link_all(&args.names, &args.client, registry, context)?;
    context.report(Outcome::Done, &changes, || lines(&changes, "linked", "was linked already", context))
}

/// Makes links for several clients.
pub(crate) fn link_all(
    names: &[String],
    clients: &[Client],
    registry: &Registry,
    context: &Context,
) -> Result<Vec<LinkChange>, CliError> {
    let folders: Vec<(Client, PathBuf)> = clients
        .iter()
        .map(|client| Ok((*client, folder(*client, registry, context)?)))
        .collect::<Result<_, CliError>>()?;
    if !folders.is_empty() {
        registry.check_linkable(names, context.host()?.policy()?)?;
    }
    let mut changes = Vec::new();
    for (client, folder) in folders {
        changes.extend(registry.link(names, client, &folder)?);
    }
    Ok(changes)
}

/// Returns a client's folder of skills: a project's for its registry, else the user's.
fn folder(client: Client, registry: &Registry, context: &Context) -> Result<PathBuf, CliError> {
    let location = registry.location();
    let (base, below) = if location.is_project() {
        (Some(location.dir()), client.project_folder())
    } else {
        (context.environment()?.home.as_deref(), client.user_folder())
    };
    let none = || {
        CliError::failure("not_linkable", format!("{client} has no folder of skills"))
            .help(format!("`skillcue connect {}` gives it the skills in another way", client.as_str()))
    };
    Ok(base.ok_or_else(none)?.join(below.ok_or_else(none)?))
}

/// Returns links as people read them.
pub(crate) fn lines(changes: &[LinkChange], done: &str, before: &str, context: &Context) -> String {
    let mut out = String::new();
    for change in changes {
        let said = if change.changed { paint(style::GOOD, done) } else { before.to_owned() };
        let copied = if change.changed && change.copied { "  (a copy: links do not work there)" } else { "" };
        let (name, path) = (paint(style::NAME, &change.name), context.short_path(&change.path));
        let _ = writeln!(out, "{name}  {said}  {}{copied}", paint(style::DIM, path));
    }
    out
}
