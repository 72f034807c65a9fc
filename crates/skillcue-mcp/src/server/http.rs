//! The server over streamable HTTP: it accepts connections, and ends without dropping a request.
//!
//! The SDK implements the protocol; the gate before it checks requests (`gate.rs`) and answers questions about the server
//! itself (`probes.rs`).

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::SkillServer;
use super::connections::{ConnectionSlot, Connections};
use super::gate::HttpGate;

/// How long to wait after the system would not accept a connection, which usually means too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The size of a connection's buffer, in bytes; a head is a little longer at most. A connection keeps it while it waits for its next
/// request; the usual limit is 400 KiB, which many idle connections would multiply.
const MAX_CONNECTION_BUFFER: usize = 64 << 10;

/// Options of an [`HttpServer`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The address to listen on; by default loopback, and any port.
    pub listen: SocketAddr,
    /// The path of the one endpoint.
    pub path: String,
    /// The bearer token that clients must send. It opens every view.
    pub token: Option<String>,
    /// The bearer token for `/metrics`. Without one they are for the token of the server, and if no view has a token either,
    /// for this machine.
    pub metrics_token: Option<String>,
    /// How long the server goes on accepting requests after it was told to end, while `/ready` says that it will: as long
    /// as a proxy needs to see that.
    pub drain_delay: Duration,
    /// How long requests under way may take once no more are accepted.
    pub drain_timeout: Duration,
    /// Values of `Host` that are allowed besides those of loopback: `name` or `name:port`; `*` for any.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that are allowed besides those of loopback: `https://app.example.com:443`, `http://x:*`.
    pub allowed_origins: Vec<String>,
    /// The size of the largest request, in bytes.
    pub max_body: usize,
    /// How many sessions there may be at once. Half of them are divided among the views, each of which is sure of its part.
    pub max_sessions: usize,
    /// How many streams of `subscriptions/listen` there may be at once, divided as sessions are.
    pub max_streams: usize,
    /// How long a session may be idle before it is forgotten.
    pub session_idle: Duration,
    /// How many connections there may be at once; fewer where the system allows fewer open files. One that has not sent
    /// a whole request is closed when another needs its slot.
    pub max_connections: usize,
    /// How long a client may take to send a request's head, counted from the end of the request before it.
    pub head_timeout: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        HttpOptions {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            path: "/mcp".to_owned(),
            token: None,
            metrics_token: None,
            drain_delay: Duration::ZERO,
            drain_timeout: Duration::from_secs(10),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body: 4 << 20,
            max_sessions: 10_000,
            max_streams: 4_096,
            session_idle: Duration::from_mins(30),
            max_connections: 16_384,
            head_timeout: Duration::from_secs(30),
        }
    }
}

/// A view of the skills that a server has at a path of its own.
#[derive(Debug)]
pub struct ServedView {
    /// The last part of its path.
    pub name: String,
    /// The server for its skills.
    pub server: SkillServer,
    /// The bearer token that opens this view, and no other.
    pub token: Option<String>,
}

/// A server that listens and can be run.
#[derive(Debug)]
pub struct HttpServer {
    /// The views by their paths.
    views: Vec<(String, ServedView)>,
    options: HttpOptions,
    listener: TcpListener,
    address: SocketAddr,
}

impl HttpServer {
    /// Begins to listen on the address in the options.
    pub async fn bind(server: SkillServer, options: HttpOptions) -> io::Result<HttpServer> {
        let listener = TcpListener::bind(options.listen).await?;
        HttpServer::on(server, options, listener)
    }

    /// Begins to listen, with each view at a path of its own, `/mcp/NAME`, and nothing at `/mcp`.
    pub async fn bind_views(views: Vec<ServedView>, options: HttpOptions) -> io::Result<HttpServer> {
        if views.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no view to serve"));
        }
        let listener = TcpListener::bind(options.listen).await?;
        let address = listener.local_addr()?;
        if views.len() > 1 {
            for view in &views {
                view.server.shared.work.share();
            }
        }
        let views = views.into_iter().map(|view| (format!("{}/{}", options.path, view.name), view)).collect();
        Ok(HttpServer { views, options, listener, address })
    }

    /// Begins to listen, with one view at the path of the options. Its own token opens it as well as the server's.
    pub async fn bind_view(view: ServedView, options: HttpOptions) -> io::Result<HttpServer> {
        let listener = TcpListener::bind(options.listen).await?;
        HttpServer::on_view(view, options, listener)
    }

    /// Uses a listener that is there already.
    pub fn on(server: SkillServer, options: HttpOptions, listener: TcpListener) -> io::Result<HttpServer> {
        HttpServer::on_view(ServedView { name: String::new(), server, token: None }, options, listener)
    }

    fn on_view(view: ServedView, options: HttpOptions, listener: TcpListener) -> io::Result<HttpServer> {
        let address = listener.local_addr()?;
        Ok(HttpServer { views: vec![(options.path.clone(), view)], options, listener, address })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the paths at which skills are served.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.views.iter().map(|(path, _)| path.as_str())
    }

    /// Serves until `cancel` is cancelled. Then it drains: `/ready` says so; after a delay no connection is accepted;
    /// requests under way come to their end, streams of notifications are closed, and connections, too. What has not
    /// ended after the time limit of the options is dropped.
    pub async fn run(self, cancel: CancellationToken) -> io::Result<()> {
        let HttpServer { views, options, listener, .. } = self;
        let Some(metrics) = views.first().map(|(_, view)| Arc::clone(&view.server.shared.metrics)) else {
            return Ok(());
        };
        let connections = Connections::new(options.max_connections);
        let gate = Arc::new(HttpGate::new(views, &options, metrics, Arc::clone(&connections)));
        let graceful = GracefulShutdown::new();
        let delayed = {
            let (gate, cancel, delay) = (Arc::clone(&gate), cancel.clone(), options.drain_delay);
            async move {
                cancel.cancelled().await;
                gate.drain.begin();
                tokio::time::sleep(delay).await;
            }
        };
        tokio::pin!(delayed);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut delayed => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(target: "skillcue::mcp", %error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            connect(&graceful, &gate, (stream, peer.ip()), connections.admit(), options.head_timeout);
        }
        drop(listener);
        let ended = async {
            let requests = async {
                gate.under_way.close();
                gate.under_way.wait().await;
                // Sessions carry the answers of their requests, and streams the notifications about them: they go last.
                gate.close_sessions().await;
                gate.streams.cancel();
            };
            tokio::join!(graceful.shutdown(), requests)
        };
        if tokio::time::timeout(options.drain_timeout, ended).await.is_err() {
            tracing::warn!(target: "skillcue::mcp", "some requests did not end in time, and were dropped");
            gate.close_sessions().await;
            gate.streams.cancel();
        }
        Ok(())
    }
}

fn connect(
    graceful: &GracefulShutdown,
    gate: &Arc<HttpGate>,
    (stream, peer): (TcpStream, IpAddr),
    slot: Arc<ConnectionSlot>,
    head_timeout: Duration,
) {
    // Answers are small and waited for. Where it cannot be set, answers are slower, nothing more.
    let _ = stream.set_nodelay(true);
    let (gate, closed) = (Arc::clone(gate), slot.closed.clone());
    let service = hyper::service::service_fn(move |request| {
        let (gate, slot) = (Arc::clone(&gate), Arc::clone(&slot));
        async move { Ok::<_, Infallible>(gate.answer(request, peer, &slot).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head_timeout).max_buf_size(MAX_CONNECTION_BUFFER);
    let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service));
    tokio::spawn(async move {
        let ended = tokio::select! {
            ended = connection => ended,
            () = closed.cancelled() => {
                tracing::debug!(target: "skillcue::mcp", "a connection that waited gave way to another");
                return;
            }
        };
        if let Err(error) = ended {
            tracing::debug!(target: "skillcue::mcp", %error, "a connection ended");
        }
    });
}
