//! One server: its listing, its files, its connection.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use skillcue::consent::{ConsentGate, Observed, Question, Subject};
use skillcue::remote::{RemoteEntry, RemoteError, RemoteFile};
use skillcue_base::{Shown, SingleFlight};
use skillcue_catalog::ContentId;

use super::cache::{ServerCache, Stamp};
use super::connection::{Connection, ConnectionError, Surroundings};
use super::entry::content_id;
use super::listing::{Failure, Gathering, Listing};
use super::spec::ServerSpec;
use super::standing::Standing;
use super::{Outcome, entry, verify};

/// Most skills of one server.
const MAX_ENTRIES: usize = 10_000;
/// Most pages of one listing.
const MAX_PAGES: usize = 200;
/// Most bytes of one listing, over all its pages.
const MAX_LISTING: usize = 64 << 20;

/// How long the server is not asked again about a skill whose content has changed.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// A file of a skill as an entry lists it: the entry's URI, what it says of all its files, and the file's path.
pub(crate) type Wanted = (String, Option<ContentId>, String);

/// One server and what is known of it.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) spec: ServerSpec,
    pub(crate) identity: String,
    cache: Option<ServerCache>,
    consent: Arc<dyn ConsentGate>,
    around: Surroundings,
    known: Mutex<Option<Known>>,
    /// The connection, once somebody needed it. Its lock is held while it is made, so that it is made once.
    link: tokio::sync::Mutex<Option<Arc<Connection>>>,
    /// Files that are being read, so that each is fetched once for all callers.
    pub(crate) flights: SingleFlight<Wanted, Result<Arc<Vec<u8>>, RemoteError>>,
    /// When the server was last asked about a skill whose content had changed.
    asked: Mutex<HashMap<String, Instant>>,
}

#[derive(Debug, Clone, Default)]
struct Known {
    listing: Listing,
    failure: Option<Failure>,
    /// The file as it was when it was last read or written.
    stamp: Option<Stamp>,
    /// Whether the entries have changed since somebody last asked for all of them and was told.
    untold: bool,
}

impl Server {
    pub(crate) fn new(
        spec: ServerSpec,
        cache: Option<ServerCache>,
        consent: Arc<dyn ConsentGate>,
        around: Surroundings,
    ) -> Server {
        Server {
            identity: spec.identity(),
            spec,
            cache,
            consent,
            around,
            known: Mutex::new(None),
            link: tokio::sync::Mutex::new(None),
            flights: SingleFlight::default(),
            asked: Mutex::default(),
        }
    }

    /// What is known, read from disk the first time.
    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        let mut known = skillcue_base::lock(&self.known);
        if known.is_none() {
            let cache = self.cache.as_ref();
            *known = Some(Known {
                // Before the file is read: if it is replaced meanwhile, it is read once too often.
                stamp: cache.and_then(Listing::stamp),
                untold: false,
                listing: cache.and_then(|cache| Listing::load(cache, &self.identity)).unwrap_or_default(),
                failure: cache.and_then(|cache| Failure::load(cache, &self.identity)),
            });
        }
        known
    }

    pub(crate) fn listing(&self) -> Listing {
        self.known().as_ref().map(|known| known.listing.clone()).unwrap_or_default()
    }

    pub(crate) fn failure(&self) -> Option<Failure> {
        self.known().as_ref().and_then(|known| known.failure.clone())
    }

    pub(crate) fn is_stale(&self) -> bool {
        let now = SystemTime::now();
        let known = self.known();
        known.as_ref().is_some_and(|known| {
            known.listing.is_stale(now) && !known.failure.as_ref().is_some_and(|failure| failure.is_recent(now))
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
    fn allowed(&self, entry: &RemoteEntry) -> Standing {
        // Most entries of most servers were never allowed: for them, no digest is computed.
        match entry.files {
            None => Standing::Dynamic,
            Some(_) if !self.consent.knows(&self.subject(entry)) => Standing::Never,
            Some(_) => self.question(entry).map_or(Standing::Dynamic, |question| self.consent.answer(&question).into()),
        }
    }

    /// How an entry stands: by what was allowed, and by what the server shows now.
    pub(crate) fn standing(&self, entry: &RemoteEntry) -> Standing {
        let standing = self.allowed(entry);
        if standing != Standing::Allowed {
            return standing;
        }
        let known = self.known();
        match known.as_ref().and_then(|known| known.listing.entry(&entry.uri)) {
            Some(now) if **now != *entry && content_id(now) != content_id(entry) => Standing::Changed,
            _ => Standing::Allowed,
        }
    }

    /// The entry to read from, if it is allowed: the given one, or what another process has meanwhile listed in its
    /// place. Else how it stands.
    pub(crate) fn allowed_entry<'e>(&self, entry: &'e RemoteEntry) -> Result<Cow<'e, RemoteEntry>, Standing> {
        let standing = self.standing(entry);
        if standing == Standing::Allowed {
            return Ok(Cow::Borrowed(entry));
        }
        self.catch_up();
        let now = self.listing().entry(&entry.uri).cloned().ok_or(standing)?;
        match self.standing(&now) {
            Standing::Allowed => Ok(Cow::Owned(RemoteEntry::clone(&now))),
            standing => Err(standing),
        }
    }

    /// Takes the listing on disk if another process has put a newer one there.
    fn catch_up(&self) {
        let Some(cache) = &self.cache else { return };
        let mut known = self.known();
        let Some(known) = known.as_mut() else { return };
        let stamp = Listing::stamp(cache);
        if stamp == known.stamp {
            return;
        }
        known.stamp = stamp;
        match Listing::load(cache, &self.identity) {
            Some(listing) if listing.is_as_new_as(&known.listing) => {
                known.untold |= listing.entries != known.listing.entries;
                known.listing = listing;
            }
            _ => {}
        }
    }

    /// Whether the server may be asked again about one skill. It is not bothered at every attempt to read.
    pub(crate) fn may_ask_about(&self, uri: &str) -> bool {
        let now = Instant::now();
        let mut asked = skillcue_base::lock(&self.asked);
        asked.retain(|_, when| now.duration_since(*when) < ASK_AGAIN);
        if asked.contains_key(uri) {
            return false;
        }
        asked.insert(uri.to_owned(), now);
        true
    }

    /// Whether entries have changed that nobody was told of. Whoever asks is told.
    pub(crate) fn take_untold(&self) -> bool {
        self.known().as_mut().is_some_and(|known| std::mem::take(&mut known.untold))
    }

    // Asking ------------------------------------------------------------------------------------------------------

    /// The connection, and whether it had been there before.
    async fn connected(&self) -> Result<(Arc<Connection>, bool), ConnectionError> {
        let mut link = self.link.lock().await;
        if let Some(connection) = link.as_ref().filter(|connection| connection.is_open()) {
            return Ok((Arc::clone(connection), true));
        }
        // What is dead goes before a new one comes.
        *link = None;
        let connection = Arc::new(Connection::open(&self.spec, &self.around).await?);
        *link = Some(Arc::clone(&connection));
        Ok((connection, false))
    }

    async fn hang_up(&self, connection: &Arc<Connection>) {
        let mut link = self.link.lock().await;
        if link.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            *link = None;
        }
    }

    /// Gives the connection up, whatever state it is in: somebody has waited for it in vain.
    pub(crate) async fn give_up(&self) {
        *self.link.lock().await = None;
    }

    /// Asks the server. A connection that had died meanwhile is made anew, once.
    async fn ask(&self, method: &str, params: Value) -> Result<Value, ConnectionError> {
        let (connection, kept) = self.connected().await?;
        let answer = connection.ask(method, params.clone()).await;
        let Err(error @ (ConnectionError::Slow(_) | ConnectionError::Gone(_))) = answer else { return answer };
        self.hang_up(&connection).await;
        drop(connection);
        if !kept || matches!(error, ConnectionError::Slow(_)) {
            return Err(error);
        }
        let (connection, _) = self.connected().await?;
        let answer = connection.ask(method, params).await;
        if let Err(ConnectionError::Slow(_) | ConnectionError::Gone(_)) = &answer {
            self.hang_up(&connection).await;
        }
        answer
    }

    // Listing -----------------------------------------------------------------------------------------------------

    /// Asks for all skills, page by page.
    pub(crate) async fn list(&self) -> Result<Listing, ConnectionError> {
        let mut gathering = Gathering::default();
        let mut cursors: HashSet<String> = HashSet::new();
        let mut cursor: Option<String> = None;
        let mut ttl: Option<u64> = None;
        let (mut seen, mut bytes) = (0, 0);
        'pages: for page in 0.. {
            if page == MAX_PAGES {
                gathering.say(&format!("the listing goes on after {MAX_PAGES} pages; the rest is left out"));
                break;
            }
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let result = self.ask("skills/list", params).await?;
            let Some(skills) = result.get("skills").and_then(Value::as_array) else {
                return Err(ConnectionError::Nonsense(
                    "what it answers to skills/list has no list of skills".to_owned(),
                ));
            };
            bytes += serde_json::to_vec(skills).map_or(0, |text| text.len());
            if bytes > MAX_LISTING {
                gathering.say(&format!("the listing has more than {MAX_LISTING} bytes; the rest is left out"));
                break;
            }
            for skill in skills {
                seen += 1;
                if seen > MAX_ENTRIES {
                    gathering.say(&format!("the listing has more than {MAX_ENTRIES} skills; the rest is left out"));
                    break 'pages;
                }
                gathering.take(skill);
            }
            // The shortest time counts: the listing is as old as its oldest page.
            let page_ttl = result.get("ttlMs").and_then(Value::as_u64);
            ttl = ttl.into_iter().chain(page_ttl).min();
            cursor = match result.get("nextCursor") {
                None | Some(Value::Null) => break,
                Some(Value::String(next)) => Some(next.clone()),
                Some(_) => {
                    gathering.say("a cursor is no text; the rest is left out");
                    break;
                }
            };
            if let Some(next) = &cursor
                && !cursors.insert(next.clone())
            {
                gathering.say("a cursor came twice; the rest is left out");
                break;
            }
        }
        Ok(gathering.finish(ttl, SystemTime::now()))
    }

    /// Asks for all skills and keeps them. If that fails, what was known stays.
    pub(crate) async fn refresh(&self) -> Result<Outcome, String> {
        match self.list().await {
            Ok(listing) => Ok(self.keep(&listing)),
            Err(error) => {
                let message = error.to_string();
                self.failed(&message);
                Err(message)
            }
        }
    }

    fn keep(&self, listing: &Listing) -> Outcome {
        self.observe(&listing.entries);
        let count = listing.entries.len();
        // In memory first: what is known otherwise comes from the file that is about to be written.
        let now = Known { listing: listing.clone(), failure: None, stamp: None, untold: false };
        let before = self.known().replace(now).unwrap_or_default();
        if let Some(cache) = &self.cache {
            Failure::forget(cache);
        }
        self.save(listing);
        let same = before.listing.fetched.is_some()
            && before.listing.entries == listing.entries
            && before.listing.diagnostics == listing.diagnostics;
        if same && !before.untold { Outcome::Unchanged(count) } else { Outcome::Changed(count) }
    }

    /// Keeps a listing for the next start.
    fn save(&self, listing: &Listing) {
        let Some(cache) = &self.cache else { return };
        self.saved("the listing", listing.save(cache, &self.identity));
        let stamp = Listing::stamp(cache);
        if let Some(known) = self.known().as_mut() {
            known.stamp = stamp;
        }
    }

    /// The server could not be asked; it is left alone for a while.
    pub(crate) fn failed(&self, message: &str) {
        let failure = Failure { message: message.to_owned(), when: SystemTime::now() };
        if let Some(known) = self.known().as_mut() {
            known.failure = Some(failure.clone());
        }
        if let Some(cache) = &self.cache {
            self.saved("the failure", failure.save(cache, &self.identity));
        }
    }

    /// Consent to what has changed ends here.
    fn observe(&self, entries: &[Arc<RemoteEntry>]) {
        let now = |subject: &Subject| match subject {
            Subject::RemoteSkill { label, server, uri, .. }
                if *label == self.spec.label && *server == self.identity =>
            {
                match entries.iter().find(|entry| entry.uri == *uri) {
                    Some(entry) => content_id(entry).map_or(Observed::NoContent, Observed::Content),
                    None => Observed::NotSeen,
                }
            }
            _ => Observed::NotSeen,
        };
        let observe = || self.consent.observe(&now);
        // Somebody else may have the file: others who are on this thread do not wait for that.
        if let Err(error) = tokio::task::block_in_place(observe) {
            // They do not count all the same: what is allowed is compared with what is listed each time.
            tracing::warn!(target: "skillcue::mcp", server = self.spec.label, "{error}");
        }
    }

    fn saved(&self, what: &str, result: std::io::Result<()>) {
        if let Err(error) = result {
            tracing::debug!(target: "skillcue::mcp", server = self.spec.label, "{what} cannot be kept: {error}");
        }
    }

    /// Asks for one skill, listed or not, and keeps its entry.
    pub(crate) async fn get(&self, uri: &str) -> Result<Arc<RemoteEntry>, RemoteError> {
        let answer = self.ask("skills/get", json!({ "uri": uri })).await.map_err(|error| self.unreachable(&error))?;
        let read = answer.get("skill").ok_or_else(|| "it has no `skill`".to_owned()).and_then(entry::read);
        let entry = read.map_err(|problem| RemoteError::Unverified(format!("{}: {}", Shown(uri), Shown(&problem))))?;
        if entry.uri != uri {
            return Err(RemoteError::Unverified(format!("the server was asked for {}", Shown(uri))));
        }
        let entry = Arc::new(entry);
        // Only this one was shown: of the others, another process may know something newer.
        self.observe(std::slice::from_ref(&entry));
        // So that what another process has found out is not written over.
        self.catch_up();
        let listing = {
            let mut known = self.known();
            let known = known.get_or_insert_default();
            let listing = known.listing.with(Arc::clone(&entry));
            known.untold |= listing.entries != known.listing.entries;
            known.listing = listing.clone();
            listing
        };
        self.save(&listing);
        Ok(entry)
    }

    // Files -------------------------------------------------------------------------------------------------------

    /// A file from the disk, verified as if it came from the server.
    pub(crate) fn cached(&self, entry: &RemoteEntry, file: &RemoteFile) -> Option<Vec<u8>> {
        let cache = self.cache.as_ref()?;
        let bytes = cache.get(entry, file)?;
        match verify::check(entry, file, &bytes) {
            Ok(()) => Some(bytes),
            Err(problem) => {
                self.warn(&file.uri, &format!("a cached file was altered: {problem}"));
                cache.discard(entry, file);
                None
            }
        }
    }

    /// A file from the server, verified and kept.
    pub(crate) async fn fetch(&self, entry: &RemoteEntry, file: &RemoteFile) -> Result<Vec<u8>, RemoteError> {
        let problem = match self.read_verified(entry, file).await {
            Ok(bytes) => {
                if let Some(cache) = &self.cache {
                    self.saved("a file", cache.put(entry, file, &bytes));
                }
                return Ok(bytes);
            }
            Err(problem) => problem,
        };
        let (error, problem) = match problem {
            ReadError::Unverified(problem) => {
                self.warn(&file.uri, &problem);
                (RemoteError::Unverified(problem.clone()), problem)
            }
            ReadError::Connection(error @ ConnectionError::Refused(_)) => (self.unreachable(&error), error.to_string()),
            ReadError::Connection(error) => return Err(self.unreachable(&error)),
        };
        // The listing may simply be old. Then the server has another entry, which is not allowed yet.
        match self.get(&entry.uri).await {
            Ok(now) if content_id(&now) != content_id(entry) => {
                tracing::debug!(target: "skillcue::mcp", server = self.spec.label, "{problem}; the skill has changed");
                Err(not_allowed(Standing::Changed))
            }
            _ => Err(error),
        }
    }

    /// A file of a skill whose content has changed since it was allowed, as far as this host knows: it may
    /// have been allowed elsewhere since. The server is asked what the skill is now.
    pub(crate) async fn read_again(&self, entry: &RemoteEntry, path: &str) -> Result<Vec<u8>, RemoteError> {
        // Half of the time limit is for this, so that the other half is left for the file.
        match tokio::time::timeout(self.spec.timeout / 2, self.get(&entry.uri)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::debug!(target: "skillcue::mcp", server = self.spec.label, "{error}");
            }
            Err(_) => self.give_up().await,
        }
        let entry = self.allowed_entry(entry).map_err(not_allowed)?;
        let file = self.listed(&entry, path)?;
        match self.cached(&entry, file) {
            Some(bytes) => Ok(bytes),
            None => self.fetch(&entry, file).await,
        }
    }

    /// The file of an entry at a path.
    pub(crate) fn listed<'e>(&self, entry: &'e RemoteEntry, path: &str) -> Result<&'e RemoteFile, RemoteError> {
        entry.file(path).ok_or_else(|| {
            if entry::clean(path).is_none() {
                tracing::warn!(
                    // As `SkillDir` calls it.
                    name: "refused_path",
                    target: "skillcue::security",
                    server = self.spec.label,
                    uri = %Shown(&entry.uri),
                    "a path that leads out of the skill: {:?}",
                    Shown(path)
                );
            }
            RemoteError::NotListed(Shown(path).to_string())
        })
    }

    /// One file, as the server sends it, if it is what the entry says.
    pub(crate) async fn read_verified(&self, entry: &RemoteEntry, file: &RemoteFile) -> Result<Vec<u8>, ReadError> {
        let answer = self.ask("resources/read", json!({ "uri": file.uri })).await.map_err(ReadError::Connection)?;
        let bytes = content(&answer, &file.uri).map_err(ReadError::Unverified)?;
        verify::check(entry, file, &bytes).map_err(ReadError::Unverified)?;
        Ok(bytes)
    }

    pub(crate) fn unreachable(&self, error: &ConnectionError) -> RemoteError {
        RemoteError::Unreachable(format!("{}: {error}", self.spec.label))
    }

    /// One line for whoever watches over security.
    pub(crate) fn warn(&self, uri: &str, problem: &str) {
        tracing::warn!(target: "skillcue::security", server = self.spec.label, uri = %Shown(uri), "{problem}");
    }

    /// Deletes cached files that are listed no longer.
    pub(crate) fn sweep(&self) -> std::io::Result<()> {
        let listing = self.listing();
        match &self.cache {
            // Without a listing, nobody knows.
            Some(cache) if listing.fetched.is_some() => cache.sweep(&listing.entries),
            _ => Ok(()),
        }
    }

    /// The protocol's version and what the server calls itself.
    pub(crate) async fn greeting(&self) -> Result<(String, Option<String>), ConnectionError> {
        let (connection, _) = self.connected().await?;
        Ok((connection.protocol(), connection.calls_itself()))
    }
}

pub(crate) fn not_allowed(standing: Standing) -> RemoteError {
    RemoteError::NotAllowed(standing.reason().to_owned())
}

/// Why a file was not had.
#[derive(Debug)]
pub(crate) enum ReadError {
    Connection(ConnectionError),
    Unverified(String),
}

/// The bytes in an answer to `resources/read`.
fn content(answer: &Value, uri: &str) -> Result<Vec<u8>, String> {
    let said = || Shown(uri).to_string();
    let contents = answer.get("contents").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let [content] = contents else {
        return Err(format!("{}: {} contents were sent instead of one", said(), contents.len()));
    };
    if content.get("uri").and_then(Value::as_str) != Some(uri) {
        return Err(format!("{}: something else was sent", said()));
    }
    match (content.get("text"), content.get("blob")) {
        (Some(Value::String(text)), None) => Ok(text.clone().into_bytes()),
        (None, Some(Value::String(blob))) => {
            STANDARD.decode(blob).map_err(|error| format!("{}: no base64 was sent: {error}", said()))
        }
        _ => Err(format!("{}: neither a text nor a blob was sent", said())),
    }
}
