//! The ledger of use: where it is, whether it is on, and what it says about this project.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use skillcue::disclose::UseCounts;
use skillcue::select::SkillFeedback;
use skillcue::usage::remove_kept_uses;
use skillcue_base::{ErrorInfo as _, os_message, replace_file};
use skillcue_usage::{Ledger, LedgerLimits, LedgerQuery, LedgerSink, feedback};

use crate::error::HostError;
use crate::{Environment, Host};

/// The file of the ledger, in the user's data directory.
const FILE: &str = "usage.db";
/// The file that switches it off, beside it.
const OFF: &str = "usage-off";
/// The variable that switches it off: for all programs, or for one that is only tried.
pub const LEDGER_VARIABLE: &str = "SKILLCUE_USAGE";

/// The age up to which events count as feedback: older ones have less than an eighth of their weight.
const MAX_FEEDBACK_AGE: Duration = Duration::from_hours(90 * 24);

/// The reason why the ledger is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerSwitch {
    /// It is on.
    On,
    /// The user has switched it off.
    OffByUser,
    /// `[usage]` of the configuration says that it is off.
    OffBySetting,
    /// The variable `SKILLCUE_USAGE` says that it is off.
    OffByVariable,
    /// There is no data directory.
    Nowhere,
}

impl Host {
    /// Returns whether events are recorded, and if not, why.
    ///
    /// ```
    /// use skillcue_host::{Environment, Host, HostOverrides, LedgerSwitch};
    ///
    /// # let home = tempfile::tempdir()?;
    /// let environment = Environment::new(None, vec![("HOME".into(), home.path().into())])?;
    /// let host = Host::open(environment, HostOverrides::default());
    /// assert_eq!(host.ledger_switch()?, LedgerSwitch::On);
    /// host.switch_ledger(false)?;
    /// assert_eq!(host.ledger_switch()?, LedgerSwitch::OffByUser);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ledger_switch(&self) -> Result<LedgerSwitch, HostError> {
        let environment = self.environment();
        let is_off = |value: String| matches!(value.to_ascii_lowercase().as_str(), "0" | "off" | "false" | "no");
        let Some(off) = environment.data(OFF) else { return Ok(LedgerSwitch::Nowhere) };
        Ok(if environment.variable(LEDGER_VARIABLE).is_some_and(is_off) {
            LedgerSwitch::OffByVariable
        } else if self.settings()?.usage.record == Some(false) {
            LedgerSwitch::OffBySetting
        } else if off.exists() {
            LedgerSwitch::OffByUser
        } else {
            LedgerSwitch::On
        })
    }

    /// Switches recording on or off, for all programs of the user.
    pub fn switch_ledger(&self, on: bool) -> io::Result<()> {
        let Some(off) = self.environment().data(OFF) else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "there is no data directory"));
        };
        if on {
            return match std::fs::remove_file(&off) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        if let Some(dir) = off.parent() {
            std::fs::create_dir_all(dir)?;
        }
        replace_file(&off, [b"Skillcue records no use of skills while this file is here.\n".as_slice()])
    }

    /// Returns the ledger, whether events are recorded or not; `None` if there is no data directory.
    pub fn ledger(&self) -> Result<Option<Ledger>, HostError> {
        let section = self.settings()?.usage;
        let usual = LedgerLimits::default();
        let day = Duration::from_hours(24);
        let limits = LedgerLimits {
            max_age: section.days.map_or(usual.max_age, |days| {
                day.checked_mul(u32::try_from(days.get()).unwrap_or(u32::MAX)).unwrap_or(Duration::MAX)
            }),
            max_bytes: section.megabytes.map_or(usual.max_bytes, |most| most.get().saturating_mul(1 << 20)),
        };
        Ok(ledger_file(self.environment()).map(|file| Ledger::new(file).limits(limits)))
    }

    /// Returns the receiver of the events of a program, such as `mcp`; `None` if none are recorded.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use skillcue_host::{Environment, Host, HostOverrides};
    ///
    /// # let home = tempfile::tempdir()?;
    /// let environment = Environment::new(None, vec![("HOME".into(), home.path().into())])?;
    /// let host = Host::open(environment, HostOverrides::default());
    /// let sink = Arc::new(host.usage_sink("my-program")?.unwrap());
    /// let skills = host.skills_with(|builder| builder.usage(sink))?;
    /// # let _ = skills;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn usage_sink(&self, client: &str) -> Result<Option<LedgerSink>, HostError> {
        if self.ledger_switch()? != LedgerSwitch::On {
            return Ok(None);
        }
        let keeps_text = self.settings()?.usage.text.unwrap_or(false);
        let sink = |ledger| LedgerSink::new(ledger, client, self.project_name()).keep_text(keeps_text);
        Ok(self.ledger()?.map(sink))
    }

    /// Removes everything that was recorded: the events in the ledger, and the counts of uses that lists of any project are
    /// ordered by, in the cache. Returns the number of events.
    ///
    /// ```
    /// use skillcue_host::{Environment, Host, HostOverrides};
    ///
    /// # let home = tempfile::tempdir()?;
    /// let environment = Environment::new(None, vec![("HOME".into(), home.path().into())])?;
    /// let cache = environment.cache_home.clone().unwrap().join("skillcue");
    /// std::fs::create_dir_all(&cache)?;
    /// std::fs::write(cache.join("uses-0123456789abcdef"), "[]")?;
    /// let host = Host::open(environment, HostOverrides::default());
    /// assert_eq!(host.purge_ledger()?, 0);
    /// assert_eq!(cache.read_dir()?.count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn purge_ledger(&self) -> Result<u64, HostError> {
        // The ledger first: what is counted from then on has nothing of it.
        let removed = self.ledger()?.map_or(Ok(0), |ledger| ledger.purge()).map_err(|error| {
            let failure = HostError::failure(error.code(), error.to_string());
            match error.hint() {
                Some(hint) => failure.help(hint),
                None => failure,
            }
        })?;
        // Where it usually is, too: with `--no-cache`, the settings have none.
        let usual = self.environment().cache_home.as_ref().map(|dir| dir.join("skillcue/index"));
        let own = self.settings()?.cache.clone().filter(|own| usual.as_ref() != Some(own));
        for index in usual.into_iter().chain(own) {
            remove_kept_uses(&index).map_err(|error| {
                let message = format!("counts of uses cannot be removed from the cache: {}", os_message(&error));
                HostError::failure("usage_failed", message).help("remove the files `uses-*` beside its `index`")
            })?;
        }
        Ok(removed)
    }

    /// Returns the directory of the project, as the ledger has it.
    pub fn project_name(&self) -> String {
        self.environment().project().map(|project| project.display().to_string()).unwrap_or_default()
    }

    /// Returns what the use of skills in this project so far does to their rank: nothing, unless `feedback` of `[usage]` is
    /// on. A ledger that cannot be read says nothing.
    pub(crate) fn feedback(&self) -> BTreeMap<String, SkillFeedback> {
        let is_on = self.known_settings().is_some_and(|settings| settings.usage.feedback == Some(true));
        let Some(ledger) = is_on.then(|| self.ledger().ok().flatten()).flatten() else { return BTreeMap::new() };
        let now = SystemTime::now();
        let query = LedgerQuery {
            since: now.checked_sub(MAX_FEEDBACK_AGE),
            project: Some(self.project_name()),
            ..LedgerQuery::default()
        };
        match ledger.events_briefly(&query) {
            Ok(events) => feedback(&events, now),
            Err(error) => {
                tracing::warn!(target: "skillcue::usage", %error, "the use so far does not count");
                BTreeMap::new()
            }
        }
    }

    /// Returns the counter of the uses of skills in this project, for lists that have to be shortened; `None` if the ledger is
    /// off. A ledger that cannot be read counts nothing.
    pub(crate) fn use_counts(&self) -> Option<UseCounts> {
        if self.known_settings().is_none() || !matches!(self.ledger_switch(), Ok(LedgerSwitch::On)) {
            return None;
        }
        let (ledger, project) = (self.ledger().ok().flatten()?, self.project_name());
        Some(UseCounts::new(move || {
            let since = SystemTime::now().checked_sub(MAX_FEEDBACK_AGE);
            let query = LedgerQuery { since, project: Some(project.clone()), ..LedgerQuery::default() };
            match ledger.uses(&query) {
                Ok(uses) => Some(uses),
                Err(error) => {
                    tracing::debug!(target: "skillcue::usage", %error, "lists are not ordered by use");
                    None
                }
            }
        }))
    }
}

fn ledger_file(environment: &Environment) -> Option<PathBuf> {
    environment.data(FILE)
}

#[cfg(test)]
mod tests {
    use skillcue::usage::UsageKind;
    use skillcue_usage::{LedgerBatch, LedgerEvent};

    use super::*;
    use crate::HostOverrides;

    #[test]
    fn feedback_reads_the_spool_where_it_is_and_writes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join("skillcue.toml");
        std::fs::write(&config, "[usage]\nfeedback = true\n").unwrap();
        let variables = vec![("HOME".into(), home.path().into())];
        let environment = Environment::new(Some(home.path().to_path_buf()), variables).unwrap();
        let host = Host::open(environment, HostOverrides { config: Some(config), ..HostOverrides::default() });
        host.settings().unwrap();
        let ledger = host.ledger().unwrap().unwrap();
        let shown =
            LedgerEvent { project: host.project_name(), tier: Some(2), ..LedgerEvent::new(UsageKind::Shown, "pdf") };
        ledger.write(std::slice::from_ref(&shown)).unwrap();
        let spooled = LedgerBatch { events: vec![shown; 11], ..LedgerBatch::default() };
        ledger.write_briefly(&spooled).unwrap();
        let spool = ledger.path().with_file_name("usage.db-spool");
        let before = std::fs::read(&spool).unwrap();
        assert_eq!(host.feedback()["pdf"].why, "shown 12 times in this project, never used");
        assert_eq!(host.use_counts().map(|_| ()), Some(()));
        assert_eq!(std::fs::read(&spool).unwrap(), before, "an answer took the spool in");
    }
}
