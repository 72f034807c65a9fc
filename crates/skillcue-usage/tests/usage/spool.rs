//! The spool of short processes: every line gets into the database, and none twice.

use std::time::Duration;

use skillcue::usage::UsageKind;
use skillcue_usage::{Ledger, LedgerBatch, LedgerEvent, LedgerQuery, MessageCount};

use crate::{at, child};

fn batch(turn: u64) -> LedgerBatch {
    let event = LedgerEvent {
        at: at(turn),
        session: "s".to_owned(),
        turn,
        tier: Some(3),
        tokens: Some(900),
        confidence: Some(0.5),
        item: Some("a \"b\"\n.py".to_owned()),
        ..LedgerEvent::new(UsageKind::Shown, "pdf")
    };
    let message = MessageCount { at: at(turn), project: "/p".to_owned(), client: "hook:claude".to_owned(), number: 1 };
    LedgerBatch { events: vec![event], messages: vec![message] }
}

fn turns(ledger: &Ledger) -> Vec<u64> {
    let mut turns: Vec<u64> = ledger.events(&LedgerQuery::default()).unwrap().iter().map(|event| event.turn).collect();
    turns.sort_unstable();
    turns
}

#[test]
fn lines_of_the_spool_are_read_with_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = crate::ageless(dir.path().join("data/usage.db"));
    let spool = dir.path().join("data/usage.db-spool");
    for turn in 1..=5 {
        ledger.write_briefly(&batch(turn)).unwrap();
    }
    assert!(spool.exists());
    let events = ledger.events(&LedgerQuery::default()).unwrap();
    assert_eq!(events[4], batch(5).events[0]);
    assert_eq!(ledger.messages(&LedgerQuery::default()).unwrap()[0].number, 5);
    assert_eq!((turns(&ledger), spool.exists()), (vec![1, 2, 3, 4, 5], false));
    ledger.write_briefly(&batch(6)).unwrap();
    ledger.purge().unwrap();
    assert!(!spool.exists() && turns(&ledger).is_empty());
}

#[test]
fn a_spool_that_was_taken_in_and_not_removed_is_not_taken_in_again() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = crate::ageless(dir.path().join("usage.db"));
    ledger.write_briefly(&batch(1)).unwrap();
    let spool = dir.path().join("usage.db-spool");
    let before = std::fs::read(&spool).unwrap();
    assert_eq!(turns(&ledger), [1]);
    // As if the process had been killed between the two, and another one had appended since.
    std::fs::write(&spool, before).unwrap();
    ledger.write_briefly(&batch(2)).unwrap();
    assert_eq!(turns(&ledger), [1, 2]);
}

#[test]
fn a_line_that_was_cut_off_takes_no_other_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = crate::ageless(dir.path().join("usage.db"));
    ledger.write_briefly(&batch(1)).unwrap();
    ledger.write_briefly(&batch(2)).unwrap();
    let spool = dir.path().join("usage.db-spool");
    let size = spool.metadata().unwrap().len();
    std::fs::File::options().write(true).open(&spool).unwrap().set_len(size - 20).unwrap();
    ledger.write_briefly(&batch(3)).unwrap();
    assert_eq!(turns(&ledger), [1, 3]);
}

#[test]
fn a_spool_whose_first_line_was_cut_off_is_read_from_the_next_one_on() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = crate::ageless(dir.path().join("usage.db"));
    let spool = dir.path().join("usage.db-spool");
    for round in 0..2 {
        std::fs::write(&spool, "{\"sp").unwrap();
        for turn in 1..=2 {
            ledger.write_briefly(&batch(10 * round + turn)).unwrap();
        }
        let before = std::fs::read(&spool).unwrap();
        assert_eq!(turns(&ledger).len() as u64, 2 * (round + 1), "round {round}");
        // As if the process had been killed before it removed it.
        std::fs::write(&spool, before).unwrap();
        assert_eq!(turns(&ledger).len() as u64, 2 * (round + 1), "round {round}");
    }
}

/// Appends more than the disk has room for.
pub(crate) fn append_too_much(dir: &std::path::Path) {
    let events = (1..=20).flat_map(|turn| batch(turn).events).collect();
    assert!(
        Ledger::new(dir.join("usage.db")).write_briefly(&LedgerBatch { events, ..LedgerBatch::default() }).is_err()
    );
}

#[test]
fn a_batch_that_a_full_disk_cuts_off_is_taken_back_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let status = child::start_in_shell("trap '' XFSZ; ulimit -f 1", "append-too-much", dir.path()).wait().unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(dir.path().join("usage.db-spool").metadata().unwrap().len(), 0);
    let ledger = crate::ageless(dir.path().join("usage.db"));
    ledger.write_briefly(&batch(1)).unwrap();
    assert_eq!(turns(&ledger), [1]);
    assert_eq!(ledger.state().unwrap().unwrap().dropped, 20);
}

#[test]
fn a_spool_that_has_grown_is_taken_in_by_the_process_that_appends() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = crate::ageless(dir.path().join("usage.db"));
    for turn in 0..600 {
        ledger.write_briefly(&batch(turn)).unwrap();
    }
    assert!(dir.path().join("usage.db-spool").metadata().map_or(0, |metadata| metadata.len()) < 64 << 10);
    assert_eq!(turns(&ledger), (0..600).collect::<Vec<_>>());
}

/// Appends so many batches, each as a process of its own would.
pub(crate) fn append(dir: &std::path::Path, word: &str) {
    let first: u64 = word.parse().unwrap();
    for turn in first..first + 400 {
        crate::ageless(dir.join("usage.db")).write_briefly(&batch(turn)).unwrap();
    }
}

#[test]
fn processes_that_append_and_take_in_at_once_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = crate::ageless(dir.path().join("usage.db"));
    let mut children: Vec<_> =
        (0..6_u64).map(|number| child::start("append", dir.path(), &(number * 400).to_string())).collect();
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        turns(&ledger);
        std::thread::sleep(Duration::from_millis(3));
    }
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    assert_eq!(turns(&ledger), (0..2_400).collect::<Vec<_>>());
    assert_eq!(ledger.messages(&LedgerQuery::default()).unwrap()[0].number, 2_400);
}

#[test]
fn processes_that_are_killed_leave_no_line_twice_and_a_sound_file() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = crate::ageless(dir.path().join("usage.db"));
    for kill in 0..16_u64 {
        let mut child = child::start("append", dir.path(), &(kill * 100_000).to_string());
        // Another point of its work each time: some append, some take in.
        std::thread::sleep(Duration::from_millis(4 + kill * 37 % 120));
        child.kill().unwrap();
        child.wait().unwrap();
        let turns = turns(&ledger);
        assert!(turns.is_sorted_by(|one, next| one < next), "after kill {kill}");
        assert_eq!(ledger.check().unwrap(), None, "after kill {kill}");
    }
    assert!(!turns(&ledger).is_empty(), "no process got as far as writing");
}
