//! Errors of the library as exceptions of `skillcue._errors`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use skillcue::{Error, ErrorInfo};
use skillcue_exec::RunError;

use crate::rows::RunRow;
use crate::value::to_python;

/// A failed call: the words of every error, and what only some have.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    code: String,
    message: String,
    hint: Option<String>,
    details: Details,
}

#[derive(Debug, Default)]
enum Details {
    #[default]
    None,
    Library(Box<Error>),
    Run(Box<RunError>),
}

impl Failure {
    /// Returns the failure that an error with a code and a hint is.
    pub(crate) fn of(error: &impl ErrorInfo) -> Failure {
        Failure {
            code: error.code().to_owned(),
            message: error.to_string(),
            hint: error.hint().map(Into::into),
            details: Details::None,
        }
    }

    pub(crate) fn new(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure { code: code.to_owned(), message: message.into(), hint: Some(hint.into()), details: Details::None }
    }

    /// Returns the exception.
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        self.exception(py).unwrap_or_else(|error| error)
    }

    fn exception(self, py: Python<'_>) -> PyResult<PyErr> {
        let details = PyDict::new(py);
        match &self.details {
            Details::None => {}
            Details::Library(error) => library_details(&details, error)?,
            Details::Run(error) => run_details(&details, error)?,
        }
        let made =
            py.import("skillcue._errors")?.call_method1("_raised", (self.code, self.message, self.hint, details))?;
        Ok(PyErr::from_value(made))
    }
}

fn library_details(details: &Bound<'_, PyDict>, error: &Error) -> PyResult<()> {
    match error {
        Error::NotFound { name, close } => {
            details.set_item("name", name)?;
            details.set_item("close", close)
        }
        Error::Invalid { name, path, diagnostics } => {
            details.set_item("name", name)?;
            details.set_item("path", path)?;
            details.set_item("diagnostics", to_python(details.py(), diagnostics)?)
        }
        Error::Disabled { name } => details.set_item("name", name),
        Error::Unavailable { name, requires } => {
            details.set_item("name", name)?;
            details.set_item("requires", requires)
        }
        _ => Ok(()),
    }
}

fn run_details(details: &Bound<'_, PyDict>, error: &RunError) -> PyResult<()> {
    let py = details.py();
    if let Some(result) = error.result() {
        details.set_item("result", to_python(py, &RunRow::of(result))?)?;
    }
    if let RunError::PermissionRequired { asked, .. } = error {
        details.set_item("question", crate::consent::question(py, asked)?)?;
    }
    Ok(())
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { details: Details::Library(Box::new(error)), ..Failure::default() }.filled()
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        Failure { details: Details::Run(Box::new(error)), ..Failure::default() }.filled()
    }
}

impl Failure {
    /// Takes the words from the error in its details.
    fn filled(self) -> Failure {
        let Failure { details, .. } = self;
        let words = match &details {
            Details::Library(error) => Failure::of(&**error),
            Details::Run(error) => Failure::of(&**error),
            Details::None => Failure::default(),
        };
        Failure { details, ..words }
    }
}
