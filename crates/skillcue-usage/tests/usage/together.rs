//! Many processes at once: no event is lost that was accepted.

use std::path::Path;
use std::process::Child;
use std::time::Duration;

use skillcue::usage::UsageKind;
use skillcue_usage::{Ledger, LedgerEvent, LedgerQuery};

use crate::child;

const PROCESSES: usize = 8;

/// Writes so many events, as fast as the queue takes them, and leaves the number that was accepted.
pub(crate) fn write(dir: &Path, word: &str) {
    let (writer, count) = word.split_once(' ').unwrap();
    let ledger = Ledger::new(dir.join("usage.db"));
    let mut accepted = 0_u64;
    for number in 0..count.parse::<u64>().unwrap() {
        let event = LedgerEvent {
            session: writer.to_owned(),
            turn: number,
            project: "/home/ann/project".to_owned(),
            client: "mcp".to_owned(),
            ..LedgerEvent::new(UsageKind::Loaded, format!("skill-{}", number % 200))
        };
        // A program that must not lose one tries again; answers never do.
        let is_accepted = (0..1_000).any(|tries| {
            if tries > 0 {
                std::thread::sleep(Duration::from_micros(200));
            }
            ledger.record(event.clone())
        });
        accepted += u64::from(is_accepted);
    }
    assert!(ledger.flush(Duration::from_mins(5)));
    std::fs::write(dir.join(format!("accepted-{writer}")), accepted.to_string()).unwrap();
}

fn eight_processes_lose_nothing(events: u64) {
    let dir = tempfile::tempdir().unwrap();
    let start = |number: usize| child::start("write", dir.path(), &format!("w{number} {events}"));
    let mut children: Vec<Child> = (0..PROCESSES).map(start).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let ledger = Ledger::new(dir.path().join("usage.db"));
    assert_eq!(ledger.check().unwrap(), None);
    let mut seen = vec![std::collections::HashSet::new(); PROCESSES];
    let count = |event: LedgerEvent| {
        let writer: usize = event.session[1..].parse().unwrap();
        assert!(seen[writer].insert(event.turn), "{} twice", event.turn);
    };
    ledger.each(&LedgerQuery::default(), count).unwrap();
    for (number, seen) in seen.iter().enumerate() {
        let accepted: u64 =
            std::fs::read_to_string(dir.path().join(format!("accepted-w{number}"))).unwrap().parse().unwrap();
        assert_eq!(seen.len() as u64, accepted, "writer {number}");
        assert!(accepted > 0);
        println!("writer {number}: {accepted} of {events} accepted, all written");
    }
}

#[test]
fn eight_processes_lose_no_event_that_was_accepted() {
    eight_processes_lose_nothing(2_000);
}

#[test]
#[ignore = "takes a minute: cargo nextest run -p skillcue-usage --run-ignored only"]
fn eight_processes_lose_none_of_a_hundred_thousand_events_each() {
    eight_processes_lose_nothing(100_000);
}

#[test]
fn threads_share_one_queue() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path().join("usage.db"));
    let accepted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let ledger = ledger.clone();
                scope.spawn(move || (0..400).filter(|_| ledger.record(LedgerEvent::new(UsageKind::Run, "pdf"))).count())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(ledger.flush(Duration::from_mins(1)));
    let state = ledger.state().unwrap().unwrap();
    assert_eq!(state.events, accepted as u64);
    // Those that found no room are counted with the next event that does.
    ledger.record(LedgerEvent::new(UsageKind::Run, "pdf"));
    assert!(ledger.flush(Duration::from_mins(1)));
    assert_eq!(ledger.state().unwrap().unwrap().dropped, 3_200 - accepted as u64);
}
