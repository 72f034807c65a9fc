//! Reading a ledger for an answer that waits for it: for a moment only, a bounded number of events, and nothing is written.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;

use crate::ledger::{is_missing, taken_of};
use crate::spool::{self, SpoolText};
use crate::{Ledger, LedgerError, LedgerEvent, LedgerQuery, frozen, schema};

/// The longest that an answer waits for other processes.
pub(crate) const BRIEF: Duration = Duration::from_millis(40);

/// The number of events that one answer reads at most, the newest: a hook has a second, and 300,000 took all of it.
pub(crate) const MAX_EVENTS: usize = 20_000;

/// The size, in bytes, of a file of an earlier version from which an answer does not bring it up to date: an index over
/// 300,000 events takes a large part of a hook's time.
const MAX_MIGRATED: u64 = 8 << 20;

impl Ledger {
    /// Opens the file for an answer that waits for it. The spool stays as it is: taking it in is a write.
    pub(crate) fn open_to_answer(&self) -> Result<Connection, LedgerError> {
        if self.is_frozen() {
            return frozen::open(self.path());
        }
        schema::open_up_to(self.path(), BRIEF, MAX_MIGRATED)
    }

    /// Returns the newest events that a query asks for, 20,000 at most, oldest first, for an answer that waits for them: other
    /// processes are waited for a moment only, and events in the spool are read where they are. Of an event only what feedback
    /// needs is read: not its mode, version of the index, tokens, confidence, item or text.
    ///
    /// Nothing is written, except that a small file of an earlier version is brought up to date; a large one is an error
    /// until another process has done that.
    ///
    /// ```
    /// use skillcue::usage::UsageKind;
    /// use skillcue_usage::{Ledger, LedgerBatch, LedgerEvent, LedgerQuery};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let ledger = Ledger::new(dir.path().join("usage.db"));
    /// ledger.write(&[LedgerEvent::new(UsageKind::Loaded, "pdf")])?;
    /// ledger.write_briefly(&LedgerBatch { events: vec![LedgerEvent::new(UsageKind::Loaded, "csv")], ..LedgerBatch::default() })?;
    /// let names = ledger.events_briefly(&LedgerQuery::default())?.into_iter().map(|event| event.skill);
    /// assert_eq!(names.collect::<Vec<_>>(), ["pdf", "csv"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn events_briefly(&self, query: &LedgerQuery) -> Result<Vec<LedgerEvent>, LedgerError> {
        // Before the database: what is taken in between the two is known by its name, and not counted twice.
        let spooled = SpoolText::peek(&spool::path_of(self.path()));
        let mut events = Vec::new();
        let mut taken = 0;
        if !is_missing(self.path()) {
            let connection = self.open_to_answer()?;
            let mut read = || {
                let change = connection.unchecked_transaction()?;
                taken = spooled.as_ref().map_or(Ok(0), |text| taken_of(&change, &text.name()))?;
                query.read_newest(&change, MAX_EVENTS, |event| events.push(event))
            };
            read().map_err(|error| LedgerError::database(self.path(), &error))?;
            events.reverse();
        }
        if let Some(text) = spooled {
            events.extend(text.batch_after(taken).events.into_iter().filter(|event| query.asks_for(event)));
            events.sort_by_key(|event| event.at);
            events.drain(..events.len().saturating_sub(MAX_EVENTS));
        }
        Ok(events)
    }

    /// Returns how often skills were used, by name, in the newest events, 20,000 at most. Does not wait for a file that another
    /// process writes: an answer may depend on it.
    ///
    /// ```
    /// use skillcue::usage::UsageKind;
    /// use skillcue_usage::{Ledger, LedgerEvent, LedgerQuery};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let ledger = Ledger::new(dir.path().join("usage.db"));
    /// ledger.write(&[LedgerEvent::new(UsageKind::Loaded, "pdf"), LedgerEvent::new(UsageKind::Shown, "csv")])?;
    /// assert_eq!(ledger.uses(&LedgerQuery::default())?.into_iter().collect::<Vec<_>>(), [("pdf".to_owned(), 1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn uses(&self, query: &LedgerQuery) -> Result<BTreeMap<String, u32>, LedgerError> {
        let mut uses: BTreeMap<String, u32> = BTreeMap::new();
        let events = self.events_briefly(query)?;
        for event in LedgerEvent::up_to_present(&events, SystemTime::now()).iter().filter(|event| event.kind.is_use()) {
            *uses.entry(event.skill.clone()).or_default() += 1;
        }
        Ok(uses)
    }
}
