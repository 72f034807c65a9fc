"""The Claude Agent SDK with the hooks: the Claude Code that it carries, and a scripted model behind it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from scripted import Reply, Scripted, last_is_tool, serving

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, TextBlock
from claude_agent_sdk.types import HookEvent, HookInput

from skillcue.integrations.claude_agent_sdk import SkillcueHooks


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
    monkeypatch.setenv("DISABLE_AUTOUPDATER", "1")


def options(server: Scripted, skills: SkillcueHooks, cwd: Path) -> ClaudeAgentOptions:
    return ClaudeAgentOptions(
        system_prompt="Be brief.",
        hooks=skills.hooks(),
        mcp_servers={"skillcue": skills.server()},
        allowed_tools=skills.allowed_tools(),
        setting_sources=[],
        cwd=cwd,
        env={"ANTHROPIC_BASE_URL": server.url.removesuffix("/v1")},
    )


async def say(client: ClaudeSDKClient, text: str) -> str:
    """Returns the last answer of a turn."""
    await client.query(text)
    said = ""
    async for message in client.receive_response():
        if isinstance(message, AssistantMessage):
            said = "".join(block.text for block in message.content if isinstance(block, TextBlock)) or said
        elif isinstance(message, ResultMessage):
            assert not message.is_error, message
    return said


def about(server: Scripted, words: str) -> list[dict[str, Any]]:
    """Returns the requests of the conversation, without those that Claude Code makes for itself."""
    found = [it for it in server.requests if it["tools"]]
    assert found, f"no request says {words}"
    return found


def texts(request: dict[str, Any]) -> str:
    return "\n".join(str(message.get("content")) for message in request["messages"])


def test_the_walk_through(tree: Path, tmp_path: Path) -> None:
    async def main(server: Scripted) -> None:
        skills = SkillcueHooks(tree)
        async with ClaudeSDKClient(options(server, skills, tmp_path)) as client:
            assert await say(client, "What is 2+2?") == "fine"
            first = about(server, "2+2")[-1]
            assert "[2 skills available]" in texts(first)
            assert "guten Tag" not in texts(first)
            assert "mcp__skillcue__load_skill" in [tool["function"]["name"] for tool in first["tools"]]
            await say(client, "What can you do?")
            assert "greeter" in texts(about(server, "do")[-1])
            await say(client, "Say bonjour to Alice")
            assert texts(about(server, "Alice")[-1]).count("guten Tag") == 1
            await say(client, "And bonjour to Bob")
            last = texts(about(server, "Bob")[-1])
            assert last.count("guten Tag") == 1, "shown once, and still in the context"
            assert last.count("skills available]") == 1
        assert skills.session["turn"] == 4

    with serving(lambda request: "fine") as server:
        asyncio.run(main(server))


def test_the_model_loads_a_skill(tree: Path, tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        if not request["tools"] or last_is_tool(request):
            return "done"
        return [("mcp__skillcue__load_skill", {"skill_id": "pdf"})]

    async def main(server: Scripted) -> None:
        skills = SkillcueHooks(tree)
        async with ClaudeSDKClient(options(server, skills, tmp_path)) as client:
            assert await say(client, "Help me") == "done"
        assert "Use pdftotext" in texts(about(server, "Help")[-1])
        assert skills.session["skills"][0]["name"] == "pdf"
        tools = [tool["function"]["name"] for tool in about(server, "Help")[-1]["tools"]]
        assert "mcp__skillcue__run_skill_script" in tools
        assert "mcp__skillcue__run_skill_script" not in skills.allowed_tools()

    with serving(script) as server:
        asyncio.run(main(server))


async def heard(skills: SkillcueHooks, event: HookEvent, **given: Any) -> str:
    """Returns what the hook of an event adds, as the SDK would call it."""
    base = {"session_id": "1", "transcript_path": "", "cwd": "/"}
    whole: Any = {**base, "hook_event_name": event, **given}
    answer: Any = {}
    for matcher in skills.hooks()[event]:
        for hook in matcher.hooks:
            typed: HookInput = whole
            answer = await hook(typed, None, {"signal": None})
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def test_a_compaction_shows_again_what_was_in_use(tree: Path) -> None:
    async def main() -> None:
        skills = SkillcueHooks(tree)
        assert "guten Tag" in await heard(skills, "UserPromptSubmit", prompt="Say bonjour to Alice")
        assert await heard(skills, "UserPromptSubmit", prompt="And bonjour to Bob") == ""
        assert await heard(skills, "PreCompact", trigger="auto", custom_instructions=None) == ""
        assert "guten Tag" in await heard(skills, "UserPromptSubmit", prompt="Thank you")
        assert await heard(skills, "UserPromptSubmit", prompt="Thanks again") == ""

    asyncio.run(main())


def test_a_file_calls_for_a_skill(tree: Path, skill_at: Any) -> None:
    text = "---\nname: rusty\ndescription: Rules for crates.\ntriggers:\n  files: ['*.rs']\n---\nUse clippy.\n"
    skill_at("rusty", text)

    async def main() -> None:
        skills = SkillcueHooks(tree)
        await heard(skills, "UserPromptSubmit", prompt="Fix it")
        call = {"tool_name": "Read", "tool_input": {"file_path": "/x/src/main.rs"}, "tool_response": "", "tool_use_id": "1"}
        assert "rusty" in await heard(skills, "PostToolUse", **call)
        assert await heard(skills, "PostToolUse", **call) == "", "it was said"
        assert await heard(SkillcueHooks(tree), "PostToolUse", agent_id="2", **call) == "", "a subagent's context"

    asyncio.run(main())


def test_a_list_of_skills_is_said_once(tree: Path) -> None:
    async def main() -> None:
        skills = SkillcueHooks(tree, policy="catalog")
        assert "<id>greeter</id>" in await heard(skills, "UserPromptSubmit", prompt="Hello")
        assert "<id>greeter</id>" not in await heard(skills, "UserPromptSubmit", prompt="Hello again")

    asyncio.run(main())
