//! A step that can never be taken: the change fails as a whole, and the registry goes on.

use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use skillcue_base::ErrorInfo as _;
use skillcue_registry::{Disk, DiskStep, Registry, RegistryError, RegistryLocation};

use crate::operations::{ALL, RENAMES, before_and_after, perform};
use crate::support::{alone, copy, install, is_clean, litter, now, open, seen, tempdir};

/// Takes the step of some number, and from then on refuses it for ever.
struct Never {
    left: AtomicUsize,
    kind: ErrorKind,
    renames: bool,
    refused: Mutex<Option<(&'static str, PathBuf)>>,
}

impl Never {
    fn before(&self, step: DiskStep<'_>) -> io::Result<()> {
        let mut refused = self.refused.lock().unwrap();
        if refused.is_none() && self.left.fetch_sub(1, Ordering::SeqCst) == 0 {
            *refused = Some((step.call, step.path.to_owned()));
        }
        if refused.as_ref().is_some_and(|(call, path)| (*call, path.as_path()) == (step.call, step.path)) {
            return Err(self.kind.into());
        }
        if self.renames && step.call == "exchange" { Err(ErrorKind::Unsupported.into()) } else { Ok(()) }
    }
}

fn refuse_each(operation: &str, kind: ErrorKind) -> usize {
    let (dir, before, after) = before_and_after(operation);
    let at = |name: &str| dir.path().join(name);
    let mut whole = 0;
    for steps in 0.. {
        let place = at("run");
        copy(&at("before"), &place);
        let (left, renames) = (AtomicUsize::new(steps), operation == RENAMES);
        let seam = Arc::new(Never { left, kind, renames, refused: Mutex::new(None) });
        let taken = Arc::clone(&seam);
        let disk = Disk::with_seam(move |step| taken.before(step));
        let result = perform(operation, &place, &disk);
        let Some((call, path)) = seam.refused.lock().unwrap().clone() else { return whole };
        let context = format!("{operation}, {kind:?} for {call} {}: {result:?}", path.display());
        // As others see it: no journal is left that says something else.
        let journal = place.join(".registry/journal.json").exists();
        let now = seen(&Registry::open(RegistryLocation::user(&place), Disk::default()));
        match &result {
            Ok(()) => assert_eq!(now, after, "{context}"),
            Err(RegistryError::Unfinished { .. }) => {
                // A removed directory cannot be put back either, if nothing at all can be put there.
                let no_way_back = (operation == RENAMES && path.starts_with(place.join("skills")))
                    || (operation == "mend" && path == place.join("registry.json"));
                assert!(no_way_back || path.ends_with("journal.json") || path.ends_with(".registry"), "{context}");
                assert_eq!(now, after, "{context}");
            }
            Err(_) if operation == "gc" => {}
            Err(error) => {
                assert!(!journal, "{context}");
                assert_eq!(now, before, "{context}");
                assert!(error.hint().is_some());
                whole += 1;
            }
        }
        // Changes that do not need that step work even now.
        if path.starts_with(place.join("skills")) || path.starts_with(place.join("plugins")) {
            Registry::open(RegistryLocation::user(&place), disk).enable(&["elsewhere"], true).unwrap();
            open(&place).forget(&["elsewhere"]).unwrap();
        }
        if now == before {
            perform(operation, &place, &Disk::default()).unwrap();
        }
        assert_eq!(seen(&open(&place)), after, "{context}: the next try works");
        open(&place).gc(None).unwrap();
        assert_eq!(litter(&place).len(), 0, "{context}");
        std::fs::remove_dir_all(&place).unwrap();
    }
    unreachable!()
}

#[test]
fn a_step_that_can_never_be_taken() {
    let _alone = alone();
    for kind in [ErrorKind::CrossesDevices, ErrorKind::PermissionDenied] {
        let points: usize = ALL.iter().map(|operation| refuse_each(operation, kind)).sum();
        assert!(points >= 100, "{points}");
    }
}

/// Refuses one step, lets some pass, and then refuses everything: undoing is interrupted.
struct Interrupt {
    left: AtomicUsize,
    then: AtomicUsize,
    renames: bool,
}

impl Interrupt {
    fn before(&self, step: DiskStep<'_>) -> io::Result<()> {
        let next = |count: &AtomicUsize| {
            count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
        };
        if !next(&self.left) && (self.then.fetch_sub(1, Ordering::SeqCst) > usize::MAX / 2 || !next(&self.then)) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        if self.renames && step.call == "exchange" { Err(ErrorKind::Unsupported.into()) } else { Ok(()) }
    }
}

#[test]
fn undoing_that_is_interrupted_is_finished_by_the_next() {
    let _alone = alone();
    let mut unfinished = 0;
    for operation in ["update", RENAMES, "restore", "plugin"] {
        let (dir, before, after) = before_and_after(operation);
        let at = |name: &str| dir.path().join(name);
        for steps in 0.. {
            let mut over = false;
            for then in [2, 4, 6, 8] {
                let place = at("run");
                copy(&at("before"), &place);
                let (left, then) = (AtomicUsize::new(steps), AtomicUsize::new(then));
                let seam = Arc::new(Interrupt { left, then, renames: operation == RENAMES });
                let taken = Arc::clone(&seam);
                let result = perform(operation, &place, &Disk::with_seam(move |step| taken.before(step)));
                over = seam.left.load(Ordering::SeqCst) > 0;
                let journal = place.join(".registry/journal.json").exists();
                let now = seen(&open(&place));
                if journal {
                    assert!(
                        matches!(result, Err(RegistryError::Unfinished { .. })),
                        "{operation}, {steps}: {result:?}"
                    );
                    assert_eq!(now, after, "{operation}, {steps}: what is decided is finished");
                    unfinished += 1;
                }
                assert!(now == before || now == after, "{operation}, {steps}");
                assert!(is_clean(&open(&place)), "{operation}, {steps}");
                std::fs::remove_dir_all(&place).unwrap();
            }
            if over {
                break;
            }
        }
    }
    assert!(unfinished >= 20, "{unfinished}");
}

#[test]
fn a_directory_that_must_not_be_written_to() {
    let dir = tempdir();
    let registry = open(dir.path());
    install(&registry, &["pdf", "csv"], "");
    let before = seen(&registry);
    let skill = dir.path().join("skills/pdf");
    std::fs::set_permissions(&skill, std::fs::Permissions::from_mode(0o555)).unwrap();
    // Root may write everywhere.
    let denied = std::fs::write(skill.join("try"), "").is_err();
    let _ = std::fs::remove_file(skill.join("try"));
    if !denied {
        println!("skipped: this user may write everywhere, so nothing is denied");
    }
    let removed = registry.remove(&["csv", "pdf"], now());
    assert_eq!(removed.is_err(), denied, "{removed:?}");
    if let Err(error) = removed {
        assert!(matches!(error, RegistryError::File { .. }), "{error}");
        assert_eq!(seen(&registry), before);
        assert!(!dir.path().join(".registry/journal.json").exists(), "nothing was decided");
        registry.enable(&["csv"], true).unwrap();
        std::fs::set_permissions(&skill, std::fs::Permissions::from_mode(0o755)).unwrap();
        registry.remove(&["csv", "pdf"], now()).unwrap();
    }
    assert!(registry.state().installed.is_empty());
}

/// Refuses everything below a directory.
fn below(path: &Path) -> Disk {
    let dir = path.to_owned();
    Disk::with_seam(
        move |step| if step.path.starts_with(&dir) { Err(ErrorKind::CrossesDevices.into()) } else { Ok(()) },
    )
}

#[test]
fn a_change_that_can_never_finish_is_abandoned() {
    let dir = tempdir();
    install(&open(dir.path()), &["pdf", "csv"], "");
    assert_eq!(open(dir.path()).abandon().unwrap(), None);
    // Another process has left a journal that cannot be carried out.
    let text = "{\"version\": 1, \"staging\": \"1-1-1\", \"trash\": \"7\", \"moves\": [{\"kind\": \"skill\", \"name\": \"pdf\", \
                \"comes\": null, \"goes\": true, \"was\": \"skill\"}], \"aside\": [], \"files\": []}";
    let room = dir.path().join(".registry/staging/1-1-1/trash");
    std::fs::create_dir_all(room).unwrap();
    std::fs::write(dir.path().join(".registry/journal.json"), text).unwrap();
    let stuck = below(&dir.path().join(".registry/trash"));
    let registry = Registry::open(RegistryLocation::user(dir.path()), stuck);
    assert_eq!(registry.state().diagnostics.len(), 1, "{:?}", registry.state().diagnostics);
    let error = registry.remove(&["csv"], now()).unwrap_err();
    assert!(matches!(error, RegistryError::Unfinished { .. }), "{error}");
    assert!(error.hint().unwrap().contains("giving it up"), "{}", error.hint().unwrap());
    let abandoned = registry.abandon().unwrap().unwrap();
    assert_eq!(abandoned.names, ["pdf"]);
    assert!(abandoned.journal.ends_with(".registry/journal.json.broken-1"));
    assert!(abandoned.reason.contains("trash"), "{}", abandoned.reason);
    assert_eq!(registry.state().diagnostics, []);
    registry.enable(&["csv"], true).unwrap();
    assert!(is_clean(&registry));

    // A change that can be finished is not given up.
    let registry = open(dir.path());
    std::fs::create_dir_all(dir.path().join(".registry/staging/1-1-1/trash")).unwrap();
    std::fs::write(dir.path().join(".registry/journal.json"), text).unwrap();
    assert_eq!(registry.abandon().unwrap(), None);
    assert!(!dir.path().join("skills/pdf").exists());
}
