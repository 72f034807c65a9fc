//! Where skills are found and what is known of each: discovery, a skill's files, filters. The catalog itself is
//! [`Catalog`](crate::Catalog), a skill in it [`Skill`](crate::Skill).

pub use skillcue_catalog::{
    Checkout, Child, ContentId, Discovery, Effort, FileError, Filter, Generation, IndexEntry, Invalid, ListedFile,
    Listing, Place, SkillDir, SkillFile, SkipReason, Stamp, TreeLimits, installed_plugins, plugin_roots, project_roots,
    user_roots,
};

pub use crate::skills::usable;
