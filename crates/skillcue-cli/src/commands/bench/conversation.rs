//! The tokens of a conversation of fifty turns about ten skills, for each policy.

use std::io;
use std::path::Path;

use serde_json::json;
use skillcue::Policy;
use skillcue_agent::Summary;
use skillcue_agent::measure::{RunPlan, run_conversation};

use crate::agent::costs::{self, CostRow};
use crate::context::Context;
use crate::error::CliError;
use crate::{Outcome, text};

const POLICIES: [Policy; 3] = [Policy::Inject, Policy::Catalog, Policy::Hint];

/// Runs the conversation through the agent against a scripted model, once for each policy, and reports its tokens by part
/// and how many of them repeat the request before.
pub(super) fn report(dir: &Path, context: &Context) -> Result<Outcome, CliError> {
    let (mut rows, mut document) = (Vec::new(), Vec::new());
    for policy in POLICIES {
        let sum = run(policy, dir).map_err(|error| super::failed(&error, dir))?;
        rows.push(CostRow::of(policy.as_str(), &sum.total));
        document.push(json!({"policy": policy, "sum": sum.total}));
    }
    context.report(Outcome::Done, &json!({"conversation": document}), || {
        let share = |row: &CostRow| row.repeated.saturating_mul(1_000).checked_div(row.parts.total()).unwrap_or(0);
        let line = |row: &CostRow| {
            let (share, total) = (share(row), text::thousands(row.parts.total()));
            format!("{}: {}.{} % of {total} tokens repeat the request before\n", row.label, share / 10, share % 10)
        };
        let lines: String = rows.iter().map(line).collect();
        format!("{}\n{lines}", costs::table("POLICY", &rows, None))
    })
}

fn run(policy: Policy, dir: &Path) -> io::Result<Summary> {
    let dir = dir.join("conversation").join(policy.as_str());
    // An earlier run has left its sessions and traces there.
    match std::fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let run = run_conversation(&RunPlan { policy, ..RunPlan::default() }, &dir)?;
    Ok(Summary::of(&run.lines))
}
