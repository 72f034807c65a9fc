//! One event a load, and nothing private in it.
//!
//! In a process of its own: `tracing` remembers, for the whole process, whether an event has a subscriber, and tests
//! that run beside this one without one can make it remember that it has none.
#![expect(clippy::unwrap_used, reason = "a test whose setting fails has failed")]

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use skillcue_catalog::{BodyAt, BodyFile};
use skillcue_load::{LoadRequest, Loader};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

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
        let mut line = EventLine(event.metadata().target().to_owned());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct EventLine(String);

impl Visit for EventLine {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // The duration is different each time.
        match field.name() {
            "micros" => write!(self.0, " micros"),
            name => write!(self.0, " {name}={value:?}"),
        }
        .unwrap();
    }
}

#[test]
fn one_event_a_load() {
    let tmp = tempfile::tempdir().unwrap();
    std::fs::write(tmp.path().join("SKILL.md"), "---\nname: pdf\n---\nbody $ARGUMENTS").unwrap();
    let file = BodyFile {
        name: "pdf".into(),
        base_dir: "/pdf".into(),
        open_dir: tmp.path().into(),
        body: BodyAt::AfterFrontMatter("SKILL.md".into()),
    };
    let loader = Loader::default();
    let recorder = Recorder::default();
    let request = LoadRequest { arguments: "hunter2", ..LoadRequest::default() };
    tracing::subscriber::with_default(recorder.clone(), || {
        loader.load(&file, &request).unwrap();
        loader.load(&file, &request).unwrap();
        loader.load(&file, &LoadRequest { section: Some("nope"), ..request }).unwrap_err();
    });
    let bytes = "Base directory for this skill: /pdf\n\nbody hunter2".len();
    let tokens = skillcue_format::Tokens::bytes4(bytes);
    assert_eq!(
        *recorder.0.lock().unwrap(),
        [
            format!("skillcue::load message=loaded skill=pdf bytes={bytes} tokens={tokens} cached=false micros"),
            format!("skillcue::load message=loaded skill=pdf bytes={bytes} tokens={tokens} cached=true micros"),
            "skillcue::load message=not loaded skill=pdf error=\"invalid_argument\" micros".to_owned(),
        ]
    );
}
