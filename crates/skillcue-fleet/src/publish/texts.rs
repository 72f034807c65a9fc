//! The indexes of a generation, made as a reader would make them.

use std::collections::HashMap;
use std::sync::Arc;

use skillcue::remote::{Remote, RemoteEntry, RemoteError, listed_skills};
use skillcue_catalog::{Catalog, Discovery, Source};
use skillcue_select::{BodyTerms, ReadAt, Selector, TextIndex, body_key};

use super::{KeptBody, Publisher};
use crate::FleetError;
use crate::document::{Document, Shard, pack, shard_count, shard_of, unpack};
use crate::limits::{BODIES_AT_ONCE, MAX_INDEX};

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
        let texts = text_index(&catalog, old, shards, BODIES_AT_ONCE)?;
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

/// Returns the index over texts, from an old one and the bodies that are not in it. At most `at_once` bodies, or those of one
/// shard, are in memory at once; the index equals the one that is made of all at once.
fn text_index(
    catalog: &Catalog,
    old: Option<TextIndex>,
    shards: &[Arc<Shard>],
    at_once: usize,
) -> Result<TextIndex, FleetError> {
    let (mut index, mut is_old_used) = (old, true);
    let mut rest = shards;
    loop {
        let mut count = 0;
        let fits = |shard: &&Arc<Shard>| {
            count += shard.terms.len();
            count <= at_once
        };
        let (group, after) = rest.split_at(rest.iter().take_while(fits).count().max(1).min(rest.len()));
        let bodies = body_terms(catalog, group)?;
        let updated = match &index {
            Some(index) => index.updated(catalog, &bodies),
            None => Some(TextIndex::with_bodies(catalog, &bodies)),
        };
        rest = after;
        match updated {
            Some(updated) if rest.is_empty() => return Ok(updated),
            updated @ Some(_) => index = updated,
            // The old one is damaged: all over again, without it.
            None if is_old_used => (index, rest, is_old_used) = (None, shards, false),
            None => {
                return Err(FleetError::Invalid { what: "the index".to_owned(), why: "it cannot be made".to_owned() });
            }
        }
    }
}

/// Returns the terms of the bodies in shards under the keys of their skills.
fn body_terms(catalog: &Catalog, shards: &[Arc<Shard>]) -> Result<BodyTerms, FleetError> {
    let by_uri: HashMap<&str, &KeptBody> =
        shards.iter().flat_map(|shard| &shard.terms).map(|(uri, body)| (uri.as_str(), body)).collect();
    let mut terms = BodyTerms::default();
    for skill in catalog.skills() {
        let path = skill.path();
        if let Some((uri, body)) = path.to_str().and_then(|uri| by_uri.get_key_value(uri)) {
            terms.insert(body_key(skill), body.published(uri)?.terms);
        }
    }
    Ok(terms)
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

#[cfg(test)]
mod tests {
    use super::*;
    use skillcue::remote::{PublishedBody, RemoteFile};

    fn shards() -> Vec<Arc<Shard>> {
        let mut shards: Vec<Shard> = (0..7).map(|_| Shard::default()).collect();
        for number in 0..60_u64 {
            let uri = format!("skill://s{number}/SKILL.md");
            let front =
                serde_json::json!({"name": format!("s{number}"), "description": format!("Does {number} things.")});
            let file = RemoteFile { uri: uri.clone(), digest: format!("sha256:{number:064x}"), size: 9 };
            let entry = RemoteEntry {
                uri: uri.clone(),
                front_matter: front.as_object().cloned().unwrap_or_default(),
                files: Some(vec![file]),
            };
            let text = format!("# Reports\n\nMerge word{number} of report {} with `tool{}`.", number % 7, number % 3);
            let body = PublishedBody { uri: uri.clone(), content: number, terms: BodyTerms::of_body(&text) };
            let shard = &mut shards[usize::try_from(number % 7).unwrap()];
            shard.entries.insert(uri.clone(), Arc::new(entry));
            shard.terms.insert(uri, body.into());
        }
        shards.into_iter().map(Arc::new).collect()
    }

    #[test]
    fn an_index_made_in_steps_equals_one_made_at_once() {
        let shards = shards();
        let entries = shards.iter().flat_map(|shard| shard.entries.values().cloned()).collect();
        let catalog = catalog("acme", entries);
        let bytes = |at_once| text_index(&catalog, None, &shards, at_once).unwrap().to_bytes(1);
        let whole = TextIndex::with_bodies(&catalog, &body_terms(&catalog, &shards).unwrap()).to_bytes(1);
        assert_eq!(catalog.skills().count(), 60);
        for at_once in [1, 20, 1000] {
            assert!(bytes(at_once) == whole, "{at_once} at once");
        }
    }
}
