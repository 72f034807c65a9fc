//! The configured catalogs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use skillcue::consent::{ConsentGate, ConsentStore, Question};
use skillcue::remote::{Remote, RemoteEntry};
use skillcue_catalog::{OrgPolicy, kept_catalog_name};
use skillcue_format::{Diagnostic, Severity};

use crate::kept::{KeptCatalog, KeptFailure, KeptHead};
use crate::source::{CatalogSource, PullOutcome};
use crate::{Bandwidth, CatalogSpec, FleetEngine, FleetError, Store};

/// Options of [`Catalogs`].
#[derive(Debug, Clone)]
pub struct CatalogsOptions {
    /// The directory for what can be fetched again. It goes to `catalogs/` below it. Without one, nothing is kept.
    pub cache: Option<PathBuf>,
    /// The directory for what must outlive the cache: the numbers of the generations that were seen.
    pub data: Option<PathBuf>,
    /// Answers whether a skill may be loaded.
    pub consent: Arc<dyn ConsentGate>,
}

impl Default for CatalogsOptions {
    /// Returns options that keep nothing, and allow nothing that is not signed.
    fn default() -> CatalogsOptions {
        CatalogsOptions { cache: None, data: None, consent: Arc::new(ConsentStore::default()) }
    }
}

/// The configured catalogs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Catalogs {
    sources: Vec<Arc<CatalogSource>>,
    refused: Vec<String>,
}

/// The result of asking for one catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogRefresh {
    /// The catalog's name.
    pub name: String,
    /// The outcome, or why it failed.
    pub outcome: Result<PullOutcome, FleetError>,
}

/// The status of one catalog, as far as is known without asking its store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogStatus {
    /// Its name.
    pub name: String,
    /// Its address.
    pub url: String,
    /// How many skills its last good generation has.
    pub skills: usize,
    /// The number of that generation.
    pub sequence: Option<u64>,
    /// When it expires, or did.
    pub expires: Option<String>,
    /// Whether it has expired.
    pub expired: bool,
    /// Those of the configured keys that have signed it, verified.
    pub signers: Vec<String>,
    /// Whether its skills may be loaded without asking a person.
    pub trusted: bool,
    /// Whether it carries a policy.
    pub has_policy: bool,
    /// Whether that policy applies here, because one of the configured keys has signed it.
    pub policy_applies: bool,
    /// When the store was last asked.
    pub asked: Option<SystemTime>,
    /// Whether it should be asked again.
    pub stale: bool,
    /// Why the last generation could not be had or was refused, if so.
    pub failure: Option<String>,
    /// The next step after that, if there is one.
    pub help: Option<String>,
}

impl Catalogs {
    /// Takes the configured catalogs. Of two with one name the first counts. No store is asked.
    pub fn new(specs: impl IntoIterator<Item = CatalogSpec>, options: &CatalogsOptions) -> Catalogs {
        let engine = Arc::new(FleetEngine::default());
        let (mut sources, mut refused): (Vec<Arc<CatalogSource>>, _) = (Vec::new(), Vec::new());
        for spec in specs {
            if sources.iter().any(|source| source.spec.name == spec.name) {
                refused.push(format!("{}: configured twice; the first counts", spec.name));
                continue;
            }
            let kept = KeptCatalog::new(options.cache.as_deref(), options.data.as_deref(), &spec);
            let source = CatalogSource::new(spec, kept, Arc::clone(&engine), Arc::clone(&options.consent));
            sources.push(Arc::new(source));
        }
        Catalogs { sources, refused }
    }

    /// Uses a store that is open already for the catalog of a name: for tests and embedders.
    #[must_use]
    pub fn with_store(self, name: &str, store: Store) -> Catalogs {
        if let Some(source) = self.source(name) {
            source.use_store(store);
        }
        self
    }

    /// Limits the bytes a second of each catalog, in place of the limits that are configured. A store that cannot be
    /// opened is left out: asking it reports why.
    pub fn use_bandwidth(&self, rate: Bandwidth) {
        for source in &self.sources {
            if let Err(error) = source.use_bandwidth(rate) {
                tracing::debug!(target: "skillcue::fleet", catalog = source.spec.name, "{error}");
            }
        }
    }

    /// Returns the catalogs as the other crates use them.
    pub fn remotes(&self) -> Vec<Arc<dyn Remote>> {
        self.sources.iter().map(|source| -> Arc<dyn Remote> { Arc::<CatalogSource>::clone(source) }).collect()
    }

    /// Like [`Catalogs::remotes`], for those only that are kept, in order, as long as they have at most `max_skills`
    /// together: for a process that answers once, and has no time to read more.
    pub fn kept_remotes(&self, max_skills: usize) -> Vec<Arc<dyn Remote>> {
        let mut left = max_skills;
        let mut remotes: Vec<Arc<dyn Remote>> = Vec::new();
        for source in &self.sources {
            if let Some(rest) = source.kept_skills().and_then(|skills| left.checked_sub(skills)) {
                left = rest;
                remotes.push(Arc::<CatalogSource>::clone(source));
            }
        }
        remotes
    }

    /// Returns whether every catalog has a generation to start with.
    pub fn have_generations(&self) -> bool {
        self.sources.iter().all(|source| source.current().is_some())
    }

    /// Asks all stores for newer generations. One that fails keeps what it had.
    pub fn refresh(&self, deadline: Duration) -> Vec<CatalogRefresh> {
        self.refresh_where(deadline, |_| true)
    }

    /// Like [`Catalogs::refresh`], for those with these names only; for all without any.
    pub fn refresh_only(&self, names: &[String], deadline: Duration) -> Vec<CatalogRefresh> {
        let is_meant = |name: &String| names.is_empty() || names.contains(name);
        let mut refreshed = self.refresh_where(deadline, |source| is_meant(&source.spec.name));
        refreshed.retain(|refreshed| is_meant(&refreshed.name));
        refreshed
    }

    /// Like [`Catalogs::refresh`], for those only that were not asked lately. One that has just failed is not asked
    /// again for a minute, so that it does not cost every command its time limit.
    pub fn refresh_stale(&self, deadline: Duration) -> Vec<CatalogRefresh> {
        let now = SystemTime::now();
        self.refresh_where(deadline, |source| source.is_stale(now))
    }

    /// Returns how long it is until [`Catalogs::refresh_stale`] asks one of the stores; `None` if there is none.
    pub fn due_in(&self) -> Option<Duration> {
        let now = SystemTime::now();
        self.sources.iter().map(|source| source.due_in(now)).min()
    }

    fn refresh_where(&self, deadline: Duration, is_asked: impl Fn(&CatalogSource) -> bool) -> Vec<CatalogRefresh> {
        let (asked, others): (Vec<_>, Vec<_>) = self.sources.iter().partition(|source| is_asked(source));
        let ask = |source: &Arc<CatalogSource>| {
            let of = Arc::clone(source);
            let outcome = source.engine.run("the catalog", deadline, async move { of.refresh().await });
            if let Err(error @ FleetError::Slow { .. }) = &outcome {
                source.failed(error);
            }
            CatalogRefresh { name: source.spec.name.clone(), outcome }
        };
        // All at the same time: each has the whole deadline.
        let mut refreshed: Vec<CatalogRefresh> = std::thread::scope(|scope| {
            let threads: Vec<_> = asked.iter().map(|source| scope.spawn(|| ask(source))).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        refreshed.extend(others.into_iter().map(|source| {
            let count = source.entries().len();
            CatalogRefresh { name: source.spec.name.clone(), outcome: Ok(PullOutcome::Fresh(count)) }
        }));
        refreshed
    }

    /// Returns the policies that the catalogs carry, all of which must agree. No skill of theirs is read for it.
    pub fn policy(&self) -> OrgPolicy {
        let policies = self.sources.iter().map(|source| source.published_policy());
        policies.fold(OrgPolicy::default(), OrgPolicy::and)
    }

    /// Returns the status of the catalogs, as far as is known without asking their stores.
    pub fn status(&self) -> Vec<CatalogStatus> {
        let now = SystemTime::now();
        let status = |source: &Arc<CatalogSource>| {
            let stale = source.is_stale(now);
            let state = source.state().clone().unwrap_or_default();
            let head = state.current.as_ref().map(|current| &current.head);
            CatalogStatus {
                name: source.spec.name.clone(),
                url: source.identity.clone(),
                skills: state.current.as_ref().map_or(0, |current| current.entries.len()),
                sequence: head.map(|head| head.signed().sequence),
                expires: head.map(crate::CatalogHead::expiry),
                expired: head.is_some_and(|head| head.is_expired(now)),
                signers: state.current.as_ref().map(|current| current.keys.clone()).unwrap_or_default(),
                trusted: source.spec.is_trusted(),
                has_policy: state.current.as_ref().is_some_and(|current| current.document.policy.is_some()),
                policy_applies: !source.published_policy().is_empty(),
                asked: state.kept.as_ref().and_then(KeptHead::asked),
                stale,
                failure: state.failure.as_ref().map(|failure: &KeptFailure| failure.message.clone()),
                help: state.failure.as_ref().and_then(|failure| failure.hint.clone()),
            }
        };
        self.sources.iter().map(status).collect()
    }

    /// Returns the catalogs that have expired and are still in use, one line each.
    pub fn expiries(&self) -> Vec<Diagnostic> {
        self.status().iter().filter_map(expiry).collect()
    }

    /// Returns what is wrong with the catalogs, one line each.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let named = |message: String, help: &str| {
            Diagnostic::named("catalog", Severity::Warning, message).with_help(help.to_owned())
        };
        let mut found: Vec<Diagnostic> = self
            .refused
            .iter()
            .map(|message| named(message.clone(), "give one of them another name in skillcue.toml"))
            .collect();
        for status in self.status() {
            let name = &status.name;
            if let Some(failure) = &status.failure {
                let kept = status.sequence.map_or_else(
                    || "it has no skills until then".to_owned(),
                    |sequence| format!("generation {sequence} stays in use"),
                );
                found.push(named(
                    format!("the catalog {name:?}: {failure}; {kept}"),
                    status.help.as_deref().unwrap_or("the status of catalogs says more"),
                ));
            }
            // A store that offers nothing newer has failed with the same words.
            found.extend(expiry(&status).filter(|_| !status.failure.as_deref().is_some_and(is_expiry)));
            if status.has_policy && !status.policy_applies {
                // Without a key, it has no signer here; with one, a generation that no key has signed is refused.
                let (why, help) = if status.signers.is_empty() {
                    ("no key is configured for it", "add the publisher's public key to its `keys` in skillcue.toml")
                } else {
                    (
                        "it is not on this machine, or not signed by a key that is configured now",
                        "a pull of the catalog brings it",
                    )
                };
                found.push(named(format!("the policy of the catalog {name:?} does not apply: {why}"), help));
            }
        }
        found
    }

    /// Returns the question whether a skill may be loaded with exactly the content that the entry lists; none if there
    /// is no such catalog.
    pub fn question(&self, name: &str, entry: &RemoteEntry) -> Option<Question> {
        self.source(name)?.question(entry)
    }

    /// Deletes what is kept of catalogs that are not configured here and were not used for 90 days.
    pub fn prune(&self, options: &CatalogsOptions) {
        let Some(cache) = &options.cache else { return };
        let is_configured = |kept: &str| {
            self.sources.iter().any(|source| kept_catalog_name(&source.spec.name, &source.spec.url) == kept)
        };
        crate::kept::prune(cache, is_configured, SystemTime::now());
    }

    pub(crate) fn source(&self, name: &str) -> Option<&Arc<CatalogSource>> {
        self.sources.iter().find(|source| source.spec.name == name)
    }
}

/// Returns the line about a catalog that has expired.
fn expiry(status: &CatalogStatus) -> Option<Diagnostic> {
    let expires = status.expires.as_deref().filter(|_| status.expired)?;
    let message = format!("the catalog {:?} expired on {expires}; its last generation stays in use", status.name);
    let help = "ask its publisher to renew it";
    Some(Diagnostic::named("catalog", Severity::Warning, message).with_help(help))
}

/// Returns whether a failure is that the store offers a head which has expired.
fn is_expiry(failure: &str) -> bool {
    failure.starts_with("the catalog expired on ")
}
