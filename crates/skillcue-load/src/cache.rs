//! The cache of loads: a strict LRU of results, each a body that it shares with others and the request for it.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lru::LruCache;
use serde::Serialize;
use skillcue_catalog::{BodyAt, BodyFile};

use crate::arguments::Dialect;
use crate::body::Body;
use crate::loader::Form;
use skillcue_base::lock;

/// Statistics of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CacheStats {
    /// Results held.
    pub size: usize,
    /// Results that can be held.
    pub capacity: usize,
    /// Loads that were answered from the cache.
    pub hits: u64,
    /// Loads that were not: the first of their kind, those evicted since, and those whose file had changed.
    pub misses: u64,
}

impl CacheStats {
    /// Returns the share of loads that were hits, from 0 to 1; 0 if there were none.
    ///
    /// ```
    /// use skillcue_load::CacheStats;
    /// assert_eq!(CacheStats { hits: 3, misses: 1, ..CacheStats::default() }.hit_rate(), 0.75);
    /// assert_eq!(CacheStats::default().hit_rate(), 0.0);
    /// ```
    #[expect(clippy::cast_precision_loss, reason = "a rate; 2^53 loads are far away")]
    pub fn hit_rate(&self) -> f64 {
        match self.hits + self.misses {
            0 => 0.0,
            loads => self.hits as f64 / loads as f64,
        }
    }
}

/// The parts of a request that a result depends on, beside the file's content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheKeyRef<'a> {
    pub(crate) file: &'a BodyFile,
    pub(crate) arguments: &'a str,
    pub(crate) dialect: &'a Dialect,
    pub(crate) section: Option<&'a str>,
    pub(crate) form: Form,
}

/// A result: a body, shared with all other results of that version of its file, and which part of it. The arguments of
/// the key are put in on the way out: a copy of a body for each of its arguments would take more memory than reading
/// every skill beforehand, and putting them in takes 0.2 µs.
#[derive(Clone, Debug)]
pub(crate) struct CachedResult {
    pub(crate) body: Body,
    pub(crate) part: Range<usize>,
}

/// A strict LRU of results.
#[derive(Debug)]
pub(crate) struct Cache {
    /// None for a capacity of 0, which `lru` cannot hold.
    entries: Option<Mutex<LruCache<CacheKey, CachedResult>>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Cache {
    pub(crate) fn new(capacity: usize) -> Self {
        // Sparse: a large capacity costs nothing until it is used.
        let entries = NonZeroUsize::new(capacity).map(|capacity| Mutex::new(LruCache::sparse(capacity)));
        Self { entries, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// Returns the entry for `key`, if `is_current` returns true for it. No lock is held during that call.
    pub(crate) fn get(
        &self,
        key: &CacheKeyRef<'_>,
        is_current: impl FnOnce(&CachedResult) -> bool,
    ) -> Option<CachedResult> {
        let entry = self.entries.as_ref().and_then(|entries| lock(entries).get(key as &dyn AsCacheKey).cloned());
        match entry {
            Some(entry) if is_current(&entry) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                return Some(entry);
            }
            Some(stale) => self.remove(key, &stale),
            None => {}
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        None
    }

    pub(crate) fn insert(&self, key: &CacheKeyRef<'_>, entry: CachedResult) {
        if let Some(entries) = &self.entries {
            lock(entries).put(key.own(entry.body.file()), entry);
        }
    }

    /// Removes the results of `skill`, or all, and returns how many they were.
    pub(crate) fn clear(&self, skill: Option<&str>) -> usize {
        let Some(entries) = &self.entries else {
            return 0;
        };
        let mut entries = lock(entries);
        let before = entries.len();
        entries.retain(|key, _| skill.is_some_and(|skill| *key.file.name != *skill));
        before - entries.len()
    }

    /// Returns the size of the results in memory (keys, entries and links), and the bodies that they share.
    pub(crate) fn held(&self) -> (usize, Vec<Body>) {
        let Some(entries) = &self.entries else { return (0, Vec::new()) };
        // `lru` keeps a node of two links, and a reference to it with its hash, for each.
        let fixed = size_of::<CacheKey>() + size_of::<CachedResult>() + 5 * size_of::<usize>();
        let own = |key: &CacheKey| key.arguments.len() + key.section.as_deref().map_or(0, str::len);
        let entries = lock(entries);
        let bodies = entries.iter().map(|(_, entry)| entry.body.clone()).collect();
        (entries.iter().map(|(key, _)| fixed + own(key)).sum(), bodies)
    }

    pub(crate) fn stats(&self) -> CacheStats {
        let (size, capacity) = self.entries.as_ref().map_or((0, 0), |entries| {
            let entries = lock(entries);
            (entries.len(), entries.cap().get())
        });
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheStats { size, capacity, hits: count(&self.hits), misses: count(&self.misses) }
    }

    /// Removes `stale`, unless another caller has put a newer entry in its place meanwhile.
    fn remove(&self, key: &CacheKeyRef<'_>, stale: &CachedResult) {
        let Some(entries) = &self.entries else { return };
        let mut entries = lock(entries);
        if entries.peek(key as &dyn AsCacheKey).is_some_and(|entry| entry.body.id() == stale.body.id()) {
            entries.pop(key as &dyn AsCacheKey);
        }
    }
}

/// A key that owns its parts. It is made once per entry, never for a look-up.
#[derive(Debug)]
struct CacheKey {
    file: Arc<BodyFile>,
    arguments: Box<str>,
    dialect: Dialect,
    section: Option<Box<str>>,
    form: Form,
}

/// Lets the map, whose keys own their parts, be asked with a key that borrows them: `Borrow` can only give out a
/// reference, and a trait object is one that both kinds of key can be.
trait AsCacheKey {
    fn as_key(&self) -> CacheKeyRef<'_>;
}

impl AsCacheKey for CacheKeyRef<'_> {
    fn as_key(&self) -> CacheKeyRef<'_> {
        *self
    }
}

impl AsCacheKey for CacheKey {
    fn as_key(&self) -> CacheKeyRef<'_> {
        CacheKeyRef {
            file: &self.file,
            arguments: &self.arguments,
            dialect: &self.dialect,
            section: self.section.as_deref(),
            form: self.form,
        }
    }
}

impl<'a> CacheKeyRef<'a> {
    /// Returns the key as an entry keeps it, with its file shared.
    fn own(self, file: &Arc<BodyFile>) -> CacheKey {
        CacheKey {
            file: Arc::clone(file),
            arguments: self.arguments.into(),
            dialect: self.dialect.clone(),
            section: self.section.map(Box::from),
            form: self.form,
        }
    }

    /// Returns the parts that are compared. Directories are compared as bytes: as paths they would be taken apart into
    /// components, at several times the cost, only to find `a//b` equal to `a/b`.
    fn parts(self) -> impl Eq + Hash + use<'a> {
        let BodyFile { name, base_dir, open_dir, body } = self.file;
        let file: (&str, _, _, &BodyAt) = (name, base_dir.as_os_str(), open_dir.as_os_str(), body);
        (file, self.arguments, self.dialect, self.section, self.form)
    }
}

impl<'a> Borrow<dyn AsCacheKey + 'a> for CacheKey {
    fn borrow(&self) -> &(dyn AsCacheKey + 'a) {
        self
    }
}

impl Hash for dyn AsCacheKey + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_key().parts().hash(state);
    }
}

impl PartialEq for dyn AsCacheKey + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.as_key().parts() == other.as_key().parts()
    }
}

impl Eq for dyn AsCacheKey + '_ {}

impl Hash for CacheKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_key().parts().hash(state);
    }
}

impl PartialEq for CacheKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_key().parts() == other.as_key().parts()
    }
}

impl Eq for CacheKey {}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
