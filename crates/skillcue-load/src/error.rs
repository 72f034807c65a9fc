//! The errors of loading.

use std::sync::Arc;

use skillcue_base::{ErrorInfo, Shown};
use skillcue_catalog::FileError;

use crate::arguments::ContentTooLarge;
use crate::outline::SectionError;

/// The reason why a skill could not be loaded.
///
/// It can be cloned, because callers that waited for one reading of a file share its failure. It never has the text of
/// the arguments: they may be private, and errors are logged.
#[derive(Clone, Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum LoadError {
    /// The file could not be read.
    #[error(transparent)]
    #[info(transparent)]
    File(Arc<FileError>),
    /// The file has no front matter any more, or it is not closed: the start of the body is unknown.
    #[error("skill \"{}\": \"{}\" has no closed front matter", Shown(skill), Shown(path))]
    #[info(code = "no_front_matter", hint = "start the file with front matter between two lines of `---`")]
    NoFrontMatter {
        /// The skill's name.
        skill: Box<str>,
        /// The file, relative to the skill's directory.
        path: Box<str>,
    },
    /// The arguments are too long.
    #[error("skill \"{}\": the arguments have {size} bytes, more than the limit of {limit}", Shown(skill))]
    #[info(code = "invalid_argument", hint = "put the text into a file and pass its path")]
    ArgumentsTooLarge {
        /// The skill's name.
        skill: Box<str>,
        /// Their length in bytes.
        size: usize,
        /// The maximum length in bytes.
        limit: usize,
    },
    /// The body with its arguments is too long.
    #[error("skill \"{}\": {source}", Shown(skill))]
    #[info(code = "too_large", hint = "use fewer placeholders or shorter arguments, or load one section")]
    ContentTooLarge {
        /// The skill's name.
        skill: Box<str>,
        /// The limit.
        source: ContentTooLarge,
    },
    /// The requested section was not found, or is ambiguous.
    #[error("skill \"{}\": {source}", Shown(skill))]
    #[info(transparent = source)]
    Section {
        /// The skill's name.
        skill: Box<str>,
        /// The mistake, with similar headings.
        source: SectionError,
    },
}

impl LoadError {
    /// Returns the skill's name.
    pub fn skill(&self) -> &str {
        match self {
            Self::File(error) => error.skill(),
            Self::NoFrontMatter { skill, .. }
            | Self::ArgumentsTooLarge { skill, .. }
            | Self::ContentTooLarge { skill, .. }
            | Self::Section { skill, .. } => skill,
        }
    }

    /// Returns the file, relative to the skill's directory, if the error is about one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::File(error) => Some(error.path()),
            Self::NoFrontMatter { path, .. } => Some(path),
            _ => None,
        }
    }
}

impl From<FileError> for LoadError {
    fn from(error: FileError) -> Self {
        Self::File(Arc::new(error))
    }
}
