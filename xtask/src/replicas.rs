//! Three replicas of `skillcue mcp --http` behind haproxy, and a thousand clients of the official SDKs.
//!
//! The proxy is Debian's: the system's own, or its package and the libraries that it needs, unpacked below the target
//! directory. The scripts of `tests/replicas` do the checking; this starts them.

use crate::mcp::{self, NodeProgram};
use crate::process::{ChoreFailure, build_skillcue, cargo, release, root, run, skillcue, succeeds, target, write};
use crate::python::{self, Python};
use crate::{fleet, test::StepOutcome};
use std::path::{Path, PathBuf};
use std::process::Command;

const SUITE_DIR: &str = "tests/replicas";

/// The packages that a machine without haproxy needs for it. (Debian's build has tracing, which Debian does not install
/// by itself.)
const PACKAGES: [&str; 4] = ["haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"];

pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    let suite = match ReplicaSuite::install() {
        Ok(suite) => suite,
        Err(ChoreFailure(why)) => return Ok(StepOutcome::Skipped(why)),
    };
    build_skillcue()?;
    // As with nextest, a second attempt: a thousand clients and three replicas share two cores, and whether a client meets the
    // kill and the drain with one request depends on the moment. What failed is printed.
    if let Err(ChoreFailure(why)) = suite.run(&skillcue(), &[]) {
        println!("    FLAKY, tried once more: {why}");
        suite.run(&skillcue(), &[])?;
    }
    Ok(StepOutcome::Passed)
}

/// Runs `cargo xtask replicas-bench`: what a request costs three replicas and one, with all clients and a release build.
pub(crate) fn bench() -> Result<(), ChoreFailure> {
    let suite = ReplicaSuite::install()?;
    let build = ["build", "--release", "--package", "skillcue-cli", "--bin", "skillcue", "--all-features"];
    run(cargo().args(build))?;
    suite.run(&release("skillcue"), &["--only-figures"])
}

/// The programs that the scripts need.
struct ReplicaSuite {
    python: Python,
    node: NodeProgram,
    proxy: PathBuf,
}

impl ReplicaSuite {
    /// Finds or installs them. The error says which one is missing, and why.
    fn install() -> Result<ReplicaSuite, ChoreFailure> {
        let system =
            python::system().ok_or_else(|| ChoreFailure::new("there is no Python 3.11 or later on the PATH"))?;
        let requirements = root().join(SUITE_DIR).join("requirements.txt");
        let text =
            std::fs::read_to_string(&requirements).map_err(|error| ChoreFailure::io("read", &requirements, &error))?;
        let python = python::environment(system, "mcp", &[], &python::pinned(&text))
            .map_err(|ChoreFailure(why)| ChoreFailure(format!("the Python SDK could not be installed: {why}")))?;
        let node = mcp::node_with(SUITE_DIR, "replicas/npm")?;
        let proxy = haproxy().map_err(|ChoreFailure(why)| ChoreFailure(format!("there is no haproxy: {why}")))?;
        Ok(ReplicaSuite { python, node, proxy })
    }

    /// Runs the scripts on a build of our program. The catalog is on moto's S3 server, or, without that, in a directory.
    fn run(&self, program: &Path, options: &[&str]) -> Result<(), ChoreFailure> {
        let store = python::system().ok_or_else(|| ChoreFailure::new("there is no Python")).and_then(fleet::installed);
        let store = store.and_then(|python| fleet::Server::start(&python, "server.py", &[]));
        let figures = target().join("replicas/figures.json");
        let mut script = self.python.command();
        script.env("PYTHONDONTWRITEBYTECODE", "1").arg(root().join(SUITE_DIR).join("replicas.py"));
        script.arg(program).arg(&self.proxy).arg(&self.node.program).arg(&self.node.packages);
        script.arg("--figures").arg(&figures).args(options).current_dir(root());
        match &store {
            Ok(server) => {
                script.args(["--store", &format!("http://127.0.0.1:{}", server.port)]);
            }
            Err(ChoreFailure(why)) => println!("    skipped the S3 server, the catalog is in a directory: {why}"),
        }
        run(&mut script)
    }
}

/// Returns a haproxy: the system's, or one that was unpacked here.
fn haproxy() -> Result<PathBuf, ChoreFailure> {
    if succeeds(Command::new("haproxy").arg("-v")) {
        return Ok(PathBuf::from("haproxy"));
    }
    let directory = target().join("replicas/haproxy");
    let program = directory.join("haproxy.sh");
    if succeeds(Command::new(&program).arg("-v")) {
        return Ok(program);
    }
    std::fs::create_dir_all(&directory).map_err(|error| ChoreFailure::io("create", &directory, &error))?;
    println!("    downloading {} from Debian into {}", PACKAGES.join(", "), directory.display());
    run(Command::new("apt-get").args(["download", "--quiet=2"]).args(PACKAGES).current_dir(&directory))?;
    let unpacked = directory.join("root");
    for package in packages_in(&directory)? {
        run(Command::new("dpkg-deb").arg("-x").arg(package).arg(&unpacked))?;
    }
    let script = "#!/bin/sh\nhere=$(dirname \"$(readlink -f \"$0\")\")\n\
                  LD_LIBRARY_PATH=$(echo \"$here\"/root/usr/lib/*-linux-gnu) exec \"$here/root/usr/sbin/haproxy\" \"$@\"\n";
    write(&program, script)?;
    run(Command::new("chmod").arg("+x").arg(&program))?;
    run(Command::new(&program).arg("-v"))?;
    Ok(program)
}

fn packages_in(directory: &Path) -> Result<Vec<PathBuf>, ChoreFailure> {
    let entries = std::fs::read_dir(directory).map_err(|error| ChoreFailure::io("list", directory, &error))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths.filter(|path| path.extension().is_some_and(|ending| ending == "deb")).collect())
}
