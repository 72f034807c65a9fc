//! A server's last listing, in memory and on disk.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use skillcue::remote::RemoteEntry;
use skillcue_base::Shown;

use super::cache::{self, CacheStamp, ServerCache};
use super::entry;

/// The file that it is kept in.
const FILE: &str = "listing.json";
/// The version of the files' format.
const VERSION: u32 = 1;
/// How long a listing counts as fresh if the server does not say.
const DEFAULT_TTL: Duration = Duration::from_mins(5);
/// How long a listing counts as fresh at least. A server may say zero; commands that follow one another would then ask
/// each time.
const MIN_TTL: Duration = Duration::from_secs(5);
/// How long a listing counts as fresh at most: a server may say for ever.
const MAX_TTL: Duration = Duration::from_hours(24);
/// How long a server that failed is not asked again.
pub(crate) const FAILURE_TTL: Duration = Duration::from_mins(1);
/// How many diagnostics of one listing are kept.
const MAX_DIAGNOSTICS: usize = 100;

/// The skills of one server, as it last listed them.
#[derive(Debug, Clone)]
pub(crate) struct ServerListing {
    pub(crate) entries: Arc<[Arc<RemoteEntry>]>,
    /// Its problems, in words.
    pub(crate) diagnostics: Vec<String>,
    /// When it was fetched. None if it never was.
    pub(crate) fetched: Option<SystemTime>,
    pub(crate) ttl: Duration,
}

impl Default for ServerListing {
    fn default() -> ServerListing {
        ServerListing { entries: Arc::from([]), diagnostics: Vec::new(), fetched: None, ttl: DEFAULT_TTL }
    }
}

/// Why a server could not be asked, and when that was.
#[derive(Debug, Clone)]
pub(crate) struct ServerFailure {
    pub(crate) message: String,
    pub(crate) when: SystemTime,
}

/// A listing that is being read page by page.
#[derive(Debug, Default)]
pub(crate) struct ListingBuilder {
    entries: Vec<Arc<RemoteEntry>>,
    uris: HashSet<String>,
    diagnostics: Vec<String>,
    left_out: usize,
}

impl ListingBuilder {
    /// Adds one entry, if it is valid.
    pub(crate) fn add(&mut self, value: &Value) {
        let uri = value.get("uri").and_then(Value::as_str).unwrap_or("an entry without a URI");
        match entry::read(value) {
            Err(problem) => self.add_problem(&format!("{}: left out: {}", Shown(uri), Shown(&problem))),
            Ok(entry) if !self.uris.insert(entry.uri.clone()) => {
                self.add_problem(&format!("{}: listed twice; the first is kept", Shown(uri)));
            }
            Ok(entry) => self.entries.push(Arc::new(entry)),
        }
    }

    pub(crate) fn add_problem(&mut self, problem: &str) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(problem.to_owned());
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the listing of all entries that were added.
    pub(crate) fn finish(mut self, ttl_ms: Option<u64>, now: SystemTime) -> ServerListing {
        if self.left_out > 0 {
            self.diagnostics.push(format!("and {} more", self.left_out));
        }
        let ttl = ttl_ms.map_or(DEFAULT_TTL, Duration::from_millis).clamp(MIN_TTL, MAX_TTL);
        ServerListing { entries: self.entries.into(), diagnostics: self.diagnostics, fetched: Some(now), ttl }
    }
}

impl ServerListing {
    /// Returns whether it is older than its time to live.
    pub(crate) fn is_stale(&self, now: SystemTime) -> bool {
        // A clock that was set back makes a listing stale, too.
        self.fetched.is_none_or(|fetched| now.duration_since(fetched).map_or(true, |age| age >= self.ttl))
    }

    pub(crate) fn entry(&self, uri: &str) -> Option<&Arc<RemoteEntry>> {
        self.entries.iter().find(|entry| entry.uri == uri)
    }

    /// Returns this listing with an entry in the place of the one with its URI, or at the end.
    #[must_use]
    pub(crate) fn with(&self, entry: Arc<RemoteEntry>) -> ServerListing {
        let mut entries = self.entries.to_vec();
        match entries.iter_mut().find(|known| known.uri == entry.uri) {
            Some(known) => *known = entry,
            None => entries.push(entry),
        }
        ServerListing { entries: entries.into(), ..self.clone() }
    }

    /// Returns whether it was fetched after another one, or at the same time. To the millisecond, as the file has it.
    pub(crate) fn is_as_new_as(&self, other: &ServerListing) -> bool {
        self.fetched.map(millis) >= other.fetched.map(millis)
    }

    /// Returns the stamp of the listing's file. None if there is none.
    pub(crate) fn stamp(cache: &ServerCache) -> Option<CacheStamp> {
        std::fs::metadata(cache.path(FILE)).ok().as_ref().map(cache::stamp)
    }

    /// Reads the stored listing, if it is there, valid and this server's.
    pub(crate) fn load(cache: &ServerCache, identity: &str) -> Option<ServerListing> {
        let bytes = std::fs::read(cache.path(FILE)).ok()?;
        let kept: StoredListing = serde_json::from_slice(&bytes).ok()?;
        if kept.version != VERSION || kept.identity != identity {
            return None;
        }
        // Any program may have written the file: every entry is checked as if it came from the server.
        let entries = kept.skills.iter().map(|skill| entry::read(skill).map(Arc::new)).collect::<Result<Vec<_>, _>>();
        Some(ServerListing {
            entries: entries.ok()?.into(),
            diagnostics: kept.diagnostics,
            fetched: Some(UNIX_EPOCH.checked_add(Duration::from_millis(kept.fetched_ms))?),
            ttl: Duration::from_millis(kept.ttl_ms).clamp(MIN_TTL, MAX_TTL),
        })
    }

    /// Stores it for the next start.
    pub(crate) fn save(&self, cache: &ServerCache, identity: &str) -> std::io::Result<()> {
        let Some(fetched) = self.fetched else { return Ok(()) };
        let kept = StoredListing {
            version: VERSION,
            identity: identity.to_owned(),
            fetched_ms: millis(fetched),
            ttl_ms: u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX),
            skills: self.entries.iter().map(|entry| entry::write(entry)).collect(),
            diagnostics: self.diagnostics.clone(),
        };
        cache::write(&cache.path(FILE), &serde_json::to_vec(&kept)?)
    }
}

impl ServerFailure {
    pub(crate) fn is_recent(&self, now: SystemTime) -> bool {
        now.duration_since(self.when).is_ok_and(|age| age < FAILURE_TTL)
    }

    /// Reads the stored failure.
    pub(crate) fn load(cache: &ServerCache, identity: &str) -> Option<ServerFailure> {
        let kept: StoredFailure = serde_json::from_slice(&std::fs::read(cache.path("failure.json")).ok()?).ok()?;
        if kept.version != VERSION || kept.identity != identity {
            return None;
        }
        Some(ServerFailure {
            message: kept.message,
            when: UNIX_EPOCH.checked_add(Duration::from_millis(kept.when_ms))?,
        })
    }

    /// Stores it, so that the next command does not wait for the same server again.
    pub(crate) fn save(&self, cache: &ServerCache, identity: &str) -> std::io::Result<()> {
        let kept = StoredFailure {
            version: VERSION,
            identity: identity.to_owned(),
            when_ms: millis(self.when),
            message: self.message.clone(),
        };
        cache::write(&cache.path("failure.json"), &serde_json::to_vec(&kept)?)
    }

    /// Deletes the stored failure: the server answers.
    pub(crate) fn forget(cache: &ServerCache) {
        // Best effort: it ages by itself.
        let _ = std::fs::remove_file(cache.path("failure.json"));
    }
}

fn millis(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[derive(Serialize, Deserialize)]
struct StoredListing {
    version: u32,
    identity: String,
    fetched_ms: u64,
    ttl_ms: u64,
    skills: Vec<Value>,
    diagnostics: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredFailure {
    version: u32,
    identity: String,
    when_ms: u64,
    message: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn diagnostics_are_short_whatever_the_server_sends() {
        let mut builder = ListingBuilder::default();
        let long = "x\n".repeat(50_000);
        let digest = "a".repeat(100_000);
        let front = json!({ "name": "a", "description": "b" });
        let file = json!({ "uri": "skill://a/SKILL.md", "digest": digest, "size": 1 });
        builder.add(&json!({ "uri": long, "frontmatter": front }));
        builder.add(&json!({ "uri": "skill://a/SKILL.md", "frontmatter": { "name": long, "description": "b" } }));
        builder.add(&json!({ "uri": "skill://a/SKILL.md", "frontmatter": front, "resources": [file] }));
        let uri = format!("skill://{}/SKILL.md", "b".repeat(2000));
        builder.add(&json!({ "uri": uri, "frontmatter": front }));
        let listing = builder.finish(None, SystemTime::now());
        assert_eq!(listing.diagnostics.len(), 4);
        let short = |line: &String| line.chars().count() < 1000 && !line.contains('\n');
        assert!(listing.diagnostics.iter().all(short), "{:?}", listing.diagnostics);
    }
}
