//! `skillcue pull`: newer generations of the configured catalogs.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use skillcue_fleet::PullOutcome;

use crate::context::Context;
use crate::error::CliError;
use crate::hints::hint_of;
use crate::progress::ProgressIndicator;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue pull           asks all configured catalogs
  skillcue pull acme      one of them
  skillcue pull --bandwidth 5MB

Commands ask by themselves every few minutes, and `skillcue mcp`, `agent` and `watch` while they run.
Bodies and files are fetched when they are needed. What cannot be verified is refused, and the last good generation stays.
Exit code 1 if a catalog could not be asked, was refused, or cannot be used as it is configured.
With --json it prints {catalogs: [{name, outcome, skills, error: {code, message, help}}]}; `outcome` is changed, unchanged
or failed.";

/// How long a store may take.
const MAX_WAIT: Duration = Duration::from_mins(10);

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Catalogs of skillcue.toml; all without any
    names: Vec<String>,
    /// Receive at most RATE bytes a second from each catalog, such as 5MB; in place of what skillcue.toml says
    #[arg(long, value_name = "RATE")]
    bandwidth: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let rate = super::publish::bandwidth(args.bandwidth.as_deref())?;
    context.servers()?;
    let unused = context.host()?.unused_catalogs()?;
    let Some(catalogs) = context.host()?.catalogs()? else {
        if !unused.is_empty() {
            return Err(CliError::failure("no_catalogs", "none of the configured catalogs can be used")
                .help("`skillcue catalog status` names each with its reason"));
        }
        return Err(CliError::failure("no_catalogs", "no catalog is configured")
            .help("add one below [[catalog]] in skillcue.toml: name, url, keys"));
    };
    let known: Vec<String> = catalogs.status().into_iter().map(|status| status.name).collect();
    if let Some(unknown) = args.names.iter().find(|name| !known.contains(name)) {
        return Err(CliError::failure("not_found", format!("there is no catalog {unknown:?}"))
            .help(format!("usable are: {}; `skillcue catalog status` names the others", known.join(", "))));
    }
    if let Some(rate) = rate {
        catalogs.use_bandwidth(rate);
    }
    let progress = ProgressIndicator::spinner("asking catalogs");
    let refreshed: Vec<_> = catalogs
        .refresh_only(&args.names, MAX_WAIT)
        .into_iter()
        .map(|refreshed| (refreshed.name, refreshed.outcome))
        .collect();
    drop(progress);
    catalogs.prune(&context.host()?.catalogs_options()?);
    let row = |(name, outcome): &(String, Result<PullOutcome, skillcue_fleet::FleetError>)| -> Value {
        match outcome {
            Ok(PullOutcome::Changed(skills)) => json!({"name": name, "outcome": "changed", "skills": skills}),
            Ok(PullOutcome::Unchanged(skills) | PullOutcome::Fresh(skills)) => {
                json!({"name": name, "outcome": "unchanged", "skills": skills})
            }
            Err(error) => {
                let error = CliError::of(error);
                json!({"name": name, "outcome": "failed", "error": serde_json::to_value(error.json()).map(|it| it["error"].clone()).unwrap_or_default()})
            }
        }
    };
    let status = catalogs.status();
    let left_of = |name: &String| {
        let of_name = status.iter().find(|status| status.name == *name);
        left(of_name.and_then(|status| status.sequence))
    };
    // Those that cannot be used are named in warnings; whether all is well is asked without a name.
    let is_complete = unused.is_empty() || !args.names.is_empty();
    let is_good = is_complete && refreshed.iter().all(|(_, outcome)| outcome.is_ok());
    let document = json!({"catalogs": refreshed.iter().map(row).collect::<Vec<_>>()});
    context.report(Outcome::of(is_good), &document, || {
        let mut out = String::new();
        for (name, outcome) in &refreshed {
            let shown = paint(style::SOURCE, name);
            let _ = match outcome {
                Ok(PullOutcome::Changed(skills)) => {
                    writeln!(
                        out,
                        "{shown}  {}: {} skills",
                        paint(style::GOOD, "a newer generation"),
                        text::thousands(*skills)
                    )
                }
                Ok(PullOutcome::Unchanged(skills) | PullOutcome::Fresh(skills)) => {
                    writeln!(out, "{shown}  up to date: {} skills", text::thousands(*skills))
                }
                Err(error) => {
                    let hint = hint_of(error).map(|hint| format!("\n  help: {}", text::one_line(&hint)));
                    let (failed, hint) = (paint(style::BAD, error.to_string()), hint.unwrap_or_default());
                    writeln!(out, "{shown}  {failed}; {}{hint}", left_of(name))
                }
            };
        }
        if !is_good {
            out.push_str("`skillcue catalog status` says more.\n");
        }
        Printout::from(out)
    })
}

/// Returns what there is of a catalog that could not be asked, or was refused.
fn left(sequence: Option<u64>) -> String {
    match sequence {
        Some(sequence) => format!("generation {sequence} stays in use"),
        None => "it has no skills until it can be pulled".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_generation_that_there_is_stays_in_use() {
        assert_eq!(left(Some(3)), "generation 3 stays in use");
        assert_eq!(left(None), "it has no skills until it can be pulled");
    }
}
