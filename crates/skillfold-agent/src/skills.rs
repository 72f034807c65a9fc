//! Skills as a context provider.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use skillfold::{Disclosure, Session, Skillfold, Turn};

use crate::{BoxFuture, Context, ContextProvider, Message, Part, ProviderError};

/// What a conversation knows of skills: what it has been shown, and the last disclosure. Shared by the provider, which
/// discloses, and the loop, which loads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) session: Session,
    pub(crate) disclosure: Option<Disclosure>,
}

impl Known {
    pub(crate) fn new(session: Session) -> Known {
        Known(Arc::new(Mutex::new(Inner { session, disclosure: None })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // Whoever panicked left a session that is whole: it is only ever replaced.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the provider of skills is called.
pub(crate) const SKILLS: &str = "skills";

/// Discloses skills: for each message as much as it calls for.
pub(crate) struct SkillsProvider {
    skills: Arc<Skillfold>,
    known: Known,
}

impl SkillsProvider {
    pub(crate) fn new(skills: Arc<Skillfold>, known: Known) -> SkillsProvider {
        SkillsProvider { skills, known }
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
                known.session.clone()
            };
            let (skills, text) = (Arc::clone(&self.skills), text.clone());
            // Bodies are read from disk.
            let disclose = move || {
                let disclosure = skills.disclose_in(&Turn::new(&text), &mut session);
                (session, disclosure)
            };
            let (session, disclosure) = tokio::task::spawn_blocking(disclose).await.map_err(ProviderError::new)?;
            let context = Context {
                stable: disclosure.stable.to_string(),
                turn: disclosure.turn.clone(),
                part: Some(Part::SkillsTurn),
            };
            let mut known = self.known.lock();
            known.session = session;
            known.disclosure = Some(disclosure);
            Ok(context)
        })
    }
}
