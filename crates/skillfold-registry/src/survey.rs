//! What skills and plugins are in a directory that was fetched.

use std::path::{Path, PathBuf};

use skillfold_format::Diagnostic;

use crate::Origin;

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
    /// Its name in its canonical form; if it has none, its directory's.
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
pub fn survey(_: &Path) -> Survey {
    Survey::default()
}
