//! One assembly: given an environment and options, a working Skillcue.
//!
//! Installed skills, plugins, bundled skills, consent, MCP servers, scripts and toolsets: each is made when first
//! needed, and nothing here reads the environment of the process. The caller passes it, as a plain value.
//!
//! ```
//! use skillcue_host::{Environment, Host, HostOverrides};
//!
//! # let home = tempfile::tempdir()?;
//! # let (cwd, variables) = (None, vec![("HOME".into(), home.path().into())]);
//! let host = Host::open(Environment::new(cwd, variables)?, HostOverrides::default());
//! let shown = host.skills()?.disclose("Say bonjour to Alice");
//! assert!(shown.turn.contains("hello-extended"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bundled;
mod catalogs;
mod environment;
mod error;
mod eval_history;
mod host;
mod policy;
mod programs;
mod registries;
mod sentence;
mod settings;
mod text_file;
#[cfg(feature = "usage")]
mod usage;
mod watch;

pub use environment::{Environment, MACHINE_POLICY, PolicyLocation, absolute};
pub use error::{Excerpt, HostError};
pub use eval_history::{EvalHistory, EvalRuns};
pub use host::{Host, HostOverrides};
pub use programs::HostPrograms;
pub use registries::{Registries, own_address};
pub use settings::{Settings, project_wants};
#[cfg(feature = "usage")]
pub use usage::{LEDGER_VARIABLE, LedgerSwitch};
pub use watch::HostWatch;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Compiles the examples of the guide for embedders.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/embedding.md")]
struct EmbeddingGuide;
