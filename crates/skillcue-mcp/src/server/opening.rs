//! Requests that open something that lasts, a session or a stream of notifications: how large they may be, and how many
//! there may be.
//!
//! The SDK keeps such a request while its session or its stream lasts. Without a session each request is a client of its
//! own, so streams are counted for the whole server, and no view can take all places.

use std::sync::Arc;

use ::http::StatusCode;
use ::http::request::Parts;
use serde_json::{Value, json};

use super::answers::{HttpResponse, json_answer};
use super::http::HttpOptions;
use super::places::{SharedPlaces, TakenPlaces};

/// The size of the largest request that opens a session or a stream, in bytes, with its headers.
const MAX_OPENING: usize = 64 << 10;

/// The size of all requests that have opened a stream, in bytes, while their streams last. The SDK holds the URIs of one
/// about five times.
const MAX_STREAM_BYTES: usize = 16 << 20;

/// The sessions and streams of a server, as far as they are limited.
#[derive(Debug)]
pub(super) struct Openings {
    /// Counts the sessions that are being opened; those that are open are counted where they are kept.
    sessions: Arc<SharedPlaces>,
    streams: Arc<SharedPlaces>,
    stream_bytes: Arc<SharedPlaces>,
    /// Held while sessions are counted, so that no two requests take the last place.
    counting: tokio::sync::Mutex<()>,
}

/// The places of one stream, until it ends.
#[derive(Debug)]
pub(super) struct StreamPlaces {
    _stream: TakenPlaces,
    _bytes: TakenPlaces,
}

impl Openings {
    pub(super) fn new(options: &HttpOptions, views: usize) -> Openings {
        Openings {
            sessions: SharedPlaces::new(options.max_sessions, views),
            streams: SharedPlaces::new(options.max_streams, views),
            stream_bytes: SharedPlaces::new(MAX_STREAM_BYTES, views),
            counting: tokio::sync::Mutex::default(),
        }
    }

    /// Takes the place of a session that is about to be opened. The result is to be dropped once the session is among those
    /// that `open` counts by view.
    pub(super) async fn session(
        &self,
        view: usize,
        open: impl Future<Output = Vec<usize>>,
    ) -> Result<TakenPlaces, OpeningRefusal> {
        let _turn = self.counting.lock().await;
        // In this order: a session that is opened meanwhile counts twice rather than not at all.
        let mut taken = self.sessions.taken();
        for (taken, open) in taken.iter_mut().zip(open.await) {
            *taken += open;
        }
        self.sessions.take_beside(view, 1, &taken).ok_or(OpeningRefusal::Sessions { max: self.sessions.max() })
    }

    /// Takes the places of a stream.
    pub(super) fn stream(&self, view: usize, size: usize) -> Result<StreamPlaces, OpeningRefusal> {
        let places = self.streams.take(view, 1).zip(self.stream_bytes.take(view, size));
        let (stream, bytes) = places.ok_or(OpeningRefusal::Streams { max: self.streams.max() })?;
        Ok(StreamPlaces { _stream: stream, _bytes: bytes })
    }
}

/// Returns the size of a request that opens something, in bytes, if it is not too large.
pub(super) fn opening_size(parts: &Parts, body: &[u8]) -> Result<usize, OpeningRefusal> {
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let headers: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    let size = target + headers + body.len();
    if size > MAX_OPENING { Err(OpeningRefusal::TooLarge { size }) } else { Ok(size) }
}

/// The reason why nothing is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum OpeningRefusal {
    #[error(
        "a request that opens a session or a stream has at most {MAX_OPENING} bytes with its headers, and this one {size}"
    )]
    TooLarge { size: usize },
    #[error(
        "there are too many sessions: at most {max} for all clients, of which each view has a part; try again later"
    )]
    Sessions { max: usize },
    #[error(
        "there are too many streams of notifications: at most {max} for all clients, opened by requests of \
         {MAX_STREAM_BYTES} bytes together, of which each view has a part; try again later"
    )]
    Streams { max: usize },
}

impl OpeningRefusal {
    /// Returns the answer to a request with this id.
    pub(super) fn answer(self, id: &Value) -> HttpResponse {
        let (status, code) = match self {
            OpeningRefusal::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, -32600),
            OpeningRefusal::Sessions { .. } | OpeningRefusal::Streams { .. } => {
                (StatusCode::SERVICE_UNAVAILABLE, -32000)
            }
        };
        let error = json!({ "code": code, "message": self.to_string() });
        json_answer(status, &json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }
}

#[cfg(test)]
mod tests {
    use super::{HttpOptions, MAX_OPENING, MAX_STREAM_BYTES, OpeningRefusal, Openings};

    #[test]
    fn streams_are_limited_by_number_and_by_size() {
        let mut options = HttpOptions::default();
        let openings = Openings::new(&options, 1);
        let large: Vec<_> = (0..MAX_STREAM_BYTES / MAX_OPENING).map(|_| openings.stream(0, MAX_OPENING)).collect();
        assert!(large.iter().all(Result::is_ok));
        assert_eq!(openings.stream(0, 1).unwrap_err(), OpeningRefusal::Streams { max: options.max_streams });
        drop(large);
        options.max_streams = 2;
        let openings = Openings::new(&options, 1);
        let small = [openings.stream(0, 1).unwrap(), openings.stream(0, 1).unwrap()];
        assert_eq!(openings.stream(0, 1).unwrap_err(), OpeningRefusal::Streams { max: 2 });
        drop(small);
        assert!(openings.stream(0, MAX_STREAM_BYTES).is_ok(), "what has ended does not count");
    }

    #[tokio::test]
    async fn sessions_that_are_being_opened_count() {
        let options = HttpOptions { max_sessions: 2, ..HttpOptions::default() };
        let openings = Openings::new(&options, 1);
        let first = openings.session(0, async { vec![1] }).await.unwrap();
        let refusal = openings.session(0, async { vec![1] }).await.unwrap_err();
        assert_eq!(refusal, OpeningRefusal::Sessions { max: 2 });
        drop(first);
        assert!(openings.session(0, async { vec![1] }).await.is_ok());
        assert!(openings.session(0, async { vec![2] }).await.is_err());
    }
}
