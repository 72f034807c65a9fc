//! The right skill at the right moment, for the fewest tokens.
//!
//! A skill is a directory with a `SKILL.md`: front matter that says what it is good for, and a body that says how. An
//! agent that is given all of them drowns; one that is given none does not know what it could do. This crate discloses
//! them level by level:
//!
//! 1. **metadata** of every skill, found on disk without reading a single body: [`Skillcue::catalog`];
//! 2. the **body** of one skill, with its arguments: [`Skillcue::load`];
//! 3. the **files** beside it: [`Skillcue::files`], [`Skillcue::read`].
//!
//! ```
//! use skillcue::{LoadRequest, Skillcue};
//!
//! # let dir = tempfile::tempdir()?;
//! # std::fs::create_dir(dir.path().join("pdf"))?;
//! # std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\nRead $ARGUMENTS.\n")?;
//! # std::fs::write(dir.path().join("pdf/reference.md"), "# Reference\n")?;
//! let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
//!
//! for skill in skills.catalog().skills() {
//!     println!("{}: {}", skill.name(), skill.manifest().description());
//! }
//! let loaded = skills.load("pdf", &LoadRequest { arguments: "a.pdf", ..LoadRequest::default() })?;
//! assert!(loaded.content.ends_with("Read a.pdf.\n"));
//! assert_eq!(skills.read("pdf", "reference.md")?, "# Reference\n");
//!
//! let refused = skills.read("pdf", "../../etc/passwd").unwrap_err();
//! assert_eq!(refused.code(), "security");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The library never prints, and never looks at the environment or the home directory on its own: what a program
//! wants looked at, it says. Nothing is `async`: a host that is calls it in `tokio::task::spawn_blocking`, as
//! [`Skillcue::disclose`] shows.

mod bundled;
mod changes;
mod config;
mod disclosing;
mod error;
pub mod eval;
mod kept;
mod locale;
mod remote;
mod request;
mod setup;
mod skills;
mod snapshot;
pub mod tools;
#[cfg(feature = "watch")]
pub mod watch;
mod workdir;

pub use bundled::{BUNDLED, BundledFile, unpack_bundled};
pub use changes::Changes;
pub use config::{
    AgentAllow, AgentApi, AgentSection, ApiKey, Config, ConfigError, DiscloseSection, Distrusted, LoadConfig,
    McpServer, RunSection, SelectSection, SkillsConfig,
};
pub use error::{Error, enable_command};
pub use locale::LOCALE;
pub use remote::{Remote, RemoteEntry, RemoteError, RemoteFile};
pub use request::Request;
pub use setup::Setup;
pub use skillcue_catalog::{
    Catalog, Checkout, Child, Discovery, Effort, Enablement, FileError, Filter, Generation, IndexEntry, Invalid,
    ListedFile, Listing, Place, Root, Skill, SkillDir, SkillFile, SkipReason, Source, Stamp, TreeLimits,
    installed_plugins, plugin_roots, plugins_below, project_roots, uri, user_roots,
};
pub use skillcue_disclose::{
    Bodies, Budget, ConfigError as DiscloseConfigError, Counter, CounterError, Decision, DiscloseConfig, Disclosed,
    Discloser, Disclosure, Entry, Fallback, How, Listed, Names, Policy, Rehydrated, Rehydration, Remembered, Section,
    Segment as SegmentCounter, Session, SessionError, Situation, Spent, Tier, TokenCounter, UnknownWord,
    prompt_section,
};
pub use skillcue_format as format;
pub use skillcue_format::{Code, Diagnostic, FileKind, Manifest, Permissions, Severity, SkillName, Tokens, Triggers};
pub use skillcue_load::{
    Body, CacheStats, Dialect, Form, Heading, LoadError, LoadRequest, Loaded, Loader, LoaderConfig, Outline,
};
pub use skillcue_select::{
    Census, Explanation, Hit, Intent, Mention, Mode, Reason, ReasonKind, SelectOptions, Selection, Selector, Standing,
    TextIndex, TriggerReport, Turn, languages_of,
};
pub use skills::{Builder, Skillcue, usable};
pub use workdir::{WorkDir, WorkFiles};
