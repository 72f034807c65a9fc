//! The differences between clients, as a table.

use skillcue_catalog::{Skill, Source};

use crate::Client;

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
    /// The events before and after the context is compacted.
    pub(super) compaction: &'static [&'static str],
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
    compaction: &["PreCompact", "PostCompact"],
    session: "session_id",
    tool: ["tool_name", "tool_input"],
    skill_tool: None,
    sigil: None,
    listed: [&[], &[]],
};

const ADAPTERS: [HookAdapter; 6] = [
    HookAdapter {
        client: Client::Claude,
        tags: &["system-reminder"],
        skill_tool: Some("Skill"),
        sigil: Some('/'),
        listed: [&[".claude/skills"], &[".claude/skills"]],
        ..USUAL
    },
    HookAdapter {
        client: Client::Codex,
        max_bytes: Some(9_500),
        sigil: Some('$'),
        listed: [&[".codex/skills", ".agents/skills"], &[".codex/skills", ".agents/skills"]],
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
        skill_tool: Some("activate_skill"),
        listed: [&[".gemini/skills", ".agents/skills"], &[".gemini/skills", ".agents/skills"]],
        ..USUAL
    },
    HookAdapter {
        client: Client::Opencode,
        shape: AnswerShape::Flat,
        prompt: "chat.message",
        after_tool: "tool.execute.after",
        start: "session.created",
        compaction: &["experimental.session.compacting"],
        skill_tool: Some("skill"),
        listed: [
            &[".config/opencode/skills", ".agents/skills", ".claude/skills"],
            &[".opencode/skills", ".agents/skills", ".claude/skills"],
        ],
        ..USUAL
    },
    HookAdapter {
        client: Client::Qwen,
        escapes_markup: true,
        tags: &["qwen:user-prompt-submit-context", "system-reminder"],
        skill_tool: Some("skill"),
        listed: [&[".qwen/skills"], &[".qwen/skills", ".agents/skills"]],
        ..USUAL
    },
    HookAdapter {
        client: Client::Copilot,
        shape: AnswerShape::Flat,
        tags: &["system_reminder"],
        prompt: "userPromptSubmitted",
        after_tool: "postToolUse",
        start: "sessionStart",
        compaction: &["preCompact"],
        session: "sessionId",
        tool: ["toolName", "toolArgs"],
        skill_tool: Some("skill"),
        sigil: Some('/'),
        listed: [&[".copilot/skills"], &[".github/skills"]],
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
    /// a session, and before its context is compacted. Gemini CLI calls the last before every message, compacted or not:
    /// there it is left out, as everything would be shown again each time.
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
            .chain(self.compaction.first().copied().filter(|_| self.client != Client::Gemini))
    }

    /// Returns whether the client lists a skill itself, because it is in one of the folders that the client reads.
    pub fn lists(&self, skill: &Skill) -> bool {
        let [user, project] = self.listed;
        let folders = match skill.source() {
            Source::User => user,
            Source::Project => project,
            _ => return false,
        };
        folders.iter().any(|folder| skill.root().path.ends_with(folder))
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
