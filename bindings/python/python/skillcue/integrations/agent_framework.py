"""Microsoft Agent Framework 1.x: skills as a context provider.

>>> from agent_framework import Agent                                            # doctest: +SKIP
>>> agent = Agent(client, context_providers=[SkillcueContextProvider("./skills")])  # doctest: +SKIP

:class:`SkillContextProvider` and :class:`SkillDocumentationIndex` are for programs that collect their skills themselves:
an index of documentation, and a provider over it with ``invoking()``. :class:`SkillcueSkillsSource` is for the framework's
own ``SkillsProvider``.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_framework import ContextProvider, FunctionTool, Message, SkillsProvider

from .._functions import StrPath
from .._skills import Session, Skillcue
from .._results import Tool
from ._conversation import forget, injected
from ._framework_skills import SkillcueSkillsSource

__all__ = [
    "Context",
    "SkillContextProvider",
    "SkillDocumentation",
    "SkillDocumentationIndex",
    "SkillcueContextProvider",
    "SkillcueSkillsSource",
]


class SkillcueContextProvider(ContextProvider):
    """Shows the model, before each run, the skills that fit the new messages, and gives it the tools to load others.

    What is shown are instructions of this run, and no part of the history: the next run shows again what still fits. What
    the model loads by a tool is in the history, and not shown again. The state is plain JSON in the framework's session.
    """

    def __init__(
        self,
        skills: Skillcue | StrPath,
        *,
        source_id: str = "skillcue",
        tools: bool = True,
        **options: Any,
    ) -> None:
        """Opens the skills.

        :param skills: The skills, or the directory where they are.
        :param tools: Whether the model gets tools to load and search skills, and to run their programs.
        :param options: Those of :class:`skillcue.Skillcue`, if ``skills`` is a directory.
        """
        super().__init__(source_id)
        self.skills = skills if isinstance(skills, Skillcue) else Skillcue(skills, **options)
        self._offers_tools = tools

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Adds instructions and tools."""
        message = latest_user_message(context.input_messages)
        memory: Session = state.setdefault("session", {})
        if message:
            shown = await self.skills.adisclose(message, session=memory)
            for text in (shown.stable, shown.turn):
                if text:
                    context.extend_instructions(self.source_id, text)
        if self._offers_tools:
            tools = await self.skills.atools(session=memory)
            # The framework's own provider of skills has tools of the same names, and two of one name are an error.
            beside = any(isinstance(other, SkillsProvider) for other in getattr(agent, "context_providers", None) or ())
            prefix = f"{self.source_id}_" if beside else ""
            context.extend_tools(self.source_id, [self._function(tool, prefix, memory) for tool in tools])

    async def after_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Records that the instructions of this run are gone."""
        memory: Session = state.setdefault("session", {})
        forget(memory, injected(memory))

    def _function(self, tool: Tool, prefix: str, memory: Session) -> FunctionTool:
        async def call(**arguments: Any) -> str:
            return (await self.skills.acall_tool(tool.name, arguments, session=memory)).text

        name = f"{prefix}{tool.name}"
        return FunctionTool(name=name, description=tool.description, func=call, input_model=tool.input_schema)


@dataclass(frozen=True, slots=True)
class Context:
    """What ``invoking()`` returns: instructions for one request, or none."""

    instructions: str | None = None
    messages: tuple[Any, ...] = ()
    tools: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillDocumentation:
    """The documentation of one skill."""

    name: str
    brief_description: str
    triggers: dict[str, list[str]] | None
    instructions: str

    def to_dict(self) -> dict[str, Any]:
        """Returns it as a dictionary."""
        return {
            "name": self.name,
            "brief_description": self.brief_description,
            "triggers": self.triggers or {},
            "instructions": self.instructions,
        }


class SkillDocumentationIndex:
    """The documentation of the skills of a program, in memory. It has nothing to do with what is installed.

    :meth:`of` makes one of the skills on disk; :meth:`add_skill` adds what a program has read itself.
    """

    def __init__(self) -> None:
        self._documents: dict[str, SkillDocumentation] = {}
        self._skills: Skillcue | None = None
        self._is_own = False

    @classmethod
    def of(cls, skills: Skillcue | StrPath, **options: Any) -> SkillDocumentationIndex:
        """Returns the index of skills on disk, whose bodies are read when they are asked for."""
        index = cls()
        index._skills = skills if isinstance(skills, Skillcue) else Skillcue(skills, **options)
        index._is_own = True
        return index

    def add_skill(self, name: str, manifest: Any) -> None:
        """Adds the documentation of a skill.

        :param manifest: Anything with ``brief_description``, ``triggers`` and ``instructions``.
        """
        if self._is_own:
            raise TypeError("this index is of skills on disk: add a skill there")
        triggers: Any = getattr(manifest, "triggers", None)
        if hasattr(triggers, "model_dump"):
            triggers = triggers.model_dump()
        brief = getattr(manifest, "brief_description", None) or getattr(manifest, "description", "") or name
        instructions = getattr(manifest, "instructions", "") or ""
        self._documents[name] = SkillDocumentation(name, brief, triggers or None, instructions)
        self._skills = None

    def get_all_metadata(self) -> list[dict[str, Any]]:
        """Returns the documentation of all skills."""
        if not self._is_own:
            return [document.to_dict() for document in self._documents.values()]
        skills = self.skills()
        return [
            SkillDocumentation(
                skill.name,
                skill.brief_description,
                {key: list(value) for key, value in skill.triggers.to_dict().items() if value} or None,
                skills.load(skill.name, form="body").content,
            ).to_dict()
            for skill in skills
            if not skill.disable_model_invocation
        ]

    def has_skills(self) -> bool:
        """Returns whether there is any skill."""
        return self.count() > 0

    def count(self) -> int:
        """Returns the number of skills that models may see."""
        return self.skills().census() if self._is_own else len(self._documents)

    def skills(self, **options: Any) -> Skillcue:
        """Returns the skills to select from. Documentation that was added is written to a directory of its own first."""
        if self._skills is None or (options and not self._is_own):
            root = Path(tempfile.mkdtemp(prefix="skillcue-"))
            weakref.finalize(self, shutil.rmtree, root, ignore_errors=True)
            for at, document in enumerate(self._documents.values()):
                directory = root / f"{at:06}"
                directory.mkdir()
                (directory / "SKILL.md").write_text(_skill_file(document), encoding="utf-8")
            self._skills = Skillcue(root, **options)
        return self._skills


class SkillContextProvider(SkillcueContextProvider):
    """A provider over an index: a breadcrumb if nothing fits, a list if the user asks what there is, documentation if
    triggers match."""

    def __init__(
        self,
        skill_docs: SkillDocumentationIndex,
        memory_manager: Any = None,
        max_skills: int = 3,
        max_all_skills: int = 10,
        *,
        source_id: str = "skills",
    ) -> None:
        """Takes an index.

        :param memory_manager: Kept for callers that pass one. A message is matched by itself, so it is not asked.
        :param max_skills: The number of skills that are documented.
        :param max_all_skills: The number that is documented if all are asked for.
        """
        self.skill_docs = skill_docs
        self.memory_manager = memory_manager
        self.max_skills = max_skills
        self.max_all_skills = max_all_skills
        # By triggers alone: one that matches is enough, and no text is compared.
        skills = skill_docs.skills(max_skills=max_skills, max_all_skills=max_all_skills, mode="keyword")
        super().__init__(skills, source_id=source_id, tools=False)

    async def invoking(self, messages: Any, **kwargs: Any) -> Context:
        """Returns the instructions for one request."""
        message = latest_user_message(messages)
        if not message:
            return Context()
        shown = await self.skills.adisclose(message)
        return Context(instructions=shown.text or None)

    async def invoked(self, *_: Any, **__: Any) -> None:
        """Does nothing: skills remember nothing of answers."""


def latest_user_message(messages: Any) -> str:
    """Returns the text of the last message of the user, in any of the forms in which messages come."""
    if messages is None:
        return ""
    if isinstance(messages, str):
        return messages
    if isinstance(messages, Message) or not isinstance(messages, Sequence):
        messages = [messages]
    for message in reversed(messages):
        if isinstance(message, str):
            return message
        role = message.get("role") if isinstance(message, Mapping) else getattr(message, "role", None)
        if str(getattr(role, "value", role)) != "user":
            continue
        if isinstance(message, Mapping):
            return str(message.get("content", ""))
        text = getattr(message, "text", None)
        return text if isinstance(text, str) else str(getattr(message, "content", ""))
    return ""


def _skill_file(document: SkillDocumentation) -> str:
    """Returns documentation as a skill file. JSON is YAML, and needs no quoting of its own."""
    known = {key: value for key, value in (document.triggers or {}).items() if value}
    fields = {"name": document.name, "description": document.brief_description, "triggers": known}
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items() if value]
    return "\n".join(["---", *lines, "---", document.instructions, ""])
