//! `skillcue disconnect`: takes out of other agents' files what `connect` put into them.

use serde::Serialize;
use skillcue_clients::Client;
use skillcue_clients::settings::{ConnectionPart, Connector};

use super::connect::{ClientPlan, Direction, FileReport, PartArgs, carry_out, plans};
use crate::Outcome;
use crate::cli::words;
use crate::clients::{CLIENTS, folders, launch, store};
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style};

const AFTER: &str = "\
Examples:
  skillcue disconnect claude             hook and MCP server
  skillcue disconnect claude --hook      the hook alone
  skillcue disconnect claude --dry-run   show the change, and write nothing

A file that nothing else has changed since becomes what it was, byte for byte; otherwise only our lines go. Files and
directories that were made are removed.
With --json it prints {dry_run, clients: [{client, parts, files: [{path, change, diff, backup}]}]}.";

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
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let connector = Connector::new(folders(context, args.parts.project)?, launch(context, None));
    let plans = plans(&args.clients, args.parts, &connector, Direction::Disconnect, &store(context)?)?;
    let is_change: Vec<bool> = plans.iter().map(ClientPlan::is_change).collect();
    carry_out(&plans, args.parts, context)?;
    let mut clients = Vec::new();
    for plan in &plans {
        clients.push(DisconnectedClient {
            client: plan.client,
            parts: plan.parts.clone(),
            files: plan.reports(context)?,
        });
    }
    let report = DisconnectReport { dry_run: args.parts.dry_run, clients };
    context.report(Outcome::Done, &report, || {
        let said = plans.iter().zip(is_change).map(|(plan, is_change)| {
            let said = match (is_change, args.parts.dry_run) {
                (false, _) => "was not connected",
                (true, true) => "would be disconnected; nothing was written",
                (true, false) => "is disconnected",
            };
            format!("{} {said}", paint(style::NAME, plan.client.name()))
        });
        Printout::default().remarks(said)
    })
}
