//! `skillcue disconnect`: takes out of other agents' files what `connect` put into them.

use std::path::PathBuf;

use serde::Serialize;
use skillcue_clients::Client;
use skillcue_clients::settings::{ConnectionPart, Connector};
use skillcue_registry::Registry;

use super::connect::{ClientPlan, Direction, FileReport, PartArgs, carry_out, plans};
use crate::Outcome;
use crate::cli::words;
use crate::clients::{CLIENTS, folders, launch, store};
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::text;

const AFTER: &str = "\
Examples:
  skillcue disconnect claude             hook and MCP server
  skillcue disconnect claude --hook      the hook alone
  skillcue disconnect claude --dry-run   show the change, and write nothing

A file that nothing else has changed since becomes what it was, byte for byte; otherwise only our lines go. Files and
directories that were made are removed. Links of `skillcue link` stay, and are named; `skillcue unlink` removes them.
With --json it prints {dry_run, clients: [{client, parts, files: [{path, change, diff, backup}], links}]}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The agents to disconnect
    #[arg(value_name = "CLIENT", required = true, value_parser = words(CLIENTS))]
    clients: Vec<Client>,
    #[command(flatten)]
    parts: PartArgs,
}

/// The result for programs.
#[derive(Debug, Serialize)]
struct DisconnectReport {
    dry_run: bool,
    clients: Vec<DisconnectedClient>,
}

#[derive(Debug, Serialize)]
struct DisconnectedClient {
    client: Client,
    parts: Vec<ConnectionPart>,
    files: Vec<FileReport>,
    /// Links to installed skills in the client's folder, which stay.
    #[serde(serialize_with = "crate::text::all_lossy")]
    links: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let connector = Connector::new(folders(context, args.parts.project)?, launch(context, None));
    let plans = plans(&args.clients, args.parts, &connector, Direction::Disconnect, &store(context)?)?;
    let is_change: Vec<bool> = plans.iter().map(ClientPlan::is_change).collect();
    let left = carry_out(&plans, args.parts, context)?;
    let registries = context.registries()?;
    let registry = if args.parts.project { registries.project.as_ref() } else { registries.user.as_ref() };
    if let Some(registry) = registry.filter(|_| !left.is_empty()) {
        // A directory with links in it goes with the last of them.
        registry.keep_dirs(&left)?;
    }
    let mut clients = Vec::new();
    for plan in &plans {
        clients.push(DisconnectedClient {
            client: plan.client,
            parts: plan.parts.clone(),
            files: plan.reports(context)?,
            links: registry.map(|registry| links_of(registry, plan.client)).unwrap_or_default(),
        });
    }
    let report = DisconnectReport { dry_run: args.parts.dry_run, clients };
    context.report(Outcome::Done, &report, || {
        let said = plans.iter().zip(is_change).zip(&report.clients).flat_map(|((plan, is_change), client)| {
            let said = match (is_change, args.parts.dry_run) {
                (false, _) => "was not connected",
                (true, true) => "would be disconnected; nothing was written",
                (true, false) => "is disconnected",
            };
            let links = (!client.links.is_empty()).then(|| {
                let command = paint(style::COMMAND, format!("skillcue unlink --client {}", plan.client.as_str()));
                let stay = text::count(client.links.len(), "skill");
                format!("  {stay} of yours stay linked in its folder; {command} removes the links")
            });
            [Some(format!("{} {said}", paint(style::NAME, plan.client.name()))), links].into_iter().flatten()
        });
        Printout::default().remarks(said)
    })
}

/// Returns the links to installed skills in a client's folder.
fn links_of(registry: &Registry, client: Client) -> Vec<PathBuf> {
    let links = registry.state().installed.values().flat_map(|installed| installed.links.clone()).collect::<Vec<_>>();
    links.into_iter().filter(|link| link.client == client.as_str()).map(|link| link.path).collect()
}
