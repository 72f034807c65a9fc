//! The differences between clients, as a table.

use skillcue_catalog::{Skill, SkillRoot, Source};

use crate::Client;
use crate::listing::{ListOverflow, ListUnit, ListedSkill, ListingRule, SimulatedList};

/// The form of a hook's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerShape {
    /// `{"hookSpecificOutput": {"hookEventName": …, "additionalContext": …}}`
    Nested,
    /// `{"additionalContext": …}`
    Flat,
}

/// The amount that a hook says about a skill that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum HookStyle {
    /// Its body.
    #[default]
    Body,
    /// One line with its name and how to load it.
    Name,
}

/// The fate of what a hook answers at the start of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartAnswer {
    /// It is part of the conversation, also when that goes on later.
    Kept,
    /// It is shown until the client ends; each start asks again.
    ShownAnew,
    /// It does harm, or never reaches the model.
    Unusable,
}

/// The hooks of one client: names, shapes and limits. What was seen of each by running it is in the crate's tests.
#[derive(Debug, PartialEq, Eq)]
pub struct HookAdapter {
    /// The client.
    pub client: Client,
    /// The form of the answer.
    pub shape: AnswerShape,
    /// The most that is said about a skill. One client calls what hooks add read-only data, in which its model must not
    /// look for instructions: there a body is wasted, and a name is not.
    pub style: HookStyle,
    /// Whether the client writes `<` and `>` as entities.
    pub escapes_markup: bool,
    /// The number of bytes above which the client cuts the answer, where it counts bytes.
    pub max_bytes: Option<usize>,
    /// The tags in which the client puts what hooks add: a text that closes one would speak as the client.
    pub(super) tags: &'static [&'static str],
    /// The event before a prompt.
    pub(super) prompt: &'static str,
    /// The event after a call of a tool.
    pub(super) after_tool: &'static str,
    /// The event at the start of a session.
    pub(super) start: &'static str,
    /// The fate of what a hook answers at the start of a session.
    pub start_answer: StartAnswer,
    /// The events before and after the context is compacted.
    pub(super) compaction: &'static [&'static str],
    /// Whether these events mean that the context is compacted. One client raises them before every message: connected to
    /// them, everything would be shown again each time.
    pub(super) is_compaction_sure: bool,
    /// Whether the instructions of an MCP server reach the model.
    pub(super) shows_instructions: bool,
    /// The field with the id of the session.
    pub(super) session: &'static str,
    /// The fields with the name of a tool and its arguments.
    pub(super) tool: [&'static str; 2],
    /// The client's own tool that loads skills, if it has one.
    pub(super) skill_tool: Option<&'static str>,
    /// The sign with which a person calls a skill, and the client loads it.
    pub(super) sigil: Option<char>,
    /// The folders of skills that the client lists itself, below the home directory and below a project.
    listed: [&'static [&'static str]; 2],
    /// The rules by which the client lists these skills; more than one, if the model's window decides.
    pub listings: &'static [ListingRule],
}

/// The usual values; each client has its own differences.
const USUAL: HookAdapter = HookAdapter {
    client: Client::Claude,
    shape: AnswerShape::Nested,
    style: HookStyle::Body,
    escapes_markup: false,
    max_bytes: None,
    tags: &[],
    prompt: "UserPromptSubmit",
    after_tool: "PostToolUse",
    start: "SessionStart",
    start_answer: StartAnswer::Kept,
    compaction: &["PreCompact", "PostCompact"],
    is_compaction_sure: true,
    shows_instructions: true,
    session: "session_id",
    tool: ["tool_name", "tool_input"],
    skill_tool: None,
    sigil: None,
    listed: [&[], &[]],
    listings: &[],
};

const ADAPTERS: [HookAdapter; 6] = [
    HookAdapter {
        client: Client::Claude,
        tags: &["system-reminder"],
        skill_tool: Some("Skill"),
        sigil: Some('/'),
        listed: [&[".claude/skills"], &[".claude/skills"]],
        // Names are never left out. The descriptions of the least used skills go first; those are not known here, so the
        // last by name are taken for them. A description has at most 1,536 characters (`skillListingMaxDescChars`), a line
        // is `- name: description`, and the client's own skills come first and use about 6,000 characters.
        listings: &[
            ListingRule {
                name: "Claude Code",
                rule: "1 % of 200,000 tokens, 4 characters each, less 6,000 for its own skills",
                measured: Some("2.1.325"),
                budget: Some(2_000),
                unit: ListUnit::Characters,
                max_description: 1_536,
                frame: "- : \n".len(),
                ..ListingRule::EVERYTHING
            },
            ListingRule {
                name: "Claude Code, newest models",
                rule: "about 24,000 characters beside its own skills",
                measured: Some("2.1.325"),
                budget: Some(24_000),
                unit: ListUnit::Characters,
                max_description: 1_536,
                frame: "- : \n".len(),
                ..ListingRule::EVERYTHING
            },
        ],
        ..USUAL
    },
    HookAdapter {
        client: Client::Codex,
        max_bytes: Some(9_500),
        sigil: Some('$'),
        listed: [&[".codex/skills", ".agents/skills"], &[".codex/skills", ".agents/skills"]],
        // openai/codex, codex-rs/ext/skills/src/render.rs: 2 % of the window, a token is four bytes, a description has at most
        // 1,024 characters. Descriptions are cut alike; names are left out only when they alone do not fit. A line is
        // `- name: description (file: path)`.
        listings: &[ListingRule {
            name: "Codex",
            rule: "2 % of 272,000 tokens, 4 bytes each",
            measured: Some("0.166.0"),
            budget: Some(5_440),
            unit: ListUnit::Tokens,
            max_description: 1_024,
            overflow: ListOverflow::CutAll,
            frame: "- :  (file: )\n".len(),
            has_path: true,
            ..ListingRule::EVERYTHING
        }],
        ..USUAL
    },
    HookAdapter {
        client: Client::Gemini,
        style: HookStyle::Name,
        escapes_markup: true,
        tags: &["hook_context"],
        prompt: "BeforeAgent",
        after_tool: "AfterTool",
        compaction: &["PreCompress"],
        is_compaction_sure: false,
        // It is put before the first message, and a session that goes on is then without that message.
        start_answer: StartAnswer::Unusable,
        skill_tool: Some("activate_skill"),
        listed: [&[".gemini/skills", ".agents/skills"], &[".gemini/skills", ".agents/skills"]],
        listings: &[ListingRule {
            name: "Gemini CLI",
            measured: Some("0.61.0"),
            frame: 100,
            has_path: true,
            ..ListingRule::EVERYTHING
        }],
        ..USUAL
    },
    HookAdapter {
        client: Client::Opencode,
        shape: AnswerShape::Flat,
        prompt: "chat.message",
        after_tool: "tool.execute.after",
        start: "session.created",
        start_answer: StartAnswer::ShownAnew,
        compaction: &["experimental.session.compacting"],
        skill_tool: Some("skill"),
        listed: [
            &[".config/opencode/skills", ".agents/skills", ".claude/skills"],
            &[".opencode/skills", ".agents/skills", ".claude/skills"],
        ],
        listings: &[ListingRule {
            name: "opencode",
            measured: Some("1.18.33"),
            frame: 100,
            has_path: true,
            ..ListingRule::EVERYTHING
        }],
        ..USUAL
    },
    HookAdapter {
        client: Client::Qwen,
        escapes_markup: true,
        tags: &["qwen:user-prompt-submit-context", "qwen:session-start-context", "system-reminder"],
        start_answer: StartAnswer::ShownAnew,
        skill_tool: Some("skill"),
        listed: [&[".qwen/skills"], &[".qwen/skills", ".agents/skills"]],
        listings: &[ListingRule {
            name: "Qwen Code",
            measured: Some("0.24.4"),
            frame: 100,
            has_path: true,
            ..ListingRule::EVERYTHING
        }],
        ..USUAL
    },
    HookAdapter {
        client: Client::Copilot,
        shape: AnswerShape::Flat,
        tags: &["system_reminder"],
        prompt: "userPromptSubmitted",
        after_tool: "postToolUse",
        start: "sessionStart",
        start_answer: StartAnswer::ShownAnew,
        compaction: &["preCompact"],
        session: "sessionId",
        tool: ["toolName", "toolArgs"],
        skill_tool: Some("skill"),
        sigil: Some('/'),
        listed: [&[".copilot/skills"], &[".github/skills"]],
        shows_instructions: false,
        listings: &[ListingRule {
            name: "Copilot CLI",
            rule: "about 15,000 characters",
            measured: Some("1.0.102"),
            budget: Some(15_000),
            unit: ListUnit::Characters,
            frame: 30,
            ..ListingRule::EVERYTHING
        }],
        ..USUAL
    },
];

impl HookAdapter {
    /// Returns the hooks of a client, if it has any.
    ///
    /// ```
    /// use skillcue_clients::Client;
    /// use skillcue_clients::hook::HookAdapter;
    ///
    /// assert!(HookAdapter::of(Client::Codex).is_some());
    /// assert!(HookAdapter::of(Client::Zed).is_none());
    /// ```
    pub fn of(client: Client) -> Option<&'static HookAdapter> {
        ADAPTERS.iter().find(|adapter| adapter.client == client)
    }

    /// Returns the clients that have hooks.
    ///
    /// ```
    /// use skillcue_clients::hook::HookAdapter;
    /// assert_eq!(HookAdapter::clients().count(), 6);
    /// ```
    pub fn clients() -> impl Iterator<Item = Client> {
        ADAPTERS.iter().map(|adapter| adapter.client)
    }

    /// Returns the events at which a connected client calls the hook: before a prompt, after a call of a tool, at the start of
    /// a session, and before its context is compacted, if the client's event says so.
    ///
    /// ```
    /// use skillcue_clients::Client;
    /// use skillcue_clients::hook::HookAdapter;
    ///
    /// let events: Vec<&str> = HookAdapter::of(Client::Gemini).unwrap().events().collect();
    /// assert_eq!(events, ["BeforeAgent", "AfterTool", "SessionStart"]);
    /// ```
    pub fn events(&self) -> impl Iterator<Item = &'static str> {
        [self.prompt, self.after_tool, self.start]
            .into_iter()
            .chain(self.compaction.first().copied().filter(|_| self.is_compaction_sure))
    }

    /// Returns whether the client lists a skill itself, because it, or a copy or link of it, is in one of the folders that
    /// the client reads.
    pub fn lists(&self, skill: &Skill) -> bool {
        self.reads(skill.root()) || skill.locations().iter().skip(1).any(|location| self.reads(&location.root))
    }

    fn reads(&self, root: &SkillRoot) -> bool {
        let [user, project] = self.listed;
        let is_in = |folders: &[&str]| folders.iter().any(|folder| root.path.ends_with(folder));
        match root.source {
            Source::User => is_in(user),
            Source::Project => is_in(project),
            // Named by its path, which may be any of them.
            Source::Inline => is_in(user) || is_in(project),
            _ => false,
        }
    }

    /// Returns whether the hook lists skills at the start of a session: where the model would not learn of those that the
    /// client does not list itself from the instructions of our MCP server.
    pub fn lists_at_start(&self, has_tools: bool) -> bool {
        self.start_answer != StartAnswer::Unusable && !(has_tools && self.shows_instructions)
    }

    /// Simulates the client's own lists of the skills of a catalog: what a model is shown of them, and what is lost.
    pub fn own_lists(&self, skills: &[&Skill]) -> Vec<SimulatedList> {
        let (read, unread): (Vec<&Skill>, Vec<&Skill>) = skills.iter().partition(|skill| self.lists(skill));
        let read: Vec<ListedSkill> = read.into_iter().map(ListedSkill::of).collect();
        let unread: Vec<String> = unread.into_iter().map(|skill| skill.name().to_owned()).collect();
        let simulate = |rule: &ListingRule| SimulatedList { unread: unread.clone(), ..rule.simulate(&read) };
        self.listings.iter().map(simulate).collect()
    }

    /// Returns the client's own tool that loads a skill, if it has one and lists the skill.
    pub(super) fn tool_for(&self, skill: &Skill) -> Option<&'static str> {
        self.skill_tool.filter(|_| self.lists(skill))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_one_line() {
        for adapter in &ADAPTERS {
            assert_eq!(HookAdapter::of(adapter.client), Some(adapter));
        }
    }
}
