//! What can go wrong when somebody asks for a skill.

use std::borrow::Cow;
use std::path::PathBuf;

use skillcue_base::ErrorInfo;
use skillcue_catalog::FileError;
use skillcue_disclose::{ConfigError, CounterError};
use skillcue_format::Diagnostic;
use skillcue_load::LoadError;

use crate::remote::RemoteError;

/// Why a [`Skillcue`](crate::Skillcue) could not be built, or something of a skill could not be had.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum Error {
    /// A number of the disclosure's configuration makes no sense.
    #[error(transparent)]
    #[info(code = "config", hint = "write a number from 0 to 1")]
    Disclosure(#[from] ConfigError),
    /// The counter of tokens that the disclosure's configuration wants is not in this build.
    #[error(transparent)]
    #[info(code = "config", hint = "choose another counter")]
    Counter(#[from] CounterError),
    /// No skill has that name.
    #[error("no skill is called {name:?}")]
    #[info(code = "not_found", hint = not_found_hint(close))]
    NotFound {
        /// What was asked for.
        name: String,
        /// Names that may have been meant.
        close: Vec<String>,
    },
    /// There is such a skill, but it is broken.
    #[error("the skill {name:?} is not usable: {}", first(diagnostics))]
    #[info(code = "invalid", hint = "mend what its diagnostics say")]
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
    #[info(code = "disabled", hint = "enable it first")]
    Disabled {
        /// What was asked for.
        name: String,
    },
    /// A program that it requires is missing.
    #[error("the skill {name:?} is unavailable: it requires {}", requires.join(", "))]
    #[info(code = "unavailable", hint = "install what it requires")]
    Unavailable {
        /// What was asked for.
        name: String,
        /// What it requires.
        requires: Vec<String>,
    },
    /// Its body could not be loaded.
    #[error(transparent)]
    #[info(transparent)]
    Load(#[from] LoadError),
    /// The server that lists it does not hand it out, or it is not allowed.
    #[error("the skill {name:?}: {source}")]
    #[info(transparent = source)]
    Remote {
        /// What was asked for.
        name: String,
        /// Why.
        source: RemoteError,
    },
    /// One of its files could not be read.
    #[error(transparent)]
    #[info(transparent)]
    File(#[from] FileError),
}

fn first(diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics.iter().find(|found| found.is_error()).or(diagnostics.first());
    errors.map_or_else(|| "it cannot be read".to_owned(), |found| found.message.to_string())
}

fn not_found_hint(close: &[String]) -> Cow<'static, str> {
    match close {
        [] => Cow::Borrowed("list the skills to see which there are"),
        _ => Cow::Owned(format!("did you mean {}?", close.join(", "))),
    }
}

/// A front end's text in place of an error's [hint](ErrorInfo::hint): a command to type, where it has one for it.
/// See [`Builder::hints`](crate::Builder::hints).
pub type Hints = fn(&(dyn std::error::Error + 'static)) -> Option<String>;
