//! The evaluations of the page: that of its messages, and those that the project keeps.

use std::time::SystemTime;

use serde::Serialize;
use serde_json::{Value, json};
use skillcue::eval::{Comparison, EvalOptions, EvalRun, EvalRunInfo, Evaluation};
use skillcue::select::Thresholds;
use skillcue::{Mode, Skillcue};
use skillcue_base::rfc3339;
use skillcue_host::{EvalHistory, EvalRuns};

use super::messages::StudioMessages;
use crate::commands::eval::EvalJson;
use crate::context::Context;
use crate::error::CliError;

/// The id of the evaluation of the page's own messages.
const LIVE: &str = "now";

/// The evaluation of the messages that the page was given.
#[derive(Debug)]
pub(super) struct LiveEvaluation {
    evaluation: Evaluation,
    run: EvalRun,
}

impl LiveEvaluation {
    pub(super) fn of(skills: &Skillcue, messages: &StudioMessages, mode: Mode) -> LiveEvaluation {
        if mode != Mode::Keyword {
            // However many they are: the figures are those of an index with all bodies.
            skills.index_bodies();
        }
        let options = EvalOptions { mode, eagerness: None, sweep: true, judge: false };
        let evaluation = Evaluation::of(skills, &messages.cases, &options);
        let set = messages.file.as_deref().map(|file| file.to_string_lossy().into_owned());
        let info = EvalRunInfo {
            time: SystemTime::now(),
            label: None,
            commit: None,
            set: set.unwrap_or_default(),
            mode,
            model: None,
        };
        let mut run = EvalRun::of(&evaluation, &messages.cases, info);
        // Not their beginnings, as files have them: the page opens them.
        run.complete(messages.queries());
        LiveEvaluation { evaluation, run }
    }
}

/// One evaluation, and the one before of the same set.
#[derive(Serialize)]
struct OneEvaluation<'e> {
    run: &'e EvalRun,
    before: Option<String>,
    comparison: Option<Comparison>,
    evaluation: Option<EvalJson<'e>>,
    /// The numbers of messages of which only the beginning is kept: the page cannot open them.
    cut: Vec<usize>,
    /// The certainty from which the run's disclosures showed bodies.
    threshold: f32,
}

fn kept(context: &Context) -> Result<EvalRuns, CliError> {
    match EvalHistory::of(context.environment()?) {
        Some(history) => Ok(history.read()?),
        None => Ok(EvalRuns::default()),
    }
}

/// Returns the ids of all evaluations, the latest first.
pub(super) fn ids(live: Option<&LiveEvaluation>, context: &Context) -> Vec<String> {
    let kept = kept(context).unwrap_or_default();
    live.map(|_| LIVE.to_owned()).into_iter().chain(kept.runs.iter().rev().map(id)).collect()
}

fn id(run: &EvalRun) -> String {
    rfc3339(run.time)
}

/// Returns a line about each evaluation, the latest first, and the files that are none.
pub(super) fn all(live: Option<&LiveEvaluation>, context: &Context) -> Result<Value, CliError> {
    let kept = kept(context)?;
    let line = |id: String, run: &EvalRun| -> Result<Value, CliError> {
        let mut line = serde_json::to_value(run)?;
        if let Some(fields) = line.as_object_mut() {
            fields.remove("cases");
            fields.insert("id".to_owned(), id.into());
            fields.insert("messages".to_owned(), (run.cases.len() + run.left_out).into());
        }
        Ok(line)
    };
    let mut runs = Vec::new();
    if let Some(live) = live {
        runs.push(line(LIVE.to_owned(), &live.run)?);
    }
    for run in kept.runs.iter().rev() {
        runs.push(line(id(run), run)?);
    }
    let unreadable = kept.unreadable.iter().map(|(path, why)| json!({"path": context.short_path(path), "why": why}));
    Ok(json!({"runs": runs, "unreadable": unreadable.collect::<Vec<_>>()}))
}

/// Returns one evaluation: as it is kept, compared with the one before of the same set, and for the page's own messages as
/// `eval --json` prints it.
pub(super) fn one(
    wanted: &str,
    live: Option<&LiveEvaluation>,
    messages: &StudioMessages,
    context: &Context,
) -> Result<Vec<u8>, CliError> {
    let mut kept = kept(context)?;
    let live = live.filter(|_| wanted == LIVE);
    if let Some(run) = kept.runs.iter_mut().find(|run| live.is_none() && id(run) == wanted) {
        run.complete(messages.queries());
    }
    let run = match live {
        Some(live) => &live.run,
        None => kept.runs.iter().find(|run| id(run) == wanted).ok_or_else(|| {
            CliError::failure("not_found", format!("there is no evaluation {wanted:?}"))
                .help("`skillcue eval` keeps runs in `.skillcue/evals`")
        })?,
    };
    let is_before = |other: &&EvalRun| {
        other.time < run.time && (other.set == run.set || live.is_some() && run.set.ends_with(&other.set))
    };
    let before = kept.runs.iter().rev().find(is_before);
    let comparison = before.map(|before| Comparison::between(before, run));
    let evaluation = live.map(|live| EvalJson::of(&live.evaluation));
    let cut = run.cases.iter().enumerate().filter(|(_, case)| !case.is_whole()).map(|(at, _)| at).collect();
    let threshold = Thresholds::of(run.eagerness).body;
    Ok(serde_json::to_vec(&OneEvaluation { run, before: before.map(id), comparison, evaluation, cut, threshold })?)
}
