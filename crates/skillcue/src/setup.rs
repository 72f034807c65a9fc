//! What a host says anew each time somebody looks for skills.

use std::fmt;
use std::sync::{Arc, Mutex};

use skillcue_catalog::{Enablement, SkillRoot};

/// What may change while a host runs: skills are installed, enabled and disabled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// Where to look, beyond the roots that stay.
    pub roots: Vec<SkillRoot>,
    /// What is switched on and off.
    pub enablement: Enablement,
}

/// Who knows the set-up by now, and what they said last.
#[derive(Clone, Default)]
pub(crate) struct Asking {
    ask: Option<Arc<dyn Fn() -> Setup + Send + Sync>>,
    said: Arc<Mutex<Option<Setup>>>,
}

impl Asking {
    pub(crate) fn new(ask: impl Fn() -> Setup + Send + Sync + 'static) -> Asking {
        Asking { ask: Some(Arc::new(ask)), said: Arc::default() }
    }

    /// The set-up by now, if somebody knows, and whether its roots are others than the last time.
    pub(crate) fn now(&self) -> Option<(Setup, bool)> {
        let now = self.ask.as_ref()?();
        let last = skillcue_base::lock(&self.said).replace(now.clone());
        let moved = last.is_some_and(|last| last.roots != now.roots);
        Some((now, moved))
    }

    /// The roots that were said last.
    #[cfg(feature = "watch")]
    pub(crate) fn roots(&self) -> Vec<SkillRoot> {
        skillcue_base::lock(&self.said).iter().flat_map(|said| said.roots.clone()).collect()
    }

    /// What is something else than the last time.
    #[cfg(feature = "watch")]
    pub(crate) fn has_moved(&self) -> Moved {
        let Some(ask) = &self.ask else { return Moved::Nothing };
        let now = ask();
        match &*skillcue_base::lock(&self.said) {
            Some(said) if said.roots != now.roots => Moved::Roots,
            Some(said) if said.enablement == now.enablement => Moved::Nothing,
            _ => Moved::Switches,
        }
    }
}

/// What of a set-up is something else than before.
#[cfg(feature = "watch")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moved {
    Nothing,
    Switches,
    Roots,
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asking").field("ask", &self.ask.is_some()).finish_non_exhaustive()
    }
}
