//! The match cache: selections for turns that were matched before.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lru::LruCache;
use skillcue_base::lock;
use skillcue_load::CacheStats;
use skillcue_select::{Mode, Reason, SelectOptions, Selection, Turn};

/// The number of selections that are kept by default.
pub(crate) const DEFAULT_MATCHES: usize = 256;

/// The number of bytes of the longest message whose selection is kept: matching one that long takes far longer than a
/// conversation is likely to repeat it.
const MAX_MESSAGE: usize = 16 << 10;
/// The number of bytes of a key that is kept, with files, names and earlier messages.
const MAX_KEY: usize = 64 << 10;
/// The number of bytes of texts in a selection that is kept. A pattern may match a whole message.
const MAX_SELECTION: usize = 64 << 10;

/// The version of the indexes that a selection was made with: the snapshot's number, and how often its index over texts
/// or its vectors have been replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct IndexVersion {
    pub(crate) snapshot: u64,
    pub(crate) texts: u64,
}

/// Selections for turns, with the options that they were made with. All are of one version of the indexes: the first
/// look-up with a newer one empties the cache.
#[derive(Debug)]
pub(crate) struct MatchCache {
    /// None for a capacity of 0.
    kept: Option<Mutex<KeptMatches>>,
    capacity: usize,
    /// The number of snapshots so far.
    snapshots: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug)]
struct KeptMatches {
    version: IndexVersion,
    selections: LruCache<Box<[u8]>, Arc<Selection>>,
}

impl KeptMatches {
    /// Returns whether selections of a version may be looked up and kept. An old snapshot, on which calls are still
    /// under way, must not empty the cache of its successor.
    fn accepts(&mut self, version: IndexVersion) -> bool {
        if version > self.version {
            self.version = version;
            self.selections.clear();
        }
        version == self.version
    }
}

impl MatchCache {
    /// Makes a cache for so many selections; 0 keeps none.
    pub(crate) fn new(capacity: usize) -> MatchCache {
        let kept = NonZeroUsize::new(capacity).map(|capacity| {
            // Sparse: a large capacity costs nothing until it is used.
            Mutex::new(KeptMatches { version: IndexVersion::default(), selections: LruCache::sparse(capacity) })
        });
        let [snapshots, hits, misses] = [0, 0, 0].map(AtomicU64::new);
        MatchCache { kept, capacity, snapshots, hits, misses }
    }

    /// Returns the number of a new snapshot, higher than all before.
    pub(crate) fn next_snapshot(&self) -> u64 {
        self.snapshots.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the selection for a turn: the one that is kept, or the one that `select` makes. No lock is held
    /// meanwhile. `version` must have been read before `select` reads the indexes.
    pub(crate) fn get_or_select(
        &self,
        version: IndexVersion,
        turn: &Turn<'_>,
        options: &SelectOptions,
        select: impl FnOnce() -> Selection,
    ) -> Arc<Selection> {
        let Some(kept) = &self.kept else { return Arc::new(select()) };
        let key = key(turn, options);
        if let Some(key) = &key {
            let mut kept = lock(kept);
            let known = if kept.accepts(version) { kept.selections.get(&**key).map(Arc::clone) } else { None };
            if let Some(selection) = known {
                self.hits.fetch_add(1, Ordering::Relaxed);
                return selection;
            }
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let selection = Arc::new(select());
        if let Some(key) = key.filter(|_| text_bytes(&selection) <= MAX_SELECTION) {
            let mut kept = lock(kept);
            if kept.accepts(version) {
                kept.selections.put(key, Arc::clone(&selection));
            }
        }
        selection
    }

    pub(crate) fn stats(&self) -> CacheStats {
        CacheStats {
            size: self.kept.as_ref().map_or(0, |kept| lock(kept).selections.len()),
            capacity: self.capacity,
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
        }
    }
}

/// Returns the key of a turn with options; `None` if it is too long to be kept.
fn key(turn: &Turn<'_>, options: &SelectOptions) -> Option<Box<[u8]>> {
    if turn.message().len() > MAX_MESSAGE {
        return None;
    }
    let SelectOptions { mode, limit } = options;
    let mut key = turn.key();
    key.extend_from_slice(&limit.to_le_bytes());
    key.push(match mode {
        Mode::Keyword => 0,
        Mode::Hybrid => 1,
        Mode::Semantic => 2,
    });
    (key.len() <= MAX_KEY).then(|| key.into_boxed_slice())
}

/// Returns the number of bytes of all texts in a selection.
fn text_bytes(selection: &Selection) -> usize {
    let of_reason = |reason: &Reason| size_of::<Reason>() + reason.trigger.len() + reason.text.len();
    let hits = selection.hits.iter();
    hits.map(|hit| hit.name.len() + hit.reasons.iter().map(of_reason).sum::<usize>()).sum()
}

#[cfg(test)]
mod tests {
    use skillcue_select::{Hit, ReasonKind};

    use super::*;

    fn version(snapshot: u64, texts: u64) -> IndexVersion {
        IndexVersion { snapshot, texts }
    }

    fn selection(name: &str) -> Selection {
        let hits = vec![Hit { name: name.to_owned(), ..Hit::default() }];
        Selection { hits, matched: 1, ..Selection::default() }
    }

    fn name(cache: &MatchCache, version: IndexVersion, message: &str, made: &str) -> String {
        let options = SelectOptions::default();
        let selection = cache.get_or_select(version, &Turn::new(message), &options, || selection(made));
        selection.hits[0].name.clone()
    }

    #[test]
    fn a_newer_version_empties_it_and_an_older_one_does_not_count() {
        let cache = MatchCache::new(8);
        assert_eq!(name(&cache, version(1, 0), "a", "first"), "first");
        assert_eq!(name(&cache, version(1, 0), "a", "again"), "first");
        assert_eq!(name(&cache, version(1, 1), "a", "bodies"), "bodies");
        assert_eq!(name(&cache, version(1, 0), "a", "late"), "late", "a call on the old index is under way");
        assert_eq!(name(&cache, version(1, 1), "a", "again"), "bodies");
        assert_eq!(name(&cache, version(2, 0), "a", "new"), "new");
        assert_eq!(name(&cache, version(1, 9), "a", "old"), "old");
        assert_eq!(name(&cache, version(2, 0), "a", "again"), "new");
        assert_eq!(cache.stats(), CacheStats { size: 1, capacity: 8, hits: 3, misses: 5 });
    }

    #[test]
    fn its_memory_is_bounded() {
        let cache = MatchCache::new(DEFAULT_MATCHES);
        for number in 0..1_000 {
            name(&cache, version(1, 0), &format!("{number} {}", "x".repeat(1_000)), "a");
        }
        assert_eq!(cache.stats().size, DEFAULT_MATCHES);
        let cache = MatchCache::new(DEFAULT_MATCHES);
        for _ in 0..2 {
            name(&cache, version(1, 0), &"x".repeat(MAX_MESSAGE + 1), "a");
            let files = Turn::new("a").files(["x".repeat(MAX_KEY)]);
            cache.get_or_select(version(1, 0), &files, &SelectOptions::default(), Selection::default);
            name(&cache, version(1, 0), "a", &"x".repeat(MAX_SELECTION + 1));
        }
        assert_eq!(cache.stats(), CacheStats { size: 0, capacity: DEFAULT_MATCHES, hits: 0, misses: 6 });
        let nothing = MatchCache::new(0);
        name(&nothing, version(1, 0), "a", "a");
        assert_eq!(nothing.stats(), CacheStats::default());
    }

    #[test]
    fn options_are_part_of_the_key() {
        let turn = Turn::new("a");
        let of = |mode, limit| key(&turn, &SelectOptions { mode, limit });
        let keys = [of(Mode::Keyword, 3), of(Mode::Hybrid, 3), of(Mode::Hybrid, 4), of(Mode::Semantic, 3)];
        assert!(keys[0].is_some() && (1..4).all(|at| !keys[..at].contains(&keys[at])));
        let reason = Reason { kind: ReasonKind::Text, trigger: "ab".into(), text: "c".into(), span: None, score: 1.0 };
        let hit = Hit { reasons: vec![reason], ..Hit::default() };
        let size = text_bytes(&Selection { hits: vec![hit], ..Selection::default() });
        assert_eq!(size, size_of::<Reason>() + 3);
    }

    #[test]
    fn many_threads_share_it() {
        let cache = MatchCache::new(4);
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let cache = &cache;
                scope.spawn(move || {
                    for number in 0..500_u64 {
                        let message = format!("{}", number % 8);
                        let version = version(number / 100, thread % 2);
                        let made = format!("{message} {version:?}");
                        assert_eq!(name(cache, version, &message, &made), made);
                    }
                });
            }
        });
        let CacheStats { size, hits, misses, .. } = cache.stats();
        assert!(size <= 4 && hits + misses == 2_000);
    }
}
