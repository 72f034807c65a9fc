//! One repository of a registry: tokens, manifests, blobs, uploads; every answer bounded.
//!
//! The crate `oci-client` streams blobs and uploads. Tokens and manifests are asked for here: it reads those answers, and
//! the texts of errors, to their end however long they are, and sends a password to whatever address a registry names.

use std::future::Future;
use std::io::{self, Read};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use oci_client::client::{Client, ClientConfig, ClientProtocol};
use oci_client::secrets::RegistryAuth;
use oci_client::{Reference, RegistryOperation};
use serde::Deserialize;
use skillcue_base::{Digest, Digester, Shown};
use skillcue_http::reqwest::{self, Response, StatusCode, Url};
use skillcue_http::{ClientOptions, Redirects, cause};

use super::artifact::{ACCEPTED, Descriptor, MANIFEST_TYPE};
use super::credentials::Credential;
use super::{OciAccess, OciReference};
use crate::FetchEvent;
use crate::fetch::FetchError;
use crate::fetch::context::{FetchContext, carry};

/// The largest manifest, as the specification of registries has it.
const MAX_MANIFEST: usize = 4 << 20;
/// The largest answer with a token.
const MAX_TOKEN: usize = 1 << 18;
/// The time to connect, and the longest silence of a registry.
const MAX_SILENCE: Duration = Duration::from_secs(30);
/// The interval at which a cancelled fetch is noticed.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

const LOG_IN: &str = "log in with `docker login` or `podman login`, or set REGISTRY_AUTH_FILE";
const CHECK_ADDRESS: &str = "check the address, and that the registry can be reached";
const DISTRUST: &str = "do not trust it; ask the registry's operator";

/// The purpose of a connection, which decides the scope of its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenScope {
    Pull,
    Push,
}

/// A connection to one repository.
pub(super) struct RegistryClient<'c> {
    runtime: tokio::runtime::Runtime,
    context: &'c FetchContext<'c>,
    reference: OciReference,
    /// Whether the registry is on this machine: only there plain HTTP will do.
    is_local: bool,
    base: Url,
    http: reqwest::Client,
    oci: Client,
    image: Reference,
    auth: RegistryAuth,
}

impl<'c> RegistryClient<'c> {
    /// Connects, and authenticates if the registry asks for it.
    pub(super) fn connect(
        reference: &OciReference,
        access: &OciAccess,
        purpose: TokenScope,
        context: &'c FetchContext<'c>,
    ) -> Result<RegistryClient<'c>, FetchError> {
        let fail = |reason: String, help| FetchError::Registry { from: context.from.clone(), reason, help };
        // Docker's own registry is elsewhere than its name.
        let host = if reference.host() == "docker.io" { "registry-1.docker.io" } else { reference.host() };
        let none = |error: &dyn std::fmt::Display| fail(format!("its host is none: {error}"), CHECK_ADDRESS);
        let plain = Url::parse(&format!("http://{host}/v2/")).map_err(|error| none(&error))?;
        let is_local = skillcue_http::is_this_machine(&plain);
        let base = if is_local { Ok(plain) } else { Url::parse(&format!("https://{host}/v2/")) };
        let base = base.map_err(|error| none(&error))?;
        let options = ClientOptions { connect_timeout: MAX_SILENCE, redirects: Redirects::SameOrigin };
        let http = skillcue_http::client(&base, &options).map_err(|error| fail(cause(&error), CHECK_ADDRESS))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| fail(error.to_string(), CHECK_ADDRESS))?;
        let config = ClientConfig {
            protocol: if is_local { ClientProtocol::Http } else { ClientProtocol::Https },
            read_timeout: Some(MAX_SILENCE),
            connect_timeout: Some(MAX_SILENCE),
            user_agent: concat!("skillcue/", env!("CARGO_PKG_VERSION")),
            ..ClientConfig::default()
        };
        let oci = Client::try_from(config).map_err(|error| fail(error.to_string(), CHECK_ADDRESS))?;
        let tag = reference.tag().unwrap_or("latest").to_owned();
        let image = Reference::with_tag(host.to_owned(), reference.repository().to_owned(), tag);
        let auth = RegistryAuth::Anonymous;
        let mut client =
            RegistryClient { runtime, context, reference: reference.clone(), is_local, base, http, oci, image, auth };
        client.authenticate(access, purpose)?;
        Ok(client)
    }

    fn fail(&self, reason: impl Into<String>, help: &'static str) -> FetchError {
        FetchError::Registry { from: self.context.from.clone(), reason: reason.into(), help }
    }

    /// Runs a request until it is done, the fetch is cancelled or its time is over.
    fn wait<T>(&self, request: impl Future<Output = T>) -> Result<T, FetchError> {
        self.runtime.block_on(async {
            tokio::pin!(request);
            loop {
                tokio::select! {
                    done = &mut request => return Ok(done),
                    () = tokio::time::sleep(CHECK_INTERVAL) => self.context.check()?,
                }
            }
        })
    }

    /// Sends a request, and returns the answer with at most `max` bytes of its body.
    fn ask(&self, request: reqwest::RequestBuilder, max: usize) -> Result<(Response, Vec<u8>), FetchError> {
        let answer = self.wait(async {
            let mut answer = request.timeout(MAX_SILENCE * 2).send().await?;
            let mut body = Vec::new();
            while let Some(chunk) = answer.chunk().await? {
                body.extend_from_slice(&chunk);
                if body.len() > max {
                    return Ok((answer, None));
                }
            }
            Ok::<_, reqwest::Error>((answer, Some(body)))
        })?;
        match answer {
            Ok((answer, Some(body))) => Ok((answer, body)),
            Ok((_, None)) => Err(self.fail(format!("it sent an answer of more than {max} bytes"), DISTRUST)),
            Err(error) if error.is_timeout() => Err(self.fail("it did not answer in time", CHECK_ADDRESS)),
            Err(error) => Err(self.fail(cause(&error), CHECK_ADDRESS)),
        }
    }

    /// Asks the registry whether and how it wants to be authenticated to, and does it.
    fn authenticate(&mut self, access: &OciAccess, purpose: TokenScope) -> Result<(), FetchError> {
        let (answer, _) = self.ask(self.http.get(self.base.clone()), MAX_TOKEN)?;
        let challenge = match answer.status() {
            StatusCode::OK => return Ok(()),
            StatusCode::UNAUTHORIZED => answer.headers().get("www-authenticate").and_then(|it| it.to_str().ok()),
            status => return Err(self.fail(format!("its host is no registry: it answers {status}"), CHECK_ADDRESS)),
        };
        let challenge = challenge.unwrap_or_default().to_owned();
        let credential = access.credential(&self.reference).map_err(|why| self.fail(why, LOG_IN))?;
        let (kind, _) = challenge.split_once(' ').unwrap_or((&challenge, ""));
        if kind.eq_ignore_ascii_case("basic") {
            let Some(Credential::Basic(name, password)) = credential else {
                return Err(self.fail("the registry asks for a user and a password, and none is known", LOG_IN));
            };
            self.auth = RegistryAuth::Basic(name, password);
        } else if kind.eq_ignore_ascii_case("bearer") {
            self.auth = RegistryAuth::Bearer(self.token(&challenge, credential.as_ref(), purpose)?);
        } else {
            return Err(self.fail("the registry asks for an unknown kind of authentication", LOG_IN));
        }
        let operation = if purpose == TokenScope::Pull { RegistryOperation::Pull } else { RegistryOperation::Push };
        let (pull, push) = (RegistryOperation::Pull, operation);
        for operation in [pull, push] {
            let stored = self.wait(self.oci.auth(&self.image, &self.auth, operation))?;
            stored.map_err(|error| self.fail(shown_error(&error), LOG_IN))?;
        }
        Ok(())
    }

    /// Returns a token for the repository, from the address that the registry names.
    fn token(
        &self,
        challenge: &str,
        credential: Option<&Credential>,
        purpose: TokenScope,
    ) -> Result<String, FetchError> {
        #[derive(Deserialize)]
        struct TokenAnswer {
            token: Option<String>,
            access_token: Option<String>,
        }
        let realm = parameter(challenge, "realm").and_then(|realm| Url::parse(&realm).ok());
        let Some(mut realm) = realm else {
            return Err(self.fail("the registry names no address for tokens", DISTRUST));
        };
        // A registry must not have a password sent in the clear, nor reach into this machine.
        let is_realm_local = skillcue_http::is_this_machine(&realm);
        if is_realm_local != self.is_local || (realm.scheme() != "https" && !is_realm_local) {
            let reason = format!("the registry names an address for tokens that is refused: {}", Shown(realm.as_str()));
            return Err(self.fail(reason, DISTRUST));
        }
        let actions = if purpose == TokenScope::Push { "pull,push" } else { "pull" };
        let scope = format!("repository:{}:{actions}", self.reference.repository());
        let service = parameter(challenge, "service");
        let options = ClientOptions { connect_timeout: MAX_SILENCE, redirects: Redirects::None };
        let http = skillcue_http::client(&realm, &options).map_err(|error| self.fail(cause(&error), CHECK_ADDRESS))?;
        let request = if let Some(Credential::Identity(token)) = credential {
            let mut form = Url::parse("form://x/").map_err(|error| self.fail(error.to_string(), DISTRUST))?;
            form.query_pairs_mut()
                .append_pair("grant_type", "refresh_token")
                .append_pair("refresh_token", token)
                .append_pair("client_id", "skillcue")
                .append_pair("scope", &scope)
                .append_pair("service", service.as_deref().unwrap_or_default());
            let body = form.query().unwrap_or_default().to_owned();
            http.post(realm).header("content-type", "application/x-www-form-urlencoded").body(body)
        } else {
            realm.query_pairs_mut().append_pair("scope", &scope);
            if let Some(service) = &service {
                realm.query_pairs_mut().append_pair("service", service);
            }
            match &credential {
                Some(Credential::Basic(name, password)) => http.get(realm).basic_auth(name, Some(password)),
                _ => http.get(realm),
            }
        };
        let (answer, body) = self.ask(request, MAX_TOKEN)?;
        if !answer.status().is_success() {
            let who = if credential.is_some() { "the credentials are refused" } else { "a login is needed" };
            return Err(
                self.fail(format!("{who}: the registry's address for tokens answers {}", answer.status()), LOG_IN)
            );
        }
        let answer: Option<TokenAnswer> = serde_json::from_slice(&body).ok();
        let token = answer.and_then(|answer| answer.token.or(answer.access_token)).filter(|token| !token.is_empty());
        token.ok_or_else(|| self.fail("the registry sent no token", LOG_IN))
    }

    fn authorized(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match &self.auth {
            RegistryAuth::Anonymous => request,
            RegistryAuth::Basic(name, password) => request.basic_auth(name, Some(password)),
            RegistryAuth::Bearer(token) => request.bearer_auth(token),
        }
    }

    /// Returns the bytes and the digest of a manifest: the one of the digest, or of the tag.
    pub(super) fn manifest(&self, wanted: Option<Digest>) -> Result<(Vec<u8>, Digest), FetchError> {
        let name = match wanted {
            Some(digest) => format!("sha256:{digest}"),
            None => self.reference.tag().unwrap_or("latest").to_owned(),
        };
        let url = format!("{}{}/manifests/{name}", self.base, self.reference.repository());
        let request = self.authorized(self.http.get(url)).header("accept", ACCEPTED.join(", "));
        let (answer, body) = self.ask(request, MAX_MANIFEST)?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => {
                return Err(self
                    .fail(format!("the registry has no {} there", Shown(&name)), "check the repository and its tag"));
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(self.fail("the registry does not allow it", LOG_IN));
            }
            status => return Err(self.fail(format!("the registry answers {status}"), CHECK_ADDRESS)),
        }
        let digest = Digest::of(&body);
        let said = answer.headers().get("docker-content-digest").and_then(|it| it.to_str().ok());
        let is_said = said.and_then(|said| said.strip_prefix("sha256:")).is_none_or(|said| said == digest.to_string());
        if wanted.is_some_and(|wanted| wanted != digest) || !is_said {
            let reason = format!("the registry sent another manifest than it should: its digest is sha256:{digest}");
            return Err(self.fail(reason, DISTRUST));
        }
        Ok((body, digest))
    }

    /// Returns a reader of a blob, which fails at its end if the bytes are not those of the descriptor.
    pub(super) fn blob(&self, descriptor: &Descriptor) -> Result<BlobReader<'_>, FetchError> {
        let expected = descriptor.sha256().map_err(|why| self.fail(why, DISTRUST))?;
        let digest = descriptor.digest.as_str();
        let stream = self.wait(self.oci.pull_blob_stream(&self.image, digest))?;
        let stream = stream.map_err(|error| self.fail(shown_error(&error), CHECK_ADDRESS))?.stream;
        Ok(BlobReader {
            client: self,
            stream: stream.map(|chunk| chunk.map(|bytes| bytes.to_vec())).boxed(),
            rest: Vec::new(),
            at: 0,
            read: 0,
            size: descriptor.size,
            digester: Digester::default(),
            expected,
        })
    }

    /// Uploads a blob, unless the registry has it.
    pub(super) fn push_blob(&self, bytes: Vec<u8>) -> Result<(), FetchError> {
        let digest = format!("sha256:{}", Digest::of(&bytes));
        let failed = |error: oci_client::errors::OciDistributionError| self.fail(shown_error(&error), LOG_IN);
        if self.wait(self.oci.blob_exists(&self.image, &digest))?.map_err(failed)? {
            return Ok(());
        }
        self.wait(self.oci.push_blob(&self.image, bytes, &digest))?.map(drop).map_err(failed)
    }

    /// Uploads a manifest under the tag, and reads it back.
    pub(super) fn push_manifest(&self, bytes: &[u8]) -> Result<Digest, FetchError> {
        let content_type = reqwest::header::HeaderValue::from_static(MANIFEST_TYPE);
        let pushed = self.wait(self.oci.push_manifest_raw(&self.image, bytes.to_vec(), content_type))?;
        pushed.map_err(|error| self.fail(shown_error(&error), LOG_IN))?;
        let (read, digest) = self.manifest(None)?;
        if read != bytes {
            return Err(self.fail("the tag is another manifest already; another program has pushed, too", "push again"));
        }
        Ok(digest)
    }
}

/// The bytes of a blob as they come, counted and digested.
pub(super) struct BlobReader<'c> {
    client: &'c RegistryClient<'c>,
    stream: BoxStream<'static, Result<Vec<u8>, io::Error>>,
    rest: Vec<u8>,
    at: usize,
    read: u64,
    size: u64,
    digester: Digester,
    expected: Digest,
}

impl BlobReader<'_> {
    fn next(&mut self) -> Result<Option<Vec<u8>>, FetchError> {
        let client = self.client;
        let chunk = client.wait(self.stream.next())?;
        match chunk {
            Some(Ok(chunk)) => {
                self.read += chunk.len() as u64;
                if self.read > self.size {
                    return Err(
                        client.fail(format!("the registry sent more than the {} bytes of a blob", self.size), DISTRUST)
                    );
                }
                self.digester.update(&chunk);
                client.context.report(FetchEvent::Receiving { bytes: self.read });
                Ok(Some(chunk))
            }
            Some(Err(error)) => Err(client.fail(
                format!("the registry broke off, or sent other bytes than it should: {}", cause(&error)),
                "try again; if it stays so, do not trust it",
            )),
            None if self.read < self.size => {
                Err(client
                    .fail(format!("the registry sent {} of {} bytes of a blob", self.read, self.size), "try again"))
            }
            None if std::mem::take(&mut self.digester).finish() != self.expected => {
                Err(client.fail("the registry sent other bytes than it should: the digest of a blob differs", DISTRUST))
            }
            None => Ok(None),
        }
    }
}

impl Read for BlobReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.rest.len() {
            match self.next().map_err(carry)? {
                Some(chunk) => (self.rest, self.at) = (chunk, 0),
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.rest.len() - self.at);
        buffer[..count].copy_from_slice(&self.rest[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Returns a parameter of a challenge: `realm="https://…"`.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let (_, parameters) = challenge.split_once(' ')?;
    let mut rest = parameters;
    while let Some((key, after)) = rest.split_once('=') {
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        if key.trim().trim_start_matches(',').trim().eq_ignore_ascii_case(name) {
            return Some(value.to_owned());
        }
        rest = next.trim_start_matches([',', ' ']);
    }
    None
}

/// Returns an error of the client on one bounded line, with its cause.
fn shown_error(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string().replace(['\n', '\r'], " ");
    let cause = cause(error);
    if !text.contains(&cause) {
        text = format!("{text}: {cause}");
    }
    Shown(&text.chars().take(300).collect::<String>()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let text = r#"Bearer realm="https://auth.example/token?x=a,b",service="reg",scope="repository:a:pull,push""#;
        assert_eq!(parameter(text, "realm").as_deref(), Some("https://auth.example/token?x=a,b"));
        assert_eq!(parameter(text, "service").as_deref(), Some("reg"));
        assert_eq!(parameter(text, "scope").as_deref(), Some("repository:a:pull,push"));
        assert_eq!(parameter(text, "none"), None);
        assert_eq!(parameter("Bearer realm=plain, service=x", "service").as_deref(), Some("x"));
        assert_eq!(parameter("Bearer realm=\"open", "realm"), None);
    }
}
