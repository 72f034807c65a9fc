//! Lead-ins: the first words of a description that say nothing about its skill.
//!
//! "Use this skill when the user wants to …" is what many descriptions begin with. Where there is room for a few words only,
//! those are the wrong ones to keep. Texts that are shown whole keep them.

use crate::skill_list::shorten;

/// The beginnings of descriptions that say nothing, in lower case; the longer of two that begin alike comes first.
const LEAD_INS: [&str; 16] = [
    "this skill should be used ",
    "this skill is to be used ",
    "this skill is used ",
    "this skill is for ",
    "this skill provides ",
    "this skill helps ",
    "this skill ",
    "use this skill ",
    "use this agent ",
    "use this tool ",
    "use this ",
    "use it ",
    "use only ",
    "use ",
    "a skill ",
    "helps ",
];
/// The words that may follow.
const FOLLOWING: [&str; 18] = [
    "when the user wants to ",
    "when the user asks to ",
    "when the user asks for ",
    "when the user needs to ",
    "when a user wants to ",
    "when a user asks to ",
    "when you need to ",
    "when you want to ",
    "when asked to ",
    "whenever you need to ",
    "whenever the user wants to ",
    "you to ",
    "you ",
    "users to ",
    "users ",
    "to ",
    "for ",
    "that ",
];

/// Returns a beginning of a text that `fits`, without the lead-in: whole, or cut as by [`shorten`].
pub(crate) fn shorten_telling(text: &str, fits: impl Fn(&str) -> bool) -> String {
    let telling = without_lead_in(text);
    if fits(&telling) { telling } else { shorten(&telling, fits) }
}

/// Returns a text without its lead-in, in which the first letter is large; the text itself, if it has none or little else.
fn without_lead_in(text: &str) -> String {
    let Some(rest) = stripped(text, &LEAD_INS) else { return text.to_owned() };
    let rest = stripped(rest, &FOLLOWING).unwrap_or(rest).trim_start();
    let mut letters = rest.chars();
    match letters.next() {
        Some(first) if rest.split_whitespace().nth(1).is_some() => first.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

/// Returns the text behind the first of some beginnings that it has, in any case.
fn stripped<'t>(text: &'t str, beginnings: &[&str]) -> Option<&'t str> {
    let has =
        |beginning: &&&str| text.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning));
    beginnings.iter().find(has).map(|beginning| &text[beginning.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lead_ins_go_and_the_subject_stays() {
        for (text, expected) in [
            ("Use this skill to fill in PDF forms", "Fill in PDF forms"),
            ("Use this skill when the user wants to merge branches", "Merge branches"),
            ("This skill should be used when tests are flaky", "When tests are flaky"),
            ("This skill helps you to write release notes", "Write release notes"),
            ("use when a build fails", "When a build fails"),
            ("A skill that draws charts", "Draws charts"),
            ("This skill provides patterns for queues", "Patterns for queues"),
            ("Use this skill für Übersetzungen", "Für Übersetzungen"),
        ] {
            assert_eq!(without_lead_in(text), expected);
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in
            ["Fill in PDF forms", "Uses the API of X", "Use this skill", "Use this skill to test", "", "使用此技能"]
        {
            assert_eq!(without_lead_in(text), text);
        }
    }
}
