//! How much is unpacked of one generation, by all of its shards together.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::FleetError;
use crate::limits::{MAX_GENERATION_RAW, MAX_UNSIGNED_RAW};

/// The bytes that may still be unpacked of a generation. Shards are read on several threads, and share it.
#[derive(Debug)]
pub(crate) struct UnpackBudget {
    max: u64,
    left: AtomicU64,
}

impl UnpackBudget {
    pub(crate) fn new(max: u64) -> UnpackBudget {
        UnpackBudget { max, left: AtomicU64::new(max) }
    }

    /// Returns the budget of a generation: without a key that vouches for it, a small one.
    pub(crate) fn of_generation(is_signed: bool) -> UnpackBudget {
        UnpackBudget::new(if is_signed { MAX_GENERATION_RAW } else { MAX_UNSIGNED_RAW })
    }

    /// Takes bytes from the budget.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), FleetError> {
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        let too_large = |_| FleetError::TooLarge { what: "the catalog, unpacked,".to_owned(), max: self.max };
        taken.map(drop).map_err(too_large)
    }

    /// Returns how many bytes were taken.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> u64 {
        self.max - self.left.load(Ordering::Relaxed)
    }
}

/// Lines of unpacked text, one at a time, none longer than a limit.
#[derive(Debug)]
pub(crate) struct BoundedLines<R> {
    reader: io::BufReader<R>,
    max_line: u64,
}

impl<R: Read> BoundedLines<R> {
    pub(crate) fn new(reader: R, max_line: u64) -> BoundedLines<R> {
        BoundedLines { reader: io::BufReader::new(reader), max_line }
    }

    /// Reads the next line into `line`, without its end. Returns how many bytes were read: 0 at the end of the text, and more
    /// than the limit for a line that is too long.
    pub(crate) fn next(&mut self, line: &mut Vec<u8>) -> io::Result<u64> {
        line.clear();
        let read = io::BufRead::read_until(&mut (&mut self.reader).take(self.max_line + 1), b'\n', line)?;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        Ok(read as u64)
    }
}
