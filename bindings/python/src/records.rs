//! Events of the library as records of Python's `logging`, below the logger `skillcue`.

use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicI64, Ordering};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

/// The level of records that pass, as `logging` counts: what the logger `skillcue` passed when a call began.
static LEVEL: AtomicI64 = AtomicI64::new(WARNING);
static LOGGER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

const ERROR: i64 = 40;
const WARNING: i64 = 30;
const INFO: i64 = 20;
const DEBUG: i64 = 10;
const TRACE: i64 = 5;

/// Hands events over from now on. A program that has another listener already keeps it.
pub(crate) fn listen() {
    let _ = tracing::subscriber::set_global_default(LoggingSubscriber);
}

/// Reads the level of the logger. Without the interpreter's lock, no event could ask for it.
pub(crate) fn adopt_level(py: Python<'_>) {
    let level = logger(py).and_then(|logger| logger.call_method0("getEffectiveLevel")).and_then(|it| it.extract());
    LEVEL.store(level.unwrap_or(WARNING), Ordering::Relaxed);
}

fn logger(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    let made = LOGGER.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("logging")?.call_method1("getLogger", ("skillcue",))?.unbind())
    })?;
    Ok(made.bind(py))
}

/// A listener without spans: every event is one record.
struct LoggingSubscriber;

impl Subscriber for LoggingSubscriber {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // Asked again for each event, because a program may set another level at any time.
        if metadata.is_span() { Interest::never() } else { Interest::sometimes() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        !metadata.is_span()
            && metadata.target().starts_with("skillcue")
            && level(*metadata.level()) >= LEVEL.load(Ordering::Relaxed)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = RecordText::default();
        event.record(&mut text);
        let metadata = event.metadata();
        // During the end of the interpreter there is nothing to log to.
        let _ = Python::try_attach(|py| {
            if let Err(error) = log(py, metadata, &text) {
                error.write_unraisable(py, None);
            }
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn log(py: Python<'_>, metadata: &Metadata<'_>, text: &RecordText) -> PyResult<()> {
    // `skillcue_catalog::walk` is `skillcue.catalog.walk`.
    let name = metadata.target().replace("::", ".").replacen("skillcue_", "skillcue.", 1);
    let logger = py.import("logging")?.call_method1("getLogger", (name,))?;
    let fields = PyDict::new(py);
    for (key, value) in &text.fields {
        fields.set_item(key, value)?;
    }
    let (extra, options) = (PyDict::new(py), PyDict::new(py));
    extra.set_item("fields", fields)?;
    options.set_item("extra", extra)?;
    logger.call_method("log", (level(*metadata.level()), "%s", text.line()), Some(&options))?;
    Ok(())
}

fn level(level: Level) -> i64 {
    match level {
        Level::ERROR => ERROR,
        Level::WARN => WARNING,
        Level::INFO => INFO,
        Level::DEBUG => DEBUG,
        Level::TRACE => TRACE,
    }
}

/// The message of an event, and its fields.
#[derive(Default)]
struct RecordText {
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl RecordText {
    fn line(&self) -> String {
        let mut line = self.message.clone();
        for (key, value) in &self.fields {
            let _ = write!(line, " {key}={value}");
        }
        line
    }

    fn put(&mut self, field: &Field, value: String) {
        if field.name() == "message" {
            self.message = value;
        } else {
            self.fields.push((field.name(), value));
        }
    }
}

impl Visit for RecordText {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.to_owned());
    }
}
