//! Results and failures of calls, as they are sent to the host.

use rquickjs::Value;
use serde_json::value::RawValue;

use super::calls::CallLoop;
use super::{position, value};
use crate::message::{ChildMessage, DoneMessage, FailedMessage};

/// The largest metadata of a result.
const MAX_METADATA_BYTES: usize = 512 << 10;
const TOO_LONG: &str = "it ran for too long";

/// Returns the failure of a call whose code was interrupted.
pub(super) fn timeout(id: u64) -> FailedMessage {
    FailedMessage { id, code: "timeout".into(), message: TOO_LONG.to_owned(), ..FailedMessage::default() }
}

impl<'js> CallLoop<'js> {
    /// Returns the failure for the value that was thrown.
    pub(super) fn thrown_failure(&self, id: u64) -> FailedMessage {
        let value = self.ctx.catch();
        let thrown = position::thrown(&self.ctx, &value);
        let interrupted = self.link.clock.take_interrupt(id);
        let code = if interrupted {
            "timeout"
        } else if thrown.message.contains("out of memory") {
            "memory"
        } else {
            "threw"
        };
        let message = if interrupted { TOO_LONG.to_owned() } else { thrown.message };
        let (file, line, column) = match thrown.position {
            Some(at) => (Some(at.file), Some(at.line), Some(at.column)),
            None => (None, None, None),
        };
        FailedMessage { id, code: code.into(), message, stack: thrown.stack, file, line, column }
    }

    /// Ends a call: sends its result or its failure.
    pub(super) fn finish(&mut self, id: u64, tool: &str, result: Result<Value<'js>, FailedMessage>) {
        self.contexts.remove(&id);
        let answer = match result {
            Ok(value) => match self.read_result(id, tool, &value) {
                Ok(done) => ChildMessage::Done(done),
                // Reading a result runs the tool's code, too: getters, `toJSON`.
                Err(_) if self.link.clock.take_interrupt(id) => ChildMessage::Failed(timeout(id)),
                Err(value::NotJson { reason, is_too_large }) => ChildMessage::Failed(FailedMessage {
                    id,
                    code: if is_too_large { "too_large" } else { "bad_result" }.into(),
                    message: format!("`{tool}` returned what is no result: {reason}"),
                    ..FailedMessage::default()
                }),
            },
            Err(failed) => ChildMessage::Failed(failed),
        };
        if self.in_flight.is_empty() {
            self.link.refill_log();
        }
        self.link.send(&answer);
    }

    /// Reads the value that a tool returned.
    fn read_result(&self, id: u64, tool: &str, value: &Value<'js>) -> Result<DoneMessage, value::NotJson> {
        self.link.clock.running.set(id);
        let caught = |key: &str| {
            let thrown = position::thrown(&self.ctx, &self.ctx.catch());
            value::NotJson::new(format!("`{key}` cannot be read: {}", thrown.message))
        };
        let mut title = None;
        let mut metadata = None;
        let mut output = value.clone();
        if let Some(object) = value.as_object().filter(|_| !value.is_array() && !value.is_error()) {
            let own = |key: &str| object.get::<_, Value<'js>>(key).map_err(|_| caught(key));
            let fields = (own("title")?, own("metadata")?, own("output")?);
            if fields.2.is_undefined() && fields.0.is_undefined() {
                // Some object that is no result: it is the output.
            } else {
                title = value::text(&fields.0);
                metadata = fields.1.is_object().then_some(fields.1);
                output = fields.2;
            }
        }
        let limit = crate::MAX_OUTPUT_BYTES;
        let output = match value::text(&output) {
            Some(text) if text.len() > limit => {
                let reason = format!("`output` is larger than {limit} bytes");
                return Err(value::NotJson { reason, is_too_large: true });
            }
            Some(text) => text,
            None if output.is_undefined() || output.is_null() => String::new(),
            None => value::json(&output, limit)?,
        };
        let metadata = match metadata {
            Some(metadata) => value::json(&metadata, MAX_METADATA_BYTES)?,
            None => "{}".to_owned(),
        };
        Ok(DoneMessage {
            id,
            title: crate::cut(title.as_deref().unwrap_or(tool), 1 << 10).to_owned(),
            metadata: RawValue::from_string(metadata).map_err(|error| value::NotJson::new(error.to_string()))?,
            output,
        })
    }
}
