//! Traces over OTLP, if the variables of OpenTelemetry name a collector. No answer waits for them.

use std::sync::OnceLock;
use std::time::Duration;

use skillcue::SPAN_TARGET;
use skillcue_telemetry::{Telemetry, TelemetrySettings};
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use crate::terminal::Terminal;

/// The longest that the end of a program waits for its last spans, and that of a hook, at which another program waits.
const MAX_ENDING: Duration = Duration::from_secs(2);
const MAX_HOOK_ENDING: Duration = Duration::from_millis(100);

static TELEMETRY: OnceLock<Telemetry> = OnceLock::new();

/// Returns the layer that takes spans; `None` if no collector is named, or if a variable is wrong, which is told.
pub(crate) fn layer<S: Subscriber + for<'s> LookupSpan<'s>>(terminal: &Terminal) -> Option<impl Layer<S> + use<S>> {
    let settings = match TelemetrySettings::read(|name| std::env::var(name).ok()) {
        Ok(settings) => settings?,
        Err(error) => {
            terminal.say(&format!("warning: {error}"));
            return None;
        }
    };
    let telemetry = TELEMETRY.get_or_init(|| Telemetry::new(settings));
    Some(telemetry.layer().with_filter(Targets::new().with_target(SPAN_TARGET, Level::INFO)))
}

/// Sends the last spans, for a moment.
pub(crate) fn finish(is_hook: bool) {
    if let Some(telemetry) = TELEMETRY.get() {
        telemetry.finish(if is_hook { MAX_HOOK_ENDING } else { MAX_ENDING });
    }
}
