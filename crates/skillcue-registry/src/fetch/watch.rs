//! One fetch under way: what it is called, its limits, and who may stop it.

use std::io;
use std::time::Instant;

use skillcue_base::os_message;

use super::error::{Exceeded, FetchError, Refusal};
use crate::{Limits, News, Progress};

/// One fetch under way.
pub(super) struct Watch<'a> {
    /// The origin, as people write it.
    pub(super) from: String,
    pub(super) limits: &'a Limits,
    progress: &'a dyn Progress,
    started: Instant,
}

impl<'a> Watch<'a> {
    pub(super) fn new(from: String, limits: &'a Limits, progress: &'a dyn Progress) -> Watch<'a> {
        progress.say(News::Fetching { origin: &from });
        Watch { from, limits, progress, started: Instant::now() }
    }

    /// Whether to go on.
    pub(super) fn check(&self) -> Result<(), FetchError> {
        if self.progress.cancelled() {
            return Err(FetchError::Cancelled);
        }
        if self.started.elapsed() > self.limits.time {
            return Err(self.exceeded(Exceeded::Time(self.limits.time)));
        }
        Ok(())
    }

    pub(super) fn say(&self, news: News<'_>) {
        self.progress.say(news);
    }

    pub(super) fn exceeded(&self, exceeded: Exceeded) -> FetchError {
        FetchError::TooMuch { from: self.from.clone(), exceeded }
    }

    pub(super) fn refused(&self, entry: &[u8], reason: Refusal) -> FetchError {
        FetchError::Entry { from: self.from.clone(), entry: String::from_utf8_lossy(entry).into_owned(), reason }
    }

    pub(super) fn damaged(&self, reason: impl Into<String>) -> FetchError {
        FetchError::Damaged { from: self.from.clone(), reason: reason.into() }
    }

    /// What went wrong while an archive was read: one of our own errors that travelled as an I/O error, or damage.
    pub(super) fn unreadable(&self, error: io::Error) -> FetchError {
        match carried(error) {
            Ok(ours) => ours,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => self.damaged("the archive is cut off"),
            Err(error) => self.damaged(format!("the archive is damaged: {}", os_message(&error))),
        }
    }
}

/// Sends one of our errors through a reader.
pub(super) fn carry(error: FetchError) -> io::Error {
    io::Error::other(error)
}

/// Takes out again what [`carry`] sent.
pub(super) fn carried(error: io::Error) -> Result<FetchError, io::Error> {
    error.downcast::<FetchError>()
}
