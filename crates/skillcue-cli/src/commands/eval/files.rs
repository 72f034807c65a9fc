//! Files for continuous integration: a JUnit report, and a summary in Markdown.

use std::collections::HashSet;
use std::fmt::Write as _;

use skillcue::eval::{CaseChange, EvalRun, EvalRunCase, ModelOutcome, TokenCost};
use skillcue::select::Grade;
use skillcue_base::{escape_hidden, markup, rfc3339_seconds};

use super::history::KeptRun;
use super::{comparison, percent};
use crate::text;

/// Most messages that a list of the summary names.
const MAX_LISTED: usize = 20;

/// Returns whether a message got what it needs: a right skill shown or named; where none is needed, no wrong body. If it was
/// sent to a model: a right skill reached, and no wrong one loaded.
fn is_passed(run: &EvalRun, case: &EvalRunCase) -> bool {
    let is_shown_wrongly = case.relevant.is_empty() && case.grade == Grade::Body;
    match &run.model {
        Some(_) => case.model_outcome().is_some_and(ModelOutcome::is_right) && !is_shown_wrongly,
        None if case.relevant.is_empty() => !is_shown_wrongly,
        None => case.grade != Grade::Nothing,
    }
}

/// Returns a message of one line that says what is wrong.
fn failure(run: &EvalRun, case: &EvalRunCase) -> String {
    let first = case.first.as_ref().map_or("nothing".to_owned(), |first| format!("{first} {:.2}", case.certainty));
    let what = if case.not_relevant.is_empty() { "no skill".to_owned() } else { case.not_relevant.join(", ") };
    let must = if case.not_relevant.is_empty() { "needs" } else { "must not get" };
    if run.model.is_some() {
        let loaded = if case.loaded.is_empty() { "nothing".to_owned() } else { case.loaded.join(", ") };
        match (case.model_outcome(), case.relevant.is_empty()) {
            (None, _) => return "the model gave no answer".to_owned(),
            (Some(outcome), true) if outcome.wrongly_loaded => {
                return format!("{must} {what}, and the model loaded {loaded}");
            }
            (Some(outcome), false) => {
                let reached = if outcome.reached { "reached" } else { "not reached" };
                return format!("needs {}: {reached}; the model loaded {loaded}", case.relevant.join(" or "));
            }
            _ => {}
        }
    }
    if case.relevant.is_empty() {
        return format!("{must} {what}, and a wrong body is shown; first: {first}");
    }
    let rank = case.rank.map_or("not found".to_owned(), |rank| format!("at rank {rank}"));
    format!("needs {}, which is neither shown nor named ({rank}); first: {first}", case.relevant.join(" or "))
}

/// Returns the run as JUnit's XML: a test case a message.
pub(super) fn junit(kept: &KeptRun) -> String {
    let run = &kept.run;
    let attribute = |text: &str| markup::attribute(&xml(text)).into_owned();
    let failures = run.cases.iter().filter(|case| !is_passed(run, case)).count();
    let set = attribute(&run.set);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites name=\"skillcue eval\" tests=\"{0}\" failures=\"{failures}\">\n  <testsuite name=\"{set}\" tests=\"{0}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\" timestamp=\"{1}\">",
        run.cases.len(),
        rfc3339_seconds(run.time).trim_end_matches('Z'),
    );
    let mut names = HashSet::new();
    for case in &run.cases {
        let class = case.relevant.first().map_or("(none)", String::as_str);
        let _ = write!(
            out,
            "    <testcase classname=\"{}\" name=\"{}\" time=\"0\"",
            attribute(class),
            attribute(&distinct(&case.query, &mut names))
        );
        if is_passed(run, case) {
            out.push_str("/>\n");
        } else {
            let _ =
                writeln!(out, ">\n      <failure message=\"{}\"/>\n    </testcase>", attribute(&failure(run, case)));
        }
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// Returns the name of a message's test case, with a number if the beginning of an earlier message is the same: programs that
/// read reports know a test case by its name.
fn distinct(query: &str, names: &mut HashSet<String>) -> String {
    let first = text::one_line(query);
    let mut name = first.clone();
    let mut number = 1;
    while !names.insert(name.clone()) {
        number += 1;
        name = format!("{first} ({number})");
    }
    name
}

/// Returns a text without the characters that XML cannot have.
fn xml(text: &str) -> String {
    escape_hidden(text, &['\n', '\t']).chars().filter(|c| !matches!(c, '\u{fffe}' | '\u{ffff}')).collect()
}

/// Returns the run as Markdown: what got worse first, then the figures.
pub(super) fn summary(kept: &KeptRun, failed: &[String]) -> String {
    let run = &kept.run;
    let mut out = format!("## Skills on {}\n\n", code(&run.set));
    for limit in failed {
        let _ = writeln!(out, "**Failed:** {}\n", plain(limit));
    }
    let compared = kept.since.as_ref().map(|since| &since.comparison);
    if let (Some(since), Some(compared)) = (&kept.since, compared) {
        let (worse, better) = (text::count(compared.worse.len(), "message"), compared.better.len());
        let _ = writeln!(out, "Since {}: **{worse} worse**, {better} better.\n", plain(&since.name.words()));
        changes(&mut out, "Worse", &compared.worse);
        changes(&mut out, "Better", &compared.better);
    }
    let before = |figure: &str| compared?.figures.iter().find(|change| change.figure == figure)?.old;
    out.push_str("| figure | before | now |\n| --- | ---: | ---: |\n");
    let figures = &run.figures;
    let recall = |k| figures.recall_at.get(&k).copied();
    let model = run.model_shares();
    let shares = [
        ("recall at 1", "recall_at.1", recall(1)),
        ("recall at 3", "recall_at.3", recall(3)),
        ("recall at 5", "recall_at.5", recall(5)),
        ("right body shown", "shown", figures.shown),
        ("right skill shown or named", "named", figures.named),
        ("wrong body where another is needed", "wrong_bodies", figures.wrong_bodies),
        ("body where none is needed", "wrongly_shown", figures.wrongly_shown),
        ("false triggers", "false_triggers", figures.false_triggers),
        ("reached by the model", "model.reached", model.and_then(|model| model.reached)),
        ("wrong skill loaded by it", "model.wrongly_loaded", model.and_then(|model| model.wrongly_loaded)),
        ("loaded where none is needed", "model.loaded_for_nothing", model.and_then(|model| model.loaded_for_nothing)),
    ];
    let cell = |share: Option<f64>| share.map_or("–".to_owned(), percent);
    for (name, path, now) in shares.into_iter().filter(|(_, _, now)| now.is_some()) {
        let _ = writeln!(out, "| {name} | {} | {} |", cell(before(path)), cell(now));
    }
    if let Some(TokenCost { mean, .. }) = figures.tokens.all {
        let old = before("tokens.all.mean").map_or("–".to_owned(), |old| format!("{old:.1}"));
        let _ = writeln!(out, "| tokens a message | {old} | {mean:.1} |");
    }
    let mut confusions = run.confusions();
    // Those for which none was selected are in the figures.
    confusions.retain(|confusion| confusion.got.is_some());
    if !confusions.is_empty() {
        out.push_str("\n<details><summary>Skills taken for others</summary>\n\n| needed | selected | messages |\n| --- | --- | ---: |\n");
        let name = |name: &Option<String>| name.as_deref().map_or("nothing".to_owned(), code);
        for confusion in confusions.iter().take(MAX_LISTED) {
            let _ = writeln!(out, "| {} | {} | {} |", name(&confusion.expected), name(&confusion.got), confusion.count);
        }
        out.push_str("\n</details>\n");
    }
    let messages = text::count(figures.positives + figures.negatives, "message");
    let _ = writeln!(out, "\n{messages} over {}.", text::count(run.skills, "skill"));
    out
}

fn changes(out: &mut String, title: &str, changes: &[CaseChange]) {
    if changes.is_empty() {
        return;
    }
    let _ = writeln!(out, "| {title} | needs | before | now |\n| --- | --- | --- | --- |");
    for change in changes.iter().take(MAX_LISTED) {
        let needs = if change.expected.is_empty() { "nothing".to_owned() } else { code(&change.expected.join(", ")) };
        let [old, new] = [&change.old, &change.new].map(|outcome| {
            let shown = match outcome.grade {
                Grade::Body => "shown",
                Grade::Name => "named",
                Grade::Nothing => "not shown",
            };
            let first = outcome.first.as_deref().map_or(String::new(), |first| format!(", first {}", code(first)));
            let by_model = comparison::by_model(&change.expected, outcome);
            format!("{shown}{first}{}", by_model.map_or(String::new(), |by_model| format!(", {by_model}")))
        });
        let _ = writeln!(out, "| {} | {needs} | {old} | {new} |", code(&text::cut(&change.query, 96)));
    }
    if let Some(more) = changes.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        let _ = writeln!(out, "| and {more} more | | | |");
    }
    out.push('\n');
}

/// Returns a text as code in a cell of a table: nothing in it is Markdown, a mention or HTML.
fn code(written: &str) -> String {
    let line = text::one_line(written).replace('|', "\\|");
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{line}{pad}{fence}")
}

/// Returns a text of ours with the few characters escaped that Markdown would take.
fn plain(written: &str) -> String {
    let mut out = String::with_capacity(written.len());
    for c in text::one_line(written).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '@' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_cases_of_messages_that_begin_alike_have_distinct_names() {
        let mut names = HashSet::new();
        // A kept run has the first 96 characters of a message.
        let of = ["a long beginning", "a long  beginning", "a", "a (2)", "a"].map(|it| distinct(it, &mut names));
        assert_eq!(of[..2], ["a long beginning", "a long beginning (2)"]);
        assert_eq!(of[2..], ["a", "a (2)", "a (3)"]);
    }

    #[test]
    fn foreign_text_stays_text() {
        assert_eq!(code("a | b"), "`a \\| b`");
        assert_eq!(code("`x` <b>"), "`` `x` <b> ``");
        assert_eq!(plain("@all <b> a_b"), "\\@all \\<b\\> a\\_b");
        assert_eq!(xml("a\u{0}b\u{ffff}"), "a\\u{0}b");
    }
}
