//! Reading a ledger whose directory cannot be written, as in a home that is read-only: from a copy in memory. The database would
//! write beside its file even to read it, and events that hooks have left in the spool could not be taken in.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use rustix::fs::Access;

use crate::ledger::{DROPPED, Ledger, count, is_missing, taken_of};
use crate::spool::{self, SpoolText};
use crate::{LedgerError, schema};

impl Ledger {
    /// Returns a connection to read, if there is anything: to the file, or to a copy of it where nothing can be written.
    pub(crate) fn existing(&self, patience: Duration) -> Result<Option<Connection>, LedgerError> {
        let path = self.path();
        if is_missing(path) && is_missing(&spool::path_of(path)) {
            return Ok(None);
        }
        if self.is_frozen() { copy(path).map(Some) } else { self.open(patience).map(Some) }
    }

    /// Returns whether nothing can be written beside the file.
    pub(crate) fn is_frozen(&self) -> bool {
        use rustix::io::Errno;
        let refused = |dir| matches!(rustix::fs::access(dir, Access::WRITE_OK), Err(Errno::ACCESS | Errno::ROFS));
        self.path().parent().is_some_and(refused)
    }
}

/// Opens a file beside which nothing can be written, for an answer: it is read where it is. One of an earlier version is an
/// error: it cannot be brought up to date, and a copy takes longer than an answer.
pub(crate) fn open(path: &Path) -> Result<Connection, LedgerError> {
    let fail = |error| LedgerError::database(path, &error);
    if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err(LedgerError::NotAFile { path: path.to_path_buf() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let way = ReadOnlyWay::of(path);
    let file = Connection::open_with_flags(way.address(path), flags).map_err(fail)?;
    file.execute_batch(way.setting()).map_err(fail)?;
    let version: i64 = file.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(fail)?;
    match version {
        version if version > schema::latest() => Err(LedgerError::Newer { path: path.to_path_buf(), version }),
        version if version < schema::latest() => Err(LedgerError::Older { path: path.to_path_buf(), version }),
        _ => Ok(file),
    }
}

/// Returns a database in memory with all that the file and the spool beside it have, in the tables of today.
fn copy(path: &Path) -> Result<Connection, LedgerError> {
    let fail = |error| LedgerError::database(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let mut copy = Connection::open_in_memory_with_flags(flags).map_err(fail)?;
    let version = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => {
            let way = ReadOnlyWay::of(path);
            copy.execute_batch(way.setting()).map_err(fail)?;
            copy.execute("ATTACH ?1 AS file", [way.address(path)]).map_err(fail)?;
            copy.query_row("PRAGMA file.user_version", [], |row| row.get(0)).map_err(fail)?
        }
        Ok(_) => return Err(LedgerError::NotAFile { path: path.to_path_buf() }),
        Err(_) => 0,
    };
    if version > schema::latest() {
        return Err(LedgerError::Newer { path: path.to_path_buf(), version });
    }
    let text = SpoolText::peek(&spool::path_of(path));
    let mut fill = || {
        let change = copy.transaction()?;
        let (old, new) = schema::STEPS.split_at(usize::try_from(version).unwrap_or(0));
        old.iter().try_for_each(|step| change.execute_batch(step))?;
        for table in tables(&change)? {
            change.execute_batch(&format!("INSERT INTO main.{table} SELECT * FROM file.{table}"))?;
        }
        new.iter().try_for_each(|step| change.execute_batch(step))?;
        if let Some(text) = &text {
            text.batch_after(taken_of(&change, &text.name())?).insert(&change)?;
        }
        count(&change, DROPPED, spool::lost(path))?;
        change.commit()
    };
    fill().map_err(fail)?;
    Ok(copy)
}

/// Returns the names of the tables, which are ours.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM main.sqlite_master WHERE type = 'table'")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// The way in which a file is read beside which nothing can be written.
#[derive(Debug, Clone, Copy)]
enum ReadOnlyWay {
    /// There is no log: the file is taken as it is, and nothing is looked for beside it.
    Whole,
    /// There is a log, and the file with its index.
    WithIndex,
    /// There is a log without its index, as in a copy of a home. The index is made in memory. Nothing is locked: a file that
    /// cannot be written cannot be, and no process has it open.
    WithoutIndex,
}

impl ReadOnlyWay {
    fn of(path: &Path) -> ReadOnlyWay {
        let beside = |end: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            Path::new(&name).metadata()
        };
        match beside("-wal") {
            Ok(log) if log.len() > 0 && beside("-shm").is_ok() => ReadOnlyWay::WithIndex,
            Ok(log) if log.len() > 0 => ReadOnlyWay::WithoutIndex,
            _ => ReadOnlyWay::Whole,
        }
    }

    /// Returns the address at which the database only reads.
    fn address(self, path: &Path) -> String {
        let mut address = "file:".to_owned();
        for byte in path.as_os_str().as_bytes() {
            let _ = write!(address, "%{byte:02x}");
        }
        address
            + match self {
                ReadOnlyWay::Whole => "?immutable=1",
                ReadOnlyWay::WithIndex => "?mode=ro",
                ReadOnlyWay::WithoutIndex => "?mode=ro&vfs=unix-none",
            }
    }

    /// Returns the SQL that comes before the file is looked at. It counts for files that are attached later, too.
    fn setting(self) -> &'static str {
        match self {
            ReadOnlyWay::Whole | ReadOnlyWay::WithIndex => "",
            ReadOnlyWay::WithoutIndex => "PRAGMA locking_mode = EXCLUSIVE;",
        }
    }
}
