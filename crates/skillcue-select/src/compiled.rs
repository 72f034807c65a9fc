//! Patterns and globs, compiled when first needed and kept as long as there is room.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use globset::GlobMatcher;
use lru::LruCache;
use regex::Regex;

use crate::files;

/// How many shards there are, and how much each keeps: 2,048 programs at most.
const SHARDS: usize = 16;
const KEPT: NonZeroUsize = NonZeroUsize::new(128).expect("it is not 0");

/// What an item was compiled to. Nothing, if it cannot be.
#[derive(Debug, Clone)]
pub(crate) enum Program {
    Pattern(Arc<Regex>),
    Glob(Arc<GlobMatcher>),
    Never,
}

/// The most recently used programs, by item. A lock is held for a lookup, never for a compilation or a match, and only
/// after a cheap filter let the item through.
#[derive(Debug)]
pub(crate) struct Compiled {
    shards: [Mutex<LruCache<u32, Program>>; SHARDS],
}

impl Default for Compiled {
    fn default() -> Self {
        // Not all room at once: most catalogs have few patterns.
        Compiled { shards: std::array::from_fn(|_| Mutex::new(LruCache::new(KEPT))) }
    }
}

impl Compiled {
    pub(crate) fn pattern(&self, item: u32, text: &str) -> Option<Arc<Regex>> {
        let compile =
            || skillcue_format::pattern::compile(text).map_or(Program::Never, |regex| Program::Pattern(regex.into()));
        match self.get(item, compile) {
            Program::Pattern(regex) => Some(regex),
            _ => None,
        }
    }

    pub(crate) fn glob(&self, item: u32, text: &str) -> Option<Arc<GlobMatcher>> {
        let compile = || files::compile(text).map_or(Program::Never, |glob| Program::Glob(glob.into()));
        match self.get(item, compile) {
            Program::Glob(glob) => Some(glob),
            _ => None,
        }
    }

    fn get(&self, item: u32, compile: impl FnOnce() -> Program) -> Program {
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
    fn programs_are_bounded_in_number() {
        let compiled = Compiled::default();
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
