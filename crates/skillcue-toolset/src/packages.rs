//! The packages that `skillcue toolset setup` installs for toolsets, pinned.

use serde_json::Value;

/// The packages, as npm reads them: `package.json`.
pub const PACKAGES: &str = include_str!("../packages/package.json");

/// Their exact versions and digests, as npm reads them: `package-lock.json`.
pub const LOCK: &str = include_str!("../packages/package-lock.json");

/// Returns the packages and their versions.
///
/// ```
/// assert_eq!(skillcue_toolset::packages::pinned()[0].0, "zod");
/// ```
pub fn pinned() -> Vec<(String, String)> {
    let packages: Value = serde_json::from_str(PACKAGES).unwrap_or_default();
    let pinned = packages["dependencies"].as_object().into_iter().flatten();
    pinned.map(|(name, version)| (name.clone(), version.as_str().unwrap_or_default().to_owned())).collect()
}
