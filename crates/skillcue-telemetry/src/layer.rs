//! [`TelemetryLayer`]: spans of `tracing` on their way to be sent.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use crate::export::SpanQueue;
use crate::{AttributeValue, FinishedSpan, SPAN_TARGET, SpanEvent, SpanSampler, TraceContext};

/// The field with a span's name, if it is another than that in the code.
const NAME: &str = "otel.name";
/// The field with its kind: `client`, `server` or `internal`.
const KIND: &str = "otel.kind";
/// The field with its outcome: `ERROR`.
const STATUS: &str = "otel.status_code";
/// The field with the caller's span, of another program.
const PARENT: &str = "traceparent";
/// The most attributes and events of a span, as the specification has it.
const MAX_PARTS: usize = 128;

/// Takes spans of the target [`SPAN_TARGET`], and hands those that are over to a queue. Never waits.
///
/// The fields `otel.name`, `otel.kind` and `otel.status_code` say what they say to `tracing-opentelemetry`. A field
/// `traceparent` is the caller's span. The lines of `gen_ai.response.finish_reasons` are a list. Other fields are attributes, and
/// events of the same target are the span's.
#[derive(Debug, Clone)]
pub struct TelemetryLayer {
    queue: Arc<SpanQueue>,
}

/// Fields whose lines are a list.
const LISTS: &[&str] = &["gen_ai.response.finish_reasons"];

/// A span under way.
struct OpenSpan {
    span: FinishedSpan,
}

impl TelemetryLayer {
    pub(crate) fn new(queue: Arc<SpanQueue>) -> TelemetryLayer {
        TelemetryLayer { queue }
    }

    /// Decides whether a span is recorded: as the span above it, as the caller's, or by the settings.
    fn samples(&self, parent: Option<TraceContext>, is_remote: bool, trace: [u8; 16]) -> bool {
        let settings = self.queue.settings();
        if let Some(parent) = parent.filter(|_| !is_remote || settings.follows_parent) {
            return parent.is_sampled;
        }
        match settings.sampler {
            SpanSampler::AlwaysOn => true,
            SpanSampler::AlwaysOff => false,
            SpanSampler::Ratio(share) => {
                let mut low = [0; 8];
                low.copy_from_slice(&trace[8..]);
                // 53 bits: what a double holds.
                #[expect(clippy::cast_precision_loss, reason = "53 bits")]
                let place = (u64::from_be_bytes(low) >> 11) as f64 / (1_u64 << 53) as f64;
                place < share
            }
        }
    }
}

/// Returns the context of a span, or of the nearest above it that is ours.
fn context_of<S: for<'s> LookupSpan<'s>>(span: Option<SpanRef<'_, S>>) -> Option<TraceContext> {
    let mut next = span;
    while let Some(span) = next {
        if let Some(open) = span.extensions().get::<OpenSpan>() {
            return Some(open.span.context);
        }
        next = span.parent();
    }
    None
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for TelemetryLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(own) = context.span(id) else { return };
        if own.metadata().target() != SPAN_TARGET {
            return;
        }
        let mut fields = FieldValues::default();
        attributes.record(&mut fields);
        let above = context_of(own.parent());
        let remote = || fields.parent.as_deref().and_then(TraceContext::parse).or(self.queue.settings().parent);
        let (parent, is_remote) = match above {
            Some(above) => (Some(above), false),
            None => (remote(), true),
        };
        let mut place = TraceContext::new(parent, true);
        place.is_sampled = self.samples(parent, is_remote, place.trace);
        let now = SystemTime::now();
        let mut span = FinishedSpan {
            context: place,
            parent: parent.map(|parent| parent.span),
            name: own.metadata().name().to_owned(),
            is_client: false,
            is_server: false,
            start: now,
            end: now,
            attributes: Vec::new(),
            events: Vec::new(),
            is_error: false,
        };
        fields.apply(&mut span);
        own.extensions_mut().insert(OpenSpan { span });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(own) = context.span(id) else { return };
        if let Some(open) = own.extensions_mut().get_mut::<OpenSpan>() {
            let mut fields = FieldValues::default();
            values.record(&mut fields);
            fields.apply(&mut open.span);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if event.metadata().target() != SPAN_TARGET {
            return;
        }
        let Some(own) = context.event_span(event) else { return };
        if let Some(open) = own.extensions_mut().get_mut::<OpenSpan>()
            && open.span.events.len() < MAX_PARTS
        {
            let mut fields = FieldValues::default();
            event.record(&mut fields);
            let name = fields.message.take().unwrap_or_else(|| event.metadata().name().to_owned());
            open.span.events.push(SpanEvent { at: SystemTime::now(), name, attributes: fields.attributes });
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(own) = context.span(&id) else { return };
        let open = own.extensions_mut().remove::<OpenSpan>();
        if let Some(OpenSpan { mut span }) = open.filter(|open| open.span.context.is_sampled) {
            span.end = SystemTime::now();
            self.queue.push(span);
        }
    }
}

/// The fields of a span or an event.
#[derive(Default)]
struct FieldValues {
    name: Option<String>,
    kind: Option<String>,
    status: Option<String>,
    parent: Option<String>,
    message: Option<String>,
    attributes: Vec<(String, AttributeValue)>,
}

impl FieldValues {
    fn apply(self, span: &mut FinishedSpan) {
        if let Some(name) = self.name {
            span.name = name;
        }
        if let Some(kind) = self.kind {
            (span.is_client, span.is_server) = (kind == "client", kind == "server");
        }
        span.is_error |= self.status.is_some_and(|status| status == "ERROR");
        for (key, value) in self.attributes {
            match span.attributes.iter().position(|(known, _)| *known == key) {
                Some(at) => span.attributes[at].1 = value,
                None if span.attributes.len() < MAX_PARTS => span.attributes.push((key, value)),
                None => {}
            }
        }
    }

    fn text(&mut self, field: &Field, text: String) {
        let place = match field.name() {
            NAME => &mut self.name,
            KIND => &mut self.kind,
            STATUS => &mut self.status,
            PARENT => &mut self.parent,
            "message" => &mut self.message,
            key if LISTS.contains(&key) => {
                let lines = text.lines().map(str::to_owned).collect();
                return self.attributes.push((key.to_owned(), AttributeValue::Texts(lines)));
            }
            key => return self.attributes.push((key.to_owned(), AttributeValue::Text(text))),
        };
        *place = Some(text);
    }

    fn put(&mut self, field: &Field, value: AttributeValue) {
        self.attributes.push((field.name().to_owned(), value));
    }
}

impl Visit for FieldValues {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value.to_owned());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, AttributeValue::Bool(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, AttributeValue::Int(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, AttributeValue::Int(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, AttributeValue::Double(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, format!("{value:?}"));
    }
}
