//! One event a disclosure, and nothing private in it.
//!
//! In a process of its own: `tracing` remembers, for the whole process, whether an event has a subscriber, and tests
//! that run beside this one without a subscriber can make it remember that there is none.
#![expect(clippy::unwrap_used, reason = "a test whose setting fails has failed")]

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use skillcue_catalog::{Discovery, Skill, SkillRoot, Source};
use skillcue_disclose::{Census, DiscloseConfig, Discloser, Situation};
use skillcue_select::{Hit, Reason, ReasonKind, Selection};
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
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

#[test]
fn one_event_a_disclosure() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("pdf")).unwrap();
    std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads.\n---\n12345678").unwrap();
    let catalog = Arc::new(Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run());
    let config = DiscloseConfig { counter: "bytes4".parse().unwrap(), ..DiscloseConfig::default() };
    let discloser = Discloser::new(catalog, config).unwrap();
    let (text, trigger) = ("hunter2".to_owned(), "hunter2".to_owned());
    let reason = Reason { kind: ReasonKind::Keyword, trigger, text, span: None, score: 1.5 };
    let (name, reasons) = ("pdf".to_owned(), vec![reason]);
    let hit = Hit {
        skill: 0,
        name,
        score: 1.5,
        confidence: 0.9,
        certainty: 0.9,
        likelihood: 0.9,
        mention: None,
        reasons,
        ..Hit::default()
    };
    let selection = Selection { hits: vec![hit], matched: 1, ..Selection::default() };
    let bodies = |_: &Skill| Ok(Arc::from("12345678"));
    let census = Census { visible: 1, triggered: false };
    let recorder = Recorder::default();
    tracing::subscriber::with_default(recorder.clone(), || {
        discloser.disclose(&Situation::new(census, &selection, &bodies)).trace();
    });
    let expected = "skillcue::disclose message=disclosed tier=3 policy=\"inject\" skills=[\"pdf\"] scores=[1.5] omitted=0 \
        matched=1 list_shortened=0 list_omitted=0 tokens_stable=0 tokens_turn=13 tokens_overhead=11 tokens_eager=26 elapsed_us=0";
    assert_eq!(*recorder.0.lock().unwrap(), [expected]);
}
