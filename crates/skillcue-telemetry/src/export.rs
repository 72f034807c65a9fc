//! The way of a span from an answer to a collector: a bounded queue, and a thread that sends what is in it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use skillcue_http::reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use skillcue_http::reqwest::{Client, StatusCode};
use skillcue_http::{ClientOptions, Redirects};

use crate::protobuf::export_request;
use crate::{FinishedSpan, TelemetryLayer, TelemetrySettings};

/// Longest time for the last spans: an hour is more than a program waits at its end.
const MAX_FINISH: Duration = Duration::from_hours(1);

/// The pause before a request is sent again that the collector had no room for.
const RETRY: Duration = Duration::from_millis(250);
/// The most attempts for one request.
const MAX_ATTEMPTS: u32 = 3;

/// The number of spans that were sent and lost so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpanCounts {
    /// Spans that a collector has accepted.
    pub sent: u64,
    /// Spans that found the queue full, or that no collector took in time.
    pub dropped: u64,
}

/// An export of spans. The crate's documentation has an example.
#[derive(Debug, Clone)]
pub struct Telemetry {
    queue: Arc<SpanQueue>,
}

impl Telemetry {
    /// Makes an export. Its thread starts with the first span.
    pub fn new(settings: TelemetrySettings) -> Telemetry {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Telemetry { queue: Arc::new(SpanQueue { settings, state, changed }) }
    }

    /// Returns the layer that takes spans.
    pub fn layer(&self) -> TelemetryLayer {
        TelemetryLayer::new(Arc::clone(&self.queue))
    }

    /// Sends what waits, for at most this time. What is left then is lost, and counted. Further spans are, too.
    pub fn finish(&self, most: Duration) -> SpanCounts {
        let deadline = Instant::now() + most.min(MAX_FINISH);
        let mut state = self.queue.lock();
        state.ends_at = Some(deadline);
        self.queue.changed.notify_all();
        while state.is_running && (state.sending > 0 || !state.waiting.is_empty()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.queue.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        let lost = (state.waiting.len() + state.sending) as u64;
        state.waiting.clear();
        state.sending = 0;
        state.counts.dropped += lost;
        if state.counts.dropped > 0 {
            let SpanCounts { sent, dropped } = state.counts;
            tracing::info!(target: "skillcue::otlp", sent, dropped, "spans were lost");
        }
        state.counts
    }
}

/// Spans that wait to be sent.
#[derive(Debug)]
pub(crate) struct SpanQueue {
    settings: TelemetrySettings,
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<FinishedSpan>,
    /// Spans of the request under way.
    sending: usize,
    counts: SpanCounts,
    is_running: bool,
    /// The deadline, once the program ends.
    ends_at: Option<Instant>,
}

impl SpanQueue {
    pub(crate) fn settings(&self) -> &TelemetrySettings {
        &self.settings
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        skillcue_base::lock(&self.state)
    }

    /// Queues a span; a full queue loses it. Holds a lock for no longer than a span takes to be moved.
    pub(crate) fn push(self: &Arc<Self>, span: FinishedSpan) {
        let mut state = self.lock();
        if state.waiting.len() >= self.settings.max_queue || state.ends_at.is_some() {
            state.counts.dropped += 1;
            return;
        }
        if !state.is_running {
            let queue = Arc::clone(self);
            let thread = std::thread::Builder::new().name("skillcue-otlp".to_owned());
            state.is_running = thread.spawn(move || queue.run()).is_ok();
            if !state.is_running {
                state.counts.dropped += 1;
                return;
            }
        }
        state.waiting.push_back(span);
        // The thread is woken only for a full request: it looks by itself after the delay.
        if state.waiting.len() == self.settings.max_batch {
            self.changed.notify_all();
        }
    }

    /// Sends requests until the program ends.
    fn run(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let client = self.client();
        while let Some(batch) = self.next_batch() {
            let count = batch.len() as u64;
            let body = export_request(&self.settings.resource, &batch);
            let is_sent = match (&runtime, &client) {
                (Ok(runtime), Some(client)) => runtime.block_on(self.send(client, body)),
                _ => false,
            };
            let mut state = self.lock();
            // The program may have counted them as lost, and gone on.
            let sending = std::mem::take(&mut state.sending) as u64;
            if state.ends_at.is_some_and(is_over) {
                // Counted by `finish`.
            } else if is_sent {
                state.counts.sent += count.min(sending);
            } else {
                state.counts.dropped += count.min(sending);
            }
            self.changed.notify_all();
        }
        let mut state = self.lock();
        state.is_running = false;
        self.changed.notify_all();
    }

    /// Waits for the spans of the next request. `None` if the program ends, and nothing waits.
    fn next_batch(&self) -> Option<Vec<FinishedSpan>> {
        let started = Instant::now();
        let mut state = self.lock();
        loop {
            let is_due = started.elapsed() >= self.settings.delay || state.waiting.len() >= self.settings.max_batch;
            if !state.waiting.is_empty() && (is_due || state.ends_at.is_some()) {
                let count = state.waiting.len().min(self.settings.max_batch);
                let batch: Vec<FinishedSpan> = state.waiting.drain(..count).collect();
                state.sending = count;
                return Some(batch);
            }
            if state.ends_at.is_some() {
                return None;
            }
            let left = self.settings.delay.saturating_sub(started.elapsed()).max(Duration::from_millis(10));
            state = self.changed.wait_timeout(state, left).unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }

    fn client(&self) -> Option<Client> {
        let options = ClientOptions { connect_timeout: self.settings.timeout, redirects: Redirects::None };
        skillcue_http::client(&self.settings.endpoint, &options).ok()
    }

    /// Sends one request. Returns whether the collector took it.
    async fn send(&self, client: &Client, body: Vec<u8>) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.settings.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                headers.insert(name, value);
            }
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        for attempt in 1..=MAX_ATTEMPTS {
            let request = client.post(self.settings.endpoint.clone()).headers(headers.clone()).body(body.clone());
            let answer = tokio::time::timeout(self.settings.timeout, request.send()).await;
            match answer {
                Ok(Ok(answer)) if answer.status().is_success() => return true,
                Ok(Ok(answer)) if !is_passing(answer.status()) => {
                    tracing::info!(target: "skillcue::otlp", status = answer.status().as_u16(), "spans were refused");
                    return false;
                }
                _ => {}
            }
            if attempt == MAX_ATTEMPTS || self.lock().ends_at.is_some_and(is_over) {
                break;
            }
            tokio::time::sleep(RETRY * attempt).await;
        }
        tracing::info!(target: "skillcue::otlp", "spans could not be sent");
        false
    }
}

fn is_over(deadline: Instant) -> bool {
    Instant::now() >= deadline
}

/// Returns whether the protocol says that a request may be sent again.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}
