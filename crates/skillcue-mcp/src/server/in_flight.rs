//! Requests under way: counted, timed, and waited for when the server ends.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, SizeHint};
use memchr::memmem;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::answers::HttpResponse;
use super::connections::Busy;
use super::metrics::{RequestOutcome, ServerMetrics};
use super::opening::StreamPlaces;

/// The number of bytes at the beginning of an answer that show whether it is an error.
const MAX_LOOKED_AT: usize = 512;

/// The record of one request, until its answer is sent.
#[derive(Debug)]
pub(super) struct RequestRecord {
    metrics: Arc<ServerMetrics>,
    method: &'static str,
    outcome: RequestOutcome,
    since: Instant,
    is_stream: bool,
    /// Ends with the request: the server waits for it before it ends.
    under_way: Option<TaskTrackerToken>,
    /// The places of a stream, which it leaves at its end.
    places: Option<StreamPlaces>,
}

impl RequestRecord {
    /// Begins a record as soon as a request's head is read: the server must not end while the body arrives.
    pub(super) fn begin(metrics: &Arc<ServerMetrics>, under_way: &TaskTracker) -> RequestRecord {
        metrics.in_flight().inc();
        RequestRecord {
            metrics: Arc::clone(metrics),
            method: "other",
            outcome: RequestOutcome::Aborted,
            since: Instant::now(),
            is_stream: false,
            under_way: Some(under_way.token()),
            places: None,
        }
    }

    /// Sets the method, once it is known. The time that the body has taken does not count: that is the client's.
    pub(super) fn set_method(&mut self, method: &'static str) {
        self.method = method;
        self.since = Instant::now();
    }

    /// Makes this the record of a stream, which lasts until one side ends it, and is not waited for.
    pub(super) fn make_stream(&mut self, places: Option<StreamPlaces>) {
        self.metrics.in_flight().dec();
        self.metrics.streams().inc();
        self.is_stream = true;
        self.under_way = None;
        self.places = places;
    }

    /// Returns the answer with a body that keeps its connection busy, and this record open, until it is sent.
    pub(super) fn follow(mut self, answer: HttpResponse, busy: Option<Busy>) -> HttpResponse {
        let status = answer.status();
        self.outcome = if status.is_server_error() {
            RequestOutcome::Failed
        } else if status.is_client_error() {
            RequestOutcome::Refused
        } else {
            RequestOutcome::Ok
        };
        answer.map(|body| FollowedBody { body, record: self, is_begun: false, is_ended: false, _busy: busy }.boxed())
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        if self.is_stream {
            self.metrics.streams().dec();
            self.metrics.stream_ended(self.method, self.outcome);
        } else {
            self.metrics.in_flight().dec();
            self.metrics.request_ended(self.method, self.outcome, self.since.elapsed());
        }
    }
}

/// A body that is followed until all of it is sent.
struct FollowedBody {
    body: BoxBody<Bytes, Infallible>,
    record: RequestRecord,
    is_begun: bool,
    is_ended: bool,
    _busy: Option<Busy>,
}

impl Body for FollowedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        match &polled {
            Poll::Ready(None) => this.is_ended = true,
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref().filter(|data| !this.is_begun && !data.is_empty()) {
                    this.is_begun = true;
                    if is_error(data) && this.record.outcome != RequestOutcome::Failed {
                        this.record.outcome = RequestOutcome::Error;
                    }
                }
            }
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for FollowedBody {
    fn drop(&mut self) {
        let is_whole = self.is_ended || self.body.is_end_stream() || self.record.is_stream;
        if !is_whole {
            self.record.outcome = RequestOutcome::Aborted;
        }
    }
}

/// Returns whether an answer is an error of the protocol: the SDK writes `error` or `result` after the id.
fn is_error(data: &[u8]) -> bool {
    let start = &data[..data.len().min(MAX_LOOKED_AT)];
    let at = |word: &str| memmem::find(start, word.as_bytes());
    match (at("\"error\":{\"code\":"), at("\"result\":")) {
        (Some(error), Some(result)) => error < result,
        (error, _) => error.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_error;

    #[test]
    fn errors_of_the_protocol_are_told_from_results_that_mention_one() {
        assert!(is_error(br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}"#));
        assert!(is_error(b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"x\"}}\n\n"));
        assert!(!is_error(br#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"\"error\":{\"code\":"}]}}"#));
        assert!(!is_error(br#"{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"error":{"code":1}}}}"#));
        assert!(!is_error(b""));
    }
}
