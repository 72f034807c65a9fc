//! Listens to the log for security events.

use std::fmt::Debug;
use std::sync::{Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

static SEEN: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

struct Watch;

#[derive(Default)]
struct Line {
    server: String,
    message: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "server" => self.server = format!("{value:?}").replace('"', ""),
            "message" => self.message = format!("{value:?}"),
            _ => {}
        }
    }
}

impl Subscriber for Watch {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "skillcue::security"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        assert_eq!(*event.metadata().level(), Level::WARN);
        SEEN.lock().unwrap().push((line.server, line.message));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Starts listening, for all tests of this program: files are verified on threads of the host's own.
pub(crate) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Watch).unwrap());
}

/// The security events of one server. Every test calls its servers differently.
pub(crate) fn events(label: &str) -> Vec<String> {
    let seen = SEEN.lock().unwrap();
    seen.iter().filter(|(server, _)| server == label).map(|(_, message)| message.clone()).collect()
}
