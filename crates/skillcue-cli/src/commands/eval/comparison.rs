//! A comparison of two evaluations, as people read it.

use std::fmt::Write as _;

use skillcue::eval::{CaseChange, CaseOutcome, Comparison, Evaluation, FigureChange};
use skillcue::select::Grade;

use super::summary;
use crate::terminal::{paint, style};
use crate::text;

/// Most messages that are named as better, and as worse; -v names all.
const MAX_CHANGES: usize = 20;

pub(super) fn show(evaluation: &Evaluation, comparison: &Comparison, verbose: bool) -> String {
    let mut out = summary::heading(evaluation);
    let _ = writeln!(
        out,
        "\n{}",
        paint(style::DIM, format_args!("{:<28}{:>10}{:>10}{:>10}", "", "before", "now", "change"))
    );
    // Those of languages are many.
    let is_shown = |change: &&FigureChange| verbose || !change.figure.starts_with("languages.");
    for change in comparison.figures.iter().filter(is_shown) {
        let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| figure(&change.figure, value));
        let difference = match (change.old, change.new) {
            (Some(old), Some(new)) if (new - old).abs() < 5e-5 => String::new(),
            (Some(old), Some(new)) if new > old => format!("+{}", figure(&change.figure, new - old)),
            (Some(old), Some(new)) => format!("−{}", figure(&change.figure, old - new)),
            _ => String::new(),
        };
        let name = paint(style::NAME, format_args!("{:<28}", text::one_line(&change.figure)));
        let _ = writeln!(out, "{name}{:>10}{:>10}{difference:>10}", number(change.old), number(change.new));
    }
    changes(&mut out, "better", style::GOOD, &comparison.better, verbose);
    changes(&mut out, "worse", style::BAD, &comparison.worse, verbose);
    if comparison.unmatched > 0 {
        let count = text::count(comparison.unmatched, "message");
        let _ = writeln!(out, "\n{}", paint(style::DIM, format_args!("{count} in only one of the two")));
    }
    out
}

/// Returns a figure: shares in percent, numbers as they are.
fn figure(name: &str, value: f64) -> String {
    let last = name.rsplit('.').next().unwrap_or(name);
    match last {
        "skills" | "positives" | "negatives" | "p95" => format!("{value:.0}"),
        "mean" => format!("{value:.1}"),
        "eagerness" => format!("{value:.2}"),
        "calibration_error" => format!("{value:.3}"),
        _ => format!("{:.1} %", value * 100.0),
    }
}

pub(super) fn changes(out: &mut String, word: &str, color: anstyle::Style, changes: &[CaseChange], verbose: bool) {
    let count = text::count(changes.len(), "message");
    let _ = writeln!(out, "\n{}", paint(color, format_args!("{count} {word}")));
    let most = if verbose { changes.len() } else { changes.len().min(MAX_CHANGES) };
    for change in &changes[..most] {
        let expected = if change.expected.is_empty() { "nothing".to_owned() } else { change.expected.join(", ") };
        let _ = writeln!(out, "  {}", text::cut(&text::one_line(&change.query), 96));
        let _ = writeln!(
            out,
            "    {}",
            paint(
                style::DIM,
                format_args!(
                    "needs {}: {} → {}",
                    text::one_line(&expected),
                    outcome(change, &change.old),
                    outcome(change, &change.new)
                )
            )
        );
    }
    if changes.len() > most {
        let more = text::thousands(changes.len() - most);
        let _ = writeln!(out, "  {}", paint(style::DIM, format_args!("and {more} more; -v shows all")));
    }
}

/// `named; first pdf 0.32`
fn outcome(change: &CaseChange, outcome: &CaseOutcome) -> String {
    let wrong = if change.expected.is_empty() { "wrongly " } else { "" };
    let shown = match outcome.grade {
        Grade::Body => format!("{wrong}shown"),
        Grade::Name => format!("{wrong}named"),
        Grade::Nothing => format!("not {wrong}shown"),
    };
    let first = match &outcome.first {
        Some(first) => format!("{shown}, first {} {:.2}", text::one_line(first), outcome.certainty),
        None => shown,
    };
    match by_model(&change.expected, outcome) {
        Some(by_model) => format!("{first}, {by_model}"),
        None => first,
    }
}

/// Returns what the model made of a message, if both evaluations have one.
pub(super) fn by_model(expected: &[String], outcome: &CaseOutcome) -> Option<&'static str> {
    let model = outcome.model?;
    Some(match (expected.is_empty(), model.reached, model.wrongly_loaded) {
        (true, _, false) => "nothing wrong loaded",
        (true, _, true) => "wrongly loaded",
        (false, true, false) => "reached",
        (false, false, false) => "not reached",
        (false, true, true) => "reached, a wrong one loaded, too",
        (false, false, true) => "not reached, a wrong one loaded",
    })
}
