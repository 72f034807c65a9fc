//! The costs of the sandbox and of toolsets.

use std::path::Path;
use std::time::Duration;

use skillcue_bench::{Limit, Report, TimeRow};
use skillcue_toolset::packages;

use crate::commands::toolset;
use crate::context::Context;
use crate::error::CliError;
use skillcue_host::HostPrograms;

/// Longest time that a start in the sandbox may take beyond one without.
const MAX_START: Duration = Duration::from_millis(5);
/// Longest time that a script may outlive a limit of 50 ms: tests allow twice the limit, and are not timed.
const MAX_LATE: Duration = Duration::from_millis(50);

pub(super) fn measure(context: &Context, dir: &Path, say: &dyn Fn(&str), report: &mut Report) -> Result<(), CliError> {
    let acting: &HostPrograms = context.programs()?;
    say("the sandbox");
    let start = skillcue_exec::measure_start(acting.launcher(), 201)?;
    report.rows.push(
        TimeRow::new("sandboxed `sh -c true`", 0, start.sandboxed)
            .against(start.plain, Limit::times_plus(1.0, MAX_START)),
    );
    report.rows.push(TimeRow::new("outliving a limit of 50 ms, at worst", 0, start.late).at_most(MAX_LATE));
    say("toolsets");
    let folder = toolset::packages(context)?.filter(|folder| folder.join("node_modules/zod").is_dir());
    if folder.is_none() {
        let pinned = packages::pinned().into_iter().map(|(name, version)| format!("{name} {version}"));
        let names = pinned.collect::<Vec<_>>().join(", ");
        report.notes.push(format!("toolsets with {names}: not measured; `skillcue toolset setup` installs it"));
    }
    let work = dir.join("toolsets");
    // Measured from nothing: what an earlier run has kept must not count.
    let _ = std::fs::remove_dir_all(&work);
    let rows = skillcue_toolset::measure(acting.launcher(), folder.as_deref(), &work)
        .map_err(|error| CliError::failure("bench", error.to_string()))?;
    report.rows.extend(rows.into_iter().map(|row| TimeRow::new(row.name, 0, row.median).at_most(row.limit)));
    Ok(())
}
