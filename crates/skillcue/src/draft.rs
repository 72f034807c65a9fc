//! Drafts: the same skills with one description changed, to see what that would change. Nothing on disk is touched.

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use skillcue_catalog::{Catalog, Discovery};
use skillcue_load::{Loader, LoaderConfig};

use crate::match_cache::{DEFAULT_MATCHES, MatchCache};
use crate::setup::SetupProvider;
use crate::snapshot::Snapshot;
use crate::{Error, Skillcue};

impl Skillcue {
    /// Returns the same skills with another description of one of them, which only this copy has: messages are selected
    /// for, explained and disclosed as if the skill's file said so. Nothing is written, indexes are updated in memory by
    /// what changed, and no use is reported. A judge takes no part.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # for (name, what) in [("pdf", "Reads PDF files."), ("csv", "Reads tables.")] {
    /// #     std::fs::create_dir(dir.path().join(name))?;
    /// #     std::fs::write(dir.path().join(name).join("SKILL.md"), format!("---\nname: {name}\ndescription: {what}\n---\n"))?;
    /// # }
    /// use skillcue::{Mode, Request, Skillcue};
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).mode(Mode::Hybrid).build()?;
    /// let request = Request::new("stamp the invoices with a watermark");
    /// assert!(skills.select(&request).hits.is_empty());
    /// let draft = skills.with_description("pdf", "Reads PDF files, and puts a watermark on invoices.")?;
    /// assert_eq!(draft.select(&request).hits[0].name, "pdf");
    /// assert!(skills.select(&request).hits.is_empty(), "the skills themselves are as they were");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_description(&self, address: &str, description: &str) -> Result<Skillcue, Error> {
        let catalog = self.catalog();
        let Some(drafted) = catalog.with_description(address, description) else {
            return Err(match self.check_known(address) {
                Err(error) => error,
                Ok(()) => Error::NotFound { name: address.to_owned(), close: Vec::new() },
            });
        };
        let drafted = drafted.map_err(|reason| Error::NotEditable { name: address.to_owned(), reason })?;
        // So that the index over texts, which the copy takes over from, is there.
        self.snapshot().texts();
        Ok(self.over_catalog(drafted))
    }

    /// Makes the same set-up over another catalog, which is never looked for again. Nothing is kept on disk, and no use
    /// is reported.
    fn over_catalog(&self, catalog: Catalog) -> Skillcue {
        let (matches, sentences) = (Arc::new(MatchCache::new(DEFAULT_MATCHES)), self.sentences.clone());
        let before = self.snapshot();
        let (disclosing, shared) = (self.disclosing.clone(), Arc::clone(&matches));
        let snapshot =
            Snapshot::new(Arc::new(catalog), disclosing, None, self.remotes.clone(), shared, sentences.clone())
                .follow(&before);
        let snapshot = Arc::new(snapshot);
        if let Some(missing) = snapshot.adopt_vectors(&before) {
            Skillcue::embed_new(&snapshot, missing);
        }
        Skillcue {
            discovery: Discovery::new([]),
            setup_provider: SetupProvider::default(),
            snapshot: ArcSwap::new(snapshot),
            loader: Loader::new(LoaderConfig::default()),
            disclosing: self.disclosing.clone(),
            mode: self.mode,
            index_files: None,
            matches,
            judging: None,
            sentences,
            memory: Mutex::default(),
            touch_dir: None,
            touched: Mutex::default(),
            #[cfg(feature = "watch")]
            roots: Vec::new(),
            providers: self.providers.clone(),
            remotes: self.remotes.clone(),
            held: self.held.clone(),
            stand_in: self.stand_in.clone(),
            hints: self.hints,
            usage: None,
            feedback: self.feedback.clone(),
            view: None,
        }
    }
}
