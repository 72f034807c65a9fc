//! One request: put together, counted, made, traced.

use std::time::{Instant, SystemTime};

use skillcue::tools::ToolDefinition;
use skillcue_base::ErrorInfo as _;
use tracing::Instrument as _;

use super::event::shown;
use super::{Agent, AgentError, Conversation, Hooks, TurnEvent, UnderWay, providers, spans};
use crate::account::{repeated_tokens, sent_texts, skills_in_history};
use crate::model::{Delta, ModelAnswer, ModelError, ModelRequest, SystemText};
use crate::{LineText, Purpose, RequestPart, RequestTokens, TraceLine, account};

/// The fewest tokens of a request whose cost shows how the provider counts.
const MIN_TOKENS_FOR_RATIO: u64 = 4_000;

/// The time at which a request was begun.
#[derive(Clone, Copy)]
pub(super) struct RequestStart {
    pub(super) time: SystemTime,
    pub(super) start: Instant,
}

/// A request that fits.
pub(super) struct Prepared {
    pub(super) system: Vec<SystemText>,
    pub(super) tools: Vec<ToolDefinition>,
    pub(super) tokens: RequestTokens,
    pub(super) round: u32,
}

impl Agent {
    /// Puts a request together, and makes the conversation shorter if it does not fit. `is_too_long` says that the model
    /// has refused it as it is.
    pub(super) async fn prepared(
        &self,
        conversation: &mut Conversation,
        turn: &mut UnderWay,
        round: u32,
        is_too_long: bool,
        hooks: &Hooks<'_>,
    ) -> Result<Prepared, AgentError> {
        let system = self.system(conversation);
        let (skills, active) = (std::sync::Arc::clone(&self.skills), conversation.active(&self.skills));
        let has_skill = !active.is_empty();
        // Toolsets may have to be evaluated for it.
        let mut more = tokio::task::spawn_blocking(move || skills.tools(&active)).await.unwrap_or_default();
        // No text has pointed to a file yet.
        more.retain(|tool| has_skill || tool.name != "read_skill_file");
        // Servers refuse two tools of one name.
        let mut tools = providers::tools(conversation);
        let own: Vec<_> = tools.iter().map(|tool| tool.name.clone()).collect();
        for tool in more {
            if own.contains(&tool.name) {
                let name = &tool.name;
                let problem = format!("the tool `{name}` of a skill cannot be called: the agent has one of that name");
                if !turn.problems.contains(&problem) {
                    turn.problems.push(problem);
                }
            } else {
                tools.push(tool);
            }
        }
        let mut prepared = Prepared { system, tools, tokens: RequestTokens::default(), round };
        prepared.tokens = self.tokens(conversation, turn, &prepared);
        if is_too_long || !self.fits(conversation, prepared.tokens) {
            self.compact(conversation, turn, &mut prepared, is_too_long, hooks).await?;
        }
        Ok(prepared)
    }

    /// Returns the instructions, and the texts of providers for every turn.
    fn system(&self, conversation: &Conversation) -> Vec<SystemText> {
        let own = SystemText { part: RequestPart::System, text: self.options.system.clone() };
        let all = std::iter::once(own).chain(conversation.stable.iter().cloned());
        all.filter(|text| !text.text.trim().is_empty()).collect()
    }

    /// Returns the cost of sending the conversation now.
    pub(super) fn tokens(&self, conversation: &Conversation, turn: &UnderWay, prepared: &Prepared) -> RequestTokens {
        account(&self.request(conversation, prepared), turn.first, self.counter())
    }

    fn request<'r>(&self, conversation: &'r Conversation, prepared: &'r Prepared) -> ModelRequest<'r> {
        ModelRequest {
            system: &prepared.system,
            tools: &prepared.tools,
            messages: conversation.messages(),
            max_tokens: self.options.max_tokens,
        }
    }

    /// Makes the request, and writes its line.
    pub(super) async fn ask(
        &self,
        conversation: &mut Conversation,
        turn: &mut UnderWay,
        prepared: &Prepared,
        hooks: &Hooks<'_>,
    ) -> Result<ModelAnswer, ModelError> {
        conversation.report_moves(hooks);
        let moves = std::mem::take(&mut conversation.traced_moves);
        let Prepared { tokens, round, .. } = prepared;
        (hooks.events)(&TurnEvent::Request { turn: turn.number, round: *round, tokens: *tokens });
        turn.tokens += *tokens;
        let request = self.request(conversation, prepared);
        let sent = sent_texts(&request, self.model.api());
        let repeated = repeated_tokens(&conversation.sent, &sent, self.counter());
        let asked = RequestStart { time: SystemTime::now(), start: Instant::now() };
        let span = spans::request_span(&self.model, conversation.id(), self.options.max_tokens);
        let mut pass_on = |delta: Delta<'_>| forward(delta, hooks);
        let answer = self.model.ask(&request, hooks.cancel, &mut pass_on).instrument(span.clone()).await;
        spans::end_request_span(&span, &answer);
        drop(span);
        let mut line = TraceLine {
            turn: turn.number,
            round: *round,
            problems: if *round == 1 { turn.problems.clone() } else { Vec::new() },
            ..self.line(conversation.id(), Purpose::Answer, *tokens, asked, &answer)
        };
        line.hints = std::mem::take(&mut turn.hints.new);
        line.moves = moves;
        line.repeated = repeated;
        line.skills_in_history = skills_in_history(&request, turn.first, self.counter()).0 as u64;
        if let Some(disclosure) = conversation.disclosure() {
            line.tier = Some(disclosure.tier.number());
            line.policy = Some(disclosure.policy.as_str().to_owned());
            line.skills = shown(&disclosure);
            line.eager = disclosure.tokens.eager.0 as u64;
            // They are the same in every request of the turn.
            if *round == 1 {
                line.files = conversation.files();
            }
            turn.eager = turn.eager.saturating_add(line.eager);
        }
        if self.wants_text() {
            let words = answer.as_ref().map(|answer| answer.text.clone()).unwrap_or_default();
            line.text = Some(LineText { request: request.messages.to_vec(), answer: words });
        }
        self.trace(&line, hooks);
        conversation.sent = sent;
        if let Ok(answer) = &answer
            && let Some(input) = answer.usage.input
            && tokens.total() > MIN_TOKENS_FOR_RATIO
        {
            // What the provider counts is what its window counts in. In small requests, what it adds to every one would
            // weigh too much.
            #[expect(clippy::cast_precision_loss, reason = "no request has 2^52 tokens")]
            let ratio = input as f64 / tokens.total() as f64;
            conversation.ratio = ratio.clamp(1.0, 2.0);
        }
        answer
    }

    /// Returns the line of a request, with the fields that all purposes share.
    pub(super) fn line(
        &self,
        session: &str,
        purpose: Purpose,
        tokens: RequestTokens,
        asked: RequestStart,
        answer: &Result<ModelAnswer, ModelError>,
    ) -> TraceLine {
        let latency = asked.start.elapsed();
        let milliseconds = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let mut line = TraceLine {
            purpose,
            api: self.model.api().name().to_owned(),
            model: self.model.name().to_owned(),
            tokens,
            latency_ms: milliseconds(latency),
            ..TraceLine::new(session, asked.time)
        };
        match answer {
            Ok(answer) => {
                line.usage = answer.usage.raw.clone();
                line.first_ms = answer.first.map(milliseconds);
                line.attempts = answer.attempts;
                line.stop = Some(answer.stop.clone());
                line.calls = answer.calls.iter().map(|call| call.name.clone()).collect();
            }
            Err(error) => {
                line.attempts = error.attempts();
                line.error = Some(error.code().to_owned());
            }
        }
        line
    }

    pub(super) fn wants_text(&self) -> bool {
        self.tracer.as_ref().is_some_and(|tracer| tracer.wants_text())
    }

    /// Writes a line. A trace that cannot be written is no reason to fail.
    pub(super) fn trace(&self, line: &TraceLine, hooks: &Hooks<'_>) {
        let Some(tracer) = &self.tracer else { return };
        if let Err(error) = tracer.write(line) {
            (hooks.events)(&TurnEvent::Problem { provider: "trace", message: error.to_string() });
        }
    }
}

/// Passes on news of an answer as events.
pub(super) fn forward(delta: Delta<'_>, hooks: &Hooks<'_>) {
    let event = match delta {
        Delta::Text(text) => TurnEvent::Text { text },
        Delta::Thinking(text) => TurnEvent::Thinking { text },
        Delta::Retry { attempt, wait, why } => {
            TurnEvent::Retry { attempt, wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX), why }
        }
        // Its event comes when its arguments are there.
        _ => return,
    };
    (hooks.events)(&event);
}
