//! Watching the directories of the skills: changes on disk are in the catalog a moment later.
//!
//! ```
//! use std::sync::{Arc, mpsc};
//! use skillcue::Skillcue;
//! use skillcue::watch::{WatchEvent, WatchOptions};
//!
//! let dir = tempfile::tempdir()?;
//! let skills = Arc::new(Skillcue::builder().skills_dir(dir.path()).build()?);
//! let (send, events) = mpsc::channel();
//! let watching = skills.watch(WatchOptions::default(), move |event| drop(send.send(event.clone())));
//!
//! std::fs::create_dir(dir.path().join("pdf"))?;
//! std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n")?;
//! let Ok(WatchEvent::Changed(changes)) = events.recv() else { panic!("the skill should have been found") };
//! assert_eq!(changes.added, ["pdf"]);
//! assert!(skills.catalog().get("pdf").is_some());
//! drop(watching);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two threads do it: one that the system notifies of events, and one that refreshes and reports. Readers go on with
//! the catalog they have, and none waits.
//!
//! - One watcher serves all roots. Each directory is watched by itself, so directories that never hold skills
//!   (`node_modules`) are not.
//! - A refresh looks only where something happened: one skill touched among 100,000 is one file read.
//! - Where the system does not notify (more directories than it grants, a network file system), the watcher polls, reports
//!   [`WatchEvent::Trouble`], and tries again now and then. Polling asks for every file's stamp and reads changed files.
//! - Roots may come, go, be renamed or mounted over; links are followed as discovery follows them.

mod pending_changes;
mod tree;
mod worker;

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::{Changes, Skillcue};
use worker::{Signal, Worker};

/// Options of watching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchOptions {
    /// The time without events before a refresh. 50 ms.
    pub quiet: Duration,
    /// The longest delay of a refresh while events go on. 1 s.
    pub longest: Duration,
    /// The interval of polling if the system does not notify. 2 s.
    pub poll_interval: Duration,
    /// Whether to poll every [`poll_interval`](WatchOptions::poll_interval) without asking the system to notify: for
    /// network file systems, where it does not see changes of other machines.
    pub poll: bool,
    /// The number of directories that are watched; with more the watcher polls. 262,144, and never more than three
    /// quarters of what the system grants: all programs of a user share that.
    pub max_directories: usize,
    /// The interval of checks that each root is still the directory it was: there are no events for mounts, nor for
    /// renames far above it. It costs a `stat` a root. 5 s.
    pub check_interval: Duration,
    /// The time after a fall-back to polling until the system is asked again; each time twice as long, up to 32 times.
    /// 60 s.
    pub retry_interval: Duration,
}

impl Default for WatchOptions {
    fn default() -> WatchOptions {
        WatchOptions {
            quiet: Duration::from_millis(50),
            longest: Duration::from_secs(1),
            poll_interval: Duration::from_secs(2),
            poll: false,
            max_directories: 1 << 18,
            check_interval: Duration::from_secs(5),
            retry_interval: Duration::from_mins(1),
        }
    }
}

/// A report of a watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchEvent {
    /// Skills changed, and if anything but [`files`](Changes::files) did, the catalog: [`Skillcue::catalog`] is the new
    /// one already. Changes of other files of skills that were there before come by themselves. Catalogs do not
    /// remember these files, so only events after all directories are watched count; none while polling, and none that
    /// an overflow has hidden.
    Changed(Changes),
    /// The system does not notify, or not any more, and why: from now on the watcher polls. Reported once each time
    /// that begins.
    Trouble(String),
    /// The system notifies again: polling has ended.
    Recovered,
}

/// The state of a watcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchState {
    /// Directories are being gone through.
    Starting,
    /// The system notifies of events in so many directories.
    Notified {
        /// The number of directories that are watched.
        directories: usize,
    },
    /// The watcher looks now and then.
    Polling,
}

/// A watcher at work, until it is dropped. Dropping it waits for a report that is under way, and none comes afterwards
/// (unless the report itself drops it).
#[derive(Debug)]
#[must_use = "dropping it ends the watching"]
pub struct Watching {
    signals: Sender<Signal>,
    state: Arc<Mutex<WatchState>>,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    /// Returns the state. Events are reported sooner or later in any case.
    pub fn state(&self) -> WatchState {
        *skillcue_base::lock(&self.state)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // A thread that does not receive any more has ended.
        let _ = self.signals.send(Signal::Stop);
        let inside = |thread: &JoinHandle<()>| thread.thread().id() == std::thread::current().id();
        if let Some(thread) = self.thread.take_if(|thread| !inside(thread)) {
            // A report that panicked has said so; there is nothing to add while dropping.
            let _ = thread.join();
        }
    }
}

impl Skillcue {
    /// Watches the directories of all roots, refreshes when something happens in them, and reports it. Roots that are
    /// not there yet are found when they appear. What happened since the catalog was made is reported first.
    ///
    /// `on_change` is called on a thread of its own, one call at a time. See [`watch`](crate::watch) for an example.
    pub fn watch(
        self: &Arc<Self>,
        options: WatchOptions,
        on_change: impl Fn(&WatchEvent) + Send + 'static,
    ) -> Watching {
        let (signals, received) = mpsc::channel();
        // The report can be taken back if there is no thread for it.
        let report = Arc::new(Mutex::new(Some(on_change)));
        let take = |report: &Mutex<Option<_>>| skillcue_base::lock(report).take();
        let (skills, sender, theirs) = (Arc::clone(self), signals.clone(), Arc::clone(&report));
        let state = Arc::new(Mutex::new(WatchState::Starting));
        let shown = Arc::clone(&state);
        // Taken here and not on the thread: nothing that happens after this call may be missed.
        let last = self.catalog();
        let spawned = std::thread::Builder::new().name("skillcue-watch".to_owned()).spawn(move || {
            if let Some(report) = take(&theirs) {
                Worker::new(skills, options, last, report, shown).run(&sender, &received);
            }
        });
        let thread = match spawned {
            Ok(thread) => Some(thread),
            Err(error) => {
                if let Some(report) = take(&report) {
                    report(&WatchEvent::Trouble(format!("nothing is watched: no thread could be started: {error}")));
                }
                None
            }
        };
        Watching { signals, state, thread }
    }
}
