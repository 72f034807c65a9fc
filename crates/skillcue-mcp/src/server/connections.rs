//! Open connections: how many there may be, and which one is closed when a new one needs its place.
//!
//! A connection *waits* while the server does not have a whole request of it: for a head, for a body, for the next
//! request. Waiting costs a client nothing: heads that never end could take every place, and every file descriptor of the
//! process. Therefore a new connection takes the place of the one that has waited longest. If all places are busy with
//! requests, it gets one of a few reserved places, where only `/health` is answered.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio_util::sync::CancellationToken;

/// Places beyond the usual ones.
const RESERVED: usize = 8;

/// Most file descriptors that are left to everything else: skill files, pipes, children, the watcher.
const MAX_SPARED: u64 = 128;

/// All connections of one server.
#[derive(Debug)]
pub(super) struct Connections(Mutex<Pools>);

#[derive(Debug)]
struct Pools {
    /// Counts connections and turns.
    next: u64,
    usual: Pool,
    reserved: Pool,
}

#[derive(Debug)]
struct Pool {
    max: usize,
    seats: HashMap<u64, Seat>,
    /// The connections that wait, by the turn since when: the first has waited longest.
    waiting: BTreeMap<u64, u64>,
}

#[derive(Debug)]
struct Seat {
    closed: CancellationToken,
    /// Its key among those that wait; `None` while a request of it is answered.
    turn: Option<u64>,
}

impl Pool {
    fn new(max: usize) -> Pool {
        Pool { max, seats: HashMap::new(), waiting: BTreeMap::new() }
    }

    /// Makes room for one more, if that is possible.
    fn make_room(&mut self) -> bool {
        if self.seats.len() < self.max {
            return true;
        }
        let Some((_, oldest)) = self.waiting.pop_first() else { return false };
        if let Some(seat) = self.seats.remove(&oldest) {
            seat.closed.cancel();
        }
        true
    }

    fn seat(&mut self, id: u64, turn: u64) -> CancellationToken {
        let closed = CancellationToken::new();
        self.seats.insert(id, Seat { closed: closed.clone(), turn: Some(turn) });
        self.waiting.insert(turn, id);
        closed
    }

    fn leave(&mut self, id: u64) {
        if let Some(turn) = self.seats.remove(&id).and_then(|seat| seat.turn) {
            self.waiting.remove(&turn);
        }
    }
}

impl Connections {
    /// Allows at most `max` connections, and fewer where the system does not allow as many open files.
    pub(super) fn new(max: usize) -> Arc<Connections> {
        let max = max.min(affordable(rustix::process::getrlimit(rustix::process::Resource::Nofile).current));
        // Even then there is one usual place and one reserved.
        let reserved = RESERVED.min(max / 2).max(1);
        let usual = max.saturating_sub(reserved).max(1);
        let pools = Pools { next: 0, usual: Pool::new(usual), reserved: Pool::new(reserved) };
        Arc::new(Connections(Mutex::new(pools)))
    }

    /// Takes a place for a new connection. It waits for its first head.
    pub(super) fn admit(self: &Arc<Self>) -> Arc<Place> {
        let mut pools = self.pools();
        pools.next += 1;
        let id = pools.next;
        let is_reserved = !pools.usual.make_room();
        let pool = if is_reserved { &mut pools.reserved } else { &mut pools.usual };
        if is_reserved {
            // All of them wait, so there always is one to close.
            pool.make_room();
        }
        let closed = pool.seat(id, id);
        drop(pools);
        Arc::new(Place { connections: Arc::clone(self), id, is_reserved, closed })
    }

    fn pools(&self) -> MutexGuard<'_, Pools> {
        // Nothing in here panics; whatever did has left counts that are right.
        skillcue_base::lock(&self.0)
    }
}

/// How many connections fit beside the other open files.
fn affordable(open_files: Option<u64>) -> usize {
    let Some(open_files) = open_files else { return usize::MAX };
    usize::try_from(open_files - (open_files / 2).min(MAX_SPARED)).unwrap_or(usize::MAX)
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    connections: Arc<Connections>,
    id: u64,
    /// Whether it is one of the reserved places.
    pub(super) is_reserved: bool,
    /// Cancelled when another connection needs the place.
    pub(super) closed: CancellationToken,
}

impl Place {
    /// Says that a whole request has come: the connection is not closed for another one until its answer is sent, which
    /// is when the result is dropped. Reserved places always can be.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        if !self.is_reserved {
            let usual = &mut self.connections.pools().usual;
            if let Some(turn) = usual.seats.get_mut(&self.id).and_then(|seat| seat.turn.take()) {
                usual.waiting.remove(&turn);
            }
        }
        Busy(Arc::clone(self))
    }

    fn end(&self) {
        if self.is_reserved {
            return;
        }
        let pools = &mut *self.connections.pools();
        pools.next += 1;
        let (turn, usual) = (pools.next, &mut pools.usual);
        if let Some(seat) = usual.seats.get_mut(&self.id).filter(|seat| seat.turn.is_none()) {
            seat.turn = Some(turn);
            usual.waiting.insert(turn, self.id);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut pools = self.connections.pools();
        let pool = if self.is_reserved { &mut pools.reserved } else { &mut pools.usual };
        pool.leave(self.id);
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Busy(Arc<Place>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Connections, Place, affordable};

    fn closed(places: &[Arc<Place>]) -> Vec<bool> {
        places.iter().map(|place| place.closed.is_cancelled()).collect()
    }

    #[test]
    fn the_one_that_has_waited_longest_makes_room() {
        // Three usual places, three reserved.
        let connections = Connections::new(6);
        let places: Vec<_> = (0..3).map(|_| connections.admit()).collect();
        // The first has sent a request and waits again: the second has waited longest now.
        drop(places[0].begin());
        assert_eq!(closed(&places), [false, false, false], "there was room");
        let next = connections.admit();
        assert!(!next.is_reserved);
        assert_eq!(closed(&places), [false, true, false]);
        drop(next);
        assert!(!connections.admit().is_reserved);
        assert_eq!(closed(&places), [false, true, false], "a connection that ends leaves its place");
    }

    #[test]
    fn busy_places_are_kept_and_the_reserve_always_has_room() {
        let connections = Connections::new(6);
        let places: Vec<_> = (0..3).map(|_| connections.admit()).collect();
        let busy: Vec<_> = places.iter().map(Place::begin).collect();
        let reserve: Vec<_> = (0..5).map(|_| connections.admit()).collect();
        assert!(reserve.iter().all(|place| place.is_reserved));
        let _kept: Vec<_> = reserve.iter().map(Place::begin).collect();
        assert_eq!(closed(&reserve), [true, true, false, false, false]);
        assert_eq!(closed(&places), [false, false, false]);
        drop(busy);
        assert!(!connections.admit().is_reserved);
        assert_eq!(closed(&places), [true, false, false]);
    }

    #[test]
    fn open_files_are_left_for_everything_else() {
        assert_eq!(affordable(None), usize::MAX);
        assert_eq!(affordable(Some(1024)), 896);
        assert_eq!(affordable(Some(64)), 32);
        assert_eq!(affordable(Some(0)), 0);
        let connections = Connections::new(0);
        assert!(!connections.admit().is_reserved, "there is always a place");
    }
}
