//! What is enabled, asked anew each time somebody looks for skills.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use skillfold_catalog::Enablement;

/// Who knows what is enabled by now, and what they said last.
#[derive(Clone, Default)]
pub(crate) struct Switches {
    ask: Option<Arc<dyn Fn() -> Enablement + Send + Sync>>,
    said: Arc<Mutex<Option<Enablement>>>,
}

impl Switches {
    pub(crate) fn new(ask: impl Fn() -> Enablement + Send + Sync + 'static) -> Switches {
        Switches { ask: Some(Arc::new(ask)), said: Arc::default() }
    }

    /// What is enabled by now, if somebody knows.
    pub(crate) fn now(&self) -> Option<Enablement> {
        let now = self.ask.as_ref()?();
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = Some(now.clone());
        Some(now)
    }

    /// Whether that is something else than the last time.
    #[cfg(feature = "watch")]
    pub(crate) fn have_moved(&self) -> bool {
        let Some(ask) = &self.ask else { return false };
        let now = ask();
        self.said.lock().unwrap_or_else(PoisonError::into_inner).as_ref() != Some(&now)
    }
}

impl fmt::Debug for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switches").field("ask", &self.ask.is_some()).finish_non_exhaustive()
    }
}
