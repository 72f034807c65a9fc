//! `skillcue unlink`: takes links to installed skills out of the folders of other agents.

use skillcue_clients::Client;

use super::link::lines;
use crate::Outcome;
use crate::cli::words;
use crate::clients::CLIENTS;
use crate::context::Context;
use crate::error::CliError;
use crate::registries::{RegistryArgs, registry_of};
use crate::report::Printout;

const AFTER: &str = "\
Examples:
  skillcue unlink pdf                   out of all agents' folders
  skillcue unlink pdf --client claude   out of one
  skillcue unlink --client claude       all skills, out of one

With --json it prints [{name, client, path, changed, copied}].";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Installed skills; none: all that are linked
    #[arg(required_unless_present = "client")]
    names: Vec<String>,
    /// Only in the folders of these agents
    #[arg(long, value_name = "CLIENT", value_delimiter = ',', value_parser = words(CLIENTS))]
    client: Vec<Client>,
    #[command(flatten)]
    registry: RegistryArgs,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let registry = registry_of(context.registries()?, args.registry)?;
    let mut names = args.names.clone();
    if names.is_empty() {
        let linked =
            registry.state().installed.clone().into_iter().filter(|(_, installed)| !installed.links.is_empty());
        names = linked.map(|(name, _)| name).collect();
    }
    let changes = registry.unlink(&names, &args.client)?;
    context.report(Outcome::Done, &changes, || match changes.as_slice() {
        [] => Printout::of_remark("there was no link"),
        changes => lines(changes, "unlinked", "is left as it is: not our link by now", context).into(),
    })
}
