//! Reading a ledger for an answer that waits for it: for a moment only, a bounded number of events, and nothing is written.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use skillcue::usage::UsageKind;

use crate::ledger::{is_missing, taken_of};
use crate::spool::{self, SpoolText};
use crate::{Ledger, LedgerError, LedgerEvent, LedgerQuery, Week, frozen, schema};

/// The longest that an answer waits for other processes.
pub(crate) const BRIEF: Duration = Duration::from_millis(40);

/// The number of events in which skills were shown that one answer reads at most, the newest: a hook has a second, and 300,000
/// took all of it.
pub(crate) const MAX_SHOWN: usize = 20_000;

/// The number of other events that one answer reads at most. They have a bound of their own: a skill that was used is not unused
/// because others were shown often since.
pub(crate) const MAX_USED: usize = 20_000;

/// The size, in bytes, of a file of an earlier version from which an answer does not bring it up to date: an index over
/// 300,000 events takes a large part of a hook's time.
const MAX_MIGRATED: u64 = 8 << 20;

/// The events that an answer reads by one query, each by an index of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerPart {
    /// Skills were shown.
    Shown,
    /// Anything else: they were loaded, used, missed or declined.
    Used,
}

impl AnswerPart {
    /// Returns the condition in SQL, in the words of the index.
    pub(crate) fn condition(self) -> &'static str {
        match self {
            AnswerPart::Shown => "kind = 'shown'",
            AnswerPart::Used => "kind <> 'shown'",
        }
    }

    /// Returns the number of events that are read at most.
    pub(crate) fn most(self) -> usize {
        match self {
            AnswerPart::Shown => MAX_SHOWN,
            AnswerPart::Used => MAX_USED,
        }
    }

    fn has(self, event: &LedgerEvent) -> bool {
        (event.kind == UsageKind::Shown) == (self == AnswerPart::Shown)
    }
}

impl Ledger {
    /// Opens the file for an answer that waits for it. The spool stays as it is: taking it in is a write.
    pub(crate) fn open_to_answer(&self) -> Result<Connection, LedgerError> {
        if self.is_frozen() {
            return frozen::open(self.path());
        }
        schema::open_up_to(self.path(), BRIEF, MAX_MIGRATED)
    }

    /// Returns the newest events that a query asks for, oldest first, for an answer that waits for them: 20,000 at most in which
    /// skills were shown, and 20,000 others. Other processes are waited for a moment only, and events in the spool are read
    /// where they are. Of an event only what feedback needs is read: not its mode, version of the index, tokens, confidence,
    /// item or text. Events after the present week are left out: a clock that was wrong has left them.
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
        let mut parts = self.newest(query, &[AnswerPart::Shown, AnswerPart::Used])?;
        let is_full = |(part, events): &&(AnswerPart, Vec<LedgerEvent>)| events.len() >= part.most();
        let starts = parts.iter().filter(is_full).filter_map(|(_, events)| events.first());
        // Before this time only a part of the events is read. One that was shown or missed then would be misjudged.
        let whole_from = starts.map(|event| event.at).max().unwrap_or(SystemTime::UNIX_EPOCH);
        let mut events: Vec<LedgerEvent> = parts.drain(..).flat_map(|(_, events)| events).collect();
        events.retain(|event| event.kind.is_use() || event.at >= whole_from);
        events.sort_by_key(|event| event.at);
        Ok(events)
    }

    /// Returns the newest events of each part that a query asks for, oldest first.
    fn newest(
        &self,
        query: &LedgerQuery,
        parts: &[AnswerPart],
    ) -> Result<Vec<(AnswerPart, Vec<LedgerEvent>)>, LedgerError> {
        let end = Week::of(SystemTime::now()).end();
        // Before the database: what is taken in between the two is known by its name, and not counted twice.
        let spooled = SpoolText::peek(&spool::path_of(self.path()));
        let mut found: Vec<(AnswerPart, Vec<LedgerEvent>)> = parts.iter().map(|part| (*part, Vec::new())).collect();
        let mut taken = 0;
        if !is_missing(self.path()) {
            let connection = self.open_to_answer()?;
            let mut read = || {
                let change = connection.unchecked_transaction()?;
                taken = spooled.as_ref().map_or(Ok(0), |text| taken_of(&change, &text.name()))?;
                for (part, events) in &mut found {
                    query.read_newest(&change, *part, end, |event| events.push(event))?;
                    events.reverse();
                }
                Ok(())
            };
            read().map_err(|error| LedgerError::database(self.path(), &error))?;
        }
        if let Some(text) = spooled {
            let asked = |event: &LedgerEvent| query.asks_for(event) && event.at < end;
            for event in text.batch_after(taken).events.into_iter().filter(asked) {
                if let Some((_, events)) = found.iter_mut().find(|(part, _)| part.has(&event)) {
                    events.push(event);
                }
            }
            for (part, events) in &mut found {
                events.sort_by_key(|event| event.at);
                events.drain(..events.len().saturating_sub(part.most()));
            }
        }
        Ok(found)
    }

    /// Returns how often skills were used, by name, in the newest events of use, 20,000 at most. Does not wait for a file that
    /// another process writes: an answer may depend on it.
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
        let parts = self.newest(query, &[AnswerPart::Used])?;
        for event in parts.into_iter().flat_map(|(_, events)| events).filter(|event| event.kind.is_use()) {
            *uses.entry(event.skill).or_default() += 1;
        }
        Ok(uses)
    }
}
