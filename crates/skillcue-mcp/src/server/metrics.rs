//! Counters of one process, for `/metrics`.
//!
//! Every label has a fixed set of values: methods of the protocol, outcomes, built-in tools, views of the configuration. No
//! name of a skill and no text of a message is among them.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use skillcue::Catalog;
use skillcue_base::lock;

use super::extension::PROTOCOL_METHODS;
use super::handle::HandleProblem;

/// The methods that are counted by name beside those of the protocol; all others are `other`.
const OTHER_METHODS: [&str; 6] = [
    "resources/directory/read",
    "skills/list",
    "skills/get",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
];

/// The upper bounds of the histogram of answers, in seconds.
const SECONDS: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0];

/// Returns the label of a method.
pub(super) fn method_label(method: &str) -> &'static str {
    PROTOCOL_METHODS.iter().chain(&OTHER_METHODS).find(|known| **known == method).unwrap_or(&"other")
}

/// The end of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestOutcome {
    /// It was answered with a result, or accepted.
    Ok,
    /// It was answered with an error of the protocol.
    Error,
    /// It was refused: by its token, its host, its size, or because its session is not here.
    Refused,
    /// The server could not serve it.
    Failed,
    /// The client went before the answer was sent.
    Aborted,
}

impl RequestOutcome {
    fn label(self) -> &'static str {
        match self {
            RequestOutcome::Ok => "ok",
            RequestOutcome::Error => "error",
            RequestOutcome::Refused => "refused",
            RequestOutcome::Failed => "failed",
            RequestOutcome::Aborted => "aborted",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabel {
    method: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    tool: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabel {
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ViewLabel {
    view: String,
}

/// The counters of a server and of all its views.
#[derive(Debug)]
pub(super) struct ServerMetrics {
    registry: Mutex<Registry>,
    requests: Family<RequestLabels, Counter>,
    seconds: Family<MethodLabel, Histogram, fn() -> Histogram>,
    tools: Family<ToolLabels, Counter>,
    dropped: Family<KindLabel, Counter>,
    handles: Family<KindLabel, Counter>,
    refreshes: Family<ViewLabel, Counter>,
    skills: Family<ViewLabel, Gauge>,
    refreshed: Family<ViewLabel, Gauge>,
    generation: Family<GenerationLabels, Gauge>,
    in_flight: Gauge,
    streams: Gauge,
    sessions: Gauge,
    connections: Gauge,
    draining: Gauge,
    memory: Gauge,
    cpu: Counter<f64, AtomicU64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GenerationLabels {
    view: String,
    generation: String,
}

/// The state of a server at the moment of a scrape.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ServerGauges {
    pub(super) sessions: usize,
    pub(super) connections: usize,
    pub(super) is_draining: bool,
}

impl ServerMetrics {
    pub(super) fn new() -> ServerMetrics {
        let mut registry = Registry::with_prefix("skillcue");
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version of this program", build);
        let metrics = ServerMetrics {
            registry: Mutex::default(),
            requests: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            tools: Family::default(),
            dropped: Family::default(),
            handles: Family::default(),
            refreshes: Family::default(),
            skills: Family::default(),
            refreshed: Family::default(),
            generation: Family::default(),
            in_flight: Gauge::default(),
            streams: Gauge::default(),
            sessions: Gauge::default(),
            connections: Gauge::default(),
            draining: Gauge::default(),
            memory: Gauge::default(),
            cpu: Counter::default(),
        };
        registry.register("requests", "Requests by method and outcome", metrics.requests.clone());
        let seconds = metrics.seconds.clone();
        registry.register_with_unit(
            "request",
            "Time from a request's body to its last byte sent",
            Unit::Seconds,
            seconds,
        );
        registry.register("requests_in_flight", "Requests under way, without streams", metrics.in_flight.clone());
        registry.register("streams", "Streams of notifications", metrics.streams.clone());
        registry.register("tool_calls", "Calls of tools by outcome", metrics.tools.clone());
        registry.register(
            "sessions",
            "Sessions of 2025-11-25 and before, which are on this replica only",
            metrics.sessions.clone(),
        );
        registry.register("connections", "Open connections", metrics.connections.clone());
        registry.register("draining", "1 while the server is to end", metrics.draining.clone());
        registry.register("catalog", "The generation of the catalog", metrics.generation.clone());
        registry.register("catalog_skills", "Skills of the catalog", metrics.skills.clone());
        let refreshed = metrics.refreshed.clone();
        registry.register_with_unit("catalog_loaded_timestamp", "Time of the last change", Unit::Seconds, refreshed);
        registry.register("catalog_refreshes", "Catalogs that were swapped in", metrics.refreshes.clone());
        registry.register("events_dropped", "Events that were not sent", metrics.dropped.clone());
        registry.register("handles_ignored", "Handles that were not accepted", metrics.handles.clone());
        registry.register_with_unit("process_resident_memory", "Memory in use", Unit::Bytes, metrics.memory.clone());
        registry.register_with_unit("process_cpu", "Processor time spent", Unit::Seconds, metrics.cpu.clone());
        *lock(&metrics.registry) = registry;
        metrics
    }

    pub(super) fn request_ended(&self, method: &'static str, outcome: RequestOutcome, took: Duration) {
        self.requests.get_or_create(&RequestLabels { method, outcome: outcome.label() }).inc();
        self.seconds.get_or_create(&MethodLabel { method }).observe(took.as_secs_f64());
    }

    pub(super) fn stream_ended(&self, method: &'static str, outcome: RequestOutcome) {
        self.requests.get_or_create(&RequestLabels { method, outcome: outcome.label() }).inc();
    }

    pub(super) fn in_flight(&self) -> &Gauge {
        &self.in_flight
    }

    pub(super) fn streams(&self) -> &Gauge {
        &self.streams
    }

    /// Counts a call of a tool; `is_error` is `None` if there is no such tool.
    pub(super) fn tool_called(&self, name: &str, is_error: Option<bool>) {
        let own = skillcue::tools::built_in_names().chain([super::skill_tool::NAME]);
        let tool = own.into_iter().find(|own| *own == name).unwrap_or("of_a_skill");
        let (tool, outcome) = match is_error {
            None => ("unknown", "error"),
            Some(true) => (tool, "error"),
            Some(false) => (tool, "ok"),
        };
        self.tools.get_or_create(&ToolLabels { tool, outcome }).inc();
    }

    pub(super) fn progress_dropped(&self) {
        self.dropped.get_or_create(&KindLabel { kind: "progress" }).inc();
    }

    pub(super) fn log_lines_dropped(&self, count: u64) {
        self.dropped.get_or_create(&KindLabel { kind: "log_line" }).inc_by(count);
    }

    pub(super) fn handle_ignored(&self, problem: HandleProblem) {
        let kind = match problem {
            HandleProblem::TooLong | HandleProblem::Malformed => "malformed",
            HandleProblem::NotSigned => "not_signed",
            HandleProblem::Expired => "expired",
        };
        self.handles.get_or_create(&KindLabel { kind }).inc();
    }

    /// Records the catalog of a view; `is_new` if it has replaced another one.
    pub(super) fn catalog_is(&self, view: &str, catalog: &Catalog, is_new: bool) {
        let label = ViewLabel { view: view.to_owned() };
        let count = i64::try_from(catalog.len()).unwrap_or(i64::MAX);
        self.skills.get_or_create(&label).set(count);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.refreshed.get_or_create(&label).set(i64::try_from(now).unwrap_or(i64::MAX));
        // With its first value a counter is in every scrape, and its rate is right from the beginning.
        self.refreshes.get_or_create(&label).inc_by(u64::from(is_new));
    }

    /// Returns all values as text.
    pub(super) fn text(&self, state: ServerGauges, catalogs: &[(&str, &Catalog)]) -> Result<String, fmt::Error> {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let registry = lock(&self.registry);
        self.sessions.set(count(state.sessions));
        self.connections.set(count(state.connections));
        self.draining.set(i64::from(state.is_draining));
        // The old generation goes: there is one series a view.
        self.generation.clear();
        for (view, catalog) in catalogs {
            let generation = format!("{:016x}", catalog.generation().0 >> 64);
            self.generation.get_or_create(&GenerationLabels { view: (*view).to_owned(), generation }).set(1);
        }
        if let Some((memory, cpu)) = process_use() {
            self.memory.set(memory);
            self.cpu.inner().store(cpu.to_bits(), std::sync::atomic::Ordering::Relaxed);
        }
        let mut text = String::new();
        text::encode(&mut text, &registry)?;
        Ok(text)
    }
}

/// Returns the memory in use, in bytes, and the processor time spent, in seconds.
fn process_use() -> Option<(i64, f64)> {
    let pages: i64 = std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
    let page = i64::try_from(rustix::param::page_size()).ok()?;
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "seconds of one process, and less than 10^9 nanoseconds")]
    let seconds = spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9;
    Some((pages * page, seconds))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{RequestOutcome, ServerGauges, ServerMetrics, method_label};

    #[test]
    fn the_number_of_series_does_not_grow_with_what_clients_send() {
        let metrics = ServerMetrics::new();
        for n in 0..1_000 {
            let method = method_label(&format!("made/up/{n}")).to_owned();
            assert_eq!(method, "other");
            metrics.request_ended(method_label(&method), RequestOutcome::Error, Duration::from_micros(n));
            metrics.tool_called(&format!("tool-{n}"), Some(false));
        }
        let text = metrics.text(ServerGauges::default(), &[]).unwrap();
        assert!(text.contains("skillcue_requests_total{method=\"other\",outcome=\"error\"} 1000\n"), "{text}");
        assert!(text.contains("skillcue_tool_calls_total{tool=\"of_a_skill\",outcome=\"ok\"} 1000\n"), "{text}");
        assert!(text.contains("skillcue_request_seconds_count{method=\"other\"} 1000\n") && text.ends_with("# EOF\n"));
        assert!(text.lines().count() < 100, "{text}");
    }
}
