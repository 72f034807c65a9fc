//! `--batch`: many conversations at once.

use std::fmt::Write as _;

use serde::Serialize;
use skillcue_agent::{AgentError, RequestTokens, Task, TaskDone, batch};
use skillcue_base::ErrorInfo as _;

use super::args::Args;
use super::interrupts::INTERRUPTED;
use super::screen::OutputMode;
use super::{AgentSetup, tasks};
use crate::context::Context;
use crate::error::CliError;
use crate::hints::hint_of;
use crate::progress::ProgressIndicator;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

pub(crate) fn run(file: &str, args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let tasks = tasks::read(file)?;
    let setup = AgentSetup::new(args, context, OutputMode::Json, false)?;
    let total = tasks.len();
    let (mut answered, mut failed, mut interrupted) = (0, 0, 0);
    let progress = ProgressIndicator::bar("holding conversations", total);
    let cancel = setup.interrupts.begin();
    let begin = |task: &Task| setup.begin(&format!("unsaved-{}", task.id)).map_err(AgentError::from);
    let mut done = |task: TaskDone| {
        match &task.outcome {
            Ok(_) => answered += 1,
            Err(AgentError::Cancelled) => interrupted += 1,
            Err(_) => failed += 1,
        }
        progress.step();
        progress.suspend(|| setup.screen.json_line(&line(&task)));
        if setup.screen.is_unread() {
            cancel.cancel();
        }
    };
    let jobs = usize::from(args.jobs);
    setup.runtime.block_on(batch(&setup.agent, tasks, jobs, &begin, &mut done, &setup.consent, &cancel));
    setup.interrupts.end();
    drop(progress);
    let mut said = format!("{} answered", text::thousands(answered));
    for (count, what) in [(failed, "failed"), (interrupted, "interrupted")] {
        if count > 0 {
            let _ = write!(said, ", {} {what}", text::thousands(count));
        }
    }
    context.terminal.say(&paint(style::DIM, format_args!("{}: {said}", text::count(total, "conversation"))));
    let outcome = match (cancel.is_cancelled(), failed) {
        (true, _) if setup.screen.is_unread() => Outcome::Done,
        (true, _) => Outcome::Signalled(setup.interrupts.code().unwrap_or(INTERRUPTED)),
        (false, 0) => Outcome::Done,
        (false, _) => Outcome::FailedChecks,
    };
    setup.runtime.shutdown_background();
    Ok(outcome)
}

/// The line that `--batch` prints for a conversation.
#[derive(Serialize)]
struct BatchAnswer<'t> {
    id: &'t str,
    session: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'t str>,
    /// The answers of all turns, if there are several, or if the last one has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<&'t [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<RequestTokens>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<BatchUsage>,
    /// Problems that did not stop it.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    problems: &'t [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<BatchError>,
}

/// The tokens of the last turn, as the provider counts them.
#[derive(Serialize)]
struct BatchUsage {
    input: u64,
    output: u64,
    cached: u64,
}

#[derive(Serialize)]
struct BatchError {
    code: &'static str,
    message: String,
    help: Option<String>,
}

fn line(task: &TaskDone) -> BatchAnswer<'_> {
    let report = task.outcome.as_ref().ok();
    let is_told = task.answers.len() > 1 || (report.is_none() && !task.answers.is_empty());
    BatchAnswer {
        id: &task.id,
        session: &task.session,
        answer: report.map(|report| report.answer.as_str()),
        answers: is_told.then_some(&task.answers),
        tokens: report.map(|report| report.tokens),
        usage: report.map(|report| BatchUsage { input: report.input, output: report.output, cached: report.cached }),
        problems: &task.problems,
        error: task.outcome.as_ref().err().map(|error| BatchError {
            code: error.code(),
            message: error.to_string(),
            help: hint_of(error),
        }),
    }
}
