//! Spans of Skillcue as OpenTelemetry traces, sent over OTLP/HTTP as protobuf.
//!
//! The other crates make spans of the crate `tracing`, with the names of OpenTelemetry's conventions for generative AI and the
//! target [`SPAN_TARGET`]. A program that has a subscriber of its own, such as `tracing-opentelemetry`, gets them there. This
//! crate is for programs that have none: a [`TelemetryLayer`] takes the spans, a thread sends them, and nothing waits for it.
//!
//! ```
//! use std::time::Duration;
//!
//! use skillcue_telemetry::{Telemetry, TelemetrySettings};
//! use tracing_subscriber::layer::SubscriberExt as _;
//!
//! // Nothing is sent unless an endpoint is set.
//! assert!(TelemetrySettings::read(|_| None).unwrap().is_none());
//!
//! let variable = |name: &str| (name == "OTEL_EXPORTER_OTLP_ENDPOINT").then(|| "http://127.0.0.1:9".to_owned());
//! let settings = TelemetrySettings::read(variable).unwrap().unwrap();
//! let telemetry = Telemetry::new(settings);
//! let subscriber = tracing_subscriber::registry().with(telemetry.layer());
//! tracing::subscriber::with_default(subscriber, || {
//!     tracing::info_span!(target: "skillcue::span", "execute_tool", gen_ai.tool.name = "load_skill").in_scope(|| ());
//! });
//! // Nothing listens there: the span is lost, and counted.
//! let counts = telemetry.finish(Duration::from_secs(5));
//! assert_eq!((counts.sent, counts.dropped), (0, 1));
//! ```
//!
//! No text of a message, no arguments and no results are in a span: the crates that make them put none there.

mod context;
mod export;
mod layer;
mod protobuf;
mod settings;
mod span;

pub use context::TraceContext;
pub use export::{SpanCounts, Telemetry};
pub use layer::TelemetryLayer;
pub use settings::{SettingError, SpanSampler, TelemetrySettings};
pub use span::{AttributeValue, FinishedSpan, SpanEvent};

/// The target of all spans that are sent. Spans of other targets are left out.
pub const SPAN_TARGET: &str = "skillcue::span";
