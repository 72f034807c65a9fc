//! The transports to a server, bounded.
//!
//! The SDK's own transports take responses of any size, and take a result that carries `_meta` for that of a tool call,
//! dropping everything else in it. These are thin ones without that: they read at most [`MAX_RESPONSE`] bytes, and hand
//! the results that this module asks for over as they came.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use futures::stream::BoxStream;
use http::{HeaderName, HeaderValue, StatusCode, header};
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, CustomResult, ErrorData, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use serde_json::Value;
use skillcue_base::Shown;
use skillcue_http::{ClientOptions, EventTooLarge, Events, Redirects, reqwest};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How many bytes one response may have.
pub(crate) const MAX_RESPONSE: usize = 32 << 20;
/// How long a program has to end by itself once its standard input is closed.
const GRACE: Duration = Duration::from_millis(250);

/// Reads one message.
fn message(bytes: &[u8]) -> serde_json::Result<ServerJsonRpcMessage> {
    let mut value: Value = serde_json::from_slice(bytes)?;
    let ours = |result: &Value| ["skills", "skill", "contents"].iter().any(|key| result.get(key).is_some());
    if value.get("result").is_some_and(ours)
        && let Some(id) = value.get("id")
    {
        let id = serde_json::from_value::<RequestId>(id.clone())?;
        let result = ServerResult::CustomResult(CustomResult::new(value["result"].take()));
        return Ok(ServerJsonRpcMessage::response(result, id));
    }
    serde_json::from_value(value)
}

fn too_large() -> io::Error {
    io::Error::other(format!("the response has more than {MAX_RESPONSE} bytes"))
}

/// HTTP for the SDK's client. One response is one message, whether it comes as JSON or as a stream of events.
#[derive(Debug, Clone)]
pub(crate) struct HttpClient {
    client: reqwest::Client,
}

type HttpError = StreamableHttpError<reqwest::Error>;

impl HttpClient {
    pub(crate) fn new(url: &str, timeout: Duration) -> Result<HttpClient, String> {
        let url = reqwest::Url::parse(url).map_err(|error| error.to_string())?;
        let options = ClientOptions { connect_timeout: timeout, redirects: Redirects::SameOrigin };
        Ok(HttpClient { client: skillcue_http::client(&url, &options).map_err(|error| cause(&error))? })
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let id = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let mut request = self
            .client
            .post(uri.as_ref())
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header(header::CONTENT_TYPE, "application/json")
            .body(serde_json::to_vec(&message)?);
        request = with_headers(request, auth_header, custom_headers);
        let in_session = session_id.is_some();
        if let Some(session) = session_id {
            request = request.header("mcp-session-id", session.as_ref());
        }
        let response = request.send().await.map_err(HttpError::Client)?;
        let status = response.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let challenge = response.headers().get(header::WWW_AUTHENTICATE);
            let challenge = challenge.and_then(|value| value.to_str().ok()).unwrap_or("no challenge").to_owned();
            return Err(HttpError::AuthRequired(AuthRequiredError::new(format!("HTTP {status}: {challenge}"))));
        }
        if status == StatusCode::NOT_FOUND && in_session {
            return Err(HttpError::SessionExpired);
        }
        let Some(id) = id else {
            // A notification has no answer.
            return if status.is_success() {
                Ok(StreamableHttpPostResponse::Accepted)
            } else {
                Err(unexpected(status))
            };
        };
        let session = response.headers().get("mcp-session-id").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let kind =
            response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = kind.to_ascii_lowercase();
        if status.is_success() && kind.starts_with("text/event-stream") {
            return Ok(StreamableHttpPostResponse::Json(answer_of_stream(response, &id).await?, session));
        }
        let body = read_all(response).await?;
        if !status.is_success() {
            return rejection(&message, &id, in_session, status, &body)
                .map(|answer| StreamableHttpPostResponse::Json(answer, session));
        }
        match self::message(&body) {
            Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            Err(error) => Err(HttpError::UnexpectedServerResponse(Cow::Owned(format!("no message: {error}")))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let request = self.client.delete(uri.as_ref()).header("mcp-session-id", session_id.as_ref());
        // A server that keeps sessions for ever harms only itself.
        with_headers(request, auth_header, custom_headers).send().await.map_err(HttpError::Client)?;
        Ok(())
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        _session_id: Option<Arc<str>>,
        _last_event_id: Option<String>,
        _auth_header: Option<String>,
        _custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<sse_stream::Sse, rmcp::transport::streamable_http_client::SseError>>, HttpError>
    {
        // Notifications of the server are not needed: listings have a time to live.
        Err(HttpError::ServerDoesNotSupportSse)
    }
}

fn with_headers(
    request: reqwest::RequestBuilder,
    token: Option<String>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> reqwest::RequestBuilder {
    let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    token.into_iter().fold(request, reqwest::RequestBuilder::bearer_auth)
}

fn unexpected(status: StatusCode) -> HttpError {
    HttpError::UnexpectedServerResponse(Cow::Owned(format!("HTTP {status}")))
}

/// Turns an HTTP error into an answer: the server's own error if it sent one. A server that does not know
/// `server/discover` is an older one, and its refusal, whatever its form, makes the SDK start the older way.
fn rejection(
    message: &ClientJsonRpcMessage,
    id: &RequestId,
    in_session: bool,
    status: StatusCode,
    body: &[u8],
) -> Result<ServerJsonRpcMessage, HttpError> {
    if let Ok(ServerJsonRpcMessage::Error(answer)) = self::message(body) {
        return Ok(ServerJsonRpcMessage::error(answer.error, Some(id.clone())));
    }
    let discovers = matches!(message, ClientJsonRpcMessage::Request(request)
        if matches!(request.request, ClientRequest::DiscoverRequest(_)));
    if discovers && !in_session && status.is_client_error() {
        let error = ErrorData::invalid_request(format!("HTTP {status}"), None);
        return Ok(ServerJsonRpcMessage::error(error, Some(id.clone())));
    }
    Err(unexpected(status))
}

async fn read_all(mut response: reqwest::Response) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(HttpError::Client)? {
        if body.len() + chunk.len() > MAX_RESPONSE {
            return Err(HttpError::Io(too_large()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Waits for the answer among a stream's events. Progress, log messages and requests of the server are passed over.
async fn answer_of_stream(mut response: reqwest::Response, id: &RequestId) -> Result<ServerJsonRpcMessage, HttpError> {
    let mut events = Events::new(MAX_RESPONSE);
    let (mut read, mut found) = (0, None);
    let hear = |found: &mut Option<ServerJsonRpcMessage>, data: &str| {
        if found.is_none() {
            *found = answer_in(data, id);
        }
        Ok::<(), EventTooLarge>(())
    };
    while let Some(chunk) = response.chunk().await.map_err(HttpError::Client)? {
        read += chunk.len();
        if read > MAX_RESPONSE {
            return Err(HttpError::Io(too_large()));
        }
        events.feed(&chunk, &mut |data| hear(&mut found, data)).map_err(|_| HttpError::Io(too_large()))?;
        if let Some(answer) = found {
            return Ok(answer);
        }
    }
    // The last event need not have ended; half of one is no message.
    let _ = events.end(&mut |data| hear(&mut found, data));
    found.ok_or(HttpError::UnexpectedEndOfStream)
}

/// Returns the answer to a request, if an event is it.
fn answer_in(data: &str, id: &RequestId) -> Option<ServerJsonRpcMessage> {
    match message(data.as_bytes()) {
        Ok(ServerJsonRpcMessage::Response(answer)) if answer.id == *id => Some(ServerJsonRpcMessage::Response(answer)),
        Ok(ServerJsonRpcMessage::Error(answer)) if answer.id.as_ref().is_none_or(|of| of == id) => {
            Some(ServerJsonRpcMessage::error(answer.error, Some(id.clone())))
        }
        Ok(_) => None,
        Err(error) => {
            tracing::debug!(target: "skillcue::mcp", "an event is no message: {error}");
            None
        }
    }
}

/// The standard input and output of a program, for the SDK's client.
#[derive(Debug)]
pub(crate) struct ProgramPipes {
    output: BufReader<ChildStdout>,
    /// The bytes of the next line so far. They outlive a call of `receive`, which may be dropped half-way.
    line: Vec<u8>,
    input: Arc<Mutex<Option<ChildStdin>>>,
}

impl Transport<RoleClient> for ProgramPipes {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let input = Arc::clone(&self.input);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            match input.lock().await.as_mut() {
                Some(input) => {
                    input.write_all(&line).await?;
                    input.flush().await
                }
                None => Err(io::ErrorKind::NotConnected.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let available = self.output.fill_buf().await.ok()?;
            if available.is_empty() {
                return None;
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = newline.map_or(available.len(), |at| at + 1);
            self.line.extend_from_slice(&available[..taken]);
            self.output.consume(taken);
            if self.line.len() > MAX_RESPONSE {
                tracing::debug!(target: "skillcue::mcp", "{}", too_large());
                return None;
            }
            if newline.is_none() {
                continue;
            }
            let line = std::mem::take(&mut self.line);
            match message(line.trim_ascii()) {
                Ok(message) => return Some(message),
                // Programs may print other lines before their first message.
                Err(error) => tracing::debug!(target: "skillcue::mcp", "a line is no message: {error}"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.input.lock().await.take();
        Ok(())
    }
}

/// A program to start, its environment and its working directory.
#[derive(Debug)]
pub(crate) struct ProgramSpec<'s> {
    pub(crate) program: &'s str,
    pub(crate) args: &'s [String],
    /// All of its environment. Of two values for one variable the later counts.
    pub(crate) env: Vec<(&'s str, &'s str)>,
    pub(crate) cwd: &'s Path,
}

/// Starts a program. It and all processes that it starts end when the guard is dropped or `stop` is cancelled;
/// `running` is dropped once they have.
pub(crate) fn spawn(
    label: &str,
    start: &ProgramSpec<'_>,
    stop: &CancellationToken,
    running: mpsc::Sender<()>,
) -> io::Result<(ProgramPipes, DropGuard)> {
    let mut command = Command::new(start.program);
    command.args(start.args).current_dir(start.cwd).env_clear().envs(start.env.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    // A group of its own: its children end with it, and a Ctrl-C at the terminal does not reach it.
    let mut command = CommandWrap::from(command);
    command.wrap(ProcessGroup::leader());
    let mut child = command.spawn()?;
    let pipes = (child.stdin().take(), child.stdout().take(), child.stderr().take());
    let (Some(input), Some(output), errors) = pipes else {
        return Err(io::Error::other("the program has no standard input or output"));
    };
    if let Some(errors) = errors {
        tokio::spawn(log(label.to_owned(), errors));
    }
    let guard = child.id().map(guard).transpose().unwrap_or_else(|error| {
        tracing::debug!(target: "skillcue::mcp", server = label, "no guard can be started: {error}");
        None
    });
    let stop = stop.child_token();
    tokio::spawn(watch(child, guard, stop.clone(), running));
    let pipes =
        ProgramPipes { output: BufReader::new(output), line: Vec::new(), input: Arc::new(Mutex::new(Some(input))) };
    Ok((pipes, stop.drop_guard()))
}

/// Starts a guard that ends the program's group as soon as this process is gone, even if it was killed: the guard waits
/// for the end of its standard input, whose other end is held here alone. It ends when it is dropped.
///
/// The kernel's own way (`PR_SET_PDEATHSIG`) has to be asked for between fork and exec, which takes unsafe code, does
/// not end the program's children, and already acts when the thread ends.
fn guard(group: u32) -> io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "read -r _; kill -9 -\"$1\"", "skillcue-guard", &group.to_string()]);
    command.env_clear().current_dir("/").process_group(0).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Waits for a program's end, and ends its group.
async fn watch(
    mut child: Box<dyn ChildWrapper>,
    guard: Option<Child>,
    stop: CancellationToken,
    running: mpsc::Sender<()>,
) {
    let ended = tokio::select! {
        _ = child.wait() => true,
        () = stop.cancelled() => false,
    };
    if !ended {
        // Its standard input is being closed: a good program ends by itself.
        let _ = tokio::time::timeout(GRACE, child.wait()).await;
    }
    // The rest of its group, too. That nothing is left is no error.
    let _ = child.start_kill();
    let _ = child.wait().await;
    if let Some(mut guard) = guard {
        let _ = guard.kill().await;
    }
    drop(running);
}

/// Copies a program's standard error to the log.
async fn log(label: String, mut errors: ChildStderr) {
    let mut buffer = vec![0; 4096];
    while let Ok(read @ 1..) = errors.read(&mut buffer).await {
        for line in String::from_utf8_lossy(&buffer[..read]).lines() {
            tracing::debug!(target: "skillcue::mcp", server = label, "{}", Shown(line));
        }
    }
}

/// Returns the cause of an error, in one line: of a chain of errors, the last is the one that says what happened.
pub(crate) fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    // The SDK's error does not name its cause.
    let mut errors = std::iter::successors(Some(error), |error| error.source());
    match errors.find_map(|error| error.downcast_ref::<HttpError>()) {
        Some(HttpError::Client(behind)) => Shown(&skillcue_http::cause(behind)).to_string(),
        Some(HttpError::UnexpectedServerResponse(answer)) => {
            Shown(&format!("an unexpected answer: {answer}")).to_string()
        }
        Some(HttpError::AuthRequired(refused)) => {
            Shown(&format!("a token is required: {}", refused.www_authenticate_header)).to_string()
        }
        Some(other) => Shown(&skillcue_http::cause(other)).to_string(),
        None => Shown(&skillcue_http::cause(error)).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_the_extension_come_whole() {
        let text = br#"{"jsonrpc":"2.0","id":1,"result":{"skills":[],"_meta":{"x":1},"content":[],"tools":[]}}"#;
        let Ok(ServerJsonRpcMessage::Response(answer)) = message(text) else { panic!() };
        let ServerResult::CustomResult(result) = answer.result else { panic!("{:?}", answer.result) };
        assert!(result.0.get("skills").is_some());
    }
}
