"""Google's Agent Development Kit: skills as a registry for its ``SkillToolset``, and as instructions.

>>> from google.adk.agents import LlmAgent                                       # doctest: +SKIP
>>> from google.adk.tools.skill_toolset import SkillToolset                      # doctest: +SKIP
>>> registry = SkillcueRegistry("./skills")                                      # doctest: +SKIP
>>> agent = LlmAgent(                                                            # doctest: +SKIP
...     name="assistant", instruction=registry.instructions("Be brief."), tools=[SkillToolset(registry=registry)]
... )
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.skills import Frontmatter, Resources, Script, Skill, SkillRegistry

from .._errors import NotFoundError
from .._functions import StrPath
from .._skills import Skillcue
from .._types import Skill as SkillMetadata
from ._conversation import shortened

__all__ = ["SkillcueRegistry"]

logger = logging.getLogger("skillcue.integrations.google_adk")

# The kit refuses longer ones.
_MAX_DESCRIPTION = 1024
_MAX_COMPATIBILITY = 500
# Bytes of a skill's files that are handed over; the kit has the same limit for those that it copies.
_MAX_FILES = 16 << 20
_FOLDERS = ("references", "assets", "scripts")


class SkillcueRegistry(SkillRegistry):
    """A registry: the model searches it and loads what it needs by the tools of ``SkillToolset``. Skills that are hidden
    from models are not in it."""

    def __init__(self, skills: Skillcue | StrPath, *, limit: int = 10, **options: Any) -> None:
        """Opens the skills.

        :param skills: The skills, or the directory where they are.
        :param limit: The number of skills that a search returns.
        :param options: Those of :class:`skillcue.Skillcue`, if ``skills`` is a directory.
        """
        self.skills = skills if isinstance(skills, Skillcue) else Skillcue(skills, **options)
        self.limit = limit

    async def search_skills(self, *, query: str) -> list[Frontmatter]:
        """Returns the skills that fit a query, the best first."""
        found: list[Frontmatter] = []
        for hit in (await self.skills.asearch(query, limit=self.limit)).hits:
            try:
                found.append(self._front_matter(self.skills.get(hit.name)))
            except ValueError as error:
                logger.warning("the skill %s is left out: %s", hit.name, error)
        return found

    async def get_skill(self, *, name: str) -> Skill:
        """Returns a skill with its instructions and files.

        :raises NotFoundError: for a name that is unknown, or hidden from models.
        """
        skill = self.skills.get(name)
        if skill.disable_model_invocation:
            raise NotFoundError(f'no skill is called "{name}"', code="not_found")
        loaded = await self.skills.aload(name, form="body")
        return Skill(
            frontmatter=self._front_matter(skill), instructions=loaded.content, resources=await self._resources(name)
        )

    def search_tool_description(self) -> str:
        """Returns what the model reads about the tool that searches."""
        return "Finds skills, which are instructions for tasks, that fit a task in plain words; the best first."

    def instructions(self, base: str = "") -> Callable[[ReadonlyContext], Awaitable[str]]:
        """Returns a function for ``LlmAgent(instruction=…)``: what fits the user's message comes behind ``base``."""

        async def made(context: ReadonlyContext) -> str:
            parts = (context.user_content.parts if context.user_content else None) or []
            message = "\n".join(part.text for part in parts if part.text)
            shown = (await self.skills.adisclose(message)).text if message else ""
            return "\n\n".join(part for part in (base, shown) if part)

        return made

    def _front_matter(self, skill: SkillMetadata) -> Frontmatter:
        metadata = self.skills.front_matter(skill.name).get("metadata")
        return Frontmatter(
            name=skill.name,
            description=shortened(skill.description, _MAX_DESCRIPTION),
            license=skill.license,
            compatibility=skill.compatibility and shortened(skill.compatibility, _MAX_COMPATIBILITY),
            metadata=metadata if isinstance(metadata, dict) else {},
            **{"allowed-tools": " ".join(skill.allowed_tools) or None},
        )

    async def _resources(self, name: str) -> Resources:
        """Returns the files. The kit knows three folders; what is in none of them is with the references."""
        found: dict[str, dict[str, str | bytes]] = {folder: {} for folder in _FOLDERS}
        total = 0
        for file in await self.skills.afiles(name):
            total += file.size
            if file.path == "SKILL.md":
                continue
            if total > _MAX_FILES:
                logger.warning("files of the skill %s are left out: together they are too large", name)
                break
            folder, _, rest = file.path.partition("/")
            folder, rest = (folder, rest) if folder in _FOLDERS else ("references", file.path)
            content = await self.skills.aread_bytes(name, file.path)
            try:
                found[folder][rest] = content.decode("utf-8")
            except UnicodeDecodeError:
                found[folder][rest] = content
        scripts = {path: Script(src=text) for path, text in found["scripts"].items() if isinstance(text, str)}
        return Resources(references=found["references"], assets=found["assets"], scripts=scripts)
