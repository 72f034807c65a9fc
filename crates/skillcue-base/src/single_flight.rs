//! Single flight: of several callers that ask for one value at the same time, one computes it and the others wait.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Computes a value once for callers that ask for it at the same time, by key.
///
/// ```
/// use skillcue_base::SingleFlight;
///
/// let flights = SingleFlight::<u8, usize>::default();
/// assert_eq!(flights.run(&1, || 42), (42, false));
/// ```
#[derive(Debug)]
pub struct SingleFlight<K, V> {
    running: Mutex<HashMap<K, Arc<Flight<V>>>>,
}

/// One computation, and the callers that wait for it.
#[derive(Debug)]
struct Flight<V> {
    state: Mutex<FlightState<V>>,
    landed: Condvar,
}

#[derive(Debug)]
enum FlightState<V> {
    Running,
    Done(V),
    /// The computation panicked. Another caller may try.
    Abandoned,
}

impl<K, V> Default for SingleFlight<K, V> {
    fn default() -> Self {
        Self { running: Mutex::default() }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> SingleFlight<K, V> {
    /// Returns the result of `work`, or of the work that another caller is doing for `key` right now, and whether it is
    /// the other's. That began earlier than this call, so its result may be older than the call.
    ///
    /// No lock is held while `work` runs. If it panics, the panic goes on in the caller that ran it, and one of the
    /// waiting callers runs its own. `work` must not call back here with the same key.
    pub fn run(&self, key: &K, mut work: impl FnMut() -> V) -> (V, bool) {
        loop {
            let (flight, leads) = self.join(key);
            if leads {
                let lead = FlightLeader { flights: self, key, flight: &flight };
                let value = work();
                lead.land(FlightState::Done(value.clone()));
                return (value, false);
            }
            if let Some(value) = flight.wait() {
                return (value, true);
            }
        }
    }

    /// Returns the flight for `key`, and whether this call has begun it.
    fn join(&self, key: &K) -> (Arc<Flight<V>>, bool) {
        let mut running = lock(&self.running);
        if let Some(flight) = running.get(key) {
            return (Arc::clone(flight), false);
        }
        let flight = Arc::new(Flight { state: Mutex::new(FlightState::Running), landed: Condvar::new() });
        running.insert(key.clone(), Arc::clone(&flight));
        (flight, true)
    }
}

impl<V: Clone> Flight<V> {
    fn wait(&self) -> Option<V> {
        let is_running = |state: &mut FlightState<V>| matches!(state, FlightState::Running);
        let state = self.landed.wait_while(lock(&self.state), is_running).unwrap_or_else(PoisonError::into_inner);
        match &*state {
            FlightState::Done(value) => Some(value.clone()),
            FlightState::Running | FlightState::Abandoned => None,
        }
    }
}

/// Ends a flight when it is dropped, also by a panic.
struct FlightLeader<'a, K: Eq + Hash, V> {
    flights: &'a SingleFlight<K, V>,
    key: &'a K,
    flight: &'a Flight<V>,
}

impl<K: Eq + Hash, V> FlightLeader<'_, K, V> {
    fn land(self, state: FlightState<V>) {
        *lock(&self.flight.state) = state;
        // Dropping does the rest.
    }
}

impl<K: Eq + Hash, V> Drop for FlightLeader<'_, K, V> {
    fn drop(&mut self) {
        // First out of the table: a caller that comes now begins a new flight, and does not find one that is over.
        lock(&self.flights.running).remove(self.key);
        let mut state = lock(&self.flight.state);
        if matches!(*state, FlightState::Running) {
            *state = FlightState::Abandoned;
        }
        drop(state);
        self.flight.landed.notify_all();
    }
}

/// Locks a mutex, also after a panic: for locks that are held only while nothing can panic, or whose content any state
/// is good enough for.
///
/// ```
/// let number = std::sync::Mutex::new(1);
/// assert_eq!(*skillcue_base::lock(&number), 1);
/// ```
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::{Arc, SingleFlight, lock};

    /// Spins until `waiting` others wait for the flight `key`: each holds one reference beside the table's and the
    /// leader's.
    fn until_all_wait(flights: &SingleFlight<u8, usize>, key: u8, waiting: usize) {
        while lock(&flights.running).get(&key).map(Arc::strong_count) != Some(waiting + 2) {
            thread::yield_now();
        }
    }

    #[test]
    fn one_works_and_the_others_get_it() {
        let flights = SingleFlight::<u8, usize>::default();
        let (runs, own) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let (value, is_shared) = flights.run(&1, || {
                        until_all_wait(&flights, 1, 7);
                        runs.fetch_add(1, Ordering::SeqCst)
                    });
                    assert_eq!(value, 0);
                    own.fetch_add(usize::from(!is_shared), Ordering::SeqCst);
                });
            }
        });
        assert_eq!((runs.into_inner(), own.into_inner()), (1, 1));
        assert!(lock(&flights.running).is_empty());
    }

    #[test]
    fn after_a_panic_another_tries() {
        let flights = SingleFlight::<u8, usize>::default();
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
        let flights = SingleFlight::<u8, usize>::default();
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
