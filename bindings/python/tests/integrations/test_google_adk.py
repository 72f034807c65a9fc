"""Google's Agent Development Kit with the registry, and a scripted model behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import Reply, Scripted, serving

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.adk.tools.skill_toolset import SkillToolset
from google.genai import types

from skillcue import NotFoundError
from skillcue.integrations.google_adk import SkillcueRegistry

# The kit's own warnings about what is new in it are not ours.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "none")


def runner(server: Scripted, registry: SkillcueRegistry) -> InMemoryRunner:
    agent = LlmAgent(
        name="assistant",
        model=Gemini(model="scripted", base_url=server.url.removesuffix("/v1")),
        instruction=registry.instructions("Be brief."),
        tools=[SkillToolset(registry=registry)],
    )
    return InMemoryRunner(agent=agent, app_name="test")


async def say(runner: InMemoryRunner, session: str, text: str) -> str:
    message = types.Content(role="user", parts=[types.Part(text=text)])
    said = ""
    async for event in runner.run_async(user_id="u", session_id=session, new_message=message):
        parts = (event.content.parts if event.content else None) or []
        said = "".join(part.text for part in parts if part.text) or said
    return said


def test_the_walk_through(tree: Path) -> None:
    async def main(server: Scripted) -> None:
        made = runner(server, SkillcueRegistry(tree))
        session = (await made.session_service.create_session(app_name="test", user_id="u")).id
        assert await say(made, session, "What is 2+2?") == "fine"
        assert "[2 skills available]" in server.system()
        assert server.system().startswith("Be brief.")
        assert "guten Tag" not in server.everything()
        await say(made, session, "What can you do?")
        assert "greeter" in server.system()
        await say(made, session, "Say bonjour to Alice")
        assert "guten Tag" in server.system()
        await say(made, session, "What is 3+3?")
        assert "guten Tag" not in server.everything(), "instructions are of one turn"

    with serving(lambda request: "fine") as server:
        asyncio.run(main(server))


def test_the_model_searches_the_registry_and_loads(tree: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        answers = sum(message["role"] == "tool" for message in request["messages"])
        calls: list[Reply] = [
            [("search_skills", {"query": "fill a pdf"})],
            [("load_skill", {"skill_name": "pdf"})],
            [("load_skill_resource", {"skill_name": "pdf", "file_path": "references/reference.md"})],
            [("load_skill", {"skill_name": "hidden"})],
        ]
        return calls[answers] if answers < len(calls) else "done"

    async def main(server: Scripted) -> None:
        made = runner(server, SkillcueRegistry(tree))
        session = (await made.session_service.create_session(app_name="test", user_id="u")).id
        assert await say(made, session, "Help me") == "done"
        results = [str(it["content"]) for it in server.requests[-1]["messages"] if it["role"] == "tool"]
        assert '"name": "pdf"' in results[0] and "Reads and fills PDF files." in results[0]
        assert "Use pdftotext" in results[1]
        assert "# Reference" in results[2]
        assert "error" in results[3] and "Hidden body" not in results[3]

    with serving(script) as server:
        asyncio.run(main(server))


def test_a_skill_is_handed_over_with_its_files(tree: Path, skill_at: Callable[..., Path]) -> None:
    files = {"references/a/b.md": "B", "assets/logo.svg": "<svg/>", "other.txt": "O", "scripts/run.sh": "echo"}
    front = "name: full\ndescription: Has files.\nallowed-tools: Read Bash(ls:*)\nmetadata:\n  author: me"
    directory = skill_at("full", f"---\n{front}\n---\nBody.\n", files)
    (directory / "assets" / "raw.bin").write_bytes(b"\xff\x00")
    skill_at("long", f"---\nname: long\ndescription: {'word ' * 300}\n---\nBody.\n")

    async def main() -> None:
        registry = SkillcueRegistry(tree)
        skill = await registry.get_skill(name="full")
        assert skill.instructions.strip() == "Body."
        assert skill.frontmatter.metadata == {"author": "me"}
        assert skill.frontmatter.allowed_tools == "Read Bash(ls:*)"
        assert skill.resources.references == {"a/b.md": "B", "other.txt": "O"}
        assert skill.resources.assets == {"logo.svg": "<svg/>", "raw.bin": b"\xff\x00"}
        assert str(skill.resources.get_script("run.sh")) == "echo"
        assert len((await registry.get_skill(name="long")).description) <= 1024
        for name in ("hidden", "unknown"):
            with pytest.raises(NotFoundError):
                await registry.get_skill(name=name)
        assert await registry.search_skills(query="secret ledgers") == []

    asyncio.run(main())
