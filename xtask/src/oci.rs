//! The OCI step: `push` and `install oci://…` against the real registry of the CNCF project Distribution.
//!
//! Debian packages it as `docker-registry`. The package is downloaded and unpacked below the target directory, and not
//! installed on the machine.

use std::path::PathBuf;
use std::process::Command;

use crate::process::{ChoreFailure, cargo, run, succeeds, target};
use crate::test::StepOutcome;

const PACKAGE: &str = "docker-registry";

pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    let program = match registry() {
        Ok(program) => program,
        Err(why) => return Ok(StepOutcome::Skipped(why)),
    };
    let mut test = cargo();
    test.args(["test", "--package", "skillcue-cli", "--all-features", "--test", "oci"]);
    run(test.env("SKILLCUE_OCI_REGISTRY", program))?;
    Ok(StepOutcome::Passed)
}

/// Returns the registry's program, fetched from Debian once.
fn registry() -> Result<PathBuf, String> {
    let dir = target().join("oci");
    let program = dir.join("usr/bin").join(PACKAGE);
    if program.is_file() {
        return Ok(program);
    }
    if !succeeds(Command::new("apt-get").arg("--version")) || !succeeds(Command::new("dpkg-deb").arg("--version")) {
        return Err(format!("Debian's apt-get and dpkg-deb are needed to fetch {PACKAGE}"));
    }
    println!("    fetching {PACKAGE} from Debian into {}", dir.display());
    std::fs::create_dir_all(&dir).map_err(|error| format!("cannot create {}: {error}", dir.display()))?;
    let fetch = Command::new("apt-get").args(["download", PACKAGE]).current_dir(&dir).status();
    if !fetch.is_ok_and(|status| status.success()) {
        return Err(format!("{PACKAGE} could not be fetched from Debian"));
    }
    let package = std::fs::read_dir(&dir).ok().into_iter().flatten().flatten().map(|entry| entry.path());
    let package = package.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "deb"));
    let package = package.ok_or_else(|| format!("{PACKAGE} was not fetched"))?;
    let unpacked = Command::new("dpkg-deb").arg("-x").arg(&package).arg(&dir).status();
    if unpacked.is_ok_and(|status| status.success()) && program.is_file() {
        Ok(program)
    } else {
        Err(format!("{} could not be unpacked", package.display()))
    }
}
