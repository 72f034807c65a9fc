//! The registry of one place: what is installed and enabled.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use skillcue_base::{ErrorInfo as _, Shown};
use skillcue_format::Diagnostic;

use crate::entries::{self, Entries, Installed, Listed, Locked, Read, is_address, wrong};
use crate::guard::Guard;
use crate::journal::{self, Found};
use crate::staging::{self, Staging, Swept};
use crate::writing::Writing;
use crate::{Disk, Kind, Place, RegistryError};

/// How long another process may keep the registry locked. Most changes take milliseconds.
const WAIT: Duration = Duration::from_secs(10);
/// How long opening waits to finish what somebody has left: whoever is at it needs milliseconds.
const BRIEFLY: Duration = Duration::from_secs(1);
/// How often a reader starts again because a writer was faster.
const TRIES: usize = 8;

/// What is installed and enabled in one [`Place`]. Readers take no lock, and writers wait for each other; what a crash
/// has left half done is finished by whoever changes something next.
///
/// A project's registry comes with its checkout. Nothing in it can reach outside the project, but what it says is not
/// the user's word until the project is trusted: that is for the caller to know.
///
/// ```
/// use std::time::SystemTime;
/// use skillcue_registry::{Chosen, Disk, InstallOptions, Kind, Place, Registry};
///
/// let dir = tempfile::tempdir()?;
/// let registry = Registry::open(Place::user(dir.path().join("skillcue")), Disk::default());
///
/// let staging = registry.begin()?;
/// std::fs::write(staging.dir().join("SKILL.md"), "---\nname: pdf\ndescription: Reads PDF files.\n---\n# How\n")?;
/// let chosen = Chosen::new(Kind::Skill, "", "/home/ann/pdf");
/// registry.install(&staging, &[chosen], &InstallOptions::at(SystemTime::now()))?;
///
/// assert_eq!(registry.state().installed["pdf"].origin, "/home/ann/pdf");
/// assert!(registry.state().enabled.is_empty(), "what was fetched is off until somebody enables it");
/// registry.enable(&["pdf"], true)?;
/// assert!(registry.verify_all()?.iter().all(|verified| verified.is_clean()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Registry {
    pub(crate) place: Place,
    pub(crate) disk: Disk,
    wait: Duration,
}

/// What a registry says.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct State {
    /// What is installed, by name.
    pub installed: BTreeMap<String, Installed>,
    /// What somebody has enabled or disabled, by address; `plugin:*` is all of a plugin.
    pub enabled: BTreeMap<String, bool>,
    /// Diagnostics that do not make the registry unusable.
    pub diagnostics: Vec<Diagnostic>,
}

impl State {
    /// What is enabled and disabled by the address of each skill: what is said of a whole plugin holds for each of its
    /// skills, unless something else is said of that.
    pub fn enabled_by_skill(&self) -> BTreeMap<String, bool> {
        let mut enabled = BTreeMap::new();
        for (name, installed) in &self.installed {
            if let Some(on) = self.enabled.get(&whole(name)) {
                enabled.extend(installed.skills.iter().map(|skill| (format!("{name}:{skill}"), *on)));
            }
        }
        enabled.extend(
            self.enabled.iter().filter(|(address, _)| !address.ends_with(":*")).map(|(a, on)| (a.clone(), *on)),
        );
        enabled
    }
}

/// The address of all skills of a plugin.
pub(crate) fn whole(plugin: &str) -> String {
    format!("{plugin}:*")
}

/// What was said of an address, and is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EnablementChange {
    /// The address; `plugin:*` for a whole plugin.
    pub address: String,
    /// What was said before; `None` if nothing was.
    pub was: Option<bool>,
    /// What is said now.
    pub now: Option<bool>,
}

/// A change that was decided, could not be finished, and was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Abandoned {
    /// Where its journal stands now.
    pub journal: PathBuf,
    /// What would have come or gone. Some of it may have.
    pub names: Vec<String>,
    /// Why it could not be finished.
    pub reason: String,
}

impl Registry {
    /// Opens the registry of a place. Nothing is made where nothing is.
    ///
    /// What a crash has left half done in the user's registry is finished, if that can be done at once. In a project, which
    /// may be a checkout of anybody's, nothing is written until something is changed: readers read what is decided.
    pub fn open(place: Place, disk: Disk) -> Registry {
        let disk = disk.below(place.dir());
        let registry = Registry { place, disk, wait: WAIT };
        if !registry.place.is_project() && matches!(journal::read(&registry.place), Ok(Found::Some(_))) {
            // Whoever works on it at this moment finishes it; and readers read through what is left.
            let finished = Guard::wait(&registry.place, &registry.disk, BRIEFLY).and_then(|guard| {
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

    /// Where it stands.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The directory below which the installed skills stand: a root for discovery.
    pub fn installed_skills_dir(&self) -> PathBuf {
        self.place.skills_dir()
    }

    /// The directories of the installed plugins.
    pub fn installed_plugins(&self) -> Vec<PathBuf> {
        let state = self.state();
        let plugins = state.installed.iter().filter(|(_, installed)| installed.kind == Kind::Plugin);
        plugins.map(|(name, _)| self.place.target(Kind::Plugin, name)).collect()
    }

    /// What is enabled and disabled, by the address of each skill.
    pub fn enabled(&self) -> BTreeMap<String, bool> {
        self.state().enabled_by_skill()
    }

    /// Where something installed stands.
    pub fn dir_of(&self, kind: Kind, name: &str) -> PathBuf {
        self.place.target(kind, name)
    }

    /// Reads the registry from the disk. Entries that cannot be read are among the diagnostics; the others are here.
    pub fn state(&self) -> State {
        let mut found = Vec::new();
        if let Err(error) = self.place.check() {
            found.push(of_error(self.place.dir(), &error));
        }
        let path = self.place.journal();
        match journal::read(&self.place) {
            Ok(Found::Broken(why)) => {
                let help = "what it says is not done; the next change sets it aside";
                found.push(wrong(&path, format!("it is no journal: {why}"), help));
            }
            Ok(Found::Newer) => found.push(entries::newer(&path)),
            Err(error) => found.push(of_error(&path, &error)),
            Ok(Found::Some(_)) if !self.is_at_work() => {
                let help = "what it says counts already; the next change finishes it, or says why it cannot";
                found.push(wrong(&path, "an earlier change is not finished yet", help));
            }
            Ok(Found::None | Found::Some(_)) => {}
        }
        let listed = self.listed(&mut found);
        State { installed: listed.installed, enabled: listed.enabled, diagnostics: found }
    }

    /// Whether a journal that was just seen is being carried out, or has been.
    fn is_at_work(&self) -> bool {
        crate::guard::is_held(&self.place) || !journal::exists(&self.place.journal())
    }

    fn listed(&self, found: &mut Vec<Diagnostic>) -> Listed {
        let path = self.place.registry_file();
        let (message, missing) = match self.read_through::<Listed>() {
            Ok(Read::Good(listed)) => return listed,
            Ok(Read::Newer) => {
                found.push(entries::newer(&path));
                return Listed::default();
            }
            Err(error) => {
                found.push(entries::unreadable(&path, &error));
                return Listed::default();
            }
            Ok(Read::Foreign(why)) => {
                found.push(entries::foreign(&path, &why));
                return match self.read_through::<Locked>() {
                    Ok(Read::Good(locked)) => rebuilt(&locked),
                    _ => Listed::default(),
                };
            }
            Ok(Read::Missing) => ("it is missing".to_owned(), true),
            Ok(Read::Broken(why)) => (format!("it cannot be read: {why}"), false),
        };
        let locked = self.read_through::<Locked>();
        if let Ok(Read::Foreign(why)) = &locked {
            found.push(entries::foreign(&self.place.lock_file(), why));
        }
        let listed = match &locked {
            Ok(Read::Good(locked)) => rebuilt(locked),
            _ => Listed::default(),
        };
        if missing && listed.installed.is_empty() && !matches!(locked, Ok(Read::Broken(_))) {
            return listed;
        }
        let help = match (listed.installed.len(), missing) {
            (0, _) => "skillcue.lock does not help: what stands in the registry's directories is left alone, and off",
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

    /// Reads a file as it is decided to be: the journal's next text, if one is about to take its place.
    pub(crate) fn read_through<T: Entries>(&self) -> io::Result<Read<T>> {
        let path = self.place.dir().join(T::FILE);
        tracing::trace!(target: "skillcue::registry", path = %Shown(&path.to_string_lossy()), "reading");
        for _ in 0..TRIES {
            let decided = self.is_decided(T::FILE);
            if decided {
                match entries::read(&self.place.next(T::FILE), self.place.max_bytes()) {
                    // It has just been moved.
                    Ok(Read::Missing) => {}
                    read => return read,
                }
            }
            match entries::read(&path, self.place.max_bytes())? {
                Read::Missing if !decided && self.is_decided(T::FILE) => {}
                read => return Ok(read),
            }
        }
        entries::read(&path, self.place.max_bytes())
    }

    fn is_decided(&self, file: &str) -> bool {
        matches!(journal::read(&self.place), Ok(Found::Some(journal)) if journal.files.iter().any(|name| name == file))
    }

    /// What stands in the registry's directories and is not listed.
    pub(crate) fn strays(&self, listed: &Listed) -> Vec<(Kind, String, PathBuf)> {
        let mut strays = Vec::new();
        for kind in Kind::ALL {
            for path in staging::children(&self.place.kind_dir(kind)).unwrap_or_default() {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                if listed.installed.get(&name).is_none_or(|installed| installed.kind != kind) {
                    strays.push((kind, name, path));
                }
            }
        }
        strays
    }

    /// A fresh directory to fetch into. The registry is locked for a moment only: fetching may take long.
    pub fn begin(&self) -> Result<Staging, RegistryError> {
        let guard = self.lock()?;
        Staging::new(&self.place, &self.disk, &guard)
    }

    /// Says of addresses that they are on, or off. They need not be installed: bundled skills and those of a project have
    /// addresses, too. The name of an installed plugin means all its skills, and what was said of single ones
    /// is forgotten.
    pub fn enable<A: AsRef<str>>(&self, addresses: &[A], on: bool) -> Result<Vec<EnablementChange>, RegistryError> {
        self.say(addresses, Some(on))
    }

    /// Says nothing of an address any more: its default holds again.
    pub fn forget<A: AsRef<str>>(&self, addresses: &[A]) -> Result<Vec<EnablementChange>, RegistryError> {
        self.say(addresses, None)
    }

    fn say<A: AsRef<str>>(&self, addresses: &[A], now: Option<bool>) -> Result<Vec<EnablementChange>, RegistryError> {
        if let Some(wrong) = addresses.iter().map(AsRef::as_ref).find(|address| !is_address(address)) {
            return Err(RegistryError::Address { address: wrong.to_owned() });
        }
        let mut writing = self.write()?;
        let mut changed = Vec::new();
        let mut forgotten = false;
        for address in addresses.iter().map(AsRef::as_ref) {
            let plugin = writing.listed.installed.get(address).is_some_and(|found| found.kind == Kind::Plugin);
            let address = if plugin { whole(address) } else { address.to_owned() };
            if let Some(plugin) = address.strip_suffix('*').filter(|plugin| now.is_some() && plugin.ends_with(':')) {
                // The whole is what is meant now, whatever was said of some of it.
                let before = writing.listed.enabled.len();
                writing.listed.enabled.retain(|single, _| *single == address || !single.starts_with(plugin));
                forgotten |= writing.listed.enabled.len() < before;
            }
            let was = match now {
                Some(on) => writing.listed.enabled.insert(address.clone(), on),
                None => writing.listed.enabled.remove(&address),
            };
            changed.push(EnablementChange { address, was, now });
        }
        if forgotten || changed.iter().any(|changed| changed.was != changed.now) {
            writing.commit_registry()?;
        }
        Ok(changed)
    }

    /// The right to change something, with everything that was left half done finished.
    pub(crate) fn lock(&self) -> Result<Guard, RegistryError> {
        let guard = self.lock_as_it_is()?;
        // Litter that cannot be removed stops nobody.
        if let Err(error) = self.sweep(&guard) {
            tracing::debug!(%error, "litter is left for later");
        }
        Ok(guard)
    }

    /// The same, with the litter left.
    pub(crate) fn lock_as_it_is(&self) -> Result<Guard, RegistryError> {
        self.place.prepare(&self.disk)?;
        let guard = Guard::wait(&self.place, &self.disk, self.wait)?;
        // It may have become something else while we waited.
        self.place.check()?;
        self.finish()?;
        self.place.ignore_inner(&self.disk)?;
        Ok(guard)
    }

    pub(crate) fn sweep(&self, guard: &Guard) -> Result<Swept, RegistryError> {
        staging::sweep(&self.place, &self.disk, guard)
    }

    /// Carries out what is decided. Under the lock.
    fn finish(&self) -> Result<(), RegistryError> {
        let path = self.place.journal();
        match journal::read(&self.place)? {
            Found::None => Ok(()),
            Found::Newer => Err(RegistryError::Newer { path }),
            Found::Some(journal) => journal
                .carry_out(&self.place, &self.disk)
                .map_err(|error| RegistryError::Unfinished { error: Box::new(error) }),
            Found::Broken(why) => {
                let aside = self.set_journal_aside()?;
                tracing::debug!(path = %path.display(), aside = %aside.display(), why, "a broken journal is set aside");
                Ok(())
            }
        }
    }

    fn set_journal_aside(&self) -> Result<PathBuf, RegistryError> {
        let path = self.place.journal();
        let aside = |number: u32| self.place.inner().join(format!("journal.json.broken-{number}"));
        let free = (1..=u32::MAX).map(aside).find(|aside| !journal::exists(aside));
        let aside = free.unwrap_or_else(|| aside(u32::MAX));
        self.disk.rename(&path, &aside).map_err(|error| RegistryError::file("set aside", &path, error))?;
        Ok(aside)
    }

    /// Gives up a change that is decided and cannot be finished ([`RegistryError::Unfinished`]): its journal is set aside,
    /// and everything is left as it stands. Nothing is given up that can be finished now.
    ///
    /// What was moved to the trash until then can be restored; [`Registry::verify_all`] says what is not as it should be.
    pub fn abandon(&self) -> Result<Option<Abandoned>, RegistryError> {
        self.place.check()?;
        if !journal::exists(&self.place.journal()) {
            return Ok(None);
        }
        self.place.prepare(&self.disk)?;
        let _guard = Guard::wait(&self.place, &self.disk, self.wait)?;
        let names = match journal::read(&self.place)? {
            Found::Some(journal) => journal.moves.into_iter().map(|step| step.name).collect(),
            _ => Vec::new(),
        };
        match self.finish() {
            Ok(()) => Ok(None),
            Err(RegistryError::Unfinished { error }) => {
                Ok(Some(Abandoned { journal: self.set_journal_aside()?, names, reason: error.to_string() }))
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn write(&self) -> Result<Writing<'_>, RegistryError> {
        Writing::new(self, self.lock()?)
    }
}

/// What the registry must have said, by the lock: everything is off.
pub(crate) fn rebuilt(locked: &Locked) -> Listed {
    let installed = locked.pins.iter().map(|(name, pinned)| (name.clone(), pinned.installed())).collect();
    Listed { installed, ..Listed::default() }
}

/// An error that stops nothing: all of them are one word here, as a registry that is in disorder is one thing to mend.
fn of_error(path: &Path, error: &RegistryError) -> Diagnostic {
    wrong(path, error.to_string(), error.hint().unwrap_or_default().into_owned())
}
