//! Simulations of clients: how much of a list of skills each shows a model, and what it does with the rest.
//!
//! Every number has its source beside it. Clients change: "measured" is what the real client sent to a model in November
//! 2026, with 100 and with 1,000 skills; the others are of mid-2026. Where the size of the window decides, it has 200,000
//! tokens. Gemini CLI, opencode and Qwen Code have no rule here: measured, they list everything.

use std::collections::BTreeSet;

use serde::Serialize;

/// One skill, as a client lists it.
#[derive(Debug, Clone)]
pub(super) struct ListedSkill {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) path: String,
}

/// A client's treatment of entries that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overflow {
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
pub(super) enum Unit {
    Characters,
    /// Four bytes each.
    Tokens,
    Bytes,
}

/// The rules by which one client lists skills.
#[derive(Debug, Clone, Copy)]
struct ClientRule {
    name: &'static str,
    rule: &'static str,
    budget: usize,
    unit: Unit,
    /// Longer descriptions are cut to so many characters in any case.
    description: usize,
    /// At most so many skills.
    skills: usize,
    overflow: Overflow,
    /// The size of the text around name and description.
    frame: usize,
    /// Whether each skill is listed with its path.
    has_path: bool,
}

const CLIENTS: [ClientRule; 6] = [
    // code.claude.com/docs/en/skills, "skill descriptions are cut short": 1 % of the window
    // (`skillListingBudgetFraction` 0.01), four characters a token, 8,000 characters if the window is not known; each
    // description at most 1,536 (`skillListingMaxDescChars`); names are never left out. It drops the descriptions of
    // the least used skills first; those are not known here, so the last by name are taken for them. A line is `- name:
    // description`. Measured (2.1.325): its own skills use about 6,000 of the 8,000 characters first; of 100 skills of the
    // user's every description was gone.
    ClientRule {
        name: "Claude Code",
        rule: "1 % of 200,000 tokens, 4 characters each, less 6,000 for its own skills",
        budget: 2_000,
        unit: Unit::Characters,
        description: 1_536,
        skills: usize::MAX,
        overflow: Overflow::NamesStay,
        frame: "- : \n".len(),
        has_path: false,
    },
    // Its rule until early 2026: SLASH_COMMAND_TOOL_CHAR_BUDGET, 15,000 unless set (docs, "Environment variables").
    ClientRule {
        name: "Claude Code, before 2026",
        rule: "SLASH_COMMAND_TOOL_CHAR_BUDGET, 15,000 characters",
        budget: 15_000,
        unit: Unit::Characters,
        description: usize::MAX,
        skills: usize::MAX,
        overflow: Overflow::LeaveOut,
        frame: "- : \n".len(),
        has_path: false,
    },
    // openai/codex, codex-rs/ext/skills/src/render.rs: SKILL_METADATA_CONTEXT_WINDOW_PERCENT 2, a token is four bytes,
    // MAX_CATALOG_SKILL_DESCRIPTION_CHARS 1,024 (8,000 characters if the window is not known). Descriptions are cut
    // alike; names are left out only when they alone do not fit. A line is `- name: description (file: path)`.
    ClientRule {
        name: "Codex",
        rule: "2 % of 200,000 tokens, 4 bytes each",
        budget: 4_000,
        unit: Unit::Tokens,
        description: 1_024,
        skills: usize::MAX,
        overflow: Overflow::CutAll,
        frame: "- :  (file: )\n".len(),
        has_path: true,
    },
    // Measured (1.0.102): of 100 skills with descriptions of 300 characters 63 were listed by name alone.
    ClientRule {
        name: "Copilot CLI",
        rule: "about 15,000 characters",
        budget: 15_000,
        unit: Unit::Characters,
        description: usize::MAX,
        skills: usize::MAX,
        overflow: Overflow::NamesStay,
        frame: 30,
        has_path: false,
    },
    // openclaw/openclaw, src/agents/skills/workspace.ts: DEFAULT_MAX_SKILLS_IN_PROMPT 150,
    // DEFAULT_MAX_SKILLS_PROMPT_CHARS 18,000 (30,000 before). The first that fit; an entry is XML.
    ClientRule {
        name: "OpenClaw",
        rule: "18,000 characters, 150 skills",
        budget: 18_000,
        unit: Unit::Characters,
        description: usize::MAX,
        skills: 150,
        overflow: Overflow::LeaveOut,
        frame: "  <skill>\n    <name></name>\n    <description></description>\n    <location></location>\n  </skill>\n"
            .len(),
        has_path: true,
    },
    // No client's: what hosts allow that cap a tool's output or an instructions file at 50 KB.
    ClientRule {
        name: "a list of 50 KB",
        rule: "51,200 bytes",
        budget: 51_200,
        unit: Unit::Bytes,
        description: usize::MAX,
        skills: usize::MAX,
        overflow: Overflow::LeaveOut,
        frame: "- : \n".len(),
        has_path: false,
    },
];

/// The list that a client would show of these skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ClientSimulation {
    pub(super) client: &'static str,
    pub(super) rule: &'static str,
    pub(super) budget: usize,
    pub(super) unit: Unit,
    /// The size of all of them.
    pub(super) needed: usize,
    /// Skills whose descriptions are cut.
    pub(super) shortened: Vec<String>,
    /// Skills of which only the name is left.
    pub(super) name_only: Vec<String>,
    /// Skills that are not listed at all.
    pub(super) omitted: Vec<String>,
}

/// Simulates each client. The skills are sorted by name.
pub(super) fn simulate(skills: &[ListedSkill]) -> Vec<ClientSimulation> {
    CLIENTS.iter().map(|client| client.simulate(skills)).collect()
}

impl ClientRule {
    fn size(&self, text: &str) -> usize {
        if self.unit == Unit::Characters { text.chars().count() } else { text.len() }
    }

    /// Returns the size of an entry without its description.
    fn bare(&self, skill: &ListedSkill) -> usize {
        self.frame + self.size(&skill.name) + if self.has_path { self.size(&skill.path) } else { 0 }
    }

    fn simulate(&self, skills: &[ListedSkill]) -> ClientSimulation {
        // Bytes and characters are counted; a token is four bytes.
        let scale = if self.unit == Unit::Tokens { 4 } else { 1 };
        let (mut shortened, mut name_only, mut omitted) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut entries = Vec::with_capacity(skills.len());
        for skill in skills {
            let all = skill.description.chars().count();
            if all > self.description {
                shortened.insert(skill.name.as_str());
            }
            let shown: String = skill.description.chars().take(self.description).collect();
            entries.push((skill, self.bare(skill), self.size(&shown)));
        }
        let needed: usize = entries.iter().map(|(_, bare, description)| bare + description).sum();
        let room = self.budget * scale;
        match self.overflow {
            Overflow::NamesStay => {
                let mut over = needed.saturating_sub(room);
                for (skill, _, description) in entries.iter().rev() {
                    if over == 0 {
                        break;
                    }
                    over = over.saturating_sub(*description);
                    name_only.insert(skill.name.as_str());
                }
            }
            Overflow::LeaveOut => {
                let mut used = 0;
                for (at, (skill, bare, description)) in entries.iter().enumerate() {
                    used += bare + description;
                    if used > room || at >= self.skills {
                        omitted.insert(skill.name.as_str());
                    }
                }
            }
            Overflow::CutAll => {
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
        ClientSimulation {
            client: self.name,
            rule: self.rule,
            budget: self.budget,
            unit: self.unit,
            needed: needed.div_ceil(scale),
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

    fn skills(count: usize, description: usize) -> Vec<ListedSkill> {
        let one = |n: usize| ListedSkill {
            name: format!("skill-{n:04}"),
            description: "x".repeat(description),
            path: format!("/s/skill-{n:04}/SKILL.md"),
        };
        (0..count).map(one).collect()
    }

    fn of<'s>(all: &'s [ClientSimulation], client: &str) -> &'s ClientSimulation {
        all.iter().find(|simulated| simulated.client == client).unwrap()
    }

    #[test]
    fn few_skills_fit_everywhere() {
        for simulated in simulate(&skills(9, 200)) {
            let lost = simulated.shortened.len() + simulated.name_only.len() + simulated.omitted.len();
            assert_eq!(lost, 0, "{simulated:?}");
            assert!(simulated.needed > 0 && simulated.needed <= simulated.budget);
        }
        assert!(simulate(&[]).iter().all(|simulated| simulated.needed == 0));
    }

    #[test]
    fn many_skills_lose_what_each_client_takes() {
        let all = simulate(&skills(100, 200));
        // A line has 15 characters beside its description: 2,000 leave room for 2 descriptions.
        let claude = of(&all, "Claude Code");
        assert_eq!((claude.needed, claude.name_only.len(), claude.omitted.len()), (21_500, 98, 0));
        assert_eq!(claude.name_only[0], "skill-0002");
        // As measured: 63 of 100 with 300 characters.
        let measured = simulate(&skills(100, 300));
        assert!((60..=66).contains(&of(&measured, "Copilot CLI").name_only.len()));
        assert_eq!(of(&all, "Claude Code, before 2026").omitted.len(), 100 - 15_000 / 215);
        let codex = of(&all, "Codex");
        assert_eq!((codex.shortened.len(), codex.name_only.len(), codex.omitted.len()), (100, 0, 0));
        let claw = of(&all, "OpenClaw");
        assert!(!claw.omitted.is_empty() && claw.shortened.is_empty());
        assert!(of(&all, "a list of 50 KB").omitted.is_empty());
    }

    #[test]
    fn when_not_even_names_fit() {
        let all = simulate(&skills(1_000, 100));
        let codex = of(&all, "Codex");
        assert!(codex.shortened.is_empty(), "nothing is left to shorten");
        assert_eq!(codex.name_only.len() + codex.omitted.len(), 1_000);
        assert_eq!(of(&all, "Claude Code").omitted.len(), 0, "it never leaves a name out");
        assert!(of(&all, "OpenClaw").omitted.len() >= 850);
    }

    #[test]
    fn long_descriptions_are_cut_first() {
        let all = simulate(&skills(1, 2_000));
        assert_eq!(of(&all, "Claude Code").shortened, ["skill-0000"]);
        assert_eq!(of(&all, "Codex").shortened, ["skill-0000"]);
        assert!(of(&all, "OpenClaw").shortened.is_empty());
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
