//! One conversation: its messages, its state of skills, its file.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use skillcue::workdir::{WorkDir, WorkFiles};
use skillcue::{Disclosure, LoadRequest, Session, Skillcue};

use super::moves::SkillMove;
use super::providers::TurnProvider;
use crate::model::SystemText;
use crate::sessions::{SavedSession, SessionFile, SessionRecord, SessionsError};
use crate::skills::{SkillsProvider, SkillsState};
use crate::{ContextProvider, Message, Piece, PieceOrigin, RequestPart, ToolCall, ToolResult};

/// The number of skills that were disclosed last whose tools are offered without a load. Each one's tools cost tokens in
/// every request.
const MAX_DISCLOSED: usize = 8;

/// A conversation. It belongs to one task at a time; many of them share an [`Agent`](crate::Agent).
pub struct Conversation {
    id: String,
    pub(super) messages: Vec<Message>,
    pub(super) skills: SkillsState,
    pub(super) loaded: Vec<String>,
    /// The skills that have come and left since the last event, and since the last line of the trace.
    pub(super) moves: Vec<SkillMove>,
    pub(super) traced_moves: Vec<SkillMove>,
    pub(super) turns: u64,
    pub(super) providers: Vec<TurnProvider>,
    /// The texts of providers for the instructions, in their order.
    pub(super) stable: Vec<SystemText>,
    /// Skills that the user has loaded since the last turn.
    pending: Vec<Piece>,
    file: Option<SessionFile>,
    /// The reason why it is no longer written down, until it has been reported.
    trouble: Option<SessionsError>,
    /// The texts of the last request, in the order in which they were read.
    pub(super) sent: Vec<String>,
    /// How many tokens of the provider's one of ours is, as far as we have seen: never less than one.
    pub(super) ratio: f64,
    /// The smallest request that the model has refused as too long.
    pub(super) refused: Option<u64>,
    /// Whether it was saved by an earlier run, and no turn has begun since.
    is_continued: bool,
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (messages, loaded) = (&self.messages.len(), &self.loaded);
        f.debug_struct("Conversation")
            .field("id", &self.id)
            .field("messages", messages)
            .field("loaded", loaded)
            .finish_non_exhaustive()
    }
}

impl Conversation {
    /// Begins a conversation that is written down nowhere.
    pub fn new(id: impl Into<String>) -> Conversation {
        Conversation {
            id: id.into(),
            messages: Vec::new(),
            skills: SkillsState::default(),
            loaded: Vec::new(),
            moves: Vec::new(),
            traced_moves: Vec::new(),
            turns: 0,
            providers: Vec::new(),
            stable: Vec::new(),
            pending: Vec::new(),
            file: None,
            trouble: None,
            sent: Vec::new(),
            ratio: 1.0,
            refused: None,
            is_continued: false,
        }
    }

    /// Continues a saved conversation, which is written down as it happens.
    pub fn saved(file: SessionFile, saved: SavedSession) -> Conversation {
        let SavedSession { id, messages, skills, loaded, turns, .. } = saved;
        Conversation {
            messages,
            skills: SkillsState::new(skills),
            loaded,
            turns,
            file: Some(file),
            is_continued: true,
            ..Conversation::new(id)
        }
    }

    /// Adds a context provider. They are asked in the order in which they were added.
    pub fn provider(&mut self, provider: Box<dyn ContextProvider>) {
        self.providers.push(TurnProvider::Other(provider));
    }

    /// Adds the provider that discloses skills.
    pub fn skills_provider(&mut self, skills: &Arc<Skillcue>) {
        self.skills_provider_in(skills, None);
    }

    /// Adds the provider that discloses skills, by the files, too, that a message names and that have changed where the
    /// user works.
    pub fn skills_provider_in(&mut self, skills: &Arc<Skillcue>, work_dir: Option<WorkDir>) {
        self.providers.push(TurnProvider::Skills(SkillsProvider::new(Arc::clone(skills), work_dir)));
    }

    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the messages, as the model reads them.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the user's last message, without the context of providers.
    pub(super) fn last_message(&self) -> &str {
        let said = |message: &'_ Message| matches!(message, Message::User { .. });
        match self.messages.iter().rfind(|message| said(message)) {
            Some(Message::User { text, .. }) => text,
            _ => "",
        }
    }

    /// Takes back that skills were loaded in an earlier run if they may not be shown now: a session is continued in
    /// another directory, where a checkout has a skill of the same name, or the files have changed since.
    pub(super) fn recheck_loaded(&mut self, skills: &Skillcue) {
        if std::mem::take(&mut self.is_continued) {
            self.loaded.retain(|name| !skills.holds_back(name));
        }
    }

    /// Returns the skills that the model, or the user for it, has loaded.
    pub fn loaded(&self) -> &[String] {
        &self.loaded
    }

    /// Returns the skills whose tools are offered: those that were loaded, and those whose bodies disclosures have put into
    /// the context. A body that is there need not be loaded, and paid for again, to get its tools.
    pub(super) fn active(&self, skills: &Skillcue) -> Vec<String> {
        let shown = self.skills.session.remembered().filter(|skill| skill.in_context).take(MAX_DISCLOSED);
        let shown = shown.map(|skill| &skill.address).filter(|id| !self.loaded.contains(id) && !skills.holds_back(id));
        self.loaded.iter().chain(shown).cloned().collect()
    }

    /// Returns how many turns there were.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// Returns the skills that it has been shown.
    pub fn session(&self) -> Session {
        self.skills.session.clone()
    }

    /// Returns the disclosure of the last turn.
    pub fn disclosure(&self) -> Option<Disclosure> {
        self.skills.disclosure.clone()
    }

    /// Returns the files that counted in the last turn: those that its message names, then others that have changed.
    pub fn files(&self) -> Vec<String> {
        self.work_files().all()
    }

    /// Like [`files`](Self::files), with the two kinds apart.
    pub fn work_files(&self) -> WorkFiles {
        self.skills.files.clone()
    }

    /// Loads a skill for the model: it goes with the next message, in its envelope, which is returned. This is the
    /// user's wish: there is no question, and a skill that hides from models is loaded, too.
    pub fn load(&mut self, skills: &Skillcue, name: &str, arguments: &str) -> Result<String, skillcue::Error> {
        let request = LoadRequest { arguments, ..LoadRequest::default() };
        let output = skills.load_envelope_for(&self.skills.session, name, &request)?;
        if let Some(effect) = &output.effect {
            self.apply(effect);
        }
        self.pending.push(Piece {
            provider: PieceOrigin::User,
            part: RequestPart::SkillsTurn,
            text: apart(&output.text),
            skills: vec![name.to_owned()],
        });
        Ok(output.text)
    }

    /// Takes the skills that go with the next message because the user has loaded them.
    pub(super) fn take_pending(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pending)
    }

    /// Adds a message, and writes it down.
    pub(super) fn push(&mut self, message: Message) {
        self.write(&SessionRecord::Message { message: message.clone() });
        self.messages.push(message);
    }

    /// Replaces the messages, in the file too.
    pub(super) fn replace(&mut self, messages: Vec<Message>, summary: String) {
        self.messages = messages;
        let record = SessionRecord::Compacted { messages: self.messages.clone(), skills: self.session(), summary };
        self.write(&record);
    }

    /// Ends a turn: whatever happened, the conversation can be sent to a model.
    pub(super) fn end_turn(&mut self, unfinished: Option<&str>) {
        if let Some(why) = unfinished {
            self.finish(why);
        }
        self.turns += 1;
        let record = SessionRecord::Turn {
            number: self.turns,
            skills: self.session(),
            loaded: self.loaded.clone(),
            interrupted: unfinished.is_some(),
        };
        self.write(&record);
    }

    /// Takes the reason why the conversation is no longer written down: it is reported once.
    pub(super) fn take_trouble(&mut self) -> Option<SessionsError> {
        self.trouble.take()
    }

    /// Gives calls without results a result, and the user's message an answer.
    pub(super) fn finish(&mut self, why: &str) {
        if let Some(Message::Assistant { calls, .. }) = self.messages.last()
            && !calls.is_empty()
        {
            // A load may have happened; its text is in no message.
            let ids: Vec<String> = calls.iter().filter_map(loaded_id).collect();
            self.skills.session.evicted(ids.iter().map(String::as_str));
            let text = format!("<error code=\"interrupted\">\n  {why}\n</error>");
            let result = |call: &ToolCall| ToolResult {
                id: call.id.clone(),
                name: call.name.clone(),
                text: text.clone(),
                is_error: true,
            };
            let results = calls.iter().map(result).collect();
            self.push(Message::results(results));
        }
        if matches!(self.messages.last(), Some(Message::User { .. } | Message::Tools { .. })) {
            self.push(Message::assistant(format!("[{why}]")));
        }
    }

    /// Appends a record to the file. If that fails, the conversation goes on without a file: a gap in the middle would make
    /// the rest of it wrong.
    fn write(&mut self, record: &SessionRecord) {
        if let Some(file) = &mut self.file
            && let Err(error) = file.append(record)
        {
            self.file = None;
            self.trouble = Some(error);
        }
    }
}

/// Returns the id of the skill that a call loads; none if it loads none.
fn loaded_id(call: &ToolCall) -> Option<String> {
    let arguments: Value = (call.name == "load_skill").then(|| serde_json::from_str(&call.arguments).ok()).flatten()?;
    arguments["skill_id"].as_str().map(str::to_owned)
}

/// Returns a text with the separator behind it: a blank line, and after more than one line a rule, so that a model
/// sees where the user's own words begin.
pub(crate) fn apart(text: &str) -> String {
    let text = text.trim_end_matches('\n');
    if text.contains('\n') { format!("{text}\n\n---\n\n") } else { format!("{text}\n\n") }
}
