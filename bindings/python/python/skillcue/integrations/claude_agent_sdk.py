"""Claude Agent SDK: skills as hooks and an MCP server in the process.

>>> from claude_agent_sdk import ClaudeAgentOptions                              # doctest: +SKIP
>>> skills = SkillcueHooks("./skills")                                           # doctest: +SKIP
>>> options = ClaudeAgentOptions(                                                # doctest: +SKIP
...     hooks=skills.hooks(), mcp_servers={"skillcue": skills.server()}, allowed_tools=skills.allowed_tools()
... )
"""

from __future__ import annotations

import logging
from typing import Any, cast

from claude_agent_sdk import HookMatcher, SdkMcpTool, create_sdk_mcp_server
from claude_agent_sdk.types import HookContext, HookEvent, HookInput, HookJSONOutput, McpSdkServerConfig

from .._errors import SkillcueError
from .._functions import StrPath
from .._results import Tool
from .._skills import Session, Skillcue
from ._conversation import OneConversation, has_news

__all__ = ["SERVER", "SkillcueHooks"]

logger = logging.getLogger("skillcue.integrations.claude_agent_sdk")

SERVER = "skillcue"
"""The name under which ``mcp_servers`` has the server, for :meth:`SkillcueHooks.allowed_tools`."""

# The tools of Claude Code whose calls say which file the work is about.
_FILE_TOOLS = "Read|Edit|MultiEdit|Write|NotebookEdit"
_SCRIPT_TOOL = "run_skill_script"


class SkillcueHooks(OneConversation):
    """The skills of one conversation. Before each message the model gets the text of the skills that fit it, once; after a
    compaction it gets those that were in use again. Its session remembers what was shown, and what the model has loaded.
    """

    def __init__(self, skills: Skillcue | StrPath, *, session: Session | None = None, **options: Any) -> None:
        super().__init__(skills, session=session, **options)
        self._message = ""
        self._list = ""
        self._is_compacted = False
        self._named: set[str] = set()

    def hooks(self) -> dict[HookEvent, list[HookMatcher]]:
        """Returns the hooks, for ``ClaudeAgentOptions(hooks=…)``."""
        return {
            "UserPromptSubmit": [HookMatcher(hooks=[self._before_message])],
            "PostToolUse": [HookMatcher(matcher=_FILE_TOOLS, hooks=[self._after_tool])],
            "PreCompact": [HookMatcher(hooks=[self._before_compaction])],
        }

    def server(self) -> McpSdkServerConfig:
        """Returns an MCP server in this process, for ``ClaudeAgentOptions(mcp_servers={"skillcue": …})``: tools to load and
        search skills, to read their files, and to run scripts of loaded ones."""
        made = create_sdk_mcp_server(SERVER, tools=[self._function(tool) for tool in self._tools()])
        # Without it the model sees names of tools only, and has to search for what they take. The SDK's type lacks the key.
        cast("dict[str, Any]", made)["alwaysLoad"] = True
        return made

    def allowed_tools(self) -> list[str]:
        """Returns the names of the tools that only read, for ``ClaudeAgentOptions(allowed_tools=…)``. A script runs after
        the SDK's own question about permission."""
        return [f"mcp__{SERVER}__{tool.name}" for tool in self._tools() if tool.name != _SCRIPT_TOOL]

    async def _before_message(self, given: HookInput, call: str | None, context: HookContext) -> HookJSONOutput:
        if given["hook_event_name"] != "UserPromptSubmit":
            return {}
        self._message = given["prompt"]
        try:
            text = await self._text(self._message)
        except SkillcueError as error:
            # A message must not be held up by what is wrong with a skill.
            logger.warning("no skill is shown: %s", error)
            return {}
        if not text:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}

    async def _text(self, message: str) -> str:
        parts: list[str] = []
        is_first = not self.session
        if self._is_compacted:
            self._is_compacted, self._list = False, ""
            parts.append((await self.skills.arehydrate(self.session)).text)
        shown = await self.skills.adisclose(message, session=self.session)
        if shown.stable != self._list:
            self._list = shown.stable
            parts.append(shown.stable)
        # What is shown here stays in the context: how many skills there are is said once, and of what is there already
        # nothing.
        if is_first or (shown.tier > 1 and has_news(shown)):
            parts.append(shown.turn)
        return "\n\n".join(part for part in parts if part)

    async def _after_tool(self, given: HookInput, call: str | None, context: HookContext) -> HookJSONOutput:
        # The context of a subagent is not this conversation's.
        if given["hook_event_name"] != "PostToolUse" or given.get("agent_id"):
            return {}
        path = given["tool_input"].get("file_path") or given["tool_input"].get("notebook_path")
        if not isinstance(path, str):
            return {}
        try:
            hits = await self.skills.areselect(
                self._message, touched=[path], already=sorted(self._named), session=self.session
            )
        except SkillcueError as error:
            logger.warning("no skill is named: %s", error)
            return {}
        names = [hit.name for hit in hits if hit.name not in self._named]
        if not names:
            return {}
        self._named.update(names)
        text = f"[For this file there is a skill: {', '.join(names)}. Load it with load_skill if it applies.]"
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": text}}

    async def _before_compaction(self, given: HookInput, call: str | None, context: HookContext) -> HookJSONOutput:
        self._is_compacted = True
        return {}

    def _tools(self) -> list[Tool]:
        """Returns the tools. The SDK fixes them, so the one for scripts is there from the start if any skill has scripts."""
        tools = self.skills.tools()
        for skill in self.skills:
            if self.skills.scripts(skill.name):
                joined = self.skills.tools(loaded=[skill.name])
                return [*tools, *(tool for tool in joined if tool.name == _SCRIPT_TOOL)]
        return tools

    def _function(self, tool: Tool) -> SdkMcpTool[Any]:
        async def call(arguments: dict[str, Any]) -> dict[str, Any]:
            result = await self.skills.acall_tool(tool.name, arguments, session=self.session)
            return {"content": [{"type": "text", "text": result.text}], "is_error": result.is_error}

        return SdkMcpTool(tool.name, tool.description, tool.input_schema, call)
