//! Locations in which other users may write: nothing changes by looking, and no link leads elsewhere.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use skillcue_registry::{Disk, Registry, RegistryError, RegistryLocation};

use crate::support::{all_below, install, now, skill, tempdir};

/// Returns a disk that puts a link in place of a directory, once, before a certain change; and whether it has.
fn swap(call: &'static str, below: &Path, dir: &Path, victim: &Path) -> (Arc<AtomicBool>, Disk) {
    let (below, dir, victim) = (below.to_owned(), dir.to_owned(), victim.to_owned());
    let done = Arc::new(AtomicBool::new(false));
    let swapped = Arc::clone(&done);
    let disk = Disk::with_seam(move |step| {
        if step.call == call && step.path.starts_with(&below) && !swapped.swap(true, Ordering::SeqCst) {
            std::fs::rename(&dir, dir.with_extension("away"))?;
            symlink(&victim, &dir)?;
        }
        Ok(())
    });
    (done, disk)
}

#[test]
fn removing_does_not_follow_a_swapped_link() {
    let (dir, victim) = (tempdir(), tempdir());
    for root in [dir.path().join("tree"), victim.path().to_owned()] {
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/precious"), "precious").unwrap();
        std::fs::write(root.join("precious"), "precious").unwrap();
    }
    let tree = dir.path().join("tree");
    let (swap, disk) = swap("unlink", &tree.join("sub"), &tree.join("sub"), victim.path());
    assert!(disk.remove_dir_all(&tree).is_err(), "what has appeared meanwhile was not asked for");
    assert!(swap.load(Ordering::SeqCst));
    assert_eq!(all_below(victim.path()).len(), 2, "what the link leads to is left");
    Disk::default().remove_dir_all(&tree).unwrap();
    assert_eq!(all_below(victim.path()).len(), 2);
}

/// Whether the directory of a project's skills is a link.
fn place_is_link(dir: &Path) -> bool {
    RegistryLocation::project(dir).skills_dir().symlink_metadata().is_ok_and(|found| found.is_symlink())
}

#[test]
fn moving_does_not_follow_a_swapped_link() {
    for call in ["rename", "exchange"] {
        let (dir, victim) = (tempdir(), tempdir());
        let place = RegistryLocation::project(dir.path());
        let registry = Registry::open(place.clone(), Disk::default());
        install(&registry, &["csv", "pdf"], "");
        std::fs::create_dir(victim.path().join("pdf")).unwrap();
        std::fs::write(victim.path().join("pdf/precious"), "precious").unwrap();
        let (swap, disk) = swap(call, dir.path(), &place.skills_dir(), victim.path());
        let registry = Registry::open(place, disk);
        if call == "rename" {
            let _ = registry.remove(&["pdf"], now());
        } else {
            let staging = registry.begin().unwrap();
            skill(&staging, &Disk::default(), "pdf", "license: MIT\n").unwrap();
            let chosen = crate::support::chosen("pdf", "/from/here");
            let _ = registry.install(&staging, &[chosen], &crate::support::options());
        }
        assert!(swap.load(Ordering::SeqCst), "{call}");
        assert!(place_is_link(dir.path()), "{call}: the link is still there to be followed");
        assert_eq!(all_below(victim.path()), [victim.path().join("pdf/precious")], "{call}");
    }
}

/// Everything below a directory: its bytes, and when it was last touched.
fn stamps(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u64, i64, i64)> {
    let stamp = |path: PathBuf| {
        let found = path.symlink_metadata().unwrap();
        let stamp = (std::fs::read(&path).unwrap_or_default(), found.ino(), found.ctime(), found.ctime_nsec());
        (path, stamp)
    };
    all_below(dir).into_iter().map(stamp).collect()
}

#[test]
fn opening_a_project_writes_nothing() {
    let dir = tempdir();
    let place = RegistryLocation::project(dir.path());
    install(&Registry::open(place.clone(), Disk::default()), &["csv", "pdf"], "");
    // Refuses to remove the journal, and to move anything back.
    let refuses = AtomicBool::new(false);
    let stuck = Disk::with_seam(move |step| {
        let trashed = step.path.starts_with("/") && step.path.ends_with("trash/00000001/pdf");
        let is_stuck = refuses.fetch_or(step.call == "rename" && trashed, Ordering::SeqCst);
        if is_stuck || step.call == "rename" && trashed { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    });
    let error = Registry::open(place.clone(), stuck).remove(&["pdf"], now()).unwrap_err();
    assert!(matches!(error, RegistryError::Unfinished { .. }), "{error}");
    let inner = dir.path().join(".skillcue/registry");
    std::fs::create_dir_all(inner.join("staging/1-1-1/files")).unwrap();
    std::fs::write(inner.join("staging/1-1-1/files/half"), "half").unwrap();
    let before = stamps(dir.path());
    assert!(before.contains_key(&inner.join("journal.json")));

    let registry = Registry::open(place, Disk::default());
    let state = registry.state();
    assert_eq!(state.installed.keys().collect::<Vec<_>>(), ["csv"], "what is decided counts");
    assert_eq!(state.diagnostics.len(), 1, "{:?}", state.diagnostics);
    assert!(state.diagnostics[0].message.contains("not finished"), "{:?}", state.diagnostics);
    registry.verify_all().unwrap();
    registry.trash();
    registry.restore_plan().unwrap();
    registry.installed_plugins();
    assert_eq!(stamps(dir.path()), before);

    registry.enable(&["csv"], true).unwrap();
    assert_eq!(registry.state().diagnostics, []);
    assert!(!dir.path().join(".skillcue/skills/pdf").exists());
    assert!(!inner.join("staging/1-1-1").exists());
}
