//! The files of a server's skills: from the cache or the server, verified on every read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use skillcue::remote::{RemoteEntry, RemoteError, RemoteFile};
use skillcue_base::Shown;

use super::super::connection::ConnectionError;
use super::super::entry::{self, content_id};
use super::super::permission::LoadPermission;
use super::super::verify;
use super::{ConfiguredServer, not_allowed};

impl ConfiguredServer {
    /// Reads a file from the cache, verified as if it came from the server.
    pub(crate) fn cached(&self, entry: &RemoteEntry, file: &RemoteFile) -> Option<Vec<u8>> {
        let cache = self.cache.as_ref()?;
        let bytes = cache.get(entry, file)?;
        match verify::check(entry, file, &bytes) {
            Ok(()) => Some(bytes),
            Err(problem) => {
                self.warn(&file.uri, &format!("a cached file was altered: {problem}"));
                cache.discard(entry, file);
                None
            }
        }
    }

    /// Fetches a file from the server, verifies it and caches it.
    pub(crate) async fn fetch(&self, entry: &RemoteEntry, file: &RemoteFile) -> Result<Vec<u8>, RemoteError> {
        let problem = match self.read_verified(entry, file).await {
            Ok(bytes) => {
                if let Some(cache) = &self.cache {
                    self.log_failed_save("a file", cache.put(entry, file, &bytes));
                }
                return Ok(bytes);
            }
            Err(problem) => problem,
        };
        let (error, problem) = match problem {
            ReadError::Unverified(problem) => {
                self.warn(&file.uri, &problem);
                (RemoteError::Unverified(problem.clone()), problem)
            }
            ReadError::Connection(error @ ConnectionError::Refused(_)) => (self.unreachable(&error), error.to_string()),
            ReadError::Connection(error) => return Err(self.unreachable(&error)),
        };
        // The listing may simply be old. Then the server has another entry, which is not allowed yet.
        match self.get(&entry.uri).await {
            Ok(now) if content_id(&now) != content_id(entry) => {
                tracing::debug!(target: "skillcue::mcp", server = self.spec.label, "{problem}; the skill has changed");
                Err(not_allowed(LoadPermission::Changed))
            }
            _ => Err(error),
        }
    }

    /// Reads a file of a skill whose content has changed since it was allowed, as far as this host knows: it may have
    /// been allowed by another process since. The server is asked for the skill's entry now.
    pub(crate) async fn read_again(&self, entry: &RemoteEntry, path: &str) -> Result<Vec<u8>, RemoteError> {
        // Half of the time limit is for this, so that the other half is left for the file.
        match tokio::time::timeout(self.spec.timeout / 2, self.get(&entry.uri)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::debug!(target: "skillcue::mcp", server = self.spec.label, "{error}");
            }
            Err(_) => self.drop_connection().await,
        }
        let entry = self.allowed_entry(entry).map_err(not_allowed)?;
        let file = self.listed(&entry, path)?;
        match self.cached(&entry, file) {
            Some(bytes) => Ok(bytes),
            None => self.fetch(&entry, file).await,
        }
    }

    /// Returns the file of an entry at a path.
    pub(crate) fn listed<'e>(&self, entry: &'e RemoteEntry, path: &str) -> Result<&'e RemoteFile, RemoteError> {
        entry.file(path).ok_or_else(|| {
            if entry::clean(path).is_none() {
                tracing::warn!(
                    // As `SkillDir` calls it.
                    name: "refused_path",
                    target: "skillcue::security",
                    server = self.spec.label,
                    uri = %Shown(&entry.uri),
                    "a path that leads out of the skill: {:?}",
                    Shown(path)
                );
            }
            RemoteError::NotListed(Shown(path).to_string())
        })
    }

    /// Fetches one file, and checks that it is as the entry lists it.
    pub(crate) async fn read_verified(&self, entry: &RemoteEntry, file: &RemoteFile) -> Result<Vec<u8>, ReadError> {
        let answer = self.ask("resources/read", json!({ "uri": file.uri })).await.map_err(ReadError::Connection)?;
        let bytes = content(&answer, &file.uri).map_err(ReadError::Unverified)?;
        verify::check(entry, file, &bytes).map_err(ReadError::Unverified)?;
        Ok(bytes)
    }

    /// Logs a line to the security log.
    pub(crate) fn warn(&self, uri: &str, problem: &str) {
        tracing::warn!(target: "skillcue::security", server = self.spec.label, uri = %Shown(uri), "{problem}");
    }

    /// Deletes cached files that are listed no longer.
    pub(crate) fn sweep(&self) -> std::io::Result<()> {
        let listing = self.listing();
        match &self.cache {
            // Without a listing, it is unknown which are listed.
            Some(cache) if listing.fetched.is_some() => cache.sweep(&listing.entries),
            _ => Ok(()),
        }
    }
}

/// Why a file could not be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    Connection(ConnectionError),
    Unverified(String),
}

/// Returns the bytes in an answer to `resources/read`.
fn content(answer: &Value, uri: &str) -> Result<Vec<u8>, String> {
    let shown_uri = || Shown(uri).to_string();
    let contents = answer.get("contents").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let [content] = contents else {
        return Err(format!("{}: {} contents were sent instead of one", shown_uri(), contents.len()));
    };
    if content.get("uri").and_then(Value::as_str) != Some(uri) {
        return Err(format!("{}: something else was sent", shown_uri()));
    }
    match (content.get("text"), content.get("blob")) {
        (Some(Value::String(text)), None) => Ok(text.clone().into_bytes()),
        (None, Some(Value::String(blob))) => {
            STANDARD.decode(blob).map_err(|error| format!("{}: no base64 was sent: {error}", shown_uri()))
        }
        _ => Err(format!("{}: neither a text nor a blob was sent", shown_uri())),
    }
}
