//! Spans as OTLP's `ExportTraceServiceRequest`, in protobuf's wire format. The numbers of fields are those of
//! `opentelemetry/proto/{collector/trace,trace,common,resource}/v1`, which are stable.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{AttributeValue, FinishedSpan, SpanEvent};

/// Returns the body of a request.
pub(crate) fn export_request(resource: &[(String, AttributeValue)], spans: &[FinishedSpan]) -> Vec<u8> {
    let mut body = WireMessage::default();
    body.message(1, |resource_spans| {
        resource_spans.message(1, |message| attributes(message, 1, resource));
        resource_spans.message(2, |scope_spans| {
            scope_spans.message(1, |scope| {
                scope.text(1, "skillcue");
                scope.text(2, env!("CARGO_PKG_VERSION"));
            });
            for span in spans {
                scope_spans.message(2, |message| write_span(message, span));
            }
        });
    });
    body.bytes
}

fn write_span(message: &mut WireMessage, span: &FinishedSpan) {
    message.field(1, &span.context.trace);
    message.field(2, &span.context.span);
    if let Some(parent) = &span.parent {
        message.field(4, parent);
    }
    message.text(5, &span.name);
    // Internal, server, client.
    message.varint(
        6,
        if span.is_server {
            2
        } else if span.is_client {
            3
        } else {
            1
        },
    );
    message.fixed64(7, nanos(span.start));
    message.fixed64(8, nanos(span.end));
    attributes(message, 9, &span.attributes);
    for SpanEvent { at, name, attributes: values } in &span.events {
        message.message(11, |event| {
            event.fixed64(1, nanos(*at));
            event.text(2, name);
            attributes(event, 3, values);
        });
    }
    if span.is_error {
        message.message(15, |status| status.varint(3, 2));
    }
}

fn attributes(message: &mut WireMessage, field: u64, all: &[(String, AttributeValue)]) {
    for (key, value) in all {
        message.message(field, |pair| {
            pair.text(1, key);
            pair.message(2, |any| write_value(any, value));
        });
    }
}

fn write_value(any: &mut WireMessage, value: &AttributeValue) {
    match value {
        AttributeValue::Text(text) => any.text(1, text),
        AttributeValue::Bool(truth) => any.varint(2, u64::from(*truth)),
        // Two's complement, as protobuf has it.
        AttributeValue::Int(number) => any.varint(3, number.cast_unsigned()),
        AttributeValue::Double(number) => any.fixed64(4, number.to_bits()),
        AttributeValue::Texts(texts) => any.message(5, |array| {
            for text in texts {
                array.message(1, |any| any.text(1, text));
            }
        }),
    }
}

fn nanos(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// A message under way.
#[derive(Default)]
struct WireMessage {
    bytes: Vec<u8>,
}

impl WireMessage {
    fn raw_varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            // The lowest seven bits.
            self.bytes.push(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
            number >>= 7;
        }
        self.bytes.push(u8::try_from(number).unwrap_or(0));
    }

    fn key(&mut self, field: u64, wire_type: u64) {
        self.raw_varint(field << 3 | wire_type);
    }

    fn varint(&mut self, field: u64, number: u64) {
        self.key(field, 0);
        self.raw_varint(number);
    }

    fn fixed64(&mut self, field: u64, number: u64) {
        self.key(field, 1);
        self.bytes.extend(number.to_le_bytes());
    }

    fn field(&mut self, field: u64, bytes: &[u8]) {
        self.key(field, 2);
        self.raw_varint(bytes.len() as u64);
        self.bytes.extend(bytes);
    }

    fn text(&mut self, field: u64, text: &str) {
        self.field(field, text.as_bytes());
    }

    fn message(&mut self, field: u64, write: impl FnOnce(&mut WireMessage)) {
        let mut inner = WireMessage::default();
        write(&mut inner);
        self.field(field, &inner.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_protobuf_has_them() {
        let mut message = WireMessage::default();
        message.varint(1, 150);
        message.text(2, "testing");
        // The two examples of protobuf's own description of its encoding.
        assert_eq!(message.bytes, b"\x08\x96\x01\x12\x07testing");
        let mut negative = WireMessage::default();
        write_value(&mut negative, &AttributeValue::Int(-2));
        assert_eq!(negative.bytes, [0x18, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    }
}
