//! [`Ledger`]: the file of events, written by many processes, read by one at a time or many.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params_from_iter};

use crate::event::{COLUMNS, millis};
use crate::queue::{EventDraft, EventQueue, Queued};
use crate::schema::{self, PATIENT, patiently};
use crate::{LedgerError, LedgerEvent, LedgerLimits};

/// The name of the counter of events that were lost.
pub(crate) const DROPPED: &str = "dropped";

/// The longest that [`Ledger::write_briefly`] waits for other processes.
const BRIEF: Duration = Duration::from_millis(40);

/// The size of the log, in bytes, from which a brief write folds it in. Two or three pages are written each time, so one of
/// about twenty-five waits for the disk.
const MAX_LOG: u64 = 256 << 10;

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
        let mut connection = self.open(PATIENT)?;
        self.insert(&mut connection, events, 0, PATIENT)
    }

    /// Writes events on this thread, and gives up where other processes keep the file locked: for a process that ends in a
    /// moment. Most of the time it leaves the database's log for a later one to fold in, which waits for the disk.
    pub fn write_briefly(&self, events: &[LedgerEvent]) -> Result<(), LedgerError> {
        let mut connection = self.open(BRIEF)?;
        let fail = |error| LedgerError::database(&self.path, &error);
        connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fail)?;
        connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(fail)?;
        self.insert(&mut connection, events, 0, BRIEF)?;
        // A process that is alone reads the whole log when it opens it, and takes none of it for folded in: only a log that
        // is emptied gets shorter.
        let mut log = self.path.as_os_str().to_owned();
        log.push("-wal");
        if Path::new(&log).metadata().is_ok_and(|metadata| metadata.len() > MAX_LOG) {
            // If others use it, one of them empties it.
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
        Ok(())
    }

    pub(crate) fn open(&self, patience: Duration) -> Result<Connection, LedgerError> {
        schema::open(&self.path, patience)
    }

    /// Writes events, and the number of those that were lost since, in one transaction.
    pub(crate) fn insert(
        &self,
        connection: &mut Connection,
        events: &[LedgerEvent],
        dropped: u64,
        patience: Duration,
    ) -> Result<(), LedgerError> {
        let insert = || {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut insertion = LedgerEvent::insertion(&change)?;
            for event in events {
                event.insert(&mut insertion)?;
            }
            drop(insertion);
            if dropped > 0 {
                count(&change, DROPPED, dropped)?;
            }
            self.limits.apply(&change, SystemTime::now())?;
            change.commit()
        };
        patiently(patience, insert).map_err(|error| LedgerError::database(&self.path, &error))
    }

    /// Returns the connection of a file that is there.
    fn existing(&self) -> Result<Option<Connection>, LedgerError> {
        if self.path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return Ok(None);
        }
        self.open(PATIENT).map(Some)
    }

    /// Returns the events that a query asks for, oldest first.
    pub fn events(&self, query: &LedgerQuery) -> Result<Vec<LedgerEvent>, LedgerError> {
        let mut events = Vec::new();
        self.each(query, |event| events.push(event))?;
        Ok(events)
    }

    /// Calls a function with each event that a query asks for, oldest first.
    pub fn each(&self, query: &LedgerQuery, mut take: impl FnMut(LedgerEvent)) -> Result<(), LedgerError> {
        let Some(connection) = self.existing()? else { return Ok(()) };
        let mut sql = format!("SELECT {COLUMNS} FROM events WHERE at >= ?1");
        let mut values = vec![rusqlite::types::Value::from(query.since.map_or(0, millis))];
        for (column, value) in [("skill", &query.skill), ("project", &query.project)] {
            if let Some(value) = value {
                values.push(value.clone().into());
                let _ = write!(sql, " AND {column} = ?{}", values.len());
            }
        }
        sql.push_str(" ORDER BY at, id");
        let mut read = || {
            let mut statement = connection.prepare(&sql)?;
            let mut rows = statement.query(params_from_iter(&values))?;
            while let Some(row) = rows.next()? {
                LedgerEvent::read(row)?.into_iter().for_each(&mut take);
            }
            Ok(())
        };
        read().map_err(|error| LedgerError::database(&self.path, &error))
    }

    /// Returns how many sessions of other agents listed each skill, by skill and client, as far as their transcripts were
    /// imported.
    pub fn listings(&self) -> Result<Vec<(String, String, u64)>, LedgerError> {
        let Some(connection) = self.existing()? else { return Ok(Vec::new()) };
        let read = || {
            let mut statement = connection.prepare("SELECT skill, client, sessions FROM listings ORDER BY 1, 2")?;
            let rows =
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?.unsigned_abs())))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error| LedgerError::database(&self.path, &error))
    }

    /// Returns the number of events, of lost ones, and the age and size of the file; `None` if there is no file.
    pub fn state(&self) -> Result<Option<LedgerState>, LedgerError> {
        let Some(connection) = self.existing()? else { return Ok(None) };
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

    /// Removes all events, and every byte of them from the file. Returns how many.
    pub fn purge(&self) -> Result<u64, LedgerError> {
        let Some(mut connection) = self.existing()? else { return Ok(0) };
        let clear = || {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let gone = change.execute("DELETE FROM events", [])?;
            change.execute_batch("DELETE FROM counters; DELETE FROM transcripts; DELETE FROM listings;")?;
            change.commit()?;
            Ok(gone as u64)
        };
        let gone = patiently(PATIENT, clear).map_err(|error| LedgerError::database(&self.path, &error))?;
        // Deleted content is overwritten in the file; the log has it until it is folded in.
        let fold = || -> rusqlite::Result<()> {
            connection.execute_batch("VACUUM;")?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        };
        patiently(PATIENT, fold).map_err(|error| LedgerError::database(&self.path, &error))?;
        Ok(gone)
    }

    /// Removes the events that are beyond the bounds, now and not within the hour. Returns how many.
    pub fn tidy(&self) -> Result<usize, LedgerError> {
        let Some(connection) = self.existing()? else { return Ok(0) };
        let tidy = || self.limits.enforce(&connection, SystemTime::now());
        patiently(PATIENT, tidy).map_err(|error| LedgerError::database(&self.path, &error))
    }

    /// Checks the whole file. Returns what is wrong with it, in the database's words; `None` if nothing is.
    pub fn check(&self) -> Result<Option<String>, LedgerError> {
        let Some(connection) = self.existing()? else { return Ok(None) };
        let said: String = connection
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .map_err(|error| LedgerError::database(&self.path, &error))?;
        Ok(Some(said).filter(|said| said != "ok"))
    }
}

/// Adds to a counter.
pub(crate) fn count(connection: &Connection, name: &str, number: u64) -> rusqlite::Result<()> {
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    let sql = "INSERT INTO counters VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET number = number + excluded.number";
    connection.execute(sql, rusqlite::params![name, number]).map(drop)
}
