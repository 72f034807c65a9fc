//! One client: what it has loaded, what it wants to hear, and what it has yet to be told.

use skillcue_base::lock;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use rmcp::model::SubscriptionFilter;
use skillcue::{Catalog, Changes};
use skillcue_base::counted;
use tokio::sync::{Notify, watch};

use super::logging::{Level, Line};
use super::uris;
use super::view::{is_prompt, is_served};

/// How many URIs one client may watch, over all its streams.
pub(super) const MAX_WATCHED: usize = 1_000;

/// Longest URI that is watched.
pub(super) const MAX_URI: usize = 4 << 10;

/// How many streams of news one client may have open.
pub(super) const MAX_STREAMS: usize = 64;

/// How many log lines wait for a client that does not read them; the oldest go first.
const MAX_LINES: usize = 64;

/// How many bytes of answers may wait for a client that does not read them, before the next is made.
const MAX_BACKLOG: usize = 8 << 20;

/// How many skills that changed one log line names.
const NAMED: usize = 10;

/// A change as clients may see it.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Whether the list of resources is another.
    pub(super) resources: bool,
    /// Whether the list of prompts is another.
    pub(super) prompts: bool,
    /// The names of the skills that changed: whoever has loaded one may have other tools now.
    pub(super) skills: Vec<String>,
    /// The paths, as in their URIs but decoded, of the skills that changed.
    pub(super) places: HashSet<String>,
    /// What to log.
    pub(super) line: Option<Line>,
}

impl News {
    /// What of a change concerns skills that clients could see before it or can see now.
    pub(super) fn of(changes: &Changes, before: &Catalog, after: &Catalog) -> News {
        let mut news = News { skills: changes.names().map(str::to_owned).collect(), ..News::default() };
        // Nobody knows whose lists they are, then.
        let is_unknown = news.skills.is_empty();
        (news.resources, news.prompts) = (is_unknown && changes.listing, is_unknown && changes.listing);
        let mut names = Vec::new();
        for name in changes.names() {
            let versions = [before, after].into_iter().filter_map(|catalog| catalog.named(name).next());
            let mut is_visible = false;
            for skill in versions {
                news.prompts |= changes.listing && is_prompt(skill);
                if is_served(skill) {
                    is_visible = true;
                    news.places.extend(uris::path(skill));
                }
            }
            if is_visible {
                names.push(name);
            }
        }
        news.resources |= changes.listing && !names.is_empty();
        if !names.is_empty() {
            let count = counted(names.len(), "skill");
            let more = if names.len() > NAMED { ", …" } else { "" };
            names.truncate(NAMED);
            let message = format!("{count} changed: {}{more}", names.join(", "));
            news.line = Some(Line::new(Level::Info, "catalog", message));
        }
        news
    }
}

/// What a client has yet to be told. However much happens before it listens, it stays small.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) updated: BTreeSet<String>,
    pub(super) lines: VecDeque<Line>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        !self.tools && !self.prompts && !self.resources && self.updated.is_empty() && self.lines.is_empty()
    }
}

/// The skills whose bodies a client has loaded.
type Loaded = Mutex<Arc<Vec<String>>>;

/// Where a client's news wait until they are sent: a session's own, or those of one `subscriptions/listen` stream.
#[derive(Debug)]
pub(super) struct Outbox {
    id: u64,
    /// Which session it belongs to, and what that has loaded.
    session: u64,
    loaded: Arc<Loaded>,
    tools: bool,
    prompts: bool,
    resources: bool,
    watched: Mutex<HashSet<String>>,
    /// Log lines below this are not for it.
    level: AtomicU8,
    pending: Mutex<Pending>,
    wake: Notify,
    is_closed: AtomicBool,
}

impl Outbox {
    fn new(id: u64, of: (u64, Arc<Loaded>), lists: [bool; 3], watched: HashSet<String>, level: u8) -> Outbox {
        let (session, loaded) = of;
        let [tools, prompts, resources] = lists;
        Outbox {
            id,
            session,
            loaded,
            tools,
            prompts,
            resources,
            watched: Mutex::new(watched),
            level: AtomicU8::new(level),
            pending: Mutex::default(),
            wake: Notify::new(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Watches a URI. `false` if there is no room for more, or it is too long.
    pub(super) fn watch(&self, uri: String) -> bool {
        let mut watched = lock(&self.watched);
        let has_room = uri.len() <= MAX_URI && (watched.len() < MAX_WATCHED || watched.contains(&uri));
        if has_room {
            watched.insert(uri);
        }
        has_room
    }

    pub(super) fn forget(&self, uri: &str) {
        lock(&self.watched).remove(uri);
    }

    pub(super) fn set_level(&self, level: Level) {
        self.level.store(level.rank(), Ordering::Relaxed);
    }

    /// Puts a log line in, if the client wants lines of its level.
    pub(super) fn log(&self, line: &Line) {
        if line.level.rank() < self.level.load(Ordering::Relaxed) {
            return;
        }
        let mut pending = lock(&self.pending);
        if pending.lines.len() == MAX_LINES {
            pending.lines.pop_front();
        }
        pending.lines.push_back(line.clone());
        drop(pending);
        self.wake.notify_one();
    }

    fn announce(&self, news: &News) {
        let mut pending = lock(&self.pending);
        pending.prompts |= self.prompts && news.prompts;
        pending.tools |= self.tools && lock(&self.loaded).iter().any(|name| news.skills.contains(name));
        pending.resources |= self.resources && news.resources;
        for uri in lock(&self.watched).iter() {
            if uris::parse(uri).is_ok_and(|parts| parts.is_below(&news.places)) {
                pending.updated.insert(uri.clone());
            }
        }
        if !pending.is_empty() {
            drop(pending);
            self.wake.notify_one();
        }
    }

    /// Waits for news. Nothing, once the client is gone.
    pub(super) async fn next(&self) -> Option<Pending> {
        loop {
            let news = std::mem::take(&mut *lock(&self.pending));
            if !news.is_empty() {
                return Some(news);
            }
            if self.is_closed.load(Ordering::Acquire) {
                return None;
            }
            self.wake.notified().await;
        }
    }
}

/// Everybody who wants to hear news.
#[derive(Debug, Default)]
pub(super) struct Audience {
    outboxes: Mutex<HashMap<u64, Arc<Outbox>>>,
    last_id: AtomicU64,
}

impl Audience {
    fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Tells everybody. Nobody is waited for.
    pub(super) fn announce(&self, news: &News) {
        for outbox in lock(&self.outboxes).values() {
            outbox.announce(news);
            if let Some(line) = &news.line {
                outbox.log(line);
            }
        }
    }

    /// How many URIs a session watches, and on how many streams.
    fn load_of(&self, session: u64) -> (usize, usize) {
        let outboxes = lock(&self.outboxes);
        let streams = outboxes.values().filter(|outbox| outbox.session == session && outbox.id != session);
        streams.fold((0, 0), |(uris, streams), outbox| (uris + lock(&outbox.watched).len(), streams + 1))
    }

    /// Tells one session that its tools are others now.
    fn tools_changed(&self, session: u64) {
        for outbox in lock(&self.outboxes).values().filter(|outbox| outbox.session == session && outbox.tools) {
            lock(&outbox.pending).tools = true;
            outbox.wake.notify_one();
        }
    }

    /// How many want to hear news.
    pub(super) fn len(&self) -> usize {
        lock(&self.outboxes).len()
    }
}

/// How many bytes of answers wait until the client reads. As long as they are too many, no more are made.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    bytes: watch::Sender<usize>,
}

impl Backlog {
    /// Counts an answer, until what is returned goes.
    pub(super) fn add(self: &Arc<Self>, bytes: usize) -> Weight {
        self.bytes.send_modify(|sum| *sum += bytes);
        Weight { bytes, backlog: Arc::clone(self) }
    }

    pub(super) fn has_room(&self) -> bool {
        *self.bytes.borrow() < MAX_BACKLOG
    }

    pub(super) async fn room(&self) {
        // It fails if the sender is gone, and that is `self`.
        let _ = self.bytes.subscribe().wait_for(|bytes| *bytes < MAX_BACKLOG).await;
    }
}

/// What one answer counts for.
#[derive(Debug)]
pub(super) struct Weight {
    bytes: usize,
    backlog: Arc<Backlog>,
}

impl Drop for Weight {
    fn drop(&mut self) {
        self.backlog.bytes.send_modify(|sum| *sum -= self.bytes);
    }
}

/// What one client has done so far.
#[derive(Debug)]
pub(super) struct Session {
    backlog: Arc<Backlog>,
    outbox: Arc<Outbox>,
    audience: Arc<Audience>,
    /// Whether there will be a second request.
    is_lasting: AtomicBool,
}

impl Session {
    pub(super) fn new(audience: Arc<Audience>, is_lasting: bool) -> Session {
        let id = audience.next_id();
        let outbox = Outbox::new(id, (id, Arc::default()), [true; 3], HashSet::new(), Level::Warning.rank());
        Session { backlog: Arc::default(), outbox: Arc::new(outbox), audience, is_lasting: AtomicBool::new(is_lasting) }
    }

    /// The answers that wait for the client.
    pub(super) fn backlog(&self) -> &Arc<Backlog> {
        &self.backlog
    }

    pub(super) fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    /// Begins to keep news for the client. It stops when the session goes. Says whether this was the first time.
    pub(super) fn join(&self) -> bool {
        self.is_lasting.store(true, Ordering::Release);
        lock(&self.audience.outboxes).insert(self.outbox.id, Arc::clone(&self.outbox)).is_none()
    }

    /// Whether what the client loads stays loaded until its next request.
    pub(super) fn is_lasting(&self) -> bool {
        self.is_lasting.load(Ordering::Acquire)
    }

    /// The skills whose bodies the client has loaded.
    pub(super) fn loaded(&self) -> Arc<Vec<String>> {
        Arc::clone(&lock(&self.outbox.loaded))
    }

    /// Remembers a loaded skill. Says whether it had not been loaded before.
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

    /// What tells this session apart from the others of this process.
    pub(super) fn label(&self) -> String {
        format!("mcp-{}-{}", std::process::id(), self.outbox.session)
    }

    pub(super) fn tools_changed(&self) {
        self.audience.tools_changed(self.outbox.session);
    }

    /// What of a wish for news is granted: as many URIs as there is room for, and none that is too long.
    pub(super) fn accept(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            let (watched, _) = self.audience.load_of(self.outbox.session);
            uris.retain(|uri| uri.len() <= MAX_URI);
            uris.truncate(MAX_WATCHED.saturating_sub(watched));
        }
        accepted
    }

    /// News for one stream that the client has asked for. None, if it has too many streams.
    pub(super) fn listen(&self, accepted: &SubscriptionFilter) -> Option<Listening> {
        let (_, streams) = self.audience.load_of(self.outbox.session);
        if streams >= MAX_STREAMS {
            return None;
        }
        let wants = |wish: Option<bool>| wish == Some(true);
        let lists = [
            wants(accepted.tools_list_changed),
            wants(accepted.prompts_list_changed),
            wants(accepted.resources_list_changed),
        ];
        let watched = accepted.resource_subscriptions.iter().flatten().take(MAX_WATCHED).cloned().collect();
        let id = self.audience.next_id();
        // Log lines have no place on such a stream.
        let outbox =
            Arc::new(Outbox::new(id, (self.outbox.session, Arc::clone(&self.outbox.loaded)), lists, watched, u8::MAX));
        lock(&self.audience.outboxes).insert(id, Arc::clone(&outbox));
        Some(Listening { outbox, audience: Arc::downgrade(&self.audience) })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        lock(&self.audience.outboxes).remove(&self.outbox.id);
        self.outbox.is_closed.store(true, Ordering::Release);
        self.outbox.wake.notify_one();
    }
}

/// A stream of news, until it is dropped.
#[derive(Debug)]
pub(super) struct Listening {
    outbox: Arc<Outbox>,
    audience: Weak<Audience>,
}

impl Listening {
    pub(super) async fn next(&self) -> Option<Pending> {
        self.outbox.next().await
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(audience) = self.audience.upgrade() {
            lock(&audience.outboxes).remove(&self.outbox.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use super::{Audience, Backlog, Level, Line, MAX_BACKLOG, News, Session};

    #[test]
    fn who_is_gone_is_forgotten() {
        let audience = Arc::new(Audience::default());
        let session = Session::new(Arc::clone(&audience), false);
        assert_eq!(audience.len(), 0, "not before it has joined");
        assert!(session.join());
        let listening = session.listen(&rmcp::model::SubscriptionFilter::new()).unwrap();
        assert_eq!(audience.len(), 2);
        drop(listening);
        drop(session);
        assert_eq!(audience.len(), 0);
    }

    #[tokio::test]
    async fn no_answer_is_made_while_too_many_bytes_wait() {
        let backlog = Arc::new(Backlog::default());
        let first = backlog.add(MAX_BACKLOG - 1);
        assert!(backlog.has_room());
        backlog.room().await;
        let second = backlog.add(1);
        let waiting = backlog.room();
        tokio::pin!(waiting);
        assert!(!backlog.has_room());
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        drop(first);
        waiting.await;
        drop(second);
        assert_eq!(*backlog.bytes.borrow(), 0);
    }

    #[tokio::test]
    async fn news_pile_up_only_once() {
        let audience = Arc::new(Audience::default());
        let session = Session::new(Arc::clone(&audience), false);
        assert!(session.join());
        assert!(session.outbox().watch("skill://pdf/SKILL.md".to_owned()));
        assert!(session.outbox().watch("skill://csv/SKILL.md".to_owned()));
        for _ in 0..1_000 {
            audience.announce(&News {
                resources: true,
                prompts: true,
                skills: vec!["pdf".to_owned()],
                places: HashSet::from(["pdf".to_owned()]),
                line: Some(Line::new(Level::Warning, "changes", "x")),
            });
        }
        let news = session.outbox().next().await.unwrap();
        assert!(news.prompts && news.resources && !news.tools);
        assert_eq!(news.updated.iter().collect::<Vec<_>>(), ["skill://pdf/SKILL.md"]);
        assert_eq!(news.lines.len(), super::MAX_LINES);
    }

    #[tokio::test]
    async fn whoever_has_loaded_a_skill_that_changes_may_have_other_tools() {
        let audience = Arc::new(Audience::default());
        let session = Session::new(Arc::clone(&audience), true);
        session.join();
        assert!(session.remember("pdf") && !session.remember("pdf"));
        let changed = |name: &str| News { skills: vec![name.to_owned()], prompts: true, ..News::default() };
        audience.announce(&changed("csv"));
        assert!(!session.outbox().next().await.unwrap().tools);
        audience.announce(&changed("pdf"));
        assert!(session.outbox().next().await.unwrap().tools);
    }
}
