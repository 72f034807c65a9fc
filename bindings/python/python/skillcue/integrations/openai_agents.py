"""OpenAI Agents SDK: skills as instructions and tools.

>>> from agents import Agent                                                     # doctest: +SKIP
>>> skills = SkillcueSkills("./skills")                                          # doctest: +SKIP
>>> agent = Agent("assistant", instructions=skills.instructions("Be brief."), tools=skills.tools())  # doctest: +SKIP
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from agents import Agent, FunctionTool, RunContextWrapper, Tool

from .._results import Tool as SkillTool
from ._conversation import OneConversation

__all__ = ["SkillcueSkills"]


class SkillcueSkills(OneConversation):
    """The skills of an agent. One object is one conversation: its session remembers what the model has loaded."""

    def instructions(self, base: str = "") -> Callable[[RunContextWrapper[Any], Agent[Any]], Awaitable[str]]:
        """Returns a function for ``Agent(instructions=…)``: what fits the user's message comes behind ``base``."""

        async def made(context: RunContextWrapper[Any], agent: Agent[Any]) -> str:
            message = _latest(context.turn_input)
            shown = (await self.skills.adisclose(message)).text if message else ""
            return "\n\n".join(part for part in (base, shown) if part)

        return made

    def tools(self) -> list[Tool]:
        """Returns the tools. Those of skills that a session has loaded already are among them; the SDK fixes the tools of
        an agent, so call it again for the next agent after a load."""
        return [self._function(tool) for tool in self.skills.tools(session=self.session)]

    def _function(self, tool: SkillTool) -> FunctionTool:
        async def call(context: Any, arguments: str) -> str:
            return (await self.skills.acall_tool(tool.name, json.loads(arguments or "{}"), session=self.session)).text

        return FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.input_schema,
            on_invoke_tool=call,
            strict_json_schema=False,
        )


def _latest(items: list[Any]) -> str:
    """Returns the text of the last message of the user."""
    for item in reversed(items):
        if isinstance(item, dict) and item.get("role") == "user":
            content = item.get("content")
            if isinstance(content, str):
                return content
            return "\n".join(part["text"] for part in content or () if isinstance(part, dict) and "text" in part)
    return ""
