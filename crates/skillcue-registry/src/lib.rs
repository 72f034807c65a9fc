//! Which skills are installed and enabled, on disk, across runs: install, enable, lock, verify, update, remove.
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
mod fetch;
mod guard;
mod install;
mod journal;
mod limits;
mod marketplace;
mod origin;
mod place;
mod registry;
mod remove;
mod same;
mod staging;
mod survey;
mod trash;
mod tree;
mod update;
mod verify;
mod writing;

pub use candidate::{Auditor, Chosen};
pub use disk::{Disk, Seam, Step};
pub use entries::Installed;
pub use error::RegistryError;
pub use fetch::{Exceeded, FetchError, Fetched, Git, Refusal, fetch};
pub use install::{Doing, Done, InstallOptions, Missing, Report, Teller};
pub use limits::{Limits, News, Progress};
pub use origin::{Origin, OriginError};
pub use place::{Kind, Place};
pub use registry::{Abandoned, EnablementChange, Registry, State};
pub use remove::{Freed, Moved};
pub use staging::Staging;
pub use survey::{FoundPlugin, FoundSkill, PluginAt, Survey, survey, survey_of};
pub use trash::{Trashed, Why};
pub use update::{Change, Edition, FieldChange, FileChange, PermissionChange, UpdateOptions, UpdatePlan};
pub use verify::{Drift, Standing, Verified, What};
