//! Open connections: how many there may be, and which one is closed when a new one needs its slot.
//!
//! A connection *waits* while the server does not have a whole request of it: for a head, for a body, for the next
//! request. Waiting costs a client nothing: heads that never end could take every slot, and every file descriptor of
//! the process. Therefore a new connection takes the slot of the one that has waited longest. If all slots are busy
//! with requests, it gets one of a few reserved slots, where only `/health` is answered.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio_util::sync::CancellationToken;

/// How many slots are reserved for when all others are busy.
const RESERVED_SLOTS: usize = 8;

/// How many file descriptors are left for everything else: skill files, pipes, children, the watcher.
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
    slots: HashMap<u64, SlotState>,
    /// The connections that wait, by the turn since when: the first has waited longest.
    waiting: BTreeMap<u64, u64>,
}

#[derive(Debug)]
struct SlotState {
    closed: CancellationToken,
    /// Its key among those that wait; `None` while a request of it is answered.
    turn: Option<u64>,
}

impl Pool {
    fn new(max: usize) -> Pool {
        Pool { max, slots: HashMap::new(), waiting: BTreeMap::new() }
    }

    /// Makes room for one more, if that is possible.
    fn make_room(&mut self) -> bool {
        if self.slots.len() < self.max {
            return true;
        }
        let Some((_, oldest)) = self.waiting.pop_first() else { return false };
        if let Some(slot_state) = self.slots.remove(&oldest) {
            slot_state.closed.cancel();
        }
        true
    }

    fn take_slot(&mut self, id: u64, turn: u64) -> CancellationToken {
        let closed = CancellationToken::new();
        self.slots.insert(id, SlotState { closed: closed.clone(), turn: Some(turn) });
        self.waiting.insert(turn, id);
        closed
    }

    fn leave(&mut self, id: u64) {
        if let Some(turn) = self.slots.remove(&id).and_then(|slot_state| slot_state.turn) {
            self.waiting.remove(&turn);
        }
    }
}

impl Connections {
    /// Allows at most `max` connections, and fewer where the system does not allow as many open files.
    pub(super) fn new(max: usize) -> Arc<Connections> {
        let max = max.min(affordable(rustix::process::getrlimit(rustix::process::Resource::Nofile).current));
        // Even then there is one usual slot and one reserved.
        let reserved = RESERVED_SLOTS.min(max / 2).max(1);
        let usual = max.saturating_sub(reserved).max(1);
        let pools = Pools { next: 0, usual: Pool::new(usual), reserved: Pool::new(reserved) };
        Arc::new(Connections(Mutex::new(pools)))
    }

    /// Takes a slot for a new connection. It waits for its first head.
    pub(super) fn admit(self: &Arc<Self>) -> Arc<ConnectionSlot> {
        let mut pools = self.pools();
        pools.next += 1;
        let id = pools.next;
        let is_reserved = !pools.usual.make_room();
        let pool = if is_reserved { &mut pools.reserved } else { &mut pools.usual };
        if is_reserved {
            // All of them wait, so there always is one to close.
            pool.make_room();
        }
        let closed = pool.take_slot(id, id);
        drop(pools);
        Arc::new(ConnectionSlot { connections: Arc::clone(self), id, is_reserved, closed })
    }

    /// Returns how many connections are open.
    pub(super) fn count(&self) -> usize {
        let pools = self.pools();
        pools.usual.slots.len() + pools.reserved.slots.len()
    }

    fn pools(&self) -> MutexGuard<'_, Pools> {
        // Nothing in here panics; even after a panic the counts are right.
        skillcue_base::lock(&self.0)
    }
}

/// Returns how many connections fit beside the other open files.
fn affordable(open_files: Option<u64>) -> usize {
    let Some(open_files) = open_files else { return usize::MAX };
    usize::try_from(open_files - (open_files / 2).min(MAX_SPARED)).unwrap_or(usize::MAX)
}

/// The slot of one connection, until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    connections: Arc<Connections>,
    id: u64,
    /// Whether it is one of the reserved slots.
    pub(super) is_reserved: bool,
    /// Cancelled when another connection needs the slot.
    pub(super) closed: CancellationToken,
}

impl ConnectionSlot {
    /// Records that a whole request has come: the connection is not closed for another one until its answer is sent,
    /// which is when the result is dropped. Connections in reserved slots can always be closed.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        if !self.is_reserved {
            let usual = &mut self.connections.pools().usual;
            if let Some(turn) = usual.slots.get_mut(&self.id).and_then(|slot_state| slot_state.turn.take()) {
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
        if let Some(slot_state) = usual.slots.get_mut(&self.id).filter(|slot_state| slot_state.turn.is_none()) {
            slot_state.turn = Some(turn);
            usual.waiting.insert(turn, self.id);
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut pools = self.connections.pools();
        let pool = if self.is_reserved { &mut pools.reserved } else { &mut pools.usual };
        pool.leave(self.id);
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Busy(Arc<ConnectionSlot>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{ConnectionSlot, Connections, affordable};

    fn closed(slots: &[Arc<ConnectionSlot>]) -> Vec<bool> {
        slots.iter().map(|slot| slot.closed.is_cancelled()).collect()
    }

    #[test]
    fn the_one_that_has_waited_longest_makes_room() {
        // Three usual slots, three reserved.
        let connections = Connections::new(6);
        let slots: Vec<_> = (0..3).map(|_| connections.admit()).collect();
        // The first has sent a request and waits again: the second has waited longest now.
        drop(slots[0].begin());
        assert_eq!(closed(&slots), [false, false, false], "there was room");
        let next = connections.admit();
        assert!(!next.is_reserved);
        assert_eq!(closed(&slots), [false, true, false]);
        drop(next);
        assert!(!connections.admit().is_reserved);
        assert_eq!(closed(&slots), [false, true, false], "a connection that ends leaves its slot");
    }

    #[test]
    fn busy_places_are_kept_and_the_reserve_always_has_room() {
        let connections = Connections::new(6);
        let slots: Vec<_> = (0..3).map(|_| connections.admit()).collect();
        let busy: Vec<_> = slots.iter().map(ConnectionSlot::begin).collect();
        let reserve: Vec<_> = (0..5).map(|_| connections.admit()).collect();
        assert!(reserve.iter().all(|slot| slot.is_reserved));
        let _kept: Vec<_> = reserve.iter().map(ConnectionSlot::begin).collect();
        assert_eq!(closed(&reserve), [true, true, false, false, false]);
        assert_eq!(closed(&slots), [false, false, false]);
        drop(busy);
        assert!(!connections.admit().is_reserved);
        assert_eq!(closed(&slots), [true, false, false]);
    }

    #[test]
    fn open_files_are_left_for_everything_else() {
        assert_eq!(affordable(None), usize::MAX);
        assert_eq!(affordable(Some(1024)), 896);
        assert_eq!(affordable(Some(64)), 32);
        assert_eq!(affordable(Some(0)), 0);
        let connections = Connections::new(0);
        assert!(!connections.admit().is_reserved, "there is always a slot");
    }
}
