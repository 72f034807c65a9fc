//! The registries: the user's, and the project's beside its `skillcue.toml`.

use std::path::Path;

use skillcue::{Enablement, Root, Source, plugin_roots};
use skillcue_registry::{Disk, FetchError, Finding, Git, Kind, OriginError, Place, Registry, RegistryError, State};

use crate::environment::Environment;
use crate::error::CliError;
use crate::terminal::{Terminal, paint, style};
use crate::text;

/// Which registries there are.
#[derive(Debug, Default)]
pub(crate) struct Registries {
    pub(crate) user: Option<Registry>,
    pub(crate) project: Option<Registry>,
}

// Whose registry a command works on.
// No doc comment: clap would open the help of every command that has these with it.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Whose {
    /// The project's registry, beside its skillcue.toml, instead of the user's
    #[arg(long)]
    pub(crate) project: bool,
}

impl Registries {
    pub(crate) fn open(environment: &Environment) -> Registries {
        let user = environment.data_home.as_ref().map(|data| Place::user(data.join("skillcue")));
        let project = environment.project().map(Place::project);
        let open = |place: Place| Registry::open(place, Disk::default());
        Registries { user: user.map(open), project: project.map(open) }
    }

    /// The one that was meant.
    pub(crate) fn of(&self, whose: Whose) -> Result<&Registry, CliError> {
        let (registry, help) = if whose.project {
            (&self.project, "go to a directory of the project")
        } else {
            (&self.user, "set HOME or XDG_DATA_HOME to a directory that you may write to")
        };
        registry.as_ref().ok_or_else(|| CliError::failure("registry", "there is no place for a registry").help(help))
    }

    /// Both, with what counts as whose, whether they say something or not.
    pub(crate) fn both(&self) -> impl Iterator<Item = (&Registry, Source)> {
        let both = [(&self.project, Source::Project), (&self.user, Source::User)];
        both.into_iter().filter_map(|(registry, source)| Some((registry.as_ref()?, source)))
    }

    /// Those that say something.
    pub(crate) fn present(&self) -> impl Iterator<Item = (&Registry, Source)> {
        self.both().filter(|(registry, _)| {
            let place = registry.place();
            [place.registry_file(), place.lock_file()].iter().any(|file| file.exists())
        })
    }

    /// The one that something is installed in, the project's first.
    pub(crate) fn having(&self, name: &str) -> Option<(&Registry, Source)> {
        self.present().find(|(registry, _)| registry.state().installed.contains_key(name))
    }
}

/// What a project's registry says of what is installed in the project. It comes with a checkout: of other skills it has no
/// say, and of its own only where the user has not spoken.
pub(crate) fn switch_own(all: &mut Enablement, project: &State) {
    for (address, on) in project.enabled_by_skill() {
        let Some(own) = own_address(project, &address) else { continue };
        let name = own.split_once(['@', ':']).map_or(own.as_str(), |(name, _)| name);
        if [name, &own].iter().any(|said| all.disable.contains(*said)) {
            continue;
        }
        if on { &mut all.enable } else { &mut all.disable }.insert(own);
    }
}

/// How something that is installed in a project is addressed so that nothing else is meant.
pub(crate) fn own_address(project: &State, address: &str) -> Option<String> {
    let kind = |name: &str| project.installed.get(name).map(|installed| installed.kind);
    if let Some((plugin, _)) = address.split_once(':') {
        return (kind(plugin) == Some(Kind::Plugin)).then(|| address.to_owned());
    }
    let name = address.strip_suffix("@project").unwrap_or(address);
    (kind(name) == Some(Kind::Skill)).then(|| format!("{name}@project"))
}

/// Where discovery finds what is installed.
pub(crate) fn roots(registry: &Registry, state: &State, source: Source) -> Vec<Root> {
    let mut roots = vec![Root::new(registry.installed_skills_dir(), source).off_until_enabled()];
    for (name, installed) in &state.installed {
        if installed.kind == Kind::Plugin {
            // What is wrong with it was said when it was installed, and `verify` says it again.
            let (of_plugin, _) = plugin_roots(&registry.dir_of(Kind::Plugin, name));
            let of_plugin = of_plugin.into_iter().map(Root::off_until_enabled);
            // A project's registry comes with a checkout, and so does what it names.
            let by_project = source == Source::Project;
            roots.extend(of_plugin.map(|root| if by_project { root.from_checkout() } else { root }));
        }
    }
    roots
}

/// How git is called here.
pub(crate) fn git(environment: &Environment) -> Git {
    let program = environment.path.iter().map(|dir| dir.join("git")).find(|program| program.is_file());
    // Without one, the name: what is wrong is said by whoever needs it.
    Git { program: program.unwrap_or_else(|| Path::new("git").to_path_buf()), env: environment.git.clone() }
}

impl From<RegistryError> for CliError {
    fn from(error: RegistryError) -> CliError {
        let code = match &error {
            RegistryError::NotInstalled { .. }
            | RegistryError::NothingInTrash { .. }
            | RegistryError::NoFiles { .. } => "not_installed",
            RegistryError::Findings { .. } => "findings",
            RegistryError::Edited { .. } => "edited",
            RegistryError::Differs { .. } => "differs",
            RegistryError::OtherOrigin { .. } | RegistryError::InTheWay { .. } => "in_the_way",
            RegistryError::NotYours { .. } => "not_yours",
            RegistryError::NotOurs { .. } => "not_ours",
            RegistryError::NotInOrigin { .. } => "not_in_origin",
            RegistryError::Invalid { .. } | RegistryError::Odd { .. } | RegistryError::Twice { .. } => "invalid_skill",
            _ => "registry",
        };
        let help = match &error {
            RegistryError::OtherOrigin { .. } | RegistryError::InTheWay { .. } => {
                "say --replace to put it in its place; what is there goes to the trash"
            }
            RegistryError::Findings { .. } => "read them; --allow-findings installs it all the same",
            RegistryError::Edited { .. } => {
                "keep your edits elsewhere; --overwrite-edits puts them into the trash (install: --replace)"
            }
            other => other.hint(),
        };
        CliError::failure(code, error.to_string()).help(help)
    }
}

impl From<FetchError> for CliError {
    fn from(error: FetchError) -> CliError {
        CliError::failure("fetch", error.to_string()).help(error.help())
    }
}

impl From<OriginError> for CliError {
    fn from(error: OriginError) -> CliError {
        CliError::usage("usage", error.to_string()).help(error.help())
    }
}

/// Findings of an audit for people, one below the other.
pub(crate) fn tell_findings(terminal: &Terminal, name: &str, findings: &[Finding]) {
    for finding in findings {
        terminal.say(&finding_lines(name, finding));
    }
}

/// One finding: where, what, and what stands there.
pub(crate) fn finding_lines(below: &str, finding: &Finding) -> String {
    use skillcue_registry::Severity;
    let weight = match finding.rule.severity {
        Severity::High => style::BAD,
        Severity::Medium => style::WARNING,
        Severity::Low => style::DIM,
    };
    let mut place = text::one_line(&Path::new(below).join(&finding.path).display().to_string());
    if finding.line > 0 {
        place = format!("{place}:{}:{}", finding.line, finding.column);
    } else if finding.column > 0 {
        place = format!("{place}, byte {}", finding.column);
    }
    let head = paint(weight, format_args!("{}[{}]", finding.rule.severity, finding.rule.id));
    let mut lines = format!("{head}: {}\n  {}", text::one_line(&finding.message), paint(style::DIM, place));
    if !finding.excerpt.is_empty() {
        lines.push_str("\n  | ");
        lines.push_str(&text::one_line(&finding.excerpt));
    }
    lines
}
