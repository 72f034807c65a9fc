//! Directories beside the target, in which content is prepared before it is committed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use skillcue_catalog::EntryKind;

use crate::writer_lock::{WriterLock, try_lock};
use crate::{Disk, RegistryError, RegistryLocation};

/// A fresh directory on the registry's file system, to fetch into. It is removed with the last clone of this value.
#[derive(Debug, Clone)]
pub struct Staging(Arc<StagingDir>);

#[derive(Debug)]
struct StagingDir {
    path: PathBuf,
    files: PathBuf,
    disk: Disk,
    /// Set once a journal needs what is in it.
    kept: AtomicBool,
    /// Locked for as long as its owner lives: no other process sweeps the directory meanwhile.
    _alive: File,
}

impl Drop for StagingDir {
    fn drop(&mut self) {
        if self.kept.load(Ordering::Relaxed) {
            return;
        }
        // A directory that cannot be removed now is swept by the next change.
        if let Err(error) = self.disk.remove_dir_all(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "staging is left for later");
        }
    }
}

impl Staging {
    /// Makes a staging directory, under the writer's lock: a sweeper must not see it before it is locked itself.
    pub(crate) fn new(location: &RegistryLocation, disk: &Disk, _: &WriterLock) -> Result<Staging, RegistryError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Processes in two containers may share an id; hardly the nanosecond, too.
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
        let path = location.staging().join(format!("{}-{count}-{nanos}", std::process::id()));
        let fail = |error| RegistryError::file("make", &path, error);
        disk.create_dir(&path).map_err(fail)?;
        let made = try_lock(&path.join("alive"), disk).map_err(fail).and_then(|alive| {
            let files = path.join("files");
            disk.create_dir(&files).map_err(|error| RegistryError::file("make", &files, error))?;
            alive
                .map(|alive| (alive, files))
                .ok_or_else(|| fail(std::io::Error::other("another process has locked it")))
        });
        match made {
            Ok((alive, files)) => Ok(Staging(Arc::new(StagingDir {
                path,
                files,
                disk: disk.clone(),
                kept: AtomicBool::new(false),
                _alive: alive,
            }))),
            Err(error) => {
                let _ = disk.remove_dir_all(&path);
                Err(error)
            }
        }
    }

    /// Returns the directory to fetch into. It is empty.
    pub fn dir(&self) -> &Path {
        &self.0.files
    }

    /// Returns the directory around `dir`.
    pub(crate) fn outer_dir(&self) -> &Path {
        &self.0.path
    }

    /// Leaves the directory for the process that finishes the journal.
    pub(crate) fn keep(&self) {
        self.0.kept.store(true, Ordering::Relaxed);
    }

    /// Returns the name of the outer directory.
    pub(crate) fn id(&self) -> String {
        self.0.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// Counts of what a sweep removed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SweepTotals {
    pub(crate) directories: usize,
    pub(crate) bytes: u64,
}

/// Removes leftovers of crashes: staging directories whose process has ended, drafts, and trash without content. Called
/// under the writer's lock, and when no journal is left.
pub(crate) fn sweep(location: &RegistryLocation, disk: &Disk, _: &WriterLock) -> Result<SweepTotals, RegistryError> {
    let mut swept = SweepTotals::default();
    for path in children(&location.staging())? {
        let owned = path.is_dir() && !path.is_symlink() && {
            let alive = path.join("alive");
            // A directory without the file was left between two steps: it is made under the lock.
            alive.symlink_metadata().is_ok_and(|found| found.is_file())
                && try_lock(&alive, disk).map_err(|error| RegistryError::file("lock", &alive, error))?.is_none()
        };
        if !owned {
            remove(&path, disk, &mut swept)?;
        }
    }
    for path in children(&location.inner())? {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("next-")) {
            remove(&path, disk, &mut swept)?;
        }
    }
    for path in children(&location.trash())? {
        let is_empty =
            children(&path).is_ok_and(|inside| inside.iter().all(|path| path.ends_with(crate::trash::ENTRY)));
        // An entry that only records that something was removed has no files.
        if is_empty && crate::trash::entry(location, &path).is_none() {
            remove(&path, disk, &mut swept)?;
        }
    }
    Ok(swept)
}

fn remove(path: &Path, disk: &Disk, swept: &mut SweepTotals) -> Result<(), RegistryError> {
    swept.directories += 1;
    swept.bytes += weight(path);
    disk.remove_dir_all(path).map_err(|error| RegistryError::file("remove", path, error))
}

/// Lists the entries of a directory, sorted; none if it is missing.
pub(crate) fn children(dir: &Path) -> Result<Vec<PathBuf>, RegistryError> {
    let fail = |error| RegistryError::file("list", dir, error);
    match dir.read_dir() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => {
            let paths: Result<Vec<_>, _> =
                entries.map_err(fail)?.map(|entry| entry.map(|entry| entry.path())).collect();
            let mut paths = paths.map_err(fail)?;
            paths.sort();
            Ok(paths)
        }
    }
}

/// Returns how many bytes are in a directory, following no link.
pub(crate) fn weight(path: &Path) -> u64 {
    let Ok(found) = path.symlink_metadata() else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    let Some(mut tree) = crate::tree::walk(path) else { return 0 };
    let mut bytes = 0;
    while let Some(entry) = tree.next_entry() {
        let file = entry.ok().filter(|entry| entry.kind() != EntryKind::Directory);
        bytes += file.and_then(|entry| entry.metadata().ok()).map_or(0, |found| found.size);
    }
    bytes
}
