//! The handover from a loaded child to the cache: bytecode, the files that were read for it, and the definitions.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use skillcue_base::lock;

use crate::cache::{CachedToolsets, ToolsetPaths};
use crate::known_tools::{KnownTools, is_transient};
use crate::message::ToolsetDefinitions;
use crate::resolve::ModuleDependencies;

/// Joins what a child's reader finds out with the tools that its loading made, whichever of the two is there first.
#[derive(Default)]
pub(crate) struct CacheHandover(Mutex<BothSides>);

#[derive(Default)]
struct BothSides {
    cached: Option<Arc<CachedToolsets>>,
    known: Option<Arc<KnownTools>>,
}

impl CacheHandover {
    /// Takes what was read and compiled.
    pub(crate) fn set_cached(&self, cached: Arc<CachedToolsets>) {
        let mut both = lock(&self.0);
        if let Some(known) = &both.known {
            *lock(&known.cached) = Some(Arc::clone(&cached));
        }
        both.cached = Some(cached);
    }

    /// Takes the tools.
    pub(crate) fn set_known(&self, known: &Arc<KnownTools>) {
        let mut both = lock(&self.0);
        if let Some(cached) = &both.cached {
            *lock(&known.cached) = Some(Arc::clone(cached));
        }
        both.known = Some(Arc::clone(known));
    }

    /// Adds files that were read later, because a tool has imported something: they are watched like all the others.
    pub(crate) fn add_files(&self, paths: &ToolsetPaths, dependencies: &ModuleDependencies) {
        let both = lock(&self.0);
        if let Some(known) = &both.known {
            let mut cached = lock(&known.cached);
            let more = cached.as_ref().and_then(|cached| cached.with(paths, dependencies));
            if let Some(more) = more {
                *cached = Some(Arc::new(more));
            }
        }
    }

    /// Returns the definitions, if they may be cached.
    pub(crate) fn definitions(&self) -> Option<ToolsetDefinitions> {
        // The definitions come right before the bytecode; the thread that waits for them may not have taken them yet.
        for _ in 0..200 {
            if let Some(known) = &lock(&self.0).known {
                let is_lasting = known.stuck.is_empty() && !known.findings.iter().any(is_transient);
                return is_lasting.then(|| known.definitions());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }
}

/// The number of children whose bytecode is not in the cache yet.
#[derive(Default)]
pub(crate) struct PendingBytecode(Mutex<usize>, Condvar);

impl PendingBytecode {
    /// Waits until no bytecode is pending, or for `limit`.
    pub(crate) fn wait(&self, limit: Duration) {
        drop(self.1.wait_timeout_while(lock(&self.0), limit, |pending| *pending > 0));
    }
}

/// Counts as pending for as long as it is held.
pub(crate) struct PendingGuard(Arc<PendingBytecode>);

impl PendingGuard {
    pub(crate) fn new(pending: &Arc<PendingBytecode>) -> PendingGuard {
        *lock(&pending.0) += 1;
        PendingGuard(Arc::clone(pending))
    }
}

impl Drop for PendingGuard {
    fn drop(&mut self) {
        *lock(&self.0.0) -= 1;
        self.0.1.notify_all();
    }
}
