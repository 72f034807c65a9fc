//! What was loaded before: a strict LRU of results, each a body that it shares with others and what was asked of it.

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

/// How well the cache does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CacheStats {
    /// Results held.
    pub size: usize,
    /// Results that can be held.
    pub capacity: usize,
    /// Loads that were answered from the cache.
    pub hits: u64,
    /// Loads that were not: the first of their kind, those thrown out since, and those whose file had changed.
    pub misses: u64,
}

impl CacheStats {
    /// The share of loads that were hits, from 0 to 1; 0 if there were none.
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

/// What a result depends on, beside the file's content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyRef<'a> {
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
pub(crate) struct Entry {
    pub(crate) body: Body,
    pub(crate) part: Range<usize>,
}

#[derive(Debug)]
pub(crate) struct Cache {
    /// None for a capacity of 0, which `lru` cannot hold.
    entries: Option<Mutex<LruCache<Key, Entry>>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Cache {
    pub(crate) fn new(capacity: usize) -> Self {
        // Sparse: a large capacity costs nothing until it is used.
        let entries = NonZeroUsize::new(capacity).map(|capacity| Mutex::new(LruCache::sparse(capacity)));
        Self { entries, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// The entry for `key`, if `is_current` says so. No lock is held while that is found out.
    pub(crate) fn get(&self, key: &KeyRef<'_>, is_current: impl FnOnce(&Entry) -> bool) -> Option<Entry> {
        let entry = self.entries.as_ref().and_then(|entries| lock(entries).get(key as &dyn AsKey).cloned());
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

    pub(crate) fn insert(&self, key: &KeyRef<'_>, entry: Entry) {
        if let Some(entries) = &self.entries {
            lock(entries).put(key.own(entry.body.file()), entry);
        }
    }

    /// Removes what belongs to `skill`, or everything, and tells how many results went.
    pub(crate) fn clear(&self, skill: Option<&str>) -> usize {
        let Some(entries) = &self.entries else {
            return 0;
        };
        let mut entries = lock(entries);
        let before = entries.len();
        entries.retain(|key, _| skill.is_some_and(|skill| *key.file.name != *skill));
        before - entries.len()
    }

    /// What the results take in memory, keys, entries and links, and the bodies that they share.
    pub(crate) fn held(&self) -> (usize, Vec<Body>) {
        let Some(entries) = &self.entries else { return (0, Vec::new()) };
        // `lru` keeps a node of two links, and a reference to it with its hash, for each.
        let fixed = size_of::<Key>() + size_of::<Entry>() + 5 * size_of::<usize>();
        let own = |key: &Key| key.arguments.len() + key.section.as_deref().map_or(0, str::len);
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

    /// Removes `stale`, unless somebody has put a newer entry in its place meanwhile.
    fn remove(&self, key: &KeyRef<'_>, stale: &Entry) {
        let Some(entries) = &self.entries else { return };
        let mut entries = lock(entries);
        if entries.peek(key as &dyn AsKey).is_some_and(|entry| entry.body.id() == stale.body.id()) {
            entries.pop(key as &dyn AsKey);
        }
    }
}

/// A key that owns its parts. It is made once per entry, never for a look-up.
#[derive(Debug)]
struct Key {
    file: Arc<BodyFile>,
    arguments: Box<str>,
    dialect: Dialect,
    section: Option<Box<str>>,
    form: Form,
}

/// Lets the map, whose keys own their parts, be asked with a key that borrows them: `Borrow` can only give out a
/// reference, and a trait object is one that both kinds of key can be.
trait AsKey {
    fn as_key(&self) -> KeyRef<'_>;
}

impl AsKey for KeyRef<'_> {
    fn as_key(&self) -> KeyRef<'_> {
        *self
    }
}

impl AsKey for Key {
    fn as_key(&self) -> KeyRef<'_> {
        KeyRef {
            file: &self.file,
            arguments: &self.arguments,
            dialect: &self.dialect,
            section: self.section.as_deref(),
            form: self.form,
        }
    }
}

impl<'a> KeyRef<'a> {
    /// The key as an entry keeps it, with its file in one place.
    fn own(self, file: &Arc<BodyFile>) -> Key {
        Key {
            file: Arc::clone(file),
            arguments: self.arguments.into(),
            dialect: self.dialect.clone(),
            section: self.section.map(Box::from),
            form: self.form,
        }
    }

    /// What is compared. Directories are compared as bytes: as paths they would be taken apart into components,
    /// at several times the cost, only to find `a//b` equal to `a/b`.
    fn parts(self) -> impl Eq + Hash + use<'a> {
        let BodyFile { name, base_dir, open_dir, body } = self.file;
        let file: (&str, _, _, &BodyAt) = (name, base_dir.as_os_str(), open_dir.as_os_str(), body);
        (file, self.arguments, self.dialect, self.section, self.form)
    }
}

impl<'a> Borrow<dyn AsKey + 'a> for Key {
    fn borrow(&self) -> &(dyn AsKey + 'a) {
        self
    }
}

impl Hash for dyn AsKey + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_key().parts().hash(state);
    }
}

impl PartialEq for dyn AsKey + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.as_key().parts() == other.as_key().parts()
    }
}

impl Eq for dyn AsKey + '_ {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_key().parts().hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.as_key().parts() == other.as_key().parts()
    }
}

impl Eq for Key {}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
