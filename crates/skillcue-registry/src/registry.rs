//! The registry of one location: which skills and plugins are installed and enabled.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use skillcue_base::{ErrorInfo as _, Shown};
use skillcue_format::Diagnostic;

use crate::entries::{
    self, InstalledItem, LockContents, ReadOutcome, RegistryContents, RegistryFile, is_address, wrong,
};
use crate::journal::{self, JournalState};
use crate::staging::{self, Staging, SweepTotals};
use crate::transaction::Transaction;
use crate::writer_lock::WriterLock;
use crate::{Disk, InstallableKind, RegistryError, RegistryLocation};

/// How long another process may keep the registry locked. Most changes take milliseconds.
const DEFAULT_WAIT: Duration = Duration::from_secs(10);
/// How long opening waits to finish an earlier change: a process that is working on it needs milliseconds.
const MAX_OPEN_WAIT: Duration = Duration::from_secs(1);
/// How often a reader starts again because a writer was faster.
const MAX_READS: usize = 8;

/// The skills and plugins installed and enabled in one [`RegistryLocation`]. Readers take no lock, and writers wait for
/// each other; a change that a crash has interrupted is finished by the next change.
///
/// A project's registry comes with its checkout. Nothing in it can reach outside the project, but its settings are not
/// the user's until the project is trusted: that is for the caller to know.
///
/// ```
/// use std::time::SystemTime;
/// use skillcue_registry::{StagedItem, Disk, InstallOptions, InstallableKind, RegistryLocation, Registry};
///
/// let dir = tempfile::tempdir()?;
/// let registry = Registry::open(RegistryLocation::user(dir.path().join("skillcue")), Disk::default());
///
/// let staging = registry.begin()?;
/// std::fs::write(staging.dir().join("SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n# How\n")?;
/// let chosen = StagedItem::new(InstallableKind::Skill, "", "/home/ann/pdf");
/// registry.install(&staging, &[chosen], &InstallOptions::at(SystemTime::now()))?;
///
/// assert_eq!(registry.state().installed["pdf"].origin, "/home/ann/pdf");
/// assert!(registry.state().enabled.is_empty(), "an installed skill is off until the user enables it");
/// registry.enable(&["pdf"], true)?;
/// assert!(registry.verify_all()?.iter().all(|verified| verified.is_clean()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Registry {
    pub(crate) location: RegistryLocation,
    pub(crate) disk: Disk,
    wait: Duration,
}

/// The content of a registry.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RegistryState {
    /// The installed items, by name.
    pub installed: BTreeMap<String, InstalledItem>,
    /// The addresses that were enabled or disabled; `plugin:*` is all of a plugin.
    pub enabled: BTreeMap<String, bool>,
    /// Diagnostics that do not make the registry unusable.
    pub diagnostics: Vec<Diagnostic>,
}

impl RegistryState {
    /// Returns what is enabled and disabled by the address of each skill: the setting of a whole plugin holds for each
    /// of its skills that has no setting of its own.
    pub fn enabled_by_skill(&self) -> BTreeMap<String, bool> {
        let mut enabled = BTreeMap::new();
        for (name, installed) in &self.installed {
            if let Some(on) = self.enabled.get(&plugin_address(name)) {
                enabled.extend(installed.skills.iter().map(|skill| (format!("{name}:{skill}"), *on)));
            }
        }
        enabled.extend(
            self.enabled.iter().filter(|(address, _)| !address.ends_with(":*")).map(|(a, on)| (a.clone(), *on)),
        );
        enabled
    }
}

/// Returns the address of all skills of a plugin.
pub(crate) fn plugin_address(plugin: &str) -> String {
    format!("{plugin}:*")
}

/// A change of an address from on to off, or back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EnablementChange {
    /// The address; `plugin:*` for a whole plugin.
    pub address: String,
    /// The setting before; `None` if there was none.
    pub was: Option<bool>,
    /// The setting now; `None` if there is none.
    pub now: Option<bool>,
}

/// A change that was committed, could not be finished, and was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AbandonedChange {
    /// The path that its journal was moved to.
    pub journal: PathBuf,
    /// The items that would have been added or removed. Some may have been.
    pub names: Vec<String>,
    /// Why it could not be finished.
    pub reason: String,
}

impl Registry {
    /// Opens the registry at a location. Nothing is made where nothing is.
    ///
    /// A change that a crash has interrupted in the user's registry is finished, if that can be done at once. In a
    /// project, which may be an untrusted checkout, nothing is written until something is changed: readers read the
    /// state after the committed change.
    pub fn open(location: RegistryLocation, disk: Disk) -> Registry {
        let disk = disk.below(location.dir());
        let registry = Registry { location, disk, wait: DEFAULT_WAIT };
        if !registry.location.is_project() && matches!(journal::read(&registry.location), Ok(JournalState::Some(_))) {
            // A process that works on it at this moment finishes it; and readers read through the journal.
            let finished = WriterLock::acquire(&registry.location, &registry.disk, MAX_OPEN_WAIT).and_then(|guard| {
                registry.finish()?;
                registry.sweep(&guard)
            });
            if let Err(error) = finished {
                tracing::debug!(%error, "an earlier change is not finished yet");
            }
        }
        registry
    }

    /// Waits this long for other processes, instead of ten seconds.
    #[must_use]
    pub fn waiting(mut self, wait: Duration) -> Registry {
        self.wait = wait;
        self
    }

    /// Returns the registry's location.
    pub fn location(&self) -> &RegistryLocation {
        &self.location
    }

    /// Returns the directory of the installed skills: a root for discovery.
    pub fn installed_skills_dir(&self) -> PathBuf {
        self.location.skills_dir()
    }

    /// Returns the directories of the installed plugins.
    pub fn installed_plugins(&self) -> Vec<PathBuf> {
        let state = self.state();
        let plugins = state.installed.iter().filter(|(_, installed)| installed.kind == InstallableKind::Plugin);
        plugins.map(|(name, _)| self.location.target(InstallableKind::Plugin, name)).collect()
    }

    /// Returns what is enabled and disabled, by the address of each skill.
    pub fn enabled(&self) -> BTreeMap<String, bool> {
        self.state().enabled_by_skill()
    }

    /// Returns the directory of an installed item.
    pub fn dir_of(&self, kind: InstallableKind, name: &str) -> PathBuf {
        self.location.target(kind, name)
    }

    /// Reads the registry from the disk. Entries that cannot be read are among the diagnostics; the others are here.
    pub fn state(&self) -> RegistryState {
        let mut found = Vec::new();
        if let Err(error) = self.location.check() {
            found.push(diagnostic_of_error(self.location.dir(), &error));
        }
        let path = self.location.journal();
        match journal::read(&self.location) {
            Ok(JournalState::Broken(why)) => {
                let help = "its steps are not taken; the next change sets it aside";
                found.push(wrong(&path, format!("it is no journal: {why}"), help));
            }
            Ok(JournalState::Newer) => found.push(entries::newer(&path)),
            Err(error) => found.push(diagnostic_of_error(&path, &error)),
            Ok(JournalState::Some(_)) if !self.is_being_carried_out() => {
                let help = "its result counts already; the next change finishes it, or reports why it cannot";
                found.push(wrong(&path, "an earlier change is not finished yet", help));
            }
            Ok(JournalState::None | JournalState::Some(_)) => {}
        }
        let listed = self.listed(&mut found);
        RegistryState { installed: listed.installed, enabled: listed.enabled, diagnostics: found }
    }

    /// Returns whether a journal that was just seen is being carried out, or has been.
    fn is_being_carried_out(&self) -> bool {
        crate::writer_lock::is_held(&self.location) || !journal::exists(&self.location.journal())
    }

    fn listed(&self, found: &mut Vec<Diagnostic>) -> RegistryContents {
        let path = self.location.registry_file();
        let (message, missing) = match self.read_through::<RegistryContents>() {
            Ok(ReadOutcome::Good(listed)) => return listed,
            Ok(ReadOutcome::Newer) => {
                found.push(entries::newer(&path));
                return RegistryContents::default();
            }
            Err(error) => {
                found.push(entries::unreadable(&path, &error));
                return RegistryContents::default();
            }
            Ok(ReadOutcome::Foreign(why)) => {
                found.push(entries::foreign(&path, &why));
                return match self.read_through::<LockContents>() {
                    Ok(ReadOutcome::Good(locked)) => rebuilt(&locked),
                    _ => RegistryContents::default(),
                };
            }
            Ok(ReadOutcome::Missing) => ("it is missing".to_owned(), true),
            Ok(ReadOutcome::Broken(why)) => (format!("it cannot be read: {why}"), false),
        };
        let locked = self.read_through::<LockContents>();
        if let Ok(ReadOutcome::Foreign(why)) = &locked {
            found.push(entries::foreign(&self.location.lock_file(), why));
        }
        let listed = match &locked {
            Ok(ReadOutcome::Good(locked)) => rebuilt(locked),
            _ => RegistryContents::default(),
        };
        if missing && listed.installed.is_empty() && !matches!(locked, Ok(ReadOutcome::Broken(_))) {
            return listed;
        }
        let help = match (listed.installed.len(), missing) {
            (0, _) => "skillcue.lock does not help: the registry's directories are left alone, and off",
            (_, true) => "what is installed is taken from skillcue.lock, and off until it is enabled again",
            (_, false) => {
                "what is installed is taken from skillcue.lock, and off until it is enabled again; the next change \
                 sets the broken file aside"
            }
        };
        found.push(wrong(&path, message, help));
        found.extend(
            self.strays(&listed)
                .into_iter()
                .map(|(_, _, path)| wrong(&path, "the registry does not know it", "install it again, or move it away")),
        );
        listed
    }

    /// Reads a file as it is committed: its next text, if the journal has one.
    pub(crate) fn read_through<T: RegistryFile>(&self) -> io::Result<ReadOutcome<T>> {
        let path = self.location.dir().join(T::FILE);
        tracing::trace!(target: "skillcue::registry", path = %Shown(&path.to_string_lossy()), "reading");
        for _ in 0..MAX_READS {
            let committed = self.has_next_text(T::FILE);
            if committed {
                match entries::read(&self.location.next(T::FILE), self.location.max_bytes()) {
                    // It has just been moved.
                    Ok(ReadOutcome::Missing) => {}
                    read => return read,
                }
            }
            match entries::read(&path, self.location.max_bytes())? {
                ReadOutcome::Missing if !committed && self.has_next_text(T::FILE) => {}
                read => return Ok(read),
            }
        }
        entries::read(&path, self.location.max_bytes())
    }

    fn has_next_text(&self, file: &str) -> bool {
        matches!(journal::read(&self.location), Ok(JournalState::Some(journal)) if journal.files.iter().any(|name| name == file))
    }

    /// Returns the entries of the registry's directories that the registry does not list.
    pub(crate) fn strays(&self, listed: &RegistryContents) -> Vec<(InstallableKind, String, PathBuf)> {
        let mut strays = Vec::new();
        for kind in InstallableKind::ALL {
            for path in staging::children(&self.location.kind_dir(kind)).unwrap_or_default() {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                if listed.installed.get(&name).is_none_or(|installed| installed.kind != kind) {
                    strays.push((kind, name, path));
                }
            }
        }
        strays
    }

    /// Makes a fresh directory to fetch into. The registry is locked for a moment only: fetching may take long.
    pub fn begin(&self) -> Result<Staging, RegistryError> {
        let guard = self.lock()?;
        Staging::new(&self.location, &self.disk, &guard)
    }

    /// Enables or disables addresses. They need not be installed: bundled skills and those of a project have addresses,
    /// too. The name of an installed plugin means all its skills, and the settings of single ones are forgotten.
    pub fn enable<A: AsRef<str>>(&self, addresses: &[A], on: bool) -> Result<Vec<EnablementChange>, RegistryError> {
        self.set_enabled(addresses, Some(on))
    }

    /// Removes the settings of addresses: their defaults hold again.
    pub fn forget<A: AsRef<str>>(&self, addresses: &[A]) -> Result<Vec<EnablementChange>, RegistryError> {
        self.set_enabled(addresses, None)
    }

    fn set_enabled<A: AsRef<str>>(
        &self,
        addresses: &[A],
        now: Option<bool>,
    ) -> Result<Vec<EnablementChange>, RegistryError> {
        if let Some(wrong) = addresses.iter().map(AsRef::as_ref).find(|address| !is_address(address)) {
            return Err(RegistryError::Address { address: wrong.to_owned() });
        }
        let mut transaction = self.write()?;
        let mut changed = Vec::new();
        let mut forgotten = false;
        for address in addresses.iter().map(AsRef::as_ref) {
            let plugin =
                transaction.listed.installed.get(address).is_some_and(|found| found.kind == InstallableKind::Plugin);
            let address = if plugin { plugin_address(address) } else { address.to_owned() };
            if let Some(plugin) = address.strip_suffix('*').filter(|plugin| now.is_some() && plugin.ends_with(':')) {
                // The setting of the whole plugin replaces those of single skills.
                let before = transaction.listed.enabled.len();
                transaction.listed.enabled.retain(|single, _| *single == address || !single.starts_with(plugin));
                forgotten |= transaction.listed.enabled.len() < before;
            }
            let was = match now {
                Some(on) => transaction.listed.enabled.insert(address.clone(), on),
                None => transaction.listed.enabled.remove(&address),
            };
            changed.push(EnablementChange { address, was, now });
        }
        if forgotten || changed.iter().any(|changed| changed.was != changed.now) {
            transaction.commit_registry()?;
        }
        Ok(changed)
    }

    /// Takes the writer's lock, finishes an interrupted change, and sweeps leftovers.
    pub(crate) fn lock(&self) -> Result<WriterLock, RegistryError> {
        let guard = self.lock_without_sweep()?;
        // Leftovers that cannot be removed stop no change.
        if let Err(error) = self.sweep(&guard) {
            tracing::debug!(%error, "litter is left for later");
        }
        Ok(guard)
    }

    /// Like `lock`, without sweeping.
    pub(crate) fn lock_without_sweep(&self) -> Result<WriterLock, RegistryError> {
        self.location.prepare(&self.disk)?;
        let guard = WriterLock::acquire(&self.location, &self.disk, self.wait)?;
        // The directories may have been replaced while we waited.
        self.location.check()?;
        self.finish()?;
        self.location.ignore_inner(&self.disk)?;
        Ok(guard)
    }

    pub(crate) fn sweep(&self, guard: &WriterLock) -> Result<SweepTotals, RegistryError> {
        staging::sweep(&self.location, &self.disk, guard)
    }

    /// Carries out a committed change. Called under the lock.
    fn finish(&self) -> Result<(), RegistryError> {
        let path = self.location.journal();
        match journal::read(&self.location)? {
            JournalState::None => Ok(()),
            JournalState::Newer => Err(RegistryError::Newer { path }),
            JournalState::Some(journal) => journal
                .carry_out(&self.location, &self.disk)
                .map_err(|error| RegistryError::Unfinished { error: Box::new(error) }),
            JournalState::Broken(why) => {
                let aside = self.set_journal_aside()?;
                tracing::debug!(path = %path.display(), aside = %aside.display(), why, "a broken journal is set aside");
                Ok(())
            }
        }
    }

    fn set_journal_aside(&self) -> Result<PathBuf, RegistryError> {
        let path = self.location.journal();
        let aside = |number: u32| self.location.inner().join(format!("journal.json.broken-{number}"));
        let free = (1..=u32::MAX).map(aside).find(|aside| !journal::exists(aside));
        let aside = free.unwrap_or_else(|| aside(u32::MAX));
        self.disk.rename(&path, &aside).map_err(|error| RegistryError::file("set aside", &path, error))?;
        Ok(aside)
    }

    /// Gives up a change that is committed and cannot be finished ([`RegistryError::Unfinished`]): its journal is set
    /// aside, and everything is left as it is. A change that can be finished now is finished instead.
    ///
    /// Items that were moved to the trash until then can be restored; [`Registry::verify_all`] reports what is not as
    /// it should be.
    pub fn abandon(&self) -> Result<Option<AbandonedChange>, RegistryError> {
        self.location.check()?;
        if !journal::exists(&self.location.journal()) {
            return Ok(None);
        }
        self.location.prepare(&self.disk)?;
        let _guard = WriterLock::acquire(&self.location, &self.disk, self.wait)?;
        let names = match journal::read(&self.location)? {
            JournalState::Some(journal) => journal.moves.into_iter().map(|step| step.name).collect(),
            _ => Vec::new(),
        };
        match self.finish() {
            Ok(()) => Ok(None),
            Err(RegistryError::Unfinished { error }) => {
                Ok(Some(AbandonedChange { journal: self.set_journal_aside()?, names, reason: error.to_string() }))
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn write(&self) -> Result<Transaction<'_>, RegistryError> {
        Transaction::new(self, self.lock()?)
    }
}

/// Rebuilds the registry's content from the lock: everything is off.
pub(crate) fn rebuilt(locked: &LockContents) -> RegistryContents {
    let installed = locked.pins.iter().map(|(name, pinned)| (name.clone(), pinned.installed())).collect();
    RegistryContents { installed, ..RegistryContents::default() }
}

/// Turns an error that stops nothing into a diagnostic. All have one code, as a broken registry is one thing to mend.
fn diagnostic_of_error(path: &Path, error: &RegistryError) -> Diagnostic {
    wrong(path, error.to_string(), error.hint().unwrap_or_default().into_owned())
}
