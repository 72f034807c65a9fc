//! Spans of a turn, with the names of OpenTelemetry's conventions for generative AI. They have no text of messages.

use skillcue::SPAN_TARGET;
use skillcue_base::ErrorInfo as _;
use tracing::Span;
use tracing::field::Empty;

use super::{AgentError, TurnReport};
use crate::model::{FinishReason, Model, ModelAnswer, ModelError};

/// Returns the span of a turn.
pub(super) fn turn_span(model: &Model, conversation: &str) -> Span {
    tracing::info_span!(
        target: SPAN_TARGET,
        "invoke_agent",
        otel.name = "invoke_agent skillcue",
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = "skillcue",
        gen_ai.provider.name = model.api().name(),
        gen_ai.request.model = model.name(),
        gen_ai.conversation.id = conversation,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.type = Empty,
        otel.status_code = Empty,
    )
}

/// Adds to the span of a turn what came of it.
pub(super) fn end_turn_span(span: &Span, outcome: &Result<TurnReport, AgentError>) {
    match outcome {
        Ok(report) => {
            span.record("gen_ai.usage.input_tokens", report.input);
            span.record("gen_ai.usage.output_tokens", report.output);
        }
        Err(error) => fail(span, error.code()),
    }
}

/// Returns the span of one request to the model.
pub(super) fn request_span(model: &Model, conversation: &str, max_tokens: Option<u32>) -> Span {
    let span = tracing::info_span!(
        target: SPAN_TARGET,
        "chat",
        otel.name = format!("chat {}", model.name()),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = model.api().name(),
        gen_ai.request.model = model.name(),
        gen_ai.request.max_tokens = Empty,
        gen_ai.conversation.id = conversation,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        error.type = Empty,
        otel.status_code = Empty,
    );
    if let Some(most) = max_tokens {
        span.record("gen_ai.request.max_tokens", most);
    }
    span
}

/// Adds to the span of a request what came of it.
pub(super) fn end_request_span(span: &Span, answer: &Result<ModelAnswer, ModelError>) {
    match answer {
        Ok(answer) => {
            span.record("gen_ai.response.finish_reasons", reason(&answer.stop));
            let usage = &answer.usage;
            for (name, number) in [
                ("gen_ai.usage.input_tokens", usage.input),
                ("gen_ai.usage.output_tokens", usage.output),
                ("gen_ai.usage.cache_read.input_tokens", usage.cached),
            ] {
                if let Some(number) = number {
                    span.record(name, number);
                }
            }
        }
        Err(error) => fail(span, error.code()),
    }
}

/// Returns the span of a call that no skill answers: of a tool of a context provider, or one that was not allowed.
pub(super) fn call_span(tool: &str, id: &str, conversation: &str) -> Span {
    tracing::info_span!(
        target: SPAN_TARGET,
        "execute_tool",
        otel.name = format!("execute_tool {tool}"),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool,
        gen_ai.tool.call.id = id,
        gen_ai.tool.type = "function",
        gen_ai.conversation.id = conversation,
        error.type = Empty,
        otel.status_code = Empty,
    )
}

/// Marks a span as failed.
pub(super) fn fail(span: &Span, code: &str) {
    span.record("otel.status_code", "ERROR").record("error.type", code);
}

/// Returns a reason in the words of the conventions.
fn reason(stop: &FinishReason) -> &str {
    match stop {
        FinishReason::End => "stop",
        FinishReason::Tools => "tool_calls",
        FinishReason::Length => "length",
        FinishReason::Refused => "content_filter",
        FinishReason::Other(word) => word,
    }
}
