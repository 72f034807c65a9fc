//! The lock that admits one writer at a time.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::{Disk, RegistryError, RegistryLocation};

/// How often the lock is tried while another process has it.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// The right to change a registry. Released when dropped, and by the system if the process dies.
#[derive(Debug)]
pub(crate) struct WriterLock {
    _file: File,
}

impl WriterLock {
    /// Waits for the right to change the registry at a location whose directories exist.
    pub(crate) fn acquire(
        location: &RegistryLocation,
        disk: &Disk,
        wait: Duration,
    ) -> Result<WriterLock, RegistryError> {
        let path = location.inner().join("lock");
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
                Err(TryLockError::WouldBlock) => std::thread::sleep(RETRY_INTERVAL),
            }
        }
        // For the message that another process may have to show: not worth an error.
        let _ = write_process_id(&mut file);
        Ok(WriterLock { _file: file })
    }
}

/// Returns whether another process is changing the registry right now. Nothing is made or written to find out.
pub(crate) fn is_held(location: &RegistryLocation) -> bool {
    let lock = crate::tree::open(&location.inner().join("lock"));
    lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn write_process_id(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", std::process::id())
}

fn holder(path: &Path) -> Option<u32> {
    let mut text = String::new();
    crate::tree::open(path).ok()?.take(16).read_to_string(&mut text).ok()?;
    text.parse().ok()
}

/// Locks a file that its owner keeps locked for life; `None` if the owner is alive.
pub(crate) fn try_lock(path: &Path, disk: &Disk) -> io::Result<Option<File>> {
    let file = disk.open_lock(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
