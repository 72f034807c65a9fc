//! `skillcue allowed`: everything that a person has allowed, and whether it still counts.

use crate::Outcome;
use crate::consent::{json, rows, table};
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;

const AFTER: &str = "\
Examples:
  skillcue allowed                          projects, remote skills, loads, scripts, toolsets
  skillcue allowed --json | jq '.[] | select(.current | not)'
  skillcue deny weather                     takes it back

With --json it prints [{subject, content, scope, permissions, since, current}]. A subject has a kind (project,
remote_skill, load, script, toolset or tool) and what tells it apart; content is the digest of what was looked
at; current says whether that is what is there now.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Outcome, CliError> {
    let rows = rows(context)?;
    let document: Vec<_> = rows.iter().map(|(row, current)| json(row, *current)).collect();
    context.report(Outcome::Done, &document, || match &rows[..] {
        [] => Printout::of_remark("nothing is allowed"),
        rows => table(rows, "", context).into(),
    })
}
