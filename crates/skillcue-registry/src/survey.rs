//! The skills and plugins in a directory that was fetched.

mod plugins;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use skillcue_base::{ErrorInfo as _, Shown, os_message, shown_path};
use skillcue_catalog::{FileError, SKIPPED_DIRECTORIES, SkillDir, SkillFile, project_folders};
use skillcue_format::{Code, Diagnostic, MAX_FILE, Parsed};

use crate::InstallOrigin;

/// The directory of the skills that a repository offers.
const OFFERED: &str = "skills";
/// How deep below a collection: `skills/CATEGORY/NAME`.
const MAX_LEVELS: usize = 2;
/// Most directories looked at.
const MAX_DIRS: usize = 20_000;
/// Entries that packers leave beside the one directory of an archive.
const JUNK: [&str; 4] = ["__MACOSX", ".DS_Store", "pax_global_header", ".git"];

/// The skills and plugins in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// The skills, valid or not, in the order of their paths.
    pub skills: Vec<FoundSkill>,
    /// The plugins, those of a marketplace included, in the order of their names.
    pub plugins: Vec<FoundPlugin>,
    /// Problems with the whole, such as two skills of one name.
    pub problems: Vec<Diagnostic>,
}

/// A skill in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSkill {
    /// Its name in its canonical form; as it is written there if it cannot be used; if it has none, its directory's.
    pub name: String,
    /// Its description; empty if it cannot be read.
    pub description: String,
    /// Its directory, relative to the one that was surveyed; `.` for that one itself.
    pub at: PathBuf,
    /// Whether it can be used. If not, the diagnostics say why.
    pub valid: bool,
    /// The diagnostics of its skill file.
    pub diagnostics: Vec<Diagnostic>,
}

/// A plugin in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPlugin {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its location.
    pub at: PluginLocation,
    /// Whether it is here and describes itself: it can be installed as a plugin. Of others only the skills can.
    pub has_manifest: bool,
    /// Its skills, if it is here.
    pub skills: Vec<FoundSkill>,
}

/// The location of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginLocation {
    /// In this directory, relative to the one that was surveyed.
    Here(PathBuf),
    /// Somewhere else: a marketplace names it.
    Elsewhere(InstallOrigin),
}

/// Finds the skills and plugins in a directory. Reads, and runs nothing.
///
/// Skills are looked for in the directory itself, in `skill/`, `skills/*`, `skills/*/*` (and the same below `.claude`,
/// `.agents` and `.agent`), `plugins/*/skills/*` and `*/`; if all there is is one directory, as in archives, there as
/// well; and where plugins and a marketplace say. A skill that several ways lead to is found once.
///
/// ```
/// use std::path::Path;
/// use skillcue_registry::survey;
///
/// let dir = tempfile::tempdir()?;
/// std::fs::create_dir_all(dir.path().join("skills/pdf"))?;
/// std::fs::write(dir.path().join("skills/pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n")?;
/// let found = survey(dir.path());
/// assert_eq!((found.skills[0].name.as_str(), found.skills[0].at.as_path()), ("pdf", Path::new("skills/pdf")));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn survey(dir: &Path) -> Survey {
    let staged = dir.ends_with("files") && dir.with_file_name("alive").is_file();
    let own = dir.file_name().filter(|_| !staged).map(|name| name.to_string_lossy().into_owned());
    search(dir, own.unwrap_or_else(|| ".".to_owned()))
}

/// Like `survey`, for files fetched from an origin: a skill that is all of it, and has no name, is called after the
/// origin.
pub fn survey_of(dir: &Path, origin: &InstallOrigin) -> Survey {
    search(dir, origin.last_name())
}

fn search(dir: &Path, own_name: String) -> Survey {
    let real = match dir.canonicalize() {
        Ok(real) => real,
        Err(error) => {
            let problem =
                Diagnostic::new(Code::Unreadable, format!("the directory cannot be read: {}", os_message(&error)))
                    .with_help("check that it is there and that you may read it")
                    .at(dir);
            return Survey { problems: vec![problem], ..Survey::default() };
        }
    };
    let mut search = Search {
        real,
        own_name,
        known: HashMap::new(),
        skills: Vec::new(),
        plugins: Vec::new(),
        problems: Vec::new(),
        looked: 0,
    };
    search.search_below(Path::new(""));
    if let Some(only) = search.only_directory() {
        search.search_below(&only);
    }
    search.finish()
}

struct Search {
    /// The surveyed directory, by its real path. All others are relative to it.
    real: PathBuf,
    /// The name of a skill that is the whole directory and has no name of its own.
    own_name: String,
    /// Directories that were looked at, by their real paths: a skill's number, or none.
    known: HashMap<PathBuf, Option<usize>>,
    skills: Vec<FoundSkill>,
    plugins: Vec<FoundPlugin>,
    problems: Vec<Diagnostic>,
    looked: usize,
}

impl Search {
    fn search_below(&mut self, base: &Path) {
        let own = self.skill(base);
        self.skill(&base.join("skill"));
        // Each or their subdirectories hold a skill. What a repository offers to others comes before what its own agents use.
        let used = project_folders().filter(|folder| *folder != OFFERED);
        for collection in [OFFERED].into_iter().chain(used) {
            self.collection(&base.join(collection), MAX_LEVELS);
        }
        self.plugin(base);
        for plugin in self.children(&base.join("plugins")) {
            self.collection(&plugin.join("skills"), MAX_LEVELS);
            self.plugin(&plugin);
        }
        // Directories inside a skill's own directory belong to it.
        if own.is_none() {
            for child in self.children(base) {
                self.skill(&child);
            }
        }
        self.marketplace(base);
    }

    /// Returns the directory that is the only entry, if there is one.
    fn only_directory(&self) -> Option<PathBuf> {
        let mut entries = self
            .real
            .read_dir()
            .ok()?
            .filter_map(Result::ok)
            .filter(|entry| !JUNK.iter().any(|junk| entry.file_name() == *junk));
        let only = entries.next()?;
        let is_dir = only.file_type().is_ok_and(|kind| kind.is_dir());
        (is_dir && entries.next().is_none()).then(|| only.file_name().into())
    }

    /// Finds the skills in the directories below `at`, or in theirs.
    fn collection(&mut self, at: &Path, levels: usize) -> Vec<usize> {
        let mut found = Vec::new();
        for child in self.children(at) {
            match self.skill(&child) {
                Some(skill) => found.push(skill),
                None if levels > 1 => found.extend(self.collection(&child, levels - 1)),
                None => {}
            }
        }
        found
    }

    /// Lists the directories in `at`, including those that links lead to, as long as they stay inside.
    fn children(&mut self, at: &Path) -> Vec<PathBuf> {
        let Some(at) = self.inside(at) else { return Vec::new() };
        let Ok(entries) = self.real.join(&at).read_dir() else { return Vec::new() };
        let mut children = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let may_be = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink());
            if !may_be || SKIPPED_DIRECTORIES.iter().any(|skipped| name == *skipped) {
                continue;
            }
            self.looked += 1;
            if self.looked > MAX_DIRS {
                if self.looked == MAX_DIRS + 1 {
                    let message = format!("more than {MAX_DIRS} directories; skills in the others were not looked for");
                    self.problems.push(
                        Diagnostic::new(Code::SearchLimit, message)
                            .with_help("name a directory below it")
                            .at(at.clone()),
                    );
                }
                break;
            }
            children.push(at.join(name));
        }
        children.sort();
        children
    }

    /// Returns the real path of a directory, if it is below the surveyed one.
    fn inside(&self, at: &Path) -> Option<PathBuf> {
        let real = self.real.join(at).canonicalize().ok()?;
        let inside = real.strip_prefix(&self.real).ok()?;
        real.is_dir().then(|| inside.to_path_buf())
    }

    /// Finds the skill in the directory `at`.
    fn skill(&mut self, at: &Path) -> Option<usize> {
        let at = self.inside(at)?;
        if let Some(known) = self.known.get(&at) {
            return *known;
        }
        let found = self.look(&at).map(|skill| {
            self.skills.push(skill);
            self.skills.len() - 1
        });
        self.known.insert(at, found);
        found
    }

    fn look(&self, at: &Path) -> Option<FoundSkill> {
        let path = self.real.join(at);
        let name = at.file_name().map_or_else(|| self.own_name.clone(), |name| name.to_string_lossy().into_owned());
        let dir = SkillDir::open(&name, &path).ok()?;
        let files = [SkillFile::Yaml, SkillFile::Markdown, SkillFile::LowerCase, SkillFile::TitleCase];
        let (file, read) = files.into_iter().find_map(|file| match dir.read(file.name(), MAX_FILE) {
            Err(FileError::NotFound { .. }) => None,
            read => Some((file, read)),
        })?;
        let file_path = at.join(file.name());
        let mut skill = FoundSkill {
            name,
            description: String::new(),
            at: shown(at.to_path_buf()),
            valid: false,
            diagnostics: Vec::new(),
        };
        match read {
            Ok(bytes) => {
                let parsed = Parsed::of(&bytes, file.kind());
                let said = parsed.raw.as_ref().and_then(|raw| {
                    raw.entries()
                        .iter()
                        .find(|(key, _)| key.as_str() == Some("name"))
                        .and_then(|(_, name)| name.as_str())
                });
                if let Some(said) = said.filter(|said| !said.trim().is_empty()) {
                    said.trim().clone_into(&mut skill.name);
                }
                if let Some(manifest) = &parsed.manifest {
                    skill.name = manifest.name().to_string();
                    skill.description = manifest.description().to_owned();
                    skill.valid = true;
                }
                skill.diagnostics = parsed.diagnostics;
                if matches!(file, SkillFile::LowerCase | SkillFile::TitleCase) {
                    let message = format!("the file is called {}", file.name());
                    skill
                        .diagnostics
                        .push(Diagnostic::new(Code::FileNameCase, message).with_help("rename it to SKILL.md"));
                }
            }
            Err(error) => {
                let code = if matches!(error, FileError::TooLarge { .. }) { Code::TooLarge } else { Code::Unreadable };
                let mut found = Diagnostic::new(code, error.to_string());
                found.help = error.hint().map(|hint| hint.into_owned().into());
                skill.diagnostics.push(found);
            }
        }
        for found in &mut skill.diagnostics {
            found.path = Some(file_path.clone());
        }
        Some(skill)
    }

    fn relative(&self, mut problem: Diagnostic) -> Diagnostic {
        let path = problem.path.as_deref().and_then(|path| path.strip_prefix(&self.real).ok());
        if let Some(path) = path {
            problem.path = Some(path.to_path_buf());
        }
        problem
    }

    fn finish(self) -> Survey {
        let Search { mut skills, mut plugins, mut problems, .. } = self;
        skills.sort_by(|one, other| one.at.cmp(&other.at));
        plugins.sort_by(|one, other| one.name.cmp(&other.name));
        for plugin in &mut plugins {
            plugin.skills.sort_by(|one, other| one.at.cmp(&other.at));
        }
        let mut names: BTreeMap<&str, &FoundSkill> = BTreeMap::new();
        for skill in skills.iter().filter(|skill| skill.valid) {
            if let Some(first) = names.get(skill.name.as_str()) {
                let message = format!(
                    "two skills are called {}: in {} and in {}",
                    skill.name,
                    shown_path(&first.at),
                    shown_path(&skill.at)
                );
                let problem = Diagnostic::new(Code::Shadowed, message).with_help("choose one by its directory");
                problems.push(problem.at(skill.at.clone()));
            } else {
                names.insert(&skill.name, skill);
            }
        }
        for pair in plugins.windows(2).filter(|pair| pair[0].name == pair[1].name) {
            let message = format!("two plugins are called {}", Shown(&pair[0].name));
            problems.push(Diagnostic::new(Code::InvalidPlugin, message).with_help("rename one of the two"));
        }
        problems.sort();
        Survey { skills, plugins, problems }
    }
}

/// Returns a path to show: the surveyed directory itself is `.`.
fn shown(at: PathBuf) -> PathBuf {
    if at.as_os_str().is_empty() { PathBuf::from(".") } else { at }
}
