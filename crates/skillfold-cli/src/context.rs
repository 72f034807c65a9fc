//! What every command is given.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use skillfold::{Diagnostic, DiscloseSection, Mode, Root, Severity, Skillfold, Source};

use crate::cli::Global;
use crate::environment::Environment;
use crate::error::CliError;
use crate::progress::Progress;
use crate::report;
use crate::settings::Settings;
use crate::terminal::Terminal;
use crate::text;

/// So few skills have their bodies read before an answer that ranks by them.
const FEW: usize = 1_000;

/// What every command is given: where to write, what was asked for, and the skills, which are looked for when a
/// command first wants them.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) terminal: Terminal,
    global: Global,
    environment: OnceCell<Environment>,
    skills: OnceCell<Found>,
}

#[derive(Debug)]
struct Found {
    skills: Skillfold,
    roots: Vec<Root>,
    disclose: DiscloseSection,
    /// Whether there is an index cache.
    cached: bool,
    /// Findings that are not the catalog's: about plugins.
    diagnostics: Vec<Diagnostic>,
}

impl Context {
    pub(crate) fn new(terminal: Terminal, global: Global) -> Context {
        Context { terminal, global, environment: OnceCell::new(), skills: OnceCell::new() }
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

    /// The skills. Looks for them, the first time.
    pub(crate) fn skills(&self) -> Result<&Skillfold, CliError> {
        if let Some(found) = self.skills.get() {
            return Ok(&found.skills);
        }
        let environment = self.environment()?;
        let settings = Settings::gather(&self.global, environment)?;
        for notice in &settings.notices {
            self.terminal.warn(notice.code, &notice.message, &notice.help);
        }
        let mut builder = Skillfold::builder()
            .roots(settings.roots.iter().cloned())
            .search_path(environment.path.clone())
            .enablement(settings.enablement)
            .loader(settings.loader);
        let cached = settings.cache.is_some();
        if let Some(cache) = settings.cache {
            builder = builder.index_cache(cache);
        }
        let progress = Progress::unknown("looking for skills");
        let start = Instant::now();
        let skills = builder.build();
        drop(progress);
        let effort = skills.catalog().effort();
        tracing::info!(
            skills = skills.catalog().len(),
            read = effort.read,
            from_cache = effort.reused,
            milliseconds = start.elapsed().as_millis(),
            "looked for skills"
        );
        let Settings { roots, diagnostics, disclose, .. } = settings;
        Ok(&self.skills.get_or_init(|| Found { skills, roots, disclose, cached, diagnostics }).skills)
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
        self.skills.get().is_some_and(|found| found.cached)
    }

    /// What the configuration says about what models are shown.
    pub(crate) fn disclose(&self) -> Result<DiscloseSection, CliError> {
        self.skills()?;
        Ok(self.skills.get().map(|found| found.disclose.clone()).unwrap_or_default())
    }

    /// The directories of some sources in which skills were looked for.
    pub(crate) fn roots(&self, wanted: &dyn Fn(Source) -> bool) -> Vec<PathBuf> {
        let roots = self.skills.get().map(|found| &found.roots[..]).unwrap_or_default();
        roots.iter().filter(|root| wanted(root.source)).map(|root| root.path.clone()).collect()
    }

    /// Tells what was found on the way to the skills, unless it is only of interest to those who ask for more.
    pub(crate) fn tell_diagnostics(&self) {
        let Some(found) = self.skills.get() else { return };
        let catalog = found.skills.catalog();
        // All patterns are tried for it: with many skills only if somebody asks for more.
        let of_triggers = if found.skills.is_indexed() && (catalog.len() <= FEW || self.verbose()) {
            found.skills.trigger_diagnostics()
        } else {
            Vec::new()
        };
        let mut told: Vec<&Diagnostic> =
            found.diagnostics.iter().chain(catalog.diagnostics()).chain(&of_triggers).collect();
        if !self.verbose() {
            // Of a file that is not usable, the first reason is reason enough; the rest is for whoever mends it.
            let invalid: HashSet<&Path> = catalog.invalid().iter().map(|invalid| invalid.path.as_path()).collect();
            let mut seen = HashSet::new();
            told.retain(|found| match found.path.as_deref().filter(|path| invalid.contains(path)) {
                Some(path) => found.is_error() && seen.insert(path),
                None => found.severity != Severity::Info,
            });
        }
        report::tell(self, &told, report::Extent::Short);
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
