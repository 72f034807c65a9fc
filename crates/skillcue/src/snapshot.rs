//! A catalog with its indexes, which are made when first needed.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::ArcSwapOption;
use rayon::prelude::*;
use skillcue_catalog::{Catalog, Skill};
use skillcue_disclose::{Budget, Characters4, DiscloseConfig, Discloser, Policy, TokenCounter, UseCounts};
use skillcue_format::Tokens;
use skillcue_load::{Loader, LoaderConfig};
use skillcue_select::{BodyTerms, Hit, Mode, SelectOptions, Selection, Selector, TextIndex, Turn, body_key};

use crate::Error;
use crate::index_files::IndexFiles;
use crate::kept_uses::kept_uses;
use crate::match_cache::{IndexVersion, MatchCache};
use crate::meaning::{SentenceState, SnapshotMeaning};
use crate::remote::{PublishedBody, Remote};

/// The number of bodies from which they are read in parallel. Fewer are read before other threads have started.
const MIN_PARALLEL: usize = 16;
/// The number of skills from which indexes are kept. Fewer are indexed faster than a file is read and checked.
const MIN_KEPT_SKILLS: usize = 50;
/// How many changed bodies are read before an answer: reading more takes longer than the answer.
const MAX_READ_FIRST: usize = 16;

/// How many disclosers for other policies and budgets are kept.
const MAX_OTHER_DISCLOSERS: usize = 4;

/// The kinds of index files: selectors, and indexes over texts.
const SELECT: &str = "select";
const TEXTS: &str = "texts";

/// One catalog, and the indexes over it. A caller that holds one sees one generation throughout, whatever is swapped in
/// meanwhile.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) catalog: Arc<Catalog>,
    selector: OnceLock<Selector>,
    discloser: OnceLock<Discloser>,
    /// Disclosers for other policies and budgets, the latest last.
    others: Mutex<Vec<Arc<Discloser>>>,
    texts: ArcSwapOption<TextIndex>,
    /// The index over texts of the snapshot before, from which unchanged skills are taken over.
    texts_before: ArcSwapOption<TextIndex>,
    /// How many bodies have been read.
    bodies_read: AtomicUsize,
    /// Whether a thread has begun to index bodies.
    reading: AtomicBool,
    disclosing: DisclosureSetup,
    index_files: Option<IndexFiles>,
    /// Servers and catalogs; some have published indexes.
    remotes: Vec<Arc<dyn Remote>>,
    /// Selections that were made before, on this snapshot or others.
    matches: Arc<MatchCache>,
    /// Its number among the snapshots that share the cache.
    number: u64,
    /// How often the index over texts or the vectors of skills have been replaced.
    texts_replaced: AtomicU64,
    pub(crate) meaning: SnapshotMeaning,
}

impl Snapshot {
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        disclosing: DisclosureSetup,
        index_files: Option<IndexFiles>,
        remotes: Vec<Arc<dyn Remote>>,
        matches: Arc<MatchCache>,
        sentences: Option<Arc<SentenceState>>,
    ) -> Snapshot {
        let number = matches.next_snapshot();
        Snapshot {
            number,
            meaning: SnapshotMeaning::new(sentences, number),
            texts_replaced: AtomicU64::new(0),
            matches,
            catalog,
            selector: OnceLock::new(),
            discloser: OnceLock::new(),
            others: Mutex::default(),
            texts: ArcSwapOption::empty(),
            texts_before: ArcSwapOption::empty(),
            bodies_read: AtomicUsize::new(0),
            reading: AtomicBool::new(false),
            disclosing,
            index_files,
            remotes,
        }
    }

    /// Takes over from a snapshot of another catalog what is unchanged.
    pub(crate) fn follow(self, before: &Snapshot) -> Snapshot {
        self.texts_before.store(before.texts.load_full());
        self
    }

    /// Returns the index over triggers: kept from an earlier start, or built.
    pub(crate) fn selector(&self) -> &Selector {
        self.selector.get_or_init(|| {
            let files = self.index_files.as_ref().filter(|_| self.catalog.all().len() >= MIN_KEPT_SKILLS);
            let old = files.and_then(|files| files.read(SELECT)).and_then(|bytes| Selector::from_bytes(&bytes));
            if let Some(selector) = old.filter(|selector| selector.fits(&self.catalog)) {
                return selector;
            }
            let selector = self.published_selector().unwrap_or_else(|| Selector::of(&self.catalog));
            if let Some(files) = files {
                files.write(SELECT, &selector.to_bytes());
            }
            selector
        })
    }

    /// Returns the selection for a turn, from the match cache if it was made before.
    pub(crate) fn cached_select(&self, turn: &Turn<'_>, options: &SelectOptions) -> Arc<Selection> {
        let version = IndexVersion { snapshot: self.number, texts: self.texts_replaced.load(Ordering::Acquire) };
        self.matches.get_or_select(version, turn, options, || self.select(turn, options))
    }

    /// Replaces the index over texts. Selections that were made with the old one do not count any more.
    fn replace_texts(&self, texts: Arc<TextIndex>) {
        self.texts.store(Some(texts));
        self.forget_matches();
    }

    /// Counts a replaced index. To be called when it is in place: a selection that saw the new number must not have been
    /// made with the old index.
    pub(crate) fn forget_matches(&self) {
        self.texts_replaced.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn index_files(&self) -> Option<&IndexFiles> {
        self.index_files.as_ref()
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Selects anew, past the match cache.
    pub(crate) fn select(&self, turn: &Turn<'_>, options: &SelectOptions) -> Selection {
        match options.mode {
            Mode::Keyword => self.selector().select(&self.catalog, turn, options),
            mode @ (Mode::Hybrid | Mode::Semantic) => self.by_relevance(turn, mode, options.limit),
        }
    }

    /// Returns the skills that come closest to a turn by triggers and texts, and by meaning if the mode is semantic or a
    /// sentence model is at hand.
    pub(crate) fn closest(&self, turn: &Turn<'_>, mode: Mode, limit: usize) -> Vec<Hit> {
        self.by_relevance(turn, mode, limit).hits
    }

    /// Asks the index over texts. One that turns out to be damaged on disk is made anew and asked again.
    pub(crate) fn by_texts<T>(&self, ask: impl Fn(&TextIndex) -> T) -> T {
        let texts = self.texts();
        let answer = ask(&texts);
        if !texts.is_damaged() {
            return answer;
        }
        if let Some(files) = &self.index_files {
            files.remove(TEXTS);
        }
        self.reading.store(false, Ordering::Release);
        self.index_bodies();
        ask(&self.texts())
    }

    /// Returns the index over texts: with bodies if they have been read, else over level 1.
    pub(crate) fn texts(&self) -> Arc<TextIndex> {
        if let Some(texts) = self.texts.load_full() {
            return texts;
        }
        let kept = self.kept_texts();
        if kept.is_some() {
            tracing::debug!("the kept index over texts fits");
            // It was made with all bodies.
            self.reading.store(true, Ordering::Release);
        }
        let texts = kept.or_else(|| self.old_texts().and_then(|old| self.update(&old, MAX_READ_FIRST)));
        // Terms of bodies that were published without an index.
        let of_bodies = |bodies: BodyTerms| Arc::new(TextIndex::with_bodies(&self.catalog, &bodies));
        let texts = texts.or_else(|| Some(self.published_bodies()).filter(|found| !found.is_empty()).map(of_bodies));
        if texts.is_none() && self.index_files.as_ref().is_some_and(|files| files.read_at(TEXTS).is_some()) {
            // It is damaged, or of another version, and had bodies: without them the answer would be another one.
            self.index_bodies();
            if let Some(texts) = self.texts.load_full() {
                return texts;
            }
        }
        let texts = texts.unwrap_or_else(|| Arc::new(TextIndex::of(&self.catalog)));
        // A thread that was faster has made an equal one, or a better one.
        let before = self.texts.compare_and_swap(&None::<Arc<TextIndex>>, Some(Arc::clone(&texts)));
        before.as_ref().map_or(texts, Arc::clone)
    }

    /// Returns the index over texts that an earlier start made of the same skills with the same bodies.
    fn kept_texts(&self) -> Option<Arc<TextIndex>> {
        let key = TextIndex::key(&self.catalog);
        let own = self.index_files.as_ref().and_then(|files| TextIndex::read_back(&files.read_at(TEXTS)?, key));
        let read_back = |remote: &Arc<dyn Remote>| TextIndex::read_back(&remote.published_index().texts?, key);
        own.or_else(|| self.trusted_remotes().find_map(read_back)).map(Arc::new)
    }

    /// Returns the index over triggers that was published with the skills, if it is of exactly these.
    fn published_selector(&self) -> Option<Selector> {
        let count = self.catalog.all().len();
        let mut of_all = self.trusted_remotes().filter(|remote| remote.entries().len() == count);
        let index = of_all.next()?.published_index();
        let bytes = index.triggers?(0, index.triggers_size)?;
        Selector::from_bytes(&bytes).filter(|selector| selector.fits(&self.catalog))
    }

    fn trusted_remotes(&self) -> impl Iterator<Item = &Arc<dyn Remote>> {
        self.remotes.iter().filter(|remote| remote.is_trusted())
    }

    /// Returns the index over texts that was published with the most skills.
    fn published_texts(&self) -> Option<Arc<TextIndex>> {
        let indexes = self.trusted_remotes().filter_map(|remote| TextIndex::read_old(&remote.published_index().texts?));
        indexes.max_by_key(TextIndex::len).map(Arc::new)
    }

    /// Returns the terms of bodies that were published with skills, for those that are as they were then.
    fn published_bodies(&self) -> BodyTerms {
        let mut terms = BodyTerms::default();
        for remote in self.trusted_remotes() {
            let published = remote.published_index().bodies;
            if published.is_empty() {
                continue;
            }
            let by_uri: HashMap<&str, &PublishedBody> =
                published.iter().map(|body| (body.uri.as_str(), body)).collect();
            for skill in self.catalog.skills().filter(|skill| skill.server() == Some(remote.label())) {
                let body = skill.path().to_str().and_then(|uri| by_uri.get(uri).copied());
                if let Some(body) = body.filter(|body| body.content == skill.stamp().inode) {
                    terms.insert(body_key(skill), body.terms.clone());
                }
            }
        }
        terms
    }

    /// Returns whether an index over texts has the bodies of all skills whose bodies were published, or their terms are
    /// at hand.
    fn has_published(&self, texts: &TextIndex, bodies: &BodyTerms) -> bool {
        let is_trusted = |skill: &Skill| {
            let server = skill.server();
            server.is_some() && self.trusted_remotes().any(|remote| Some(remote.label()) == server)
        };
        texts.changed_skills(&self.catalog).all(|skill| !is_trusted(skill) || bodies.get(body_key(skill)).is_some())
    }

    /// Returns an index over texts of which unchanged skills can be taken over.
    fn old_texts(&self) -> Option<Arc<TextIndex>> {
        let stored = || Some(Arc::new(TextIndex::read_old(&self.index_files.as_ref()?.read_at(TEXTS)?)?));
        let own = self.texts_before.swap(None).or_else(stored);
        if self.trusted_remotes().next().is_none() {
            return own;
        }
        let bodies = self.published_bodies();
        own.filter(|own| self.has_published(own, &bodies)).or_else(|| self.published_texts())
    }

    /// Returns an old index over texts, updated to this catalog. Of changed skills the bodies are read, too, if there
    /// are at most `most` and any body is in the old one. `None`, if that is damaged.
    fn update(&self, old: &TextIndex, most: usize) -> Option<Arc<TextIndex>> {
        let changed = self.unread(old);
        let (count, known) = (changed.len(), old.len());
        let read = if count <= most && (old.has_any_body() || most == usize::MAX) { changed } else { Vec::new() };
        let updated = old.updated(&self.catalog, &self.read_bodies(&read)).map(Arc::new);
        tracing::debug!(changed = count, read = read.len(), known, "updated the index over texts");
        updated
    }

    /// Returns the skills on disk whose bodies are not in an index over texts as they are now.
    fn unread(&self, texts: &TextIndex) -> Vec<&Skill> {
        texts.changed_skills(&self.catalog).filter(|skill| skill.server().is_none()).collect()
    }

    /// Reads bodies, and counts them. One that cannot be read says nothing; loading it says why.
    fn read_bodies(&self, skills: &[&Skill]) -> BodyTerms {
        // Its own loader, with room for one: indexing must not evict bodies that are in use.
        let loader = Loader::new(LoaderConfig { cache_capacity: 1, ..LoaderConfig::default() });
        let of_skill = |skill: &&Skill| {
            let body = loader.body(&skill.body_file()).ok()?;
            Some((body_key(skill), BodyTerms::of_body(body.as_str())))
        };
        let found: Vec<_> = if skills.len() < MIN_PARALLEL {
            skills.iter().filter_map(of_skill).collect()
        } else {
            skills.par_iter().filter_map(of_skill).collect()
        };
        self.bodies_read.fetch_add(found.len(), Ordering::Relaxed);
        let mut terms = self.published_bodies();
        for (key, doc) in found {
            terms.insert(key, doc);
        }
        terms
    }

    /// Returns an index over the texts of all skills with all bodies, of which nothing is known.
    fn read_texts(&self) -> Arc<TextIndex> {
        let local: Vec<&Skill> = self.catalog.skills().filter(|skill| skill.server().is_none()).collect();
        Arc::new(TextIndex::with_bodies(&self.catalog, &self.read_bodies(&local)))
    }

    /// Reads the bodies that are not known from earlier, and indexes all. Returns how many were read. Only the first
    /// call does anything.
    pub(crate) fn index_bodies(&self) -> usize {
        if self.reading.swap(true, Ordering::AcqRel) {
            return 0;
        }
        if let Some(texts) = self.kept_texts() {
            self.replace_texts(texts);
            return 0;
        }
        let mut texts = match self.texts.load_full().filter(|own| !own.is_damaged()) {
            Some(own) if self.unread(&own).is_empty() => own,
            own => {
                let updated = own.or_else(|| self.old_texts()).and_then(|old| self.update(&old, usize::MAX));
                updated.unwrap_or_else(|| self.read_texts())
            }
        };
        let mut bytes = self.index_files.as_ref().map(|_| texts.to_bytes(TextIndex::key(&self.catalog)));
        if texts.is_damaged() {
            // Texts of unchanged skills are copied from the old file, and are checked only now.
            texts = self.read_texts();
            bytes = bytes.map(|_| texts.to_bytes(TextIndex::key(&self.catalog)));
        }
        self.replace_texts(texts);
        if let Some((files, bytes)) = self.index_files.as_ref().zip(bytes) {
            files.write(TEXTS, &bytes);
        }
        self.bodies_read.swap(0, Ordering::Relaxed)
    }

    /// Makes the indexes that the first message would have to wait for.
    pub(crate) fn prepare(&self, mode: Mode) {
        self.selector().census(&self.catalog);
        if mode != Mode::Keyword {
            self.texts();
        }
        prime(self.discloser(), true);
    }

    /// Returns whether skills have been selected from it.
    pub(crate) fn is_indexed(&self) -> bool {
        self.selector.get().is_some()
    }

    /// Returns whether bodies are indexed, or about to be.
    pub(crate) fn has_bodies(&self) -> bool {
        self.reading.load(Ordering::Acquire)
    }

    /// Returns the discloser for the builder's configuration.
    pub(crate) fn discloser(&self) -> &Discloser {
        self.discloser.get_or_init(|| self.discloser_of(&self.disclosing))
    }

    /// Returns the discloser for another policy or budget. The latest few are kept: a page that compares two
    /// configurations asks for each with every letter that is typed.
    pub(crate) fn other_discloser(&self, policy: Policy, budget: Budget) -> Arc<Discloser> {
        let mut others = skillcue_base::lock(&self.others);
        let known = others.iter().find(|other| (other.config().policy, other.config().budget()) == (policy, budget));
        if let Some(known) = known {
            return Arc::clone(known);
        }
        let made = Arc::new(self.discloser_with(policy, budget));
        if others.len() >= MAX_OTHER_DISCLOSERS {
            others.remove(0);
        }
        others.push(Arc::clone(&made));
        made
    }

    /// Makes a discloser of lists for another context window.
    pub(crate) fn discloser_within(&self, window: Tokens) -> Discloser {
        let config = DiscloseConfig { policy: Policy::Catalog, window, ..self.disclosing.config.clone() };
        self.discloser_of(&DisclosureSetup { config, ..self.disclosing.clone() })
    }

    /// Makes a discloser for another policy or budget.
    pub(crate) fn discloser_with(&self, policy: Policy, budget: Budget) -> Discloser {
        let Budget { total, per_skill } = budget;
        let config = self.disclosing.config.clone();
        let config = DiscloseConfig { policy, max_total_tokens: total, max_per_skill_tokens: per_skill, ..config };
        self.discloser_of(&DisclosureSetup { config, ..self.disclosing.clone() })
    }

    /// Makes a discloser that counts characters: for another policy, and a budget of quarters of characters.
    pub(crate) fn discloser_by_characters(&self, policy: Policy, budget: Budget) -> Discloser {
        let Budget { total, per_skill } = budget;
        let config = self.disclosing.config.clone();
        let config = DiscloseConfig { policy, max_total_tokens: total, max_per_skill_tokens: per_skill, ..config };
        self.discloser_of(&DisclosureSetup { config, counter: &Characters4, ..self.disclosing.clone() })
    }

    fn discloser_of(&self, setup: &DisclosureSetup) -> Discloser {
        let uses = setup.uses.clone().zip(self.index_files.clone());
        let uses = uses.map(|(counts, files)| kept_uses(counts, files, Arc::clone(&self.catalog)));
        Discloser::with_counter(Arc::clone(&self.catalog), setup.config.clone(), setup.counter).by_use(uses)
    }
}

/// A configuration of disclosures that was checked, with its counter.
#[derive(Clone)]
pub(crate) struct DisclosureSetup {
    config: DiscloseConfig,
    counter: &'static dyn TokenCounter,
    uses: Option<UseCounts>,
}

impl DisclosureSetup {
    pub(crate) fn new(config: DiscloseConfig, uses: Option<UseCounts>) -> Result<DisclosureSetup, Error> {
        config.check()?;
        let counter = config.counter.counter()?;
        Ok(DisclosureSetup { config, counter, uses })
    }
}

impl fmt::Debug for DisclosureSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DisclosureSetup").field(&self.config).finish()
    }
}

/// Makes the parts of a discloser that depend on the whole catalog: at 100,000 skills it takes longer than any message.
/// `registry`: also the list that answers which skills there are.
pub(crate) fn prime(discloser: &Discloser, registry: bool) {
    discloser.eager();
    discloser.stable();
    if registry && discloser.config().policy == Policy::Inject {
        discloser.registry();
    }
}
