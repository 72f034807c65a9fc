//! [`Skillcue`]: a catalog, and access to its skills.
//!
//! Over 500 lines: the façade, a method a question.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use skillcue_base::ErrorInfo;
use skillcue_catalog::{
    Catalog, Discovery, DiscoveryState, FileError, FileListing, Skill, SkillDir, SkillRoot, TreeLimits, ViewRule,
};
use skillcue_disclose::TokenCounter;
use skillcue_format::Tokens;
use skillcue_load::{CacheStats, LoadRequest, Loaded, Loader, Outline, PlainText};
use skillcue_select::Mode;

use crate::builder::{Builder, HoldBackRule, StandInRule};
use crate::feedback::SkillShifts;
use crate::index_files::IndexFiles;
use crate::judge::Judging;
use crate::match_cache::{DEFAULT_MATCHES, MatchCache};
use crate::meaning::SentenceState;
use crate::remote::{Remote, RemoteEntry, ServedSkill, body_of, remote_skills};
use crate::setup::{Setup, SetupProvider};
use crate::snapshot::{DisclosureSetup, Snapshot};
use crate::tools::{
    BuiltInTool, Call, LoadScope, SkillProgram, ToolContext, ToolDefinition, ToolOutput, ToolProvider, built_in_tools,
    capital,
};
use crate::usage::UsageTracker;
use crate::{Changes, Error, Hints, Session};

/// The size of the largest file that [`Skillcue::read`] returns.
const MAX_READ: u64 = 16 << 20;

/// The skills of one set-up, ready to be listed, loaded and read by many threads at once.
///
/// Readers take no lock: they work on a snapshot, and [`Skillcue::refresh`] swaps in a new one.
#[derive(Debug)]
pub struct Skillcue {
    pub(crate) discovery: Discovery,
    pub(crate) setup_provider: SetupProvider,
    pub(crate) snapshot: ArcSwap<Snapshot>,
    pub(crate) loader: Loader,
    pub(crate) disclosing: DisclosureSetup,
    pub(crate) mode: Mode,
    pub(crate) index_files: Option<IndexFiles>,
    pub(crate) matches: Arc<MatchCache>,
    pub(crate) judging: Option<Judging>,
    pub(crate) sentences: Option<Arc<SentenceState>>,
    /// The memory of the last refresh. Locked during a refresh.
    pub(crate) memory: Mutex<DiscoveryState>,
    pub(crate) touch_dir: Option<PathBuf>,
    /// The roots that touched files have added.
    pub(crate) touched: Mutex<Vec<SkillRoot>>,
    #[cfg(feature = "watch")]
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) providers: Vec<Arc<dyn ToolProvider>>,
    pub(crate) remotes: Vec<Arc<dyn Remote>>,
    pub(crate) held: HoldBackRule,
    pub(crate) stand_in: StandInRule,
    pub(crate) hints: Option<Hints>,
    pub(crate) usage: Option<UsageTracker>,
    pub(crate) feedback: Option<SkillShifts>,
    /// The rule of a view, which does not look for skills itself.
    pub(crate) view: Option<ViewRule>,
}

impl Skillcue {
    /// Returns a builder that names nothing yet.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Looks for the skills that a builder names.
    pub(crate) fn of_builder(builder: Builder) -> Result<Skillcue, Error> {
        let disclosing = DisclosureSetup::new(builder.disclosure.clone(), builder.uses.clone())?;
        let discovery = builder.discovery();
        let index_files = builder.cache.as_deref().map(|cache| IndexFiles::beside(cache, &builder.roots));
        let (discovery_with_setup, _) = discovery_with_setup(&discovery, &builder.setup_provider, &builder.remotes);
        let catalog = Arc::new(discovery_with_setup.remote(remote_skills(&builder.remotes)).run());
        let matches = Arc::new(MatchCache::new(builder.matches.unwrap_or(DEFAULT_MATCHES)));
        let sentences = builder.sentence_model.map(|model| Arc::new(SentenceState::new(model)));
        let snapshot = Snapshot::new(
            catalog,
            disclosing.clone(),
            index_files.clone(),
            builder.remotes.clone(),
            Arc::clone(&matches),
            sentences.clone(),
        );
        let snapshot = ArcSwap::from_pointee(snapshot);
        let (providers, remotes) = (builder.providers, builder.remotes);
        Ok(Skillcue {
            discovery,
            setup_provider: builder.setup_provider,
            snapshot,
            loader: Loader::new(builder.loader),
            disclosing,
            mode: builder.mode,
            index_files,
            matches,
            judging: builder.judge.map(Judging::new),
            sentences,
            memory: Mutex::default(),
            touch_dir: builder.touch_dir,
            touched: Mutex::default(),
            #[cfg(feature = "watch")]
            roots: builder.roots.into_iter().map(|root| root.path).collect(),
            providers,
            remotes,
            held: builder.held,
            stand_in: builder.stand_in,
            hints: builder.hints,
            usage: builder.usage.map(UsageTracker::new),
            feedback: Some(Arc::new(builder.feedback)).filter(|shifts| !shifts.is_empty()),
            view: None,
        })
    }

    /// Returns the skills as of the last look.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.snapshot.load().catalog)
    }

    /// Looks again, and lets later calls see what changed. Calls under way go on with the old catalog, and none waits:
    /// indexes that had been made of the old catalog are made of the new one before that is swapped in. If nothing
    /// changed the old one stays. [`Changes::between`] says what did. From the second time on only files that changed
    /// are read.
    pub fn refresh(&self) -> Arc<Catalog> {
        self.refresh_touched(None).new
    }

    /// Like [`refresh`](Skillcue::refresh), and returns both catalogs. `touched` are the only paths where something has
    /// happened since the last time, if a watcher knows them.
    pub(crate) fn refresh_touched(&self, touched: Option<&BTreeSet<PathBuf>>) -> CatalogSwap {
        if self.view.is_some() {
            // The catalog that it is a part of looks.
            let catalog = self.catalog();
            return CatalogSwap { new: Arc::clone(&catalog), old: catalog, changes: Changes::default() };
        }
        // Of two refreshes at once, the one that looked first must not be stored last.
        let mut memory = skillcue_base::lock(&self.memory);
        let (discovery, moved) = discovery_with_setup(&self.discovery, &self.setup_provider, &self.remotes);
        if moved {
            // The memory belongs to the old roots.
            *memory = DiscoveryState::default();
        }
        let touched = touched.filter(|_| !moved);
        let discovery = discovery.and_roots(skillcue_base::lock(&self.touched).clone());
        let catalog = Arc::new(discovery.remote(remote_skills(&self.remotes)).run_again(&mut memory, touched));
        let snapshot = self.snapshot.load();
        let old = Arc::clone(&snapshot.catalog);
        let changes = Changes::between(&old, &catalog);
        // A skill that changes later is judged by the policy of the catalog that has it.
        if changes.is_empty() && old.policy() == catalog.policy() {
            return CatalogSwap { new: Arc::clone(&old), old, changes };
        }
        let (disclosing, index_files) = (self.disclosing.clone(), self.index_files.clone());
        let (matches, sentences) = (Arc::clone(&self.matches), self.sentences.clone());
        let fresh =
            Snapshot::new(Arc::clone(&catalog), disclosing, index_files, self.remotes.clone(), matches, sentences);
        let fresh = Arc::new(fresh.follow(&snapshot));
        if snapshot.is_indexed() {
            fresh.prepare(self.mode);
        }
        if snapshot.has_bodies() {
            fresh.index_bodies();
        }
        if let Some(missing) = fresh.adopt_vectors(&snapshot) {
            Skillcue::embed_new(&fresh, missing);
        }
        self.snapshot.store(fresh);
        CatalogSwap { old, new: catalog, changes }
    }

    /// Makes the indexes that the first message would have to wait for.
    pub fn prepare(&self) {
        self.snapshot.load().prepare(self.mode);
    }

    /// Reads the bodies of all skills and ranks by them, too, from now on: bodies that an earlier start has read are
    /// taken from the index cache. Until it is done, ranking works without them. Returns how many were read.
    ///
    /// In [`Mode::Keyword`] bodies do not count.
    pub fn index_bodies(&self) -> usize {
        self.snapshot().index_bodies()
    }

    /// Like [`index_bodies`](Skillcue::index_bodies), on a thread of its own.
    pub fn index_bodies_in_background(&self) -> std::io::Result<std::thread::JoinHandle<usize>> {
        let snapshot = self.snapshot();
        std::thread::Builder::new().name("skillcue-bodies".to_owned()).spawn(move || snapshot.index_bodies())
    }

    /// Returns whether bodies count when messages are matched, or are being read for it.
    pub fn has_indexed_bodies(&self) -> bool {
        self.snapshot.load().has_bodies()
    }

    /// Returns whether messages have been matched with the current catalog, so that no message waits for an index.
    pub fn is_indexed(&self) -> bool {
        self.snapshot.load().is_indexed()
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    pub(crate) fn loads(&self) -> &Loader {
        &self.loader
    }

    /// Returns the mode in which messages are matched unless a request says otherwise.
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// Checks that a skill has that name. The error says why it cannot be had.
    pub fn check_known(&self, address: &str) -> Result<(), Error> {
        existing_skill(&self.catalog(), address).map(drop)
    }

    /// Loads level 2: a skill's body with its arguments. `address` is a name, `name@source` or `plugin:name`.
    pub fn load(&self, address: &str, request: &LoadRequest<'_>) -> Result<Loaded, Error> {
        let catalog = self.catalog();
        self.load_skill(usable(&catalog, address)?, request)
    }

    /// Loads level 2 in the envelope in which a model gets it, with what a session should remember. Also loads skills
    /// that are hidden from models: it is for people.
    pub fn load_envelope(&self, address: &str, request: &LoadRequest<'_>) -> Result<ToolOutput, Error> {
        let catalog = self.catalog();
        crate::tools::enveloped(self, usable(&catalog, address)?, address, request, &LoadScope::default())
    }

    /// Like [`load_envelope`](Skillcue::load_envelope), for a conversation: if the text is in its context, unchanged and
    /// with these arguments, one line says so.
    pub fn load_envelope_for(
        &self,
        session: &Session,
        address: &str,
        request: &LoadRequest<'_>,
    ) -> Result<ToolOutput, Error> {
        let catalog = self.catalog();
        let scope = LoadScope { session: Some(session), ..LoadScope::default() };
        crate::tools::enveloped(self, usable(&catalog, address)?, address, request, &scope)
    }

    /// Returns the limit for the tokens of a load by a model.
    pub(crate) fn load_limit(&self) -> Option<Tokens> {
        self.snapshot().discloser().config().max_load_tokens
    }

    /// Returns the token counter.
    pub(crate) fn counter(&self) -> &'static dyn TokenCounter {
        self.snapshot().discloser().counter()
    }

    /// Returns the headings of a skill's body, with the cost of each section.
    pub fn outline(&self, address: &str) -> Result<Outline, Error> {
        let catalog = self.catalog();
        let skill = usable(&catalog, address)?;
        match self.served(skill)? {
            Some(served) => Ok(Outline::new(body_of(&served.text()?))),
            None => Ok(self.loader.outline(&skill.body_file())?),
        }
    }

    /// Returns level 3: the files of a skill.
    pub fn files(&self, address: &str) -> Result<FileListing, Error> {
        let catalog = self.catalog();
        self.list_files(existing_skill(&catalog, address)?)
    }

    /// Reads level 3: one text file of a skill. No path leads out of its directory.
    pub fn read(&self, address: &str, path: &str) -> Result<String, Error> {
        let bytes = self.read_bytes(address, path)?;
        String::from_utf8(bytes).map_err(|error| FileError::not_text(address, path, &error).into())
    }

    /// Reads level 3: one file of a skill, text or not.
    pub fn read_bytes(&self, address: &str, path: &str) -> Result<Vec<u8>, Error> {
        let catalog = self.catalog();
        self.read_file(admitted(&catalog, address)?, path)
    }

    /// Returns a remote skill as it is listed, if it may be loaded as it is. `None` for a skill on this machine, too.
    pub fn loadable_entry(&self, skill: &Skill) -> Option<Arc<RemoteEntry>> {
        let served = self.served(skill).ok()??;
        served.remote.is_allowed(&served.entry).then(|| Arc::clone(&served.entry))
    }

    pub(crate) fn load_skill(&self, skill: &Skill, request: &LoadRequest<'_>) -> Result<Loaded, Error> {
        match self.served(skill)? {
            Some(served) => self.load_served(skill, &served, body_of(&served.text()?), request),
            None => Ok(self.loader.load(&skill.body_file(), request)?),
        }
    }

    /// Like `load_skill`, and returns the text that a disclosure would show of the same body, too: a session compares
    /// with that.
    pub(crate) fn load_with_plain(
        &self,
        skill: &Skill,
        request: &LoadRequest<'_>,
    ) -> Result<(Loaded, Option<PlainText>), Error> {
        let Some(served) = self.served(skill)? else {
            return Ok(self.loader.load_with_plain(&skill.body_file(), request)?);
        };
        let text = served.text()?;
        let base = served_base(&served);
        Ok(self.loader.load_text_with_plain(skill.name(), &base, body_of(&text), request)?)
    }

    fn load_served(
        &self,
        skill: &Skill,
        served: &ServedSkill<'_>,
        body: &str,
        request: &LoadRequest<'_>,
    ) -> Result<Loaded, Error> {
        Ok(self.loader.load_text(skill.name(), &served_base(served), body, request)?)
    }

    pub(crate) fn list_files(&self, skill: &Skill) -> Result<FileListing, Error> {
        match self.served(skill)? {
            Some(served) => Ok(served.listing()),
            None => Ok(dir(skill)?.list(&TreeLimits::default())?),
        }
    }

    pub(crate) fn read_file(&self, skill: &Skill, path: &str) -> Result<Vec<u8>, Error> {
        match self.served(skill)? {
            Some(served) => served.read(path),
            None => Ok(dir(skill)?.read(path, MAX_READ)?),
        }
    }

    /// Returns the server and the entry of a skill that is not on this machine.
    pub(crate) fn served(&self, skill: &Skill) -> Result<Option<ServedSkill<'_>>, Error> {
        skill.server().map(|server| ServedSkill::of(&self.remotes, server, skill)).transpose()
    }

    /// Returns the tools that models are given, for a session that has loaded these skills.
    pub fn tools(&self, loaded: &[String]) -> Vec<ToolDefinition> {
        let mut tools: Vec<ToolDefinition> = built_in_tools(!loaded.is_empty()).map(BuiltInTool::definition).collect();
        tools.extend(self.providers.iter().flat_map(|provider| provider.definitions(self, loaded)));
        tools
    }

    /// Returns whether loaded skills may bring tools at all: whether there is a provider of them.
    ///
    /// ```
    /// assert!(!skillcue::Skillcue::builder().build()?.has_tool_providers());
    /// # Ok::<(), skillcue::Error>(())
    /// ```
    pub fn has_tool_providers(&self) -> bool {
        !self.providers.is_empty()
    }

    /// Returns whether a session that has loaded this skill, which has these files, may have other tools for it. Runs
    /// nothing.
    pub fn brings_tools(&self, skill: &str, files: &FileListing) -> bool {
        self.providers.iter().any(|provider| provider.brings_tools(self, skill, files))
    }

    /// Returns the program that a call of a tool would run, for hosts that ask a person first. `None` if the call only
    /// reads.
    pub fn program_for_call(&self, call: &Call, loaded: &[String]) -> Option<SkillProgram> {
        if built_in_tools(true).any(|tool| tool.name == call.name()) {
            return None;
        }
        self.providers.iter().find_map(|provider| provider.program_for_call(self, call, loaded))
    }

    /// Returns whether a skill's body is held back from disclosure: see [`Builder::hold_back`].
    pub fn holds_back(&self, name: &str) -> bool {
        self.catalog().get(name).is_some_and(|skill| self.held.holds(skill))
    }

    /// Calls a tool. `None` if there is none of that name; any other failure is in the output.
    pub fn call_tool(&self, call: &Call, context: &ToolContext<'_>) -> Option<ToolOutput> {
        let span = self.tool_span(call, context.session);
        let entered = span.enter();
        let output = match built_in_tools(true).find(|tool| tool.name == call.name()) {
            Some(tool) => Some(tool.call(self, call, context)),
            None => self.providers.iter().find_map(|provider| provider.call(self, call, context)),
        };
        drop(entered);
        self.end_tool_span(&span, call, context.loaded, output.as_ref());
        let output = output?;
        self.report_call(call, context, &output);
        Some(output)
    }

    /// Returns the label of the server that serves a skill, and the skill's entry there; `None` if the skill is on this
    /// machine.
    pub fn remote_entry(&self, address: &str) -> Result<Option<(String, Arc<RemoteEntry>)>, Error> {
        let catalog = self.catalog();
        let served = self.served(existing_skill(&catalog, address)?)?;
        Ok(served.map(|served| (served.remote.label().to_owned(), served.entry)))
    }

    /// Returns the labels of the catalogs that are configured and of which nothing was ever read: see
    /// [`Remote::is_known`](crate::remote::Remote::is_known).
    pub fn unknown_remotes(&self) -> Vec<String> {
        self.remotes.iter().filter(|remote| !remote.is_known()).map(|remote| remote.label().to_owned()).collect()
    }

    /// Returns what to do about an error: the front end's hint ([`Builder::hints`]), or else the error's own.
    pub fn hint_for<'e>(&self, error: &'e (impl ErrorInfo + 'static)) -> Option<Cow<'e, str>> {
        self.hints.and_then(|hints| hints(error)).map(Cow::Owned).or_else(|| error.hint())
    }

    /// Returns an error as sentences for a model: what went wrong, and what to do.
    pub fn explain_error(&self, error: &(impl ErrorInfo + 'static)) -> String {
        let mut said = format!("{}.", capital(&error.to_string()));
        if let Some(hint) = self.hint_for(error) {
            let _ = write!(said, " {}.", capital(&hint));
        }
        said
    }

    /// Returns hits and misses of the cache of loaded bodies.
    pub fn cache_stats(&self) -> CacheStats {
        self.loader.stats()
    }

    /// Returns hits and misses of the match cache: selections for messages that were matched before. It is emptied when
    /// the catalog changes, and when bodies have been indexed or vectors made.
    ///
    /// ```
    /// use skillcue::{Request, Skillcue};
    ///
    /// let skills = Skillcue::builder().build()?;
    /// for _ in 0..3 {
    ///     skills.select(&Request::new("fill in the form"));
    /// }
    /// let stats = skills.match_stats();
    /// assert_eq!((stats.size, stats.hits, stats.misses), (1, 2, 1));
    /// # Ok::<(), skillcue::Error>(())
    /// ```
    pub fn match_stats(&self) -> CacheStats {
        self.matches.stats()
    }

    /// Returns the memory that loaded bodies take, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.loader.held_bytes()
    }

    /// Forgets loaded bodies, of one skill or of all, and returns how many.
    pub fn clear_cache(&self, skill: Option<&str>) -> usize {
        self.loader.clear(skill)
    }
}

/// The catalog before a refresh and after it, and the changes between them.
#[cfg_attr(not(feature = "watch"), expect(dead_code, reason = "only a watcher reads what has changed"))]
pub(crate) struct CatalogSwap {
    pub(crate) old: Arc<Catalog>,
    /// The old one if nothing changed.
    pub(crate) new: Arc<Catalog>,
    pub(crate) changes: Changes,
}

/// Returns the skill of that name, whether it may be used or not.
pub(crate) fn existing_skill<'c>(catalog: &'c Catalog, address: &str) -> Result<&'c Skill, Error> {
    if let Some(skill) = catalog.get(address) {
        return Ok(skill);
    }
    if let Some(invalid) = catalog.invalid_named(address) {
        return Err(Error::Invalid {
            name: address.to_owned(),
            path: invalid.path.clone(),
            diagnostics: invalid.diagnostics.clone(),
        });
    }
    let close = catalog.close_names(address).into_iter().map(str::to_owned).collect();
    Err(Error::NotFound { name: address.to_owned(), close })
}

/// Returns the discovery with the current set-up and what catalogs say about policy, and whether the set-up has other roots
/// than the last time.
fn discovery_with_setup(
    discovery: &Discovery,
    setup_provider: &SetupProvider,
    remotes: &[Arc<dyn Remote>],
) -> (Discovery, bool) {
    let discovery = discovery.clone();
    let (mut discovery, moved) = match setup_provider.now() {
        Some((Setup { roots, enablement, origins }, moved)) => {
            (discovery.and_roots(roots).enablement(enablement).origins(origins), moved)
        }
        None => (discovery, false),
    };
    for remote in remotes {
        if let Some(origin) = remote.origin() {
            discovery = discovery.and_origin(remote.label(), origin);
        }
        discovery = discovery.and_policy(remote.policy());
    }
    (discovery, moved)
}

/// Returns the skill of that name, on or off, unless the organisation's policy refuses it.
pub(crate) fn admitted<'c>(catalog: &'c Catalog, address: &str) -> Result<&'c Skill, Error> {
    let skill = existing_skill(catalog, address)?;
    match catalog.refusal(skill) {
        Some(refusal) => Err(Error::Refused { name: address.to_owned(), refusal: Box::new(refusal) }),
        None => Ok(skill),
    }
}

/// Returns the skill of that name, if it may be used.
pub fn usable<'c>(catalog: &'c Catalog, address: &str) -> Result<&'c Skill, Error> {
    let skill = admitted(catalog, address)?;
    if !skill.enabled() {
        return Err(Error::Disabled { name: address.to_owned() });
    }
    if !skill.available() {
        let requires = skill.manifest().requires().map(str::to_owned).collect();
        return Err(Error::Unavailable { name: address.to_owned(), requires });
    }
    Ok(skill)
}

/// Returns the place at which the paths of a skill on a server start, as the model reads it.
fn served_base(served: &ServedSkill<'_>) -> String {
    let (root, label) = (served.entry.root(), served.remote.label());
    let from = match served.remote.source() {
        skillcue_catalog::Source::Catalog => format!("in the catalog \"{label}\""),
        _ => format!("served by the MCP server \"{label}\""),
    };
    format!("{root} ({from}; `read_skill_file` reads its files)")
}

fn dir(skill: &Skill) -> Result<SkillDir, Error> {
    Ok(SkillDir::open(skill.name(), &skill.dir())?)
}
