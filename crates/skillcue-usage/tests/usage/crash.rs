//! Processes that are killed while they write: the file is sound, and what was there before is still there.

use std::time::Duration;

use skillcue::usage::UsageKind;
use skillcue_usage::{Ledger, LedgerEvent};

use crate::child;

fn sound_after_kills(kills: u64) {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(dir.path().join("usage.db"));
    ledger.write(&[LedgerEvent::new(UsageKind::Loaded, "first")]).unwrap();
    let mut before = 1;
    for kill in 0..kills {
        let mut child = child::start("write", dir.path(), "w0 1000000");
        // On a busy machine a start takes longer than any pause: every other process is seen to write first.
        while kill % 2 == 1 && ledger.state().unwrap().unwrap().events == before {
            assert_eq!(child.try_wait().unwrap(), None, "it writes until it is killed");
            std::thread::sleep(Duration::from_millis(5));
        }
        // Another point of its work each time, from before the first event on.
        std::thread::sleep(Duration::from_millis(4 + kill * 37 % 120));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(ledger.check().unwrap(), None, "after kill {kill}");
        let state = ledger.state().unwrap().unwrap();
        assert!(state.events >= before, "after kill {kill}: {} of {before} events are left", state.events);
        before = state.events;
    }
    assert!(before > 1, "no process got as far as writing");
    println!("{kills} kills, {before} events, sound each time");
}

#[test]
fn the_file_is_sound_after_processes_were_killed() {
    sound_after_kills(8);
}

#[test]
#[ignore = "takes a minute: cargo nextest run -p skillcue-usage --run-ignored only"]
fn the_file_is_sound_after_a_hundred_kills() {
    sound_after_kills(100);
}
