//! What there is of the agent where it was left out of the build: a word on how to get it.

use std::ffi::OsString;

use crate::Outcome;
use crate::context::Context;
use crate::error::CliError;

/// How to get a program with everything in it.
const FULL: &str = "build one with it: `cargo install --path crates/skillcue-cli --features full`";

/// Anything: it is not looked at.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<OsString>,
}

pub(crate) fn run(_: &Args, _: &Context) -> Result<Outcome, CliError> {
    Err(CliError::failure("no_agent", "this program was built without the agent").help(FULL))
}
