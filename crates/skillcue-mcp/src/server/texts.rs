//! The texts of skills that one client has been sent, so that none is sent twice.

use std::sync::Mutex;

use skillcue::Session;
use skillcue::tools::{Effect, ToolOutput};
use skillcue_base::lock;

/// The longest arguments of a load that is remembered, in bytes: there may be many sessions.
const MAX_ARGUMENTS: usize = 1 << 10;

/// The way to a text that the client has dropped from its context, which the server is not told about.
const GONE: &str = " If you no longer see it, call load_skill once more.";

/// The texts that a client has in its context, as far as the server knows.
#[derive(Debug, Default)]
pub(super) struct SentTexts(Mutex<Session>);

impl SentTexts {
    /// Returns the record for a call.
    pub(super) fn snapshot(&self) -> Session {
        lock(&self.0).clone()
    }

    /// Records the effect of a call. A client does not say what it drops from its context: after a line that refers to a
    /// text, the next load brings the text again, and the line says so.
    pub(super) fn record(&self, output: &mut ToolOutput) {
        let Some(effect) = &output.effect else { return };
        let mut session = lock(&self.0);
        match effect {
            Effect::Loaded { name, is_known: true, .. } => {
                session.evicted([name.as_str()]);
                output.text.push_str(GONE);
            }
            Effect::Loaded { arguments, .. } if arguments.len() > MAX_ARGUMENTS => {}
            effect => effect.record(&mut session),
        }
    }
}
