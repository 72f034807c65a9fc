//! Stores that are down, stall, truncate and lie: nothing wrong is served, the last good generation stays, each case is
//! one clear line.

use std::time::Duration;

use bytes::Bytes;
use skillcue_fleet::{FleetError, PullOutcome, inspect, publish};

use crate::support::{Fault, Fleet, names, read, refresh, skills, write_skill};

#[test]
fn a_store_with_a_fault_leaves_the_last_good_generation() {
    let faults = [
        (Fault::Down, "the store cannot be asked for head: 503 Service Unavailable"),
        (Fault::Stall, "the store did not send head within 0 s"),
        (Fault::StallMidway, "the store did not send head within 0 s"),
        (Fault::Truncate, "head is not what the catalog says"),
        (Fault::Lie("head"), ""),
        (Fault::Lie("catalog/"), "is not what the catalog says: its digest is"),
        (Fault::Lie("blobs/"), "is not what the catalog says: its digest is"),
        (Fault::Huge("head", 1 << 20), "head is larger than 65536 bytes"),
        (Fault::Huge("catalog/", 1 << 20), "catalog/000000000002-"),
        (Fault::Huge("blobs/", 1 << 20), "is larger than"),
        (Fault::Missing("head"), "the store has no head"),
        (Fault::Missing("catalog/"), "the store has no catalog/"),
        (Fault::Missing("blobs/"), "the store has no blobs/"),
    ];
    for (fault, line) in faults {
        let fleet = Fleet::new();
        let dir = skills(&["invoices"]);
        fleet.publish(dir.path());
        let reader = fleet.reader();
        refresh(&reader).unwrap();
        write_skill(dir.path(), "pictures", "A new one.");
        fleet.publish(dir.path());
        fleet.faulty.set(fault.clone());
        let error = refresh(&reader).unwrap_err().to_string();
        assert!(error.contains(line) && !error.contains('\n') && error.len() < 300, "{fault:?}: {error}");
        assert_eq!(names(&reader), ["invoices"], "{fault:?}");
        assert_eq!(names(&fleet.reader()), ["invoices"], "{fault:?}: after a start");
        let said = fleet.reader().diagnostics();
        assert_eq!(said.len(), 1, "{fault:?}");
        assert!(said[0].message.contains("generation 1 stays in use"), "{}", said[0].message);
        fleet.faulty.set(Fault::None);
        assert_eq!(refresh(&reader), Ok(PullOutcome::Changed(2)), "{fault:?}");
        assert!(reader.diagnostics().is_empty());
    }
}

/// A publisher whose store has a fault at any step publishes nothing, says so in one line, and succeeds afterwards.
#[test]
fn a_publish_with_a_fault_is_not_done_by_halves() {
    let faults = [
        (Fault::Down, "the store cannot be asked for head: 503 Service Unavailable"),
        (Fault::Stall, "the store did not send head within 0 s"),
        (Fault::StallMidway, "the store did not send head within 0 s"),
        (Fault::Truncate, "head is not what the catalog says"),
        (Fault::Lie("catalog/"), "is not what the catalog says: its digest is"),
        (Fault::Lie("blobs/"), "is not what the catalog says: its digest is"),
        (Fault::Huge("blobs/", 1 << 20), "is larger than"),
        (Fault::Missing("catalog/"), "the store has no catalog/"),
        (Fault::Missing("blobs/"), "the store has no blobs/"),
        (Fault::FailWrites("blobs/"), "the store cannot be asked for blobs/sha256/"),
        (Fault::FailWrites("catalog/"), "the store cannot be asked for catalog/000000000002-"),
        (Fault::FailWrites("head"), "the store cannot be asked for head: 503 Service Unavailable"),
        (Fault::StallWrites("blobs/"), "the store did not take blobs/sha256/"),
        (Fault::StallWrites("catalog/"), "the store did not take catalog/000000000002-"),
        (Fault::StallWrites("head"), "the store did not take head within 0 s"),
    ];
    for (fault, line) in faults {
        let fleet = Fleet::new();
        let dir = skills(&["invoices"]);
        fleet.publish(dir.path());
        let head = fleet.faulty.stored_head();
        write_skill(dir.path(), "pictures", "A new one.");
        fleet.faulty.set(fault.clone());
        let store = fleet.store.clone().timeout(Duration::from_millis(200));
        let error = publish(&fleet.engine, &store, Some(dir.path()), &fleet.options()).unwrap_err().to_string();
        assert!(error.contains(line) && !error.contains('\n') && error.len() < 300, "{fault:?}: {error}");
        fleet.faulty.set(Fault::None);
        assert_eq!(fleet.faulty.stored_head(), head, "{fault:?}: the head is as it was");
        let before = inspect(&fleet.engine, &fleet.store, &[fleet.key.public()], true).unwrap();
        assert_eq!((before.sequence, before.entries.len()), (1, 1), "{fault:?}: every blob of it is there");
        let report = fleet.publish(dir.path());
        assert_eq!((report.sequence, report.skills), (2, 2), "{fault:?}");
        let after = inspect(&fleet.engine, &fleet.store, &[fleet.key.public()], true).unwrap();
        assert_eq!(after.entries.len(), 2, "{fault:?}");
    }
}

#[test]
fn a_first_start_with_a_fault_serves_nothing() {
    for fault in [Fault::Down, Fault::Stall, Fault::Truncate, Fault::Lie("blobs/"), Fault::Missing("blobs/")] {
        let fleet = Fleet::new();
        fleet.publish(skills(&["invoices"]).path());
        fleet.faulty.set(fault.clone());
        let reader = fleet.reader();
        assert!(refresh(&reader).is_err(), "{fault:?}");
        assert_eq!(names(&reader), [""; 0], "{fault:?}");
        assert!(reader.diagnostics()[0].message.ends_with("it has no skills until then"));
    }
}

#[test]
fn a_body_that_is_not_what_was_signed_is_not_served() {
    for (fault, line) in [
        (Fault::Lie("blobs/"), "what the server sent is refused: acme: blobs/sha256/"),
        (Fault::Truncate, "what the server sent is refused: acme: blobs/sha256/"),
        (Fault::Huge("blobs/", 100_000), "what the server sent is refused: acme: blobs/sha256/"),
        (Fault::Missing("blobs/"), "the server cannot be asked: acme: the store has no blobs/sha256/"),
        (Fault::Stall, "the server cannot be asked: acme: the store did not send blobs/sha256/"),
        (Fault::StallMidway, "the server cannot be asked: acme: the store did not send blobs/sha256/"),
    ] {
        let fleet = Fleet::new();
        fleet.publish(skills(&["invoices"]).path());
        let reader = fleet.reader();
        refresh(&reader).unwrap();
        fleet.faulty.set(fault.clone());
        let error = read(&reader, "invoices", "SKILL.md").unwrap_err().to_string();
        assert!(error.starts_with(line), "{fault:?}: {error}");
        fleet.faulty.set(Fault::None);
        assert!(read(&reader, "invoices", "SKILL.md").is_ok(), "{fault:?}");
    }
}

#[test]
fn a_store_that_fails_is_not_asked_at_every_command() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    fleet.faulty.set(Fault::Down);
    assert!(matches!(refresh(&fleet.reader()), Err(FleetError::Unreachable { .. })));
    let next = fleet.reader();
    let asked = fleet.store.traffic().requests;
    next.refresh_stale(Duration::from_secs(5));
    assert_eq!(fleet.store.traffic().requests, asked);
    assert!(next.status()[0].failure.is_some());
}

/// Blanks between the parts of a head are not signed: any writer of the store may add some.
#[test]
fn a_padded_head_is_read_to_its_limit_and_survives_a_start() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    let padded = |size: usize| {
        let mut bytes = fleet.faulty.stored_head().to_vec();
        // A line end is two characters in the file that keeps the head.
        bytes.resize(size, b'\n');
        Bytes::from(bytes)
    };
    let reader = fleet.reader();
    fleet.faulty.set(Fault::Head(padded(64 << 10)));
    assert_eq!(refresh(&reader), Ok(PullOutcome::Changed(1)));
    // No store is needed for what was taken.
    fleet.faulty.set(Fault::Down);
    assert_eq!(names(&fleet.reader()), ["invoices"], "after a start");
    for size in [(64 << 10) + 1, 40 << 20] {
        fleet.faulty.set(Fault::Head(padded(size)));
        let before = fleet.store.traffic().received;
        let error = refresh(&reader).unwrap_err();
        assert_eq!(error, FleetError::TooLarge { what: "head".to_owned(), max: 64 << 10 });
        assert_eq!(fleet.store.traffic().received, before, "nothing of it was read");
        assert_eq!(names(&fleet.reader()), ["invoices"]);
    }
    // A store that does not say how much it sends.
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    let before = fleet.store.traffic().received;
    fleet.faulty.set(Fault::Endless);
    let error = refresh(&fleet.reader()).unwrap_err();
    assert!(error.to_string().contains("head is larger than 65536 bytes"), "{error}");
    assert!(fleet.store.traffic().received - before <= 64 << 10);
}

#[test]
fn a_store_that_sends_a_byte_at_a_time_is_given_up_and_left_alone_for_a_while() {
    let fleet = Fleet::new();
    fleet.publish(skills(&["invoices"]).path());
    fleet.faulty.set(Fault::Drip(20));
    let reader = fleet.reader();
    let began = std::time::Instant::now();
    let error = refresh(&reader).unwrap_err();
    assert!(matches!(error, FleetError::Slow { .. }), "{error}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let asked = fleet.store.traffic().requests;
    let again = fleet.reader();
    again.refresh_stale(Duration::from_secs(5));
    assert_eq!(fleet.store.traffic().requests, asked, "the failure is kept");
    assert!(again.diagnostics()[0].message.contains("did not send head within"), "{:?}", again.diagnostics());
}
