//! The error of a command, for people and for programs.

use std::io;

use serde::Serialize;
use skillcue::consent::ConsentError;
use skillcue::{Diagnostic, ErrorInfo};
use skillcue_clients::hook::HookError;
use skillcue_clients::settings::SettingsError;
use skillcue_exec::{ExecError, RunError};
pub(crate) use skillcue_host::Excerpt;
use skillcue_host::HostError;
use skillcue_mcp::host::AllowError;
use skillcue_registry::{FetchError, RegistryError};
use skillcue_usage::LedgerError;

use crate::hints;

/// The error of a command: what is wrong, where, and what to do.
// Boxed, because every result of every command has room for one.
#[derive(Debug)]
pub(crate) struct CliError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: CliErrorKind,
    /// A stable word for programs.
    code: &'static str,
    message: String,
    help: Option<String>,
    /// Findings about the file that it is about, with excerpts.
    diagnostics: Vec<Diagnostic>,
    /// An excerpt that is no diagnostic of a skill: a line of a configuration file.
    excerpt: Option<Excerpt>,
    broken_pipe: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CliErrorKind {
    /// The command line, or a variable in place of a part of it, is wrong.
    Usage,
    /// The command line is right, and the command could not do its work.
    Failure,
}

impl CliError {
    /// Makes an error of wrong usage: exit code 2.
    pub(crate) fn usage(code: &'static str, message: impl Into<String>) -> CliError {
        let mut error = CliError::failure(code, message);
        error.0.kind = CliErrorKind::Usage;
        error
    }

    /// Makes an error of a command that could not do its work: exit code 1.
    pub(crate) fn failure(code: &'static str, message: impl Into<String>) -> CliError {
        CliError(Box::new(Inner {
            kind: CliErrorKind::Failure,
            code,
            message: message.into(),
            help: None,
            diagnostics: Vec::new(),
            excerpt: None,
            broken_pipe: false,
        }))
    }

    /// Takes code, message and hint of an error of the library, with the command to type if there is one.
    pub(crate) fn of(error: &(impl ErrorInfo + 'static)) -> CliError {
        let mut failure = CliError::failure(error.code(), error.to_string());
        failure.0.help = hints::hint_of(error);
        failure
    }

    /// Takes code, message and help of a finding that stops the command.
    pub(crate) fn of_finding(found: &Diagnostic) -> CliError {
        let mut failure = CliError::failure(found.code.as_str(), found.message.clone());
        failure.0.help = hints::hint_of(found);
        failure
    }

    /// Like [`of`](CliError::of), where the command was used wrongly.
    pub(crate) fn of_usage(error: &(impl ErrorInfo + 'static)) -> CliError {
        let mut failure = CliError::of(error);
        failure.0.kind = CliErrorKind::Usage;
        failure
    }

    /// Adds what to do about it.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> CliError {
        self.0.help = Some(help.into());
        self
    }

    /// Adds the line that it is about.
    #[must_use]
    pub(crate) fn excerpt(mut self, excerpt: Excerpt) -> CliError {
        self.0.excerpt = Some(excerpt);
        self
    }

    /// Makes the error of a write to `path`.
    pub(crate) fn write(path: &std::path::Path, error: &io::Error) -> CliError {
        CliError::failure(
            "unwritable",
            format!("cannot write {}: {}", path.display(), skillcue_base::os_message(error)),
        )
        .help("check that the directory is there and that you may write to it")
    }

    pub(crate) fn exit_code(&self) -> i32 {
        match self.0.kind {
            CliErrorKind::Usage => 2,
            CliErrorKind::Failure => 1,
        }
    }

    /// Returns whether the reader of the output went away.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.0.broken_pipe
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    pub(crate) fn code(&self) -> &'static str {
        self.0.code
    }

    pub(crate) fn hint(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }

    pub(crate) fn shown_excerpt(&self) -> Option<&Excerpt> {
        self.0.excerpt.as_ref()
    }

    /// Returns the document that `--json` prints instead of a result.
    pub(crate) fn json(&self) -> impl Serialize {
        #[derive(Serialize)]
        struct ErrorDocument {
            error: ErrorFields,
        }
        #[derive(Serialize)]
        struct ErrorFields {
            code: &'static str,
            message: String,
            help: Option<String>,
            #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "crate::hints::serialize")]
            diagnostics: Vec<Diagnostic>,
        }
        ErrorDocument {
            error: ErrorFields {
                code: self.0.code,
                message: self.0.message.clone(),
                help: self.0.help.clone(),
                diagnostics: self.0.diagnostics.clone(),
            },
        }
    }
}

impl From<skillcue::Error> for CliError {
    fn from(error: skillcue::Error) -> CliError {
        let mut failure = CliError::of(&error);
        if let skillcue::Error::Invalid { diagnostics, .. } = error {
            failure.0.diagnostics = diagnostics;
        }
        failure
    }
}

/// Errors of the library of which code, message and hint are all there is to say.
macro_rules! from_library {
    ($($error:ty),+) => {
        $(impl From<$error> for CliError {
            fn from(error: $error) -> CliError {
                CliError::of(&error)
            }
        })+
    };
}

from_library!(
    AllowError,
    ConsentError,
    ExecError,
    FetchError,
    HookError,
    LedgerError,
    RegistryError,
    RunError,
    SettingsError
);
#[cfg(feature = "agent")]
from_library!(
    skillcue_agent::MemoryError,
    skillcue_agent::SessionsError,
    skillcue_agent::TraceError,
    skillcue_agent::model::ModelError
);
#[cfg(feature = "oci")]
from_library!(skillcue_registry::PushError);
#[cfg(feature = "semantic")]
from_library!(skillcue_model::SentenceModelError);

impl From<HostError> for CliError {
    fn from(mut error: HostError) -> CliError {
        let make = if error.is_usage() { CliError::usage } else { CliError::failure };
        let mut failure = make(error.code(), error.message());
        failure.0.help = hints::hint_of(&error);
        failure.0.excerpt = error.take_excerpt();
        failure
    }
}

/// Errors of writing the output. Code that reads and writes other files names the file itself.
impl From<io::Error> for CliError {
    fn from(error: io::Error) -> CliError {
        let mut failure = CliError::failure(
            "output",
            format!("the output could not be written: {}", skillcue_base::os_message(&error)),
        );
        failure.0.broken_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        failure
    }
}

impl From<serde_json::Error> for CliError {
    fn from(error: serde_json::Error) -> CliError {
        // Our values serialise; what fails is writing them.
        io::Error::from(error).into()
    }
}
