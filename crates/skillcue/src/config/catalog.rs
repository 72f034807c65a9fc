//! `[[catalog]]`: catalogs on object stores.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A published catalog whose skills join the others: `[[catalog]]`.
///
/// ```
/// use skillcue::config::{CatalogTrust, Config};
///
/// let text = "[[catalog]]\nname = \"acme\"\nurl = \"s3://acme-skills/prod\"\nkeys = [\"ed25519:AAAA\"]\ntrust = \"signed\"\n";
/// let catalog = &Config::parse(text).unwrap().catalog[0];
/// assert_eq!((&*catalog.name, catalog.trust), ("acme", Some(CatalogTrust::Signed)));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogSection {
    /// The catalog's name, which is the namespace of its skills: `name:skill`.
    pub name: String,
    /// Its address: `s3://`, `gs://`, `az://`, `https://` or `file://`.
    pub url: Option<String>,
    /// The public keys of its publishers. With keys, a catalog that none of them has signed is refused.
    #[serde(default)]
    pub keys: Vec<String>,
    /// Who decides which of its skills may be loaded.
    pub trust: Option<CatalogTrust>,
    /// The place among the catalogs: lower ones come first.
    pub precedence: Option<u32>,
    /// How often the store is asked for a newer generation, in seconds.
    pub poll_s: Option<u64>,
    /// The time limit for one request, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The limit for bytes a second from and to the store: a whole number and a unit, such as `5MB`. Without one, there is
    /// no limit.
    pub bandwidth: Option<String>,
    /// Options of the store that are no secrets, such as `region` and `endpoint`. Secrets are variables of the environment.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Whether it is used.
    pub enabled: Option<bool>,
}

/// Returns the catalogs that count, and those that do not, because an earlier one has their name. An earlier one counts also if
/// it is off.
pub fn catalogs_by_name(sections: &[CatalogSection]) -> (Vec<&CatalogSection>, Vec<&CatalogSection>) {
    let (mut counting, mut others): (Vec<&CatalogSection>, _) = (Vec::new(), Vec::new());
    for section in sections {
        let is_known = counting.iter().any(|known| known.name == section.name);
        if is_known { others.push(section) } else { counting.push(section) }
    }
    (counting, others)
}

/// The decision about which skills of a catalog may be loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatalogTrust {
    /// A person allows each, by its content.
    #[default]
    Ask,
    /// All that one of `keys` has signed.
    Signed,
}
