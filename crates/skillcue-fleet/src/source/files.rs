//! The files of a catalog's skills: from the disk or the store, verified on every read.

use std::sync::Arc;

use skillcue::remote::{RemoteEntry, RemoteError, RemoteFile};
use skillcue_base::{ErrorInfo as _, Shown};
use skillcue_mcp::host::door::{LoadPermission, check_file, clean_path};

use super::CatalogSource;
use crate::limits::MAX_FILE;
use crate::store::blob_path;
use crate::{BlobRef, FleetError};

impl CatalogSource {
    /// Reads one file of a skill that may be loaded.
    pub(super) fn read_file(&self, entry: &RemoteEntry, path: &str) -> Result<Vec<u8>, RemoteError> {
        let permission = self.permission(entry);
        if permission != LoadPermission::Allowed {
            return Err(RemoteError::NotAllowed(permission.reason().to_owned()));
        }
        let file = entry.file(path).ok_or_else(|| {
            if clean_path(path).is_none() {
                tracing::warn!(
                    name: "refused_path",
                    target: "skillcue::security",
                    catalog = self.spec.name,
                    uri = %Shown(&entry.uri),
                    "a path that leads out of the skill: {:?}",
                    Shown(path)
                );
            }
            RemoteError::NotListed(Shown(path).to_string())
        })?;
        let key = format!("{}\0{}", file.uri, file.digest);
        let (read, _) = self.reads.run(&key, || self.verified(entry, file).map(Arc::new));
        // Bytes are copied only if several callers share them.
        read.map(Arc::unwrap_or_clone)
    }

    fn verified(&self, entry: &RemoteEntry, file: &RemoteFile) -> Result<Vec<u8>, RemoteError> {
        let digits = file.digest.strip_prefix("sha256:").unwrap_or(&file.digest).to_owned();
        if let Some(bytes) = self.kept.get_file(&digits) {
            match check_file(entry, file, &bytes) {
                Ok(()) => return Ok(bytes),
                Err(problem) => {
                    self.warn(&file.uri, &format!("a kept file was altered: {problem}"));
                    self.kept.discard_file(&digits);
                }
            }
        }
        let bytes = self.fetch(file, &digits).map_err(|error| {
            // The hint about a server that cannot be reached does not help where a store has lost an object.
            let message = match error.hint().filter(|_| matches!(error, FleetError::Missing(_))) {
                Some(hint) => format!("{}: {error}: {hint}", self.spec.name),
                None => format!("{}: {error}", self.spec.name),
            };
            if !error.is_refusal() {
                return RemoteError::Unreachable(message);
            }
            self.warn(&file.uri, &error.to_string());
            RemoteError::Unverified(message)
        })?;
        if let Err(problem) = check_file(entry, file, &bytes) {
            self.warn(&file.uri, &problem);
            return Err(RemoteError::Unverified(problem));
        }
        self.kept.put_file(&digits, &bytes);
        Ok(bytes)
    }

    /// Fetches a blob, within the time limit.
    fn fetch(&self, file: &RemoteFile, digits: &str) -> Result<Vec<u8>, FleetError> {
        let invalid = |why: String| FleetError::Invalid { what: "a digest".to_owned(), why };
        let blob = BlobRef { digest: digits.parse().map_err(invalid)?, size: file.size };
        let store = self.store()?;
        let timeout = self.spec.store.timeout.unwrap_or(crate::limits::DEFAULT_TIMEOUT);
        let limit = timeout.saturating_mul(2).saturating_add(store.time_for(blob.size));
        self.engine.run(&blob_path(&blob.digest), limit, async move { store.blob(&blob, MAX_FILE).await })
    }

    /// Logs a line to the security log.
    pub(crate) fn warn(&self, uri: &str, problem: &str) {
        tracing::warn!(target: "skillcue::security", catalog = self.spec.name, uri = %Shown(uri), "{problem}");
    }
}
