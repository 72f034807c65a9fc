//! The server over streamable HTTP.
//!
//! The SDK implements the protocol; the gate before it checks which requests are allowed, how large they may be and how
//! long they may take, and answers bodies that are no message as JSON-RPC demands.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::{Method, Request, Response, StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use skillcue_base::Digest;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::connections::{Busy, ConnectionSlot, Connections};
use super::{SkillServer, authority, digits, stdio};

/// How long a client may take to send a request's body.
const READ_TIMEOUT: Duration = Duration::from_mins(1);

/// How much of a body that is too large is read, and for how long, before the connection is closed.
const MAX_DRAINED: usize = 64 << 20;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long requests under way may take once the server is to end.
const GRACE: Duration = Duration::from_secs(5);

/// How long to wait after the system would not accept a connection, which usually means too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Options of an [`HttpServer`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The address to listen on; by default loopback, and any port.
    pub listen: SocketAddr,
    /// The path of the one endpoint.
    pub path: String,
    /// The bearer token that clients must send.
    pub token: Option<String>,
    /// Values of `Host` that are allowed besides those of loopback: `name` or `name:port`; `*` for any.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that are allowed besides those of loopback: `https://app.example.com:443`, `http://x:*`.
    pub allowed_origins: Vec<String>,
    /// The size of the largest request, in bytes.
    pub max_body: usize,
    /// How many sessions there may be at once.
    pub max_sessions: usize,
    /// How long a session may be idle before it is forgotten.
    pub session_idle: Duration,
    /// How many connections there may be at once; fewer where the system allows fewer open files. One that has not sent
    /// a whole request is closed when another needs its slot.
    pub max_connections: usize,
    /// How long a client may take to send a request's head, counted from the end of the request before it.
    pub head_timeout: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        HttpOptions {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            path: "/mcp".to_owned(),
            token: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body: 4 << 20,
            max_sessions: 10_000,
            session_idle: Duration::from_mins(30),
            max_connections: 16_384,
            head_timeout: Duration::from_secs(30),
        }
    }
}

/// A server that listens and can be run.
#[derive(Debug)]
pub struct HttpServer {
    server: SkillServer,
    options: HttpOptions,
    listener: TcpListener,
    address: SocketAddr,
}

impl HttpServer {
    /// Begins to listen on the address in the options.
    pub async fn bind(server: SkillServer, options: HttpOptions) -> io::Result<HttpServer> {
        let listener = TcpListener::bind(options.listen).await?;
        HttpServer::on(server, options, listener)
    }

    /// Uses a listener that is there already.
    pub fn on(server: SkillServer, options: HttpOptions, listener: TcpListener) -> io::Result<HttpServer> {
        let address = listener.local_addr()?;
        Ok(HttpServer { server, options, listener, address })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `cancel` is cancelled; then requests under way get a few seconds to end.
    pub async fn run(self, cancel: CancellationToken) -> io::Result<()> {
        let (connections, head_timeout) = (Connections::new(self.options.max_connections), self.options.head_timeout);
        let gate = Arc::new(HttpGate::new(&self.server, self.options, &cancel));
        let graceful = GracefulShutdown::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = cancel.cancelled() => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(target: "skillcue::mcp", %error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            connect(&graceful, &gate, stream, connections.admit(), head_timeout);
        }
        drop(self.listener);
        gate.close_sessions().await;
        if tokio::time::timeout(GRACE, graceful.shutdown()).await.is_err() {
            tracing::info!(target: "skillcue::mcp", "some connections did not end in time");
        }
        Ok(())
    }
}

fn connect(
    graceful: &GracefulShutdown,
    gate: &Arc<HttpGate>,
    stream: TcpStream,
    slot: Arc<ConnectionSlot>,
    head_timeout: Duration,
) {
    // Answers are small and waited for. Where it cannot be set, answers are slower, nothing more.
    let _ = stream.set_nodelay(true);
    let (gate, closed) = (Arc::clone(gate), slot.closed.clone());
    let service = hyper::service::service_fn(move |request| {
        let (gate, slot) = (Arc::clone(&gate), Arc::clone(&slot));
        async move { Ok::<_, Infallible>(gate.answer(request, &slot).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head_timeout);
    let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service));
    tokio::spawn(async move {
        let ended = tokio::select! {
            ended = connection => ended,
            () = closed.cancelled() => {
                tracing::debug!(target: "skillcue::mcp", "a connection that waited gave way to another");
                return;
            }
        };
        if let Err(error) = ended {
            tracing::debug!(target: "skillcue::mcp", %error, "a connection ended");
        }
    });
}

/// A body that keeps its connection busy until all of it is sent.
struct BusyBody {
    body: BoxBody<Bytes, Infallible>,
    _busy: Busy,
}

impl Body for BusyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// The checks between the network and the SDK.
struct HttpGate {
    service: StreamableHttpService<SkillServer, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    path: String,
    /// The digest of the token: digests have one length, so comparing them reveals nothing.
    token: Option<Digest>,
    max_body: usize,
    max_sessions: usize,
}

impl HttpGate {
    fn new(server: &SkillServer, options: HttpOptions, cancel: &CancellationToken) -> HttpGate {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(options.session_idle);
        // Without an event that only says how to reconnect, before each answer: answers are short, clients ask again.
        sessions.session_config.sse_retry = None;
        let sessions = Arc::new(sessions);

        let loopback = ["localhost", "127.0.0.1", "::1"];
        let mut origins = options.allowed_origins;
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            origins.extend(["http", "https"].map(|scheme| format!("{scheme}://{host}:*")));
        }
        let config = StreamableHttpServerConfig::default()
            .with_cancellation_token(cancel.child_token())
            .with_json_response(true)
            .with_sse_retry(None)
            .with_max_request_body_bytes(options.max_body)
            .with_allowed_origins(origins)
            .enforce_origin_validation();
        let config = if options.allowed_hosts.iter().any(|host| host == "*") {
            config.disable_allowed_hosts()
        } else {
            config.with_allowed_hosts(loopback.map(str::to_owned).into_iter().chain(options.allowed_hosts))
        };
        let server = server.session(false);
        let service = StreamableHttpService::new(move || Ok(server.session(false)), Arc::clone(&sessions), config);
        HttpGate {
            service,
            sessions,
            path: options.path,
            token: options.token.map(Digest::of),
            max_body: options.max_body,
            max_sessions: options.max_sessions,
        }
    }

    async fn answer(&self, request: Request<Incoming>, slot: &Arc<ConnectionSlot>) -> HttpResponse {
        if let Err((status, text)) = authority::check(&request) {
            return plain(status, text);
        }
        if request.uri().path() == "/health" && request.method() == Method::GET {
            return plain(StatusCode::OK, "ok");
        }
        if slot.is_reserved {
            let answer = plain(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable: too many connections");
            return closing(answer);
        }
        if request.uri().path() != self.path {
            return plain(StatusCode::NOT_FOUND, "Not Found");
        }
        if !self.is_authorized(&request) {
            let mut answer = plain(StatusCode::UNAUTHORIZED, "Unauthorized: a bearer token is needed");
            let challenge = ::http::HeaderValue::from_static("Bearer realm=\"skillcue\"");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            return answer;
        }
        if request.method() != Method::POST {
            let is_delete = request.method() == Method::DELETE;
            let busy = slot.begin();
            let mut answer = held(self.service.handle(request).await, busy);
            // The session is gone, not merely about to end: clients take the SDK's 202 for a failure.
            if is_delete && answer.status() == StatusCode::ACCEPTED {
                *answer.status_mut() = StatusCode::OK;
            }
            return answer;
        }
        let is_json = is_json(&request);
        let is_new = !request.headers().contains_key("mcp-session-id");
        let (parts, body) = request.into_parts();
        // A client that first asks whether to send the body will not send it.
        let is_sent = !parts.headers.contains_key(header::EXPECT);
        let body = match self.collect(body, is_sent).await {
            Ok(body) => body,
            Err(answer) => return answer,
        };
        if is_new && self.is_full().await && is_initialize(&body) {
            let problem = json!({
                "jsonrpc": "2.0",
                "id": id_of(&body),
                "error": { "code": -32000, "message": "there are too many sessions; try again later" },
            });
            return json_answer(StatusCode::SERVICE_UNAVAILABLE, &problem);
        }
        // Until here the client could let the server wait, within the time limits.
        let busy = slot.begin();
        let answer = self.service.handle(Request::from_parts(parts, Full::new(body.clone()))).await;
        // Answers of the extension, whose methods have this prefix.
        let is_extended = String::from_utf8_lossy(&body).contains("skills/");
        let answer = held(if is_extended { written(answer).await } else { answer }, busy);
        // The SDK's answer to a body that it cannot parse.
        if answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && is_json {
            return match stdio::not_a_message(&body) {
                Some(problem) => json_answer(StatusCode::BAD_REQUEST, &problem),
                None => plain(StatusCode::ACCEPTED, ""),
            };
        }
        answer
    }

    /// Reads the whole body, unless it is too large or takes too long.
    async fn collect(&self, mut body: Incoming, is_sent: bool) -> Result<Bytes, HttpResponse> {
        if body.size_hint().lower() > self.max_body as u64 {
            return Err(self.too_large(body, is_sent));
        }
        let mut collected = BytesMut::new();
        let read = async {
            while let Some(frame) = body.frame().await {
                let Ok(data) = frame?.into_data() else { continue };
                if collected.len() + data.len() > self.max_body {
                    return Ok::<_, hyper::Error>(false);
                }
                collected.extend_from_slice(&data);
            }
            Ok(true)
        };
        match tokio::time::timeout(READ_TIMEOUT, read).await {
            Ok(Ok(true)) => Ok(collected.freeze()),
            Ok(Ok(false)) => Err(self.too_large(body, is_sent)),
            Ok(Err(error)) => Err(plain(StatusCode::BAD_REQUEST, format!("Bad Request: {error}"))),
            Err(_) => Err(plain(StatusCode::REQUEST_TIMEOUT, "Request Timeout")),
        }
    }

    /// Refuses a body. Some of the rest is read all the same, and discarded: a client that writes everything before it
    /// reads would not see the answer otherwise, only a broken connection.
    fn too_large(&self, body: Incoming, is_sent: bool) -> HttpResponse {
        if is_sent {
            tokio::spawn(tokio::time::timeout(DRAIN_TIMEOUT, drain(body)));
        }
        let message = format!("Payload Too Large: request body exceeds {} bytes", self.max_body);
        closing(plain(StatusCode::PAYLOAD_TOO_LARGE, message))
    }

    fn is_authorized<B>(&self, request: &Request<B>) -> bool {
        let Some(expected) = &self.token else { return true };
        let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some((scheme, token)) = given.and_then(|given| given.split_once(' ')) else { return false };
        let given = Digest::of(token.trim());
        // Every byte is compared, wherever they differ.
        let difference = expected.as_bytes().iter().zip(given.as_bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
        scheme.eq_ignore_ascii_case("bearer") && difference == 0
    }

    /// Ends every session: otherwise each would wait for its client until it counts as idle.
    async fn close_sessions(&self) {
        let sessions: Vec<_> = self.sessions.sessions.write().await.drain().collect();
        for (_, session) in sessions {
            // One that has ended by itself is as good.
            let _ = session.close().await;
        }
    }

    async fn is_full(&self) -> bool {
        self.sessions.sessions.read().await.len() >= self.max_sessions
    }
}

/// Reads and discards a body, to its end or up to a limit.
async fn drain(mut body: Incoming) {
    let mut left = MAX_DRAINED;
    while let Some(Ok(frame)) = body.frame().await {
        left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
        if left == 0 {
            return;
        }
    }
}

fn is_json<B>(request: &Request<B>) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

fn is_initialize(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_ok_and(|value| value["method"] == "initialize")
}

fn id_of(body: &[u8]) -> Value {
    serde_json::from_slice::<Value>(body).map(|value| value["id"].clone()).unwrap_or_default()
}

/// Returns the answer with numbers as their author wrote them.
async fn written(answer: HttpResponse) -> HttpResponse {
    let release = |data: Bytes| Bytes::from(digits::release(data.into()));
    let kind = answer.headers().get(header::CONTENT_TYPE).map(|kind| kind.as_bytes().to_vec());
    let (parts, body) = answer.into_parts();
    // Each frame of a stream is a whole event, and its length is declared nowhere.
    if kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
        return Response::from_parts(parts, body.map_frame(move |frame| frame.map_data(release)).boxed());
    }
    let Ok(whole) = body.collect().await;
    Response::from_parts(parts, Full::new(release(whole.to_bytes())).boxed())
}

/// Returns the answer with a body that keeps its connection busy until it is sent.
fn held(answer: HttpResponse, busy: Busy) -> HttpResponse {
    answer.map(|body| BusyBody { body, _busy: busy }.boxed())
}

/// Returns the answer with a header that ends the connection after it.
fn closing(mut answer: HttpResponse) -> HttpResponse {
    answer.headers_mut().insert(header::CONNECTION, ::http::HeaderValue::from_static("close"));
    answer
}

fn plain(status: StatusCode, text: impl Into<String>) -> HttpResponse {
    let mut answer = Response::new(Full::new(Bytes::from(text.into())).boxed());
    *answer.status_mut() = status;
    let kind = ::http::HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

fn json_answer(status: StatusCode, value: &Value) -> HttpResponse {
    let mut answer = Response::new(Full::new(Bytes::from(value.to_string())).boxed());
    *answer.status_mut() = status;
    let kind = ::http::HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}
