//! [`Ledger`]: the file of events, written by many processes, read by one at a time or many.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params_from_iter};
use skillcue_sqlite::patiently;

use crate::answer::{AnswerPart, BRIEF};
use crate::batch::DAY_MILLIS;
use crate::event::{ANSWER_COLUMNS, COLUMNS, millis};
use crate::queue::{EventDraft, EventQueue, Queued};
use crate::schema::{self, PATIENT};
use crate::spool::{self, LockedSpool, MAX_SPOOL};
use crate::{LedgerBatch, LedgerError, LedgerEvent, LedgerLimits, MessageCount};

/// The name of the counter of events that were lost.
pub(crate) const DROPPED: &str = "dropped";

/// The beginning of the name of the counter with the bytes of a spool that were taken in.
const SPOOL: &str = "spool:";

/// A ledger in a file. Clones share its queue. Nothing is opened before the first event or the first look.
///
/// ```
/// use std::time::Duration;
///
/// use skillcue::usage::UsageKind;
/// use skillcue_usage::{Ledger, LedgerEvent, LedgerQuery};
///
/// let dir = tempfile::tempdir()?;
/// let ledger = Ledger::new(dir.path().join("usage.db"));
/// assert!(ledger.record(LedgerEvent::new(UsageKind::Loaded, "pdf")));
/// assert!(ledger.flush(Duration::from_secs(5)));
/// assert_eq!(ledger.events(&LedgerQuery::default())?[0].skill, "pdf");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ledger {
    path: Arc<Path>,
    limits: LedgerLimits,
    queue: Arc<EventQueue>,
}

/// The events that are asked for.
#[derive(Debug, Clone, Default)]
pub struct LedgerQuery {
    /// Only events from this time on.
    pub since: Option<SystemTime>,
    /// Only events of this skill.
    pub skill: Option<String>,
    /// Only events of this project.
    pub project: Option<String>,
}

/// The state of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerState {
    /// The number of events.
    pub events: u64,
    /// The number of events that were lost because the queue was full or the file could not be written.
    pub dropped: u64,
    /// The time of the oldest event.
    pub oldest: Option<SystemTime>,
    /// The size of the file, in bytes.
    pub bytes: u64,
}

impl LedgerQuery {
    /// Calls a function with each event of a database that the query asks for, oldest first.
    fn read(&self, connection: &Connection, take: impl FnMut(LedgerEvent)) -> rusqlite::Result<()> {
        let (condition, values) = self.condition();
        let sql = format!("SELECT {COLUMNS} FROM events WHERE {condition} ORDER BY at, id");
        each_row(connection, &sql, &values, take)
    }

    /// Calls a function with each of the newest events of a part of a database that the query asks for and that are before
    /// `end`, as many as an answer reads of the part, newest first.
    pub(crate) fn read_newest(
        &self,
        connection: &Connection,
        part: AnswerPart,
        end: SystemTime,
        take: impl FnMut(LedgerEvent),
    ) -> rusqlite::Result<()> {
        let (sql, values) = self.newest(part, end);
        each_row(connection, &sql, &values, take)
    }

    /// Returns the SQL of [`read_newest`](LedgerQuery::read_newest), and its values.
    pub(crate) fn newest(&self, part: AnswerPart, end: SystemTime) -> (String, Vec<Value>) {
        let (condition, mut values) = self.condition();
        values.push(millis(end).into());
        let sql = format!(
            "SELECT {ANSWER_COLUMNS} FROM events WHERE {} AND {condition} AND at < ?{} ORDER BY at DESC, id DESC LIMIT {}",
            part.condition(),
            values.len(),
            part.most(),
        );
        (sql, values)
    }

    /// Returns the condition in SQL, and its values.
    fn condition(&self) -> (String, Vec<Value>) {
        let mut sql = "at >= ?1".to_owned();
        let mut values = vec![Value::from(self.since.map_or(0, millis))];
        for (column, value) in [("skill", &self.skill), ("project", &self.project)] {
            if let Some(value) = value {
                values.push(value.clone().into());
                let _ = write!(sql, " AND {column} = ?{}", values.len());
            }
        }
        (sql, values)
    }

    /// Returns whether the query asks for an event that is not in the database yet.
    pub(crate) fn asks_for(&self, event: &LedgerEvent) -> bool {
        self.since.is_none_or(|since| event.at >= since)
            && self.skill.as_ref().is_none_or(|skill| event.skill == *skill)
            && self.project.as_ref().is_none_or(|project| event.project == *project)
    }
}

impl Ledger {
    /// Makes a ledger in a file, which need not be there yet.
    pub fn new(path: impl Into<PathBuf>) -> Ledger {
        Ledger { path: path.into().into(), limits: LedgerLimits::default(), queue: Arc::default() }
    }

    /// Sets how old events may be, and how large the file.
    #[must_use]
    pub fn limits(mut self, limits: LedgerLimits) -> Ledger {
        self.limits = limits;
        self
    }

    /// Returns the bounds.
    pub(crate) fn its_limits(&self) -> LedgerLimits {
        self.limits
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands an event to the thread that writes. Never waits: if the thread cannot keep up, the event is lost and counted.
    /// Returns whether it was accepted.
    pub fn record(&self, event: LedgerEvent) -> bool {
        self.queue.push(self, Queued::Event(Box::new(event)), 1)
    }

    /// Like [`record`](Ledger::record), where the thread makes the events, so many.
    pub(crate) fn record_draft(&self, make: EventDraft, count: usize) -> bool {
        self.queue.push(self, Queued::Draft(make), count)
    }

    /// Waits until the events that were accepted are written, or until `most` has passed. Returns whether all are.
    pub fn flush(&self, most: Duration) -> bool {
        self.queue.flush(most)
    }

    /// Writes events on this thread. For imports and tests.
    pub fn write(&self, events: &[LedgerEvent]) -> Result<(), LedgerError> {
        self.write_batch(&events.into())
    }

    /// Writes events and counts on this thread.
    pub fn write_batch(&self, batch: &LedgerBatch) -> Result<(), LedgerError> {
        let mut connection = self.open(PATIENT)?;
        self.insert(&mut connection, batch, 0, PATIENT)
    }

    /// Leaves events and counts in the spool beside the file, for the next process that opens it: for a process that ends in
    /// a moment. Opening the database takes longer than all else that such a process does.
    /// Events that cannot be written are counted beside it, and with the other lost ones as soon as the database is opened.
    pub fn write_briefly(&self, batch: &LedgerBatch) -> Result<(), LedgerError> {
        self.append(batch).inspect_err(|_| spool::count_lost(&self.path, batch.events.len()))
    }

    /// Counts events that were never made, as their process had no time or failed: they are dropped ones. It writes a few
    /// bytes beside the file and waits for nothing.
    ///
    /// ```
    /// use skillcue_usage::Ledger;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let ledger = Ledger::new(dir.path().join("usage.db"));
    /// ledger.count_dropped(2);
    /// assert_eq!(ledger.state()?.map(|state| state.dropped), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count_dropped(&self, number: usize) {
        if self.path.parent().is_some_and(|dir| !dir.exists()) {
            // The database's directory is made so that it is its owner's alone. Without one, nothing can be counted.
            let _ = self.open(BRIEF);
        }
        spool::count_lost(&self.path, number);
    }

    fn append(&self, batch: &LedgerBatch) -> Result<(), LedgerError> {
        let path = spool::path_of(&self.path);
        if path.parent().is_some_and(|dir| !dir.exists()) {
            // The database's directory is made so that it is its owner's alone.
            self.open(BRIEF)?;
        }
        let appended = LockedSpool::lock(&path, true, BRIEF).and_then(|mut spool| spool.append(batch));
        match appended {
            None => {
                let mut connection = self.open(BRIEF)?;
                self.insert(&mut connection, batch, 0, BRIEF)
            }
            // The batch is written. If the spool cannot be taken in now, the next process does it.
            Some(size) if size > MAX_SPOOL => {
                let _ = self.open(BRIEF);
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }

    /// Opens the file, and takes in what processes have left in the spool.
    pub(crate) fn open(&self, patience: Duration) -> Result<Connection, LedgerError> {
        let mut connection = schema::open(&self.path, patience)?;
        if let Err(error) = self.take_in(&mut connection, patience) {
            // The next process takes it in.
            tracing::debug!(target: "skillcue::usage", %error, "the spool stays as it is");
        }
        Ok(connection)
    }

    /// Takes in what is in the spool, once: the transaction notes how much of it, by its name, in case that this process
    /// ends before it has removed it. Takes in the number of events that short processes have lost, too.
    fn take_in(&self, connection: &mut Connection, patience: Duration) -> Result<(), LedgerError> {
        let path = spool::path_of(&self.path);
        let fail = |error| LedgerError::database(&self.path, &error);
        // Only one process has the number. A few that are lost meanwhile are not counted.
        let lost = spool::take_lost(&self.path);
        if lost > 0 {
            let counted = patiently(patience, || count(connection, DROPPED, lost));
            counted.inspect_err(|_| spool::give_back_lost(&self.path, lost)).map_err(fail)?;
        }
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        let Some(mut locked) = LockedSpool::lock(&path, false, BRIEF) else { return Ok(()) };
        let text = locked.read().map_err(|error| file_error("read", &path, error))?;
        let name = text.name();
        let batch = text.batch_after(taken_of(connection, &name).map_err(fail)?);
        if !batch.is_empty() {
            let insert = || {
                let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                batch.insert(&change)?;
                change.execute("DELETE FROM counters WHERE name LIKE ?1 || '%'", [SPOOL])?;
                count(&change, &format!("{SPOOL}{name}"), text.size())?;
                self.limits.apply(&change, SystemTime::now())?;
                change.commit()
            };
            patiently(patience, insert).map_err(fail)?;
        }
        locked.remove().map_err(|error| file_error("remove", &path, error))
    }

    /// Writes events, and the number of those that were lost since, in one transaction.
    pub(crate) fn insert(
        &self,
        connection: &mut Connection,
        batch: &LedgerBatch,
        dropped: u64,
        patience: Duration,
    ) -> Result<(), LedgerError> {
        let insert = || {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            batch.insert(&change)?;
            if dropped > 0 {
                count(&change, DROPPED, dropped)?;
            }
            self.limits.apply(&change, SystemTime::now())?;
            change.commit()
        };
        patiently(patience, insert).map_err(|error| LedgerError::database(&self.path, &error))
    }

    /// Returns the events that a query asks for, oldest first.
    pub fn events(&self, query: &LedgerQuery) -> Result<Vec<LedgerEvent>, LedgerError> {
        let mut events = Vec::new();
        self.each(query, |event| events.push(event))?;
        Ok(events)
    }

    /// Calls a function with each event that a query asks for, oldest first.
    pub fn each(&self, query: &LedgerQuery, take: impl FnMut(LedgerEvent)) -> Result<(), LedgerError> {
        let Some(connection) = self.existing(PATIENT)? else { return Ok(()) };
        query.read(&connection, take).map_err(|error| LedgerError::database(&self.path, &error))
    }

    /// Returns the messages that were answered, by day, project and program, oldest first. Of a query, the day of its time and
    /// its project count.
    pub fn messages(&self, query: &LedgerQuery) -> Result<Vec<MessageCount>, LedgerError> {
        let Some(connection) = self.existing(PATIENT)? else { return Ok(Vec::new()) };
        let since = query.since.map_or(0, millis) / DAY_MILLIS;
        let read = || {
            let sql = "SELECT day, project, client, number FROM messages
                       WHERE day >= ?1 AND (?2 IS NULL OR project = ?2) ORDER BY 1, 2, 3";
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map(rusqlite::params![since, query.project], |row| {
                Ok(MessageCount {
                    at: crate::event::time(row.get::<_, i64>(0)?.saturating_mul(DAY_MILLIS)),
                    project: row.get(1)?,
                    client: row.get(2)?,
                    number: row.get::<_, i64>(3)?.unsigned_abs(),
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| LedgerError::database(&self.path, &error))
    }

    /// Returns how many sessions of other agents listed each skill, by skill and client, as far as their transcripts were
    /// imported.
    pub fn listings(&self) -> Result<Vec<(String, String, u64)>, LedgerError> {
        let Some(connection) = self.existing(PATIENT)? else { return Ok(Vec::new()) };
        let read = || {
            let mut statement = connection.prepare("SELECT skill, client, sessions FROM listings ORDER BY 1, 2")?;
            let rows =
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?.unsigned_abs())))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| LedgerError::database(&self.path, &error))
    }

    /// Returns the number of events, of lost ones, and the age and size of the file; `None` if there is none, and nothing was
    /// lost.
    pub fn state(&self) -> Result<Option<LedgerState>, LedgerError> {
        let Some(connection) = self.existing(PATIENT)? else {
            let dropped = spool::lost(&self.path);
            return Ok((dropped > 0).then_some(LedgerState { events: 0, dropped, oldest: None, bytes: 0 }));
        };
        let read = || {
            let (events, oldest): (i64, Option<i64>) =
                connection
                    .query_row("SELECT count(*), min(at) FROM events", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let dropped: Option<i64> = connection
                .query_row("SELECT number FROM counters WHERE name = ?1", [DROPPED], |row| row.get(0))
                .optional()?;
            let bytes = self.path.metadata().map_or(0, |metadata| metadata.len());
            let (events, dropped) = (events.unsigned_abs(), dropped.unwrap_or(0).unsigned_abs());
            Ok(LedgerState { events, dropped, oldest: oldest.map(crate::event::time), bytes })
        };
        read().map(Some).map_err(|error| LedgerError::database(&self.path, &error))
    }

    /// Removes all events, and every byte of them from the file. Returns how many. Fails if a byte may be left.
    pub fn purge(&self) -> Result<u64, LedgerError> {
        self.purge_within(PATIENT)
    }

    fn purge_within(&self, patience: Duration) -> Result<u64, LedgerError> {
        let fail = |error| LedgerError::database(&self.path, &error);
        // First: once its name is forgotten, a spool that was taken in would be taken in again.
        let spooled = self.remove_spool(patience)?;
        if is_missing(&self.path) {
            return Ok(spooled);
        }
        let mut connection = schema::open(&self.path, patience)?;
        let clear = || {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let gone = change.execute("DELETE FROM events", [])?;
            change.execute_batch(
                "DELETE FROM counters; DELETE FROM messages; DELETE FROM transcripts; DELETE FROM listings;",
            )?;
            change.commit()?;
            Ok(gone as u64)
        };
        let gone = patiently(patience, clear).map_err(fail)?;
        patiently(patience, || connection.execute_batch("VACUUM;")).map_err(fail)?;
        // Deleted content is overwritten in the file; the log has it until it is folded in, and a process that still reads
        // keeps it from that.
        let fold = || connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        if patiently(patience, fold).map_err(fail)? {
            return Err(LedgerError::NotPurged { path: self.path.to_path_buf() });
        }
        Ok(gone + spooled)
    }

    /// Removes the spool, and the count of lost events beside it. Returns how many events were in it.
    fn remove_spool(&self, patience: Duration) -> Result<u64, LedgerError> {
        let path = spool::path_of(&self.path);
        spool::forget_lost(&self.path).map_err(|error| file_error("remove", &path, error))?;
        // What is no regular file is not a spool of ours.
        while path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            match LockedSpool::lock(&path, false, patience) {
                Some(mut locked) => {
                    let text = locked.read().map_err(|error| file_error("read", &path, error))?;
                    let events = text.batch_after(0).events.len() as u64;
                    locked.remove().map_err(|error| file_error("remove", &path, error))?;
                    return Ok(events);
                }
                // Another process has taken it in and removed it.
                None if is_missing(&path) => {}
                None => return Err(LedgerError::Busy { path }),
            }
        }
        Ok(0)
    }

    /// Removes the events that are beyond the bounds, now and not within the hour. Returns how many.
    pub fn tidy(&self) -> Result<usize, LedgerError> {
        if is_missing(&self.path) && is_missing(&spool::path_of(&self.path)) {
            return Ok(0);
        }
        let connection = self.open(PATIENT)?;
        let tidy = || self.limits.enforce(&connection, SystemTime::now());
        patiently(PATIENT, tidy).map_err(|error| LedgerError::database(&self.path, &error))
    }

    /// Checks the whole file. Returns what is wrong with it, in the database's words; `None` if nothing is.
    pub fn check(&self) -> Result<Option<String>, LedgerError> {
        let Some(connection) = self.existing(PATIENT)? else { return Ok(None) };
        let said: String = connection
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .map_err(|error| LedgerError::database(&self.path, &error))?;
        Ok(Some(said).filter(|said| said != "ok"))
    }
}

/// Calls a function with each event that a statement returns.
fn each_row(
    connection: &Connection,
    sql: &str,
    values: &[Value],
    mut take: impl FnMut(LedgerEvent),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        LedgerEvent::read(row)?.into_iter().for_each(&mut take);
    }
    Ok(())
}

/// Returns whether there is no file at a path.
pub(crate) fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

fn file_error(doing: &'static str, path: &Path, error: std::io::Error) -> LedgerError {
    LedgerError::File { doing, path: path.to_path_buf(), error }
}

/// Returns how many bytes of a spool were taken in.
pub(crate) fn taken_of(connection: &Connection, name: &str) -> rusqlite::Result<u64> {
    let sql = "SELECT number FROM counters WHERE name = ?1";
    let number = connection.query_row(sql, [format!("{SPOOL}{name}")], |row| row.get::<_, i64>(0)).optional()?;
    Ok(number.unwrap_or(0).unsigned_abs())
}

/// Adds to a counter.
pub(crate) fn count(connection: &Connection, name: &str, number: u64) -> rusqlite::Result<()> {
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    let sql = "INSERT INTO counters VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET number = number + excluded.number";
    connection.execute(sql, rusqlite::params![name, number]).map(drop)
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
