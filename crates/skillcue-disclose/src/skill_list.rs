//! Lists of all skills within a budget: the static `<available_skills>` section, and the registry tier.
//!
//! Both keep every name as long as they can, and shorten the descriptions of the least valuable skills instead. Value
//! depends on the configuration and the skills alone, never on a message, so the text is equal from turn to turn.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use serde::Serialize;
use skillcue_base::{markup, visible_line};
use skillcue_catalog::Source;
use skillcue_format::{Tokens, brief};

use crate::TokenCounter;
use crate::budget::source_rank;

/// A skill in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEntry<'a> {
    /// The name by which it is loaded.
    pub id: Cow<'a, str>,
    /// A sentence on what the skill does and when to use it.
    pub description: Cow<'a, str>,
    /// The priority that its author gave it.
    pub priority: i32,
    /// The kind of place that the skill comes from.
    pub source: Source,
    /// Whether the configuration asks for its description to be shortened last.
    pub pinned: bool,
}

impl ListEntry<'_> {
    /// Most valuable first.
    fn compare(&self, other: &Self) -> Ordering {
        let key = |entry: &Self| (Reverse(entry.pinned), Reverse(entry.priority), source_rank(entry.source));
        key(self).cmp(&key(other)).then_with(|| self.id.cmp(&other.id))
    }
}

/// A list of skills, and what it leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SkillList {
    /// The text. Empty, if there are no skills.
    pub text: Arc<str>,
    /// The cost of `text`.
    pub tokens: Tokens,
    /// Skills whose descriptions were cut or left out, by name.
    pub shortened: Vec<String>,
    /// Skills that are missing, by name.
    pub omitted: Vec<String>,
}

/// The format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListStyle {
    /// The static section.
    Prompt,
    /// The registry tier.
    Registry,
}

const PROMPT_HEAD: &str = "## Agent Skills

A skill is a set of instructions for one kind of task. The list below only says what each is for.
- When a skill fits the task, call `load_skill` with its id before you start, and follow what it says.
- Take ids from the list, character for character. Never guess one.
- Descriptions may be shortened. If no skill seems to fit, `search_skills` looks through all of them in full.
- When none fits, work without one.

<available_skills>
";

impl ListStyle {
    fn head(self) -> &'static str {
        match self {
            ListStyle::Prompt => PROMPT_HEAD,
            ListStyle::Registry => "## Available Capabilities\n\n",
        }
    }

    fn tail(self, missing: usize) -> String {
        let more = match missing {
            0 => String::new(),
            1 => "1 more skill is not listed, to save space; `search_skills` finds it.\n".to_owned(),
            _ => format!("{missing} more skills are not listed, to save space; `search_skills` finds them.\n"),
        };
        match self {
            ListStyle::Prompt => format!("</available_skills>\n{more}"),
            ListStyle::Registry => format!("{more}\nAsk about specific skills for full documentation."),
        }
    }

    /// Appends one skill.
    pub(crate) fn write(self, out: &mut String, id: &str, description: &str) {
        match self {
            ListStyle::Prompt => {
                out.push_str("  <skill>\n    <id>");
                out.push_str(&markup::text(id));
                out.push_str("</id>\n");
                if !description.is_empty() {
                    out.push_str("    <description>");
                    out.push_str(&markup::text(description));
                    out.push_str("</description>\n");
                }
                out.push_str("  </skill>\n");
            }
            ListStyle::Registry => {
                out.push_str("- **");
                out.push_str(id);
                out.push_str("**");
                if !description.is_empty() {
                    out.push_str(": ");
                    out.push_str(description);
                }
                out.push('\n');
            }
        }
    }

    /// Returns the cost of one skill, in 64ths of a token.
    pub(crate) fn cost(self, id: &str, description: &str, counter: &dyn TokenCounter, scratch: &mut String) -> usize {
        scratch.clear();
        self.write(scratch, id, description);
        counter.count_64ths(scratch)
    }
}

/// Returns the longest beginning of a folded text that `fits`, cut after a word, with an ellipsis.
pub(crate) fn shorten(text: &str, fits: impl Fn(&str) -> bool) -> String {
    let ends: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
    let part = |words: usize| {
        let kept = text[..ends[words - 1]].trim_end_matches([',', ';', ':', '.', ' ']);
        format!("{kept}…")
    };
    let (mut low, mut high) = (0, ends.len());
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(&part(middle)) { low = middle } else { high = middle - 1 }
    }
    if low == 0 { String::new() } else { part(low) }
}

/// Returns the static section: `## Agent Skills`, a few rules, and `<available_skills>` sorted by id. Empty when there
/// are no skills. Never has a body.
///
/// Over the limit, every name stays and descriptions shrink at word boundaries, those of the least valuable skills
/// first: down to a line, then to nothing. If even the names do not fit, a line says how many are missing.
///
/// ```
/// use skillcue_catalog::Source;
/// use skillcue_disclose::{ListEntry, Segment, prompt_section};
///
/// let pdf = ListEntry {
///     id: "pdf".into(),
///     description: "Reads & writes PDF files.".into(),
///     priority: 0,
///     source: Source::User,
///     pinned: false,
/// };
/// let section = prompt_section([pdf], None, &Segment);
/// assert!(section.text.contains("    <description>Reads &amp; writes PDF files.</description>\n"));
/// assert_eq!(&*prompt_section([], None, &Segment).text, "");
/// ```
pub fn prompt_section<'a>(
    entries: impl IntoIterator<Item = ListEntry<'a>>,
    limit: Option<Tokens>,
    counter: &dyn TokenCounter,
) -> SkillList {
    let items = entries.into_iter().map(|entry| PendingEntry { entry, is_whole: false });
    list_within_limit(ListStyle::Prompt, items.collect(), limit, counter)
}

/// An entry that is not yet in a list.
pub(crate) struct PendingEntry<'a> {
    pub(crate) entry: ListEntry<'a>,
    /// Whether the description is still the whole one, to be made brief. That takes time, which is wasted if only names
    /// fit.
    pub(crate) is_whole: bool,
}

impl PendingEntry<'_> {
    pub(crate) fn prepare(&mut self) {
        if self.is_whole {
            self.entry.description = Cow::Owned(brief(&self.entry.description).into_owned());
            self.is_whole = false;
        } else if let Cow::Owned(folded) = visible_line(&self.entry.description) {
            self.entry.description = Cow::Owned(folded);
        }
    }
}

pub(crate) fn list_within_limit(
    style: ListStyle,
    mut items: Vec<PendingEntry<'_>>,
    limit: Option<Tokens>,
    counter: &dyn TokenCounter,
) -> SkillList {
    if items.is_empty() {
        return SkillList::default();
    }
    let frame = |missing: usize| counter.count_64ths(style.head()) + counter.count_64ths(&style.tail(missing));
    let Some(limit) = limit.filter(|limit| limit.0 > 0).map(|limit| counter.reserve(limit)) else {
        items.iter_mut().for_each(PendingEntry::prepare);
        let mut all: Vec<_> =
            items.iter().map(|item| (&*item.entry.id, Cow::Borrowed(&*item.entry.description))).collect();
        return write(style, &mut all, Vec::new(), Vec::new(), counter);
    };
    let mut scratch = String::new();
    let bare: Vec<usize> = items.iter().map(|item| style.cost(&item.entry.id, "", counter, &mut scratch)).collect();
    let names: usize = bare.iter().sum();
    let mut aim = limit.0.saturating_mul(64);
    let mut prepared = false;
    loop {
        let room = aim.saturating_sub(frame(0));
        let section = if names > room {
            names_only(style, &items, &bare, aim.saturating_sub(frame(items.len())), counter)
        } else {
            if !prepared {
                items.iter_mut().for_each(PendingEntry::prepare);
                prepared = true;
            }
            shrink(style, &items, &bare, room, counter)
        };
        // Parts were counted one by one; together they may cost a little more.
        let over = section.tokens.0.saturating_sub(limit.0);
        if over == 0 || aim == 0 {
            return section;
        }
        aim = aim.saturating_sub(over.saturating_mul(64));
    }
}

/// The size, in 64ths of a token, to which every description shrinks before the first is dropped.
const MIN_DESCRIPTION: usize = 16 * 64;

/// Returns a list of all names, with the descriptions shortened to fit into `room` 64ths of a token.
fn shrink(
    style: ListStyle,
    items: &[PendingEntry<'_>],
    bare: &[usize],
    room: usize,
    counter: &dyn TokenCounter,
) -> SkillList {
    let mut scratch = String::new();
    let entries: Vec<&ListEntry<'_>> = items.iter().map(|item| &item.entry).collect();
    // The cost that each description adds to its name's.
    let mut adds: Vec<usize> = Vec::with_capacity(entries.len());
    for (entry, bare) in entries.iter().zip(bare) {
        adds.push(style.cost(&entry.id, &entry.description, counter, &mut scratch).saturating_sub(*bare));
    }
    let mut over = (bare.iter().sum::<usize>() + adds.iter().sum::<usize>()).saturating_sub(room);
    let mut short: Vec<Option<String>> = vec![None; entries.len()];
    if over > 0 {
        let mut worst: Vec<usize> = (0..entries.len()).collect();
        worst.sort_unstable_by(|a, b| entries[*b].compare(entries[*a]));
        for floor in [MIN_DESCRIPTION, 0] {
            for &at in &worst {
                if over == 0 {
                    break;
                }
                if adds[at] <= floor {
                    continue;
                }
                let (entry, aim) = (entries[at], adds[at].saturating_sub(over).max(floor));
                let cost = |text: &str| style.cost(&entry.id, text, counter, &mut String::new());
                let text = match aim {
                    0 => String::new(),
                    _ => shorten(&entry.description, |part| cost(part) <= bare[at] + aim),
                };
                let add = cost(&text).saturating_sub(bare[at]);
                over = over.saturating_sub(adds[at].saturating_sub(add));
                adds[at] = add;
                short[at] = Some(text);
            }
        }
    }
    let shortened = entries.iter().zip(&short).filter(|(_, short)| short.is_some());
    let mut shortened: Vec<String> = shortened.map(|(entry, _)| entry.id.to_string()).collect();
    shortened.sort_unstable();
    let mut lines: Vec<(&str, Cow<'_, str>)> = Vec::with_capacity(entries.len());
    for (entry, short) in entries.iter().zip(short) {
        lines.push((&entry.id, short.map_or(Cow::Borrowed(&*entry.description), Cow::Owned)));
    }
    write(style, &mut lines, shortened, Vec::new(), counter)
}

/// Returns a list of the most valuable skills' names, as many as fit.
fn names_only(
    style: ListStyle,
    items: &[PendingEntry<'_>],
    bare: &[usize],
    mut room: usize,
    counter: &dyn TokenCounter,
) -> SkillList {
    struct Best<'e>(&'e ListEntry<'e>, usize);
    impl PartialEq for Best<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other) == Ordering::Equal
        }
    }
    impl Eq for Best<'_> {}
    impl PartialOrd for Best<'_> {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Best<'_> {
        fn cmp(&self, other: &Self) -> Ordering {
            other.0.compare(self.0)
        }
    }
    // A heap, because few of many are wanted: building it is linear, and each taken costs a logarithm.
    let mut heap: BinaryHeap<Best<'_>> = items.iter().zip(bare).map(|(item, bare)| Best(&item.entry, *bare)).collect();
    let mut kept = Vec::new();
    while let Some(Best(entry, cost)) = heap.peek() {
        if *cost > room {
            break;
        }
        room -= cost;
        kept.push(*entry);
        heap.pop();
    }
    let mut omitted: Vec<String> = heap.into_iter().map(|Best(entry, _)| entry.id.to_string()).collect();
    omitted.sort_unstable();
    let described = kept.iter().filter(|entry| !entry.description.is_empty());
    let mut shortened: Vec<String> = described.map(|entry| entry.id.to_string()).collect();
    shortened.sort_unstable();
    let mut lines: Vec<_> = kept.iter().map(|entry| (&*entry.id, Cow::Borrowed(""))).collect();
    write(style, &mut lines, shortened, omitted, counter)
}

fn write(
    style: ListStyle,
    lines: &mut [(&str, Cow<'_, str>)],
    shortened: Vec<String>,
    omitted: Vec<String>,
    counter: &dyn TokenCounter,
) -> SkillList {
    lines.sort_unstable_by(|a, b| a.0.cmp(b.0));
    let mut text = style.head().to_owned();
    for (id, description) in lines.iter() {
        style.write(&mut text, id, description);
    }
    text.push_str(&style.tail(omitted.len()));
    SkillList { tokens: counter.count(&text), text: text.into(), shortened, omitted }
}

#[cfg(test)]
#[path = "skill_list_tests.rs"]
mod tests;
