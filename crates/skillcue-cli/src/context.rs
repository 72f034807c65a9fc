//! What every command is given.

use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use skillcue::config::DiscloseSection;
use skillcue::format::Severity;
use skillcue::{Diagnostic, Mode, Skillcue};
use skillcue_exec::Runner;
use skillcue_host::{Environment, Host, Options, Programs, Registries, Settings};
use skillcue_mcp::host::Host as Servers;

use crate::cli::Global;
use crate::diagnostics;
use crate::error::CliError;
use crate::hints;
use crate::progress::Progress;
use crate::seen::Seen;
use crate::signals::on_signal;
use crate::terminal::{Terminal, paint, style};
use crate::text;

/// Whether a signal is about to end the process.
static SIGNALLED: AtomicBool = AtomicBool::new(false);

/// So few skills have their bodies read before an answer that ranks by them.
const FEW: usize = 1_000;

/// How long a command waits for servers whose listing is old. One that fails is then left alone for a minute.
const SERVERS_WAIT: Duration = Duration::from_secs(3);

/// What every command is given: where to write, what was asked for, and the host, which finds the skills when a command
/// first wants them.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) terminal: Terminal,
    global: Global,
    host: OnceCell<Host>,
    /// Whether it was printed what is wrong with servers.
    has_told_servers: Cell<bool>,
    /// Whether the command ends what runs itself when a signal comes.
    #[cfg(feature = "agent")]
    looks_after_signals: Cell<bool>,
    /// How the command wants its skills built.
    shape: Shape,
}

/// What is done to the builder of the skills before it builds.
#[derive(Default)]
struct Shape(OnceCell<Box<Shaping>>);

type Shaping = dyn Fn(skillcue::Builder) -> skillcue::Builder;

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Shape").field(&self.0.get().is_some()).finish()
    }
}

impl Context {
    pub(crate) fn new(terminal: Terminal, global: Global) -> Context {
        Context {
            terminal,
            global,
            host: OnceCell::new(),
            has_told_servers: Cell::new(false),
            #[cfg(feature = "agent")]
            looks_after_signals: Cell::new(false),
            shape: Shape::default(),
        }
    }

    /// Returns the assembly over the environment of this process.
    pub(crate) fn host(&self) -> Result<&Host, CliError> {
        if let Some(host) = self.host.get() {
            return Ok(host);
        }
        let environment = Environment::new(std::env::current_dir().ok(), std::env::vars_os().collect())?;
        let options = Options {
            skills_dirs: self.global.skills_dir.clone(),
            config: self.global.config.clone(),
            isolated: self.global.isolated,
            no_cache: self.global.no_cache,
            consent: None,
        };
        Ok(self.host.get_or_init(|| Host::open(environment, options)))
    }

    /// Sets how the skills are built. To be called before the first use of the skills.
    pub(crate) fn shape_skills(&self, shape: impl Fn(skillcue::Builder) -> skillcue::Builder + 'static) {
        let _ = self.shape.0.set(Box::new(shape));
    }

    fn shaped(&self, builder: skillcue::Builder) -> skillcue::Builder {
        let builder = builder.hints(hints::for_models);
        match self.shape.0.get() {
            Some(shape) => shape(builder),
            None => builder,
        }
    }

    /// Declares that the command ends what runs itself when a signal comes. To be called before the first use of the
    /// skills.
    #[cfg(feature = "agent")]
    pub(crate) fn look_after_signals(&self) {
        self.looks_after_signals.set(true);
    }

    fn closes_on_signals(&self) -> bool {
        #[cfg(feature = "agent")]
        return !self.looks_after_signals.get();
        #[cfg(not(feature = "agent"))]
        true
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

    /// Like `quiet_settings`, where a file that cannot be used is one of the notices. Before the settings are asked for.
    pub(crate) fn lenient_settings(&self) -> Result<&Settings, CliError> {
        Ok(self.host()?.lenient_settings()?)
    }

    /// Returns the configured servers, if there are any. What is wrong with others is printed on first use.
    pub(crate) fn servers(&self) -> Result<Option<&Servers>, CliError> {
        self.settings()?;
        let host = self.host()?;
        let servers = host.servers()?;
        if !self.has_told_servers.replace(true) {
            host.server_problems()?.iter().for_each(|found| self.warn(found));
        }
        Ok(servers)
    }

    /// The skills. Looks for them, the first time, and asks servers that have not been asked for long.
    pub(crate) fn skills(&self) -> Result<&Arc<Skillcue>, CliError> {
        if self.host()?.known_skills().is_none()
            && let Some(servers) = self.servers()?
        {
            if self.closes_on_signals() {
                close_on_signal(servers.clone());
            }
            let progress = Progress::unknown("asking MCP servers");
            let asked: Vec<String> =
                servers.status().into_iter().filter(|server| server.stale).map(|server| server.label).collect();
            let refreshed = servers.refresh_stale(SERVERS_WAIT);
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
        let host = self.host()?;
        if let Some(skills) = host.known_skills() {
            return Ok(skills);
        }
        self.servers()?;
        let progress = Progress::unknown("looking for skills");
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

    /// What runs scripts and toolsets. Nothing of it is started before something is called.
    pub(crate) fn programs(&self) -> Result<&Programs, CliError> {
        self.settings()?;
        Ok(self.host()?.programs()?)
    }

    /// What is installed and enabled, for the user and for the project.
    pub(crate) fn registries(&self) -> Result<&Registries, CliError> {
        Ok(self.host()?.registries())
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

    /// What runs scripts.
    pub(crate) fn runner(&self, allow_unsandboxed: bool) -> Result<Runner, CliError> {
        Ok(self.programs()?.runner(allow_unsandboxed))
    }

    /// Ends what runs for this command: programs that serve skills, and toolsets.
    pub(crate) fn close(&self) {
        // A signal's handler is doing it already, and ends the process when it is done.
        while SIGNALLED.load(Ordering::SeqCst) {
            std::thread::park();
        }
        if let Some(host) = self.host.get() {
            host.close();
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
        self.host.get().and_then(Host::known_settings).is_some_and(|settings| settings.cache.is_some())
    }

    /// How messages are matched: as the command line says, or else the configuration.
    pub(crate) fn mode(&self, asked: Option<Mode>) -> Result<Mode, CliError> {
        let configured = self.settings()?.disclose.mode;
        Ok(asked.or(configured).unwrap_or_default())
    }

    /// What the configuration says about what models are shown.
    pub(crate) fn disclose(&self) -> Result<DiscloseSection, CliError> {
        Ok(self.settings()?.disclose.clone())
    }

    /// Tells what was found on the way to the skills, unless it is only of interest to those who ask for more. Warnings
    /// that an earlier run has printed are counted: hooks and people run this many times a day over one set-up.
    pub(crate) fn tell_diagnostics(&self) {
        let Some(host) = self.host.get() else { return };
        let (Some(skills), Some(settings)) = (host.known_skills(), host.known_settings()) else { return };
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
        diagnostics::tell(self, &told, diagnostics::Extent::Short);
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
        diagnostics::tell(self, &error.diagnostics().iter().collect::<Vec<_>>(), diagnostics::Extent::Full);
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
fn close_on_signal(servers: Servers) {
    on_signal(move |code| {
        SIGNALLED.store(true, Ordering::SeqCst);
        servers.close();
        std::process::exit(code);
    });
}
