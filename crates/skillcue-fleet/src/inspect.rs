//! Looking at a published catalog, signing it, and checking all of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use skillcue::remote::RemoteEntry;
use skillcue_mcp::host::door::check_file;

use crate::budget::UnpackBudget;
use crate::document::document_path;
use crate::generation::{ShardCache, StoredGeneration};
use crate::head::{CatalogHead, GenerationId, HEAD, SignedHead, expiry_after, seconds};
use crate::key::{PublicKey, SigningKey};
use crate::limits::{CONCURRENT, MAX_FILE, MAX_HEAD, MAX_INDEX, MAX_POLICY};
use crate::memory::{BaseCheck, SeenFile};
use crate::store::WriteOutcome;
use crate::{BlobRef, FleetEngine, FleetError, Store};

/// A published catalog as it is now.
#[derive(Debug, Clone)]
pub struct CatalogReport {
    /// Its name.
    pub catalog: String,
    /// The number of the generation.
    pub sequence: u64,
    /// The number and the digest of the generation, which name it exactly.
    pub generation: GenerationId,
    /// When it was published, in seconds since 1970.
    pub published: u64,
    /// Until when it is valid.
    pub expires: String,
    /// The keys whose signatures fit it; of those that were given, if any were.
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
        let budget = UnpackBudget::of_generation(!keys.is_empty());
        let shards = ShardCache::default().read_all(store, &generation.document, &budget).await?;
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
                    let of_file = |error: FleetError| match error {
                        error @ (FleetError::Missing(_) | FleetError::Altered { .. } | FleetError::TooLarge { .. }) => {
                            FleetError::SkillFile { uri: file.uri.clone(), why: Box::new(error) }
                        }
                        error => error,
                    };
                    let blob = BlobRef { digest, size: file.size };
                    let bytes = store.blob(&blob, MAX_FILE).await.map_err(of_file)?;
                    let altered = |why| FleetError::Altered { what: file.uri.clone(), why };
                    check_file(&entry, &file, &bytes).map_err(altered)
                }
            };
            let checks: Vec<()> = stream::iter(checks.map(read)).buffer_unordered(CONCURRENT).try_collect().await?;
            verified += checks.len();
        }
        let signed = generation.head.signed();
        let signers = match keys {
            [] => generation.head.fitting_signers(),
            keys => generation.head.signed_by(keys).map(ToString::to_string).collect(),
        };
        Ok(CatalogReport {
            catalog: signed.catalog.clone(),
            sequence: signed.sequence,
            generation: generation.head.generation(),
            published: signed.published,
            expires: generation.head.expiry(),
            signers,
            policy,
            entries,
            verified,
        })
    })
}

/// The rules by which [`sign`] signs.
#[derive(Debug, Default)]
pub struct SignOptions {
    /// Further keys whose generations are signed, besides that of the signing key itself.
    pub trusted: Vec<PublicKey>,
    /// How long a next generation of the same skills is valid; without it, the current generation is signed as it is.
    pub renew: Option<Duration>,
    /// Exactly the generation that is signed, whatever key has signed it before, and whether or not it has expired: a person
    /// has looked at it.
    pub generation: Option<GenerationId>,
    /// The name that the catalog must have.
    pub name: Option<String>,
    /// The lowest number that the current generation may have.
    pub at_least: u64,
    /// The directory that remembers which generation was seen last: an older one is not signed. Without one, nothing is
    /// remembered.
    pub data: Option<PathBuf>,
}

/// Signs the current generation, or renews it. It must be signed already, by this key or one of [`SignOptions::trusted`], or
/// be named exactly: a signature vouches for everything in it, and any writer of the store could have put it there. Returns
/// its number.
pub fn sign(engine: &FleetEngine, store: &Store, key: &SigningKey, options: &SignOptions) -> Result<u64, FleetError> {
    let base = BaseCheck {
        seen: options.data.as_ref().map(|data| SeenFile::of_publisher(data, store.address())),
        at_least: options.at_least,
        name: options.name.clone(),
        accepts_expired: options.generation.is_some(),
        above: 0,
    };
    let keys: Vec<PublicKey> = [key.public()].into_iter().chain(options.trusted.iter().cloned()).collect();
    engine.wait(async {
        for attempt in 0..crate::limits::MAX_ATTEMPTS {
            let fetched = store.get(HEAD, MAX_HEAD).await?;
            let mut head = CatalogHead::read(&fetched.bytes)?;
            match options.generation {
                Some(named) if named != head.generation() => {
                    let (offered, named) = (head.generation().to_string(), named.to_string());
                    return Err(FleetError::OtherGeneration { offered, named });
                }
                Some(_) => {}
                None => head.check_signers(&keys)?,
            }
            base.check(Some(&head), SystemTime::now())?;
            base.keep(&head)?;
            if let Some(expiry) = options.renew {
                head = renewed(store, &head, expiry).await?;
            }
            head.sign(key);
            if store.replace(HEAD, head.write()?, fetched.tag.as_deref()).await? == WriteOutcome::Written {
                base.keep(&head)?;
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
    document.sequence = head.next_sequence()?;
    document.published = seconds(now);
    let bytes = document.write()?;
    let signed = SignedHead {
        sequence: document.sequence,
        published: document.published,
        expires: expiry_after(now, expiry),
        document: BlobRef { digest: skillcue_base::Digest::of(&bytes), size: bytes.len() as u64 },
        ..head.signed().clone()
    };
    store.create(&document_path(document.sequence, &signed.document), bytes).await?;
    let mut next = CatalogHead::new(signed, head.collected)?;
    next.collecting = head.collecting;
    Ok(next)
}
