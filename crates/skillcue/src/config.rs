//! `skillcue.toml`, the configuration file, section by section.

mod agent;
mod catalog;
mod disclose;
mod error;
mod help;
mod judge;
mod usage;
mod view;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use skillcue_disclose::Fallback;
use skillcue_select::Mode;

use error::{doubled, out_of_range};
use judge::SelectTable;

pub use agent::{AgentAllow, AgentApi, AgentSection, ApiKey};
pub use catalog::{CatalogSection, CatalogTrust, catalogs_by_name};
pub use disclose::DiscloseSection;
pub use error::ConfigError;
pub use judge::JudgeSection;
pub use usage::UsageSection;
pub use view::ViewSection;

/// The content of a `skillcue.toml`. Every part may be missing.
///
/// ```
/// use skillcue::config::Config;
///
/// let config = Config::parse("[skills]\ndirs = [\"shared/skills\"]\ndisable = [\"hello-extended\"]\n").unwrap();
/// assert_eq!(config.skills.disable, ["hello-extended"]);
/// assert_eq!(Config::parse("[skils]\n").unwrap_err().line, 1);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The part about which skills there are.
    #[serde(default)]
    pub skills: SkillsConfig,
    /// The part about loading.
    #[serde(default)]
    pub load: LoadConfig,
    /// The part about selection. [`Config::parse`] moves it to `disclose` and `judge`.
    #[serde(default)]
    select: SelectTable,
    /// The settings of the judge.
    #[serde(skip)]
    pub judge: JudgeSection,
    /// The part about what models are shown.
    #[serde(default)]
    pub disclose: DiscloseSection,
    /// The part about running scripts and tools of skills.
    #[serde(default)]
    pub run: RunSection,
    /// Servers whose skills join the catalog.
    #[serde(default)]
    pub mcp: Vec<McpServer>,
    /// Catalogs on object stores whose skills join the others.
    #[serde(default)]
    pub catalog: Vec<CatalogSection>,
    /// The part about the agent.
    #[serde(default)]
    pub agent: AgentSection,
    /// The part about the ledger of use.
    #[serde(default)]
    pub usage: UsageSection,
    /// Named views of the catalog.
    #[serde(default)]
    pub view: BTreeMap<String, ViewSection>,
}

/// The part about which skills there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillsConfig {
    /// Further directories to look in. Relative ones start at the file's own directory.
    #[serde(default)]
    pub dirs: Vec<PathBuf>,
    /// Plugins to take skills from.
    #[serde(default)]
    pub plugins: Vec<PathBuf>,
    /// Skills to switch on.
    #[serde(default)]
    pub enable: Vec<String>,
    /// Skills to switch off.
    #[serde(default)]
    pub disable: Vec<String>,
}

/// The part about loading.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadConfig {
    /// The number of loaded bodies that are kept.
    pub cache_entries: Option<usize>,
}

/// The part about how skills are selected. Its settings may also be below `[disclose]`, but each in one place only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectSection {
    /// The mode in which messages are matched.
    pub mode: Option<Mode>,
    /// The number of matching skills that are documented.
    pub max_skills: Option<usize>,
    /// The reaction to a message that nothing matches.
    pub fallback: Option<Fallback>,
    /// How readily skills are shown and named, from 0 to 1.
    pub eagerness: Option<f32>,
    /// Whether the mode `hybrid` uses an installed sentence model.
    pub model: Option<SentenceModelUse>,
}

/// The commands in which the mode `hybrid` uses an installed sentence model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SentenceModelUse {
    /// Those that run for long, such as a server and an agent: for a single answer, opening the model takes longer than all
    /// the rest.
    #[default]
    Auto,
    /// None. The mode `semantic` uses it still.
    Off,
    /// All.
    Always,
}

/// The part about running scripts and the tools of toolsets.
///
/// ```
/// let config = skillcue::config::Config::parse("[run]\ntimeout_s = 5\nmemory_mb = 256\n").unwrap();
/// assert_eq!((config.run.timeout_s, config.run.memory_mb), (Some(5), Some(256)));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSection {
    /// The time limit for a script, and for a call of a tool, in seconds.
    pub timeout_s: Option<u64>,
    /// The number of bytes that it may print.
    pub output_bytes: Option<usize>,
    /// The number of arguments that it may be given.
    pub arguments: Option<usize>,
    /// The number of bytes that its arguments may have in all.
    pub argument_bytes: Option<usize>,
    /// The memory that it may use, in MiB.
    pub memory_mb: Option<u64>,
    /// The number of processes that it may have.
    pub processes: Option<u64>,
    /// The number of scripts and tools that may run at once.
    pub concurrent: Option<usize>,
    /// Whether to run it even where there is no sandbox.
    pub allow_unsandboxed: Option<bool>,
}

impl RunSection {
    fn merge(&mut self, higher: RunSection) {
        self.timeout_s = higher.timeout_s.or(self.timeout_s);
        self.output_bytes = higher.output_bytes.or(self.output_bytes);
        self.arguments = higher.arguments.or(self.arguments);
        self.argument_bytes = higher.argument_bytes.or(self.argument_bytes);
        self.memory_mb = higher.memory_mb.or(self.memory_mb);
        self.processes = higher.processes.or(self.processes);
        self.concurrent = higher.concurrent.or(self.concurrent);
        self.allow_unsandboxed = higher.allow_unsandboxed.or(self.allow_unsandboxed);
    }
}

/// A server whose skills join the catalog: `[[mcp]]`. Either a command or a URL.
///
/// ```
/// let config = skillcue::config::Config::parse("[[mcp]]\nname = \"acme\"\ncommand = [\"npx\", \"acme-skills\"]\n").unwrap();
/// assert_eq!(config.mcp[0].command, ["npx", "acme-skills"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// The server's name. Its skills' names start with it.
    pub name: String,
    /// The program to start, and its arguments.
    #[serde(default, deserialize_with = "command_words")]
    pub command: Vec<String>,
    /// The URL at which it listens.
    pub url: Option<String>,
    /// Variables for the program, beside those that every program needs.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The working directory of the program.
    pub cwd: Option<PathBuf>,
    /// Headers to send to the URL.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The variable that holds the bearer token for the URL. The token itself is never in a file.
    pub token_env: Option<String>,
    /// The time limit for one request, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Whether it is used.
    pub enabled: Option<bool>,
}

/// Reads `"program"` or `["program", "argument"]`.
fn command_words<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a program, or a list of a program and its arguments")]
    enum CommandWords {
        One(String),
        Many(Vec<String>),
    }
    Ok(match CommandWords::deserialize(deserializer)? {
        CommandWords::One(program) => vec![program],
        CommandWords::Many(words) => words,
    })
}

/// Settings of a project's file that a project may not decide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distrusted {
    /// Directories outside of the project.
    pub dirs: Vec<PathBuf>,
    /// Servers.
    pub servers: Vec<McpServer>,
    /// Catalogs: with keys that the project chooses, it would vouch for itself.
    pub catalogs: Vec<CatalogSection>,
    /// Limits for what runs.
    pub run: RunSection,
    /// The part about the agent: a model's address is where the user's key would be sent.
    pub agent: AgentSection,
    /// The judge: its address is where the user's messages would be sent.
    pub judge: JudgeSection,
    /// The ledger: it may hold the text of the user's messages.
    pub usage: UsageSection,
    /// The views that it would have defined.
    pub view: BTreeMap<String, ViewSection>,
    /// Skills that it switches on: of its own it may, of others not.
    pub enable: Vec<String>,
    /// Skills that it switches off, likewise.
    pub disable: Vec<String>,
}

impl Distrusted {
    /// Returns whether there are no such settings.
    pub fn is_empty(&self) -> bool {
        self.dirs.is_empty()
            && self.servers.is_empty()
            && self.catalogs.is_empty()
            && self.run == RunSection::default()
            && self.agent == AgentSection::default()
            && self.judge == JudgeSection::default()
            && self.usage == UsageSection::default()
            && self.view.is_empty()
            && self.enable.is_empty()
            && self.disable.is_empty()
    }
}

impl Config {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        let mut config: Config = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            ConfigError::at(text, span, help::plain(error.message()), help::help(error.message()))
        })?;
        if let Some(error) = doubled(text, &config) {
            return Err(error);
        }
        let (select, judge) = std::mem::take(&mut config.select).sections();
        config.disclose.select(select);
        config.judge = judge;
        match out_of_range(text, &config.disclose) {
            Some(error) => Err(error),
            None => Ok(config),
        }
    }

    /// Returns the configuration with relative paths made absolute by the directory of its file.
    #[must_use]
    pub fn below(mut self, dir: &Path) -> Config {
        for path in self.skills.dirs.iter_mut().chain(&mut self.skills.plugins) {
            *path = dir.join(&*path);
        }
        for cwd in self.mcp.iter_mut().filter_map(|server| server.cwd.as_mut()) {
            *cwd = dir.join(&*cwd);
        }
        self
    }

    /// Takes away settings that a project may not decide for its user: directories that are not its own, servers,
    /// catalogs, limits for what runs, the agent's, the judge's and the ledger's. Returns them, and the skills that it switches: these stay in the
    /// configuration, and count for its own skills only ([`Enablement::foreign`](crate::Enablement::foreign)).
    pub fn distrust(&mut self, project: &Path) -> Distrusted {
        let servers = std::mem::take(&mut self.mcp);
        let catalogs = std::mem::take(&mut self.catalog);
        let run = std::mem::take(&mut self.run);
        let agent = std::mem::take(&mut self.agent);
        let judge = std::mem::take(&mut self.judge);
        let usage = std::mem::take(&mut self.usage);
        let view = std::mem::take(&mut self.view);
        let mut refused = Vec::new();
        for paths in [&mut self.skills.dirs, &mut self.skills.plugins] {
            paths.retain(|path| {
                // By what is on disk: neither `..` nor a link may lead out.
                let real = path.canonicalize().unwrap_or_else(|_| path.clone());
                let inside = real.starts_with(project.canonicalize().unwrap_or_else(|_| project.to_path_buf()))
                    && !path.components().any(|part| part == std::path::Component::ParentDir);
                if !inside {
                    refused.push(path.clone());
                }
                inside
            });
        }
        let (enable, disable) = (self.skills.enable.clone(), self.skills.disable.clone());
        Distrusted { dirs: refused, servers, catalogs, run, agent, judge, usage, view, enable, disable }
    }

    /// Adds the settings of a file of higher priority.
    pub fn merge(&mut self, higher: Config) {
        self.skills.dirs.extend(higher.skills.dirs);
        self.skills.plugins.extend(higher.skills.plugins);
        // The later setting for a skill replaces the earlier one.
        let said: HashSet<&String> = higher.skills.enable.iter().chain(&higher.skills.disable).collect();
        self.skills.enable.retain(|name| !said.contains(name));
        self.skills.disable.retain(|name| !said.contains(name));
        self.skills.enable.extend(higher.skills.enable.iter().cloned());
        self.skills.disable.extend(higher.skills.disable.iter().cloned());
        self.load.cache_entries = higher.load.cache_entries.or(self.load.cache_entries);
        self.disclose.merge(higher.disclose);
        self.run.merge(higher.run);
        self.agent.merge(higher.agent);
        self.judge.merge(higher.judge);
        self.usage.merge(higher.usage);
        // No file changes a view that another one has defined: that could only widen it.
        for (name, view) in higher.view {
            self.view.entry(name).or_insert(view);
        }
        self.mcp.retain(|server| !higher.mcp.iter().any(|other| other.name == server.name));
        self.mcp.extend(higher.mcp);
        // No file changes a catalog that another one has defined: its policy and its keys are not for a checkout to replace.
        // The later ones stay behind it, so that it can be said which do not count.
        self.catalog.extend(higher.catalog);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_file_has_the_last_word() {
        let mut user =
            Config::parse("[skills]\nenable = [\"a\"]\ndisable = [\"b\"]\n[load]\ncache_entries = 5\n").unwrap();
        user.merge(Config::parse("[skills]\nenable = [\"b\"]\ndisable = [\"a\"]\n").unwrap());
        assert_eq!((user.skills.enable, user.skills.disable), (vec!["b".to_owned()], vec!["a".to_owned()]));
        assert_eq!(user.load.cache_entries, Some(5));
    }

    #[test]
    fn a_project_adds_no_servers() {
        let text = "[[mcp]]\nname = \"a\"\nurl = \"http://a\"\n[[mcp]]\nname = \"b\"\ncommand = \"b\"\n";
        let mut config = Config::parse(text).unwrap();
        let distrusted = config.distrust(Path::new("/project"));
        assert_eq!(distrusted.servers.len(), 2);
        assert_eq!(distrusted.servers[1].command, ["b"]);
        assert!(config.mcp.is_empty() && !distrusted.is_empty());
    }

    #[test]
    fn a_project_adds_no_catalogs() {
        let mut config = Config::parse("[[catalog]]\nname = \"a\"\nurl = \"s3://a/b\"\n").unwrap();
        let distrusted = config.distrust(Path::new("/project"));
        assert_eq!((distrusted.catalogs.len(), config.catalog.len()), (1, 0));
        assert!(!distrusted.is_empty());
    }

    #[test]
    fn a_later_file_changes_no_catalog() {
        let mut user = Config::parse("[[catalog]]\nname = \"a\"\nurl = \"s3://a/b\"\nenabled = false\n").unwrap();
        user.merge(Config::parse("[[catalog]]\nname = \"a\"\nurl = \"s3://evil/b\"\n").unwrap());
        user.merge(Config::parse("[[catalog]]\nname = \"b\"\nurl = \"s3://b/b\"\n").unwrap());
        let (counting, others) = catalogs_by_name(&user.catalog);
        let urls = |sections: &[&CatalogSection]| -> Vec<Option<String>> {
            sections.iter().map(|section| section.url.clone()).collect()
        };
        assert_eq!(urls(&counting), [Some("s3://a/b".to_owned()), Some("s3://b/b".to_owned())]);
        assert_eq!(urls(&others), [Some("s3://evil/b".to_owned())]);
    }

    #[test]
    fn views_of_a_project_need_consent() {
        let mut config = Config::parse("[view.sales]\nskills = [\"sales-*\"]\n").unwrap();
        assert!(!config.distrust(Path::new("/project")).is_empty());
    }

    #[test]
    fn a_project_sets_no_limits_for_what_runs() {
        let mut config = Config::parse("[run]\nallow_unsandboxed = true\n").unwrap();
        assert_eq!(config.distrust(Path::new("/project")).run.allow_unsandboxed, Some(true));
        assert_eq!(config.run, RunSection::default());
        let mut user = Config::parse("[run]\ntimeout_s = 5\nmemory_mb = 7\n").unwrap();
        user.merge(Config::parse("[run]\ntimeout_s = 9\n").unwrap());
        assert_eq!((user.run.timeout_s, user.run.memory_mb), (Some(9), Some(7)));
    }

    #[test]
    fn the_later_word_on_a_server_counts() {
        let mut user = Config::parse("[[mcp]]\nname = \"a\"\nurl = \"http://a\"\n").unwrap();
        user.merge(Config::parse("[[mcp]]\nname = \"a\"\nenabled = false\n").unwrap());
        assert_eq!((user.mcp.len(), user.mcp[0].enabled), (1, Some(false)));
    }

    #[test]
    fn errors_say_where() {
        let error = Config::parse("[skills]\ndirs = 5\n").unwrap_err();
        assert_eq!((error.line, error.column), (2, 8));
    }

    #[test]
    fn a_setting_of_selection_has_one_place() {
        let settings = [
            ("mode", "'keyword'"),
            ("max_skills", "2"),
            ("fallback", "'show_all'"),
            ("eagerness", "0.3"),
            ("model", "'off'"),
        ];
        for (setting, value) in settings {
            for section in ["select", "disclose"] {
                let config = Config::parse(&format!("[{section}]\n{setting} = {value}\n")).unwrap();
                assert_ne!(config.disclose, DiscloseSection::default(), "[{section}] {setting}");
            }
            let both = format!("[select]\n{setting} = {value}\n\n[disclose]\npolicy = 'hint'\n{setting} = {value}\n");
            let error = Config::parse(&both).unwrap_err();
            let message = format!("`{setting}` is below [disclose] here, and below [select] in line 2");
            assert_eq!((error.message, error.line), (message, 6));
            assert_eq!((error.column, error.width), (setting.len() + 4, value.len()));
            assert_eq!(error.help, "keep the one below [select]");
        }
        let apart = "[select]\nmode = 'keyword'\n[disclose]\nmax_skills = 1\n";
        let disclose = Config::parse(apart).unwrap().disclose;
        assert_eq!((disclose.mode, disclose.max_skills), (Some(Mode::Keyword), Some(1)));
    }

    #[test]
    fn a_wrong_value_of_selection_is_an_error_that_lists_the_right_ones() {
        let said = |line: &str| Config::parse(&format!("[select]\n{line}\n")).unwrap_err().message;
        assert_eq!(said("mode = 'fuzzy'"), "unknown variant `fuzzy`, expected one of `keyword`, `hybrid`, `semantic`");
        assert!(said("fallback = 'all'").ends_with("expected one of `none`, `show_all`, `ask_user`"));
        assert!(said("model = 'on'").ends_with("expected one of `auto`, `off`, `always`"));
        assert!(said("max_skills = -1").ends_with("expected a whole number, 0 or more"));
    }

    #[test]
    fn a_number_out_of_range_is_an_error_at_its_place() {
        let cases = [
            ("select", "eagerness", "2"),
            ("select", "eagerness", "nan"),
            ("select", "eagerness", "-1"),
            ("select", "eagerness", "1.1"),
            ("disclose", "eagerness", "inf"),
            ("disclose", "catalog_share", "7"),
        ];
        for (section, setting, value) in cases {
            let error = Config::parse(&format!("[{section}]\n{setting} = {value}  # much\n")).unwrap_err();
            assert_eq!(error.message, format!("`{setting}` must be a number from 0 to 1, not {value}"));
            assert_eq!((error.line, error.column, error.width), (2, setting.len() + 4, value.len()));
            assert_eq!(error.help, format!("write a number from 0 to 1 below [{section}]"));
        }
        let error = Config::parse("select.eagerness = 2\n[disclose]\nmax_skills = 1\n").unwrap_err();
        assert_eq!((error.line, error.column), (1, 20));
        assert!(Config::parse("[select]\neagerness = 1\n[disclose]\ncatalog_share = 0\n").is_ok());
    }

    #[test]
    fn a_project_decides_about_its_own_directories_only() {
        let tmp = tempfile::tempdir().unwrap();
        let project = tmp.path().join("project");
        std::fs::create_dir_all(project.join("own")).unwrap();
        std::os::unix::fs::symlink("/", project.join("link")).unwrap();
        let text = "[skills]\ndirs = [\"own\", \"/etc\", \"../other\", \"link\"]\n";
        let mut config = Config::parse(text).unwrap().below(&project);
        assert_eq!(config.distrust(&project).dirs.len(), 3);
        assert_eq!(config.skills.dirs, [project.join("own")]);
    }
}
