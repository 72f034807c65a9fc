//! Output of very many items, rendered on all cores and written in order.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

/// Fewer items than this are written on one thread: starting others takes longer.
const MIN_PARALLEL: usize = 1024;
/// Items that one thread renders at a time: some 50 KB of JSON, which a pipe takes in one go and a core's cache holds.
const CHUNK: usize = 64;
/// Most pieces that wait for the one that is due: a thread that is held up does not fill the memory.
const MAX_AHEAD: usize = 32;

/// Renders each item, on all cores, and writes the results in the order of the items, in large pieces.
pub(crate) fn write_each<T: Sync>(
    items: &[T],
    render: impl Fn(usize, &T, &mut Vec<u8>) + Sync,
    mut write: impl FnMut(&[u8]) -> io::Result<()> + Send,
) -> io::Result<()> {
    let fill = |start: usize, items: &[T], bytes: &mut Vec<u8>| {
        for (at, item) in items.iter().enumerate() {
            render(start + at, item, bytes);
        }
    };
    if items.len() < MIN_PARALLEL {
        let mut bytes = Vec::with_capacity(items.len() * 768);
        fill(0, items, &mut bytes);
        return write(&bytes);
    }
    let buffer = Mutex::new(ReorderBuffer { write, due: 0, ready: BTreeMap::new(), spare: Vec::new(), failure: None });
    let (moved, next) = (Condvar::new(), AtomicUsize::new(0));
    rayon::broadcast(|_| {
        let mut bytes = Vec::with_capacity(CHUNK * 1024);
        loop {
            // Numbers are handed out in order, so the thread with the one that is due is at work on it.
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = items.chunks(CHUNK).nth(number) else { return };
            fill(number * CHUNK, chunk, &mut bytes);
            let Ok(buffer) = buffer.lock() else { return };
            let early = |buffer: &mut ReorderBuffer<_>| number >= buffer.due + MAX_AHEAD && buffer.failure.is_none();
            let Ok(mut buffer) = moved.wait_while(buffer, early) else { return };
            bytes = buffer.take(number, bytes);
            moved.notify_all();
            if buffer.failure.is_some() {
                return;
            }
        }
    });
    match buffer.into_inner() {
        Ok(buffer) => buffer.failure.map_or(Ok(()), Err),
        Err(_) => Err(io::Error::other("a thread panicked while it wrote")),
    }
}

/// A reorder buffer: pieces are handed in in any order, and written in theirs.
struct ReorderBuffer<W> {
    write: W,
    /// The piece that is to be written next.
    due: usize,
    ready: BTreeMap<usize, Vec<u8>>,
    /// Buffers to be used again: fresh memory costs more than what is written into it.
    spare: Vec<Vec<u8>>,
    failure: Option<io::Error>,
}

impl<W: FnMut(&[u8]) -> io::Result<()>> ReorderBuffer<W> {
    /// Takes a piece, writes what is due, and gives an empty buffer back.
    fn take(&mut self, number: usize, bytes: Vec<u8>) -> Vec<u8> {
        self.ready.insert(number, bytes);
        while self.failure.is_none()
            && let Some(mut bytes) = self.ready.remove(&self.due)
        {
            self.failure = (self.write)(&bytes).err();
            self.due += 1;
            bytes.clear();
            self.spare.push(bytes);
        }
        self.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK * 1024))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_whatever_the_number() {
        for count in [
            0,
            1,
            CHUNK,
            MIN_PARALLEL - 1,
            MIN_PARALLEL,
            MIN_PARALLEL + 1,
            MAX_AHEAD * CHUNK,
            3 * MAX_AHEAD * CHUNK + 7,
        ] {
            let items: Vec<usize> = (0..count).collect();
            let mut out = Vec::new();
            let render = |at: usize, item: &usize, out: &mut Vec<u8>| {
                assert_eq!(at, *item);
                out.extend_from_slice(format!("{item}\n").as_bytes());
            };
            write_each(&items, render, |bytes| {
                out.extend_from_slice(bytes);
                Ok(())
            })
            .unwrap();
            let expected: Vec<String> = items.iter().map(usize::to_string).collect();
            assert!(String::from_utf8(out).unwrap().lines().eq(&expected), "{count} items");
        }
    }

    #[test]
    fn a_failure_ends_it() {
        let items: Vec<usize> = (0..3 * MAX_AHEAD * CHUNK).collect();
        let mut calls = 0;
        let result = write_each(
            &items,
            |_, _, out| out.push(b'x'),
            |_| {
                calls += 1;
                Err(io::ErrorKind::BrokenPipe.into())
            },
        );
        assert_eq!((result.unwrap_err().kind(), calls), (io::ErrorKind::BrokenPipe, 1));
    }
}
