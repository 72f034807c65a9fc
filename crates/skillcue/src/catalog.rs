//! Discovery of skills, their files, and filters. The catalog itself is [`Catalog`](crate::Catalog), a skill in it
//! [`Skill`](crate::Skill).

pub use skillcue_catalog::{
    Checkout, ContentAuditor, ContentId, ContentStamps, DirectoryEntry, Discovery, Effort, FileError, FileListing,
    FileStamp, Filter, Generation, IndexEntry, InvalidSkill, KeptPolicy, ListedFile, Location, NameGlob, OrgPolicy,
    OrgPolicyError, PolicyGate, PolicyRefusal, PolicySubject, PolicySummary, ProgramRule, SkillDir, SkillFile,
    SkillOrigin, SkillOrigins, SkillRequirement, SkipReason, SubjectContent, TreeLimits, ViewRule, installed_plugins,
    kept_catalog_name, plugin_roots, project_roots, touched_roots, user_roots, without_userinfo,
};

pub use crate::skills::usable;
