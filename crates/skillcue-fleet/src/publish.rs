//! Publishing: the skills of a directory become part of the next generation.
//!
//! Blobs come first, then the document, and the head last, by a conditional write: readers see a whole generation or
//! none. A publisher that finds the head moved merges its skills with the newer generation and tries again, so that
//! none loses another's. [`crate::gc`] says why no collection takes a blob from a publish that is under way.

mod merge;
mod package;
mod spill;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use skillcue::remote::RemoteEntry;
use skillcue_catalog::OrgPolicy;

use crate::budget::{FileBudget, UnpackBudget};
use crate::document::{Document, document_path};
use crate::generation::{ShardCache, StoredGeneration};
use crate::head::{CatalogHead, FORMAT, HEAD, SignedHead, expiry_after};
use crate::key::{PublicKey, SigningKey};
use crate::limits::{
    DEFAULT_EXPIRY, LARGEST_READ, MAX_ATTEMPTS, MAX_DOCUMENT, MAX_HEAD, MAX_IN_FLIGHT, MAX_PUBLISH, MAX_TERMS_IN_MEMORY,
};
use crate::memory::{BaseCheck, SeenFile};
use crate::store::WriteOutcome;
use crate::{BlobRef, FleetEngine, FleetError, Store};

pub(crate) use spill::KeptBody;
use spill::TermsSpill;

/// How long a publisher waits at most before it merges again.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// How often the head may fail to be written, each time with the requests that are tried again by themselves.
const MAX_FAILURES: usize = 3;

/// The skills to publish, and how.
#[derive(Debug)]
pub struct PublishOptions {
    /// The catalog's name. Of one that is there, it must be the same; without a name, it is taken from there or from the
    /// address.
    pub name: Option<String>,
    /// The segments before the names of the skills: `team/area`.
    pub prefix: Vec<String>,
    /// Names of skills to take out of the catalog.
    pub remove: Vec<String>,
    /// The key that signs the generation.
    pub key: Option<Arc<SigningKey>>,
    /// Further keys whose generations are built upon, besides that of `key`.
    pub trusted: Vec<PublicKey>,
    /// Whether an unsigned generation may follow a signed one.
    pub unsigned: bool,
    /// How long the generation is valid.
    pub expiry: Duration,
    /// The change to the policy that the catalog carries.
    pub policy: PolicyChange,
    /// The lowest number that the generation to build upon may have.
    pub at_least: u64,
    /// The number above which the next generation is: for a store that was restored or begun anew, whose readers have seen
    /// numbers up to this one. What this machine remembers up to it does not count. 0 for the number after the current one.
    pub sequence_above: u64,
    /// The directory that remembers which generation was seen last: with a key, an older one is not built upon. Without a
    /// directory, nothing is remembered.
    pub data: Option<PathBuf>,
    /// Whether the files of skills that the catalog has as they are are written all the same: the store may have lost them.
    pub again: bool,
    /// Decides about each skill before it is published; the error says why it is left out.
    pub check: Option<Arc<dyn PublishCheck>>,
}

/// Decides which skills may be published.
pub trait PublishCheck: std::fmt::Debug + Send + Sync {
    /// Returns why the skill in a directory may not be published.
    fn refusal(&self, dir: &Path) -> Option<String>;
}

/// A change to the policy that a catalog carries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PolicyChange {
    /// It stays as it is.
    #[default]
    Keep,
    /// This text is the policy from now on.
    Set(String),
    /// The catalog has none any more.
    Remove,
}

impl Default for PublishOptions {
    fn default() -> PublishOptions {
        PublishOptions {
            name: None,
            prefix: Vec::new(),
            remove: Vec::new(),
            key: None,
            trusted: Vec::new(),
            unsigned: false,
            expiry: DEFAULT_EXPIRY,
            policy: PolicyChange::Keep,
            at_least: 0,
            sequence_above: 0,
            data: None,
            again: false,
            check: None,
        }
    }
}

/// The outcome of a publish.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PublishReport {
    /// The catalog's name.
    pub catalog: String,
    /// The number of the generation that is current now.
    pub sequence: u64,
    /// Whether it is a new one.
    pub is_new: bool,
    /// How many skills it has.
    pub skills: usize,
    /// Names of skills that are new in the catalog.
    pub added: Vec<String>,
    /// Names of skills that were there with another content.
    pub changed: Vec<String>,
    /// How many were there as they are.
    pub unchanged: usize,
    /// Names of skills that were taken out.
    pub removed: Vec<String>,
    /// Whether the catalog's policy is another one now.
    pub policy_changed: bool,
    /// Skills that cannot be published, and why.
    pub refused: Vec<(String, String)>,
    /// How many files of skills were written.
    pub files_written: usize,
    /// How often the head had moved meanwhile.
    pub conflicts: usize,
}

/// The skills that one publisher changes.
#[derive(Debug, Default)]
pub(crate) struct ChangeSet {
    /// By URI: the entry and the terms of its body.
    pub(crate) put: BTreeMap<String, (Arc<RemoteEntry>, KeptBody)>,
    /// URIs of skills to take out.
    pub(crate) remove: BTreeSet<String>,
}

/// Publishes the skills below a directory. Not to be called inside an async runtime.
pub fn publish(
    engine: &FleetEngine,
    store: &Store,
    dir: Option<&Path>,
    options: &PublishOptions,
) -> Result<PublishReport, FleetError> {
    check_policy(options)?;
    Publisher::new(engine, store, options).run(dir)
}

/// One publish under way.
pub(crate) struct Publisher<'p> {
    pub(crate) engine: &'p FleetEngine,
    pub(crate) store: &'p Store,
    pub(crate) options: &'p PublishOptions,
    pub(crate) shards: ShardCache,
    base: BaseCheck,
    started: Instant,
    /// The head that was read last.
    last_head: Mutex<Option<String>>,
    /// The files that are in memory.
    in_flight: FileBudget,
    /// The terms of bodies, which are needed until the head is written.
    terms: TermsSpill,
}

impl<'p> Publisher<'p> {
    fn new(engine: &'p FleetEngine, store: &'p Store, options: &'p PublishOptions) -> Publisher<'p> {
        Publisher {
            engine,
            store,
            options,
            shards: ShardCache::default(),
            base: BaseCheck {
                // Without a key, any writer of the store could have made up the numbers.
                seen: options
                    .data
                    .as_ref()
                    .filter(|_| options.key.is_some())
                    .map(|data| SeenFile::of_publisher(data, store.address())),
                at_least: options.at_least,
                above: options.sequence_above,
                name: options.name.clone(),
                accepts_expired: options.key.is_none(),
            },
            started: Instant::now(),
            last_head: Mutex::default(),
            in_flight: FileBudget::new(MAX_IN_FLIGHT, LARGEST_READ),
            terms: TermsSpill::new(MAX_TERMS_IN_MEMORY),
        }
    }

    fn run(&self, dir: Option<&Path>) -> Result<PublishReport, FleetError> {
        let mut conflicts = 0;
        loop {
            match self.attempt(dir, &mut conflicts) {
                Ok(Some(done)) => return Ok(done),
                // A collection has run since the blobs were written: they are looked for again.
                Ok(None) => tracing::debug!(target: "skillcue::fleet", "a collection has run meanwhile"),
                // It may have taken what this publisher was about to read, too; unless the head is as it was.
                Err(error @ FleetError::Missing(_)) => {
                    let before = skillcue_base::lock(&self.last_head).clone();
                    if self.engine.wait(read_head(self.store))?.map(|head| head.text) == before {
                        return Err(error);
                    }
                    conflicts += 1;
                }
                Err(error) => return Err(error),
            }
            if conflicts >= MAX_ATTEMPTS {
                return Err(FleetError::Contended(conflicts));
            }
            self.check_time()?;
        }
    }

    /// Publishes upon the current generation. `None`, if a collection has run meanwhile.
    fn attempt(&self, dir: Option<&Path>, conflicts: &mut usize) -> Result<Option<PublishReport>, FleetError> {
        let base = self.current()?;
        let name = self.name(base.as_ref())?;
        let mut report = PublishReport { catalog: name.clone(), ..PublishReport::default() };
        let changes = self.upload(dir, base.as_ref(), &mut report)?;
        let collected = base.as_ref().map_or(0, |base| base.head.collected);
        self.commit(base, &name, collected, &changes, &report, conflicts)
    }

    /// Reads the current generation, and waits for the end of a collection.
    fn current(&self) -> Result<Option<StoredGeneration>, FleetError> {
        loop {
            let check = |head: &CatalogHead| {
                *skillcue_base::lock(&self.last_head) = Some(head.text.clone());
                self.check_base(head)
            };
            let base = self.engine.wait(StoredGeneration::read(self.store, check))?;
            if base.is_none() {
                self.base.check(None, SystemTime::now())?;
            }
            let left = base.as_ref().and_then(|base| base.head.collection_left(SystemTime::now()));
            let Some(left) = left else { return Ok(base) };
            self.check_time()?;
            std::thread::sleep(left.min(Duration::from_millis(500)));
        }
    }

    /// Checks that a generation may be built upon: with a key, a publisher vouches for all of the next one.
    fn check_base(&self, head: &CatalogHead) -> Result<(), FleetError> {
        match &self.options.key {
            Some(key) => {
                let keys: Vec<PublicKey> = [key.public()].into_iter().chain(self.options.trusted.clone()).collect();
                head.check_signers(&keys)?;
            }
            None if head.signers().next().is_some() && !self.options.unsigned => return Err(FleetError::NoKey),
            None => {}
        }
        self.base.check(Some(head), SystemTime::now())?;
        self.base.keep(head)
    }

    /// Returns how much may be unpacked of the generation to build upon.
    pub(crate) fn budget(&self) -> UnpackBudget {
        UnpackBudget::of_generation(self.options.key.is_some())
    }

    fn name(&self, base: Option<&StoredGeneration>) -> Result<String, FleetError> {
        let there = base.map(|base| base.document.catalog.clone());
        match (&self.options.name, there) {
            (Some(here), Some(there)) if *here != there => Err(FleetError::WrongName { there, here: here.clone() }),
            (_, Some(there)) => Ok(there),
            (Some(here), None) => checked_name(here),
            (None, None) => {
                let last = self.store.address().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                checked_name(last)
            }
        }
    }

    /// Makes changes the next generation, however often others are faster. `None`, if a collection has run since the
    /// blobs were written.
    fn commit(
        &self,
        mut base: Option<StoredGeneration>,
        name: &str,
        collected: u64,
        changes: &ChangeSet,
        report: &PublishReport,
        conflicts: &mut usize,
    ) -> Result<Option<PublishReport>, FleetError> {
        let mut failures = 0;
        loop {
            self.check_time()?;
            let began = Instant::now();
            let mut report = PublishReport { conflicts: *conflicts, ..report.clone() };
            let Some(document) = self.merge(base.as_ref(), name, changes, &mut report)? else {
                report.sequence = base.as_ref().map_or(0, |base| base.head.signed().sequence);
                report.skills = base.as_ref().map_or(0, |base| base.document.skills);
                return Ok(Some(report));
            };
            (report.sequence, report.skills, report.is_new) = (document.sequence, document.skills, true);
            let head = self.head(&document, collected)?;
            let tag = base.as_ref().and_then(|base| base.tag.clone());
            if base.is_some() && tag.is_none() {
                return Err(FleetError::Unsupported("name a version of its head (an ETag)".to_owned()));
            }
            let written = self.engine.wait(async {
                let bytes = document.write()?;
                let path = document_path(document.sequence, &head.signed().document);
                // Another attempt of this publisher may have written the very same.
                self.store.create(&path, bytes).await?;
                self.store.replace(HEAD, head.write()?, tag.as_deref()).await
            });
            let failure = match written {
                Ok(WriteOutcome::Written) => {
                    self.base.keep(&head)?;
                    return Ok(Some(report));
                }
                Ok(WriteOutcome::Refused) => None,
                // The store may have taken the head all the same.
                Err(
                    error @ (FleetError::Slow { .. } | FleetError::SlowUpload { .. } | FleetError::Unreachable { .. }),
                ) => Some(error),
                Err(error) => return Err(error),
            };
            base = self.current()?;
            if base.as_ref().is_some_and(|now| now.head.text == head.text) {
                return Ok(Some(report));
            }
            if let Some(error) = failure {
                failures += 1;
                if failures >= MAX_FAILURES {
                    return Err(error);
                }
                tracing::debug!(target: "skillcue::fleet", "the head was not written, and is tried again");
            }
            if base.as_ref().map_or(0, |base| base.head.collected) != collected {
                return Ok(None);
            }
            *conflicts += 1;
            if *conflicts >= MAX_ATTEMPTS {
                return Err(FleetError::Contended(*conflicts));
            }
            std::thread::sleep(pause(*conflicts, began.elapsed()));
        }
    }

    fn head(&self, document: &Document, collected: u64) -> Result<CatalogHead, FleetError> {
        let bytes = document.write()?;
        if bytes.len() as u64 > MAX_DOCUMENT {
            return Err(FleetError::TooLarge { what: "the catalog's document".to_owned(), max: MAX_DOCUMENT });
        }
        let now = SystemTime::now();
        let signed = SignedHead {
            format: FORMAT,
            catalog: document.catalog.clone(),
            sequence: document.sequence,
            published: document.published,
            expires: expiry_after(now, self.options.expiry),
            document: BlobRef { digest: skillcue_base::Digest::of(&bytes), size: bytes.len() as u64 },
        };
        let mut head = CatalogHead::new(signed, collected)?;
        if let Some(key) = &self.options.key {
            head.sign(key);
        }
        Ok(head)
    }

    /// Fails when the publish takes longer than collections wait.
    pub(crate) fn check_time(&self) -> Result<(), FleetError> {
        if self.started.elapsed() < MAX_PUBLISH {
            return Ok(());
        }
        Err(FleetError::Slow { what: "what publishing needs".to_owned(), seconds: MAX_PUBLISH.as_secs() })
    }
}

/// Checks that the policy to publish can be used, and will be signed: readers apply no other.
fn check_policy(options: &PublishOptions) -> Result<(), FleetError> {
    if options.policy == PolicyChange::Keep {
        return Ok(());
    }
    if options.key.is_none() {
        return Err(FleetError::Policy("of a catalog must be signed, and no key was given".to_owned()));
    }
    let PolicyChange::Set(text) = &options.policy else { return Ok(()) };
    OrgPolicy::parse(text.as_bytes(), "policy")
        .map(drop)
        .map_err(|error| FleetError::Policy(format!("cannot be used: {error}")))
}

/// Returns the head; none if there is none.
async fn read_head(store: &Store) -> Result<Option<CatalogHead>, FleetError> {
    match store.get(HEAD, MAX_HEAD).await {
        Err(FleetError::Missing(_)) => Ok(None),
        fetched => CatalogHead::read(&fetched?.bytes).map(Some),
    }
}

/// Returns the pause before the next attempt: random, so that publishers that met once do not meet again, and longer
/// where attempts take longer.
pub(crate) fn pause(attempts: usize, attempt: Duration) -> Duration {
    let most = attempt.max(Duration::from_millis(5)).saturating_mul(1 << attempts.min(3)).min(MAX_PAUSE);
    most.mul_f64(random_share())
}

/// Returns a random number from 0 to 1.
pub(crate) fn random_share() -> f64 {
    let number = getrandom::u32().unwrap_or(u32::MAX / 2);
    f64::from(number) / f64::from(u32::MAX)
}

/// Returns a catalog's name, if it can be one: the first half of its skills' names.
pub(crate) fn checked_name(name: &str) -> Result<String, FleetError> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    if (1..=64).contains(&name.len()) && name.bytes().all(is_plain) {
        return Ok(name.to_owned());
    }
    let name = skillcue_base::Shown(name).within(80).to_string();
    Err(FleetError::Name(name))
}
