//! The file of one session, held by the process that continues it.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::error::SessionsError;
use super::read::{Mending, line};
use super::record::SessionRecord;

/// The file of a session. While it lives, no other process can continue the session.
#[derive(Debug)]
pub struct SessionFile {
    file: File,
    id: String,
    path: PathBuf,
    /// How long it is.
    length: u64,
    /// Whether part of a line is at its end that could not be taken back.
    torn: bool,
}

impl SessionFile {
    /// Takes a file, if no other process has it.
    pub(super) fn take(file: File, id: &str, path: PathBuf) -> Result<SessionFile, SessionsError> {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SessionsError::Busy { id: id.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(SessionsError::file("lock", &path, error)),
        }
        let metadata = file.metadata().map_err(|error| SessionsError::file("look at", &path, error))?;
        // The process that had it before may have removed it.
        if metadata.nlink() == 0 {
            return Err(SessionsError::Gone { path });
        }
        Ok(SessionFile { file, id: id.to_owned(), path, length: metadata.len(), torn: false })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Returns the id of its session.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a record. A [`SessionRecord::Turn`], and all before it, is on the disk afterwards. A failure
    /// leaves the file as it was.
    pub fn append(&mut self, record: &SessionRecord) -> Result<(), SessionsError> {
        let line = line(record, &self.path)?;
        self.write(&line)?;
        if matches!(record, SessionRecord::Turn { .. }) {
            self.sync()?;
        }
        Ok(())
    }

    /// Appends whole lines in one write.
    pub(super) fn write(&mut self, lines: &[u8]) -> Result<(), SessionsError> {
        if self.torn {
            self.cut(self.length)?;
        }
        if let Err(error) = self.file.write_all(lines) {
            // The next line must not follow half a line. If it cannot be cut off now, that is done before the next write.
            self.torn = self.file.set_len(self.length).is_err();
            return Err(SessionsError::file("write", &self.path, error));
        }
        self.length += lines.len() as u64;
        Ok(())
    }

    /// Repairs the file.
    pub(super) fn mend(&mut self, mending: &Mending) -> Result<(), SessionsError> {
        self.cut(mending.keep)?;
        self.write(&mending.append)?;
        self.sync()
    }

    fn cut(&mut self, length: u64) -> Result<(), SessionsError> {
        self.file.set_len(length).map_err(|error| SessionsError::file("shorten", &self.path, error))?;
        (self.length, self.torn) = (length, false);
        Ok(())
    }

    pub(super) fn sync(&self) -> Result<(), SessionsError> {
        let fail = |error| SessionsError::file("write", &self.path, error);
        self.file.sync_data().map_err(fail)?;
        if self.file.metadata().map_err(fail)?.nlink() == 0 {
            return Err(SessionsError::Gone { path: self.path.clone() });
        }
        Ok(())
    }
}

impl Drop for SessionFile {
    fn drop(&mut self) {
        // A process that is just being started may still have a copy of it, and with it the lock.
        let _ = self.file.unlock();
    }
}

/// Opens a file without following a link and without waiting; only regular files are any good.
pub(crate) fn open(path: &Path, flags: OFlags) -> Result<File, FileOpenError> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => File::from(file),
        // A link; a pipe without a reader, a socket, a directory.
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO | rustix::io::Errno::ISDIR) => {
            return Err(FileOpenError::NotAFile);
        }
        Err(error) => return Err(FileOpenError::File(error.into())),
    };
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(file),
        Ok(_) => Err(FileOpenError::NotAFile),
        Err(error) => Err(FileOpenError::File(error)),
    }
}

/// The reason why a file cannot be opened.
pub(crate) enum FileOpenError {
    NotAFile,
    File(std::io::Error),
}
