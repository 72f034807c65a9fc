//! The front matter of a good skill: its fields, how often they occur, and in which spelling.
//!
//! The shares follow a count of public skills (31,942 files): one in seven has a block scalar, one in ten a flow
//! collection, one in twenty-five a CJK description. A generator that wrote `name` and a short plain `description` only
//! would flatter a parser's fast path.

use super::random::Random;
use super::words::{CJK, MANNERS, OBJECTS, OCCASIONS, ROLES, SUBJECTS, VERBS};
use crate::triggers::SkillTriggers;
use std::fmt::Write as _;

/// Bytes of a description, by quantile. In the wild `name: description` takes 49 tokens at the
/// median and 179 at the 99th percentile; this prose has about 5.6 bytes a token.
const DESCRIPTION_BYTES: &[(usize, usize)] =
    &[(0, 60), (100, 120), (250, 150), (500, 190), (750, 320), (900, 510), (990, 840), (1000, 940)];

/// The length of the longest description. The open standard allows 1,024 characters; this stays clear of that by what a
/// quoted one has appended.
const MAX_DESCRIPTION: usize = 940;

/// The column at which descriptions over several lines are broken.
const WRAP: usize = 88;

/// The facts about front matter that its body depends on.
pub(crate) struct FrontMatterTraits {
    pub(crate) cjk: bool,
}

/// Writes the front matter of the skill `name`, both `---` lines included.
pub(crate) fn write(out: &mut String, random: &mut Random, name: &str) -> FrontMatterTraits {
    let subject = name.split('-').next().unwrap_or(name);
    let cjk = random.chance(50);

    out.push_str("---\n");
    // One author in thirty does not begin with the name.
    if random.chance(30) {
        description(out, random, subject, cjk);
        line(out, "name", name);
    } else {
        line(out, "name", name);
        description(out, random, subject, cjk);
    }
    scalars(out, random, subject);
    if random.chance(120) {
        allowed_tools(out, random);
    }
    if random.chance(70) {
        out.push_str("tags: ");
        flow_list(out, random, subject);
    }
    // `triggers` belongs under `metadata`, where the standard allows it; some put it at the top.
    if random.chance(400) {
        metadata(out, random, subject);
    } else if random.chance(60) {
        triggers(out, random, subject, "");
    }
    out.push_str("---\n");
    FrontMatterTraits { cjk }
}

/// Writes front matter that has a name, a description, and these triggers; both `---` lines included.
pub(crate) fn write_triggered(out: &mut String, random: &mut Random, name: &str, triggers: &SkillTriggers) {
    let subject = name.split('-').next().unwrap_or(name);
    out.push_str("---\n");
    line(out, "name", name);
    let _ = writeln!(out, "description: {} {subject} {}.", random.pick(VERBS), random.pick(OBJECTS));
    let indent = if random.chance(500) {
        out.push_str("metadata:\n");
        "  "
    } else {
        ""
    };
    let _ = writeln!(out, "{indent}triggers:");
    let _ = writeln!(out, "{indent}  keywords: [{}]", triggers.keywords.join(", "));
    let _ = writeln!(out, "{indent}  verbs: [{}]", triggers.verbs.join(", "));
    let _ = writeln!(out, "{indent}  patterns:\n{indent}    - '{}'", triggers.pattern);
    out.push_str("---\n");
}

fn line(out: &mut String, key: &str, value: &str) {
    for part in [key, ": ", value, "\n"] {
        out.push_str(part);
    }
}

/// `description`, in one of the spellings that authors use.
fn description(out: &mut String, random: &mut Random, subject: &str, cjk: bool) {
    let text = if cjk { cjk_description(random) } else { english_description(random, subject) };
    out.push_str("description: ");
    match random.below(1000) {
        0..60 => {
            out.push_str(">\n");
            wrapped(out, &text, "  ");
        }
        60..110 => {
            out.push_str(">-\n");
            wrapped(out, &text, "  ");
        }
        110..150 => {
            out.push_str("|\n");
            wrapped(out, &text, "  ");
        }
        // A plain scalar that goes on over indented lines.
        150..165 => {
            out.push('\n');
            wrapped(out, &text, "  ");
        }
        // Authors often quote for a reason: a colon, or quotes inside.
        165..320 => {
            out.push('"');
            out.push_str(&text);
            if random.chance(400) {
                let _ = write!(out, r#" Triggers: \"{subject} help\", \"fix my {subject}\"."#);
            }
            out.push_str("\"\n");
        }
        320..380 => {
            out.push('\'');
            out.push_str(&text.replace('\'', "''"));
            if random.chance(400) {
                let _ = write!(out, " Note: it''s about {subject} only.");
            }
            out.push_str("'\n");
        }
        _ => {
            out.push_str(&text);
            out.push('\n');
        }
    }
}

fn english_description(random: &mut Random, subject: &str) -> String {
    let target = random.quantile(DESCRIPTION_BYTES);
    let mut text = String::with_capacity(target + 100);
    let _ = write!(
        text,
        "{} {} {} and {} {}.",
        random.pick(VERBS),
        subject,
        random.pick(OBJECTS),
        random.pick(OBJECTS),
        random.pick(MANNERS)
    );
    let mut occasion = String::with_capacity(120);
    let _ = write!(occasion, " Use when {} {subject} {}", random.pick(OCCASIONS), random.pick(OBJECTS));
    if random.chance(500) {
        let _ = write!(occasion, " or {}", random.pick(OBJECTS));
    }
    // Authors type a dash and an arrow at times, so not every description is ASCII.
    occasion.push_str(if random.chance(60) { " — even if they do not name it." } else { "." });

    while text.len() + occasion.len() < target {
        let before = text.len();
        let (a, b) = (random.pick(OBJECTS), random.pick(OBJECTS));
        let _ = match random.below(4) {
            0 => write!(text, " Covers {a}, {b}, and {}.", random.pick(OBJECTS)),
            1 => write!(text, " Also handles {a} {}.", random.pick(MANNERS)),
            2 => write!(text, " Supports {subject}, {}, and {}.", random.pick(SUBJECTS), random.pick(SUBJECTS)),
            _ => write!(text, " {} {a} (e.g. {b}) {}.", random.pick(VERBS), random.pick(MANNERS)),
        };
        if text.len() + occasion.len() > MAX_DESCRIPTION {
            text.truncate(before);
            break;
        }
    }
    text.push_str(&occasion);
    text
}

fn cjk_description(random: &mut Random) -> String {
    (0..2 + random.below(4)).map(|_| random.pick(CJK)).collect()
}

/// `text` over several lines, each with `indent` before it.
fn wrapped(out: &mut String, text: &str, indent: &str) {
    let mut column = 0;
    for word in text.split(' ') {
        if column > 0 && column + word.len() >= WRAP {
            out.push('\n');
            column = 0;
        }
        out.push_str(if column == 0 { indent } else { " " });
        out.push_str(word);
        column += word.len() + 1;
    }
    out.push('\n');
}

/// The fields that hold one value.
fn scalars(out: &mut String, random: &mut Random, subject: &str) {
    if random.chance(220) {
        let (major, minor) = (1 + random.below(3), random.below(12));
        let _ = match random.below(4) {
            // A YAML float. `1.10` is not 1.1, which is why the author's text has to be kept.
            0 => writeln!(out, "version: {major}.{minor}"),
            1 => writeln!(out, "version: \"{major}.{minor}.0\""),
            _ => writeln!(out, "version: {major}.{minor}.{}", random.below(9)),
        };
    }
    if random.chance(250) {
        line(out, "license", random.pick(LICENSES));
    }
    if random.chance(60) {
        let _ = writeln!(out, "argument-hint: \"<{subject}> [options]\"");
    }
    if random.chance(30) {
        line(out, "model", random.pick(&["sonnet", "opus", "inherit"]));
    }
    if random.chance(25) {
        line(out, "user-invocable", random.pick(&["true", "false"]));
    }
    if random.chance(10) {
        line(out, "disable-model-invocation", "true");
    }
    if random.chance(30) {
        let _ = writeln!(out, "compatibility: Requires {subject} tools and network access");
    }
    if random.chance(80) {
        line(out, "category", random.pick(SUBJECTS));
    }
    // A field that is in no specification. Half of all public skills have at least one.
    if random.chance(60) {
        line(out, "risk", random.pick(&["safe", "unknown", "low"]));
        line(out, "source", "community");
    }
}

const LICENSES: &[&str] = &["MIT", "MIT", "Apache-2.0", "CC-BY-4.0", "Proprietary. LICENSE.txt has complete terms"];

const TOOLS: &[&str] = &[
    "Read",
    "Write",
    "Edit",
    "Grep",
    "Glob",
    "WebFetch",
    "WebSearch",
    "Bash(git add:*)",
    "Bash(npm run test:*)",
    "Bash(python *)",
];

/// `allowed-tools` as a string with commas, a string with blanks, and a list: in the wild nine in
/// ten are strings.
fn allowed_tools(out: &mut String, random: &mut Random) {
    let first = random.below(TOOLS.len() - 4);
    let tools = &TOOLS[first..first + 2 + random.below(3)];
    let _ = match random.below(100) {
        0..46 => writeln!(out, "allowed-tools: {}", tools.join(", ")),
        46..90 => writeln!(out, "allowed-tools: {}", tools.join(" ")),
        90..95 => writeln!(out, "allowed-tools: [{}]", tools.join(", ")),
        _ => {
            out.push_str("allowed-tools:\n");
            list(out, "  ", tools.iter().copied());
            Ok(())
        }
    };
}

fn list<'a>(out: &mut String, indent: &str, items: impl Iterator<Item = &'a str>) {
    for item in items {
        for part in [indent, "- ", item, "\n"] {
            out.push_str(part);
        }
    }
}

fn flow_list(out: &mut String, random: &mut Random, subject: &str) {
    let _ = writeln!(out, "[{subject}, {}, {}]", random.pick(SUBJECTS), random.pick(ROLES));
}

/// `metadata`, a mapping of the author's own, with triggers in two of five.
fn metadata(out: &mut String, random: &mut Random, subject: &str) {
    out.push_str("metadata:\n");
    if random.chance(600) {
        line(out, "  author", random.pick(&["acme-labs", "example-org", "the platform team", "jdoe"]));
    }
    if random.chance(500) {
        let _ = writeln!(out, "  version: \"{}.{}\"", 1 + random.below(3), random.below(10));
    }
    // At least one key: `metadata:` alone would be null.
    line(out, "  domain", random.pick(SUBJECTS));
    if random.chance(400) {
        triggers(out, random, subject, "  ");
    }
}

/// `triggers`: keywords always, verbs and patterns at times; one in eight as a plain list.
fn triggers(out: &mut String, random: &mut Random, subject: &str, indent: &str) {
    out.push_str(indent);
    if random.chance(125) {
        out.push_str("triggers: ");
        flow_list(out, random, subject);
        return;
    }
    let deeper = format!("{indent}    ");
    let _ = writeln!(out, "triggers:\n{indent}  keywords:");
    list(out, &deeper, std::iter::once(subject));
    // A few authors list every phrase that they can think of.
    let more = if random.chance(150) { 10 + random.below(10) } else { 1 + random.below(3) };
    list(out, &deeper, (0..more).map(|_| random.pick(OBJECTS)));
    if random.chance(400) {
        let _ = writeln!(out, "{indent}  verbs:");
        let verbs: Vec<String> = (0..2).map(|_| random.pick(VERBS).to_lowercase()).collect();
        list(out, &deeper, verbs.iter().map(String::as_str));
    }
    if random.chance(250) {
        let _ = writeln!(out, "{indent}  patterns:");
        let pattern = format!(r"'(?i)\b(fix|check|review)\s+(my|the|this)\s+{subject}s?\b'");
        list(out, &deeper, std::iter::once(pattern.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(count: u64) -> Vec<String> {
        (0..count)
            .map(|index| {
                let mut out = String::new();
                write(&mut out, &mut Random::for_item(3, index), "pdf-fast-reader");
                out
            })
            .collect()
    }

    fn share(sample: &[String], test: impl Fn(&str) -> bool) -> usize {
        1000 * sample.iter().filter(|text| test(text)).count() / sample.len()
    }

    #[test]
    fn every_spelling_turns_up_as_often_as_it_should() {
        let sample = sample(4000);
        let block = share(&sample, |text| text.contains("description: >") || text.contains("description: |"));
        assert!((120..=180).contains(&block), "block scalars: {block}");
        let cjk = share(&sample, |text| text.chars().any(|c| c >= '\u{3000}'));
        assert!((35..=65).contains(&cjk), "CJK: {cjk}");
        let flow = share(&sample, |text| text.contains(": ["));
        assert!((80..=130).contains(&flow), "flow lists: {flow}");
        let tools = share(&sample, |text| text.contains("\nallowed-tools:"));
        assert!((100..=140).contains(&tools), "allowed-tools: {tools}");
        for spelling in [
            "allowed-tools: [",
            "allowed-tools:\n",
            "Read, Write",
            "Read Write",
            "\ntriggers:",
            "\n  triggers:",
            "patterns:",
            "verbs:",
        ] {
            assert!(share(&sample, |text| text.contains(spelling)) > 0, "{spelling:?} never turns up");
        }
    }

    #[test]
    fn it_is_closed_once_and_within_the_standards_limits() {
        for text in sample(2000) {
            assert!(text.starts_with("---\n") && text.ends_with("\n---\n"), "{text}");
            assert_eq!(text.lines().filter(|line| line.trim_end() == "---").count(), 2, "{text}");
            assert!(text.len() < 2048, "{} bytes", text.len());
        }
    }

    #[test]
    fn quotes_inside_quotes_are_doubled() {
        for text in sample(4000) {
            let Some(value) = text.lines().find_map(|line| line.strip_prefix("description: '")) else {
                continue;
            };
            let inner = value.strip_suffix('\'').unwrap();
            assert!(!inner.replace("''", "").contains('\''), "{value}");
        }
    }

    #[test]
    fn plain_descriptions_need_no_repair() {
        for text in sample(2000) {
            let value = text.lines().find_map(|line| line.strip_prefix("description: ")).unwrap_or_default();
            if value.starts_with(char::is_alphabetic) {
                assert!(!value.contains(": ") && !value.contains(" #"), "{value}");
                assert!(value.chars().count() <= 1024, "{value}");
            }
        }
    }
}
