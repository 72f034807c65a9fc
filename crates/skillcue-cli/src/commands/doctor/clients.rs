//! Lists of skills that agents make themselves, and what a model is shown of them. The rules of the agents that were run are in the table of
//! `skillcue-clients`; here are a few more that were only read of, in mid-2026.

use skillcue::{Skill, Source};
use skillcue_clients::Client;
use skillcue_clients::hook::HookAdapter;
use skillcue_clients::listing::{ListOverflow, ListUnit, ListedSkill, ListingRule, SimulatedList};

/// Rules of lists that are no connected agent's.
const OTHERS: [ListingRule; 3] = [
    // Its rule until early 2026: SLASH_COMMAND_TOOL_CHAR_BUDGET, 15,000 unless set (docs, "Environment variables").
    ListingRule {
        name: "Claude Code, before 2026",
        rule: "SLASH_COMMAND_TOOL_CHAR_BUDGET, 15,000 characters",
        budget: Some(15_000),
        unit: ListUnit::Characters,
        overflow: ListOverflow::LeaveOut,
        frame: "- : \n".len(),
        ..ListingRule::EVERYTHING
    },
    // openclaw/openclaw, src/agents/skills/workspace.ts: DEFAULT_MAX_SKILLS_IN_PROMPT 150,
    // DEFAULT_MAX_SKILLS_PROMPT_CHARS 18,000 (30,000 before). The first that fit; an entry is XML.
    ListingRule {
        name: "OpenClaw",
        rule: "18,000 characters, 150 skills",
        budget: Some(18_000),
        unit: ListUnit::Characters,
        max_skills: 150,
        overflow: ListOverflow::LeaveOut,
        frame: "  <skill>\n    <name></name>\n    <description></description>\n    <location></location>\n  </skill>\n"
            .len(),
        has_path: true,
        ..ListingRule::EVERYTHING
    },
    // No client's: what hosts allow that cap a tool's output or an instructions file at 50 KB.
    ListingRule {
        name: "a list of 50 KB",
        rule: "51,200 bytes",
        budget: Some(51_200),
        unit: ListUnit::Bytes,
        overflow: ListOverflow::LeaveOut,
        frame: "- : \n".len(),
        ..ListingRule::EVERYTHING
    },
];

/// The list of skills that one agent makes itself.
#[derive(Debug, serde::Serialize)]
pub(super) struct OwnList {
    /// The agent, if it is one that can be connected.
    pub(super) agent: Option<Client>,
    #[serde(flatten)]
    pub(super) list: SimulatedList,
}

/// Simulates the lists of all agents, sorted as the table of clients is; those that were only read of are last.
pub(super) fn own_lists(catalog: &skillcue::Catalog) -> Vec<OwnList> {
    // Skills that are bundled, or of a server, are no files of the user's.
    let is_own =
        |skill: &&Skill| skill.is_for_models() && skill.source() != Source::Bundled && skill.server().is_none();
    let skills: Vec<&Skill> = catalog.skills().filter(is_own).collect();
    let mut lists = Vec::new();
    for adapter in HookAdapter::clients().filter_map(HookAdapter::of) {
        let of = |list| OwnList { agent: Some(adapter.client), list };
        lists.extend(adapter.own_lists(&skills).into_iter().map(of));
    }
    let listed: Vec<ListedSkill> = skills.into_iter().map(ListedSkill::of).collect();
    lists.extend(OTHERS.iter().map(|rule| OwnList { agent: None, list: rule.simulate(&listed) }));
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_others_leave_the_last_out() {
        let one = |n: usize| ListedSkill {
            name: format!("skill-{n:04}"),
            description: "x".repeat(200),
            path: format!("/s/skill-{n:04}/SKILL.md"),
        };
        let skills: Vec<ListedSkill> = (0..100).map(one).collect();
        let [before, claw, large] = OTHERS.map(|rule| rule.simulate(&skills));
        assert_eq!(before.omitted.len(), 100 - 15_000 / 215);
        assert!(!claw.omitted.is_empty() && claw.shortened.is_empty());
        assert!(large.is_whole() && large.measured.is_none());
    }
}
