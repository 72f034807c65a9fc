//! Writing something for each of very many things.

use std::io;

use rayon::prelude::*;

/// Fewer than this are written on one thread: starting others takes longer.
const MANY: usize = 1024;
/// What one thread renders at a time: some 50 KB of JSON, which a pipe takes in one go and a core's cache holds.
const CHUNK: usize = 64;
/// What is rendered while the batch before is being written, however many there are in all.
const BATCH: usize = 8 * CHUNK;

/// Renders each item, on all cores, and writes the results in the order of the items, in large pieces. While one batch
/// is being written the next is rendered.
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
    if items.len() < MANY {
        let mut bytes = Vec::with_capacity(items.len() * 768);
        fill(0, items, &mut bytes);
        return write(&bytes);
    }
    // Two sets of buffers that take turns, and are used again and again: fresh memory costs more than what is written
    // into it.
    let buffers = || -> Vec<Vec<u8>> { (0..BATCH / CHUNK).map(|_| Vec::with_capacity(CHUNK * 1024)).collect() };
    let (mut ready, mut next) = (buffers(), buffers());
    for (number, batch) in items.chunks(BATCH).enumerate() {
        let render_batch = || {
            let chunks = batch.par_chunks(CHUNK).enumerate();
            // The last batch may not need all of them.
            next.iter_mut().for_each(Vec::clear);
            next.par_iter_mut().zip(chunks).for_each(|(bytes, (at, chunk))| {
                fill(number * BATCH + at * CHUNK, chunk, bytes);
            });
        };
        let (written, ()) = rayon::join(|| ready.iter().try_for_each(|bytes| write(bytes)), render_batch);
        written?;
        std::mem::swap(&mut ready, &mut next);
    }
    ready.iter().try_for_each(|bytes| write(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_whatever_the_number() {
        for count in [0, 1, CHUNK, MANY - 1, MANY, BATCH, 3 * BATCH + 7] {
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
        let items: Vec<usize> = (0..3 * BATCH).collect();
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
