//! Calls of tools by a model.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Map, Value};
use skillcue::tools::{Call, Effect, ToolContext, ToolOutput, attribute};
use skillcue::usage::UsageKind;
use skillcue::{Session, Skillcue};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use super::{AgentOptions, Conversation, Hooks, TurnEvent, providers, spans};
use crate::consent::PendingCall;
use crate::{ToolCall, ToolResult};

/// The longest that a tool may take to end once the turn is interrupted. Tools kill their processes at once.
const MAX_ENDING: Duration = Duration::from_secs(10);

/// The outcome of a call: the result, and its effect on the session.
type CallOutcome = (ToolResult, Option<Effect>);

/// Runs the tools that the model called: those of context providers first, one by one; then those that load skills, so
/// that tools which they bring are there for the rest; then everything else, several at a time. The results come in the
/// order of the calls.
pub(super) async fn run(
    skills: &Arc<Skillcue>,
    options: &AgentOptions,
    conversation: &mut Conversation,
    calls: &[ToolCall],
    hooks: &Hooks<'_>,
) -> Vec<ToolResult> {
    for call in calls {
        (hooks.events)(&TurnEvent::Call { id: &call.id, name: &call.name, arguments: &call.arguments });
    }
    let mut results: Vec<Option<ToolResult>> = calls.iter().map(|_| None).collect();
    for (at, call) in calls.iter().enumerate() {
        results[at] = provider_result(conversation, call, options, hooks).await;
    }
    let provided: Vec<String> = providers::tools(conversation).into_iter().map(|tool| tool.name.into_owned()).collect();
    for loads in [true, false] {
        let is_now = |at: &usize| results[*at].is_none() && (calls[*at].name == "load_skill") == loads;
        let at: Vec<usize> = (0..calls.len()).filter(is_now).collect();
        // Loads run one by one: the next must know of the text that the last has brought.
        let steps: Vec<Vec<usize>> = if loads { at.into_iter().map(|at| vec![at]).collect() } else { vec![at] };
        for step in steps {
            let (loaded, session) = (conversation.active(skills).into(), conversation.id().into());
            let shown = Arc::new(conversation.session());
            let message = conversation.last_message().into();
            let batch = CallBatch { skills, hooks, loaded, session, shown, message, provided: &provided };
            let run = async |at: usize| (at, finished(&calls[at], batch.output(&calls[at]).await, hooks));
            let mut done: Vec<(usize, CallOutcome)> =
                futures_util::stream::iter(step).map(run).buffer_unordered(options.parallel.max(1)).collect().await;
            done.sort_by_key(|(at, _)| *at);
            for (at, (result, effect)) in done {
                if let Some(effect) = effect {
                    conversation.apply(&effect);
                }
                results[at] = Some(result);
            }
        }
    }
    results.into_iter().flatten().collect()
}

/// Calls a tool of a context provider; none if no provider has one of that name.
async fn provider_result(
    conversation: &mut Conversation,
    call: &ToolCall,
    options: &AgentOptions,
    hooks: &Hooks<'_>,
) -> Option<ToolResult> {
    if hooks.cancel.is_cancelled() || !providers::tools(conversation).iter().any(|tool| tool.name == call.name) {
        return None;
    }
    let span = spans::call_span(&call.name, &call.id, conversation.id());
    let output = match arguments(&call.arguments) {
        Ok(arguments) => {
            let called = providers::call(conversation, &call.name, &arguments, options.provider_timeout);
            let called = called.instrument(span.clone()).await?;
            called.unwrap_or_else(|why| failure(&call.name, "internal", &format!("The tool failed: {why}.")))
        }
        Err(why) => failure(&call.name, "invalid_argument", &why),
    };
    if output.is_error {
        spans::fail(&span, "tool_error");
    }
    Some(finished(call, output, hooks).0)
}

/// Reports the output of a call, and makes its outcome.
fn finished(call: &ToolCall, output: ToolOutput, hooks: &Hooks<'_>) -> CallOutcome {
    let (id, name) = (call.id.clone(), call.name.clone());
    let ToolOutput { text, is_error, effect, .. } = output;
    (hooks.events)(&TurnEvent::Result { id: &id, name: &name, text: &text, is_error });
    (ToolResult { id, name, text, is_error }, effect)
}

fn failure(tool: &str, code: &str, message: &str) -> ToolOutput {
    ToolOutput::failure(&format!("tool_result name=\"{}\"", attribute(tool)), code, message)
}

/// Calls that run at the same time, and what they share.
struct CallBatch<'c> {
    skills: &'c Arc<Skillcue>,
    hooks: &'c Hooks<'c>,
    loaded: Arc<[String]>,
    session: Arc<str>,
    /// The record of what the conversation has been shown.
    shown: Arc<Session>,
    /// The user's message.
    message: Arc<str>,
    /// The names of the tools of context providers.
    provided: &'c [String],
}

impl CallBatch<'_> {
    async fn output(&self, call: &ToolCall) -> ToolOutput {
        let hooks = self.hooks;
        let fail = |code: &str, message: &str| failure(&call.name, code, message);
        if hooks.cancel.is_cancelled() {
            return fail("cancelled", "The user has interrupted the turn.");
        }
        let arguments = match arguments(&call.arguments) {
            Ok(arguments) => arguments,
            Err(why) => return fail("invalid_argument", &why),
        };
        let read = Arc::new(Call::new(&call.name, arguments));
        let wanted = PendingCall { call: &read, loaded: &self.loaded };
        if let Err(why) = hooks.consent.decide(&self.session, self.skills, &wanted, hooks.cancel).await {
            // What a person declines is a program or a tool that exists.
            spans::fail(&spans::call_span(&call.name, &call.id, &self.session), "declined");
            if let Some(skill) = read.skill_id() {
                self.skills.report_use(UsageKind::Declined, skill, &self.session);
            }
            return fail("declined", &why);
        }
        let (skills, cancel) = (Arc::clone(self.skills), hooks.cancel.clone());
        let (loaded, session, shown) = (Arc::clone(&self.loaded), Arc::clone(&self.session), Arc::clone(&self.shown));
        let (message, span) = (Arc::clone(&self.message), Span::current());
        let run = move || {
            let _entered = span.enter();
            let cancelled = || cancel.is_cancelled();
            let (loaded, session, shown) = (&*loaded, &*session, Some(&*shown));
            let (cancelled, message): (&(dyn Fn() -> bool + Sync), &str) = (&cancelled, &message);
            let context = ToolContext { loaded, session, shown, cancelled, message, ..ToolContext::default() };
            call_tool(&skills, &read, &context)
        };
        let ended = tokio::select! {
            ended = tokio::task::spawn_blocking(run) => ended,
            () = too_late(hooks.cancel) => return fail("cancelled", "The user has interrupted the turn."),
        };
        match ended {
            Ok(Ok(output)) => output,
            Ok(Err(mut names)) => {
                names.extend_from_slice(self.provided);
                fail("not_found", &format!("There is no such tool. There are: {}.", names.join(", ")))
            }
            Err(error) => {
                tracing::error!(target: "skillcue::agent", tool = call.name, %error, "a tool panicked");
                fail("internal", "The tool failed.")
            }
        }
    }
}

/// Waits until a tool has had its time to end, after the turn was cancelled.
async fn too_late(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(MAX_ENDING).await;
}

/// Calls the tool; if there is none of that name, returns the names that there are.
fn call_tool(skills: &Skillcue, call: &Call, context: &ToolContext<'_>) -> Result<ToolOutput, Vec<String>> {
    skills
        .call_tool(call, context)
        .ok_or_else(|| skills.tools(context.loaded).into_iter().map(|tool| tool.name.into_owned()).collect())
}

/// Parses the arguments that a model wrote. Some write nothing where there are none.
fn arguments(written: &str) -> Result<Map<String, Value>, String> {
    if written.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(written) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("The arguments have to be a JSON object.".to_owned()),
        Err(error) => Err(format!("The arguments are no JSON: {error}.")),
    }
}
