//! Single flight: of all who want the same thing at the same time, one fetches it and the others wait.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What is being fetched at the moment, by key.
#[derive(Debug)]
pub(crate) struct Flights<K, V> {
    running: Mutex<HashMap<K, Arc<Flight<V>>>>,
}

#[derive(Debug)]
struct Flight<V> {
    state: Mutex<State<V>>,
    landed: Condvar,
}

#[derive(Debug)]
enum State<V> {
    Running,
    Done(V),
    /// The one who fetched panicked. Somebody else may try.
    Abandoned,
}

/// Who did the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Own,
    Shared,
}

impl<K, V> Default for Flights<K, V> {
    fn default() -> Self {
        Self { running: Mutex::default() }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Flights<K, V> {
    /// The result of `work`, or of the same work that somebody else is doing for `key` right now; and whose it is.
    ///
    /// The work of somebody else began earlier than this call, so what it found may be older than the call.
    ///
    /// No lock is held while `work` runs. If it panics the panic goes on where it ran, and of those who waited one
    /// tries anew; nobody waits for ever. `work` must not call back here with the same key.
    pub(crate) fn run(&self, key: &K, mut work: impl FnMut() -> V) -> (V, Whose) {
        loop {
            let (flight, leads) = self.join(key);
            if leads {
                let lead = Lead { flights: self, key, flight: &flight };
                let value = work();
                lead.land(State::Done(value.clone()));
                return (value, Whose::Own);
            }
            if let Some(value) = flight.wait() {
                return (value, Whose::Shared);
            }
        }
    }

    /// The flight for `key`, and whether it was only just begun.
    fn join(&self, key: &K) -> (Arc<Flight<V>>, bool) {
        let mut running = lock(&self.running);
        if let Some(flight) = running.get(key) {
            return (Arc::clone(flight), false);
        }
        let flight = Arc::new(Flight { state: Mutex::new(State::Running), landed: Condvar::new() });
        running.insert(key.clone(), Arc::clone(&flight));
        (flight, true)
    }
}

impl<V: Clone> Flight<V> {
    fn wait(&self) -> Option<V> {
        let is_running = |state: &mut State<V>| matches!(state, State::Running);
        let state = self.landed.wait_while(lock(&self.state), is_running).unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Done(value) => Some(value.clone()),
            State::Running | State::Abandoned => None,
        }
    }
}

/// The duty to end a flight, whatever happens.
struct Lead<'a, K: Eq + Hash, V> {
    flights: &'a Flights<K, V>,
    key: &'a K,
    flight: &'a Flight<V>,
}

impl<K: Eq + Hash, V> Lead<'_, K, V> {
    fn land(self, state: State<V>) {
        *lock(&self.flight.state) = state;
        // Dropping does the rest.
    }
}

impl<K: Eq + Hash, V> Drop for Lead<'_, K, V> {
    fn drop(&mut self) {
        // First out of the table: whoever comes now begins anew, and does not find a flight that is over.
        lock(&self.flights.running).remove(self.key);
        let mut state = lock(&self.flight.state);
        if matches!(*state, State::Running) {
            *state = State::Abandoned;
        }
        drop(state);
        self.flight.landed.notify_all();
    }
}

/// Locks, also after a panic: nothing that could panic runs while one of these locks is held, so what they guard is
/// whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::{Arc, Flights, Whose, lock};

    /// Spins until `waiting` others wait for the flight `key`: each holds one reference beside the table's and the
    /// leader's.
    fn until_all_wait(flights: &Flights<u8, usize>, key: u8, waiting: usize) {
        while lock(&flights.running).get(&key).map(Arc::strong_count) != Some(waiting + 2) {
            thread::yield_now();
        }
    }

    #[test]
    fn one_works_and_the_others_get_it() {
        let flights = Flights::<u8, usize>::default();
        let (runs, own) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let (value, whose) = flights.run(&1, || {
                        until_all_wait(&flights, 1, 7);
                        runs.fetch_add(1, Ordering::SeqCst)
                    });
                    assert_eq!(value, 0);
                    own.fetch_add(usize::from(whose == Whose::Own), Ordering::SeqCst);
                });
            }
        });
        assert_eq!((runs.into_inner(), own.into_inner()), (1, 1));
        assert!(lock(&flights.running).is_empty());
    }

    #[test]
    fn after_a_panic_another_tries() {
        let flights = Flights::<u8, usize>::default();
        let runs = AtomicUsize::new(0);
        let panics = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let outcome = catch_unwind(AssertUnwindSafe(|| {
                        flights.run(&1, || {
                            let run = runs.fetch_add(1, Ordering::SeqCst);
                            if run == 0 {
                                until_all_wait(&flights, 1, 3);
                                std::panic::resume_unwind(Box::new("the first one fails"));
                            }
                            run
                        })
                    }));
                    match outcome {
                        Ok((value, _)) => assert_ne!(value, 0),
                        Err(_) => {
                            panics.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert_eq!(panics.into_inner(), 1, "only where it happened");
        assert!(lock(&flights.running).is_empty());
    }

    #[test]
    fn different_keys_do_not_wait_for_each_other() {
        let flights = Flights::<u8, usize>::default();
        let both_inside = Barrier::new(2);
        thread::scope(|scope| {
            for key in 0..2 {
                let (flights, both_inside) = (&flights, &both_inside);
                scope.spawn(move || {
                    flights.run(&key, || {
                        both_inside.wait();
                        usize::from(key)
                    })
                });
            }
        });
    }
}
