//! The location of a skill's body.

use std::path::PathBuf;

/// Everything that level 2 needs to know of a skill in order to load its body.
///
/// It owns its data and holds no handle, so a catalog of many thousand skills can hold one each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BodyFile {
    /// The skill's name, for messages and as a part of its identity.
    pub name: Box<str>,
    /// The directory that is shown to the model: relative paths in the body start here.
    pub base_dir: PathBuf,
    /// The directory that is opened. It differs from [`base_dir`](Self::base_dir) when `SKILL.md` is a link to that
    /// of another directory, which a handle to the shown one would rightly refuse to follow.
    pub open_dir: PathBuf,
    /// The file, and the part of it that is the body.
    pub body: BodyAt,
}

/// The file that holds the body, and the part of that file that is the body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BodyAt {
    /// Everything after the front matter of the file with this name: a `SKILL.md`.
    AfterFrontMatter(Box<str>),
    /// All of the file at this path: the system prompt file of a `SKILL.yaml`, or a `SKILL.md` that has no front
    /// matter beside one.
    WholeFile(Box<str>),
    /// No file: a `SKILL.yaml` that names no prompt. Its body is empty.
    None,
}

impl BodyAt {
    /// Returns the path of the file, relative to [`BodyFile::open_dir`], if there is one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::AfterFrontMatter(path) | Self::WholeFile(path) => Some(path),
            Self::None => None,
        }
    }
}
