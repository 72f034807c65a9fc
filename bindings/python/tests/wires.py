"""The wire formats of the scripted model: what a request says, in the form of OpenAI's chat completions, and an answer."""

from __future__ import annotations

import json
from typing import Any

Reply = str | list[tuple[str, dict[str, Any]]]
"""A text, or calls of tools."""


def text_of(message: dict[str, Any]) -> str:
    """Returns the text of a message."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


class ChatCompletions:
    """OpenAI's chat completions."""

    @staticmethod
    def request(body: dict[str, Any]) -> dict[str, Any]:
        return body

    @staticmethod
    def answer(reply: Reply, number: int, body: dict[str, Any]) -> tuple[str, bytes]:
        message: dict[str, Any] = {"role": "assistant", "content": reply if isinstance(reply, str) else None}
        if not isinstance(reply, str):
            message["tool_calls"] = [
                {
                    "id": f"call_{number}_{at}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for at, (name, arguments) in enumerate(reply)
            ]
        end = "stop" if isinstance(reply, str) else "tool_calls"
        whole = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": end}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        return "application/json", json.dumps(whole).encode()


class Messages:
    """Anthropic's messages."""

    @staticmethod
    def request(body: dict[str, Any]) -> dict[str, Any]:
        messages: list[dict[str, Any]] = []
        if body.get("system"):
            messages.append({"role": "system", "content": text_of({"content": body["system"]})})
        for message in body["messages"]:
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            results = [block for block in blocks if block["type"] == "tool_result"]
            calls = [{"id": block["id"]} for block in blocks if block["type"] == "tool_use"]
            texts = [block["text"] for block in blocks if block["type"] == "text"]
            messages += [
                {"role": "tool", "tool_call_id": block["tool_use_id"], "content": text_of(block)} for block in results
            ]
            if texts or calls:
                messages.append({"role": message["role"], "content": "\n".join(texts), "tool_calls": calls})
        tools = [{"function": {"name": tool["name"]}} for tool in body.get("tools", ())]
        return {"messages": messages, "tools": tools}

    @staticmethod
    def answer(reply: Reply, number: int, body: dict[str, Any]) -> tuple[str, bytes]:
        blocks: list[dict[str, Any]] = (
            [{"type": "text", "text": reply}]
            if isinstance(reply, str)
            else [
                {"type": "tool_use", "id": f"toolu_{number}_{at}", "name": name, "input": arguments}
                for at, (name, arguments) in enumerate(reply)
            ]
        )
        end = "end_turn" if isinstance(reply, str) else "tool_use"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "scripted", "usage": usage}
        if not body.get("stream"):
            whole = {**message, "content": blocks, "stop_reason": end, "stop_sequence": None}
            return "application/json", json.dumps(whole).encode()
        begin = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": begin}]
        for at, block in enumerate(blocks):
            if block["type"] == "text":
                empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events.append({"type": "content_block_start", "index": at, "content_block": empty})
            events.append({"type": "content_block_delta", "index": at, "delta": delta})
            events.append({"type": "content_block_stop", "index": at})
        events.append({"type": "message_delta", "delta": {"stop_reason": end, "stop_sequence": None}, "usage": usage})
        events.append({"type": "message_stop"})
        lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        return "text/event-stream", "".join(lines).encode()


class GenerateContent:
    """Gemini's `generateContent`."""

    @staticmethod
    def request(body: dict[str, Any]) -> dict[str, Any]:
        messages: list[dict[str, Any]] = []
        if body.get("systemInstruction"):
            messages.append({"role": "system", "content": body["systemInstruction"]["parts"]})
        for content in body["contents"]:
            role = {"model": "assistant"}.get(content["role"], content["role"])
            calls = [{"id": part["functionCall"].get("id")} for part in content["parts"] if "functionCall" in part]
            if calls:
                messages.append({"role": role, "tool_calls": calls})
            for part in content["parts"]:
                if "functionResponse" in part:
                    answer = part["functionResponse"]
                    text = json.dumps(answer["response"], ensure_ascii=False)
                    messages.append({"role": "tool", "tool_call_id": answer.get("id"), "content": text})
                elif "text" in part:
                    messages.append({"role": role, "content": part["text"]})
        declared = [tool for group in body.get("tools", ()) for tool in group.get("functionDeclarations", ())]
        return {"messages": messages, "tools": [{"function": {"name": tool["name"]}} for tool in declared]}

    @staticmethod
    def answer(reply: Reply, number: int, body: dict[str, Any]) -> tuple[str, bytes]:
        parts: list[dict[str, Any]] = (
            [{"text": reply}]
            if isinstance(reply, str)
            else [
                {"functionCall": {"id": f"call_{number}_{at}", "name": name, "args": arguments}}
                for at, (name, arguments) in enumerate(reply)
            ]
        )
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, "finishReason": "STOP"}
        return "application/json", json.dumps({"candidates": [candidate], "modelVersion": "scripted"}).encode()


Wire = type[ChatCompletions] | type[Messages] | type[GenerateContent]


def wire_of(path: str) -> Wire:
    """Returns the format of the address that a request was sent to."""
    if path.partition("?")[0].endswith("/messages"):
        return Messages
    return GenerateContent if ":generateContent" in path else ChatCompletions
