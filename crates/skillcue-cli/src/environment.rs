//! What the machine says: variables and directories. The library may not look at them; this is where it is done.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use skillcue::{Checkout, Fallback, Mode, SelectSection};

use crate::error::CliError;

/// What this run may know of the machine it runs on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    /// The current directory, if it still exists.
    pub(crate) cwd: Option<PathBuf>,
    /// The directory up to which the project reaches, if it was looked for already.
    pub(crate) project: Option<PathBuf>,
    /// The user's home directory.
    pub(crate) home: Option<PathBuf>,
    /// Where programs are looked for.
    pub(crate) path: Vec<PathBuf>,
    /// `$XDG_CACHE_HOME`, or its default.
    pub(crate) cache_home: Option<PathBuf>,
    /// `$XDG_DATA_HOME`, or its default.
    pub(crate) data_home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME`, or its default.
    pub(crate) config_home: Option<PathBuf>,
    /// `$SKILLCUE_SKILLS_DIRS`, a list like `PATH`.
    pub(crate) skills_dirs: Vec<PathBuf>,
    /// `$SKILLCUE_ISOLATED`
    pub(crate) isolated: bool,
    /// `$SKILLCUE_NO_CACHE`
    pub(crate) no_cache: bool,
    /// `$SKILLCUE_CONFIG`
    pub(crate) config: Option<PathBuf>,
    /// `$SKILLCUE_MODE`, `$SKILLCUE_MAX_SKILLS` and `$SKILLCUE_FALLBACK`, or the other names of [`SELECTION`].
    pub(crate) select: SelectSection,
    /// What git is given of the variables: what it needs to reach repositories as the user does, and nothing that points
    /// to the repository one happens to stand in.
    pub(crate) git: Vec<(OsString, OsString)>,
}

impl Environment {
    /// The environment of this process.
    pub(crate) fn of_process() -> Result<Environment, CliError> {
        let mut environment = Environment::read(std::env::current_dir().ok(), &|name| std::env::var_os(name))?;
        environment.git = std::env::vars_os().filter(|(name, _)| concerns_git(name)).collect();
        environment.project = environment.project().map(Path::to_path_buf);
        Ok(environment)
    }

    /// The environment that `variable` tells of. One that is set to nothing counts as not set.
    pub(crate) fn read(
        cwd: Option<PathBuf>,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Environment, CliError> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        // The base directory specification: a relative path is invalid and to be ignored.
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let list = |name: &str| variable(name).map(|value| std::env::split_paths(&value).collect::<Vec<_>>());
        let home = absolute("HOME");
        let base = |name: &str, below: &str| absolute(name).or_else(|| Some(home.as_ref()?.join(below)));
        // A relative entry would make what a skill requires depend on where one stands, and let a checkout decide it.
        let path = list("PATH").unwrap_or_default().into_iter().filter(|dir| dir.is_absolute()).collect();
        let skills_dirs = list("SKILLCUE_SKILLS_DIRS").unwrap_or_default();
        Ok(Environment {
            cwd,
            project: None,
            path,
            cache_home: base("XDG_CACHE_HOME", ".cache"),
            data_home: base("XDG_DATA_HOME", ".local/share"),
            config_home: base("XDG_CONFIG_HOME", ".config"),
            skills_dirs: skills_dirs.into_iter().filter(|dir| !dir.as_os_str().is_empty()).collect(),
            isolated: flag("SKILLCUE_ISOLATED", variable("SKILLCUE_ISOLATED").as_deref())?,
            no_cache: flag("SKILLCUE_NO_CACHE", variable("SKILLCUE_NO_CACHE").as_deref())?,
            config: variable("SKILLCUE_CONFIG").map(PathBuf::from),
            select: selection(&variable)?,
            git: Vec::new(),
            home,
        })
    }

    /// The directory up to which the project reaches: the nearest one above with a `.git`, else the current one.
    pub(crate) fn project(&self) -> Option<&Path> {
        if let Some(project) = &self.project {
            return Some(project);
        }
        let cwd = self.cwd.as_deref()?;
        // A file, in worktrees and submodules.
        Some(cwd.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(cwd))
    }

    /// The project as what other people may have written, apart from what is the user's own.
    pub(crate) fn checkout(&self) -> Option<Checkout> {
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

/// How skills are selected, by variables. A value that means nothing is an error, never ignored.
fn selection(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<SelectSection, CliError> {
    let set = |names: [&'static str; 2]| names.into_iter().find_map(|name| Some((name, variable(name)?)));
    let [mode, max_skills, fallback] = SELECTION.map(set);
    let modes = [("keyword", Mode::Keyword), ("hybrid", Mode::Hybrid)];
    let fallbacks = [("none", Fallback::None), ("show_all", Fallback::ShowAll), ("ask_user", Fallback::AskUser)];
    let max_skills = max_skills.map(|(name, value)| match value.to_str().and_then(|value| value.parse().ok()) {
        Some(count) => Ok(count),
        None => Err(wrong(name, &value, "a whole number such as 3")),
    });
    Ok(SelectSection {
        mode: choice(mode, &modes)?,
        max_skills: max_skills.transpose()?,
        fallback: choice(fallback, &fallbacks)?,
    })
}

/// What the word that a variable is set to stands for.
fn choice<T: Copy>(set: Option<(&str, OsString)>, words: &[(&str, T)]) -> Result<Option<T>, CliError> {
    let Some((name, value)) = set else { return Ok(None) };
    let written = value.to_string_lossy().to_ascii_lowercase().replace('-', "_");
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == written) {
        return Ok(Some(*meaning));
    }
    let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    Err(wrong(name, &value, &words.join(" or ")))
}

fn wrong(name: &str, value: &OsStr, right: &str) -> CliError {
    CliError::usage("usage", format!("{name} is `{}`", value.display())).help(format!("set it to {right}, or unset it"))
}

/// Whether git needs a variable to reach repositories as the user does.
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

fn flag(name: &str, value: Option<&OsStr>) -> Result<bool, CliError> {
    let Some(value) = value else { return Ok(false) };
    match value.to_string_lossy().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => {
            Err(CliError::usage("usage", format!("{name} is `{}`", value.display()))
                .help("set it to 1 or 0, or unset it"))
        }
    }
}

/// A path that means the same wherever one stands.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    if absolute.components().any(|part| part == std::path::Component::ParentDir) {
        // `std::path::absolute` leaves `..` alone, as what it leads to depends on links: so ask the file system.
        return absolute.canonicalize().unwrap_or(absolute);
    }
    absolute
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Environment, i32> {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        Environment::read(None, &find).map_err(|error| error.exit_code())
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
            let expected =
                SelectSection { mode: Some(Mode::Keyword), max_skills: Some(5), fallback: Some(Fallback::AskUser) };
            assert_eq!(read(&set).unwrap().select, expected);
            for name in names {
                let error = Environment::read(None, &|asked| (asked == name).then(|| "many".into())).unwrap_err();
                assert_eq!(error.message(), format!("{name} is `many`"));
                let right = ["keyword or hybrid", "a whole number", "none or show_all or ask_user"];
                let help = error.hint().unwrap_or_default();
                assert!(right.iter().any(|right| help.contains(right)), "{help}");
            }
        }
        let both = [("SKILL_MATCHING_MODE", "keyword"), ("SKILLCUE_MODE", "hybrid")];
        assert_eq!(read(&both).unwrap().select.mode, Some(Mode::Hybrid));
        assert_eq!(read(&[("SKILLCUE_FALLBACK", "show-all")]).unwrap().select.fallback, Some(Fallback::ShowAll));
    }

    #[test]
    fn flags_are_words() {
        assert!(read(&[("SKILLCUE_ISOLATED", "Yes")]).unwrap().isolated);
        assert!(!read(&[("SKILLCUE_ISOLATED", "0")]).unwrap().isolated);
        assert_eq!(read(&[("SKILLCUE_NO_CACHE", "maybe")]).unwrap_err(), 2);
    }
}
