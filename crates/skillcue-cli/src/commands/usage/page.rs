//! The report as people read it: tables, small charts, and the skills to look at.

use std::fmt::Write as _;

use skillcue_usage::{AccuracyGroup, SkillUse, UsageGrouping, UsageReport};

use super::advice;
use crate::terminal::{paint, style};
use crate::text::{self, thousands};

/// The number of skills in the table.
const MAX_SKILLS: usize = 20;
/// The columns of a bar.
const BAR: u8 = 20;
/// Columns of a chart, lowest first.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A row of a table: its words, and its numbers.
pub(super) type UsageRow = (Vec<String>, Vec<String>);

/// Returns the page.
pub(super) fn page(
    report: &UsageReport,
    by: UsageGrouping,
    skill: Option<&str>,
    listings: &[(String, String, u64)],
    columns: usize,
) -> String {
    let mut out = String::new();
    // Of a skill without events there are no figures.
    if skill.is_none() || report.events > 0 {
        out.push_str(&groups(report.by(by), by));
        out.push('\n');
    }
    if !report.skills.is_empty() {
        out.push_str(&skills(&report.skills));
    }
    let mut lines = advice::lines(report, listings);
    if lines.is_empty() {
        lines.extend(skill.and_then(|name| advice::fine(name, report)));
    }
    if !lines.is_empty() {
        let space = if out.is_empty() { "" } else { "\n" };
        let _ = writeln!(out, "{space}{}", paint(style::NAME, "To look at"));
    }
    for line in lines {
        let name = if line.skill.is_empty() { String::new() } else { format!("{}: ", line.skill) };
        let said = format!("{name}{}; {}", line.what, line.advice);
        for (at, part) in text::wrap(&said, columns.saturating_sub(12).max(40)).into_iter().enumerate() {
            let kind = if at == 0 { line.kind } else { "" };
            let _ = writeln!(out, "  {}{}  {part}", paint(style::WARNING, kind), " ".repeat(8 - kind.len()));
        }
    }
    out
}

/// Returns the accuracy of each group, with a bar.
fn groups(groups: &[AccuracyGroup], by: UsageGrouping) -> String {
    let head = match by {
        UsageGrouping::Week => "WEEK OF",
        UsageGrouping::Client => "CLIENT",
        UsageGrouping::Mode => "MODE",
        UsageGrouping::Version => "INDEX",
    };
    let rows: Vec<UsageRow> = groups
        .iter()
        .map(|group| {
            let key = if group.key.is_empty() { "–".to_owned() } else { text::one_line(&group.key) };
            let accuracy = &group.accuracy;
            let counts = [
                group.shown,
                group.loaded,
                accuracy.right,
                accuracy.wrong,
                accuracy.missed,
                accuracy.offered,
                accuracy.unclear,
            ];
            let mut numbers: Vec<String> = counts.iter().map(|count| thousands(*count as u64)).collect();
            numbers.push(thousands(group.tokens));
            numbers.push(percent(group.rate));
            numbers.push(bar(group.rate));
            (vec![key], numbers)
        })
        .collect();
    table(
        &[head],
        &["SHOWN", "LOADED", "RIGHT", "WRONG", "MISSED", "OFFERED", "UNCLEAR", "TOKENS", "ACCURACY", ""],
        &rows,
    )
}

/// Returns a row for each of the most used skills.
fn skills(skills: &[SkillUse]) -> String {
    let rows: Vec<UsageRow> = skills
        .iter()
        .take(MAX_SKILLS)
        .map(|skill| {
            let used = skill.read + skill.run;
            let counts = [skill.shown, skill.loaded, used, skill.accuracy.missed, skill.declined];
            let mut numbers: Vec<String> = counts.iter().map(|count| thousands(*count as u64)).collect();
            numbers.push(thousands(skill.tokens));
            numbers.push(percent(skill.rate));
            numbers.push(chart(&skill.weeks));
            (vec![text::one_line(&skill.name)], numbers)
        })
        .collect();
    let heads = ["SHOWN", "LOADED", "USED", "MISSED", "DECLINED", "TOKENS", "RIGHT", "BY WEEK"];
    let mut out = table(&["SKILL"], &heads, &rows);
    if skills.len() > MAX_SKILLS {
        let more = text::count((skills.len() - MAX_SKILLS) as u64, "skill");
        let _ = writeln!(out, "{}", paint(style::DIM, format_args!("and {more} more: `skillcue usage --json`")));
    }
    out
}

/// Returns a table: columns of words to the left, of numbers to the right, each as wide as it must be.
pub(super) fn table(words: &[&str], numbers: &[&str], rows: &[UsageRow]) -> String {
    let width = |head: &str, cells: &dyn Fn(&UsageRow) -> usize| {
        rows.iter().map(cells).max().unwrap_or(0).max(text::width(head))
    };
    let word_widths: Vec<usize> = words
        .iter()
        .enumerate()
        .map(|(at, head)| width(head, &|row| row.0.get(at).map_or(0, |cell| text::width(cell))))
        .collect();
    let number_widths: Vec<usize> = numbers
        .iter()
        .enumerate()
        .map(|(at, head)| width(head, &|row| row.1.get(at).map_or(0, |cell| text::width(cell))))
        .collect();
    let widths = (&word_widths[..], &number_widths[..]);
    let heads = |heads: &[&str]| heads.iter().map(|&head| head.to_owned()).collect::<Vec<_>>();
    let mut out = format!("{}\n", paint(style::DIM, line(&heads(words), &heads(numbers), widths)));
    for (left, right) in rows {
        let _ = writeln!(out, "{}", line(left, right, widths));
    }
    out
}

/// Returns one line of a table.
fn line(words: &[String], numbers: &[String], (word_widths, number_widths): (&[usize], &[usize])) -> String {
    let mut line = String::new();
    for (cell, width) in words.iter().zip(word_widths) {
        let _ = write!(line, "{cell}{}  ", " ".repeat(width.saturating_sub(text::width(cell))));
    }
    for (at, (cell, width)) in numbers.iter().zip(number_widths).enumerate() {
        let pad = " ".repeat(width.saturating_sub(text::width(cell)));
        // A chart, which is the last, begins where its column does.
        let is_chart = at + 1 == numbers.len() && !cell.starts_with(|c: char| c.is_ascii_digit());
        let _ = if is_chart { write!(line, "{cell}") } else { write!(line, "{pad}{cell}  ") };
    }
    line.trim_end().to_owned()
}

fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| "–".to_owned(), |rate| format!("{:.0} %", rate * 100.0))
}

/// Returns a bar for a share.
fn bar(rate: Option<f64>) -> String {
    let Some(rate) = rate else { return String::new() };
    let filled = (0..BAR).filter(|step| (f64::from(*step) + 0.5) / f64::from(BAR) <= rate).count();
    let rest = usize::from(BAR).saturating_sub(filled);
    format!("{}{}", "█".repeat(filled), "░".repeat(rest))
}

/// Returns a column for each number, as high as it is beside the highest.
fn chart(numbers: &[usize]) -> String {
    let most = numbers.iter().copied().max().unwrap_or(0).max(1);
    let column = |number: &usize| match number {
        0 => ' ',
        number => STEPS[(number * STEPS.len()).div_ceil(most).saturating_sub(1).min(STEPS.len() - 1)],
    };
    let start = numbers.len().saturating_sub(26);
    numbers[start..].iter().map(column).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_are_as_high_as_their_numbers() {
        assert_eq!(chart(&[0, 1, 4, 8]), " ▁▄█");
        assert_eq!(chart(&[]), "");
        assert_eq!(bar(Some(0.5)), format!("{}{}", "█".repeat(10), "░".repeat(10)));
        assert_eq!((bar(Some(1.0)).chars().count(), bar(None)), (20, String::new()));
    }
}
