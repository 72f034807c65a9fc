//! A configured catalog.

use std::time::Duration;

use skillcue::config::{CatalogSection, CatalogTrust};

use crate::key::PublicKey;
use crate::limits::{DEFAULT_POLL, DEFAULT_TIMEOUT, MIN_POLL};
use crate::publish::checked_name;
use crate::store::StoreOptions;
use crate::{FleetError, Store};

/// A configured catalog: where it is, and who vouches for it.
#[derive(Debug, Clone)]
pub struct CatalogSpec {
    /// Its name, the namespace of its skills.
    pub name: String,
    /// Its address.
    pub url: String,
    /// The keys of its publishers.
    pub keys: Vec<PublicKey>,
    /// Who decides which skills may be loaded.
    pub trust: CatalogTrust,
    /// The place among the catalogs.
    pub precedence: u32,
    /// How often the store is asked.
    pub poll: Duration,
    /// Options of the store.
    pub store: StoreOptions,
}

impl CatalogSpec {
    /// Reads one `[[catalog]]`; `variables` are those of the environment, for credentials.
    pub fn from_config(section: &CatalogSection, variables: &[(String, String)]) -> Result<CatalogSpec, FleetError> {
        let url = section.url.clone().ok_or_else(|| FleetError::Address {
            url: String::new(),
            why: format!("[[catalog]] {:?} has no `url`", section.name),
        })?;
        crate::store::check_address(&url)?;
        let keys = section.keys.iter().map(|key| key.parse()).collect::<Result<Vec<PublicKey>, FleetError>>()?;
        let trust = section.trust.unwrap_or_default();
        if trust == CatalogTrust::Signed && keys.is_empty() {
            return Err(FleetError::Key(format!(
                "of the catalog {:?} is missing: trust = \"signed\" needs `keys`",
                section.name
            )));
        }
        let timeout = section.timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
        Ok(CatalogSpec {
            name: checked_name(&section.name)?,
            url,
            keys,
            trust,
            precedence: section.precedence.unwrap_or(0),
            poll: section.poll_s.map_or(DEFAULT_POLL, Duration::from_secs).max(MIN_POLL),
            store: StoreOptions {
                options: section.options.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
                variables: variables.to_vec(),
                timeout: Some(timeout.max(Duration::from_millis(100))),
                bandwidth: section.bandwidth.as_deref().map(str::parse).transpose()?,
                create: false,
            },
        })
    }

    /// Returns what the catalog is known by: its address, without a password.
    pub fn identity(&self) -> String {
        crate::store::shown_address(&self.url)
    }

    /// Opens its store. Nothing is asked yet.
    pub fn open(&self) -> Result<Store, FleetError> {
        Store::open(&self.url, &self.store)
    }

    /// Returns whether its skills may be loaded without asking a person: one of its keys has signed them.
    pub fn is_trusted(&self) -> bool {
        self.trust == CatalogTrust::Signed && !self.keys.is_empty()
    }
}
