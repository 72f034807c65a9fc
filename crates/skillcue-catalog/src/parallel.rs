//! Parallel work: on all cores if there are many items, on this thread if there are few.
//!
//! Waking other threads takes some hundred microseconds, as long as looking at a hundred skills does.

use std::sync::Mutex;

use rayon::prelude::*;

/// With fewer items than this, only one thread is used.
pub(crate) const MIN_PARALLEL: usize = 256;
/// How many items a thread takes at a time, at the most: when none is left to take, no thread waits long for the
/// others.
const MAX_SHARE: usize = 256;

/// Returns the results of `work` on each chunk of `items`, in their order. `init` makes the state that one thread
/// reuses.
pub(crate) fn map_chunks<T: Sync, S: Send, R: Send>(
    items: &[T],
    size: usize,
    init: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, &[T]) -> R + Sync + Send,
) -> Vec<R> {
    if items.len() < MIN_PARALLEL {
        let mut state = init();
        return items.chunks(size).map(|chunk| work(&mut state, chunk)).collect();
    }
    // Rayon asks for a new state for every share; freeing memory in between and touching it anew costs more than the
    // work.
    let spare = Mutex::new(Vec::new());
    let lend = || {
        let found = spare.lock().ok().and_then(|mut spare| spare.pop());
        PooledState { spare: &spare, state: Some(found.unwrap_or_else(&init)) }
    };
    let share = items.par_chunks(size).with_max_len((MAX_SHARE / size).max(1));
    share.map_init(lend, |lent, chunk| work(lent.state.get_or_insert_with(&init), chunk)).collect()
}

/// The state of a thread, returned to the pool when it is dropped.
struct PooledState<'s, S> {
    spare: &'s Mutex<Vec<S>>,
    state: Option<S>,
}

impl<S> Drop for PooledState<'_, S> {
    fn drop(&mut self) {
        if let Ok(mut spare) = self.spare.lock() {
            spare.extend(self.state.take());
        }
    }
}

/// Returns whether `holds` is true for all pairs of neighbours.
pub(crate) fn all_pairs<T: Sync>(items: &[T], holds: impl Fn(&T, &T) -> bool + Sync + Send) -> bool {
    if items.len() < MIN_PARALLEL {
        return items.windows(2).all(|pair| holds(&pair[0], &pair[1]));
    }
    items.par_windows(2).all(|pair| holds(&pair[0], &pair[1]))
}

/// Sorts items of which no two are equal.
pub(crate) fn sort_distinct_by<T: Send>(items: &mut [T], order: impl Fn(&T, &T) -> std::cmp::Ordering + Sync) {
    if items.len() < MIN_PARALLEL { items.sort_unstable_by(order) } else { items.par_sort_unstable_by(order) }
}

/// Sorts items, keeping equal ones in their order.
pub(crate) fn sort_by<T: Send>(items: &mut [T], order: impl Fn(&T, &T) -> std::cmp::Ordering + Sync) {
    if items.len() < MIN_PARALLEL { items.sort_by(order) } else { items.par_sort_by(order) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_are_treated_alike() {
        for count in [0, 1, 31, MIN_PARALLEL - 1, MIN_PARALLEL, 10 * MIN_PARALLEL + 3] {
            let items: Vec<usize> = (0..count).collect();
            let chunks = map_chunks(&items, 32, || (), |(), chunk| chunk.to_vec());
            assert_eq!(chunks.concat(), items);
            assert!(chunks.iter().all(|chunk| chunk.len() <= 32));
            assert!(all_pairs(&items, |a, b| a < b));
            assert_eq!(all_pairs(&items, |_, b| b + 1 < count), count < 2);
            let mut back: Vec<usize> = items.iter().rev().copied().collect();
            sort_by(&mut back, usize::cmp);
            assert_eq!(back, items);
            back.reverse();
            sort_distinct_by(&mut back, usize::cmp);
            assert_eq!(back, items);
        }
    }
}
