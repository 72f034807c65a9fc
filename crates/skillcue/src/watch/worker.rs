//! The thread that refreshes and reports.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use notify::EventKind;
use notify::event::{AccessKind, AccessMode};
use skillcue_catalog::{Catalog, SkillFile};

use super::pending_changes::PendingChanges;
use super::tree::{self, WatchTree};
use super::{WatchEvent, WatchOptions, WatchState};
use crate::setup::SetupChange;
use crate::skills::CatalogSwap;
use crate::{Changes, Skillcue};

/// The number of overflows in a row that hid nothing. After these, our own reading is what fills the queue.
const MAX_OVERFLOWS: u32 = 3;

/// The shortest interval between two looks.
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// The number of times that the pause before the system is asked again is doubled.
const MAX_DOUBLINGS: u32 = 5;

/// A message for the worker.
#[derive(Debug)]
pub(super) enum Signal {
    Event(notify::Event),
    Broken(String),
    Stop,
}

/// The thread that refreshes and reports.
pub(super) struct Worker<F> {
    skills: Arc<Skillcue>,
    options: WatchOptions,
    /// The catalog that was reported last. The host may refresh, too; that must not hide anything.
    last: Arc<Catalog>,
    report: F,
    state: Arc<Mutex<WatchState>>,
    /// `None` while polling.
    tree: Option<WatchTree>,
    overflows: u32,
    /// The number of times that it fell back to polling.
    falls: u32,
    /// The time to ask the system again.
    retry: Option<Instant>,
    /// The time to check that the roots are where they were.
    check: Option<Instant>,
}

impl<F: Fn(&WatchEvent)> Worker<F> {
    pub(super) fn new(
        skills: Arc<Skillcue>,
        options: WatchOptions,
        last: Arc<Catalog>,
        report: F,
        state: Arc<Mutex<WatchState>>,
    ) -> Worker<F> {
        let (tree, overflows, falls, retry, check) = (None, 0, 0, None, None);
        Worker { skills, options, last, report, state, tree, overflows, falls, retry, check }
    }

    pub(super) fn run(mut self, signals: &Sender<Signal>, received: &Receiver<Signal>) {
        if !self.options.poll
            && let Err(why) = self.start(signals)
        {
            self.fall_back(&why);
        }
        // Only now: events from here on are received.
        self.refresh(None);
        self.show_state();
        let mut pending = PendingChanges::default();
        loop {
            let now = Instant::now();
            let is_due = |when: Option<Instant>| when.is_some_and(|when| when <= now);
            // Not by way of the channel: as long as there are messages in it, no time-out comes.
            if self.tree.is_some() && is_due(pending.due(&self.options)) {
                self.look(&std::mem::take(&mut pending));
                continue;
            }
            if self.tree.is_some() && is_due(self.check) {
                self.check = now.checked_add(self.options.check_interval.max(MIN_INTERVAL));
                if self.tree.as_ref().is_some_and(WatchTree::is_displaced) {
                    pending.start_over();
                } else {
                    match self.skills.setup_provider.change() {
                        SetupChange::Nothing => {}
                        SetupChange::Switches => drop(self.refresh(Some(&BTreeSet::new()))),
                        SetupChange::Roots => self.move_roots(signals),
                    }
                }
                continue;
            }
            if self.tree.is_none() && is_due(self.retry) {
                self.recover(signals);
                pending = PendingChanges::default();
                continue;
            }
            let wait = if self.tree.is_none() {
                self.options.poll_interval.max(MIN_INTERVAL)
            } else {
                let next = [pending.due(&self.options), self.check].into_iter().flatten().min();
                next.map_or(Duration::MAX, |next| next.saturating_duration_since(now))
            };
            match received.recv_timeout(wait) {
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Signal::Broken(why)) => self.fall_back(&why),
                Ok(Signal::Event(event)) => {
                    if let Some(tree) = &self.tree {
                        pending.take(event, tree);
                    }
                }
                Err(RecvTimeoutError::Timeout) if self.tree.is_none() => drop(self.refresh(None)),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Asks the system to notify.
    fn start(&mut self, signals: &Sender<Signal>) -> Result<(), String> {
        let signals = signals.clone();
        let further = self.skills.setup_provider.roots().into_iter().map(|root| root.path);
        let roots = self.skills.roots.iter().cloned().chain(further).collect();
        self.tree = Some(WatchTree::new(roots, self.options.max_directories, move || event_handler(signals.clone()))?);
        self.check = Instant::now().checked_add(self.options.check_interval.max(MIN_INTERVAL));
        Ok(())
    }

    /// Watches the roots of the current set-up, once that has others.
    fn move_roots(&mut self, signals: &Sender<Signal>) {
        // The refresh asks for the set-up.
        self.refresh(None);
        if let Err(why) = self.start(signals) {
            self.fall_back(&why);
        }
        // For changes before the new roots were watched.
        self.refresh(None);
        self.show_state();
    }

    /// Asks the system again.
    fn recover(&mut self, signals: &Sender<Signal>) {
        match self.start(signals) {
            Ok(()) => {
                self.retry = None;
                self.show_state();
                (self.report)(&WatchEvent::Recovered);
                self.refresh(None);
            }
            Err(_) => self.retry_later(),
        }
    }

    fn retry_later(&mut self) {
        let pause = self.options.retry_interval.saturating_mul(1 << self.falls.min(MAX_DOUBLINGS)).max(MIN_INTERVAL);
        self.falls += 1;
        self.retry = Instant::now().checked_add(pause);
    }

    /// Ends the watching, and reports it.
    fn fall_back(&mut self, why: &str) {
        // A watcher that was dropped may still report errors.
        let is_news = self.tree.take().is_some() || self.retry.is_none() && !self.options.poll;
        if is_news {
            self.overflows = 0;
            self.retry_later();
            self.show_state();
            let every = self.options.poll_interval;
            (self.report)(&WatchEvent::Trouble(format!("{why}; looking every {every:?} instead")));
        }
    }

    fn show_state(&self) {
        let state = self
            .tree
            .as_ref()
            .map_or(WatchState::Polling, |tree| WatchState::Notified { directories: tree.directories() });
        *skillcue_base::lock(&self.state) = state;
    }

    /// Looks at the events.
    fn look(&mut self, pending: &PendingChanges) {
        // New directories are watched before the refresh: it sees their files, and later ones cause events.
        let done = self.tree.as_mut().map_or(Ok(false), |tree| {
            if pending.survey { tree.survey().map(|()| true) } else { tree.look_at(&pending.moved) }
        });
        // While the watcher was replaced there were no events.
        let everywhere = done.unwrap_or_else(|why| {
            self.fall_back(&why);
            true
        });
        let changes = self.refresh(Some(&pending.touched).filter(|_| !everywhere));
        self.show_state();
        self.overflows = if pending.overflow && changes.is_empty() { self.overflows + 1 } else { 0 };
        if self.overflows >= MAX_OVERFLOWS {
            self.fall_back("more happens than the system can report");
        }
        let files = self.files(pending, &changes);
        if !files.is_empty() {
            (self.report)(&WatchEvent::Changed(Changes { files, ..Changes::default() }));
        }
    }

    /// Refreshes, and reports what changed. `touched` are the only paths with events.
    fn refresh(&mut self, touched: Option<&BTreeSet<PathBuf>>) -> Changes {
        let CatalogSwap { old, new, changes } = self.skills.refresh_touched(touched);
        let changes = if Arc::ptr_eq(&old, &self.last) { changes } else { Changes::between(&self.last, &new) };
        self.last = new;
        if changes.is_empty() {
            return changes;
        }
        let event = WatchEvent::Changed(changes);
        (self.report)(&event);
        let WatchEvent::Changed(changes) = event else { return Changes::default() };
        changes
    }

    /// Returns the skills of which other files changed.
    fn files(&self, pending: &PendingChanges, changes: &Changes) -> Vec<String> {
        let Some(tree) = &self.tree else { return Vec::new() };
        let mut dirs = HashSet::new();
        for path in &pending.touched {
            let is_skill_file = path.file_name().is_some_and(|name| SkillFile::of(name.as_encoded_bytes()).is_some());
            // Editors write a file beside, and rename it.
            let passing = || pending.born.contains(path) && path.symlink_metadata().is_err();
            if !is_skill_file && !passing() {
                dirs.extend(tree.skills_around(path));
            }
        }
        if dirs.is_empty() {
            return Vec::new();
        }
        let is_new = |name: &str| changes.added.binary_search_by(|added| added.as_str().cmp(name)).is_ok();
        let touched =
            self.last.all().iter().filter(|skill| {
                !is_new(skill.name()) && skill.locations().iter().any(|place| dirs.contains(&place.dir))
            });
        let mut names: Vec<String> = touched.map(|skill| skill.id()).collect();
        names.sort();
        names
    }
}

/// Returns a handler that passes on events, except those of reading: we read, each time we look.
fn event_handler(signals: Sender<Signal>) -> impl FnMut(notify::Result<notify::Event>) + Send + 'static {
    move |told| {
        let signal = match told {
            Ok(event) => match event.kind {
                // The only event of a file that is written through a memory map.
                EventKind::Access(AccessKind::Close(AccessMode::Write)) => Signal::Event(event),
                EventKind::Access(_) => return,
                _ => Signal::Event(event),
            },
            Err(error) => Signal::Broken(tree::why(&error)),
        };
        // The channel is closed: the watcher is about to be dropped.
        let _ = signals.send(signal);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use notify::event::Flag;

    use super::*;
    use crate::watch::Watching;

    const GIVE_UP: Duration = Duration::from_secs(10);

    fn watched(dir: &std::path::Path, options: WatchOptions) -> (Arc<Skillcue>, Watching, Receiver<WatchEvent>) {
        let skills = Arc::new(Skillcue::builder().skills_dir(dir).build().unwrap());
        let (send, events) = mpsc::channel();
        let watching = skills.watch(options, move |event| drop(send.send(event.clone())));
        (skills, watching, events)
    }

    fn write(dir: &std::path::Path, name: &str) {
        std::fs::create_dir(dir.join(name)).unwrap();
        std::fs::write(dir.join(name).join("SKILL.md"), format!("---\nname: {name}\ndescription: New.\n---\n"))
            .unwrap();
    }

    fn overflow() -> Signal {
        Signal::Event(notify::Event::new(EventKind::Other).set_flag(Flag::Rescan))
    }

    #[test]
    fn a_switched_skill_is_reported() {
        use crate::Setup;
        use skillcue_catalog::Enablement;
        use std::sync::atomic::{AtomicBool, Ordering};

        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("pdf")).unwrap();
        std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads it.\n---\n").unwrap();
        let off = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&off);
        let builder = Skillcue::builder().skills_dir(dir.path()).setup_by(move || {
            let disable = asked.load(Ordering::SeqCst).then(|| "pdf".to_owned()).into_iter().collect();
            Setup { enablement: Enablement { disable, ..Enablement::default() }, ..Setup::default() }
        });
        let skills = Arc::new(builder.build().unwrap());
        let (send, events) = mpsc::channel();
        let options = WatchOptions { check_interval: MIN_INTERVAL, ..WatchOptions::default() };
        let watching = skills.watch(options, move |event| drop(send.send(event.clone())));
        while watching.state() == WatchState::Starting {
            std::thread::sleep(MIN_INTERVAL);
        }
        off.store(true, Ordering::SeqCst);
        let WatchEvent::Changed(changes) = events.recv_timeout(GIVE_UP).unwrap() else {
            panic!("something else happened")
        };
        assert_eq!((changes.updated, changes.listing), (vec!["pdf".to_owned()], true));
        assert_eq!(skills.catalog().effort().read, 0, "no file was read for it");
    }

    #[test]
    fn after_an_overflow_it_starts_over() {
        let dir = tempfile::tempdir().unwrap();
        let (skills, watching, events) = watched(dir.path(), WatchOptions::default());
        for name in ["one", "two", "three", "four", "five"] {
            watching.signals.send(overflow()).unwrap();
            write(dir.path(), name);
            while skills.catalog().get(name).is_none() {
                assert!(matches!(events.recv_timeout(GIVE_UP), Ok(WatchEvent::Changed(_))), "{name}");
            }
        }
    }

    #[test]
    fn overflows_that_never_end_are_our_own() {
        let dir = tempfile::tempdir().unwrap();
        let quiet = Duration::from_millis(1);
        let options = WatchOptions { quiet, poll_interval: quiet, ..WatchOptions::default() };
        let (_skills, watching, events) = watched(dir.path(), options);
        let end = Instant::now() + GIVE_UP;
        let told = loop {
            watching.signals.send(overflow()).unwrap();
            match events.recv_timeout(Duration::from_millis(50)) {
                Ok(event) => break event,
                Err(_) => assert!(Instant::now() < end, "nothing was said"),
            }
        };
        assert!(matches!(&told, WatchEvent::Trouble(why) if why.contains("more happens")), "{told:?}");
        write(dir.path(), "pdf");
        assert!(matches!(events.recv_timeout(GIVE_UP), Ok(WatchEvent::Changed(_))), "it is polling now");
    }

    #[test]
    fn a_watcher_that_breaks_is_replaced_by_polling() {
        let dir = tempfile::tempdir().unwrap();
        let options = WatchOptions { poll_interval: Duration::from_millis(20), ..WatchOptions::default() };
        let (skills, watching, events) = watched(dir.path(), options);
        for _ in 0..2 {
            watching.signals.send(Signal::Broken("it broke".to_owned())).unwrap();
        }
        let told = events.recv_timeout(GIVE_UP);
        assert_eq!(told, Ok(WatchEvent::Trouble("it broke; looking every 20ms instead".to_owned())));
        write(dir.path(), "pdf");
        while skills.catalog().get("pdf").is_none() {
            assert!(matches!(events.recv_timeout(GIVE_UP), Ok(WatchEvent::Changed(_))), "said once");
        }
    }
}
