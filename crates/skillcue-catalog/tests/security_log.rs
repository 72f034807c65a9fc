//! Every refusal is logged, once and on one line (S-1).
//!
//! In a process of its own: `tracing` caches, for the whole process, whether an event has a subscriber, and tests that
//! run beside this one without a subscriber can make it cache that there is none.
#![expect(clippy::unwrap_used, reason = "a test whose setting fails has failed")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use skillcue_catalog::{SecurityReason, SkillDir, TreeLimits};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

#[test]
fn a_refusal_is_logged_once_and_on_one_line() {
    let tmp = tempfile::tempdir().unwrap();
    let skill = tmp.path().join("skill");
    fs::create_dir_all(skill.join("scripts")).unwrap();
    fs::write(skill.join("reference.md"), "").unwrap();
    symlink("../secret.txt", skill.join("link-out")).unwrap();
    symlink("loop", skill.join("loop")).unwrap();
    let dir = SkillDir::open("my\nskill", &skill).unwrap();
    for (path, shown, reason) in [
        ("../x\r\n\u{1b}[0m", "../x\\r\\n\\u{1b}[0m", SecurityReason::ClimbsOut),
        ("link-out", "link-out", SecurityReason::LeadsOut),
        ("loop", "loop", SecurityReason::LinkLoop),
        ("a\0", "a\\u{0}", SecurityReason::Nul),
    ] {
        let log = record(|| {
            dir.read_to_string(path, 1024).unwrap_err();
        });
        let [event] = log.as_slice() else { panic!("{path:?}: {log:?}") };
        assert_eq!((event.level, event.target.as_str()), (Level::WARN, "skillcue::security"));
        assert_eq!(event.fields["skill"], "my\\nskill");
        assert_eq!(event.fields["path"], shown);
        assert_eq!(event.fields["reason"], reason.to_string());
    }
    let log = record(|| {
        for path in ["reference.md", "missing.md", "scripts", ""] {
            let _ = dir.read(path, 1024);
        }
        dir.list(&TreeLimits::default()).unwrap();
    });
    let log: Vec<_> = log.into_iter().filter(|event| event.target == "skillcue::security").collect();
    assert_eq!(log, [], "nothing else is a refusal");
}

/// One event: its level, its target and its fields as text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Logged {
    level: Level,
    target: String,
    fields: BTreeMap<String, String>,
}

/// Runs `work` and returns the events that were logged on this thread meanwhile.
fn record(work: impl FnOnce()) -> Vec<Logged> {
    let log = Arc::new(Mutex::new(Vec::new()));
    tracing::subscriber::with_default(Recorder(Arc::clone(&log)), work);
    log.lock().unwrap().clone()
}

struct Recorder(Arc<Mutex<Vec<Logged>>>);

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        let logged = Logged { level: *metadata.level(), target: metadata.target().to_owned(), fields: fields.0 };
        self.0.lock().unwrap().push(logged);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}
