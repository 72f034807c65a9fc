//! Consent: the permission that a person has given, for exactly the content that they looked at.
//!
//! A [`Question`] names a [`Subject`] (a project's settings, a remote skill, loading a skill of a checkout, a script, a
//! toolset, a tool), the [`ContentId`] of its content, and the permissions that it asks for beyond the sandbox.
//! Whatever needs consent asks a [`ConsentGate`]: running scripts and toolsets, reading from MCP servers, applying a
//! project's settings, and the agent, which puts a person in front of it. [`ConsentStore`] is the gate that remembers
//! answers in a file.
//!
//! ```
//! use skillcue_catalog::SkillDir;
//! use skillcue_catalog::consent::{Answer, ConsentGate, ConsentStore, Question, Scope, Subject};
//!
//! let tmp = tempfile::tempdir()?;
//! std::fs::write(tmp.path().join("fill.py"), "print(1)")?;
//! let dir = SkillDir::open("pdf", tmp.path())?;
//! let question = Question::for_skill(&dir, Subject::script(&dir, "fill.py"))?;
//!
//! let elsewhere = tempfile::tempdir()?;
//! let store = ConsentStore::new(Some(elsewhere.path().join("consent.json")));
//! assert_eq!(store.answer(&question), Answer::NotAsked);
//! store.remember(&question, Scope::Always)?;
//! assert_eq!(store.answer(&question), Answer::Allowed);
//!
//! // Other content is another question.
//! std::fs::write(tmp.path().join("fill.py"), "print(2)")?;
//! let changed = Question::for_skill(&dir, Subject::script(&dir, "fill.py"))?;
//! assert_eq!(store.answer(&changed), Answer::Changed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No person is asked here: [`ConsentGate::answer`] only compares.

mod permissions;
mod question;
mod store;

use std::fmt::Debug;
use std::path::Path;

use serde::{Deserialize, Serialize};
use skillcue_base::{ErrorInfo, RecordsError, Shown};
use thiserror::Error;

pub use crate::ContentId;
pub use permissions::{PermissionRules, ResolvedPermissions};
pub use question::{Details, Question, Subject};
pub use store::{Consent, ConsentStore};

use crate::{Skill, SkillDir};

/// Returns whether the text of a skill may be put before a model that has not asked for it: not if it came with a checkout
/// ([`Skill::is_foreign`]), unless a person has allowed to load it as it is. The one answer for surfaces that show bodies by
/// themselves.
///
/// ```
/// use skillcue_catalog::consent::{ConsentStore, may_show};
/// use skillcue_catalog::{Discovery, SkillRoot, Source};
///
/// let dir = tempfile::tempdir()?;
/// std::fs::create_dir(dir.path().join("pdf"))?;
/// std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n")?;
/// for (source, is_shown) in [(Source::User, true), (Source::Project, false)] {
///     let catalog = Discovery::new([SkillRoot::new(dir.path(), source)]).run();
///     assert_eq!(may_show(catalog.get("pdf").unwrap(), &ConsentStore::new(None)), is_shown);
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn may_show(skill: &Skill, gate: &dyn ConsentGate) -> bool {
    if !skill.is_foreign() {
        return true;
    }
    let Ok(dir) = SkillDir::open(skill.name(), &skill.dir()) else { return false };
    let subject = Subject::load(&dir);
    // All of its files are read for the question.
    gate.knows(&subject) && Question::for_skill(&dir, subject).is_ok_and(|question| gate.answer(&question).is_allowed())
}

/// The answer to a [`Question`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Yes, exactly this.
    Allowed,
    /// No person has been asked about the subject yet.
    NotAsked,
    /// The subject was allowed with other content or other permissions, or its content has changed meanwhile.
    Changed,
    /// No.
    Denied,
}

impl Answer {
    /// Returns whether it is a yes.
    pub fn is_allowed(self) -> bool {
        self == Answer::Allowed
    }
}

/// For how long a yes counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This time: the first answer that it allows uses it up.
    Once,
    /// As long as this process, or this conversation.
    Session,
    /// Until it is taken back or a byte of the content changes.
    Always,
}

/// The content of a subject, as far as the caller of [`ConsentGate::observe`] has just seen it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observed {
    /// The caller knows nothing about this subject.
    NotSeen,
    /// The subject has this content now.
    Content(ContentId),
    /// The subject exists, and its content cannot be determined in advance.
    NoContent,
}

/// Answers whether something is allowed. Implement it to decide by other rules than those of a [`ConsentStore`], or to
/// wrap one.
///
/// ```
/// use skillcue_catalog::consent::{Answer, ConsentError, ConsentGate, Question, Scope, Subject};
///
/// /// Allows the scripts of one skill, and nothing else.
/// #[derive(Debug)]
/// struct OnlyPdf;
///
/// impl ConsentGate for OnlyPdf {
///     fn answer(&self, question: &Question) -> Answer {
///         match &question.subject {
///             Subject::Script { skill, .. } if skill == "pdf" => Answer::Allowed,
///             _ => Answer::Denied,
///         }
///     }
///
///     fn remember(&self, _: &Question, _: Scope) -> Result<(), ConsentError> {
///         Ok(())
///     }
/// }
/// ```
pub trait ConsentGate: Debug + Send + Sync {
    /// Answers a question. Returns at once, without asking a person. Ask only about what is then done: it may use up a
    /// yes that was given for once.
    fn answer(&self, question: &Question) -> Answer;

    /// Remembers that a person has said yes. [`Scope::Always`] replaces whatever was allowed to the same subject
    /// before, any other scope what was allowed for less than always.
    fn remember(&self, question: &Question, scope: Scope) -> Result<(), ConsentError>;

    /// Returns whether [`answer`](ConsentGate::answer) could be anything but [`Answer::NotAsked`] for this subject. A
    /// `false` saves the caller the computation of a [`ContentId`].
    fn knows(&self, subject: &Subject) -> bool {
        let _ = subject;
        true
    }

    /// Ends consent to content that is no longer what `now` says of its subject. It does not come back with the
    /// content.
    fn observe(&self, now: &dyn Fn(&Subject) -> Observed) -> Result<(), ConsentError> {
        let _ = now;
        Ok(())
    }

    /// Returns the directory in which answers are remembered. No program of a skill is ever allowed to read or write
    /// it.
    fn directory(&self) -> Option<&Path> {
        None
    }

    /// Returns why answers cannot be read, if so. Nothing counts as allowed then.
    fn trouble(&self) -> Option<String> {
        None
    }
}

/// The hint for a file of consent that cannot be read.
pub const BROKEN_FILE_HINT: &str = "move the file away; everything is then asked about again";

/// The reason why something cannot be allowed, or an answer cannot be stored.
#[derive(Debug, Error, ErrorInfo)]
#[non_exhaustive]
pub enum ConsentError {
    /// It would undo the sandbox.
    #[error("skill \"{}\" asks for {what} {}, which cannot be granted: {reason}", Shown(skill), Shown(path))]
    #[info(code = "not_grantable", hint = "the skill's author has to ask for less")]
    NotGrantable {
        /// The skill.
        skill: String,
        /// The kind of permission.
        what: &'static str,
        /// The path or name.
        path: String,
        /// The reason.
        reason: String,
    },
    /// The skill's files cannot be read completely, so nothing can be said about their content.
    #[error("skill \"{}\": {reason}", Shown(skill))]
    #[info(code = "not_grantable", hint = "look at the skill's files")]
    Unreadable {
        /// The skill.
        skill: String,
        /// The reason.
        reason: String,
    },
    /// The file of answers cannot be read or written.
    #[error(transparent)]
    #[info(code = "consent", hint = match _0 {
        RecordsError::File { .. } => "check that the directory is there and that you may write to it",
        _ => BROKEN_FILE_HINT,
    })]
    Records(#[from] RecordsError),
}
