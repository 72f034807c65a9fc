//! Whether what is installed is what was installed.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::Serialize;
use skillcue_catalog::{ContentId, Leaf};

use crate::entries::{Listed, Locked, Pinned, Read};
use crate::journal::exists;
use crate::registry::rebuilt;
use crate::tree;
use crate::{Kind, Registry, RegistryError};

/// How often it is looked again if the registry has changed meanwhile.
const TRIES: usize = 4;

/// A file that is not as it was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Drift {
    /// Its path in the skill's directory; `.` for the directory itself.
    pub path: String,
    /// What is different.
    pub what: What,
}

/// How a file differs from what was installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum What {
    /// It has other content.
    Changed,
    /// It is not there.
    Missing,
    /// It was not installed.
    Added,
    /// It may be executed, and might not, or the other way round; others may write to it; or it would run as another user.
    Mode,
    /// It is a link, or was one, or leads elsewhere.
    Link,
}

/// What the registry and the lock know about something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Standing {
    /// It is installed, there, and locked.
    Locked,
    /// It is installed and there, and the lock says nothing of it.
    Unlocked,
    /// It is installed, and not there.
    Absent,
    /// It is there, and the registry does not know it.
    Stray,
}

/// Something installed, compared with the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Verified {
    /// Its name.
    pub name: String,
    /// A skill or a plugin.
    pub kind: Kind,
    /// What is known about it.
    pub standing: Standing,
    /// What is not as it was installed, by path.
    pub drift: Vec<Drift>,
}

impl Verified {
    /// Whether it is exactly what was installed.
    pub fn is_clean(&self) -> bool {
        self.standing == Standing::Locked && self.drift.is_empty()
    }
}

impl Registry {
    /// Compares what is installed with `skillcue.lock`, every byte of it; and finds what stands there unknown.
    pub fn verify_all(&self) -> Result<Vec<Verified>, RegistryError> {
        self.verify_some(None)
    }

    /// Compares what is installed under these names with `skillcue.lock`.
    pub fn verify<N: AsRef<str>>(&self, names: &[N]) -> Result<Vec<Verified>, RegistryError> {
        self.verify_some(Some(&names.iter().map(AsRef::as_ref).collect::<BTreeSet<_>>()))
    }

    fn verify_some(&self, names: Option<&BTreeSet<&str>>) -> Result<Vec<Verified>, RegistryError> {
        let mut tries = 0;
        loop {
            let before = self.stamps();
            let verified = self.verify_once(names);
            tries += 1;
            // Somebody may have installed or removed something while it was looked at.
            let clean = verified.as_ref().is_ok_and(|verified| verified.iter().all(Verified::is_clean));
            if clean || tries == TRIES || (before == self.stamps() && !exists(&self.place.journal())) {
                return verified;
            }
        }
    }

    /// What changes whenever the registry does.
    fn stamps(&self) -> [Option<(u64, i64, i64)>; 3] {
        [self.place.registry_file(), self.place.lock_file(), self.place.journal()].map(|path| {
            let found = path.symlink_metadata().ok()?;
            Some((found.ino(), found.mtime(), found.mtime_nsec()))
        })
    }

    /// Both files, as of one moment.
    pub(crate) fn both(&self) -> Result<(Listed, Locked), RegistryError> {
        let mut tries = 0;
        loop {
            let before = self.stamps();
            let both = self.both_once();
            tries += 1;
            if before == self.stamps() || tries == TRIES {
                return both;
            }
        }
    }

    fn both_once(&self) -> Result<(Listed, Locked), RegistryError> {
        let (path, lock_path) = (self.place.registry_file(), self.place.lock_file());
        let lock = self.read_through().map_err(|error| RegistryError::file("read", &lock_path, error))?;
        let locked = match lock {
            Read::Good(locked) => locked,
            Read::Newer => return Err(RegistryError::Newer { path: lock_path }),
            Read::Foreign(why) => return Err(RegistryError::NotOurs { path: lock_path, why }),
            // Then nothing is locked, and verifying says so of everything.
            Read::Missing | Read::Broken(_) => Locked::default(),
        };
        match self.read_through().map_err(|error| RegistryError::file("read", &path, error))? {
            Read::Good(listed) => Ok((listed, locked)),
            Read::Newer => Err(RegistryError::Newer { path }),
            // What is not ours says nothing of ours.
            Read::Missing | Read::Broken(_) | Read::Foreign(_) => Ok((rebuilt(&locked), locked)),
        }
    }

    fn verify_once(&self, names: Option<&BTreeSet<&str>>) -> Result<Vec<Verified>, RegistryError> {
        let (listed, locked) = self.both()?;
        if let Some(unknown) = names.into_iter().flatten().find(|name| !listed.installed.contains_key(**name)) {
            return Err(RegistryError::NotInstalled { name: (*unknown).to_owned() });
        }
        let mut verified = Vec::new();
        for (name, installed) in &listed.installed {
            if names.is_some_and(|names| !names.contains(name.as_str())) {
                continue;
            }
            let dir = self.place.target(installed.kind, name);
            let (standing, drift) = match locked.pins.get(name) {
                _ if !exists(&dir) => (Standing::Absent, Vec::new()),
                // A lock that speaks of something else does not lock this.
                Some(pinned) if pinned.digest == installed.digest => (Standing::Locked, drift_and_modes(&dir, pinned)?),
                _ => (Standing::Unlocked, drift_of_all(&dir, installed.digest)),
            };
            verified.push(Verified { name: name.clone(), kind: installed.kind, standing, drift });
        }
        if names.is_none() {
            let strays = self.strays(&listed).into_iter();
            verified.extend(strays.map(|(kind, name, _)| Verified {
                name,
                kind,
                standing: Standing::Stray,
                drift: Vec::new(),
            }));
        }
        Ok(verified)
    }
}

/// What is not as the lock pins it.
pub(crate) fn drift(dir: &Path, pinned: &Pinned) -> Result<Vec<Drift>, RegistryError> {
    compare(dir, pinned).map(|(drift, _)| drift)
}

/// The same, with what has modes that nothing is installed with. Those alone are no edits: a checkout may give them.
fn drift_and_modes(dir: &Path, pinned: &Pinned) -> Result<Vec<Drift>, RegistryError> {
    let (mut drift, loose) = compare(dir, pinned)?;
    let known: BTreeSet<_> = drift.iter().map(|drift| drift.path.clone()).collect();
    let loose = loose.into_iter().filter(|path| !known.contains(path));
    drift.extend(loose.map(|path| Drift { path, what: What::Mode }));
    drift.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(drift)
}

/// What differs, and what has loose modes.
fn compare(dir: &Path, pinned: &Pinned) -> Result<(Vec<Drift>, Vec<String>), RegistryError> {
    let found = match tree::scan(dir) {
        Ok(found) => found,
        Err(RegistryError::NotADirectory { .. }) => {
            return Ok((vec![Drift { path: ".".to_owned(), what: What::Link }], Vec::new()));
        }
        Err(error) => return Err(error),
    };
    let mut drift = Vec::new();
    for (path, was) in &pinned.files {
        let what = match (was, found.leaves.get(path)) {
            (was, Some(is)) if was == is => continue,
            (_, None) => What::Missing,
            (Leaf::File { digest: was, .. }, Some(Leaf::File { digest: is, .. })) if was == is => What::Mode,
            (Leaf::File { .. }, Some(Leaf::File { .. })) => What::Changed,
            (_, Some(_)) => What::Link,
        };
        drift.push(Drift { path: path.clone(), what });
    }
    let added = found.leaves.keys().filter(|path| !pinned.files.contains_key(*path)).cloned();
    drift.extend(added.map(|path| Drift { path, what: What::Added }));
    for odd in found.unpinnable {
        let path = odd.path.to_string_lossy().into_owned();
        match drift.iter_mut().find(|drift| drift.path == path) {
            // A link that leads out, or a pipe, where a file was.
            Some(known) => known.what = What::Link,
            None => drift.push(Drift { path, what: What::Added }),
        }
    }
    drift.sort_by(|one, other| one.path.cmp(&other.path));
    Ok((drift, found.loose))
}

/// Whether a directory has the digest that the registry knows; without the lock, that is all that can be said.
pub(crate) fn drift_of_all(dir: &Path, digest: ContentId) -> Vec<Drift> {
    let same = tree::scan(dir).is_ok_and(|tree| tree.id() == digest);
    if same { Vec::new() } else { vec![Drift { path: ".".to_owned(), what: What::Changed }] }
}
