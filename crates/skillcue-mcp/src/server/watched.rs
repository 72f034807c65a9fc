//! The URIs that a client watches: how many, how long, and how many bytes all clients of a view watch together.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use skillcue_base::lock;

/// How many URIs one client may watch, over all its streams.
pub(super) const MAX_WATCHED: usize = 1_000;

/// The length of the longest URI that is watched, in bytes.
pub(super) const MAX_URI: usize = 4 << 10;

/// The length of all URIs that a session or a stream watches, in bytes.
pub(super) const MAX_BYTES: usize = 64 << 10;

/// The length of all URIs that the clients of a view watch, in bytes. Without a session each request is a client of its own,
/// so limits of one client do not bound them.
pub(super) const MAX_BYTES_OF_VIEW: usize = 16 << 20;

/// The reason why a URI is not watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum WatchRefusal {
    #[error("a URI of more than {MAX_URI} bytes")]
    LongUri,
    #[error("more than {MAX_WATCHED} subscriptions")]
    Count,
    #[error("more than {MAX_BYTES} bytes of URIs")]
    Bytes,
    #[error("all clients together watch more than {MAX_BYTES_OF_VIEW} bytes of URIs; try again later")]
    BytesOfView,
}

/// The URIs that a session or a stream watches.
#[derive(Debug, Default)]
pub(super) struct WatchedUris {
    own: Mutex<OwnUris>,
    /// The length of all URIs that the clients of the view watch.
    of_view: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct OwnUris {
    uris: HashSet<String>,
    bytes: usize,
}

impl WatchedUris {
    /// Makes an empty set, whose URIs will count together with those of other clients.
    pub(super) fn counted_in(of_view: &Arc<AtomicUsize>) -> WatchedUris {
        WatchedUris { own: Mutex::default(), of_view: Arc::clone(of_view) }
    }

    /// Watches a URI, if there is room for it.
    pub(super) fn insert(&self, uri: String) -> Result<(), WatchRefusal> {
        let own = &mut *lock(&self.own);
        if own.uris.contains(&uri) {
            return Ok(());
        }
        let len = uri.len();
        if len > MAX_URI {
            return Err(WatchRefusal::LongUri);
        }
        if own.uris.len() >= MAX_WATCHED {
            return Err(WatchRefusal::Count);
        }
        if own.bytes + len > MAX_BYTES {
            return Err(WatchRefusal::Bytes);
        }
        let more = |bytes: usize| (bytes + len <= MAX_BYTES_OF_VIEW).then_some(bytes + len);
        self.of_view.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| WatchRefusal::BytesOfView)?;
        own.bytes += len;
        own.uris.insert(uri);
        Ok(())
    }

    pub(super) fn remove(&self, uri: &str) {
        let own = &mut *lock(&self.own);
        if own.uris.remove(uri) {
            own.bytes -= uri.len();
            self.of_view.fetch_sub(uri.len(), Ordering::Relaxed);
        }
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.own).uris.len()
    }

    /// Returns the URIs that a condition holds for.
    pub(super) fn matching(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        lock(&self.own).uris.iter().filter(|uri| is_wanted(uri)).cloned().collect()
    }
}

impl Drop for WatchedUris {
    fn drop(&mut self) {
        self.of_view.fetch_sub(lock(&self.own).bytes, Ordering::Relaxed);
    }
}

/// Removes URIs from a list that are too long, too many, or too much together.
pub(super) fn shorten(uris: &mut Vec<String>, max_count: usize) {
    let mut bytes = 0;
    uris.retain(|uri| {
        let fits = uri.len() <= MAX_URI && bytes + uri.len() <= MAX_BYTES;
        bytes += if fits { uri.len() } else { 0 };
        fits
    });
    uris.truncate(max_count);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{MAX_BYTES, MAX_BYTES_OF_VIEW, MAX_URI, WatchRefusal, WatchedUris, shorten};

    fn uri(at: usize, len: usize) -> String {
        format!("{at:0len$}")
    }

    #[test]
    fn all_clients_of_a_view_share_one_limit() {
        let of_view = Arc::default();
        let fill = || {
            let watched = WatchedUris::counted_in(&of_view);
            let ends = (0..).map(|at| watched.insert(uri(at, MAX_URI))).find_map(Result::err);
            (watched, ends.unwrap())
        };
        let mut clients = Vec::new();
        for _ in 0..MAX_BYTES_OF_VIEW / MAX_BYTES {
            let (watched, refusal) = fill();
            assert_eq!(refusal, WatchRefusal::Bytes);
            clients.push(watched);
        }
        assert_eq!(fill().1, WatchRefusal::BytesOfView);
        clients[0].remove(&uri(0, MAX_URI));
        clients[1].insert(uri(1, MAX_URI)).unwrap();
        let (one_more, refusal) = fill();
        assert_eq!((one_more.len(), refusal), (1, WatchRefusal::BytesOfView), "as much as was removed");
        drop((clients, one_more));
        assert_eq!(AtomicUsize::load(&of_view, Ordering::Relaxed), 0, "clients that are gone do not count");
    }

    #[test]
    fn a_list_is_cut_to_the_limits_of_one_client() {
        let mut uris: Vec<String> = (0..100).map(|at| uri(at, 1 << 10)).collect();
        uris.insert(0, uri(0, MAX_URI + 1));
        shorten(&mut uris, 1_000);
        assert_eq!(uris.iter().map(String::len).sum::<usize>(), MAX_BYTES);
        shorten(&mut uris, 3);
        assert_eq!(uris.len(), 3);
    }
}
