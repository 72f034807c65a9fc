//! [`LedgerSink`]: the events of a [`Skillcue`](skillcue::Skillcue), on their way to a ledger.

use std::sync::Arc;
use std::time::SystemTime;

use skillcue::usage::{UsageEvent, UsageSink};

use crate::{Ledger, LedgerBatch, LedgerEvent, MessageCount, redacted};

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

    /// Returns the events of an answer, and the message that it was to, as the ledger keeps them.
    pub fn answer(&self, events: Vec<UsageEvent>) -> LedgerBatch {
        batch(events, 1, &self.client, &self.project, self.keeps_text)
    }

    /// Hands events to the thread that writes, and how many messages were answered.
    fn queue(&self, events: Vec<UsageEvent>, messages: u64) {
        let (client, project) = (Arc::clone(&self.client), Arc::clone(&self.project));
        let (keeps_text, at, count) = (self.keeps_text, SystemTime::now(), events.len());
        let make = move || {
            let mut batch = batch(events, messages, &client, &project, keeps_text);
            batch.events.iter_mut().for_each(|event| event.at = at);
            batch.messages.iter_mut().for_each(|message| message.at = at);
            batch
        };
        self.ledger.record_draft(Box::new(make), count);
    }
}

fn batch(events: Vec<UsageEvent>, messages: u64, client: &str, project: &str, keeps_text: bool) -> LedgerBatch {
    let count = MessageCount {
        at: SystemTime::now(),
        project: project.to_owned(),
        client: client.to_owned(),
        number: messages,
    };
    LedgerBatch {
        events: events.into_iter().filter_map(|event| kept(event, client, project, keeps_text)).collect(),
        messages: Some(count).filter(|count| count.number > 0).into_iter().collect(),
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
        self.queue(events, 0);
    }

    fn record_answer(&self, events: Vec<UsageEvent>) {
        self.queue(events, 1);
    }

    fn wants_text(&self) -> bool {
        self.keeps_text
    }
}
