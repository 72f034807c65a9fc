//! What skills and plugins are in a directory that was fetched.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde_json::Value;
use skillfold_catalog::{FileError, SKIPPED, Shown, SkillDir, SkillFile, os_message, plugin_roots};
use skillfold_format::{Code, Diagnostic, MAX_FILE, Parsed};

use crate::Origin;
use crate::marketplace::{self, Listed, Place};

/// Where a plugin describes itself.
const PLUGIN: &str = ".claude-plugin/plugin.json";
/// Directories of skills, each or their subdirectories holding one.
const COLLECTIONS: [&str; 4] = ["skills", ".claude/skills", ".agents/skills", ".agent/skills"];
/// How deep below a collection: `skills/CATEGORY/NAME`.
const LEVELS: usize = 2;
/// Most directories looked at.
const MAX_DIRS: usize = 20_000;
/// What packers leave beside the one directory of an archive.
const JUNK: [&str; 4] = ["__MACOSX", ".DS_Store", "pax_global_header", ".git"];

/// What is in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// The skills, valid or not, in the order of their places.
    pub skills: Vec<FoundSkill>,
    /// The plugins, those of a marketplace included, in the order of their names.
    pub plugins: Vec<FoundPlugin>,
    /// What is wrong with the whole, such as two skills of one name.
    pub problems: Vec<Diagnostic>,
}

/// A skill in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSkill {
    /// Its name in its canonical form; as it stands there if it cannot be used; if it has none, its directory's.
    pub name: String,
    /// What it says it is for; empty if it cannot be read.
    pub description: String,
    /// Its directory, relative to the one that was surveyed; `.` for that one itself.
    pub at: PathBuf,
    /// Whether it can be used. If not, the diagnostics say why.
    pub valid: bool,
    /// What was found in its skill file.
    pub diagnostics: Vec<Diagnostic>,
}

/// A plugin in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPlugin {
    /// Its name.
    pub name: String,
    /// What it says it is for.
    pub description: String,
    /// Where it is.
    pub at: PluginAt,
    /// Whether it is here and describes itself: it can be installed as a plugin. Of others only the skills can.
    pub has_manifest: bool,
    /// Its skills, if it is here.
    pub skills: Vec<FoundSkill>,
}

/// Where a plugin is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginAt {
    /// In this directory, relative to the one that was surveyed.
    Here(PathBuf),
    /// Somewhere else: a marketplace names it.
    Elsewhere(Origin),
}

/// Says what skills and plugins are in a directory. Reads, and runs nothing.
///
/// Skills are looked for in the directory itself, in `skill/`, `skills/*`, `skills/*/*` (and the same below `.claude`,
/// `.agents` and `.agent`), `plugins/*/skills/*` and `*/`; if all there is is one directory, as in archives, there as
/// well; and where plugins and a marketplace say. A skill that several ways lead to is found once.
///
/// ```
/// use std::path::Path;
/// use skillfold_registry::survey;
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

/// The same for what was fetched from somewhere: a skill that is all of it, and does not say its name, is called after that.
pub fn survey_of(dir: &Path, origin: &Origin) -> Survey {
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
    search.below(Path::new(""));
    if let Some(only) = search.only() {
        search.below(&only);
    }
    search.done()
}

struct Search {
    /// The surveyed directory, by its real path. All others are relative to it.
    real: PathBuf,
    /// What a skill is called that is all there is, and does not say it.
    own_name: String,
    /// Directories that were looked at, by their real places: a skill's number, or none.
    known: HashMap<PathBuf, Option<usize>>,
    skills: Vec<FoundSkill>,
    plugins: Vec<FoundPlugin>,
    problems: Vec<Diagnostic>,
    looked: usize,
}

impl Search {
    fn below(&mut self, base: &Path) {
        let own = self.skill(base);
        self.skill(&base.join("skill"));
        for collection in COLLECTIONS {
            self.collection(&base.join(collection), LEVELS);
        }
        self.plugin(base);
        for plugin in self.children(&base.join("plugins")) {
            self.collection(&plugin.join("skills"), LEVELS);
            self.plugin(&plugin);
        }
        // What stands in a skill's own directory belongs to it.
        if own.is_none() {
            for child in self.children(base) {
                self.skill(&child);
            }
        }
        self.marketplace(base);
    }

    /// The one directory that is all there is.
    fn only(&self) -> Option<PathBuf> {
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

    /// The skills in the directories below `at`, or in theirs.
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

    /// The directories in `at`, those that links lead to included, as long as they stay inside.
    fn children(&mut self, at: &Path) -> Vec<PathBuf> {
        let Some(at) = self.inside(at) else { return Vec::new() };
        let Ok(entries) = self.real.join(&at).read_dir() else { return Vec::new() };
        let mut children = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            let may_be = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink());
            if !may_be || SKIPPED.iter().any(|skipped| name == *skipped) {
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

    /// The real place of a directory, if it is one below the surveyed one.
    fn inside(&self, at: &Path) -> Option<PathBuf> {
        let real = self.real.join(at).canonicalize().ok()?;
        let inside = real.strip_prefix(&self.real).ok()?;
        real.is_dir().then(|| inside.to_path_buf())
    }

    /// The skill in the directory `at`.
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
        let place = at.join(file.name());
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
                skill.diagnostics.push(Diagnostic::new(code, error.to_string()).with_help(error.hint()));
            }
        }
        for found in &mut skill.diagnostics {
            found.path = Some(place.clone());
        }
        Some(skill)
    }

    /// The plugin in the directory `at`, if it describes itself.
    fn plugin(&mut self, at: &Path) {
        let Some(at) = self.inside(at) else { return };
        if self.real.join(&at).join(PLUGIN).symlink_metadata().is_err() {
            return;
        }
        let (roots, problems) = plugin_roots(&self.real.join(&at));
        let problems: Vec<_> = problems.into_iter().map(|problem| self.relative(problem)).collect();
        self.problems.extend(problems);
        let Some(name) = roots.first().and_then(|root| root.plugin.clone()) else { return };
        let mut skills = Vec::new();
        for root in roots {
            if let Ok(root) = root.path.strip_prefix(&self.real).map(Path::to_path_buf) {
                skills.extend(self.named(&root));
            }
        }
        let description = self.description(&at);
        self.add(name.into(), description, PluginAt::Here(shown(at)), skills);
    }

    /// A directory that somebody names is a skill, or holds some.
    fn named(&mut self, at: &Path) -> Vec<usize> {
        match self.skill(at) {
            Some(skill) => vec![skill],
            None => self.collection(at, LEVELS),
        }
    }

    fn description(&self, at: &Path) -> String {
        let text = SkillDir::open("plugin", &self.real.join(at)).and_then(|dir| dir.read_to_string(PLUGIN, MAX_FILE));
        let value: Option<Value> = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        let description = value.as_ref().and_then(|value| value.get("description")).and_then(Value::as_str);
        description.unwrap_or_default().to_owned()
    }

    fn marketplace(&mut self, base: &Path) {
        let Some(base) = self.inside(base) else { return };
        let file = base.join(marketplace::FILE);
        if self.real.join(&file).symlink_metadata().is_err() {
            return;
        }
        let help = "a marketplace is an object with a list `plugins`, each with a `name` and a `source`";
        let problem = |message| Diagnostic::new(Code::InvalidPlugin, message).with_help(help).at(file.clone());
        let text = SkillDir::open("marketplace", &self.real.join(&base))
            .and_then(|dir| dir.read_to_string(marketplace::FILE, MAX_FILE));
        let read = text.map_err(|error| error.to_string()).and_then(|text| marketplace::read(&text));
        match read {
            Err(reason) => self.problems.push(problem(format!("the marketplace cannot be read: {reason}"))),
            Ok((listed, problems)) => {
                self.problems.extend(problems.into_iter().map(&problem));
                for plugin in listed {
                    if let Err(reason) = self.listed(&base, plugin) {
                        self.problems.push(problem(reason));
                    }
                }
            }
        }
    }

    fn listed(&mut self, base: &Path, plugin: Listed) -> Result<(), String> {
        let Listed { name, description, place, skills, strict } = plugin;
        let at = match place {
            Place::Elsewhere(origin) => {
                self.add(name, description, PluginAt::Elsewhere(origin), Vec::new());
                return Ok(());
            }
            Place::Here(path) => self.inside(&base.join(&path)).ok_or_else(|| {
                format!("the plugin {} cannot be used: there is no directory {}", Shown(&name), Shown(&path))
            })?,
        };
        let describes_itself = self.real.join(&at).join(PLUGIN).is_file();
        let mut found = Vec::new();
        for path in &skills {
            let here = self.named(&at.join(path));
            if here.is_empty() {
                let message = format!("the plugin {} names {}, where no skill is", Shown(&name), Shown(path));
                self.problems.push(Diagnostic::new(Code::InvalidPlugin, message).at(base.join(marketplace::FILE)));
            }
            found.extend(here);
        }
        // Without a list, and beside one that only adds, the plugin's own skills count.
        if skills.is_empty() || (strict && describes_itself) {
            found.extend(self.collection(&at.join("skills"), LEVELS));
            if describes_itself {
                let (roots, _) = plugin_roots(&self.real.join(&at));
                for root in roots {
                    if let Ok(root) = root.path.strip_prefix(&self.real).map(Path::to_path_buf) {
                        found.extend(self.named(&root));
                    }
                }
            }
        }
        let description = if description.is_empty() { self.description(&at) } else { description };
        self.add(name, description, PluginAt::Here(shown(at)), found);
        Ok(())
    }

    /// Takes a plugin, once.
    fn add(&mut self, name: String, description: String, at: PluginAt, mut skills: Vec<usize>) {
        if let Some(known) = self.plugins.iter_mut().find(|known| known.name == name && known.at == at) {
            // A marketplace often says more than the plugin itself.
            if known.description.is_empty() {
                known.description = description;
            }
            return;
        }
        skills.sort_unstable();
        skills.dedup();
        let skills = skills.into_iter().map(|skill| self.skills[skill].clone()).collect();
        let has_manifest = match &at {
            PluginAt::Here(path) => self.real.join(path).join(PLUGIN).is_file(),
            PluginAt::Elsewhere(_) => false,
        };
        self.plugins.push(FoundPlugin { name, description, at, has_manifest, skills });
    }

    fn relative(&self, mut problem: Diagnostic) -> Diagnostic {
        let path = problem.path.as_deref().and_then(|path| path.strip_prefix(&self.real).ok());
        if let Some(path) = path {
            problem.path = Some(path.to_path_buf());
        }
        problem
    }

    fn done(self) -> Survey {
        let Search { mut skills, mut plugins, mut problems, .. } = self;
        skills.sort_by(|one, other| one.at.cmp(&other.at));
        plugins.sort_by(|one, other| one.name.cmp(&other.name));
        for plugin in &mut plugins {
            plugin.skills.sort_by(|one, other| one.at.cmp(&other.at));
        }
        let mut names: BTreeMap<&str, &FoundSkill> = BTreeMap::new();
        for skill in skills.iter().filter(|skill| skill.valid) {
            if let Some(first) = names.get(skill.name.as_str()) {
                let message =
                    format!("two skills are called {}: in {} and in {}", skill.name, text(&first.at), text(&skill.at));
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

/// The surveyed directory itself is `.`.
fn shown(at: PathBuf) -> PathBuf {
    if at.as_os_str().is_empty() { PathBuf::from(".") } else { at }
}

fn text(path: &Path) -> String {
    Shown(&path.to_string_lossy()).to_string()
}
