//! The assembly: each part is made when it is first needed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use skillcue::catalog::{OrgPolicy, PolicyGate};
use skillcue::consent::{ConsentGate, ConsentStore};
use skillcue::format::Severity;
use skillcue::{Builder, Diagnostic, ErrorInfo as _, Skillcue, Source};
use skillcue_exec::Runner;
use skillcue_mcp::host::{McpHost as Servers, McpHostOptions, ServerSpec};

use crate::catalogs::CatalogSet;
use crate::environment::Environment;
use crate::error::HostError;
use crate::policy::PolicyAuditor;
use crate::programs::HostPrograms;
use crate::registries::Registries;
use crate::settings::Settings;

/// Choices of a caller that go before the environment and the configuration files.
#[derive(Debug, Clone, Default)]
pub struct HostOverrides {
    /// Directories to look for skills in first.
    pub skills_dirs: Vec<PathBuf>,
    /// The configuration file to read instead of the user's and the project's.
    pub config: Option<PathBuf>,
    /// Whether nothing but the named directories is looked at.
    pub isolated: bool,
    /// Whether the index cache is neither read nor written.
    pub no_cache: bool,
    /// Whether the bundled skills are left out. They show people what skills are; in other agents they only cost tokens.
    pub no_bundled: bool,
    /// The gate that answers whether projects, servers' skills, scripts and toolsets are allowed, if not the user's own
    /// [`ConsentStore`].
    pub consent: Option<Arc<dyn ConsentGate>>,
    /// The program that serves as the sandbox's helper, if this process's own cannot: a host inside of an interpreter.
    pub helper: Option<PathBuf>,
    /// Whether programs run without a sandbox where the machine has none.
    pub allow_unsandboxed: bool,
}

impl HostOverrides {
    /// Returns the gate that answers whether an action is allowed.
    pub(crate) fn gate(&self, environment: &Environment) -> Arc<dyn ConsentGate> {
        self.consent.clone().unwrap_or_else(|| Arc::new(store(environment)))
    }
}

/// The user's consent: what they have allowed in this and in other processes.
fn store(environment: &Environment) -> ConsentStore {
    ConsentStore::new(environment.data("consent.json"))
}

/// A working Skillcue: the skills of an environment, and what they need to be found, fetched and run.
///
/// ```
/// use skillcue_host::{Environment, Host, HostOverrides};
///
/// # let home = tempfile::tempdir()?;
/// # let (cwd, variables) = (None, vec![("HOME".into(), home.path().into())]);
/// let host = Host::open(Environment::new(cwd, variables)?, HostOverrides::default());
/// let shown = host.skills()?.disclose("Say bonjour to Alice");
/// assert!(shown.turn.contains("hello-extended"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Host {
    environment: Environment,
    options: HostOverrides,
    store: ConsentStore,
    settings: OnceLock<Settings>,
    servers: OnceLock<ServerSet>,
    catalogs: OnceLock<CatalogSet>,
    programs: OnceLock<HostPrograms>,
    registries: OnceLock<Registries>,
    policy: OnceLock<OrgPolicy>,
    skills: OnceLock<Arc<Skillcue>>,
}

/// The configured servers, and why some of them cannot be used.
#[derive(Debug, Default)]
struct ServerSet {
    servers: Option<Servers>,
    problems: Vec<Diagnostic>,
}

impl Host {
    /// Takes the environment and the options. Nothing is read or started yet.
    pub fn open(environment: Environment, mut options: HostOverrides) -> Host {
        let store = store(&environment);
        options.consent.get_or_insert_with(|| Arc::new(store.clone()));
        Host {
            environment,
            options,
            store,
            settings: OnceLock::new(),
            servers: OnceLock::new(),
            catalogs: OnceLock::new(),
            programs: OnceLock::new(),
            registries: OnceLock::new(),
            policy: OnceLock::new(),
            skills: OnceLock::new(),
        }
    }

    /// Returns the environment.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns whether nothing but the named directories is looked at.
    pub fn is_isolated(&self) -> bool {
        self.options.isolated || self.environment.isolated
    }

    /// Returns the effective settings: the user's file, the project's, variables and options, each over the one before.
    /// Read once; [`Settings::notices`] are for the caller to report.
    pub fn settings(&self) -> Result<&Settings, HostError> {
        if let Some(settings) = self.settings.get() {
            return Ok(settings);
        }
        let settings = Settings::gather(&self.options, &self.environment)?;
        Ok(self.settings.get_or_init(|| settings))
    }

    /// Returns the settings as they are, if they were read already.
    pub fn known_settings(&self) -> Option<&Settings> {
        self.settings.get()
    }

    /// Like [`settings`](Host::settings), where a file that cannot be used is a notice. Before the settings are read.
    pub fn lenient_settings(&self) -> Result<&Settings, HostError> {
        if self.settings.get().is_none() {
            let settings = Settings::gather_leniently(&self.options, &self.environment)?;
            return Ok(self.settings.get_or_init(|| settings));
        }
        self.settings()
    }

    /// Like [`settings`](Host::settings), where a policy that cannot be used is a notice, and closes everything. Before the
    /// settings are read.
    pub fn settings_despite_policy(&self) -> Result<&Settings, HostError> {
        if self.settings.get().is_none() {
            let settings = Settings::gather_despite_policy(&self.options, &self.environment)?;
            return Ok(self.settings.get_or_init(|| settings));
        }
        self.settings()
    }

    /// Returns the organisation's policy: that of the machine, and those that catalogs carry, as they are on disk when it is
    /// first asked for. Empty without one.
    pub fn policy(&self) -> Result<&OrgPolicy, HostError> {
        if let Some(policy) = self.policy.get() {
            return Ok(policy);
        }
        let policy = self.settings()?.policy.clone().and(self.catalog_policy()?);
        Ok(self.policy.get_or_init(|| policy))
    }

    /// Returns the configured MCP servers, if there are any. None is asked for anything yet.
    pub fn servers(&self) -> Result<Option<&Servers>, HostError> {
        Ok(self.server_set()?.servers.as_ref())
    }

    /// Returns why some configured servers cannot be used.
    pub fn server_problems(&self) -> Result<&[Diagnostic], HostError> {
        Ok(&self.server_set()?.problems)
    }

    pub(crate) fn catalog_cell(&self) -> &OnceLock<CatalogSet> {
        &self.catalogs
    }

    fn server_set(&self) -> Result<&ServerSet, HostError> {
        if let Some(set) = self.servers.get() {
            return Ok(set);
        }
        let settings = self.settings()?;
        let (mut specs, mut problems) = (Vec::new(), Vec::new());
        let published = self.catalog_policy()?;
        for server in &settings.servers {
            if let Some(found) = crate::policy::server_refusal(&published, server) {
                problems.push(found);
                continue;
            }
            match ServerSpec::from_config(server, |name| self.environment.variable(name)) {
                Ok(spec) => specs.push(spec),
                Err(error) => {
                    let help = "correct it below [[mcp]] in skillcue.toml; its skills are missing meanwhile";
                    let found = Diagnostic::named("mcp_server", Severity::Warning, error.to_string());
                    problems.push(found.with_help(help));
                }
            }
        }
        let options = McpHostOptions {
            cache: settings.cache.as_ref().and_then(|file| file.parent()).map(Path::to_path_buf),
            consent: self.consent(),
        };
        let servers = (!specs.is_empty()).then(|| Servers::new(specs, options));
        Ok(self.servers.get_or_init(|| ServerSet { servers, problems }))
    }

    /// Returns the gate that answers whether projects, servers' skills, scripts and toolsets are allowed.
    pub fn consent(&self) -> Arc<dyn ConsentGate> {
        self.options.gate(&self.environment)
    }

    /// Returns the user's own record of what they have allowed.
    pub fn consent_store(&self) -> &ConsentStore {
        &self.store
    }

    /// Returns the skills, with what servers and catalogs listed the last time. Looks for them once.
    pub fn skills(&self) -> Result<&Arc<Skillcue>, HostError> {
        self.skills_with(|builder| builder)
    }

    /// Like [`skills`](Host::skills), where `shape` changes the builder, the first time.
    pub fn skills_with(&self, shape: impl FnOnce(Builder) -> Builder) -> Result<&Arc<Skillcue>, HostError> {
        if let Some(skills) = self.skills.get() {
            return Ok(skills);
        }
        let programs = self.programs()?;
        let mut builder =
            self.local_builder()?.tools(Arc::new(programs.script_tools())).tools(Arc::new(programs.toolset_tools()));
        if let Some(model) = self.sentence_model() {
            builder = builder.sentence_model(model);
        }
        for remote in self.remotes()? {
            builder = builder.remote(remote);
        }
        let skills = Arc::new(build(shape(builder))?);
        Ok(self.skills.get_or_init(|| skills))
    }

    /// Like [`skills_with`](Host::skills_with), with the skills on this machine alone, to be shown and not run: no servers,
    /// no programs, no sentence model. For a process that answers once and must be quick.
    ///
    /// ```
    /// use skillcue_host::{Environment, Host, HostOverrides};
    ///
    /// # let home = tempfile::tempdir()?;
    /// # let (cwd, variables) = (None, vec![("HOME".into(), home.path().into())]);
    /// let overrides = HostOverrides { no_bundled: true, ..HostOverrides::default() };
    /// let host = Host::open(Environment::new(cwd, variables)?, overrides);
    /// assert!(host.local_skills_with(|builder| builder)?.catalog().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn local_skills_with(&self, shape: impl FnOnce(Builder) -> Builder) -> Result<Skillcue, HostError> {
        build(shape(self.local_builder()?.policy(self.policy_gate(self.policy()?)?)))
    }

    /// Returns the organisation's policy, with an auditor for its rules about findings.
    fn policy_gate(&self, policy: &OrgPolicy) -> Result<Arc<PolicyGate>, HostError> {
        let cache = self.settings()?.cache.as_ref().and_then(|file| file.parent());
        Ok(Arc::new(PolicyGate::new(policy.clone(), Some(Arc::new(PolicyAuditor::new(cache))))))
    }

    /// Returns a builder for the skills on this machine.
    fn local_builder(&self) -> Result<Builder, HostError> {
        let (environment, settings) = (&self.environment, self.settings()?);
        let mut builder = Skillcue::builder()
            .roots(settings.roots.iter().cloned())
            .search_path(environment.path.clone())
            .setup_by(settings.setup(environment, self.is_isolated()))
            .loader(settings.loader.clone())
            .disclosure(settings.disclose.config())
            .mode(settings.disclose.mode.unwrap_or_default());
        // Remote catalogs bring theirs, at each look anew. Of those that cannot be used, what is kept counts.
        let policy = settings.policy.clone().and(self.unused_catalog_policy()?);
        builder = builder.policy(self.policy_gate(&policy)?);
        if let Some(cache) = &settings.cache {
            builder = builder.index_cache(cache);
        }
        if let Some(checkout) = environment.checkout() {
            builder = builder.checkout(checkout);
        }
        #[cfg(feature = "usage")]
        {
            builder = builder.feedback(self.feedback());
            if let Some(counts) = self.use_counts() {
                builder = builder.list_by_use(counts);
            }
        }
        Ok(builder)
    }

    /// Returns the skills, if they were looked for already.
    pub fn known_skills(&self) -> Option<&Arc<Skillcue>> {
        self.skills.get()
    }

    /// Returns the runner of scripts and toolsets. No process is started before the first call.
    pub fn programs(&self) -> Result<&HostPrograms, HostError> {
        if let Some(programs) = self.programs.get() {
            return Ok(programs);
        }
        let (settings, policy) = (self.settings()?, self.policy()?);
        let programs = HostPrograms::new(&self.environment, settings, policy, &self.options, self.consent());
        Ok(self.programs.get_or_init(|| programs))
    }

    /// Returns the runner of scripts.
    pub fn runner(&self, allow_unsandboxed: bool) -> Result<Runner, HostError> {
        Ok(self.programs()?.runner(allow_unsandboxed))
    }

    /// Returns the registries of installed and enabled skills, of the user and of the project.
    pub fn registries(&self) -> &Registries {
        self.registries.get_or_init(|| Registries::open(&self.environment))
    }

    /// Returns whether a skill stays on though one registry, the project's or the user's, says that it is off.
    pub fn is_enabled_elsewhere(&self, name: &str, project: bool) -> bool {
        let by_files = self.settings().is_ok_and(|settings| {
            let files = &settings.by_files;
            let of_checkout = files.foreign.as_ref().filter(|_| project);
            files.enable.contains(name) || of_checkout.is_some_and(|files| files.enable.contains(name))
        });
        let registries = self.registries();
        let other = if project { registries.user.as_ref() } else { registries.project.as_ref() };
        by_files || other.is_some_and(|registry| registry.enabled().get(name) == Some(&true))
    }

    /// Returns the directories of some sources in which skills were looked for.
    pub fn roots(&self, wanted: &dyn Fn(Source) -> bool) -> Vec<PathBuf> {
        let roots = self.settings.get().into_iter().flat_map(Settings::all_roots);
        roots.filter(|root| wanted(root.source)).map(|root| root.path.clone()).collect()
    }

    /// Ends all running programs: those that serve skills, and toolsets.
    pub fn close(&self) {
        if let Some(ServerSet { servers: Some(servers), .. }) = self.servers.get() {
            servers.close();
        }
        if let Some(programs) = self.programs.get() {
            programs.end();
        }
    }
}

/// Looks for skills.
fn build(builder: Builder) -> Result<Skillcue, HostError> {
    builder.build().map_err(|error| {
        HostError::usage(error.code(), error.to_string()).help("correct it in [disclose] of skillcue.toml")
    })
}
