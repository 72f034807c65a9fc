//! Views of a [`Skillcue`]: a part of its skills, for a tenant or a role.

use std::sync::Arc;

use arc_swap::ArcSwap;
use skillcue_catalog::ViewRule;
use skillcue_load::{Loader, LoaderConfig};
use skillcue_select::Mode;

use crate::match_cache::{DEFAULT_MATCHES, MatchCache};
use crate::snapshot::Snapshot;
use crate::{Changes, Skillcue};

impl Skillcue {
    /// Returns a view: a [`Skillcue`] that has only the skills that a rule keeps. Every answer of it is made from them alone,
    /// as if there were no others. It does not look for skills itself: [`follow`](Skillcue::follow) brings it up to date.
    ///
    /// Where skills are ranked by meaning, a view ranks them by words: vectors belong to a whole catalog.
    ///
    /// ```
    /// use skillcue::Skillcue;
    /// use skillcue::catalog::ViewRule;
    ///
    /// let dir = tempfile::tempdir()?;
    /// let write = |name: &str| {
    ///     std::fs::create_dir(dir.path().join(name))?;
    ///     std::fs::write(dir.path().join(name).join("SKILL.md"), format!("---\nname: {name}\ndescription: It.\n---\nDo.\n"))
    /// };
    /// write("sales-quote")?;
    /// write("payroll")?;
    /// let whole = Skillcue::builder().skills_dir(dir.path()).build()?;
    /// let mut rule = ViewRule::default();
    /// rule.skills.push("sales-*".parse()?);
    /// let view = whole.view(rule);
    /// assert!(view.check_known("sales-quote").is_ok() && view.check_known("payroll").is_err());
    ///
    /// write("sales-visit")?;
    /// whole.refresh();
    /// assert!(view.follow(&whole).names().eq(["sales-visit"]));
    /// assert!(view.check_known("sales-visit").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn view(&self, rule: ViewRule) -> Skillcue {
        let matches = Arc::new(MatchCache::new(DEFAULT_MATCHES));
        let catalog = Arc::new(self.catalog().narrowed(&rule));
        let snapshot =
            Snapshot::new(catalog, self.disclosing.clone(), None, self.remotes.clone(), Arc::clone(&matches), None);
        Skillcue {
            discovery: self.discovery.clone(),
            setup_provider: self.setup_provider.clone(),
            snapshot: ArcSwap::from_pointee(snapshot),
            loader: Loader::new(LoaderConfig::default()),
            disclosing: self.disclosing.clone(),
            mode: if self.mode == Mode::Semantic { Mode::Hybrid } else { self.mode },
            index_files: None,
            matches,
            judging: self.judging.as_ref().map(crate::judge::Judging::anew),
            sentences: None,
            memory: std::sync::Mutex::default(),
            touch_dir: None,
            touched: std::sync::Mutex::default(),
            #[cfg(feature = "watch")]
            roots: Vec::new(),
            providers: self.providers.clone(),
            remotes: self.remotes.clone(),
            held: self.held.clone(),
            stand_in: self.stand_in.clone(),
            hints: self.hints,
            usage: self.usage.as_ref().map(crate::usage::UsageTracker::anew),
            feedback: self.feedback.clone(),
            view: Some(rule),
        }
    }

    /// Brings a view up to date with the skills that it is a part of, and returns what has changed in it. Calls under way go
    /// on with the old catalog. Does nothing if this is not a view.
    pub fn follow(&self, whole: &Skillcue) -> Changes {
        let Some(rule) = &self.view else { return Changes::default() };
        // Of two at once, the one that looked first must not be stored last.
        let _turn = skillcue_base::lock(&self.memory);
        let snapshot = self.snapshot.load();
        let catalog = Arc::new(whole.catalog().narrowed(rule));
        let changes = Changes::between(&snapshot.catalog, &catalog);
        if changes.is_empty() && snapshot.catalog.policy() == catalog.policy() {
            return changes;
        }
        let fresh = Snapshot::new(
            catalog,
            self.disclosing.clone(),
            None,
            self.remotes.clone(),
            Arc::clone(&self.matches),
            None,
        );
        let fresh = Arc::new(fresh.follow(&snapshot));
        if snapshot.is_indexed() {
            fresh.prepare(self.mode);
        }
        if snapshot.has_bodies() {
            fresh.index_bodies();
        }
        self.snapshot.store(fresh);
        changes
    }
}
