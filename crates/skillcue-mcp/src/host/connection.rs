//! One connection to one server.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Weak, mpsc};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, CustomRequest, ExtensionCapabilities, Implementation, JsonObject,
    ProtocolVersion, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, PeerRequestOptions, RunningService, ServiceError,
    serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use serde_json::Value;
use skillcue_base::Shown;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::spec::{ServerSpec, ServerTransport};
use super::wire::{self, HttpClient};

/// The extension's name, as servers declare it.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// The message for a connection that ends before its time.
const CLOSED: &str = "the server has closed the connection";

/// Why a server gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConnectionError {
    /// It took too long. Its state is unknown: the connection is dropped.
    #[error("no answer within {} ms", .0.as_millis())]
    Slow(Duration),
    /// The connection is gone, or there never was one.
    #[error("{0}")]
    Gone(String),
    /// It answered with an error.
    #[error("{0}")]
    Refused(String),
    /// It answered with something else.
    #[error("{0}")]
    Nonsense(String),
}

/// An initialized connection to a server that offers skills.
#[derive(Debug)]
pub(crate) struct Connection {
    service: RunningService<RoleClient, SkillsClient>,
    timeout: Duration,
    /// Ends the program, if the server is one.
    _program: Option<DropGuard>,
}

/// The values that all connections of a host share.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionContext {
    /// Ends everything.
    pub(crate) stop: CancellationToken,
    /// A copy is held for every program that still runs. Gone when the host is.
    pub(crate) running: Weak<mpsc::Sender<()>>,
}

/// The client side of the protocol: it asks for skills, and offers nothing.
#[derive(Debug, Clone)]
struct SkillsClient;

impl ClientHandler for SkillsClient {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.extensions = Some(ExtensionCapabilities::from([(EXTENSION.to_owned(), JsonObject::new())]));
        ClientConfig::new(capabilities, Implementation::new("skillcue", env!("CARGO_PKG_VERSION")))
    }
}

impl Connection {
    /// Connects and initializes, within the server's time limit.
    pub(crate) async fn open(spec: &ServerSpec, around: &ConnectionContext) -> Result<Connection, ConnectionError> {
        let opened = tokio::time::timeout(spec.timeout, Connection::initialize(spec, around)).await;
        opened.unwrap_or(Err(ConnectionError::Slow(spec.timeout)))
    }

    async fn initialize(spec: &ServerSpec, around: &ConnectionContext) -> Result<Connection, ConnectionError> {
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        let stop = around.stop.child_token();
        let (service, program) = match &spec.transport {
            ServerTransport::Command { program, args, env, inherited, cwd } => {
                let inherited = inherited.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                let chosen = env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                let start = wire::ProgramSpec {
                    program,
                    args,
                    env: inherited.chain(chosen).collect(),
                    cwd: cwd.as_deref().unwrap_or(Path::new("/")),
                };
                let running =
                    around.running.upgrade().ok_or_else(|| ConnectionError::Gone("the host has ended".to_owned()))?;
                let running = mpsc::Sender::clone(&running);
                let spawned = wire::spawn(&spec.label, &start, &around.stop, running);
                let (pipes, guard) = spawned.map_err(|error| {
                    ConnectionError::Gone(format!("{program} cannot be started: {}", skillcue_base::os_message(&error)))
                })?;
                (serve_client_with_lifecycle_and_ct(SkillsClient, pipes, lifecycle, stop).await, Some(guard))
            }
            ServerTransport::Url { url, headers, token } => {
                let http = HttpClient::new(url, spec.timeout).map_err(ConnectionError::Gone)?;
                let headers: HashMap<HeaderName, HeaderValue> = headers
                    .iter()
                    .filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)))
                    .collect();
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(headers);
                config.auth_header.clone_from(token);
                let transport = StreamableHttpClientTransport::with_client(http, config);
                (serve_client_with_lifecycle_and_ct(SkillsClient, transport, lifecycle, stop).await, None)
            }
        };
        let service = service.map_err(|error| ConnectionError::Gone(refusal(&error)))?;
        let connection = Connection { service, timeout: spec.timeout, _program: program };
        let offers = |peer: &rmcp::model::ServerPeerInfo| {
            peer.capabilities.extensions.as_ref().is_some_and(|extensions| extensions.contains_key(EXTENSION))
        };
        if !connection.service.peer_info().as_deref().is_some_and(offers) {
            return Err(ConnectionError::Nonsense(format!(
                "the server offers no skills: it does not declare {EXTENSION}"
            )));
        }
        Ok(connection)
    }

    /// Sends one request and waits for its answer, within the server's time limit.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Result<Value, ConnectionError> {
        let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
        let answered = tokio::time::timeout(self.timeout, async {
            let pending = self.service.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
            pending.await_response().await
        })
        .await;
        match answered {
            Err(_) => Err(ConnectionError::Slow(self.timeout)),
            Ok(Ok(ServerResult::CustomResult(result))) => Ok(result.0),
            Ok(Ok(_)) => Err(ConnectionError::Nonsense(format!("its answer to {method} is not valid"))),
            Ok(Err(ServiceError::McpError(error))) => {
                let message = Shown(&error.message).to_string();
                Err(ConnectionError::Refused(format!("{method}: {message} ({})", error.code.0)))
            }
            Ok(Err(ServiceError::UnexpectedResponse)) => {
                Err(ConnectionError::Nonsense(format!("its answer to {method} is not valid")))
            }
            Ok(Err(ServiceError::TransportSend(error))) => {
                Err(ConnectionError::Gone(wire::cause(error.error.as_ref())))
            }
            Ok(Err(ServiceError::TransportClosed)) => Err(ConnectionError::Gone(CLOSED.to_owned())),
            Ok(Err(error)) => Err(ConnectionError::Gone(wire::cause(&error))),
        }
    }

    /// Returns whether it can still be used.
    pub(crate) fn is_open(&self) -> bool {
        !self.service.peer().is_transport_closed()
    }

    /// Returns the negotiated version of the protocol.
    pub(crate) fn protocol(&self) -> String {
        self.service.peer_info().map_or_else(String::new, |info| info.protocol_version.to_string())
    }

    /// Returns the server's own name: for people to read, never to tell servers apart.
    pub(crate) fn server_name(&self) -> Option<String> {
        let info = self.service.peer_info()?;
        let server = info.server_info.as_ref()?;
        Some(Shown(&format!("{} {}", server.name, server.version)).to_string())
    }
}

/// Returns why a connection could not be initialized, in words.
fn refusal(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => wire::cause(error.error.as_ref()),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => refusal(fallback),
        ClientInitializeError::ConnectionClosed(_) => CLOSED.to_owned(),
        ClientInitializeError::JsonRpcError(error) => {
            format!("the server refuses: {} ({})", Shown(&error.message), error.code.0)
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<String> = server_supported.iter().map(ToString::to_string).collect();
            Shown(&format!("the server speaks only other versions of the protocol: {}", versions.join(", ")))
                .to_string()
        }
        _ => "the server's answer to the first request is not valid".to_owned(),
    }
}
