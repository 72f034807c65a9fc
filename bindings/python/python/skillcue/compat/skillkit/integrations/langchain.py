"""Skills and their scripts as tools of LangChain: one tool a skill, and one a script.

Needs `langchain-core`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypedDict

try:
    from langchain_core.tools import StructuredTool, ToolException
    from pydantic import BaseModel, ConfigDict, Field
except ImportError as error:
    raise ImportError(
        "LangChain integration requires additional dependencies. Install with: pip install skillcue[langchain]"
    ) from error

from ..core.exceptions import SkillsUseError

if TYPE_CHECKING:
    from ..core.manager import SkillManager
    from ..core.models import Skill, SkillMetadata
    from ..core.scripts import ScriptExecutionResult

__all__ = ["ScriptInput", "ScriptToolResult", "SkillInput", "create_langchain_tools", "create_script_tools"]


class ScriptToolResult(TypedDict):
    """The form of a script's tool result in LangChain."""

    type: str
    tool_use_id: str
    content: str | list[str] | None
    is_error: bool


class SkillInput(BaseModel):
    """The input of a skill's tool. White space around the arguments is cut off."""

    model_config = ConfigDict(str_strip_whitespace=True)

    arguments: str = Field(default="", description="Arguments to pass to the skill")


class ScriptInput(BaseModel):
    """The input of a script's tool."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    arguments: dict[str, Any] = Field(
        default_factory=dict,
        description="JSON-serializable arguments to pass to the script via stdin",
    )


def create_langchain_tools(manager: SkillManager) -> list[StructuredTool]:
    """Returns a tool for each skill, called like it, each followed by the tools of its scripts.

    A skill whose scripts cannot be tools, for their names for example, has its own tool only.
    """
    tools: list[StructuredTool] = []
    for metadata in manager.list_skills():
        tools.append(_skill_tool(manager, metadata))
        try:
            tools.extend(create_script_tools(manager.load_skill(metadata.name), manager))
        except (SkillsUseError, OSError, ValueError):
            continue
    return tools


def _skill_tool(manager: SkillManager, metadata: SkillMetadata) -> StructuredTool:
    name = metadata.name

    def invoke_skill(arguments: str = "") -> str:
        return manager.invoke_skill(name, arguments)

    async def ainvoke_skill(arguments: str = "") -> str:
        return await manager.ainvoke_skill(name, arguments)

    return StructuredTool(
        name=name,
        description=metadata.description,
        args_schema=SkillInput,
        func=invoke_skill,
        coroutine=ainvoke_skill,
    )


def create_script_tools(skill: Skill, manager: SkillManager) -> list[StructuredTool]:
    """Returns a tool for each script of a skill, called `{skill}__{script}`. It answers with the script's output, and
    raises ToolException if the script fails.

    Raises:
        ToolIDValidationError: No tool may be called like one of the scripts.
    """
    tools: list[StructuredTool] = []
    for script in skill.scripts:
        call, acall = _script_calls(manager, skill.metadata.name, script.name)
        tools.append(
            StructuredTool(
                name=script.get_fully_qualified_name(skill.metadata.name),
                description=script.description or f"Execute {script.name} script",
                args_schema=ScriptInput,
                func=call,
                coroutine=acall,
            )
        )
    return tools


_ScriptCall = Callable[..., str]
_AsyncScriptCall = Callable[..., Awaitable[str]]


def _script_calls(manager: SkillManager, skill_name: str, script_name: str) -> tuple[_ScriptCall, _AsyncScriptCall]:
    def invoke_script(arguments: dict[str, Any] | None = None) -> str:
        try:
            result = manager.execute_skill_script(
                skill_name=skill_name,
                script_name=script_name,
                arguments=arguments or {},
                timeout=None,
            )
            return _output_of(result)
        except Exception as error:
            raise ToolException(f"Script execution error: {error}") from error

    async def ainvoke_script(arguments: dict[str, Any] | None = None) -> str:
        # On a thread: other tasks go on while the script runs.
        return await asyncio.to_thread(invoke_script, arguments)

    return invoke_script, ainvoke_script


def _output_of(result: ScriptExecutionResult) -> str:
    if result.exit_code == 0:
        return result.stdout
    message = f"Script failed with exit code {result.exit_code}"
    if result.stderr:
        message += f"\nError: {result.stderr}"
    if result.timeout:
        message += "\n(Script timed out)"
    if result.signal:
        message += f"\n(Killed by signal: {result.signal})"
    raise ToolException(message)
