//! One configured catalog as a source: its last good generation, refreshed when it is asked to.

mod files;
mod policy;
mod poll;
mod refresh;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use rayon::prelude::*;
use skillcue::consent::{ConsentGate, Question, Subject};
use skillcue::remote::{PublishedBody, PublishedIndex, Remote, RemoteEntry, RemoteError};
use skillcue_base::{Digest, SingleFlight, lock};
use skillcue_catalog::{OrgPolicy, SkillOrigin, Source};
use skillcue_mcp::host::door::{LoadPermission, content_id};

use poll::PollSchedule;
pub use refresh::PullOutcome;

use crate::budget::UnpackBudget;
use crate::document::{Document, ReadEntries, read_entries, read_terms};
use crate::generation::checked_document;
use crate::kept::{KeptCatalog, KeptFailure, KeptHead};
use crate::{Bandwidth, CatalogHead, CatalogSpec, FleetEngine, FleetError, Store};

/// One catalog and its state.
#[derive(Debug)]
pub struct CatalogSource {
    pub(crate) spec: CatalogSpec,
    pub(crate) identity: String,
    pub(crate) kept: KeptCatalog,
    pub(crate) engine: Arc<FleetEngine>,
    consent: Arc<dyn ConsentGate>,
    state: Mutex<Option<SourceState>>,
    store: Mutex<Option<Store>>,
    /// Files that are being read, so that each is fetched once for all callers.
    reads: SingleFlight<String, Result<Arc<Vec<u8>>, RemoteError>>,
    /// The policy of the last generation that was fetched, where there is no directory to keep it in.
    unkept_policy: Mutex<Option<OrgPolicy>>,
    schedule: PollSchedule,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct SourceState {
    pub(crate) current: Option<Arc<CurrentGeneration>>,
    pub(crate) kept: Option<KeptHead>,
    pub(crate) failure: Option<KeptFailure>,
}

/// The entries of one shard, and how many bytes they were unpacked.
type ShardEntries = Arc<ReadEntries>;

/// The generation whose skills are served.
#[derive(Debug)]
pub(crate) struct CurrentGeneration {
    pub(crate) head: CatalogHead,
    pub(crate) document: Document,
    pub(crate) entries: Arc<[Arc<RemoteEntry>]>,
    bodies: Arc<Vec<PublishedBody>>,
    /// The entries by the digests of their shards: a next generation takes over what it has, too.
    shards: HashMap<Digest, ShardEntries>,
    /// The keys of the reader that have signed it.
    pub(crate) keys: Vec<String>,
}

impl CurrentGeneration {
    /// Returns whether the entries of a shard are here, verified when they were read.
    pub(crate) fn has_shard(&self, entries: &crate::BlobRef) -> bool {
        self.shards.contains_key(&entries.digest)
    }

    /// Assembles a generation of its parts, which `part` returns verified. Shards that the generation before has, too,
    /// are taken over.
    pub(crate) fn assemble(
        head: CatalogHead,
        document: Document,
        spec: &CatalogSpec,
        before: Option<&CurrentGeneration>,
        part: impl Fn(&crate::BlobRef) -> Option<Vec<u8>> + Sync,
    ) -> Result<CurrentGeneration, FleetError> {
        let missing = |blob: &crate::BlobRef| FleetError::Missing(format!("part {}", blob.digest));
        let budget = UnpackBudget::of_generation(!spec.keys.is_empty());
        let read = |shard: &crate::ShardRef| -> Result<_, FleetError> {
            let known = before.and_then(|before| before.shards.get(&shard.entries.digest)).map(Arc::clone);
            let entries = if let Some(known) = known {
                // It is in memory, whichever generation brought it.
                budget.take(known.raw)?;
                known
            } else {
                let bytes = part(&shard.entries).ok_or_else(|| missing(&shard.entries))?;
                Arc::new(read_entries(&bytes, shard.skills, &budget)?)
            };
            let terms = match shard.terms.as_ref().filter(|_| spec.is_trusted()) {
                Some(terms) => read_terms(&part(terms).ok_or_else(|| missing(terms))?, shard.unindexed, &budget)?,
                None => Vec::new(),
            };
            Ok((shard.entries.digest, entries, terms))
        };
        let shards: Vec<&crate::ShardRef> = document.shards.iter().flatten().collect();
        let read = shards.into_par_iter().map(read).collect::<Result<Vec<_>, FleetError>>()?;
        let (mut entries, mut bodies) = (Vec::with_capacity(document.skills), Vec::new());
        let mut of_shards = HashMap::with_capacity(read.len());
        for (digest, shard, terms) in read {
            entries.extend(shard.entries.iter().cloned());
            bodies.extend(terms);
            of_shards.insert(digest, shard);
        }
        if entries.len() != document.skills {
            let why = format!("its shards have {} skills, it says {}", entries.len(), document.skills);
            return Err(FleetError::Invalid { what: "the catalog's document".to_owned(), why });
        }
        entries.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
        if let Some(twice) = entries.windows(2).find(|pair| pair[0].uri == pair[1].uri) {
            let why = format!("{} is in it twice", skillcue_base::Shown(&twice[0].uri));
            return Err(FleetError::Invalid { what: "the catalog".to_owned(), why });
        }
        let keys = head.signed_by(&spec.keys).map(ToString::to_string).collect();
        let (entries, bodies) = (entries.into(), Arc::new(bodies));
        Ok(CurrentGeneration { head, document, entries, bodies, shards: of_shards, keys })
    }

    /// Returns the entry with a URI.
    pub(crate) fn entry(&self, uri: &str) -> Option<&Arc<RemoteEntry>> {
        self.entries.binary_search_by(|entry| entry.uri.as_str().cmp(uri)).ok().map(|at| &self.entries[at])
    }
}

impl CatalogSource {
    pub(crate) fn new(
        spec: CatalogSpec,
        kept: KeptCatalog,
        engine: Arc<FleetEngine>,
        consent: Arc<dyn ConsentGate>,
    ) -> CatalogSource {
        CatalogSource {
            identity: spec.identity(),
            schedule: PollSchedule::new(spec.poll),
            spec,
            kept,
            engine,
            consent,
            state: Mutex::new(None),
            store: Mutex::new(None),
            reads: SingleFlight::default(),
            unkept_policy: Mutex::default(),
        }
    }

    /// Uses a store that is open already, in place of the one at the address.
    pub(crate) fn use_store(&self, store: Store) {
        *lock(&self.store) = Some(store);
    }

    /// Limits the bytes a second of its store, in place of the limit that is configured.
    pub(crate) fn use_bandwidth(&self, rate: Bandwidth) -> Result<(), FleetError> {
        self.use_store(self.store()?.with_bandwidth(rate));
        Ok(())
    }

    pub(crate) fn store(&self) -> Result<Store, FleetError> {
        let mut store = lock(&self.store);
        match &*store {
            Some(store) => Ok(store.clone()),
            None => Ok(store.insert(self.spec.open()?).clone()),
        }
    }

    /// Returns the state, read from disk the first time.
    pub(crate) fn state(&self) -> MutexGuard<'_, Option<SourceState>> {
        let mut state = lock(&self.state);
        if state.is_none() {
            let kept = self.kept.head();
            let current = kept.as_ref().and_then(|kept| match self.start_offline(kept) {
                Ok(current) => Some(Arc::new(current)),
                Err(error) => {
                    tracing::debug!(target: "skillcue::fleet", catalog = self.spec.name, "the kept generation: {error}");
                    None
                }
            });
            let kept = kept.filter(|_| current.is_some());
            *state = Some(SourceState { current, kept, failure: self.kept.failure() });
        }
        state
    }

    /// Assembles the last good generation. It is checked as if it came from the store, but for its age: a machine that
    /// was offline for long still has its skills, and says how old they are.
    fn start_offline(&self, kept: &KeptHead) -> Result<CurrentGeneration, FleetError> {
        let head = CatalogHead::read(kept.head.as_bytes())?;
        let missing = || FleetError::Missing("kept part".to_owned());
        head.check_origin(&self.spec.name, &self.spec.keys, self.kept.seen()?.as_ref())?;
        let bytes = self.kept.get_part(&head.signed().document).ok_or_else(missing)?;
        let document = checked_document(&head, &bytes)?;
        CurrentGeneration::assemble(head, document, &self.spec, None, |blob| self.kept.get_part(blob))
    }

    /// Returns how many skills the kept generation has, without reading any.
    pub(crate) fn kept_skills(&self) -> Option<usize> {
        if let Some(Some(current)) = lock(&self.state).as_ref().map(|state| &state.current) {
            return Some(current.document.skills);
        }
        let head = CatalogHead::read(self.kept.head()?.head.as_bytes()).ok()?;
        let bytes = self.kept.get_part(&head.signed().document)?;
        checked_document(&head, &bytes).ok().map(|document| document.skills)
    }

    pub(crate) fn current(&self) -> Option<Arc<CurrentGeneration>> {
        self.state().as_ref().and_then(|state| state.current.clone())
    }

    /// Returns whether the store should be asked again.
    pub(crate) fn is_stale(&self, now: SystemTime) -> bool {
        self.due_in(now).is_zero()
    }

    /// Returns how long it is until the store should be asked again.
    pub(crate) fn due_in(&self, now: SystemTime) -> Duration {
        let state = self.state();
        let Some(state) = state.as_ref() else { return Duration::ZERO };
        let asked = state.kept.as_ref().and_then(KeptHead::asked);
        self.schedule.due_in(now, asked, state.failure.as_ref().and_then(KeptFailure::when))
    }

    fn subject(&self, entry: &RemoteEntry) -> Subject {
        Subject::RemoteSkill {
            label: self.spec.name.clone(),
            server: self.identity.clone(),
            uri: entry.uri.clone(),
            name: entry.name().to_owned(),
        }
    }

    /// Returns the question whether a skill may be loaded with exactly this content.
    pub(crate) fn question(&self, entry: &RemoteEntry) -> Option<Question> {
        Some(Question::new(self.subject(entry), content_id(entry)?))
    }

    /// Returns whether an entry may be loaded: the user trusts what the keys sign, or a person has allowed its content;
    /// and it is in the generation that is current.
    fn permission(&self, entry: &RemoteEntry) -> LoadPermission {
        let current = self.current();
        if let Some(now) = current.as_ref().and_then(|current| current.entry(&entry.uri))
            && **now != *entry
            && content_id(now) != content_id(entry)
        {
            return LoadPermission::Changed;
        }
        match LoadPermission::of(&*self.consent, self.subject(entry), entry) {
            // A person's refusal counts, whatever key has signed it.
            LoadPermission::Denied => LoadPermission::Denied,
            _ if self.spec.is_trusted() => LoadPermission::Allowed,
            permission => permission,
        }
    }
}

impl Remote for CatalogSource {
    fn label(&self) -> &str {
        &self.spec.name
    }

    fn entries(&self) -> Arc<[Arc<RemoteEntry>]> {
        self.current().map_or_else(|| Arc::from([]), |current| Arc::clone(&current.entries))
    }

    fn is_allowed(&self, entry: &RemoteEntry) -> bool {
        self.permission(entry) == LoadPermission::Allowed
    }

    fn is_refused(&self, entry: &RemoteEntry) -> bool {
        LoadPermission::of(&*self.consent, self.subject(entry), entry) == LoadPermission::Denied
    }

    fn is_trusted(&self) -> bool {
        self.spec.is_trusted()
    }

    fn source(&self) -> Source {
        Source::Catalog
    }

    fn precedence(&self) -> u32 {
        self.spec.precedence
    }

    fn origin(&self) -> Option<SkillOrigin> {
        let keys = self.current().map(|current| current.keys.clone()).unwrap_or_default();
        Some(SkillOrigin { source: None, address: self.identity.clone(), keys })
    }

    fn policy(&self) -> OrgPolicy {
        self.published_policy()
    }

    fn is_known(&self) -> bool {
        self.current().is_some()
    }

    fn published_index(&self) -> PublishedIndex {
        let Some(current) = self.current().filter(|_| self.spec.is_trusted()) else { return PublishedIndex::default() };
        let read = |blob: &Option<crate::BlobRef>| blob.as_ref().and_then(|blob| self.kept.read_index(blob));
        let (texts, triggers) = (read(&current.document.texts), read(&current.document.triggers));
        PublishedIndex {
            texts: texts.map(|(read, _)| read),
            triggers_size: triggers.as_ref().map_or(0, |(_, size)| *size),
            triggers: triggers.map(|(read, _)| read),
            bodies: Arc::clone(&current.bodies),
        }
    }

    fn read(&self, entry: &RemoteEntry, path: &str) -> Result<Vec<u8>, RemoteError> {
        self.read_file(entry, path)
    }
}
