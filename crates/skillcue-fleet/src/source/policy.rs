//! The policy that a catalog carries: signed with it, kept beside what was seen, and in force without any network.

use skillcue_base::lock;
use skillcue_catalog::{KeptPolicy, OrgPolicy};

use super::CatalogSource;
use crate::document::Document;
use crate::limits::MAX_POLICY;
use crate::{CatalogHead, FleetError, Store};

impl CatalogSource {
    /// Returns the policy of the last good generation; empty without one. It is read from its own small file, so that a
    /// process which needs no skills of the catalog does not read them. A policy that cannot be read closes everything.
    pub(crate) fn published_policy(&self) -> OrgPolicy {
        if let Some(policy) = &*lock(&self.unkept_policy) {
            return policy.clone();
        }
        let Some(path) = self.kept.policy_file() else { return OrgPolicy::default() };
        let keys: Vec<String> = self.spec.keys.iter().map(ToString::to_string).collect();
        KeptPolicy::in_force(path, &keys, &self.policy_origin())
    }

    fn policy_origin(&self) -> String {
        format!("the catalog {} ({})", self.spec.name, self.identity)
    }

    /// Fetches the policy of a generation. One that cannot be read refuses the generation: a reader that does not
    /// understand a rule must not work as if there were none. Without keys it does not count, as any writer of the store
    /// could have put it there.
    pub(super) async fn fetch_policy(&self, store: &Store, document: &Document) -> Result<Option<String>, FleetError> {
        let Some(blob) = document.policy.as_ref().filter(|_| !self.spec.keys.is_empty()) else { return Ok(None) };
        let bytes = match self.kept.get_part(blob) {
            Some(bytes) => bytes,
            None => store.blob(blob, MAX_POLICY).await?,
        };
        let refused = |why: String| FleetError::Policy(format!("of the catalog cannot be used: {why}"));
        OrgPolicy::parse(&bytes, &self.policy_origin()).map_err(|error| refused(error.to_string()))?;
        self.kept.put_part(blob, &bytes);
        String::from_utf8(bytes).map(Some).map_err(|error| refused(error.to_string()))
    }

    /// Keeps the policy of a generation that is current or about to be, with all keys that have signed it: one that is
    /// configured later needs no other copy.
    pub(super) fn keep_policy(&self, head: &CatalogHead, policy: Option<String>) -> Result<(), FleetError> {
        if self.kept.policy_file().is_none() {
            let origin = self.policy_origin();
            let parsed = policy.and_then(|text| OrgPolicy::parse(text.as_bytes(), &origin).ok());
            *lock(&self.unkept_policy) = Some(parsed.unwrap_or_default());
            return Ok(());
        }
        if self.spec.keys.is_empty() && matches!(self.kept.policy(), Ok(Some(_))) {
            // It applies again when its key is configured again, also before the store is asked.
            return Ok(());
        }
        self.kept.keep_policy(policy.map(|text| (text, head.fitting_signers())))
    }
}
