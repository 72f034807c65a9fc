//! The file of one session, held by whoever continues it.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::error::SessionsError;
use super::read::{Mending, line};
use super::record::SessionRecord;

/// The file of a session. While it lives, nobody else can continue the session.
#[derive(Debug)]
pub struct SessionFile {
    file: File,
    id: String,
    path: PathBuf,
    /// How long it is.
    length: u64,
    /// Whether part of a line stands at its end that could not be taken back.
    torn: bool,
}

impl SessionFile {
    /// Takes a file, if nobody else has.
    pub(super) fn take(file: File, id: &str, path: PathBuf) -> Result<SessionFile, SessionsError> {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SessionsError::Busy { id: id.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(SessionsError::file("lock", &path, error)),
        }
        let metadata = file.metadata().map_err(|error| SessionsError::file("look at", &path, error))?;
        // Whoever had it before may have removed it.
        if metadata.nlink() == 0 {
            return Err(SessionsError::Gone { path });
        }
        Ok(SessionFile { file, id: id.to_owned(), path, length: metadata.len(), torn: false })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// The session that it belongs to.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes down what happened. A [`SessionRecord::Turn`], and all before it, is on the disk afterwards. What fails leaves the
    /// file as it was.
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
            // The next line must not stand behind half a line. What cannot be cut off now is, before anything else.
            self.torn = self.file.set_len(self.length).is_err();
            return Err(SessionsError::file("write", &self.path, error));
        }
        self.length += lines.len() as u64;
        Ok(())
    }

    /// Brings the file in order.
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
        // A link; and a pipe that nobody reads, a socket, a directory.
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

/// Why a file cannot be opened.
pub(crate) enum FileOpenError {
    NotAFile,
    File(std::io::Error),
}
