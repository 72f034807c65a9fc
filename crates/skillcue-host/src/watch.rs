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

/// The interval after which it is looked whether a server or a catalog has to be asked again for its skills, unless a catalog
/// is due before.
const ASK_INTERVAL: Duration = Duration::from_mins(1);

/// The interval where a catalog that was just asked is due still, as when its request could not even be started.
const MIN_ASK_INTERVAL: Duration = Duration::from_secs(1);

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
    /// minute; catalogs, whenever they are due. The skills are refreshed already when `on_change` is called, one call at a time, on threads of its own.
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
                        if stopped.recv_timeout(time_to_wake(servers.due_in())) != Err(RecvTimeoutError::Timeout) {
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

/// Returns how long the thread that asks may sleep, once all were asked that were due. A catalog is asked when it is due, not
/// at the next of some regular wakes: of those, it would miss one whenever its interval is a little longer than theirs.
fn time_to_wake(due: Option<Duration>) -> Duration {
    match due {
        Some(Duration::ZERO) => MIN_ASK_INTERVAL,
        Some(left) => left.min(ASK_INTERVAL),
        None => ASK_INTERVAL,
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

    /// Returns how long it is until a catalog has to be asked; `None` if there is none.
    #[cfg(feature = "fleet")]
    fn due_in(&self) -> Option<Duration> {
        self.catalogs.as_ref().and_then(skillcue_fleet::Catalogs::due_in)
    }

    /// Returns that no catalog has to be asked: this build has none.
    #[cfg(not(feature = "fleet"))]
    #[expect(clippy::unused_self, reason = "a build with catalogs asks them")]
    fn due_in(&self) -> Option<Duration> {
        None
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the gaps between the polls of catalogs, whose intervals are these shares of what is configured, one after the
    /// other: each is asked when the thread wakes and the catalog is due, as the thread does it.
    fn gaps(polls: &[Duration], shares: &[f64]) -> Vec<(usize, f64)> {
        let (mut now, mut gaps) = (Duration::ZERO, Vec::new());
        let mut shares = shares.iter().copied().cycle();
        let mut catalogs: Vec<(Duration, Duration)> = polls.iter().map(|_| (Duration::ZERO, Duration::ZERO)).collect();
        while now < Duration::from_hours(2) {
            for (place, (asked, due)) in catalogs.iter_mut().enumerate() {
                if now >= *due {
                    if !now.is_zero() {
                        gaps.push((place, now.saturating_sub(*asked).as_secs_f64() / polls[place].as_secs_f64()));
                    }
                    (*asked, *due) = (now, now + polls[place].mul_f64(shares.next().unwrap()));
                }
            }
            let due = catalogs.iter().map(|(_, due)| due.saturating_sub(now)).min();
            now += time_to_wake(due);
        }
        gaps
    }

    #[test]
    fn catalogs_are_asked_at_their_own_intervals() {
        let seconds = Duration::from_secs;
        for polls in [&[5][..], &[8], &[60], &[300], &[3_000], &[5, 8], &[8, 60, 300]] {
            let polls: Vec<Duration> = polls.iter().copied().map(seconds).collect();
            for share in 0..=50 {
                let shares = [0.75 + f64::from(share) / 100.0];
                for (place, gap) in gaps(&polls, &shares) {
                    assert!((gap - shares[0]).abs() < 0.001, "{gap} of {:?} at {shares:?}", polls[place]);
                }
            }
            let drawn: Vec<f64> = (0..37).map(|number| 0.75 + f64::from(number * 11 % 37) / 72.0).collect();
            for (place, gap) in gaps(&polls, &drawn) {
                assert!((0.749..=1.251).contains(&gap), "{gap} of {:?}", polls[place]);
            }
        }
    }

    #[test]
    fn the_thread_neither_spins_nor_sleeps_for_long() {
        assert_eq!(time_to_wake(None), ASK_INTERVAL);
        assert_eq!(time_to_wake(Some(Duration::from_hours(1))), ASK_INTERVAL);
        assert_eq!(time_to_wake(Some(Duration::ZERO)), Duration::from_secs(1));
        assert_eq!(time_to_wake(Some(Duration::from_millis(3))), Duration::from_millis(3));
    }
}
