//! Skills of remote servers: listed, allowed, fetched when needed, verified on every read.
//!
//! A [`Host`] knows the configured servers and connects to none of them by itself. What a server last listed is kept on
//! disk, so its skills are there at the next start without asking; [`Host::refresh`] asks. A file is fetched when it is
//! read for the first time, and only if a person has allowed exactly the content that the server lists now.

mod cache;
mod connection;
mod engine;
mod entry;
mod inspect;
mod listing;
mod remote;
mod spec;
mod standing;
pub(crate) mod verify;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use skillcue::consent::{ConsentGate, ConsentStore, Question, Scope};
use skillcue::remote::{Remote, RemoteEntry, RemoteError};
use skillcue_base::Shown;
use skillcue_format::{Code, Diagnostic};

pub use inspect::{Report, SkillReport};
pub use spec::{DEFAULT_TIMEOUT, ServerSpec, ServerTransport, SpecError};
pub use standing::AllowError;

use cache::ServerCache;
use connection::ConnectionError;
use engine::{Engine, Pending};
use remote::Server;
use standing::Standing;

/// Options of a [`Host`].
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The directory for listings and verified files, which can be fetched again. They go to `mcp/` below it. Without one,
    /// nothing is kept.
    pub cache: Option<PathBuf>,
    /// Answers whether a skill may be loaded.
    pub consent: Arc<dyn ConsentGate>,
}

impl Default for HostOptions {
    /// Keeps nothing, and allows what is allowed through [`Host::allow`].
    fn default() -> HostOptions {
        HostOptions { cache: None, consent: Arc::new(ConsentStore::default()) }
    }
}

/// The configured servers.
///
/// Cheap to clone. Connections end, and programs that were started for them are stopped, when the last clone and the
/// last of its [`Host::remotes`] are dropped.
#[derive(Debug, Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    servers: Vec<Arc<Server>>,
    /// All servers that are configured, those that are switched off among them.
    labels: Vec<String>,
    /// Why some of them are not used.
    refused: Vec<String>,
    options: HostOptions,
    engine: Engine,
}

/// What came of asking one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRefresh {
    /// What the user calls it.
    pub label: String,
    /// How it went; else why it did not.
    pub outcome: Result<Outcome, String>,
}

/// How a listing compares with the last one, and how many skills there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server lists something else than before, or one of its skills has turned out to be another meanwhile.
    Changed(usize),
    /// The server lists what it listed before.
    Unchanged(usize),
    /// The server was not asked: what it last listed is still fresh.
    Fresh(usize),
}

/// A server that is being asked, or need not be.
enum Asked {
    Known(Result<Outcome, String>),
    Pending(Result<Pending<Result<Outcome, String>>, ConnectionError>),
}

/// How one server is, as far as is known without asking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus {
    /// What the user calls it.
    pub label: String,
    /// What it is: its address or its command line.
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

impl Host {
    /// A host for these servers. Of two with one label the first counts; [`Host::diagnostics`] says so. Nothing is
    /// connected, started or read.
    pub fn new(specs: impl IntoIterator<Item = ServerSpec>, options: HostOptions) -> Host {
        let engine = Engine::new();
        let mut servers: Vec<Arc<Server>> = Vec::new();
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
            servers.push(Arc::new(Server::new(spec, cache, Arc::clone(&options.consent), engine.surroundings())));
        }
        Host { inner: Arc::new(Inner { servers, labels, refused, options, engine }) }
    }

    /// The servers as the rest of the house sees them.
    pub fn remotes(&self) -> Vec<Arc<dyn Remote>> {
        let remote = |server: &Arc<Server>| -> Arc<dyn Remote> {
            Arc::new(RemoteServer { server: Arc::clone(server), inner: Arc::clone(&self.inner) })
        };
        self.inner.servers.iter().map(remote).collect()
    }

    /// Asks all servers for their skills, at the same time. Each request has its server's time limit, and all of it
    /// the deadline. A server that fails keeps the skills it had.
    pub fn refresh(&self, deadline: Duration) -> Vec<ServerRefresh> {
        self.refresh_where(deadline, |_| None)
    }

    /// The same for those servers only whose listing is no longer fresh. One that has just failed is not asked again
    /// for a minute, so that it does not cost every command its time limit.
    pub fn refresh_stale(&self, deadline: Duration) -> Vec<ServerRefresh> {
        self.refresh_where(deadline, |server| {
            if server.is_stale() {
                return None;
            }
            let now = SystemTime::now();
            match server.failure().filter(|failure| failure.is_recent(now)) {
                Some(failure) => Some(Err(format!("{}; not asked again so soon", failure.message))),
                // A single skill may have been asked for meanwhile.
                None if server.take_untold() => Some(Ok(Outcome::Changed(server.listing().entries.len()))),
                None => Some(Ok(Outcome::Fresh(server.listing().entries.len()))),
            }
        })
    }

    fn refresh_where(
        &self,
        deadline: Duration,
        known: impl Fn(&Server) -> Option<Result<Outcome, String>>,
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
                    Asked::Pending(self.inner.engine.start(deadline, async move { server.refresh().await }))
                };
                (server, known(server).map_or_else(ask, Asked::Known))
            })
            .collect();
        let outcome = |server: &Arc<Server>, asked: Asked| match asked {
            Asked::Known(outcome) => outcome,
            Asked::Pending(pending) => {
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
        // Whatever is listed no longer goes at once, so that the cache does not grow for ever.
        let listed_anew =
            |refreshed: &ServerRefresh| matches!(refreshed.outcome, Ok(Outcome::Changed(_) | Outcome::Unchanged(_)));
        if refreshed.iter().any(listed_anew)
            && let Err(error) = self.prune()
        {
            tracing::debug!(target: "skillcue::mcp", "the cache cannot be tidied: {error}");
        }
        refreshed
    }

    /// Whether a server should be asked again: its listing is old, and it has not just failed.
    pub fn is_stale(&self, label: &str) -> bool {
        self.server(label).is_some_and(|server| server.is_stale())
    }

    /// How the servers are, as far as is known without asking them.
    pub fn status(&self) -> Vec<ServerStatus> {
        let status = |server: &Arc<Server>| {
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

    /// Asks a server for one skill by its URI. A server need not list all that it has.
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
    /// without dropping what it holds.
    pub fn close(&self) {
        self.inner.engine.close();
    }

    /// Deletes what servers have left on disk that are configured no longer, and files that no server lists any more.
    /// Returns the labels of those servers.
    pub fn prune(&self) -> std::io::Result<Vec<String>> {
        let Some(cache) = &self.inner.options.cache else { return Ok(Vec::new()) };
        self.inner.servers.iter().try_for_each(|server| server.sweep())?;
        cache::prune(cache, &self.inner.labels)
    }

    /// Looks at a server without configuring, allowing or keeping anything: what it lists, and with `verify` whether
    /// its files are what it lists. All of it takes at most as long as `deadline`.
    pub fn inspect(spec: ServerSpec, verify: bool, deadline: Duration) -> Result<Report, RemoteError> {
        spec::check_transport(&spec.transport)
            .map_err(|problem| RemoteError::Unreachable(format!("{}: {problem}", Shown(&spec.label))))?;
        let engine = Engine::new();
        let consent = HostOptions::default().consent;
        let server = Arc::new(Server::new(spec, None, consent, engine.surroundings()));
        let looked_at = Arc::clone(&server);
        let report = engine.run(deadline, async move { inspect::inspect(&looked_at, verify).await });
        report.and_then(|report| report).map_err(|error| server.unreachable(&error))
    }

    fn server(&self, label: &str) -> Option<&Arc<Server>> {
        self.inner.servers.iter().find(|server| server.spec.label == label)
    }
}

fn unknown_server(label: &str) -> RemoteError {
    RemoteError::Unreachable(format!("there is no MCP server {label:?}"))
}

impl Inner {
    /// Does something with one server, within its time limit.
    fn run<T: Send + 'static>(
        &self,
        server: &Arc<Server>,
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

    /// Ends a connection that somebody has waited for in vain. Nobody waits for that.
    fn give_up(&self, server: &Arc<Server>) {
        let server = Arc::clone(server);
        let _ = self.engine.start(server.spec.timeout, async move { server.give_up().await });
    }
}

/// One server behind the seam.
#[derive(Debug)]
struct RemoteServer {
    server: Arc<Server>,
    /// Keeps the threads, without which nothing is fetched.
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
        self.server.standing(entry) == Standing::Allowed
    }

    fn read(&self, entry: &RemoteEntry, path: &str) -> Result<Vec<u8>, RemoteError> {
        let wanted = (entry.uri.clone(), entry::content_id(entry), path.to_owned());
        let (read, _) = self.server.flights.run(&wanted, || self.read_now(entry, path).map(Arc::new));
        // Bytes are copied only if several callers share them.
        read.map(Arc::unwrap_or_clone)
    }
}

impl RemoteServer {
    fn read_now(&self, entry: &RemoteEntry, path: &str) -> Result<Vec<u8>, RemoteError> {
        let entry = match self.server.allowed_entry(entry) {
            Ok(entry) => entry,
            Err(Standing::Changed) if self.server.may_ask_about(&entry.uri) => {
                let (server, entry, path) = (Arc::clone(&self.server), entry.clone(), path.to_owned());
                return self.inner.run(&self.server, async move { server.read_again(&entry, &path).await });
            }
            Err(standing) => return Err(remote::not_allowed(standing)),
        };
        let file = self.server.listed(&entry, path)?;
        if let Some(bytes) = self.server.cached(&entry, file) {
            return Ok(bytes);
        }
        let (server, file, entry) = (Arc::clone(&self.server), file.clone(), entry.clone().into_owned());
        self.inner.run(&self.server, async move { server.fetch(&entry, &file).await })
    }
}
