//! Sources → discovery → an immutable [`Catalog`]; [`SkillDir`], the only door to a skill's files; and [`consent`], the one
//! record of what a person has allowed skills, scripts, toolsets and projects.
//!
//! [`Discovery`] looks for skill directories below its [`Root`]s, reads their front matter and nothing else, decides
//! which of several skills of one name counts, and never fails: what is wrong with a file becomes a diagnostic, and the
//! rest goes on.
//!
//! ```
//! use skillcue_catalog::{Discovery, Filter, Root, Source};
//!
//! let dir = tempfile::tempdir()?;
//! for name in ["csv", "pdf"] {
//!     std::fs::create_dir(dir.path().join(name))?;
//!     let text = format!("---\nname: {name}\ndescription: Reads {name} files.\n---\n# How\n");
//!     std::fs::write(dir.path().join(name).join("SKILL.md"), text)?;
//! }
//! let catalog = Discovery::new([Root::new(dir.path(), Source::Project)]).run();
//! assert_eq!(catalog.skills().map(|skill| skill.name()).collect::<Vec<_>>(), ["csv", "pdf"]);
//! assert!(catalog.diagnostics().is_empty());
//!
//! let pdf = Filter { keyword: Some("PDF".into()), ..Filter::default() };
//! assert_eq!(catalog.select(&pdf).count(), 1);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! What it does not do: read bodies (`skillcue-load` does), print, or look at the environment. It runs on Unix; its
//! speed comes from `openat` and friends.

#![allow(clippy::vec_box, reason = "skills are sorted and merged: a box is moved for less than a skill")]

mod body;
mod candidate;
mod catalog;
mod checkout;
pub mod consent;
mod content;
mod discovery;
mod index_cache;
mod many;
mod memory;
mod plugin;
mod remote;
mod rewalk;
mod section;
mod skill;
mod skill_dir;
mod source;
pub mod uri;
mod walk;

pub use body::{BodyAt, BodyFile};
pub use candidate::Invalid;
pub use catalog::{Catalog, Filter, Generation, IndexEntry};
pub use checkout::Checkout;
pub use content::{Content, ContentError, ContentId, ContentStamps, Leaf, Leaves, Unpinnable, UnpinnableReason};
pub use discovery::{Discovery, Effort, Enablement};
pub use memory::Memory;
pub use plugin::{installed_plugins, plugin_roots, plugins_below};
pub use remote::RemoteSkill;
pub use skill::{Glimpse, Place, Skill, SkillFile};
#[doc(hidden)]
pub use skill_dir::Backend;
pub use skill_dir::{
    Child, EntryKind, EntryMetadata, FileError, GapReason, ListedFile, Listing, OpenedFile, SecurityReason, SkillDir,
    SkillTree, SkipReason, Skipped, Stamp, StampPath, StopReason, Stopped, TreeEntry, TreeGap, TreeLimits,
};
pub use source::{Root, Source, project_roots, user_roots};
pub use walk::{MAX_DEPTH, SKIPPED_DIRECTORIES};
