//! A counter with a cache.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use lru::LruCache;
use skillcue_format::Tokens;
use twox_hash::XxHash3_128;

use super::TokenCounter;

/// The length in bytes from which counts are cached. Shorter texts are counted as fast as they are looked up.
const MIN_CACHED: usize = 512;
/// The number of caches. Many small ones instead of one: threads hardly ever need the same one at a time.
const SHARDS: usize = 16;
/// The number of counts in each cache.
const MAX_COUNTS: NonZeroUsize = NonZeroUsize::new(64).expect("64 is not 0");

/// Counts as another counter does, and caches the counts of long texts: bodies come again with every turn.
pub(crate) struct Memo {
    counter: &'static dyn TokenCounter,
    shards: [Mutex<LruCache<u128, Tokens>>; SHARDS],
}

impl Memo {
    pub(crate) fn new(counter: &'static dyn TokenCounter) -> Memo {
        Memo { counter, shards: std::array::from_fn(|_| Mutex::new(LruCache::new(MAX_COUNTS))) }
    }
}

impl TokenCounter for Memo {
    fn count(&self, text: &str) -> Tokens {
        if text.len() < MIN_CACHED {
            return self.counter.count(text);
        }
        let digest = XxHash3_128::oneshot(text.as_bytes());
        // The lowest bits of a digest are as good as any.
        let shard = &self.shards[(digest % SHARDS as u128) as usize];
        // A thread that panicked left whole entries behind: a count is put in when it is known.
        if let Some(tokens) = skillcue_base::lock(shard).get(&digest) {
            return *tokens;
        }
        let tokens = self.counter.count(text);
        skillcue_base::lock(shard).put(digest, tokens);
        tokens
    }

    fn count_64ths(&self, text: &str) -> usize {
        self.counter.count_64ths(text)
    }

    fn name(&self) -> &'static str {
        self.counter.name()
    }

    fn reserve(&self, limit: Tokens) -> Tokens {
        self.counter.reserve(limit)
    }

    fn names_64ths(&self, cost: usize, beginnings: usize) -> usize {
        self.counter.names_64ths(cost, beginnings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes4, Segment};

    #[test]
    fn it_counts_as_the_other_does_however_often() {
        for counter in [&Bytes4 as &'static dyn TokenCounter, &Segment] {
            let memo = Memo::new(counter);
            for round in 0..2 {
                for length in [0, 1, MIN_CACHED / 5, MIN_CACHED, 4 * MIN_CACHED] {
                    let text = "word ".repeat(length);
                    assert_eq!(memo.count(&text), counter.count(&text), "{length} words, round {round}");
                    assert_eq!(memo.count_64ths(&text), counter.count_64ths(&text));
                }
            }
            assert_eq!((memo.name(), memo.reserve(Tokens(115))), (counter.name(), counter.reserve(Tokens(115))));
        }
    }
}
