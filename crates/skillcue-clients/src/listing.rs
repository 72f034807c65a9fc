//! The lists of skills that clients make themselves: how much of a set of skills each shows a model, and what it does with the
//! rest.
//!
//! The rules are a field of the table of clients ([`HookAdapter::listings`](crate::hook::HookAdapter::listings)). Each was
//! measured: with 100 and with 1,000 skills the real client's request was read, and the test of the real clients in
//! `skillcue-cli` compares 100 of them again.

use std::collections::BTreeSet;

use serde::Serialize;
use skillcue_catalog::Skill;

/// The month in which the lists of clients were measured.
pub const MEASURED_IN: &str = "November 2026";

/// One skill, as a client lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSkill {
    /// Its name.
    pub name: String,
    /// Its description, whole.
    pub description: String,
    /// The path of its file.
    pub path: String,
}

impl ListedSkill {
    /// Returns a skill of a catalog, as a client would read it.
    pub fn of(skill: &Skill) -> ListedSkill {
        ListedSkill {
            name: skill.name().to_owned(),
            description: match skill.summary() {
                Some(summary) => summary.description.to_owned(),
                None => skill.make_manifest().description().to_owned(),
            },
            path: skill.path().to_string_lossy().into_owned(),
        }
    }
}

/// A client's treatment of entries that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOverflow {
    /// Every name stays; descriptions go altogether, the last names first.
    NamesStay,
    /// Every description is cut to the same length; if even names do not fit, the last are left out.
    CutAll,
    /// The last are left out.
    LeaveOut,
}

/// The unit in which a client counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ListUnit {
    /// Characters.
    Characters,
    /// Four bytes each.
    Tokens,
    /// Bytes.
    Bytes,
}

/// The rule by which a client lists skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListingRule {
    /// The name of the list: the client's, and the model's window if that decides.
    pub name: &'static str,
    /// The rule, in words.
    pub rule: &'static str,
    /// The version of the client with which it was measured in [`MEASURED_IN`]; `None` if it was only read of.
    pub measured: Option<&'static str>,
    /// The size of the list; `None` if there is no limit.
    pub budget: Option<usize>,
    /// The unit of the budget.
    pub unit: ListUnit,
    /// Longer descriptions are cut to so many characters in any case.
    pub max_description: usize,
    /// The number of skills that are listed.
    pub max_skills: usize,
    /// The treatment of what does not fit.
    pub overflow: ListOverflow,
    /// The size of the text around a name and a description.
    pub frame: usize,
    /// Whether each skill is listed with its path.
    pub has_path: bool,
}

/// The list that a client would show of some skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulatedList {
    /// The name of the list.
    pub client: &'static str,
    /// The rule, in words.
    pub rule: &'static str,
    /// The version and the month of the measurement, if the rule was measured.
    pub measured: Option<String>,
    /// The size of the list; `None` if there is no limit.
    pub budget: Option<usize>,
    /// The unit of both sizes.
    pub unit: ListUnit,
    /// The size of all of them.
    pub needed: usize,
    /// The number of skills in folders that the client reads.
    pub read: usize,
    /// Skills in folders that the client does not read.
    pub unread: Vec<String>,
    /// Skills whose descriptions are cut.
    pub shortened: Vec<String>,
    /// Skills of which only the name is left.
    pub name_only: Vec<String>,
    /// Skills that are not listed at all.
    pub omitted: Vec<String>,
}

impl SimulatedList {
    /// Returns whether a model would be shown all that the client reads, whole.
    pub fn is_whole(&self) -> bool {
        self.shortened.is_empty() && self.name_only.is_empty() && self.omitted.is_empty()
    }
}

impl ListingRule {
    /// A list of everything. Each client has its own differences.
    pub const EVERYTHING: ListingRule = ListingRule {
        name: "",
        rule: "everything, whatever it costs",
        measured: None,
        budget: None,
        unit: ListUnit::Tokens,
        max_description: usize::MAX,
        max_skills: usize::MAX,
        overflow: ListOverflow::NamesStay,
        frame: 0,
        has_path: false,
    };

    fn size(&self, text: &str) -> usize {
        if self.unit == ListUnit::Characters { text.chars().count() } else { text.len() }
    }

    /// Returns the size of an entry without its description.
    fn bare(&self, skill: &ListedSkill) -> usize {
        self.frame + self.size(&skill.name) + if self.has_path { self.size(&skill.path) } else { 0 }
    }

    /// Simulates the list of some skills, which are sorted by name.
    ///
    /// ```
    /// use skillcue_clients::Client;
    /// use skillcue_clients::hook::HookAdapter;
    /// use skillcue_clients::listing::ListedSkill;
    ///
    /// let one = |n: u32| ListedSkill { name: format!("s{n:03}"), description: "x".repeat(300), path: String::new() };
    /// let skills: Vec<ListedSkill> = (0..100).map(one).collect();
    /// let claude = HookAdapter::of(Client::Claude).unwrap().listings[0].simulate(&skills);
    /// assert!(claude.name_only.len() > 95 && claude.omitted.is_empty());
    /// ```
    pub fn simulate(&self, skills: &[ListedSkill]) -> SimulatedList {
        // Bytes and characters are counted; a token is four bytes.
        let scale = if self.unit == ListUnit::Tokens { 4 } else { 1 };
        let (mut shortened, mut name_only, mut omitted) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut entries = Vec::with_capacity(skills.len());
        for skill in skills {
            let all = skill.description.chars().count();
            if all > self.max_description {
                shortened.insert(skill.name.as_str());
            }
            let shown: String = skill.description.chars().take(self.max_description).collect();
            entries.push((skill, self.bare(skill), self.size(&shown)));
        }
        let needed: usize = entries.iter().map(|(_, bare, description)| bare + description).sum();
        let room = self.budget.map_or(usize::MAX, |budget| budget * scale);
        match self.overflow {
            ListOverflow::NamesStay => {
                let mut over = needed.saturating_sub(room);
                for (skill, _, description) in entries.iter().rev() {
                    if over == 0 {
                        break;
                    }
                    over = over.saturating_sub(*description);
                    name_only.insert(skill.name.as_str());
                }
            }
            ListOverflow::LeaveOut => {
                let mut used = 0;
                for (at, (skill, bare, description)) in entries.iter().enumerate() {
                    used += bare + description;
                    if used > room || at >= self.max_skills {
                        omitted.insert(skill.name.as_str());
                    }
                }
            }
            ListOverflow::CutAll => {
                let mut used = 0;
                let mut kept = Vec::new();
                for (skill, bare, description) in &entries {
                    used += bare;
                    if used > room {
                        omitted.insert(skill.name.as_str());
                    } else {
                        kept.push((*skill, *description));
                    }
                }
                let names: usize = entries.iter().take(kept.len()).map(|(_, bare, _)| bare).sum();
                let level = level(&kept, room.saturating_sub(names));
                for (skill, _) in kept.iter().filter(|(_, description)| *description > level) {
                    if level == 0 { &mut name_only } else { &mut shortened }.insert(skill.name.as_str());
                }
            }
        }
        shortened.retain(|name| !omitted.contains(name) && !name_only.contains(name));
        let names = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
        SimulatedList {
            client: self.name,
            rule: self.rule,
            measured: self.measured.map(|version| format!("{version}, {MEASURED_IN}")),
            budget: self.budget,
            unit: self.unit,
            needed: needed.div_ceil(scale),
            read: skills.len(),
            unread: Vec::new(),
            shortened: names(shortened),
            name_only: names(name_only),
            omitted: names(omitted),
        }
    }
}

/// Returns the length to which all descriptions must be shortened so that they fit; `usize::MAX` if they do.
fn level(descriptions: &[(&ListedSkill, usize)], room: usize) -> usize {
    let mut sizes: Vec<usize> = descriptions.iter().map(|(_, size)| *size).collect();
    sizes.sort_unstable();
    let (mut left, mut many) = (room, sizes.len());
    for size in sizes {
        if size.saturating_mul(many) > left {
            return left / many;
        }
        left -= size;
        many -= 1;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;
    use crate::hook::HookAdapter;

    fn skills(count: usize, description: usize) -> Vec<ListedSkill> {
        let one = |n: usize| ListedSkill {
            name: format!("skill-{n:04}"),
            description: "x".repeat(description),
            path: format!("/home/person/.agents/skills/skill-{n:04}/SKILL.md"),
        };
        (0..count).map(one).collect()
    }

    fn all(skills: &[ListedSkill]) -> Vec<SimulatedList> {
        HookAdapter::clients()
            .filter_map(HookAdapter::of)
            .flat_map(|adapter| adapter.listings)
            .map(|rule| rule.simulate(skills))
            .collect()
    }

    fn of(client: Client, at: usize, skills: &[ListedSkill]) -> SimulatedList {
        HookAdapter::of(client).unwrap().listings[at].simulate(skills)
    }

    #[test]
    fn few_skills_fit_everywhere() {
        for simulated in all(&skills(5, 200)) {
            assert!(simulated.is_whole(), "{simulated:?}");
            assert!(simulated.needed > 0 && simulated.budget.is_none_or(|budget| simulated.needed <= budget));
            assert!(simulated.measured.is_some_and(|measured| measured.ends_with(MEASURED_IN)));
        }
        assert!(all(&[]).iter().all(|simulated| simulated.needed == 0));
    }

    /// By descriptions of 300 characters, of which 100 and 1,000 were tried with the clients.
    #[test]
    fn clients_lose_what_was_measured() {
        let (hundred, thousand) = (skills(100, 300), skills(1_000, 300));
        assert!(of(Client::Claude, 0, &hundred).name_only.len() >= 98);
        assert!((24..=30).contains(&of(Client::Claude, 1, &hundred).name_only.len()));
        assert!(of(Client::Claude, 1, &thousand).name_only.len() >= 950);
        let codex = of(Client::Codex, 0, &hundred);
        assert_eq!((codex.shortened.len(), codex.omitted.len()), (100, 0));
        let codex = of(Client::Codex, 0, &thousand);
        assert!((690..=760).contains(&codex.omitted.len()), "{}", codex.omitted.len());
        assert_eq!(codex.name_only.len() + codex.omitted.len(), 1_000, "nothing is left to shorten");
        assert!((60..=66).contains(&of(Client::Copilot, 0, &hundred).name_only.len()));
        for client in [Client::Gemini, Client::Opencode, Client::Qwen] {
            let list = of(client, 0, &hundred);
            assert!(list.is_whole() && (10_000..=13_000).contains(&list.needed), "{list:?}");
        }
    }

    #[test]
    fn long_descriptions_are_cut_first() {
        let long = skills(1, 1_700);
        assert_eq!(of(Client::Claude, 0, &long).shortened, ["skill-0000"]);
        assert_eq!(of(Client::Codex, 0, &long).shortened, ["skill-0000"]);
        assert!(of(Client::Gemini, 0, &long).shortened.is_empty());
    }

    #[test]
    fn all_are_cut_alike() {
        let mut some = skills(3, 10);
        some[2].description = "y".repeat(100);
        let kept: Vec<(&ListedSkill, usize)> = some.iter().map(|skill| (skill, skill.description.len())).collect();
        assert_eq!(level(&kept, 120), usize::MAX);
        assert_eq!(level(&kept, 60), 40);
        assert_eq!(level(&kept, 9), 3);
    }
}
