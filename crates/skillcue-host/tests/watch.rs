//! The assembly reports changes, with the skills refreshed.
#![expect(clippy::unwrap_used, reason = "a test whose setting fails has failed")]

mod support;

use std::sync::mpsc;
use std::time::Duration;

use skillcue::Changes;
use skillcue::watch::{WatchEvent, WatchOptions};
use skillcue_host::HostOverrides;
use support::Machine;

#[test]
fn a_new_skill_is_reported_and_there() {
    let machine = Machine::new();
    machine.skill("work/skills/invoices");
    let host = machine.host(&[], HostOverrides::default());
    let (sender, reports) = mpsc::channel();
    let watch = host
        .watch(WatchOptions::default(), move |event| {
            if let WatchEvent::Changed(changes) = event {
                let _ = sender.send(changes.clone());
            }
        })
        .unwrap();
    host.read_ahead().unwrap();
    machine.skill("work/skills/receipts");
    // As long as it takes: without a report, the test ends here. A look between the making of the directory and of the
    // file finds a directory without a skill, and is reported first.
    let is_new = |changes: &Changes| changes.names().any(|name| name == "receipts");
    while !is_new(&reports.recv_timeout(Duration::from_mins(2)).unwrap()) {}
    assert!(host.skills().unwrap().catalog().get("receipts").is_some());
    drop(watch);
}
