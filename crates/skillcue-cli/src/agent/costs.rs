//! The costs of a conversation, for people: a table, and a bar a turn.

use std::fmt::Write as _;
use std::path::Path;

use skillcue_agent::{CostSum, RequestTokens, SessionSum, Summary, read_trace};

use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::text::{self, thousands};

/// The costs of a turn, or of all of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct CostRow {
    /// The turn's number, or a word.
    pub(crate) label: String,
    pub(crate) requests: u64,
    pub(crate) parts: RequestTokens,
    /// Tokens that repeat the request before.
    pub(crate) repeated: u64,
    /// Tokens as the provider counts them.
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cached: u64,
    pub(crate) latency_ms: u64,
}

impl CostRow {
    pub(crate) fn of(label: impl Into<String>, sum: &CostSum) -> CostRow {
        CostRow {
            label: label.into(),
            requests: sum.requests,
            parts: sum.tokens,
            repeated: sum.repeated,
            input: sum.input,
            output: sum.output,
            cached: sum.cached,
            latency_ms: sum.latency_ms,
        }
    }
}

/// Returns the costs of a conversation: table, bars, and what skills saved.
pub(crate) fn page(session: &SessionSum, columns: usize) -> String {
    let rows: Vec<CostRow> = session.turns.iter().map(|turn| CostRow::of(turn.turn.to_string(), &turn.sum)).collect();
    pages("TURN", &rows, &session.sum, columns)
}

/// Like [`page`], of several things, which `head` names.
pub(crate) fn pages(head: &str, rows: &[CostRow], total: &CostSum, columns: usize) -> String {
    let table = table(head, rows, Some(&CostRow::of("all", total)));
    format!("{table}\n{}\n{}\n", chart(rows, columns), saved(total))
}

const HEADS: [&str; 12] =
    ["REQUESTS", "SYSTEM", "STABLE", "SKILLS", "TOOLS", "HISTORY", "TOTAL", "REPEATED", "IN", "OUT", "CACHED", "TIME"];

/// Returns a table with a row for each, and their sum below if it is given and there are several.
pub(crate) fn table(head: &str, rows: &[CostRow], total: Option<&CostRow>) -> String {
    let mut cells: Vec<[String; 13]> = rows.iter().map(CostRow::cells).collect();
    if let Some(total) = total.filter(|_| rows.len() > 1) {
        cells.push(total.cells());
    }
    let heads: Vec<String> = std::iter::once(head).chain(HEADS).map(str::to_owned).collect();
    let mut widths: Vec<usize> = heads.iter().map(|head| text::width(head)).collect();
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(text::width(cell));
        }
    }
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
        padded.collect::<Vec<_>>().join("  ")
    };
    let mut out = String::new();
    let _ = writeln!(out, "{}", paint(style::DIM, line(&heads)));
    for (at, row) in cells.iter().enumerate() {
        let line = line(row);
        let _ = if at == rows.len() { writeln!(out, "{}", paint(style::NAME, line)) } else { writeln!(out, "{line}") };
    }
    out
}

impl CostRow {
    fn cells(&self) -> [String; 13] {
        let RequestTokens { system, skills_stable, skills_turn, tools, history } = self.parts;
        [
            self.label.clone(),
            thousands(self.requests),
            thousands(system),
            thousands(skills_stable),
            thousands(skills_turn),
            thousands(tools),
            thousands(history),
            thousands(self.parts.total()),
            thousands(self.repeated),
            thousands(self.input),
            thousands(self.output),
            thousands(self.cached),
            time(self.latency_ms),
        ]
    }
}

/// `850 ms`, `4.2 s`, `3:05 min`
fn time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{}:{:02} min", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// The parts in the order in which a bar shows them, each with its own character: not all people see colours.
const SIGNS: [(char, &str); 5] =
    [('░', "system"), ('▒', "skills, every turn"), ('█', "skills, this turn"), ('▚', "tools"), ('·', "history")];

/// Most bars that are shown; of more turns, the last ones.
const MAX_BARS: usize = 24;

/// Returns a bar for each turn, as long as its cost beside the most expensive one, split by part.
fn chart(rows: &[CostRow], columns: usize) -> String {
    let shown = &rows[rows.len().saturating_sub(MAX_BARS)..];
    let most = shown.iter().map(|row| row.parts.total()).max().unwrap_or(0);
    if most == 0 {
        return String::new();
    }
    let label = shown.iter().map(|row| text::width(&row.label)).max().unwrap_or(0);
    let number = thousands(most).len();
    let room = columns.saturating_sub(label + number + 4).clamp(10, 100);
    let mut out = String::new();
    if shown.len() < rows.len() {
        let left = text::count(rows.len() - shown.len(), "earlier turn");
        let _ = writeln!(out, "{}", paint(style::DIM, format_args!("({left} not drawn)")));
    }
    for row in shown {
        let total = thousands(row.parts.total());
        let _ = writeln!(out, "{:>label$}  {}  {total}", row.label, bar(&row.parts, most, room));
    }
    let legend: Vec<String> = SIGNS.iter().map(|(sign, name)| format!("{sign} {name}")).collect();
    let mut line = String::new();
    for entry in legend {
        if !line.is_empty() && text::width(&line) + 3 + text::width(&entry) > columns {
            let _ = writeln!(out, "{}", paint(style::DIM, &line));
            line.clear();
        }
        if !line.is_empty() {
            line.push_str("   ");
        }
        line.push_str(&entry);
    }
    let _ = writeln!(out, "{}", paint(style::DIM, &line));
    out
}

/// Returns one bar. The ends of the parts are rounded, not the parts: so a bar is as long as its total.
fn bar(parts: &RequestTokens, most: u64, room: usize) -> String {
    let each = [parts.system, parts.skills_stable, parts.skills_turn, parts.tools, parts.history];
    let mut out = String::new();
    let (mut sum, mut drawn) = (0_u128, 0);
    for (tokens, (sign, _)) in each.into_iter().zip(SIGNS) {
        sum += u128::from(tokens);
        let end = (sum * room as u128 + u128::from(most) / 2) / u128::from(most);
        let end = usize::try_from(end).unwrap_or(room).min(room);
        // What costs anything is seen, if there is room.
        let end = if tokens > 0 && end == drawn && drawn < room { drawn + 1 } else { end };
        out.extend(std::iter::repeat_n(sign, end.saturating_sub(drawn)));
        drawn = end.max(drawn);
    }
    out
}

/// Returns the cost of skills, with their part of the history and with the tools, beside the cost of every skill in
/// every request.
fn saved(sum: &CostSum) -> String {
    let took = format!("skills and their tools took {} tokens", thousands(sum.skills));
    if sum.eager == 0 {
        return took;
    }
    let eager = thousands(sum.eager);
    if sum.saved < 0 {
        let more = thousands(sum.saved.unsigned_abs());
        return format!("{took}: {more} more than the {eager} of every skill in every request");
    }
    let percent = u128::from(sum.saved.unsigned_abs()) * 100 / u128::from(sum.eager);
    let saved = thousands(sum.saved.unsigned_abs());
    format!("{took}: saved {saved} of {eager} tokens, {percent} %, against every skill in every request")
}

/// Returns the page of what one conversation has cost so far; none if nothing of it was traced.
pub(crate) fn of_file(file: &Path, columns: usize) -> Result<Option<String>, CliError> {
    let traced = match read_trace(file) {
        Ok(traced) => traced,
        Err(_) if !file.exists() => return Ok(None),
        Err(error) => return Err(CliError::of(&error)),
    };
    Ok(Summary::of(&traced.lines).sessions.first().map(|session| page(session, columns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(label: &str, parts: [u64; 5]) -> CostRow {
        let [system, skills_stable, skills_turn, tools, history] = parts;
        let parts = RequestTokens { system, skills_stable, skills_turn, tools, history };
        CostRow {
            label: label.into(),
            requests: 1,
            parts,
            repeated: 7,
            input: 1234,
            output: 5,
            cached: 0,
            latency_ms: 1_250,
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_table_adds_up() {
        let rows = [row("1", [40, 0, 5, 300, 10]), row("2", [40, 0, 900, 300, 25])];
        let total = CostRow { label: "all".into(), parts: rows[0].parts + rows[1].parts, ..rows[0].clone() };
        let table = plain(&table("TURN", &rows, Some(&total)));
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[0].starts_with("TURN  REQUESTS  SYSTEM"), "{table}");
        assert!(lines[2].contains("1,265") && lines[3].contains("1,620") && lines[3].contains("all"), "{table}");
        assert!(lines.iter().all(|line| text::width(line) == text::width(lines[0])), "{table}");
    }

    #[test]
    fn bars_fit_and_show_every_part() {
        let rows = [row("1", [40, 0, 5, 300, 10]), row("12", [40, 0, 900, 300, 25])];
        for columns in [40, 80, 200] {
            let chart = plain(&chart(&rows, columns));
            assert!(chart.lines().all(|line| text::width(line) <= columns), "{columns}: {chart}");
            let bars: Vec<&str> = chart.lines().take(2).collect();
            assert!(bars[1].contains('█') && bars[1].contains('░') && bars[1].contains('▚'), "{chart}");
            assert!(bars[0].contains('█'), "five tokens of skills are seen: {chart}");
            assert!(text::width(bars[0]) < text::width(bars[1]), "{chart}");
        }
    }

    #[test]
    fn numbers_from_a_file_may_be_any() {
        let huge = row("1", [u64::MAX, u64::MAX, 1, u64::MAX, 0]);
        assert!(plain(&chart(std::slice::from_ref(&huge), 80)).contains('░'));
        assert!(table("TURN", std::slice::from_ref(&huge), Some(&huge)).contains("18,446,744,073,709,551,615"));
        assert_eq!(chart(&[row("1", [0; 5])], 80), "");
        let many: Vec<CostRow> = (0..100).map(|n| row(&n.to_string(), [1, 0, 0, 0, 0])).collect();
        assert!(plain(&chart(&many, 80)).starts_with("(76 earlier turns not drawn)"));
    }

    #[test]
    fn savings_are_compared_with_eager_loading() {
        let mut sum = CostSum::default();
        sum.skills = 655;
        assert_eq!(saved(&sum), "skills and their tools took 655 tokens");
        (sum.eager, sum.saved) = (13_000, 12_345);
        assert_eq!(
            saved(&sum),
            "skills and their tools took 655 tokens: saved 12,345 of 13,000 tokens, 94 %, against every skill in every \
             request"
        );
        (sum.eager, sum.saved) = (600, -55);
        assert_eq!(
            saved(&sum),
            "skills and their tools took 655 tokens: 55 more than the 600 of every skill in every request"
        );
        assert_eq!((time(999), time(4_250), time(185_000)), ("999 ms".into(), "4.2 s".into(), "3:05 min".into()));
    }
}
