//! Watching the directories of the skills: what changes on disk is in the catalog a moment later.
//!
//! ```
//! use std::sync::{Arc, mpsc};
//! use skillfold::Skillfold;
//! use skillfold::watch::{Event, WatchOptions};
//!
//! let dir = tempfile::tempdir()?;
//! let skills = Arc::new(Skillfold::builder().skills_dir(dir.path()).build());
//! let (send, events) = mpsc::channel();
//! let watching = skills.watch(WatchOptions::default(), move |event| drop(send.send(event.clone())));
//!
//! std::fs::create_dir(dir.path().join("pdf"))?;
//! std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n")?;
//! let Ok(Event::Changed(changes)) = events.recv() else { panic!("the skill should have been found") };
//! assert_eq!(changes.added, ["pdf"]);
//! assert!(skills.catalog().get("pdf").is_some());
//! drop(watching);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Two threads do it: one that the system tells what happens, and one that refreshes and reports. Readers go on with the
//! catalog they have, and none waits.

mod tree;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use notify::EventKind;
use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use skillfold_catalog::{Catalog, SkillFile};

use crate::{Changes, Skillfold};
use tree::Tree;

/// After so many overflows in a row that hid nothing, it is our own reading that fills the queue.
const OVERFLOWS: u32 = 3;

/// Nobody can want to look more often than this.
const SHORTEST: Duration = Duration::from_millis(10);

/// How to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchOptions {
    /// How long nothing must have happened before a refresh. 100 ms.
    pub quiet: Duration,
    /// How long a refresh is put off at most while things go on happening. 1 s.
    pub longest: Duration,
    /// How often to look if the system does not tell what happens. 2 s.
    pub poll_interval: Duration,
    /// Looks every [`poll_interval`](WatchOptions::poll_interval), without asking the system to tell: for network file
    /// systems, where it does not know what others do.
    pub poll: bool,
    /// At most so many directories are watched; with more it is polling. All programs of a user share what the system
    /// grants, so this leaves some. 65,536.
    pub max_directories: usize,
}

impl Default for WatchOptions {
    fn default() -> WatchOptions {
        WatchOptions {
            quiet: Duration::from_millis(100),
            longest: Duration::from_secs(1),
            poll_interval: Duration::from_secs(2),
            poll: false,
            max_directories: 1 << 16,
        }
    }
}

/// What a watcher reports.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The catalog changed: [`Skillfold::catalog`] is the new one already.
    Changed(Changes),
    /// Of skills that were there before, other files than the skill file changed. Nobody remembers these files, so it
    /// counts what happens once all directories are watched; nothing while polling, and not what an overflow has hidden.
    Files {
        /// Their names, sorted; [addresses](crate::Skill::address) of those that another skill hides.
        skills: Vec<String>,
    },
    /// The system does not tell what happens any more, and why: from now on it is polling. Reported once at most.
    Trouble(String),
}

/// Watches as long as it is not dropped. Dropping it waits for a report that is under way, and none comes afterwards
/// (unless the report itself drops it).
#[derive(Debug)]
#[must_use = "dropping it ends the watching"]
pub struct Watching {
    signals: Sender<Signal>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        // Who does not listen any more has ended.
        let _ = self.signals.send(Signal::Stop);
        let inside = |thread: &JoinHandle<()>| thread.thread().id() == std::thread::current().id();
        if let Some(thread) = self.thread.take_if(|thread| !inside(thread)) {
            // A report that panicked has said so; there is nothing to add while dropping.
            let _ = thread.join();
        }
    }
}

impl Skillfold {
    /// Watches the directories of all roots, refreshes when something happens in them, and reports it. Roots that are
    /// not there yet are found when they appear. What happened since the catalog was made is reported first.
    ///
    /// `on_change` is called on a thread of its own, one call at a time. See [`watch`](crate::watch) for an example.
    pub fn watch(self: &Arc<Self>, options: WatchOptions, on_change: impl Fn(&Event) + Send + 'static) -> Watching {
        let (signals, received) = mpsc::channel();
        // The report can be had back if there is no thread for it.
        let report = Arc::new(Mutex::new(Some(on_change)));
        let take = |report: &Mutex<Option<_>>| report.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (skills, sender, theirs) = (Arc::clone(self), signals.clone(), Arc::clone(&report));
        // Taken here and not on the thread: nothing that happens after this call may be missed.
        let last = self.catalog();
        let spawned = std::thread::Builder::new().name("skillfold-watch".to_owned()).spawn(move || {
            if let Some(report) = take(&theirs) {
                Worker { skills, options, last, report, tree: None, overflows: 0 }.run(&sender, &received);
            }
        });
        let thread = match spawned {
            Ok(thread) => Some(thread),
            Err(error) => {
                if let Some(report) = take(&report) {
                    report(&Event::Trouble(format!("nothing is watched: no thread could be started: {error}")));
                }
                None
            }
        };
        Watching { signals, thread }
    }
}

/// What the worker is told.
#[derive(Debug)]
enum Signal {
    Event(notify::Event),
    Broken(String),
    Stop,
}

/// What has happened and was not looked at yet.
#[derive(Debug, Default)]
struct Pending {
    /// When the first and the last of it happened.
    since: Option<(Instant, Instant)>,
    /// What came, went, was renamed or got other rights.
    moved: BTreeSet<PathBuf>,
    /// Everything that changed.
    touched: BTreeSet<PathBuf>,
    /// What came.
    born: HashSet<PathBuf>,
    /// Whether all directories must be gone through anew: a root came or went, or the system has lost count.
    survey: bool,
    overflow: bool,
}

impl Pending {
    fn mark(&mut self) {
        let now = Instant::now();
        self.since = Some((self.since.map_or(now, |(first, _)| first), now));
    }

    /// When to look at it.
    fn due(&self, options: &WatchOptions) -> Option<Instant> {
        let (first, last) = self.since?;
        // Without an end, if the time cannot be told.
        [last.checked_add(options.quiet), first.checked_add(options.longest)].into_iter().flatten().min()
    }

    fn take(&mut self, event: notify::Event, tree: &Tree) {
        if event.need_rescan() {
            self.survey = true;
            self.overflow = true;
            self.mark();
            return;
        }
        let data = matches!(event.kind, EventKind::Modify(ModifyKind::Data(_)) | EventKind::Access(_));
        let came = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To)));
        for path in event.paths {
            if tree.is_door(&path) {
                self.survey = true;
                self.mark();
            }
            if !tree.concerns(&path, data) {
                continue;
            }
            self.mark();
            if came {
                self.born.insert(path.clone());
            }
            if !data {
                self.moved.insert(path.clone());
            }
            self.touched.insert(path);
        }
    }
}

/// The thread that refreshes and reports.
struct Worker<F> {
    skills: Arc<Skillfold>,
    options: WatchOptions,
    /// What was reported last. The host may refresh, too; that must not hide anything.
    last: Arc<Catalog>,
    report: F,
    /// Nothing: polling.
    tree: Option<Tree>,
    overflows: u32,
}

impl<F: Fn(&Event)> Worker<F> {
    fn run(mut self, signals: &Sender<Signal>, received: &Receiver<Signal>) {
        if !self.options.poll {
            let signals = signals.clone();
            let roots = self.skills.roots.clone();
            match Tree::new(roots, self.options.max_directories, move || teller(signals.clone())) {
                Ok(tree) => self.tree = Some(tree),
                Err(why) => self.fall_back(&why),
            }
        }
        // Only now: what happens from here on is told.
        self.refresh();
        let mut pending = Pending::default();
        loop {
            let wait = match (&self.tree, pending.due(&self.options)) {
                (None, _) => self.options.poll_interval.max(SHORTEST),
                (_, None) => Duration::MAX,
                (_, Some(due)) => {
                    let wait = due.saturating_duration_since(Instant::now());
                    if wait.is_zero() {
                        // Not by way of the channel: as long as there is something in it, no time-out comes.
                        self.look(&std::mem::take(&mut pending));
                        continue;
                    }
                    wait
                }
            };
            match received.recv_timeout(wait) {
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Signal::Broken(why)) => self.fall_back(&why),
                Ok(Signal::Event(event)) => {
                    if let Some(tree) = &self.tree {
                        pending.take(event, tree);
                    }
                }
                Err(RecvTimeoutError::Timeout) if self.tree.is_none() => drop(self.refresh()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Ends the watching, and says so.
    fn fall_back(&mut self, why: &str) {
        let before = self.tree.take();
        if before.is_some() || !self.options.poll {
            self.options.poll = true;
            let every = self.options.poll_interval;
            (self.report)(&Event::Trouble(format!("{why}; looking every {every:?} instead")));
        }
    }

    /// Looks at what happened.
    fn look(&mut self, pending: &Pending) {
        // New directories are watched before the refresh: what was in them by then it sees, what comes later is told.
        let done = self
            .tree
            .as_mut()
            .map_or(Ok(()), |tree| if pending.survey { tree.survey() } else { tree.look_at(&pending.moved) });
        if let Err(why) = done {
            self.fall_back(&why);
        }
        let changes = self.refresh();
        self.overflows = if pending.overflow && changes.is_empty() { self.overflows + 1 } else { 0 };
        if self.overflows >= OVERFLOWS {
            self.fall_back("more happens than the system can tell");
        }
        let skills = self.files(pending, &changes);
        if !skills.is_empty() {
            (self.report)(&Event::Files { skills });
        }
    }

    fn refresh(&mut self) -> Changes {
        let new = self.skills.refresh();
        let changes = Changes::between(&self.last, &new);
        self.last = new;
        if changes.is_empty() {
            return changes;
        }
        let event = Event::Changed(changes);
        (self.report)(&event);
        let Event::Changed(changes) = event else { return Changes::default() };
        changes
    }

    /// The skills of which other files changed.
    fn files(&self, pending: &Pending, changes: &Changes) -> Vec<String> {
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
        let touched = self
            .last
            .all()
            .iter()
            .filter(|skill| !is_new(skill.name()) && skill.places().iter().any(|place| dirs.contains(&place.dir)));
        let mut names: Vec<String> =
            touched.map(|skill| if skill.shadowed() { skill.address() } else { skill.name().to_owned() }).collect();
        names.sort();
        names
    }
}

/// Passes on what the system tells, except that somebody reads: we do, each time we look.
fn teller(signals: Sender<Signal>) -> impl FnMut(notify::Result<notify::Event>) + Send + 'static {
    move |told| {
        let signal = match told {
            Ok(event) => match event.kind {
                // Who writes by way of memory is told of only here.
                EventKind::Access(AccessKind::Close(AccessMode::Write)) => Signal::Event(event),
                EventKind::Access(_) => return,
                _ => Signal::Event(event),
            },
            Err(error) => Signal::Broken(tree::why(&error)),
        };
        // Nobody listens any more: the watcher is about to be dropped.
        let _ = signals.send(signal);
    }
}

#[cfg(test)]
mod tests {
    use notify::event::Flag;

    use super::*;

    const GIVE_UP: Duration = Duration::from_secs(10);

    fn watched(dir: &std::path::Path, options: WatchOptions) -> (Arc<Skillfold>, Watching, Receiver<Event>) {
        let skills = Arc::new(Skillfold::builder().skills_dir(dir).build());
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
    fn after_an_overflow_it_starts_over() {
        let dir = tempfile::tempdir().unwrap();
        let (skills, watching, events) = watched(dir.path(), WatchOptions::default());
        for name in ["one", "two", "three", "four", "five"] {
            watching.signals.send(overflow()).unwrap();
            write(dir.path(), name);
            while skills.catalog().get(name).is_none() {
                assert!(matches!(events.recv_timeout(GIVE_UP), Ok(Event::Changed(_))), "{name}");
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
        assert!(matches!(&told, Event::Trouble(why) if why.contains("more happens")), "{told:?}");
        write(dir.path(), "pdf");
        assert!(matches!(events.recv_timeout(GIVE_UP), Ok(Event::Changed(_))), "it is polling now");
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
        assert_eq!(told, Ok(Event::Trouble("it broke; looking every 20ms instead".to_owned())));
        write(dir.path(), "pdf");
        while skills.catalog().get("pdf").is_none() {
            assert!(matches!(events.recv_timeout(GIVE_UP), Ok(Event::Changed(_))), "said once");
        }
    }
}
