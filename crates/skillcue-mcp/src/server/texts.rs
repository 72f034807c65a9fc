//! The texts of skills that one client has been sent, so that none is sent twice.

use std::sync::Mutex;

use skillcue::tools::{Call, Effect, ToolOutput};
use skillcue::{Catalog, Session};
use skillcue_base::lock;

/// The longest arguments of a load that is remembered, in bytes: there may be many sessions.
const MAX_ARGUMENTS: usize = 1 << 10;

/// The length of the query that is remembered, in bytes.
const MAX_QUERY: usize = 1 << 10;

/// The way to a text that the client has dropped from its context, which the server is not told about.
pub(super) const GONE: &str = " If you no longer see it, call load_skill once more.";

/// The texts that a client has in its context, as far as the server knows.
#[derive(Debug, Default)]
pub(super) struct SentTexts(Mutex<ClientTexts>);

#[derive(Debug, Default)]
struct ClientTexts {
    session: Session,
    /// The last query for skills: it says most about what the model works on.
    query: String,
    /// Whether the last call that began a task was a query, which a load belongs to.
    is_searching: bool,
}

impl SentTexts {
    /// Returns the record for a call, and the last query for skills.
    pub(super) fn snapshot(&self) -> (Session, String) {
        let texts = lock(&self.0);
        (texts.session.clone(), texts.query.clone())
    }

    /// Notes that a call comes in, and returns the skills whose lifecycle has ended by it. The protocol has no turns: one
    /// ends when the client searches for skills, or loads another skill without a search.
    pub(super) fn begin(&self, call: &Call, catalog: &Catalog) -> Vec<String> {
        let mut texts = lock(&self.0);
        let is_new_task = match call.name() {
            "search_skills" => {
                let query = call.arguments().get("query").and_then(|query| query.as_str()).unwrap_or_default();
                query[..query.floor_char_boundary(MAX_QUERY)].clone_into(&mut texts.query);
                !std::mem::replace(&mut texts.is_searching, true)
            }
            "load_skill" => {
                let is_other = texts.session.recent().next() != call.skill_id();
                !std::mem::replace(&mut texts.is_searching, false) && is_other
            }
            _ => {
                // A file, a script: the skill is in use.
                if let Some(id) = call.skill_id() {
                    texts.session.record_use(id);
                }
                false
            }
        };
        if !is_new_task {
            return Vec::new();
        }
        let gone = texts.session.expire(catalog);
        texts.session.begin_turn();
        gone
    }

    /// Records the effect of a call. A client does not say what it drops from its context: after a line that refers to a
    /// text, the next load brings the text again, and the line says so.
    pub(super) fn record(&self, output: &mut ToolOutput) {
        let Some(effect) = &output.effect else { return };
        let session = &mut lock(&self.0).session;
        match effect {
            Effect::Loaded { name, is_known: true, .. } => {
                session.evicted([name.as_str()]);
                output.text.push_str(GONE);
            }
            Effect::Loaded { arguments, .. } if arguments.len() > MAX_ARGUMENTS => {}
            effect => effect.record(session),
        }
    }
}
