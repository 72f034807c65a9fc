//! The loop: context, request, tools, and again, until there is an answer.

mod calls;
mod compact;
mod conversation;
mod error;
mod event;
mod hints;
mod moves;
mod providers;
mod request;
mod spans;
mod summary;

pub use conversation::Conversation;
pub use error::AgentError;
pub use event::TurnEvent;
use hints::TurnHints;
pub use moves::SkillMove;
pub(crate) use summary::earlier;

use std::sync::Arc;
use std::time::Duration;

use skillcue::Skillcue;
use skillcue::disclose::{Segment, TokenCounter};
use skillcue_base::ErrorInfo as _;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::consent::AgentConsent;
use crate::model::{FinishReason, Model, ModelAnswer, ModelError};
use crate::trace::Tracer;
use crate::{Message, RequestTokens};

/// The default instructions for the model.
pub const SYSTEM: &str = "You are a helpful assistant. Skills are instructions for particular tasks: where one is \
                          documented or listed and fits the request, follow it; load_skill loads one by its id, and \
                          search_skills finds one. Answer in the user's language, briefly.";

/// The most times that a model may refuse a request as too long: the first time old turns go, then results of tools.
const MAX_REFUSALS: u32 = 2;

/// Settings of an agent.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// The instructions.
    pub system: String,
    /// How many tokens the model can take in, its answer included.
    pub window: u64,
    /// How many tokens an answer may have.
    pub max_tokens: Option<u32>,
    /// How often the model may be asked in one turn.
    pub rounds: u32,
    /// How many tools run at a time.
    pub parallel: usize,
    /// Whether skills that fit what the model does are named during a turn.
    pub hints: bool,
    /// How long a context provider may take.
    pub provider_timeout: Duration,
    /// The token counter.
    pub counter: skillcue::Counter,
}

impl Default for AgentOptions {
    fn default() -> AgentOptions {
        AgentOptions {
            system: SYSTEM.to_owned(),
            window: 128_000,
            max_tokens: None,
            rounds: 25,
            parallel: 8,
            hints: true,
            provider_timeout: Duration::from_secs(10),
            counter: skillcue::Counter::default(),
        }
    }
}

/// An agent: skills, a model, and how they go together. Many conversations share one.
#[derive(Debug, Clone)]
pub struct Agent {
    skills: Arc<Skillcue>,
    model: Model,
    options: Arc<AgentOptions>,
    tracer: Option<Arc<Tracer>>,
}

/// The caller's side of a turn: events, consent, cancellation.
#[derive(Clone, Copy)]
pub struct Hooks<'h> {
    /// Receives events. Called from several threads, if several tools run.
    pub events: &'h (dyn Fn(&TurnEvent<'_>) + Send + Sync),
    /// Decides what may be loaded and run.
    pub consent: &'h AgentConsent,
    /// Ends the turn.
    pub cancel: &'h CancellationToken,
}

impl std::fmt::Debug for Hooks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks").field("consent", &self.consent).finish_non_exhaustive()
    }
}

/// The outcome of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnReport {
    /// The model's last words.
    pub answer: String,
    /// Why it stopped.
    pub stop: FinishReason,
    /// How often it was asked.
    pub rounds: u32,
    /// The cost of all requests of the turn, by our count.
    pub tokens: RequestTokens,
    /// Tokens of requests, as the provider counts.
    pub input: u64,
    /// Tokens of answers.
    pub output: u64,
    /// Tokens of requests that came from the provider's cache.
    pub cached: u64,
    /// The cost of documenting every skill in each of these requests.
    pub eager: u64,
}

impl Agent {
    /// Makes an agent.
    pub fn new(skills: Arc<Skillcue>, model: Model, options: AgentOptions) -> Agent {
        Agent { skills, model, options: Arc::new(options), tracer: None }
    }

    /// Writes a line for each request.
    #[must_use]
    pub fn with_tracer(mut self, tracer: Tracer) -> Agent {
        self.tracer = Some(Arc::new(tracer));
        self
    }

    /// Returns the skills.
    pub fn skills(&self) -> &Arc<Skillcue> {
        &self.skills
    }

    /// Returns the model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Runs a turn: a message of the user and the model's answer, with as many calls of tools in between as it makes.
    ///
    /// Whatever comes of it, the conversation can go on afterwards, and is written down.
    pub async fn turn(
        &self,
        conversation: &mut Conversation,
        message: &str,
        hooks: &Hooks<'_>,
    ) -> Result<TurnReport, AgentError> {
        let span = spans::turn_span(&self.model, conversation.id());
        let outcome = self.whole_turn(conversation, message, hooks).instrument(span.clone()).await;
        spans::end_turn_span(&span, &outcome);
        outcome
    }

    async fn whole_turn(
        &self,
        conversation: &mut Conversation,
        message: &str,
        hooks: &Hooks<'_>,
    ) -> Result<TurnReport, AgentError> {
        let id = conversation.id().to_owned();
        (hooks.events)(&TurnEvent::Session { id: &id });
        // An earlier turn may have been dropped.
        conversation.finish("interrupted");
        conversation.recheck_loaded(&self.skills);
        let problems = self.begin(conversation, message, hooks).await;
        let mut under_way = UnderWay::new(conversation, problems);
        let outcome = self.rounds(conversation, &mut under_way, hooks).await;
        let unfinished = match &outcome {
            Ok(_) => None,
            Err(AgentError::Cancelled) => Some("interrupted".to_owned()),
            Err(error) => Some(format!("no answer: {}", error.code())),
        };
        conversation.expire(&self.skills);
        conversation.end_turn(unfinished.as_deref());
        conversation.report_moves(hooks);
        if let Some(error) = conversation.take_trouble() {
            let message = format!("the conversation is no longer written down: {error}");
            (hooks.events)(&TurnEvent::Problem { provider: "session", message });
        }
        let answer = outcome?;
        providers::after(conversation, &self.options, hooks).await;
        let report = under_way.report(answer);
        let TurnReport { answer, stop, rounds, tokens, input, output, cached, .. } = &report;
        (hooks.events)(&TurnEvent::Answer {
            text: answer,
            stop,
            rounds: *rounds,
            tokens: *tokens,
            input: *input,
            output: *output,
            cached: *cached,
        });
        Ok(report)
    }

    /// Adds the user's message to the conversation, with the context of providers before it.
    async fn begin(&self, conversation: &mut Conversation, message: &str, hooks: &Hooks<'_>) -> Vec<String> {
        let mut pieces = conversation.take_pending();
        let problems = providers::before(conversation, message, &mut pieces, self, hooks).await;
        conversation.push(Message::User { context: pieces, text: message.to_owned() });
        problems
    }

    /// Asks until the model answers without calling anything.
    async fn rounds(
        &self,
        conversation: &mut Conversation,
        turn: &mut UnderWay,
        hooks: &Hooks<'_>,
    ) -> Result<ModelAnswer, AgentError> {
        for round in 1..=self.options.rounds.max(1) {
            let answer = self.round(conversation, turn, round, hooks).await?;
            turn.rounds = round;
            turn.count(&answer);
            let (text, calls) = (answer.text.clone(), answer.calls.clone());
            // Some APIs refuse a message that says nothing, and a conversation must not end with the user.
            let text = if text.is_empty() && calls.is_empty() { "[empty answer]".to_owned() } else { text };
            conversation.push(Message::Assistant { text, calls });
            if answer.calls.is_empty() {
                return Ok(answer);
            }
            let results = calls::run(&self.skills, &self.options, conversation, &answer.calls, hooks).await;
            let context = self.hints_after(conversation, turn, &answer, &results, hooks).await;
            conversation.push(Message::Tools { results, context });
            if hooks.cancel.is_cancelled() {
                return Err(AgentError::Cancelled);
            }
        }
        Err(AgentError::Rounds(self.options.rounds.max(1)))
    }

    /// Asks for one answer. If the conversation does not fit, it is made shorter; also if the model says so.
    async fn round(
        &self,
        conversation: &mut Conversation,
        turn: &mut UnderWay,
        round: u32,
        hooks: &Hooks<'_>,
    ) -> Result<ModelAnswer, AgentError> {
        let mut refused = 0;
        loop {
            if hooks.cancel.is_cancelled() {
                return Err(AgentError::Cancelled);
            }
            let prepared = self.prepared(conversation, turn, round, refused > 0, hooks).await?;
            match self.ask(conversation, turn, &prepared, hooks).await {
                Err(ModelError::TooLong { .. }) if refused < MAX_REFUSALS => refused += 1,
                other => return other.map_err(AgentError::of_model),
            }
        }
    }

    fn counter(&self) -> &'static dyn TokenCounter {
        // A build without the exact one counts nearly as well.
        self.options.counter.counter().unwrap_or(&Segment)
    }
}

/// A turn in progress.
struct UnderWay {
    /// Its number in the conversation.
    number: u64,
    /// The place of the message that began it.
    first: usize,
    problems: Vec<String>,
    rounds: u32,
    tokens: RequestTokens,
    input: u64,
    output: u64,
    cached: u64,
    eager: u64,
    hints: TurnHints,
}

impl UnderWay {
    fn new(conversation: &Conversation, problems: Vec<String>) -> UnderWay {
        UnderWay {
            number: conversation.turns() + 1,
            first: conversation.messages().len().saturating_sub(1),
            problems,
            rounds: 0,
            tokens: RequestTokens::default(),
            input: 0,
            output: 0,
            cached: 0,
            eager: 0,
            hints: TurnHints::default(),
        }
    }

    fn count(&mut self, answer: &ModelAnswer) {
        let usage = &answer.usage;
        // A server may say any number.
        self.input = self.input.saturating_add(usage.input.unwrap_or(0));
        self.output = self.output.saturating_add(usage.output.unwrap_or(0));
        self.cached = self.cached.saturating_add(usage.cached.unwrap_or(0));
    }

    fn report(self, answer: ModelAnswer) -> TurnReport {
        let UnderWay { rounds, tokens, input, output, cached, eager, .. } = self;
        TurnReport { answer: answer.text, stop: answer.stop, rounds, tokens, input, output, cached, eager }
    }
}
