"""LangChain 1.x: skills as a middleware of ``create_agent``.

>>> from langchain.agents import create_agent                                    # doctest: +SKIP
>>> agent = create_agent(model, middleware=[SkillcueMiddleware("./skills")])     # doctest: +SKIP
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command
from typing_extensions import NotRequired

from .._functions import StrPath
from .._skills import Session, Skillcue
from .._results import Disclosure, Tool, ToolResult
from ._conversation import apart, forget, merged, shown_names

__all__ = ["SkillcueMiddleware", "SkillcueState", "skill_tools"]


def _latest(left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
    """Merges the updates of tools that ran at the same time."""
    if not left or not right:
        return right or left or {}
    return {
        "session": merged(left.get("session"), right.get("session")),
        "shown": {**left.get("shown", {}), **right.get("shown", {})} if not right.get("replaces") else right["shown"],
        "stable": right.get("stable", left.get("stable", "")),
    }


class SkillcueState(AgentState[Any]):
    """The state of the graph: what the conversation was shown, as plain JSON, so that a checkpoint keeps it."""

    skillcue: NotRequired[Annotated[dict[str, Any], PrivateStateAttr, _latest]]


class SkillcueMiddleware(AgentMiddleware[SkillcueState, Any, Any]):
    """Shows a model, message by message, the skills that fit, and gives it the tools to load others.

    The text for a message is put before that message, in every request of the conversation: nothing is shown twice, and
    the beginning of a request stays equal from turn to turn. The list of skills, if the policy has one, is at the end of
    the system message. Tools of loaded skills join when a skill is loaded.
    """

    state_schema = SkillcueState

    def __init__(self, skills: Skillcue | StrPath, *, tools: bool = True, **options: Any) -> None:
        """Opens the skills.

        :param skills: The skills, or the directory where they are.
        :param tools: Whether the model gets tools to load and search skills, and to run their programs.
        :param options: Those of :class:`skillcue.Skillcue`, if ``skills`` is a directory.
        """
        super().__init__()
        self.skills = skills if isinstance(skills, Skillcue) else Skillcue(skills, **options)
        self.tools = []
        self._offers_tools = tools

    # Once a turn: what the message is shown.

    def before_agent(self, state: SkillcueState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        message, memory, session = _begin(state)
        if message is None:
            return None
        return _remember(message, memory, session, self.skills.disclose(_text(message), session=session))

    async def abefore_agent(self, state: SkillcueState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        message, memory, session = _begin(state)
        if message is None:
            return None
        return _remember(message, memory, session, await self.skills.adisclose(_text(message), session=session))

    # Every request: the texts, where they were shown, and the tools.

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        memory = _memory(request.state)
        tools = self.skills.tools(session=memory["session"]) if self._offers_tools else []
        return handler(_shown(request, memory, tools))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        memory = _memory(request.state)
        tools = await self.skills.atools(session=memory["session"]) if self._offers_tools else []
        return await handler(_shown(request, memory, tools))

    # Calls of our tools, also of those that joined after the graph was made.

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        memory = _memory(request.state)
        if not self._is_ours(request, memory["session"]):
            return handler(request)
        call = request.tool_call
        result = self.skills.call_tool(call["name"], call["args"], session=memory["session"])
        return _answer(request, memory, result)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        memory = _memory(request.state)
        if not self._is_ours(request, memory["session"]):
            return await handler(request)
        call = request.tool_call
        result = await self.skills.acall_tool(call["name"], call["args"], session=memory["session"])
        return _answer(request, memory, result)

    def _is_ours(self, request: ToolCallRequest, session: Session) -> bool:
        # A tool of the graph's own goes first, whatever it is called.
        if request.tool is not None or not self._offers_tools:
            return False
        return request.tool_call["name"] in {tool.name for tool in self.skills.tools(session=session)}


def skill_tools(skills: Skillcue, *, session: Session | None = None) -> list[BaseTool]:
    """Returns the tools for a model that has no middleware: to load and search skills and to read their files.

    :param session: The conversation; with it, tools of the skills that it has loaded are there, too.
    """
    own: Session = {} if session is None else session

    def made(tool: Tool) -> BaseTool:
        def call(**arguments: Any) -> str:
            return skills.call_tool(tool.name, arguments, session=own).text

        async def acall(**arguments: Any) -> str:
            return (await skills.acall_tool(tool.name, arguments, session=own)).text

        return StructuredTool(
            name=tool.name, description=tool.description, args_schema=tool.input_schema, func=call, coroutine=acall
        )

    return [made(tool) for tool in skills.tools(session=own)]


def _memory(state: Any) -> dict[str, Any]:
    kept = state.get("skillcue") or {}
    # Copied, because a state must not be changed in place.
    return {
        "session": json.loads(json.dumps(kept.get("session") or {})),
        "shown": dict(kept.get("shown") or {}),
        "stable": kept.get("stable", ""),
    }


def _begin(state: SkillcueState) -> tuple[HumanMessage | None, dict[str, Any], Session]:
    """Returns the message of the turn. Texts whose messages were removed from the conversation can be shown again."""
    memory = _memory(state)
    messages = state["messages"]
    present = {message.id for message in messages}
    for gone in [key for key in memory["shown"] if key not in present]:
        forget(memory["session"], memory["shown"].pop(gone)["names"])
    last = messages[-1] if messages else None
    is_new = isinstance(last, HumanMessage) and last.id not in memory["shown"]
    return (last if is_new else None), memory, memory["session"]  # type: ignore[return-value]


def _remember(message: HumanMessage, memory: dict[str, Any], session: Session, shown: Disclosure) -> dict[str, Any]:
    memory["shown"][message.id] = {"text": shown.turn, "names": shown_names(shown)}
    return {"skillcue": {**memory, "session": session, "stable": shown.stable, "replaces": True}}


def _text(message: HumanMessage) -> str:
    return message.text if isinstance(message.text, str) else message.text()


def _shown(request: ModelRequest[Any], memory: dict[str, Any], tools: list[Tool]) -> ModelRequest[Any]:
    changes: dict[str, Any] = {"messages": [_with_text(message, memory["shown"]) for message in request.messages]}
    if memory["stable"]:
        before = "" if request.system_message is None else request.system_message.text
        changes["system_message"] = SystemMessage(content=f"{before}\n\n{memory['stable']}".strip())
    if tools:
        known = {tool.name if isinstance(tool, BaseTool) else _name(tool) for tool in request.tools}
        joined = [_definition(tool) for tool in tools if tool.name not in known]
        changes["tools"] = [*request.tools, *joined]
    return request.override(**changes)


def _with_text(message: AnyMessage, shown: dict[str, Any]) -> AnyMessage:
    text = shown.get(message.id or "", {}).get("text")
    if not text or not isinstance(message, HumanMessage):
        return message
    content: Any = message.content
    if isinstance(content, str):
        content = apart(text, content)
    else:
        content = [{"type": "text", "text": apart(text, "")}, *content]
    return message.model_copy(update={"content": content})


def _definition(tool: Tool) -> dict[str, Any]:
    """Returns a tool as the models of LangChain take it: `bind_tools` knows this form for all of them."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": function}


def _name(tool: dict[str, Any]) -> str | None:
    name: str | None = tool.get("name") or tool.get("function", {}).get("name")
    return name


def _answer(request: ToolCallRequest, memory: dict[str, Any], result: ToolResult) -> Command[Any]:
    call = request.tool_call
    status = "error" if result.is_error else "success"
    message = ToolMessage(content=result.text, name=call["name"], tool_call_id=call["id"], status=status)
    return Command(update={"messages": [message], "skillcue": memory})
