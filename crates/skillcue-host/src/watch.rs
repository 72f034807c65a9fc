//! Watching: the disk, and what the configured servers and catalogs list.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skillcue::watch::{WatchEvent, WatchOptions, WatchState, Watching};
use skillcue::{Changes, Skillcue};
use skillcue_base::{lock, os_message};
use skillcue_mcp::host::{McpHost as Servers, RefreshOutcome};

use crate::error::HostError;
use crate::host::Host;
use crate::sentence::embed;

/// The interval after which servers and catalogs are asked again for their skills, if their own intervals have passed.
const ASK_INTERVAL: Duration = Duration::from_mins(1);

/// The time limit for servers: no answer waits for them.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The time limit for a newer generation of a catalog, which may be large.
#[cfg(feature = "fleet")]
const MAX_CATALOG_WAIT: Duration = Duration::from_mins(10);

/// With more skills than this, and nowhere to remember what was read, bodies are not read ahead.
const MAX_READ_AHEAD: usize = 10_000;

/// Watches as long as it is not dropped: [`Host::watch`].
#[derive(Debug)]
#[must_use = "dropping it ends the watching"]
pub struct HostWatch {
    disk: Watching,
    /// The thread that asks servers ends when this is dropped.
    _servers: Option<Sender<()>>,
}

impl HostWatch {
    /// Returns how far the watching of the disk is.
    pub fn state(&self) -> WatchState {
        self.disk.state()
    }
}

impl Host {
    /// Reports what changes, on disk and in the lists of the configured servers, which are asked at once and then every
    /// minute. The skills are refreshed already when `on_change` is called, one call at a time, on threads of its own.
    ///
    /// ```
    /// use skillcue::watch::{WatchEvent, WatchOptions};
    /// use skillcue_host::{Environment, Host, HostOverrides};
    ///
    /// # let home = tempfile::tempdir()?;
    /// # let (cwd, variables) = (None, vec![("HOME".into(), home.path().into())]);
    /// let host = Host::open(Environment::new(cwd, variables)?, HostOverrides::default());
    /// let watch = host.watch(WatchOptions::default(), |event| {
    ///     if let WatchEvent::Changed(changes) = event {
    ///         println!("{changes:?}");
    ///     }
    /// })?;
    /// drop(watch);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn watch(
        &self,
        options: WatchOptions,
        on_change: impl Fn(&WatchEvent) + Send + 'static,
    ) -> Result<HostWatch, HostError> {
        let skills = self.skills()?;
        let on_change = Arc::new(Mutex::new(on_change));
        let remotes = RemoteAsker::of(self)?;
        let servers = match remotes {
            Some(servers) => {
                let (stop, stopped) = mpsc::channel::<()>();
                let (skills, on_change) = (Arc::clone(skills), Arc::clone(&on_change));
                let ask = move || {
                    loop {
                        if let Some(changes) = ask(&servers, &skills) {
                            lock(&on_change)(&WatchEvent::Changed(changes));
                        }
                        if stopped.recv_timeout(ASK_INTERVAL) != Err(RecvTimeoutError::Timeout) {
                            return;
                        }
                    }
                };
                start("skillcue-servers", ask)?;
                Some(stop)
            }
            None => None,
        };
        let disk = skills.watch(options, move |event| lock(&on_change)(event));
        Ok(HostWatch { disk, _servers: servers })
    }

    /// Makes in the background what the first search would wait for: the indexes, and the terms of bodies if they can
    /// be remembered or there are few; then the vectors of skills, as [`embed_ahead`](Host::embed_ahead) does.
    pub fn read_ahead(&self) -> Result<(), HostError> {
        let is_remembered = self.settings()?.cache.is_some();
        let is_embedding = self.embeds_ahead(self.settings()?.disclose.mode.unwrap_or_default())?;
        let skills = Arc::clone(self.skills()?);
        start("skillcue-ahead", move || {
            skills.prepare();
            if is_remembered || skills.catalog().len() <= MAX_READ_AHEAD {
                skills.index_bodies();
            }
            if is_embedding {
                embed(&skills);
            }
        })
    }
}

/// The configured servers and catalogs.
struct RemoteAsker {
    servers: Option<Servers>,
    #[cfg(feature = "fleet")]
    catalogs: Option<skillcue_fleet::Catalogs>,
}

impl RemoteAsker {
    /// Returns them, if there are any.
    fn of(host: &Host) -> Result<Option<RemoteAsker>, HostError> {
        let servers = host.servers()?.cloned();
        #[cfg(feature = "fleet")]
        let catalogs = host.catalogs()?.cloned();
        #[cfg(feature = "fleet")]
        let is_empty = servers.is_none() && catalogs.is_none();
        #[cfg(not(feature = "fleet"))]
        let is_empty = servers.is_none();
        let asker = RemoteAsker {
            servers,
            #[cfg(feature = "fleet")]
            catalogs,
        };
        Ok((!is_empty).then_some(asker))
    }

    /// Asks catalogs that were not asked lately. Returns whether one has changed.
    #[cfg(feature = "fleet")]
    fn ask_catalogs(&self) -> bool {
        let mut has_changed = false;
        for refreshed in self.catalogs.iter().flat_map(|catalogs| catalogs.refresh_stale(MAX_CATALOG_WAIT)) {
            match refreshed.outcome {
                Ok(outcome) => has_changed |= matches!(outcome, skillcue_fleet::PullOutcome::Changed(_)),
                Err(why) => tracing::info!(catalog = refreshed.name, "no newer generation: {why}"),
            }
        }
        has_changed
    }
}

/// Asks servers whose lists are old, and catalogs. Returns what changed, if something did.
fn ask(remotes: &RemoteAsker, skills: &Skillcue) -> Option<Changes> {
    let mut has_changed = false;
    #[cfg(feature = "fleet")]
    {
        has_changed |= remotes.ask_catalogs();
    }
    for refreshed in remotes.servers.iter().flat_map(|servers| servers.refresh_stale(MAX_WAIT)) {
        match refreshed.outcome {
            Ok(outcome) => has_changed |= matches!(outcome, RefreshOutcome::Changed(_)),
            Err(why) => tracing::info!(server = refreshed.label, "cannot be asked for its skills: {why}"),
        }
    }
    has_changed.then(|| {
        let before = skills.catalog();
        let after = skills.refresh();
        Changes::between(&before, &after)
    })
}

pub(crate) fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), HostError> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    started
        .map(drop)
        .map_err(|error| HostError::failure("runtime", format!("cannot start a thread: {}", os_message(&error))))
}
