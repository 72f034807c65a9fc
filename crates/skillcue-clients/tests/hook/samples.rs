//! Inputs of hooks as each client writes them, by the shapes that were seen when it was run; paths and ids are made up.

use skillcue_clients::Client;
use skillcue_clients::hook::{HookAdapter, HookInput};

/// A client's inputs: before a prompt, after a tool, at a start after a compaction, before a compaction.
pub(crate) struct Samples {
    pub(crate) client: Client,
    pub(crate) prompt: &'static str,
    pub(crate) after_tool: &'static str,
    pub(crate) compacted: Option<&'static str>,
    pub(crate) compaction: &'static str,
}

pub(crate) const SAMPLES: [Samples; 6] = [
    Samples {
        client: Client::Claude,
        prompt: r#"{"session_id":"3f0c","transcript_path":"/h/.claude/projects/-work/3f0c.jsonl","cwd":"/work","prompt_id":"p1","permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"PROMPT"}"#,
        after_tool: r#"{"session_id":"3f0c","transcript_path":"/h/t.jsonl","cwd":"/work","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Read","tool_input":{"file_path":"/work/PATH"},"tool_response":{"type":"text"},"tool_use_id":"toolu_1"}"#,
        compacted: Some(
            r#"{"session_id":"3f0c","transcript_path":"/h/t.jsonl","cwd":"/work","hook_event_name":"SessionStart","source":"compact"}"#,
        ),
        compaction: r#"{"session_id":"3f0c","transcript_path":"/h/t.jsonl","cwd":"/work","hook_event_name":"PreCompact","trigger":"auto","custom_instructions":""}"#,
    },
    Samples {
        client: Client::Codex,
        prompt: r#"{"session_id":"0199","turn_id":"1","transcript_path":null,"cwd":"/work","hook_event_name":"UserPromptSubmit","model":"mock","permission_mode":"default","prompt":"PROMPT"}"#,
        after_tool: r#"{"session_id":"0199","turn_id":"1","transcript_path":null,"cwd":"/work","hook_event_name":"PostToolUse","model":"mock","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"cat PATH"},"tool_response":"…","tool_use_id":"c1"}"#,
        compacted: Some(
            r#"{"session_id":"0199","transcript_path":null,"cwd":"/work","hook_event_name":"SessionStart","model":"mock","permission_mode":"default","source":"compact"}"#,
        ),
        compaction: r#"{"session_id":"0199","turn_id":"2","transcript_path":null,"cwd":"/work","hook_event_name":"PreCompact","model":"mock","trigger":"auto"}"#,
    },
    Samples {
        client: Client::Gemini,
        prompt: r#"{"session_id":"7a","transcript_path":"/h/.gemini/tmp/x/chats/s.json","cwd":"/work","hook_event_name":"BeforeAgent","timestamp":"2026-11-17T20:00:00.000Z","prompt":"PROMPT"}"#,
        after_tool: r#"{"session_id":"7a","transcript_path":"/h/s.json","cwd":"/work","hook_event_name":"AfterTool","timestamp":"2026-11-17T20:00:00.000Z","tool_name":"read_file","tool_input":{"file_path":"PATH"},"tool_response":{"llmContent":"…"}}"#,
        compacted: None,
        compaction: r#"{"session_id":"7a","transcript_path":"/h/s.json","cwd":"/work","hook_event_name":"PreCompress","timestamp":"2026-11-17T20:00:00.000Z","trigger":"auto"}"#,
    },
    Samples {
        client: Client::Opencode,
        prompt: r#"{"session_id":"ses_1","cwd":"/work","hook_event_name":"chat.message","prompt":"PROMPT"}"#,
        after_tool: r#"{"session_id":"ses_1","cwd":"/work","hook_event_name":"tool.execute.after","tool_name":"read","tool_input":{"filePath":"/work/PATH"}}"#,
        compacted: None,
        compaction: r#"{"session_id":"ses_1","cwd":"/work","hook_event_name":"experimental.session.compacting"}"#,
    },
    Samples {
        client: Client::Qwen,
        prompt: r#"{"session_id":"q1","transcript_path":"/h/q.jsonl","cwd":"/work","hook_event_name":"UserPromptSubmit","timestamp":"2026-11-17T20:00:00.000Z","permission_mode":"default","prompt":"PROMPT","submitted_prompt":"PROMPT"}"#,
        after_tool: r#"{"session_id":"q1","transcript_path":"/h/q.jsonl","cwd":"/work","hook_event_name":"PostToolUse","timestamp":"2026-11-17T20:00:00.000Z","permission_mode":"default","tool_name":"read_file","tool_input":{"file_path":"/work/PATH"},"tool_response":{},"tool_use_id":"t1"}"#,
        compacted: Some(
            r#"{"session_id":"q1","transcript_path":"/h/q.jsonl","cwd":"/work","hook_event_name":"SessionStart","timestamp":"2026-11-17T20:00:00.000Z","source":"compact","model":"mock"}"#,
        ),
        compaction: r#"{"session_id":"q1","transcript_path":"/h/q.jsonl","cwd":"/work","hook_event_name":"PreCompact","timestamp":"2026-11-17T20:00:00.000Z","trigger":"auto","custom_instructions":""}"#,
    },
    Samples {
        client: Client::Copilot,
        prompt: r#"{"sessionId":"c-1","timestamp":1763409600000,"cwd":"/work","prompt":"PROMPT"}"#,
        after_tool: r#"{"sessionId":"c-1","timestamp":1763409600000,"cwd":"/work","toolName":"view","toolArgs":"{\"path\":\"/work/PATH\"}","toolResult":{"resultType":"success","textResultForLlm":"…"}}"#,
        compacted: None,
        compaction: r#"{"sessionId":"c-1","timestamp":1763409600000,"cwd":"/work","trigger":"auto"}"#,
    },
];

impl Samples {
    pub(crate) fn adapter(&self) -> &'static HookAdapter {
        HookAdapter::of(self.client).unwrap()
    }

    pub(crate) fn parse(&self, sample: &str) -> HookInput {
        HookInput::parse(self.adapter(), sample.as_bytes(), None).unwrap()
    }

    /// The input before this prompt.
    pub(crate) fn asks(&self, prompt: &str) -> HookInput {
        let quoted = serde_json::to_string(prompt).unwrap();
        self.parse(&self.prompt.replace("\"PROMPT\"", &quoted))
    }

    /// The input after a tool has read this file.
    pub(crate) fn touches(&self, path: &str) -> HookInput {
        self.parse(&self.after_tool.replace("PATH", path))
    }
}
