//! The client that asks a model.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde::de::IgnoredAny;
use skillcue_http::reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use skillcue_http::reqwest::{self, Response, StatusCode, Url};
use skillcue_http::{ClientOptions, Events, Redirects, cause, is_tls_error};
use tokio_util::sync::CancellationToken;

use super::draft::Draft;
use super::names::WireNames;
use super::request_error::{RequestError, Says};
use super::{Api, Delta, Endpoint, EndpointError, ModelAnswer, ModelError, ModelRequest, anthropic, openai, retry};

/// The most bytes of an answer, and of an error.
const MAX_ANSWER: usize = 32 << 20;
const MAX_ERROR: usize = 64 << 10;
/// The most bytes of one event of an answer.
const MAX_EVENT: usize = 4 << 20;
/// How long the rest is waited for once the model has stopped: the cost, and the end.
const MAX_AFTER_STOP: Duration = Duration::from_secs(5);
/// How long the end of a response is waited for once the answer is there, so that its connection can be used again.
const MAX_TAIL_WAIT: Duration = Duration::from_millis(50);
/// How many times longer a server is waited for that shows that it is still there while its model may be at work: local
/// ones take minutes for a long request, and send comments, pings or empty chunks meanwhile.
const MAX_IDLE_FACTOR: u32 = 10;

/// A model that can be asked. Cheap to clone; all clones share their connections.
///
/// ```
/// use skillcue_agent::Message;
/// use skillcue_agent::model::{Delta, Endpoint, Model, Overrides, ModelRequest};
/// use skillcue_scripted::{Reply, Server};
/// use tokio_util::sync::CancellationToken;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let server = Server::start(|_| Reply::text("Bonjour, Alice."));
/// let over = Overrides { base_url: Some(server.url()), ..Overrides::default() };
/// let model = Model::new(Endpoint::resolve("openai:any", &over, &|_| None)?)?;
///
/// let messages = [Message::user("Say bonjour to Alice")];
/// let request = ModelRequest { system: &[], tools: &[], messages: &messages, max_tokens: None };
/// let mut heard = String::new();
/// let answer = model
///     .ask(&request, &CancellationToken::new(), &mut |delta| {
///         if let Delta::Text(text) = delta {
///             heard.push_str(text);
///         }
///     })
///     .await?;
/// assert_eq!((answer.text.as_str(), heard.as_str()), ("Bonjour, Alice.", "Bonjour, Alice."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Model(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    url: Url,
    headers: HeaderMap,
    client: reqwest::Client,
    /// Whether the server has refused the field that asks for the cost of an answer.
    no_usage: AtomicBool,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Model").field(&self.0.endpoint).finish()
    }
}

impl Model {
    /// Creates a client for an endpoint. Nothing is sent yet.
    pub fn new(endpoint: Endpoint) -> Result<Model, ModelError> {
        let url = endpoint.url()?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        if endpoint.api == Api::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
        }
        if let Some(key) = &endpoint.key {
            let (name, value) = match endpoint.api {
                Api::OpenAi => (AUTHORIZATION, format!("Bearer {}", key.reveal())),
                Api::Anthropic => (HeaderName::from_static("x-api-key"), key.reveal().to_owned()),
            };
            let mut value = HeaderValue::try_from(value).map_err(|_| EndpointError::Key)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        // The key and the conversation are for this server alone.
        let options = ClientOptions { connect_timeout: endpoint.timing.connect, redirects: Redirects::None };
        let client =
            skillcue_http::client(&url, &options).map_err(|error| ModelError::Client { reason: cause(&error) })?;
        Ok(Model(Arc::new(Inner { endpoint, url, headers, client, no_usage: AtomicBool::new(false) })))
    }

    /// Returns the model's name on the server.
    pub fn name(&self) -> &str {
        &self.0.endpoint.model
    }

    /// Returns the API of the server.
    pub fn api(&self) -> Api {
        self.0.endpoint.api
    }

    /// Returns the endpoint of the model.
    pub fn endpoint(&self) -> &Endpoint {
        &self.0.endpoint
    }

    /// Asks, and reports to `on` while the answer comes in.
    ///
    /// Errors that may pass are retried: the statuses 408, 409, 425, 429 and 5xx, a failed connection, an answer that is
    /// cut off or stalls; but not one that takes longer than [`RequestTiming`](super::RequestTiming) allows in all. A server that says
    /// how long to wait is waited for so long, unless it is more than two minutes.
    /// When `cancel` fires, everything is dropped at once, whatever is being waited for.
    pub async fn ask(
        &self,
        request: &ModelRequest<'_>,
        cancel: &CancellationToken,
        on: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelError::Cancelled),
            answer = self.0.try_all(request, on) => answer,
        }
    }
}

impl Inner {
    async fn try_all(
        &self,
        request: &ModelRequest<'_>,
        on: &mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let timing = &self.endpoint.timing;
        let (mut made, mut failed) = (0, 0);
        let mut wants_usage = !self.no_usage.load(Ordering::Relaxed);
        let most = if self.endpoint.api == Api::OpenAi { openai::MAX_NAME } else { anthropic::MAX_NAME };
        let names = WireNames::new(request, most);
        let mut body = self.body(request, &names, wants_usage);
        loop {
            made += 1;
            let total = timing.total.max(timing.idle);
            let reason = match tokio::time::timeout(total, self.attempt(body.clone(), &names, on)).await {
                Ok(Ok(draft)) => return Ok(draft.finish(request.messages, made)),
                Ok(Err(reason)) => reason,
                Err(_) => RequestError::Slow(total),
            };
            let refused = self.endpoint.api == Api::OpenAi && wants_usage && reason.refuses_usage();
            let (passes, asked) = (reason.passes(), reason.wait());
            let error = reason.into_error(self.url.as_str(), &self.endpoint.model, self.endpoint.key.as_ref());
            let wait = if refused {
                // Some servers refuse the field that asks for the cost of an answer. Then it is omitted.
                self.no_usage.store(true, Ordering::Relaxed);
                wants_usage = false;
                body = self.body(request, &names, false);
                Duration::ZERO
            } else {
                failed += 1;
                if !passes || failed >= timing.attempts || asked.is_some_and(|wait| wait > retry::MAX_WAIT) {
                    return Err(error.after(made));
                }
                asked.map_or_else(|| retry::backoff(timing, failed), retry::a_little_longer)
            };
            on(Delta::Retry { attempt: made + 1, wait, why: &error.to_string() });
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
        }
    }

    fn body(&self, request: &ModelRequest<'_>, names: &WireNames, wants_usage: bool) -> Vec<u8> {
        let model = &self.endpoint.model;
        let body = match self.endpoint.api {
            Api::OpenAi => {
                let dialect = openai::OpenAiDialect { new_limit: Endpoint::is_openai(&self.url), wants_usage };
                openai::body(request, names, model, dialect)
            }
            Api::Anthropic => anthropic::body(request, names, model),
        };
        body.to_string().into_bytes()
    }

    async fn attempt<'d>(
        &self,
        body: Vec<u8>,
        names: &'d WireNames,
        on: &'d mut (dyn FnMut(Delta<'_>) + Send),
    ) -> Result<Draft<'d>, RequestError> {
        let mut draft = Draft::new(on).hiding(self.endpoint.key.as_ref());
        draft.own = names.own();
        let sent = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body).send();
        let response = within(self.endpoint.timing.idle, sent).await?.map_err(|error| no_answer(&error))?;
        if response.status() != StatusCode::OK {
            return Err(self.refusal(response).await);
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            "text/event-stream" | "text/plain" | "application/octet-stream" | "" => {
                self.stream(response, &mut draft).await?;
            }
            kind if kind.ends_with("json") => self.whole(response, Vec::new(), &mut draft).await?,
            kind => {
                return Err(RequestError::malformed(format!("it is {kind}, and neither a stream of events nor JSON")));
            }
        }
        Ok(draft)
    }

    async fn refusal(&self, mut response: Response) -> RequestError {
        let status = response.status();
        let wait = retry::asked(response.headers(), SystemTime::now());
        if status.is_redirection() {
            let to = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let to = format!("it leads elsewhere: {}", to.unwrap_or("nowhere"));
            return RequestError::Status { status: status.as_u16(), says: Says::plain(to), wait: None };
        }
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                let room = MAX_ERROR - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if body.len() == MAX_ERROR {
                    break;
                }
            }
        };
        // The status says enough if the rest does not come, or comes a byte at a time.
        let _ = tokio::time::timeout(self.endpoint.timing.idle, read).await;
        RequestError::Status { status: status.as_u16(), says: Says::of_body(&body), wait }
    }

    async fn stream(&self, mut response: Response, draft: &mut Draft<'_>) -> Result<(), RequestError> {
        let take = match self.endpoint.api {
            Api::OpenAi => openai::event,
            Api::Anthropic => anthropic::event,
        };
        let idle = self.endpoint.timing.idle;
        let mut events = Events::new(MAX_EVENT);
        let (mut begun, mut read) = (false, 0);
        let mut silence = Silence::new(idle);
        let (mut known, mut stopped) = (draft.content(), false);
        let ended = loop {
            // After the finish reason, further content does not prolong the wait.
            if draft.content() > known && !stopped {
                (known, stopped) = (draft.content(), draft.stop.is_some());
                silence.broken();
            }
            let most = match (stopped, draft.is_awaited()) {
                (true, _) => idle.min(MAX_AFTER_STOP),
                (false, true) => idle.saturating_mul(MAX_IDLE_FACTOR),
                (false, false) => idle,
            };
            let chunk = match silence.next(response.chunk(), most).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => {
                    // The last event need not have ended. But half of one is none: the stream was cut.
                    events.end(&mut |data| if is_event(data) { take(data, draft) } else { Ok(()) })?;
                    break RequestError::Cut("it ends too early".to_owned());
                }
                Err(failed) => break failed,
            };
            read += chunk.len();
            if read > MAX_ANSWER {
                return Err(RequestError::too_large("the answer", MAX_ANSWER));
            }
            if !begun {
                let first = chunk.trim_ascii_start().first();
                if first == Some(&b'{') {
                    // No stream, though it is called one.
                    return self.whole(response, chunk.to_vec(), draft).await;
                }
                begun = first.is_some();
            }
            events.feed(&chunk, &mut |data| take(data, draft))?;
            if draft.done {
                let _ = tokio::time::timeout(MAX_TAIL_WAIT, response.chunk()).await;
                return Ok(());
            }
        };
        if draft.is_complete() { Ok(()) } else { Err(ended) }
    }

    /// Takes an answer that is one document, of which `body` has come already.
    async fn whole(
        &self,
        mut response: Response,
        mut body: Vec<u8>,
        draft: &mut Draft<'_>,
    ) -> Result<(), RequestError> {
        let idle = self.endpoint.timing.idle;
        let mut silence = Silence::new(idle);
        let mut begun = !body.trim_ascii_start().is_empty();
        loop {
            // Blanks say that the server is still there, and no more.
            let most = if begun { idle } else { idle.saturating_mul(MAX_IDLE_FACTOR) };
            let Some(chunk) = silence.next(response.chunk(), most).await? else { break };
            if !chunk.trim_ascii_start().is_empty() {
                begun = true;
                silence.broken();
            }
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(RequestError::too_large("the answer", MAX_ANSWER));
            }
            body.extend_from_slice(&chunk);
        }
        let value = serde_json::from_slice(&body).map_err(|error| match error.classify() {
            serde_json::error::Category::Eof => RequestError::Cut("it ends too early".to_owned()),
            _ => RequestError::malformed(format!("it is no JSON: {error}")),
        })?;
        match self.endpoint.api {
            Api::OpenAi => openai::whole(&value, draft),
            Api::Anthropic => anthropic::whole(&value, draft),
        }
    }
}

/// How long no content has come, whatever else did.
struct Silence {
    idle: Duration,
    since: Instant,
}

impl Silence {
    fn new(idle: Duration) -> Silence {
        Silence { idle, since: Instant::now() }
    }

    /// Notes that content has come.
    fn broken(&mut self) {
        self.since = Instant::now();
    }

    /// Waits for the next bytes: for any at all as long as the server may be idle, and not beyond `most` since there was
    /// content, though it sends something all the time.
    async fn next<T>(
        &self,
        chunk: impl Future<Output = reqwest::Result<T>>,
        most: Duration,
    ) -> Result<T, RequestError> {
        let left = most.saturating_sub(self.since.elapsed());
        let no_content =
            || RequestError::Cut(format!("the server is there, but no content came for {} s", most.as_secs_f64()));
        // Bytes that are there already would be taken even if no time is left.
        if left.is_zero() {
            return Err(no_content());
        }
        match tokio::time::timeout(self.idle.min(left), chunk).await {
            Ok(chunk) => chunk.map_err(|error| RequestError::Cut(cause(&error))),
            Err(_) if left < self.idle => Err(no_content()),
            Err(_) => Err(nothing_came(self.idle)),
        }
    }
}

/// Returns whether this is a whole event, and not its beginning.
fn is_event(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<IgnoredAny>(data).is_ok()
}

/// Waits for something of the server, but not for ever.
async fn within<T>(most: Duration, waited: impl Future<Output = T>) -> Result<T, RequestError> {
    tokio::time::timeout(most, waited).await.map_err(|_| nothing_came(most))
}

fn nothing_came(most: Duration) -> RequestError {
    RequestError::Cut(format!("nothing came for {} s", most.as_secs_f64()))
}

/// Returns the error for an answer that has not begun.
fn no_answer(error: &reqwest::Error) -> RequestError {
    if !error.is_connect() {
        return RequestError::Cut(cause(error));
    }
    if is_tls_error(error) { RequestError::NoConnection(cause(error)) } else { RequestError::Connect(cause(error)) }
}
