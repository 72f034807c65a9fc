//! Skills in OCI registries: their addresses, the shape of an artifact, credentials, and, with the feature `oci`, the way
//! there and back.
//!
//! The shape that is pushed is that of the community's proposal "Agent Skills as OCI Artifacts": one manifest of the type
//! `application/vnd.agentskills.skill.v1`, a config with the pins of a lock, and one layer, a tar packed by gzip. Equal
//! files give equal bytes, and so equal digests. `docs/reference/oci.md` has all of it.

#[cfg(feature = "oci")]
mod artifact;
#[cfg(feature = "oci")]
mod client;
#[cfg(feature = "oci")]
mod credentials;
#[cfg(feature = "oci")]
pub(crate) mod fetch;
#[cfg(feature = "oci")]
mod pack;
#[cfg(feature = "oci")]
mod push;
mod reference;

use std::ffi::OsString;
use std::path::PathBuf;

#[cfg(feature = "oci")]
pub use push::{PushError, PushOptions, Pushed, push};
pub use reference::OciReference;
pub(crate) use reference::SCHEME;

/// The places of credentials on this machine. The caller passes them: nothing here reads the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OciAccess {
    /// Files in the format of Docker's `config.json`; the first that knows a registry counts.
    pub auth_files: Vec<PathBuf>,
    /// The directories in which `docker-credential-…` programs are looked for.
    pub helper_dirs: Vec<PathBuf>,
    /// The variables that helpers get.
    pub env: Vec<(OsString, OsString)>,
}
