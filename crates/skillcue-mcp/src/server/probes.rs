//! Probes of the server itself, for proxies, orchestrators and collectors: `/health`, `/ready`, `/metrics`.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use ::http::{Method, Request, StatusCode, header};
use skillcue_base::Digest;

use super::answers::{HttpResponse, plain};
use super::gate;

/// The type of the text of `/metrics`.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Headers that a proxy adds: a request that has one does not come from this machine, whatever its peer is.
const FORWARDED: [&str; 5] = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];

/// A question about the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Probe {
    Health,
    Ready,
    Metrics,
}

impl Probe {
    /// Returns the probe that a request asks for; none if it is a request of the protocol.
    pub(super) fn of<B>(request: &Request<B>) -> Option<Probe> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return None;
        }
        match request.uri().path() {
            "/health" => Some(Probe::Health),
            "/ready" => Some(Probe::Ready),
            "/metrics" => Some(Probe::Metrics),
            _ => None,
        }
    }
}

/// The state of a server that ends: shared by the gate and the loop that accepts connections.
#[derive(Debug, Default)]
pub(super) struct DrainState(AtomicBool);

impl DrainState {
    pub(super) fn begin(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Returns the answer to `/ready`: whether new clients may be sent here. Not while a configured catalog was never read: its
/// skills would be missing here and be there on other replicas.
pub(super) fn ready(drain: &DrainState, has_skills: bool, unknown: &[String]) -> HttpResponse {
    if drain.is_draining() {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "draining: this replica is about to end");
    }
    if !unknown.is_empty() {
        let text = format!("not ready: nothing was read yet of the catalog {}", unknown.join(", "));
        return plain(StatusCode::SERVICE_UNAVAILABLE, text);
    }
    if !has_skills {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "not ready: the catalog has no skills");
    }
    plain(StatusCode::OK, "ready")
}

/// The rule by which metrics are shown.
#[derive(Debug)]
pub(super) struct MetricsAccess {
    /// The token for metrics, if there is one of their own.
    pub(super) own_token: Option<Digest>,
    /// The token of the whole server.
    pub(super) token: Option<Digest>,
    /// Whether the server or one of its views has a token.
    pub(super) has_tokens: bool,
}

impl MetricsAccess {
    /// Returns whether a request may see the metrics. If they have a token of their own, that opens them, and nothing else
    /// does. Otherwise it is the server's token. Only if neither the server nor a view has one, they are for requests from
    /// this machine: its peer and its `Host` are loopback, and no proxy says that it has passed it on. A proxy need not say so.
    pub(super) fn admits<B>(&self, peer: IpAddr, request: &Request<B>) -> bool {
        if let Some(token) = self.own_token.as_ref().or(self.token.as_ref()) {
            return gate::has_token(request, token);
        }
        if self.has_tokens {
            return false;
        }
        let is_forwarded = FORWARDED.iter().any(|name| request.headers().contains_key(*name));
        peer.to_canonical().is_loopback() && !is_forwarded && skillcue_http::is_loopback(request)
    }
}

/// Returns the metrics as an answer.
pub(super) fn metrics_answer(text: Result<String, std::fmt::Error>) -> HttpResponse {
    let Ok(text) = text else {
        return plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error: the metrics could not be written");
    };
    let mut answer = plain(StatusCode::OK, text);
    let kind = ::http::HeaderValue::from_static(METRICS_TYPE);
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

/// Returns the answer to a request for metrics that may not have them.
pub(super) fn metrics_refused() -> HttpResponse {
    plain(
        StatusCode::FORBIDDEN,
        "Forbidden: metrics need their token or the server's. Without any token they are for this machine only.",
    )
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use ::http::Request;
    use skillcue_base::Digest;

    use super::MetricsAccess;

    fn request(headers: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::get("/metrics");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    #[test]
    fn metrics_are_for_a_token_or_without_tokens_for_this_machine() {
        let (here, there) = (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
        let host = ("host", "127.0.0.1:8808");
        let open = MetricsAccess { own_token: None, token: None, has_tokens: false };
        assert!(open.admits(here, &request(&[host])));
        assert!(open.admits(here, &request(&[("host", "localhost")])));
        assert!(open.admits("::ffff:127.0.0.1".parse().unwrap(), &request(&[("host", "[::1]:1")])));
        assert!(!open.admits(there, &request(&[host])));
        assert!(!open.admits(here, &request(&[host, ("x-forwarded-for", "192.0.2.1")])), "a proxy on this machine");
        assert!(!open.admits(here, &request(&[("host", "evil.example")])), "a name that was bound anew");
        assert!(!open.admits(here, &request(&[])));

        let (main, own) = (Some(Digest::of("main")), Some(Digest::of("own")));
        let secured = MetricsAccess { own_token: None, token: main, has_tokens: true };
        assert!(secured.admits(there, &request(&[("authorization", "Bearer main")])));
        assert!(!secured.admits(there, &request(&[("authorization", "Bearer other")])));
        assert!(!secured.admits(here, &request(&[host])), "it may come from a proxy on this machine");

        let of_views = MetricsAccess { own_token: None, token: None, has_tokens: true };
        assert!(!of_views.admits(here, &request(&[host])));
        assert!(!of_views.admits(here, &request(&[host, ("authorization", "Bearer main")])));

        let own = MetricsAccess { own_token: own, token: main, has_tokens: true };
        assert!(own.admits(there, &request(&[("authorization", "Bearer own")])));
        assert!(!own.admits(there, &request(&[("authorization", "Bearer main")])));
        assert!(!own.admits(here, &request(&[host])), "then only that token counts");
    }
}
