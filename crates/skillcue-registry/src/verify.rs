//! Comparing installed files with the content that the lock pins.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::Serialize;
use skillcue_catalog::{ContentId, Leaf};

use crate::entries::{LockContents, LockPin, ReadOutcome, RegistryContents};
use crate::journal::exists;
use crate::registry::rebuilt;
use crate::tree;
use crate::{InstallableKind, Registry, RegistryError};

/// How often reading is repeated if the registry has changed meanwhile.
const MAX_READS: usize = 4;

/// A file that is not as it was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Drift {
    /// Its path in the skill's directory; `.` for the directory itself.
    pub path: String,
    /// How it differs.
    pub what: DriftKind,
}

/// How a file differs from what was installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DriftKind {
    /// It has other content.
    Changed,
    /// It is not there.
    Missing,
    /// It was not installed.
    Added,
    /// It became executable, or no longer is; others may write to it; or it would run as another user.
    Mode,
    /// It is a link, or was one, or leads elsewhere.
    Link,
}

/// Whether an item is listed, there, and locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum InstallStatus {
    /// It is installed, there, and locked.
    Locked,
    /// It is installed and there, and the lock has no entry for it.
    Unlocked,
    /// It is installed, and not there.
    Absent,
    /// It is there, and the registry does not know it.
    Stray,
}

/// An installed item, compared with the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VerifiedItem {
    /// Its name.
    pub name: String,
    /// A skill or a plugin.
    pub kind: InstallableKind,
    /// The item's status in the registry, the lock, and the directory.
    pub standing: InstallStatus,
    /// The files that are not as they were installed, by path.
    pub drift: Vec<Drift>,
}

impl VerifiedItem {
    /// Returns whether it is exactly as it was installed.
    pub fn is_clean(&self) -> bool {
        self.standing == InstallStatus::Locked && self.drift.is_empty()
    }
}

impl Registry {
    /// Compares every byte of the installed items with `skillcue.lock`, and lists directories that the registry does
    /// not know.
    pub fn verify_all(&self) -> Result<Vec<VerifiedItem>, RegistryError> {
        self.verify_some(None)
    }

    /// Compares the installed items of these names with `skillcue.lock`.
    pub fn verify<N: AsRef<str>>(&self, names: &[N]) -> Result<Vec<VerifiedItem>, RegistryError> {
        self.verify_some(Some(&names.iter().map(AsRef::as_ref).collect::<BTreeSet<_>>()))
    }

    fn verify_some(&self, names: Option<&BTreeSet<&str>>) -> Result<Vec<VerifiedItem>, RegistryError> {
        let mut tries = 0;
        loop {
            let before = self.stamps();
            let verified = self.verify_once(names);
            tries += 1;
            // Another process may have installed or removed an item meanwhile.
            let clean = verified.as_ref().is_ok_and(|verified| verified.iter().all(VerifiedItem::is_clean));
            if clean || tries == MAX_READS || (before == self.stamps() && !exists(&self.location.journal())) {
                return verified;
            }
        }
    }

    /// Returns stamps of the registry's files, which change whenever the registry does.
    fn stamps(&self) -> [Option<(u64, i64, i64)>; 3] {
        [self.location.registry_file(), self.location.lock_file(), self.location.journal()].map(|path| {
            let found = path.symlink_metadata().ok()?;
            Some((found.ino(), found.mtime(), found.mtime_nsec()))
        })
    }

    /// Reads both files, as of one moment.
    pub(crate) fn both(&self) -> Result<(RegistryContents, LockContents), RegistryError> {
        let mut tries = 0;
        loop {
            let before = self.stamps();
            let both = self.both_once();
            tries += 1;
            if before == self.stamps() || tries == MAX_READS {
                return both;
            }
        }
    }

    fn both_once(&self) -> Result<(RegistryContents, LockContents), RegistryError> {
        let (path, lock_path) = (self.location.registry_file(), self.location.lock_file());
        let lock = self.read_through().map_err(|error| RegistryError::file("read", &lock_path, error))?;
        let locked = match lock {
            ReadOutcome::Good(locked) => locked,
            ReadOutcome::Newer => return Err(RegistryError::Newer { path: lock_path }),
            ReadOutcome::Foreign(why) => return Err(RegistryError::NotOurs { path: lock_path, why }),
            // Then nothing is locked, and verifying reports that of every item.
            ReadOutcome::Missing | ReadOutcome::Broken(_) => LockContents::default(),
        };
        match self.read_through().map_err(|error| RegistryError::file("read", &path, error))? {
            ReadOutcome::Good(listed) => Ok((listed, locked)),
            ReadOutcome::Newer => Err(RegistryError::Newer { path }),
            // A foreign file says nothing of our items.
            ReadOutcome::Missing | ReadOutcome::Broken(_) | ReadOutcome::Foreign(_) => Ok((rebuilt(&locked), locked)),
        }
    }

    fn verify_once(&self, names: Option<&BTreeSet<&str>>) -> Result<Vec<VerifiedItem>, RegistryError> {
        let (listed, locked) = self.both()?;
        if let Some(unknown) = names.into_iter().flatten().find(|name| !listed.installed.contains_key(**name)) {
            return Err(RegistryError::NotInstalled { name: (*unknown).to_owned() });
        }
        let mut verified = Vec::new();
        for (name, installed) in &listed.installed {
            if names.is_some_and(|names| !names.contains(name.as_str())) {
                continue;
            }
            let dir = self.location.target(installed.kind, name);
            let (standing, drift) = match locked.pins.get(name) {
                _ if !exists(&dir) => (InstallStatus::Absent, Vec::new()),
                // A lock entry of other content does not lock this.
                Some(pinned) if pinned.digest == installed.digest => {
                    (InstallStatus::Locked, drift_and_modes(&dir, pinned)?)
                }
                _ => (InstallStatus::Unlocked, drift_of_all(&dir, installed.digest)),
            };
            verified.push(VerifiedItem { name: name.clone(), kind: installed.kind, standing, drift });
        }
        if names.is_none() {
            let strays = self.strays(&listed).into_iter();
            verified.extend(strays.map(|(kind, name, _)| VerifiedItem {
                name,
                kind,
                standing: InstallStatus::Stray,
                drift: Vec::new(),
            }));
        }
        Ok(verified)
    }
}

/// Returns the files that are not as the lock pins them.
pub(crate) fn drift(dir: &Path, pinned: &LockPin) -> Result<Vec<Drift>, RegistryError> {
    compare(dir, pinned).map(|(drift, _)| drift)
}

/// Like `drift`, with files that have modes that nothing is installed with. Those alone are no edits: a checkout may
/// give them.
fn drift_and_modes(dir: &Path, pinned: &LockPin) -> Result<Vec<Drift>, RegistryError> {
    let (mut drift, loose) = compare(dir, pinned)?;
    let known: BTreeSet<_> = drift.iter().map(|drift| drift.path.clone()).collect();
    let loose = loose.into_iter().filter(|path| !known.contains(path));
    drift.extend(loose.map(|path| Drift { path, what: DriftKind::Mode }));
    drift.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(drift)
}

/// Returns the files that differ, and those with loose modes.
fn compare(dir: &Path, pinned: &LockPin) -> Result<(Vec<Drift>, Vec<String>), RegistryError> {
    let found = match tree::scan(dir) {
        Ok(found) => found,
        Err(RegistryError::NotADirectory { .. }) => {
            return Ok((vec![Drift { path: ".".to_owned(), what: DriftKind::Link }], Vec::new()));
        }
        Err(error) => return Err(error),
    };
    let mut drift = Vec::new();
    for (path, was) in &pinned.files {
        let what = match (was, found.leaves.get(path)) {
            (was, Some(is)) if was == is => continue,
            (_, None) => DriftKind::Missing,
            (Leaf::File { digest: was, .. }, Some(Leaf::File { digest: is, .. })) if was == is => DriftKind::Mode,
            (Leaf::File { .. }, Some(Leaf::File { .. })) => DriftKind::Changed,
            (_, Some(_)) => DriftKind::Link,
        };
        drift.push(Drift { path: path.clone(), what });
    }
    let added = found.leaves.keys().filter(|path| !pinned.files.contains_key(*path)).cloned();
    drift.extend(added.map(|path| Drift { path, what: DriftKind::Added }));
    for odd in found.unpinnable {
        let path = odd.path.to_string_lossy().into_owned();
        match drift.iter_mut().find(|drift| drift.path == path) {
            // A link that leads out, or a pipe, where a file was.
            Some(known) => known.what = DriftKind::Link,
            None => drift.push(Drift { path, what: DriftKind::Added }),
        }
    }
    drift.sort_by(|one, other| one.path.cmp(&other.path));
    Ok((drift, found.loose))
}

/// Compares a directory with the digest in the registry; without the lock, nothing more is known.
pub(crate) fn drift_of_all(dir: &Path, digest: ContentId) -> Vec<Drift> {
    let same = tree::scan(dir).is_ok_and(|tree| tree.id() == digest);
    if same { Vec::new() } else { vec![Drift { path: ".".to_owned(), what: DriftKind::Changed }] }
}
