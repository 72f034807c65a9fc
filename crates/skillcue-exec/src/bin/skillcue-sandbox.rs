//! The sandbox's helper as a program of its own, for hosts whose own program is not `skillcue`.

use std::process::ExitCode;

fn main() -> ExitCode {
    skillcue_exec::helper::run_if_asked(None);
    // Started by a person, it has nothing to do.
    ExitCode::from(2)
}
