//! The six clients: how each is run without a person, and where in its requests a hook's text arrives.

use std::path::Path;

use skillcue_scripted::{Received, Wire};

/// A client as it was seen to behave. `docs/reference/clients.md` says with which version.
pub(crate) struct ClientUnderTest {
    /// Our word for it.
    pub(crate) word: &'static str,
    /// The package whose version counts.
    pub(crate) package: &'static str,
    /// The program below `node_modules`: a program of its own, or a script for Node.
    pub(crate) program: &'static str,
    /// The folder in the home that holds the skills.
    pub(crate) skills: &'static str,
    /// The settings that send it to a server of ours: paths below the home, and texts.
    pub(crate) files: fn(&str) -> Vec<(&'static str, String)>,
    /// Further preparations of the home, with the directory in which the clients are installed.
    pub(crate) prepare: fn(&Path, &Path),
    /// The environment that sends it to a server of ours.
    pub(crate) environment: fn(&str) -> Vec<(&'static str, String)>,
    /// The arguments before a message that begins a session.
    pub(crate) begin: &'static [&'static str],
    /// The arguments before a message that goes on with the last session.
    pub(crate) resume: &'static [&'static str],
    /// The files that `connect` writes.
    pub(crate) settings: &'static [&'static str],
    /// The name under which the model sees our tool.
    pub(crate) load_tool: &'static str,
    /// The way in which our tool is offered.
    pub(crate) offer: ToolOffer,
    /// The style of what the hook adds.
    pub(crate) style: ExpectedText,
    /// Returns what hooks have added to a conversation, oldest first.
    pub(crate) added: fn(&Received) -> Vec<String>,
}

/// The way in which a client offers the tools of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolOffer {
    /// With the request's tools.
    Listed,
    /// By name in a text, to be found by a tool of the client's own.
    Searched,
}

/// The text that the hook adds for a skill without `<` and `>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedText {
    /// The skill's body.
    Body,
    /// The skill's name.
    Name,
}

fn nothing(_: &Path, _: &Path) {}

fn pairs<const N: usize>(pairs: [(&'static str, &str); N]) -> Vec<(&'static str, String)> {
    pairs.map(|(name, value)| (name, value.to_owned())).to_vec()
}

/// Returns the contents of the user's parts that are one element. The element's name alone is in instructions, too.
fn elements(received: &Received, name: &str) -> Vec<String> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let parts = received.parts();
    let texts = parts.iter().filter(|part| part.role == "user").filter_map(|part| part.text());
    let inner = texts.filter_map(|text| text.trim().strip_prefix(&begin)?.strip_suffix(&end));
    inner.map(str::to_owned).collect()
}

/// Claude Code: a `system` message after the user's, or a `<system-reminder>` in it.
pub(crate) const CLAUDE: ClientUnderTest = ClientUnderTest {
    word: "claude",
    package: "@anthropic-ai/claude-code",
    program: "@anthropic-ai/claude-code-linux-x64/claude",
    skills: ".claude/skills",
    files: |_| pairs([(".claude/settings.json", "{\n  \"cleanupPeriodDays\": 20\n}\n")]),
    prepare: nothing,
    environment: |url| {
        pairs([
            ("ANTHROPIC_BASE_URL", url),
            ("ANTHROPIC_API_KEY", "none"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_TELEMETRY", "1"),
        ])
    },
    begin: &["-p"],
    resume: &["-c", "-p"],
    settings: &[".claude/settings.json", ".claude.json"],
    load_tool: "mcp__skillcue__load_skill",
    offer: ToolOffer::Listed,
    style: ExpectedText::Body,
    added: |received| {
        let mark = "UserPromptSubmit hook additional context: ";
        let parts = received.parts();
        let placed = parts.iter().filter(|part| {
            let text = part.text().unwrap_or_default();
            part.role == "system" || (part.role == "user" && text.starts_with("<system-reminder>"))
        });
        let texts = placed.filter_map(|part| part.text().unwrap_or_default().split_once(mark));
        texts.map(|(_, text)| text.to_owned()).collect()
    },
};

/// Codex: a `developer` message after the user's.
pub(crate) const CODEX: ClientUnderTest = ClientUnderTest {
    word: "codex",
    package: "@openai/codex",
    program: "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
    skills: ".agents/skills",
    files: |url| {
        let config = format!(
            "# How I like it.\nmodel = \"scripted\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\n\
             [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\n\
             env_key = \"SCRIPTED_KEY\"\n\n[analytics]\nenabled = false\n"
        );
        vec![(".codex/config.toml", config)]
    },
    prepare: nothing,
    environment: |_| pairs([("SCRIPTED_KEY", "none")]),
    begin: &["exec", "--skip-git-repo-check"],
    resume: &["exec", "resume", "--last", "--skip-git-repo-check"],
    settings: &[".codex/config.toml", ".codex/hooks.json"],
    load_tool: "mcp__skillcue/load_skill",
    offer: ToolOffer::Listed,
    style: ExpectedText::Body,
    added: |received| {
        // The instructions are developer messages, too: those before the first of the user's.
        let parts = received.parts();
        let later = parts.iter().skip_while(|part| part.role != "user");
        let added = later.filter(|part| part.role == "developer");
        added.filter_map(|part| part.text().map(str::to_owned)).collect()
    },
};

/// Gemini CLI: the last part of the user's message, as `<hook_context>`.
pub(crate) const GEMINI: ClientUnderTest = ClientUnderTest {
    word: "gemini",
    package: "@google/gemini-cli",
    program: "@google/gemini-cli/bundle/gemini.js",
    skills: ".agents/skills",
    files: |_| {
        let settings =
            "{\n  // Written by hand.\n  \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}\n}\n";
        pairs([(".gemini/settings.json", settings)])
    },
    prepare: nothing,
    environment: |url| {
        pairs([("GEMINI_API_KEY", "none"), ("GOOGLE_GEMINI_BASE_URL", url), ("GEMINI_CLI_TRUST_WORKSPACE", "true")])
    },
    begin: &["-p"],
    resume: &["-r", "latest", "-p"],
    settings: &[".gemini/settings.json"],
    load_tool: "mcp_skillcue_load_skill",
    offer: ToolOffer::Listed,
    style: ExpectedText::Name,
    added: |received| elements(received, "hook_context"),
};

/// opencode: a further part of the user's message.
pub(crate) const OPENCODE: ClientUnderTest = ClientUnderTest {
    word: "opencode",
    package: "opencode-ai",
    program: "opencode-linux-x64/bin/opencode",
    skills: ".agents/skills",
    files: |url| {
        let provider = format!(
            "{{\"scripted\": {{\"npm\": \"@ai-sdk/openai-compatible\", \"options\": {{\"baseURL\": \"{url}/v1\", \
             \"apiKey\": \"none\"}}, \"models\": {{\"scripted\": {{\"name\": \"scripted\"}}}}}}}}"
        );
        let settings = format!("{{\n  \"provider\": {provider},\n  \"model\": \"scripted/scripted\"\n}}\n");
        vec![(".config/opencode/opencode.json", settings)]
    },
    prepare: |home, clients| {
        // A home with a plugin has this package; without it, opencode installs it first and waits for the network.
        let (config, plugin) = (home.join(".config/opencode"), clients.join("opencode-plugin"));
        for name in ["package.json", "package-lock.json"] {
            std::fs::copy(plugin.join(name), config.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(plugin.join("node_modules"), config.join("node_modules")).unwrap();
    },
    environment: |_| pairs([("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")]),
    begin: &["run"],
    resume: &["run", "-c"],
    settings: &[".config/opencode/opencode.json", ".config/opencode/plugin/skillcue.js"],
    load_tool: "skillcue_load_skill",
    offer: ToolOffer::Listed,
    style: ExpectedText::Body,
    added: |received| {
        let parts: Vec<_> = received.parts().into_iter().filter(|part| part.role == "user").collect();
        let later = parts.windows(2).filter(|pair| pair[0].message == pair[1].message);
        later.filter_map(|pair| pair[1].text().map(str::to_owned)).collect()
    },
};

/// Qwen Code: the last part of the user's message, in an element of its own.
pub(crate) const QWEN: ClientUnderTest = ClientUnderTest {
    word: "qwen",
    package: "@qwen-code/qwen-code",
    program: "@qwen-code/qwen-code/cli-entry.js",
    skills: ".qwen/skills",
    files: |_| {
        let settings = "{\n  \"security\": {\"auth\": {\"selectedType\": \"openai\"}}\n}\n";
        pairs([(".qwen/settings.json", settings)])
    },
    prepare: nothing,
    environment: |url| {
        let mut environment = pairs([("OPENAI_API_KEY", "none"), ("OPENAI_MODEL", "scripted")]);
        environment.push(("OPENAI_BASE_URL", format!("{url}/v1")));
        environment
    },
    begin: &["-p"],
    resume: &["-c", "-p"],
    settings: &[".qwen/settings.json"],
    load_tool: "mcp__skillcue__load_skill",
    offer: ToolOffer::Searched,
    style: ExpectedText::Body,
    added: |received| elements(received, "qwen:user-prompt-submit-context"),
};

/// Copilot CLI: the end of the user's message, as `<system_reminder>`.
pub(crate) const COPILOT: ClientUnderTest = ClientUnderTest {
    word: "copilot",
    package: "@github/copilot",
    program: "@github/copilot-linux-x64/copilot",
    skills: ".copilot/skills",
    files: |_| pairs([(".copilot/mcp-config.json", "{\n  \"mcpServers\": {}\n}\n")]),
    prepare: nothing,
    environment: |url| {
        let mut environment = pairs([
            ("COPILOT_PROVIDER_TYPE", "openai"),
            ("COPILOT_PROVIDER_API_KEY", "none"),
            ("COPILOT_MODEL", "scripted"),
            ("COPILOT_OFFLINE", "true"),
            ("COPILOT_AUTO_UPDATE", "false"),
        ]);
        environment.push(("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")));
        environment
    },
    begin: &["-p"],
    resume: &["--continue", "-p"],
    settings: &[".copilot/mcp-config.json", ".copilot/hooks/skillcue.json"],
    load_tool: "skillcue-load_skill",
    offer: ToolOffer::Listed,
    style: ExpectedText::Body,
    added: |received| {
        let parts = received.parts();
        let users = parts.iter().filter(|part| part.role == "user").filter_map(|part| part.text());
        let added = users.filter_map(|text| text.trim_end().strip_suffix("</system_reminder>"));
        added.filter_map(|text| text.rsplit_once("<system_reminder>")).map(|(_, text)| text.to_owned()).collect()
    },
};

/// The format that each client speaks.
pub(crate) fn wire(client: &ClientUnderTest) -> Wire {
    match client.word {
        "claude" => Wire::Anthropic,
        "codex" => Wire::Responses,
        "gemini" => Wire::Gemini,
        _ => Wire::OpenAi,
    }
}
