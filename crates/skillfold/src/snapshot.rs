//! A catalog and what is made of it when first asked for.

use std::sync::{Arc, OnceLock};

use skillfold_catalog::Catalog;
use skillfold_disclose::{Counter, DiscloseConfig, Discloser};
use skillfold_select::Selector;

use crate::kept::Kept;

/// Fewer skills than this are indexed faster than a file is read and checked.
const WORTH_KEEPING: usize = 2_000;

/// What kept selectors are called.
const SELECT: &str = "select";

/// One catalog, and the indexes over it. Whoever holds one sees one generation throughout, whatever is swapped in
/// meanwhile.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) catalog: Arc<Catalog>,
    selector: OnceLock<Selector>,
    discloser: OnceLock<Discloser>,
    config: DiscloseConfig,
    kept: Option<Kept>,
}

impl Snapshot {
    pub(crate) fn new(catalog: Arc<Catalog>, config: DiscloseConfig, kept: Option<Kept>) -> Snapshot {
        Snapshot { catalog, selector: OnceLock::new(), discloser: OnceLock::new(), config, kept }
    }

    /// The index over triggers: kept from an earlier start, or built.
    pub(crate) fn selector(&self) -> &Selector {
        self.selector.get_or_init(|| {
            let kept = self.kept.as_ref().filter(|_| self.catalog.all().len() >= WORTH_KEEPING);
            let old = kept.and_then(|kept| kept.read(SELECT)).and_then(|bytes| Selector::from_bytes(&bytes));
            if let Some(selector) = old.filter(|selector| selector.fits(&self.catalog)) {
                return selector;
            }
            let selector = Selector::of(&self.catalog);
            if let Some(kept) = kept {
                kept.write(SELECT, &selector.to_bytes());
            }
            selector
        })
    }

    /// Whether anybody has selected from it.
    pub(crate) fn is_indexed(&self) -> bool {
        self.selector.get().is_some()
    }

    /// What decides for the configuration that everything was built with.
    pub(crate) fn discloser(&self) -> &Discloser {
        self.discloser.get_or_init(|| self.discloser_for(self.config.clone()))
    }

    /// What decides for another configuration.
    pub(crate) fn discloser_for(&self, config: DiscloseConfig) -> Discloser {
        // The builder has tried the counter; one that cannot be had counts as the default one does.
        let plain = DiscloseConfig { counter: Counter::default(), ..config.clone() };
        Discloser::new(Arc::clone(&self.catalog), config)
            .or_else(|_| Discloser::new(Arc::clone(&self.catalog), plain))
            .unwrap_or_else(|_| unreachable!("the default counter needs nothing"))
    }
}
