//! What every command is given.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use skillcue::{Diagnostic, DiscloseSection, Mode, Severity, Skillcue, Source};
use skillcue_exec::{Grants, Runner};
use skillcue_mcp::host::{Host, HostDirs, ServerSpec};

use crate::acting::Acting;
use crate::cli::Global;
use crate::environment::Environment;
use crate::error::CliError;
use crate::progress::Progress;
use crate::registries::Registries;
use crate::report;
use crate::seen::Seen;
use crate::settings::Settings;
use crate::signals::on_signal;
use crate::terminal::{Terminal, paint, style};
use crate::text;
use crate::turn::ModeArg;

/// Whether a signal is about to end the process.
static SIGNALLED: AtomicBool = AtomicBool::new(false);

/// So few skills have their bodies read before an answer that ranks by them.
const FEW: usize = 1_000;

/// How long a command waits for servers whose listing is old. One that fails is then left alone for a minute.
const SERVERS_WAIT: Duration = Duration::from_secs(3);

/// What every command is given: where to write, what was asked for, and the skills, which are looked for when a
/// command first wants them.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) terminal: Terminal,
    global: Global,
    environment: OnceCell<Environment>,
    settings: OnceCell<Settings>,
    host: OnceCell<Option<Host>>,
    skills: OnceCell<Arc<Skillcue>>,
    acting: OnceCell<Acting>,
    registries: OnceCell<Registries>,
    /// What the agent wants of its skills. Whoever says so looks after signals, too.
    shape: Shape,
}

/// What is done to the builder of the skills before it builds.
#[derive(Default)]
struct Shape(OnceCell<Box<Shaping>>);

type Shaping = dyn Fn(skillcue::Builder) -> Result<skillcue::Builder, CliError>;

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Shape").field(&self.0.get().is_some()).finish()
    }
}

impl Context {
    pub(crate) fn new(terminal: Terminal, global: Global) -> Context {
        let (environment, settings) = (OnceCell::new(), OnceCell::new());
        Context {
            terminal,
            global,
            environment,
            settings,
            host: OnceCell::new(),
            skills: OnceCell::new(),
            acting: OnceCell::new(),
            registries: OnceCell::new(),
            shape: Shape::default(),
        }
    }

    /// Has the skills built in a certain way, for who does not end by the first signal. Before anybody has asked for them.
    #[cfg(feature = "agent")]
    pub(crate) fn shape_skills(
        &self,
        shape: impl Fn(skillcue::Builder) -> Result<skillcue::Builder, CliError> + 'static,
    ) {
        let _ = self.shape.0.set(Box::new(shape));
    }

    fn shaped(&self, builder: skillcue::Builder) -> Result<skillcue::Builder, CliError> {
        match self.shape.0.get() {
            Some(shape) => shape(builder),
            None => Ok(builder),
        }
    }

    fn looks_after_signals(&self) -> bool {
        self.shape.0.get().is_some()
    }

    /// The global options as somebody would type them again, wherever they stand.
    pub(crate) fn global_words(&self, shown: &dyn Fn(&Path) -> String) -> Vec<String> {
        let mut words = Vec::new();
        for dir in &self.global.skills_dir {
            words.extend(["--skills-dir".to_owned(), shown(dir)]);
        }
        if let Some(file) = &self.global.config {
            words.extend(["--config".to_owned(), shown(file)]);
        }
        for (is_set, word) in [(self.global.isolated, "--isolated"), (self.global.no_cache, "--no-cache")] {
            if is_set {
                words.push(word.to_owned());
            }
        }
        words
    }

    /// Whether the result is for programs.
    pub(crate) fn json(&self) -> bool {
        self.global.json
    }

    /// How much more to say.
    pub(crate) fn verbose(&self) -> bool {
        self.global.verbose > 0
    }

    /// Whether nothing but the named directories is looked at.
    pub(crate) fn isolated(&self) -> Result<bool, CliError> {
        Ok(self.global.isolated || self.environment()?.isolated)
    }

    pub(crate) fn environment(&self) -> Result<&Environment, CliError> {
        if self.environment.get().is_none() {
            // Set just once: there is one thread here.
            let _ = self.environment.set(Environment::of_process()?);
        }
        Ok(self.environment.get_or_init(Environment::default))
    }

    /// What counts. Gathered, and told where it needs telling, the first time.
    pub(crate) fn settings(&self) -> Result<&Settings, CliError> {
        let is_new = self.settings.get().is_none();
        let settings = self.quiet_settings()?;
        for notice in settings.notices.iter().filter(|_| is_new) {
            self.terminal.warn(notice.code, &notice.message, &notice.help);
        }
        Ok(settings)
    }

    /// The same for who tells it in their own way.
    pub(crate) fn quiet_settings(&self) -> Result<&Settings, CliError> {
        if let Some(settings) = self.settings.get() {
            return Ok(settings);
        }
        let settings = Settings::gather(&self.global, self.environment()?)?;
        Ok(self.settings.get_or_init(|| settings))
    }

    /// The same, where a file that cannot be used is one of the notices. Before anybody has asked for the settings.
    pub(crate) fn lenient_settings(&self) -> Result<&Settings, CliError> {
        if self.settings.get().is_none() {
            let settings = Settings::gather_leniently(&self.global, self.environment()?)?;
            return Ok(self.settings.get_or_init(|| settings));
        }
        self.quiet_settings()
    }

    /// The configured servers, if there are any.
    pub(crate) fn host(&self) -> Result<Option<&Host>, CliError> {
        if let Some(host) = self.host.get() {
            return Ok(host.as_ref());
        }
        let settings = self.settings()?;
        let mut specs = Vec::new();
        for server in &settings.servers {
            let variable = |name: &str| std::env::var(name).ok();
            match ServerSpec::from_config(server, variable) {
                Ok(spec) => specs.push(spec),
                Err(error) => {
                    let help = "correct it below [[mcp]] in skillcue.toml; its skills are missing meanwhile";
                    self.terminal.warn("mcp_server", &error.to_string(), help);
                }
            }
        }
        let dirs = HostDirs {
            cache: settings.cache.as_ref().and_then(|file| file.parent()).map(Path::to_path_buf),
            approvals: self.approvals_file()?,
        };
        let host = (!specs.is_empty()).then(|| Host::new(specs, dirs));
        Ok(self.host.get_or_init(|| host).as_ref())
    }

    /// Where approvals are remembered.
    pub(crate) fn approvals_file(&self) -> Result<Option<PathBuf>, CliError> {
        let data = &self.environment()?.data_home;
        Ok(data.as_ref().map(|data| data.join("skillcue/approvals.json")))
    }

    /// The skills. Looks for them, the first time, and asks servers that have not been asked for long.
    pub(crate) fn skills(&self) -> Result<&Arc<Skillcue>, CliError> {
        if self.skills.get().is_none()
            && let Some(host) = self.host()?
        {
            if !self.looks_after_signals() {
                close_on_signal(host.clone());
            }
            let progress = Progress::unknown("asking MCP servers");
            let asked: Vec<String> =
                host.status().into_iter().filter(|server| server.stale).map(|server| server.label).collect();
            let refreshed = host.refresh_stale(SERVERS_WAIT);
            drop(progress);
            for server in refreshed {
                if let Err(why) = server.outcome
                    && (asked.contains(&server.label) || self.verbose())
                {
                    let message = format!("the MCP server {:?} cannot be asked for its skills: {why}", server.label);
                    self.terminal.warn(
                        "mcp_server",
                        &message,
                        "its skills of last time stay; `skillcue status` says more",
                    );
                }
            }
        }
        self.local_skills()
    }

    /// The skills, with what servers listed the last time: none is asked.
    pub(crate) fn local_skills(&self) -> Result<&Arc<Skillcue>, CliError> {
        if let Some(skills) = self.skills.get() {
            return Ok(skills);
        }
        let environment = self.environment()?;
        let settings = self.settings()?;
        let acting = self.acting()?;
        let mut builder = Skillcue::builder()
            .tools(Arc::new(acting.script_tools()))
            .tools(Arc::new(acting.toolset_tools()))
            .roots(settings.roots.iter().cloned())
            .search_path(environment.path.clone())
            .setup_by(settings.setup(environment, self.isolated()?))
            .mode(settings.disclose.mode.unwrap_or_default())
            .loader(settings.loader.clone());
        for server in self.host()?.map(Host::remotes).unwrap_or_default() {
            builder = builder.remote(server);
        }
        if let Some(cache) = &settings.cache {
            builder = builder.index_cache(cache);
        }
        if let Some(checkout) = environment.checkout() {
            builder = builder.checkout(checkout);
        }
        let builder = self.shaped(builder)?;
        let progress = Progress::unknown("looking for skills");
        let start = Instant::now();
        let skills = Arc::new(builder.build());
        drop(progress);
        let effort = skills.catalog().effort();
        tracing::info!(
            skills = skills.catalog().len(),
            read = effort.read,
            from_cache = effort.reused,
            milliseconds = start.elapsed().as_millis(),
            "looked for skills"
        );
        Ok(self.skills.get_or_init(|| skills))
    }

    /// What runs scripts and toolsets. Nothing of it is started before something is called.
    pub(crate) fn acting(&self) -> Result<&Acting, CliError> {
        if let Some(acting) = self.acting.get() {
            return Ok(acting);
        }
        let acting = Acting::new(self)?;
        Ok(self.acting.get_or_init(|| acting))
    }

    /// What is installed and enabled, for the user and for the project.
    pub(crate) fn registries(&self) -> Result<&Registries, CliError> {
        if let Some(registries) = self.registries.get() {
            return Ok(registries);
        }
        let registries = Registries::open(self.environment()?);
        Ok(self.registries.get_or_init(|| registries))
    }

    /// Whether a skill stays on though one registry, the project's or the user's, says that it is off.
    pub(crate) fn is_enabled_elsewhere(&self, name: &str, project: bool) -> bool {
        let by_files = self.settings().is_ok_and(|settings| {
            let files = &settings.by_files;
            let of_checkout = files.foreign.as_ref().filter(|_| project);
            files.enable.contains(name) || of_checkout.is_some_and(|files| files.enable.contains(name))
        });
        let other = self.registries().ok().and_then(|it| if project { it.user.as_ref() } else { it.project.as_ref() });
        by_files || other.is_some_and(|registry| registry.enabled().get(name) == Some(&true))
    }

    /// Whether there is a person to ask, who sees what is asked.
    pub(crate) fn can_ask(&self) -> bool {
        !self.json() && self.terminal.can_ask()
    }

    /// A path from where one stands, if it is below.
    pub(crate) fn relative(&self, path: &Path) -> PathBuf {
        let cwd = self.environment().ok().and_then(|environment| environment.cwd.as_deref());
        cwd.and_then(|cwd| path.strip_prefix(cwd).ok()).unwrap_or(path).to_path_buf()
    }

    /// What people have allowed the programs of skills.
    pub(crate) fn grants(&self) -> Result<&Grants, CliError> {
        Ok(&self.acting()?.grants)
    }

    /// What runs scripts.
    pub(crate) fn runner(&self, allow_unsandboxed: bool) -> Result<Runner, CliError> {
        Ok(self.acting()?.runner(allow_unsandboxed))
    }

    /// Ends what runs for this command: programs that serve skills, and toolsets.
    pub(crate) fn close(&self) {
        // Whoever a signal has called is doing it, and ends the process when it is done.
        while SIGNALLED.load(Ordering::SeqCst) {
            std::thread::park();
        }
        if let Some(Some(host)) = self.host.get() {
            host.close();
        }
        // What was compiled on the way is kept for the next time.
        if let Some(acting) = self.acting.get() {
            acting.end();
        }
    }

    /// Makes what the first message would have to wait for, so that it is not counted as deciding.
    pub(crate) fn prepare(&self, mode: Mode) -> Result<(), CliError> {
        let skills = self.skills()?;
        let progress = Progress::unknown("indexing skills");
        // The index over triggers, and nothing of what a configuration would decide.
        skills.census();
        // Their bodies are read before the answer while that takes no longer than a blink; else after it.
        if mode == Mode::Hybrid && skills.catalog().len() <= FEW {
            skills.index_bodies();
        }
        drop(progress);
        Ok(())
    }

    /// Reads the bodies of many skills for the next time, after the answer is out. There is no next time without the
    /// index cache.
    pub(crate) fn index_bodies(&self, mode: Mode) -> Result<(), CliError> {
        let skills = self.skills()?;
        if mode == Mode::Hybrid && skills.catalog().len() > FEW && self.cached() {
            self.terminal.flush()?;
            let progress = Progress::unknown("indexing bodies for the next time");
            skills.index_bodies();
            drop(progress);
        }
        Ok(())
    }

    fn cached(&self) -> bool {
        self.settings.get().is_some_and(|settings| settings.cache.is_some())
    }

    /// How messages are matched: as the command line says, or else the configuration.
    pub(crate) fn mode(&self, asked: Option<ModeArg>) -> Result<Mode, CliError> {
        let configured = self.settings()?.disclose.mode;
        Ok(asked.map(Mode::from).or(configured).unwrap_or_default())
    }

    /// What the configuration says about what models are shown.
    pub(crate) fn disclose(&self) -> Result<DiscloseSection, CliError> {
        Ok(self.settings()?.disclose.clone())
    }

    /// The directories of some sources in which skills were looked for.
    pub(crate) fn roots(&self, wanted: &dyn Fn(Source) -> bool) -> Vec<PathBuf> {
        let roots = self.settings.get().into_iter().flat_map(Settings::all_roots);
        roots.filter(|root| wanted(root.source)).map(|root| root.path.clone()).collect()
    }

    /// Tells what was found on the way to the skills, unless it is only of interest to those who ask for more. Warnings
    /// that an earlier run has printed are counted: hooks and people run this many times a day over one set-up.
    pub(crate) fn tell_diagnostics(&self) {
        let (Some(skills), Some(settings)) = (self.skills.get(), self.settings.get()) else { return };
        let catalog = skills.catalog();
        let mut told: Vec<&Diagnostic> = settings.diagnostics.iter().chain(catalog.diagnostics()).collect();
        if !self.verbose() {
            // Of a file that is not usable, the first reason is reason enough; the rest is for whoever mends it.
            let invalid: HashSet<&Path> = catalog.invalid().iter().map(|invalid| invalid.path.as_path()).collect();
            let mut seen = HashSet::new();
            told.retain(|found| match found.path.as_deref().filter(|path| invalid.contains(path)) {
                Some(path) => found.is_error() && seen.insert(path),
                None => found.severity != Severity::Info,
            });
        }
        let cache = settings.cache.as_ref().filter(|_| !(self.verbose() || self.json()));
        let known = cache.map_or(0, |cache| Seen::read(cache).retain_new(&mut told));
        report::tell(self, &told, report::Extent::Short);
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

    /// Says why the command failed: to people on stderr and, if that was asked for, to programs on stdout.
    pub(crate) fn fail(&self, error: &CliError) {
        self.terminal.error(error);
        let diagnostics: Vec<&Diagnostic> = error.diagnostics().iter().collect();
        report::tell(self, &diagnostics, report::Extent::Full);
        if self.json() {
            // There is no one left to tell if this fails.
            let _ = self.print_json(&error.json());
            let _ = self.terminal.flush();
        }
    }

    /// A path as people write it.
    pub(crate) fn short_path(&self, path: &Path) -> String {
        let environment = self.environment().ok();
        text::path(
            path,
            environment.and_then(|environment| environment.cwd.as_deref()),
            environment.and_then(|environment| environment.home.as_deref()),
        )
    }
}

/// Ends the programs that serve skills before a signal ends us: they are in process groups of their own, which no Ctrl-C
/// reaches.
fn close_on_signal(host: Host) {
    on_signal(move |code| {
        SIGNALLED.store(true, Ordering::SeqCst);
        host.close();
        std::process::exit(code);
    });
}
