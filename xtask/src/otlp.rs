//! Traces over OTLP, received by a collector that decodes them with the protocol's own classes.
//!
//! No registry has a collector as a package. PyPI's `opentelemetry-proto` is generated from the protocol's files, and pinned.

use crate::process::{ChoreFailure, build_skillcue, root, run, skillcue};
use crate::python;
use crate::test::StepOutcome;

const PACKAGE: &str = "opentelemetry-proto==1.45.2";

const COLLECT: &str = "tests/otlp/collect.py";

pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    let Some(system) = python::system() else {
        return Ok(StepOutcome::Skipped("there is no Python 3.11 or later on the PATH".to_owned()));
    };
    let python = match python::environment(system, "otlp", &[], &[PACKAGE]) {
        Ok(python) => python,
        Err(ChoreFailure(why)) => return Ok(StepOutcome::Skipped(format!("{PACKAGE} could not be installed: {why}"))),
    };
    build_skillcue()?;
    run(python.command().arg(COLLECT).arg(skillcue()).current_dir(root()))?;
    Ok(StepOutcome::Passed)
}
