//! The runs that a project keeps: which one came before, what got worse since, and all of them as a table.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use skillcue::eval::{Comparison, EvalCase, EvalRun, EvalRunInfo, Evaluation, Figures};
use skillcue::{ErrorInfo as _, Mode};
use skillcue_base::rfc3339;
use skillcue_host::EvalHistory;

use super::{Args, comparison};
use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

/// Most runs in the table.
const MAX_ROWS: usize = 30;

/// Columns of a chart, lowest first.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The run of this evaluation beside the kept ones.
pub(super) struct KeptRun {
    pub(super) run: EvalRun,
    /// The last run of its kind that failed no limit, with the difference.
    pub(super) since: Option<SinceRun>,
    /// The file of the run, if it was kept.
    pub(super) file: Option<PathBuf>,
}

/// An earlier run, and what has changed since.
#[derive(Serialize)]
pub(super) struct SinceRun {
    #[serde(flatten)]
    pub(super) name: RunName,
    #[serde(flatten)]
    pub(super) comparison: Comparison,
}

/// The words by which a run is known.
#[derive(Serialize)]
pub(super) struct RunName {
    time: String,
    label: Option<String>,
    commit: Option<String>,
}

impl RunName {
    fn of(run: &EvalRun) -> RunName {
        RunName { time: rfc3339(run.time), label: run.label.clone(), commit: run.commit.clone() }
    }

    /// `2026-11-18 04:20, before, 1b46e29`
    pub(super) fn words(&self) -> String {
        let mut words = minute(&self.time);
        for word in [self.label.as_deref(), self.commit.as_deref().map(short_commit)].into_iter().flatten() {
            let _ = write!(words, ", {}", text::one_line(word));
        }
        words
    }
}

/// Compares an evaluation with the last kept one of its kind that failed no limit. Nothing is kept yet.
pub(super) fn compare(
    args: &Args,
    context: &Context,
    mode: Mode,
    evaluation: &Evaluation,
    cases: &[EvalCase],
    model: Option<(String, Vec<Option<Vec<String>>>)>,
) -> Result<KeptRun, CliError> {
    let history = EvalHistory::of(context.environment()?);
    let file = args.file.as_deref().unwrap_or(Path::new(""));
    let (model, loaded) = model.unzip();
    let info = EvalRunInfo {
        time: SystemTime::now(),
        label: args.label.clone(),
        commit: history.as_ref().and_then(EvalHistory::commit),
        set: history.as_ref().map_or_else(|| file.display().to_string(), |history| history.set_name(file)),
        mode,
        model,
    };
    let mut run = EvalRun::of(evaluation, cases, info);
    for (case, loaded) in run.cases.iter_mut().zip(loaded.into_iter().flatten()) {
        case.is_unanswered = loaded.is_none();
        case.loaded = loaded.unwrap_or_default();
    }
    let Some(history) = history else { return Ok(KeptRun { run, since: None, file: None }) };
    // What was kept is a help, not a part: the figures come without it, too.
    let read = history.read().unwrap_or_else(|error| {
        context.terminal.warn(error.code(), error.message(), &error.hint().unwrap_or_default());
        skillcue_host::EvalRuns::default()
    });
    let earlier = read.runs.iter().rev().find(|earlier| earlier.is_baseline_of(&run));
    let since =
        earlier.map(|earlier| SinceRun { name: RunName::of(earlier), comparison: Comparison::between(earlier, &run) });
    Ok(KeptRun { run, since, file: None })
}

impl KeptRun {
    /// Keeps the run if that is wanted, marked if it failed a limit.
    pub(super) fn keep(&mut self, args: &Args, context: &Context, has_failed: bool) -> Result<(), CliError> {
        self.run.failed = has_failed;
        let Some(history) = EvalHistory::of(context.environment()?) else { return Ok(()) };
        self.file = match (args.keep, args.no_keep || !history.is_wanted()) {
            (true, _) => Some(history.keep(&self.run)?),
            (false, true) => None,
            // A checkout that cannot be written to.
            (false, false) => history
                .keep(&self.run)
                .inspect_err(|error| context.terminal.warn(error.code(), error.message(), "--no-keep keeps none"))
                .ok(),
        };
        Ok(())
    }
}

impl SinceRun {
    /// Returns what got worse since the last run, then what got better.
    pub(super) fn show(&self, verbose: bool) -> String {
        let Comparison { worse, better, figures, .. } = &self.comparison;
        let mut head = format!("since {}:", self.name.words());
        if worse.is_empty() && better.is_empty() {
            head.push_str(" no message better or worse");
        } else {
            let _ = write!(head, " {} worse, {} better", text::count(worse.len(), "message"), better.len());
        }
        if let Some(change) = figures.iter().find(|change| change.figure == "recall_at.3")
            && let (Some(old), Some(new)) = (change.old, change.new)
        {
            let _ = write!(head, "; recall at 3 {} → {}", super::percent(old), super::percent(new));
        }
        let color = if worse.is_empty() { style::DIM } else { style::BAD };
        let mut out = format!("{}\n", paint(color, head));
        if !worse.is_empty() {
            comparison::changes(&mut out, "worse", style::BAD, worse, verbose);
        }
        if !better.is_empty() && verbose {
            comparison::changes(&mut out, "better", style::GOOD, better, verbose);
        }
        out.push('\n');
        out
    }
}

#[derive(Serialize)]
struct HistoryJson {
    runs: Vec<HistoryRow>,
    unreadable: Vec<UnreadableRun>,
}

#[derive(Serialize)]
struct HistoryRow {
    #[serde(flatten)]
    name: RunName,
    set: String,
    mode: Mode,
    judge: Option<String>,
    model: Option<String>,
    skills: usize,
    eagerness: f32,
    /// Whether it failed a limit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    figures: Figures,
    /// The numbers of messages that are worse and better than in the run before of its kind that failed no limit.
    worse: Option<usize>,
    better: Option<usize>,
}

#[derive(Serialize)]
struct UnreadableRun {
    #[serde(serialize_with = "text::lossy")]
    path: PathBuf,
    reason: String,
}

/// Lists the kept runs: of one set, or of all.
pub(super) fn list(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let Some(history) = EvalHistory::of(context.environment()?) else {
        return Err(CliError::failure("eval_history", "there is no current directory").help("change into a project"));
    };
    let read = history.read()?;
    let set = args.file.as_deref().map(|file| history.set_name(file));
    let runs: Vec<&EvalRun> = read.runs.iter().filter(|run| set.as_ref().is_none_or(|set| *set == run.set)).collect();
    let rows = runs.iter().enumerate().map(|(at, run)| {
        let before = runs[..at].iter().rev().find(|before| before.is_baseline_of(run));
        let compared = before.map(|before| Comparison::between(before, run));
        HistoryRow {
            name: RunName::of(run),
            set: run.set.clone(),
            mode: run.mode,
            judge: run.judge.clone(),
            model: run.model.clone(),
            skills: run.skills,
            eagerness: run.eagerness,
            failed: run.failed,
            figures: run.figures.clone(),
            worse: compared.as_ref().map(|compared| compared.worse.len()),
            better: compared.as_ref().map(|compared| compared.better.len()),
        }
    });
    let unreadable = read.unreadable.into_iter().map(|(path, reason)| UnreadableRun { path, reason }).collect();
    let document = HistoryJson { runs: rows.collect(), unreadable };
    let reported = context.report(Outcome::Done, &document, || table(&document.runs));
    let _ = context.terminal.flush();
    for UnreadableRun { path, reason } in &document.unreadable {
        let message = format!("{} is left out: {reason}", context.short_path(path));
        context.terminal.warn("eval_history", &message, "remove the file, or use the version that wrote it");
    }
    reported
}

/// Returns a table for each set and mode, with a chart of the recall.
fn table(rows: &[HistoryRow]) -> String {
    if rows.is_empty() {
        return "no runs are kept here; `skillcue eval --keep FILE` keeps one\n".to_owned();
    }
    let varies = rows.iter().any(|row| row.eagerness.to_bits() != rows[0].eagerness.to_bits());
    let title = |row: &HistoryRow| {
        let mode = Mode::NAMES.iter().find(|(_, mode)| *mode == row.mode).map_or("", |(name, _)| name);
        let mut title = format!("{}, {mode}", text::one_line(&row.set));
        for (word, name) in [("judge", &row.judge), ("model", &row.model)] {
            if let Some(name) = name {
                let _ = write!(title, ", {word} {}", text::one_line(name));
            }
        }
        if varies {
            let _ = write!(title, ", eagerness {}", row.eagerness);
        }
        title
    };
    let mut titles: Vec<String> = Vec::new();
    for row in rows {
        let title = title(row);
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    let mut out = String::new();
    for name in &titles {
        let rows: Vec<&HistoryRow> = rows.iter().filter(|row| title(row) == *name).collect();
        let _ = writeln!(out, "{}{}", if out.is_empty() { "" } else { "\n" }, paint(style::NAME, name));
        let recalls: Vec<f64> = rows.iter().filter_map(|row| row.figures.recall_at.get(&3).copied()).collect();
        if let (Some(first), Some(last), true) = (recalls.first(), recalls.last(), recalls.len() > 1) {
            let (first, last) = (super::percent(*first), super::percent(*last));
            let _ = writeln!(out, "recall at 3  {}  {first} → {last}", chart(&recalls));
        }
        let head = format!(
            "{:<16}  {:<14}{:<9}{:>6}{:>10}{:>7}{:>7}{:>7}{:>7}{:>8}{:>8}{:>7}{:>8}",
            "when",
            "label",
            "commit",
            "skills",
            "messages",
            "at 1",
            "at 3",
            "shown",
            "named",
            "wrongly",
            "tokens",
            "worse",
            "better"
        );
        let _ = writeln!(out, "{}", paint(style::DIM, head));
        let skipped = rows.len().saturating_sub(MAX_ROWS);
        if skipped > 0 {
            let earlier = format!("{} earlier; --json has all", text::count(skipped, "run"));
            let _ = writeln!(out, "{}", paint(style::DIM, earlier));
        }
        for row in &rows[skipped..] {
            let _ = writeln!(out, "{}", line(row));
        }
    }
    out
}

fn line(row: &HistoryRow) -> String {
    let figures = &row.figures;
    let cell = |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{:.1}", share * 100.0));
    let number = |number: Option<usize>| number.map_or("–".to_owned(), text::thousands);
    let label = row.name.label.as_deref().map(text::one_line).unwrap_or_default();
    let label = text::cut(&label, 13);
    let worse = format!("{:>7}", number(row.worse));
    format!(
        "{:<16}  {label}{:pad$}{:<9}{:>6}{:>10}{:>7}{:>7}{:>7}{:>7}{:>8}{:>8}{}{:>8}{}",
        minute(&row.name.time),
        "",
        row.name.commit.as_deref().map(short_commit).unwrap_or_default(),
        text::thousands(row.skills),
        text::thousands(figures.positives + figures.negatives),
        cell(figures.recall_at.get(&1).copied()),
        cell(figures.recall_at.get(&3).copied()),
        cell(figures.shown),
        cell(figures.named),
        cell(figures.wrongly_shown),
        figures.tokens.all.map_or("–".to_owned(), |cost| format!("{:.0}", cost.mean)),
        if row.worse.is_some_and(|worse| worse > 0) { paint(style::BAD, worse) } else { worse },
        number(row.better),
        if row.failed { format!("  {}", paint(style::BAD, "failed")) } else { String::new() },
        pad = 14 - text::width(&label),
    )
}

/// Returns a column for each share, from the lowest of them to the highest.
fn chart(shares: &[f64]) -> String {
    let start = shares.len().saturating_sub(40);
    let shares = &shares[start..];
    let low = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let high = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of 0 to 7")]
    let step = |share: &f64| match high - low {
        range if range < 1e-9 => STEPS[3],
        range => STEPS[(((share - low) / range * 7.0).round() as usize).min(7)],
    };
    shares.iter().map(step).collect()
}

/// `2026-11-18 04:20`
fn minute(time: &str) -> String {
    time.get(..16).unwrap_or(time).replace('T', " ")
}

fn short_commit(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_goes_from_the_lowest_to_the_highest() {
        assert_eq!(chart(&[0.5, 0.6, 0.7]), "▁▅█");
        assert_eq!(chart(&[0.5, 0.5]), "▄▄");
        assert_eq!(chart(&[0.1; 90]).chars().count(), 40);
    }

    #[test]
    fn a_time_is_shown_to_the_minute() {
        assert_eq!(minute("2026-11-18T04:20:31.123Z"), "2026-11-18 04:20");
    }
}
