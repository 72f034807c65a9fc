//! `skillcue approve` and `skillcue revoke`: which remote skills may be loaded.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use skillcue::remote::RemoteEntry;
use skillcue_base::ErrorInfo as _;
use skillcue_mcp::host::{Approval, ApprovalError, Approvals, Host};

use crate::commands::read::print_text;
use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue approve acme:refunds           what it is, and asks
  skillcue approve acme:refunds --show    its instructions, without approving anything
  skillcue approve acme:refunds --yes     for scripts

A skill of a remote server can be loaded once a person has approved exactly its content: when a file
changes, it is asked again. `skillcue status` lists what is approved.";

const AFTER_REVOKE: &str = "\
Examples:
  skillcue revoke acme:refunds     one skill
  skillcue revoke pdf              what the agent may do with a skill for good
  skillcue revoke --server acme    all of a server
  skillcue revoke --all            everything";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The skill: SERVER:NAME, or SERVER:URI of one that the server does not list
    name: String,
    /// Do not ask
    #[arg(long, short, conflicts_with = "show")]
    yes: bool,
    /// Print its instructions and approve nothing
    #[arg(long)]
    show: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER_REVOKE))]
#[group(id = "what", required = true, multiple = false)]
pub(crate) struct RevokeArgs {
    /// The skill: SERVER:NAME, or the NAME of one on this machine that the agent may load or run
    #[arg(group = "what")]
    name: Option<String>,
    /// All skills of a server
    #[arg(long, value_name = "NAME", group = "what")]
    server: Option<String>,
    /// Everything that was approved
    #[arg(long, group = "what")]
    all: bool,
}

/// What was approved, and whether it still counts.
pub(crate) fn approvals(context: &Context) -> Result<Vec<(Approval, bool)>, CliError> {
    let remotes = context.servers()?.map(Host::remotes).unwrap_or_default();
    let counts = |approval: &Approval| {
        remotes
            .iter()
            .filter(|remote| remote.label() == approval.label)
            .any(|remote| remote.entries().iter().any(|entry| entry.uri == approval.uri && remote.is_approved(entry)))
    };
    Ok(recorded(context)?
        .list()
        .into_iter()
        .map(|approval| {
            let current = counts(&approval);
            (approval, current)
        })
        .collect())
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let skills = context.skills()?;
    let (label, entry) = match args.name.split_once(':') {
        // A server need not list all that it has.
        Some((label, uri)) if uri.contains("://") => {
            let entry = host(context)?.get(label, uri).map_err(|error| {
                CliError::failure(error.code(), error.to_string())
                    .help("name a server of skillcue.toml and the URI of a SKILL.md")
            })?;
            (label.to_owned(), entry)
        }
        _ => skills.remote_entry(&args.name)?.ok_or_else(|| {
            CliError::failure("local", format!("{:?} is a skill on this machine", args.name))
                .help("only skills of remote servers need an approval")
        })?,
    };
    let host = host(context)?;
    if args.show {
        host.approve_once(&label, &entry).map_err(|error| refused(&error))?;
        skills.refresh();
        let shown = skills.read(&format!("{label}:{}", entry.name()), "SKILL.md")?;
        print_text(context, &shown)?;
        return Ok(Outcome::Done);
    }
    if !args.yes {
        context.terminal.say(&described(&label, &entry));
        context.terminal.ask("Approve exactly this content?")?;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    host.approve(&label, &entry, now).map_err(|error| refused(&error))?;
    if context.json() {
        context.print_json(&json!({"name": args.name, "server": label, "uri": entry.uri, "approved": true}))?;
    } else {
        context.terminal.say(&format!("{} is approved as it is now", args.name));
    }
    Ok(Outcome::Done)
}

pub(crate) fn revoke(args: &RevokeArgs, context: &Context) -> Result<Outcome, CliError> {
    let approvals = recorded(context)?;
    let wanted = |approval: &Approval| match (&args.name, &args.server) {
        (Some(name), _) => *name == format!("{}:{}", approval.label, approval.name) || *name == approval.uri,
        (None, Some(server)) => approval.label == *server,
        (None, None) => args.all,
    };
    let mut revoked = Vec::new();
    for approval in approvals.list().into_iter().filter(wanted) {
        approvals.revoke(&approval.label, &approval.uri).map_err(|error| refused(&error))?;
        revoked.push(format!("{}:{}", approval.label, approval.name));
    }
    revoked.extend(revoke_allowed(args, context)?);
    if context.json() {
        context.print_json(&json!({"revoked": revoked}))?;
    } else if revoked.is_empty() {
        context.terminal.say("nothing of that was approved");
    } else {
        context.terminal.say(&format!("not approved any more: {}", text::one_line(&revoked.join(", "))));
    }
    Ok(Outcome::Done)
}

/// Takes back what the agent was allowed for good.
#[cfg(feature = "agent")]
fn revoke_allowed(args: &RevokeArgs, context: &Context) -> Result<Vec<String>, CliError> {
    let approvals = crate::agent::allowed(context)?;
    let mut skills: Vec<String> = approvals.list().into_iter().map(|allowed| allowed.skill).collect();
    skills.sort_unstable();
    skills.dedup();
    skills.retain(|skill| args.all || args.name.as_ref() == Some(skill));
    for skill in &skills {
        approvals.revoke(skill).map_err(|error| CliError::failure("approval", error.to_string()))?;
    }
    Ok(skills)
}

#[cfg(not(feature = "agent"))]
#[expect(clippy::unnecessary_wraps, reason = "it may fail where there is an agent")]
fn revoke_allowed(_: &RevokeArgs, _: &Context) -> Result<Vec<String>, CliError> {
    Ok(Vec::new())
}

/// What was approved, whether its server is still configured or not.
fn recorded(context: &Context) -> Result<Approvals, CliError> {
    Ok(Approvals::new(context.host()?.approvals_file()))
}

fn host(context: &Context) -> Result<&Host, CliError> {
    context.servers()?.ok_or_else(|| {
        CliError::failure("no_servers", "no MCP server is configured")
            .help("add one below [[mcp]] in skillcue.toml: name, and command or url")
    })
}

fn refused(error: &ApprovalError) -> CliError {
    CliError::failure("approval", error.to_string())
}

fn described(label: &str, entry: &Arc<RemoteEntry>) -> String {
    let description = entry.front_matter.get("description").and_then(|text| text.as_str()).unwrap_or_default();
    let mut out = format!("{}  {}\n", paint(style::NAME, text::one_line(entry.name())), text::one_line(description));
    let _ = writeln!(out, "from the MCP server {}: {}", paint(style::SOURCE, label), text::one_line(&entry.uri));
    if let Some(tools) = entry.front_matter.get("allowed-tools") {
        let _ = writeln!(out, "it asks for the tools {}, and is not given them", text::one_line(&tools.to_string()));
    }
    for file in entry.files.iter().flatten() {
        let path = entry.path_of(file).unwrap_or_default();
        let size = text::thousands(usize::try_from(file.size).unwrap_or(usize::MAX));
        let _ = writeln!(
            out,
            "  {:<40} {size:>10} bytes  {}",
            text::one_line(&path),
            paint(style::DIM, file.digest.get(..19).unwrap_or(&file.digest))
        );
    }
    out
}
