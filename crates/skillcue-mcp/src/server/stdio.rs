//! The server over two streams, one message per line: stdin and stdout, or a pair in memory.
//!
//! The SDK's own transport drops lines that it cannot parse. This one answers, as JSON-RPC demands. It also keeps a
//! client that asks without reading from filling the memory: it accepts a fixed number of requests at once, and reads
//! on only once one of them has been answered and the answer written.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions, JsonRpcMessage, RequestId, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::SkillServer;
use super::backlog::{Backlog, BacklogShare};
use super::digits;

/// The length of the longest line that is read, in bytes.
const MAX_LINE: usize = 16 << 20;

/// How many lines wait for a client that does not read.
const MAX_WAITING: usize = 64;

/// How many requests of one client are under way at once: not answered yet, or the answer not yet written.
const MAX_REQUESTS: usize = 64;

/// How many requests, and bytes of them, are read beyond that: a cancellation behind them still gets through.
const MAX_HELD: usize = 64;
const MAX_HELD_BYTES: usize = 1 << 20;

/// Serves one client over stdin and stdout, until it closes its end or `cancel` is cancelled. Nothing else may be
/// written to stdout meanwhile.
pub async fn serve_standard_io(server: &SkillServer, cancel: CancellationToken) -> io::Result<()> {
    let (reader, writer) = rmcp::transport::stdio_pipes();
    serve_stdio(server, reader, writer, cancel).await
}

/// Serves one client over a reader and a writer, until the reader ends or `cancel` is cancelled.
pub async fn serve_stdio<R, W>(server: &SkillServer, reader: R, writer: W, cancel: CancellationToken) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let session = server.session(true);
    let lines = LineTransport::new(reader, writer, Arc::clone(session.session.backlog()));
    match session.serve_with_ct(lines, cancel).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // A client that closes without a message, or a cancellation, is no error.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// A transport of one message per line.
struct LineTransport<R> {
    reader: BufReader<R>,
    /// The bytes of the line so far: `receive` may be dropped at any point and called again.
    line: Vec<u8>,
    /// Whether the rest of a line that was too long is being skipped.
    is_skipping: bool,
    /// Whether a request has come: before that, the SDK takes anything else for an error.
    has_begun: bool,
    /// Whether the client has closed its end.
    has_ended: bool,
    /// An answer to a line that is no message, not yet sent.
    answer: Option<Vec<u8>>,
    /// Requests that wait for a slot among those under way, each with its length.
    held: VecDeque<(ClientJsonRpcMessage, usize)>,
    slots: Arc<Semaphore>,
    /// The slots of the requests under way. Each is released once its answer is written; if it is cancelled there will
    /// be no answer, and the running request holds the slot until it ends.
    taken: HashMap<RequestId, RequestSlot>,
    backlog: Arc<Backlog>,
    sender: Option<mpsc::Sender<OutgoingLine>>,
    writing: Option<JoinHandle<()>>,
}

/// A slot among the requests under way, released with the last clone.
type RequestSlot = Arc<OwnedSemaphorePermit>;

/// A line to be written, and the slot and the share of the backlog that it holds until then.
struct OutgoingLine {
    line: Vec<u8>,
    _slot: Option<RequestSlot>,
    _weight: Option<BacklogShare>,
}

/// The outcome of reading the next line.
enum LineRead {
    Line,
    TooLong,
    End,
}

impl<R: AsyncRead + Send + Unpin> LineTransport<R> {
    fn new<W: AsyncWrite + Send + Unpin + 'static>(reader: R, writer: W, backlog: Arc<Backlog>) -> LineTransport<R> {
        let (sender, waiting) = mpsc::channel(MAX_WAITING);
        LineTransport {
            reader: BufReader::with_capacity(64 << 10, reader),
            line: Vec::new(),
            is_skipping: false,
            has_begun: false,
            has_ended: false,
            answer: None,
            held: VecDeque::new(),
            slots: Arc::new(Semaphore::new(MAX_REQUESTS)),
            taken: HashMap::new(),
            backlog,
            sender: Some(sender),
            writing: Some(tokio::spawn(write(writer, waiting))),
        }
    }

    /// Reads up to the next line's end. May be dropped while it waits: what was read is kept.
    async fn next(&mut self) -> io::Result<LineRead> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                // A last line without an end is a line, unless it was too long.
                let is_line = !self.is_skipping && !self.line.is_empty();
                return Ok(if is_line { LineRead::Line } else { LineRead::End });
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let is_too_long = !self.is_skipping && self.line.len() + part.len() > MAX_LINE;
            if is_too_long {
                self.line = Vec::new();
                self.is_skipping = true;
            } else if !self.is_skipping {
                self.line.extend_from_slice(part);
            }
            let read = part.len() + usize::from(end.is_some());
            self.reader.consume(read);
            let has_ended = end.is_some();
            if is_too_long {
                self.is_skipping = !has_ended;
                return Ok(LineRead::TooLong);
            }
            if has_ended && std::mem::take(&mut self.is_skipping) {
                continue;
            }
            if has_ended {
                return Ok(LineRead::Line);
            }
        }
    }

    /// Returns whether there is room for another line, should it be a request.
    fn may_read(&self) -> bool {
        let bytes: usize = self.held.iter().map(|(_, length)| length).sum();
        !self.has_ended && self.held.len() < MAX_HELD && bytes < MAX_HELD_BYTES
    }

    /// Returns a message that is passed on now; a request is held until there is a slot.
    fn sort(&mut self, message: ClientJsonRpcMessage, length: usize) -> Option<ClientJsonRpcMessage> {
        match &message {
            // A subscription is under way for as long as the client likes; a session counts its streams.
            JsonRpcMessage::Request(request)
                if !matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) =>
            {
                self.held.push_back((message, length));
                None
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.taken.remove(id);
                    let is_other = |message: &ClientJsonRpcMessage| id_of_request(message) != Some(id);
                    self.held.retain(|(message, _)| is_other(message));
                }
                Some(message)
            }
            _ => Some(message),
        }
    }

    /// Returns the first request that waits, now that it has a slot.
    fn release(&mut self, slot: OwnedSemaphorePermit) -> Option<ClientJsonRpcMessage> {
        let (mut message, _) = self.held.pop_front()?;
        let slot = Arc::new(slot);
        if let JsonRpcMessage::Request(request) = &mut message {
            self.taken.insert(request.id.clone(), Arc::clone(&slot));
            request.request.extensions_mut().insert(slot);
        }
        Some(message)
    }

    /// Returns the message in the line; the error is the answer to send instead.
    fn take_message(&mut self) -> Result<Option<ClientJsonRpcMessage>, Value> {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        if text.is_empty() {
            return Ok(None);
        }
        match serde_json::from_slice::<ClientJsonRpcMessage>(text) {
            Ok(message) => Ok(Some(message)),
            Err(_) => not_a_message(text).map_or(Ok(None), Err),
        }
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let sender = self.sender.clone();
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let slot = answered.and_then(|id| self.taken.remove(id));
        let backlog = Arc::clone(&self.backlog);
        async move {
            let is_extended = matches!(
                &item, JsonRpcMessage::Response(response) if matches!(response.result, ServerResult::CustomResult(_))
            );
            let line = serde_json::to_vec(&item)?;
            let line = if is_extended { digits::release(line) } else { line };
            drop(item);
            let weight = backlog.add(line.len());
            let line = OutgoingLine { line, _slot: slot, _weight: Some(weight) };
            let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the client does not listen any more");
            sender.ok_or_else(gone)?.send(line).await.map_err(|_| gone())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let sender = self.sender.clone()?;
        let slots = Arc::clone(&self.slots);
        loop {
            if self.answer.is_some() {
                // Only once there is room, and with nothing to wait for in between, so that no answer is lost.
                let room = sender.reserve().await.ok()?;
                if let Some(line) = self.answer.take() {
                    room.send(OutgoingLine { line, _slot: None, _weight: None });
                }
            }
            let (is_waiting, may_read) = (!self.held.is_empty(), self.may_read());
            if self.has_ended && !is_waiting {
                return None;
            }
            let next = tokio::select! {
                biased;
                () = sender.closed() => return None,
                slot = Arc::clone(&slots).acquire_owned(), if is_waiting => {
                    // The semaphore is never closed.
                    return self.release(slot.ok()?);
                }
                next = self.next(), if may_read => next,
            };
            let problem = match next {
                Ok(LineRead::End) => {
                    self.has_ended = true;
                    continue;
                }
                Ok(LineRead::TooLong) => {
                    invalid_request(&Value::Null, &format!("the message is longer than {MAX_LINE} bytes"))
                }
                Ok(LineRead::Line) => {
                    let length = self.line.len();
                    match self.take_message() {
                        Ok(None) => continue,
                        Ok(Some(message)) => {
                            self.has_begun |= matches!(message, ClientJsonRpcMessage::Request(_));
                            if self.has_begun
                                && let Some(message) = self.sort(message, length)
                            {
                                return Some(message);
                            }
                            continue;
                        }
                        Err(problem) => problem,
                    }
                }
                Err(error) => {
                    tracing::warn!(target: "skillcue::mcp", %error, "cannot read from the client");
                    return None;
                }
            };
            // A value just built of texts and numbers has a JSON form.
            self.answer = serde_json::to_vec(&problem).ok();
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.sender = None;
        if let Some(writing) = self.writing.take() {
            writing.await.map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// Writes lines until there are none any more or the client has closed its end.
async fn write<W: AsyncWrite + Unpin>(mut writer: W, mut waiting: mpsc::Receiver<OutgoingLine>) {
    while let Some(mut outgoing) = waiting.recv().await {
        outgoing.line.push(b'\n');
        let written = async {
            writer.write_all(&outgoing.line).await?;
            // More may be waiting already: they go out together.
            if waiting.is_empty() { writer.flush().await } else { Ok(()) }
        };
        if written.await.is_err() {
            return;
        }
    }
    // An error means that the client is gone.
    let _ = writer.shutdown().await;
}

fn id_of_request(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(&request.id),
        _ => None,
    }
}

/// Returns the answer to bytes that are no message. None, if they are a notification, which has no answer.
pub(super) fn not_a_message(bytes: &[u8]) -> Option<Value> {
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => return Some(error_message(&Value::Null, -32700, &format!("this is no JSON: {error}"))),
    };
    if value.is_array() {
        return Some(invalid_request(&Value::Null, "batches are not part of the protocol"));
    }
    let id = value.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64()).cloned();
    let has_method = value.get("method").is_some_and(Value::is_string);
    let is_version_2 = value.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
    match id {
        None if has_method && is_version_2 && value.get("id").is_none() => None,
        id => Some(invalid_request(&id.unwrap_or_default(), "this is no JSON-RPC 2.0 message")),
    }
}

fn invalid_request(id: &Value, message: &str) -> Value {
    error_message(id, -32600, message)
}

fn error_message(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::not_a_message;

    #[test]
    fn answers_as_json_rpc_says() {
        let code = |text: &str| {
            not_a_message(text.as_bytes()).map(|answer| (answer["error"]["code"].clone(), answer["id"].clone()))
        };
        assert_eq!(code("{"), Some((json!(-32700), Value::Null)));
        assert_eq!(code("[]"), Some((json!(-32600), Value::Null)));
        assert_eq!(code("7"), Some((json!(-32600), Value::Null)));
        assert_eq!(code(r#"{"id": 3, "method": "ping"}"#), Some((json!(-32600), json!(3))));
        assert_eq!(code(r#"{"jsonrpc": "2.0", "method": "notifications/x", "params": 5}"#), None);
    }
}
