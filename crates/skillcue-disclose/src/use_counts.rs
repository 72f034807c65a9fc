//! Counts of uses: which skills a list should describe when it has no room for all descriptions.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A function that returns how often skills were used, by name; `None` if that cannot be told now. Called when a list is made that
/// may have to be shortened.
///
/// ```
/// use std::collections::BTreeMap;
/// use skillcue_disclose::UseCounts;
///
/// let counts = UseCounts::new(|| Some(BTreeMap::from([("pdf".to_owned(), 7)])));
/// assert_eq!(counts.count().unwrap()["pdf"], 7);
/// ```
#[derive(Clone)]
pub struct UseCounts(Arc<CountUses>);

type CountUses = dyn Fn() -> Option<BTreeMap<String, u32>> + Send + Sync;

impl UseCounts {
    /// Wraps a function.
    pub fn new(count: impl Fn() -> Option<BTreeMap<String, u32>> + Send + Sync + 'static) -> UseCounts {
        UseCounts(Arc::new(count))
    }

    /// Returns the counts of this moment.
    pub fn count(&self) -> Option<BTreeMap<String, u32>> {
        (self.0)()
    }
}

impl fmt::Debug for UseCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UseCounts").finish_non_exhaustive()
    }
}
