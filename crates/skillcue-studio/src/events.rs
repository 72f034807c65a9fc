//! Server-sent events: what has changed since the page asked.

use serde::Serialize;
use tokio::sync::broadcast;

/// How many events a slow page may be behind before it is told to ask for everything again.
const MAX_BEHIND: usize = 64;

/// A change that pages are told of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum StudioEvent {
    /// Skills changed: the names of up to a few of them, and how many there are.
    Catalog {
        /// Names of changed skills.
        names: Vec<String>,
        /// The number of skills.
        skills: usize,
    },
    /// The ledger has new events.
    Ledger {
        /// The number of events in it.
        events: u64,
    },
    /// Something was allowed, or consent was taken back.
    Consent {},
    /// The evaluations that are kept are not those of before.
    Evals {},
}

/// The sender of events to all pages that listen.
#[derive(Debug, Clone)]
pub struct StudioEvents {
    sender: broadcast::Sender<StudioEvent>,
}

impl Default for StudioEvents {
    fn default() -> StudioEvents {
        StudioEvents { sender: broadcast::channel(MAX_BEHIND).0 }
    }
}

impl StudioEvents {
    /// Sends an event to all pages. Without any, it is gone.
    pub fn send(&self, event: StudioEvent) {
        let _ = self.sender.send(event);
    }

    /// Returns the number of pages that listen.
    pub fn listeners(&self) -> usize {
        self.sender.receiver_count()
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<StudioEvent> {
        self.sender.subscribe()
    }
}

/// Returns an event as a stream has it.
pub(crate) fn written(event: &StudioEvent) -> String {
    // A value without maps of other keys than texts always has a JSON form, on one line.
    format!("data: {}\n\n", serde_json::to_string(event).unwrap_or_default())
}

/// The event that tells a page to ask for everything again.
pub(crate) const MISSED: &str = "data: {\"event\":\"missed\"}\n\n";
