//! Discovery of skills, their files, and filters. The catalog itself is [`Catalog`](crate::Catalog), a skill in it
//! [`Skill`](crate::Skill).

pub use skillcue_catalog::{
    Checkout, ContentId, DirectoryEntry, Discovery, Effort, FileError, FileListing, FileStamp, Filter, Generation,
    IndexEntry, InvalidSkill, ListedFile, Location, SkillDir, SkillFile, SkipReason, TreeLimits, installed_plugins,
    plugin_roots, project_roots, touched_roots, user_roots,
};

pub use crate::skills::usable;
