//! [`Skillcue`]: a catalog, and what can be had of its skills.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use skillcue_base::ErrorInfo;
use skillcue_catalog::{
    Catalog, Checkout, Discovery, DiscoveryState, Enablement, FileError, FileListing, Skill, SkillDir, SkillRoot,
    Source, TreeLimits, project_roots, user_roots,
};
use skillcue_disclose::DiscloseConfig;
use skillcue_load::{CacheStats, Form, LoadRequest, Loaded, Loader, LoaderConfig, Outline};
use skillcue_select::Mode;

use crate::kept::Kept;
use crate::remote::{Remote, RemoteEntry, Served, body_of, listed};
use crate::setup::{Asking, Setup};
use crate::snapshot::{Disclosing, Snapshot};
use crate::tools::{Call, Program, TABLE, Tool, ToolContext, ToolDefinition, ToolOutput, ToolProvider, capital};
use crate::{Changes, Error, Hints};

/// Largest file that [`Skillcue::read`] returns.
const MAX_READ: u64 = 16 << 20;

/// The skills of one set-up, ready to be listed, loaded and read by many threads at once.
///
/// Readers take no lock: they work on a snapshot, and [`Skillcue::refresh`] swaps in a new one.
#[derive(Debug)]
pub struct Skillcue {
    discovery: Discovery,
    pub(crate) asking: Asking,
    snapshot: ArcSwap<Snapshot>,
    loader: Loader,
    disclosing: Disclosing,
    mode: Mode,
    kept: Option<Kept>,
    /// What the last refresh has seen. Whoever refreshes holds it.
    memory: Mutex<DiscoveryState>,
    #[cfg(feature = "watch")]
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) providers: Vec<Arc<dyn ToolProvider>>,
    pub(crate) remotes: Vec<Arc<dyn Remote>>,
    pub(crate) held: Held,
    hints: Option<Hints>,
}

/// Which skills' bodies are held back from disclosure.
#[derive(Clone, Default)]
pub(crate) struct Held(Option<Arc<IsHeld>>);

type IsHeld = dyn Fn(&Skill) -> bool + Send + Sync;

impl Held {
    pub(crate) fn holds(&self, skill: &Skill) -> bool {
        self.0.as_ref().is_some_and(|is_held| is_held(skill))
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Held").field(&self.0.is_some()).finish()
    }
}

/// Says where to look for skills. Nothing is looked at that is not named here.
///
/// ```
/// use skillcue::{Skillcue, Source};
///
/// let dir = tempfile::tempdir()?;
/// let skills = Skillcue::builder().skills_dir(dir.path()).project(dir.path(), dir.path()).build()?;
/// assert!(skills.catalog().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "nothing is looked for until `build`"]
pub struct Builder {
    roots: Vec<SkillRoot>,
    cache: Option<PathBuf>,
    search_path: Option<Vec<PathBuf>>,
    enablement: Enablement,
    asking: Asking,
    nested: bool,
    loader: LoaderConfig,
    disclosure: DiscloseConfig,
    mode: Mode,
    providers: Vec<Arc<dyn ToolProvider>>,
    remotes: Vec<Arc<dyn Remote>>,
    held: Held,
    hints: Option<Hints>,
    checkout: Option<Checkout>,
    /// The project and the home directory that were looked in: they say what a checkout is, unless somebody does.
    project: Option<PathBuf>,
    home: Option<PathBuf>,
}

impl Builder {
    /// Looks below a directory, or at a single skill's; its skills stand above all others.
    pub fn skills_dir(self, dir: impl Into<PathBuf>) -> Builder {
        self.root(SkillRoot::required(dir, Source::Inline))
    }

    /// Looks in the usual places of a project: in `start` and the directories above it up to `top`, which is a
    /// [checkout](Builder::checkout) from then on.
    pub fn project(mut self, start: &Path, top: &Path) -> Builder {
        self.project = Some(top.to_path_buf());
        self.roots(project_roots(start, top))
    }

    /// Looks in the usual places below a home directory.
    pub fn user(mut self, home: &Path) -> Builder {
        self.home = Some(home.to_path_buf());
        self.roots(user_roots(home))
    }

    /// Looks below a root.
    pub fn root(self, root: SkillRoot) -> Builder {
        self.roots([root])
    }

    /// Looks below several roots.
    pub fn roots(mut self, roots: impl IntoIterator<Item = SkillRoot>) -> Builder {
        self.roots.extend(roots);
        self
    }

    /// Remembers what was seen in this file, for a faster second start.
    pub fn index_cache(mut self, file: impl Into<PathBuf>) -> Builder {
        self.cache = Some(file.into());
        self
    }

    /// Where programs that skills require are looked for: the directories of `PATH`, usually.
    pub fn search_path(mut self, dirs: impl IntoIterator<Item = PathBuf>) -> Builder {
        self.search_path = Some(dirs.into_iter().collect());
        self
    }

    /// Says which directory is a checkout, so that what is inside counts as foreign by whatever root it is found: see
    /// [`Skill::is_foreign`].
    ///
    /// ```
    /// use skillcue::catalog::Checkout;
    /// use skillcue::{SkillRoot, Skillcue, Source};
    ///
    /// let repo = tempfile::tempdir()?;
    /// std::fs::create_dir_all(repo.path().join("vendor/pdf"))?;
    /// std::fs::write(repo.path().join("vendor/pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n")?;
    /// let plugin = SkillRoot::new(repo.path().join("vendor"), Source::Plugin);
    /// let skills = Skillcue::builder().root(plugin).checkout(Checkout::new(repo.path())).build()?;
    /// assert!(skills.catalog().get("pdf").unwrap().is_foreign());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checkout(mut self, checkout: Checkout) -> Builder {
        self.checkout = Some(checkout);
        self
    }

    /// Switches skills on and off.
    pub fn enablement(mut self, enablement: Enablement) -> Builder {
        self.enablement = enablement;
        self
    }

    /// Asks each time it looks for skills where else to look, and what is switched on and off, instead of once. Whoever
    /// [watches](Skillcue::watch) asks every few seconds, so that a long-running host hears of what was installed
    /// and enabled.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use skillcue::{SkillRoot, Setup, Skillcue, Source};
    ///
    /// let dir = tempfile::tempdir()?;
    /// std::fs::create_dir(dir.path().join("pdf"))?;
    /// std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n")?;
    /// let installed = Arc::new(AtomicBool::new(false));
    /// let (asked, root) = (Arc::clone(&installed), SkillRoot::new(dir.path(), Source::User));
    /// let builder = Skillcue::builder().setup_by(move || {
    ///     let roots = asked.load(Ordering::Relaxed).then(|| root.clone()).into_iter().collect();
    ///     Setup { roots, ..Setup::default() }
    /// });
    /// let skills = builder.build()?;
    /// assert!(skills.catalog().get("pdf").is_none());
    /// installed.store(true, Ordering::Relaxed);
    /// assert!(skills.refresh().get("pdf").is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn setup_by(mut self, ask: impl Fn() -> Setup + Send + Sync + 'static) -> Builder {
        self.asking = Asking::new(ask);
        self
    }

    /// Looks for further skills inside skills, too.
    pub fn nested(mut self, nested: bool) -> Builder {
        self.nested = nested;
        self
    }

    /// How much is cached, and how large things may get.
    pub fn loader(mut self, config: LoaderConfig) -> Builder {
        self.loader = config;
        self
    }

    /// Sets what models are shown, and how much of it, unless a request says otherwise.
    ///
    /// ```
    /// use skillcue::{DiscloseConfig, Policy, Skillcue};
    ///
    /// let config = DiscloseConfig { policy: Policy::Hint, ..DiscloseConfig::default() };
    /// let skills = Skillcue::builder().disclosure(config).build()?;
    /// # Ok::<(), skillcue::Error>(())
    /// ```
    pub fn disclosure(mut self, config: DiscloseConfig) -> Builder {
        self.disclosure = config;
        self
    }

    /// Sets how messages are matched, unless a request says otherwise. The default is by triggers and by texts.
    pub fn mode(mut self, mode: Mode) -> Builder {
        self.mode = mode;
        self
    }

    /// Adds tools to those that models are given.
    pub fn tools(mut self, provider: Arc<dyn ToolProvider>) -> Builder {
        self.providers.push(provider);
        self
    }

    /// Holds the bodies of some skills back from disclosure, as those of remote skills are: a message that calls for one
    /// names it, with how to load it. For hosts that ask a person before the model reads what nobody has looked at; the
    /// question is asked again for every skill that would be shown.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf-tools"))?;
    /// # let text = "---\nname: pdf-tools\ndescription: Reads PDF.\nmetadata:\n  triggers: [pdf]\n---\nUse pdftotext.\n";
    /// # std::fs::write(dir.path().join("pdf-tools/SKILL.md"), text)?;
    /// use skillcue::Skillcue;
    ///
    /// let skills = Skillcue::builder().skills_dir(dir.path()).hold_back(|skill| skill.name() == "pdf-tools").build()?;
    /// let shown = skills.disclose("open report.pdf").turn;
    /// assert!(shown.contains("`load_skill`") && !shown.contains("pdftotext"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hold_back(mut self, is_held: impl Fn(&Skill) -> bool + Send + Sync + 'static) -> Builder {
        self.held = Held(Some(Arc::new(is_held)));
        self
    }

    /// Has tools that failed say what to do in the words of a front end, where it has better ones than the library:
    /// commands that the user can type.
    ///
    /// ```
    /// use skillcue::{Error, Skillcue};
    ///
    /// let disabled = Error::Disabled { name: "pdf".to_owned() };
    /// let skills = Skillcue::builder().build()?;
    /// assert_eq!(skills.explain_error(&disabled), "The skill \"pdf\" is disabled. Enable it first.");
    ///
    /// let skills = Skillcue::builder()
    ///     .hints(|error| match error.downcast_ref()? {
    ///         Error::Disabled { name } => Some(format!("type `/enable {name}`")),
    ///         _ => None,
    ///     })
    ///     .build()?;
    /// assert_eq!(skills.explain_error(&disabled), "The skill \"pdf\" is disabled. Type `/enable pdf`.");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn hints(mut self, hints: Hints) -> Builder {
        self.hints = Some(hints);
        self
    }

    /// Lets the skills of a remote server join the catalog.
    pub fn remote(mut self, server: Arc<dyn Remote>) -> Builder {
        self.remotes.push(server);
        self
    }

    /// How skills will be looked for.
    pub fn discovery(&self) -> Discovery {
        let mut discovery =
            Discovery::new(self.roots.iter().cloned()).enablement(self.enablement.clone()).nested(self.nested);
        if let Some(file) = &self.cache {
            discovery = discovery.cache(file);
        }
        if let Some(dirs) = &self.search_path {
            discovery = discovery.search_path(dirs.iter().cloned());
        }
        let of_project = || {
            let checkout = Checkout::new(self.project.as_ref()?);
            Some(match &self.home {
                Some(home) => checkout.of_user(home),
                None => checkout,
            })
        };
        if let Some(checkout) = self.checkout.clone().or_else(of_project) {
            discovery = discovery.checkout(checkout);
        }
        discovery
    }

    /// Looks for skills. What is wrong with them is among the catalog's diagnostics. Fails only if the configuration of
    /// [`disclosure`](Builder::disclosure) cannot be followed.
    ///
    /// ```
    /// use skillcue::{DiscloseConfig, Skillcue};
    ///
    /// let config = DiscloseConfig { catalog_share: 2.0, ..DiscloseConfig::default() };
    /// let error = Skillcue::builder().disclosure(config).build().unwrap_err();
    /// assert_eq!(error.to_string(), "`catalog_share` must be a number from 0 to 1, not 2");
    /// ```
    pub fn build(self) -> Result<Skillcue, Error> {
        let disclosing = Disclosing::new(self.disclosure.clone())?;
        let discovery = self.discovery();
        let kept = self.cache.as_deref().map(|cache| Kept::beside(cache, &self.roots));
        let (asked, _) = asked(&discovery, &self.asking);
        let catalog = Arc::new(asked.remote(listed(&self.remotes)).run());
        let snapshot = ArcSwap::from_pointee(Snapshot::new(catalog, disclosing.clone(), kept.clone()));
        let (providers, remotes) = (self.providers, self.remotes);
        Ok(Skillcue {
            discovery,
            asking: self.asking,
            snapshot,
            loader: Loader::new(self.loader),
            disclosing,
            mode: self.mode,
            kept,
            memory: Mutex::default(),
            #[cfg(feature = "watch")]
            roots: self.roots.into_iter().map(|root| root.path).collect(),
            providers,
            remotes,
            held: self.held,
            hints: self.hints,
        })
    }
}

impl Skillcue {
    /// Starts with nothing.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The skills as they were when last looked at.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.snapshot.load().catalog)
    }

    /// Looks again, and lets later calls see what changed. Calls under way go on with what they have, and none waits:
    /// what had been made of the old catalog is made of the new one before that is swapped in. If nothing changed the old
    /// one stays. [`Changes::between`] says what did. From the second time on only files that changed are read.
    pub fn refresh(&self) -> Arc<Catalog> {
        self.look_again(None).new
    }

    /// The same. `touched`: only there something has happened since the last time, as somebody knows who watches.
    pub(crate) fn look_again(&self, touched: Option<&BTreeSet<PathBuf>>) -> CatalogSwap {
        // Of two that refresh at once, the one that looked first must not have the last word.
        let mut memory = skillcue_base::lock(&self.memory);
        let (discovery, moved) = asked(&self.discovery, &self.asking);
        if moved {
            // What is remembered belongs to the roots there were.
            *memory = DiscoveryState::default();
        }
        let touched = touched.filter(|_| !moved);
        let catalog = Arc::new(discovery.remote(listed(&self.remotes)).run_again(&mut memory, touched));
        let snapshot = self.snapshot.load();
        let old = Arc::clone(&snapshot.catalog);
        let changes = Changes::between(&old, &catalog);
        if changes.is_empty() {
            return CatalogSwap { new: Arc::clone(&old), old, changes };
        }
        let fresh = Snapshot::new(Arc::clone(&catalog), self.disclosing.clone(), self.kept.clone());
        if snapshot.is_indexed() {
            fresh.prepare(self.mode);
        }
        if snapshot.has_bodies() {
            fresh.index_bodies();
        }
        self.snapshot.store(Arc::new(fresh));
        CatalogSwap { old, new: catalog, changes }
    }

    /// Makes what the first message would have to wait for.
    pub fn prepare(&self) {
        self.snapshot.load().prepare(self.mode);
    }

    /// Reads the bodies of all skills and ranks by them, too, from now on: what an earlier start has read is taken from
    /// the index cache. Until it is done, ranking works without them. Returns how many were read.
    ///
    /// Skills are ranked by their bodies in [`Mode::Hybrid`] only.
    pub fn index_bodies(&self) -> usize {
        self.snapshot().index_bodies()
    }

    /// The same on a thread of its own.
    pub fn index_bodies_in_background(&self) -> std::io::Result<std::thread::JoinHandle<usize>> {
        let snapshot = self.snapshot();
        std::thread::Builder::new().name("skillcue-bodies".to_owned()).spawn(move || snapshot.index_bodies())
    }

    /// Whether messages have been matched with the catalog as it is, so that no message waits for an index.
    pub fn is_indexed(&self) -> bool {
        self.snapshot.load().is_indexed()
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    pub(crate) fn loads(&self) -> &Loader {
        &self.loader
    }

    /// How messages are matched unless a request says otherwise.
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether a skill has that name, and if not, why it cannot be had.
    pub fn known(&self, address: &str) -> Result<(), Error> {
        known(&self.catalog(), address).map(drop)
    }

    /// Level 2: a skill's body with its arguments. `address` is a name, `name@source` or `plugin:name`.
    pub fn load(&self, address: &str, request: &LoadRequest<'_>) -> Result<Loaded, Error> {
        let catalog = self.catalog();
        self.load_skill(usable(&catalog, address)?, request)
    }

    /// Level 2 in the envelope in which a model gets it, with what a session should remember. A person may load what
    /// hides from models.
    pub fn load_envelope(&self, address: &str, request: &LoadRequest<'_>) -> Result<ToolOutput, Error> {
        let catalog = self.catalog();
        crate::tools::enveloped(self, usable(&catalog, address)?, address, request)
    }

    /// The headings of a skill's body, with what each costs.
    pub fn outline(&self, address: &str) -> Result<Outline, Error> {
        let catalog = self.catalog();
        let skill = usable(&catalog, address)?;
        match self.served(skill)? {
            Some(served) => Ok(Outline::new(body_of(&served.text()?))),
            None => Ok(self.loader.outline(&skill.body_file())?),
        }
    }

    /// Level 3: the files of a skill.
    pub fn files(&self, address: &str) -> Result<FileListing, Error> {
        let catalog = self.catalog();
        self.list_files(known(&catalog, address)?)
    }

    /// Level 3: one text file of a skill. No path leads out of its directory.
    pub fn read(&self, address: &str, path: &str) -> Result<String, Error> {
        let bytes = self.read_bytes(address, path)?;
        String::from_utf8(bytes).map_err(|error| FileError::not_text(address, path, &error).into())
    }

    /// Level 3: one file of a skill, text or not.
    pub fn read_bytes(&self, address: &str, path: &str) -> Result<Vec<u8>, Error> {
        let catalog = self.catalog();
        self.read_file(known(&catalog, address)?, path)
    }

    pub(crate) fn load_skill(&self, skill: &Skill, request: &LoadRequest<'_>) -> Result<Loaded, Error> {
        match self.served(skill)? {
            Some(served) => self.load_served(skill, &served, body_of(&served.text()?), request),
            None => Ok(self.loader.load(&skill.body_file(), request)?),
        }
    }

    /// Like `load_skill`, with what a disclosure would show of the same body, which is what a session compares with.
    pub(crate) fn load_with_plain(
        &self,
        skill: &Skill,
        request: &LoadRequest<'_>,
    ) -> Result<(Loaded, Option<Arc<str>>), Error> {
        let Some(served) = self.served(skill)? else {
            return Ok(self.loader.load_with_plain(&skill.body_file(), request)?);
        };
        let text = served.text()?;
        let plain = LoadRequest { form: Form::Processed, arguments: "", ..request.clone() };
        let loaded = self.load_served(skill, &served, body_of(&text), request)?;
        Ok((loaded, self.load_served(skill, &served, body_of(&text), &plain).ok().map(|plain| plain.content)))
    }

    fn load_served(
        &self,
        skill: &Skill,
        served: &Served<'_>,
        body: &str,
        request: &LoadRequest<'_>,
    ) -> Result<Loaded, Error> {
        let base = format!(
            "{} (served by the MCP server \"{}\"; `read_skill_file` reads its files)",
            served.entry.root(),
            served.remote.label()
        );
        Ok(self.loader.load_text(skill.name(), &base, body, request)?)
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

    /// Who serves a skill that is not on this machine.
    pub(crate) fn served(&self, skill: &Skill) -> Result<Option<Served<'_>>, Error> {
        skill.server().map(|server| Served::of(&self.remotes, server, skill)).transpose()
    }

    /// The tools that models are given, for a session that has loaded these skills.
    pub fn tools(&self, loaded: &[String]) -> Vec<ToolDefinition> {
        let mut tools: Vec<ToolDefinition> = TABLE.iter().map(Tool::definition).collect();
        tools.extend(self.providers.iter().flat_map(|provider| provider.definitions(self, loaded)));
        tools
    }

    /// Whether a session that has loaded this skill, which has these files, may have other tools for it. Runs nothing.
    pub fn brings_tools(&self, skill: &str, files: &FileListing) -> bool {
        self.providers.iter().any(|provider| provider.brings(self, skill, files))
    }

    /// What a call of a tool would run, for hosts that ask a person first. Nothing, if it only looks.
    pub fn runs(&self, call: &Call, loaded: &[String]) -> Option<Program> {
        if TABLE.iter().any(|tool| tool.name == call.name()) {
            return None;
        }
        self.providers.iter().find_map(|provider| provider.runs(self, call, loaded))
    }

    /// Whether a skill's body is held back from disclosure: see [`Builder::hold_back`].
    pub fn holds_back(&self, name: &str) -> bool {
        self.catalog().get(name).is_some_and(|skill| self.held.holds(skill))
    }

    /// Calls a tool. Nothing if there is none of that name; whatever else goes wrong is in the output.
    pub fn call_tool(&self, call: &Call, context: &ToolContext<'_>) -> Option<ToolOutput> {
        if let Some(tool) = TABLE.iter().find(|tool| tool.name == call.name()) {
            return Some(tool.call(self, call, context));
        }
        self.providers.iter().find_map(|provider| provider.call(self, call, context))
    }

    /// The server that serves a skill, and what it lists of it; nothing if the skill is on this machine.
    pub fn remote_entry(&self, address: &str) -> Result<Option<(String, Arc<RemoteEntry>)>, Error> {
        let catalog = self.catalog();
        let served = self.served(known(&catalog, address)?)?;
        Ok(served.map(|served| (served.remote.label().to_owned(), served.entry)))
    }

    /// Returns what to do about an error: what the front end says ([`Builder::hints`]), or else the error itself.
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

    /// How well the cache of loaded bodies serves.
    pub fn cache_stats(&self) -> CacheStats {
        self.loader.stats()
    }

    /// What loaded bodies take in memory, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.loader.held_bytes()
    }

    /// Forgets loaded bodies, of one skill or of all, and says how many.
    pub fn clear_cache(&self, skill: Option<&str>) -> usize {
        self.loader.clear(skill)
    }
}

/// The catalog before a refresh and after it, and what happened between them.
#[cfg_attr(not(feature = "watch"), expect(dead_code, reason = "only who watches asks what has changed"))]
pub(crate) struct CatalogSwap {
    pub(crate) old: Arc<Catalog>,
    /// The same, if nothing changed.
    pub(crate) new: Arc<Catalog>,
    pub(crate) changes: Changes,
}

/// The skill of that name, whether it may be used or not.
pub(crate) fn known<'c>(catalog: &'c Catalog, address: &str) -> Result<&'c Skill, Error> {
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

/// The same, with the set-up by now; and whether that has other roots than the last time.
fn asked(discovery: &Discovery, asking: &Asking) -> (Discovery, bool) {
    let discovery = discovery.clone();
    match asking.now() {
        Some((Setup { roots, enablement }, moved)) => (discovery.and_roots(roots).enablement(enablement), moved),
        None => (discovery, false),
    }
}

/// The skill of that name, if it may be used.
pub fn usable<'c>(catalog: &'c Catalog, address: &str) -> Result<&'c Skill, Error> {
    let skill = known(catalog, address)?;
    if !skill.enabled() {
        return Err(Error::Disabled { name: address.to_owned() });
    }
    if !skill.available() {
        let requires = skill.manifest().requires().map(str::to_owned).collect();
        return Err(Error::Unavailable { name: address.to_owned(), requires });
    }
    Ok(skill)
}

fn dir(skill: &Skill) -> Result<SkillDir, Error> {
    Ok(SkillDir::open(skill.name(), &skill.dir())?)
}
