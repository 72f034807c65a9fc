//! A list of more skills than a budget has room for names: whole groups of names, and the sizes of the other groups.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::TokenCounter;
use crate::list_draft::ListDraft;
use crate::name_groups::{NameGroups, family};
use crate::skill_list::{ListStyle, MIN_NAME, PendingEntry};

/// The words before the sizes of groups.
const INTRO: &str = "Not listed, by the beginnings of their names:";

/// The share of the room that the table of contents may take.
const CONTENTS_SHARE: usize = 4;
/// The number of groups that do not fit, after which no more are tried.
const MAX_MISFITS: usize = 100;

/// A list that cannot have all names.
pub(crate) struct ListContents<'i, 'e> {
    style: ListStyle,
    items: &'i [PendingEntry<'e>],
    counter: &'i dyn TokenCounter,
    /// Groups of skills that are listed together or not at all, the most valuable first.
    groups: Vec<NameGroup>,
}

/// Skills whose names begin alike, by their numbers, the most valuable first; or one skill.
struct NameGroup(Vec<usize>);

impl<'i, 'e> ListContents<'i, 'e> {
    pub(crate) fn new(
        style: ListStyle,
        items: &'i [PendingEntry<'e>],
        counter: &'i dyn TokenCounter,
    ) -> ListContents<'i, 'e> {
        let mut groups: Vec<NameGroup> = Vec::new();
        let mut families: BTreeMap<&str, usize> = BTreeMap::new();
        let mut last = None;
        for (at, PendingEntry { entry, .. }) in items.iter().enumerate() {
            // What the configuration or an author asks for does not wait for room for its group.
            let family = family(&entry.id).filter(|_| !entry.pinned && entry.priority <= 0);
            let Some(family) = family else {
                groups.push(NameGroup(vec![at]));
                continue;
            };
            let group = match last {
                Some((before, group)) if before == family => group,
                _ => *families.entry(family).or_insert_with(|| {
                    groups.push(NameGroup(Vec::new()));
                    groups.len() - 1
                }),
            };
            groups[group].0.push(at);
            last = Some((family, group));
        }
        for NameGroup(members) in &mut groups {
            members.sort_by(|a, b| items[*a].entry.compare(&items[*b].entry));
        }
        groups.sort_unstable_by(|NameGroup(a), NameGroup(b)| items[a[0]].entry.compare(&items[b[0]].entry));
        ListContents { style: style.compact(), items, counter, groups }
    }

    /// Returns a list of at most `aim` 64ths of a token, if the fixed lines leave room for one.
    pub(crate) fn within(&self, aim: usize) -> ListDraft<'i> {
        let room = aim.saturating_sub(self.style.frame(self.items.len(), self.counter));
        let (listed, left) = self.choose(room - room / CONTENTS_SHARE);
        let mut draft = ListDraft::new(self.style);
        let mut ids = Vec::new();
        for (PendingEntry { entry, .. }, listed) in self.items.iter().zip(&listed) {
            match listed {
                true if entry.description.is_empty() => ids.push(&*entry.id),
                true => {
                    ids.push(&*entry.id);
                    draft.shortened.push(entry.id.to_string());
                }
                false => draft.omitted.push(entry.id.to_string()),
            }
        }
        let groups = NameGroups::new(ids.iter().copied(), self.counter);
        draft.beginnings = groups.write(&mut draft.names, &vec![true; ids.len()]);
        draft.contents = self.table(&draft.omitted, room / CONTENTS_SHARE + left);
        draft
    }

    /// Chooses the names that are listed, and returns the room that is left.
    fn choose(&self, room: usize) -> (Vec<bool>, usize) {
        let mut listed = vec![false; self.items.len()];
        let mut list = |at: usize| listed[at] = true;
        let mut left = room.saturating_sub(NameGroups::new([], self.counter).intro());
        let mut misfits: Vec<&[usize]> = Vec::new();
        for NameGroup(members) in &self.groups {
            if left < MIN_NAME || misfits.len() == MAX_MISFITS {
                break;
            }
            match self.cost(members, left) {
                Some(cost) => {
                    left -= cost;
                    members.iter().copied().for_each(&mut list);
                }
                None => misfits.push(members),
            }
        }
        // A part of a group is better than nothing.
        for members in misfits {
            let (mut low, mut high) = (0, members.len().min(left / MIN_NAME + 1));
            while low + 1 < high {
                let middle = usize::midpoint(low, high);
                if self.cost(&members[..middle], left).is_some() { low = middle } else { high = middle }
            }
            if low > 0 {
                left -= self.cost(&members[..low], left).unwrap_or_default();
                members[..low].iter().copied().for_each(&mut list);
                break;
            }
        }
        (listed, left)
    }

    /// Returns the cost of names, if it is no more than `left`.
    fn cost(&self, members: &[usize], left: usize) -> Option<usize> {
        if members.len().saturating_mul(MIN_NAME) > left {
            return None;
        }
        let mut ids: Vec<&str> = members.iter().map(|at| &*self.items[*at].entry.id).collect();
        ids.sort_unstable();
        let cost = NameGroups::new(ids, self.counter).cost_below_intro(&vec![true; members.len()]);
        (cost <= left).then_some(cost)
    }

    /// Returns the table of contents: how many skills of each group are missing. The largest groups that fit, in the
    /// order of their names. Empty if not even one fits.
    fn table(&self, omitted: &[String], room: usize) -> String {
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for family in omitted.iter().filter_map(|id| family(id)) {
            *sizes.entry(family).or_default() += 1;
        }
        let mut groups: Vec<(&str, usize)> = sizes.into_iter().filter(|(_, size)| *size > 1).collect();
        groups.sort_by_key(|(_, size)| Reverse(*size));
        let mut room = room.saturating_sub(self.counter.count_64ths(INTRO));
        let mut scratch = String::new();
        let mut fits = |(family, size): &(&str, usize)| {
            scratch.clear();
            let _ = write!(scratch, " {family}*({size})");
            let cost = self.counter.count_64ths(&scratch);
            let is_fitting = cost <= room;
            room = room.saturating_sub(cost);
            is_fitting
        };
        let fitting = groups.iter().take_while(|group| fits(group)).count();
        groups.truncate(fitting);
        if groups.is_empty() {
            return String::new();
        }
        groups.sort_unstable();
        let mut text = INTRO.to_owned();
        for (family, size) in groups {
            let _ = write!(text, " {family}*({size})");
        }
        text.push('\n');
        text
    }
}
