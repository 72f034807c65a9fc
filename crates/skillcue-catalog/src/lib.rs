//! Sources → discovery → an immutable [`Catalog`]; [`SkillDir`], the only door to a skill's files; and [`consent`], the
//! one record of what a person has allowed skills, scripts, toolsets and projects to do.
//!
//! [`Discovery`] looks for skill directories below its [`SkillRoot`]s, reads their front matter and nothing else,
//! decides which of several skills of one name counts, and never fails: what is wrong with a file becomes a diagnostic,
//! and the rest goes on.
//!
//! ```
//! use skillcue_catalog::{Discovery, Filter, SkillRoot, Source};
//!
//! let dir = tempfile::tempdir()?;
//! for name in ["csv", "pdf"] {
//!     std::fs::create_dir(dir.path().join(name))?;
//!     let text = format!("---\nname: {name}\ndescription: Reads {name} files.\n---\n# How\n");
//!     std::fs::write(dir.path().join(name).join("SKILL.md"), text)?;
//! }
//! let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::Project)]).run();
//! assert_eq!(catalog.skills().map(|skill| skill.name()).collect::<Vec<_>>(), ["csv", "pdf"]);
//! assert!(catalog.diagnostics().is_empty());
//!
//! let pdf = Filter { keyword: Some("PDF".into()), ..Filter::default() };
//! assert_eq!(catalog.select(&pdf).count(), 1);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! It does not read bodies (`skillcue-load` does), print, or look at the environment. It runs on Unix; its
//! speed comes from `openat` and related system calls.

#![allow(clippy::vec_box, reason = "skills are sorted and merged: a box is moved for less than a skill")]

mod arena;
mod body;
mod candidate;
mod catalog;
mod checkout;
mod client;
pub mod consent;
mod content;
mod discovery;
mod discovery_state;
mod draft;
mod enablement;
mod glob;
mod index_cache;
mod org_policy;
mod parallel;
mod plugin;
mod remote;
mod revalidation;
mod section;
mod skill;
mod skill_dir;
mod source;
pub mod uri;
mod view;
mod walk;

pub use body::{BodyAt, BodyFile};
pub use candidate::InvalidSkill;
pub use catalog::{Catalog, Filter, Generation, IndexEntry};
pub use checkout::Checkout;
pub use client::{Client, project_folders, user_folders};
pub use content::{Content, ContentError, ContentId, ContentStamps, Leaf, Leaves, Unpinnable, UnpinnableReason};
pub use discovery::{Discovery, Effort};
pub use discovery_state::DiscoveryState;
pub use enablement::Enablement;
pub use glob::NameGlob;
pub use org_policy::{
    ContentAuditor, KeptPolicy, OrgPolicy, OrgPolicyError, PolicyGate, PolicyRefusal, PolicySubject, PolicySummary,
    ProgramRule, SkillOrigin, SkillOrigins, SkillRequirement, SubjectContent, kept_catalog_name, publisher_of,
    without_userinfo,
};
pub use plugin::{installed_plugins, plugin_roots, plugins_below};
pub use remote::RemoteSkill;
pub use skill::{Location, Skill, SkillFile, SkillSummary};
pub use skill_dir::{
    DirectoryEntry, EntryKind, EntryMetadata, FileError, FileListing, FileStamp, GapReason, ListedFile, OpenedFile,
    SecurityReason, SkillDir, SkillTree, SkipReason, Skipped, StampPath, StopReason, Stopped, TreeEntry, TreeGap,
    TreeLimits,
};
pub use source::{SkillRoot, Source, nested_roots, project_roots, touched_roots, user_roots};
pub use view::ViewRule;
pub use walk::{MAX_DEPTH, SKIPPED_DIRECTORIES};
