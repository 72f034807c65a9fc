//! The effective settings: the user's `skillcue.toml`, the project's, variables, flags, each over the one before.
//!
//! Over 500 lines: one pass over all settings, each of which is a line.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use skillcue::catalog::{OrgPolicy, SkillOrigins, installed_plugins, plugin_roots};
use skillcue::config::{
    AgentSection, CatalogSection, Config, DiscloseSection, Distrusted, JudgeSection, McpServer, RunSection,
    UsageSection, ViewSection,
};
use skillcue::consent::{self, Answer, Question, Subject};
use skillcue::format::Severity;
use skillcue::load::LoaderConfig;
use skillcue::{Diagnostic, Enablement, Setup, SkillRoot, Source};
use skillcue_base::ErrorInfo as _;

use skillcue_base::Digest;
use skillcue_catalog::ContentId;
use skillcue_registry::RegistryState;

use crate::bundled;
use crate::environment::{Environment, absolute};
use crate::error::{Excerpt, HostError};
use crate::host::HostOverrides;
use crate::registries::{self, Registries};
use crate::text_file::read_text;

const FILE: &str = "skillcue.toml";

/// The effective settings: where to look for skills, and how everything works.
///
/// ```
/// use skillcue_host::{Environment, HostOverrides, Settings};
///
/// let options = HostOverrides { isolated: true, ..HostOverrides::default() };
/// let settings = Settings::gather(&options, &Environment::default())?;
/// assert!(settings.roots.is_empty());
/// # Ok::<(), skillcue_host::HostError>(())
/// ```
#[derive(Debug, Default)]
pub struct Settings {
    /// The roots that stay as long as this process.
    pub roots: Vec<SkillRoot>,
    /// The further roots at the start: those of installed skills, and plugins. `None` if they do not count.
    further: Option<VolatileRoots>,
    /// Plugins that the files name.
    plugins: Vec<NamedPlugin>,
    /// Names that the files enable and disable; the registries enable and disable some, too.
    pub by_files: Enablement,
    /// Names that the user's file alone enables and disables, if the project's is not trusted.
    by_user: Option<Enablement>,
    /// The configuration of the loader.
    pub loader: LoaderConfig,
    /// The configuration of disclosures.
    pub disclose: DiscloseSection,
    /// Limits of scripts and toolsets.
    pub run: RunSection,
    /// Servers whose skills join the catalog.
    pub servers: Vec<McpServer>,
    remote_names: HashSet<String>,
    /// Catalogs on object stores whose skills join the others.
    pub catalogs: Vec<CatalogSection>,
    /// The configuration of the agent.
    pub agent: AgentSection,
    /// The configuration of the judge.
    pub judge: JudgeSection,
    /// The configuration of the ledger of use.
    pub usage: UsageSection,
    /// The organisation's policy. Empty without one.
    pub policy: OrgPolicy,
    /// Named views of the catalog.
    pub views: BTreeMap<String, ViewSection>,
    /// The index cache, if it is to be used.
    pub cache: Option<PathBuf>,
    /// The configuration files that were read.
    pub files: Vec<PathBuf>,
    /// Whether a file that cannot be used is a notice, and no failure.
    lenient: bool,
    /// Whether a policy that cannot be used is a notice, and closes everything.
    lenient_policy: bool,
    /// Remarks for the caller to report.
    pub notices: Vec<Diagnostic>,
    /// Findings about plugins.
    pub diagnostics: Vec<Diagnostic>,
}

/// A plugin that a configuration file names.
#[derive(Debug, Clone)]
struct NamedPlugin {
    dir: PathBuf,
    /// Whether it is the project's file, which comes with a checkout.
    by_project: bool,
}

impl Settings {
    /// Reads and merges all of them.
    pub fn gather(options: &HostOverrides, environment: &Environment) -> Result<Settings, HostError> {
        Settings::default().gathered(options, environment)
    }

    /// Like [`gather`](Settings::gather), where a file that cannot be used is a notice.
    pub fn gather_leniently(options: &HostOverrides, environment: &Environment) -> Result<Settings, HostError> {
        Settings { lenient: true, lenient_policy: true, ..Settings::default() }.gathered(options, environment)
    }

    /// Like [`gather`](Settings::gather), where a policy that cannot be used is a notice, and closes everything: for
    /// commands that say so.
    pub fn gather_despite_policy(options: &HostOverrides, environment: &Environment) -> Result<Settings, HostError> {
        Settings { lenient_policy: true, ..Settings::default() }.gathered(options, environment)
    }

    fn gathered(self, options: &HostOverrides, environment: &Environment) -> Result<Settings, HostError> {
        let mut settings = self;
        let isolated = options.isolated || environment.isolated;
        settings.policy = crate::policy::read(environment, settings.lenient_policy, &mut settings.notices)?;
        settings.named_dirs(options, environment)?;
        let config = settings.configure(options, environment, isolated)?;
        if !isolated {
            settings.usual_places(environment, options);
        }
        let all = switches(&config);
        settings.by_files = match settings.by_user.take() {
            // A project's file comes with a checkout: it switches its own skills, and no others.
            Some(own) => Enablement { foreign: Some(Box::new(all)), ..own },
            None => all,
        };
        settings.disclose = config.disclose;
        settings.disclose.select(environment.select);
        settings.run = config.run;
        settings.remote_names = crate::policy::remote_names(&config.mcp, &config.catalog);
        settings.servers = config.mcp;
        crate::policy::drop_refused_servers(&settings.policy, &mut settings.servers, &mut settings.notices);
        settings.catalogs = config.catalog;
        settings.agent = config.agent;
        settings.judge = config.judge;
        settings.usage = config.usage;
        settings.views = config.view;
        if let Some(entries) = config.load.cache_entries {
            settings.loader.cache_capacity = entries;
        }
        if !(options.no_cache || environment.no_cache) {
            settings.cache = environment.cache_home.as_ref().map(|dir| dir.join("skillcue/index"));
        }
        Ok(settings)
    }

    /// Adds the directories that were named for this run: by flags, or else by the variable.
    fn named_dirs(&mut self, options: &HostOverrides, environment: &Environment) -> Result<(), HostError> {
        let (dirs, by) = if options.skills_dirs.is_empty() {
            (&environment.skills_dirs, "SKILLCUE_SKILLS_DIRS")
        } else {
            (&options.skills_dirs, "skills directory")
        };
        for dir in dirs {
            let problem = match environment.resolve(dir).metadata() {
                Ok(metadata) if metadata.is_dir() => None,
                Ok(_) => Some("it is not a directory".to_owned()),
                Err(error) => Some(skillcue_base::os_message(&error)),
            };
            if let Some(problem) = problem {
                let message = format!("{by} {}: {problem}", dir.display());
                return Err(HostError::usage("usage", message).help("name a directory that holds skills"));
            }
            self.roots.push(SkillRoot::required(environment.resolve(dir), Source::Inline));
        }
        Ok(())
    }

    /// Reads the configuration files. Their directories become roots here, because the source of a directory depends on
    /// the file that names it; the rest is merged.
    fn configure(
        &mut self,
        options: &HostOverrides,
        environment: &Environment,
        isolated: bool,
    ) -> Result<Config, HostError> {
        if let Some(file) = options.config.as_ref().or(environment.config.as_ref()) {
            let by = if options.config.is_some() { "configuration file" } else { "SKILLCUE_CONFIG" };
            let file = environment.resolve(file);
            let Some((_, config)) = read_config(&file)? else {
                return Err(HostError::usage("usage", format!("{by} {}: no such file", file.display()))
                    .help("name a skillcue.toml that is there"));
            };
            self.files.push(file);
            if !isolated {
                self.configured_places(&config, Source::User);
            }
            return Ok(config);
        }
        if isolated {
            return Ok(Config::default());
        }
        let mut all = Config::default();
        if let Some(dir) = &environment.config_home
            && let Some((_, config)) = self.read(&dir.join("skillcue").join(FILE))?
        {
            self.files.push(dir.join("skillcue").join(FILE));
            self.configured_places(&config, Source::User);
            all.merge(config);
        }
        if let Some(project) = environment.project()
            && let Some((text, mut config)) = self.read(&project.join(FILE))?
        {
            self.files.push(project.join(FILE));
            let consent = options.gate(environment);
            // Without a readable file no project is trusted, and the work goes on.
            if let Some(message) = consent.trouble() {
                let help = consent::BROKEN_FILE_HINT.to_owned();
                self.notices.push(Diagnostic::named("consent", Severity::Warning, message).with_help(help));
            }
            let answer = consent.answer(&question(project, &text));
            let is_trusted = answer.is_allowed();
            let distrusted = if is_trusted { Distrusted::default() } else { config.distrust(project) };
            for server in &distrusted.servers {
                let again = if answer == Answer::Changed { "; the file has changed since you allowed it" } else { "" };
                self.notices.push(
                    Diagnostic::named(
                        "untrusted_server",
                        Severity::Error,
                        format!("{} may not add the server {:?}{again}", project.join(FILE).display(), server.name),
                    )
                    .with_help("look at the file; it counts once you allow the project"),
                );
            }
            for catalog in &distrusted.catalogs {
                let message = format!("{} may not add the catalog {:?}", project.join(FILE).display(), catalog.name);
                self.notices.push(
                    Diagnostic::named("untrusted_catalog", Severity::Error, message)
                        .with_help("look at the file; it counts once you allow the project"),
                );
            }
            let sections = [
                ("untrusted_limits", distrusted.run != RunSection::default(), "set limits for what runs", "[run]"),
                ("untrusted_agent", distrusted.agent != AgentSection::default(), "say how the agent works", "[agent]"),
                ("untrusted_judge", distrusted.judge != JudgeSection::default(), "choose a judge", "[select]"),
                ("untrusted_view", !distrusted.view.is_empty(), "define views", "[view]"),
                ("untrusted_usage", distrusted.usage != UsageSection::default(), "decide about the ledger", "[usage]"),
            ];
            for (code, _, what, section) in sections.into_iter().filter(|(_, is_set, ..)| *is_set) {
                let message = format!("{} may not {what}", project.join(FILE).display());
                let help = format!("look at {section} in it; it counts once you allow the project");
                self.notices.push(Diagnostic::named(code, Severity::Error, message).with_help(help));
            }
            for refused in distrusted.dirs {
                let refused = absolute(&refused);
                self.notices.push(
                    Diagnostic::named(
                        "untrusted_path",
                        Severity::Error,
                        format!(
                            "{} may not add {}: it is outside of the project",
                            project.join(FILE).display(),
                            refused.display()
                        ),
                    )
                    .with_help("if you trust it, name the directory yourself, or allow the project")
                    .with_excerpt(refused.display().to_string()),
                );
            }
            self.configured_places(&config, Source::Project);
            if !is_trusted {
                self.by_user = Some(switches(&all));
            }
            all.merge(config);
        }
        Ok(all)
    }

    /// Reads a configuration file, if there is one that can be used.
    fn read(&mut self, path: &Path) -> Result<Option<(String, Config)>, HostError> {
        match read_config(path) {
            Err(error) if self.lenient => {
                let place = error.shown_excerpt().map_or(String::new(), |at| format!(":{}:{}", at.line, at.column));
                let message = format!("{}{place}: {}", path.display(), error.message());
                let help = error.hint().map(Cow::into_owned).unwrap_or_default();
                self.files.push(path.to_path_buf());
                self.notices.push(Diagnostic::named("config", Severity::Error, message).with_help(help));
                Ok(None)
            }
            read => read,
        }
    }

    fn configured_places(&mut self, config: &Config, source: Source) {
        self.roots.extend(config.skills.dirs.iter().map(|dir| SkillRoot::required(absolute(dir), source)));
        let by_project = source == Source::Project;
        let plugins = config.skills.plugins.iter();
        self.plugins.extend(plugins.map(|dir| NamedPlugin { dir: absolute(dir), by_project }));
    }

    /// Adds the places where skills usually are.
    fn usual_places(&mut self, environment: &Environment, options: &HostOverrides) {
        let user = environment.home.as_deref().map(skillcue::catalog::user_roots).unwrap_or_default();
        if let (Some(cwd), Some(project)) = (&environment.cwd, environment.project()) {
            let roots = skillcue::catalog::project_roots(cwd, project);
            // In the home directory there is no project.
            let own = |root: &SkillRoot| !user.iter().any(|other| other.path == root.path);
            self.roots.extend(roots.into_iter().filter(own));
        }
        self.roots.extend(user);
        let mut further = further(environment, &self.plugins);
        self.diagnostics.append(&mut further.diagnostics);
        self.notices.append(&mut further.notices);
        self.further = Some(further);
        if options.no_bundled {
            return;
        }
        match bundled::unpack(environment) {
            Ok(root) => self.roots.push(SkillRoot::new(root, Source::Bundled)),
            Err(error) => self.notices.push(
                Diagnostic::named(
                    "bundled_missing",
                    Severity::Warning,
                    format!(
                        "the bundled skills are missing, as they could not be unpacked: {}",
                        skillcue_base::os_message(&error)
                    ),
                )
                .with_help("set HOME or XDG_DATA_HOME to a directory that you may write to".to_owned()),
            ),
        }
    }

    /// Returns a function that says where installed skills and plugins are now, and what is enabled. The files are not
    /// read again; the registries and other programs' lists are.
    pub fn setup(&self, environment: &Environment, isolated: bool) -> impl Fn() -> Setup + use<> {
        let (by_files, environment, plugins) = (self.by_files.clone(), environment.clone(), self.plugins.clone());
        // Looked at a moment ago, for the settings themselves.
        let first = Mutex::new(self.further.clone());
        let (servers, names) = (crate::policy::server_origins(&self.servers), self.remote_names.clone());
        let known = SkillOrigins { servers, names, ..SkillOrigins::default() };
        move || {
            let mut enablement = by_files.clone();
            if isolated {
                return Setup { roots: Vec::new(), enablement, origins: Arc::new(known.clone()) };
            }
            let first = skillcue_base::lock(&first).take();
            let VolatileRoots { roots, user, project, .. } = first.unwrap_or_else(|| further(&environment, &plugins));
            for (address, on) in user.iter().flat_map(RegistryState::enabled_by_skill) {
                let Enablement { enable, disable, foreign } = &mut enablement;
                for (enable, disable) in foreign
                    .as_deref_mut()
                    .map(|it| (&mut it.enable, &mut it.disable))
                    .into_iter()
                    .chain([(enable, disable)])
                {
                    if on { enable } else { disable }.insert(address.clone());
                }
            }
            if let Some(project) = &project {
                let own = Enablement { foreign: None, ..enablement.clone() };
                registries::switch_own(enablement.foreign.get_or_insert_with(|| Box::new(own)), project);
            }
            let dirs = crate::policy::installed_origins(&environment, user.as_ref());
            let origins = Arc::new(SkillOrigins { dirs, ..known.clone() });
            Setup { roots, enablement, origins }
        }
    }

    /// Returns every root, those of installed skills and plugins included.
    pub fn all_roots(&self) -> impl Iterator<Item = &SkillRoot> {
        self.roots.iter().chain(self.further.iter().flat_map(|further| &further.roots))
    }
}

/// Returns the names that a configuration enables and disables.
fn switches(config: &Config) -> Enablement {
    let set = |names: &[String]| names.iter().cloned().collect::<HashSet<_>>();
    Enablement { enable: set(&config.skills.enable), disable: set(&config.skills.disable), foreign: None }
}

/// Roots that may differ at the next look: those of installed skills and of plugins.
#[derive(Debug, Clone, Default)]
struct VolatileRoots {
    roots: Vec<SkillRoot>,
    /// The registries as they were read.
    user: Option<RegistryState>,
    project: Option<RegistryState>,
    diagnostics: Vec<Diagnostic>,
    notices: Vec<Diagnostic>,
}

fn further(environment: &Environment, plugins: &[NamedPlugin]) -> VolatileRoots {
    let mut further = VolatileRoots::default();
    let mut dirs = plugins.to_vec();
    let registries = Registries::open(environment);
    for (registry, source) in registries.both() {
        let mut state = registry.state();
        further.roots.extend(registries::roots(registry, &state, source));
        further.notices.extend(std::mem::take(&mut state.diagnostics).into_iter().map(|mut found| {
            // Its path is part of the message: reports at the start have one line.
            if let Some(path) = found.path.take() {
                found.message = format!("{}: {}", path.display(), found.message).into();
            }
            found
        }));
        *if source == Source::Project { &mut further.project } else { &mut further.user } = Some(state);
    }
    if let Some(home) = &environment.home {
        let installed = installed_plugins(&home.join(".claude/plugins"), environment.cwd.as_deref());
        dirs.extend(installed.into_iter().map(|dir| NamedPlugin { dir, by_project: false }));
    }
    for plugin in &dirs {
        let (roots, diagnostics) = plugin_roots(&plugin.dir);
        let by_project = plugin.by_project;
        further.roots.extend(roots.into_iter().map(|root| if by_project { root.from_checkout() } else { root }));
        further.diagnostics.extend(diagnostics);
    }
    further
}

/// Returns the question whether to trust the project's file, and the settings in it that count only then.
pub fn project_wants(project: &Path) -> Result<Option<(Question, Distrusted)>, HostError> {
    let read = read_config(&project.join(FILE))?;
    Ok(read.map(|(text, mut config)| (question(project, &text), config.distrust(project))))
}

/// Returns the question whether a project's file is trusted, exactly as it is.
fn question(project: &Path, text: &str) -> Question {
    Question::new(Subject::project(project), ContentId::of_listed([(FILE, Digest::of(text))]))
}

/// Reads a configuration file; none if there is none.
fn read_config(path: &Path) -> Result<Option<(String, Config)>, HostError> {
    let text = match read_text(path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => {
            return Err(HostError::failure(
                "config",
                format!("cannot read {}: {}", path.display(), skillcue_base::os_message(&error)),
            )
            .help("make it readable, or name another one"));
        }
    };
    match Config::parse(&text) {
        Ok(config) => {
            let config = config.below(path.parent().unwrap_or(Path::new("/")));
            Ok(Some((text, config)))
        }
        Err(error) => Err(HostError::failure("config", hidden_in(&error.message, &text, error.line))
            .help(hidden_in(&error.help, &text, error.line))
            .excerpt(Excerpt {
                path: path.display().to_string(),
                line: error.line,
                column: error.column,
                width: error.width,
                text: without_key(&text, error.line),
            })),
    }
}

/// Words of a line that may hold a key, however it is misspelt.
const SECRETS: [&str; 4] = ["key", "token", "secret", "password"];

/// Returns the value on a line that may hold a key: all after the first sign that something is one.
fn secret_of(line: &str) -> Option<&str> {
    let lower = line.to_lowercase();
    let (at, _) = line.char_indices().find(|(_, c)| matches!(c, '=' | ':'))?;
    let value = line.get(at + 1..)?;
    // Numbers of tokens are none.
    let is_long = words(value).any(|word| word.len() >= 8);
    (is_long && SECRETS.iter().any(|word| lower.contains(word))).then_some(value)
}

/// Returns the runs of characters that keys are made of.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_')))
}

/// Masks what may be a key on the line that is shown. Every place stays where it is.
fn without_key(text: &str, line: usize) -> String {
    let hidden = |(number, line_text): (usize, &str)| match secret_of(line_text).filter(|_| number + 1 == line) {
        Some(secret) => {
            let stars = secret.chars().map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_') { '*' } else { c });
            let head = &line_text[..line_text.len() - secret.len()];
            head.chars().chain(stars).collect()
        }
        None => line_text.to_owned(),
    };
    text.split_inclusive('\n').enumerate().map(hidden).collect()
}

/// Masks what may be a key in a parser's complaint.
fn hidden_in(message: &str, text: &str, line: usize) -> String {
    let secret = text.lines().nth(line.saturating_sub(1)).and_then(secret_of).unwrap_or_default();
    let mut message = message.to_owned();
    for word in words(secret).filter(|word| word.len() > 5) {
        message = message.replace(word, "…");
    }
    message
}
