//! How much is unpacked of one generation, by all of its shards together; and how much of the skills to publish is in
//! memory.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

use skillcue_base::lock;

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

/// The bytes of files that are in memory between reading them and writing them to a store. Readers wait until there is room.
#[derive(Debug)]
pub(crate) struct FileBudget {
    max: u64,
    /// The most that reading one skill may need.
    largest: u64,
    state: Mutex<HeldFiles>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct HeldFiles {
    held: u64,
    most: u64,
    is_closed: bool,
}

/// Bytes that are held, until this is dropped.
#[derive(Debug)]
pub(crate) struct HeldBytes<'b> {
    budget: &'b FileBudget,
    bytes: u64,
}

impl FileBudget {
    pub(crate) fn new(max: u64, largest: u64) -> FileBudget {
        FileBudget { max: max.max(largest), largest, state: Mutex::default(), freed: Condvar::new() }
    }

    /// Waits until there is room for the largest skill, and holds it. `None`, once nothing more is to be read.
    pub(crate) fn hold(&self) -> Option<HeldBytes<'_>> {
        let mut state = lock(&self.state);
        while !state.is_closed && state.held + self.largest > self.max {
            state = self.freed.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        if state.is_closed {
            return None;
        }
        state.held += self.largest;
        state.most = state.most.max(state.held);
        Some(HeldBytes { budget: self, bytes: self.largest })
    }

    /// Lets skills be read, after it was closed.
    pub(crate) fn open(&self) {
        lock(&self.state).is_closed = false;
    }

    /// Lets no more be read: those that wait go on with nothing.
    pub(crate) fn close(&self) {
        lock(&self.state).is_closed = true;
        self.freed.notify_all();
    }

    /// Returns how much was held at most.
    pub(crate) fn most(&self) -> u64 {
        lock(&self.state).most
    }

    fn free(&self, bytes: u64) {
        let mut state = lock(&self.state);
        state.held = state.held.saturating_sub(bytes);
        drop(state);
        self.freed.notify_all();
    }
}

impl<'b> HeldBytes<'b> {
    /// Takes as many of these as are needed for themselves; all, if there are no more.
    pub(crate) fn split(&mut self, bytes: u64) -> HeldBytes<'b> {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        HeldBytes { budget: self.budget, bytes }
    }
}

impl Drop for HeldBytes<'_> {
    fn drop(&mut self) {
        self.budget.free(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_wait_for_room_and_go_on_when_it_is_freed() {
        let budget = FileBudget::new(100, 40);
        let (mut first, second) = (budget.hold().unwrap(), budget.hold().unwrap());
        std::thread::scope(|scope| {
            let third = scope.spawn(|| budget.hold().map(|held| held.bytes));
            // All but 10 bytes of the first are given back, which makes room.
            let kept = first.split(10);
            drop(first);
            assert_eq!(third.join().unwrap(), Some(40));
            drop(kept);
        });
        assert_eq!(budget.most(), 90, "10, 40 and 40");
        drop(second);
        assert_eq!(lock(&budget.state).held, 0);
    }

    #[test]
    fn a_budget_that_is_closed_wakes_readers() {
        let budget = FileBudget::new(40, 40);
        let held = budget.hold().unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| budget.hold().is_none());
            budget.close();
            assert!(waiting.join().unwrap());
        });
        drop(held);
        assert!(budget.hold().is_none());
    }

    #[test]
    fn one_skill_fits_into_any_budget() {
        assert!(FileBudget::new(1, 40).hold().is_some());
    }
}
