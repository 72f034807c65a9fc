//! The machine as a host sees it: variables and directories, as a plain value.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use skillcue::catalog::Checkout;
use skillcue::config::SelectSection;
use skillcue::{Fallback, Mode};

use crate::error::HostError;

/// The part of a machine that a host may know. [`Environment::new`] fills it from variables; every field may be set by
/// hand.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// The current directory, if it still exists.
    pub cwd: Option<PathBuf>,
    /// The directory up to which the project reaches: the nearest one above with a `.git`, else the current one.
    pub project: Option<PathBuf>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The directories in which programs are looked for.
    pub path: Vec<PathBuf>,
    /// `$XDG_CACHE_HOME`, or its default.
    pub cache_home: Option<PathBuf>,
    /// `$XDG_DATA_HOME`, or its default.
    pub data_home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, or its default.
    pub config_home: Option<PathBuf>,
    /// `$SKILLCUE_SKILLS_DIRS`, a list like `PATH`.
    pub skills_dirs: Vec<PathBuf>,
    /// `$SKILLCUE_ISOLATED`
    pub isolated: bool,
    /// `$SKILLCUE_NO_CACHE`
    pub no_cache: bool,
    /// `$SKILLCUE_CONFIG`
    pub config: Option<PathBuf>,
    /// `$SKILLCUE_MODE`, `$SKILLCUE_MAX_SKILLS` and `$SKILLCUE_FALLBACK`, or `$SKILL_MATCHING_MODE` and its kin; and
    /// `$SKILLCUE_EAGERNESS`.
    pub select: SelectSection,
    /// The directory for temporary files, if not the default one.
    pub temporary: Option<PathBuf>,
    /// The files of the organisation's policy: that of the machine, and the one that `$SKILLCUE_POLICY` adds. Each may only
    /// tighten.
    pub policies: Vec<PolicyLocation>,
    /// All variables, for what runs on behalf of the user.
    pub variables: Vec<(OsString, OsString)>,
}

/// The file of the machine's policy. Only its administrator can write there.
pub const MACHINE_POLICY: &str = "/etc/skillcue/policy.toml";

/// A file that may hold a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyLocation {
    /// The file.
    pub path: PathBuf,
    /// Whether it was named: then it must be there.
    pub is_named: bool,
}

impl Environment {
    /// Reads variables. One that is set to nothing counts as not set.
    ///
    /// ```
    /// use skillcue_host::Environment;
    ///
    /// let environment = Environment::new(None, vec![("HOME".into(), "/home/ann".into())])?;
    /// assert_eq!(environment.cache_home.unwrap().to_str(), Some("/home/ann/.cache"));
    /// # Ok::<(), skillcue_host::HostError>(())
    /// ```
    pub fn new(cwd: Option<PathBuf>, variables: Vec<(OsString, OsString)>) -> Result<Environment, HostError> {
        let variable = |name: &str| {
            let of_name = variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
            of_name.filter(|value| !value.is_empty())
        };
        // The base directory specification: a relative path is invalid and to be ignored.
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let list = |name: &str| variable(name).map(|value| std::env::split_paths(&value).collect::<Vec<_>>());
        let home = absolute("HOME");
        let base = |name: &str, below: &str| absolute(name).or_else(|| Some(home.as_ref()?.join(below)));
        // A relative entry would make a skill's requirements depend on the current directory, and let a checkout decide
        // them.
        let path = list("PATH").unwrap_or_default().into_iter().filter(|dir| dir.is_absolute()).collect();
        let skills_dirs = list("SKILLCUE_SKILLS_DIRS").unwrap_or_default();
        let project = cwd.as_deref().map(|cwd| Environment::project_of(cwd).to_path_buf());
        Ok(Environment {
            path,
            project,
            cache_home: base("XDG_CACHE_HOME", ".cache"),
            data_home: base("XDG_DATA_HOME", ".local/share"),
            config_home: base("XDG_CONFIG_HOME", ".config"),
            temporary: absolute("TMPDIR"),
            skills_dirs: skills_dirs.into_iter().filter(|dir| !dir.as_os_str().is_empty()).collect(),
            isolated: flag("SKILLCUE_ISOLATED", variable("SKILLCUE_ISOLATED").as_deref())?,
            no_cache: flag("SKILLCUE_NO_CACHE", variable("SKILLCUE_NO_CACHE").as_deref())?,
            config: variable("SKILLCUE_CONFIG").map(PathBuf::from),
            select: selection(&variable)?,
            policies: [Some((MACHINE_POLICY.into(), false)), variable("SKILLCUE_POLICY").map(|path| (path, true))]
                .into_iter()
                .flatten()
                .map(|(path, is_named)| PolicyLocation { path: PathBuf::from(path), is_named })
                .collect(),
            cwd,
            home,
            variables,
        })
    }

    /// Returns the directory up to which the project that `dir` is in reaches: the nearest one above with a `.git`,
    /// else `dir` itself.
    pub fn project_of(dir: &Path) -> &Path {
        // A file, in worktrees and submodules.
        dir.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(dir)
    }

    /// Returns the value of a variable, if it is set and is UTF-8.
    pub fn variable(&self, name: &str) -> Option<String> {
        let found = self.variables.iter().find(|(key, _)| key == name);
        found.and_then(|(_, value)| value.to_str()).map(str::to_owned)
    }

    /// Returns all variables that are UTF-8.
    pub fn text_variables(&self) -> Vec<(String, String)> {
        let text = |(name, value): &(OsString, OsString)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()));
        self.variables.iter().filter_map(text).collect()
    }

    /// Returns a file or directory of Skillcue's in the user's data directory, if there is one.
    pub fn data(&self, name: &str) -> Option<PathBuf> {
        self.data_home.as_ref().map(|data| data.join("skillcue").join(name))
    }

    /// Returns what git is given of the variables: what it needs to reach repositories as the user does, and nothing
    /// that points to the repository of the current directory.
    pub fn git_variables(&self) -> Vec<(OsString, OsString)> {
        self.variables.iter().filter(|(name, _)| concerns_git(name)).cloned().collect()
    }

    /// Returns a path that a person or a variable named, from the root of the file system: a relative one starts in
    /// this environment's directory, which need not be the process's.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        match &self.cwd {
            Some(cwd) => absolute(&cwd.join(path)),
            None => absolute(path),
        }
    }

    /// Returns the directory up to which the project reaches: the nearest one above with a `.git`, else the current
    /// one.
    pub fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// Returns the project as a checkout: what other people may have written, apart from what is the user's own.
    pub fn checkout(&self) -> Option<Checkout> {
        let mut checkout = Checkout::new(self.project()?);
        if let Some(home) = &self.home {
            checkout = checkout.of_user(home);
        }
        Some(checkout)
    }
}

/// The variables for the mode, the number of skills and the fallback; of two that are set, the first counts.
const SELECTION: [[&str; 2]; 3] = [
    ["SKILLCUE_MODE", "SKILL_MATCHING_MODE"],
    ["SKILLCUE_MAX_SKILLS", "SKILL_MAX_PER_REQUEST"],
    ["SKILLCUE_FALLBACK", "SKILL_FALLBACK_MODE"],
];

/// The variable for the eagerness, which has one name only.
const EAGERNESS: &str = "SKILLCUE_EAGERNESS";

/// Reads the settings of selection from variables. A value that means nothing is an error, never ignored.
fn selection(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<SelectSection, HostError> {
    let set = |names: [&'static str; 2]| names.into_iter().find_map(|name| Some((name, variable(name)?)));
    let [mode, max_skills, fallback] = SELECTION.map(set);
    let fallbacks = [("none", Fallback::None), ("show_all", Fallback::ShowAll), ("ask_user", Fallback::AskUser)];
    let max_skills = max_skills.map(|(name, value)| match value.to_str().and_then(|value| value.parse().ok()) {
        Some(count) => Ok(count),
        None => Err(wrong(name, &value, "a whole number such as 3")),
    });
    Ok(SelectSection {
        mode: choice(mode, &Mode::NAMES)?,
        max_skills: max_skills.transpose()?,
        fallback: choice(fallback, &fallbacks)?,
        eagerness: variable(EAGERNESS).map(|value| share(EAGERNESS, &value)).transpose()?,
        model: None,
    })
}

/// Returns the number from 0 to 1 that a variable is set to.
fn share(name: &str, value: &OsStr) -> Result<f32, HostError> {
    let number = value.to_str().and_then(|value| value.parse().ok());
    number.filter(|number| (0.0..=1.0).contains(number)).ok_or_else(|| wrong(name, value, "a number from 0 to 1"))
}

/// Returns the meaning of the word that a variable is set to.
fn choice<T: Copy>(set: Option<(&str, OsString)>, words: &[(&str, T)]) -> Result<Option<T>, HostError> {
    let Some((name, value)) = set else { return Ok(None) };
    let written = value.to_string_lossy().to_ascii_lowercase().replace('-', "_");
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == written) {
        return Ok(Some(*meaning));
    }
    let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    Err(wrong(name, &value, &words.join(" or ")))
}

fn wrong(name: &str, value: &OsStr, right: &str) -> HostError {
    HostError::usage("usage", format!("{name} is `{}`", value.display()))
        .help(format!("set it to {right}, or unset it"))
}

/// Returns whether git needs a variable to reach repositories as the user does.
fn concerns_git(name: &OsStr) -> bool {
    const NAMES: [&str; 10] = [
        "HOME",
        "PATH",
        "USER",
        "LOGNAME",
        "LANG",
        "TMPDIR",
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
        "KRB5CCNAME",
        "CURL_CA_BUNDLE",
    ];
    const BEGINNINGS: [&str; 8] =
        ["GIT_CONFIG", "GIT_SSH", "GIT_SSL", "GIT_HTTP", "GIT_PROXY", "GIT_ASKPASS", "SSH_", "SSL_CERT"];
    let name = name.to_string_lossy();
    NAMES.contains(&&*name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || name.to_ascii_lowercase().ends_with("_proxy")
}

fn flag(name: &str, value: Option<&OsStr>) -> Result<bool, HostError> {
    let Some(value) = value else { return Ok(false) };
    match value.to_string_lossy().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => {
            Err(HostError::usage("usage", format!("{name} is `{}`", value.display()))
                .help("set it to 1 or 0, or unset it"))
        }
    }
}

/// Returns a path that means the same in every current directory.
///
/// ```
/// assert!(skillcue_host::absolute("skills".as_ref()).is_absolute());
/// ```
pub fn absolute(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    if absolute.components().any(|part| part == std::path::Component::ParentDir) {
        // `std::path::absolute` leaves `..` alone, as what it leads to depends on links: so ask the file system.
        return absolute.canonicalize().unwrap_or(absolute);
    }
    absolute
}

#[cfg(test)]
mod tests {
    use skillcue_base::ErrorInfo as _;

    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Environment, bool> {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Environment::new(None, variables).map_err(|error| error.is_usage())
    }

    #[test]
    fn base_directories_have_defaults() {
        let environment =
            read(&[("HOME", "/home/a"), ("XDG_DATA_HOME", "/data"), ("XDG_CACHE_HOME", "cache")]).unwrap();
        assert_eq!(environment.data_home.as_deref(), Some(Path::new("/data")));
        assert_eq!(environment.cache_home.as_deref(), Some(Path::new("/home/a/.cache")), "a relative one is ignored");
        assert_eq!(read(&[("HOME", "")]).unwrap().cache_home, None);
    }

    #[test]
    fn relative_entries_of_the_path_do_not_count() {
        let environment = read(&[("PATH", ":/bin:.:bin")]).unwrap();
        assert_eq!(environment.path, [Path::new("/bin")]);
    }

    #[test]
    fn selection_has_variables_of_two_names() {
        let none = read(&[]).unwrap().select;
        assert_eq!(none, SelectSection::default());
        for names in [SELECTION.map(|names| names[0]), SELECTION.map(|names| names[1])] {
            let set = [(names[0], "Keyword"), (names[1], "5"), (names[2], "ask_user")];
            let expected = SelectSection {
                mode: Some(Mode::Keyword),
                max_skills: Some(5),
                fallback: Some(Fallback::AskUser),
                ..SelectSection::default()
            };
            assert_eq!(read(&set).unwrap().select, expected);
            for name in names {
                let error = Environment::new(None, vec![(name.into(), "many".into())]).unwrap_err();
                assert_eq!(error.message(), format!("{name} is `many`"));
                let right = ["keyword or hybrid or semantic", "a whole number", "none or show_all or ask_user"];
                let help = error.hint().unwrap();
                assert!(right.iter().any(|right| help.contains(right)), "{help}");
            }
        }
        let both = [("SKILL_MATCHING_MODE", "keyword"), ("SKILLCUE_MODE", "hybrid")];
        assert_eq!(read(&both).unwrap().select.mode, Some(Mode::Hybrid));
        for name in SELECTION[0] {
            assert_eq!(read(&[(name, "semantic")]).unwrap().select.mode, Some(Mode::Semantic));
        }
        assert_eq!(read(&[("SKILLCUE_FALLBACK", "show-all")]).unwrap().select.fallback, Some(Fallback::ShowAll));
    }

    #[test]
    fn the_eagerness_is_a_share() {
        assert_eq!(read(&[("SKILLCUE_EAGERNESS", "0.7")]).unwrap().select.eagerness, Some(0.7));
        for value in ["1.5", "-0.1", "nan", "much"] {
            let error = Environment::new(None, vec![(EAGERNESS.into(), value.into())]).unwrap_err();
            assert_eq!(error.message(), format!("SKILLCUE_EAGERNESS is `{value}`"));
            assert_eq!(error.hint().as_deref(), Some("set it to a number from 0 to 1, or unset it"));
        }
    }

    #[test]
    fn flags_are_words() {
        assert!(read(&[("SKILLCUE_ISOLATED", "Yes")]).unwrap().isolated);
        assert!(!read(&[("SKILLCUE_ISOLATED", "0")]).unwrap().isolated);
        assert!(read(&[("SKILLCUE_NO_CACHE", "maybe")]).unwrap_err(), "a wrong value is a mistake of the caller");
    }
}
