//! The answers of a judge, kept for messages that come again.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lru::LruCache;
use skillcue_base::{SingleFlight, lock};
use skillcue_catalog::Generation;
use skillcue_load::CacheStats;

use super::JudgeError;

/// The number of answers that are kept: with the longest messages, about 2 MB.
const MAX_ANSWERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(255);

/// How long a failure is kept: a search and a disclosure for one message wait for a silent judge once, and the message is
/// judged when it comes again later.
const FAILURE_KEPT: Duration = Duration::from_secs(30);

/// Everything that an answer depends on, beside the judge.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct JudgeKey {
    pub(super) generation: Generation,
    pub(super) message: Box<str>,
    /// The candidates in ascending order: another order of the same ones is the same question.
    pub(super) skills: Box<[usize]>,
}

type Choice = Result<Arc<[usize]>, JudgeError>;

/// The answers so far, shared by threads. Threads with one question at the same time ask it once.
#[derive(Debug)]
pub(super) struct JudgeCache {
    kept: Mutex<LruCache<JudgeKey, KeptChoice>>,
    flights: SingleFlight<JudgeKey, Choice>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug)]
struct KeptChoice {
    choice: Choice,
    /// The time from which it does not count any more.
    until: Option<Instant>,
}

impl Default for JudgeCache {
    fn default() -> JudgeCache {
        JudgeCache {
            kept: Mutex::new(LruCache::sparse(MAX_ANSWERS)),
            flights: SingleFlight::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }
}

impl JudgeCache {
    /// Returns the choice for a question: the one that is kept, or the judge's.
    pub(super) fn get_or_ask(&self, key: &JudgeKey, mut ask: impl FnMut() -> Choice) -> Choice {
        if let Some(choice) = self.kept(key, Instant::now()) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return choice;
        }
        let (choice, is_shared) = self.flights.run(key, || {
            // Another flight may have landed since the look-up.
            if let Some(choice) = self.kept(key, Instant::now()) {
                return choice;
            }
            let choice = ask();
            self.keep(key, choice.clone(), Instant::now());
            choice
        });
        let count = if is_shared { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
        choice
    }

    fn kept(&self, key: &JudgeKey, now: Instant) -> Option<Choice> {
        let mut kept = lock(&self.kept);
        let known = kept.get(key).filter(|known| known.until.is_none_or(|until| now < until));
        known.map(|known| known.choice.clone())
    }

    fn keep(&self, key: &JudgeKey, choice: Choice, now: Instant) {
        let until = choice.is_err().then(|| now + FAILURE_KEPT);
        lock(&self.kept).put(key.clone(), KeptChoice { choice, until });
    }

    pub(super) fn stats(&self) -> CacheStats {
        CacheStats {
            size: lock(&self.kept).len(),
            capacity: MAX_ANSWERS.get(),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn key(message: &str) -> JudgeKey {
        JudgeKey { generation: Generation(1), message: message.into(), skills: [1, 2].into() }
    }

    #[test]
    fn failures_are_kept_for_a_while() {
        let (cache, now) = (JudgeCache::default(), Instant::now());
        cache.keep(&key("a"), Err(JudgeError::new("slow")), now);
        cache.keep(&key("b"), Ok([2].into()), now);
        let later = now + FAILURE_KEPT;
        assert_eq!(cache.kept(&key("a"), now), Some(Err(JudgeError::new("slow"))));
        assert_eq!((cache.kept(&key("a"), later), cache.kept(&key("b"), later)), (None, Some(Ok([2].into()))));
    }

    #[test]
    fn its_memory_is_bounded() {
        let cache = JudgeCache::default();
        for number in 0..1_000 {
            let _ = cache.get_or_ask(&key(&format!("{number}")), || Ok([1].into()));
        }
        assert_eq!(cache.stats(), CacheStats { size: 256, capacity: 256, hits: 0, misses: 1_000 });
    }

    #[test]
    fn threads_with_one_question_ask_once() {
        let (cache, asked, together) = (JudgeCache::default(), AtomicUsize::new(0), Barrier::new(8));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    together.wait();
                    let choice = cache.get_or_ask(&key("a"), || {
                        asked.fetch_add(1, Ordering::SeqCst);
                        Ok([2].into())
                    });
                    assert_eq!(choice, Ok([2].into()));
                });
            }
        });
        assert_eq!(asked.into_inner(), 1);
    }
}
