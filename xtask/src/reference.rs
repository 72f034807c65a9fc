//! The comparison with the reference validator of agentskills.io.
//!
//! `skills-ref` is a Python package, so this step makes itself a virtual environment below the
//! target directory. It is pinned: our table of differences is about this version.

use crate::process::{ChoreFailure, build_skillcue, root, run, skillcue};
use crate::python;
use crate::test::StepOutcome;

const PACKAGE: &str = "skills-ref==0.1.1";

/// The script that compares, in the language of the validator that it compares with.
const COMPARE: &str = "tests/reference/compare.py";

pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    if !root().join(COMPARE).is_file() {
        // It belongs to the repository: no machine lacks it, so it is no reason to skip.
        return Err(ChoreFailure::new(format!("there is no {COMPARE}")));
    }
    let Some(system) = python::system() else {
        // The README asks for Python 3, which every machine of a developer has; a skip fails unless offline.
        return Ok(StepOutcome::Skipped("there is no Python 3.11 or later on the PATH".to_owned()));
    };
    let python = match python::environment(system, "reference", &[], &[PACKAGE]) {
        Ok(python) => python,
        // No network is not the code's fault, but only `--offline` lets it pass.
        Err(ChoreFailure(why)) => return Ok(StepOutcome::Skipped(format!("{PACKAGE} could not be installed: {why}"))),
    };
    build_skillcue()?;
    run(python.command().arg(COMPARE).arg(skillcue()).current_dir(root()))?;
    Ok(StepOutcome::Passed)
}
