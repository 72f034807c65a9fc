//! The errors of building a [`Skillcue`](crate::Skillcue) and of asking it for a skill.

use std::borrow::Cow;
use std::path::PathBuf;

use skillcue_base::ErrorInfo;
use skillcue_catalog::{FileError, PolicyRefusal};
use skillcue_disclose::{CounterError, DiscloseConfigError};
use skillcue_format::Diagnostic;
use skillcue_load::LoadError;

use crate::meaning::SentenceError;
use crate::remote::RemoteError;

/// The reason why a [`Skillcue`](crate::Skillcue) could not be built, or why a skill or its files could not be had.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum Error {
    /// A number of the disclosure's configuration makes no sense.
    #[error(transparent)]
    #[info(code = "config", hint = "write a number from 0 to 1")]
    Disclosure(#[from] DiscloseConfigError),
    /// The counter of tokens in the disclosure's configuration is not in this build.
    #[error(transparent)]
    #[info(code = "config", hint = "choose another counter")]
    Counter(#[from] CounterError),
    /// Messages are to be matched by meaning, and there is no sentence model.
    #[error("matching by meaning (mode `semantic`) needs a sentence model, and none is installed")]
    #[info(code = "no_model", hint = "install one, or choose the mode `hybrid`")]
    NoSentenceModel,
    /// The sentence model gave no vectors.
    #[error(transparent)]
    #[info(transparent)]
    SentenceModel(#[from] SentenceError),
    /// No skill has that name.
    #[error("no skill is called {name:?}")]
    #[info(code = "not_found", hint = not_found_hint(close))]
    NotFound {
        /// The name that was asked for.
        name: String,
        /// Names that may have been meant.
        close: Vec<String>,
    },
    /// The skill is there, but broken.
    #[error("the skill {name:?} is not usable: {}", first(diagnostics))]
    #[info(code = "invalid", hint = "correct what its diagnostics report")]
    Invalid {
        /// The name that was asked for.
        name: String,
        /// The skill's file.
        path: PathBuf,
        /// The findings about the file.
        diagnostics: Vec<Diagnostic>,
    },
    /// The front matter cannot be changed.
    #[error("the description of {name:?} cannot be changed: {reason}")]
    #[info(code = "not_editable", hint = "change it by hand")]
    NotEditable {
        /// The name that was asked for.
        name: String,
        /// The reason.
        reason: skillcue_format::EditError,
    },
    /// The skill is switched off.
    #[error("the skill {name:?} is disabled")]
    #[info(code = "disabled", hint = "enable it first")]
    Disabled {
        /// The name that was asked for.
        name: String,
    },
    /// The organisation's policy refuses the skill.
    #[error("the skill {name:?} is {refusal}")]
    #[info(code = "policy", hint = refusal.help.clone())]
    Refused {
        /// The name that was asked for.
        name: String,
        /// The rule, and the policy that has it.
        refusal: Box<PolicyRefusal>,
    },
    /// A program that the skill requires is missing.
    #[error("the skill {name:?} is unavailable: it requires {}", requires.join(", "))]
    #[info(code = "unavailable", hint = "install what it requires")]
    Unavailable {
        /// The name that was asked for.
        name: String,
        /// The programs that the skill requires.
        requires: Vec<String>,
    },
    /// The body of the skill could not be loaded.
    #[error(transparent)]
    #[info(transparent)]
    Load(#[from] LoadError),
    /// The server that lists the skill does not hand it out, or it is not allowed.
    #[error("the skill {name:?}: {source}")]
    #[info(transparent = source)]
    Remote {
        /// The name that was asked for.
        name: String,
        /// The server's error.
        source: RemoteError,
    },
    /// A file of the skill could not be read.
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
