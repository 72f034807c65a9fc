//! The server: the page, its questions, and its events, on loopback.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

use crate::assets::asset;
use crate::events::{MISSED, written};
use crate::gate::{Gate, GateAnswer, OPEN};
use crate::peer::Peer;
use crate::{StudioData, StudioEvents, StudioFailure, StudioQuestion};

/// The size of the largest question, in bytes: a message of 1 MiB with every character escaped.
const MAX_BODY: usize = 8 << 20;

/// How many connections there may be at once. A browser opens six, and one for events a tab.
const MAX_CONNECTIONS: usize = 64;

/// How many pages may listen for events at once.
const MAX_LISTENERS: usize = 16;

/// How many questions about messages are answered at once, and how many others. One that is typed has not to wait for
/// those that read every file, and those that no page waits for any more are not begun.
const MAX_ANSWERS: usize = 4;

/// How long a client may take to send a request's head, or its body.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// The interval of lines that keep a stream of events open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How long to wait after the system would not accept a connection, which usually means too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The policy of the page: its own files, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// Options of a [`StudioServer`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StudioOptions {
    /// The port to listen on; 0 for any that is free.
    pub port: u16,
    /// Whether the page may write files of skills.
    pub edit: bool,
    /// The events that pages are told of.
    pub events: StudioEvents,
}

/// A server that listens and can be run.
#[derive(Debug)]
pub struct StudioServer<D> {
    listener: TcpListener,
    port: u16,
    token: String,
    state: Arc<StudioState<D>>,
}

#[derive(Debug)]
struct StudioState<D> {
    data: Arc<D>,
    gate: Gate,
    options: StudioOptions,
    connections: Arc<Semaphore>,
    quick: Arc<Semaphore>,
    thorough: Arc<Semaphore>,
}

type StudioResponse = Response<BoxBody<Bytes, Infallible>>;

impl<D: StudioData> StudioServer<D> {
    /// Begins to listen on loopback.
    pub async fn bind(data: D, options: StudioOptions) -> io::Result<StudioServer<D>> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port))).await?;
        let port = listener.local_addr()?.port();
        let (gate, token) = Gate::new(port)?;
        let slots = |count| Arc::new(Semaphore::new(count));
        let (connections, quick, thorough) = (slots(MAX_CONNECTIONS), slots(MAX_ANSWERS), slots(MAX_ANSWERS));
        let state = Arc::new(StudioState { data: Arc::new(data), gate, options, connections, quick, thorough });
        Ok(StudioServer { listener, port, token, state })
    }

    /// Returns the address that opens the page, with the token in it. It works once.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}{OPEN}?token={}", self.port, self.token)
    }

    /// Returns the port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Serves until the future is dropped.
    pub async fn run(self) {
        loop {
            let accepted = self.listener.accept().await;
            match accepted {
                Ok((stream, peer)) => connect(&self.state, stream, peer),
                Err(error) => {
                    tracing::warn!(target: "skillcue::studio", %error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

fn connect<D: StudioData>(state: &Arc<StudioState<D>>, stream: TcpStream, peer: SocketAddr) {
    // One too many is closed at once: nothing waits without a limit.
    let Ok(slot) = Arc::clone(&state.connections).try_acquire_owned() else { return };
    // Answers are small and waited for. Where it cannot be set, answers are slower, nothing more.
    let _ = stream.set_nodelay(true);
    let (state, peer) = (Arc::clone(state), Arc::new(Peer::new(peer)));
    let service = hyper::service::service_fn(move |request| {
        let (state, peer) = (Arc::clone(&state), Arc::clone(&peer));
        async move { Ok::<_, Infallible>(state.answer(request, &peer).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(READ_TIMEOUT);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(target: "skillcue::studio", %error, "a connection ended");
        }
        drop(slot);
    });
}

impl<D: StudioData> StudioState<D> {
    async fn answer(&self, request: Request<Incoming>, peer: &Peer) -> StudioResponse {
        let mut answer = match self.gate.check(&request, peer) {
            GateAnswer::Pass => self.page(request).await,
            GateAnswer::Open(cookie) => self.opened(&cookie),
            GateAnswer::Refuse(status, why) => plain(status, why),
        };
        secure(answer.headers_mut());
        answer
    }

    /// Sets the cookie, and leads to the address without the token.
    fn opened(&self, cookie: &str) -> StudioResponse {
        let mut answer = plain(StatusCode::SEE_OTHER, "");
        answer.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
        let cookie = format!("{}={cookie}; HttpOnly; SameSite=Strict; Path=/", self.gate.cookie_name());
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            answer.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        answer
    }

    async fn page(&self, request: Request<Incoming>) -> StudioResponse {
        let path = request.uri().path().to_owned();
        if request.method() == http::Method::POST {
            let Some(name) = path.strip_prefix("/api/") else { return plain(StatusCode::NOT_FOUND, "Not Found") };
            return self.question(name, request.into_body()).await;
        }
        if path == "/api/events" {
            return self.listen();
        }
        match asset(&path) {
            Some(asset) => {
                let mut answer = Response::new(Full::new(Bytes::from_static(asset.text.as_bytes())).boxed());
                answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
                answer
            }
            None => plain(StatusCode::NOT_FOUND, "Not Found"),
        }
    }

    async fn question(&self, name: &str, body: Incoming) -> StudioResponse {
        let read = tokio::time::timeout(READ_TIMEOUT, Limited::new(body, MAX_BODY).collect()).await;
        let body = match read {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => {
                let failure = StudioFailure::new("too_large", "the question is larger than 8 MiB");
                return closing(failed(StatusCode::PAYLOAD_TOO_LARGE, &failure.help("send the part that matters")));
            }
            Err(_) => return closing(plain(StatusCode::REQUEST_TIMEOUT, "Request Timeout")),
        };
        let question = match StudioQuestion::read(name, &body) {
            Ok(question) => question,
            Err(failure) => return failed(StatusCode::BAD_REQUEST, &failure),
        };
        if question.is_edit() && !self.options.edit {
            let failure = StudioFailure::new("read_only", "this page is read-only")
                .help("start the program with `--edit` to save changes");
            return failed(StatusCode::FORBIDDEN, &failure);
        }
        let slots = if question.is_about_message() { &self.quick } else { &self.thorough };
        // Nothing closes it. A page that is gone drops this future while it waits.
        let slot = Arc::clone(slots).acquire_owned().await.ok();
        let data = Arc::clone(&self.data);
        let answer = move || {
            let answer = data.answer(question);
            drop(slot);
            answer
        };
        match tokio::task::spawn_blocking(answer).await {
            Ok(Ok(answer)) => typed(StatusCode::OK, "application/json", Bytes::from(answer)),
            Ok(Err(failure)) => failed(StatusCode::UNPROCESSABLE_ENTITY, &failure),
            Err(error) => {
                tracing::error!(target: "skillcue::studio", %error, "an answer failed");
                let failure =
                    StudioFailure::new("internal", "the answer could not be made; this is a defect of Skillcue");
                failed(StatusCode::INTERNAL_SERVER_ERROR, &failure.help("started with `-v`, the program says more"))
            }
        }
    }

    /// Answers with a stream of events that stays open.
    fn listen(&self) -> StudioResponse {
        if self.options.events.listeners() >= MAX_LISTENERS {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable: too many pages listen");
        }
        let mut events = self.options.events.listen();
        let (send, receive) = mpsc::channel(1);
        tokio::spawn(async move {
            use tokio::sync::broadcast::error::RecvError;
            let mut text = ": the page is listening\n\n".to_owned();
            loop {
                // Fails when the page is gone.
                if send.send(Bytes::from(text)).await.is_err() {
                    return;
                }
                text = tokio::select! {
                    event = events.recv() => match event {
                        Ok(event) => written(&event),
                        Err(RecvError::Lagged(_)) => MISSED.to_owned(),
                        Err(RecvError::Closed) => return,
                    },
                    () = tokio::time::sleep(KEEP_ALIVE) => ": still here\n\n".to_owned(),
                    () = send.closed() => return,
                };
            }
        });
        let mut answer = Response::new(EventBody { receive }.boxed());
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        answer
    }
}

/// A body of events, until the sender is gone.
struct EventBody {
    receive: mpsc::Receiver<Bytes>,
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receive.poll_recv(cx).map(|text| text.map(|text| Ok(Frame::data(text))))
    }
}

/// Adds the headers that every answer has.
fn secure(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn failed(status: StatusCode, failure: &StudioFailure) -> StudioResponse {
    typed(status, "application/json", Bytes::from(json!({"error": failure}).to_string()))
}

fn plain(status: StatusCode, text: &'static str) -> StudioResponse {
    typed(status, "text/plain; charset=utf-8", Bytes::from_static(text.as_bytes()))
}

fn typed(status: StatusCode, kind: &'static str, body: Bytes) -> StudioResponse {
    let mut answer = Response::new(Full::new(body).boxed());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// Returns the answer with a header that ends the connection after it: the rest of a body is not read.
fn closing(mut answer: StudioResponse) -> StudioResponse {
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer
}
