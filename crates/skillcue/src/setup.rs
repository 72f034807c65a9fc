//! The part of a set-up that is asked for anew before each look for skills.

use std::fmt;
use std::sync::{Arc, Mutex};

use skillcue_catalog::{Enablement, SkillOrigins, SkillRoot};

/// The part of a set-up that may change while a host runs: skills are installed, enabled and disabled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// Further roots, beside those of the builder.
    pub roots: Vec<SkillRoot>,
    /// The skills that are switched on and off.
    pub enablement: Enablement,
    /// The addresses that skills came from, for the organisation's policy.
    pub origins: Arc<SkillOrigins>,
}

/// The function that returns the current set-up, and its last answer.
#[derive(Clone, Default)]
pub(crate) struct SetupProvider {
    ask: Option<Arc<dyn Fn() -> Setup + Send + Sync>>,
    last: Arc<Mutex<Option<Setup>>>,
}

impl SetupProvider {
    pub(crate) fn new(ask: impl Fn() -> Setup + Send + Sync + 'static) -> SetupProvider {
        SetupProvider { ask: Some(Arc::new(ask)), last: Arc::default() }
    }

    /// Returns the current set-up, if there is a function for it, and whether its roots are others than the last time.
    pub(crate) fn now(&self) -> Option<(Setup, bool)> {
        let now = self.ask.as_ref()?();
        let last = skillcue_base::lock(&self.last).replace(now.clone());
        let moved = last.is_some_and(|last| last.roots != now.roots);
        Some((now, moved))
    }

    /// Returns the roots of the last answer.
    #[cfg(feature = "watch")]
    pub(crate) fn roots(&self) -> Vec<SkillRoot> {
        skillcue_base::lock(&self.last).iter().flat_map(|last| last.roots.clone()).collect()
    }

    /// Returns which part of the set-up differs from the last answer.
    #[cfg(feature = "watch")]
    pub(crate) fn change(&self) -> SetupChange {
        let Some(ask) = &self.ask else { return SetupChange::Nothing };
        let now = ask();
        match &*skillcue_base::lock(&self.last) {
            Some(last) if last.roots != now.roots => SetupChange::Roots,
            Some(last) if last.enablement == now.enablement => SetupChange::Nothing,
            _ => SetupChange::Switches,
        }
    }
}

/// A difference between two set-ups.
#[cfg(feature = "watch")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetupChange {
    Nothing,
    Switches,
    Roots,
}

impl fmt::Debug for SetupProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetupProvider").field("ask", &self.ask.is_some()).finish_non_exhaustive()
    }
}
