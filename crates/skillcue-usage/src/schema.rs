//! The database file: its tables, version by version.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use skillcue_sqlite::patiently;

use crate::LedgerError;

/// The steps from an empty file to the tables of today: the first makes version 1, each further one the next. A step that
/// was released is never edited.
pub(crate) const STEPS: &[&str] = &[
    "CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        skill TEXT NOT NULL,
        project TEXT NOT NULL,
        session TEXT NOT NULL,
        turn INTEGER NOT NULL,
        client TEXT NOT NULL,
        mode TEXT NOT NULL,
        generation TEXT NOT NULL,
        tier INTEGER,
        tokens INTEGER,
        confidence REAL
    ) STRICT;
    CREATE INDEX events_at ON events (at);
    CREATE TABLE counters (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;",
    // Transcripts of other agents: how far each was read, and which skills they listed.
    "CREATE TABLE transcripts (path TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE listings (
        skill TEXT NOT NULL, client TEXT NOT NULL, sessions INTEGER NOT NULL, PRIMARY KEY (skill, client)
    ) STRICT, WITHOUT ROWID;",
    "ALTER TABLE events ADD COLUMN item TEXT;
    ALTER TABLE events ADD COLUMN text TEXT;",
    // Messages by day, whether or not a skill was shown for them. Of earlier ones only those are known for which one was.
    "CREATE TABLE messages (
        day INTEGER NOT NULL, project TEXT NOT NULL, client TEXT NOT NULL, number INTEGER NOT NULL,
        PRIMARY KEY (day, project, client)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO messages
        SELECT at / 86400000, project, client, count(DISTINCT session || ' ' || turn)
        FROM events WHERE kind = 'shown' GROUP BY 1, 2, 3;",
    // An answer reads the newest events of its project.
    "CREATE INDEX events_project ON events (project, at);",
    // An answer reads those that were shown and all others by a query each. An event is in one of the two indexes.
    "DROP INDEX events_project;
    CREATE INDEX events_shown ON events (project, at) WHERE kind = 'shown';
    CREATE INDEX events_used ON events (project, at) WHERE kind <> 'shown';",
];

/// The longest that a step waits for other processes, where no answer depends on it.
pub(crate) const PATIENT: Duration = Duration::from_secs(10);

/// Opens the file, or makes it. Other processes are waited for so long.
pub(crate) fn open(path: &Path, patience: Duration) -> Result<Connection, LedgerError> {
    open_up_to(path, patience, u64::MAX)
}

/// Like [`open`]. A file of an earlier version that is larger than `most` bytes stays as it is, and is an error.
pub(crate) fn open_up_to(path: &Path, patience: Duration, most: u64) -> Result<Connection, LedgerError> {
    let (path, mut connection) = skillcue_sqlite::open(path, patience)?;
    let fail = |error| LedgerError::database(&path, &error);
    // Twice the version and nothing else: a process that answers once does no more than it must.
    let version = patiently(patience, || version(&connection)).map_err(fail)?;
    if version == 0 {
        // The mode is kept in the file.
        patiently(patience, || connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))).map_err(fail)?;
    }
    connection.execute_batch(skillcue_sqlite::SETTINGS).map_err(fail)?;
    if (1..latest()).contains(&version) && path.metadata().is_ok_and(|metadata| metadata.len() > most) {
        return Err(LedgerError::Older { path, version });
    }
    let version = if version == latest() { version } else { migrated(&mut connection, patience).map_err(fail)? };
    match version {
        0 => Err(LedgerError::Damaged { path, why: "it is a database of something else".to_owned() }),
        version if version > latest() => Err(LedgerError::Newer { path, version }),
        _ => Ok(connection),
    }
}

/// Returns the version of the tables of today.
pub(crate) fn latest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Takes the steps that the file lacks, in one transaction. Returns its version; 0 if it is of something else.
fn migrated(connection: &mut Connection, patience: Duration) -> rusqlite::Result<i64> {
    patiently(patience, || {
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        let now = version(&change)?;
        let tables: i64 = change.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
        if now > latest() || (now == 0 && tables > 0) {
            return Ok(now);
        }
        for step in STEPS.iter().skip(usize::try_from(now).unwrap_or(0)) {
            change.execute_batch(step)?;
        }
        change.pragma_update(None, "user_version", latest())?;
        change.commit()?;
        Ok(latest())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a file as the version `version` of this crate left it, with one event.
    fn earlier(path: &Path, version: usize) {
        let connection = Connection::open(path).unwrap();
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
        for step in &STEPS[..version] {
            connection.execute_batch(step).unwrap();
        }
        connection.pragma_update(None, "user_version", i64::try_from(version).unwrap()).unwrap();
        let event = "INSERT INTO events (at, kind, skill, project, session, turn, client, mode, generation, tier)
                     VALUES (1700000000000, 'shown', 'pdf', '/p', 's', 3, 'agent', 'hybrid', 'abc', 2)";
        connection.execute(event, []).unwrap();
        if version >= 2 {
            connection.execute("INSERT INTO listings VALUES ('pdf', 'claude', 7)", []).unwrap();
        }
    }

    #[test]
    fn every_earlier_version_is_brought_up_to_date_with_its_events() {
        for version in 1..=STEPS.len() {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("usage.db");
            earlier(&path, version);
            let limits = crate::LedgerLimits { max_age: Duration::MAX, ..crate::LedgerLimits::default() };
            let ledger = crate::Ledger::new(&path).limits(limits);
            let events = ledger.events(&crate::LedgerQuery::default()).unwrap();
            let event = crate::LedgerEvent {
                at: crate::event::time(1_700_000_000_000),
                project: "/p".to_owned(),
                session: "s".to_owned(),
                turn: 3,
                client: "agent".to_owned(),
                mode: "hybrid".to_owned(),
                generation: "abc".to_owned(),
                tier: Some(2),
                ..crate::LedgerEvent::new(skillcue::usage::UsageKind::Shown, "pdf")
            };
            assert_eq!(events, std::slice::from_ref(&event), "version {version}");
            let new = crate::LedgerEvent { item: Some("a.py".to_owned()), text: Some("b".to_owned()), ..event };
            ledger.write(std::slice::from_ref(&new)).unwrap();
            assert_eq!(ledger.events(&crate::LedgerQuery::default()).unwrap()[1], new, "version {version}");
            let connection = open(&path, PATIENT).unwrap();
            let kept: i64 =
                connection.query_row("SELECT coalesce(sum(sessions), 0) FROM listings", [], |row| row.get(0)).unwrap();
            assert_eq!(kept, if version >= 2 { 7 } else { 0 });
            let messages = ledger.messages(&crate::LedgerQuery::default()).unwrap();
            let number = messages.iter().map(|count| count.number).sum::<u64>();
            assert_eq!(number, u64::from(version < 4), "version {version}");
            assert_eq!(super::version(&connection).unwrap(), latest());
        }
    }

    /// Files as earlier versions wrote them, as SQL. They are never edited.
    const EARLIER: [&str; 5] = [
        include_str!("../tests/fixtures/version-1.sql"),
        include_str!("../tests/fixtures/version-2.sql"),
        include_str!("../tests/fixtures/version-3.sql"),
        include_str!("../tests/fixtures/version-4.sql"),
        include_str!("../tests/fixtures/version-5.sql"),
    ];

    #[test]
    fn files_that_earlier_versions_wrote_are_read_and_have_the_tables_and_indexes_of_today() {
        // One of each: a new step needs the fixture of the version before it.
        assert_eq!(EARLIER.len() + 1, STEPS.len());
        for (sql, number) in EARLIER.into_iter().zip(1_i64..) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("usage.db");
            let connection = Connection::open(&path).unwrap();
            connection.execute_batch(sql).unwrap();
            assert_eq!(version(&connection).unwrap(), number);
            drop(connection);
            let limits = crate::LedgerLimits { max_age: Duration::MAX, ..crate::LedgerLimits::default() };
            let ledger = crate::Ledger::new(&path).limits(limits);
            let events = ledger.events(&crate::LedgerQuery::default()).unwrap();
            let found: Vec<_> = events.iter().map(|event| (event.skill.as_str(), event.turn, event.tokens)).collect();
            assert_eq!(found, [("pdf", 3, Some(900)), ("csv", 3, Some(21)), ("csv", 0, None)]);
            assert_eq!(ledger.state().unwrap().unwrap().dropped, 7);
            assert_eq!(ledger.messages(&crate::LedgerQuery::default()).unwrap()[0].number, 1);
            // The tables of today are those of a new file: a released step that is edited changes only the new one.
            let new = dir.path().join("new.db");
            let tables = |path: &Path| -> Vec<String> {
                let connection = open(path, PATIENT).unwrap();
                let sql = "SELECT m.name || '.' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || c.pk
                           FROM sqlite_master m JOIN pragma_table_info(m.name) c
                           UNION ALL SELECT name || ' ' || coalesce(sql, '') FROM sqlite_master WHERE type = 'index'
                           ORDER BY 1";
                let mut statement = connection.prepare(sql).unwrap();
                statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
            };
            assert_eq!(tables(&path), tables(&new));
            assert!(tables(&path).iter().any(|line| line.contains("events (project, at) WHERE kind = 'shown'")));
        }
    }

    #[test]
    fn a_file_of_a_newer_version_or_of_another_program_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let newer = dir.path().join("newer.db");
        earlier(&newer, STEPS.len());
        Connection::open(&newer).unwrap().pragma_update(None, "user_version", latest() + 1).unwrap();
        assert!(matches!(open(&newer, PATIENT), Err(LedgerError::Newer { .. })));
        let other = dir.path().join("other.db");
        Connection::open(&other).unwrap().execute_batch("CREATE TABLE a (b);").unwrap();
        assert!(matches!(open(&other, PATIENT), Err(LedgerError::Damaged { .. })));
        let text = dir.path().join("text.db");
        std::fs::write(&text, "no database at all, but long enough to be looked at as one, and then some more of it.")
            .unwrap();
        assert!(matches!(open(&text, PATIENT), Err(LedgerError::Damaged { .. })));
        let link = dir.path().join("link.db");
        std::os::unix::fs::symlink(&newer, &link).unwrap();
        assert!(matches!(open(&link, PATIENT), Err(LedgerError::NotAFile { .. })));
    }
}
