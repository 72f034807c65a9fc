//! The figures with a judge beside those without, as people read them.

use std::fmt::Write as _;

use skillcue::eval::{Evaluation, Figures, JudgeFigures};

use crate::terminal::{paint, style};
use crate::text;

/// Returns a table with a line for the judge and one for the same messages without it.
pub(super) fn rows(evaluation: &Evaluation, without: &Figures, judge: &JudgeFigures) -> String {
    let mut out = String::new();
    let head = format!(
        "{:<14}{:>6}{:>7}{:>7}{:>7}{:>7}{:>15}{:>15}",
        "", "at 1", "at 3", "at 5", "shown", "named", "wrongly shown", "wrongly named"
    );
    let _ = writeln!(out, "{}", paint(style::DIM, head));
    for (name, figures) in [("without judge", without), ("judge", &evaluation.figures)] {
        let cell = |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{:.1}", share * 100.0));
        let recall = |k| cell(figures.recall_at.get(&k).copied());
        let _ = writeln!(
            out,
            "{}{:>6}{:>7}{:>7}{:>7}{:>7}{:>15}{:>15}",
            paint(style::NAME, format_args!("{name:<14}")),
            recall(1),
            recall(3),
            recall(5),
            cell(figures.shown),
            cell(figures.named),
            cell(figures.wrongly_shown),
            cell(figures.wrongly_named)
        );
    }
    let all = evaluation.figures.positives + evaluation.figures.negatives;
    let mut line = format!("{} was asked about {} of {}", judge.name, judge.asked, text::count(all, "message"));
    if judge.failed > 0 {
        let why = judge.failure.as_deref().map(text::one_line).unwrap_or_default();
        let _ = write!(line, "; {} failed and count as without it, the first because {why}", judge.failed);
    }
    let _ = writeln!(out, "{}\n", paint(style::DIM, line));
    out
}
