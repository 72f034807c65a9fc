//! Which skills are installed and enabled, on disk, across runs: install, enable, lock, verify, update, remove.
//!
//! A [`Registry`] is in one [`RegistryLocation`], the user's or a project's. Skills and plugins to be installed are
//! fetched into a [`Staging`] directory, checked, and moved into place in one step with their entries in the registry's
//! files.
//!
//! It does not print, ask, or look at the environment; and it never holds documentation.

mod candidate;
mod canonical_origin;
mod diff;
mod disk;
mod entries;
mod error;
mod fetch;
mod install;
mod journal;
mod limits;
mod links;
mod location;
mod marketplace;
mod oci;
mod origin;
mod outbound;
mod registry;
mod remove;
mod staging;
mod survey;
mod transaction;
mod trash;
mod tree;
mod update;
mod verify;
mod writer_lock;

pub use candidate::{Auditor, StagedItem};
pub use diff::unified;
pub use disk::{Disk, DiskStep};
pub use entries::InstalledItem;
pub use error::RegistryError;
pub use fetch::{Exceeded, FetchError, Fetched, GitProgram, Refusal, fetch};
pub use install::{InstallChange, InstallOptions, InstallReport, MissingItem};
pub use limits::{FetchEvent, FetchLimits, FetchProgress};
pub use links::{LinkChange, SkillLink};
pub use location::{InstallableKind, RegistryLocation};
#[cfg(feature = "oci")]
pub use oci::fetch::fetch_oci;
pub use oci::{OciAccess, OciReference};
#[cfg(feature = "oci")]
pub use oci::{PushError, PushOptions, Pushed, push};
pub use origin::{InstallOrigin, OriginError};
pub use outbound::{PackError, check_outbound};
pub use registry::{AbandonedChange, EnablementChange, Registry, RegistryState};
pub use remove::{GcReport, MovedItem};
pub use staging::Staging;
pub use survey::{FoundPlugin, FoundSkill, PluginLocation, Survey, survey, survey_of};
pub use trash::{TrashReason, TrashedItem};
pub use update::{FieldChange, FileChange, FileChangeKind, ItemVersion, PermissionChange, UpdateOptions, UpdatePlan};
pub use verify::{Drift, DriftKind, InstallStatus, VerifiedItem};
