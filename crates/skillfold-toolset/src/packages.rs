//! The packages that `skillfold toolset setup` installs for toolsets, pinned.

/// Which packages, as npm reads it: `package.json`.
pub const PACKAGES: &str = include_str!("../packages/package.json");

/// Their exact versions and digests, as npm reads it: `package-lock.json`.
pub const LOCK: &str = include_str!("../packages/package-lock.json");
