//! What can go wrong when somebody asks for a skill.

use std::path::PathBuf;

use skillcue_catalog::FileError;
use skillcue_disclose::{ConfigError, CounterError};
use skillcue_format::Diagnostic;
use skillcue_load::LoadError;

use crate::remote::RemoteError;

/// Why a [`Skillcue`](crate::Skillcue) could not be built, or something of a skill could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number of the disclosure's configuration makes no sense.
    #[error(transparent)]
    Disclosure(#[from] ConfigError),
    /// The counter of tokens that the disclosure's configuration wants is not in this build.
    #[error(transparent)]
    Counter(#[from] CounterError),
    /// No skill has that name.
    #[error("no skill is called {name:?}")]
    NotFound {
        /// What was asked for.
        name: String,
        /// Names that may have been meant.
        close: Vec<String>,
    },
    /// There is such a skill, but it is broken.
    #[error("the skill {name:?} is not usable: {}", first(diagnostics))]
    Invalid {
        /// What was asked for.
        name: String,
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        diagnostics: Vec<Diagnostic>,
    },
    /// It is switched off.
    #[error("the skill {name:?} is disabled")]
    Disabled {
        /// What was asked for.
        name: String,
    },
    /// A program that it requires is missing.
    #[error("the skill {name:?} is unavailable: it requires {}", requires.join(", "))]
    Unavailable {
        /// What was asked for.
        name: String,
        /// What it requires.
        requires: Vec<String>,
    },
    /// Its body could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The server that lists it does not hand it out, or nobody has approved it.
    #[error("the skill {name:?}: {source}")]
    Remote {
        /// What was asked for.
        name: String,
        /// Why.
        source: RemoteError,
    },
    /// One of its files could not be read.
    #[error(transparent)]
    File(#[from] FileError),
}

fn first(diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics.iter().find(|found| found.is_error()).or(diagnostics.first());
    errors.map_or_else(|| "it cannot be read".to_owned(), |found| found.message.to_string())
}

/// The command that switches skills on, for every message that says that one is off.
///
/// ```
/// assert_eq!(skillcue::enable_command(["pdf"], false), "skillcue enable pdf");
/// ```
pub fn enable_command<'n>(names: impl IntoIterator<Item = &'n str>, project: bool) -> String {
    let mut command = "skillcue enable".to_owned();
    for word in project.then_some("--project").into_iter().chain(names) {
        command.push(' ');
        command.push_str(word);
    }
    command
}

impl Error {
    /// A stable word for what went wrong.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Disclosure(_) | Error::Counter(_) => "config",
            Error::NotFound { .. } => "not_found",
            Error::Invalid { .. } => "invalid",
            Error::Disabled { .. } => "disabled",
            Error::Unavailable { .. } => "unavailable",
            Error::Load(error) => error.code(),
            Error::Remote { source, .. } => source.code(),
            Error::File(error) => error.code(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Error::Disclosure(_) => "write a number from 0 to 1".to_owned(),
            Error::Counter(_) => "choose another counter".to_owned(),
            Error::NotFound { close, .. } if !close.is_empty() => format!("did you mean {}?", close.join(", ")),
            Error::NotFound { .. } => "`skillcue list` shows what there is".to_owned(),
            Error::Invalid { path, .. } => format!("`skillcue lint {}` says more", path.display()),
            Error::Disabled { name } => format!("`{}` switches it on", enable_command([name.as_str()], false)),
            Error::Unavailable { .. } => "install what it requires".to_owned(),
            Error::Load(error) => error.hint().to_owned(),
            Error::Remote { name, source } => source.hint().replace("NAME", name),
            Error::File(error) => error.hint().to_owned(),
        }
    }
}
