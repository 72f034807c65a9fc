//! Level 2: a skill's body, ready to be put before a model.
//!
//! A [`Loader`] reads the body of a skill, puts its arguments in, writes the base directory above it, and remembers
//! the result until the file changes.
//!
//! ```
//! use skillcue_catalog::{BodyAt, BodyFile};
//! use skillcue_load::{LoadRequest, Loader};
//!
//! let tmp = tempfile::tempdir()?;
//! std::fs::write(tmp.path().join("SKILL.md"), "---\nname: pdf\n---\nRead $ARGUMENTS.\n")?;
//! let pdf = BodyFile {
//!     name: "pdf".into(),
//!     base_dir: tmp.path().into(),
//!     open_dir: tmp.path().into(),
//!     body: BodyAt::AfterFrontMatter("SKILL.md".into()),
//! };
//!
//! let loader = Loader::default();
//! let request = LoadRequest { arguments: "a.pdf", ..LoadRequest::default() };
//! let loaded = loader.load(&pdf, &request)?;
//! let base = tmp.path().display();
//! assert_eq!(&*loaded.content, format!("Base directory for this skill: {base}\n\nRead a.pdf.\n"));
//!
//! assert!(loader.load(&pdf, &request)?.cached);
//! assert_eq!(loader.stats().hits, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Long bodies need not be loaded whole: [`Loader::outline`] lists their headings with the cost of each, and
//! [`LoadRequest::section`] loads one.
//!
//! This crate decides neither which skill to load nor whether it fits a budget, it runs nothing from a body, and it
//! prints nothing. Every file is read through [`SkillDir`](skillcue_catalog::SkillDir).

mod arguments;
mod body;
mod cache;
mod envelope;
mod error;
mod loader;
mod outline;

pub use arguments::{ContentTooLarge, Dialect, MAX_ARGUMENT_BYTES, Substitution};
pub use body::Body;
pub use cache::CacheStats;
pub use envelope::{Envelope, ErrorEnvelope, MAX_ENVELOPE_BYTES, neutralise};
pub use error::LoadError;
pub use loader::{Form, LoadRequest, Loaded, Loader, LoaderConfig, PlainText};
pub use outline::{Heading, Outline, SectionError};
