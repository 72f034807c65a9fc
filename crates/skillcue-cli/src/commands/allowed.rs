//! `skillcue allowed`: everything that a person has allowed, and whether it still counts.

use serde_json::Value;

use crate::consent::{json, rows, short, table};
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue allowed                          projects, remote skills, loads, scripts, toolsets
  skillcue allowed --json | jq '.[] | select(.current | not)'
  skillcue deny weather                     takes it back

With --json it prints [{subject, content, scope, permissions, since, current}]. A subject has a kind (project,
remote_skill, load, script, toolset or tool) and what tells it apart; content is the digest of what was looked
at; current says whether that is what is there now. Skills that were denied are named below the table.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {}

/// Returns the document that `allowed --json` prints.
pub(super) fn document(context: &Context) -> Result<Vec<Value>, CliError> {
    Ok(rows(context)?.iter().map(|(row, current)| json(row, *current)).collect())
}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Outcome, CliError> {
    let rows = rows(context)?;
    let document: Vec<_> = rows.iter().map(|(row, current)| json(row, *current)).collect();
    let refusals = context.host()?.consent_store().refusals();
    let denied = refusals.iter().map(|refusal| {
        let name = text::one_line(&short(&refusal.subject));
        format!("denied: {name}; `skillcue allow {name}` allows it again")
    });
    let mut printout = match &rows[..] {
        [] => Printout::of_remark("nothing is allowed"),
        rows => table(rows, "", context).into(),
    };
    printout = printout.remarks(denied);
    context.report(Outcome::Done, &document, || printout)
}
