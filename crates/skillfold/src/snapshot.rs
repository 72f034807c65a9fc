//! A catalog and what is made of it when first asked for.

use std::sync::{Arc, OnceLock};

use skillfold_catalog::Catalog;
use skillfold_disclose::{Counter, CounterError, DiscloseConfig, Discloser};
use skillfold_select::{SelectOptions, Selection, Selector, Turn};

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

    pub(crate) fn select(&self, turn: &Turn<'_>, options: &SelectOptions) -> Selection {
        self.selector().select(&self.catalog, turn, options)
    }

    /// Makes what selecting needs.
    pub(crate) fn prepare(&self) {
        self.selector().census(&self.catalog);
    }

    /// Whether anybody has selected from it.
    pub(crate) fn is_indexed(&self) -> bool {
        self.selector.get().is_some()
    }

    /// What decides for the configuration that everything was built with.
    pub(crate) fn discloser(&self) -> &Discloser {
        self.discloser.get_or_init(|| {
            let catalog = || Arc::clone(&self.catalog);
            Discloser::new(catalog(), self.config.clone()).unwrap_or_else(|_| {
                // `Builder::disclosure` has refused counters that are not there.
                let config = DiscloseConfig { counter: Counter::Bytes4, ..self.config.clone() };
                Discloser::new(catalog(), config).unwrap_or_else(|_| unreachable!("bytes are always there to count"))
            })
        })
    }

    /// What decides for another configuration.
    pub(crate) fn discloser_for(&self, config: &DiscloseConfig) -> Result<Discloser, CounterError> {
        Discloser::new(Arc::clone(&self.catalog), config.clone())
    }
}
