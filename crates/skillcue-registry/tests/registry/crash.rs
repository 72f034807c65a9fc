//! `kill -9` before every change to the disk: afterwards everything is as before or as after, never between.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use skillcue_registry::Disk;

use crate::operations::{ALL, RENAMES, before_and_after, perform};
use crate::support::{all_below, alone, copy, is_clean, litter, open, seen};

const OPERATION: &str = "SKILLCUE_TEST_OPERATION";
const DIR: &str = "SKILLCUE_TEST_DIR";
const STEPS: &str = "SKILLCUE_TEST_STEPS";

/// No test: the process that is killed.
#[test]
#[ignore = "started by `killed_at_any_step_nothing_is_between`"]
fn the_one_that_is_killed() {
    let Ok(operation) = std::env::var(OPERATION) else {
        println!("skipped: no test, but the process that another one starts and kills");
        return;
    };
    let dir = std::env::var(DIR).unwrap();
    let left = AtomicUsize::new(std::env::var(STEPS).unwrap().parse().unwrap());
    let renames = operation == RENAMES;
    let disk = Disk::with_seam(move |step| {
        if left.fetch_sub(1, Ordering::SeqCst) == 0 {
            Command::new("kill").args(["-9", &std::process::id().to_string()]).status()?;
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        if renames && step.call == "exchange" { Err(io::ErrorKind::Unsupported.into()) } else { Ok(()) }
    });
    perform(&operation, Path::new(&dir), &disk).unwrap();
}

/// Runs an operation in a process of its own that dies after so many steps; whether it did.
fn dies(operation: &str, dir: &Path, steps: usize) -> bool {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "crash::the_one_that_is_killed"])
        .env(OPERATION, operation)
        .env(DIR, dir)
        .env(STEPS, steps.to_string())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success() || status.signal() == Some(9), "{operation} after {steps} steps: {status}");
    !status.success()
}

/// Kills an operation at every step; how many there were.
fn kill_everywhere(operation: &str) -> usize {
    let (dir, before, after) = before_and_after(operation);
    let at = |name: &str| dir.path().join(name);
    assert_ne!(before, after, "{operation} does something");
    let (mut steps, mut undone, mut done) = (0, 0, 0);
    loop {
        let place = at(&format!("run-{steps}"));
        copy(&at("before"), &place);
        if !dies(operation, &place, steps) {
            assert_eq!(seen(&open(&place)), after, "{operation}, not killed");
            break;
        }
        let registry = open(&place);
        let now = seen(&registry);
        if now == before {
            undone += 1;
        } else {
            assert_eq!(now, after, "{operation}, killed after {steps} steps");
            done += 1;
        }
        if operation != "mend" || now == after {
            assert!(is_clean(&registry), "{operation} after {steps}");
            assert_eq!(registry.state().diagnostics, [], "{operation} after {steps}");
        }
        let all = all_below(&place);
        assert_eq!(
            (seen(&open(&place)), all_below(&place)),
            (now, all),
            "{operation}: a second look changes something"
        );
        registry.gc(None).unwrap();
        assert_eq!(litter(&place), [""; 0].map(std::path::PathBuf::from), "{operation} after {steps}");
        std::fs::remove_dir_all(&place).unwrap();
        steps += 1;
    }
    assert!(undone > 0, "{operation} is undone by an early death");
    assert!(done > 0 || operation == "enable", "{operation} is finished after a late death");
    steps
}

#[test]
fn killed_at_any_step_nothing_is_between() {
    let _alone = alone();
    let points: Vec<_> = ALL.iter().map(|operation| (operation, kill_everywhere(operation))).collect();
    let all: usize = points.iter().map(|(_, steps)| steps).sum();
    println!("{all} points: {points:?}");
    assert!(all >= 200, "{points:?}");
}
