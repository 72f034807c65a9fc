"""LangChain's own agent with the middleware, and a scripted model behind it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from scripted import Reply, Scripted, last_is_tool, last_user, serving

pytest.importorskip("langchain")
pytest.importorskip("langchain_openai")

from langchain.agents import create_agent
from langchain_core.messages import RemoveMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from skillcue import Skillcue
from skillcue.integrations.langchain import SkillcueMiddleware, skill_tools


def model(server: Scripted) -> ChatOpenAI:
    return ChatOpenAI(model="scripted", base_url=server.url, api_key="none", max_retries=0)  # type: ignore[arg-type]


def say(agent: Any, text: str, thread: str = "1") -> str:
    config = {"configurable": {"thread_id": thread}}
    return str(agent.invoke({"messages": [("user", text)]}, config)["messages"][-1].content)


def test_the_walk_through(tree: Path) -> None:
    with serving(lambda request: f"answer to {last_user(request)[-12:]}") as server:
        agent = create_agent(
            model(server),
            system_prompt="Be brief.",
            middleware=[SkillcueMiddleware(tree)],
            checkpointer=InMemorySaver(),
        )
        say(agent, "What is 2+2?")
        assert "[2 skills available]" in server.everything()
        assert "guten Tag" not in server.everything()
        say(agent, "What can you do?")
        assert "greeter" in last_user(server.requests[-1])
        say(agent, "Say bonjour to Alice")
        assert "guten Tag" in last_user(server.requests[-1])
        assert last_user(server.requests[-1]).endswith("Say bonjour to Alice")
        say(agent, "And bonjour to Bob")
        assert server.everything().count("guten Tag") == 1, "shown once, and still in the context"
        assert server.system() == "Be brief."
        for before, after in zip(server.requests, server.requests[1:], strict=False):
            equal = len(before["messages"])
            assert after["messages"][:equal] == before["messages"], "a prompt cache can keep the beginning"


def test_state_survives_a_checkpoint(tree: Path) -> None:
    saver = InMemorySaver()
    with serving(lambda request: "fine") as server:
        say(create_agent(model(server), middleware=[SkillcueMiddleware(tree)], checkpointer=saver), "Say bonjour")
        # Another process would do just this: another agent, another middleware, the stored state.
        again = create_agent(model(server), middleware=[SkillcueMiddleware(tree)], checkpointer=saver)
        say(again, "bonjour again")
        assert server.everything().count("guten Tag") == 1
        state = again.get_state({"configurable": {"thread_id": "1"}}).values
        assert json.loads(json.dumps(state["skillcue"]))["session"]["turn"] == 2
        say(again, "Say bonjour", thread="2")
        assert server.everything().count("guten Tag") == 1, "another conversation"


def test_a_removed_message_is_shown_again(tree: Path) -> None:
    with serving(lambda request: "fine") as server:
        agent = create_agent(model(server), middleware=[SkillcueMiddleware(tree)], checkpointer=InMemorySaver())
        say(agent, "Say bonjour")
        config = {"configurable": {"thread_id": "1"}}
        first = agent.get_state(config).values["messages"][0]
        agent.update_state(config, {"messages": [RemoveMessage(id=first.id)]})
        say(agent, "Say bonjour again")
        assert server.everything().count("guten Tag") == 1


def test_tools_join_when_a_skill_is_loaded(tree: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        names = [tool["function"]["name"] for tool in request["tools"]]
        calls = sum(message["role"] == "tool" for message in request["messages"])
        if calls == 0:
            assert "run_skill_script" not in names
            return [("load_skill", {"skill_id": "pdf"}), ("search_skills", {"query": "greet"})]
        if calls == 2:
            assert "run_skill_script" in names
            return [("run_skill_script", {"skill_id": "pdf", "script": "scripts/count.py"}), ("shout", {"text": "hi"})]
        return "done"

    @tool
    def shout(text: str) -> str:
        """Shouts."""
        return text.upper()

    with serving(script) as server:
        agent = create_agent(model(server), tools=[shout], middleware=[SkillcueMiddleware(tree)])
        answer = agent.invoke({"messages": [("user", "Count something")]})
        results = [it.content for it in answer["messages"] if it.type == "tool"]
        assert "<skill_context" in results[0]
        assert '"skill": "pdf"' in results[2].replace("\\", ""), results[2]
        assert results[3] == "HI"
        assert answer["messages"][-1].content == "done"
        assert "skillcue" not in answer, "the state is private"


def test_async_agents(tree: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        return "done" if last_is_tool(request) else [("load_skill", {"skill_id": "pdf"})]

    async def main(server: Scripted) -> None:
        agent = create_agent(model(server), middleware=[SkillcueMiddleware(tree)])
        asked = (agent.ainvoke({"messages": [("user", f"Say bonjour to {number}")]}) for number in range(8))
        for answer in await asyncio.gather(*asked):
            assert answer["messages"][-1].content == "done"
        assert all("guten Tag" in last_user(request) for request in server.requests)

    with serving(script) as server:
        asyncio.run(main(server))


def test_a_policy_with_a_static_list(tree: Path) -> None:
    with serving(lambda request: "fine") as server:
        agent = create_agent(
            model(server), system_prompt="Be brief.", middleware=[SkillcueMiddleware(tree, policy="catalog", tools=False)]
        )
        agent.invoke({"messages": [("user", "Say bonjour")]})
        assert server.system().startswith("Be brief.")
        assert "<id>greeter</id>" in server.system()
        assert server.tools() == []


def test_plain_tools(tree: Path) -> None:
    tools = {tool.name: tool for tool in skill_tools(Skillcue(tree))}
    assert "Use pdftotext" in tools["load_skill"].invoke({"skill_id": "pdf"})
