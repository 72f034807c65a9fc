//! A generation on a store: its head, its document, its shards.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use skillcue_base::{Digest, lock};

use crate::budget::UnpackBudget;
use crate::document::{self, Document, Shard, ShardRef, document_path};
use crate::head::HEAD;
use crate::limits::{CONCURRENT, MAX_DOCUMENT, MAX_HEAD, MAX_SHARD};
use crate::{CatalogHead, FleetError, Store};

/// The generation that a head names.
#[derive(Debug, Clone)]
pub(crate) struct StoredGeneration {
    pub(crate) head: CatalogHead,
    /// The head's tag, for a conditional write.
    pub(crate) tag: Option<String>,
    pub(crate) document: Document,
}

/// The digests of the blobs of a shard.
type ShardKey = (Digest, Option<Digest>);

/// Shards that were read, by the digests of their blobs: publishers that merge again read only what is new.
#[derive(Debug, Default)]
pub(crate) struct ShardCache {
    kept: Mutex<HashMap<ShardKey, Arc<Shard>>>,
}

impl StoredGeneration {
    /// Reads the current generation; none if the store has no catalog. `check` decides about the head before anything
    /// that it names is read.
    pub(crate) async fn read(
        store: &Store,
        check: impl Fn(&CatalogHead) -> Result<(), FleetError>,
    ) -> Result<Option<StoredGeneration>, FleetError> {
        let fetched = match store.get(HEAD, MAX_HEAD).await {
            Err(FleetError::Missing(_)) => return Ok(None),
            fetched => fetched?,
        };
        let head = CatalogHead::read(&fetched.bytes)?;
        check(&head)?;
        let document = read_document(store, &head).await?;
        Ok(Some(StoredGeneration { head, tag: fetched.tag, document }))
    }
}

/// Reads the document that a head names.
pub(crate) async fn read_document(store: &Store, head: &CatalogHead) -> Result<Document, FleetError> {
    let bytes = document_bytes(store, head).await?;
    checked_document(head, &bytes)
}

/// Reads the bytes of the document that a head names.
pub(crate) async fn document_bytes(store: &Store, head: &CatalogHead) -> Result<Vec<u8>, FleetError> {
    let signed = head.signed();
    let path = document_path(signed.sequence, &signed.document);
    if signed.document.size > MAX_DOCUMENT {
        return Err(FleetError::TooLarge { what: path, max: MAX_DOCUMENT });
    }
    let bytes = store.get(&path, signed.document.size).await?.bytes;
    signed.document.check(&path, &bytes)?;
    Ok(bytes)
}

/// Reads a document, and checks that it is the one that the head names.
pub(crate) fn checked_document(head: &CatalogHead, bytes: &[u8]) -> Result<Document, FleetError> {
    let signed = head.signed();
    signed.document.check("the catalog's document", bytes)?;
    let document = Document::read(bytes)?;
    if document.catalog != signed.catalog {
        return Err(FleetError::WrongName { there: document.catalog, here: signed.catalog.clone() });
    }
    if document.sequence != signed.sequence {
        let why = format!("it is of generation {}, and the head of {}", document.sequence, signed.sequence);
        return Err(FleetError::Invalid { what: "the catalog's document".to_owned(), why });
    }
    Ok(document)
}

impl ShardCache {
    /// Reads a shard with the terms of its bodies.
    pub(crate) async fn read(
        &self,
        store: &Store,
        shard: &ShardRef,
        budget: &UnpackBudget,
    ) -> Result<Arc<Shard>, FleetError> {
        let key = (shard.entries.digest, shard.terms.as_ref().map(|terms| terms.digest));
        if let Some(known) = lock(&self.kept).get(&key) {
            return Ok(Arc::clone(known));
        }
        let bytes = store.blob(&shard.entries, MAX_SHARD).await?;
        let entries = document::read_entries(&bytes, shard.skills, budget)?.entries;
        let terms = match &shard.terms {
            Some(terms) => document::read_terms(&store.blob(terms, MAX_SHARD).await?, shard.unindexed, budget)?,
            None => Vec::new(),
        };
        let read = Arc::new(Shard {
            entries: entries.into_iter().map(|entry| (entry.uri.clone(), entry)).collect(),
            terms: terms.into_iter().map(|body| (body.uri.clone(), body.into())).collect(),
        });
        self.keep(key, &read);
        Ok(read)
    }

    pub(crate) fn keep(&self, key: (Digest, Option<Digest>), shard: &Arc<Shard>) {
        lock(&self.kept).insert(key, Arc::clone(shard));
    }

    /// Forgets shards that this document does not have.
    pub(crate) fn retain(&self, document: &Document) {
        let named: std::collections::HashSet<(Digest, Option<Digest>)> = document
            .shards
            .iter()
            .flatten()
            .map(|shard| (shard.entries.digest, shard.terms.as_ref().map(|terms| terms.digest)))
            .collect();
        lock(&self.kept).retain(|key, _| named.contains(key));
    }

    /// Reads all shards of a document, several at once.
    pub(crate) async fn read_all(
        &self,
        store: &Store,
        document: &Document,
        budget: &UnpackBudget,
    ) -> Result<Vec<Arc<Shard>>, FleetError> {
        stream::iter(document.shards.iter().flatten().map(|shard| self.read(store, shard, budget)))
            .buffered(CONCURRENT)
            .try_collect()
            .await
    }
}
