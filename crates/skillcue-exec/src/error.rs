//! The error of starting a process.

use std::io;
use std::path::PathBuf;

use skillcue_base::ErrorInfo;
use thiserror::Error;

/// The word by which a helper reports that it was built without an engine; [`ExecError::NoEngine`] on this side.
pub(crate) const NO_ENGINE: &str = "no engine";

/// The hint for a machine without a sandbox.
pub(crate) const NO_SANDBOX_HINT: &str = "the sandbox needs Linux 5.13 or later with Landlock and seccomp; other \
     systems, macOS among them, have none yet; to run without a sandbox, say so explicitly";

/// The reason why a process could not be started in a sandbox.
#[derive(Debug, Error, ErrorInfo)]
#[non_exhaustive]
pub enum ExecError {
    /// The platform offers too little, and running without a sandbox is not allowed.
    #[error("this machine offers no sandbox: {reason}")]
    #[info(code = "sandbox_unavailable", hint = NO_SANDBOX_HINT)]
    SandboxUnavailable {
        /// The layers that are missing.
        reason: String,
    },
    /// The helper program could not be started.
    #[error("cannot start the sandbox's helper {}: {source}", helper.display())]
    #[info(
        code = "execution_failed",
        hint = "the helper is the program `skillcue` or `skillcue-sandbox`; is it installed?"
    )]
    Helper {
        /// The program.
        helper: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The helper did not do its part.
    #[error("the sandbox's helper failed: {0}")]
    #[info(code = "execution_failed", hint = "run again with more logging to see what happened")]
    Broken(String),
    /// The helper has no engine for toolsets: it was built without one.
    #[error("this build has no engine for toolsets")]
    #[info(code = "no_engine", hint = "build skillcue-toolset with its feature `engine`")]
    NoEngine,
    /// The program could not be executed inside the sandbox.
    #[error("cannot start {}: {reason}", program.display())]
    #[info(code = "execution_failed", hint = "is the program installed, executable and made for this machine?")]
    Program {
        /// The program.
        program: PathBuf,
        /// The reason.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_engine_it_says_how_to_get_one() {
        assert!(ExecError::NoEngine.hint().unwrap().contains("feature `engine`"));
        assert!(ExecError::Broken("its pipes are gone".to_owned()).hint().unwrap().contains("logging"));
    }
}
