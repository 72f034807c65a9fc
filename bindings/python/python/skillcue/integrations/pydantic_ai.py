"""pydantic-ai: skills as instructions and a toolset.

>>> from pydantic_ai import Agent                                                # doctest: +SKIP
>>> skills = SkillcueToolset("./skills")                                         # doctest: +SKIP
>>> agent = Agent(model, instructions=skills.instructions, toolsets=[skills])    # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from .._functions import StrPath
from .._skills import Skillcue

__all__ = ["SkillcueToolset"]

# The library checks arguments itself, and answers a model that was wrong.
_ANY = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))


class SkillcueToolset(AbstractToolset[Any]):
    """Tools to load and search skills; tools of loaded skills join. It keeps no state: what was loaded is read from the
    messages of the run, so that it works for every history that is passed in."""

    def __init__(self, skills: Skillcue | StrPath, *, id: str | None = "skillcue", **options: Any) -> None:
        """Opens the skills.

        :param skills: The skills, or the directory where they are.
        :param options: Those of :class:`skillcue.Skillcue`, if ``skills`` is a directory.
        """
        self.skills = skills if isinstance(skills, Skillcue) else Skillcue(skills, **options)
        self._id = id

    @property
    def id(self) -> str | None:
        """The id of the toolset."""
        return self._id

    async def instructions(self, ctx: RunContext[Any]) -> str:
        """Returns the instructions for the prompt of a run: what fits it. They are of this run only."""
        message = _text(ctx.prompt)
        return (await self.skills.adisclose(message)).text if message else ""

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Returns the tools for the messages so far."""
        tools = await self.skills.atools(loaded=_loaded(ctx.messages))
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name, description=tool.description, parameters_json_schema=tool.input_schema
                ),
                max_retries=0,
                args_validator=_ANY,
            )
            for tool in tools
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> str:
        """Calls a tool."""
        return (await self.skills.acall_tool(name, tool_args, loaded=_loaded(ctx.messages))).text


def _loaded(messages: Sequence[ModelMessage]) -> list[str]:
    """Returns the skills that the model has loaded, in order."""
    names: dict[str, None] = {}
    for message in messages:
        for part in message.parts if isinstance(message, ModelResponse) else ():
            if isinstance(part, ToolCallPart) and part.tool_name == "load_skill":
                name = part.args_as_dict().get("skill_id")
                if isinstance(name, str):
                    names[name] = None
    return list(names)


def _text(prompt: Any) -> str:
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return "\n".join(part for part in prompt if isinstance(part, str))
