//! What a server last listed, in memory and on disk.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use skillcue::remote::RemoteEntry;
use skillcue_base::Shown;

use super::cache::{self, ServerCache, Stamp};
use super::entry;

/// Where it is kept.
const FILE: &str = "listing.json";
/// The version of the files' format.
const VERSION: u32 = 1;
/// For how long a listing counts as fresh if the server does not say.
const USUAL_TTL: Duration = Duration::from_mins(5);
/// A server may say zero; commands that follow one another would then ask each time.
const MIN_TTL: Duration = Duration::from_secs(5);
/// And it may say for ever.
const MAX_TTL: Duration = Duration::from_hours(24);
/// For how long a server that failed is left alone.
pub(crate) const FAILURE_TTL: Duration = Duration::from_mins(1);
/// Most diagnostics that are kept of one listing.
const MAX_DIAGNOSTICS: usize = 100;

/// The skills of one server, as it last listed them.
#[derive(Debug, Clone)]
pub(crate) struct Listing {
    pub(crate) entries: Arc<[Arc<RemoteEntry>]>,
    /// What was wrong with it, in words.
    pub(crate) diagnostics: Vec<String>,
    /// When it was fetched. None if it never was.
    pub(crate) fetched: Option<SystemTime>,
    pub(crate) ttl: Duration,
}

impl Default for Listing {
    fn default() -> Listing {
        Listing { entries: Arc::from([]), diagnostics: Vec::new(), fetched: None, ttl: USUAL_TTL }
    }
}

/// Why a server could not be asked, and when that was.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) when: SystemTime,
}

/// A listing while its pages come in.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    entries: Vec<Arc<RemoteEntry>>,
    uris: HashSet<String>,
    diagnostics: Vec<String>,
    left_out: usize,
}

impl Gathering {
    /// Takes one entry, if it is sound.
    pub(crate) fn take(&mut self, value: &Value) {
        let uri = value.get("uri").and_then(Value::as_str).unwrap_or("an entry without a URI");
        match entry::read(value) {
            Err(problem) => self.say(&format!("{}: left out: {}", Shown(uri), Shown(&problem))),
            Ok(entry) if !self.uris.insert(entry.uri.clone()) => {
                self.say(&format!("{}: listed twice; the first is kept", Shown(uri)));
            }
            Ok(entry) => self.entries.push(Arc::new(entry)),
        }
    }

    pub(crate) fn say(&mut self, problem: &str) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(problem.to_owned());
        } else {
            self.left_out += 1;
        }
    }

    /// Every skill has been taken.
    pub(crate) fn finish(mut self, ttl_ms: Option<u64>, now: SystemTime) -> Listing {
        if self.left_out > 0 {
            self.diagnostics.push(format!("and {} more", self.left_out));
        }
        let ttl = ttl_ms.map_or(USUAL_TTL, Duration::from_millis).clamp(MIN_TTL, MAX_TTL);
        Listing { entries: self.entries.into(), diagnostics: self.diagnostics, fetched: Some(now), ttl }
    }
}

impl Listing {
    /// Whether it is older than its server wants.
    pub(crate) fn is_stale(&self, now: SystemTime) -> bool {
        // A clock that was set back makes a listing stale, too.
        self.fetched.is_none_or(|fetched| now.duration_since(fetched).map_or(true, |age| age >= self.ttl))
    }

    pub(crate) fn entry(&self, uri: &str) -> Option<&Arc<RemoteEntry>> {
        self.entries.iter().find(|entry| entry.uri == uri)
    }

    /// The same with an entry in the place of the one with its URI, or at the end.
    #[must_use]
    pub(crate) fn with(&self, entry: Arc<RemoteEntry>) -> Listing {
        let mut entries = self.entries.to_vec();
        match entries.iter_mut().find(|known| known.uri == entry.uri) {
            Some(known) => *known = entry,
            None => entries.push(entry),
        }
        Listing { entries: entries.into(), ..self.clone() }
    }

    /// Whether it was fetched after another one, or at the same time. To the millisecond, as the file has it.
    pub(crate) fn is_as_new_as(&self, other: &Listing) -> bool {
        self.fetched.map(millis) >= other.fetched.map(millis)
    }

    /// What tells one state of the file from another. None if there is none.
    pub(crate) fn stamp(cache: &ServerCache) -> Option<Stamp> {
        std::fs::metadata(cache.path(FILE)).ok().as_ref().map(cache::stamp)
    }

    /// Reads what was kept, if it is there, sound and this server's.
    pub(crate) fn load(cache: &ServerCache, identity: &str) -> Option<Listing> {
        let bytes = std::fs::read(cache.path(FILE)).ok()?;
        let kept: Kept = serde_json::from_slice(&bytes).ok()?;
        if kept.version != VERSION || kept.identity != identity {
            return None;
        }
        // The file may have been written by anybody: every entry is checked as if it came from the server.
        let entries = kept.skills.iter().map(|skill| entry::read(skill).map(Arc::new)).collect::<Result<Vec<_>, _>>();
        Some(Listing {
            entries: entries.ok()?.into(),
            diagnostics: kept.diagnostics,
            fetched: Some(UNIX_EPOCH.checked_add(Duration::from_millis(kept.fetched_ms))?),
            ttl: Duration::from_millis(kept.ttl_ms).clamp(MIN_TTL, MAX_TTL),
        })
    }

    /// Keeps it for the next start.
    pub(crate) fn save(&self, cache: &ServerCache, identity: &str) -> std::io::Result<()> {
        let Some(fetched) = self.fetched else { return Ok(()) };
        let kept = Kept {
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

impl Failure {
    pub(crate) fn is_recent(&self, now: SystemTime) -> bool {
        now.duration_since(self.when).is_ok_and(|age| age < FAILURE_TTL)
    }

    /// Reads what was kept of the last failure.
    pub(crate) fn load(cache: &ServerCache, identity: &str) -> Option<Failure> {
        let kept: KeptFailure = serde_json::from_slice(&std::fs::read(cache.path("failure.json")).ok()?).ok()?;
        if kept.version != VERSION || kept.identity != identity {
            return None;
        }
        Some(Failure { message: kept.message, when: UNIX_EPOCH.checked_add(Duration::from_millis(kept.when_ms))? })
    }

    /// Keeps it, so that the next command does not wait for the same server again.
    pub(crate) fn save(&self, cache: &ServerCache, identity: &str) -> std::io::Result<()> {
        let kept = KeptFailure {
            version: VERSION,
            identity: identity.to_owned(),
            when_ms: millis(self.when),
            message: self.message.clone(),
        };
        cache::write(&cache.path("failure.json"), &serde_json::to_vec(&kept)?)
    }

    /// Forgets it: the server answers.
    pub(crate) fn forget(cache: &ServerCache) {
        // Best effort: it ages by itself.
        let _ = std::fs::remove_file(cache.path("failure.json"));
    }
}

fn millis(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    identity: String,
    fetched_ms: u64,
    ttl_ms: u64,
    skills: Vec<Value>,
    diagnostics: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct KeptFailure {
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
        let mut gathering = Gathering::default();
        let long = "x\n".repeat(50_000);
        let digest = "a".repeat(100_000);
        let front = json!({ "name": "a", "description": "b" });
        let file = json!({ "uri": "skill://a/SKILL.md", "digest": digest, "size": 1 });
        gathering.take(&json!({ "uri": long, "frontmatter": front }));
        gathering.take(&json!({ "uri": "skill://a/SKILL.md", "frontmatter": { "name": long, "description": "b" } }));
        gathering.take(&json!({ "uri": "skill://a/SKILL.md", "frontmatter": front, "resources": [file] }));
        let uri = format!("skill://{}/SKILL.md", "b".repeat(2000));
        gathering.take(&json!({ "uri": uri, "frontmatter": front }));
        let listing = gathering.finish(None, SystemTime::now());
        assert_eq!(listing.diagnostics.len(), 4);
        let short = |line: &String| line.chars().count() < 1000 && !line.contains('\n');
        assert!(listing.diagnostics.iter().all(short), "{:?}", listing.diagnostics);
    }
}
