//! The indexes of a generation, made as a reader would make them.

use std::sync::Arc;

use skillcue::remote::{PublishedBody, Remote, RemoteEntry, RemoteError, listed_skills};
use skillcue_catalog::{Catalog, Discovery, Source};
use skillcue_select::{BodyTerms, ReadAt, Selector, TextIndex, body_key};

use super::Publisher;
use crate::FleetError;
use crate::document::{Document, Shard, pack, shard_count, shard_of, unpack};
use crate::limits::MAX_INDEX;

impl Publisher<'_> {
    /// Makes the indexes of a generation anew, and deals its skills to as many shards as they need.
    pub(super) fn index(&self, document: &mut Document) -> Result<(), FleetError> {
        let shards = self.engine.wait(self.shards.read_all(self.store, document, &self.budget()))?;
        let entries: Vec<Arc<RemoteEntry>> = shards.iter().flat_map(|shard| shard.entries.values().cloned()).collect();
        let (texts, triggers) = self.packed_indexes(document, &shards, entries.clone())?;
        // The terms are in the index now.
        drop(shards);
        let (texts, triggers) = self
            .engine
            .wait(async { Ok((self.store.put_blob(texts).await?, self.store.put_blob(triggers).await?)) })?;
        (document.texts, document.triggers) = (Some(texts), Some(triggers));
        let mut dealt: Vec<Shard> = (0..shard_count(entries.len())).map(|_| Shard::default()).collect();
        let count = dealt.len();
        for entry in entries {
            dealt[shard_of(entry.name(), count)].entries.insert(entry.uri.clone(), entry);
        }
        let before = std::mem::take(&mut document.shards);
        let is_same = before.len() == count;
        let mut written = Vec::with_capacity(count);
        for (at, shard) in dealt.into_iter().enumerate() {
            let before = before.get(at).filter(|_| is_same).and_then(Option::as_ref);
            written.push(self.write_shard(shard, before)?);
        }
        document.shards = written;
        self.shards.retain(document);
        Ok(())
    }

    /// Returns the indexes over texts and triggers as they are stored. Each step lets go of what the next one does not
    /// need: at 100,000 skills the terms, the index and its bytes are hundreds of megabytes each.
    fn packed_indexes(
        &self,
        document: &Document,
        shards: &[Arc<Shard>],
        entries: Vec<Arc<RemoteEntry>>,
    ) -> Result<(Vec<u8>, Vec<u8>), FleetError> {
        let old = match &document.texts {
            Some(texts) => {
                let bytes = self.engine.wait(self.store.blob(texts, MAX_INDEX))?;
                TextIndex::read_old(&reader(Arc::new(unpack(&bytes, MAX_INDEX)?)))
            }
            None => None,
        };
        let catalog = catalog(&document.catalog, entries);
        let texts = {
            let bodies = body_terms(&catalog, shards.iter().flat_map(|shard| shard.terms.values()));
            let updated = old.and_then(|old| old.updated(&catalog, &bodies));
            updated.unwrap_or_else(|| TextIndex::with_bodies(&catalog, &bodies))
        };
        let bytes = texts.to_bytes(TextIndex::key(&catalog));
        drop(texts);
        let texts = pack(&bytes);
        drop(bytes);
        Ok((texts, pack(&Selector::of(&catalog).to_bytes())))
    }
}

/// Returns the catalog of a reader that trusts all of it and has no other skills.
pub(crate) fn catalog(name: &str, entries: Vec<Arc<RemoteEntry>>) -> Catalog {
    let remote = PublishedSkills { name: name.to_owned(), entries: entries.into() };
    Discovery::new([]).remote(listed_skills(&remote)).run()
}

/// Returns the terms of bodies under the keys of their skills.
pub(crate) fn body_terms<'b>(catalog: &Catalog, bodies: impl Iterator<Item = &'b PublishedBody>) -> BodyTerms {
    let by_uri: std::collections::HashMap<&str, &PublishedBody> =
        bodies.map(|body| (body.uri.as_str(), body)).collect();
    let mut terms = BodyTerms::default();
    for skill in catalog.skills() {
        let path = skill.path();
        if let Some(body) = path.to_str().and_then(|uri| by_uri.get(uri)) {
            terms.insert(body_key(skill), body.terms.clone());
        }
    }
    terms
}

/// Returns a reader of bytes in memory.
fn reader(bytes: Arc<Vec<u8>>) -> ReadAt {
    Arc::new(move |offset, length| {
        let start = usize::try_from(offset).ok()?;
        bytes.get(start..start.checked_add(length)?).map(<[u8]>::to_vec)
    })
}

/// The skills of a generation as its publisher sees them.
#[derive(Debug)]
struct PublishedSkills {
    name: String,
    entries: Arc<[Arc<RemoteEntry>]>,
}

impl Remote for PublishedSkills {
    fn label(&self) -> &str {
        &self.name
    }

    fn entries(&self) -> Arc<[Arc<RemoteEntry>]> {
        Arc::clone(&self.entries)
    }

    fn is_allowed(&self, _: &RemoteEntry) -> bool {
        true
    }

    fn is_trusted(&self) -> bool {
        true
    }

    fn source(&self) -> Source {
        Source::Catalog
    }

    fn read(&self, _: &RemoteEntry, path: &str) -> Result<Vec<u8>, RemoteError> {
        Err(RemoteError::NotListed(path.to_owned()))
    }
}
