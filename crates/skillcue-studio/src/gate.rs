//! The gate before the page: which requests are answered at all.
//!
//! Other pages in the same browser can send requests to this machine, and names of other sites can be made to lead here. So
//! a request must name an address of this machine as its `Host`, come from no other origin, and have the cookie that the
//! one-time token was exchanged for, in a connection of the user that runs this program.

use std::sync::atomic::{AtomicBool, Ordering};

use http::{HeaderMap, Method, Request, StatusCode, header};
use skillcue_base::{Digest, hex};
use skillcue_http::{check_authority, is_own_page};

use crate::peer::Peer;

/// The path at which a token is exchanged for a cookie.
pub(crate) const OPEN: &str = "/open";

/// The number of random bytes in a token and in a cookie.
const SECRET_BYTES: usize = 32;

/// The answer of the gate to a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GateAnswer {
    /// It may pass.
    Pass,
    /// The token is right: the page is opened with this cookie.
    Open(String),
    /// It is refused.
    Refuse(StatusCode, &'static str),
}

/// The secrets of one run.
#[derive(Debug)]
pub(crate) struct Gate {
    port: u16,
    /// Digests have one length, so comparing them reveals nothing.
    token: Digest,
    is_token_used: AtomicBool,
    cookie: String,
    cookie_digest: Digest,
}

impl Gate {
    /// Makes a gate for a port, and the token that opens it.
    pub(crate) fn new(port: u16) -> std::io::Result<(Gate, String)> {
        let (token, cookie) = (secret()?, secret()?);
        let gate = Gate {
            port,
            token: Digest::of(&token),
            is_token_used: AtomicBool::new(false),
            cookie_digest: Digest::of(&cookie),
            cookie,
        };
        Ok((gate, token))
    }

    /// Checks a request. Bodies are not looked at.
    pub(crate) fn check<B>(&self, request: &Request<B>, peer: &Peer) -> GateAnswer {
        if let Err((status, why)) = check_authority(request) {
            return GateAnswer::Refuse(status, why);
        }
        if !is_own_page(request, self.port) {
            return GateAnswer::Refuse(
                StatusCode::FORBIDDEN,
                "Forbidden: this page is for this machine, and for itself only",
            );
        }
        let is_post = match *request.method() {
            Method::GET | Method::HEAD => false,
            Method::POST => true,
            _ => return GateAnswer::Refuse(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed"),
        };
        // Browsers say where a request comes from: the page itself, or the address bar.
        if let Some(site) = request.headers().get("sec-fetch-site")
            && !(site == "same-origin" || (site == "none" && !is_post))
        {
            return GateAnswer::Refuse(StatusCode::FORBIDDEN, "Forbidden: the request comes from another page");
        }
        if is_post && !request.headers().contains_key(header::ORIGIN) {
            return GateAnswer::Refuse(
                StatusCode::FORBIDDEN,
                "Forbidden: the request does not say which page it comes from",
            );
        }
        if is_post && !is_json(request.headers()) {
            // Forms of other pages cannot send this without being asked first.
            return GateAnswer::Refuse(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Unsupported Media Type: send application/json",
            );
        }
        let has_cookie = self.has_cookie(request.headers());
        // Programs that only ask whether an address is there do not use the token up.
        if request.uri().path() == OPEN && *request.method() == Method::GET {
            return self.open(request.uri().query(), has_cookie, peer);
        }
        match has_cookie {
            true if peer.is_own_user(self.port) => GateAnswer::Pass,
            true => other_user(),
            false => {
                let why = "Unauthorized: open the address that the program has printed";
                GateAnswer::Refuse(StatusCode::UNAUTHORIZED, why)
            }
        }
    }

    fn open(&self, query: Option<&str>, has_cookie: bool, peer: &Peer) -> GateAnswer {
        let token = query.and_then(|query| query.strip_prefix("token="));
        let is_right = token.is_some_and(|token| Digest::of(token) == self.token);
        // Before the token is used up.
        if (is_right || has_cookie) && !peer.is_own_user(self.port) {
            return other_user();
        }
        if has_cookie || (is_right && !self.is_token_used.swap(true, Ordering::SeqCst)) {
            return GateAnswer::Open(self.cookie.clone());
        }
        let why = if is_right {
            "Forbidden: this address was opened already, and works once. Start the program again for a new one"
        } else {
            "Forbidden: the token is wrong. Open the address that the program has printed"
        };
        GateAnswer::Refuse(StatusCode::FORBIDDEN, why)
    }

    /// Returns the name of the cookie. Cookies are shared by all ports of a host.
    pub(crate) fn cookie_name(&self) -> String {
        format!("skillcue-studio-{}", self.port)
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie_name();
        let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(key, value)| key == name && Digest::of(value) == self.cookie_digest)
    }
}

/// Refuses a connection of another user of this machine.
fn other_user() -> GateAnswer {
    let why = "Forbidden: this page is for the user who has started the program";
    GateAnswer::Refuse(StatusCode::FORBIDDEN, why)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "application/json"))
}

fn secret() -> std::io::Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(format!("no random numbers: {error}")))?;
    Ok(hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_token_nor_cookie_count_for_another_user() {
        let (gate, token) = Gate::new(8123).unwrap();
        let (own, other) = (Peer::of_user(true), Peer::of_user(false));
        let request = |path: &str, cookie: &str| {
            let request = Request::get(path).header(header::HOST, "127.0.0.1:8123");
            request.header(header::COOKIE, format!("{}={cookie}", gate.cookie_name())).body(()).unwrap()
        };
        let open = request(&format!("{OPEN}?token={token}"), "");
        assert_eq!(gate.check(&open, &other), other_user());
        let GateAnswer::Open(cookie) = gate.check(&open, &own) else { panic!("the token is not used up by that") };
        for path in ["/", "/api/events", OPEN] {
            assert_eq!(gate.check(&request(path, &cookie), &other), other_user(), "{path}");
            assert_ne!(gate.check(&request(path, &cookie), &own), other_user(), "{path}");
        }
        assert_eq!(gate.check(&request("/", &cookie), &own), GateAnswer::Pass);
    }
}
