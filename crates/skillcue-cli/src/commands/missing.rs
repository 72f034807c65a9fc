//! Commands that were left out of this build: each fails, and names the build that has it.

use std::ffi::OsString;

/// The arguments of a command that was left out. Any are accepted and ignored.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<OsString>,
}

/// The commands of the agent.
#[cfg(not(feature = "agent"))]
pub(crate) mod agent {
    pub(crate) use super::Args;
    use crate::Outcome;
    use crate::context::Context;
    use crate::error::CliError;

    pub(crate) fn run(_: &Args, _: &Context) -> Result<Outcome, CliError> {
        Err(CliError::failure("no_agent", "this program was built without the agent")
            .help("build one with it: `cargo install --path crates/skillcue-cli`"))
    }
}

/// The measurements.
#[cfg(not(feature = "bench"))]
pub(crate) mod bench {
    pub(crate) use super::Args;
    use crate::Outcome;
    use crate::context::Context;
    use crate::error::CliError;

    pub(crate) fn run(_: &Args, _: &Context) -> Result<Outcome, CliError> {
        Err(CliError::usage("no_bench", "this program was built without the measurements")
            .help("run `cargo xtask bench` in a checkout of the repository: it builds and runs them"))
    }
}

/// The commands of catalogs on object stores.
#[cfg(not(feature = "fleet"))]
pub(crate) mod fleet {
    pub(crate) use super::Args;
    use crate::Outcome;
    use crate::context::Context;
    use crate::error::CliError;

    pub(crate) fn run(_: &Args, _: &Context) -> Result<Outcome, CliError> {
        Err(CliError::failure("no_fleet", "this program was built without catalogs on object stores")
            .help("build one with them: `cargo install --path crates/skillcue-cli --features fleet`"))
    }
}

/// The sentence model.
#[cfg(not(feature = "semantic"))]
pub(crate) mod model {
    pub(crate) use super::Args;
    use crate::Outcome;
    use crate::context::Context;
    use crate::error::CliError;
    use crate::hints::WITH_SEMANTIC;

    pub(crate) fn run(_: &Args, _: &Context) -> Result<Outcome, CliError> {
        Err(CliError::failure("no_semantic", "this program was built without the sentence model").help(WITH_SEMANTIC))
    }
}

/// OCI registries.
#[cfg(not(feature = "oci"))]
pub(crate) mod push {
    pub(crate) use super::Args;
    use crate::Outcome;
    use crate::context::Context;
    use crate::error::CliError;
    use crate::hints::WITH_OCI;

    pub(crate) fn run(_: &Args, _: &Context) -> Result<Outcome, CliError> {
        Err(CliError::failure("no_oci", "this program was built without OCI registries").help(WITH_OCI))
    }
}
