//! Collection: old generations go, and the blobs that no kept generation has.
//!
//! Readers: the last N generations stay, and those that were replaced less than a grace period ago; so do their blobs.
//!
//! Publishers: a collection deletes only while the head says so (a lease, by conditional write), and no publisher moves
//! such a head. As the lease changes the head's tag and a counter in it, a publisher that wrote blobs before is refused
//! when it moves the head afterwards, sees another counter, and looks for its blobs again. Blobs younger than the grace
//! period are kept besides. A collection that dies leaves a lease that ends by itself.
//!
//! The head: it is believed like by a publisher. It must be signed by a key of the catalog, if any is known, and not be older
//! than what this machine has seen. Documents of higher numbers than the head's are never deleted.
//!
//! Collections: there is one at a time. A lease has a random number by which its collection knows it; another collection is
//! refused while it lasts, and before each batch of deletes the number is compared with that in the head.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use skillcue_base::Digest;

use crate::budget::UnpackBudget;
use crate::document::{DOCUMENT_DIGITS, Document, ShardRef, document_path, read_entries};
use crate::head::{CollectionLease, HEAD, seconds};
use crate::limits::{CLOCK_SKEW, CONCURRENT, MAX_COLLECTION, MAX_DOCUMENT, MAX_HEAD, MAX_SHARD, MIN_GRACE};
use crate::memory::{BaseCheck, SeenFile};
use crate::store::{WriteOutcome, blob_path};
use crate::{BlobRef, CatalogHead, FleetEngine, FleetError, PublicKey, Store};

/// How a collection works.
#[derive(Debug, Clone)]
pub struct GcOptions {
    /// How many generations are kept.
    pub keep: usize,
    /// How long a generation is kept after it was replaced, and a blob after it was written.
    pub grace: Duration,
    /// Whether nothing is deleted, only counted.
    pub dry_run: bool,
    /// Whether a grace period shorter than [`MIN_GRACE`] is meant: for a store that no other process uses.
    pub alone: bool,
    /// The keys of the catalog, one of which must have signed the head; any head will do without.
    pub keys: Vec<PublicKey>,
    /// The name that the catalog must have.
    pub name: Option<String>,
    /// The address of the catalog as readers have configured it, by which they remember; that of the store without.
    pub url: Option<String>,
    /// The directory that remembers which generation this machine has seen last, as a publisher and as a reader: beside an
    /// older head, nothing is deleted. Without a directory, nothing is remembered.
    pub data: Option<PathBuf>,
}

impl Default for GcOptions {
    fn default() -> GcOptions {
        GcOptions {
            keep: 10,
            grace: Duration::from_hours(7 * 24),
            dry_run: false,
            alone: false,
            keys: Vec::new(),
            name: None,
            url: None,
            data: None,
        }
    }
}

/// The outcome of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CatalogGcReport {
    /// How many generations are kept.
    pub kept: usize,
    /// How many documents of generations went.
    pub generations: usize,
    /// How many blobs went.
    pub blobs: usize,
    /// How many bytes these had.
    pub bytes: u64,
}

/// Deletes generations and blobs that none needs. Not to be called inside an async runtime.
pub fn gc(engine: &FleetEngine, store: &Store, options: &GcOptions) -> Result<CatalogGcReport, FleetError> {
    if options.grace < MIN_GRACE && !options.alone {
        return Err(FleetError::Grace { minutes: MIN_GRACE.as_secs() / 60 });
    }
    engine.wait(async {
        if options.dry_run {
            let (head, _) = read_head(store).await?;
            check_head(store, &head, options)?;
            return collect(store, &head, options, None).await;
        }
        let (head, lease) = begin(store, options).await?;
        let report = collect(store, &head, options, Some(lease)).await;
        let ended = end(store, lease).await;
        let report = report?;
        ended.map(|()| report)
    })
}

async fn read_head(store: &Store) -> Result<(CatalogHead, Option<String>), FleetError> {
    let fetched = store.get(HEAD, MAX_HEAD).await?;
    Ok((CatalogHead::read(&fetched.bytes)?, fetched.tag))
}

/// Checks that the head is the one to collect by: all that it does not need may go. A head that a store has put back, or that
/// another key has signed, would make the newest generations into old ones.
fn check_head(store: &Store, head: &CatalogHead, options: &GcOptions) -> Result<(), FleetError> {
    head.check_signers(&options.keys)?;
    let name = options.name.as_ref().unwrap_or(&head.signed().catalog);
    let url = options.url.as_deref().unwrap_or(store.address());
    let memories = options
        .data
        .iter()
        .flat_map(|data| [SeenFile::of_publisher(data, store.address()), SeenFile::of_reader(data, name, url)]);
    for seen in memories.map(Some).chain([None]) {
        // One that has expired is still the newest.
        let base = BaseCheck { seen, name: options.name.clone(), accepts_expired: true, ..BaseCheck::default() };
        base.check(Some(head), SystemTime::now())?;
    }
    Ok(())
}

/// Marks the head: nothing is published until the collection has ended, and no other collection begins.
async fn begin(store: &Store, options: &GcOptions) -> Result<(CatalogHead, CollectionLease), FleetError> {
    let owner = getrandom::u64().map_err(|error| FleetError::Threads(error.to_string()))?;
    let lease = CollectionLease { until: seconds(SystemTime::now() + MAX_COLLECTION), owner };
    let changed = change(store, |head| {
        check_head(store, head, options)?;
        let now = SystemTime::now();
        if let Some(left) = head.collection_left(now) {
            return Err(FleetError::Collecting(skillcue_base::rfc3339_seconds(now + left)));
        }
        head.collecting = Some(lease);
        // Only that it is another number counts. It is not signed, so that it may be the largest there is.
        head.collected = head.collected.wrapping_add(1);
        Ok(())
    });
    Ok((changed.await?, lease))
}

/// Ends the collection, unless its lease has gone to another one.
async fn end(store: &Store, lease: CollectionLease) -> Result<(), FleetError> {
    let ended = change(store, |head| {
        if head.collecting != Some(lease) {
            return Err(FleetError::LeaseLost);
        }
        head.collecting = None;
        Ok(())
    });
    ended.await.map(drop)
}

/// Checks that the lease is still this collection's, and has time left.
async fn check_lease(store: &Store, lease: CollectionLease) -> Result<(), FleetError> {
    if seconds(SystemTime::now() + CLOCK_SKEW) > lease.until {
        return Err(FleetError::Slow { what: "a collection".to_owned(), seconds: MAX_COLLECTION.as_secs() });
    }
    let (head, _) = read_head(store).await?;
    if head.collecting == Some(lease) { Ok(()) } else { Err(FleetError::LeaseLost) }
}

/// Changes what is not signed in the head, unless `edit` refuses.
async fn change(
    store: &Store,
    edit: impl Fn(&mut CatalogHead) -> Result<(), FleetError>,
) -> Result<CatalogHead, FleetError> {
    for attempt in 0..crate::limits::MAX_ATTEMPTS {
        let (mut head, tag) = read_head(store).await?;
        edit(&mut head)?;
        if store.replace(HEAD, head.write()?, tag.as_deref()).await? == WriteOutcome::Written {
            return Ok(head);
        }
        tokio::time::sleep(crate::publish::pause(attempt, Duration::from_millis(20))).await;
    }
    Err(FleetError::Contended(crate::limits::MAX_ATTEMPTS))
}

async fn collect(
    store: &Store,
    head: &CatalogHead,
    options: &GcOptions,
    lease: Option<CollectionLease>,
) -> Result<CatalogGcReport, FleetError> {
    let now = SystemTime::now();
    let mut found: Vec<(u64, String, SystemTime)> = Vec::new();
    store
        .list("catalog", |path, object| {
            let number = path.rsplit('/').next().and_then(|name| name.split('-').next()?.parse().ok());
            if let Some(number) = number {
                found.push((number, path.to_owned(), object.last_modified.into()));
            }
        })
        .await?;
    let signed = head.signed();
    let current = document_path(signed.sequence, &signed.document);
    if !found.iter().any(|(_, path, _)| *path == current) {
        return Err(FleetError::Missing(current));
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    // A publisher that was refused, or ended early, leaves a document of the next number, and of no higher one.
    if let Some((newest, ..)) = found.first().filter(|(newest, ..)| newest.checked_sub(1) > Some(signed.sequence)) {
        return Err(FleetError::NewerDocuments { offered: signed.sequence, newest: *newest });
    }
    // A generation was replaced when the next one was written. Several documents of one number are those of publishers
    // that raced: all but one were never current, and all are kept as long.
    let is_young = |when: SystemTime| now.duration_since(when).map_or(true, |age| age < options.grace);
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    let numbers = found.iter().map(|(number, ..)| *number).filter(|number| *number <= signed.sequence);
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.dedup();
    for (number, path, written) in found {
        let place = numbers.iter().position(|other| *other == number);
        let next = place.and_then(|place| numbers.get(place.checked_sub(1)?));
        let is_kept = path == current
            // It may be the newest generation, if the head was put back: then no memory of this machine says so.
            || number > signed.sequence
            || place.is_some_and(|place| place < options.keep.max(1))
            || is_young(written)
            || next.is_some_and(|next| kept_since(&kept, *next, &is_young));
        if is_kept { kept.push((number, path, written)) } else { gone.push(path) }
    }
    let mut named = NamedBlobs::default();
    for (number, path, _) in &kept {
        if *path == current {
            named.add_generation(store, path, Some(&signed.document)).await?;
            continue;
        }
        // All that it may need would have to stay, which no other object says: nothing is deleted beside it.
        named.add_generation(store, path, None).await.map_err(|error| match error {
            error if error.is_refusal() => {
                FleetError::DamagedGeneration { generation: *number, path: path.clone(), why: error.to_string() }
            }
            error => error,
        })?;
    }
    let mut blobs: Vec<(String, u64)> = Vec::new();
    store
        .list("blobs", |path, object| {
            if !named.paths.contains(path) && !is_young(object.last_modified.into()) {
                blobs.push((path.to_owned(), object.size));
            }
        })
        .await?;
    let report = CatalogGcReport {
        kept: kept.len(),
        generations: gone.len(),
        blobs: blobs.len(),
        bytes: blobs.iter().map(|(_, size)| size).sum(),
    };
    let Some(lease) = lease else { return Ok(report) };
    // Documents first: a document whose blobs are gone must not be found.
    let doomed: Vec<String> = gone.into_iter().chain(blobs.into_iter().map(|(path, _)| path)).collect();
    for batch in doomed.chunks(CONCURRENT * 8) {
        check_lease(store, lease).await?;
        let deletes = batch.iter().map(|path| store.delete(path));
        stream::iter(deletes).buffer_unordered(CONCURRENT).try_for_each(|()| async { Ok(()) }).await?;
    }
    Ok(report)
}

/// Returns whether the generation with a number was written less than the grace period ago.
fn kept_since(kept: &[(u64, String, SystemTime)], number: u64, is_young: &impl Fn(SystemTime) -> bool) -> bool {
    kept.iter().filter(|(other, ..)| *other == number).any(|(_, _, written)| is_young(*written))
}

/// The places of all blobs that the kept generations name.
#[derive(Debug, Default)]
struct NamedBlobs {
    paths: HashSet<String>,
    /// The entries of shards that were read. Generations share most of their shards, and each is read once.
    read: HashSet<Digest>,
}

impl NamedBlobs {
    /// Adds the blobs of one generation.
    ///
    /// The current generation is whole. Any other may be what a publisher left whose blobs a collection took before it was
    /// refused: its document came late and was never current. Of such a one, whatever is still there stays.
    async fn add_generation(&mut self, store: &Store, path: &str, current: Option<&BlobRef>) -> Result<(), FleetError> {
        let is_current = current.is_some();
        let bytes = match store.get(path, MAX_DOCUMENT).await {
            Err(FleetError::Missing(_)) if !is_current => return Ok(()),
            fetched => fetched?.bytes,
        };
        match current {
            Some(document) => document.check(path, &bytes)?,
            // Of the others, only the beginning of the digest is known. One that differs may name other blobs.
            None => check_beginning(path, &bytes)?,
        }
        let document = Document::read(&bytes)?;
        for blob in document.blobs() {
            self.paths.insert(blob_path(&blob.digest));
        }
        // Entries alone, and none is kept: the terms of bodies name no blobs.
        let budget = UnpackBudget::of_generation(true);
        let read = |shard: ShardRef| {
            let budget = &budget;
            async move {
                let entries = match store.blob(&shard.entries, MAX_SHARD).await {
                    Err(FleetError::Missing(_)) if !is_current => return Ok(None),
                    bytes => read_entries(&bytes?, shard.skills, budget)?.entries,
                };
                Ok::<_, FleetError>(Some((shard.entries.digest, entries)))
            }
        };
        let new = document.shards.into_iter().flatten().filter(|shard| !self.read.contains(&shard.entries.digest));
        let new: Vec<ShardRef> = new.collect();
        let mut shards = stream::iter(new.into_iter().map(read)).buffer_unordered(CONCURRENT);
        while let Some(shard) = shards.next().await {
            let Some((digest, entries)) = shard? else { continue };
            for file in entries.iter().flat_map(|entry| entry.files.iter().flatten()) {
                if let Some(Ok(digest)) = file.digest.strip_prefix("sha256:").map(str::parse) {
                    self.paths.insert(blob_path(&digest));
                }
            }
            self.read.insert(digest);
        }
        Ok(())
    }
}

/// Checks that a document is the one whose digest begins as its path says.
fn check_beginning(path: &str, bytes: &[u8]) -> Result<(), FleetError> {
    let digest = Digest::of(bytes).to_string();
    let (_, said) = path.rsplit_once('-').unwrap_or_default();
    if said.len() == DOCUMENT_DIGITS && digest.starts_with(said) {
        return Ok(());
    }
    Err(FleetError::Altered { what: "it".to_owned(), why: format!("its digest is {digest}") })
}
