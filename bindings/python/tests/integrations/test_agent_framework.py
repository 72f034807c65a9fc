"""Microsoft's Agent Framework with the context provider, and a scripted model behind it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scripted import Reply, Scripted, last_is_tool, serving
from trees import write_many

pytest.importorskip("agent_framework")
pytest.importorskip("agent_framework_openai")

from agent_framework import (
    Agent,
    AgentSession,
    InlineSkill,
    Message,
    SkillFrontmatter,
    SkillsProvider,
    SkillsSourceContext,
)
from agent_framework_openai import OpenAIChatCompletionClient

from skillcue.integrations.agent_framework import (
    SkillContextProvider,
    SkillcueContextProvider,
    SkillcueSkillsSource,
    SkillDocumentationIndex,
)


def agent(server: Scripted, provider: Any) -> Agent:
    client = OpenAIChatCompletionClient(model="scripted", base_url=server.url, api_key="none")
    return Agent(client, instructions="Be brief.", context_providers=[provider])


def test_the_walk_through(tree: Path) -> None:
    async def main(server: Scripted) -> None:
        made = agent(server, SkillcueContextProvider(tree))
        session = made.create_session()
        await made.run("What is 2+2?", session=session)
        assert "[2 skills available]" in server.system()
        assert "guten Tag" not in server.everything()
        await made.run("What can you do?", session=session)
        assert "greeter" in server.system()
        assert "hidden" not in server.system()
        await made.run("Say bonjour to Alice", session=session)
        assert "guten Tag" in server.system()
        await made.run("What is 3+3?", session=session)
        assert "guten Tag" not in server.everything(), "the instructions of one run are gone with it"
        await made.run("Say bonjour to Bob", session=session)
        assert "guten Tag" in server.system(), "so what fits again is shown again"
        restored = AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))
        assert restored.state["skillcue"]["session"]["turn"] == 5

    with serving(lambda request: "fine") as server:
        asyncio.run(main(server))


def test_the_model_loads_a_skill(tree: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        return "done" if last_is_tool(request) else [("load_skill", {"skill_id": "pdf"})]

    async def main(server: Scripted) -> None:
        made = agent(server, SkillcueContextProvider(tree))
        session = made.create_session()
        answer = await made.run("Help me", session=session)
        assert answer.text == "done"
        assert "Use pdftotext" in server.everything()
        assert {"load_skill", "search_skills"} <= set(server.tools(0))
        await made.run("Now open a pdf", session=session)
        assert "run_skill_script" in server.tools()
        assert "Use pdftotext" not in server.system(), "it is in the history, from the tool"

    with serving(script) as server:
        asyncio.run(main(server))


def manifest(number: int, **more: Any) -> SimpleNamespace:
    fields = {"brief_description": f"Does task {number}", "triggers": None, "instructions": f"Instructions {number}."}
    return SimpleNamespace(**{**fields, **more})


def invoke(provider: SkillContextProvider, text: str) -> str | None:
    return asyncio.run(provider.invoking([SimpleNamespace(role="user", content=text)])).instructions


def test_the_provider_over_an_index() -> None:
    index = SkillDocumentationIndex()
    assert not index.has_skills()
    assert invoke(SkillContextProvider(index), "hello") is None
    triggers = {"keywords": ["bonjour"], "verbs": ["greet"], "patterns": ["say .* in french", "(((" ]}
    index.add_skill("hello-extended", manifest(1, triggers=triggers, instructions="Greet politely."))
    index.add_skill("runner-up", manifest(2, triggers={"keywords": ["run"]}))
    index.add_skill("quiet", manifest(3))
    assert index.count() == 3
    assert index.get_all_metadata()[0]["triggers"]["keywords"] == ["bonjour"]
    provider = SkillContextProvider(index, None, 3, 10)
    assert invoke(provider, "What is 2+2?") == "[3 skills available]"
    assert "hello-extended" in (invoke(provider, "What can you do?") or "")
    for message in ("Say bonjour to Alice", "Please greet Bob", "say hi in french", "use hello-extended now"):
        assert "Greet politely." in (invoke(provider, message) or ""), message
    assert "Instructions 2." not in (invoke(provider, "who is the runner?") or ""), "a whole word, or none"
    assert invoke(provider, "") is None
    assert asyncio.run(provider.invoking(Message("user", ["Say bonjour"]))).instructions


def test_all_skills_are_capped() -> None:
    index = SkillDocumentationIndex()
    for number in range(15):
        index.add_skill(f"skill-{number:02}", manifest(number, triggers={"keywords": ["task"]}))
    provider = SkillContextProvider(index, max_skills=3, max_all_skills=10)
    text = invoke(provider, "Show all skills") or ""
    assert sum(f"Instructions {number}." in text for number in range(15)) == 10
    assert "15" in text or "5 " in text, "the rest is mentioned"
    few = invoke(provider, "do the task") or ""
    assert sum(f"Instructions {number}." in few for number in range(15)) <= 3


def test_an_index_of_skills_on_disk(tmp_path: Path) -> None:
    write_many(tmp_path, 5)
    index = SkillDocumentationIndex.of(tmp_path)
    assert index.count() == 5
    assert index.get_all_metadata()[3]["instructions"].startswith("Body 3")
    with pytest.raises(TypeError):
        index.add_skill("more", manifest(1))

    async def main(server: Scripted) -> None:
        await agent(server, SkillContextProvider(index)).run("do task3")
        assert "Body 3" in server.system()

    with serving(lambda request: "fine") as server:
        asyncio.run(main(server))


def test_the_framework_lists_our_skills(tree: Path, skill_at: Callable[..., Path]) -> None:
    def script(request: dict[str, Any]) -> Reply:
        answers = sum(message["role"] == "tool" for message in request["messages"])
        calls: list[Reply] = [
            [("load_skill", {"skill_name": "pdf"})],
            [
                ("read_skill_resource", {"skill_name": "pdf", "resource_name": "reference.md"}),
                ("read_skill_resource", {"skill_name": "pdf", "resource_name": "../greeter/SKILL.md"}),
                ("run_skill_script", {"skill_name": "pdf", "script_name": "scripts/count.py", "args": ["a", "b"]}),
            ],
        ]
        return {0: calls[0], 1: calls[1]}.get(answers, "done")

    async def main(server: Scripted) -> None:
        made = agent(
            server,
            SkillsProvider(
                SkillcueSkillsSource(tree),
                disable_load_skill_approval=True,
                disable_read_skill_resource_approval=True,
                disable_run_skill_script_approval=True,
            ),
        )
        assert (await made.run("Help me")).text == "done"
        assert "<name>greeter</name>" in server.system() and "<name>hidden</name>" not in server.system()
        results = [str(it["content"]) for it in server.requests[-1]["messages"] if it["role"] == "tool"]
        assert "Use pdftotext" in results[0] and "<file>scripts/count.py</file>" in results[0]
        assert "# Reference" in results[1]
        assert 'code="security"' in results[2] and "Greet" not in results[2]
        assert '"words": ["a", "b"]' in results[3], results[3]
        skill_at("later", "---\nname: later\ndescription: Came later.\nmetadata:\n  tier: gold\n---\nLater.\n")
        await made.run("Help me again")
        assert "<name>later</name>" in server.system(), "each run looks again"

    with serving(script) as server:
        asyncio.run(main(server))


def test_front_matter_reaches_the_filters_of_the_framework(tree: Path, skill_at: Callable[..., Path]) -> None:
    skill_at("gold", "---\nname: gold\ndescription: Shines.\nmetadata:\n  tier: gold\n  level: 3\n---\nGold.\n")
    skill_at("long", f"---\nname: long\ndescription: {'word ' * 300}\n---\nBody.\n")

    async def main(server: Scripted) -> None:
        source = SkillcueSkillsSource(tree)
        context = SkillsSourceContext(agent=agent(server, SkillsProvider(source)))
        found = {skill.frontmatter.name: skill.frontmatter for skill in await source.get_skills(context)}
        assert sorted(found) == ["gold", "greeter", "long", "pdf"]
        assert found["gold"].metadata == {"tier": "gold", "level": "3"}
        assert found["pdf"].allowed_tools == "Read Bash(pdftotext:*)"
        assert len(found["long"].description) <= 1024

    with serving(lambda request: "fine") as server:
        asyncio.run(main(server))


def test_the_tools_of_both_providers_have_names_of_their_own(tree: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        return "done" if last_is_tool(request) else [("skillcue_load_skill", {"skill_id": "pdf"})]

    async def main(server: Scripted) -> None:
        client = OpenAIChatCompletionClient(model="scripted", base_url=server.url, api_key="none")
        own = InlineSkill(frontmatter=SkillFrontmatter(name="own", description="Is its own."), instructions="Own.")
        for order in (1, -1):
            providers = [SkillcueContextProvider(tree), SkillsProvider([own])][::order]
            made = Agent(client, context_providers=providers)
            assert (await made.run("Help me")).text == "done"
            assert {"load_skill", "skillcue_load_skill", "skillcue_search_skills"} <= set(server.tools())
            assert "Use pdftotext" in server.everything()

    with serving(script) as server:
        asyncio.run(main(server))
