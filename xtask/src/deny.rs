//! `cargo xtask deny`: licences, advisories and sources of the dependencies, as `deny.toml` has it.

use crate::process::{ChoreFailure, cargo, run, succeeds};

/// Runs cargo-deny. Not a step of `test`: cargo-deny takes minutes to build, and its advisories change while the code
/// does not.
pub(crate) fn main() -> Result<(), ChoreFailure> {
    if !succeeds(cargo().args(["deny", "--version"])) {
        return Err(ChoreFailure::new("cargo-deny is not installed; `cargo install --locked cargo-deny` does it"));
    }
    run(cargo().args(["deny", "--workspace", "check"]))
}
