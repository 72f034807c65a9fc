//! The configuration of the HTTP client, and the meaning of its errors.

use std::error::Error;
use std::io;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};
use skillcue_base::os_message;

use crate::is_this_machine;
use crate::machine::pinned_addresses;

/// Maximum number of redirects that are followed.
const MAX_REDIRECTS: usize = 3;

/// Settings that differ from client to client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientOptions {
    /// Maximum time to connect.
    pub connect_timeout: Duration,
    /// The redirects that are followed.
    pub redirects: Redirects,
}

/// A rule for following redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// None: requests are for one server alone, and a redirect is an answer like any other.
    None,
    /// At most three, only where the request arrives whole (307, 308), and only at the same origin: other servers must
    /// not get the token.
    SameOrigin,
    /// At most three, to any server, never from `https` to `http`: for files that are public and whose content is
    /// checked. A password in the address is not sent on.
    Public,
}

/// Returns a client for the server at this URL. A server on this machine is reached without a proxy.
///
/// ```
/// # use skillcue_http::{ClientOptions, Redirects, client, reqwest::Url};
/// let options = ClientOptions { connect_timeout: std::time::Duration::from_secs(5), redirects: Redirects::SameOrigin };
/// let client = client(&Url::parse("https://skills.example/mcp").unwrap(), &options)?;
/// # Ok::<(), skillcue_http::reqwest::Error>(())
/// ```
pub fn client(url: &Url, options: &ClientOptions) -> Result<reqwest::Client, reqwest::Error> {
    // A program may have chosen another provider before; either will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("skillcue/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(options.connect_timeout)
        .redirect(match options.redirects {
            Redirects::None => Policy::none(),
            Redirects::SameOrigin => same_origin_policy(),
            Redirects::Public => public_policy(),
        });
    if is_this_machine(url) {
        builder = builder.no_proxy();
    }
    if let Some((name, addresses)) = pinned_addresses(url) {
        builder = builder.resolve_to_addrs(name, &addresses);
    }
    builder.build()
}

fn same_origin_policy() -> Policy {
    Policy::custom(|attempt| {
        let whole = matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        let same = attempt.previous().first().is_some_and(|from| from.origin() == attempt.url().origin());
        if whole && same && attempt.previous().len() <= MAX_REDIRECTS { attempt.follow() } else { attempt.stop() }
    })
}

fn public_policy() -> Policy {
    Policy::custom(|attempt| {
        let is_weaker =
            attempt.url().scheme() != "https" && attempt.previous().iter().any(|url| url.scheme() == "https");
        if attempt.previous().len() <= MAX_REDIRECTS && !is_weaker { attempt.follow() } else { attempt.stop() }
    })
}

/// Returns whether an error is one of encryption, which does not pass by trying again.
pub fn is_tls_error(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(<dyn Error>::is::<rustls::Error>)
}

/// Returns the cause of an error in one line: that of the last error of its chain.
///
/// ```
/// let refused = std::io::Error::from_raw_os_error(111);
/// assert_eq!(skillcue_http::cause(&refused), "connection refused");
/// ```
pub fn cause(error: &(dyn Error + 'static)) -> String {
    let last = chain(error).last().unwrap_or(error);
    last.downcast_ref::<io::Error>().map_or_else(|| last.to_string(), os_message)
}

/// Returns an error and its sources. An error inside an `io::Error` is not named as its source, so it is looked up.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source())
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Answers each request with the next of `answers`, and returns the first lines of the requests.
    async fn serve(listener: tokio::net::TcpListener, answers: Vec<String>) -> Vec<String> {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.unwrap();
            let line = String::from_utf8_lossy(&request[..read]).lines().next().unwrap_or_default().to_owned();
            asked.push(line);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        asked
    }

    fn answer(status: &str, location: &str) -> String {
        format!("HTTP/1.1 {status}\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    }

    #[test]
    fn redirects_are_followed_at_the_same_origin_where_the_request_arrives_whole() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for (redirects, first, lands) in [
                (Redirects::SameOrigin, answer("307 x", "/there"), 204),
                (Redirects::SameOrigin, answer("302 x", "/there"), 302),
                (Redirects::SameOrigin, answer("308 x", "http://127.0.0.1:1/there"), 308),
                (Redirects::None, answer("307 x", "/there"), 307),
                (Redirects::Public, answer("302 x", "/there"), 204),
            ] {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                // A name below localhost, so that it is resolved here, too.
                let url = format!("http://skills.localhost:{}/here", listener.local_addr().unwrap().port());
                let url = Url::parse(&url).unwrap();
                let options = ClientOptions { connect_timeout: Duration::from_secs(5), redirects };
                let client = client(&url, &options).unwrap();
                let answers = if lands == 204 { vec![first, answer("204 x", "")] } else { vec![first] };
                let (asked, answered) = tokio::join!(serve(listener, answers), client.post(url).body("all").send());
                assert_eq!(answered.unwrap().status().as_u16(), lands);
                // A 302 turns a POST into a GET.
                let path = asked.last().and_then(|line| line.split(' ').nth(1));
                assert_eq!(path, Some(if lands == 204 { "/there" } else { "/here" }));
            }
        });
    }

    #[test]
    fn the_cause_is_the_last_error_of_a_chain() {
        let inner = io::Error::other(rustls::Error::EncryptError);
        assert!(is_tls_error(&inner));
        assert_eq!(cause(&inner), rustls::Error::EncryptError.to_string());
        assert!(!is_tls_error(&io::Error::other("something else")));
    }
}
