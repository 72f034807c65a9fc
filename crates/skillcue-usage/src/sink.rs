//! [`LedgerSink`]: the events of a [`Skillcue`](skillcue::Skillcue), on their way to a ledger.

use std::sync::Arc;
use std::time::SystemTime;

use skillcue::usage::{UsageEvent, UsageSink};

use crate::{Ledger, LedgerEvent, redacted};

/// Puts the events of one program in one project into a ledger. The crate's documentation has an example.
#[derive(Debug, Clone)]
pub struct LedgerSink {
    ledger: Ledger,
    client: Arc<str>,
    project: Arc<str>,
    keeps_text: bool,
}

impl LedgerSink {
    /// Makes a sink for a program, such as `library`, that works in a project, which is named by its directory.
    pub fn new(ledger: Ledger, client: impl Into<String>, project: impl Into<String>) -> LedgerSink {
        LedgerSink { ledger, client: client.into().into(), project: project.into().into(), keeps_text: false }
    }

    /// Sets whether the text of messages is kept, with its secrets masked.
    #[must_use]
    pub fn keep_text(mut self, keeps_text: bool) -> LedgerSink {
        self.keeps_text = keeps_text;
        self
    }

    /// Returns the ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns an event as the ledger keeps it; `None` if it has no kind.
    pub fn event(&self, event: UsageEvent) -> Option<LedgerEvent> {
        kept(event, &self.client, &self.project, self.keeps_text)
    }
}

fn kept(mut event: UsageEvent, client: &str, project: &str, keeps_text: bool) -> Option<LedgerEvent> {
    event.text = event.text.filter(|_| keeps_text).map(|text| redacted(&text));
    LedgerEvent::of(event, client, project)
}

impl UsageSink for LedgerSink {
    fn record(&self, event: UsageEvent) {
        self.record_all(vec![event]);
    }

    fn record_all(&self, events: Vec<UsageEvent>) {
        let (client, project) = (Arc::clone(&self.client), Arc::clone(&self.project));
        let (keeps_text, at, count) = (self.keeps_text, SystemTime::now(), events.len());
        let make = move || {
            let made = events.into_iter().filter_map(|event| kept(event, &client, &project, keeps_text));
            made.map(|event| LedgerEvent { at, ..event }).collect()
        };
        self.ledger.record_draft(Box::new(make), count);
    }

    fn wants_text(&self) -> bool {
        self.keeps_text
    }
}
