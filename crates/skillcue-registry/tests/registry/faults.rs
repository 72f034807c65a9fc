//! A full disk, a denied or read-only one: a clear error, nothing lost, and the next try works.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use skillcue_base::ErrorInfo as _;
use skillcue_registry::{Disk, DiskStep, RegistryError};

use crate::operations::{ALL, RENAMES, before_and_after, perform, prepare};
use crate::support::{alone, copy, litter, open, seen, tempdir};

/// Lets so many changes pass and refuses all others, as a disk does that has become full.
struct Refuse {
    left: AtomicUsize,
    kind: ErrorKind,
    /// Only the first that is refused.
    once: bool,
    renames: bool,
}

impl Refuse {
    fn before(&self, step: DiskStep<'_>) -> io::Result<()> {
        let passed = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if passed.is_ok() {
            let unsupported = self.renames && step.call == "exchange";
            return if unsupported { Err(ErrorKind::Unsupported.into()) } else { Ok(()) };
        }
        if self.once {
            self.left.store(usize::MAX, Ordering::SeqCst);
        }
        Err(self.kind.into())
    }

    fn refused(&self) -> bool {
        let left = self.left.load(Ordering::SeqCst);
        left == 0 || left > usize::MAX / 2
    }
}

fn refuse_everywhere(operation: &str, kind: ErrorKind, once: bool) -> usize {
    let (dir, before, after) = before_and_after(operation);
    let at = |name: &str| dir.path().join(name);
    for steps in 0.. {
        let place = at("run");
        copy(&at("before"), &place);
        let seam = Arc::new(Refuse { left: AtomicUsize::new(steps), kind, once, renames: operation == RENAMES });
        let taken = Arc::clone(&seam);
        let result = perform(operation, &place, &Disk::with_seam(move |step| taken.before(step)));
        let context = format!("{operation}, {kind:?} after {steps} steps: {result:?}");
        let now = seen(&open(&place));
        match &result {
            // Only tidying up was refused.
            Ok(()) => assert_eq!(now, after, "{context}"),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(place.to_str().unwrap()), "the error names the place: {text}");
                assert!(error.hint().is_some());
                assert!(now == before || now == after, "{context}: {now:#?}");
            }
        }
        if now == before {
            perform(operation, &place, &Disk::default()).unwrap();
        }
        assert_eq!(seen(&open(&place)), after, "{context}: the next try works");
        open(&place).gc(None).unwrap();
        assert_eq!(litter(&place).len(), 0, "{context}");
        std::fs::remove_dir_all(&place).unwrap();
        if !seam.refused() {
            return steps;
        }
    }
    unreachable!()
}

#[test]
fn a_full_disk() {
    let _alone = alone();
    let points: usize = ALL.iter().map(|operation| refuse_everywhere(operation, ErrorKind::StorageFull, false)).sum();
    assert!(points >= 200, "{points}");
}

#[test]
fn a_single_refusal() {
    let _alone = alone();
    for operation in ALL {
        refuse_everywhere(operation, ErrorKind::PermissionDenied, true);
    }
}

#[test]
fn a_disk_that_becomes_read_only() {
    let _alone = alone();
    for operation in ["update", "remove"] {
        refuse_everywhere(operation, ErrorKind::ReadOnlyFilesystem, false);
    }
}

#[test]
fn readers_see_a_committed_change_before_it_is_finished() {
    let _alone = alone();
    let dir = tempdir();
    prepare("remove", dir.path());
    let error = (0..).find_map(|steps| {
        let full = Refuse { left: AtomicUsize::new(steps), kind: ErrorKind::StorageFull, once: false, renames: false };
        let error = perform("remove", dir.path(), &Disk::with_seam(move |step| full.before(step))).unwrap_err();
        matches!(error, RegistryError::Unfinished { .. }).then_some(error)
    });
    assert!(error.unwrap().to_string().starts_with("the change is recorded, but not finished yet: cannot "));
    assert!(dir.path().join("skills/pdf").exists());
    let lock = std::fs::File::open(dir.path().join(".registry/lock")).unwrap();
    lock.lock().unwrap();
    let state = open(dir.path()).state();
    assert!(state.installed.is_empty() && state.enabled.is_empty() && state.diagnostics.is_empty(), "{state:?}");
    lock.unlock().unwrap();
    let registry = open(dir.path());
    assert!(!dir.path().join("skills/pdf").exists(), "opening has finished it");
    assert_eq!(registry.trash().len(), 2);
}

#[test]
fn the_message_says_what_where_and_why() {
    let dir = tempdir();
    let full = Refuse { left: AtomicUsize::new(0), kind: ErrorKind::StorageFull, once: false, renames: false };
    let error = perform("enable", dir.path(), &Disk::with_seam(move |step| full.before(step))).unwrap_err();
    let expected = format!("cannot make {}: no storage space", dir.path().join(".registry/staging").display());
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.hint().unwrap(), "make room and try again");
}
