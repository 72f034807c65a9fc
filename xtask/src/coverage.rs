//! `cargo xtask coverage`: how much of selection and disclosure the tests reach.
//!
//! With `cargo-tarpaulin`, which traces the tests itself and so needs no LLVM tools of the compiler's own version. It
//! is installed into the target directory if it is not there.

use crate::process::{ChoreFailure, cargo, root, run, succeeds};
use std::process::Command;

/// The lines that tests must reach, in percent.
const MIN_LINES: u8 = 95;
const VERSION: &str = "0.35.1";
/// Each with the crates whose tests count for it, too.
const CRATES: [&str; 2] = ["skillcue-select", "skillcue-disclose"];

pub(crate) fn main() -> Result<(), ChoreFailure> {
    let tool = root().join("target/coverage/bin/cargo-tarpaulin");
    let program = if succeeds(Command::new("cargo-tarpaulin").arg("--version")) {
        "cargo-tarpaulin".into()
    } else {
        if !tool.exists() {
            println!("==> installing cargo-tarpaulin {VERSION} below target/coverage (some minutes, once)");
            let dir = root().join("target/coverage");
            run(cargo().args(["install", "cargo-tarpaulin", "--locked", "--version", VERSION, "--root"]).arg(dir))?;
        }
        tool
    };
    for name in CRATES {
        println!("==> {name}: at least {MIN_LINES} % of its lines");
        let mut command = Command::new(&program);
        command
            .arg("tarpaulin")
            .args(["--packages", name, "--all-features", "--skip-clean", "--engine", "ptrace"])
            .args(["--include-files", &format!("crates/{name}/src/*"), "--exclude-files", "*tests.rs"])
            .args(["--fail-under", &MIN_LINES.to_string(), "--target-dir", "target/coverage/build"])
            .current_dir(root());
        run(&mut command)?;
    }
    Ok(())
}
