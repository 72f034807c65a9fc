//! One client: the skills it has loaded, its subscriptions, and the notifications that are not sent yet.

use skillcue_base::lock;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Weak};

use rmcp::model::SubscriptionFilter;
use skillcue::{Catalog, Changes};
use skillcue_base::{counted, hex};
use tokio::sync::Notify;

use super::backlog::Backlog;
use super::logging::{DEFAULT_RANK, LogLine};
use super::texts::SentTexts;
use super::uris;
use super::view::{is_prompt, is_served};
use super::watched::{MAX_WATCHED, WatchRefusal, WatchedUris, shorten};

/// How many subscription streams one client may have open.
const MAX_STREAMS: usize = 64;

/// How many log lines wait for a client that does not read them; the oldest go first.
const MAX_LINES: usize = 64;

/// How many skills that changed one log line names.
const MAX_NAMED: usize = 10;

/// A change of the catalog, as clients may see it.
#[derive(Debug, Default)]
pub(super) struct ChangeNotice {
    /// Whether the list of resources has changed.
    pub(super) resources: bool,
    /// Whether the list of prompts has changed.
    pub(super) prompts: bool,
    /// The names of the skills that changed: a client that has loaded one may have other tools now.
    pub(super) skills: Vec<String>,
    /// The paths, as in their URIs but decoded, of the skills that changed.
    pub(super) paths: HashSet<String>,
    /// The log line to send.
    pub(super) line: Option<LogLine>,
}

impl ChangeNotice {
    /// Returns the part of a change that concerns skills that clients could see before it or can see now.
    pub(super) fn of(changes: &Changes, before: &Catalog, after: &Catalog) -> ChangeNotice {
        let mut notice =
            ChangeNotice { skills: changes.names().map(str::to_owned).collect(), ..ChangeNotice::default() };
        // Then it is unknown whose lists have changed.
        let is_unknown = notice.skills.is_empty();
        (notice.resources, notice.prompts) = (is_unknown && changes.listing, is_unknown && changes.listing);
        let mut names = Vec::new();
        for name in changes.names() {
            let versions = [before, after].into_iter().filter_map(|catalog| catalog.named(name).next());
            let mut is_visible = false;
            for skill in versions {
                notice.prompts |= changes.listing && is_prompt(skill);
                if is_served(skill) {
                    is_visible = true;
                    notice.paths.extend(uris::path(skill));
                }
            }
            if is_visible {
                names.push(name);
            }
        }
        notice.resources |= changes.listing && !names.is_empty();
        if !names.is_empty() {
            let count = counted(names.len(), "skill");
            let more = if names.len() > MAX_NAMED { ", …" } else { "" };
            names.truncate(MAX_NAMED);
            let message = format!("{count} changed: {}{more}", names.join(", "));
            notice.line = Some(LogLine::info("catalog", message));
        }
        notice
    }
}

/// Notifications that are not sent yet. However much happens before the client listens, they stay small.
#[derive(Debug, Default)]
pub(super) struct PendingNotices {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) updated: BTreeSet<String>,
    pub(super) lines: VecDeque<LogLine>,
}

impl PendingNotices {
    fn is_empty(&self) -> bool {
        !self.tools && !self.prompts && !self.resources && self.updated.is_empty() && self.lines.is_empty()
    }
}

/// The skills whose bodies a client has loaded.
type LoadedSkills = Mutex<Arc<Vec<String>>>;

/// A queue of notifications to one client: a session's own, or that of one `subscriptions/listen` stream.
#[derive(Debug)]
pub(super) struct Outbox {
    id: u64,
    /// The session that it belongs to.
    session: u64,
    loaded: Arc<LoadedSkills>,
    tools: bool,
    prompts: bool,
    resources: bool,
    watched: WatchedUris,
    /// Log lines below this level are not sent to it.
    level: AtomicU8,
    pending: Mutex<PendingNotices>,
    wake: Notify,
    is_closed: AtomicBool,
}

impl Outbox {
    fn new(id: u64, of: (u64, Arc<LoadedSkills>), lists: [bool; 3], watched: WatchedUris, level: u8) -> Outbox {
        let (session, loaded) = of;
        let [tools, prompts, resources] = lists;
        Outbox {
            id,
            session,
            loaded,
            tools,
            prompts,
            resources,
            watched,
            level: AtomicU8::new(level),
            pending: Mutex::default(),
            wake: Notify::new(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Watches a URI, if there is room for it.
    pub(super) fn watch(&self, uri: String) -> Result<(), WatchRefusal> {
        self.watched.insert(uri)
    }

    pub(super) fn forget(&self, uri: &str) {
        self.watched.remove(uri);
    }

    pub(super) fn set_level(&self, rank: u8) {
        self.level.store(rank, Ordering::Relaxed);
    }

    /// Queues a log line, if the client wants lines of its level. Returns whether an older one was dropped for it.
    pub(super) fn log(&self, line: &LogLine) -> bool {
        if line.rank() < self.level.load(Ordering::Relaxed) {
            return false;
        }
        let mut pending = lock(&self.pending);
        let is_full = pending.lines.len() == MAX_LINES;
        if is_full {
            pending.lines.pop_front();
        }
        pending.lines.push_back(line.clone());
        drop(pending);
        self.wake.notify_one();
        is_full
    }

    fn announce(&self, notice: &ChangeNotice) {
        let mut pending = lock(&self.pending);
        pending.prompts |= self.prompts && notice.prompts;
        pending.tools |= self.tools && lock(&self.loaded).iter().any(|name| notice.skills.contains(name));
        pending.resources |= self.resources && notice.resources;
        let is_changed = |uri: &str| uris::parse(uri).is_ok_and(|parts| parts.is_below(&notice.paths));
        pending.updated.extend(self.watched.matching(is_changed));
        if !pending.is_empty() {
            drop(pending);
            self.wake.notify_one();
        }
    }

    /// Waits for notifications. `None`, once the client is gone.
    pub(super) async fn next(&self) -> Option<PendingNotices> {
        loop {
            let notices = std::mem::take(&mut *lock(&self.pending));
            if !notices.is_empty() {
                return Some(notices);
            }
            if self.is_closed.load(Ordering::Acquire) {
                return None;
            }
            self.wake.notified().await;
        }
    }
}

/// All clients and streams that get notifications.
#[derive(Debug, Default)]
pub(super) struct Subscribers {
    outboxes: Mutex<HashMap<u64, Arc<Outbox>>>,
    /// The length of all URIs that are watched.
    watched_bytes: Arc<AtomicUsize>,
}

/// Returns an id that no other session or stream of this process has, whatever its view.
fn next_id() -> u64 {
    static LAST_ID: AtomicU64 = AtomicU64::new(0);
    LAST_ID.fetch_add(1, Ordering::Relaxed)
}

/// The part of session labels that tells this process apart from others, on other machines and at other times, too: ids of
/// processes are used again, and are few in containers.
static PROCESS_ID: LazyLock<String> = LazyLock::new(|| {
    let mut random = [0; 8];
    match getrandom::fill(&mut random) {
        Ok(()) => hex(&random),
        Err(_) => std::process::id().to_string(),
    }
});

impl Subscribers {
    /// Queues a notice for every subscriber, without waiting. Returns how many older log lines were dropped for it.
    pub(super) fn announce(&self, notice: &ChangeNotice) -> u64 {
        let mut dropped = 0;
        for outbox in lock(&self.outboxes).values() {
            outbox.announce(notice);
            dropped += u64::from(notice.line.as_ref().is_some_and(|line| outbox.log(line)));
        }
        dropped
    }

    /// Returns how many URIs a session watches, and on how many streams.
    fn load_of(&self, session: u64) -> (usize, usize) {
        let outboxes = lock(&self.outboxes);
        let streams = outboxes.values().filter(|outbox| outbox.session == session && outbox.id != session);
        streams.fold((0, 0), |(uris, streams), outbox| (uris + outbox.watched.len(), streams + 1))
    }

    /// Notifies one session that its tools have changed.
    fn tools_changed(&self, session: u64) {
        for outbox in lock(&self.outboxes).values().filter(|outbox| outbox.session == session && outbox.tools) {
            lock(&outbox.pending).tools = true;
            outbox.wake.notify_one();
        }
    }

    /// Returns how many subscribers there are.
    pub(super) fn len(&self) -> usize {
        lock(&self.outboxes).len()
    }
}

/// The session of one client.
#[derive(Debug)]
pub(super) struct ClientSession {
    backlog: Arc<Backlog>,
    outbox: Arc<Outbox>,
    subscribers: Arc<Subscribers>,
    /// Whether there will be a second request.
    is_lasting: AtomicBool,
    pub(super) texts: SentTexts,
}

impl ClientSession {
    pub(super) fn new(subscribers: Arc<Subscribers>, is_lasting: bool) -> ClientSession {
        let id = next_id();
        let watched = WatchedUris::counted_in(&subscribers.watched_bytes);
        let outbox = Outbox::new(id, (id, Arc::default()), [true; 3], watched, DEFAULT_RANK);
        ClientSession {
            backlog: Arc::default(),
            outbox: Arc::new(outbox),
            subscribers,
            is_lasting: AtomicBool::new(is_lasting),
            texts: SentTexts::default(),
        }
    }

    /// Returns the answers that wait for the client.
    pub(super) fn backlog(&self) -> &Arc<Backlog> {
        &self.backlog
    }

    pub(super) fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    /// Begins to queue notifications for the client, until the session ends. Returns whether this was the first time.
    pub(super) fn join(&self) -> bool {
        lock(&self.subscribers.outboxes).insert(self.outbox.id, Arc::clone(&self.outbox)).is_none()
    }

    /// Begins to keep loaded skills: the client has asked for a session.
    pub(super) fn last(&self) {
        self.is_lasting.store(true, Ordering::Release);
    }

    /// Returns whether loaded skills stay loaded until the client's next request.
    pub(super) fn is_lasting(&self) -> bool {
        self.is_lasting.load(Ordering::Acquire)
    }

    /// Returns the skills whose bodies the client has loaded.
    pub(super) fn loaded(&self) -> Arc<Vec<String>> {
        Arc::clone(&lock(&self.outbox.loaded))
    }

    /// Remembers a loaded skill. Returns whether it had not been loaded before.
    pub(super) fn remember(&self, name: &str) -> bool {
        if !self.is_lasting() {
            return false;
        }
        let mut loaded = lock(&self.outbox.loaded);
        let is_new = !loaded.iter().any(|known| known == name);
        if is_new {
            Arc::make_mut(&mut loaded).push(name.to_owned());
        }
        is_new
    }

    /// Forgets a skill that was unloaded. Returns whether it was loaded.
    pub(super) fn forget_skill(&self, name: &str) -> bool {
        let mut loaded = lock(&self.outbox.loaded);
        let before = loaded.len();
        Arc::make_mut(&mut loaded).retain(|known| known != name);
        loaded.len() < before
    }

    /// Returns a label that tells this session apart from all others, of other views and other processes, too.
    pub(super) fn label(&self) -> String {
        format!("mcp-{}-{}", *PROCESS_ID, self.outbox.session)
    }

    pub(super) fn tools_changed(&self) {
        self.subscribers.tools_changed(self.outbox.session);
    }

    /// Returns the accepted part of a subscription: as many URIs as there is room for, and none that is too long.
    pub(super) fn accept(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            let (watched, _) = self.subscribers.load_of(self.outbox.session);
            shorten(uris, MAX_WATCHED.saturating_sub(watched));
        }
        accepted
    }

    /// Subscribes a stream of the client to notifications, unless there are too many.
    pub(super) fn listen(&self, accepted: &SubscriptionFilter) -> Result<NoticeStream, ListenRefusal> {
        let (_, streams) = self.subscribers.load_of(self.outbox.session);
        if streams >= MAX_STREAMS {
            return Err(ListenRefusal::Streams);
        }
        let wants = |wish: Option<bool>| wish == Some(true);
        let lists = [
            wants(accepted.tools_list_changed),
            wants(accepted.prompts_list_changed),
            wants(accepted.resources_list_changed),
        ];
        let watched = WatchedUris::counted_in(&self.subscribers.watched_bytes);
        for uri in accepted.resource_subscriptions.iter().flatten() {
            watched.insert(uri.clone())?;
        }
        let id = next_id();
        // Log lines are not sent on such a stream.
        let outbox =
            Arc::new(Outbox::new(id, (self.outbox.session, Arc::clone(&self.outbox.loaded)), lists, watched, u8::MAX));
        lock(&self.subscribers.outboxes).insert(id, Arc::clone(&outbox));
        Ok(NoticeStream { outbox, subscribers: Arc::downgrade(&self.subscribers) })
    }
}

impl Drop for ClientSession {
    fn drop(&mut self) {
        lock(&self.subscribers.outboxes).remove(&self.outbox.id);
        self.outbox.is_closed.store(true, Ordering::Release);
        self.outbox.wake.notify_one();
    }
}

/// The reason why a stream of notifications is not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ListenRefusal {
    #[error("more than {MAX_STREAMS} streams")]
    Streams,
    #[error(transparent)]
    Watched(#[from] WatchRefusal),
}

/// A subscription to notifications, until it is dropped.
#[derive(Debug)]
pub(super) struct NoticeStream {
    outbox: Arc<Outbox>,
    subscribers: Weak<Subscribers>,
}

impl NoticeStream {
    pub(super) async fn next(&self) -> Option<PendingNotices> {
        self.outbox.next().await
    }
}

impl Drop for NoticeStream {
    fn drop(&mut self) {
        if let Some(subscribers) = self.subscribers.upgrade() {
            lock(&subscribers.outboxes).remove(&self.outbox.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use super::{ChangeNotice, ClientSession, LogLine, Subscribers};

    #[test]
    fn closed_subscribers_are_forgotten() {
        let subscribers = Arc::new(Subscribers::default());
        let session = ClientSession::new(Arc::clone(&subscribers), false);
        assert_eq!(subscribers.len(), 0, "not before it has joined");
        assert!(session.join());
        let listening = session.listen(&rmcp::model::SubscriptionFilter::new()).unwrap();
        assert_eq!(subscribers.len(), 2);
        drop(listening);
        drop(session);
        assert_eq!(subscribers.len(), 0);
    }

    #[tokio::test]
    async fn waiting_notices_are_merged() {
        let subscribers = Arc::new(Subscribers::default());
        let session = ClientSession::new(Arc::clone(&subscribers), false);
        assert!(session.join());
        session.outbox().watch("skill://pdf/SKILL.md".to_owned()).unwrap();
        session.outbox().watch("skill://csv/SKILL.md".to_owned()).unwrap();
        for _ in 0..1_000 {
            subscribers.announce(&ChangeNotice {
                resources: true,
                prompts: true,
                skills: vec!["pdf".to_owned()],
                paths: HashSet::from(["pdf".to_owned()]),
                line: Some(LogLine::warning("changes", "x")),
            });
        }
        let notices = session.outbox().next().await.unwrap();
        assert!(notices.prompts && notices.resources && !notices.tools);
        assert_eq!(notices.updated.iter().collect::<Vec<_>>(), ["skill://pdf/SKILL.md"]);
        assert_eq!(notices.lines.len(), super::MAX_LINES);
    }

    #[tokio::test]
    async fn a_client_that_has_loaded_a_changed_skill_may_have_other_tools() {
        let subscribers = Arc::new(Subscribers::default());
        let session = ClientSession::new(Arc::clone(&subscribers), true);
        session.join();
        assert!(session.remember("pdf") && !session.remember("pdf"));
        let changed =
            |name: &str| ChangeNotice { skills: vec![name.to_owned()], prompts: true, ..ChangeNotice::default() };
        subscribers.announce(&changed("csv"));
        assert!(!session.outbox().next().await.unwrap().tools);
        subscribers.announce(&changed("pdf"));
        assert!(session.outbox().next().await.unwrap().tools);
    }

    #[test]
    fn labels_of_sessions_differ_between_views() {
        let labels: HashSet<String> = (0..3)
            .flat_map(|_| {
                let view = Arc::new(Subscribers::default());
                [0, 1].map(|_| ClientSession::new(Arc::clone(&view), true).label())
            })
            .collect();
        assert_eq!(labels.len(), 6);
        assert!(labels.iter().all(|label| label.starts_with("mcp-")), "{labels:?}");
    }
}
