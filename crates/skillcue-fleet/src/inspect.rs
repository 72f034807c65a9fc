//! Looking at a published catalog, signing it, and checking all of it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use skillcue::remote::RemoteEntry;
use skillcue_mcp::host::door::check_file;

use crate::document::document_path;
use crate::generation::{ShardCache, StoredGeneration};
use crate::head::{CatalogHead, HEAD, SignedHead, seconds};
use crate::key::{PublicKey, SigningKey};
use crate::limits::{CONCURRENT, MAX_FILE, MAX_HEAD, MAX_INDEX, MAX_POLICY};
use crate::store::WriteOutcome;
use crate::{BlobRef, FleetEngine, FleetError, Store};

/// A published catalog as it is now.
#[derive(Debug, Clone)]
pub struct CatalogReport {
    /// Its name.
    pub catalog: String,
    /// The number of the generation.
    pub sequence: u64,
    /// When it was published, in seconds since 1970.
    pub published: u64,
    /// Until when it is valid.
    pub expires: String,
    /// The keys that it says it is signed with.
    pub signers: Vec<String>,
    /// The policy that it carries.
    pub policy: Option<String>,
    /// Its skills, by URI.
    pub entries: Vec<Arc<RemoteEntry>>,
    /// How many blobs were read and compared with their digests.
    pub verified: usize,
}

/// Reads a catalog's current generation and all of its entries. With keys, one of them must have signed it. With
/// `deep`, every blob is read, too. Not to be called inside an async runtime.
pub fn inspect(
    engine: &FleetEngine,
    store: &Store,
    keys: &[PublicKey],
    deep: bool,
) -> Result<CatalogReport, FleetError> {
    engine.wait(async {
        let now = SystemTime::now();
        let check = |head: &CatalogHead| head.check(&head.signed().catalog, keys, None, now);
        let generation =
            StoredGeneration::read(store, check).await?.ok_or_else(|| FleetError::Missing(HEAD.to_owned()))?;
        let shards = ShardCache::default().read_all(store, &generation.document).await?;
        let mut entries: Vec<Arc<RemoteEntry>> =
            shards.iter().flat_map(|shard| shard.entries.values().cloned()).collect();
        entries.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
        let mut verified = 0;
        let policy = match &generation.document.policy {
            Some(blob) => {
                verified += usize::from(deep);
                Some(String::from_utf8_lossy(&store.blob(blob, MAX_POLICY).await?).into_owned())
            }
            None => None,
        };
        if deep {
            for index in [&generation.document.texts, &generation.document.triggers].into_iter().flatten() {
                store.blob(index, MAX_INDEX).await?;
                verified += 1;
            }
            let checks = entries.iter().flat_map(|entry| entry.files.iter().flatten().map(move |file| (entry, file)));
            let read = |(entry, file): (&Arc<RemoteEntry>, &skillcue::remote::RemoteFile)| {
                let (entry, file) = (Arc::clone(entry), file.clone());
                async move {
                    let invalid = |why: String| FleetError::Invalid { what: file.uri.clone(), why };
                    let digest = file.digest.trim_start_matches("sha256:").parse().map_err(invalid)?;
                    let bytes = store.blob(&BlobRef { digest, size: file.size }, MAX_FILE).await?;
                    let altered = |why| FleetError::Altered { what: file.uri.clone(), why };
                    check_file(&entry, &file, &bytes).map_err(altered)
                }
            };
            let checks: Vec<()> = stream::iter(checks.map(read)).buffer_unordered(CONCURRENT).try_collect().await?;
            verified += checks.len();
        }
        let signed = generation.head.signed();
        Ok(CatalogReport {
            catalog: signed.catalog.clone(),
            sequence: signed.sequence,
            published: signed.published,
            expires: generation.head.expiry(),
            signers: generation.head.signers().map(str::to_owned).collect(),
            policy,
            entries,
            verified,
        })
    })
}

/// Signs the current generation with a further key. With `renew`, as the next generation, of the same skills, valid for
/// as long from now. With `trusted`, one of these keys must have signed it before. Returns its number.
pub fn sign(
    engine: &FleetEngine,
    store: &Store,
    key: &SigningKey,
    trusted: &[PublicKey],
    renew: Option<Duration>,
) -> Result<u64, FleetError> {
    engine.wait(async {
        for attempt in 0..crate::limits::MAX_ATTEMPTS {
            let fetched = store.get(HEAD, MAX_HEAD).await?;
            let mut head = CatalogHead::read(&fetched.bytes)?;
            head.check_signers(trusted)?;
            if let Some(expiry) = renew {
                head = renewed(store, &head, expiry).await?;
            }
            head.sign(key);
            if store.replace(HEAD, head.write()?, fetched.tag.as_deref()).await? == WriteOutcome::Written {
                return Ok(head.signed().sequence);
            }
            tokio::time::sleep(crate::publish::pause(attempt, Duration::from_millis(20))).await;
        }
        Err(FleetError::Contended(crate::limits::MAX_ATTEMPTS))
    })
}

/// Returns the head of a next generation with the same skills, its document written.
async fn renewed(store: &Store, head: &CatalogHead, expiry: Duration) -> Result<CatalogHead, FleetError> {
    let mut document = crate::generation::read_document(store, head).await?;
    let now = SystemTime::now();
    document.sequence += 1;
    document.published = seconds(now);
    let bytes = document.write()?;
    let signed = SignedHead {
        sequence: document.sequence,
        published: document.published,
        expires: seconds(now + expiry),
        document: BlobRef { digest: skillcue_base::Digest::of(&bytes), size: bytes.len() as u64 },
        ..head.signed().clone()
    };
    store.create(&document_path(document.sequence, &signed.document), bytes).await?;
    let mut next = CatalogHead::new(signed, head.collected)?;
    next.collecting = head.collecting;
    Ok(next)
}
