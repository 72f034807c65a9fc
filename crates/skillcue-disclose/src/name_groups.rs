//! Names in groups: `web-* css html` stands for the ids `web-css` and `web-html`, `*-css grid web` for `grid-css` and
//! `web-css`. A word with `*` ends the group before it; names in no group come first.
//!
//! Blanks separate names and groups because they cost nothing: a token has the blank before its word in it. Commas would
//! cost one token a name, lines one a group. No id has a blank or an asterisk, so every id can be put together again.

use std::borrow::Cow;
use std::collections::BTreeMap;

use skillcue_base::markup;

use crate::TokenCounter;

/// The words before names that are in groups; and before names that are not.
const GROUPED: &str =
    "Names only (words after one with `*` go in its place: `web-* css html` is web-css and web-html):\n";
const PLAIN: &str = "Names only:\n";

/// The number of places at which one name may be divided.
const MAX_DEPTH: usize = 6;

/// Returns the part of an id by which a table of contents groups it: the server or plugin, or the first word. `None` for
/// an id of one word.
pub(crate) fn family(id: &str) -> Option<&str> {
    let end = id.find(':').or_else(|| id.find('-'))? + 1;
    (end < id.len()).then(|| &id[..end])
}

/// Writes names on few tokens: those that begin alike are a group where that costs less, and of the others those that
/// end alike.
pub(crate) struct NameGroups<'a> {
    counter: &'a dyn TokenCounter,
    ids: Vec<&'a str>,
    by_start: AffixTree,
    by_end: AffixTree,
    /// The cost of the words before names that are in groups, and that are not.
    intro: usize,
    plain_intro: usize,
}

impl<'a> NameGroups<'a> {
    /// Makes one of names without duplicates, in their order.
    pub(crate) fn new(ids: impl IntoIterator<Item = &'a str>, counter: &'a dyn TokenCounter) -> NameGroups<'a> {
        let ids: Vec<&str> = ids.into_iter().collect();
        let [by_start, by_end] = [Side::Start, Side::End].map(|side| AffixTree::new(side, &ids, counter));
        let [intro, plain_intro] = [GROUPED, PLAIN].map(|words| counter.count_64ths(words));
        NameGroups { counter, ids, by_start, by_end, intro, plain_intro }
    }

    /// Returns the most that the words before the names cost, in 64ths of a token.
    pub(crate) fn intro(&self) -> usize {
        self.intro
    }

    /// Returns what these names take of a limit's reserve, in 64ths of a token.
    pub(crate) fn cost(&self, kept: &[bool]) -> usize {
        let (cost, is_grouped) = self.divide(kept);
        match cost {
            0 => 0,
            _ => cost + if is_grouped { self.intro } else { self.plain_intro },
        }
    }

    /// Like [`cost`](NameGroups::cost), without the words before the names.
    pub(crate) fn cost_below_intro(&self, kept: &[bool]) -> usize {
        self.divide(kept).0
    }

    /// Returns the cost of these names in the cheapest groups, and whether there are any.
    fn divide(&self, kept: &[bool]) -> (usize, bool) {
        let (starts, single) = self.by_start.divide(kept);
        let (ends, alone) = self.by_end.divide(&single);
        // The first division has the cost of names in no group, too.
        let twice: usize =
            single.iter().zip(&self.by_start.names).filter(|(is, _)| **is).map(|(_, name)| name[0].1).sum();
        (self.counter.names_64ths(starts.cost - twice + ends.cost, 0), alone != kept)
    }

    /// Appends these names: those in no group, then each group. Returns the number of words that begin a name.
    pub(crate) fn write(&self, out: &mut String, kept: &[bool]) -> usize {
        let (starts, single) = self.by_start.divide(kept);
        let (ends, _) = self.by_end.divide(&single);
        let mut groups: BTreeMap<(Side, &str), Vec<&str>> = BTreeMap::new();
        for (at, id) in self.ids.iter().enumerate().filter(|(at, _)| kept[*at]) {
            let (side, tree, grouping) =
                if single[at] { (Side::End, &self.by_end, &ends) } else { (Side::Start, &self.by_start, &starts) };
            let (cut, _) = tree.names[at][grouping.opened[tree.nodes_of[at]]];
            let (affix, rest) = side.split(id, cut);
            groups.entry((if affix.is_empty() { Side::Start } else { side }, affix)).or_default().push(rest);
        }
        if groups.is_empty() {
            return 0;
        }
        out.push_str(if groups.keys().all(|(_, affix)| affix.is_empty()) { PLAIN } else { GROUPED });
        let (mut words, mut beginnings) = (Vec::new(), 0);
        for ((side, affix), names) in groups {
            beginnings += if side == Side::Start && !affix.is_empty() { 1 } else { names.len() };
            if !affix.is_empty() {
                words.push(Cow::Owned(side.pattern(affix)));
            }
            words.extend(names.into_iter().map(Cow::Borrowed));
        }
        out.push_str(&markup::text(&words.join(" ")));
        out.push('\n');
        beginnings
    }
}

/// The side on which names are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Start,
    End,
}

impl Side {
    /// Returns the places where a name may be divided, as the lengths of what it shares with others.
    fn cuts(self, id: &str) -> Vec<usize> {
        let marks = id.match_indices(['-', ':']).map(|(at, _)| at);
        let cuts = match self {
            Side::Start => marks.map(|at| at + 1).take(MAX_DEPTH).collect(),
            Side::End => marks.rev().map(|at| id.len() - at).take(MAX_DEPTH).collect::<Vec<usize>>(),
        };
        cuts.into_iter().filter(|cut| *cut < id.len()).collect()
    }

    /// Divides a name into what it shares, of this length, and the rest.
    fn split(self, id: &str, cut: usize) -> (&str, &str) {
        match self {
            Side::Start => id.split_at(cut),
            Side::End => {
                let (rest, affix) = id.split_at(id.len() - cut);
                (affix, rest)
            }
        }
    }

    fn pattern(self, affix: &str) -> String {
        match self {
            Side::Start => format!("{affix}*"),
            Side::End => format!("*{affix}"),
        }
    }
}

/// The beginnings or the ends that several names share, as a tree.
struct AffixTree {
    /// For each name, the places where it may be divided, with the cost of the rest. At the first it is whole.
    names: Vec<Vec<(usize, usize)>>,
    /// For each name, the longest that it shares.
    nodes_of: Vec<usize>,
    /// Each node after the one that it is in. The first is empty.
    nodes: Vec<SharedAffix>,
}

struct SharedAffix {
    parent: usize,
    depth: usize,
    /// The cost of the word with `*`.
    pattern: usize,
}

/// The cheapest groups for some of the names.
struct Grouping {
    cost: usize,
    /// For each node, the depth of the one in whose group its names are.
    opened: Vec<usize>,
}

impl AffixTree {
    fn new(side: Side, ids: &[&str], counter: &dyn TokenCounter) -> AffixTree {
        let mut scratch = String::from(" ");
        let mut cost = |text: &str, begins: bool| {
            scratch.truncate(1);
            scratch.push_str(text);
            counter.names_64ths(counter.count_64ths(&scratch), usize::from(begins))
        };
        let mut names: Vec<Vec<(usize, usize)>> = Vec::with_capacity(ids.len());
        for id in ids {
            let cuts = std::iter::once(0).chain(side.cuts(id));
            let begins = |cut: usize| side == Side::End || cut == 0;
            names.push(cuts.map(|cut| (cut, cost(side.split(id, cut).1, begins(cut)))).collect());
        }
        let mut order: Vec<usize> = (0..ids.len()).collect();
        if side == Side::End {
            order.sort_unstable_by(|a, b| ids[*a].bytes().rev().cmp(ids[*b].bytes().rev()));
        }
        // Returns how many of the parts of two names are equal.
        let shared = |a: Option<&usize>, b: Option<&usize>| {
            let (Some(&a), Some(&b)) = (a, b) else { return 0 };
            let is_equal = |((of_a, _), (of_b, _)): &(&(usize, usize), &(usize, usize))| {
                of_a == of_b && side.split(ids[a], *of_a).0 == side.split(ids[b], *of_b).0
            };
            names[a].iter().zip(&names[b]).take_while(is_equal).count() - 1
        };
        let mut nodes = vec![SharedAffix { parent: 0, depth: 0, pattern: 0 }];
        let mut nodes_of = vec![0; ids.len()];
        // The nodes that the name before is in, the shortest first.
        let mut path = vec![0];
        for (nth, &at) in order.iter().enumerate() {
            path.truncate(shared(nth.checked_sub(1).and_then(|before| order.get(before)), Some(&at)) + 1);
            for depth in path.len()..=shared(Some(&at), order.get(nth + 1)) {
                let affix = side.split(ids[at], names[at][depth].0).0;
                let pattern = cost(&side.pattern(affix), side == Side::Start);
                nodes.push(SharedAffix { parent: path[depth - 1], depth, pattern });
                path.push(nodes.len() - 1);
            }
            nodes_of[at] = path[path.len() - 1];
        }
        AffixTree { names, nodes_of, nodes }
    }

    /// Chooses the groups that cost the least, and returns which names are in none.
    fn divide(&self, kept: &[bool]) -> (Grouping, Vec<bool>) {
        // For each node, the cost of the names in it in a group of each depth.
        let mut costs = vec![[0_usize; MAX_DEPTH + 1]; self.nodes.len()];
        let mut is_used = vec![false; self.nodes.len()];
        for (at, name) in self.names.iter().enumerate().filter(|(at, _)| kept[*at]) {
            let node = self.nodes_of[at];
            is_used[node] = true;
            for (total, (_, cost)) in costs[node].iter_mut().zip(name).take(self.nodes[node].depth + 1) {
                *total += cost;
            }
        }
        let mut opens = vec![[false; MAX_DEPTH + 1]; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().skip(1).rev() {
            if !is_used[at] {
                continue;
            }
            is_used[node.parent] = true;
            let own = node.pattern + costs[at][node.depth];
            for depth in 0..node.depth {
                opens[at][depth] = own < costs[at][depth];
                costs[node.parent][depth] += own.min(costs[at][depth]);
            }
        }
        let mut opened = vec![0; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().skip(1) {
            let around = opened[node.parent];
            opened[at] = if opens[at][around] { node.depth } else { around };
        }
        let single = self.nodes_of.iter().zip(kept).map(|(node, kept)| *kept && opened[*node] == 0).collect();
        (Grouping { cost: costs[0][0], opened }, single)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes4, Segment};

    fn written(ids: &[&str]) -> String {
        let mut text = String::new();
        NameGroups::new(ids.iter().copied(), &Bytes4).write(&mut text, &vec![true; ids.len()]);
        text
    }

    #[test]
    fn names_that_begin_alike_are_a_group() {
        let text = written(&["azure-cosmos", "azure-keyvault", "azure-storage-blob", "azure-storage-queue", "pdf"]);
        assert_eq!(text, format!("{GROUPED}pdf azure-* cosmos keyvault storage-blob storage-queue\n"));
        assert_eq!(written(&["a-b", "a-c"]), format!("{PLAIN}a-b a-c\n"), "a group of two short names costs more");
        assert_eq!(written(&[]), "");
    }

    #[test]
    fn names_that_end_alike_are_a_group() {
        let text = written(&["asana-automation", "brex-automation", "pdf", "web-css", "zoom-automation"]);
        assert_eq!(text, format!("{GROUPED}pdf web-css *-automation asana brex zoom\n"));
    }

    #[test]
    fn a_group_in_a_group_has_a_pattern_of_its_own() {
        let text = written(&[
            "microsoft-azure-management-compute",
            "microsoft-azure-management-network",
            "microsoft-azure-management-storage",
            "microsoft-fabric",
            "microsoft-foundry",
            "microsoft-graph",
        ]);
        let lines = "microsoft-* fabric foundry graph microsoft-azure-management-* compute network storage\n";
        assert_eq!(text, format!("{GROUPED}{lines}"));
    }

    #[test]
    fn servers_are_groups_and_the_beginning_itself_is_none() {
        let text =
            written(&["acme", "acme-", "acme-refund-policy", "acme:pay", "acme:refund", "acme:send", "acme:void"]);
        assert_eq!(text, format!("{GROUPED}acme acme- acme-refund-policy acme:* pay refund send void\n"));
        assert_eq!(family("acme-pay:refund-all"), Some("acme-pay:"));
        assert_eq!((family("web-css-grid"), family("pdf"), family("web-")), (Some("web-"), None, None));
    }

    #[test]
    fn the_cost_is_that_of_the_text() {
        let ids: Vec<String> =
            (0..60).map(|i| format!("group-{}-skill-{i}-{}", i % 3, ["x", "server"][i % 2])).collect();
        let mut ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        ids.sort_unstable();
        let groups = NameGroups::new(ids.iter().copied(), &Segment);
        let kept: Vec<bool> = (0..60).map(|i| i % 4 > 0).collect();
        let mut text = String::new();
        let beginnings = groups.write(&mut text, &kept);
        let (cost, actual) = (groups.cost(&kept), Segment.names_64ths(Segment.count_64ths(&text), beginnings));
        assert!(cost.abs_diff(actual) < 3 * 64, "{cost} {actual}");
        assert_eq!(groups.cost(&[false; 60]), 0);
    }
}
