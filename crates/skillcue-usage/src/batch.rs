//! A batch: events that are written at once, and how many messages were answered.

use std::time::SystemTime;

use rusqlite::{Connection, params};

use crate::LedgerEvent;
use crate::event::millis;

/// The milliseconds of a day.
pub(crate) const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// The messages that one program answered in one project on one day, whether or not a skill was shown.
///
/// ```
/// use std::time::SystemTime;
/// use skillcue_usage::{Ledger, LedgerBatch, LedgerQuery, MessageCount};
///
/// let dir = tempfile::tempdir()?;
/// let ledger = Ledger::new(dir.path().join("usage.db"));
/// let messages = MessageCount { at: SystemTime::now(), project: "/p".into(), client: "mcp".into(), number: 2 };
/// for _ in 0..3 {
///     ledger.write_batch(&LedgerBatch { messages: vec![messages.clone()], ..LedgerBatch::default() })?;
/// }
/// assert_eq!(ledger.messages(&LedgerQuery::default())?[0].number, 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageCount {
    /// When; of what is read from a ledger, the beginning of the day, in UTC.
    pub at: SystemTime,
    /// The directory of the project; empty if it is not known.
    pub project: String,
    /// The program.
    pub client: String,
    /// How many.
    pub number: u64,
}

/// Events and counts that are written in one transaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LedgerBatch {
    /// The events.
    pub events: Vec<LedgerEvent>,
    /// The messages that were answered.
    pub messages: Vec<MessageCount>,
}

impl From<&[LedgerEvent]> for LedgerBatch {
    fn from(events: &[LedgerEvent]) -> LedgerBatch {
        LedgerBatch { events: events.to_vec(), messages: Vec::new() }
    }
}

impl LedgerBatch {
    /// Returns whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.messages.is_empty()
    }

    /// Adds another batch. Messages of one day, project and program become one count.
    pub(crate) fn add(&mut self, other: LedgerBatch) {
        self.events.extend(other.events);
        for count in other.messages {
            let day = millis(count.at) / DAY_MILLIS;
            let is_same = |known: &&mut MessageCount| {
                millis(known.at) / DAY_MILLIS == day && known.project == count.project && known.client == count.client
            };
            match self.messages.iter_mut().find(is_same) {
                Some(known) => known.number = known.number.saturating_add(count.number),
                None => self.messages.push(count),
            }
        }
    }

    pub(crate) fn insert(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut insertion = LedgerEvent::insertion(connection)?;
        for event in &self.events {
            event.insert(&mut insertion)?;
        }
        let sql = "INSERT INTO messages VALUES (?1, ?2, ?3, ?4)
                   ON CONFLICT (day, project, client) DO UPDATE SET number = number + excluded.number";
        for count in &self.messages {
            let number = i64::try_from(count.number).unwrap_or(i64::MAX);
            connection.execute(sql, params![millis(count.at) / DAY_MILLIS, count.project, count.client, number])?;
        }
        Ok(())
    }
}
