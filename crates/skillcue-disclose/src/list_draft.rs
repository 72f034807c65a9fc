//! A list of skills before it is written: which descriptions it has, and how short they are.

use std::borrow::Cow;

use skillcue_format::{Tokens, brief};

use crate::lead_in::shorten_telling;
use crate::name_groups::NameGroups;
use crate::skill_list::{ListStyle, PendingEntry, shorten};
use crate::{ListEntry, SkillList, TokenCounter};

/// The parts of a list.
pub(crate) struct ListDraft<'i> {
    style: ListStyle,
    /// The skills with descriptions, in the order of their names.
    described: Vec<(&'i str, Cow<'i, str>)>,
    /// The text of the names without descriptions.
    pub(crate) names: String,
    /// The number of words in `names` that begin a name.
    pub(crate) beginnings: usize,
    /// The text about the groups of the missing skills.
    pub(crate) contents: String,
    pub(crate) shortened: Vec<String>,
    pub(crate) omitted: Vec<String>,
}

impl<'i> ListDraft<'i> {
    pub(crate) fn new(style: ListStyle) -> ListDraft<'i> {
        let (names, contents) = (String::new(), String::new());
        let (shortened, omitted) = (Vec::new(), Vec::new());
        ListDraft { style, described: Vec::new(), names, beginnings: 0, contents, shortened, omitted }
    }

    /// Returns a list of all that the items have.
    pub(crate) fn whole(style: ListStyle, items: &'i [PendingEntry<'_>]) -> ListDraft<'i> {
        let described = items.iter().map(|item| (&*item.entry.id, Cow::Borrowed(&*item.entry.description)));
        let shortened = items.iter().filter(|item| item.is_shortened).map(|item| item.entry.id.to_string());
        ListDraft { described: described.collect(), shortened: shortened.collect(), ..ListDraft::new(style) }
    }

    /// Writes and counts the list. Returns what it takes of a limit's reserve, too.
    pub(crate) fn finish(self, counter: &dyn TokenCounter) -> (SkillList, Tokens) {
        let mut text = self.style.head().to_owned();
        for (id, description) in &self.described {
            self.style.write(&mut text, id, description);
        }
        if self.style == ListStyle::Registry && !self.described.is_empty() && !self.names.is_empty() {
            // Otherwise the names would belong to the last item of the list.
            text.push('\n');
        }
        text.push_str(&self.names);
        text.push_str(&self.style.tail(&self.contents, self.omitted.len()));
        let tokens = counter.count(&text);
        let taken = if self.names.is_empty() {
            tokens
        } else {
            let names = counter.count_64ths(&self.names);
            let others = counter.count_64ths(&text).saturating_sub(names);
            Tokens((others + counter.names_64ths(names, self.beginnings)).div_ceil(64))
        };
        let (shortened, omitted) = (self.shortened, self.omitted);
        (SkillList { tokens, text: text.into(), shortened, omitted }, taken)
    }
}

/// The size, in 64ths of a token, to which every description shrinks before the first is dropped.
const MIN_DESCRIPTION: usize = 8 * 64;

/// A description in a list, with the costs of its line in 64ths of a token.
struct DescriptionCosts {
    whole: usize,
    brief: usize,
    /// The cost from which a shorter description is rather dropped.
    least: usize,
}

impl DescriptionCosts {
    fn of(entry: &ListEntry<'_>, brief: &str, style: ListStyle, counter: &dyn TokenCounter) -> DescriptionCosts {
        let mut scratch = String::new();
        let mut cost = |text: &str| style.cost(&entry.id, text, counter, &mut scratch);
        let whole = cost(&entry.description);
        let brief = cost(brief).min(whole);
        DescriptionCosts { whole, brief, least: (cost("") + MIN_DESCRIPTION).min(brief) }
    }
}

/// Returns a list of all names, with the descriptions shortened to fit into `room` 64ths of a token: from the least
/// valuable skill on, first to their briefs, then to a few words, then to nothing.
pub(crate) fn shrink<'i>(
    style: ListStyle,
    items: &'i [PendingEntry<'_>],
    names: &NameGroups<'_>,
    room: usize,
    counter: &dyn TokenCounter,
) -> ListDraft<'i> {
    let style = style.compact();
    let briefs: Vec<Cow<'_, str>> = items
        .iter()
        .map(|item| match (&item.brief, style) {
            (Some(brief), _) => Cow::Borrowed(&**brief),
            (None, ListStyle::Registry) => Cow::Borrowed(&*item.entry.description),
            (None, _) => brief(&item.entry.description),
        })
        .collect();
    let costs: Vec<DescriptionCosts> = items
        .iter()
        .zip(&briefs)
        .map(|(item, brief)| DescriptionCosts::of(&item.entry, brief, style, counter))
        .collect();
    let mut worst: Vec<usize> = (0..items.len()).filter(|at| !items[*at].entry.description.is_empty()).collect();
    worst.sort_unstable_by(|a, b| items[*b].entry.compare(&items[*a].entry));
    let is_bare: Vec<bool> = items.iter().map(|item| item.entry.description.is_empty()).collect();
    let bare = |count: usize| {
        let mut bare = is_bare.clone();
        worst[..count].iter().for_each(|at| bare[*at] = true);
        bare
    };
    let fits = |count: usize| {
        names.cost(&bare(count)) + worst[count..].iter().map(|at| costs[*at].least).sum::<usize>() <= room
    };
    // The least number of names without descriptions. All of them fit, as the caller knows.
    let (mut low, mut high) = (0, worst.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if fits(middle) { high = middle } else { low = middle + 1 }
    }
    let (mut bare, kept) = (bare(low), &worst[low..]);
    let mut now: Vec<usize> = costs.iter().map(|costs| costs.whole).collect();
    let mut texts: Vec<Option<Cow<'_, str>>> = vec![None; items.len()];
    let mut over = (names.cost(&bare) + kept.iter().map(|at| now[*at]).sum::<usize>()).saturating_sub(room);
    for floor in [|costs: &DescriptionCosts| costs.brief, |costs: &DescriptionCosts| costs.least] {
        for &at in kept {
            if over == 0 {
                break;
            }
            let (entry, floor) = (&items[at].entry, floor(&costs[at]));
            if now[at] <= floor {
                continue;
            }
            let aim = now[at].saturating_sub(over).max(floor);
            let cost = |text: &str| style.cost(&entry.id, text, counter, &mut String::new());
            let text = match costs[at].brief {
                brief if aim == brief => briefs[at].clone(),
                brief if aim > brief => {
                    let part = shorten(&entry.description, |part| cost(part) <= aim);
                    if part.len() > briefs[at].len() + '…'.len_utf8() { Cow::Owned(part) } else { briefs[at].clone() }
                }
                _ => Cow::Owned(shorten_telling(&briefs[at], |part| cost(part) <= aim)),
            };
            let cost = cost(&text);
            over = over.saturating_sub(now[at].saturating_sub(cost));
            now[at] = cost;
            texts[at] = Some(text);
        }
    }
    let mut draft = ListDraft::new(style);
    for (at, (item, text)) in items.iter().zip(texts).enumerate() {
        let entry = &item.entry;
        // A first word that is too long leaves nothing.
        bare[at] |= text.as_deref().is_some_and(str::is_empty);
        let is_cut = item.is_shortened || text.is_some() || bare[at];
        if is_cut && !entry.description.is_empty() {
            draft.shortened.push(entry.id.to_string());
        }
        if !bare[at] {
            draft.described.push((&entry.id, text.unwrap_or(Cow::Borrowed(&*entry.description))));
        }
    }
    draft.beginnings = names.write(&mut draft.names, &bare);
    draft
}

/// The cost of a line of the registry, on average. Whole briefs of public skills cost 24.
const REGISTRY_LINE: Tokens = Tokens(15);
/// The number of skills up to which the registry is not worth shortening.
const MAX_SHORT_REGISTRY: usize = 10;

/// Cuts the longest briefs at a word, all to about one length, until the lines of a registry have their average.
pub(crate) fn keep_average(items: &mut [PendingEntry<'_>], counter: &dyn TokenCounter) {
    let cost =
        |entry: &ListEntry<'_>, text: &str| ListStyle::Registry.cost(&entry.id, text, counter, &mut String::new());
    let mut costs: Vec<(usize, usize)> = Vec::with_capacity(items.len());
    for PendingEntry { entry, .. } in items.iter() {
        let bare = cost(entry, "");
        costs.push((bare, cost(entry, &entry.description).saturating_sub(bare)));
    }
    let limit = counter.reserve(Tokens(REGISTRY_LINE.0 * items.len().max(MAX_SHORT_REGISTRY)));
    let fixed = ListStyle::Registry.frame(0, counter) + costs.iter().map(|(bare, _)| bare).sum::<usize>();
    let mut room = (limit.0 * 64).saturating_sub(fixed);
    let mut adds: Vec<usize> = costs.iter().map(|(_, add)| *add).collect();
    adds.sort_unstable();
    let mut left = adds.len();
    // What short briefs do not need of their equal shares goes to the others.
    let share = adds.into_iter().find_map(|add| {
        let share = room / left;
        (room, left) = (room.saturating_sub(add), left - 1);
        (add > share).then_some(share)
    });
    let Some(share) = share else { return };
    for (item, (bare, add)) in items.iter_mut().zip(costs) {
        if add > share {
            let text = shorten_telling(&item.entry.description, |part| cost(&item.entry, part) <= bare + share);
            (item.entry.description, item.is_shortened) = (Cow::Owned(text), true);
        }
    }
}
