//! Events that were not looked at yet.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::Instant;

use notify::EventKind;
use notify::event::{ModifyKind, RenameMode};

use super::WatchOptions;
use super::tree::WatchTree;

/// Events that were not looked at yet, by their paths.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    /// The times of the first and the last event.
    since: Option<(Instant, Instant)>,
    /// Paths that came, went, were renamed or got other rights.
    pub(super) moved: BTreeSet<PathBuf>,
    /// All paths that changed.
    pub(super) touched: BTreeSet<PathBuf>,
    /// Paths that came.
    pub(super) born: HashSet<PathBuf>,
    /// Whether all directories must be gone through anew: a root came or went, or the system has lost events.
    pub(super) survey: bool,
    pub(super) overflow: bool,
}

impl PendingChanges {
    fn mark(&mut self) {
        let now = Instant::now();
        self.since = Some((self.since.map_or(now, |(first, _)| first), now));
    }

    /// Records that all directories must be gone through anew.
    pub(super) fn start_over(&mut self) {
        self.survey = true;
        self.mark();
    }

    /// Returns the time to look at them.
    pub(super) fn due(&self, options: &WatchOptions) -> Option<Instant> {
        let (first, last) = self.since?;
        // Without an end, if the time cannot be represented.
        [last.checked_add(options.quiet), first.checked_add(options.longest)].into_iter().flatten().min()
    }

    pub(super) fn take(&mut self, event: notify::Event, tree: &WatchTree) {
        if event.need_rescan() {
            self.overflow = true;
            self.start_over();
            return;
        }
        let data = matches!(event.kind, EventKind::Modify(ModifyKind::Data(_)) | EventKind::Access(_));
        let came = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To)));
        for path in event.paths {
            if tree.is_waypoint(&path) {
                self.start_over();
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
