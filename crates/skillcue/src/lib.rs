//! The right skill at the right moment, for the fewest tokens.
//!
//! A skill is a directory with a `SKILL.md`: front matter that says what it is good for, and a body that says how. An
//! agent that is given all of them drowns; one that is given none does not know what it could do. This crate shows a
//! model, message by message, what fits:
//!
//! ```
//! use skillcue::{Request, Session, Skillcue};
//!
//! # let dir = tempfile::tempdir()?;
//! # std::fs::create_dir(dir.path().join("pdf"))?;
//! # let text = "---\nname: pdf\ndescription: Reads PDF files.\ntriggers: [pdf]\n---\nRead $ARGUMENTS with pdftotext.\n";
//! # std::fs::write(dir.path().join("pdf/SKILL.md"), text)?;
//! # std::fs::write(dir.path().join("pdf/reference.md"), "# Reference\n")?;
//! let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
//! let mut session = Session::default();
//!
//! let shown = skills.disclose(Request::new("What is 2+2?").session(&mut session));
//! assert_eq!(shown.turn, "[1 skill available]");
//!
//! let shown = skills.disclose(Request::new("Sum up report.pdf").session(&mut session));
//! assert!(shown.turn.contains("pdftotext"));
//! println!("{}{} ({} instead of {} tokens)", shown.stable, shown.turn, shown.tokens.turn.0, shown.tokens.eager.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A host puts two texts before the model: `shown.stable`, which does not change while the skills do not, and
//! `shown.turn`, which is for this message. A [`Request`] says more about a message: its files and languages, the
//! policy, the budget, the mode. [`Skillcue::select`] and [`Skillcue::explain`] take the same one, and say which skills
//! fit and why. While the model works, [`Skillcue::reselect`] names skills that fit what has happened since.
//!
//! Models load the rest themselves: [`Skillcue::tools`] lists the tools for it, [`Skillcue::call_tool`] runs them. For
//! a host that does it by hand there are three levels:
//!
//! 1. **metadata** of every skill, found on disk without reading a single body: [`Skillcue::catalog`];
//! 2. the **body** of one skill, with its arguments: [`Skillcue::load`];
//! 3. the **files** beside it: [`Skillcue::files`], [`Skillcue::read`].
//!
//! ```
//! use skillcue::{ErrorInfo as _, LoadRequest, Skillcue};
//!
//! # let dir = tempfile::tempdir()?;
//! # std::fs::create_dir(dir.path().join("pdf"))?;
//! # std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\nRead $ARGUMENTS.\n")?;
//! # std::fs::write(dir.path().join("pdf/reference.md"), "# Reference\n")?;
//! let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
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
//! The directory `examples` has programs: `minimal`, `chat_loop`, `custom_tool`, `watch`.
//!
//! This crate never prints, and never looks at the environment or the home directory on its own.
//! A program names the directories to look at; the crate `skillcue-host` does what the command line does. Nothing is
//! `async`: a host that is calls it in `tokio::task::spawn_blocking`, as [`Skillcue::disclose`] shows.

mod builder;
pub mod bundled;
pub mod catalog;
mod changes;
pub mod collisions;
pub mod config;
pub mod consent;
pub mod disclose;
mod disclosure;
mod draft;
mod error;
pub mod eval;
mod feedback;
pub mod format;
mod index_files;
mod judge;
mod kept_uses;
pub mod load;
mod match_cache;
mod meaning;
mod progress;
pub mod remote;
mod request;
pub mod select;
mod setup;
mod skills;
mod snapshot;
mod spans;
pub mod tools;
mod touch;
pub mod tune;
pub mod usage;
mod view;
#[cfg(feature = "watch")]
pub mod watch;
pub mod workdir;

pub use builder::Builder;
pub use changes::Changes;
pub use error::{Error, Hints};
pub use request::Request;
pub use setup::Setup;
pub use skillcue_base::ErrorInfo;
pub use skillcue_catalog::{Catalog, Enablement, Skill, SkillRoot, Source};
pub use skillcue_disclose::{Budget, Counter, Decision, DiscloseConfig, Disclosure, Fallback, Policy, Session, Tier};
pub use skillcue_format::{Diagnostic, Manifest, Tokens};
pub use skillcue_load::{LoadRequest, Loaded};
pub use skillcue_select::{Explanation, Hit, Mode, Selection, Turn};
pub use skills::Skillcue;
pub use spans::SPAN_TARGET;

/// Compiles the examples of the documentation.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../docs/reference/tools.md")]
    struct ToolsGuide;
    #[cfg(feature = "watch")]
    #[doc = include_str!("../../../docs/reference/watch.md")]
    struct WatchGuide;
}
