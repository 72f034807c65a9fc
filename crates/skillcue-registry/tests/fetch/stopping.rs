//! Cancelling, time, progress, and a disk that is full.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use skillcue_registry::{Disk, Exceeded, FetchError, FetchEvent, FetchLimits, FetchProgress, InstallOrigin};

use crate::support::{Made, both, get, no_git};

/// All three kinds that need no git, as origins.
fn origins(dir: &std::path::Path) -> Vec<InstallOrigin> {
    let big = "text ".repeat(100_000);
    let entries: &[(&[u8], Made<'_>)] = &[(b"a/one", Made::File(&big)), (b"b/two", Made::File("2"))];
    let mut origins = Vec::new();
    for (name, bytes) in both(entries) {
        std::fs::write(dir.join(name), bytes).unwrap();
        origins.push(InstallOrigin::Archive { path: dir.join(name) });
    }
    let path = dir.join("dir");
    std::fs::create_dir_all(path.join("a")).unwrap();
    std::fs::create_dir_all(path.join("b")).unwrap();
    std::fs::write(path.join("a/one"), &big).unwrap();
    std::fs::write(path.join("b/two"), "2").unwrap();
    origins.push(InstallOrigin::Directory { path });
    origins
}

/// Cancels when it was asked so often.
struct After(AtomicUsize);

impl FetchProgress for After {
    fn is_cancelled(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

#[test]
fn cancelled_at_any_time() {
    let dir = tempfile::tempdir().unwrap();
    for origin in origins(dir.path()) {
        let mut asked = 0;
        loop {
            let done =
                get(&origin, &FetchLimits::default(), &Disk::default(), &no_git(), &After(AtomicUsize::new(asked)));
            match done.result {
                Err(FetchError::Cancelled) => asked += 1,
                Ok(_) => break,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(asked > 10, "{origin} was asked only {asked} times");
    }
}

#[test]
fn no_time_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let limits = FetchLimits { time: Duration::ZERO, ..FetchLimits::default() };
    for origin in origins(dir.path()) {
        let done = get(&origin, &limits, &Disk::default(), &no_git(), &());
        let timed = matches!(&done.result, Err(FetchError::TooMuch { exceeded: Exceeded::Time(_), .. }));
        assert!(timed, "{origin}: {:?}", done.result);
    }
}

#[derive(Default)]
struct Notes(Mutex<Vec<(u64, u64, Option<u64>)>>, Mutex<Vec<String>>);

impl FetchProgress for Notes {
    fn report(&self, event: FetchEvent<'_>) {
        match event {
            FetchEvent::Fetching { origin } => self.1.lock().unwrap().push(origin.to_owned()),
            FetchEvent::Unpacking { entries, bytes, of } => self.0.lock().unwrap().push((entries, bytes, of)),
            _ => {}
        }
    }
}

#[test]
fn progress_is_told_and_grows() {
    let dir = tempfile::tempdir().unwrap();
    let mut known = 0;
    for origin in origins(dir.path()) {
        let notes = Notes::default();
        get(&origin, &FetchLimits::default(), &Disk::default(), &no_git(), &notes).result.unwrap();
        assert_eq!(*notes.1.lock().unwrap(), [origin.to_string()]);
        let told = notes.0.into_inner().unwrap();
        assert!(told.is_sorted_by_key(|(entries, bytes, _)| (*entries, *bytes)), "{origin}");
        let (entries, bytes, of) = *told.last().unwrap();
        assert_eq!((entries, bytes), (4, 500_001), "{origin}");
        assert!(of.is_none_or(|of| of == 500_001), "{origin}");
        known += usize::from(of.is_some());
        assert!(told.iter().any(|(_, bytes, _)| (1..500_000).contains(bytes)), "{origin}: not only at the end");
    }
    assert!(known > 0, "the total is reported where an archive has it");
}

#[test]
fn a_full_disk_is_said_to_be_full() {
    let dir = tempfile::tempdir().unwrap();
    for origin in origins(dir.path()) {
        for steps in 0..6 {
            let left = AtomicUsize::new(steps);
            let disk = Disk::with_seam(move |_| {
                let passed = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
                passed.map(drop).map_err(|_| io::ErrorKind::StorageFull.into())
            });
            let done = get(&origin, &FetchLimits::default(), &disk, &no_git(), &());
            assert!(matches!(&done.result, Err(FetchError::Write { .. })), "{origin} {steps}: {:?}", done.result);
            assert!(done.error().contains("no storage space"), "{}", done.error());
        }
    }
}
