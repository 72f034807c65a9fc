//! Questions, and their subjects.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ConsentError, ResolvedPermissions};
use crate::{ContentId, SkillDir};

/// A thing that needs consent, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Subject {
    /// The `skillcue.toml` of a project may add servers and directories outside of the project, set limits, and
    /// configure the agent.
    Project {
        /// The project's directory.
        path: PathBuf,
    },
    /// A skill of an MCP server may be loaded.
    RemoteSkill {
        /// The user's name for the server.
        label: String,
        /// The server itself: its address or its command line.
        server: String,
        /// The URI of the skill's `SKILL.md`.
        uri: String,
        /// The skill's name.
        name: String,
    },
    /// A model may load a skill that came with a checkout.
    Load {
        /// The skill's name.
        skill: String,
        /// Its directory.
        dir: PathBuf,
    },
    /// A script may run, with the permissions of the question; a model may run it.
    Script {
        /// The skill's name.
        skill: String,
        /// Its directory.
        dir: PathBuf,
        /// The script's path below it.
        path: String,
    },
    /// A skill's toolsets may run, in the sandbox; a model may call all of their tools.
    Toolset {
        /// The skill's name.
        skill: String,
        /// Its directory.
        dir: PathBuf,
    },
    /// A model may call one tool of a skill's toolsets.
    Tool {
        /// The skill's name.
        skill: String,
        /// Its directory.
        dir: PathBuf,
        /// The tool's id.
        tool: String,
    },
}

impl Subject {
    /// Returns the settings of the project in `path`.
    pub fn project(path: &Path) -> Subject {
        Subject::Project { path: real(path) }
    }

    /// Returns loading the skill in `dir`.
    pub fn load(dir: &SkillDir) -> Subject {
        Subject::Load { skill: dir.skill().to_owned(), dir: real(dir.path()) }
    }

    /// Returns the script at `path` of the skill in `dir`.
    pub fn script(dir: &SkillDir, path: &str) -> Subject {
        Subject::Script { skill: dir.skill().to_owned(), dir: real(dir.path()), path: path.to_owned() }
    }

    /// Returns the toolsets of the skill in `dir`.
    pub fn toolset(dir: &SkillDir) -> Subject {
        Subject::Toolset { skill: dir.skill().to_owned(), dir: real(dir.path()) }
    }

    /// Returns one tool of the toolsets of the skill in `dir`.
    pub fn tool(dir: &SkillDir, tool: &str) -> Subject {
        Subject::Tool { skill: dir.skill().to_owned(), dir: real(dir.path()), tool: tool.to_owned() }
    }

    /// Returns the skill on this machine that it is about, if it is about one.
    pub fn skill(&self) -> Option<&str> {
        match self {
            Subject::Load { skill, .. }
            | Subject::Script { skill, .. }
            | Subject::Toolset { skill, .. }
            | Subject::Tool { skill, .. } => Some(skill),
            Subject::Project { .. } | Subject::RemoteSkill { .. } => None,
        }
    }

    /// Returns the directory that it is about, if it is about one.
    pub fn dir(&self) -> Option<&Path> {
        match self {
            Subject::Project { path } => Some(path),
            Subject::Load { dir, .. }
            | Subject::Script { dir, .. }
            | Subject::Toolset { dir, .. }
            | Subject::Tool { dir, .. } => Some(dir),
            Subject::RemoteSkill { .. } => None,
        }
    }

    /// Returns the kind, as it is written in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Subject::Project { .. } => "project",
            Subject::RemoteSkill { .. } => "remote_skill",
            Subject::Load { .. } => "load",
            Subject::Script { .. } => "script",
            Subject::Toolset { .. } => "toolset",
            Subject::Tool { .. } => "tool",
        }
    }

    /// Returns whether consent to this, with equal content, is consent to `other`, too.
    pub(super) fn covers(&self, other: &Subject) -> bool {
        match (self, other) {
            // A server may rename a skill without changing its files; the name is only shown.
            (
                Subject::RemoteSkill { label, server, uri, .. },
                Subject::RemoteSkill { label: of, server: by, uri: at, .. },
            ) => label == of && server == by && uri == at,
            (Subject::Toolset { skill, dir }, Subject::Tool { skill: of, dir: at, .. }) => skill == of && dir == at,
            _ => self == other,
        }
    }

    /// Returns whether consent to `newer` takes the place of consent to this.
    pub(super) fn is_replaced_by(&self, newer: &Subject) -> bool {
        match (self, newer) {
            // Of two servers that had one label, the later one counts.
            (Subject::RemoteSkill { label, uri, .. }, Subject::RemoteSkill { label: of, uri: at, .. }) => {
                label == of && uri == at
            }
            _ => self == newer,
        }
    }
}

/// Describes the subject in words, for messages.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Project { path } => write!(f, "the project {}", path.display()),
            Subject::RemoteSkill { label, name, .. } => write!(f, "{label}:{name}"),
            Subject::Load { skill, .. } => write!(f, "loading {skill}"),
            Subject::Script { skill, path, .. } => write!(f, "the script {path} of {skill}"),
            Subject::Toolset { skill, .. } => write!(f, "the toolsets of {skill}"),
            Subject::Tool { skill, tool, .. } => write!(f, "the tool {tool} of {skill}"),
        }
    }
}

/// A question: may this happen, with exactly this content?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The thing that needs consent.
    pub subject: Subject,
    /// Its content, as it is now.
    pub content: ContentId,
    /// The permissions that it asks for beyond the sandbox.
    pub permissions: ResolvedPermissions,
    /// More facts for the person who decides. Not compared with earlier answers.
    pub details: Details,
}

impl Question {
    /// Asks about `subject` with this content, and no permissions.
    pub fn new(subject: Subject, content: ContentId) -> Question {
        Question { subject, content, permissions: ResolvedPermissions::default(), details: Details::default() }
    }

    /// Asks about a part of the skill in `dir`: all of its files are the content, as a script runs what lies beside it.
    pub fn for_skill(dir: &SkillDir, subject: Subject) -> Result<Question, ConsentError> {
        let unreadable = |error: crate::ContentError| ConsentError::Unreadable {
            skill: dir.skill().to_owned(),
            reason: error.to_string(),
        };
        Ok(Question::new(subject, ContentId::of(dir).map_err(unreadable)?))
    }

    /// Asks for permissions, too.
    #[must_use]
    pub fn with_permissions(mut self, permissions: ResolvedPermissions) -> Question {
        self.permissions = permissions;
        self
    }
}

/// Facts for the person who decides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// The address of exactly this skill in the catalog; empty if it is not known.
    pub address: String,
    /// The source of the skill, in a word.
    pub source: String,
    /// The arguments that a model wants to pass, as JSON in which nothing hides.
    pub arguments: String,
    /// Whether the content has changed since the person was asked a moment ago.
    pub has_changed: bool,
}

/// Returns the path with every link followed, so that one directory has one name.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}
