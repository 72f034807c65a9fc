//! The bounds of a ledger: how old its events may be, and how large its file.

use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::batch::DAY_MILLIS;
use crate::event::millis;

const DAY: Duration = Duration::from_hours(24);

/// The number of events that one look removes at most: a process that answers once has no time for more.
const MAX_REMOVED: i64 = 20_000;

/// The number of the newest events that are kept however small the file may be.
const MIN_KEPT: i64 = 100;

/// The number of pages that events do not fill: each of nine tables and indexes has one, and three that are large have one above
/// the others.
const EMPTY_PAGES: i64 = 12;

/// The name of the counter with the time of the last look.
const LOOKED: &str = "looked_at";

/// The bounds of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerLimits {
    /// The age from which events are removed.
    pub max_age: Duration,
    /// The size of the file, in bytes, from which the oldest are removed. The newest that fit stay, and at least a hundred.
    pub max_bytes: u64,
}

impl Default for LedgerLimits {
    fn default() -> Self {
        // A year shows seasons. 96 MiB are more than 400,000 events, a hundred a day for eleven years: an event has 210 to 250
        // bytes, in which the path of its project is twice. It must be so much more than the 64 MiB of earlier versions, which
        // had no index by project: files that were full then lose nothing when they get one.
        LedgerLimits { max_age: 366 * DAY, max_bytes: 96 << 20 }
    }
}

impl LedgerLimits {
    /// Removes events beyond the bounds, unless that was looked at in the last hour. Returns how many.
    pub(crate) fn apply(self, connection: &Connection, now: SystemTime) -> rusqlite::Result<usize> {
        let now_millis = millis(now);
        let looked: Option<i64> = connection
            .query_row("SELECT number FROM counters WHERE name = ?1", [LOOKED], |row| row.get(0))
            .optional()?;
        // A clock that was set back must not keep the ledger from being looked at.
        if looked.is_some_and(|at| (0..3_600_000).contains(&(now_millis - at))) {
            return Ok(0);
        }
        self.enforce(connection, now)
    }

    /// Removes events beyond the bounds. Returns how many.
    pub(crate) fn enforce(self, connection: &Connection, now: SystemTime) -> rusqlite::Result<usize> {
        connection.execute(
            "INSERT INTO counters VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET number = excluded.number",
            params![LOOKED, millis(now)],
        )?;
        let oldest = now.checked_sub(self.max_age).map_or(0, millis);
        let mut removed = connection.execute(
            "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE at < ?1 ORDER BY at LIMIT ?2)",
            params![oldest, MAX_REMOVED],
        )?;
        connection.execute("DELETE FROM messages WHERE day < ?1", [oldest / DAY_MILLIS])?;
        let number = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
        let used = (number("page_count")? - number("freelist_count")?) * number("page_size")?;
        let most = i64::try_from(self.max_bytes).unwrap_or(i64::MAX);
        if used > most {
            let count: i64 = connection.query_row("SELECT count(*) FROM events", [], |row| row.get(0))?;
            // The tables take room without events, too.
            let empty = number("page_size")? * EMPTY_PAGES;
            let of_events = (used - empty).max(1);
            // The newest that fit, without a tenth, so that the next event does not ask again.
            let fit = i128::from(count) * i128::from((most - empty).max(0)) * 9 / (i128::from(of_events) * 10);
            let kept = i64::try_from(fit).unwrap_or(i64::MAX).max(MIN_KEPT);
            removed += connection.execute(
                "DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY at, id LIMIT ?1)",
                [(count - kept).max(0)],
            )?;
        }
        Ok(removed)
    }
}
