//! `-p`: one message, one answer.

use skillcue_agent::model::FinishReason;
use skillcue_agent::{AgentError, Conversation, TurnReport};

use super::args::Args;
use super::interrupts::INTERRUPTED;
use super::screen::OutputMode;
use super::{AgentSetup, error_event};
use crate::Outcome;
use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::turn::message;

pub(crate) fn run(prompt: &str, args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let message = message(prompt)?;
    if message.trim().is_empty() {
        return Err(CliError::usage("usage", "the message is empty").help("say something"));
    }
    let mode = match (context.json(), context.terminal.stdout_is_terminal()) {
        (true, _) => OutputMode::Json,
        (false, true) => OutputMode::Stream,
        (false, false) => OutputMode::Whole,
    };
    // A question that is not seen would be waited for without end.
    let asks = context.can_ask() && context.terminal.stderr_is_terminal();
    let setup = AgentSetup::new(args, context, mode, asks)?;
    let mut conversation = setup.conversation(args)?;
    let outcome = setup.turn(&mut conversation, &message);
    let outcome = print_outcome(&setup, &outcome, context);
    if setup.saves() && !context.json() {
        print_continue_hint(&conversation, context);
    }
    setup.runtime.shutdown_background();
    match setup.screen.take_failure() {
        Some(error) => Err(error.into()),
        None => Ok(outcome),
    }
}

/// Prints why there is no answer, if there is none, and returns the outcome.
fn print_outcome(setup: &AgentSetup, outcome: &Result<TurnReport, AgentError>, context: &Context) -> Outcome {
    let error = match outcome {
        Ok(report) => {
            warn_if_cut(report, context);
            return Outcome::Done;
        }
        Err(error) => error,
    };
    if context.json() {
        setup.screen.json_line(&error_event(error));
    }
    match error {
        // The reader of the output has had enough: that is how pipes are meant to work.
        AgentError::Cancelled if setup.screen.is_unread() => Outcome::Done,
        AgentError::Cancelled => {
            context.terminal.say(&paint(style::DIM, "interrupted"));
            Outcome::Signalled(setup.interrupts.code().unwrap_or(INTERRUPTED))
        }
        error => {
            context.terminal.error(&CliError::of(error));
            Outcome::FailedChecks
        }
    }
}

/// Warns of an answer that was cut short or refused.
pub(crate) fn warn_if_cut(report: &TurnReport, context: &Context) {
    match &report.stop {
        FinishReason::Length => context.terminal.warn(
            "cut",
            "the answer is as long as it may be, and not finished",
            "say `go on`, or allow more with --max-tokens",
        ),
        FinishReason::Refused => {
            context.terminal.warn("refused", "the model, or its provider, refuses to answer", "ask in another way");
        }
        _ => {}
    }
}

/// Prints how to continue a conversation.
pub(crate) fn print_continue_hint(conversation: &Conversation, context: &Context) {
    let id = conversation.id();
    let command = paint(style::COMMAND, format_args!("skillcue agent --continue {id}"));
    context.terminal.say(&format!("{command} goes on"));
}
