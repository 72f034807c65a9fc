//! A function of Python that answers whether programs of skills may do what they ask for.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use skillcue::consent::{Answer, ConsentError, ConsentGate, Question, Scope};

use crate::value::to_python;

/// A gate that calls a function with each question.
pub(crate) struct CallableGate(Py<PyAny>);

impl CallableGate {
    pub(crate) fn new(function: Py<PyAny>) -> CallableGate {
        CallableGate(function)
    }
}

impl fmt::Debug for CallableGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallableGate")
    }
}

impl ConsentGate for CallableGate {
    fn answer(&self, asked: &Question) -> Answer {
        let allowed = Python::try_attach(|py| {
            let said = question(py, asked).and_then(|asked| self.0.call1(py, (asked,)));
            match said.and_then(|said| said.is_truthy(py)) {
                Ok(allowed) => allowed,
                Err(error) => {
                    // Without an answer nothing is allowed.
                    error.write_unraisable(py, Some(self.0.bind(py)));
                    false
                }
            }
        });
        if allowed == Some(true) { Answer::Allowed } else { Answer::NotAsked }
    }

    fn remember(&self, _: &Question, _: Scope) -> Result<(), ConsentError> {
        Ok(())
    }
}

/// Returns a question as a dictionary: its subject, and the permissions that are asked for.
pub(crate) fn question<'py>(py: Python<'py>, asked: &Question) -> PyResult<Bound<'py, PyAny>> {
    let out = PyDict::new(py);
    out.set_item("subject", to_python(py, &asked.subject)?)?;
    out.set_item("permissions", to_python(py, &asked.permissions)?)?;
    Ok(out.into_any())
}
