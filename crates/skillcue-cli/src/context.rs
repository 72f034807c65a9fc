//! The context of a command: where to write, which options were given, and the host with its skills.
//!
//! Over 500 lines: the one context of all commands.

mod template;

use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use skillcue::catalog::touched_roots;
use skillcue::config::{DiscloseSection, SentenceModelUse};
use skillcue::format::Severity;
use skillcue::select::Judge;
use skillcue::{Diagnostic, ErrorInfo as _, Mode, SkillRoot, Skillcue};
use skillcue_exec::Runner;
use skillcue_host::{Environment, Host, HostOverrides, HostPrograms, Registries, Settings};
use skillcue_mcp::host::McpHost as Servers;
use skillcue_usage::LedgerSink;

use crate::cli::Global;
use crate::diagnostics;
use crate::error::CliError;
use crate::hints;
use crate::printed_warnings::PrintedWarnings;
use crate::progress::ProgressIndicator;
use crate::signals::on_signal;
use crate::terminal::{Terminal, paint, style};
use crate::text;

pub(crate) use template::ContextTemplate;

/// Whether a signal is about to end the process.
static SIGNALLED: AtomicBool = AtomicBool::new(false);

/// Up to so many skills have their bodies read before an answer that ranks by them.
const MAX_INDEXED_FIRST: usize = 1_000;

/// How long the end of a command waits until events of use are written.
const MAX_LEDGER_WAIT: Duration = Duration::from_millis(500);

/// How long a command waits for servers whose listing is stale. One that fails is then not asked for a minute.
const MAX_SERVERS_WAIT: Duration = Duration::from_secs(3);
/// How long a command waits for newer generations of catalogs, and how long if there is none yet.
#[cfg(feature = "fleet")]
const MAX_CATALOG_WAIT: Duration = Duration::from_secs(2);
#[cfg(feature = "fleet")]
const MAX_FIRST_CATALOG_WAIT: Duration = Duration::from_mins(5);

/// The context of a command: where to write, which options were given, and the host, which finds the skills when a
/// command first needs them.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) terminal: Terminal,
    global: Global,
    host: OnceCell<Host>,
    /// Whether problems of the configured servers were printed.
    has_printed_problems: Cell<bool>,
    /// Whether expired catalogs were printed.
    #[cfg(feature = "fleet")]
    has_printed_expiries: Cell<bool>,
    /// Whether the command itself ends its child processes when a signal comes.
    #[cfg(feature = "agent")]
    handles_signals_itself: Cell<bool>,
    /// The command's change to the builder of the skills.
    shape: BuilderHook,
    /// The judge that chooses among the first skills.
    judge: OnceCell<Arc<dyn Judge>>,
    /// Roots of parts of the project that the turn touches.
    nested: OnceCell<Vec<SkillRoot>>,
    /// The receiver of events of use, if they are recorded.
    usage: OnceCell<LedgerSink>,
    /// The directory of skills that are only tried.
    trial: OnceCell<PathBuf>,
}

/// A change that a command makes to the builder of the skills.
#[derive(Default)]
struct BuilderHook(OnceCell<Box<Shaping>>);

type Shaping = dyn Fn(skillcue::Builder) -> skillcue::Builder;

impl std::fmt::Debug for BuilderHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("BuilderHook").field(&self.0.get().is_some()).finish()
    }
}

impl Context {
    pub(crate) fn new(terminal: Terminal, global: Global) -> Context {
        Context {
            terminal,
            global,
            host: OnceCell::new(),
            has_printed_problems: Cell::new(false),
            #[cfg(feature = "fleet")]
            has_printed_expiries: Cell::new(false),
            #[cfg(feature = "agent")]
            handles_signals_itself: Cell::new(false),
            shape: BuilderHook::default(),
            judge: OnceCell::new(),
            nested: OnceCell::new(),
            usage: OnceCell::new(),
            trial: OnceCell::new(),
        }
    }

    /// Looks below `dir` before all other directories, and keeps no index of what is there. To be called before the first
    /// use of the host's skills.
    pub(crate) fn try_skills_below(&self, dir: PathBuf) {
        let _ = self.trial.set(dir);
    }

    /// Returns the assembly over the environment of this process.
    pub(crate) fn host(&self) -> Result<&Host, CliError> {
        if let Some(host) = self.host.get() {
            return Ok(host);
        }
        let environment = Environment::new(std::env::current_dir().ok(), std::env::vars_os().collect())?;
        Ok(self.host.get_or_init(|| Host::open(environment, self.overrides())))
    }

    /// Returns an assembly of its own for the hook of another agent, which works in `cwd`.
    pub(crate) fn hook_host(&self, cwd: Option<PathBuf>) -> Result<Host, CliError> {
        let cwd = cwd.filter(|dir| dir.is_dir()).or_else(|| std::env::current_dir().ok());
        let environment = Environment::new(cwd, std::env::vars_os().collect())?;
        Ok(Host::open(environment, HostOverrides { no_bundled: true, ..self.overrides() }))
    }

    fn overrides(&self) -> HostOverrides {
        HostOverrides {
            skills_dirs: self.trial.get().into_iter().chain(&self.global.skills_dir).cloned().collect(),
            config: self.global.config.clone(),
            isolated: self.global.isolated,
            no_cache: self.global.no_cache || self.trial.get().is_some(),
            ..HostOverrides::default()
        }
    }

    /// Changes the builder of the skills. To be called before the first use of the skills.
    pub(crate) fn shape_skills(&self, shape: impl Fn(skillcue::Builder) -> skillcue::Builder + 'static) {
        let _ = self.shape.0.set(Box::new(shape));
    }

    /// Sets the judge that chooses among the first skills. To be called before the first use of the skills.
    pub(crate) fn set_judge(&self, judge: Arc<dyn Judge>) {
        let _ = self.judge.set(judge);
    }

    /// Adds the skills of the parts of the project that these files are in. To be called before the first use of the
    /// skills.
    pub(crate) fn touch(&self, files: &[String]) -> Result<(), CliError> {
        let environment = self.environment()?;
        if let Some(cwd) = environment.cwd.as_deref().filter(|_| !files.is_empty()) {
            let roots = if self.isolated()? { Vec::new() } else { touched_roots(cwd, files.iter().map(Path::new)) };
            let _ = self.nested.set(roots);
        }
        Ok(())
    }

    fn shaped(&self, builder: skillcue::Builder) -> skillcue::Builder {
        let mut builder = builder.hints(hints::for_models).roots(self.nested.get().into_iter().flatten().cloned());
        if let Some(judge) = self.judge.get() {
            builder = builder.judge(Arc::clone(judge));
        }
        // Later turns of a conversation touch further files.
        if let (Ok(false), Some(cwd)) =
            (self.isolated(), self.host.get().and_then(|host| host.environment().cwd.clone()))
        {
            builder = builder.touch_below(cwd);
        }
        if let Some(sink) = self.usage.get() {
            builder = builder.usage(Arc::new(sink.clone()));
        }
        match self.shape.0.get() {
            Some(shape) => shape(builder),
            None => builder,
        }
    }

    /// Records what happens to skills, as done by `client`, unless the user does not want it. To be called before the first
    /// use of the skills.
    pub(crate) fn record_usage(&self, client: &str) -> Result<(), CliError> {
        if let Some(sink) = self.host()?.usage_sink(client)? {
            let _ = self.usage.set(sink);
        }
        Ok(())
    }

    /// Declares that the command itself ends its child processes when a signal comes. To be called before the first use
    /// of the skills.
    #[cfg(feature = "agent")]
    pub(crate) fn handle_signals_itself(&self) {
        self.handles_signals_itself.set(true);
    }

    fn closes_on_signals(&self) -> bool {
        #[cfg(feature = "agent")]
        return !self.handles_signals_itself.get();
        #[cfg(not(feature = "agent"))]
        true
    }

    /// Returns whether the result is for programs.
    pub(crate) fn json(&self) -> bool {
        self.global.json
    }

    /// Returns whether more is to be said.
    pub(crate) fn verbose(&self) -> bool {
        self.global.verbose > 0
    }

    /// Returns whether only the named directories are searched for skills.
    pub(crate) fn isolated(&self) -> Result<bool, CliError> {
        Ok(self.host()?.is_isolated())
    }

    pub(crate) fn environment(&self) -> Result<&Environment, CliError> {
        Ok(self.host()?.environment())
    }

    /// Returns the effective settings. Their notices are printed on first use.
    pub(crate) fn settings(&self) -> Result<&Settings, CliError> {
        let is_new = self.host()?.known_settings().is_none();
        let settings = self.quiet_settings()?;
        for notice in settings.notices.iter().filter(|_| is_new) {
            self.warn(notice);
        }
        Ok(settings)
    }

    /// Prints a finding as a warning, on one line with its path.
    pub(crate) fn warn(&self, found: &Diagnostic) {
        let place = found.path.as_deref().map_or(String::new(), |path| format!("{}: ", self.short_path(path)));
        let help = hints::hint_of(found).unwrap_or_default();
        self.terminal.warn(found.code.as_str(), &format!("{place}{}", found.message), &help);
    }

    /// Like `settings`, without printing.
    pub(crate) fn quiet_settings(&self) -> Result<&Settings, CliError> {
        Ok(self.host()?.settings()?)
    }

    /// Like `quiet_settings`, but a file that cannot be used becomes a notice. To be called before the settings are
    /// read.
    pub(crate) fn lenient_settings(&self) -> Result<&Settings, CliError> {
        Ok(self.host()?.lenient_settings()?)
    }

    /// Returns the configured servers, if there are any. Problems of servers that cannot be used are printed on first
    /// use.
    pub(crate) fn servers(&self) -> Result<Option<&Servers>, CliError> {
        self.settings()?;
        let host = self.host()?;
        let servers = host.servers()?;
        if !self.has_printed_problems.replace(true) {
            host.server_problems()?.iter().chain(host.catalog_problems()?).for_each(|found| self.warn(found));
        }
        Ok(servers)
    }

    /// Asks catalogs that were not asked lately. A command that has a generation to work with waits for a moment only.
    #[cfg(feature = "fleet")]
    fn refresh_catalogs(&self) -> Result<(), CliError> {
        // What the configuration files may not do is said first.
        self.servers()?;
        let Some(catalogs) = self.host()?.catalogs()? else { return Ok(()) };
        let is_first = !catalogs.have_generations();
        let progress = ProgressIndicator::spinner("asking catalogs");
        let refreshed = catalogs.refresh_stale(if is_first { MAX_FIRST_CATALOG_WAIT } else { MAX_CATALOG_WAIT });
        drop(progress);
        let has_failed = refreshed.iter().any(|refreshed| refreshed.outcome.is_err());
        if has_failed || is_first || self.verbose() {
            catalogs.diagnostics().iter().for_each(|found| self.warn(found));
            self.has_printed_expiries.set(true);
        }
        Ok(())
    }

    /// Prints the catalogs that have expired, whether or not their stores were asked: each command that has their skills says
    /// so, once.
    #[cfg(feature = "fleet")]
    fn print_expiries(&self) -> Result<(), CliError> {
        if !self.has_printed_expiries.replace(true)
            && let Some(catalogs) = self.host()?.catalogs()?
        {
            catalogs.expiries().iter().for_each(|found| self.warn(found));
        }
        Ok(())
    }

    /// Returns the skills. The first call looks for them, and asks servers whose listing is stale.
    pub(crate) fn skills(&self) -> Result<&Arc<Skillcue>, CliError> {
        #[cfg(feature = "fleet")]
        if self.host()?.known_skills().is_none() {
            self.refresh_catalogs()?;
        }
        if self.host()?.known_skills().is_none()
            && let Some(servers) = self.servers()?
        {
            if self.closes_on_signals() {
                close_on_signal(servers.clone());
            }
            let progress = ProgressIndicator::spinner("asking MCP servers");
            let asked: Vec<String> =
                servers.status().into_iter().filter(|server| server.stale).map(|server| server.label).collect();
            let refreshed = servers.refresh_stale(MAX_SERVERS_WAIT);
            drop(progress);
            for server in refreshed {
                if let Err(why) = server.outcome
                    && (asked.contains(&server.label) || self.verbose())
                {
                    let message = format!("the MCP server {:?} cannot be asked for its skills: {why}", server.label);
                    self.terminal.warn(
                        "mcp_server",
                        &message,
                        "its skills of last time are used; `skillcue status` says more",
                    );
                }
            }
        }
        self.local_skills()
    }

    /// Returns the skills, with what servers listed the last time: none is asked.
    pub(crate) fn local_skills(&self) -> Result<&Arc<Skillcue>, CliError> {
        let host = self.host()?;
        if let Some(skills) = host.known_skills() {
            return Ok(skills);
        }
        self.servers()?;
        #[cfg(feature = "fleet")]
        self.print_expiries()?;
        let progress = ProgressIndicator::spinner("looking for skills");
        let start = Instant::now();
        let skills = host.skills_with(|builder| self.shaped(builder))?;
        drop(progress);
        let effort = skills.catalog().effort();
        tracing::info!(
            skills = skills.catalog().len(),
            read = effort.read,
            from_cache = effort.reused,
            milliseconds = start.elapsed().as_millis(),
            "looked for skills"
        );
        Ok(skills)
    }

    /// Returns the runners of scripts and toolsets. No process is started before something is called.
    pub(crate) fn programs(&self) -> Result<&HostPrograms, CliError> {
        self.settings()?;
        Ok(self.host()?.programs()?)
    }

    /// Returns the registries of the user and of the project.
    pub(crate) fn registries(&self) -> Result<&Registries, CliError> {
        Ok(self.host()?.registries())
    }

    /// Returns whether a person can be asked, and will see the question.
    pub(crate) fn can_ask(&self) -> bool {
        !self.json() && self.terminal.can_ask()
    }

    /// Returns a path relative to the current directory, if it is below.
    pub(crate) fn relative(&self, path: &Path) -> PathBuf {
        let cwd = self.environment().ok().and_then(|environment| environment.cwd.as_deref());
        cwd.and_then(|cwd| path.strip_prefix(cwd).ok()).unwrap_or(path).to_path_buf()
    }

    /// Returns the runner of scripts.
    pub(crate) fn runner(&self, allow_unsandboxed: bool) -> Result<Runner, CliError> {
        Ok(self.programs()?.runner(allow_unsandboxed))
    }

    /// Ends the child processes of this command: programs that serve skills, and toolsets.
    pub(crate) fn close(&self) {
        // A signal's handler is doing it already, and ends the process when it is done.
        while SIGNALLED.load(Ordering::SeqCst) {
            std::thread::park();
        }
        if let Some(sink) = self.usage.get() {
            sink.ledger().flush(MAX_LEDGER_WAIT);
        }
        if let Some(host) = self.host.get() {
            host.close();
        }
    }

    /// Makes the indexes that the first message would wait for, so that their time is not counted as that of the
    /// decision.
    pub(crate) fn prepare(&self, mode: Mode) -> Result<(), CliError> {
        let skills = self.skills()?;
        let progress = ProgressIndicator::spinner("indexing skills");
        // The index over triggers, which no configuration changes.
        skills.census();
        // Few bodies are read before the answer, because that takes no longer than a blink; many after it.
        if mode != Mode::Keyword && skills.catalog().len() <= MAX_INDEXED_FIRST {
            skills.index_bodies();
        }
        drop(progress);
        self.embed_skills(mode)
    }

    /// Fails if messages cannot be matched in a mode, because it needs a sentence model.
    pub(crate) fn check_mode(&self, mode: Mode) -> Result<(), CliError> {
        #[cfg(not(feature = "semantic"))]
        if mode == Mode::Semantic {
            let message = "this program was built without the sentence model, which the mode `semantic` needs";
            let help = format!("{}; then `skillcue model install`. Or use the mode `hybrid`", hints::WITH_SEMANTIC);
            return Err(CliError::failure("no_semantic", message).help(help));
        }
        Ok(self.skills()?.check_mode(mode)?)
    }

    /// Makes the vectors of skills for an answer by meaning. In `hybrid`, only if the settings say so: for one answer,
    /// opening the model takes longer than all the rest.
    fn embed_skills(&self, mode: Mode) -> Result<(), CliError> {
        self.check_mode(mode)?;
        let skills = self.skills()?;
        self.warn_without_model(mode)?;
        let is_asked = self.settings()?.disclose.model == Some(SentenceModelUse::Always);
        let is_used = match mode {
            Mode::Keyword => false,
            Mode::Hybrid => is_asked && skills.sentence_model().is_some(),
            Mode::Semantic => true,
        };
        if !is_used {
            return Ok(());
        }
        let progress = ProgressIndicator::spinner("making vectors of skills");
        let made = skills.embed_skills(&|made, all| {
            let (made, all) = (text::thousands(made), text::count(all, "skill"));
            progress.set_message(format!("making vectors, once: {made} of {all}"));
        });
        drop(progress);
        match made {
            Err(error) if mode != Mode::Semantic => {
                let help = hints::hint_of(&error).unwrap_or_default();
                self.terminal.warn(error.code(), &format!("skills are matched by words alone: {error}"), &help);
                Ok(())
            }
            made => Ok(made.map(drop)?),
        }
    }

    /// Warns if the settings say that the mode `hybrid` always uses the sentence model, and none is installed. One that is
    /// damaged is reported when it is opened.
    #[cfg(feature = "semantic")]
    pub(crate) fn warn_without_model(&self, mode: Mode) -> Result<(), CliError> {
        let is_asked = self.settings()?.disclose.model == Some(SentenceModelUse::Always);
        if mode == Mode::Hybrid && is_asked && self.local_skills()?.sentence_model().is_none() {
            let data = self.environment()?.data_home.as_ref().map(|data| data.join("skillcue"));
            let dir =
                data.map_or("the data directory".to_owned(), |data| self.short_path(&skillcue_model::model_dir(&data)));
            let message = format!(
                "skills are matched by words alone: `model = \"always\"` needs the sentence model, and it is not in {dir}"
            );
            let help = "`skillcue model install` downloads it, once: 22 MB; `model = \"auto\"` does without it";
            self.terminal.warn("no_model", &message, help);
        }
        Ok(())
    }

    /// Warns about nothing: this build uses no sentence model.
    #[cfg(not(feature = "semantic"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "other builds look into the settings")]
    pub(crate) fn warn_without_model(&self, _: Mode) -> Result<(), CliError> {
        Ok(())
    }

    /// Reads the bodies of many skills for the next time, after the answer is out. There is no next time without the
    /// index cache.
    pub(crate) fn index_bodies(&self, mode: Mode) -> Result<(), CliError> {
        let skills = self.skills()?;
        if mode != Mode::Keyword && skills.catalog().len() > MAX_INDEXED_FIRST && self.cached() {
            self.terminal.flush()?;
            let progress = ProgressIndicator::spinner("indexing bodies for the next time");
            skills.index_bodies();
            drop(progress);
        }
        Ok(())
    }

    fn cached(&self) -> bool {
        self.host.get().and_then(Host::known_settings).is_some_and(|settings| settings.cache.is_some())
    }

    /// Returns how messages are matched: as the command line says, or else the configuration.
    pub(crate) fn mode(&self, asked: Option<Mode>) -> Result<Mode, CliError> {
        let configured = self.settings()?.disclose.mode;
        Ok(asked.or(configured).unwrap_or_default())
    }

    /// Returns the configuration of disclosure.
    pub(crate) fn disclose(&self) -> Result<DiscloseSection, CliError> {
        Ok(self.settings()?.disclose.clone())
    }

    /// Prints the findings of the search for skills; suggestions only with -v. Warnings that an earlier run has printed
    /// are counted: hooks and people run this many times a day over one set-up.
    pub(crate) fn print_diagnostics(&self) {
        let Some(host) = self.host.get() else { return };
        let (Some(skills), Some(settings)) = (host.known_skills(), host.known_settings()) else { return };
        let catalog = skills.catalog();
        let mut told: Vec<&Diagnostic> = settings.diagnostics.iter().chain(catalog.diagnostics()).collect();
        if !self.verbose() {
            // Of a file that is not usable, the first error is enough; -v shows the rest to its author.
            let invalid: HashSet<&Path> = catalog.invalid().iter().map(|invalid| invalid.path.as_path()).collect();
            let mut seen = HashSet::new();
            told.retain(|found| match found.path.as_deref().filter(|path| invalid.contains(path)) {
                Some(path) => found.is_error() && seen.insert(path),
                None => found.severity != Severity::Info,
            });
        }
        let cache = settings.cache.as_ref().filter(|_| !(self.verbose() || self.json()));
        let known = cache.map_or(0, |cache| PrintedWarnings::read(cache).retain_new(&mut told));
        diagnostics::print_findings(self, &told, diagnostics::Detail::Short);
        if known > 0 {
            let (warnings, them) = (text::count(known, "warning"), if known == 1 { "it" } else { "them" });
            let doctor = paint(style::COMMAND, "skillcue doctor");
            self.terminal.say(&format!("{warnings} as before; {doctor} shows {them}"));
        }
    }

    /// Prints a result for programs.
    pub(crate) fn print_json(&self, value: &impl Serialize) -> Result<(), CliError> {
        self.terminal.print_json(value)
    }

    /// Prints why the command failed: for people on stderr and, with `--json`, for programs on stdout.
    pub(crate) fn fail(&self, error: &CliError) {
        self.terminal.error(error);
        diagnostics::print_findings(self, &error.diagnostics().iter().collect::<Vec<_>>(), diagnostics::Detail::Full);
        if self.json() {
            // If this fails, nothing is left to report it on.
            let _ = self.print_json(&error.json());
            let _ = self.terminal.flush();
        }
    }

    /// Returns a path as people write it.
    pub(crate) fn short_path(&self, path: &Path) -> String {
        let environment = self.environment().ok();
        text::path(
            path,
            environment.and_then(|environment| environment.cwd.as_deref()),
            environment.and_then(|environment| environment.home.as_deref()),
        )
    }
}

/// Ends the programs that serve skills before a signal ends this process: they are in process groups of their own,
/// which no Ctrl-C reaches.
fn close_on_signal(servers: Servers) {
    on_signal(move |code| {
        SIGNALLED.store(true, Ordering::SeqCst);
        servers.close();
        std::process::exit(code);
    });
}
