//! The database file of facts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use skillcue_sqlite::patiently;

use super::MemoryError;

/// The version of the tables.
const VERSION: i64 = 1;
/// How long another process may keep the file locked.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Facts, and an index over their words that holds no copy of them. Deleted text is overwritten in both.
const TABLES: &str = "
    CREATE TABLE facts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        text TEXT NOT NULL,
        key TEXT NOT NULL UNIQUE,
        session TEXT NOT NULL,
        created INTEGER NOT NULL,
        updated INTEGER NOT NULL,
        uses INTEGER NOT NULL DEFAULT 0,
        origin TEXT NOT NULL DEFAULT 'user'
    ) STRICT;
    CREATE INDEX facts_updated ON facts (updated);
    CREATE VIRTUAL TABLE found USING fts5 (
        text, content = 'facts', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
    );
    INSERT INTO found (found, rank) VALUES ('secure-delete', 1);
    CREATE TRIGGER facts_added AFTER INSERT ON facts BEGIN
        INSERT INTO found (rowid, text) VALUES (new.id, new.text);
    END;
    CREATE TRIGGER facts_changed AFTER UPDATE OF text ON facts BEGIN
        INSERT INTO found (found, rowid, text) VALUES ('delete', old.id, old.text);
        INSERT INTO found (rowid, text) VALUES (new.id, new.text);
    END;
    PRAGMA user_version = 1;
";

/// The trigger that takes a fact out of the index.
const DELETE_TRIGGER: &str = "
    CREATE TRIGGER facts_gone AFTER DELETE ON facts BEGIN
        INSERT INTO found (found, rowid, text) VALUES ('delete', old.id, old.text);
    END;
";

/// Deletes all facts, at once from the table and the index. One by one, ten thousand facts take seconds.
pub(super) fn clear(connection: &mut Connection) -> rusqlite::Result<usize> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    change.execute_batch("DROP TRIGGER facts_gone;")?;
    let gone = change.execute("DELETE FROM facts", [])?;
    change.execute_batch("INSERT INTO found (found) VALUES ('delete-all');")?;
    change.execute_batch(DELETE_TRIGGER)?;
    change.commit()?;
    Ok(gone)
}

/// Opens the file, or makes it. Returns its real path, too.
pub(super) fn open(path: &Path) -> Result<(PathBuf, Connection), MemoryError> {
    let (path, mut connection) = skillcue_sqlite::open(path, BUSY_TIMEOUT)?;
    let fail = |error| MemoryError::database(&path, error);
    patiently(BUSY_TIMEOUT, || set_up(&connection)).map_err(fail)?;
    let version = patiently(BUSY_TIMEOUT, || migrate(&mut connection)).map_err(fail)?;
    match version {
        VERSION => Ok((path, connection)),
        0 => Err(MemoryError::Damaged { path, why: "it is a database of something else".to_owned() }),
        version => Err(MemoryError::Newer { path, version }),
    }
}

fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.execute_batch(skillcue_sqlite::SETTINGS)
}

/// The column that files of earlier versions lack. Those versions can still use a file that has it.
const ADD_ORIGIN: &str = "ALTER TABLE facts ADD COLUMN origin TEXT NOT NULL DEFAULT 'user'";

/// Makes the tables in an empty file. Returns the version of the tables.
fn migrate(connection: &mut Connection) -> rusqlite::Result<i64> {
    let version = |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get(0));
    let has_origin = "SELECT count(*) > 0 FROM pragma_table_info('facts') WHERE name = 'origin'";
    let has_origin = |connection: &Connection| connection.query_row(has_origin, [], |row| row.get::<_, bool>(0));
    let now = version(connection)?;
    if now > VERSION || (now == VERSION && has_origin(connection)?) {
        return Ok(now);
    }
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let tables: i64 = change.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if version(&change)? == 0 && tables == 0 {
        change.execute_batch(TABLES)?;
        change.execute_batch(DELETE_TRIGGER)?;
    }
    let now = version(&change)?;
    if now == VERSION && !has_origin(&change)? {
        change.execute_batch(ADD_ORIGIN)?;
    }
    change.commit()?;
    Ok(now)
}
