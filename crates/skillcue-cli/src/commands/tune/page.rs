//! The result of `tune` as people read it: the diff, the figures before and after, and what it costs others.

use std::fmt::Write as _;

use skillcue::tune::TuneOrigin;

use super::TuneJson;
use crate::context::Context;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::text;

/// Most skills that are listed as better or worse.
const MAX_LISTED: usize = 8;

/// Returns the lines that differ, with `-` and `+`.
pub(super) fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let behind = old[same..].iter().rev().zip(new[same..].iter().rev()).take_while(|(old, new)| old == new).count();
    let mut out = String::new();
    for line in &old[same..old.len() - behind] {
        let _ = writeln!(out, "-{line}");
    }
    for line in &new[same..new.len() - behind] {
        let _ = writeln!(out, "+{line}");
    }
    out
}

pub(super) fn page(found: &TuneJson, context: &Context) -> Printout {
    let mut out = String::new();
    let counts = &found.messages;
    let _ = writeln!(
        out,
        "{}: {} tried on {} of its messages, judged on {} others",
        paint(style::NAME, text::one_line(&found.skill)),
        text::count(found.candidates, "candidate"),
        counts.own_train,
        counts.own_unseen
    );
    if found.choice.steps.is_empty() {
        out.push_str("\nno candidate helps\n");
        let help = "more labelled messages, or a model (--model NAME), may find better words";
        return Printout::from(out).dim(help);
    }
    out.push('\n');
    for line in found.diff.lines() {
        let color = if line.starts_with('-') { style::BAD } else { style::GOOD };
        let _ = writeln!(out, "{}", paint(color, text::visible(line)));
    }
    let _ = writeln!(out, "\n{}", paint(style::DIM, "added because of, and its gain in messages while choosing"));
    for step in &found.choice.steps {
        let origin = match step.candidate.origin {
            TuneOrigin::Messages => "messages",
            TuneOrigin::Headings => "headings",
            TuneOrigin::Code => "code",
            TuneOrigin::Rival => "rival",
            TuneOrigin::Model => "model",
        };
        let keywords = step.candidate.keywords.join(", ");
        let what = step.candidate.sentence.clone().unwrap_or_else(|| format!("keyword {keywords}"));
        let _ = writeln!(out, "  {origin:<9}{:>+6.1}  {}", step.gain, text::cut(&text::one_line(&what), 90));
    }
    let head = format!("{:<38}{:>10}{:>10}", "on the messages that were not used", "before", "after");
    let _ = writeln!(out, "\n{}", paint(style::DIM, head));
    let cell = |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{:.1} %", share * 100.0));
    let rows = [
        ("its recall at 1", found.before.own_recall_at_1, found.after.own_recall_at_1),
        ("its recall at 3", found.before.own_recall_at_3, found.after.own_recall_at_3),
        ("recall at 1 of all", found.before.recall_at_1, found.after.recall_at_1),
        ("recall at 3 of all", found.before.recall_at_3, found.after.recall_at_3),
        ("wrongly shown", found.before.wrongly_shown, found.after.wrongly_shown),
    ];
    for (name, before, after) in rows.into_iter().filter(|(_, before, after)| before.is_some() || after.is_some()) {
        let _ =
            writeln!(out, "{}{:>10}{:>10}", paint(style::NAME, format_args!("{name:<38}")), cell(before), cell(after));
    }
    if let Some(apart) = &found.by_model {
        let rows = [
            ("its recall at 3, your messages", apart.others_before, apart.others_after),
            ("its recall at 3, the model's messages", apart.before, apart.after),
        ];
        for (name, before, after) in rows {
            let name = paint(style::NAME, format_args!("{name:<38}"));
            let _ = writeln!(out, "{name}{:>10}{:>10}", cell(before), cell(after));
        }
        let judging = text::count(found.messages.of_model, "message");
        let note = format!(
            "{judging} of those that judge were written by the model that proposed the words: label some of your own"
        );
        let _ = writeln!(out, "{}", paint(style::WARNING, note));
    }
    let others: Vec<_> = found.changed.iter().filter(|change| change.skill != found.skill).collect();
    if !others.is_empty() {
        let _ = writeln!(out, "\n{}", paint(style::DIM, "other skills, in messages"));
    }
    for change in others.iter().take(MAX_LISTED) {
        let color = if change.change < 0.0 { style::BAD } else { style::GOOD };
        let number = paint(color, format_args!("{:>+6.1}", change.change));
        let _ = writeln!(out, "  {number}  {}", text::one_line(&change.skill));
    }
    if others.len() > MAX_LISTED {
        let more = format!("and {} more", others.len() - MAX_LISTED);
        let _ = writeln!(out, "  {}", paint(style::DIM, more));
    }
    let _ = writeln!(
        out,
        "\nin sum {:+.1}: {:+.1} for its own messages, {:+.1} for those of others",
        tidy(found.sum),
        tidy(found.own),
        tidy(found.others)
    );
    let path = context.short_path(&found.path);
    let remark = match (found.proposed, found.written) {
        (true, true) => format!("written to {path}"),
        (true, false) => format!("{} changes {path} so", paint(style::COMMAND, "--write")),
        (false, _) if found.by_keywords.is_some_and(|change| change <= -1e-6) => {
            let change = found.by_keywords.unwrap_or_default();
            format!("not proposed: in the mode `keyword` its keywords cost {change:+.1} in sum; nothing was written")
        }
        (false, _) if found.sum > 1e-6 && !found.losing.is_empty() => {
            let names = found.losing.iter().take(MAX_LISTED).map(|name| text::one_line(name)).collect::<Vec<_>>();
            format!("not proposed: other skills would lose by it: {}; nothing was written", names.join(", "))
        }
        (false, _) => {
            "not proposed: on the messages that were not used it does not help; nothing was written".to_owned()
        }
    };
    Printout::from(out).remark(remark)
}

/// Returns a number without a sign if it is shown as zero.
fn tidy(number: f32) -> f32 {
    if number.abs() < 0.05 { 0.0 } else { number }
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn a_diff_has_only_the_lines_that_differ() {
        assert_eq!(diff("a\nb\nc\n", "a\nx\ny\nc\n"), "-b\n+x\n+y\n");
        assert_eq!(diff("a\n", "a\n"), "");
        assert_eq!(diff("a\na\n", "a\na\na\n"), "+a\n");
    }
}
