//! Reading the skills of a directory, and writing the blobs that the store has not.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt as _, TryStreamExt as _};
use rayon::prelude::*;
use skillcue::remote::{PublishedBody, RemoteEntry, RemoteFile};
use skillcue_catalog::{Discovery, Skill, SkillRoot, Source};
use skillcue_mcp::server::{SkillPackage, package};
use skillcue_select::BodyTerms;
use tokio::sync::mpsc;

use super::{ChangeSet, PublishReport, Publisher};
use crate::FleetError;
use crate::budget::{FileBudget, HeldBytes, UnpackBudget};
use crate::document::shard_of;
use crate::generation::StoredGeneration;
use crate::limits::CONCURRENT;

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
        let reading = SkillReading {
            skills: &skills,
            prefix: self.options.prefix.iter().map(String::as_str).collect(),
            next: AtomicUsize::new(0),
            budget: &self.in_flight,
        };
        self.write_read_skills(&reading, base, &mut changes, report)?;
        if changes.put.is_empty() && changes.remove.is_empty() {
            let why = match report.refused.first() {
                Some((name, why)) => format!("no skill in {} can be published; {name}: {why}", dir.display()),
                None => format!("there is no skill in {}", dir.display()),
            };
            return Err(FleetError::Nothing(why));
        }
        Ok(changes)
    }

    /// Reads skills on several threads, and writes their blobs meanwhile: files that are not yet written wait in memory as far as
    /// the budget goes.
    fn write_read_skills(
        &self,
        reading: &SkillReading<'_>,
        base: Option<&StoredGeneration>,
        changes: &mut ChangeSet,
        report: &mut PublishReport,
    ) -> Result<(), FleetError> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(CONCURRENT);
        let mut refused = BTreeMap::new();
        reading.budget.open();
        let written = std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel(CONCURRENT);
            for _ in 0..threads {
                let sender = sender.clone();
                scope.spawn(move || reading.run(&sender));
            }
            drop(sender);
            let written = self.engine.wait(self.write_skills(receiver, base, changes, &mut refused));
            // The receiver is gone, and so is what was in it; threads that wait for room end.
            reading.budget.close();
            written
        });
        let names = refused.into_iter().map(|(at, why): (usize, String)| (reading.skills[at].name().to_owned(), why));
        report.refused.extend(names);
        tracing::debug!(target: "skillcue::fleet", bytes = reading.budget.most(), "the most bytes of files in memory");
        report.files_written = written?;
        Ok(())
    }

    /// Writes the blobs of skills as they come, several at once.
    async fn write_skills<'b>(
        &self,
        mut receiver: mpsc::Receiver<ReadSkill<'b>>,
        base: Option<&StoredGeneration>,
        changes: &mut ChangeSet,
        refused: &mut BTreeMap<usize, String>,
    ) -> Result<usize, FleetError> {
        let budget = self.budget();
        let mut written: HashSet<String> = HashSet::new();
        let mut waiting: VecDeque<(Vec<u8>, HeldBytes<'b>)> = VecDeque::new();
        let mut writes = FuturesUnordered::new();
        let write = |(bytes, held): (Vec<u8>, HeldBytes<'b>)| async move {
            let done = self.store.put_blob(bytes).await;
            drop(held);
            done.map(drop)
        };
        loop {
            while writes.len() < CONCURRENT
                && let Some(blob) = waiting.pop_front()
            {
                writes.push(write(blob));
            }
            let read = if writes.is_empty() {
                receiver.recv().await
            } else if waiting.is_empty() {
                match select(pin!(receiver.recv()), writes.next()).await {
                    Either::Left((read, _)) => read,
                    Either::Right((done, _)) => {
                        done.transpose()?;
                        continue;
                    }
                }
            } else {
                writes.next().await.transpose()?;
                continue;
            };
            let Some(ReadSkill { at, mut held, content }) = read else { break };
            self.check_time()?;
            let (SkillPackage { entry, contents }, body) = match content {
                Ok(read) => read,
                Err(why) => {
                    refused.insert(at, why);
                    continue;
                }
            };
            let base = base.filter(|_| !self.options.again);
            let known = self.known(base, &entry, &budget).await?;
            let known: HashSet<&str> =
                known.iter().flat_map(|entry| entry.files.iter().flatten()).map(digits).collect();
            for (file, bytes) in entry.files.iter().flatten().zip(contents) {
                if !known.contains(digits(file)) && written.insert(digits(file).to_owned()) {
                    let held = held.split(bytes.len() as u64);
                    waiting.push_back((bytes, held));
                }
            }
            changes.put.insert(entry.uri.clone(), (Arc::new(entry), self.terms.keep(body)?));
        }
        writes.try_for_each(|()| async { Ok(()) }).await?;
        Ok(written.len())
    }

    /// Returns a skill as the generation has it: the blobs of that are there.
    async fn known(
        &self,
        base: Option<&StoredGeneration>,
        entry: &RemoteEntry,
        budget: &UnpackBudget,
    ) -> Result<Option<Arc<RemoteEntry>>, FleetError> {
        let Some(base) = base else { return Ok(None) };
        let shard = &base.document.shards[shard_of(entry.name(), base.document.shards.len())];
        let Some(shard) = shard else { return Ok(None) };
        let shard = self.shards.read(self.store, shard, budget).await?;
        Ok(shard.entries.get(&entry.uri).cloned())
    }

    fn removals(&self) -> std::collections::BTreeSet<String> {
        let prefix: String = self.options.prefix.iter().flat_map(|segment| [segment.as_str(), "/"]).collect();
        self.options.remove.iter().map(|name| format!("skill://{prefix}{name}/SKILL.md")).collect()
    }
}

/// Skills that are read, by several threads.
struct SkillReading<'r> {
    skills: &'r [&'r Skill],
    prefix: Vec<&'r str>,
    /// The place of the next one.
    next: AtomicUsize,
    budget: &'r FileBudget,
}

/// A skill that was read.
struct ReadSkill<'b> {
    /// Its place.
    at: usize,
    /// The bytes of its files.
    held: HeldBytes<'b>,
    /// The files and the terms of the body, or why it cannot be published.
    content: Result<(SkillPackage, PublishedBody), String>,
}

impl<'r> SkillReading<'r> {
    /// Reads skills until there are no more, or none takes them.
    fn run(&self, sender: &mpsc::Sender<ReadSkill<'r>>) {
        loop {
            let Some(mut room) = self.budget.hold() else { return };
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(skill) = self.skills.get(at) else { return };
            let package = package(skill, &self.prefix);
            let bytes = package.iter().flat_map(|package| &package.contents).map(|bytes| bytes.len() as u64).sum();
            let held = room.split(bytes);
            drop(room);
            let content = package.and_then(|package| {
                let body = terms(&package.entry, &package.contents).ok_or("its SKILL.md is not UTF-8 text")?;
                Ok((package, body))
            });
            if sender.blocking_send(ReadSkill { at, held, content }).is_err() {
                return;
            }
        }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use object_store::throttle::{ThrottleConfig, ThrottledStore};

    use super::super::spill::TermsSpill;
    use super::*;
    use crate::publish::PublishOptions;
    use crate::{FleetEngine, Store, inspect};

    /// A store that takes its time, so that files wait in memory.
    fn slow_store() -> Store {
        let config = ThrottleConfig { wait_put_per_call: Duration::from_millis(3), ..ThrottleConfig::default() };
        Store::new(Arc::new(ThrottledStore::new(crate::memory_store(), config)), "memory:///acme")
    }

    #[test]
    fn files_in_memory_stay_within_the_budget() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..60 {
            let skill = dir.path().join(format!("s{number}"));
            std::fs::create_dir(&skill).unwrap();
            let text = format!("---\nname: s{number}\ndescription: Does things.\n---\nBody {number}.\n");
            std::fs::write(skill.join("SKILL.md"), text).unwrap();
            std::fs::write(skill.join("data.bin"), vec![number; 50_000]).unwrap();
        }
        let (engine, store, options) = (FleetEngine::default(), slow_store(), PublishOptions::default());
        let publisher = Publisher {
            in_flight: FileBudget::new(400_000, 120_000),
            terms: TermsSpill::new(100),
            ..Publisher::new(&engine, &store, &options)
        };
        let report = publisher.run(Some(dir.path())).unwrap();
        assert_eq!((report.skills, report.sequence), (60, 1));
        // Sixteen writes at once, of 50,000 bytes each, would be 800,000.
        let most = publisher.in_flight.most();
        assert!(most > 250_000 && most <= 400_000, "{most}");
        let (held, in_file) = publisher.terms.sizes();
        assert!(held <= 100 && in_file > 0, "{held} and {in_file}");
        assert_eq!(inspect(&engine, &store, &[], true).unwrap().verified, 120);
        // Again, with the same budget, as after a collection.
        assert_eq!(publisher.run(Some(dir.path())).unwrap().unchanged, 60);
    }
}
