//! The database file of facts.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use rustix::fs::OFlags;

use super::MemoryError;
use crate::sessions::FileOpenError;

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
    let path = make(path)?;
    let fail = |error| MemoryError::database(&path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(&path, flags).map_err(fail)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(fail)?;
    patiently(|| set_up(&connection)).map_err(fail)?;
    let version = patiently(|| migrate(&mut connection)).map_err(fail)?;
    match version {
        VERSION => Ok((path, connection)),
        0 => Err(MemoryError::Damaged { path, why: "it is a database of something else".to_owned() }),
        version => Err(MemoryError::Newer { path, version }),
    }
}

/// Makes the file before the database does, so that it is its owner's alone; what the database puts beside it gets the
/// same rights. A file that is there is not opened: closing it would take away the locks that others in this process
/// have on it.
fn make(path: &Path) -> Result<PathBuf, MemoryError> {
    let fail = |doing, path: &Path, error| MemoryError::file(doing, path, error);
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| fail("make a directory", dir, error))?;
    // The way to it may have links in it, the file may not be one: the database looks at both alike.
    let dir = dir.canonicalize().map_err(|error| fail("find", dir, error))?;
    let Some(name) = path.file_name() else { return Err(MemoryError::NotAFile { path: path.to_owned() }) };
    let path = dir.join(name);
    match crate::sessions::open(&path, OFlags::CREATE | OFlags::EXCL | OFlags::RDWR) {
        Ok(_) => Ok(path),
        Err(FileOpenError::File(error)) if error.kind() == io::ErrorKind::AlreadyExists => {
            match path.symlink_metadata() {
                Ok(metadata) if metadata.is_file() => Ok(path),
                Ok(_) => Err(MemoryError::NotAFile { path }),
                Err(error) => Err(fail("look at", &path, error)),
            }
        }
        Err(FileOpenError::File(error)) => Err(fail("create", &path, error)),
        Err(FileOpenError::NotAFile) => Err(MemoryError::NotAFile { path }),
    }
}

fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;")
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

/// Tries again where the database gives up at once because waiting could be in vain, as when two set up one file.
fn patiently<R>(mut attempt: impl FnMut() -> rusqlite::Result<R>) -> rusqlite::Result<R> {
    let started = Instant::now();
    loop {
        match attempt() {
            Err(error) if is_passing(&error) && started.elapsed() < BUSY_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

/// Returns whether another attempt may succeed: the file is busy, or two processes that set it up both removed its journal,
/// which was gone for the second.
fn is_passing(error: &rusqlite::Error) -> bool {
    let is_gone = |cause: &rusqlite::ffi::Error| cause.extended_code == rusqlite::ffi::SQLITE_IOERR_DELETE_NOENT;
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) || error.sqlite_error().is_some_and(is_gone)
}
