//! The registries: the user's, and the project's beside its `skillcue.toml`.

use std::path::{Path, PathBuf};

use skillcue::catalog::plugin_roots;
use skillcue::{Enablement, SkillRoot, Source};
use skillcue_registry::{Disk, GitProgram, InstallableKind, OciAccess, Registry, RegistryLocation, RegistryState};

use crate::environment::Environment;

/// The registries that there are.
#[derive(Debug, Default)]
pub struct Registries {
    /// The user's.
    pub user: Option<Registry>,
    /// The project's.
    pub project: Option<Registry>,
}

impl Registries {
    /// Opens both. Nothing is read yet.
    pub fn open(environment: &Environment) -> Registries {
        let user = environment.data_home.as_ref().map(|data| RegistryLocation::user(data.join("skillcue")));
        let project = environment.project().map(RegistryLocation::project);
        let open = |place: RegistryLocation| Registry::open(place, Disk::default());
        Registries { user: user.map(open), project: project.map(open) }
    }

    /// Returns both registries with their sources, whether they have files or not.
    pub fn both(&self) -> impl Iterator<Item = (&Registry, Source)> {
        let both = [(&self.project, Source::Project), (&self.user, Source::User)];
        both.into_iter().filter_map(|(registry, source)| Some((registry.as_ref()?, source)))
    }

    /// Returns the registries that have files.
    pub fn present(&self) -> impl Iterator<Item = (&Registry, Source)> {
        self.both().filter(|(registry, _)| {
            let place = registry.location();
            [place.registry_file(), place.lock_file()].iter().any(|file| file.exists())
        })
    }

    /// The one that something is installed in, the project's first.
    pub fn having(&self, name: &str) -> Option<(&Registry, Source)> {
        self.present().find(|(registry, _)| registry.state().installed.contains_key(name))
    }
}

/// Applies a project's registry to the skills installed in the project. It comes with a checkout: of other skills it
/// has no say, and of its own only where the user has not spoken.
pub(crate) fn switch_own(all: &mut Enablement, project: &RegistryState) {
    for (address, on) in project.enabled_by_skill() {
        let Some(own) = own_address(project, &address) else { continue };
        let name = own.split_once(['@', ':']).map_or(own.as_str(), |(name, _)| name);
        if [name, &own].iter().any(|said| all.disable.contains(*said)) {
            continue;
        }
        if on { &mut all.enable } else { &mut all.disable }.insert(own);
    }
}

/// Returns the address of something that is installed in a project, which nothing else has.
pub fn own_address(project: &RegistryState, address: &str) -> Option<String> {
    let kind = |name: &str| project.installed.get(name).map(|installed| installed.kind);
    if let Some((plugin, _)) = address.split_once(':') {
        return (kind(plugin) == Some(InstallableKind::Plugin)).then(|| address.to_owned());
    }
    let name = address.strip_suffix("@project").unwrap_or(address);
    (kind(name) == Some(InstallableKind::Skill)).then(|| format!("{name}@project"))
}

/// Returns the roots of installed skills and plugins.
pub(crate) fn roots(registry: &Registry, state: &RegistryState, source: Source) -> Vec<SkillRoot> {
    let mut roots = vec![SkillRoot::new(registry.installed_skills_dir(), source).off_until_enabled()];
    for (name, installed) in &state.installed {
        if installed.kind == InstallableKind::Plugin {
            // What is wrong with it was said when it was installed, and `verify` says it again.
            let (of_plugin, _) = plugin_roots(&registry.dir_of(InstallableKind::Plugin, name));
            let of_plugin = of_plugin.into_iter().map(SkillRoot::off_until_enabled);
            // A project's registry comes with a checkout, and so does what it names.
            let by_project = source == Source::Project;
            roots.extend(of_plugin.map(|root| if by_project { root.from_checkout() } else { root }));
        }
    }
    roots
}

impl Environment {
    /// Returns the places of credentials for OCI registries, as Docker, Podman and Skopeo know them, and the variables that
    /// their helpers need.
    ///
    /// ```
    /// use skillcue_host::Environment;
    ///
    /// let environment = Environment::new(None, vec![("HOME".into(), "/home/ann".into())])?;
    /// let files = environment.oci_access().auth_files;
    /// assert_eq!(files.last().unwrap().to_str(), Some("/home/ann/.docker/config.json"));
    /// # Ok::<(), skillcue_host::HostError>(())
    /// ```
    pub fn oci_access(&self) -> OciAccess {
        let variable = |name: &str| self.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let below = |dir: Option<PathBuf>, file: &str| dir.map(|dir| dir.join(file));
        let docker = variable("DOCKER_CONFIG").or_else(|| below(self.home.clone(), ".docker"));
        let auth_files = [
            variable("REGISTRY_AUTH_FILE"),
            below(variable("XDG_RUNTIME_DIR"), "containers/auth.json"),
            below(self.config_home.clone(), "containers/auth.json"),
            below(docker, "config.json"),
        ];
        let concerns_helpers = |name: &std::ffi::OsStr| {
            let name = name.to_string_lossy();
            name.starts_with("AWS_")
                || name.starts_with("GOOGLE_")
                || name.starts_with("AZURE_")
                || name.starts_with("CLOUDSDK_")
        };
        let mut env = self.git_variables();
        env.extend(self.variables.iter().filter(|(name, _)| concerns_helpers(name)).cloned());
        OciAccess {
            auth_files: auth_files.into_iter().flatten().map(|file| self.resolve(&file)).collect(),
            helper_dirs: self.path.clone(),
            env,
        }
    }

    /// Returns how git is called: by its whole path, with the variables that it needs.
    pub fn git(&self) -> GitProgram {
        let program = self.path.iter().map(|dir| dir.join("git")).find(|program| program.is_file());
        // Without one, the name: starting it then says what is wrong.
        GitProgram { program: program.unwrap_or_else(|| Path::new("git").to_path_buf()), env: self.git_variables() }
    }
}
