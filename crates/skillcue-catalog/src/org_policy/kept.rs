//! The policy of a catalog as a reader keeps it: in a file of its own, which every build reads, whether or not it can ask
//! the catalog itself.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillcue_base::Digest;

use super::OrgPolicy;
use super::origin::without_userinfo;

/// The version of the file's format.
const VERSION: u32 = 2;

/// Returns the name of the files that are kept of a catalog: its own name, and digits of a digest of name and address. A
/// catalog of the same name at another address has other files, so that neither replaces what is known of the other. Keys are
/// no part of it: a rotated key keeps the memory.
///
/// ```
/// use skillcue_catalog::kept_catalog_name;
///
/// let name = kept_catalog_name("acme", "s3://bucket/acme");
/// assert!(name.starts_with("acme-") && name.len() == 21);
/// assert_eq!(name, kept_catalog_name("acme", "s3://bucket/acme/"));
/// assert_ne!(name, kept_catalog_name("acme", "s3://staging/acme"));
/// ```
pub fn kept_catalog_name(catalog: &str, url: &str) -> String {
    let digest = Digest::of(format!("{catalog}\n{}", kept_address(url))).to_string();
    format!("{catalog}-{}", digest.get(..16).unwrap_or_default())
}

/// Returns an address as it is compared: without user, password, query, fragment and a slash at its end.
fn kept_address(url: &str) -> String {
    let plain = without_userinfo(url);
    plain.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/').to_owned()
}

/// The policy of a catalog's last good generation. It is in the data directory: emptying the cache must not lift it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPolicy {
    version: u32,
    catalog: String,
    address: String,
    /// The keys that had signed it.
    keys: Vec<String>,
    text: String,
}

impl KeptPolicy {
    /// Makes one of a policy's text and the keys that have signed it.
    pub fn new(catalog: &str, url: &str, keys: Vec<String>, text: String) -> KeptPolicy {
        KeptPolicy { version: VERSION, catalog: catalog.to_owned(), address: kept_address(url), keys, text }
    }

    /// Returns the address of its catalog, without user, password and a slash at its end.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the keys that had signed it.
    pub fn signers(&self) -> &[String] {
        &self.keys
    }

    /// Returns the file of a catalog's policy below the data directory.
    pub fn path(data: &Path, catalog: &str, url: &str) -> PathBuf {
        data.join("catalogs").join(format!("{}.policy.json", kept_catalog_name(catalog, url)))
    }

    /// Returns the files of all catalogs that have this name, or this address, whatever the other one is: for a configured
    /// catalog of which one of the two cannot be read. Files that cannot be read are left out.
    pub fn paths_like(data: &Path, catalog: Option<&str>, url: Option<&str>) -> Vec<PathBuf> {
        let address = url.map(kept_address);
        let files = std::fs::read_dir(data.join("catalogs")).into_iter().flatten().filter_map(Result::ok);
        let is_meant = |path: &PathBuf| {
            path.to_str().is_some_and(|path| path.ends_with(".policy.json"))
                && KeptPolicy::read(path).is_ok_and(|kept| {
                    kept.is_some_and(|kept| {
                        catalog == Some(&*kept.catalog) || address.as_deref() == Some(&*kept.address)
                    })
                })
        };
        let mut paths: Vec<PathBuf> = files.map(|file| file.path()).filter(is_meant).collect();
        paths.sort();
        paths
    }

    /// Reads a kept policy; `None` if there is none. An error names the file.
    pub fn read(path: &Path) -> Result<Option<KeptPolicy>, String> {
        let failed = |why: String| format!("{}: {why}", path.display());
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| failed(skillcue_base::os_message(&error)))?,
        };
        let kept: KeptPolicy = serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
        if kept.version != VERSION {
            return Err(failed(format!("its format is {}, and this program reads {VERSION}", kept.version)));
        }
        Ok(Some(kept))
    }

    /// Returns the policy that applies to a reader with these keys, as it is on disk: empty without one, and without a key
    /// that has signed it. One that cannot be read refuses everything. `origin` names the catalog to people.
    pub fn in_force(path: &Path, keys: &[String], origin: &str) -> OrgPolicy {
        match KeptPolicy::read(path) {
            // A user who withdraws a key withdraws what it signed.
            Ok(Some(kept)) if keys.iter().any(|key| kept.keys.contains(key)) => {
                OrgPolicy::parse(kept.text.as_bytes(), origin)
                    .unwrap_or_else(|error| OrgPolicy::broken(origin, &error.message))
            }
            Ok(_) => OrgPolicy::default(),
            Err(why) => OrgPolicy::broken(origin, &why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_policy_counts_with_its_key_and_closes_all_when_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let path = KeptPolicy::path(dir.path(), "acme", "s3://bucket/acme");
        let in_force = |key: &str| KeptPolicy::in_force(&path, &[key.to_owned()], "the catalog acme");
        assert!(in_force("k").is_empty());
        let kept = KeptPolicy::new(
            "acme",
            "s3://bucket/acme",
            vec!["k".to_owned()],
            "[forbid]\nskills = ['pdf']\n".to_owned(),
        );
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, serde_json::to_vec(&kept).unwrap()).unwrap();
        assert!(!in_force("k").is_empty());
        assert!(in_force("another").is_empty());
        for damage in ["", "{", "[]", "{\"version\":1}"] {
            std::fs::write(&path, damage).unwrap();
            assert!(in_force("k").summaries()[0].broken.is_some(), "{damage}");
        }
    }
}
