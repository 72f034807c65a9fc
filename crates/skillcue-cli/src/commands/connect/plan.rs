//! The changes of files for a client: planned, shown, asked about, written.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;
use skillcue_clients::Client;
use skillcue_clients::settings::{ConnectionPart, ConnectionStore, Connector, SettingsChange};
use skillcue_registry::unified;

use super::PartArgs;
use crate::clients::store;
use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::text;

/// The longest line of a difference that is shown. Some clients write their files on one line.
const MAX_COLUMNS: usize = 160;

/// Whether lines are put in or taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Connect,
    Disconnect,
}

/// The changes for one client.
pub(crate) struct ClientPlan {
    pub(crate) client: Client,
    /// The parts that are put in or taken out.
    pub(crate) parts: Vec<ConnectionPart>,
    pub(crate) connector: Connector,
    pub(crate) changes: Vec<SettingsChange>,
}

/// A file of a client, for programs.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FileReport {
    #[serde(serialize_with = "crate::text::lossy")]
    pub(crate) path: PathBuf,
    change: &'static str,
    diff: String,
    /// The file as it was before.
    #[serde(serialize_with = "crate::text::maybe_lossy")]
    pub(crate) backup: Option<PathBuf>,
}

impl FileReport {
    pub(crate) fn is_change(&self) -> bool {
        self.change != "unchanged"
    }

    /// Returns the size of the change: `+12 lines`, `+3 −1 lines`.
    pub(crate) fn size(&self) -> String {
        let count = |sign: char| self.diff.lines().filter(|line| line.starts_with(sign)).count();
        match (count('+'), count('-')) {
            (1, 0) => "+1 line".to_owned(),
            (added, 0) => format!("+{added} lines"),
            (added, gone) => format!("+{added} −{gone} lines"),
        }
    }
}

/// Returns what connecting a client would change, with both parts. Nothing is written.
pub(crate) fn would_change(
    client: Client,
    connector: &Connector,
    context: &Context,
) -> Result<Vec<FileReport>, CliError> {
    let args = PartArgs { hook: false, mcp: false, project: false, dry_run: true, yes: false };
    let plans = plans(&[client], args, connector, Direction::Connect, &store(context)?)?;
    plans.iter().map(|plan| plan.reports(context)).collect::<Result<Vec<_>, _>>().map(|files| files.concat())
}

impl ClientPlan {
    pub(crate) fn is_change(&self) -> bool {
        self.changes.iter().any(SettingsChange::is_change)
    }

    pub(crate) fn reports(&self, context: &Context) -> Result<Vec<FileReport>, CliError> {
        let store = store(context)?;
        let report = |change: &SettingsChange| FileReport {
            path: change.path().to_owned(),
            change: match (change.now(), change.after()) {
                (None, Some(_)) => "made",
                (Some(_), None) => "removed",
                _ if change.is_change() => "changed",
                _ => "unchanged",
            },
            diff: unified(change.now().unwrap_or_default(), change.after().unwrap_or_default()),
            backup: store.backup(change.path()),
        };
        Ok(self.changes.iter().map(report).collect())
    }
}

/// Plans the changes of all clients, before any is made.
pub(crate) fn plans(
    clients: &[Client],
    args: PartArgs,
    connector: &Connector,
    direction: Direction,
    store: &ConnectionStore,
) -> Result<Vec<ClientPlan>, CliError> {
    let connector = connector.clone().with_records(store.clone());
    let mut plans: Vec<ClientPlan> = Vec::new();
    for client in clients.iter().copied() {
        if plans.iter().any(|plan| plan.client == client) {
            continue;
        }
        plans.push(plan(client, args, &connector, direction, store)?);
    }
    Ok(plans)
}

fn plan(
    client: Client,
    args: PartArgs,
    connector: &Connector,
    direction: Direction,
    store: &ConnectionStore,
) -> Result<ClientPlan, CliError> {
    let mut parts = args.named();
    parts.iter().try_for_each(|part| connector.check(client, *part))?;
    if parts.is_empty() {
        parts = connector.parts(client);
    }
    let mut present = Vec::new();
    for file in connector.files(client)? {
        present.extend(file.connected()?.into_iter().map(|(part, _)| part));
    }
    let is_named = |part| parts.contains(&part);
    let was_served = present.contains(&ConnectionPart::Mcp);
    let mut written = parts.clone();
    let is_served = match direction {
        Direction::Connect => {
            // A hook says whether there is a server, so it is written with the server. A server says nothing of hooks.
            let is_hooked = present.contains(&ConnectionPart::Hook) && !is_named(ConnectionPart::Hook);
            written.extend(is_hooked.then_some(ConnectionPart::Hook));
            was_served || is_named(ConnectionPart::Mcp)
        }
        Direction::Disconnect => was_served && !is_named(ConnectionPart::Mcp),
    };
    let connector = connector.clone().served(is_served);
    let mut changes = Vec::new();
    for file in connector.files(client)? {
        changes.push(match direction {
            Direction::Connect => file.connect(&written, store)?,
            Direction::Disconnect => file.disconnect(&written, store)?,
        });
    }
    Ok(ClientPlan { client, parts, connector, changes })
}

/// Shows the changes, asks, and writes them: all of them, or none. Returns directories that were made when files were connected,
/// and stay because others use them by now.
pub(crate) fn carry_out(plans: &[ClientPlan], args: PartArgs, context: &Context) -> Result<Vec<PathBuf>, CliError> {
    let is_change = plans.iter().any(ClientPlan::is_change);
    if is_change && !context.json() {
        let shown: String = plans.iter().map(|plan| diff(plan, context)).collect();
        context.terminal.print(&shown)?;
        context.terminal.flush()?;
    }
    if args.dry_run {
        return Ok(Vec::new());
    }
    if is_change && !args.yes {
        if !context.can_ask() {
            return Err(CliError::usage("usage", "nothing was written: stdin is no terminal, so you cannot be asked")
                .help("use --yes to write without being asked, or --dry-run to see what would change"));
        }
        context.terminal.ask("Write this?")?;
    }
    let store = store(context)?;
    let mut done: Vec<&SettingsChange> = Vec::new();
    for change in plans.iter().flat_map(|plan| &plan.changes) {
        if let Err(error) = change.apply(&store) {
            done.iter().rev().for_each(|change| change.take_back(&store));
            return Err(error.into());
        }
        done.push(change);
    }
    let mut left: Vec<PathBuf> = done.iter().rev().flat_map(|change| change.finish(&store)).collect();
    left.retain(|dir| dir.is_dir());
    left.sort();
    left.dedup();
    Ok(left)
}

/// Returns the changes of a client's files as people read them.
fn diff(plan: &ClientPlan, context: &Context) -> String {
    let mut out = String::new();
    for change in plan.changes.iter().filter(|change| change.is_change()) {
        let note = match (change.now(), change.after()) {
            (None, _) => "  (new)",
            (_, None) => "  (removed)",
            _ => "",
        };
        let _ = writeln!(out, "{}{note}", paint(style::NAME, context.short_path(change.path())));
        for line in unified(change.now().unwrap_or_default(), change.after().unwrap_or_default()).lines() {
            let line = text::visible(text::cut(line.trim_end_matches('\r'), MAX_COLUMNS).as_ref());
            let style = match line.as_bytes().first() {
                Some(b'+') => style::GOOD,
                Some(b'-') => style::BAD,
                Some(b'@') => style::DIM,
                _ => anstyle::Style::new(),
            };
            let _ = writeln!(out, "{}", paint(style, line));
        }
    }
    out
}
