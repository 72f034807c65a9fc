//! A newer generation: asked for by tag, verified as a whole, and only then current.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::{CatalogSource, CurrentGeneration};
use crate::document::{Document, unpack};
use crate::generation::{checked_document, document_bytes};
use crate::head::HEAD;
use crate::limits::{CONCURRENT, MAX_HEAD, MAX_INDEX, MAX_SHARD};
use crate::{BlobRef, CatalogHead, FleetError, Store};

/// How a generation compares with the one before, and how many skills there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullOutcome {
    /// There is another generation.
    Changed(usize),
    /// It is the one that was there.
    Unchanged(usize),
    /// The store was not asked: it was asked a moment ago.
    Fresh(usize),
}

impl CatalogSource {
    /// Asks the store for a newer generation. One that cannot be had or is refused leaves the last good one as it is.
    pub(crate) async fn refresh(&self) -> Result<PullOutcome, FleetError> {
        let result = self.refresh_now().await;
        let now = SystemTime::now();
        self.schedule.draw();
        let mut state = self.state();
        if let Some(state) = state.as_mut() {
            match &result {
                Ok(_) => {
                    state.failure = None;
                    self.kept.forget_failure();
                }
                Err(error) => {
                    if error.is_refusal() {
                        self.warn(&self.identity, &error.to_string());
                    }
                    state.failure = Some(self.kept.keep_failure(error, now));
                }
            }
        }
        result
    }

    /// Notes a failure of which [`refresh`](CatalogSource::refresh) could not: it was given up.
    pub(crate) fn failed(&self, error: &FleetError) {
        if let Some(state) = self.state().as_mut() {
            state.failure = Some(self.kept.keep_failure(error, SystemTime::now()));
        }
    }

    async fn refresh_now(&self) -> Result<PullOutcome, FleetError> {
        let store = self.store()?;
        let (kept, current) = {
            let state = self.state();
            state.as_ref().map(|state| (state.kept.clone(), state.current.clone())).unwrap_or_default()
        };
        let count = |current: &Option<Arc<CurrentGeneration>>| current.as_ref().map_or(0, |it| it.entries.len());
        let tag = kept.as_ref().and_then(|kept| kept.tag.clone()).filter(|_| current.is_some());
        let Some(fetched) = store.get_if_changed(HEAD, tag.as_deref(), MAX_HEAD).await? else {
            // The same bytes as before, which were checked then; but time goes on.
            if let Some(current) = &current {
                self.restore(&store, &current.head, &current.document).await?;
            }
            self.asked(kept.and_then(|kept| kept.tag), None);
            return Ok(PullOutcome::Unchanged(count(&current)));
        };
        let head = CatalogHead::read(&fetched.bytes)?;
        let seen = self.kept.seen()?.or_else(|| current.as_ref().map(|current| current.head.seen()));
        head.check(&self.spec.name, &self.spec.keys, seen.as_ref(), SystemTime::now())?;
        let is_same = current.as_ref().is_some_and(|now| now.head.signed().document == head.signed().document);
        let text = String::from_utf8(fetched.bytes)
            .map_err(|error| FleetError::Invalid { what: HEAD.to_owned(), why: error.to_string() })?;
        if is_same {
            // A renewed signature may be another key's.
            if let Some(current) = &current {
                self.restore(&store, &head, &current.document).await?;
            }
            self.asked(fetched.tag, Some(text));
            return Ok(PullOutcome::Unchanged(count(&current)));
        }
        let next = self.fetch_generation(&store, head, current.as_deref()).await?;
        let policy = self.fetch_policy(&store, &next.document).await?;
        // While this was fetched, another process may have taken a newer one: nothing of it is replaced by an older one.
        next.head.check(&self.spec.name, &self.spec.keys, self.kept.seen()?.as_ref(), SystemTime::now())?;
        self.keep_policy(&next.head, policy)?;
        let (count, next) = (next.entries.len(), Arc::new(next));
        // The head before what was seen: a process that ends in between leaves a head that is not older. In this process it
        // counts only once it is remembered.
        let kept = self.kept.keep_head(fetched.tag, text, SystemTime::now());
        self.kept.keep_seen(next.head.seen())?;
        if let Some(state) = self.state().as_mut() {
            (state.kept, state.current) = (Some(kept), Some(Arc::clone(&next)));
        }
        self.sweep(&next);
        Ok(PullOutcome::Changed(count))
    }

    /// Fetches what should be on disk beside the current generation and is not, or not as it should be: its policy, and its
    /// indexes. The directories may have lost a file, and keys may have been configured since.
    async fn restore(&self, store: &Store, head: &CatalogHead, document: &Document) -> Result<(), FleetError> {
        // Another process may have seen a newer one since: then the store went back.
        let check = || head.check(&self.spec.name, &self.spec.keys, self.kept.seen()?.as_ref(), SystemTime::now());
        check()?;
        let policy = self.fetch_policy(store, document).await?;
        check()?;
        self.keep_policy(head, policy)?;
        // It may not have been possible to keep it before.
        self.kept.keep_seen(head.seen())?;
        if self.fetch_indexes(store, document).await? {
            self.kept.discard_made_indexes();
        }
        Ok(())
    }

    /// Notes that the store has answered with the generation that is current, perhaps with a new head for it.
    fn asked(&self, tag: Option<String>, head: Option<String>) {
        let mut state = self.state();
        let Some(state) = state.as_mut() else { return };
        let known = || state.kept.as_ref().map(|kept| kept.head.clone()).unwrap_or_default();
        let text = head.unwrap_or_else(known);
        state.kept = Some(self.kept.keep_head(tag, text.clone(), SystemTime::now()));
        if let (Some(current), Ok(head)) = (&state.current, CatalogHead::read(text.as_bytes()))
            && current.head != head
        {
            let same = CurrentGeneration {
                keys: head.signed_by(&self.spec.keys).map(ToString::to_string).collect(),
                head,
                document: current.document.clone(),
                entries: Arc::clone(&current.entries),
                bodies: Arc::clone(&current.bodies),
                shards: current.shards.clone(),
            };
            state.current = Some(Arc::new(same));
        }
    }

    /// Fetches the parts of a generation that are not kept, and assembles it.
    async fn fetch_generation(
        &self,
        store: &Store,
        head: CatalogHead,
        before: Option<&CurrentGeneration>,
    ) -> Result<CurrentGeneration, FleetError> {
        let bytes = document_bytes(store, &head).await?;
        let document = checked_document(&head, &bytes)?;
        self.kept.put_part(&head.signed().document, &bytes);
        let parts = self.fetch_parts(store, &document, before).await?;
        self.fetch_indexes(store, &document).await?;
        let part = |blob: &BlobRef| {
            let fetched = parts.iter().find(|(of, _)| of.digest == blob.digest).map(|(_, bytes)| bytes.clone());
            fetched.or_else(|| self.kept.get_part(blob))
        };
        tokio::task::block_in_place(|| CurrentGeneration::assemble(head, document, &self.spec, before, part))
    }

    /// Fetches parts that are not kept. With a directory to keep them in, they are not held in memory.
    async fn fetch_parts(
        &self,
        store: &Store,
        document: &Document,
        before: Option<&CurrentGeneration>,
    ) -> Result<Vec<(BlobRef, Vec<u8>)>, FleetError> {
        let is_trusted = self.spec.is_trusted();
        let shards = document.shards.iter().flatten();
        let parts = shards.flat_map(|shard| [Some(&shard.entries), shard.terms.as_ref().filter(|_| is_trusted)]);
        // What the generation before has is not read again; what is kept of it is for the next start.
        let is_known = |blob: &BlobRef| {
            before.is_some_and(|before| before.has_shard(blob)) && (!self.kept.keeps() || self.kept.has_part(blob))
        };
        let is_missing = |blob: &&BlobRef| !is_known(blob) && self.kept.get_part(blob).is_none();
        let missing: Vec<&BlobRef> = parts.flatten().filter(is_missing).collect();
        let fetch = |blob: &'_ BlobRef| {
            let blob = blob.clone();
            async move {
                let bytes = store.blob(&blob, MAX_SHARD).await?;
                self.kept.put_part(&blob, &bytes);
                Ok((blob, if self.kept.keeps() { Vec::new() } else { bytes }))
            }
        };
        let fetched: Vec<(BlobRef, Vec<u8>)> =
            stream::iter(missing.into_iter().map(fetch)).buffer_unordered(CONCURRENT).try_collect().await?;
        Ok(fetched.into_iter().filter(|(_, bytes)| !bytes.is_empty()).collect())
    }

    /// Fetches the indexes that are not kept as they should be, if this reader uses them. Returns whether there were some.
    async fn fetch_indexes(&self, store: &Store, document: &Document) -> Result<bool, FleetError> {
        let mut has_fetched = false;
        if !self.spec.is_trusted() || !self.kept.keeps() {
            return Ok(has_fetched);
        }
        for index in [&document.texts, &document.triggers].into_iter().flatten() {
            if !tokio::task::block_in_place(|| self.kept.has_index(index)) {
                let bytes = store.blob(index, MAX_INDEX).await?;
                tokio::task::block_in_place(|| self.kept.put_index(index, &unpack(&bytes, MAX_INDEX)?))?;
                has_fetched = true;
            }
        }
        Ok(has_fetched)
    }

    /// Deletes what a generation does not name.
    fn sweep(&self, next: &CurrentGeneration) {
        let document = &next.document;
        let shards = document.shards.iter().flatten();
        let parts = shards.flat_map(|shard| [Some(&shard.entries), shard.terms.as_ref()]).flatten();
        let parts = parts
            .chain([&next.head.signed().document])
            .chain(&document.policy)
            .map(|blob| blob.digest.to_string())
            .collect();
        let indexes = [&document.texts, &document.triggers].into_iter().flatten();
        let indexes = indexes.map(|blob| blob.digest.to_string()).collect();
        let files: HashSet<&str> = next
            .entries
            .iter()
            .flat_map(|entry| entry.files.iter().flatten())
            .filter_map(|file| file.digest.strip_prefix("sha256:"))
            .collect();
        self.kept.sweep(&parts, &indexes, &files);
    }
}
