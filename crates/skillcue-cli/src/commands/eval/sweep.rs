//! The curve of a sweep over the eagerness, as a chart.

use std::fmt::Write as _;

use skillcue::eval::{Evaluation, SweepRow};

use super::summary;
use crate::terminal::{paint, style};

/// The number of columns of a whole bar.
const BAR: usize = 20;

pub(super) fn chart(evaluation: &Evaluation) -> String {
    let mut out = summary::heading(evaluation);
    let legend = "█ shown, ▒ named: on the left the right skill, on the right a wrong one; tokens a message";
    let _ = writeln!(out, "{}\n", paint(style::DIM, legend));
    let head = format!("eagerness  {:<BAR$}  shown  named  {:<BAR$}  shown  named  tokens", "right", "wrong");
    let _ = writeln!(out, "{}", paint(style::DIM, head));
    for row in &evaluation.sweep {
        let SweepRow { eagerness, shown, named, wrongly_shown, wrongly_named, tokens, .. } = *row;
        let cell = |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{:.1}", share * 100.0));
        let _ = writeln!(
            out,
            "{}  {}  {:>5}  {:>5}  {}  {:>5}  {:>5}  {:>6}",
            paint(style::NAME, format_args!("{eagerness:>9.1}")),
            paint(style::GOOD, bar(shown, named)),
            cell(shown),
            cell(named),
            paint(style::BAD, bar(wrongly_shown, wrongly_named)),
            cell(wrongly_shown),
            cell(wrongly_named),
            tokens.all.map_or("–".to_owned(), |cost| format!("{:.0}", cost.mean)),
        );
    }
    out
}

/// Returns a bar for two shares, of which the second includes the first.
fn bar(shown: Option<f64>, named: Option<f64>) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a few columns"
    )]
    let columns = |share: Option<f64>| (share.unwrap_or(0.0) * BAR as f64).round() as usize;
    let (shown, named) = (columns(shown).min(BAR), columns(named).min(BAR));
    let bar = "█".repeat(shown) + &"▒".repeat(named.saturating_sub(shown));
    format!("{bar:·<BAR$}")
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars() {
        assert_eq!(bar(Some(0.5), Some(0.75)), "██████████▒▒▒▒▒·····");
        assert_eq!(bar(None, None), "····················");
        assert_eq!(bar(Some(1.0), Some(1.0)), "████████████████████");
    }
}
