//! Explanations of matches as text: the words of a message that speak for each skill. For `why`, and for the chat.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use skillcue::disclose::DisclosedSkill;
use skillcue::select::{Eligibility, Intent, JudgeOutcome, ReasonKind, Thresholds};
use skillcue::{Decision, Disclosure, Explanation, Hit, Mode, Policy, Selection, Tier};

use crate::terminal::{paint, style};
use crate::text;
use crate::turn::{kind, percent};

/// Most hits that are shown.
const MAX_HITS: usize = 5;

/// Explains everything that matches a message of a conversation with these files.
#[cfg(feature = "agent")]
pub(crate) fn of_message(
    skills: &skillcue::Skillcue,
    message: &str,
    files: &skillcue::workdir::WorkFiles,
    mode: Mode,
    columns: usize,
) -> String {
    let request = || skillcue::Request::new(message).files(&files.named).nearby(&files.changed).mode(mode);
    of_selection(message, &skills.select(&request()), &skills.disclose(request()), mode, columns)
}

/// Explains everything that matched.
pub(crate) fn of_selection(
    message: &str,
    found: &Selection,
    disclosure: &Disclosure,
    mode: Mode,
    columns: usize,
) -> String {
    let mut out = String::new();
    let shown = &found.hits[..found.hits.len().min(MAX_HITS)];
    marked(&mut out, message, shown.iter(), columns);
    match found.intent {
        Intent::Registry => out.push_str("asks what there is: the list of skills answers it, whatever matches\n"),
        Intent::All => out.push_str("asks for all documentation, whatever matches\n"),
        Intent::None if found.hits.is_empty() => out.push_str("nothing matches\n"),
        Intent::None => {}
    }
    judgement(&mut out, found);
    for (rank, hit) in (1..).zip(shown) {
        let _ = writeln!(out, "{rank}. {}", headline(hit));
        reasons(&mut out, hit, columns);
        evidence(&mut out, hit, columns);
        decision(&mut out, hit, disclosure, mode);
    }
    if found.matched > shown.len() {
        let more = text::count(found.matched - shown.len(), "more skill");
        let _ = writeln!(out, "{}", paint(style::DIM, format_args!("and {more}")));
    }
    by_meaning(&mut out, found.model.as_deref());
    out
}

/// Writes which sentence model took part.
fn by_meaning(out: &mut String, model: Option<&str>) {
    if let Some(model) = model {
        let _ = writeln!(out, "{}", paint(style::DIM, format_args!("by meaning, too: sentence model {model}")));
    }
}

/// Explains one skill, matched or not.
pub(crate) fn of_skill(
    message: &str,
    explanation: &Explanation,
    disclosure: &Disclosure,
    mode: Mode,
    model: Option<&str>,
    columns: usize,
) -> String {
    let mut out = String::new();
    marked(&mut out, message, explanation.hit.iter(), columns);
    match explanation.eligibility {
        Eligibility::Refused => out.push_str("the organisation's policy closes it, and so it never matches\n"),
        Eligibility::Disabled => out.push_str("it is disabled, and so never matches\n"),
        Eligibility::Unavailable => out.push_str("a program that it requires is missing, and so it never matches\n"),
        Eligibility::BySigilOnly => {
            out.push_str("only people may load it: it matches where its name has a sigil\n");
        }
        _ => {}
    }
    if let Some(hit) = &explanation.hit {
        let rank = explanation.before.unwrap_or(0) + 1;
        let _ = writeln!(out, "{rank}. {}", headline(hit));
        reasons(&mut out, hit, columns);
        evidence(&mut out, hit, columns);
        decision(&mut out, hit, disclosure, mode);
    } else {
        let _ = writeln!(out, "{} does not match. What it would have taken:", paint(style::NAME, &explanation.name));
    }
    let against = [
        (&explanation.excluded, "its description says that it is not for"),
        (&explanation.refused, "the message says not to use"),
    ];
    for (words, why) in against.into_iter().filter(|(words, _)| !words.is_empty()) {
        let words: Vec<String> = words.iter().map(|word| format!("“{}”", text::one_line(word))).collect();
        let _ = writeln!(out, "   against   {why} {}", words.join(", "));
    }
    let mut seen = HashSet::new();
    // A keyword may be the name once more.
    let missed = explanation
        .triggers
        .iter()
        .filter(|trigger| trigger.matched.is_none() && seen.insert((trigger.kind, trigger.trigger.as_str())));
    for (at, trigger) in missed.enumerate() {
        if at == 0 && explanation.hit.is_some() {
            let _ = writeln!(out, "{}", paint(style::DIM, "what did not match"));
        }
        let note = trigger.note.as_deref().map(|note| format!("  {}", text::one_line(note))).unwrap_or_default();
        let line = format!("   {:<8}  {}", kind(trigger.kind), text::one_line(&trigger.trigger));
        let _ = writeln!(out, "{}{}", paint(style::DIM, line), note);
    }
    if explanation.hit.is_none() && explanation.triggers.len() <= 1 && explanation.refused.is_empty() {
        let line = match mode {
            Mode::Hybrid | Mode::Semantic => "It has no triggers, and its own words are not like those of the message.",
            Mode::Keyword => "It has no triggers: only its name matches, or `--mode hybrid`.",
        };
        let _ = writeln!(out, "{}", paint(style::DIM, line));
    }
    by_meaning(&mut out, model);
    out
}

/// Writes what the judge did, if there is one.
fn judgement(out: &mut String, found: &Selection) {
    let Some(judgement) = &found.judgement else { return };
    let did = match &judgement.outcome {
        JudgeOutcome::Chose { count } => format!("chose {count} of {}", judgement.candidates),
        JudgeOutcome::NotAsked { why } => format!("was not asked: {why}"),
        JudgeOutcome::Failed { why } => format!("failed, and the order is that without it: {}", text::one_line(why)),
    };
    let _ = writeln!(out, "the judge {} {did}", text::one_line(&judgement.judge));
}

/// Writes the kinds of evidence that the text relevance of a hit is the sum of, the greatest first.
fn evidence(out: &mut String, hit: &Hit, columns: usize) {
    if hit.evidence.is_empty() {
        return;
    }
    let mut parts = hit.evidence.clone();
    parts.sort_by(|a, b| b.score.abs().total_cmp(&a.score.abs()));
    let sum: f32 = parts.iter().map(|part| part.score).sum();
    let parts: Vec<String> = parts.iter().map(|part| format!("{} {:+.2}", part.kind, part.score)).collect();
    let mut line = format!("   evidence  {sum:.2}:");
    let mut length = line.len();
    for (at, part) in parts.iter().enumerate() {
        let comma = if at + 1 < parts.len() { "," } else { "" };
        if length + part.len() + 2 > columns.max(60) {
            line.push_str("\n            ");
            length = 12;
        }
        let _ = write!(line, " {part}{comma}");
        length += part.len() + 2;
    }
    let _ = writeln!(out, "{}", paint(style::DIM, line));
}

/// Writes what a turn shows of a hit's skill, and why.
fn decision(out: &mut String, hit: &Hit, disclosure: &Disclosure, mode: Mode) {
    let line = match disclosure.skills.iter().find(|skill| skill.name == hit.name) {
        Some(skill) => rule(skill, disclosure, mode),
        None => "not shown: too many skills rank higher, or the answer is about all of them".to_owned(),
    };
    let _ = writeln!(out, "   {}", paint(style::DIM, format_args!("→ {line}")));
}

/// Returns the rule that decided what is shown of a skill, with the numbers that it compared: its body, its name, or
/// neither.
pub(crate) fn rule(skill: &DisclosedSkill, disclosure: &Disclosure, mode: Mode) -> String {
    let Thresholds { body, name } = disclosure.thresholds;
    let certainty = format!("certainty {:.2}, bodies from {body:.2}", skill.certainty);
    let likelihood = format!("likelihood {:.2}, names from {name:.2}", skill.likelihood);
    let why = skill.why.as_deref().map(text::one_line).unwrap_or_default();
    match skill.decision {
        _ if skill.reasons.is_empty() && skill.score == 0.0 => "asked for with all others".to_owned(),
        Decision::Included | Decision::Shortened if disclosure.policy == Policy::Hint && skill.tokens.0 == 0 => {
            format!("{why}: {certainty}")
        }
        Decision::Included | Decision::Shortened if mode == Mode::Keyword => "body: every match by keywords".to_owned(),
        Decision::Included | Decision::Shortened if skill.certainty < body => "body: called by its name".to_owned(),
        Decision::Included | Decision::Shortened => format!("body: {certainty}"),
        Decision::Named => format!("named: {likelihood}; {certainty}"),
        Decision::Omitted if mode == Mode::Keyword => format!("not shown: {why}"),
        Decision::Omitted => {
            let what = if disclosure.tier == Tier::Breadcrumb { "breadcrumb" } else { "not shown" };
            format!("{what}: {why}; {certainty}; {likelihood}")
        }
    }
}

fn headline(hit: &Hit) -> String {
    let (sure, fits) = (percent(hit.certainty), percent(hit.confidence));
    let also = if sure == fits { String::new() } else { format!("fits {fits} %  ") };
    format!(
        "{}  {}  {}",
        paint(style::NAME, &hit.name),
        paint(style::GOOD, format_args!("{sure} % sure")),
        paint(style::DIM, format_args!("{also}score {:.2}", hit.score))
    )
}

fn reasons(out: &mut String, hit: &Hit, columns: usize) {
    let width =
        hit.reasons.iter().map(|reason| text::width(&text::one_line(&reason.trigger))).max().unwrap_or(0).min(40);
    for reason in &hit.reasons {
        // Whole: half a regular expression explains nothing.
        let trigger = text::one_line(&reason.trigger);
        let pad = " ".repeat(width.saturating_sub(text::width(&trigger)));
        let words = match reason.kind {
            ReasonKind::Recent => "used in this session".to_owned(),
            ReasonKind::Judge | ReasonKind::Use => text::one_line(&reason.text),
            _ => format!("“{}”", text::one_line(&reason.text)),
        };
        let words = text::cut(&words, columns.saturating_sub(width + 24).max(20)).into_owned();
        let _ = writeln!(out, "   {:<8}  {trigger}{pad}  {:+.2}  {words}", kind(reason.kind), reason.score);
    }
}

/// Writes the message with the words that matched marked: on a terminal by colour, everywhere by a line of `^` below.
fn marked<'h>(out: &mut String, message: &str, hits: impl Iterator<Item = &'h Hit>, columns: usize) {
    let spans: Vec<Range<usize>> = hits.flat_map(|hit| &hit.reasons).filter_map(|reason| reason.span.clone()).collect();
    let lines = lines(message, columns);
    let mut skipped = 0;
    for range in &lines {
        let inside: Vec<Range<usize>> = spans
            .iter()
            .filter(|span| span.start < range.end && span.end > range.start)
            .map(|span| span.start.max(range.start) - range.start..span.end.min(range.end) - range.start)
            .collect();
        // Of long messages, only the lines that say something.
        if inside.is_empty() && lines.len() > 12 {
            skipped += 1;
            continue;
        }
        mark_line(out, &message[range.clone()], &inside);
    }
    if skipped > 0 {
        let _ =
            writeln!(out, "{}", paint(style::DIM, format_args!("({} without a match)", text::count(skipped, "line"))));
    }
    out.push('\n');
}

/// Returns the lines of a message, without their ends; those that are too long are broken, at a blank where there is
/// one.
fn lines(message: &str, columns: usize) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut offset = 0;
    for line in message.split_inclusive('\n') {
        let (mut start, mut blank, mut width) = (offset, None, 0);
        let text = line.trim_end_matches(['\n', '\r']);
        for (at, c) in text.char_indices().map(|(at, c)| (offset + at, c)) {
            let cells = text::width(&shown(c));
            while width + cells > columns && at > start {
                let end = blank.take().unwrap_or(at);
                lines.push(start..start + message[start..end].trim_end().len());
                start = end;
                width = message[start..at].chars().map(|c| text::width(&shown(c))).sum();
            }
            width += cells;
            if c == ' ' || c == '\t' {
                blank = Some(at + 1);
            }
        }
        lines.push(start..offset + text.len());
        offset += line.len();
    }
    lines
}

/// Returns a character of the message as it is shown.
fn shown(c: char) -> String {
    if c == '\t' { " ".to_owned() } else { text::one_char(c) }
}

fn mark_line(out: &mut String, line: &str, spans: &[Range<usize>]) {
    let is_marked = |at: usize| spans.iter().any(|span| span.contains(&at));
    let (mut painted, mut plain, mut carets, mut width) = (String::new(), String::new(), String::new(), 0);
    let mut run = String::new();
    let mut run_marked = false;
    let flush = |painted: &mut String, run: &mut String, marked: bool| {
        if !run.is_empty() {
            painted.push_str(&if marked { paint(style::HELP, &*run) } else { run.clone() });
            run.clear();
        }
    };
    for (at, c) in line.char_indices() {
        let visible = shown(c);
        // Of the whole beginning: some characters change how wide the one before is.
        plain.push_str(&visible);
        let now = text::width(&plain);
        let marked = is_marked(at);
        carets.extend(std::iter::repeat_n(if marked { '^' } else { ' ' }, now.saturating_sub(width)));
        width = now;
        if marked != run_marked {
            flush(&mut painted, &mut run, run_marked);
            run_marked = marked;
        }
        run.push_str(&visible);
    }
    flush(&mut painted, &mut run, run_marked);
    let _ = writeln!(out, "{painted}");
    if !carets.trim_end().is_empty() {
        let _ = writeln!(out, "{}", paint(style::HELP, carets.trim_end()));
    }
}
