//! `skillcue connect`: lines in the files of other agents that make them call this program.

mod plan;
mod proof;
mod status;

use std::path::PathBuf;

use serde::Serialize;
use skillcue_clients::Client;
use skillcue_clients::settings::{ConnectionPart, Connector};

use crate::Outcome;
use crate::cli::words;
use crate::clients::{CLIENTS, folders, launch, store};
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style};
pub(crate) use plan::{ClientPlan, Direction, FileReport, carry_out, plans, would_change};
use proof::PartProof;

const AFTER: &str = "\
Examples:
  skillcue connect claude             hook and MCP server, for you
  skillcue connect codex gemini       two clients at once
  skillcue connect qwen --hook        the hook alone
  skillcue connect claude --project   for this project only
  skillcue connect claude --dry-run   show the change, and write nothing
  skillcue connect --status           how each client is connected
  skillcue disconnect claude          back to what was there before, byte for byte

The change is shown and you are asked; --yes does not ask. Comments, order and blanks in the client's files stay.
Options such as --skills-dir and --isolated are written into the client's files, too.
With --json it prints {dry_run, clients: [{client, parts, files: [{path, change, diff, backup}], proofs: [{part, ok, seen}],
next}]}, or with --status [{client, name, found, hook, mcp, files, problem}].";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The agents to connect; none: show how each is connected
    #[arg(value_name = "CLIENT", value_parser = words(CLIENTS))]
    clients: Vec<Client>,
    #[command(flatten)]
    parts: PartArgs,
    /// Show how each client is connected
    #[arg(long, conflicts_with_all = ["clients", "hook", "mcp", "dry_run", "yes", "program"])]
    status: bool,
    /// Write PROGRAM instead of this program: a path, or a name on PATH
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,
}

// The options of `connect` and `disconnect`.
// No doc comment: clap would open the help of every command that has these with it.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct PartArgs {
    /// Only the hook, which adds skills to your messages
    #[arg(long)]
    pub(crate) hook: bool,
    /// Only the MCP server, from which the model loads skills
    #[arg(long)]
    pub(crate) mcp: bool,
    /// In the project's files instead of yours
    #[arg(long)]
    pub(crate) project: bool,
    /// Show the change, and write nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

impl PartArgs {
    /// Returns the parts that were asked for by name.
    fn named(self) -> Vec<ConnectionPart> {
        let named = [(self.hook, ConnectionPart::Hook), (self.mcp, ConnectionPart::Mcp)];
        named.into_iter().filter(|(is_named, _)| *is_named).map(|(_, part)| part).collect()
    }
}

/// The result for programs.
#[derive(Debug, Serialize)]
struct ConnectReport {
    dry_run: bool,
    clients: Vec<ClientReport>,
}

#[derive(Debug, Serialize)]
struct ClientReport {
    client: Client,
    parts: Vec<ConnectionPart>,
    files: Vec<FileReport>,
    proofs: Vec<PartProof>,
    /// The step that a person must still take in the client.
    next: Option<&'static str>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    if args.status || args.clients.is_empty() {
        return status::run(context, args.parts.project);
    }
    let connector = Connector::new(folders(context, args.parts.project)?, launch(context, args.program.as_deref()));
    let plans = plans(&args.clients, args.parts, &connector, Direction::Connect, &store(context)?)?;
    carry_out(&plans, args.parts, context)?;
    let mut clients = Vec::new();
    for plan in &plans {
        let proofs = if args.parts.dry_run { Vec::new() } else { proof::prove(plan, context)? };
        let next = next_step(plan.client, &plan.parts, args.parts.project);
        clients.push(ClientReport {
            client: plan.client,
            parts: plan.parts.clone(),
            files: plan.reports(context)?,
            proofs,
            next,
        });
    }
    let outcome = Outcome::of(clients.iter().flat_map(|client| &client.proofs).all(|proof| proof.ok));
    let report = ConnectReport { dry_run: args.parts.dry_run, clients };
    context.report(outcome, &report, || printout(&report, context))
}

/// Returns what a person must still do in a client.
fn next_step(client: Client, parts: &[ConnectionPart], project: bool) -> Option<&'static str> {
    let has = |part| parts.contains(&part);
    match client {
        Client::Codex if has(ConnectionPart::Hook) => {
            Some("Codex calls no hook before you trust it: start `codex`, type /hooks, and trust each of these once")
        }
        Client::Claude if project && has(ConnectionPart::Mcp) => {
            Some("Claude Code asks once whether it may start a project's server: start `claude`, and approve skillcue")
        }
        Client::Gemini if project => Some("Gemini CLI reads a project's settings only in folders that you trust"),
        Client::Vscode if has(ConnectionPart::Mcp) => {
            Some("Visual Studio Code asks once whether it may start the server: run `MCP: List Servers` in it")
        }
        _ => None,
    }
}

fn printout(report: &ConnectReport, context: &Context) -> Printout {
    let mut remarks = Vec::new();
    for client in &report.clients {
        let name = paint(style::NAME, client.client.name());
        let is_new = client.files.iter().any(FileReport::is_change);
        if report.dry_run {
            let said = if is_new { "would be connected; nothing was written" } else { "is connected already" };
            remarks.push(format!("{name} {said}"));
            continue;
        }
        remarks.push(format!("{name} {}", if is_new { "is connected" } else { "was connected already" }));
        for proof in &client.proofs {
            let mark = if proof.ok { paint(style::GOOD, "✓") } else { paint(style::BAD, "✗") };
            remarks.push(format!("  {mark} {}: {}", proof.part.as_str(), proof.seen));
        }
        for backup in client.files.iter().filter(|file| file.is_change()).filter_map(|file| file.backup.as_deref()) {
            remarks.push(paint(style::DIM, format!("  before: {}", context.short_path(backup))));
        }
        remarks.extend(client.next.map(|next| format!("  {}: {next}", paint(style::HELP, "next"))));
    }
    Printout::default().remarks(remarks)
}
