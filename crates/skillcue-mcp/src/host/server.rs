//! One configured server: its state, the consent to its skills, its connection.

mod files;
mod refresh;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use skillcue::consent::{ConsentGate, Question, Subject};
use skillcue::remote::{RemoteEntry, RemoteError};
use skillcue_base::SingleFlight;
use skillcue_catalog::ContentId;

pub(crate) use files::ReadError;

use super::cache::{CacheStamp, ServerCache};
use super::connection::{Connection, ConnectionContext, ConnectionError};
use super::entry::content_id;
use super::listing::{ServerFailure, ServerListing};
use super::permission::LoadPermission;
use super::spec::ServerSpec;

/// How long the server is not asked again about a skill whose content has changed.
const MIN_ASK_INTERVAL: Duration = Duration::from_secs(5);

/// The identity of a listed file: the entry's URI, the content of all its files, and the file's path.
pub(crate) type FileKey = (String, Option<ContentId>, String);

/// One server and its state.
#[derive(Debug)]
pub(crate) struct ConfiguredServer {
    pub(crate) spec: ServerSpec,
    pub(crate) identity: String,
    cache: Option<ServerCache>,
    consent: Arc<dyn ConsentGate>,
    context: ConnectionContext,
    state: Mutex<Option<ServerState>>,
    /// The connection, once it was needed. Its lock is held while it is made, so that it is made once.
    connection: tokio::sync::Mutex<Option<Arc<Connection>>>,
    /// Files that are being read, so that each is fetched once for all callers.
    pub(crate) reads: SingleFlight<FileKey, Result<Arc<Vec<u8>>, RemoteError>>,
    /// When the server was last asked about a skill whose content had changed.
    asked: Mutex<HashMap<String, Instant>>,
}

#[derive(Debug, Clone, Default)]
struct ServerState {
    listing: ServerListing,
    failure: Option<ServerFailure>,
    /// The file as it was when it was last read or written.
    stamp: Option<CacheStamp>,
    /// Whether the entries have changed since the last refresh was reported.
    unreported: bool,
}

impl ConfiguredServer {
    pub(crate) fn new(
        spec: ServerSpec,
        cache: Option<ServerCache>,
        consent: Arc<dyn ConsentGate>,
        context: ConnectionContext,
    ) -> ConfiguredServer {
        ConfiguredServer {
            identity: spec.identity(),
            spec,
            cache,
            consent,
            context,
            state: Mutex::new(None),
            connection: tokio::sync::Mutex::new(None),
            reads: SingleFlight::default(),
            asked: Mutex::default(),
        }
    }

    /// Returns the state, read from disk the first time.
    fn state(&self) -> MutexGuard<'_, Option<ServerState>> {
        let mut state = skillcue_base::lock(&self.state);
        if state.is_none() {
            let cache = self.cache.as_ref();
            *state = Some(ServerState {
                // Before the file is read: if it is replaced meanwhile, it is read once too often.
                stamp: cache.and_then(ServerListing::stamp),
                unreported: false,
                listing: cache.and_then(|cache| ServerListing::load(cache, &self.identity)).unwrap_or_default(),
                failure: cache.and_then(|cache| ServerFailure::load(cache, &self.identity)),
            });
        }
        state
    }

    pub(crate) fn listing(&self) -> ServerListing {
        self.state().as_ref().map(|state| state.listing.clone()).unwrap_or_default()
    }

    pub(crate) fn failure(&self) -> Option<ServerFailure> {
        self.state().as_ref().and_then(|state| state.failure.clone())
    }

    pub(crate) fn is_stale(&self) -> bool {
        let now = SystemTime::now();
        let state = self.state();
        state.as_ref().is_some_and(|state| {
            state.listing.is_stale(now) && !state.failure.as_ref().is_some_and(|failure| failure.is_recent(now))
        })
    }

    fn subject(&self, entry: &RemoteEntry) -> Subject {
        Subject::RemoteSkill {
            label: self.spec.label.clone(),
            server: self.identity.clone(),
            uri: entry.uri.clone(),
            name: entry.name().to_owned(),
        }
    }

    /// Returns the question whether an entry may be loaded; none if its content is not known in advance.
    pub(crate) fn question(&self, entry: &RemoteEntry) -> Option<Question> {
        Some(Question::new(self.subject(entry), content_id(entry)?))
    }

    /// Returns whether an entry may be loaded by what a person has allowed.
    fn consent_to(&self, entry: &RemoteEntry) -> LoadPermission {
        LoadPermission::of(&*self.consent, self.subject(entry), entry)
    }

    /// Returns whether an entry may be loaded: by what was allowed, and by what the server lists now.
    pub(crate) fn permission(&self, entry: &RemoteEntry) -> LoadPermission {
        let permission = self.consent_to(entry);
        if permission != LoadPermission::Allowed {
            return permission;
        }
        let state = self.state();
        match state.as_ref().and_then(|state| state.listing.entry(&entry.uri)) {
            Some(now) if **now != *entry && content_id(now) != content_id(entry) => LoadPermission::Changed,
            _ => LoadPermission::Allowed,
        }
    }

    /// Returns the entry to read from, if it is allowed: the given one, or the one that another process has meanwhile
    /// listed in its place. The error says why it may not be loaded.
    pub(crate) fn allowed_entry<'e>(&self, entry: &'e RemoteEntry) -> Result<Cow<'e, RemoteEntry>, LoadPermission> {
        let permission = self.permission(entry);
        if permission == LoadPermission::Allowed {
            return Ok(Cow::Borrowed(entry));
        }
        self.catch_up();
        let now = self.listing().entry(&entry.uri).cloned().ok_or(permission)?;
        match self.permission(&now) {
            LoadPermission::Allowed => Ok(Cow::Owned(RemoteEntry::clone(&now))),
            permission => Err(permission),
        }
    }

    /// Reads the listing from disk if another process has written a newer one.
    fn catch_up(&self) {
        let Some(cache) = &self.cache else { return };
        let mut state = self.state();
        let Some(state) = state.as_mut() else { return };
        let stamp = ServerListing::stamp(cache);
        if stamp == state.stamp {
            return;
        }
        state.stamp = stamp;
        match ServerListing::load(cache, &self.identity) {
            Some(listing) if listing.is_as_new_as(&state.listing) => {
                state.unreported |= listing.entries != state.listing.entries;
                state.listing = listing;
            }
            _ => {}
        }
    }

    /// Returns whether the server may be asked again about one skill, which is not done at every attempt to read.
    pub(crate) fn may_ask_about(&self, uri: &str) -> bool {
        let now = Instant::now();
        let mut asked = skillcue_base::lock(&self.asked);
        asked.retain(|_, when| now.duration_since(*when) < MIN_ASK_INTERVAL);
        if asked.contains_key(uri) {
            return false;
        }
        asked.insert(uri.to_owned(), now);
        true
    }

    /// Returns whether entries have changed since the last report, and marks them as reported.
    pub(crate) fn take_unreported(&self) -> bool {
        self.state().as_mut().is_some_and(|state| std::mem::take(&mut state.unreported))
    }

    /// Returns the connection, and whether it had been there before.
    async fn connected(&self) -> Result<(Arc<Connection>, bool), ConnectionError> {
        let mut current = self.connection.lock().await;
        if let Some(connection) = current.as_ref().filter(|connection| connection.is_open()) {
            return Ok((Arc::clone(connection), true));
        }
        // A dead connection is dropped before a new one is made.
        *current = None;
        let connection = Arc::new(Connection::open(&self.spec, &self.context).await?);
        *current = Some(Arc::clone(&connection));
        Ok((connection, false))
    }

    async fn drop_if_current(&self, connection: &Arc<Connection>) {
        let mut current = self.connection.lock().await;
        if current.as_ref().is_some_and(|open| Arc::ptr_eq(open, connection)) {
            *current = None;
        }
    }

    /// Drops the connection, whatever state it is in: a caller's time limit has passed.
    pub(crate) async fn drop_connection(&self) {
        *self.connection.lock().await = None;
    }

    /// Sends the server a request. A connection that had died meanwhile is made anew, once.
    async fn ask(&self, method: &str, params: Value) -> Result<Value, ConnectionError> {
        let (connection, kept) = self.connected().await?;
        let answer = connection.ask(method, params.clone()).await;
        let Err(error @ (ConnectionError::Slow(_) | ConnectionError::Gone(_))) = answer else { return answer };
        self.drop_if_current(&connection).await;
        drop(connection);
        if !kept || matches!(error, ConnectionError::Slow(_)) {
            return Err(error);
        }
        let (connection, _) = self.connected().await?;
        let answer = connection.ask(method, params).await;
        if let Err(ConnectionError::Slow(_) | ConnectionError::Gone(_)) = &answer {
            self.drop_if_current(&connection).await;
        }
        answer
    }

    pub(crate) fn unreachable(&self, error: &ConnectionError) -> RemoteError {
        RemoteError::Unreachable(format!("{}: {error}", self.spec.label))
    }

    /// Returns the protocol's version and the server's own name.
    pub(crate) async fn server_info(&self) -> Result<(String, Option<String>), ConnectionError> {
        let (connection, _) = self.connected().await?;
        Ok((connection.protocol(), connection.server_name()))
    }
}

pub(crate) fn not_allowed(permission: LoadPermission) -> RemoteError {
    RemoteError::NotAllowed(permission.reason().to_owned())
}
