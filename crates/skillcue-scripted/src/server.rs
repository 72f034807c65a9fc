//! The server.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http::{self, Framing, Head};
use crate::reply::{self, ReplyContent};
use crate::route::{self, RequestRules};
use crate::{Received, Reply, Wire, anthropic, gemini, openai, responses};

type ReplyScript = dyn Fn(&Received) -> Reply + Send + Sync;

/// A model server on an address of this machine. It ends, with all its connections, when it is dropped.
///
/// Each connection has a thread of its own, so a script may be asked several things at once.
#[derive(Debug)]
pub struct Server {
    shared: Arc<ScriptedState>,
    address: SocketAddr,
    accepting: Option<JoinHandle<()>>,
}

struct ScriptedState {
    script: Box<ReplyScript>,
    key: Option<String>,
    rules: RequestRules,
    state: Mutex<ServerLog>,
    changed: Condvar,
}

#[derive(Default)]
struct ServerLog {
    requests: Vec<Received>,
    refused: Vec<String>,
    disconnects: usize,
    connections: BTreeMap<usize, TcpStream>,
    accepted: usize,
    ended: bool,
}

impl std::fmt::Debug for ScriptedState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedState").field("requests", &self.state().requests.len()).finish_non_exhaustive()
    }
}

impl ScriptedState {
    fn state(&self) -> MutexGuard<'_, ServerLog> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut ServerLog)) {
        change(&mut self.state());
        self.changed.notify_all();
    }
}

impl Server {
    /// Starts a server that takes any key, and none.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub fn start(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Server {
        Server::begin(None, RequestRules::Ours, Box::new(script))
    }

    /// Starts a server for programs of others. They use more fields and roles than ours do, so only what a request means
    /// is checked: that it has a model and messages, that names of tools differ, and that results answer calls.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub fn for_clients(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Server {
        Server::begin(None, RequestRules::Clients, Box::new(script))
    }

    /// Starts a server that answers 401 to requests without this key.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub fn with_key(key: impl Into<String>, script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Server {
        Server::begin(Some(key.into()), RequestRules::Ours, Box::new(script))
    }

    #[expect(clippy::expect_used, reason = "a test cannot go on without its server")]
    fn begin(key: Option<String>, rules: RequestRules, script: Box<ReplyScript>) -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(ScriptedState { script, key, rules, state: Mutex::default(), changed: Condvar::new() });
        let accepting = Some(thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        }));
        Server { shared, address, accepting }
    }

    /// Returns its address: `http://127.0.0.1:PORT`. All APIs are below it, with and without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns every request so far, refused ones too.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.state().requests.clone()
    }

    /// Returns the reasons why requests were refused that never reached the script.
    pub fn refused(&self) -> Vec<String> {
        self.shared.state().refused.clone()
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.shared.state().accepted
    }

    /// Returns the number of clients that went away before they had their answers.
    pub fn disconnects(&self) -> usize {
        self.shared.state().disconnects
    }

    /// Waits until so many clients have gone away; false if that takes too long.
    pub fn wait_for_disconnects(&self, count: usize) -> bool {
        self.wait(|state| state.disconnects >= count)
    }

    /// Waits until so many requests have come in; false if that takes too long.
    pub fn wait_for_requests(&self, count: usize) -> bool {
        self.wait(|state| state.requests.len() >= count)
    }

    fn wait(&self, done: impl Fn(&ServerLog) -> bool) -> bool {
        let waited =
            self.shared.changed.wait_timeout_while(self.shared.state(), Duration::from_mins(1), |state| !done(state));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.change(|state| {
            state.ended = true;
            for connection in state.connections.values() {
                let _ = connection.shutdown(Shutdown::Both);
            }
        });
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<ScriptedState>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for stream in listener.incoming() {
        threads.retain(|thread| !thread.is_finished());
        let Ok(stream) = stream else { continue };
        let Ok(handle) = stream.try_clone() else { continue };
        let mut state = shared.state();
        if state.ended {
            break;
        }
        state.accepted += 1;
        let number = state.accepted;
        state.connections.insert(number, handle);
        drop(state);
        let shared = Arc::clone(shared);
        threads.push(thread::spawn(move || {
            // A client that goes away, or sends nonsense, is no failure of the server.
            let _ = serve(&stream, &shared);
            shared.state().connections.remove(&number);
            let _ = stream.shutdown(Shutdown::Both);
        }));
    }
    for thread in threads {
        let _ = thread.join();
    }
}

fn serve(mut stream: &TcpStream, shared: &ScriptedState) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(head) = http::read(&mut reader)? {
        let (received, reply) = answer(head, shared);
        let sent = send(&mut stream, &received, &reply);
        match sent {
            Ok(SendOutcome::Whole) => {}
            Ok(SendOutcome::Closed) => return Ok(()),
            Ok(SendOutcome::Gone) | Err(_) => {
                shared.change(|state| {
                    if !state.ended {
                        state.disconnects += 1;
                    }
                });
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Returns the answer to a request: the script's, if the request is one that a real server would take.
fn answer(head: Head, shared: &ScriptedState) -> (Received, Reply) {
    let api = route::wire(&head);
    let checked = route::admit(&head, api, shared.key.as_deref(), shared.rules);
    let body = serde_json::from_slice(&head.body).unwrap_or(Value::Null);
    let Head { method, path, headers, body: raw } = head;
    let mut received = Received { api, method, path, headers, raw, body, number: 0 };
    shared.change(|state| {
        received.number = state.requests.len() + 1;
        state.requests.push(received.clone());
        if let Err((status, message)) = &checked {
            state.refused.push(format!("{status}: {message}"));
        }
    });
    let reply = match checked {
        Err((status, message)) => Reply::status(status).message(message),
        Ok(Some(fixed)) => Reply::body("application/json", fixed.to_string()),
        // A script that panics is a test that fails: the client gets an error, and the test sees what it was.
        Ok(None) => catch_unwind(AssertUnwindSafe(|| (shared.script)(&received))).unwrap_or_else(|_| {
            shared.change(|state| state.refused.push("the script panicked".to_owned()));
            Reply::status(418).message("the script panicked")
        }),
    };
    (received, reply)
}

enum SendOutcome {
    /// All was sent; the connection stays.
    Whole,
    /// The part that was to be sent was; the connection is to be closed.
    Closed,
    /// The client did not wait for it.
    Gone,
}

fn send(stream: &mut &TcpStream, received: &Received, reply: &Reply) -> io::Result<SendOutcome> {
    if !reply.delay.is_zero() && gone(stream, Some(reply.delay))? {
        return Ok(SendOutcome::Gone);
    }
    let model = received.model();
    let (status, kind, events) = match &reply.what {
        ReplyContent::Nothing => {
            gone(stream, None)?;
            return Ok(SendOutcome::Gone);
        }
        ReplyContent::Raw(bytes) => {
            stream.write_all(bytes)?;
            return Ok(SendOutcome::Closed);
        }
        ReplyContent::Status { status, message } => {
            let body = reply::error(received.api, *status, message.as_deref());
            (*status, "application/json", vec![body.into_bytes()])
        }
        ReplyContent::Body { kind, .. } => (200, kind.as_str(), reply.events(received.api, model)),
        ReplyContent::ModelOutput(said) if reply.whole || !received.streams() => {
            let body = match received.api {
                Wire::OpenAi => openai::whole(said, model),
                Wire::Anthropic => anthropic::whole(said, model),
                Wire::Responses => responses::whole(said, model),
                Wire::Gemini => gemini::whole(said, model),
            };
            (200, "application/json", vec![body.to_string().into_bytes()])
        }
        ReplyContent::ModelOutput(said) => {
            let events = match received.api {
                Wire::OpenAi => {
                    let wanted = received.body["stream_options"]["include_usage"] == true;
                    openai::stream(said, model, wanted)
                }
                Wire::Anthropic => anthropic::stream(said, model),
                Wire::Responses => responses::stream(said, model),
                Wire::Gemini => gemini::stream(said, model),
            };
            (200, "text/event-stream; charset=utf-8", events)
        }
    };
    let framing = match (reply.until_close, events.as_slice()) {
        (true, _) => Framing::Close,
        (false, [one]) => Framing::Length(one.len()),
        (false, _) => Framing::Chunks,
    };
    http::write_head(stream, status, kind, framing, &reply.headers)?;
    let mut left = [reply.cut, reply.stall].into_iter().flatten().min().unwrap_or(usize::MAX);
    for event in &events {
        if event.len() > left {
            http::write_piece(stream, framing, &event[..left])?;
            if reply.cut.is_some() {
                return Ok(SendOutcome::Closed);
            }
            gone(stream, None)?;
            return Ok(SendOutcome::Gone);
        }
        left -= event.len();
        http::write_piece(stream, framing, event)?;
    }
    http::write_end(stream, framing)?;
    Ok(if framing == Framing::Close { SendOutcome::Closed } else { SendOutcome::Whole })
}

/// Waits for the client to go away, at most for `most`, and returns whether it did. A client that waits for its answer
/// sends nothing.
fn gone(stream: &TcpStream, most: Option<Duration>) -> io::Result<bool> {
    let began = Instant::now();
    let gone = loop {
        let left = most.map(|most| most.saturating_sub(began.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            break false;
        }
        stream.set_read_timeout(left)?;
        match stream.peek(&mut [0]) {
            Ok(0) => break true,
            Ok(_) => return Err(io::Error::other("the client speaks out of turn")),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
                ) => {}
            Err(_) => break true,
        }
    };
    stream.set_read_timeout(None)?;
    Ok(gone)
}
