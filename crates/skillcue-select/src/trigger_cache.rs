//! Compiled patterns and globs, made when first needed and kept in a bounded cache.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use globset::GlobMatcher;
use lru::LruCache;
use regex::Regex;

use crate::files;

/// How many shards there are, and how many entries each keeps: 2,048 in all.
const SHARDS: usize = 16;
const MAX_PER_SHARD: NonZeroUsize = NonZeroUsize::new(128).expect("it is not 0");

/// The compiled form of an item, or `Never`, if it cannot be compiled.
#[derive(Debug, Clone)]
pub(crate) enum CompiledTrigger {
    Pattern(Arc<Regex>),
    Glob(Arc<GlobMatcher>),
    Never,
}

/// The most recently used compiled triggers, by item. A lock is held for a lookup, never for a compilation or a match,
/// and only after a cheap filter let the item through.
#[derive(Debug)]
pub(crate) struct TriggerCache {
    shards: [Mutex<LruCache<u32, CompiledTrigger>>; SHARDS],
}

impl Default for TriggerCache {
    fn default() -> Self {
        // Without an allocation: most catalogs have few patterns.
        TriggerCache { shards: std::array::from_fn(|_| Mutex::new(LruCache::sparse(MAX_PER_SHARD))) }
    }
}

impl TriggerCache {
    pub(crate) fn pattern(&self, item: u32, text: &str) -> Option<Arc<Regex>> {
        let compile = || {
            skillcue_format::pattern::compile(text)
                .map_or(CompiledTrigger::Never, |regex| CompiledTrigger::Pattern(regex.into()))
        };
        match self.get(item, compile) {
            CompiledTrigger::Pattern(regex) => Some(regex),
            _ => None,
        }
    }

    pub(crate) fn glob(&self, item: u32, text: &str) -> Option<Arc<GlobMatcher>> {
        let compile = || files::compile(text).map_or(CompiledTrigger::Never, |glob| CompiledTrigger::Glob(glob.into()));
        match self.get(item, compile) {
            CompiledTrigger::Glob(glob) => Some(glob),
            _ => None,
        }
    }

    fn get(&self, item: u32, compile: impl FnOnce() -> CompiledTrigger) -> CompiledTrigger {
        let shard = &self.shards[item as usize % SHARDS];
        if let Some(program) = skillcue_base::lock(shard).get(&item) {
            return program.clone();
        }
        let program = compile();
        skillcue_base::lock(shard).put(item, program.clone());
        program
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap().len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_compiled_triggers_is_bounded() {
        let compiled = TriggerCache::default();
        for item in 0..3_000 {
            assert!(compiled.pattern(item, "a").unwrap().is_match("A"));
        }
        assert_eq!(compiled.len(), 2_048);
        assert!(compiled.pattern(1, "(").is_none());
        assert!(compiled.glob(3_001, "[").is_none());
        assert!(compiled.glob(3_002, "*.{a,b}").unwrap().is_match("x.b"));
        assert!(compiled.glob(2_999, "a").is_none(), "a pattern is no glob");
    }
}
