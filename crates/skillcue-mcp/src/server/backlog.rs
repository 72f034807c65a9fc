//! Answers that a client has not read yet: while they are too many, no more are made.

use std::sync::Arc;

use tokio::sync::watch;

/// How many bytes of answers may wait for a client that does not read them, before the next is made.
const MAX_BACKLOG: usize = 8 << 20;

/// The number of bytes of answers that wait until the client reads. While they are too many, no more are made.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    bytes: watch::Sender<usize>,
}

impl Backlog {
    /// Counts an answer, until the returned share is dropped.
    pub(super) fn add(self: &Arc<Self>, bytes: usize) -> BacklogShare {
        self.bytes.send_modify(|sum| *sum += bytes);
        BacklogShare { bytes, backlog: Arc::clone(self) }
    }

    pub(super) fn has_room(&self) -> bool {
        *self.bytes.borrow() < MAX_BACKLOG
    }

    pub(super) async fn room(&self) {
        // It fails if the sender is gone, and that is `self`.
        let _ = self.bytes.subscribe().wait_for(|bytes| *bytes < MAX_BACKLOG).await;
    }
}

/// One answer's share of the backlog.
#[derive(Debug)]
pub(super) struct BacklogShare {
    bytes: usize,
    backlog: Arc<Backlog>,
}

impl Drop for BacklogShare {
    fn drop(&mut self) {
        self.backlog.bytes.send_modify(|sum| *sum -= self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Backlog, MAX_BACKLOG};

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
}
