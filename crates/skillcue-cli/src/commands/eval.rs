//! `skillcue eval`: labelled messages against the selection.

mod comparison;
mod files;
mod history;
mod judged;
#[cfg(feature = "agent")]
mod model;
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
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::turn::{MODES, read_text, share};
use crate::{Outcome, text};
use history::{KeptRun, SinceRun};

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
  skillcue eval --keep messages.jsonl              keep the run; the next one says what got worse
  skillcue eval --history                          the runs of this project
  skillcue eval --model ollama:qwen3 messages.jsonl  what that model loads, sent through the agent

A list with `should_trigger` is about the skill that --skill names, else about the one in whose
directory it is. A line may have the language of its message as `lang`; else it is guessed. What counts
as shown and named is what the policy `inject` would show in a new conversation.
Runs are kept in .skillcue/evals of the project if it has a directory .skillcue, or with --keep: at most 100.
With --json it prints {skills, eagerness, positives, negatives, recall_at: {1, 3, 5}, shown, named,
wrong_bodies, wrongly_shown, wrongly_named, precision, false_triggers, tokens: {all, needed, must_not,
none: {mean, p95}}, calibration_error, languages, calibration, confusions, worst, unknown, sweep, cases:
[{query, grade, first, certainty, right, tokens}], comparison: {figures, better, worse, unmatched},
judge: {name, asked, failed, failure}, without_judge: {the figures without it}, since: {time, label, commit,
figures, better, worse, unmatched}, kept, model: {name, figures, cases}}; with --history {runs, unreadable}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The labelled messages
    #[arg(required_unless_present = "history")]
    file: Option<PathBuf>,
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
    /// Exit with 1 if more messages got worse since the last kept run that did not fail a limit
    #[arg(long, value_name = "N")]
    max_worse: Option<usize>,
    /// Keep the run in .skillcue/evals of the project, and make the directory
    #[arg(long, overrides_with = "no_keep")]
    keep: bool,
    /// Do not keep the run
    #[arg(long, overrides_with = "keep")]
    no_keep: bool,
    /// A word for the run, for the list of --history
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// List the kept runs, of FILE or of all sets, and do nothing else
    #[arg(long, conflicts_with_all = ["keep", "compare", "sweep", "min_recall", "max_false", "max_worse", "junit", "summary"])]
    history: bool,
    /// Write a JUnit report, with a test case for each message
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a summary in Markdown, for a pull request
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    #[cfg(feature = "agent")]
    #[command(flatten)]
    model: model::EvalModelArgs,
}

/// A setting that a sweep varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SweptSetting {
    Eagerness,
}

const SETTINGS: &[(&str, SweptSetting, &str)] =
    &[("eagerness", SweptSetting::Eagerness, "How readily skills are shown and named, from 0 to 1")];

/// The result of `eval`.
#[derive(Serialize)]
pub(super) struct EvalJson<'e> {
    #[serde(flatten)]
    evaluation: &'e Evaluation,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<&'e Comparison>,
    /// The figures without the judge, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    without_judge: Option<&'e Figures>,
    /// The difference to the last kept run, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<&'e SinceRun>,
    /// The file of the kept run, if it was kept.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "text::maybe_lossy")]
    kept: Option<PathBuf>,
    /// The part of the model, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'e ModelJson>,
}

#[cfg(feature = "agent")]
use model::ModelJson;

/// The part of a model, which this program was built without.
#[cfg(not(feature = "agent"))]
#[derive(Serialize)]
struct NoModel;
#[cfg(not(feature = "agent"))]
use NoModel as ModelJson;

impl<'e> EvalJson<'e> {
    /// Makes the document of an evaluation that is compared with no other.
    pub(super) fn of(evaluation: &'e Evaluation) -> EvalJson<'e> {
        EvalJson { evaluation, comparison: None, without_judge: None, since: None, kept: None, model: None }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let file = match &args.file {
        Some(file) if !args.history => file,
        _ => return history::list(args, context),
    };
    let set = read_set(file)?;
    args.judge.apply(context)?;
    #[cfg(feature = "agent")]
    let asked = args.model.setup(args.mode, args.eagerness, context)?;
    let skills = context.skills()?;
    let cases = parse_set(file, &set, args.skill.as_deref(), context)?;
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
    #[cfg(feature = "agent")]
    let answers = asked.map(|asked| asked.ask(&cases)).transpose()?;
    #[cfg(not(feature = "agent"))]
    let answers: Option<ModelJson> = None;
    #[cfg(feature = "agent")]
    let loaded = answers.as_ref().map(ModelJson::loaded);
    #[cfg(not(feature = "agent"))]
    let loaded = None;
    let mut kept = history::compare(args, context, mode, &evaluation, &cases, loaded)?;
    let failed = args.failed_limits(&evaluation, kept.since.as_ref());
    kept.keep(args, context, !failed.is_empty())?;
    write_files(args, &kept, &failed)?;
    let document = EvalJson {
        evaluation: &evaluation,
        comparison: comparison.as_ref(),
        without_judge: without.as_ref(),
        since: kept.since.as_ref(),
        kept: kept.file.clone(),
        model: answers.as_ref(),
    };
    let reported = context.report(Outcome::of(failed.is_empty()), &document, || {
        let mut out = String::new();
        // Regressions first. An evaluation that is named to be compared with takes their place.
        if let (Some(since), None, false) = (&kept.since, &comparison, sweep) {
            out.push_str(&since.show(context.verbose()));
        }
        #[cfg(feature = "agent")]
        if let Some(answers) = &answers {
            out.push_str(&answers.show(context.verbose()));
        }
        if let (Some(without), Some(judge)) = (&without, &evaluation.judge) {
            out.push_str(&judged::rows(&evaluation, without, judge));
        }
        out.push_str(&match &comparison {
            _ if sweep => sweep::chart(&evaluation),
            Some(comparison) => comparison::show(&evaluation, comparison, context.verbose()),
            None => summary::show(&evaluation),
        });
        let kept = kept.file.as_ref().map(|file| format!("kept in {}", context.short_path(file)));
        Printout::from(out).remarks(kept.map(|kept| paint(style::DIM, kept)))
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

/// Reads the labelled messages of a file. `skill` is the one that `should_trigger` is about.
pub(super) fn labelled(file: &Path, skill: Option<&str>, context: &Context) -> Result<Vec<EvalCase>, CliError> {
    parse_set(file, &read_set(file)?, skill, context)
}

fn read_set(file: &Path) -> Result<String, CliError> {
    read_text(file, MAX_SET).map_err(|error| {
        CliError::failure("eval", format!("cannot read {}: {}", file.display(), os_message(&error)))
            .help("name a file with labelled messages")
    })
}

/// Reads the labelled messages of a file's text.
pub(super) fn parse_set(
    file: &Path,
    set: &str,
    skill: Option<&str>,
    context: &Context,
) -> Result<Vec<EvalCase>, CliError> {
    let skill = skill.map(str::to_owned).or_else(|| skill_around(file, context));
    let cases = EvalCase::read(set, skill.as_deref()).map_err(|error| refused(file, set, &error))?;
    if cases.is_empty() {
        return Err(CliError::failure("eval", format!("{} holds no messages", file.display()))
            .help("write one JSON object a line: {\"query\": \"…\", \"relevant\": [\"name\"]}"));
    }
    Ok(cases)
}

/// Writes the files that are asked for.
fn write_files(args: &Args, kept: &KeptRun, failed: &[FailedLimit]) -> Result<(), CliError> {
    let failed: Vec<String> = failed.iter().map(|(_, message, _)| message.clone()).collect();
    let junit = args.junit.as_ref().map(|file| (file, files::junit(kept)));
    let summary = args.summary.as_ref().map(|file| (file, files::summary(kept, &failed)));
    for (file, text) in junit.into_iter().chain(summary) {
        std::fs::write(file, text).map_err(|error| CliError::write(file, &error))?;
    }
    Ok(())
}

/// A limit that an evaluation fails: a code, what is wrong, and what to do.
type FailedLimit = (&'static str, String, &'static str);

impl Args {
    /// Returns the limits that an evaluation fails.
    fn failed_limits(&self, evaluation: &Evaluation, since: Option<&SinceRun>) -> Vec<FailedLimit> {
        let mut failed = Vec::new();
        if let (Some(most), Some(since)) = (self.max_worse, since) {
            let worse = since.comparison.worse.len();
            if worse > most {
                let message = format!("{} got worse, more than --max-worse {most}", text::count(worse, "message"));
                failed.push(("max_worse", message, "they are listed above; `skillcue why MESSAGE` explains one"));
            }
        }
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
