//! A conversation of fifty turns, run through the agent against a scripted model: its tokens, for comparing.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use skillcue::consent::ConsentStore;
use skillcue::{DiscloseConfig, Policy, Skillcue};
use skillcue_bench::conversation::{ScriptedTurn, turns, write_skills};
use skillcue_scripted::{Received, Reply, Server};
use tokio_util::sync::CancellationToken;

use crate::model::{Api, Endpoint, Model, RequestTiming};
use crate::{
    About, Agent, AgentConsent, AgentOptions, ConsentPolicy, Conversation, Hooks, Sessions, TraceLine, Tracer,
    TurnEvent, read_trace,
};

/// The beginning of the instructions for a summary.
const SUMMARY_SYSTEM: &str = "You shorten conversations.";

/// The way in which the conversation is run.
#[derive(Debug, Clone)]
pub struct RunPlan {
    /// The policy by which skills are disclosed.
    pub policy: Policy,
    /// The API that the model is asked in.
    pub api: Api,
    /// The model's window. A small one makes the agent shorten the conversation.
    pub window: u64,
    /// After how many turns the conversation is closed and continued from its file; never, if zero.
    pub continued_every: usize,
}

impl Default for RunPlan {
    fn default() -> Self {
        RunPlan { policy: Policy::Inject, api: Api::Anthropic, window: 200_000, continued_every: 0 }
    }
}

/// The conversation as it was sent and traced.
#[derive(Debug)]
pub struct ConversationRun {
    /// The requests that reached the model, summaries included.
    pub requests: Vec<Received>,
    /// The lines of the trace.
    pub lines: Vec<TraceLine>,
    /// How often the conversation was shortened.
    pub compactions: usize,
}

/// Runs the conversation of [`skillcue_bench::conversation`]. Skills, sessions and traces are written below `dir`.
///
/// ```
/// use skillcue_agent::measure::{RunPlan, run_conversation};
///
/// let dir = tempfile::tempdir()?;
/// let run = run_conversation(&RunPlan::default(), dir.path())?;
/// assert!(run.lines.iter().map(|line| line.tokens.total()).sum::<u64>() > 0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn run_conversation(plan: &RunPlan, dir: &Path) -> io::Result<ConversationRun> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(converse(plan, dir))
}

async fn converse(plan: &RunPlan, dir: &Path) -> io::Result<ConversationRun> {
    let skills_dir = dir.join("skills");
    write_skills(&skills_dir)?;
    let config = DiscloseConfig { policy: plan.policy, ..DiscloseConfig::default() };
    let skills = Skillcue::builder().skills_dir(&skills_dir).disclosure(config).build().map_err(io::Error::other)?;
    let script = turns();
    let server = Server::start(move |received| answer(received, &script));
    let agent = Agent::new(Arc::new(skills), model(plan.api, &server)?, options(plan));
    let agent = agent.with_tracer(Tracer::new(dir.join("traces"), false));
    let sessions = Sessions::new(dir.join("sessions"));
    let about = About { model: "scripted".to_owned(), cwd: None, created: SystemTime::UNIX_EPOCH };
    let (file, saved) = sessions.create(about).map_err(io::Error::other)?;
    let id = saved.id.clone();
    let mut conversation = Conversation::saved(file, saved);
    conversation.skills_provider(agent.skills());
    let consent = AgentConsent::new(ConsentPolicy::default(), Arc::new(ConsentStore::default()));
    let (cancel, compactions) = (CancellationToken::new(), AtomicUsize::new(0));
    let events = |event: &TurnEvent<'_>| {
        if matches!(event, TurnEvent::Compacted { .. }) {
            compactions.fetch_add(1, Ordering::Relaxed);
        }
    };
    for (number, turn) in turns().iter().enumerate() {
        if plan.continued_every > 0 && number > 0 && number % plan.continued_every == 0 {
            drop(conversation);
            let (file, saved) = sessions.open(&id).map_err(io::Error::other)?;
            conversation = Conversation::saved(file, saved);
            conversation.skills_provider(agent.skills());
        }
        let hooks = Hooks { events: &events, consent: &consent, cancel: &cancel };
        agent.turn(&mut conversation, &turn.message, &hooks).await.map_err(io::Error::other)?;
    }
    let traced = read_trace(&dir.join("traces").join(format!("{id}.jsonl"))).map_err(io::Error::other)?;
    let compactions = compactions.load(Ordering::Relaxed);
    Ok(ConversationRun { requests: server.requests(), lines: traced.lines, compactions })
}

fn options(plan: &RunPlan) -> AgentOptions {
    AgentOptions { window: plan.window, max_tokens: Some(1_000), ..AgentOptions::default() }
}

fn model(api: Api, server: &Server) -> io::Result<Model> {
    let base_url = match api {
        Api::OpenAi => format!("{}/v1", server.url()),
        Api::Anthropic => server.url(),
    };
    let (model, timing) = ("scripted".to_owned(), RequestTiming::default());
    Model::new(Endpoint { api, model, base_url, key: None, timing }).map_err(io::Error::other)
}

/// Returns the answer to a request: the calls of its turn, then its text. What the context holds makes no difference.
fn answer(received: &Received, script: &[ScriptedTurn]) -> Reply {
    let said = received.texts();
    let is_said = |turn: &ScriptedTurn| said.iter().any(|(role, text)| role == "user" && text.ends_with(&turn.message));
    let current = script.iter().enumerate().rev().find(|(_, turn)| is_said(turn));
    let Some((number, turn)) = current.filter(|_| !received.system().starts_with(SUMMARY_SYSTEM)) else {
        return Reply::text("Several tasks were done with skills.");
    };
    if turn.calls.is_empty() || !received.new_results().is_empty() {
        return Reply::text(&turn.answer);
    }
    let calls = turn.calls.iter().enumerate();
    Reply::calls(calls.map(|(at, (tool, given))| (format!("c{number}-{at}"), *tool, given.clone())))
}
