//! The sources of skills, and the roots below which they are searched for.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use crate::{SKIPPED_DIRECTORIES, project_folders, user_folders};

/// The source of a skill, highest precedence first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Named for this run: `--skills-dir`, or the library's caller.
    Inline,
    /// The project's directories.
    Project,
    /// The user's directories, and what the registry installed.
    User,
    /// A plugin's bundle.
    Plugin,
    /// A configured catalog on an object store.
    Catalog,
    /// Shipped inside the binary.
    Bundled,
    /// A configured MCP server.
    Mcp,
}

impl Source {
    /// All sources, highest precedence first.
    pub const ALL: [Source; 7] =
        [Source::Inline, Source::Project, Source::User, Source::Plugin, Source::Catalog, Source::Bundled, Source::Mcp];

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Inline => "inline",
            Source::Project => "project",
            Source::User => "user",
            Source::Plugin => "plugin",
            Source::Catalog => "catalog",
            Source::Bundled => "bundled",
            Source::Mcp => "mcp",
        }
    }

    /// Returns the source of a word.
    ///
    /// ```
    /// use skillcue_catalog::Source;
    /// assert_eq!(Source::from_word("user"), Some(Source::User));
    /// ```
    pub fn from_word(word: &str) -> Option<Source> {
        Source::ALL.into_iter().find(|source| source.as_str() == word)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A directory in which skills are searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRoot {
    /// The directory. Absolute, if what is shown to people and models should be.
    pub path: PathBuf,
    /// The source of its skills.
    pub source: Source,
    /// The plugin it belongs to, or the part of a project: the first half of its skills' addresses.
    pub plugin: Option<Box<str>>,
    /// The server that lists its skills, if they are not on this machine.
    pub server: Option<Box<str>>,
    /// Whether the user named it: then it is an error if it does not exist.
    pub required: bool,
    /// Whether its skills are off until the user enables them: they were fetched, and not put there by a person.
    pub opt_in: bool,
    /// Whether a checkout brings it: it is one of the project's directories, or a file of the project names it. See
    /// [`Skill::is_foreign`](crate::Skill::is_foreign).
    pub foreign: bool,
    /// Its position among all roots, set when discovery has ordered them.
    pub(crate) rank: u32,
}

impl SkillRoot {
    /// Makes a root for a directory that need not exist.
    pub fn new(path: impl Into<PathBuf>, source: Source) -> SkillRoot {
        SkillRoot {
            path: path.into(),
            source,
            plugin: None,
            server: None,
            required: false,
            opt_in: false,
            foreign: source == Source::Project,
            rank: 0,
        }
    }

    /// Makes a root for a directory that the user named.
    pub fn required(path: impl Into<PathBuf>, source: Source) -> SkillRoot {
        SkillRoot { required: true, ..SkillRoot::new(path, source) }
    }

    /// Makes its skills off until the user enables them.
    ///
    /// ```
    /// use skillcue_catalog::{SkillRoot, Source};
    /// assert!(SkillRoot::new("/data/skills", Source::User).off_until_enabled().opt_in);
    /// ```
    #[must_use]
    pub fn off_until_enabled(self) -> SkillRoot {
        SkillRoot { opt_in: true, ..self }
    }

    /// Marks it as brought by a checkout, whatever its source is called: a plugin that a project's file names.
    ///
    /// ```
    /// use skillcue_catalog::{SkillRoot, Source};
    /// assert!(SkillRoot::new("/repo/vendor/office", Source::Plugin).from_checkout().foreign);
    /// assert!(SkillRoot::new("/repo/skills", Source::Project).foreign);
    /// assert!(!SkillRoot::new("/home/a/.agents/skills", Source::User).foreign);
    /// ```
    #[must_use]
    pub fn from_checkout(self) -> SkillRoot {
        SkillRoot { foreign: true, ..self }
    }
}

/// Returns the directories that hold a project's skills, for the directory `start` and those above it up to `top` (the
/// repository's root), nearest first.
///
/// ```
/// use std::path::Path;
/// let roots = skillcue_catalog::project_roots(Path::new("/repo/app"), Path::new("/repo"));
/// assert_eq!(roots[0].path, Path::new("/repo/app/.agents/skills"));
/// assert_eq!(roots[roots.len() / 2].path, Path::new("/repo/.agents/skills"));
/// ```
pub fn project_roots(start: &Path, top: &Path) -> Vec<SkillRoot> {
    let mut roots = Vec::new();
    for dir in start.ancestors() {
        roots.extend(project_folders().map(|below| SkillRoot::new(dir.join(below), Source::Project)));
        if dir == top || !dir.starts_with(top) {
            break;
        }
    }
    roots
}

/// Most directories that the files of one turn add.
const MAX_NESTED: usize = 32;

/// Returns the directories that hold the skills of parts of a project, below the directory `start`: those of each file that
/// a turn touches, and of the directories between. Their skills come after the project's own, and are called
/// `apps/web:name` if their name is taken. A directory that a link leads out of `start` is left out.
///
/// ```
/// use std::path::Path;
/// let roots = skillcue_catalog::nested_roots(Path::new("/repo"), [Path::new("apps/web/src/main.ts")]);
/// assert_eq!(roots[0].path, Path::new("/repo/apps/web/src/.agents/skills"));
/// assert!(roots.iter().any(|root| root.path == Path::new("/repo/apps/web/.agents/skills")));
/// assert!(skillcue_catalog::nested_roots(Path::new("/repo"), [Path::new("main.ts"), Path::new("../x/y")]).is_empty());
/// ```
pub fn nested_roots<'p>(start: &Path, files: impl IntoIterator<Item = &'p Path>) -> Vec<SkillRoot> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(name) if !SKIPPED_DIRECTORIES.iter().any(|skipped| name == *skipped));
    let mut dirs: Vec<PathBuf> = Vec::new();
    for file in files {
        let below = if file.is_absolute() { file.strip_prefix(start).ok() } else { Some(file) };
        let Some(below) = below.filter(|below| below.components().all(is_plain)) else { continue };
        let between = below.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty());
        for dir in between {
            if dirs.len() < MAX_NESTED && !dirs.iter().any(|known| known == dir) {
                dirs.push(dir.to_owned());
            }
        }
    }
    let top = start.canonicalize();
    let is_inside = |root: &SkillRoot| match (&top, root.path.canonicalize()) {
        (Ok(top), Ok(path)) => path.starts_with(top),
        // It is not there: no skill comes from it.
        _ => true,
    };
    let roots = |dir: PathBuf| {
        let part: Box<str> = dir.to_string_lossy().into();
        let at = start.join(&dir);
        project_folders().map(move |folder| SkillRoot {
            plugin: Some(part.clone()),
            ..SkillRoot::new(at.join(folder), Source::Project)
        })
    };
    dirs.into_iter().flat_map(roots).filter(is_inside).collect()
}

/// Like [`nested_roots`], without those that are not there.
///
/// ```
/// use std::path::Path;
///
/// let repo = tempfile::tempdir()?;
/// std::fs::create_dir_all(repo.path().join("apps/web/.agents/skills"))?;
/// let roots = skillcue_catalog::touched_roots(repo.path(), [Path::new("apps/web/src/main.ts")]);
/// assert_eq!(roots.len(), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn touched_roots<'p>(start: &Path, files: impl IntoIterator<Item = &'p Path>) -> Vec<SkillRoot> {
    nested_roots(start, files).into_iter().filter(|root| root.path.is_dir()).collect()
}

/// Returns the directories below a home directory that hold a user's skills.
pub fn user_roots(home: &Path) -> Vec<SkillRoot> {
    user_folders().map(|below| SkillRoot::new(home.join(below), Source::User)).collect()
}
