//! Reading the skills of a directory, and writing the blobs that the store has not.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use rayon::prelude::*;
use skillcue::remote::{PublishedBody, RemoteEntry, RemoteFile};
use skillcue_catalog::{Discovery, Skill, SkillRoot, Source};
use skillcue_mcp::server::{SkillPackage, package};
use skillcue_select::BodyTerms;

use super::{ChangeSet, PublishReport, Publisher};
use crate::FleetError;
use crate::budget::UnpackBudget;
use crate::document::shard_of;
use crate::generation::StoredGeneration;
use crate::limits::CONCURRENT;

/// How many skills are read before their blobs are written.
const BATCH: usize = 256;

impl Publisher<'_> {
    /// Reads the skills below a directory, and writes the blobs of those that the generation has not as they are.
    pub(super) fn upload(
        &self,
        dir: Option<&Path>,
        base: Option<&StoredGeneration>,
        report: &mut PublishReport,
    ) -> Result<ChangeSet, FleetError> {
        let mut changes = ChangeSet { remove: self.removals(), ..ChangeSet::default() };
        let Some(dir) = dir else { return Ok(changes) };
        let catalog = Discovery::new([SkillRoot::required(dir, Source::Inline)]).run();
        report.refused.extend(
            catalog.diagnostics().iter().filter(|found| found.severity == skillcue_format::Severity::Error).map(
                |found| {
                    let place = found
                        .path
                        .as_deref()
                        .map_or_else(|| dir.display().to_string(), |path| path.display().to_string());
                    (place, found.message.to_string())
                },
            ),
        );
        let check = |skill: &&Skill| {
            let refusal = self.options.check.as_ref().and_then(|check| check.refusal(&skill.dir()));
            refusal.map(|why| (skill.name().to_owned(), why))
        };
        let skills: Vec<&Skill> = catalog.skills().collect();
        let refused: Vec<Option<(String, String)>> = skills.par_iter().map(check).collect();
        let skills: Vec<&Skill> =
            skills.into_iter().zip(&refused).filter(|(_, refused)| refused.is_none()).map(|(skill, _)| skill).collect();
        report.refused.extend(refused.into_iter().flatten());
        let prefix: Vec<&str> = self.options.prefix.iter().map(String::as_str).collect();
        let budget = self.budget();
        let mut written: HashSet<String> = HashSet::new();
        for batch in skills.chunks(BATCH) {
            self.check_time()?;
            let packages: Vec<_> = batch.par_iter().map(|skill| package(skill, &prefix)).collect();
            let mut blobs = Vec::new();
            for (skill, package) in batch.iter().zip(packages) {
                let SkillPackage { entry, contents } = match package {
                    Ok(package) => package,
                    Err(why) => {
                        report.refused.push((skill.name().to_owned(), why));
                        continue;
                    }
                };
                let Some(body) = terms(&entry, &contents) else {
                    report.refused.push((skill.name().to_owned(), "its SKILL.md is not UTF-8 text".to_owned()));
                    continue;
                };
                let known = self.known(base, &entry, &budget)?;
                let known: HashSet<&str> =
                    known.iter().flat_map(|entry| entry.files.iter().flatten()).map(digits).collect();
                for (file, bytes) in entry.files.iter().flatten().zip(contents) {
                    if !known.contains(digits(file)) && written.insert(digits(file).to_owned()) {
                        blobs.push(bytes);
                    }
                }
                changes.put.insert(entry.uri.clone(), (Arc::new(entry), body));
            }
            let puts = blobs.into_iter().map(|bytes| self.store.put_blob(bytes));
            self.engine.wait(stream::iter(puts).buffer_unordered(CONCURRENT).try_for_each(|_| async { Ok(()) }))?;
        }
        if changes.put.is_empty() && changes.remove.is_empty() {
            let why = match report.refused.first() {
                Some((name, why)) => format!("no skill in {} can be published; {name}: {why}", dir.display()),
                None => format!("there is no skill in {}", dir.display()),
            };
            return Err(FleetError::Nothing(why));
        }
        Ok(changes)
    }

    /// Returns a skill as the generation has it: the blobs of that are there.
    fn known(
        &self,
        base: Option<&StoredGeneration>,
        entry: &RemoteEntry,
        budget: &UnpackBudget,
    ) -> Result<Option<Arc<RemoteEntry>>, FleetError> {
        let Some(base) = base else { return Ok(None) };
        let shard = &base.document.shards[shard_of(entry.name(), base.document.shards.len())];
        let Some(shard) = shard else { return Ok(None) };
        let shard = self.engine.wait(self.shards.read(self.store, shard, budget))?;
        Ok(shard.entries.get(&entry.uri).cloned())
    }

    fn removals(&self) -> std::collections::BTreeSet<String> {
        let prefix: String = self.options.prefix.iter().flat_map(|segment| [segment.as_str(), "/"]).collect();
        self.options.remove.iter().map(|name| format!("skill://{prefix}{name}/SKILL.md")).collect()
    }
}

fn digits(file: &RemoteFile) -> &str {
    file.digest.strip_prefix("sha256:").unwrap_or(&file.digest)
}

/// Returns the terms of a skill's body.
fn terms(entry: &RemoteEntry, contents: &[Vec<u8>]) -> Option<PublishedBody> {
    let files = entry.files.as_deref()?;
    let at = files.iter().position(|file| file.uri == entry.uri)?;
    let text = std::str::from_utf8(contents.get(at)?).ok()?;
    let terms = BodyTerms::of_body(skillcue::remote::body_of(text));
    Some(PublishedBody { uri: entry.uri.clone(), content: files[at].content_number(), terms })
}
