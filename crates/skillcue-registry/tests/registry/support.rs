//! Skills to install, and a registry looked at from outside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use skillcue_registry::{
    Disk, InstallOptions, InstallReport, InstallableKind, Registry, RegistryError, RegistryLocation, StagedItem,
    Staging, VerifiedItem,
};

/// A time like any other.
pub(crate) fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_hours(500_000)
}

pub(crate) fn options() -> InstallOptions<'static> {
    InstallOptions::at(now())
}

pub(crate) fn manifest(name: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}. Use when asked.\n{more}---\n# How\n")
}

/// Writes a skill as if it was fetched.
pub(crate) fn skill(staging: &Staging, disk: &Disk, name: &str, more: &str) -> Result<(), RegistryError> {
    write(staging.dir(), disk, name, more).map_err(|error| failed(error, staging.dir()))
}

fn failed(error: std::io::Error, path: &Path) -> RegistryError {
    RegistryError::File { doing: "write below", path: path.to_owned(), error }
}

fn write(dir: &Path, disk: &Disk, name: &str, more: &str) -> std::io::Result<()> {
    let dir = dir.join(name);
    disk.create_dir_all(&dir.join("scripts"))?;
    disk.write(&dir.join("SKILL.md"), manifest(name, more).as_bytes(), 0o644)?;
    disk.write(&dir.join("scripts/run.sh"), format!("#!/bin/sh\necho {name}\n").as_bytes(), 0o755)
}

/// Writes a plugin with two skills as if it was fetched.
pub(crate) fn plugin(staging: &Staging, disk: &Disk, name: &str) -> Result<(), RegistryError> {
    let dir = staging.dir().join(name);
    let written = disk.create_dir_all(&dir.join(".claude-plugin")).and_then(|()| {
        let text = format!("{{\"name\": {name:?}, \"version\": \"2.0\"}}");
        disk.write(&dir.join(".claude-plugin/plugin.json"), text.as_bytes(), 0o644)?;
        write(&dir.join("skills"), disk, "letters", "")?;
        write(&dir.join("skills"), disk, "slides", "")
    });
    written.map_err(|error| failed(error, staging.dir()))
}

pub(crate) fn chosen(name: &str, origin: &str) -> StagedItem {
    StagedItem::new(InstallableKind::Skill, name, origin)
}

pub(crate) fn open(dir: &Path) -> Registry {
    Registry::open(RegistryLocation::user(dir), Disk::default())
}

/// Installs skills of these names, each with something in its front matter.
pub(crate) fn install(registry: &Registry, names: &[&str], more: &str) -> InstallReport {
    let staging = registry.begin().unwrap();
    for name in names {
        skill(&staging, &Disk::default(), name, more).unwrap();
    }
    let chosen: Vec<_> = names.iter().map(|name| chosen(name, "/from/here")).collect();
    registry.install(&staging, &chosen, &options()).unwrap()
}

/// Everything that counts, as others see it.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) installed: Value,
    pub(crate) enabled: BTreeMap<String, bool>,
    pub(crate) lock: Option<Value>,
    pub(crate) files: BTreeMap<PathBuf, String>,
    pub(crate) trash: Vec<String>,
}

pub(crate) fn seen(registry: &Registry) -> Seen {
    let state = registry.state();
    let mut files = BTreeMap::new();
    for dir in [registry.location().skills_dir(), registry.location().plugins_dir()] {
        for path in all_below(&dir) {
            let text = if path.is_file() { std::fs::read_to_string(&path).unwrap() } else { String::new() };
            files.insert(path.strip_prefix(registry.location().dir()).unwrap().to_owned(), text);
        }
    }
    let lock = std::fs::read(registry.location().lock_file()).ok();
    Seen {
        installed: serde_json::to_value(&state.installed).unwrap(),
        enabled: state.enabled,
        lock: lock.map(|lock| serde_json::from_slice(&lock).unwrap()),
        files,
        trash: registry.trash().into_iter().map(|trashed| format!("{} {:?}", trashed.name, trashed.why)).collect(),
    }
}

/// Every file, link and empty directory below a directory.
pub(crate) fn all_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = vec![dir.to_owned()];
    while let Some(dir) = next.pop() {
        let Ok(entries) = dir.read_dir() else { continue };
        let before = found.len() + next.len();
        for entry in entries.map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                next.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
        if found.len() + next.len() == before {
            found.push(dir);
        }
    }
    found.sort();
    found
}

/// Copies a directory: quicker than installing everything anew each time.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap().map(Result::unwrap) {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            copy(&source, &target);
        } else {
            std::fs::copy(&source, &target).unwrap();
        }
    }
}

/// Lists leftovers in the registry's inner directory, without the files that belong there.
pub(crate) fn litter(dir: &Path) -> Vec<PathBuf> {
    let inner = dir.join(".registry");
    let belongs = ["lock", "staging", "trash"].map(|name| inner.join(name));
    all_below(&inner).into_iter().filter(|path| !belongs.contains(path)).collect()
}

/// A directory in memory where there is one: the tests that stop at every step make sure of thousands of files, and
/// what they show does not depend on the disk.
pub(crate) fn tempdir() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Lets one of the tests that need it run at a time. A process that is just being started shares the locks of all
/// threads for a moment: what another test has let go would still seem locked.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether everything is exactly what was installed, and nothing else is there.
pub(crate) fn is_clean(registry: &Registry) -> bool {
    registry.verify_all().unwrap().iter().all(VerifiedItem::is_clean)
}
