//! What has happened and was not looked at yet.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::Instant;

use notify::EventKind;
use notify::event::{ModifyKind, RenameMode};

use super::WatchOptions;
use super::tree::Tree;

/// What has happened and was not looked at yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// When the first and the last of it happened.
    since: Option<(Instant, Instant)>,
    /// What came, went, was renamed or got other rights.
    pub(super) moved: BTreeSet<PathBuf>,
    /// Everything that changed.
    pub(super) touched: BTreeSet<PathBuf>,
    /// What came.
    pub(super) born: HashSet<PathBuf>,
    /// Whether all directories must be gone through anew: a root came or went, or the system has lost count.
    pub(super) survey: bool,
    pub(super) overflow: bool,
}

impl Pending {
    fn mark(&mut self) {
        let now = Instant::now();
        self.since = Some((self.since.map_or(now, |(first, _)| first), now));
    }

    /// All directories must be gone through anew.
    pub(super) fn start_over(&mut self) {
        self.survey = true;
        self.mark();
    }

    /// When to look at it.
    pub(super) fn due(&self, options: &WatchOptions) -> Option<Instant> {
        let (first, last) = self.since?;
        // Without an end, if the time cannot be told.
        [last.checked_add(options.quiet), first.checked_add(options.longest)].into_iter().flatten().min()
    }

    pub(super) fn take(&mut self, event: notify::Event, tree: &Tree) {
        if event.need_rescan() {
            self.overflow = true;
            self.start_over();
            return;
        }
        let data = matches!(event.kind, EventKind::Modify(ModifyKind::Data(_)) | EventKind::Access(_));
        let came = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To)));
        for path in event.paths {
            if tree.is_door(&path) {
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
