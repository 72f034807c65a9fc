//! Toolsets that import `zod`: installed as users do it, then the tests that need it.

use crate::process::{Failure, build_skillfold, cargo, run, skillfold, succeeds, target};
use crate::test::Outcome;
use std::path::PathBuf;
use std::process::Command;

/// What the ignored tests look at, to find the packages.
const VARIABLE: &str = "SKILLFOLD_TEST_PACKAGES";

pub(crate) fn step() -> Result<Outcome, Failure> {
    if !succeeds(Command::new("npm").arg("--version")) {
        return Ok(Outcome::Skipped("there is no npm on the PATH; it comes with Node, https://nodejs.org".to_owned()));
    }
    build_skillfold()?;
    let data = target().join("toolsets");
    let mut setup = Command::new(skillfold());
    setup.args(["toolset", "setup"]).env("XDG_DATA_HOME", &data);
    println!("    skillfold toolset setup, into {}", data.display());
    if let Err(Failure(why)) = run(&mut setup) {
        return Ok(Outcome::Skipped(format!("zod could not be installed: {why}")));
    }
    let packages: PathBuf = data.join("skillfold/toolsets");
    // Those that need it are ignored otherwise, and `tests` has built them already.
    let mut tests = if succeeds(cargo().args(["nextest", "--version"])) {
        let mut tests = cargo();
        tests.args(["nextest", "run", "--workspace", "--all-features", "--run-ignored", "only"]);
        tests.args(["-E", "package(skillfold-toolset) & test(zod)"]);
        tests
    } else {
        let mut tests = cargo();
        tests.args(["test", "--package", "skillfold-toolset", "--all-features", "--tests", "--", "--ignored", "zod"]);
        tests
    };
    run(tests.env(VARIABLE, packages))?;
    Ok(Outcome::Passed)
}
