//! The bounds of the file: age and size.

use std::time::{Duration, SystemTime};

use skillcue::usage::UsageKind;
use skillcue_usage::{Ledger, LedgerEvent, LedgerLimits, LedgerQuery};

#[test]
fn events_that_are_too_old_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let week = Duration::from_hours(7 * 24);
    let limits = LedgerLimits { max_age: 2 * week, ..LedgerLimits::default() };
    let ledger = Ledger::new(dir.path().join("usage.db")).limits(limits);
    let now = SystemTime::now();
    let events: Vec<LedgerEvent> = (0..6)
        .map(|weeks| LedgerEvent { at: now - weeks * week, ..LedgerEvent::new(UsageKind::Loaded, format!("s{weeks}")) })
        .collect();
    ledger.write(&events).unwrap();
    let left: Vec<String> =
        ledger.events(&LedgerQuery::default()).unwrap().into_iter().map(|event| event.skill).collect();
    assert_eq!(left, ["s1", "s0"], "oldest first, and none of two weeks or more");
}

#[test]
fn the_file_does_not_grow_beyond_its_bound() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("usage.db");
    let event = |number: u64| LedgerEvent {
        at: SystemTime::now() + Duration::from_millis(number),
        project: "/home/ann/a/project/with/a/long/name".to_owned(),
        turn: number,
        ..LedgerEvent::new(UsageKind::Loaded, "pdf")
    };
    // Without a bound first: looking once an hour is enough in life, and a new ledger looks at its first event.
    let events: Vec<LedgerEvent> = (0..6_000).map(event).collect();
    Ledger::new(&path).write(&events).unwrap();
    let large = path.metadata().unwrap().len();
    let bound = large / 2;
    let limits = LedgerLimits { max_bytes: bound, ..LedgerLimits::default() };
    let ledger = Ledger::new(&path).limits(limits);
    assert!(ledger.tidy().unwrap() > 2_000);
    let left = ledger.events(&LedgerQuery::default()).unwrap();
    assert!(left.len() < 4_000 && left.last().unwrap().turn == 5_999, "the newest are left, not {}", left.len());
    // The room is used again: the file is no larger afterwards.
    ledger.write(&(6_000..8_000).map(event).collect::<Vec<_>>()).unwrap();
    ledger.tidy().unwrap();
    assert!(path.metadata().unwrap().len() <= large + (64 << 10));
}

#[test]
fn the_newest_events_that_fit_stay_where_the_bound_is_far_below_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("usage.db");
    let event = |number: u64| LedgerEvent {
        at: SystemTime::now() + Duration::from_millis(number),
        project: "/home/ann/a/project/with/a/long/name".to_owned(),
        turn: number,
        ..LedgerEvent::new(UsageKind::Loaded, "pdf")
    };
    Ledger::new(&path).write(&(0..12_000).map(event).collect::<Vec<_>>()).unwrap();
    let large = path.metadata().unwrap().len();
    for (bound, least, most) in [(large / 10, 800, 1_200), (large / 20, 200, 600), (1, 100, 100)] {
        let limits = LedgerLimits { max_bytes: bound, ..LedgerLimits::default() };
        let ledger = Ledger::new(&path).limits(limits);
        ledger.tidy().unwrap();
        let left = ledger.events(&LedgerQuery::default()).unwrap();
        assert!((least..=most).contains(&left.len()), "{} of {bound} bytes", left.len());
        assert_eq!(left.last().unwrap().turn, 11_999);
        assert_eq!(ledger.tidy().unwrap(), 0, "the next look has nothing to do at {bound} bytes");
    }
}
