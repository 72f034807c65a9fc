//! Work for clients: how much of each kind runs at once, and on which threads.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::ErrorData;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::view::CatalogView;
use super::{ServerShared, SkillServer};

/// How many calls that may wait for another server run at once, over all clients; the others are queued.
const MAX_REMOTE_CALLS: usize = 16;
/// How many calls of tools that skills bring run at once, over all views, whatever the options allow. Each takes a thread
/// while it runs.
const MAX_SKILL_CALLS: usize = 12;

/// The limits of what runs at once for the clients of one view.
#[derive(Debug)]
pub(super) struct WorkLimits {
    /// Limits concurrent reads of files: more threads would only slow each other down.
    pub(super) readers: Semaphore,
    /// Limits concurrent calls of tools that compute and read files.
    pub(super) callers: Semaphore,
    /// Limits concurrent calls of tools that ask another server. Those are slow, and must not hold up the others.
    pub(super) remote_callers: Semaphore,
    /// Limits concurrent calls of tools that skills bring, of this view. Those are slow, too, mostly in other processes.
    pub(super) skill_callers: Semaphore,
    /// Limits concurrent calls of tools that skills bring, of all views.
    pub(super) all_skill_callers: Arc<Semaphore>,
    /// The number of the permits of `all_skill_callers`.
    most_skill_calls: usize,
    /// Whether this is one of several views that share places.
    is_sharing: AtomicBool,
}

impl WorkLimits {
    /// Returns the limits of a server whose skills' tools and scripts may run so many times at once.
    pub(super) fn new(skill_calls: usize) -> WorkLimits {
        let most = skill_calls.clamp(1, MAX_SKILL_CALLS);
        WorkLimits::within(Arc::new(Semaphore::new(most)), most)
    }

    /// Returns the limits of another view of the same server.
    pub(super) fn for_view(&self) -> WorkLimits {
        WorkLimits::within(Arc::clone(&self.all_skill_callers), self.most_skill_calls)
    }

    fn within(all_skill_callers: Arc<Semaphore>, most_skill_calls: usize) -> WorkLimits {
        let cores = std::thread::available_parallelism().map_or(2, NonZero::get);
        WorkLimits {
            readers: Semaphore::new(2 * cores),
            callers: Semaphore::new(2 * cores + 2),
            remote_callers: Semaphore::new(MAX_REMOTE_CALLS),
            skill_callers: Semaphore::new(most_skill_calls),
            all_skill_callers,
            most_skill_calls,
            is_sharing: AtomicBool::new(false),
        }
    }

    /// Leaves permits for calls of tools that skills bring to other views, from now on: half of them. A view has no more
    /// calls in the queue for the permits of all, either, which is served in order: each view's turn comes.
    pub(super) fn share(&self) {
        if !self.is_sharing.swap(true, Ordering::AcqRel) {
            self.skill_callers.forget_permits(self.most_skill_calls / 2);
        }
    }
}

impl SkillServer {
    /// Reads files on a thread that may block.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ServerShared, &CatalogView) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let _turn = self.turn(&self.shared.work.readers).await;
        self.unbounded(work).await
    }

    /// Waits for a permit, and for the client to read its answers: another answer would only take more memory.
    pub(super) async fn turn<'s>(&self, turns: &'s Semaphore) -> Option<SemaphorePermit<'s>> {
        let backlog = self.session.backlog();
        loop {
            backlog.room().await;
            // The semaphore is never closed; if it were, nothing would have to wait any more.
            let turn = turns.acquire().await.ok();
            // A client that does not read must not hold a permit.
            if backlog.has_room() {
                return turn;
            }
        }
    }

    /// Runs work that may block on a thread that may. A panic there fails this call only.
    pub(super) async fn unbounded<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ServerShared, &CatalogView) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let shared = Arc::clone(&self.shared);
        let done = tokio::task::spawn_blocking(move || {
            let view = shared.view();
            work(&shared, &view)
        });
        done.await.map_err(|error| {
            tracing::error!(target: "skillcue::mcp", %error, "a request could not be answered");
            ErrorData::internal_error("the server failed on this request; its log says more", None)
        })
    }
}
