//! Database files of a user that several processes share: made as its owner's alone, opened without following links, and
//! waited for where another process is at work.
//!
//! ```
//! use std::time::Duration;
//!
//! let dir = tempfile::tempdir()?;
//! let (path, connection) = skillcue_sqlite::open(&dir.path().join("data/notes.db"), Duration::from_secs(5)).unwrap();
//! skillcue_sqlite::patiently(Duration::from_secs(5), || connection.execute_batch("CREATE TABLE notes (text TEXT);"))?;
//! assert!(path.is_file());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It knows no tables: what a file has in it, and what to say where it cannot be used, is its owner's.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Mode, OFlags};

/// The settings of every connection. The log of the database is written to the disk when it is folded in; deleted content is
/// overwritten; functions in the file are not trusted.
pub const SETTINGS: &str = "PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;";

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// The reason why a file cannot be made or opened.
#[derive(Debug)]
pub enum OpenError {
    /// It is a link, a directory, a pipe.
    NotAFile {
        /// Its path.
        path: PathBuf,
    },
    /// The file system refused.
    File {
        /// The action, as a verb.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The database refused.
    Database {
        /// The file.
        path: PathBuf,
        /// Its error.
        error: rusqlite::Error,
    },
}

/// Opens a file, or makes it. Other processes are waited for so long. Returns its real path, too.
pub fn open(path: &Path, patience: Duration) -> Result<(PathBuf, Connection), OpenError> {
    let path = make(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let opened = Connection::open_with_flags(&path, flags);
    let waiting = opened.and_then(|connection| connection.busy_timeout(patience).map(|()| connection));
    match waiting {
        Ok(connection) => Ok((path, connection)),
        Err(error) => Err(OpenError::Database { path, error }),
    }
}

/// Makes the file before the database does, so that it is its owner's alone; what the database puts beside it gets the
/// same rights. A file that is there is not opened: closing it would take away the locks that others in this process
/// have on it. Returns its real path.
fn make(path: &Path) -> Result<PathBuf, OpenError> {
    let fail = |doing, path: &Path, error: io::Error| OpenError::File { doing, path: path.to_path_buf(), error };
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let look = |path: &Path| match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => Some(Ok(())),
        Ok(_) => Some(Err(OpenError::NotAFile { path: path.to_path_buf() })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(fail("look at", path, error))),
    };
    // The way to it may have links in it, the file may not be one: the database looks at both alike.
    let real = |dir: &Path| dir.canonicalize().map_err(|error| fail("find", dir, error));
    let Some(name) = path.file_name() else { return Err(OpenError::NotAFile { path: path.to_path_buf() }) };
    if let Some(found) = look(path) {
        found?;
        return Ok(real(dir)?.join(name));
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| fail("make the directory", dir, error))?;
    let path = real(dir)?.join(name);
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(_) => Ok(path),
        Err(rustix::io::Errno::EXIST) => {
            look(&path).unwrap_or(Ok(()))?;
            Ok(path)
        }
        Err(error) => Err(fail("create", &path, error.into())),
    }
}

/// Tries again where the database gives up at once because waiting could be in vain, as when two set up one file.
pub fn patiently<R>(patience: Duration, mut attempt: impl FnMut() -> rusqlite::Result<R>) -> rusqlite::Result<R> {
    let started = Instant::now();
    loop {
        match attempt() {
            Err(error) if is_passing(&error) && started.elapsed() < patience => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
}

/// Returns whether another attempt may succeed: the file is busy, or two processes that set it up both removed its journal,
/// which was gone for the second.
pub fn is_passing(error: &rusqlite::Error) -> bool {
    let is_gone = |cause: &rusqlite::ffi::Error| cause.extended_code == rusqlite::ffi::SQLITE_IOERR_DELETE_NOENT;
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) || error.sqlite_error().is_some_and(is_gone)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(5);

    #[test]
    fn a_new_file_and_its_directory_are_their_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (path, connection) = open(&dir.path().join("a/b/c.db"), PATIENCE).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a);").unwrap();
        for path in [path.parent().unwrap(), &path, &path.with_file_name("c.db-wal")] {
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
        }
    }

    #[test]
    fn links_and_directories_are_no_files() {
        let dir = tempfile::tempdir().unwrap();
        open(&dir.path().join("real.db"), PATIENCE).unwrap();
        std::os::unix::fs::symlink(dir.path().join("real.db"), dir.path().join("link.db")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("nothing"), dir.path().join("broken.db")).unwrap();
        for name in ["link.db", "broken.db", ".", ".."] {
            let opened = open(&dir.path().join(name), PATIENCE);
            assert!(matches!(opened, Err(OpenError::NotAFile { .. })), "{name}: {opened:?}");
        }
        // A link on the way is another matter.
        std::os::unix::fs::symlink(dir.path(), dir.path().join("here")).unwrap();
        assert_eq!(open(&dir.path().join("here/real.db"), PATIENCE).unwrap().0.file_name().unwrap(), "real.db");
        std::fs::write(dir.path().join("file"), "").unwrap();
        assert!(matches!(open(&dir.path().join("file/a.db"), PATIENCE), Err(OpenError::File { .. })));
    }

    #[test]
    fn a_busy_file_is_tried_again_and_other_errors_are_not() {
        let busy = || rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None);
        let mut tries = 0;
        let done = patiently(PATIENCE, || {
            tries += 1;
            if tries < 4 { Err(busy()) } else { Ok(tries) }
        });
        assert_eq!(done.unwrap(), 4);
        let mut tries = 0;
        let failed = patiently(PATIENCE, || {
            tries += 1;
            Err::<(), _>(rusqlite::Error::InvalidQuery)
        });
        assert!(failed.is_err() && tries == 1);
        assert!(patiently(Duration::ZERO, || Err::<(), _>(busy())).is_err());
    }
}
