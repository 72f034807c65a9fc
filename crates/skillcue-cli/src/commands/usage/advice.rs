//! Advice about a finding: the end of its line.

use skillcue_usage::{ConfusedPair, SkillUse, UsageReport};

use crate::text;

/// The number of lines of one kind.
const MAX_LINES: usize = 8;

/// A finding: its kind, the skill, what is the matter, and what one can do.
pub(super) struct FindingLine {
    pub(super) kind: &'static str,
    pub(super) skill: String,
    pub(super) what: String,
    pub(super) advice: String,
}

/// Returns the lines of a report. Of each kind the first are shown, and one line counts the others.
pub(super) fn lines(report: &UsageReport, listings: &[(String, String, u64)]) -> Vec<FindingLine> {
    let findings = &report.findings;
    let mut lines = Vec::new();
    let of = |name: &String| report.skills.iter().find(|skill| skill.name == *name);
    capped(&mut lines, "confused", &findings.confused, confused);
    capped(&mut lines, "missed", &findings.missed, |name| missed(name, of(name)));
    capped(&mut lines, "stuck", &findings.stuck, |name| stuck(name, of(name)));
    capped(&mut lines, "silent", &findings.silent, |name| silent(name, of(name)));
    capped(&mut lines, "dead", &findings.dead, |name| dead(name, listings));
    lines
}

fn capped<T>(lines: &mut Vec<FindingLine>, kind: &'static str, all: &[T], make: impl Fn(&T) -> [String; 3]) {
    for one in all.iter().take(MAX_LINES) {
        let [skill, what, advice] = make(one);
        lines.push(FindingLine { kind, skill, what, advice });
    }
    if all.len() > MAX_LINES {
        let what = format!("and {} more", text::thousands((all.len() - MAX_LINES) as u64));
        let advice = "`skillcue usage --json` lists them".to_owned();
        lines.push(FindingLine { kind, skill: String::new(), what, advice });
    }
}

fn confused(pair: &ConfusedPair) -> [String; 3] {
    let (shown, used) = (text::one_line(&pair.shown), text::one_line(&pair.used));
    let what = format!("shown where {used} was used, {}", text::count(pair.times as u64, "time"));
    let advice = format!("say in its description what it is not for, or give {used} a trigger of its own");
    [shown, what, advice]
}

fn missed(name: &str, skill: Option<&SkillUse>) -> [String; 3] {
    let name = text::one_line(name);
    let times = skill.map_or(0, |skill| skill.accuracy.missed);
    let what = format!("searched for and loaded {}, though not shown", text::count(times as u64, "time"));
    let advice =
        format!("add triggers for what it was needed for; `skillcue why \"MESSAGE\" {name}` says what is lacking");
    [name, what, advice]
}

fn stuck(name: &str, skill: Option<&SkillUse>) -> [String; 3] {
    let name = text::one_line(name);
    let (times, tokens) = skill.map_or((0, 0), |skill| (skill.shown, skill.tokens));
    let cost = text::count(tokens, "token");
    let what = format!("shown {} for {cost}, never loaded or used", text::count(times as u64, "time"));
    let advice = format!("narrow its description and triggers, or `skillcue disable {name}`");
    [name, what, advice]
}

fn silent(name: &str, skill: Option<&SkillUse>) -> [String; 3] {
    let name = text::one_line(name);
    let (times, tokens) = skill.map_or((0, 0), |skill| (skill.bodies, skill.tokens));
    let cost = text::count(tokens, "token");
    let what = format!("its body was shown {} for {cost}, without a sign of use", text::count(times as u64, "time"));
    let advice = format!("fine if it is text alone; else narrow its triggers, or `skillcue disable {name}`");
    [name, what, advice]
}

fn dead(name: &str, listings: &[(String, String, u64)]) -> [String; 3] {
    let sessions: u64 = listings.iter().filter(|(skill, ..)| skill == name).map(|(.., sessions)| sessions).sum();
    let listed = format!("listed in {} of other agents, never loaded", text::count(sessions, "session"));
    let name = text::one_line(name);
    let what = if sessions > 0 { listed } else { "never shown".to_owned() };
    let advice =
        format!("try a message that needs it: `skillcue why \"MESSAGE\" {name}`; or `skillcue disable {name}`");
    [name, what, advice]
}
