//! The gate between the network and the SDK: which requests are allowed, how large they may be and how long they may take.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::request::Parts;
use ::http::{Method, Request, StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use skillcue_base::Digest;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::answers::{HttpResponse, closing, json_answer, plain, written};
use super::connections::{ConnectionSlot, Connections};
use super::http::{HttpOptions, ServedView};
use super::in_flight::RequestRecord;
use super::message::{MessageHead, SessionIdHeader};
use super::metrics::{ServerGauges, ServerMetrics};
use super::opening::{OpeningRefusal, Openings, opening_size};
use super::places::TakenPlaces;
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
    openings: Openings,
    /// The path that those of all views begin with.
    base_path: String,
    max_body: usize,
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
        let openings = Openings::new(options, views.len());
        let has_tokens = token.is_some() || views.iter().any(|(_, view)| view.token.is_some());
        for (_, view) in &views {
            let shared = &view.server.shared;
            shared.metrics.catalog_is(&shared.options.view, &shared.skillcue.catalog(), false);
        }
        HttpGate {
            endpoints: views.into_iter().map(|(path, view)| ViewEndpoint::new(path, view, options, &streams)).collect(),
            token,
            access: MetricsAccess { own_token, token, has_tokens },
            metrics,
            connections,
            drain: DrainState::default(),
            under_way: TaskTracker::new(),
            streams,
            openings,
            base_path: options.path.clone(),
            max_body: options.max_body,
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
                // All views have the same sources.
                let unknown = self.endpoints.first().map(|it| it.server.shared.skillcue.unknown_remotes());
                probes::ready(&self.drain, has_skills, &unknown.unwrap_or_default())
            }
            Probe::Metrics if !self.access.admits(peer, request) => probes::metrics_refused(),
            Probe::Metrics => {
                let catalogs: Vec<_> = self.endpoints.iter().map(|it| it.server.shared.skillcue.catalog()).collect();
                let names = self.endpoints.iter().map(|it| it.server.shared.options.view.as_str());
                let catalogs: Vec<_> = names.zip(catalogs.iter().map(AsRef::as_ref)).collect();
                let state = ServerGauges {
                    sessions: self.session_counts().await.into_iter().sum(),
                    connections: self.connections.count(),
                    is_draining: self.drain.is_draining(),
                };
                probes::metrics_answer(self.metrics.text(state, &catalogs))
            }
        }
    }

    /// Answers a request of the protocol.
    async fn serve(&self, request: Request<Incoming>, slot: &Arc<ConnectionSlot>) -> HttpResponse {
        let mut record = RequestRecord::begin(&self.metrics, &self.under_way);
        if slot.is_reserved {
            let answer = plain(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable: too many connections");
            return record.follow(closing(answer), None);
        }
        // It came when the last request had been answered: the SDK does not serve it any more.
        if self.streams.is_cancelled() {
            let answer = plain(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable: this replica ends");
            return record.follow(closing(answer), None);
        }
        let path = request.uri().path();
        let found = self.endpoints.iter().enumerate().find(|(_, endpoint)| endpoint.path == path);
        if !self.is_authorized(found.map(|(_, endpoint)| endpoint), &request) {
            return record.follow(unauthorized(), None);
        }
        let Some((view, endpoint)) = found else {
            return record.follow(plain(StatusCode::NOT_FOUND, "Not Found"), None);
        };
        let session = SessionIdHeader::of(request.headers());
        if session == SessionIdHeader::Malformed {
            let message = "Bad Request: Mcp-Session-Id is to be one text of visible ASCII characters";
            return record.follow(closing(plain(StatusCode::BAD_REQUEST, message)), None);
        }
        let has_session = session == SessionIdHeader::Named;
        if request.method() != Method::POST {
            let is_delete = request.method() == Method::DELETE;
            record.set_method(if is_delete { "session/end" } else { "session/stream" });
            if !is_delete {
                record.make_stream(None);
            }
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
            Err(answer) => return record.follow(answer, None),
        };
        let head = match MessageHead::parse(&body) {
            Some(head) => head,
            None if is_json => return record.follow(unreadable(&body), None),
            None => MessageHead::default(),
        };
        record.set_method(head.method);
        let opening = match self.open(&mut record, &head, (view, has_session), (&parts, &body)).await {
            Ok(opening) => opening,
            Err(refusal) => return record.follow(refusal.answer(&head.id), None),
        };
        // Until here the client could let the server wait, within the time limits.
        let busy = slot.begin();
        let answer = endpoint.service.handle(Request::from_parts(parts, Full::new(body.clone()))).await;
        drop(opening);
        let answer = explained(answer, has_session);
        // Answers of the extension, whose methods have this prefix.
        let is_extended = String::from_utf8_lossy(&body).contains("skills/");
        let mut answer = if is_extended { written(answer).await } else { answer };
        // The SDK's answer to a body that it cannot parse.
        if answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && is_json {
            answer = unreadable(&body);
        }
        record.follow(answer, Some(busy))
    }

    /// Takes the places of the session or the stream that a request opens. That of a session is held until it is open, that of
    /// a stream is held by its record.
    async fn open(
        &self,
        record: &mut RequestRecord,
        head: &MessageHead,
        (view, has_session): (usize, bool),
        (parts, body): (&Parts, &[u8]),
    ) -> Result<Option<TakenPlaces>, OpeningRefusal> {
        match head.method {
            "subscriptions/listen" => {
                let places = self.openings.stream(view, opening_size(parts, body)?)?;
                record.make_stream(Some(places));
                Ok(None)
            }
            "initialize" => {
                opening_size(parts, body)?;
                if has_session {
                    return Ok(None);
                }
                self.openings.session(view, self.session_counts()).await.map(Some)
            }
            _ => Ok(None),
        }
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

    /// Returns whether a request may use an endpoint: with its token, or with that of the whole server. Where there is no
    /// endpoint, the answer is the one that a view with a token gives, so that names of views cannot be guessed.
    fn is_authorized<B>(&self, endpoint: Option<&ViewEndpoint>, request: &Request<B>) -> bool {
        let is_open = match endpoint {
            Some(endpoint) => self.token.is_none() && endpoint.token.is_none(),
            // Clients that look for other services of this host, such as its authorization, are to see that there is none.
            None => !self.access.has_tokens || !self.is_below_base(request.uri().path()),
        };
        let mut tokens = self.token.iter().chain(endpoint.and_then(|endpoint| endpoint.token.as_ref()));
        is_open || tokens.any(|token| has_token(request, token))
    }

    fn is_below_base(&self, path: &str) -> bool {
        path.strip_prefix(&self.base_path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
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

    /// Returns how many sessions each view has.
    async fn session_counts(&self) -> Vec<usize> {
        let mut counts = Vec::with_capacity(self.endpoints.len());
        for endpoint in &self.endpoints {
            counts.push(endpoint.sessions.sessions.read().await.len());
        }
        counts
    }
}

fn unauthorized() -> HttpResponse {
    let mut answer = plain(StatusCode::UNAUTHORIZED, "Unauthorized: a bearer token is needed");
    let challenge = ::http::HeaderValue::from_static("Bearer realm=\"skillcue\"");
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    answer
}

/// Returns the answer to a body that is no message.
fn unreadable(body: &[u8]) -> HttpResponse {
    match stdio::not_a_message(body) {
        Some(problem) => json_answer(StatusCode::BAD_REQUEST, &problem),
        None => plain(StatusCode::ACCEPTED, ""),
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
