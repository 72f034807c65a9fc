//! The best of many documents.

use std::cmp::Ordering;

/// The documents with the highest of the scores that were offered.
#[derive(Debug, Default)]
pub(crate) struct TopDocuments {
    best: Vec<(f32, usize)>,
    /// The last one that was among the best when they were last sorted out.
    last: Option<(f32, usize)>,
}

impl TopDocuments {
    pub(crate) fn offer(&mut self, one: (f32, usize), count: usize, usable: &dyn Fn(&usize) -> bool) {
        let beaten = self.last.is_some_and(|last| by_score(&last, &one) == Ordering::Less);
        if one.0 <= 0.0 || beaten || !usable(&one.1) {
            return;
        }
        self.best.push(one);
        // Half of them go at once, so that each costs little.
        if self.best.len() >= count.saturating_mul(2) {
            self.best.select_nth_unstable_by(count - 1, by_score);
            self.best.truncate(count);
            self.last = self.best.last().copied();
        }
    }

    pub(crate) fn first(mut self, count: usize) -> impl Iterator<Item = usize> {
        self.best.sort_unstable_by(by_score);
        self.best.into_iter().take(count).map(|one| one.1)
    }
}

/// Orders by score, the higher first, and of equals the one that is first in the index.
fn by_score(a: &(f32, usize), b: &(f32, usize)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}
