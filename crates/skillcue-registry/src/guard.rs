//! The lock that lets one writer in at a time.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::{Disk, Place, RegistryError};

/// How often the lock is tried while somebody else has it.
const STEP: Duration = Duration::from_millis(2);

/// The right to change a place. Let go when dropped, and by the system if the process dies.
#[derive(Debug)]
pub(crate) struct Guard {
    _file: File,
}

impl Guard {
    /// Waits for the right to change a place, whose directories are there.
    pub(crate) fn wait(place: &Place, disk: &Disk, wait: Duration) -> Result<Guard, RegistryError> {
        let path = place.inner().join("lock");
        let fail = |error| RegistryError::file("lock", &path, error);
        let mut file = disk.open_lock(&path).map_err(fail)?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(fail(error)),
                Err(TryLockError::WouldBlock) if started.elapsed() >= wait => {
                    return Err(RegistryError::Busy { holder: holder(&path), path, waited: wait });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(STEP),
            }
        }
        // For the message that somebody else may have to show: not worth an error.
        let _ = sign(&mut file);
        Ok(Guard { _file: file })
    }
}

/// Whether somebody changes a place right now. Nothing is made or written to find out.
pub(crate) fn is_held(place: &Place) -> bool {
    let lock = crate::tree::open(&place.inner().join("lock"));
    lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}

fn holder(path: &Path) -> Option<u32> {
    let mut text = String::new();
    crate::tree::open(path).ok()?.take(16).read_to_string(&mut text).ok()?;
    text.parse().ok()
}

/// Locks a file that shows that its owner lives; `None` if its owner does.
pub(crate) fn try_lock(path: &Path, disk: &Disk) -> io::Result<Option<File>> {
    let file = disk.open_lock(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
