//! Reads and starts for one answer, counted.
//!
//! In a process of its own: `tracing` remembers, for the whole process, whether an event has a listener.
#![expect(clippy::unwrap_used, reason = "a test whose setting fails has failed")]

mod support;

use std::fs;
use std::sync::{Arc, Mutex};

use skillcue::{LoadRequest, Source};
use skillcue_host::HostOverrides;
use support::Machine;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Counts the files of registries that are read.
#[derive(Clone, Default)]
struct Reads(Arc<Mutex<Vec<String>>>);

impl Subscriber for Reads {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "skillcue::registry"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.0.lock().unwrap().push(event.metadata().name().to_owned());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Registries were opened three times and read six times for one answer, and every command built a sandbox.
#[test]
fn one_answer_reads_each_registry_once_and_starts_nothing() {
    let machine = Machine::new();
    machine.skill("work/skills/invoices");
    let said = r#"{"version": 1, "installed": {}, "enabled": {}}"#;
    machine.write("work/registry.json", said);
    machine.write("home/.local/share/skillcue/registry.json", said);
    let reads = Reads::default();
    tracing::subscriber::with_default(reads.clone(), || {
        let host = machine.host(&[], HostOverrides::default());
        let skills = host.skills().unwrap();
        assert_eq!(skills.catalog().get("invoices").map(skillcue::Skill::source), Some(Source::Project));
        skills.disclose("the invoices");
        skills.load("invoices", &LoadRequest::default()).unwrap();
        assert_eq!(skills.tools(&[]).len(), 3);
        assert_eq!(reads.0.lock().unwrap().len(), 2, "the user's and the project's, once each");
        // A refresh reads them again.
        skills.refresh();
        assert_eq!(reads.0.lock().unwrap().len(), 4);
    });
    let own = std::process::id().to_string();
    let is_ours =
        |status: &str| status.lines().any(|line| line.strip_prefix("PPid:").is_some_and(|of| of.trim() == own));
    let children = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| fs::read_to_string(entry.path().join("status")).is_ok_and(|status| is_ours(&status)));
    assert_eq!(children.count(), 0, "nothing was started");
    assert_eq!(fs::read_dir(machine.path("tmp")).unwrap().count(), 0);
}
