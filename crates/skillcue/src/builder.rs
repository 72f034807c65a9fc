//! [`Builder`]: the set-up of a [`Skillcue`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skillcue_catalog::{
    Checkout, Discovery, Enablement, PolicyGate, Skill, SkillRoot, Source, project_roots, user_roots,
};
use skillcue_disclose::{DiscloseConfig, UseCounts};
use skillcue_load::LoaderConfig;
use skillcue_select::Mode;

use crate::feedback::SkillFeedback;
use crate::judge::Judge;
use crate::meaning::SentenceVectors;
use crate::remote::Remote;
use crate::setup::{Setup, SetupProvider};
use crate::tools::ToolProvider;
use crate::usage::UsageSink;
use crate::{Error, Hints, Skillcue};

/// A set-up: where to look for skills, and what to do with them. No directory is looked at that is not named here.
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
    pub(crate) roots: Vec<SkillRoot>,
    pub(crate) cache: Option<PathBuf>,
    search_path: Option<Vec<PathBuf>>,
    enablement: Enablement,
    pub(crate) setup_provider: SetupProvider,
    nested: bool,
    pub(crate) loader: LoaderConfig,
    pub(crate) disclosure: DiscloseConfig,
    pub(crate) mode: Mode,
    pub(crate) matches: Option<usize>,
    pub(crate) judge: Option<Arc<dyn Judge>>,
    pub(crate) sentence_model: Option<Arc<dyn SentenceVectors>>,
    pub(crate) providers: Vec<Arc<dyn ToolProvider>>,
    pub(crate) remotes: Vec<Arc<dyn Remote>>,
    pub(crate) held: HoldBackRule,
    pub(crate) stand_in: StandInRule,
    pub(crate) hints: Option<Hints>,
    pub(crate) usage: Option<Arc<dyn UsageSink>>,
    pub(crate) feedback: BTreeMap<String, SkillFeedback>,
    pub(crate) uses: Option<UseCounts>,
    checkout: Option<Checkout>,
    policy: Option<Arc<PolicyGate>>,
    /// The project and the home directory that were named: they say what a checkout is, unless [`Builder::checkout`]
    /// does.
    project: Option<PathBuf>,
    home: Option<PathBuf>,
    pub(crate) touch_dir: Option<PathBuf>,
}

impl Builder {
    /// Looks below a directory, or at a single skill's; its skills come before all others.
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

    /// Keeps the index of skills in this file, for a faster second start.
    pub fn index_cache(mut self, file: impl Into<PathBuf>) -> Builder {
        self.cache = Some(file.into());
        self
    }

    /// Sets where programs that skills require are looked for: the directories of `PATH`, usually.
    pub fn search_path(mut self, dirs: impl IntoIterator<Item = PathBuf>) -> Builder {
        self.search_path = Some(dirs.into_iter().collect());
        self
    }

    /// Sets the directory that is a checkout, so that skills inside count as foreign by whatever root they are found:
    /// see [`Skill::is_foreign`].
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

    /// Sets the organisation's policy. It only tightens: a skill that it refuses is listed as closed, and no surface shows,
    /// loads or runs it, whatever else is enabled or allowed.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use skillcue::Skillcue;
    /// use skillcue::catalog::{OrgPolicy, PolicyGate};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf"))?;
    /// # std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n")?;
    /// let policy = OrgPolicy::parse(b"[sources]\nallow = ['bundled']\n", "policy.toml")?;
    /// let skills = Skillcue::builder().skills_dir(dir.path()).policy(Arc::new(PolicyGate::new(policy, None))).build()?;
    /// let error = skills.load("pdf", &Default::default()).unwrap_err();
    /// assert!(error.to_string().contains("closed by the policy policy.toml: its source is not allowed: inline"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn policy(mut self, gate: Arc<PolicyGate>) -> Builder {
        self.policy = Some(gate);
        self
    }

    /// Switches skills on and off.
    pub fn enablement(mut self, enablement: Enablement) -> Builder {
        self.enablement = enablement;
        self
    }

    /// Sets a function that returns further roots, and what is switched on and off. It is called before each look for
    /// skills, and every few seconds while [watching](Skillcue::watch), so that a long-running host notices what was
    /// installed and enabled.
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
        self.setup_provider = SetupProvider::new(ask);
        self
    }

    /// Sets whether to look for further skills inside skills.
    pub fn nested(mut self, nested: bool) -> Builder {
        self.nested = nested;
        self
    }

    /// Sets how much is cached, and how large bodies may be.
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

    /// Sets how many selections the match cache keeps: 256 by default, none at 0. A message that comes again, with the
    /// same files, options and history, costs a look-up.
    pub fn match_cache(mut self, selections: usize) -> Builder {
        self.matches = Some(selections);
        self
    }

    /// Sets a [judge](crate::select::Judge), which chooses among the first skills of every selection that is not clear without it.
    /// Selecting, searching and disclosing wait for it.
    pub fn judge(mut self, judge: Arc<dyn Judge>) -> Builder {
        self.judge = Some(judge);
        self
    }

    /// Sets the sentence model with which skills are found by meaning, in [`Mode::Semantic`], and in [`Mode::Hybrid`] once
    /// [`Skillcue::embed_skills`] has made the vectors of the skills. [`SentenceVectors`] has an example.
    pub fn sentence_model(mut self, model: Arc<dyn SentenceVectors>) -> Builder {
        self.sentence_model = Some(model);
        self
    }

    /// Adds tools to those that models are given.
    pub fn tools(mut self, provider: Arc<dyn ToolProvider>) -> Builder {
        self.providers.push(provider);
        self
    }

    /// Holds the bodies of some skills back from disclosure, as those of remote skills are: for a message that calls
    /// for one, the disclosure names it, with how to load it. For hosts that ask a person before the model reads
    /// content that no person has looked at. `is_held` is called again for every skill that would be shown.
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
        self.held = HoldBackRule(Some(Arc::new(is_held)));
        self
    }

    /// Sets the text that is shown in place of some skills' bodies: of those for which the function returns one. It gets the
    /// body, and whether [`hold_back`](Builder::hold_back) holds it. For hosts that cannot show every body as it is.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # std::fs::create_dir(dir.path().join("pdf-tools"))?;
    /// # let text = "---\nname: pdf-tools\ndescription: Reads PDF.\nmetadata:\n  triggers: [pdf]\n---\nUse pdftotext.\n";
    /// # std::fs::write(dir.path().join("pdf-tools/SKILL.md"), text)?;
    /// use skillcue::Skillcue;
    ///
    /// let builder = Skillcue::builder().skills_dir(dir.path());
    /// let skills = builder.stand_in(|skill, _, _| Some(format!("Read {}.", skill.path().display()))).build()?;
    /// assert!(skills.disclose("open report.pdf").turn.ends_with("pdf-tools/SKILL.md."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stand_in(mut self, text: impl Fn(&Skill, &str, bool) -> Option<String> + Send + Sync + 'static) -> Builder {
        self.stand_in = StandInRule(Some(Arc::new(text)));
        self
    }

    /// Sets hints of a front end, for what tools say when they fail, where they are better than the library's: commands
    /// that the user can type.
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

    /// Sets the receiver of [events of use](crate::usage): what is shown, loaded, read and run. [`UsageSink`] has an example.
    pub fn usage(mut self, sink: Arc<dyn UsageSink>) -> Builder {
        self.usage = Some(sink);
        self
    }

    /// Sets what the use of skills so far does to their rank, by their names: see [`SkillFeedback`](crate::select::SkillFeedback).
    /// It shifts the order and may keep a skill from being shown, but never lifts one over a threshold, and never changes the
    /// stable part.
    pub fn feedback(mut self, by_skill: BTreeMap<String, SkillFeedback>) -> Builder {
        self.feedback = by_skill;
        self
    }

    /// Sets a function that returns how often skills were used, by name: in lists that have to be shortened, the descriptions of
    /// those that are used more stay longer. It is asked once for each generation of the catalog, and the answer is kept beside
    /// the [index cache](Builder::index_cache), so that lists stay as they are; without a cache it does not count.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use skillcue::disclose::UseCounts;
    /// use skillcue::{DiscloseConfig, Policy, Request, Skillcue};
    ///
    /// let dir = tempfile::tempdir()?;
    /// for name in ["apples", "pears"] {
    ///     let text = format!("---\nname: {name}\ndescription: {}\n---\n", format!("Sells {name}. ").repeat(60));
    ///     std::fs::create_dir_all(dir.path().join("skills").join(name))?;
    ///     std::fs::write(dir.path().join("skills").join(name).join("SKILL.md"), text)?;
    /// }
    /// let config = DiscloseConfig { policy: Policy::Catalog, catalog_share: 0.0018, ..DiscloseConfig::default() };
    /// let builder = Skillcue::builder().skills_dir(dir.path().join("skills")).disclosure(config);
    /// let counts = UseCounts::new(|| Some(BTreeMap::from([("pears".to_owned(), 9)])));
    /// let skills = builder.index_cache(dir.path().join("cache/index")).list_by_use(counts).build()?;
    /// let stable = skills.disclose(Request::new("hello")).stable;
    /// let sentences = |name: &str| stable.matches(&format!("Sells {name}.")).count();
    /// assert!(sentences("pears") > sentences("apples"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_by_use(mut self, counts: UseCounts) -> Builder {
        self.uses = Some(counts);
        self
    }

    /// Lets the skills of a remote server join the catalog.
    pub fn remote(mut self, server: Arc<dyn Remote>) -> Builder {
        self.remotes.push(server);
        self
    }

    /// Sets the directory below which the parts of a project have skills of their own, which [`Skillcue::touch`] adds.
    pub fn touch_below(mut self, dir: impl Into<PathBuf>) -> Builder {
        self.touch_dir = Some(dir.into());
        self
    }

    /// Returns the discovery that will look for skills.
    pub fn discovery(&self) -> Discovery {
        let mut discovery =
            Discovery::new(self.roots.iter().cloned()).enablement(self.enablement.clone()).nested(self.nested);
        if let Some(file) = &self.cache {
            discovery = discovery.cache(file);
        }
        if let Some(dirs) = &self.search_path {
            discovery = discovery.search_path(dirs.iter().cloned());
        }
        if let Some(gate) = &self.policy {
            discovery = discovery.policy(Arc::clone(gate));
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

    /// Looks for skills. Problems of skills are among the catalog's diagnostics. Fails only if the configuration of
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
        Skillcue::of_builder(self)
    }
}

/// The rule that says which skills' bodies are held back from disclosure.
#[derive(Clone, Default)]
pub(crate) struct HoldBackRule(Option<Arc<HoldBackPredicate>>);

type HoldBackPredicate = dyn Fn(&Skill) -> bool + Send + Sync;

impl HoldBackRule {
    pub(crate) fn holds(&self, skill: &Skill) -> bool {
        self.0.as_ref().is_some_and(|is_held| is_held(skill))
    }
}

/// The rule that says which text is shown in place of a body.
#[derive(Clone, Default)]
pub(crate) struct StandInRule(Option<Arc<StandInText>>);

type StandInText = dyn Fn(&Skill, &str, bool) -> Option<String> + Send + Sync;

impl StandInRule {
    pub(crate) fn text(&self, skill: &Skill, body: &str, is_held: bool) -> Option<Arc<str>> {
        self.0.as_ref().and_then(|text| text(skill, body, is_held)).map(Arc::from)
    }
}

impl fmt::Debug for StandInRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StandInRule").field(&self.0.is_some()).finish()
    }
}

impl fmt::Debug for HoldBackRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HoldBackRule").field(&self.0.is_some()).finish()
    }
}
