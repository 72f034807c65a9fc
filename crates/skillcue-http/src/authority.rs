//! The host and the origin of a request, read strictly: the target's authority, `Host` and `Origin`.
//!
//! The SDK of MCP compares hosts and origins with the allowed ones, but it takes the host of `[::1].evil.com` to be
//! `[::1]`, and it ignores the authority of a target such as `http://evil.com/mcp`. A request that passes here can be
//! read in one way only.

use std::net::{IpAddr, Ipv6Addr};

use http::{HeaderMap, HeaderName, Request, StatusCode, header};
use reqwest::Url;

use crate::machine::is_this_machine;

/// A host as it is compared: in lower case, an IPv6 address in its shortest form.
#[derive(Debug, PartialEq, Eq)]
struct Authority {
    host: String,
    port: Option<u16>,
}

/// Checks a request's target, `Host` and `Origin`: that each is there once at most and well-formed, and that the first two
/// agree. The error is the status and the text to answer with.
pub fn check_authority<B>(request: &Request<B>) -> Result<(), (StatusCode, &'static str)> {
    let bad = |text| (StatusCode::BAD_REQUEST, text);
    let host = single(request.headers(), &header::HOST).map_err(|()| bad("Bad Request: more than one Host"))?;
    let host = match host {
        Some(host) => Some(authority(host).ok_or(bad("Bad Request: the Host header is malformed"))?),
        None => None,
    };
    if let Some(target) = request.uri().authority() {
        let target = authority(target.as_str()).ok_or(bad("Bad Request: the target is malformed"))?;
        let scheme = request.uri().scheme_str().unwrap_or("http");
        let is_same = host
            .as_ref()
            .is_some_and(|host| host.host == target.host && port(scheme, host.port) == port(scheme, target.port));
        if !is_same {
            return Err(bad("Bad Request: the target names another host than the Host header"));
        }
    }
    let forbidden = |text| (StatusCode::FORBIDDEN, text);
    match single(request.headers(), &header::ORIGIN) {
        Err(()) => Err(forbidden("Forbidden: more than one Origin")),
        Ok(Some(origin)) if !is_origin(origin) => Err(forbidden("Forbidden: the Origin header is malformed")),
        Ok(_) => Ok(()),
    }
}

/// Returns whether a request names this machine by its loopback address or name.
pub fn is_loopback<B>(request: &Request<B>) -> bool {
    let host = single(request.headers(), &header::HOST).ok().flatten().and_then(authority);
    host.is_some_and(|host| {
        let address = host.host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host.host == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
    })
}

/// Returns whether a request was made by a page of this very server, or by no page: its `Host` is an address of this
/// machine with our port, and its `Origin`, if there is one, is that host. A page of another site that has had its own
/// name resolved to this machine (DNS rebinding) is told by the `Host`. To be called after [`check_authority`].
pub fn is_own_page<B>(request: &Request<B>, port: u16) -> bool {
    let Ok(Some(host)) = single(request.headers(), &header::HOST) else { return false };
    let Ok(url) = Url::parse(&format!("http://{host}/")) else { return false };
    let is_ours = is_this_machine(&url) && url.port_or_known_default() == Some(port);
    let is_same = match single(request.headers(), &header::ORIGIN) {
        Ok(None) => true,
        Ok(Some(origin)) => origin.strip_prefix("http://").is_some_and(|origin| authority(origin) == authority(host)),
        Err(()) => false,
    };
    is_ours && is_same
}

/// Returns the one value of a header. An error if there are several, or it is no text.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

/// Returns whether this is `scheme://host[:port]` and nothing more, or `null`.
fn is_origin(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return text == "null" };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_scheme && authority(rest).is_some()
}

/// Reads `host[:port]`, where the host is a name, an IPv4 address, or an IPv6 address in brackets.
fn authority(text: &str) -> Option<Authority> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (address, after) = rest.split_once(']')?;
        (format!("[{}]", address.parse::<Ipv6Addr>().ok()?), after)
    } else {
        let (host, after) = text.split_at(text.find(':').unwrap_or(text.len()));
        let is_name = !host.is_empty()
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'));
        (is_name.then(|| host.to_ascii_lowercase())?, after)
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
        _ => return None,
    };
    Some(Authority { host, port })
}

fn port(scheme: &str, port: Option<u16>) -> Option<u16> {
    port.or(match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::{authority, is_origin, is_own_page};

    #[test]
    fn only_own_pages_pass() {
        let request = |host: &str| http::Request::get("/").header("host", host).body(()).unwrap();
        for (host, is_own) in [
            ("127.0.0.1:8000", true),
            ("localhost:8000", true),
            ("[::1]:8000", true),
            ("127.0.0.1:8001", false),
            ("127.0.0.1", false),
            ("evil.example:8000", false),
            ("localhost.evil.example:8000", false),
            ("192.168.0.1:8000", false),
        ] {
            assert_eq!(is_own_page(&request(host), 8000), is_own, "{host}");
        }
        for (origin, is_own) in [
            ("http://127.0.0.1:8000", true),
            ("http://localhost:8000", false),
            ("http://127.0.0.1:9000", false),
            ("https://127.0.0.1:8000", false),
            ("http://evil.example", false),
            ("null", false),
        ] {
            let request = http::Request::get("/").header("host", "127.0.0.1:8000").header("origin", origin);
            assert_eq!(is_own_page(&request.body(()).unwrap(), 8000), is_own, "{origin}");
        }
    }

    #[test]
    fn authorities_are_read_in_one_way_only() {
        for (text, host, port) in [
            ("localhost", "localhost", None),
            ("LocalHost:8808", "localhost", Some(8808)),
            ("127.0.0.1:1", "127.0.0.1", Some(1)),
            ("[::1]", "[::1]", None),
            ("[0:0:0:0:0:0:0:1]:99", "[::1]", Some(99)),
            ("skills_1.example.", "skills_1.example.", None),
        ] {
            let read = authority(text).unwrap();
            assert_eq!((read.host.as_str(), read.port), (host, port), "{text}");
        }
        for text in [
            "",
            ":80",
            "[::1].evil.com",
            "[::1]evil.com",
            "[::1]@evil.com",
            "[localhost]",
            "[::1",
            "::1",
            "a@b",
            "localhost:",
            "localhost:80:80",
            "localhost:65536",
            "localhost:+1",
            "localhost/x",
            "lo calhost",
            "l\u{f6}calhost",
        ] {
            assert_eq!(authority(text), None, "{text}");
        }
    }

    #[test]
    fn origins_have_nothing_but_scheme_host_and_port() {
        for text in ["null", "http://localhost", "https://[::1]:8443", "vscode-webview://abc"] {
            assert!(is_origin(text), "{text}");
        }
        for text in
            ["", "localhost", "http://", "http://localhost/", "http://localhost/x", "http://a http://b", "://a", "1:a"]
        {
            assert!(!is_origin(text), "{text}");
        }
    }
}
