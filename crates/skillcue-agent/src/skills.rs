//! Skills in a conversation: their state, and their disclosure.

use std::path::Path;
use std::sync::Arc;

use skillcue::workdir::{WorkDir, WorkFiles};
use skillcue::{Disclosure, Request, Session, Skillcue};

use crate::{Message, ProviderError, RequestPart, TurnContext};

/// The state of skills in a conversation, which owns it: [`SkillsProvider`] is lent it to disclose, and the loop
/// writes down what is loaded.
#[derive(Debug, Default)]
pub(crate) struct SkillsState {
    /// The skills that the model has been shown.
    pub(crate) session: Session,
    /// The disclosure of the last turn.
    pub(crate) disclosure: Option<Disclosure>,
    /// The files that counted in the last turn.
    pub(crate) files: WorkFiles,
    /// The id of the conversation, for events of use.
    pub(crate) conversation: String,
}

impl SkillsState {
    pub(crate) fn new(session: Session) -> SkillsState {
        SkillsState { session, ..SkillsState::default() }
    }
}

/// Discloses skills: for each message as much as it calls for.
pub(crate) struct SkillsProvider {
    skills: Arc<Skillcue>,
    /// The directory in which the user works, if that counts.
    work_dir: Option<WorkDir>,
}

impl SkillsProvider {
    /// Its name for people and in traces.
    pub(crate) const NAME: &str = "skills";

    pub(crate) fn new(skills: Arc<Skillcue>, work_dir: Option<WorkDir>) -> SkillsProvider {
        SkillsProvider { skills, work_dir }
    }

    /// Returns the context for the last of these messages, which is the user's. If it fails, or is dropped
    /// before its end, the session is as it was, and nothing counts as disclosed.
    pub(crate) async fn before_turn(
        &self,
        state: &mut SkillsState,
        messages: &[Message],
    ) -> Result<TurnContext, ProviderError> {
        let Some(Message::User { text, .. }) = messages.last() else { return Ok(TurnContext::default()) };
        // A disclosure of an earlier turn must not be taken for this one's, if this one fails.
        state.disclosure = None;
        state.files = WorkFiles::default();
        let (mut session, conversation) = (state.session.clone(), state.conversation.clone());
        let (skills, text, work_dir) = (Arc::clone(&self.skills), text.clone(), self.work_dir.clone());
        // Bodies are read from disk, and git may be asked what has changed.
        let span = tracing::Span::current();
        let disclose = move || {
            let _entered = span.enter();
            let files = work_dir.map(|dir| dir.files(&text)).unwrap_or_default();
            // Parts of a project have skills of their own.
            skills.touch(files.named.iter().map(Path::new));
            // A file that has changed says what is worked on, not what this message asks for.
            let request = Request::new(&text).files(&files.named).nearby(&files.changed).conversation(&conversation);
            let disclosure = skills.disclose(request.session(&mut session));
            (session, disclosure, files)
        };
        let (session, disclosure, files) = tokio::task::spawn_blocking(disclose).await.map_err(ProviderError::new)?;
        let context = TurnContext {
            stable: disclosure.stable.to_string(),
            turn: disclosure.turn.clone(),
            part: Some(RequestPart::SkillsTurn),
        };
        (state.session, state.disclosure, state.files) = (session, Some(disclosure), files);
        Ok(context)
    }
}
