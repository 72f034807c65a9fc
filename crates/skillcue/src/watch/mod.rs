//! Watching the directories of the skills: what changes on disk is in the catalog a moment later.
//!
//! ```
//! use std::sync::{Arc, mpsc};
//! use skillcue::Skillcue;
//! use skillcue::watch::{Event, WatchOptions};
//!
//! let dir = tempfile::tempdir()?;
//! let skills = Arc::new(Skillcue::builder().skills_dir(dir.path()).build()?);
//! let (send, events) = mpsc::channel();
//! let watching = skills.watch(WatchOptions::default(), move |event| drop(send.send(event.clone())));
//!
//! std::fs::create_dir(dir.path().join("pdf"))?;
//! std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n")?;
//! let Ok(Event::Changed(changes)) = events.recv() else { panic!("the skill should have been found") };
//! assert_eq!(changes.added, ["pdf"]);
//! assert!(skills.catalog().get("pdf").is_some());
//! drop(watching);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two threads do it: one that the system tells what happens, and one that refreshes and reports. Readers go on with the
//! catalog they have, and none waits.
//!
//! - One watcher serves all roots. Each directory is watched by itself, so what nobody keeps skills in (`node_modules`) is
//!   not.
//! - A refresh looks only where something happened: one skill touched among 100,000 is one file read.
//! - Where the system will not tell (more directories than it grants, a network file system), it is polling, says so as
//!   [`Event::Trouble`], and tries again now and then. Polling asks for every file's stamp and reads what changed.
//! - Roots may come, go, be renamed or mounted over; links are followed as discovery follows them.

mod pending;
mod tree;
mod worker;

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::{Changes, Skillcue};
use worker::{Signal, Worker};

/// How to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchOptions {
    /// How long nothing must have happened before a refresh. 50 ms.
    pub quiet: Duration,
    /// How long a refresh is put off at most while things go on happening. 1 s.
    pub longest: Duration,
    /// How often to look if the system does not tell what happens. 2 s.
    pub poll_interval: Duration,
    /// Looks every [`poll_interval`](WatchOptions::poll_interval), without asking the system to tell: for network file
    /// systems, where it does not know what others do.
    pub poll: bool,
    /// At most so many directories are watched; with more it is polling. 262,144, and never more than three quarters of
    /// what the system grants: all programs of a user share that.
    pub max_directories: usize,
    /// How often to check that each root is still the directory it was: nobody tells of mounts, nor of renames far above
    /// it. It costs a `stat` a root. 5 s.
    pub check_interval: Duration,
    /// How long after falling back to polling the system is asked again; each time twice as long, up to 32 times. 60 s.
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

/// What a watcher reports.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Skills changed, and if anything but [`files`](Changes::files) did, the catalog: [`Skillcue::catalog`] is the new one
    /// already. Changes of other files of skills that were there before come by themselves. Catalogs do not remember these
    /// files, so it counts what happens once all directories are watched; nothing while polling, and not what an overflow
    /// has hidden.
    Changed(Changes),
    /// The system does not tell what happens, or not any more, and why: from now on it is polling. Reported once each time
    /// that begins.
    Trouble(String),
    /// The system tells again: polling has ended.
    Recovered,
}

/// How far a watcher is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Directories are being gone through.
    Starting,
    /// The system tells what happens in so many directories.
    Told {
        /// How many are watched.
        directories: usize,
    },
    /// It looks now and then.
    Polling,
}

/// Watches as long as it is not dropped. Dropping it waits for a report that is under way, and none comes afterwards
/// (unless the report itself drops it).
#[derive(Debug)]
#[must_use = "dropping it ends the watching"]
pub struct Watching {
    signals: Sender<Signal>,
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    /// How far it is. What happens is reported sooner or later in any case.
    pub fn state(&self) -> State {
        *skillcue_base::lock(&self.state)
    }
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

impl Skillcue {
    /// Watches the directories of all roots, refreshes when something happens in them, and reports it. Roots that are
    /// not there yet are found when they appear. What happened since the catalog was made is reported first.
    ///
    /// `on_change` is called on a thread of its own, one call at a time. See [`watch`](crate::watch) for an example.
    pub fn watch(self: &Arc<Self>, options: WatchOptions, on_change: impl Fn(&Event) + Send + 'static) -> Watching {
        let (signals, received) = mpsc::channel();
        // The report can be had back if there is no thread for it.
        let report = Arc::new(Mutex::new(Some(on_change)));
        let take = |report: &Mutex<Option<_>>| skillcue_base::lock(report).take();
        let (skills, sender, theirs) = (Arc::clone(self), signals.clone(), Arc::clone(&report));
        let state = Arc::new(Mutex::new(State::Starting));
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
                    report(&Event::Trouble(format!("nothing is watched: no thread could be started: {error}")));
                }
                None
            }
        };
        Watching { signals, state, thread }
    }
}
