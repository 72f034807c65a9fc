//! The comparison with the reference validator of agentskills.io.
//!
//! `skills-ref` is a Python package, so this step makes itself a virtual environment below the
//! target directory. It is pinned: our table of differences is about this version.

use crate::process::{Failure, build_skillfold, root, run, skillfold, succeeds, target};
use crate::test::Outcome;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "skills-ref";
const VERSION: &str = "0.1.1";

/// Where the comparison itself stands, in the language of what it compares with.
const COMPARE: &str = "tests/reference/compare.py";

/// A Python that can import the reference.
struct Python {
    program: PathBuf,
    /// Where the packages are, if not in the environment of the program itself.
    packages: Option<PathBuf>,
}

pub(crate) fn step() -> Result<Outcome, Failure> {
    if !root().join(COMPARE).is_file() {
        return Ok(Outcome::Skipped(format!("there is no {COMPARE}")));
    }
    let Some(system) = system_python() else {
        // The README asks for Python 3, which every machine of a developer has; a skip fails unless offline.
        return Ok(Outcome::Skipped("there is no Python 3.11 or later on the PATH".to_owned()));
    };
    let python = match prepare(system) {
        Ok(python) => python,
        // No network is not the code's fault, but only `--offline` lets it pass.
        Err(Failure(why)) => return Ok(Outcome::Skipped(format!("{PACKAGE} {VERSION} could not be installed: {why}"))),
    };
    build_skillfold()?;
    run(python.command().arg(COMPARE).arg(skillfold()).current_dir(root()))?;
    Ok(Outcome::Passed)
}

impl Python {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(packages) = &self.packages {
            command.env("PYTHONPATH", packages);
        }
        command
    }

    /// Whether the pinned version, and no other, is what it would import.
    fn has_reference(&self) -> bool {
        let check = format!("import importlib.metadata as m; assert m.version({PACKAGE:?}) == {VERSION:?}");
        succeeds(self.command().args(["-c", &check]))
    }
}

fn system_python() -> Option<&'static str> {
    // On Windows it is called `python`, where `python3` may be a stub that opens a shop.
    let names: &[&str] = if cfg!(windows) { &["python", "python3"] } else { &["python3", "python"] };
    names
        .iter()
        .copied()
        .find(|name| succeeds(Command::new(name).args(["-c", "import sys; assert sys.version_info >= (3, 11)"])))
}

/// A virtual environment with the reference in it; made once, found again by later runs.
fn prepare(system: &str) -> Result<Python, Failure> {
    let venv = target().join("reference-venv");
    let program = if cfg!(windows) { venv.join("Scripts/python.exe") } else { venv.join("bin/python") };
    let python = Python { program, packages: None };
    if python.has_reference() {
        return Ok(python);
    }
    println!("    installing {PACKAGE} {VERSION} from PyPI into {}", venv.display());
    let made = run(Command::new(system).args(["-m", "venv", "--clear"]).arg(&venv));
    if made.is_ok() {
        install(&python, &[])?;
        return Ok(python);
    }
    // Debian's python3 comes without `ensurepip`, and without it no environment has a `pip`. Its
    // own, if there is one, can install beside.
    println!("    this python3 makes no virtual environments: trying its own pip");
    let packages = target().join("reference-packages");
    let python = Python { program: PathBuf::from(system), packages: Some(packages.clone()) };
    if !python.has_reference() {
        install(&python, &[Path::new("--target"), &packages])?;
    }
    Ok(python)
}

fn install(python: &Python, options: &[&Path]) -> Result<(), Failure> {
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(python.command().args(pip).args(options).arg(format!("{PACKAGE}=={VERSION}")))
}
