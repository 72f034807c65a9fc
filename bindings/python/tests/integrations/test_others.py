"""pydantic-ai and the OpenAI Agents SDK, each itself, and a scripted model behind it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from scripted import Reply, Scripted, last_is_tool, serving


def script(request: dict[str, Any]) -> Reply:
    """Loads a skill once in a conversation."""
    called = any(message.get("tool_calls") for message in request["messages"])
    return "done" if last_is_tool(request) or called else [("load_skill", {"skill_id": "pdf"})]


def test_pydantic_ai(tree: Path) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from skillcue.integrations.pydantic_ai import SkillcueToolset

    with serving(script) as server:
        skills = SkillcueToolset(tree)
        model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=server.url, api_key="none"))
        agent = Agent(model, instructions=skills.instructions, toolsets=[skills])
        first = asyncio.run(agent.run("Say bonjour to Alice"))
        assert first.output == "done"
        assert "guten Tag" in server.system(0)
        assert "run_skill_script" not in server.tools(0)
        assert "run_skill_script" in server.tools(1), "tools join in the same run"
        assert "Use pdftotext" in server.everything(1)
        asyncio.run(agent.run("What is 2+2?", message_history=first.all_messages()))
        assert "[2 skills available]" in server.system()
        assert "guten Tag" not in server.system()
        assert "run_skill_script" in server.tools(), "the history says what was loaded"


def test_openai_agents(tree: Path) -> None:
    pytest.importorskip("agents")
    from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
    from openai import AsyncOpenAI

    from skillcue.integrations.openai_agents import SkillcueSkills

    set_tracing_disabled(True)

    async def main(server: Scripted) -> None:
        skills = SkillcueSkills(tree)
        client = AsyncOpenAI(base_url=server.url, api_key="none")
        model = OpenAIChatCompletionsModel("scripted", openai_client=client)
        agent = Agent("a", instructions=skills.instructions("Be brief."), tools=skills.tools(), model=model)
        answer = await Runner.run(agent, "Say bonjour to Alice")
        assert answer.final_output == "done"
        assert server.system(0).startswith("Be brief.")
        assert "guten Tag" in server.system(0)
        assert "Use pdftotext" in server.everything(1)
        assert skills.session["skills"][0]["name"] == "pdf"
        again = Agent("b", instructions=skills.instructions(), tools=skills.tools(), model=model)
        await Runner.run(again, "What is 2+2?")
        assert server.system(2) == "[2 skills available]"
        assert "run_skill_script" in server.tools(2)
        await client.close()

    with serving(script) as server:
        asyncio.run(main(server))
