//! One fetch under way: its origin, its limits, its progress and cancellation.

use std::io;
use std::time::Instant;

use skillcue_base::os_message;

use super::error::{Exceeded, FetchError, Refusal};
use crate::{FetchEvent, FetchLimits, FetchProgress};

/// One fetch under way.
pub(crate) struct FetchContext<'a> {
    /// The origin, as people write it.
    pub(crate) from: String,
    pub(crate) limits: &'a FetchLimits,
    progress: &'a dyn FetchProgress,
    started: Instant,
}

impl<'a> FetchContext<'a> {
    pub(crate) fn new(from: String, limits: &'a FetchLimits, progress: &'a dyn FetchProgress) -> FetchContext<'a> {
        progress.report(FetchEvent::Fetching { origin: &from });
        FetchContext { from, limits, progress, started: Instant::now() }
    }

    /// Fails if the fetch was cancelled or its time is over.
    pub(crate) fn check(&self) -> Result<(), FetchError> {
        if self.progress.is_cancelled() {
            return Err(FetchError::Cancelled);
        }
        if self.started.elapsed() > self.limits.time {
            return Err(self.exceeded(Exceeded::Time(self.limits.time)));
        }
        Ok(())
    }

    pub(crate) fn report(&self, event: FetchEvent<'_>) {
        self.progress.report(event);
    }

    pub(crate) fn exceeded(&self, exceeded: Exceeded) -> FetchError {
        FetchError::TooMuch { from: self.from.clone(), exceeded }
    }

    pub(crate) fn refused(&self, entry: &[u8], reason: Refusal) -> FetchError {
        FetchError::Entry { from: self.from.clone(), entry: String::from_utf8_lossy(entry).into_owned(), reason }
    }

    pub(crate) fn damaged(&self, reason: impl Into<String>) -> FetchError {
        FetchError::Damaged { from: self.from.clone(), reason: reason.into() }
    }

    /// Turns an error while reading an archive into ours: one that travelled as an I/O error, or damage.
    pub(crate) fn unreadable(&self, error: io::Error) -> FetchError {
        match carried(error) {
            Ok(ours) => ours,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => self.damaged("the archive is cut off"),
            Err(error) => self.damaged(format!("the archive is damaged: {}", os_message(&error))),
        }
    }
}

/// Wraps one of our errors to pass it through a reader.
pub(crate) fn carry(error: FetchError) -> io::Error {
    io::Error::other(error)
}

/// Takes out the error that [`carry`] wrapped.
pub(crate) fn carried(error: io::Error) -> Result<FetchError, io::Error> {
    error.downcast::<FetchError>()
}
