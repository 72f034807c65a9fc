//! An evaluation as people read it.

use std::fmt::Write as _;

use skillcue::eval::{Evaluation, Figures, TokenCost};

use super::percent;
use crate::terminal::{paint, style};
use crate::text;

pub(super) fn show(evaluation: &Evaluation) -> String {
    let mut out = heading(evaluation);
    let figures = &evaluation.figures;
    let mut line = |name: &str, value: String, note: &str| {
        let note = if note.is_empty() { String::new() } else { format!("  {}", paint(style::DIM, note)) };
        let _ = writeln!(out, "{}{value:>9}{note}", paint(style::NAME, format_args!("{name:<18}")));
    };
    for (k, recall) in &figures.recall_at {
        line(&format!("recall at {k}"), percent(*recall), "");
    }
    let shares = [
        ("shown", figures.shown, "the right body"),
        ("named", figures.named, "the right body or name"),
        ("wrong bodies", figures.wrong_bodies, "where another skill is needed"),
        ("wrongly shown", figures.wrongly_shown, "a body, where none is needed or that one must not be"),
        ("wrongly named", figures.wrongly_named, "a body or name, likewise"),
        ("precision", figures.precision, ""),
        ("false triggers", figures.false_triggers, ""),
    ];
    for (name, share, note) in shares {
        if let Some(share) = share {
            line(name, percent(share), note);
        }
    }
    let costs = [
        ("tokens", figures.tokens.all, "a message"),
        ("", figures.tokens.needed, "a message that needs a skill"),
        ("", figures.tokens.must_not, "a message that must not get some skill"),
        ("", figures.tokens.none, "a message that needs none"),
    ];
    for (name, cost, note) in costs {
        if let Some(TokenCost { mean, p95 }) = cost {
            line(name, format!("{mean:.1}"), &format!("{note}; 95 of 100 cost {} or less", text::thousands(p95)));
        }
    }
    if let Some(error) = figures.calibration_error {
        line("calibration error", format!("{error:.3}"), "");
    }
    languages(&mut out, evaluation);
    if !evaluation.calibration.is_empty() {
        let _ = writeln!(out, "\n{}", paint(style::DIM, "how sure it was, how often the first hit was right"));
    }
    for bucket in &evaluation.calibration {
        #[expect(clippy::cast_precision_loss, reason = "a percentage of some messages")]
        let right = bucket.right as f64 / bucket.hits as f64;
        let _ =
            writeln!(out, "  {:.1}–{:.1}  {:>7}  of {}", bucket.from, bucket.from + 0.1, percent(right), bucket.hits);
    }
    mistakes(&mut out, evaluation);
    out
}

/// `6 messages over 4 skills, eagerness 0.5: 3 need a skill, 3 must not select one`
pub(super) fn heading(evaluation: &Evaluation) -> String {
    let Figures { positives, negatives, .. } = evaluation.figures;
    format!(
        "{} over {}, eagerness {}: {} {} a skill, {} must not select one\n",
        text::count(positives + negatives, "message"),
        text::count(evaluation.skills, "skill"),
        evaluation.eagerness,
        text::thousands(positives),
        if positives == 1 { "needs" } else { "need" },
        text::thousands(negatives)
    )
}

/// Writes a table with a line for each language, if there are several.
fn languages(out: &mut String, evaluation: &Evaluation) {
    if evaluation.languages.len() < 2 {
        return;
    }
    let head = "language  messages   at 1   at 3  shown  named  wrongly shown  wrongly named  tokens  calibration";
    let _ = writeln!(out, "\n{}", paint(style::DIM, head));
    let mut languages: Vec<_> = evaluation.languages.iter().collect();
    languages.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.positives + figures.negatives));
    let cell = |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{:.1}", share * 100.0));
    for (language, figures) in languages {
        let recall = |k| cell(figures.recall_at.get(&k).copied());
        let _ = writeln!(
            out,
            "{}  {:>8}  {:>5}  {:>5}  {:>5}  {:>5}  {:>13}  {:>13}  {:>6}  {:>11}",
            paint(style::NAME, format_args!("{:<8}", text::cut(&text::one_line(language), 8))),
            text::thousands(figures.positives + figures.negatives),
            recall(1),
            recall(3),
            cell(figures.shown),
            cell(figures.named),
            cell(figures.wrongly_shown),
            cell(figures.wrongly_named),
            figures.tokens.all.map_or("–".to_owned(), |cost| format!("{:.0}", cost.mean)),
            figures.calibration_error.map_or("–".to_owned(), |error| format!("{error:.3}")),
        );
    }
}

/// Writes which skills were taken for which, and the worst cases.
fn mistakes(out: &mut String, evaluation: &Evaluation) {
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
}
