//! A span that is over, as it is sent.

use std::time::SystemTime;

use crate::TraceContext;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// Several texts.
    Texts(Vec<String>),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> AttributeValue {
        AttributeValue::Text(text.to_owned())
    }
}

/// Something that happened at one moment of a span.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanEvent {
    /// When.
    pub at: SystemTime,
    /// Its name.
    pub name: String,
    /// Its attributes.
    pub attributes: Vec<(String, AttributeValue)>,
}

/// A span that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedSpan {
    /// Its place.
    pub context: TraceContext,
    /// The id of the span that it is a part of.
    pub parent: Option<[u8; 8]>,
    /// Its name.
    pub name: String,
    /// Whether it asks another program, rather than work in this one.
    pub is_client: bool,
    /// Whether it answers another program.
    pub is_server: bool,
    /// When it began.
    pub start: SystemTime,
    /// When it was over.
    pub end: SystemTime,
    /// Its attributes.
    pub attributes: Vec<(String, AttributeValue)>,
    /// The events during it.
    pub events: Vec<SpanEvent>,
    /// Whether it failed.
    pub is_error: bool,
}
