//! Skills as a context provider.

use std::sync::{Arc, Mutex, MutexGuard};

use skillcue::{Disclosure, Session, Skillcue, Turn, WorkDir, WorkFiles, languages_of};

use crate::{BoxFuture, Context, ContextProvider, Message, Part, ProviderError};

/// What a conversation knows of skills: what it has been shown, and the last disclosure. Shared by the provider, which
/// discloses, and the loop, which loads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) session: Session,
    pub(crate) disclosure: Option<Disclosure>,
    /// The files that counted in the last turn.
    pub(crate) files: WorkFiles,
}

impl Known {
    pub(crate) fn new(session: Session) -> Known {
        Known(Arc::new(Mutex::new(Inner { session, ..Inner::default() })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // Whoever panicked left a session that is whole: it is only ever replaced.
        skillcue_base::lock(&self.0)
    }
}

/// What the provider of skills is called.
pub(crate) const SKILLS: &str = "skills";

/// Discloses skills: for each message as much as it calls for.
pub(crate) struct SkillsProvider {
    skills: Arc<Skillcue>,
    known: Known,
    /// Where the user works, if that counts.
    work_dir: Option<WorkDir>,
}

impl SkillsProvider {
    pub(crate) fn new(skills: Arc<Skillcue>, known: Known, work_dir: Option<WorkDir>) -> SkillsProvider {
        SkillsProvider { skills, known, work_dir }
    }
}

impl ContextProvider for SkillsProvider {
    fn name(&self) -> &'static str {
        SKILLS
    }

    fn before_turn<'a>(&'a mut self, messages: &'a [Message]) -> BoxFuture<'a, Result<Context, ProviderError>> {
        Box::pin(async move {
            let Some(Message::User { text, .. }) = messages.last() else { return Ok(Context::default()) };
            // A disclosure of an earlier turn must not be taken for this one's, if this one fails.
            let mut session = {
                let mut known = self.known.lock();
                known.disclosure = None;
                known.files = WorkFiles::default();
                known.session.clone()
            };
            let (skills, text, work_dir) = (Arc::clone(&self.skills), text.clone(), self.work_dir.clone());
            // Bodies are read from disk, and git may be asked what has changed.
            let disclose = move || {
                let files = work_dir.map(|dir| dir.files(&text)).unwrap_or_default();
                let named: Vec<&str> = files.named.iter().map(String::as_str).collect();
                let nearby: Vec<&str> = files.changed.iter().map(String::as_str).collect();
                let languages = languages_of(named.iter().copied());
                // A file that has changed says what is worked on, not what this message asks for.
                let turn = Turn { files: &named, nearby: &nearby, languages: &languages, ..Turn::new(&text) };
                let disclosure = skills.disclose_in(&turn, &mut session);
                (session, disclosure, files)
            };
            let (session, disclosure, files) =
                tokio::task::spawn_blocking(disclose).await.map_err(ProviderError::new)?;
            let context = Context {
                stable: disclosure.stable.to_string(),
                turn: disclosure.turn.clone(),
                part: Some(Part::SkillsTurn),
            };
            let mut known = self.known.lock();
            known.session = session;
            known.disclosure = Some(disclosure);
            known.files = files;
            Ok(context)
        })
    }
}
