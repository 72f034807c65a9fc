//! Why a process could not be started.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The word by which a helper says that it was built without an engine; [`ExecError::NoEngine`] on this side.
pub(crate) const NO_ENGINE: &str = "no engine";

/// Why a process could not be started in a sandbox.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExecError {
    /// The platform offers too little, and nobody allowed running without.
    #[error("this machine offers no sandbox: {reason}")]
    SandboxUnavailable {
        /// What is missing.
        reason: String,
    },
    /// The helper program could not be started.
    #[error("cannot start the sandbox's helper {}: {source}", helper.display())]
    Helper {
        /// Which program.
        helper: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The helper did not do its part.
    #[error("the sandbox's helper failed: {0}")]
    Broken(String),
    /// The helper has no engine for toolsets: it was built without one.
    #[error("this build has no engine for toolsets")]
    NoEngine,
    /// The program could not be executed inside the sandbox.
    #[error("cannot start {}: {reason}", program.display())]
    Program {
        /// Which program.
        program: PathBuf,
        /// Why.
        reason: String,
    },
}

impl ExecError {
    /// A stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::SandboxUnavailable { .. } => "sandbox_unavailable",
            Self::NoEngine => "no_engine",
            Self::Helper { .. } | Self::Broken(_) | Self::Program { .. } => "execution_failed",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::SandboxUnavailable { .. } => {
                "Landlock and seccomp (Linux 5.13 or later) or sandbox-exec (macOS) is needed; to run without a sandbox all the same: --allow-unsandboxed"
            }
            Self::Helper { .. } => "the helper is the program `skillcue` or `skillcue-sandbox`; is it installed?",
            Self::NoEngine => "install one that has it: `cargo install --path crates/skillcue-cli --features full`",
            Self::Broken(_) => "run again with more logging to see what happened",
            Self::Program { .. } => "is the program installed, executable and made for this machine?",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_engine_it_says_how_to_get_one() {
        assert!(ExecError::NoEngine.hint().contains("--features full"));
        assert!(ExecError::Broken("its pipes are gone".to_owned()).hint().contains("logging"));
    }
}
