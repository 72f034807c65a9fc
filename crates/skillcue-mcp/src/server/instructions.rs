//! The instructions that clients get when they connect.

use std::sync::Arc;

use skillcue::Skillcue;

/// The longest instructions that every client passes on whole, in characters: Claude Code cuts them there, in the middle of
/// an entry.
const MAX_CHARACTERS: usize = 4_096;

/// Returns the static section, if it names every skill and no client would cut it; else how many there are and how to find
/// one. `None` without skills.
pub(super) fn of(skillcue: &Skillcue) -> Option<Arc<str>> {
    let section = skillcue.prompt();
    if section.text.is_empty() {
        return None;
    }
    if section.omitted.is_empty() && section.text.chars().count() < MAX_CHARACTERS {
        return Some(section.text);
    }
    let visible = skillcue.census().visible;
    let text = format!(
        "[{visible} skills available]\n\nA skill is a set of instructions for one kind of task. There are too many to list: \
         before a task, call `search_skills` with what it is about, then `load_skill` with the id that fits, and follow \
         what it says."
    );
    Some(text.into())
}
