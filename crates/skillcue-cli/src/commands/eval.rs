//! `skillcue eval`: labelled messages against the selection.

mod comparison;
mod judged;
mod summary;
mod sweep;

use std::path::{Path, PathBuf};

use serde::Serialize;
use skillcue::eval::{Comparison, EvalCase, EvalError, EvalOptions, Evaluation, Figures};
use skillcue::{Mode, Request};
use skillcue_base::os_message;

use crate::cli::words;
use crate::context::Context;
use crate::error::{CliError, Excerpt};
use crate::judge::JudgeArgs;
use crate::turn::{MODES, read_text, share};
use crate::{Outcome, text};

/// Largest set of messages, in bytes.
const MAX_SET: u64 = 64 << 20;

const AFTER: &str = "\
Examples:
  skillcue eval messages.jsonl                     {\"query\", \"relevant\": [names]} on each line
  skillcue eval skills/pdf/evals/triggers.json     [{\"query\", \"should_trigger\"}], for one skill
  skillcue eval --mode keyword messages.jsonl      by mentions and triggers alone
  skillcue eval --mode semantic messages.jsonl     by meaning, too: see `skillcue model`
  skillcue eval --judge messages.jsonl             with a model that chooses, beside the figures without it
  skillcue eval --min-recall 0.9 messages.jsonl    exit code 1 below that: for CI
  skillcue eval --json messages.jsonl > old.json   to compare with, after a change
  skillcue eval --compare old.json messages.jsonl  what got better and worse, message by message
  skillcue eval --sweep eagerness messages.jsonl   what a higher eagerness finds, and what it costs

A list with `should_trigger` is about the skill that --skill names, else about the one in whose
directory it is. A line may have the language of its message as `lang`; else it is guessed. What counts
as shown and named is what the policy `inject` would show in a new conversation.
With --json it prints {skills, eagerness, positives, negatives, recall_at: {1, 3, 5}, shown, named,
wrong_bodies, wrongly_shown, wrongly_named, precision, false_triggers, tokens: {all, needed, must_not,
none: {mean, p95}}, calibration_error, languages, calibration, confusions, worst, unknown, sweep, cases:
[{query, grade, first, certainty, right, tokens}], comparison: {figures, better, worse, unmatched},
judge: {name, asked, failed, failure}, without_judge: {the figures without it}}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The labelled messages
    file: PathBuf,
    /// The skill that `should_trigger` is about
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
    /// How messages are matched [default: hybrid]
    #[arg(long, value_parser = words(MODES))]
    mode: Option<Mode>,
    /// How readily skills are shown and named, from 0 to 1 [default: 0.5]
    #[arg(long, value_name = "E", allow_negative_numbers = true, value_parser = share::<f32>)]
    eagerness: Option<f32>,
    #[command(flatten)]
    judge: JudgeArgs,
    /// Compare with the output of an earlier `eval --json`
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Show how the figures change with a setting
    #[arg(long, value_name = "SETTING", value_parser = words(SETTINGS))]
    sweep: Option<SweptSetting>,
    /// Exit with 1 if the recall at 3 is below this
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = share::<f64>)]
    min_recall: Option<f64>,
    /// Exit with 1 if more of the messages that need nothing select something
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = share::<f64>)]
    max_false: Option<f64>,
}

/// A setting that a sweep varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SweptSetting {
    Eagerness,
}

const SETTINGS: &[(&str, SweptSetting, &str)] =
    &[("eagerness", SweptSetting::Eagerness, "How readily skills are shown and named, from 0 to 1")];

#[derive(Serialize)]
struct EvalJson<'e> {
    #[serde(flatten)]
    evaluation: &'e Evaluation,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<&'e Comparison>,
    /// The figures without the judge, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    without_judge: Option<&'e Figures>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let set = read_text(&args.file, MAX_SET).map_err(|error| {
        CliError::failure("eval", format!("cannot read {}: {}", args.file.display(), os_message(&error)))
            .help("name a file with labelled messages")
    })?;
    args.judge.apply(context)?;
    let skills = context.skills()?;
    let skill = args.skill.clone().or_else(|| skill_around(&args.file, context));
    let cases = EvalCase::read(&set, skill.as_deref()).map_err(|error| refused(&args.file, &set, &error))?;
    if cases.is_empty() {
        return Err(CliError::failure("eval", format!("{} holds no messages", args.file.display()))
            .help("write one JSON object a line: {\"query\": \"…\", \"relevant\": [\"name\"]}"));
    }
    let mode = context.mode(args.mode)?;
    context.prepare(mode)?;
    if mode != Mode::Keyword {
        // However many they are: the figures are those of an index with all bodies.
        skills.index_bodies();
    }
    if let Some(case) = cases.first() {
        skills.check_request(&Request::new(&case.query).mode(mode))?;
    }
    let sweep = args.sweep == Some(SweptSetting::Eagerness);
    let options = EvalOptions { mode, eagerness: args.eagerness, sweep, judge: true };
    let evaluation = Evaluation::of(skills, &cases, &options);
    let plain = EvalOptions { judge: false, sweep: false, ..options };
    let without = evaluation.judge.as_ref().map(|_| Evaluation::of(skills, &cases, &plain).figures);
    let comparison = args.compare.as_deref().map(|file| compared(file, &evaluation, &cases)).transpose()?;
    let failed = args.failed_limits(&evaluation);
    let document =
        EvalJson { evaluation: &evaluation, comparison: comparison.as_ref(), without_judge: without.as_ref() };
    let reported = context.report(Outcome::of(failed.is_empty()), &document, || {
        let figures = match &comparison {
            _ if sweep => sweep::chart(&evaluation),
            Some(comparison) => comparison::show(&evaluation, comparison, context.verbose()),
            None => summary::show(&evaluation),
        };
        match (&without, &evaluation.judge) {
            (Some(without), Some(judge)) => judged::rows(&evaluation, without, judge) + &figures,
            _ => figures,
        }
    });
    // What is wrong with the set stands below its numbers.
    let _ = context.terminal.flush();
    if !evaluation.unknown.is_empty() {
        let names = text::one_line(&evaluation.unknown.join(", "));
        context.terminal.warn(
            "unknown_skill",
            &format!("the set names skills that are not there: {names}"),
            "correct the names, or add their directory with --skills-dir",
        );
    }
    for (code, message, help) in &failed {
        context.terminal.error(&CliError::failure(code, message.as_str()).help(*help));
    }
    reported
}

impl Args {
    /// Returns the limits that an evaluation fails: a code, what is wrong, and what to do.
    fn failed_limits(&self, evaluation: &Evaluation) -> Vec<(&'static str, String, &'static str)> {
        let mut failed = Vec::new();
        if let Some(least) = self.min_recall {
            let help = "the worst cases are listed above; better descriptions and triggers raise it";
            match evaluation.figures.recall_at.get(&3) {
                Some(recall) if *recall < least => {
                    let message =
                        format!("the recall at 3 is {}, below --min-recall {}", percent(*recall), percent(least));
                    failed.push(("min_recall", message, help));
                }
                Some(_) => {}
                None => {
                    let message = "--min-recall cannot be checked: no message of the set needs a skill".to_owned();
                    failed.push(("min_recall", message, "add messages with the skills that they need"));
                }
            }
        }
        if let Some(most) = self.max_false
            && let Some(share) = evaluation.figures.false_triggers.filter(|share| *share > most)
        {
            let message = format!(
                "{} of the messages that need nothing select something, above --max-false {}",
                percent(share),
                percent(most)
            );
            failed.push(("max_false", message, "the worst cases are listed above; narrower triggers lower it"));
        }
        failed
    }
}

/// Compares with an earlier evaluation in a file.
fn compared(file: &Path, evaluation: &Evaluation, cases: &[EvalCase]) -> Result<Comparison, CliError> {
    let refused = |message: String| {
        CliError::failure("compare", format!("cannot compare with {}: {message}", file.display()))
            .help("name a file with the output of an earlier `skillcue eval --json`")
    };
    let old = read_text(file, MAX_SET).map_err(|error| refused(os_message(&error)))?;
    Comparison::of(&old, evaluation, cases).map_err(|error| refused(error.message))
}

/// Returns the skill in whose directory a file is.
fn skill_around(file: &Path, context: &Context) -> Option<String> {
    let file = file.canonicalize().ok()?;
    let catalog = context.skills().ok()?.catalog();
    let around = |dir: PathBuf| dir.canonicalize().is_ok_and(|dir| file.starts_with(dir));
    catalog.skills().find(|skill| around(skill.dir())).map(|skill| skill.name().to_owned())
}

fn refused(file: &Path, set: &str, error: &EvalError) -> CliError {
    let help = "a line is {\"query\": \"…\", \"relevant\": [\"name\"]}; for one skill, name it with --skill";
    let failure = CliError::failure("eval", error.message.clone()).help(help);
    let Some(line) = set.lines().nth(error.line.saturating_sub(1)).filter(|_| error.line > 0) else { return failure };
    failure.excerpt(Excerpt {
        path: file.display().to_string(),
        text: set.to_owned(),
        line: error.line,
        column: 1,
        width: line.chars().count().max(1),
    })
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
