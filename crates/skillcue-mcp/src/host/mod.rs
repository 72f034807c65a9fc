//! Skills of remote servers: listed, allowed, fetched when needed, verified on every read.
//!
//! An [`McpHost`] knows the configured servers and connects to none of them by itself. A server's last listing is kept
//! on disk, so its skills are there at the next start without asking; [`McpHost::refresh`] asks. A file is fetched when
//! it is read for the first time, and only if a person has allowed exactly the content that the server lists now.

mod cache;
mod connection;
pub mod door;
mod engine;
mod entry;
mod inspect;
mod listing;
mod permission;
mod server;
mod spec;
pub(crate) mod verify;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use skillcue::consent::{ConsentGate, ConsentStore, Question, Scope};
use skillcue::remote::{Remote, RemoteEntry, RemoteError};
use skillcue_base::Shown;
use skillcue_format::{Code, Diagnostic};

pub use inspect::{ServerReport, SkillReport};
pub use permission::AllowError;
pub use spec::{DEFAULT_TIMEOUT, ServerSpec, ServerTransport, SpecError};

use cache::ServerCache;
use connection::ConnectionError;
use engine::{Engine, PendingResult};
use permission::LoadPermission;
use server::ConfiguredServer;

/// Options of an [`McpHost`].
#[derive(Debug, Clone)]
pub struct McpHostOptions {
    /// The directory for listings and verified files, which can be fetched again. They go to `mcp/` below it. Without
    /// one, nothing is kept.
    pub cache: Option<PathBuf>,
    /// Answers whether a skill may be loaded.
    pub consent: Arc<dyn ConsentGate>,
}

impl Default for McpHostOptions {
    /// Returns options that keep nothing, and allow what [`McpHost::allow`] allows.
    fn default() -> McpHostOptions {
        McpHostOptions { cache: None, consent: Arc::new(ConsentStore::default()) }
    }
}

/// The configured servers.
///
/// Cheap to clone. Connections end, and programs that were started for them are stopped, when the last clone and the
/// last of its [`McpHost::remotes`] are dropped.
#[derive(Debug, Clone)]
pub struct McpHost {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    servers: Vec<Arc<ConfiguredServer>>,
    /// All servers that are configured, those that are switched off among them.
    labels: Vec<String>,
    /// Why some of them are not used.
    refused: Vec<String>,
    options: McpHostOptions,
    engine: Engine,
}

/// The result of asking one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRefresh {
    /// The user's name for it.
    pub label: String,
    /// The outcome, or why it failed.
    pub outcome: Result<RefreshOutcome, String>,
}

/// How a listing compares with the last one, and how many skills there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshOutcome {
    /// The server lists other skills than before, or one of them has turned out to have other content meanwhile.
    Changed(usize),
    /// The server lists the same skills as before.
    Unchanged(usize),
    /// The server was not asked: its last listing is still fresh.
    Fresh(usize),
}

/// A refresh of one server: under way, or done without asking.
enum RefreshTask {
    Done(Result<RefreshOutcome, String>),
    Pending(Result<PendingResult<Result<RefreshOutcome, String>>, ConnectionError>),
}

/// The status of one server, as far as is known without asking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus {
    /// The user's name for it.
    pub label: String,
    /// Its identity: its address or its command line.
    pub identity: String,
    /// Its address, or the command line that starts it, as a person would write it.
    pub address: String,
    /// How many skills it last listed.
    pub skills: usize,
    /// When that was.
    pub fetched: Option<SystemTime>,
    /// Whether it should be asked again.
    pub stale: bool,
    /// Why it could not be asked the last time, if it could not.
    pub failure: Option<String>,
}

impl McpHost {
    /// Makes a host for these servers. Of two with one label the first counts; [`McpHost::diagnostics`] reports the
    /// other. Nothing is connected, started or read.
    pub fn new(specs: impl IntoIterator<Item = ServerSpec>, options: McpHostOptions) -> McpHost {
        let engine = Engine::new();
        let mut servers: Vec<Arc<ConfiguredServer>> = Vec::new();
        let (mut labels, mut refused) = (Vec::new(), Vec::new());
        for spec in specs {
            // The fields are public: a label that was changed since must not lead out of the cache.
            if let Err(problem) = spec.check() {
                refused.push(format!("{}: not used: {problem}", Shown(&spec.label)));
                continue;
            }
            if labels.contains(&spec.label) {
                refused.push(format!("{}: configured twice; the first counts", spec.label));
                continue;
            }
            labels.push(spec.label.clone());
            if !spec.enabled {
                continue;
            }
            let cache = options.cache.as_deref().map(|dir| ServerCache::new(dir, &spec.label));
            servers.push(Arc::new(ConfiguredServer::new(
                spec,
                cache,
                Arc::clone(&options.consent),
                engine.connection_context(),
            )));
        }
        McpHost { inner: Arc::new(Inner { servers, labels, refused, options, engine }) }
    }

    /// Returns the servers as the other crates use them.
    pub fn remotes(&self) -> Vec<Arc<dyn Remote>> {
        let remote = |server: &Arc<ConfiguredServer>| -> Arc<dyn Remote> {
            Arc::new(RemoteServer { server: Arc::clone(server), inner: Arc::clone(&self.inner) })
        };
        self.inner.servers.iter().map(remote).collect()
    }

    /// Asks all servers for their skills, at the same time. Each request has its server's time limit, and all of it
    /// the deadline. A server that fails keeps the skills it had.
    pub fn refresh(&self, deadline: Duration) -> Vec<ServerRefresh> {
        self.refresh_where(deadline, |_| None)
    }

    /// Like [`McpHost::refresh`], for those servers only whose listing is no longer fresh. One that has just failed is
    /// not asked again for a minute, so that it does not cost every command its time limit.
    pub fn refresh_stale(&self, deadline: Duration) -> Vec<ServerRefresh> {
        self.refresh_where(deadline, |server| {
            if server.is_stale() {
                return None;
            }
            let now = SystemTime::now();
            match server.failure().filter(|failure| failure.is_recent(now)) {
                Some(failure) => Some(Err(format!("{}; not asked again so soon", failure.message))),
                // A single skill may have been asked for meanwhile.
                None if server.take_unreported() => Some(Ok(RefreshOutcome::Changed(server.listing().entries.len()))),
                None => Some(Ok(RefreshOutcome::Fresh(server.listing().entries.len()))),
            }
        })
    }

    fn refresh_where(
        &self,
        deadline: Duration,
        known: impl Fn(&ConfiguredServer) -> Option<Result<RefreshOutcome, String>>,
    ) -> Vec<ServerRefresh> {
        let started = Instant::now();
        // All are started before the first is waited for.
        let asked: Vec<_> = self
            .inner
            .servers
            .iter()
            .map(|server| {
                let ask = || {
                    let server = Arc::clone(server);
                    RefreshTask::Pending(self.inner.engine.start(deadline, async move { server.refresh().await }))
                };
                (server, known(server).map_or_else(ask, RefreshTask::Done))
            })
            .collect();
        let outcome = |server: &Arc<ConfiguredServer>, asked: RefreshTask| match asked {
            RefreshTask::Done(outcome) => outcome,
            RefreshTask::Pending(pending) => {
                let left = deadline.saturating_sub(started.elapsed());
                pending.and_then(|pending| pending.wait(left)).unwrap_or_else(|error| {
                    let message = error.to_string();
                    server.failed(&message);
                    self.inner.give_up(server);
                    Err(message)
                })
            }
        };
        let refreshed: Vec<ServerRefresh> = asked
            .into_iter()
            .map(|(server, asked)| ServerRefresh { label: server.spec.label.clone(), outcome: outcome(server, asked) })
            .collect();
        // Files that are no longer listed are deleted at once, so that the cache does not grow for ever.
        let listed_anew = |refreshed: &ServerRefresh| {
            matches!(refreshed.outcome, Ok(RefreshOutcome::Changed(_) | RefreshOutcome::Unchanged(_)))
        };
        if refreshed.iter().any(listed_anew)
            && let Err(error) = self.prune()
        {
            tracing::debug!(target: "skillcue::mcp", "the cache cannot be tidied: {error}");
        }
        refreshed
    }

    /// Returns whether a server should be asked again: its listing is old, and it has not just failed.
    pub fn is_stale(&self, label: &str) -> bool {
        self.server(label).is_some_and(|server| server.is_stale())
    }

    /// Returns the status of the servers, as far as is known without asking them.
    pub fn status(&self) -> Vec<ServerStatus> {
        let status = |server: &Arc<ConfiguredServer>| {
            let listing = server.listing();
            ServerStatus {
                label: server.spec.label.clone(),
                identity: server.identity.clone(),
                address: server.spec.address(),
                skills: listing.entries.len(),
                fetched: listing.fetched,
                stale: server.is_stale(),
                failure: server.failure().map(|failure| failure.message),
            }
        };
        self.inner.servers.iter().map(status).collect()
    }

    /// Returns the problems of the configured servers and their listings. Each message begins with the server's label.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let all = self.inner.servers.iter().flat_map(|server| {
            let label = server.spec.label.clone();
            server.listing().diagnostics.into_iter().map(move |problem| format!("{label}: {problem}"))
        });
        let problems = self.inner.refused.iter().cloned().chain(all).chain(self.inner.options.consent.trouble());
        problems.map(|problem| Diagnostic::new(Code::Remote, problem)).collect()
    }

    /// Asks a server for one skill by its URI. A server need not list all of its skills.
    pub fn get(&self, label: &str, uri: &str) -> Result<Arc<RemoteEntry>, RemoteError> {
        let server = self.server(label).ok_or_else(|| unknown_server(label))?;
        let (of, uri) = (Arc::clone(server), uri.to_owned());
        self.inner.run(server, async move { of.get(&uri).await })
    }

    /// Returns the question whether a skill may be loaded with exactly the content that the entry lists.
    pub fn question(&self, label: &str, entry: &RemoteEntry) -> Result<Question, AllowError> {
        let server = self.server(label).ok_or_else(|| AllowError::UnknownServer(label.to_owned()))?;
        server.question(entry).ok_or_else(|| AllowError::Dynamic(entry.uri.clone()))
    }

    /// Allows a skill with exactly the content that the entry lists. Nothing is fetched.
    pub fn allow(&self, label: &str, entry: &RemoteEntry, scope: Scope) -> Result<(), AllowError> {
        Ok(self.inner.options.consent.remember(&self.question(label, entry)?, scope)?)
    }

    /// Ends all connections, and stops the programs that were started for them. For a process that is about to end
    /// without dropping its values.
    pub fn close(&self) {
        self.inner.engine.close();
    }

    /// Deletes the caches of servers that are no longer configured, and files that no server lists any more. Returns
    /// the labels of those servers.
    pub fn prune(&self) -> std::io::Result<Vec<String>> {
        let Some(cache) = &self.inner.options.cache else { return Ok(Vec::new()) };
        self.inner.servers.iter().try_for_each(|server| server.sweep())?;
        cache::prune(cache, &self.inner.labels)
    }

    /// Inspects a server without configuring, allowing or keeping anything: its listing, and with `verify` whether its
    /// files are as listed. All of it takes at most as long as `deadline`.
    pub fn inspect(spec: ServerSpec, verify: bool, deadline: Duration) -> Result<ServerReport, RemoteError> {
        spec::check_transport(&spec.transport)
            .map_err(|problem| RemoteError::Unreachable(format!("{}: {problem}", Shown(&spec.label))))?;
        let engine = Engine::new();
        let consent = McpHostOptions::default().consent;
        let server = Arc::new(ConfiguredServer::new(spec, None, consent, engine.connection_context()));
        let looked_at = Arc::clone(&server);
        let report = engine.run(deadline, async move { inspect::inspect(&looked_at, verify).await });
        report.and_then(|report| report).map_err(|error| server.unreachable(&error))
    }

    fn server(&self, label: &str) -> Option<&Arc<ConfiguredServer>> {
        self.inner.servers.iter().find(|server| server.spec.label == label)
    }
}

fn unknown_server(label: &str) -> RemoteError {
    RemoteError::Unreachable(format!("there is no MCP server {label:?}"))
}

impl Inner {
    /// Runs a request to one server, within its time limit.
    fn run<T: Send + 'static>(
        &self,
        server: &Arc<ConfiguredServer>,
        work: impl Future<Output = Result<T, RemoteError>> + Send + 'static,
    ) -> Result<T, RemoteError> {
        match self.engine.run(server.spec.timeout, work) {
            Ok(result) => result,
            Err(error) => {
                self.give_up(server);
                Err(server.unreachable(&error))
            }
        }
    }

    /// Drops a connection whose time limit has passed, in the background.
    fn give_up(&self, server: &Arc<ConfiguredServer>) {
        let server = Arc::clone(server);
        let _ = self.engine.start(server.spec.timeout, async move { server.drop_connection().await });
    }
}

/// One server, as a [`Remote`].
#[derive(Debug)]
struct RemoteServer {
    server: Arc<ConfiguredServer>,
    /// Keeps the threads alive, without which nothing is fetched.
    inner: Arc<Inner>,
}

impl Remote for RemoteServer {
    fn label(&self) -> &str {
        &self.server.spec.label
    }

    fn entries(&self) -> Arc<[Arc<RemoteEntry>]> {
        self.server.listing().entries
    }

    fn is_allowed(&self, entry: &RemoteEntry) -> bool {
        self.server.permission(entry) == LoadPermission::Allowed
    }

    fn read(&self, entry: &RemoteEntry, path: &str) -> Result<Vec<u8>, RemoteError> {
        let wanted = (entry.uri.clone(), entry::content_id(entry), path.to_owned());
        let (read, _) = self.server.reads.run(&wanted, || self.read_now(entry, path).map(Arc::new));
        // Bytes are copied only if several callers share them.
        read.map(Arc::unwrap_or_clone)
    }
}

impl RemoteServer {
    fn read_now(&self, entry: &RemoteEntry, path: &str) -> Result<Vec<u8>, RemoteError> {
        let entry = match self.server.allowed_entry(entry) {
            Ok(entry) => entry,
            Err(LoadPermission::Changed) if self.server.may_ask_about(&entry.uri) => {
                let (server, entry, path) = (Arc::clone(&self.server), entry.clone(), path.to_owned());
                return self.inner.run(&self.server, async move { server.read_again(&entry, &path).await });
            }
            Err(permission) => return Err(server::not_allowed(permission)),
        };
        let file = self.server.listed(&entry, path)?;
        if let Some(bytes) = self.server.cached(&entry, file) {
            return Ok(bytes);
        }
        let (server, file, entry) = (Arc::clone(&self.server), file.clone(), entry.clone().into_owned());
        self.inner.run(&self.server, async move { server.fetch(&entry, &file).await })
    }
}
