//! Advice about a finding: the end of its line.

use skillcue_usage::{ConfusedPair, MIN_DEAD_DAYS, MIN_DEAD_MESSAGES, SkillUse, UsageReport};

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
    capped(&mut lines, "dead", &findings.dead, |name| dead(name, report.messages, listings));
    lines.extend(untried(report));
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
    let what = format!("offered {} for {cost}, never loaded or used", text::count(times as u64, "time"));
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

/// Returns the line about one skill with which nothing is the matter.
pub(super) fn fine(name: &str, report: &UsageReport) -> Option<FindingLine> {
    let skill = report.skills.iter().find(|skill| skill.name == name)?;
    let skill_name = text::one_line(name);
    let (named, bodies) = (text::count(skill.named as u64, "time"), text::count(skill.bodies as u64, "time"));
    let what = format!("its name was offered {named}, its body shown {bodies}; nothing is the matter");
    let advice = format!("`skillcue why \"MESSAGE\" {skill_name}` says why a message shows it or not");
    Some(FindingLine { kind: "fine", skill: skill_name, what, advice })
}

/// Returns the line about skills that had no fair chance yet.
fn untried(report: &UsageReport) -> Option<FindingLine> {
    let (skill, counted) = match report.findings.untried.as_slice() {
        [] => return None,
        [one] => (text::one_line(one), "not shown yet".to_owned()),
        all => (String::new(), format!("{} were not shown yet", text::count(all.len() as u64, "skill"))),
    };
    let what = format!("{counted}, in {}", text::count(report.messages, "message"));
    let advice = format!(
        "nothing to do: a skill counts as dead after {MIN_DEAD_DAYS} days and {MIN_DEAD_MESSAGES} messages without being shown"
    );
    Some(FindingLine { kind: "untried", skill, what, advice })
}

fn dead(name: &str, messages: u64, listings: &[(String, String, u64)]) -> [String; 3] {
    let sessions: u64 = listings.iter().filter(|(skill, ..)| skill == name).map(|(.., sessions)| sessions).sum();
    let mut what = format!("never shown in {}", text::count(messages, "message"));
    if sessions > 0 {
        what = format!("{what}, and listed in {} of other agents", text::count(sessions, "session"));
    }
    let name = text::one_line(name);
    let advice =
        format!("try a message that needs it: `skillcue why \"MESSAGE\" {name}`; or `skillcue disable {name}`");
    [name, what, advice]
}
