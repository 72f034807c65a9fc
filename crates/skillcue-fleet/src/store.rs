//! One place on an object store: objects below an address, each request with its limits of size and time.

mod bandwidth;
mod open;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use object_store::path::Path as ObjectPath;
use object_store::{
    Error as StoreError, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutMultipartOptions,
    PutOptions, PutPayload, UpdateVersion,
};
use skillcue_base::Digest;

use crate::limits::{CONCURRENT, DEFAULT_TIMEOUT, MIN_DOWNLOAD_RATE, MIN_UPLOAD_RATE, PART};
use crate::{BlobRef, FleetError};

use bandwidth::TokenBucket;

pub use bandwidth::Bandwidth;
pub use open::StoreOptions;
pub(crate) use open::{check_address, shown_address};

/// A store, below the address of one catalog.
///
/// Cheap to clone; clones count their requests, and share their bandwidth.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<dyn ObjectStore>,
    /// The address as people see it, without a password.
    address: Arc<str>,
    /// The directory, if the store is one: it has no conditional writes of its own.
    dir: Option<PathBuf>,
    timeout: Duration,
    /// The limit for bytes a second, if there is one.
    bucket: Option<Arc<TokenBucket>>,
    traffic: Arc<Traffic>,
}

/// How much was asked of a store.
#[derive(Debug, Default)]
struct Traffic {
    requests: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
}

/// How much was asked of a store so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrafficCount {
    /// Requests, without those that were tried again.
    pub requests: u64,
    /// Bytes of objects that were received.
    pub received: u64,
    /// Bytes of objects that were sent.
    pub sent: u64,
}

/// An object that was read.
#[derive(Debug, Clone)]
pub(crate) struct FetchedObject {
    pub(crate) bytes: Vec<u8>,
    pub(crate) tag: Option<String>,
}

/// The result of a conditional write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    Written,
    /// The object is not, or no longer, what the writer takes it for.
    Refused,
}

impl Store {
    /// Takes any store; `address` is what people see.
    pub fn new(inner: Arc<dyn ObjectStore>, address: &str) -> Store {
        Store {
            inner,
            address: address.into(),
            dir: None,
            timeout: DEFAULT_TIMEOUT,
            bucket: None,
            traffic: Arc::default(),
        }
    }

    /// Sets the time limit for one answer to begin, and for each of its parts to come. All of it may take longer by its size.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Store {
        Store { timeout, ..self }
    }

    /// Limits the bytes a second of all requests together, both ways. Clones made from now on share the limit.
    #[must_use]
    pub fn with_bandwidth(self, rate: Bandwidth) -> Store {
        Store { bucket: Some(Arc::new(TokenBucket::new(rate))), ..self }
    }

    /// Returns the limit for bytes a second, if there is one.
    pub fn bandwidth(&self) -> Option<Bandwidth> {
        self.bucket.as_ref().map(|bucket| bucket.rate())
    }

    /// Returns how long an object of this size may take by the bandwidth alone, when as many others as run at once are
    /// fetched beside it.
    pub(crate) fn time_for(&self, size: u64) -> Duration {
        let shared = size.saturating_mul(CONCURRENT as u64 + 1);
        self.bandwidth().map_or(Duration::ZERO, |rate| rate.time_for(shared))
    }

    /// Returns the address as people see it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns how much was asked of it so far.
    pub fn traffic(&self) -> TrafficCount {
        let Traffic { requests, received, sent } = &*self.traffic;
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        TrafficCount { requests: count(requests), received: count(received), sent: count(sent) }
    }

    /// Reads an object of at most `max` bytes.
    pub(crate) async fn get(&self, path: &str, max: u64) -> Result<FetchedObject, FleetError> {
        let fetched = self.get_with(path, GetOptions::default(), max).await?;
        fetched.ok_or_else(|| FleetError::Missing(path.to_owned()))
    }

    /// Reads an object unless it still has this tag.
    pub(crate) async fn get_if_changed(
        &self,
        path: &str,
        tag: Option<&str>,
        max: u64,
    ) -> Result<Option<FetchedObject>, FleetError> {
        let options = GetOptions { if_none_match: tag.map(str::to_owned), ..GetOptions::default() };
        self.get_with(path, options, max).await
    }

    async fn get_with(&self, path: &str, options: GetOptions, max: u64) -> Result<Option<FetchedObject>, FleetError> {
        let too_large = || FleetError::TooLarge { what: path.to_owned(), max };
        let location = ObjectPath::from(path);
        let result = match self.within(path, self.inner.get_opts(&location, options)).await? {
            Err(StoreError::NotModified { .. }) => return Ok(None),
            result => result.map_err(|error| failure(path, &error))?,
        };
        if result.meta.size > max {
            return Err(too_large());
        }
        let (size, tag) = (result.meta.size, result.meta.e_tag.clone());
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        let mut parts = result.into_stream();
        // A store that sends a byte a second is as good as one that is down. The time in which this side reads nothing, for the
        // sake of its bandwidth, is not the store's.
        let limit = self.download_limit(size);
        let mut left = limit;
        loop {
            let began = Instant::now();
            let slow = |_| FleetError::Slow { what: path.to_owned(), seconds: limit.as_secs() };
            let part = tokio::time::timeout(left, self.waited(path, parts.next())).await.map_err(slow)??;
            left = left.saturating_sub(began.elapsed());
            let Some(part) = part else { break };
            let part = part.map_err(|error| failure(path, &error))?;
            if bytes.len() as u64 + part.len() as u64 > max {
                return Err(too_large());
            }
            self.received(part.len() as u64).await;
            bytes.extend_from_slice(&part);
        }
        if bytes.len() as u64 != size {
            let why = format!("{} bytes were sent instead of {size}", bytes.len());
            return Err(FleetError::Altered { what: path.to_owned(), why });
        }
        Ok(Some(FetchedObject { bytes, tag }))
    }

    /// Reads a blob, and checks that it is the one that is meant.
    pub(crate) async fn blob(&self, blob: &BlobRef, max: u64) -> Result<Vec<u8>, FleetError> {
        let path = blob_path(&blob.digest);
        if blob.size > max {
            return Err(FleetError::TooLarge { what: path, max });
        }
        let bytes = self.get(&path, blob.size).await?.bytes;
        blob.check(&path, &bytes)?;
        Ok(bytes)
    }

    /// Writes a blob. Every writer of it has the same bytes, so that writing over one harms none.
    pub(crate) async fn put_blob(&self, bytes: Vec<u8>) -> Result<BlobRef, FleetError> {
        let blob = BlobRef { digest: Digest::of(&bytes), size: bytes.len() as u64 };
        let path = blob_path(&blob.digest);
        let location = ObjectPath::from(path.as_str());
        if bytes.len() <= PART {
            self.sending(blob.size).await;
            let put = self.inner.put_opts(&location, PutPayload::from(bytes), PutOptions::default());
            self.uploaded(&path, blob.size, put).await?.map_err(|error| failure(&path, &error))?;
            return Ok(blob);
        }
        let started = self.inner.put_multipart_opts(&location, PutMultipartOptions::default());
        let mut upload = self.uploaded(&path, 0, started).await?.map_err(|error| failure(&path, &error))?;
        for part in bytes.chunks(PART) {
            self.sending(part.len() as u64).await;
            let part = PutPayload::from(part.to_vec());
            let sent = self.uploaded(&path, part.content_length() as u64, upload.put_part(part)).await;
            if let Err(error) = sent.and_then(|sent| sent.map_err(|error| failure(&path, &error))) {
                // Best effort: the store forgets unfinished uploads by its own rules.
                let _ = self.waited(&path, upload.abort()).await;
                return Err(error);
            }
        }
        self.uploaded(&path, 0, upload.complete()).await?.map_err(|error| failure(&path, &error))?;
        Ok(blob)
    }

    /// Writes an object that must not be there yet.
    pub(crate) async fn create(&self, path: &str, bytes: Vec<u8>) -> Result<WriteOutcome, FleetError> {
        self.write(path, bytes, PutMode::Create).await
    }

    /// Writes an object in place of the one with this tag; without a tag, one that must not be there yet.
    pub(crate) async fn replace(
        &self,
        path: &str,
        bytes: Vec<u8>,
        tag: Option<&str>,
    ) -> Result<WriteOutcome, FleetError> {
        let Some(tag) = tag else { return self.create(path, bytes).await };
        if let Some(dir) = self.dir.clone() {
            return self.replace_file(dir, path, bytes, tag).await;
        }
        let version = UpdateVersion { e_tag: Some(tag.to_owned()), version: None };
        self.write(path, bytes, PutMode::Update(version)).await
    }

    async fn write(&self, path: &str, bytes: Vec<u8>, mode: PutMode) -> Result<WriteOutcome, FleetError> {
        let size = bytes.len() as u64;
        self.sending(size).await;
        let location = ObjectPath::from(path);
        let options = PutOptions { mode, ..PutOptions::default() };
        match self.uploaded(path, size, self.inner.put_opts(&location, PutPayload::from(bytes), options)).await? {
            Ok(_) => Ok(WriteOutcome::Written),
            // What is to be replaced may also be gone.
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. } | StoreError::NotFound { .. }) => {
                Ok(WriteOutcome::Refused)
            }
            // S3 answers so while another conditional write is under way.
            Err(error) if error.to_string().contains("409 Conflict") => Ok(WriteOutcome::Refused),
            Err(error) => Err(failure(path, &error)),
        }
    }

    /// Replaces a file under a lock: what a directory has in place of conditional writes.
    async fn replace_file(
        &self,
        dir: PathBuf,
        path: &str,
        bytes: Vec<u8>,
        tag: &str,
    ) -> Result<WriteOutcome, FleetError> {
        let failed = |error: &std::io::Error| FleetError::Unreachable {
            what: path.to_owned(),
            why: skillcue_base::os_message(error),
        };
        let lock = tokio::task::spawn_blocking(move || {
            let lock = std::fs::File::create(dir.join(".lock"))?;
            lock.lock().map(|()| lock)
        });
        let lock = lock.await.map_err(|error| FleetError::Threads(error.to_string()))?;
        let lock = lock.map_err(|error| failed(&error))?;
        let location = ObjectPath::from(path);
        let now = self.within(path, self.inner.head(&location)).await?;
        let is_meant = now.is_ok_and(|now| now.e_tag.as_deref() == Some(tag));
        let outcome =
            if is_meant { self.write(path, bytes, PutMode::Overwrite).await } else { Ok(WriteOutcome::Refused) };
        drop(lock);
        outcome
    }

    /// Calls `each` for every object below a path.
    pub(crate) async fn list(&self, below: &str, mut each: impl FnMut(&str, &ObjectMeta)) -> Result<(), FleetError> {
        self.traffic.requests.fetch_add(1, Ordering::Relaxed);
        let mut found = self.inner.list(Some(&ObjectPath::from(below)));
        while let Some(object) = self.waited(below, found.next()).await? {
            let object = object.map_err(|error| failure(below, &error))?;
            each(object.location.as_ref(), &object);
        }
        Ok(())
    }

    /// Deletes an object. One that is gone already is no error.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), FleetError> {
        let location = ObjectPath::from(path);
        match self.within(path, self.inner.delete(&location)).await? {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(failure(path, &error)),
        }
    }

    /// Counts bytes that are sent next, once the bandwidth allows them.
    async fn sending(&self, bytes: u64) {
        self.traffic.sent.fetch_add(bytes, Ordering::Relaxed);
        self.paid(bytes).await;
    }

    /// Counts bytes that were received. No more are read until the bandwidth allows them, so that the store must wait.
    async fn received(&self, bytes: u64) {
        self.traffic.received.fetch_add(bytes, Ordering::Relaxed);
        self.paid(bytes).await;
    }

    async fn paid(&self, bytes: u64) {
        if let Some(bucket) = &self.bucket {
            bucket.take(bytes).await;
        }
    }

    /// Waits for a request.
    async fn within<T>(&self, what: &str, work: impl Future<Output = T>) -> Result<T, FleetError> {
        self.traffic.requests.fetch_add(1, Ordering::Relaxed);
        self.waited(what, work).await
    }

    /// Waits for an upload. How far one has come is not known, so that its time limit grows with its size, as if as many as run
    /// at once had to share the slowest line that is fast enough.
    async fn uploaded<T>(&self, what: &str, size: u64, work: impl Future<Output = T>) -> Result<T, FleetError> {
        self.traffic.requests.fetch_add(1, Ordering::Relaxed);
        let limit = self.upload_limit(size);
        let slow = |_| FleetError::SlowUpload { what: what.to_owned(), seconds: limit.as_secs() };
        tokio::time::timeout(limit, work).await.map_err(slow)
    }

    fn upload_limit(&self, size: u64) -> Duration {
        let shared = size.saturating_mul(CONCURRENT as u64);
        self.timeout.saturating_add(Duration::from_secs(shared / MIN_UPLOAD_RATE))
    }

    /// Returns how long all of an object may take, once its answer has begun: as if as many as run at once had to share the
    /// slowest line that is fast enough.
    fn download_limit(&self, size: u64) -> Duration {
        let shared = size.saturating_mul(CONCURRENT as u64);
        self.timeout.saturating_add(Duration::from_millis(shared.saturating_mul(1000) / MIN_DOWNLOAD_RATE))
    }

    async fn waited<T>(&self, what: &str, work: impl Future<Output = T>) -> Result<T, FleetError> {
        let slow = |_| FleetError::Slow { what: what.to_owned(), seconds: self.timeout.as_secs() };
        tokio::time::timeout(self.timeout, work).await.map_err(slow)
    }
}

/// Returns the place of a blob.
pub(crate) fn blob_path(digest: &Digest) -> String {
    let digits = digest.to_string();
    format!("blobs/sha256/{}/{digits}", digits.get(..2).unwrap_or_default())
}

/// Returns the failure of a request, in one line.
fn failure(what: &str, error: &StoreError) -> FleetError {
    let what = what.to_owned();
    let unreachable = |why: String| FleetError::Unreachable { what: what.clone(), why };
    match error {
        StoreError::NotFound { .. } => FleetError::Missing(what),
        StoreError::PermissionDenied { .. } => unreachable("the store refuses it: permission denied".to_owned()),
        StoreError::Unauthenticated { .. } => unreachable("the store wants other credentials".to_owned()),
        StoreError::NotImplemented { .. } | StoreError::NotSupported { .. } => {
            FleetError::Unsupported(format!("write {what} conditionally"))
        }
        error => unreachable(
            skillcue_base::folded_line(&skillcue_http::cause(error))
                .chars()
                .take(200)
                .collect::<String>()
                .trim_end_matches([':', ' '])
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clock is not looked at: a rate that lets everything through at once counts the same bytes.
    #[test]
    fn bytes_of_both_ways_are_paid_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let store = Store::new(Arc::new(crate::memory_store()), "memory:///acme");
            assert_eq!(store.time_for(1_000), Duration::ZERO);
            let store = store.with_bandwidth("1000GB".parse().unwrap());
            let paid = || store.bucket.as_ref().unwrap().taken();
            let small = store.clone().put_blob(vec![1; 1_000]).await.unwrap();
            assert_eq!(paid(), 1_000, "a clone shares the limit");
            let large = store.put_blob(vec![2; PART + 1]).await.unwrap();
            assert_eq!(paid(), 1_000 + large.size);
            store.create("head", vec![3; 10]).await.unwrap();
            let sent = 1_010 + large.size;
            assert_eq!(paid(), sent);
            store.blob(&small, 1_000).await.unwrap();
            store.blob(&large, large.size).await.unwrap();
            assert_eq!(paid(), sent + small.size + large.size);
            let traffic = store.traffic();
            assert_eq!(paid(), traffic.sent + traffic.received);
        });
    }

    #[test]
    fn the_time_for_an_upload_grows_with_its_size() {
        let store = Store::new(Arc::new(crate::memory_store()), "memory:///acme").timeout(Duration::from_secs(10));
        assert_eq!(store.upload_limit(0), Duration::from_secs(10));
        // Sixteen parts of 8 MiB at once, over a line of 2 Mbit/s.
        assert_eq!(store.upload_limit(PART as u64), Duration::from_secs(10 + 512));
    }

    #[test]
    fn an_upload_that_is_too_slow_was_not_taken() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let store = Store::new(Arc::new(crate::memory_store()), "memory:///acme").timeout(Duration::from_millis(5));
        let error = runtime.block_on(store.uploaded("head", 1, std::future::pending::<()>())).unwrap_err();
        assert_eq!(error.to_string(), "the store did not take head within 0 s");
    }

    #[test]
    fn blobs_are_placed_by_their_digests() {
        let digest = Digest::of("abc");
        assert_eq!(blob_path(&digest), format!("blobs/sha256/ba/{digest}"));
    }
}
