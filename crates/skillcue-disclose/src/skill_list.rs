//! Lists of all skills within a budget: the static `<available_skills>` section, and the registry tier.
//!
//! Both keep every name as long as they can, and shorten the descriptions of the least valuable skills instead. Value
//! depends on the configuration and the skills alone, never on a message, so the text is equal from turn to turn.
//! `list_draft` shortens, `name_groups` writes names alone, and `list_contents` is for more names than fit.

use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use serde::Serialize;
use skillcue_base::{markup, visible_line};
use skillcue_catalog::{Skill, Source};
use skillcue_format::{Tokens, brief};

use crate::budget::source_rank;
use crate::list_contents::ListContents;
use crate::list_draft::{ListDraft, keep_average, shrink};
use crate::name_groups::NameGroups;
use crate::{DiscloseConfig, TokenCounter};

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
    /// How often it was used, as far as that is known.
    pub uses: u32,
}

impl ListEntry<'_> {
    /// Most valuable first.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let key = |entry: &Self| {
            (Reverse(entry.pinned), Reverse(entry.priority), Reverse(entry.uses), source_rank(entry.source))
        };
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
    /// The static section over its budget: a line a skill, which costs some 20 tokens less than elements.
    PromptLines,
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
    /// Returns the style of a list that is over its budget.
    pub(crate) fn compact(self) -> ListStyle {
        match self {
            ListStyle::Prompt | ListStyle::PromptLines => ListStyle::PromptLines,
            ListStyle::Registry => ListStyle::Registry,
        }
    }

    pub(crate) fn head(self) -> &'static str {
        match self {
            ListStyle::Prompt | ListStyle::PromptLines => PROMPT_HEAD,
            ListStyle::Registry => "## Available Capabilities\n\n",
        }
    }

    /// Returns the end of a list that misses some skills; `contents` are their groups.
    pub(crate) fn tail(self, contents: &str, missing: usize) -> String {
        let more = match missing {
            0 => String::new(),
            1 => "1 more skill is not listed, to save space; `search_skills` finds it.\n".to_owned(),
            _ => format!("{missing} more skills are not listed, to save space; `search_skills` finds them.\n"),
        };
        match self {
            ListStyle::Prompt | ListStyle::PromptLines => format!("</available_skills>\n{contents}{more}"),
            ListStyle::Registry => format!("{contents}{more}\nAsk about specific skills for full documentation."),
        }
    }

    /// Returns the cost of the fixed lines, in 64ths of a token.
    pub(crate) fn frame(self, missing: usize, counter: &dyn TokenCounter) -> usize {
        counter.count_64ths(self.head()) + counter.count_64ths(&self.tail("", missing))
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
            ListStyle::PromptLines => {
                out.push_str(&markup::text(id));
                out.push_str(": ");
                out.push_str(&markup::text(description));
                out.push('\n');
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

/// Returns the longest beginning of a folded text that `fits`, cut after a word, with an ellipsis. In scripts that set no
/// blanks between words, every character ends one.
pub(crate) fn shorten(text: &str, fits: impl Fn(&str) -> bool) -> String {
    // Kana, ideographs and their punctuation; Thai, Lao, Burmese and Khmer. Not Hangul.
    let ends_word = |c: char| matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{a4cf}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}');
    let mut ends: Vec<usize> = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            ' ' if ends.last() != Some(&at) => ends.push(at),
            _ if ends_word(c) && at + c.len_utf8() < text.len() => ends.push(at + c.len_utf8()),
            _ => {}
        }
    }
    let part = |words: usize| {
        let kept = text[..ends[words - 1]].trim_end_matches([',', ';', ':', '.', ' ', '、', '。', '，']);
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
/// Over the limit, every skill has a line instead of elements, every name stays, and descriptions shrink at word
/// boundaries, those of the least valuable skills first: to their first sentences, then to a few words, then to nothing.
/// Names without descriptions are grouped by their beginnings. If even so the names do not fit, those of the most
/// valuable groups are listed, with the sizes of the other groups and a line that says how many skills are missing.
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
///     uses: 0,
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
    let items = entries.into_iter().map(|entry| PendingEntry::new(entry, false));
    list_within_limit(ListStyle::Prompt, items.collect(), limit, counter)
}

/// An entry that is not yet in a list.
pub(crate) struct PendingEntry<'a> {
    pub(crate) entry: ListEntry<'a>,
    /// Whether the description is still the whole one, to be made brief. That takes time, which is wasted if only names
    /// fit.
    pub(crate) is_whole: bool,
    /// The author's brief, if the description is not it.
    pub(crate) brief: Option<String>,
    /// Whether the description is a part of what would have been shown of one skill alone.
    pub(crate) is_shortened: bool,
}

impl<'a> PendingEntry<'a> {
    pub(crate) fn new(entry: ListEntry<'a>, is_whole: bool) -> PendingEntry<'a> {
        PendingEntry { entry, is_whole, brief: None, is_shortened: false }
    }

    pub(crate) fn prepare(&mut self) {
        if self.is_whole {
            self.entry.description = Cow::Owned(brief(&self.entry.description).into_owned());
            self.is_whole = false;
        } else if let Cow::Owned(folded) = visible_line(&self.entry.description) {
            self.entry.description = Cow::Owned(folded);
        }
    }
}

/// Returns the list entry of a skill.
pub(crate) fn list_entry<'c>(skill: &'c Skill, style: ListStyle, config: &DiscloseConfig) -> PendingEntry<'c> {
    let pinned = !config.pinned.is_empty() && config.pinned.contains(skill.name());
    let (id, source) = (skill.name().into(), skill.source());
    if let Some(summary) = skill.summary()
        && !skill.front_matter().contains("priority")
    {
        let entry = ListEntry { id, description: summary.description.into(), priority: 0, source, pinned, uses: 0 };
        return PendingEntry::new(entry, style == ListStyle::Registry);
    }
    let manifest = skill.make_manifest();
    let brief = bounded_brief(&manifest.brief());
    let (description, brief) = match style {
        ListStyle::Prompt | ListStyle::PromptLines => (manifest.description().to_owned(), Some(brief)),
        ListStyle::Registry => (brief, None),
    };
    let (description, priority) = (description.into(), manifest.priority());
    let entry = ListEntry { id, description, priority, source, pinned, uses: 0 };
    PendingEntry { brief, ..PendingEntry::new(entry, false) }
}

/// Shortens a brief description that the author wrote, which may be of any length.
fn bounded_brief(brief: &str) -> String {
    let folded = visible_line(brief);
    let fits = |text: &str| text.chars().count() <= skillcue_format::MAX_BRIEF;
    if fits(&folded) { folded.into_owned() } else { shorten(&folded, fits) }
}

/// Makes a list within a limit: whole if it fits; else with a line a skill and shorter descriptions; else with the names
/// of some skills, and a table of contents of the others.
pub(crate) fn list_within_limit(
    style: ListStyle,
    mut items: Vec<PendingEntry<'_>>,
    limit: Option<Tokens>,
    counter: &dyn TokenCounter,
) -> SkillList {
    if items.is_empty() {
        return SkillList::default();
    }
    items.sort_unstable_by(|a, b| a.entry.id.cmp(&b.entry.id));
    let Some(limit) = limit.filter(|limit| limit.0 > 0).map(|limit| counter.reserve(limit)) else {
        prepare_all(style, &mut items, counter);
        return ListDraft::whole(style, &items).finish(counter).0;
    };
    let mut aim = limit.0.saturating_mul(64);
    let frame = style.frame(0, counter);
    let room = |aim: usize| aim.saturating_sub(frame);
    // With so many skills, to count the parts of every name would be wasted time.
    if items.len().saturating_mul(MIN_NAME) <= room(aim) {
        let ids: Vec<Cow<'_, str>> = items.iter().map(|item| item.entry.id.clone()).collect();
        let names = NameGroups::new(ids.iter().map(|id| &**id), counter);
        let least = names.cost(&vec![true; items.len()]);
        if least <= room(aim) {
            prepare_all(style, &mut items, counter);
            let (whole, taken) = ListDraft::whole(style, &items).finish(counter);
            if taken <= limit {
                return whole;
            }
        }
        while least <= room(aim) {
            let (section, taken) = shrink(style, &items, &names, room(aim), counter).finish(counter);
            match taken.0.saturating_sub(limit.0) {
                0 => return section,
                // Parts were counted one by one; together they may cost a little more.
                over => aim = aim.saturating_sub(over.saturating_mul(64)),
            }
        }
        aim = limit.0.saturating_mul(64);
    }
    let contents = ListContents::new(style, &items, counter);
    let mut best: Option<SkillList> = None;
    loop {
        let (section, taken) = contents.within(aim).finish(counter);
        if taken > limit && aim > 0 {
            // A first list that fits is better than a second that does not.
            match best {
                Some(best) => return best,
                None => aim = aim.saturating_sub((taken.0 - limit.0).saturating_mul(64)),
            }
            continue;
        }
        // Groups were counted one by one; together they may cost less, and leave room for more.
        let spare = limit.0.saturating_sub(taken.0).saturating_mul(64);
        if best.is_some() || spare == 0 || aim == 0 {
            return section;
        }
        (aim, best) = (aim.saturating_add(spare), Some(section));
    }
}

fn prepare_all(style: ListStyle, items: &mut [PendingEntry<'_>], counter: &dyn TokenCounter) {
    items.iter_mut().for_each(PendingEntry::prepare);
    if style == ListStyle::Registry {
        keep_average(items, counter);
    }
}

/// The least that a name can cost in a list, in 64ths of a token: two characters, one of them a blank.
pub(crate) const MIN_NAME: usize = 32;

#[cfg(test)]
#[path = "skill_list_tests.rs"]
mod tests;
