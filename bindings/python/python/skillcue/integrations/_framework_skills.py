"""Skills of Skillcue as those of Agent Framework's own skills feature."""

from __future__ import annotations

import logging
from typing import Any

from agent_framework import Skill, SkillFrontmatter, SkillResource, SkillScript, SkillsSource, SkillsSourceContext

from .._functions import StrPath
from .._skills import Skillcue
from .._types import Skill as SkillMetadata
from ._conversation import shortened

logger = logging.getLogger("skillcue.integrations.agent_framework")

# The framework refuses longer ones.
_MAX_DESCRIPTION = 1024
_MAX_COMPATIBILITY = 500


class SkillcueSkillsSource(SkillsSource):
    """Skills for the framework's own ``SkillsProvider``: Skillcue finds them, reads their files through one door, and runs
    their scripts in its sandbox. The provider lists all of them to the model; :class:`SkillcueContextProvider` selects.

    Skills that are hidden from models are left out, and so is a skill whose name the framework does not take; a record of
    ``logging`` says so.
    """

    def __init__(self, skills: Skillcue | StrPath, **options: Any) -> None:
        """Opens the skills.

        :param skills: The skills, or the directory where they are.
        :param options: Those of :class:`skillcue.Skillcue`, if ``skills`` is a directory.
        """
        self.skills = skills if isinstance(skills, Skillcue) else Skillcue(skills, **options)

    async def get_skills(self, context: SkillsSourceContext) -> list[Skill]:
        """Looks for the skills again, reads only what has changed, and returns them."""
        await self.skills.arefresh()
        found: list[Skill] = []
        for skill in self.skills.list():
            if skill.disable_model_invocation:
                continue
            try:
                found.append(_SourcedSkill(self.skills, _front_matter(self.skills, skill)))
            except ValueError as error:
                logger.warning("the skill %s is left out: %s", skill.name, error)
        return found


class _SourcedSkill(Skill):
    def __init__(self, skills: Skillcue, front_matter: SkillFrontmatter) -> None:
        self._skills = skills
        self._front_matter = front_matter

    @property
    def frontmatter(self) -> SkillFrontmatter:
        return self._front_matter

    async def get_content(self) -> str:
        return await self.call("load_skill", {})

    async def get_resource(self, name: str) -> SkillResource | None:
        return _SourcedResource(self, name)

    async def get_script(self, name: str) -> SkillScript | None:
        return _SourcedScript(name)

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Calls a tool of Skillcue, whose answers, errors too, are for a model and have limits."""
        name = self._front_matter.name
        return (await self._skills.acall_tool(tool, {"skill_id": name, **arguments}, loaded=[name])).text


class _SourcedResource(SkillResource):
    def __init__(self, skill: _SourcedSkill, name: str) -> None:
        super().__init__(name=name)
        self._skill = skill

    async def read(self, **kwargs: Any) -> str:
        return await self._skill.call("read_skill_file", {"path": self.name})


class _SourcedScript(SkillScript):
    def __init__(self, name: str) -> None:
        super().__init__(name=name)

    @property
    def parameters_schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}}

    async def run(self, skill: Skill, args: dict[str, Any] | list[str] | None = None, **kwargs: Any) -> str:
        """Runs it with a list as its arguments, or with anything else as JSON on its standard input."""
        assert isinstance(skill, _SourcedSkill)
        given: dict[str, Any] = {"script": self.name}
        if isinstance(args, list):
            given["arguments"] = [str(argument) for argument in args]
        elif args is not None:
            given["input"] = args
        return await skill.call("run_skill_script", given)


def _front_matter(skills: Skillcue, skill: SkillMetadata) -> SkillFrontmatter:
    metadata = skills.front_matter(skill.name).get("metadata")
    return SkillFrontmatter(
        name=skill.name,
        description=shortened(skill.description, _MAX_DESCRIPTION),
        license=skill.license,
        compatibility=skill.compatibility and shortened(skill.compatibility, _MAX_COMPATIBILITY),
        allowed_tools=" ".join(skill.allowed_tools) or None,
        metadata={str(key): str(value) for key, value in metadata.items()} if isinstance(metadata, dict) else None,
    )
