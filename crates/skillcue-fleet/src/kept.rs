//! The last good generation on disk, and what was seen of the catalog so far.
//!
//! Nothing here is trusted because it is here: parts and files are compared with their digests on every read. (Unpacked
//! indexes end in a checksum, which is compared when the store is asked, and answer at worst worse.) The number of the last generation
//! ([`SeenFile`]) and the policy are in the data directory: emptying the cache must not let a store go back.
//!
//! All of it is by name and address of the catalog. A catalog of the same name at another address, such as a checkout may
//! configure, has files of its own.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use skillcue_base::binary::{KeptFile, checksum};
use skillcue_base::{Digest, ErrorInfo as _, is_draft, lock, replace_file};
use skillcue_catalog::{KeptPolicy, kept_catalog_name};
use skillcue_select::ReadAt;

use crate::head::SeenGeneration;
use crate::limits::{MAX_DOCUMENT, MAX_FILE, MAX_HEAD, MAX_INDEX, MAX_SHARD, MAX_UNUSED};
use crate::memory::SeenFile;
use crate::{BlobRef, CatalogSpec, FleetError};

/// The version of the files' format.
const VERSION: u32 = 1;
/// The size of the largest head as it is kept: in JSON, each of its bytes may take six.
const MAX_KEPT_HEAD: u64 = MAX_HEAD * 6 + (8 << 10);

/// The mark behind an unpacked index in its file, before the checksum of its bytes. The index is known by the digest of its
/// packed bytes, which says nothing about these.
const SEAL: [u8; 8] = *b"skcueix1";
/// The length of both.
const SEAL_LEN: usize = SEAL.len() + 8;

/// The size and the time of a file.
type IndexStamp = (u64, SystemTime);

/// The directories of one catalog.
#[derive(Debug, Clone)]
pub(crate) struct KeptCatalog {
    /// `<cache>/catalogs/<name>-<digits>`; none if nothing is kept.
    cache: Option<PathBuf>,
    /// The file of what was seen; none if nothing is remembered.
    seen: Option<SeenFile>,
    /// The file of the policy; none if nothing is remembered.
    policy: Option<PathBuf>,
    /// The indexes whose bytes this process has compared with their checksums.
    intact: Arc<Mutex<HashMap<PathBuf, IndexStamp>>>,
    name: String,
    url: String,
    identity: String,
}

/// The head as it was fetched.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeptHead {
    version: u32,
    identity: String,
    pub(crate) tag: Option<String>,
    /// When the store was last asked.
    pub(crate) asked_ms: u64,
    pub(crate) head: String,
}

/// Why the store could not be asked the last time, or what it sent was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptFailure {
    version: u32,
    identity: String,
    pub(crate) message: String,
    /// The next step.
    #[serde(default)]
    pub(crate) hint: Option<String>,
    pub(crate) when_ms: u64,
}

impl KeptHead {
    pub(crate) fn asked(&self) -> Option<SystemTime> {
        UNIX_EPOCH.checked_add(Duration::from_millis(self.asked_ms))
    }
}

impl KeptFailure {
    pub(crate) fn when(&self) -> Option<SystemTime> {
        UNIX_EPOCH.checked_add(Duration::from_millis(self.when_ms))
    }
}

impl KeptCatalog {
    pub(crate) fn new(cache: Option<&Path>, data: Option<&Path>, spec: &CatalogSpec) -> KeptCatalog {
        let (name, url) = (spec.name.clone(), spec.url.clone());
        KeptCatalog {
            cache: cache.map(|dir| dir.join("catalogs").join(kept_catalog_name(&name, &url))),
            seen: data.map(|dir| SeenFile::of_reader(dir, &name, &url)),
            policy: data.map(|dir| KeptPolicy::path(dir, &name, &url)),
            intact: Arc::default(),
            name,
            url,
            identity: spec.identity(),
        }
    }

    /// Reads the last good head.
    pub(crate) fn head(&self) -> Option<KeptHead> {
        let bytes = KeptFile::open(&self.cache.as_ref()?.join("head.json"), MAX_KEPT_HEAD)?.read_all()?;
        let kept: KeptHead = serde_json::from_slice(&bytes).ok()?;
        (kept.version == VERSION && kept.identity == self.identity).then_some(kept)
    }

    /// Keeps a head, once everything that it names is kept.
    pub(crate) fn keep_head(&self, tag: Option<String>, head: String, now: SystemTime) -> KeptHead {
        let kept = KeptHead { version: VERSION, identity: self.identity.clone(), tag, asked_ms: millis(now), head };
        keep_json(self.cache.as_ref().map(|dir| dir.join("head.json")), &kept);
        kept
    }

    /// Reads what was seen; `None` if nothing was, or nothing is remembered.
    pub(crate) fn seen(&self) -> Result<Option<SeenGeneration>, FleetError> {
        self.seen.as_ref().map_or(Ok(None), SeenFile::read)
    }

    /// Keeps what was seen, unless another process has seen a newer one.
    pub(crate) fn keep_seen(&self, seen: SeenGeneration) -> Result<(), FleetError> {
        self.seen.as_ref().map_or(Ok(()), |file| file.keep(&self.name, seen))
    }

    /// Returns the file of the policy; `None` if there is no directory for what must outlive the cache.
    pub(crate) fn policy_file(&self) -> Option<&Path> {
        self.policy.as_deref()
    }

    /// Reads the kept policy; an error if there is one that cannot be read.
    pub(crate) fn policy(&self) -> Result<Option<KeptPolicy>, String> {
        self.policy.as_deref().map_or(Ok(None), KeptPolicy::read)
    }

    /// Keeps the policy of a generation before that is kept itself, or forgets that this catalog had one.
    pub(crate) fn keep_policy(&self, policy: Option<(String, Vec<String>)>) -> Result<(), FleetError> {
        let Some(path) = &self.policy else { return Ok(()) };
        let failed = |error: io::Error| crate::key::file_error(path, &error);
        let Some((text, keys)) = policy else {
            // On a file system that cannot be written, removing fails, also where there is nothing.
            if matches!(path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound) {
                return Ok(());
            }
            return match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        };
        let kept = KeptPolicy::new(&self.name, &self.url, keys, text);
        if self.policy().as_ref() == Ok(&Some(kept.clone())) {
            return Ok(());
        }
        let bytes = serde_json::to_vec(&kept).map_err(|error| failed(io::Error::other(error)))?;
        write(path, &bytes).map_err(failed)
    }

    pub(crate) fn failure(&self) -> Option<KeptFailure> {
        let kept: KeptFailure =
            serde_json::from_slice(&std::fs::read(self.cache.as_ref()?.join("failure.json")).ok()?).ok()?;
        (kept.version == VERSION && kept.identity == self.identity).then_some(kept)
    }

    pub(crate) fn keep_failure(&self, error: &FleetError, now: SystemTime) -> KeptFailure {
        let kept = KeptFailure {
            version: VERSION,
            identity: self.identity.clone(),
            message: error.to_string(),
            hint: error.hint().map(Cow::into_owned),
            when_ms: millis(now),
        };
        keep_json(self.cache.as_ref().map(|dir| dir.join("failure.json")), &kept);
        kept
    }

    pub(crate) fn forget_failure(&self) {
        if let Some(dir) = &self.cache {
            // Best effort: it ages by itself.
            let _ = std::fs::remove_file(dir.join("failure.json"));
        }
    }

    fn part(&self, digest: &Digest) -> Option<PathBuf> {
        Some(self.cache.as_ref()?.join("parts").join(digest.to_string()))
    }

    /// Reads a document or a shard, if it is there as it should be.
    pub(crate) fn get_part(&self, blob: &BlobRef) -> Option<Vec<u8>> {
        let bytes = KeptFile::open(&self.part(&blob.digest)?, MAX_SHARD.max(MAX_DOCUMENT))?.read_all()?;
        blob.check("a kept part", &bytes).ok().map(|()| bytes)
    }

    /// Returns whether a part is there, without reading it.
    pub(crate) fn has_part(&self, blob: &BlobRef) -> bool {
        self.part(&blob.digest).is_some_and(|path| path.is_file())
    }

    pub(crate) fn put_part(&self, blob: &BlobRef, bytes: &[u8]) {
        if let Some(path) = self.part(&blob.digest)
            && let Err(error) = write(&path, bytes)
        {
            tracing::debug!(target: "skillcue::fleet", "{}: {error}", path.display());
        }
    }

    fn index(&self, blob: &BlobRef) -> Option<PathBuf> {
        Some(self.cache.as_ref()?.join("index").join(blob.digest.to_string()))
    }

    /// Returns a reader of an unpacked index, and its size. Only its end is looked at: an index that was cut short is
    /// discarded, so that it is fetched again.
    pub(crate) fn read_index(&self, blob: &BlobRef) -> Option<(ReadAt, usize)> {
        let path = self.index(blob)?;
        let file = KeptFile::open(&path, MAX_INDEX + SEAL_LEN as u64)?;
        let Some((size, _)) = sealed(&file) else {
            // Best effort: it is looked at again when the store is asked.
            let _ = std::fs::remove_file(path);
            return None;
        };
        let size = usize::try_from(size).ok()?;
        Some((Arc::new(move |offset, length| file.read(offset, length)), size))
    }

    /// Returns whether an index is there with the bytes that were written. They are read for it, unless this process has
    /// done so since the file was written.
    pub(crate) fn has_index(&self, blob: &BlobRef) -> bool {
        let Some(path) = self.index(blob) else { return false };
        let Ok(stamp) = path.metadata().and_then(|found| Ok((found.len(), found.modified()?))) else { return false };
        if lock(&self.intact).get(&path) == Some(&stamp) {
            return true;
        }
        let is_intact = KeptFile::open(&path, MAX_INDEX + SEAL_LEN as u64).is_some_and(|file| {
            let raw = |size: u64| file.read(0, usize::try_from(size).ok()?);
            sealed(&file).is_some_and(|(size, sum)| raw(size).is_some_and(|raw| checksum(&raw) == sum))
        });
        if is_intact {
            lock(&self.intact).insert(path, stamp);
        }
        is_intact
    }

    /// Returns whether indexes can be kept at all.
    pub(crate) fn keeps(&self) -> bool {
        self.cache.is_some()
    }

    pub(crate) fn put_index(&self, blob: &BlobRef, raw: &[u8]) -> Result<(), FleetError> {
        let Some(path) = self.index(blob) else { return Ok(()) };
        let sum = checksum(raw).to_le_bytes();
        write_parts(&path, &[raw, &SEAL, &sum]).map_err(|error| crate::key::file_error(&path, &error))
    }

    /// Deletes the indexes over texts that programs have made beside the caches of catalogs. One that was made while an index of
    /// a catalog was missing has no bodies of its skills, and would be taken as complete.
    pub(crate) fn discard_made_indexes(&self) {
        let Some(cache) = self.cache.as_deref().and_then(|dir| dir.parent()?.parent()) else { return };
        for entry in std::fs::read_dir(cache).into_iter().flatten().filter_map(Result::ok) {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with("texts-")) {
                // Best effort: it goes when a skill changes.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    fn file(&self, digits: &str) -> Option<PathBuf> {
        Some(self.cache.as_ref()?.join("files").join(digits))
    }

    /// Returns the bytes of a skill's file, as the disk has them: check them.
    pub(crate) fn get_file(&self, digits: &str) -> Option<Vec<u8>> {
        KeptFile::open(&self.file(digits)?, MAX_FILE + 1)?.read_all()
    }

    pub(crate) fn put_file(&self, digits: &str, bytes: &[u8]) {
        if let Some(path) = self.file(digits)
            && let Err(error) = write(&path, bytes)
        {
            tracing::debug!(target: "skillcue::fleet", "{}: {error}", path.display());
        }
    }

    pub(crate) fn discard_file(&self, digits: &str) {
        if let Some(path) = self.file(digits) {
            // Best effort: a file that cannot be removed fails its check again.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Deletes what the current generation does not name. Another process may still read the one before: it fetches
    /// again what it misses.
    pub(crate) fn sweep(&self, parts: &HashSet<String>, indexes: &HashSet<String>, files: &HashSet<&str>) {
        let Some(cache) = &self.cache else { return };
        let sweep = |below: &str, is_named: &dyn Fn(&str) -> bool| {
            for entry in std::fs::read_dir(cache.join(below)).into_iter().flatten().filter_map(Result::ok) {
                let name = entry.file_name();
                if name.to_str().is_some_and(|name| !is_named(name) && !is_draft(name)) {
                    // Best effort: it is tried again with the next generation.
                    let _ = std::fs::remove_file(entry.path());
                }
            }
        };
        sweep("parts", &|name| parts.contains(name));
        sweep("index", &|name| indexes.contains(name));
        sweep("files", &|name| files.contains(name));
    }
}

/// Deletes what is kept of catalogs that are not configured here and were not used for long. Another configuration, such as
/// another project's, may have them.
pub(crate) fn prune(cache: &Path, is_configured: impl Fn(&str) -> bool, now: SystemTime) {
    for entry in std::fs::read_dir(cache.join("catalogs")).into_iter().flatten().filter_map(Result::ok) {
        // Every answer of the store writes the head anew.
        let used = entry.path().join("head.json").metadata().or_else(|_| entry.metadata());
        let age = used.and_then(|used| used.modified()).ok().and_then(|used| now.duration_since(used).ok());
        let is_old = age.is_some_and(|age| age > MAX_UNUSED);
        if is_old && entry.file_name().to_str().is_some_and(|name| !is_configured(name)) {
            // Best effort: it is tried again.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Writes a file as a whole, readable by its owner alone, as are the directories that are made for it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_parts(path, &[bytes])
}

fn write_parts(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    replace_file(path, parts.iter().copied())
}

/// Returns the size of an index and the checksum of its bytes, as its end says.
fn sealed(file: &KeptFile) -> Option<(u64, u64)> {
    let size = file.size().checked_sub(SEAL_LEN as u64)?;
    let end = file.read(size, SEAL_LEN)?;
    let sum = end.strip_prefix(&SEAL)?;
    Some((size, skillcue_base::binary::Reader::new(sum).u64()?))
}

pub(crate) fn millis(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn keep_json(path: Option<PathBuf>, value: &impl Serialize) {
    let Some(path) = path else { return };
    let kept = serde_json::to_vec(value).map_err(io::Error::other).and_then(|bytes| write(&path, &bytes));
    if let Err(error) = kept {
        tracing::debug!(target: "skillcue::fleet", "{}: {error}", path.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a mounted directory in which nothing can be removed, not even by root, if this machine has one.
    fn read_only_dir() -> Option<PathBuf> {
        let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
        let dirs = mounts.lines().filter_map(|line| line.split(' ').nth(1)).map(PathBuf::from);
        let is_read_only = |dir: &PathBuf| {
            dir.is_dir()
                && std::fs::remove_file(dir.join("skillcue-none"))
                    .is_err_and(|error| error.kind() == io::ErrorKind::ReadOnlyFilesystem)
        };
        dirs.into_iter().find(is_read_only)
    }

    #[test]
    fn a_catalog_without_a_policy_removes_nothing_from_a_read_only_home() {
        let kept = |policy: PathBuf| KeptCatalog {
            cache: None,
            seen: None,
            policy: Some(policy),
            intact: Arc::default(),
            name: "acme".to_owned(),
            url: "s3://bucket/acme".to_owned(),
            identity: "s3://bucket/acme".to_owned(),
        };
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("acme.policy.json");
        std::fs::write(&file, "{}").unwrap();
        for _ in 0..2 {
            assert_eq!(kept(file.clone()).keep_policy(None), Ok(()));
            assert!(!file.exists());
        }
        if let Some(dir) = read_only_dir() {
            assert_eq!(kept(dir.join("acme.policy.json")).keep_policy(None), Ok(()), "{}", dir.display());
        }
    }
}
