//! Which skills are installed and enabled, on disk, across runs: install, enable, lock, verify, update, remove, audit.
//!
//! A [`Registry`] stands in one [`Place`], the user's or a project's. What is to be installed is fetched into a
//! [`Staging`] directory, looked at, and put in its place with everything that the registry says of it in one step.
//!
//! What it does not do: print, ask, or look at the environment; and it never holds documentation.

mod candidate;
mod diff;
mod disk;
mod entries;
mod error;
mod guard;
mod install;
mod journal;
mod place;
mod registry;
mod remove;
mod staging;
mod stand_in;
mod time;
mod trash;
mod tree;
mod update;
mod verify;
mod writing;

// Until the audit is merged: `mod audit` and its `pub use` take the place of these two lines and of `stand_in`.
use stand_in as audit;
pub use stand_in::{Audit, Finding, Rule, Severity};

pub use candidate::{Auditor, Chosen};
pub use disk::{Disk, Seam, Step};
pub use entries::{Installed, Trouble};
pub use error::RegistryError;
pub use install::{Doing, Done, InstallOptions, Missing, Report, Teller};
pub use place::{Kind, Place};
pub use registry::{Changed, Registry, State};
pub use remove::{Freed, Moved};
pub use staging::Staging;
pub use trash::{Trashed, Why};
pub use tree::Digest;
pub use update::{Change, Edition, FieldChange, FileChange, PermissionChange, UpdateOptions, UpdatePlan};
pub use verify::{Drift, Standing, Verified, What};
