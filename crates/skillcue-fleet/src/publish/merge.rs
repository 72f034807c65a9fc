//! Merging the skills of one publisher with a generation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use skillcue::remote::PublishedBody;

use super::{ChangeSet, PolicyChange, PublishReport, Publisher};
use crate::FleetError;
use crate::document::{Document, Shard, ShardRef, shard_count, shard_of, write_entries, write_terms};
use crate::generation::StoredGeneration;
use crate::head::{FORMAT, next_sequence, seconds};
use crate::limits::{MAX_SKILLS, MIN_UNINDEXED};

impl Publisher<'_> {
    /// Returns the document of the next generation, its blobs written. `None`, if nothing changes.
    pub(super) fn merge(
        &self,
        base: Option<&StoredGeneration>,
        name: &str,
        changes: &ChangeSet,
        report: &mut PublishReport,
    ) -> Result<Option<Document>, FleetError> {
        let mut document = match base {
            Some(base) => base.document.clone(),
            None => Document {
                format: FORMAT,
                catalog: name.to_owned(),
                sequence: 0,
                published: 0,
                skills: 0,
                shards: vec![None; shard_count(changes.put.len())],
                texts: None,
                triggers: None,
                policy: None,
            },
        };
        self.shards.retain(&document);
        let budget = self.budget();
        let count = document.shards.len();
        let mut touched: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for (uri, (entry, _)) in &changes.put {
            touched.entry(shard_of(entry.name(), count)).or_default().push(uri);
        }
        for uri in &changes.remove {
            touched.entry(shard_of(name_of(uri), count)).or_default().push(uri);
        }
        for (at, uris) in touched {
            let before = match &document.shards[at] {
                Some(shard) => self.engine.wait(self.shards.read(self.store, shard, &budget))?,
                None => Arc::default(),
            };
            let mut shard = Shard::clone(&before);
            let mut is_changed = false;
            for uri in uris {
                is_changed |= apply(&mut shard, uri, changes, report)?;
            }
            if is_changed {
                let before = document.shards[at].take();
                document.shards[at] = self.write_shard(shard, before.as_ref())?;
            }
        }
        report.policy_changed = self.change_policy(&mut document)?;
        let has_skills = !(report.added.is_empty() && report.changed.is_empty() && report.removed.is_empty());
        let above = self.options.sequence_above;
        if !has_skills && !report.policy_changed && (above == 0 || document.sequence > above) {
            return Ok(None);
        }
        document.skills = document.shards.iter().flatten().map(|shard| shard.skills).sum();
        if document.skills > MAX_SKILLS {
            return Err(FleetError::TooManySkills(MAX_SKILLS));
        }
        document.sequence = next_sequence(document.sequence.max(above))?;
        document.published = seconds(SystemTime::now());
        if document.unindexed() > MIN_UNINDEXED.max(document.skills / 8) {
            self.index(&mut document)?;
        }
        Ok(Some(document))
    }

    /// Gives the document the policy that is to be published. Returns whether it is another one.
    fn change_policy(&self, document: &mut Document) -> Result<bool, FleetError> {
        let policy = match &self.options.policy {
            PolicyChange::Keep => return Ok(false),
            PolicyChange::Set(text) => Some(self.engine.wait(self.store.put_blob(text.clone().into_bytes()))?),
            PolicyChange::Remove => None,
        };
        let is_changed = document.policy != policy;
        document.policy = policy;
        Ok(is_changed)
    }

    /// Writes a shard's blobs; none if it is empty. Those that are as before are not written again.
    pub(super) fn write_shard(&self, shard: Shard, before: Option<&ShardRef>) -> Result<Option<ShardRef>, FleetError> {
        if shard.entries.is_empty() {
            return Ok(None);
        }
        let bodies: Result<Vec<PublishedBody>, FleetError> =
            shard.terms.iter().map(|(uri, body)| body.published(uri)).collect();
        let (entries, terms) = (write_entries(shard.entries.values())?, write_terms(bodies?.iter())?);
        let has_terms = !shard.terms.is_empty();
        let written = self.engine.wait(async {
            let is_same = before.is_some_and(|before| before.entries.digest == skillcue_base::Digest::of(&entries));
            let entries = match before {
                Some(before) if is_same => before.entries.clone(),
                _ => self.store.put_blob(entries).await?,
            };
            let terms = if has_terms { Some(self.store.put_blob(terms).await?) } else { None };
            Ok(ShardRef { skills: shard.entries.len(), entries, terms, unindexed: shard.terms.len() })
        })?;
        let key = (written.entries.digest, written.terms.as_ref().map(|terms| terms.digest));
        self.shards.keep(key, &Arc::new(shard));
        Ok(Some(written))
    }
}

/// Applies one change to its shard. Returns whether it is one.
fn apply(shard: &mut Shard, uri: &str, changes: &ChangeSet, report: &mut PublishReport) -> Result<bool, FleetError> {
    let Some((entry, body)) = changes.put.get(uri) else {
        shard.terms.remove(uri);
        let name = name_of(uri).to_owned();
        let is_there = shard.entries.remove(uri).is_some();
        if is_there {
            report.removed.push(name);
        } else {
            report.refused.push((name, "it is not in the catalog, so it cannot be removed".to_owned()));
        }
        return Ok(is_there);
    };
    // Readers call skills by their names.
    let same_name = |(other, known): (&String, &Arc<skillcue::remote::RemoteEntry>)| {
        (other != uri && known.name() == entry.name() && !changes.remove.contains(other)).then(|| other.clone())
    };
    if let Some(other) = shard.entries.iter().find_map(same_name) {
        return Err(FleetError::Taken { name: entry.name().to_owned(), uri: other });
    }
    match shard.entries.insert(uri.to_owned(), Arc::clone(entry)) {
        Some(before) if *before == **entry => {
            report.unchanged += 1;
            return Ok(false);
        }
        Some(_) => report.changed.push(entry.name().to_owned()),
        None => report.added.push(entry.name().to_owned()),
    }
    shard.terms.insert(uri.to_owned(), body.clone());
    Ok(true)
}

/// Returns the name in a skill's URI.
fn name_of(uri: &str) -> &str {
    uri.strip_suffix("/SKILL.md").and_then(|root| root.rsplit('/').next()).unwrap_or(uri)
}
