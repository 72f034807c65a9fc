//! Lists of records in files that several processes share.

use std::fs::{DirBuilder, File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::replace_file;

/// The version of the files' format.
const VERSION: u64 = 1;

/// Maximum time to wait for the lock of another process. Writing a file takes milliseconds.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(2);
/// Time between two attempts to take the lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// A list of records in a JSON file: read again when it has changed, written whole, under a lock. A file that cannot be
/// read, or that a later version has written, counts as empty and is never overwritten: changing it is an error.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("data/names.json");
/// let names = skillcue_base::Records::<String>::new("names", Some(path.clone()));
/// names.change(|list| list.push("pdf".to_owned()))?;
/// let others = skillcue_base::Records::<String>::new("names", Some(path));
/// assert_eq!(others.list(), ["pdf"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Records<T> {
    /// The records' noun, in the plural: the key in the file, and the word in messages.
    what: &'static str,
    path: Option<PathBuf>,
    state: Mutex<RecordState<T>>,
}

/// The file as it was last read.
#[derive(Debug)]
struct RecordState<T> {
    kept: Vec<T>,
    /// The file's stamp at that time.
    stamp: Option<RecordsStamp>,
    trouble: Option<String>,
}

/// Inode, size and modification time: distinguishes two versions of a file.
type RecordsStamp = (u64, u64, i64, i64);

/// The reason why records cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordsError {
    /// The file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        error: io::Error,
    },
    /// The file's content is not valid.
    #[error("{0}")]
    Format(String),
}

impl<T: Serialize + DeserializeOwned + Clone> Records<T> {
    /// Creates a list for the file at `path`; without a path, the records last as long as this value.
    pub fn new(what: &'static str, path: Option<PathBuf>) -> Records<T> {
        Records { what, path, state: Mutex::new(RecordState { kept: Vec::new(), stamp: None, trouble: None }) }
    }

    /// Returns the file's path.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns why the file cannot be read, if so. It counts as empty then.
    pub fn trouble(&self) -> Option<String> {
        self.read().trouble.clone()
    }

    /// Returns all records, in the order they were written.
    pub fn list(&self) -> Vec<T> {
        self.read().kept.clone()
    }

    /// Calls `look` with the records, without copying them.
    pub fn look<R>(&self, look: impl FnOnce(&[T]) -> R) -> R {
        look(&self.read().kept)
    }

    /// Changes the file under its lock, so that no two processes lose what the other has written.
    pub fn change<R>(&self, change: impl FnOnce(&mut Vec<T>) -> R) -> Result<R, RecordsError> {
        let Some(path) = &self.path else { return Ok(change(&mut self.lock().kept)) };
        let fail = |error| RecordsError::File { path: path.clone(), error };
        if let Some(dir) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(fail)?;
        }
        let guard = lock_beside(path, MAX_LOCK_WAIT).map_err(fail)?;
        let mut kept = self.load(path)?;
        let result = change(&mut kept);
        let list = serde_json::to_value(&kept).map_err(|error| fail(error.into()))?;
        let file = Map::from_iter([("version".to_owned(), VERSION.into()), (self.what.to_owned(), list)]);
        let text = serde_json::to_vec_pretty(&file).map_err(|error| fail(error.into()))?;
        replace_file(path, [text.as_slice()]).map_err(fail)?;
        let mut state = self.lock();
        *state = RecordState { kept, stamp: std::fs::metadata(path).ok().as_ref().map(stamp), trouble: None };
        drop(guard);
        Ok(result)
    }

    fn lock(&self) -> MutexGuard<'_, RecordState<T>> {
        crate::lock(&self.state)
    }

    /// Returns the state, read again if the file has changed.
    fn read(&self) -> MutexGuard<'_, RecordState<T>> {
        let mut state = self.lock();
        let Some(path) = &self.path else { return state };
        let now = std::fs::metadata(path).ok().as_ref().map(stamp);
        if now == state.stamp {
            return state;
        }
        state.stamp = now;
        let (kept, trouble) = match self.load(path) {
            Ok(kept) => (kept, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        if let Some(trouble) = &trouble {
            tracing::warn!(target: "skillcue::security", path = %path.display(), "{trouble}");
        }
        (state.kept, state.trouble) = (kept, trouble);
        state
    }

    fn load(&self, path: &Path) -> Result<Vec<T>, RecordsError> {
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            bytes => bytes.map_err(|error| RecordsError::File { path: path.to_owned(), error })?,
        };
        let format_error =
            |problem: &str| RecordsError::Format(format!("the {} in {}: {problem}", self.what, path.display()));
        let not_readable =
            |error: serde_json::Error| format_error(&format!("not readable ({error}); they are ignored"));
        let mut file: Map<String, Value> = serde_json::from_slice(&bytes).map_err(not_readable)?;
        match file.get("version").and_then(Value::as_u64) {
            Some(VERSION) => serde_json::from_value(file.remove(self.what).unwrap_or_default()).map_err(not_readable),
            Some(newer) if newer > VERSION => {
                Err(format_error("written by a newer version, which this one does not understand"))
            }
            _ => Err(format_error("of an unknown version; they are ignored")),
        }
    }
}

fn stamp(metadata: &Metadata) -> RecordsStamp {
    (metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

/// Takes the lock beside a file, unless another process keeps it for too long: then the error is
/// [`TimedOut`](io::ErrorKind::TimedOut). It is released when the returned file is closed, even if the process is killed.
///
/// ```
/// use std::time::Duration;
///
/// let dir = tempfile::tempdir()?;
/// let held = skillcue_base::lock_beside(&dir.path().join("names.json"), Duration::ZERO)?;
/// assert!(skillcue_base::lock_beside(&dir.path().join("names.json"), Duration::ZERO).is_err());
/// drop(held);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn lock_beside(path: &Path, max_wait: Duration) -> io::Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    // Opening a pipe would wait for its other end, otherwise.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().create(true).truncate(false).write(true).custom_flags(flags).open(name)?;
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if started.elapsed() >= max_wait => {
                let message = "another process has kept it locked for too long; is one stopped or hanging?";
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY_INTERVAL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Records<String> {
        Records::new("names", Some(path.to_owned()))
    }

    #[test]
    fn a_change_is_read_by_other_instances() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("names.json");
        let (one, other) = (names(&path), names(&path));
        assert_eq!(other.list(), [""; 0]);
        one.change(|list| list.push("pdf".to_owned())).unwrap();
        assert_eq!(other.list(), ["pdf"]);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(one.list(), [""; 0], "the file is what counts");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("names.json");
        let newer = r#"{"version":2,"names":[]}"#;
        for broken in ["{ not json", "[]", r#"{"version":1,"names":[1]}"#, r#"{"names":[]}"#, newer] {
            std::fs::write(&path, broken).unwrap();
            let names = names(&path);
            assert_eq!((names.list().len(), names.trouble().is_some()), (0, true), "{broken}");
            assert_eq!(names.trouble().unwrap().contains("newer"), broken == newer);
            assert!(names.change(Vec::clear).is_err(), "{broken}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), broken);
        }
    }

    #[test]
    fn a_lock_that_is_kept_is_an_error_and_does_not_hang() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("names.json");
        let names = names(&path);
        let held = lock_beside(&path, MAX_LOCK_WAIT).unwrap();
        let error = names.change(|list| list.push("pdf".to_owned())).unwrap_err();
        assert!(error.to_string().contains("another process"), "{error}");
        assert_eq!(names.list(), [""; 0], "reading needs no lock");
        drop(held);
        names.change(|list| list.push("pdf".to_owned())).unwrap();
    }
}
