//! Many conversations at once.

use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, PoisonError};

use futures_util::{FutureExt as _, StreamExt as _};
use skillcue::Disclosure;
use tokio_util::sync::CancellationToken;

use crate::{Agent, AgentConsent, AgentError, Conversation, Hooks, TurnEvent, TurnReport};

/// A conversation to be held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its id, which no other task has.
    pub id: String,
    /// The user's messages, turn by turn.
    pub messages: Vec<String>,
}

/// The outcome of a task.
#[derive(Debug)]
pub struct TaskDone {
    /// The task's id.
    pub id: String,
    /// The conversation's id; empty if it could not begin.
    pub session: String,
    /// The answers, turn by turn, up to the one that failed.
    pub answers: Vec<String>,
    /// Problems that did not stop it.
    pub problems: Vec<String>,
    /// The skills that the model has loaded.
    pub loaded: Vec<String>,
    /// The disclosure of the last turn.
    pub disclosure: Option<Disclosure>,
    /// The report of the last turn, or the reason why it has no answer.
    pub outcome: Result<TurnReport, AgentError>,
}

/// Holds all conversations, `jobs` at a time. `begin` makes one, `done` hears of each as it ends, in whatever order: of
/// every task exactly once, also if it is interrupted before it has begun.
pub async fn batch(
    agent: &Agent,
    tasks: Vec<Task>,
    jobs: usize,
    begin: &(dyn Fn(&Task) -> Result<Conversation, AgentError> + Sync),
    done: &mut (dyn FnMut(TaskDone) + Send),
    consent: &AgentConsent,
    cancel: &CancellationToken,
) {
    let hold = |task: Task| async move {
        let id = task.id.clone();
        // One that panics must not take the others with it.
        let held = AssertUnwindSafe(hold(agent, task, begin, consent, cancel)).catch_unwind().await;
        let lost = |_| TaskDone {
            id,
            session: String::new(),
            answers: Vec::new(),
            problems: Vec::new(),
            loaded: Vec::new(),
            disclosure: None,
            outcome: Err(AgentError::Internal),
        };
        held.unwrap_or_else(lost)
    };
    let mut ended = futures_util::stream::iter(tasks).map(hold).buffer_unordered(jobs.max(1));
    while let Some(task) = ended.next().await {
        done(task);
    }
}

async fn hold(
    agent: &Agent,
    task: Task,
    begin: &(dyn Fn(&Task) -> Result<Conversation, AgentError> + Sync),
    consent: &AgentConsent,
    cancel: &CancellationToken,
) -> TaskDone {
    let mut done = TaskDone {
        id: task.id.clone(),
        session: String::new(),
        answers: Vec::new(),
        problems: Vec::new(),
        loaded: Vec::new(),
        disclosure: None,
        outcome: Err(AgentError::Cancelled),
    };
    if cancel.is_cancelled() {
        return done;
    }
    let mut conversation = match begin(&task) {
        Ok(conversation) => conversation,
        Err(error) => return TaskDone { outcome: Err(error), ..done },
    };
    conversation.id().clone_into(&mut done.session);
    let problems = Mutex::new(Vec::new());
    let events = |event: &TurnEvent<'_>| {
        if let TurnEvent::Problem { provider, message } = event {
            let mut problems = skillcue_base::lock(&problems);
            problems.push(format!("{provider}: {message}"));
        }
    };
    let hooks = Hooks { events: &events, consent, cancel };
    for message in &task.messages {
        done.outcome = agent.turn(&mut conversation, message, &hooks).await;
        match &done.outcome {
            Ok(report) => done.answers.push(report.answer.clone()),
            Err(_) => break,
        }
    }
    conversation.loaded().clone_into(&mut done.loaded);
    done.disclosure = conversation.disclosure();
    done.problems = problems.into_inner().unwrap_or_else(PoisonError::into_inner);
    done
}
