//! The cost of one `load_skill`, with the tools that a skill's scripts bring: one load of the body, one walk over the
//! directory, one reading of the arguments.
//!
//! In a process of its own: `tracing` remembers, for the whole process, whether an event has a listener.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::json;
use skillcue::Skillcue;
use skillcue::tools::{Call, Effect, ToolContext};
use skillcue_exec::{Launcher, Runner, RunnerOptions, ScriptTools};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The number of events of each target.
#[derive(Clone, Default)]
struct Counts(Arc<Mutex<BTreeMap<String, usize>>>);

impl Counts {
    fn of(&self, target: &str) -> usize {
        self.0.lock().unwrap().get(target).copied().unwrap_or(0)
    }
}

impl Subscriber for Counts {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        *self.0.lock().unwrap().entry(event.metadata().target().to_owned()).or_default() += 1;
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn one_load_loads_once_and_walks_once() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("pdf/scripts/deep")).unwrap();
    std::fs::write(
        dir.path().join("pdf/SKILL.md"),
        "---\nname: pdf\ndescription: Reads PDF files.\n---\nRead $ARGUMENTS.\n",
    )
    .unwrap();
    std::fs::write(dir.path().join("pdf/scripts/deep/count.sh"), "#!/bin/sh\n").unwrap();
    let runner = Runner::new(Launcher::new("/nowhere"), RunnerOptions::default());
    let skills = Skillcue::builder().skills_dir(dir.path()).tools(Arc::new(ScriptTools::new(runner))).build().unwrap();

    let counts = Counts::default();
    tracing::subscriber::with_default(counts.clone(), || {
        let arguments = json!({"skill_id": "pdf", "arguments": "a.pdf"});
        let call = Call::new("load_skill", arguments.as_object().unwrap().clone());
        let output = skills.call_tool(&call, &ToolContext::default()).unwrap();
        assert!(output.text.contains("Read a.pdf.") && output.text.contains("<file>scripts/deep/count.sh</file>"));
        let Some(Effect::Loaded { name, content, files, .. }) = output.effect else { panic!("it has loaded") };
        assert!(content.ends_with("Read .\n"), "a session compares with what a disclosure would show: {content}");
        assert!(skills.brings_tools(&name, &files));
    });
    assert_eq!((counts.of("skillcue::load"), counts.of("skillcue::files")), (1, 1));
    let stats = skills.cache_stats();
    assert_eq!((stats.hits, stats.misses), (0, 1));
}
