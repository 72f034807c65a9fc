//! `NativeWatch`: changes on disk, told to a function.

use std::sync::Mutex;

use pyo3::prelude::*;
use skillcue::watch::{WatchEvent, WatchOptions};
use skillcue_host::HostWatch;

use crate::failure::Failure;
use crate::pool::detached;
use crate::skills::NativeSkills;
use crate::value::to_python;

/// A watch, which lasts until it is closed.
#[pyclass(frozen, module = "skillcue._native")]
pub(crate) struct NativeWatch(Mutex<Option<HostWatch>>);

#[pymethods]
impl NativeWatch {
    #[new]
    fn new(py: Python<'_>, skills: &NativeSkills, on_change: Py<PyAny>, poll: bool) -> PyResult<NativeWatch> {
        let options = WatchOptions { poll, ..WatchOptions::default() };
        let listener = move |event: &WatchEvent| {
            let _ = Python::try_attach(|py| {
                if let Err(error) = tell(py, &on_change, event) {
                    error.write_unraisable(py, Some(on_change.bind(py)));
                }
            });
        };
        let watch = detached(py, || skills.host()?.host.watch(options, listener).map_err(|error| Failure::of(&error)));
        Ok(NativeWatch(Mutex::new(Some(watch.map_err(|failure| failure.raised(py))?))))
    }

    /// Ends it. A call of the function that is under way comes to its end first.
    fn close(&self, py: Python<'_>) {
        let watch = self.0.lock().ok().and_then(|mut watch| watch.take());
        py.detach(|| drop(watch));
    }
}

/// Calls the function with `(kind, changes, words)`.
fn tell(py: Python<'_>, function: &Py<PyAny>, event: &WatchEvent) -> PyResult<()> {
    match event {
        WatchEvent::Changed(changes) => function.call1(py, ("changed", to_python(py, changes)?, py.None()))?,
        WatchEvent::Trouble(words) => function.call1(py, ("trouble", py.None(), words))?,
        WatchEvent::Recovered => function.call1(py, ("recovered", py.None(), py.None()))?,
        _ => return Ok(()),
    };
    Ok(())
}
