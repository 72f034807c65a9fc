//! Skills to publish, readers, and a store with faults.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _};
use object_store::path::Path as ObjectPath;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result as StoreResult,
};
use serde_json::{Value, json};
use skillcue::config::CatalogTrust;
use skillcue_base::Digest;
use skillcue_fleet::{
    CatalogRefresh, CatalogSpec, Catalogs, CatalogsOptions, FleetEngine, FleetError, PublicKey, PublishOptions,
    PublishReport, PullOutcome, SigningKey, Store, StoreOptions, memory_store, publish,
};
use tempfile::TempDir;

/// Writes a skill with a body and a further file.
pub(crate) fn write_skill(dir: &Path, name: &str, body: &str) {
    let skill = dir.join(name);
    std::fs::create_dir_all(skill.join("references")).unwrap();
    let text = format!("---\nname: {name}\ndescription: Does {name} things.\ntriggers: [{name}-word]\n---\n{body}\n");
    std::fs::write(skill.join("SKILL.md"), text).unwrap();
    std::fs::write(skill.join("references/more.md"), format!("More about {name}.")).unwrap();
}

/// A directory with these skills.
pub(crate) fn skills(names: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in names {
        write_skill(dir.path(), name, &format!("# How\n\nThe body of {name}."));
    }
    dir
}

/// A store with faults, its skills, a key, and the directories of a reader.
pub(crate) struct Fleet {
    pub(crate) engine: FleetEngine,
    pub(crate) faulty: Arc<FaultyStore>,
    pub(crate) store: Store,
    pub(crate) key: Arc<SigningKey>,
    pub(crate) cache: TempDir,
    pub(crate) data: TempDir,
}

impl Fleet {
    pub(crate) fn new() -> Fleet {
        let faulty = Arc::new(FaultyStore::default());
        Fleet {
            engine: FleetEngine::default(),
            store: Store::new(Arc::<FaultyStore>::clone(&faulty), "s3://bucket/acme"),
            faulty,
            key: Arc::new(SigningKey::generate().unwrap()),
            cache: tempfile::tempdir().unwrap(),
            data: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn options(&self) -> PublishOptions {
        PublishOptions { key: Some(Arc::clone(&self.key)), ..PublishOptions::default() }
    }

    pub(crate) fn publish(&self, dir: &Path) -> PublishReport {
        publish(&self.engine, &self.store, Some(dir), &self.options()).unwrap()
    }

    pub(crate) fn spec(&self) -> CatalogSpec {
        CatalogSpec {
            name: "acme".to_owned(),
            url: "s3://bucket/acme".to_owned(),
            keys: vec![self.key.public()],
            trust: CatalogTrust::Signed,
            precedence: 0,
            poll: Duration::from_mins(5),
            store: StoreOptions { timeout: Some(Duration::from_millis(400)), ..StoreOptions::default() },
        }
    }

    /// A reader, as after a start: what it has is what is on its disk.
    pub(crate) fn reader(&self) -> Catalogs {
        self.reader_of(self.spec())
    }

    pub(crate) fn reader_with_keys(&self, keys: Vec<PublicKey>) -> Catalogs {
        self.reader_of(CatalogSpec { keys, ..self.spec() })
    }

    pub(crate) fn reader_of(&self, spec: CatalogSpec) -> Catalogs {
        let store = self.store.clone().timeout(Duration::from_millis(400));
        Catalogs::new([spec], &self.reader_options()).with_store("acme", store)
    }

    /// Returns the directory in the cache of the reader's catalog.
    pub(crate) fn kept_dir(&self) -> PathBuf {
        self.cache.path().join("catalogs").join(skillcue_catalog::kept_catalog_name("acme", "s3://bucket/acme"))
    }

    /// Returns a file in the data directory of the reader's catalog: `.json` or `.policy.json`.
    pub(crate) fn kept_file(&self, extension: &str) -> PathBuf {
        let name = skillcue_catalog::kept_catalog_name("acme", "s3://bucket/acme");
        self.data.path().join("catalogs").join(format!("{name}{extension}"))
    }

    pub(crate) fn reader_options(&self) -> CatalogsOptions {
        CatalogsOptions {
            cache: Some(self.cache.path().to_path_buf()),
            data: Some(self.data.path().to_path_buf()),
            ..CatalogsOptions::default()
        }
    }
}

/// Asks, and returns the outcome for the only catalog.
pub(crate) fn refresh(reader: &Catalogs) -> Result<PullOutcome, FleetError> {
    let [CatalogRefresh { outcome, .. }] = &reader.refresh(Duration::from_secs(20))[..] else { panic!() };
    outcome.clone()
}

pub(crate) fn names(reader: &Catalogs) -> Vec<String> {
    reader.remotes()[0].entries().iter().map(|entry| entry.name().to_owned()).collect()
}

/// Reads a file of a skill.
pub(crate) fn read(reader: &Catalogs, name: &str, path: &str) -> Result<String, skillcue::remote::RemoteError> {
    let remote = &reader.remotes()[0];
    let entry = remote.entries().iter().find(|entry| entry.name() == name).cloned().unwrap();
    remote.read(&entry, path).map(|bytes| String::from_utf8(bytes).unwrap())
}

/// A fault of a store.
#[derive(Debug, Clone, Default)]
pub(crate) enum Fault {
    #[default]
    None,
    /// Every request fails.
    Down,
    /// No answer comes.
    Stall,
    /// Answers begin, and do not go on.
    StallMidway,
    /// Each byte is sent by itself, after so many milliseconds.
    Drip(u64),
    /// Half of an object is sent, with the size of all of it.
    Truncate,
    /// One bit is another one, in objects below this path.
    Lie(&'static str),
    /// These bytes are sent for the head.
    Head(Bytes),
    /// An object of this many bytes is sent for one below this path.
    Huge(&'static str, usize),
    /// Blanks without an end are sent, with the size of the object.
    Endless,
    /// Objects below this path are gone.
    Missing(&'static str),
    /// Conditional writes are refused so many times.
    Refuse(usize),
    /// Writes below this path fail.
    FailWrites(&'static str),
    /// Writes below this path do not end.
    StallWrites(&'static str),
    /// A conditional write is done, and its answer lost.
    LoseAnswer,
    /// With the first object that is deleted, these bytes become the head.
    HeadAtDelete(Bytes),
}

/// A store in memory with a fault.
#[derive(Debug)]
pub(crate) struct FaultyStore {
    pub(crate) inner: object_store::memory::InMemory,
    fault: Mutex<Fault>,
    refused: AtomicUsize,
    pub(crate) writes: AtomicUsize,
    lost: AtomicBool,
}

impl Default for FaultyStore {
    fn default() -> FaultyStore {
        FaultyStore {
            inner: memory_store(),
            fault: Mutex::default(),
            refused: AtomicUsize::new(0),
            writes: AtomicUsize::new(0),
            lost: AtomicBool::new(false),
        }
    }
}

impl FaultyStore {
    pub(crate) fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
        self.refused.store(0, Ordering::SeqCst);
        self.lost.store(false, Ordering::SeqCst);
    }

    fn fault(&self) -> Fault {
        self.fault.lock().unwrap().clone()
    }

    /// The paths of all objects below one, whatever the fault.
    pub(crate) fn paths(&self, below: &'static str) -> BTreeSet<ObjectPath> {
        let found = self.inner.list(Some(&ObjectPath::from(below)));
        wait(found.map(|object| object.unwrap().location).collect())
    }

    /// Returns the head as it is stored, whatever the fault.
    pub(crate) fn stored_head(&self) -> Bytes {
        self.stored("head")
    }

    /// Returns an object as it is stored, whatever the fault.
    pub(crate) fn stored(&self, path: &str) -> Bytes {
        wait(async { self.inner.get(&path.into()).await.unwrap().bytes().await.unwrap() })
    }

    /// Stores an object, whatever the fault.
    pub(crate) fn store_bytes(&self, path: &str, bytes: impl Into<Bytes>) {
        wait(self.inner.put(&path.into(), PutPayload::from(bytes.into()))).unwrap();
    }

    /// Takes an object out, whatever the fault.
    pub(crate) fn remove(&self, path: &ObjectPath) {
        wait(self.inner.delete(path)).unwrap();
    }
}

/// Waits for an answer of the store in memory, which never sleeps.
fn wait<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("memory answers at once")
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultyStore")
    }
}

fn down() -> Error {
    Error::Generic { store: "faulty", source: "503 Service Unavailable".into() }
}

fn replaced(result: GetResult, bytes: Bytes, size: u64) -> GetResult {
    let range: Range<u64> = 0..size;
    let meta = ObjectMeta { size, ..result.meta };
    let payload = GetResultPayload::Stream(stream::iter([Ok(bytes)]).boxed());
    GetResult { payload, meta, range, ..result }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(&self, to: &ObjectPath, payload: PutPayload, options: PutOptions) -> StoreResult<PutResult> {
        let is_conditional = to.as_ref() == "head";
        self.writes.fetch_add(1, Ordering::SeqCst);
        match self.fault() {
            Fault::Down => return Err(down()),
            Fault::FailWrites(below) if to.as_ref().starts_with(below) => return Err(down()),
            Fault::StallWrites(below) if to.as_ref().starts_with(below) => return std::future::pending().await,
            Fault::Refuse(times) if is_conditional && self.refused.fetch_add(1, Ordering::SeqCst) < times => {
                return Err(Error::Precondition { path: to.to_string(), source: "412 Precondition Failed".into() });
            }
            Fault::LoseAnswer if is_conditional && !self.lost.swap(true, Ordering::SeqCst) => {
                self.inner.put_opts(to, payload, options).await?;
                return Err(down());
            }
            _ => {}
        }
        self.inner.put_opts(to, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        to: &ObjectPath,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(to, options).await
    }

    async fn get_opts(&self, from: &ObjectPath, options: GetOptions) -> StoreResult<GetResult> {
        let is_head_request = options.head;
        match self.fault() {
            Fault::Down => return Err(down()),
            Fault::Stall => return std::future::pending().await,
            Fault::Missing(below) if from.as_ref().starts_with(below) => {
                return Err(Error::NotFound { path: from.to_string(), source: "404".into() });
            }
            _ => {}
        }
        let options = match self.fault() {
            Fault::Head(_) | Fault::Huge(..) => GetOptions::default(),
            _ => options,
        };
        let result = self.inner.get_opts(from, options).await?;
        if is_head_request {
            return Ok(result);
        }
        let size = result.meta.size;
        Ok(match self.fault() {
            Fault::StallMidway => {
                let payload = GetResultPayload::Stream(
                    stream::iter([Ok(Bytes::from_static(b"{"))]).chain(stream::pending()).boxed(),
                );
                GetResult { payload, ..result }
            }
            Fault::Drip(pause) => {
                let bytes = self.inner.get_opts(from, GetOptions::default()).await?.bytes().await?;
                let drip = stream::iter(0..bytes.len()).then(move |at| {
                    let byte = bytes.slice(at..=at);
                    async move {
                        tokio::time::sleep(Duration::from_millis(pause)).await;
                        Ok(byte)
                    }
                });
                GetResult { payload: GetResultPayload::Stream(drip.boxed()), ..result }
            }
            Fault::Endless => {
                let blanks = stream::repeat_with(|| Ok(Bytes::from_static(&[b' '; 1000])));
                GetResult { payload: GetResultPayload::Stream(blanks.boxed()), ..result }
            }
            Fault::Truncate => {
                let meta = result.meta.clone();
                let bytes = result.bytes().await?;
                let half = bytes.slice(..bytes.len() / 2);
                let payload = GetResultPayload::Stream(stream::iter([Ok(half)]).boxed());
                GetResult {
                    payload,
                    meta,
                    range: 0..size,
                    attributes: object_store::Attributes::default(),
                    extensions: object_store::Extensions::default(),
                }
            }
            Fault::Lie(below) if from.as_ref().starts_with(below) => {
                let mut bytes = self.inner.get_opts(from, GetOptions::default()).await?.bytes().await?.to_vec();
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
                replaced(result, bytes.into(), size)
            }
            Fault::Head(bytes) if from.as_ref() == "head" => {
                let size = bytes.len() as u64;
                replaced(result, bytes, size)
            }
            Fault::Huge(below, size) if from.as_ref().starts_with(below) => {
                replaced(result, Bytes::from(vec![b' '; size]), size as u64)
            }
            _ => result,
        })
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, StoreResult<ObjectPath>>,
    ) -> BoxStream<'static, StoreResult<ObjectPath>> {
        if let Fault::HeadAtDelete(bytes) = self.fault() {
            self.set(Fault::None);
            self.store_bytes("head", bytes);
        }
        self.inner.delete_stream(locations)
    }

    fn list(&self, below: Option<&ObjectPath>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.inner.list(below)
    }

    async fn list_with_delimiter(&self, below: Option<&ObjectPath>) -> StoreResult<ListResult> {
        self.inner.list_with_delimiter(below).await
    }

    async fn copy_opts(&self, from: &ObjectPath, to: &ObjectPath, options: CopyOptions) -> StoreResult<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// Returns the signed part of a head.
pub(crate) fn signed_part(head: &Bytes) -> Value {
    let file: Value = serde_json::from_slice(head).unwrap();
    serde_json::from_str(file["signed"].as_str().unwrap()).unwrap()
}

/// Returns the head with what is signed changed, and the old signatures.
pub(crate) fn altered(head: &Bytes, change: impl Fn(&mut Value)) -> Value {
    let mut file: Value = serde_json::from_slice(head).unwrap();
    let mut signed = signed_part(head);
    change(&mut signed);
    file["signed"] = json!(signed.to_string());
    file
}

/// Returns it signed with a key.
pub(crate) fn resigned(mut file: Value, key: &SigningKey) -> Bytes {
    let text = file["signed"].as_str().unwrap();
    file["signatures"] = json!([{ "key": key.public().to_string(), "signature": key.sign(text) }]);
    Bytes::from(file.to_string())
}

/// Changes the document of the current generation, and the head with it, as a holder of the key could.
pub(crate) fn forge_document(fleet: &Fleet, change: impl Fn(&mut Value)) {
    let head = fleet.faulty.stored_head();
    let [path] = &fleet.faulty.paths("catalog").into_iter().collect::<Vec<_>>()[..] else { panic!("one generation") };
    let mut document: Value = serde_json::from_slice(&fleet.faulty.stored(path.as_ref())).unwrap();
    change(&mut document);
    let bytes = document.to_string();
    let digest = Digest::of(&bytes).to_string();
    let sequence = document["sequence"].as_u64().unwrap();
    fleet.faulty.store_bytes(&format!("catalog/{sequence:012}-{}", &digest[..16]), bytes.clone());
    let file = altered(&head, |signed| {
        signed["sequence"] = json!(sequence);
        signed["document"] = json!({ "digest": digest, "size": bytes.len() });
    });
    fleet.faulty.store_bytes("head", resigned(file, &fleet.key));
}
