//! Three replicas of `skillcue mcp --http` behind haproxy, and a thousand clients of the official SDKs.
//!
//! The proxy is Debian's: the system's own, or its package and the libraries that it needs, unpacked below the target
//! directory. The scripts of `tests/replicas` do the checking; this starts them.

use crate::mcp;
use crate::process::{ChoreFailure, build_skillcue, root, run, skillcue, succeeds, target, write};
use crate::python;
use crate::test::StepOutcome;
use std::path::{Path, PathBuf};
use std::process::Command;

const SUITE_DIR: &str = "tests/replicas";

/// The packages that a machine without haproxy needs for it. (Debian's build has tracing, which Debian does not install
/// by itself.)
const PACKAGES: [&str; 4] = ["haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"];

pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    let Some(system) = python::system() else {
        return Ok(StepOutcome::Skipped("there is no Python 3.11 or later on the PATH".to_owned()));
    };
    let requirements = root().join(SUITE_DIR).join("requirements.txt");
    let text =
        std::fs::read_to_string(&requirements).map_err(|error| ChoreFailure::io("read", &requirements, &error))?;
    let python = match python::environment(system, "mcp", &[], &python::pinned(&text)) {
        Ok(python) => python,
        Err(ChoreFailure(why)) => {
            return Ok(StepOutcome::Skipped(format!("the Python SDK could not be installed: {why}")));
        }
    };
    let node = match mcp::node_with(SUITE_DIR, "replicas/npm") {
        Ok(node) => node,
        Err(ChoreFailure(why)) => return Ok(StepOutcome::Skipped(why)),
    };
    let proxy = match haproxy() {
        Ok(proxy) => proxy,
        Err(ChoreFailure(why)) => return Ok(StepOutcome::Skipped(format!("there is no haproxy: {why}"))),
    };
    build_skillcue()?;
    let figures = target().join("replicas/figures.json");
    let mut script = python.command();
    script.arg(root().join(SUITE_DIR).join("replicas.py")).arg(skillcue()).arg(proxy);
    script.arg(&node.program).arg(&node.packages).arg("--figures").arg(&figures).current_dir(root());
    run(&mut script)?;
    Ok(StepOutcome::Passed)
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
