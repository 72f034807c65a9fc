//! Lists of all skills within a budget: the static `<available_skills>` section, and the registry tier.
//!
//! Both keep every name as long as they can, and take the room for it from the descriptions of the least valuable
//! skills. Value depends on the configuration and the skills alone, never on a message, so the text stays the same from
//! turn to turn.

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

/// What a list needs to know of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The name by which it is loaded.
    pub id: Cow<'a, str>,
    /// What it does and when to use it.
    pub description: Cow<'a, str>,
    /// What its author gave it.
    pub priority: i32,
    /// Where it comes from.
    pub source: Source,
    /// Whether the configuration wants it described whatever happens to others.
    pub pinned: bool,
}

impl Entry<'_> {
    /// Most valuable first.
    fn compare(&self, other: &Self) -> Ordering {
        let key = |entry: &Self| (Reverse(entry.pinned), Reverse(entry.priority), source_rank(entry.source));
        key(self).cmp(&key(other)).then_with(|| self.id.cmp(&other.id))
    }
}

/// A list of skills, and what it leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Section {
    /// The text. Empty, if there are no skills.
    pub text: Arc<str>,
    /// What it costs.
    pub tokens: Tokens,
    /// Skills whose descriptions were cut or left out, by name.
    pub shortened: Vec<String>,
    /// Skills that are missing, by name.
    pub omitted: Vec<String>,
}

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
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

impl Style {
    fn head(self) -> &'static str {
        match self {
            Style::Prompt => PROMPT_HEAD,
            Style::Registry => "## Available Capabilities\n\n",
        }
    }

    fn tail(self, missing: usize) -> String {
        let more = match missing {
            0 => String::new(),
            1 => "1 more skill is not listed, to save space; `search_skills` finds it.\n".to_owned(),
            _ => format!("{missing} more skills are not listed, to save space; `search_skills` finds them.\n"),
        };
        match self {
            Style::Prompt => format!("</available_skills>\n{more}"),
            Style::Registry => format!("{more}\nAsk about specific skills for full documentation."),
        }
    }

    /// One skill.
    fn write(self, out: &mut String, id: &str, description: &str) {
        match self {
            Style::Prompt => {
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
            Style::Registry => {
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

    /// What one skill costs, in 64ths of a token.
    fn cost(self, id: &str, description: &str, counter: &dyn TokenCounter, scratch: &mut String) -> usize {
        scratch.clear();
        self.write(scratch, id, description);
        counter.count_64ths(scratch)
    }
}

/// The longest beginning of a folded text that keeps `fits`, cut after a word, with an ellipsis.
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

/// The static section: `## Agent Skills`, a few rules, and `<available_skills>` sorted by id. Nothing at all when there
/// are no skills; never a body.
///
/// Over the limit, every name stays and descriptions shrink at word boundaries, those of the least valuable skills first:
/// down to a line, then to nothing. If even the names do not fit, a line says how many are missing.
///
/// ```
/// use skillcue_catalog::Source;
/// use skillcue_disclose::{Entry, Segment, prompt_section};
///
/// let pdf = Entry {
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
    entries: impl IntoIterator<Item = Entry<'a>>,
    limit: Option<Tokens>,
    counter: &dyn TokenCounter,
) -> Section {
    let items = entries.into_iter().map(|entry| Item { entry, is_whole: false });
    section(Style::Prompt, items.collect(), limit, counter)
}

/// An entry on its way into a list.
pub(crate) struct Item<'a> {
    pub(crate) entry: Entry<'a>,
    /// Whether its description is still to be made brief. That takes time, which is wasted if only names fit.
    pub(crate) is_whole: bool,
}

impl Item<'_> {
    fn prepare(&mut self) {
        if self.is_whole {
            self.entry.description = Cow::Owned(brief(&self.entry.description).into_owned());
            self.is_whole = false;
        } else if let Cow::Owned(folded) = visible_line(&self.entry.description) {
            self.entry.description = Cow::Owned(folded);
        }
    }
}

pub(crate) fn section(
    style: Style,
    mut items: Vec<Item<'_>>,
    limit: Option<Tokens>,
    counter: &dyn TokenCounter,
) -> Section {
    if items.is_empty() {
        return Section::default();
    }
    let frame = |missing: usize| counter.count_64ths(style.head()) + counter.count_64ths(&style.tail(missing));
    let Some(limit) = limit.filter(|limit| limit.0 > 0).map(|limit| counter.reserve(limit)) else {
        items.iter_mut().for_each(Item::prepare);
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
                items.iter_mut().for_each(Item::prepare);
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

/// The size, in 64ths of a token, to which descriptions shrink before any goes altogether.
const LINE: usize = 16 * 64;

/// All names, and what of the descriptions fits into that many 64ths of a token.
fn shrink(style: Style, items: &[Item<'_>], bare: &[usize], room: usize, counter: &dyn TokenCounter) -> Section {
    let mut scratch = String::new();
    let entries: Vec<&Entry<'_>> = items.iter().map(|item| &item.entry).collect();
    // What a description adds to its name.
    let mut adds: Vec<usize> = Vec::with_capacity(entries.len());
    for (entry, bare) in entries.iter().zip(bare) {
        adds.push(style.cost(&entry.id, &entry.description, counter, &mut scratch).saturating_sub(*bare));
    }
    let mut over = (bare.iter().sum::<usize>() + adds.iter().sum::<usize>()).saturating_sub(room);
    let mut short: Vec<Option<String>> = vec![None; entries.len()];
    if over > 0 {
        let mut worst: Vec<usize> = (0..entries.len()).collect();
        worst.sort_unstable_by(|a, b| entries[*b].compare(entries[*a]));
        for floor in [LINE, 0] {
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

/// The names of the most valuable skills, as many as fit.
fn names_only(
    style: Style,
    items: &[Item<'_>],
    bare: &[usize],
    mut room: usize,
    counter: &dyn TokenCounter,
) -> Section {
    struct Best<'e>(&'e Entry<'e>, usize);
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
    style: Style,
    lines: &mut [(&str, Cow<'_, str>)],
    shortened: Vec<String>,
    omitted: Vec<String>,
    counter: &dyn TokenCounter,
) -> Section {
    lines.sort_unstable_by(|a, b| a.0.cmp(b.0));
    let mut text = style.head().to_owned();
    for (id, description) in lines.iter() {
        style.write(&mut text, id, description);
    }
    text.push_str(&style.tail(omitted.len()));
    Section { tokens: counter.count(&text), text: text.into(), shortened, omitted }
}

#[cfg(test)]
#[path = "shelf_tests.rs"]
mod tests;
