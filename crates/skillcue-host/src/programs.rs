//! Running scripts and toolsets: set up from the environment and the settings, started when something is called.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skillcue::catalog::{OrgPolicy, ProgramRule};
use skillcue::consent::{ConsentGate, PermissionRules};
use skillcue_exec::{Launcher, RunLimits, Runner, RunnerOptions, ScriptTools};
use skillcue_toolset::{ToolsetOptions, ToolsetTools, Toolsets};

use crate::environment::Environment;
use crate::host::HostOverrides;
use crate::settings::Settings;

/// Runs scripts and toolsets. Nothing is started before something is called.
#[derive(Debug)]
pub struct HostPrograms {
    launcher: Launcher,
    options: RunnerOptions,
    toolsets: Arc<Toolsets>,
    policy: OrgPolicy,
}

impl HostPrograms {
    pub(crate) fn new(
        environment: &Environment,
        settings: &Settings,
        policy: &OrgPolicy,
        overrides: &HostOverrides,
        consent: Arc<dyn ConsentGate>,
    ) -> HostPrograms {
        let launcher = overrides.helper.as_ref().map_or_else(Launcher::of_this_program, Launcher::new);
        let is_unsandboxed = (overrides.allow_unsandboxed || settings.run.allow_unsandboxed == Some(true))
            && policy.program_refusal(ProgramRule::Unsandboxed).is_none();
        let launcher = launcher.allow_unsandboxed(is_unsandboxed);
        let launcher = match &environment.temporary {
            Some(dir) => launcher.temp_dir(dir),
            None => launcher,
        };
        let limits = limits(settings);
        let mut toolsets = ToolsetOptions {
            cache_dir: cache(settings).map(|cache| cache.join("toolsets")),
            packages: environment.data("toolsets"),
            ..ToolsetOptions::new(launcher.clone())
        };
        toolsets.limits.call = limits.timeout;
        let mut options = options(environment, settings, limits, consent);
        options.refusal = policy.program_refusal(ProgramRule::Scripts);
        let toolsets = Toolsets::new(toolsets);
        HostPrograms { launcher, options, toolsets: Arc::new(toolsets), policy: policy.clone() }
    }

    /// Returns the launcher of processes.
    pub fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// Ends all running programs, and keeps compiled code for the next time.
    pub fn end(&self) {
        self.toolsets.end();
    }

    /// Returns a function that ends all running programs, from any thread.
    pub fn ender(&self) -> impl Fn() + Send + use<> {
        let toolsets = Arc::clone(&self.toolsets);
        move || toolsets.end()
    }

    /// Returns the runner of scripts, which runs them without a sandbox only if `allow_unsandboxed`.
    pub fn runner(&self, allow_unsandboxed: bool) -> Runner {
        let launcher = self.launcher.clone();
        // No option loosens a policy.
        let is_allowed = self.policy.program_refusal(ProgramRule::Unsandboxed).is_none();
        let launcher = if allow_unsandboxed && is_allowed { launcher.allow_unsandboxed(true) } else { launcher };
        Runner::new(launcher, self.options.clone())
    }

    /// Returns the tool that runs scripts, for models.
    pub fn script_tools(&self) -> ScriptTools {
        ScriptTools::new(self.runner(false))
    }

    /// Returns the tools of toolsets, for models.
    pub fn toolset_tools(&self) -> ToolsetTools {
        let is_refused = self.policy.program_refusal(ProgramRule::Toolsets).is_some();
        ToolsetTools::new(Arc::clone(&self.toolsets)).refusing(is_refused)
    }
}

fn limits(settings: &Settings) -> RunLimits {
    let (run, mut limits) = (settings.run, RunLimits::default());
    limits.timeout = run.timeout_s.map_or(limits.timeout, Duration::from_secs);
    limits.output = run.output_bytes.unwrap_or(limits.output);
    limits.arguments = run.arguments.unwrap_or(limits.arguments);
    limits.argument_bytes = run.argument_bytes.unwrap_or(limits.argument_bytes);
    if let Some(megabytes) = run.memory_mb {
        limits.bounds.memory_total = megabytes.saturating_mul(1 << 20);
        limits.bounds.memory = limits.bounds.memory.min(limits.bounds.memory_total);
    }
    if let Some(processes) = run.processes {
        limits.bounds.processes = u32::try_from(processes).unwrap_or(u32::MAX);
    }
    limits
}

fn options(
    environment: &Environment,
    settings: &Settings,
    limits: RunLimits,
    consent: Arc<dyn ConsentGate>,
) -> RunnerOptions {
    let usual = RunnerOptions::default();
    let homes = [&environment.config_home, &environment.cache_home, &environment.data_home];
    RunnerOptions {
        // Only absolute directories are left in it, so they can be joined.
        path: std::env::join_paths(&environment.path).unwrap_or(usual.path),
        environment: environment.variables.clone(),
        limits,
        concurrent: settings.run.concurrent.unwrap_or(usual.concurrent),
        packages: cache(settings).map(|cache| cache.join("python")),
        consent,
        rules: PermissionRules::default()
            .with_home(environment.home.clone())
            .protecting(homes.into_iter().flatten().map(|home| home.join("skillcue")))
            // Also where the caller brings a gate of their own.
            .hiding(environment.data_home.as_ref().map(|home| home.join("skillcue"))),
        ..usual
    }
}

/// The directory of caches, if they are used.
fn cache(settings: &Settings) -> Option<PathBuf> {
    settings.cache.as_ref().and_then(|index| index.parent()).map(PathBuf::from)
}
