//! A conversation of fifty turns about ten skills: its skills, its messages, and what the model answers. Every byte of it
//! is the same each time, so that two programs, or two versions of one, can be compared by the tokens that they send.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

/// A turn of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedTurn {
    /// The user's message. No other turn has the same.
    pub message: String,
    /// The tools that the model calls before it answers, with their arguments.
    pub calls: Vec<(&'static str, Value)>,
    /// The model's answer.
    pub answer: String,
}

/// A skill: its name, the word that triggers it, what it is about, and the number of its sections. A section has about 190
/// tokens, so that four of the ten bodies are over 2,000 tokens, as 37 of 100 public ones are.
const SKILLS: [(&str, &str, &str, usize); 10] = [
    ("invoice-desk", "invoice", "Writes and checks invoices", 2),
    ("parcel-post", "parcel", "Sends parcels and tracks them", 3),
    ("release-train", "release", "Cuts and publishes releases", 4),
    ("schema-moves", "migration", "Plans migrations of databases", 6),
    ("chart-room", "chart", "Draws charts of measured data", 8),
    ("letter-press", "letter", "Writes letters in the style of the house", 9),
    ("deploy-desk", "deployment", "Deploys services and watches them", 14),
    ("form-filler", "form", "Fills in forms and reads them", 18),
    ("audit-trail", "audit", "Audits accounts and keeps the trail", 26),
    ("garden-plan", "garden", "Plans gardens through the seasons", 40),
];

/// The themes of sections: a title, and words that only it has. Later sections repeat the themes with a number.
const THEMES: [(&str, &str); 10] = [
    ("Set up", "install the helper and sign in"),
    ("Read what is there", "list the records and open the newest"),
    ("Write a draft", "begin with a template and fill the gaps"),
    ("Check the numbers", "add the columns and compare the sums"),
    ("Ask for approval", "name a reviewer and wait for consent"),
    ("Send it out", "address the receiver and keep a receipt"),
    ("Roll back", "restore the last version that worked"),
    ("Keep a record", "file the outcome below its date"),
    ("Handle failures", "retry twice and report what was refused"),
    ("Limits", "stop at the quota and split what is larger"),
];

/// The number of turns.
pub const TURNS: usize = 50;

/// Writes the ten skills below a directory.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// skillcue_bench::conversation::write_skills(dir.path())?;
/// assert!(std::fs::read_to_string(dir.path().join("form-filler/SKILL.md"))?.contains("## Roll back\n"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_skills(root: &Path) -> io::Result<()> {
    for (at, (name, trigger, about, _)) in SKILLS.iter().enumerate() {
        let dir = root.join(name);
        std::fs::create_dir_all(&dir)?;
        let front = format!("name: {name}\ndescription: {about}. Use it for any {trigger}.\ntriggers: [{trigger}]");
        std::fs::write(dir.join("SKILL.md"), format!("---\n{front}\n---\n{}", body(at)))?;
    }
    Ok(())
}

/// Returns the title of a section of a skill.
fn title(section: usize) -> String {
    let (title, _) = THEMES[section % THEMES.len()];
    match section / THEMES.len() {
        0 => title.to_owned(),
        more => format!("{title}, part {}", more + 1),
    }
}

fn body(skill: usize) -> String {
    let (name, trigger, about, sections) = SKILLS[skill];
    let mut text = format!("# {name}\n\n{about}, step by step.\n");
    for section in 0..sections {
        let _ = writeln!(text, "\n## {}\n", title(section));
        for line in 0..10 {
            let _ = writeln!(text, "{}", rule(trigger, section, line));
        }
    }
    text
}

/// Returns a line of a section. No other line of any skill is the same.
fn rule(trigger: &str, section: usize, line: usize) -> String {
    let (_, words) = THEMES[section % THEMES.len()];
    let steps =
        ["first", "then", "next", "after that", "once more", "in any case", "if asked", "late", "at last", "always"];
    format!("- For a {trigger}, {}, {words} (rule {section}.{line} of the {trigger} book).", steps[line])
}

/// Returns every line of the skills' bodies that says something: no request should hold one twice.
pub fn lines() -> Vec<String> {
    let of = |(_, trigger, _, sections): &(&str, &'static str, &str, usize)| {
        let (trigger, sections) = (*trigger, *sections);
        (0..sections).flat_map(move |section| (0..10).map(move |line| rule(trigger, section, line)))
    };
    SKILLS.iter().flat_map(of).collect()
}

/// Returns the turns. Each skill is asked for three times, each time about another section; the model loads it the first
/// time and the second, and a section of it in between, whatever the context holds: models do. A fifth of the turns are about
/// nothing that a skill is for.
pub fn turns() -> Vec<ScriptedTurn> {
    let load = |name: &str| ("load_skill", json!({"skill_id": name}));
    let mut turns = Vec::with_capacity(TURNS);
    let mut add = |message: String, calls: Vec<(&'static str, Value)>| {
        let number = turns.len() + 1;
        let answer =
            format!("Done, step {number}. I did as you said, and noted the outcome; tell me if more is to be changed.");
        turns.push(ScriptedTurn { message, calls, answer });
    };
    let ask = |skill: usize, section: usize| {
        let (_, trigger, _, _) = SKILLS[skill];
        let (_, words) = THEMES[section % THEMES.len()];
        format!("Please take this {trigger} and {words}, as the book says.")
    };
    for (skill, (name, ..)) in SKILLS.iter().enumerate() {
        let sections = SKILLS[skill].3;
        add(ask(skill, 1 % sections), vec![load(name)]);
        let section = title((sections - 1).min(6));
        let message = format!("And now \"{section}\" of {}, please.", name.replace('-', " "));
        add(message, vec![("load_skill", json!({"skill_id": name, "section": section}))]);
        add(format!("Thank you, that was number {}. What is {skill} plus {skill}?", skill + 1), Vec::new());
    }
    for (skill, (name, ..)) in SKILLS.iter().enumerate() {
        add(format!("{} It is urgent.", ask(skill, SKILLS[skill].3 - 1)), vec![load(name)]);
    }
    for (skill, _) in SKILLS.iter().enumerate() {
        add(format!("{} Then we are done.", ask(skill, SKILLS[skill].3 / 2)), Vec::new());
    }
    turns
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn fifty_messages_differ_and_lines_are_unique() {
        let turns = turns();
        assert_eq!(turns.len(), TURNS);
        let messages: HashSet<&str> = turns.iter().map(|turn| turn.message.as_str()).collect();
        assert_eq!(messages.len(), TURNS);
        let lines = lines();
        assert_eq!(lines.iter().collect::<HashSet<_>>().len(), lines.len());
        let written: usize =
            (0..SKILLS.len()).map(|skill| body(skill).lines().filter(|line| line.starts_with("- ")).count()).sum();
        assert_eq!(written, lines.len());
    }

    #[test]
    fn sections_that_are_loaded_exist() {
        for turn in turns() {
            for (_, arguments) in turn.calls {
                let skill = SKILLS.iter().position(|skill| arguments["skill_id"] == skill.0).unwrap();
                if let Some(section) = arguments["section"].as_str() {
                    assert!(body(skill).contains(&format!("## {section}\n")), "{section}");
                }
            }
        }
    }
}
