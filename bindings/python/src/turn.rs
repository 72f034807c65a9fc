//! The arguments about a message, and the session that goes with it.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use skillcue::{Budget, Request, Session, Tokens};

use crate::failure::Failure;
use crate::open::{mode_of, policy_of};
use crate::value::{to_json, to_python};

/// A message, and options for selecting and disclosing skills for it.
#[derive(Default)]
pub(crate) struct TurnArguments {
    pub(crate) message: String,
    files: Vec<String>,
    languages: Vec<String>,
    nearby: Vec<String>,
    earlier: Vec<String>,
    mode: Option<String>,
    limit: Option<usize>,
    policy: Option<String>,
    budget: BudgetArguments,
    /// The conversation, for events of use.
    conversation: String,
}

/// Limits in tokens; zero means no limit.
#[derive(Default, Clone, Copy)]
pub(crate) struct BudgetArguments {
    pub(crate) total: Option<usize>,
    pub(crate) per_skill: Option<usize>,
}

impl TurnArguments {
    /// Reads the options of a call: a dictionary with those that were given, or nothing.
    pub(crate) fn read(message: String, options: Option<&Bound<'_, PyDict>>) -> PyResult<TurnArguments> {
        let mut turn = TurnArguments { message, ..TurnArguments::default() };
        let Some(options) = options else { return Ok(turn) };
        for (name, value) in options.iter() {
            match name.extract::<&str>()? {
                "files" => turn.files = value.extract()?,
                "languages" => turn.languages = value.extract()?,
                "nearby" => turn.nearby = value.extract()?,
                "earlier" => turn.earlier = value.extract()?,
                "mode" => turn.mode = value.extract()?,
                "limit" => turn.limit = value.extract()?,
                "policy" => turn.policy = value.extract()?,
                "max_total_tokens" => turn.budget.total = value.extract()?,
                "max_per_skill_tokens" => turn.budget.per_skill = value.extract()?,
                other => return Err(pyo3::exceptions::PyTypeError::new_err(format!("unknown option {other}"))),
            }
        }
        Ok(turn)
    }

    /// Sets the conversation that a session stands for.
    pub(crate) fn of_session(mut self, session: Option<&Bound<'_, PyDict>>) -> TurnArguments {
        self.conversation = conversation_of(session);
        self
    }

    /// Returns the request. `usual` is the budget where the call has none.
    pub(crate) fn request<'r>(
        &'r self,
        session: Option<&'r mut Session>,
        usual: Budget,
    ) -> Result<Request<'r>, Failure> {
        let mut request = Request::new(&self.message).conversation(&self.conversation);
        if !self.files.is_empty() {
            request = request.files(&self.files);
        }
        request = request.languages(&self.languages).nearby(&self.nearby).earlier(&self.earlier);
        if let Some(session) = session {
            request = request.session(session);
        }
        if let Some(word) = &self.mode {
            request = request.mode(mode_of(word)?);
        }
        if let Some(limit) = self.limit {
            request = request.limit(limit);
        }
        if let Some(word) = &self.policy {
            request = request.policy(policy_of(word)?);
        }
        if self.budget.total.is_some() || self.budget.per_skill.is_some() {
            request = request.budget(self.budget.over(usual));
        }
        Ok(request)
    }
}

impl BudgetArguments {
    /// Returns the budget, where a limit that was not given is that of `usual`.
    pub(crate) fn over(self, usual: Budget) -> Budget {
        let limit = |asked: Option<usize>, usual| match asked {
            None => usual,
            Some(0) => None,
            Some(tokens) => Some(Tokens(tokens)),
        };
        Budget { total: limit(self.total, usual.total), per_skill: limit(self.per_skill, usual.per_skill) }
    }
}

/// Reads a session from a dictionary. An empty one is a new conversation.
pub(crate) fn read_session(session: Option<&Bound<'_, PyDict>>) -> PyResult<Option<Session>> {
    let Some(session) = session else { return Ok(None) };
    if session.is_empty() {
        return Ok(Some(Session::default()));
    }
    let read = serde_json::from_value(to_json(session)?);
    read.map(Some).map_err(|error| {
        Failure::new("session", format!("this is no session: {error}"), "start a new one with {}").raised(session.py())
    })
}

/// Writes a session into the dictionary that it was read from.
pub(crate) fn write_session(into: Option<&Bound<'_, PyDict>>, session: Option<&Session>) -> PyResult<()> {
    let (Some(into), Some(session)) = (into, session) else { return Ok(()) };
    let made = to_python(into.py(), session)?;
    into.clear();
    into.update(made.cast::<PyDict>()?.as_mapping())
}

/// Returns the skills whose tools a conversation has: those that were named, and those whose bodies are in its context.
pub(crate) fn loaded_skills(named: Vec<String>, session: Option<&Session>) -> Vec<String> {
    let mut loaded = named;
    for skill in session.into_iter().flat_map(Session::remembered).filter(|skill| skill.in_context) {
        if !loaded.contains(&skill.address) {
            loaded.push(skill.address.clone());
        }
    }
    loaded
}

/// Returns the id of a conversation: of its session, which is one object for as long as it lasts; else of this process.
pub(crate) fn conversation_of(session: Option<&Bound<'_, PyDict>>) -> String {
    let process = std::process::id();
    match session {
        Some(session) => format!("python-{process}-{:x}", session.as_ptr() as usize),
        None => format!("python-{process}"),
    }
}
