//! Spans: what is under way, for a host that follows it with `tracing`, with the names of OpenTelemetry's conventions for
//! generative AI. They cost nothing where no subscriber wants their target, and have no text of messages, arguments or results.

use serde_json::Value;
use tracing::Span;
use tracing::field::{Empty, display};

use crate::tools::{Call, ToolOutput};
use crate::{Disclosure, Skillcue};

/// The target of all spans and of the events in them.
pub const SPAN_TARGET: &str = "skillcue::span";

impl Skillcue {
    /// Returns the span of a call of a tool. The names of tools, skills and files in it are those that exist: a model may make
    /// up others.
    pub(crate) fn tool_span(&self, call: &Call, conversation: &str) -> Span {
        let span = tracing::info_span!(
            target: SPAN_TARGET,
            "execute_tool",
            otel.name = Empty,
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = Empty,
            gen_ai.tool.type = "function",
            gen_ai.skill.name = Empty,
            gen_ai.skill.resource.name = Empty,
            gen_ai.conversation.id = Empty,
            error.type = Empty,
            otel.status_code = Empty,
        );
        if span.is_disabled() {
            return span;
        }
        if !conversation.is_empty() {
            span.record("gen_ai.conversation.id", conversation);
        }
        if let Some(skill) = call.skill_id().and_then(|id| self.catalog().get(id).map(|skill| skill.name().to_owned()))
        {
            span.record("gen_ai.skill.name", skill);
        }
        span
    }

    /// Adds to the span of a call what came of it.
    pub(crate) fn end_tool_span(&self, span: &Span, call: &Call, loaded: &[String], output: Option<&ToolOutput>) {
        if span.is_disabled() {
            return;
        }
        let Some(output) = output else {
            span.record("otel.status_code", "ERROR").record("error.type", "not_found");
            return;
        };
        span.record("otel.name", display(format_args!("execute_tool {}", call.name())));
        span.record("gen_ai.tool.name", call.name());
        if output.is_error {
            span.record("otel.status_code", "ERROR").record("error.type", display(error_code(&output.text)));
        } else if call.name() == "read_skill_file" {
            // The file was read, so it exists.
            if let Some(path) = call.arguments().get("path").and_then(Value::as_str) {
                span.record("gen_ai.skill.resource.name", path);
            }
        } else if let Some(program) = self.program_for_call(call, loaded) {
            span.record("gen_ai.skill.name", program.skill).record("gen_ai.skill.resource.name", program.name);
        }
    }
}

/// Returns the span of the selection of skills for a message.
pub(crate) fn selection_span(conversation: &str) -> Span {
    let span = tracing::info_span!(
        target: SPAN_TARGET,
        "select_skills",
        gen_ai.operation.name = "select_skills",
        gen_ai.conversation.id = Empty,
        skillcue.tier = Empty,
        skillcue.tokens = Empty,
    );
    if !conversation.is_empty() {
        span.record("gen_ai.conversation.id", conversation);
    }
    span
}

/// Adds the skills that a disclosure shows to its span, an event each.
pub(crate) fn end_selection_span(span: &Span, disclosure: &Disclosure) {
    if span.is_disabled() {
        return;
    }
    span.record("skillcue.tier", disclosure.tier.number());
    let mut total = 0;
    for shown in crate::usage::shown_events(disclosure, None) {
        let tokens = shown.tokens.unwrap_or(0);
        total += tokens;
        tracing::info!(
            target: SPAN_TARGET,
            parent: span,
            {
                gen_ai.skill.name = shown.skill,
                skillcue.tier = shown.tier.unwrap_or(2),
                skillcue.tokens = tokens as u64,
                skillcue.confidence = f64::from(shown.confidence.unwrap_or(0.0)),
            },
            "skill shown",
        );
    }
    span.record("skillcue.tokens", total as u64);
}

/// Returns the code in the output of a call that failed.
fn error_code(text: &str) -> &str {
    let code = text.split_once("<error code=\"").and_then(|(_, rest)| rest.split_once('"')).map(|(code, _)| code);
    code.filter(|code| !code.is_empty() && code.len() <= 40).unwrap_or("_OTHER")
}
