//! `skillcue eval`: labelled messages against the selection.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use skillcue::Mode;
use skillcue::eval::{EvalCase, EvalError, EvalOptions, Evaluation};
use skillcue_base::os_message;

use crate::cli::words;
use crate::context::Context;
use crate::error::{CliError, Excerpt};
use crate::terminal::{paint, style};
use crate::turn::{MODES, read_text};
use crate::{Outcome, text};

/// Largest set of messages, in bytes.
const MAX_SET: u64 = 64 << 20;

const AFTER: &str = "\
Examples:
  skillcue eval messages.jsonl                     {\"query\", \"relevant\": [names]} on each line
  skillcue eval skills/pdf/evals/triggers.json     [{\"query\", \"should_trigger\"}], for one skill
  skillcue eval --mode keyword messages.jsonl      by mentions and triggers alone
  skillcue eval --min-recall 0.9 messages.jsonl    exit code 1 below that: for CI

A list with `should_trigger` is about the skill that --skill names, else about the one in whose
directory it is. With --json it prints {positives, negatives, recall_at: {1, 3, 5}, precision,
false_triggers, calibration, confusions, worst, unknown}.";

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
    /// From which certainty on a hit counts as selected [default: 0.5; 0 with --mode keyword]
    #[arg(long, value_name = "C", value_parser = share)]
    threshold: Option<f64>,
    /// Exit with 1 if the recall at 3 is below this
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = share)]
    min_recall: Option<f64>,
    /// Exit with 1 if more of the messages that need nothing select something
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = share)]
    max_false: Option<f64>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let set = read_text(&args.file, MAX_SET).map_err(|error| {
        CliError::failure("eval", format!("cannot read {}: {}", args.file.display(), os_message(&error)))
            .help("name a file with labelled messages")
    })?;
    let skills = context.skills()?;
    let skill = args.skill.clone().or_else(|| skill_around(&args.file, context));
    let cases = EvalCase::read(&set, skill.as_deref()).map_err(|error| refused(&args.file, &set, &error))?;
    if cases.is_empty() {
        return Err(CliError::failure("eval", format!("{} holds no messages", args.file.display()))
            .help("write one JSON object a line: {\"query\": \"…\", \"relevant\": [\"name\"]}"));
    }
    let mode = context.mode(args.mode)?;
    context.prepare(mode)?;
    let default = if mode == Mode::Keyword { 0.0 } else { 0.5 };
    #[expect(clippy::cast_possible_truncation, reason = "a share from 0 to 1")]
    let threshold = args.threshold.map_or(default, |share| share as f32);
    let evaluation = Evaluation::of(skills, &cases, &EvalOptions { mode, threshold });
    let failed = args.failed_limits(&evaluation);
    let reported = context.report(Outcome::of(failed.is_empty()), &evaluation, || show(&evaluation));
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
            match evaluation.recall_at.get(&3) {
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
            && let Some(share) = evaluation.false_triggers.filter(|share| *share > most)
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

/// Parses a number from 0 to 1. Others, such as `nan`, would let everything pass.
fn share(written: &str) -> Result<f64, String> {
    let share: f64 = written.parse().map_err(|_| "it is no number".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("it is not between 0 and 1".to_owned()) }
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

fn show(evaluation: &Evaluation) -> String {
    let mut out = String::new();
    let messages = evaluation.positives + evaluation.negatives;
    let _ = writeln!(
        out,
        "{}: {} {} a skill, {} must not select one",
        text::count(messages, "message"),
        text::thousands(evaluation.positives),
        if evaluation.positives == 1 { "needs" } else { "need" },
        text::thousands(evaluation.negatives)
    );
    for (k, recall) in &evaluation.recall_at {
        let _ = writeln!(out, "{}  {}", paint(style::NAME, format_args!("recall at {k}     ")), percent(*recall));
    }
    if let Some(precision) = evaluation.precision {
        let _ = writeln!(out, "{}  {}", paint(style::NAME, "precision       "), percent(precision));
    }
    if let Some(share) = evaluation.false_triggers {
        let _ = writeln!(out, "{}  {}", paint(style::NAME, "false triggers  "), percent(share));
    }
    let _ = writeln!(out, "\n{}", paint(style::DIM, "how sure it was, how often the first hit was right"));
    for bucket in &evaluation.calibration {
        #[expect(clippy::cast_precision_loss, reason = "a percentage of some messages")]
        let right = bucket.right as f64 / bucket.hits as f64;
        let _ =
            writeln!(out, "  {:.1}–{:.1}  {:>7}  of {}", bucket.from, bucket.from + 0.1, percent(right), bucket.hits);
    }
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "nothing".to_owned());
    if !evaluation.confusions.is_empty() {
        let _ = writeln!(out, "\n{}", paint(style::DIM, "confusions: needed → selected"));
    }
    for confusion in evaluation.confusions.iter().take(10) {
        let (expected, got) = (text::one_line(&name(&confusion.expected)), text::one_line(&name(&confusion.got)));
        let _ = writeln!(out, "  {:>3} × {expected} → {got}", confusion.count);
    }
    if !evaluation.worst.is_empty() {
        let _ = writeln!(out, "\n{}", paint(style::DIM, "worst cases, the surest first"));
    }
    for mistake in evaluation.worst.iter().take(10) {
        let expected = if mistake.expected.is_empty() { "nothing".to_owned() } else { mistake.expected.join(", ") };
        let _ = writeln!(
            out,
            "  {:>4.2}  {} → {}: {}",
            mistake.confidence,
            text::one_line(&expected),
            text::one_line(&name(&mistake.got)),
            text::cut(&text::one_line(&mistake.query), 80)
        );
    }
    out
}
