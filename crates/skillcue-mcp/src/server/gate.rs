//! The gate between the network and the SDK: which requests are allowed, how large they may be and how long they may take.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::{Method, Request, StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::{Value, json};
use skillcue_base::Digest;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::answers::{HttpResponse, closing, json_answer, plain, written};
use super::connections::{ConnectionSlot, Connections};
use super::http::{HttpOptions, ServedView};
use super::in_flight::RequestRecord;
use super::metrics::{ServerGauges, ServerMetrics, method_label};
use super::probes::{self, DrainState, MetricsAccess, Probe};
use super::{SkillServer, stdio};

/// How long a client may take to send a request's body.
const READ_TIMEOUT: Duration = Duration::from_mins(1);

/// How much of a body that is too large is read, and for how long, before the connection is closed.
const MAX_DRAINED: usize = 64 << 20;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// The advice to a client whose session is not here.
const NO_SESSION: &str = "Not Found: this server has no such session. It has ended, or it is on another replica: sessions of \
                          2025-11-25 and before stay where they began. Begin a new one with initialize, or use 2026-07-28, \
                          which needs none.";

/// One view of the skills, at one path.
struct ViewEndpoint {
    path: String,
    server: SkillServer,
    service: StreamableHttpService<SkillServer, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// The digest of the token that opens this path only.
    token: Option<Digest>,
}

impl ViewEndpoint {
    fn new(path: String, view: ServedView, options: &HttpOptions, streams: &CancellationToken) -> ViewEndpoint {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(options.session_idle);
        // Without an event that only says how to reconnect, before each answer: answers are short, clients ask again.
        sessions.session_config.sse_retry = None;
        let sessions = Arc::new(sessions);

        let loopback = ["localhost", "127.0.0.1", "::1"];
        let mut origins = options.allowed_origins.clone();
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            origins.extend(["http", "https"].map(|scheme| format!("{scheme}://{host}:*")));
        }
        let config = StreamableHttpServerConfig::default()
            .with_cancellation_token(streams.child_token())
            .with_json_response(true)
            .with_sse_retry(None)
            .with_max_request_body_bytes(options.max_body)
            .with_allowed_origins(origins)
            .enforce_origin_validation();
        let config = if options.allowed_hosts.iter().any(|host| host == "*") {
            config.disable_allowed_hosts()
        } else {
            config.with_allowed_hosts(loopback.map(str::to_owned).into_iter().chain(options.allowed_hosts.clone()))
        };
        let server = view.server.session(false);
        let service = StreamableHttpService::new(move || Ok(server.session(false)), Arc::clone(&sessions), config);
        ViewEndpoint { path, server: view.server, service, sessions, token: view.token.map(Digest::of) }
    }
}

/// The checks between the network and the SDK.
pub(super) struct HttpGate {
    endpoints: Vec<ViewEndpoint>,
    /// The digest of the token that opens every path: digests have one length, so comparing them reveals nothing.
    token: Option<Digest>,
    access: MetricsAccess,
    metrics: Arc<ServerMetrics>,
    connections: Arc<Connections>,
    pub(super) drain: DrainState,
    /// The requests that the server waits for before it ends.
    pub(super) under_way: TaskTracker,
    /// Ends every stream of notifications.
    pub(super) streams: CancellationToken,
    max_body: usize,
    max_sessions: usize,
}

impl HttpGate {
    pub(super) fn new(
        views: Vec<(String, ServedView)>,
        options: &HttpOptions,
        metrics: Arc<ServerMetrics>,
        connections: Arc<Connections>,
    ) -> HttpGate {
        let streams = CancellationToken::new();
        let token = options.token.as_ref().map(Digest::of);
        let own_token = options.metrics_token.as_ref().map(Digest::of);
        HttpGate {
            endpoints: views.into_iter().map(|(path, view)| ViewEndpoint::new(path, view, options, &streams)).collect(),
            token,
            access: MetricsAccess { own_token, token },
            metrics,
            connections,
            drain: DrainState::default(),
            under_way: TaskTracker::new(),
            streams,
            max_body: options.max_body,
            max_sessions: options.max_sessions,
        }
    }

    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        peer: IpAddr,
        slot: &Arc<ConnectionSlot>,
    ) -> HttpResponse {
        if let Err((status, text)) = skillcue_http::check_authority(&request) {
            return plain(status, text);
        }
        if let Some(probe) = Probe::of(&request) {
            return self.probe(probe, peer, &request).await;
        }
        let answer = self.serve(request, slot).await;
        // The client is to look for another replica.
        if self.drain.is_draining() { closing(answer) } else { answer }
    }

    async fn probe(&self, probe: Probe, peer: IpAddr, request: &Request<Incoming>) -> HttpResponse {
        match probe {
            Probe::Health => plain(StatusCode::OK, "ok"),
            Probe::Ready => {
                let has_skills = self.endpoints.iter().any(|it| !it.server.shared.skillcue.catalog().is_empty());
                probes::ready(&self.drain, has_skills)
            }
            Probe::Metrics if !self.access.admits(peer, request) => probes::metrics_refused(),
            Probe::Metrics => {
                let catalogs: Vec<_> = self.endpoints.iter().map(|it| it.server.shared.skillcue.catalog()).collect();
                let names = self.endpoints.iter().map(|it| it.server.shared.options.view.as_str());
                let catalogs: Vec<_> = names.zip(catalogs.iter().map(AsRef::as_ref)).collect();
                let state = ServerGauges {
                    sessions: self.count_sessions().await,
                    connections: self.connections.count(),
                    is_draining: self.drain.is_draining(),
                };
                probes::metrics_answer(self.metrics.text(state, &catalogs))
            }
        }
    }

    /// Answers a request of the protocol.
    async fn serve(&self, request: Request<Incoming>, slot: &Arc<ConnectionSlot>) -> HttpResponse {
        let begin = |method, is_stream| RequestRecord::begin(&self.metrics, &self.under_way, method, is_stream);
        if slot.is_reserved {
            let answer = plain(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable: too many connections");
            return begin("other", false).follow(closing(answer), None);
        }
        let Some(endpoint) = self.endpoints.iter().find(|endpoint| endpoint.path == request.uri().path()) else {
            return begin("other", false).follow(plain(StatusCode::NOT_FOUND, "Not Found"), None);
        };
        if !self.is_authorized(endpoint, &request) {
            let mut answer = plain(StatusCode::UNAUTHORIZED, "Unauthorized: a bearer token is needed");
            let challenge = ::http::HeaderValue::from_static("Bearer realm=\"skillcue\"");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            return begin("other", false).follow(answer, None);
        }
        let has_session = request.headers().contains_key("mcp-session-id");
        if request.method() != Method::POST {
            let is_delete = request.method() == Method::DELETE;
            let record = begin(if is_delete { "session/end" } else { "session/stream" }, !is_delete);
            let busy = slot.begin();
            let mut answer = explained(endpoint.service.handle(request).await, has_session);
            // The session is gone, not merely about to end: clients take the SDK's 202 for a failure.
            if is_delete && answer.status() == StatusCode::ACCEPTED {
                *answer.status_mut() = StatusCode::OK;
            }
            return record.follow(answer, Some(busy));
        }
        let is_json = is_json(&request);
        let (parts, body) = request.into_parts();
        // A client that first asks whether to send the body will not send it.
        let is_sent = !parts.headers.contains_key(header::EXPECT);
        let body = match self.collect(body, is_sent).await {
            Ok(body) => body,
            Err(answer) => return begin("other", false).follow(answer, None),
        };
        let method = method_of(&body);
        let record = begin(method, method == "subscriptions/listen");
        if !has_session && method == "initialize" && self.count_sessions().await >= self.max_sessions {
            let problem = json!({
                "jsonrpc": "2.0",
                "id": id_of(&body),
                "error": { "code": -32000, "message": "there are too many sessions; try again later" },
            });
            return record.follow(json_answer(StatusCode::SERVICE_UNAVAILABLE, &problem), None);
        }
        // Until here the client could let the server wait, within the time limits.
        let busy = slot.begin();
        let answer = endpoint.service.handle(Request::from_parts(parts, Full::new(body.clone()))).await;
        let answer = explained(answer, has_session);
        // Answers of the extension, whose methods have this prefix.
        let is_extended = String::from_utf8_lossy(&body).contains("skills/");
        let mut answer = if is_extended { written(answer).await } else { answer };
        // The SDK's answer to a body that it cannot parse.
        if answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && is_json {
            answer = match stdio::not_a_message(&body) {
                Some(problem) => json_answer(StatusCode::BAD_REQUEST, &problem),
                None => plain(StatusCode::ACCEPTED, ""),
            };
        }
        record.follow(answer, Some(busy))
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
            tokio::spawn(tokio::time::timeout(DRAIN_TIMEOUT, discard(body)));
        }
        let message = format!("Payload Too Large: request body exceeds {} bytes", self.max_body);
        closing(plain(StatusCode::PAYLOAD_TOO_LARGE, message))
    }

    /// Returns whether a request may use an endpoint: with its token, or with that of the whole server.
    fn is_authorized<B>(&self, endpoint: &ViewEndpoint, request: &Request<B>) -> bool {
        let mut tokens = self.token.iter().chain(&endpoint.token).peekable();
        tokens.peek().is_none() || tokens.any(|token| has_token(request, token))
    }

    /// Ends every session: otherwise each would wait for its client until it counts as idle.
    pub(super) async fn close_sessions(&self) {
        for endpoint in &self.endpoints {
            let sessions: Vec<_> = endpoint.sessions.sessions.write().await.drain().collect();
            for (_, session) in sessions {
                // One that has ended by itself is as good.
                let _ = session.close().await;
            }
        }
    }

    async fn count_sessions(&self) -> usize {
        let mut count = 0;
        for endpoint in &self.endpoints {
            count += endpoint.sessions.sessions.read().await.len();
        }
        count
    }
}

/// Returns whether a request has a bearer token, of which only the digest is known.
pub(super) fn has_token<B>(request: &Request<B>, expected: &Digest) -> bool {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some((scheme, token)) = given.and_then(|given| given.split_once(' ')) else { return false };
    let given = Digest::of(token.trim());
    // Every byte is compared, wherever they differ.
    let difference = expected.as_bytes().iter().zip(given.as_bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    scheme.eq_ignore_ascii_case("bearer") && difference == 0
}

/// Returns the SDK's answer, with advice if it says that there is no such session.
fn explained(answer: HttpResponse, has_session: bool) -> HttpResponse {
    if has_session && answer.status() == StatusCode::NOT_FOUND && !is_json_answer(&answer) {
        return plain(StatusCode::NOT_FOUND, NO_SESSION);
    }
    answer
}

/// Reads and discards a body, to its end or up to a limit.
async fn discard(mut body: Incoming) {
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

fn is_json_answer(answer: &HttpResponse) -> bool {
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

/// Returns the label of a message's method.
fn method_of(body: &[u8]) -> &'static str {
    #[derive(Deserialize)]
    struct NamedRequest<'m> {
        #[serde(borrow, default)]
        method: std::borrow::Cow<'m, str>,
    }
    serde_json::from_slice::<NamedRequest<'_>>(body).map_or("other", |message| method_label(&message.method))
}

fn id_of(body: &[u8]) -> Value {
    serde_json::from_slice::<Value>(body).map(|value| value["id"].clone()).unwrap_or_default()
}
