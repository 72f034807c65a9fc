"""A model server on loopback: real HTTP, the wire formats of OpenAI, Anthropic and Gemini, answers from a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from wires import Reply, text_of, wire_of

__all__ = ["Reply", "Scripted", "last_is_tool", "last_user", "serving", "text_of"]


@dataclass
class Scripted:
    """The server: its address, and the requests that it received, all in the form of OpenAI's chat completions."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)

    def system(self, at: int = -1) -> str:
        """Returns the instructions of a request."""
        messages = self.requests[at]["messages"]
        return "\n".join(text_of(it) for it in messages if it["role"] in ("system", "developer"))

    def everything(self, at: int = -1) -> str:
        """Returns all texts of a request."""
        return "\n".join(text_of(it) for it in self.requests[at]["messages"])

    def tools(self, at: int = -1) -> list[str]:
        """Returns the names of the tools of a request."""
        return [tool["function"]["name"] for tool in self.requests[at].get("tools", ())]


@contextmanager
def serving(script: Callable[[dict[str, Any]], Reply]) -> Iterator[Scripted]:
    """Serves until the end of the block. A conversation that the real server would refuse is answered with 400."""
    scripted = Scripted("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            wire = wire_of(self.path)
            request = wire.request(body)
            problem = refusal(request)
            if problem is None:
                scripted.requests.append(request)
                status = 200
                kind, data = wire.answer(script(request), len(scripted.requests), body)
            else:
                status, kind = 400, "application/json"
                data = json.dumps({"error": {"message": problem, "type": "invalid_request_error"}}).encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scripted.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield scripted
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def refusal(request: dict[str, Any]) -> str | None:
    """Returns why the real server would refuse a request."""
    waiting: set[str] = set()
    for message in request["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"tool_call_id {message['tool_call_id']} answers no call"
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            return f"calls without an answer: {sorted(waiting)}"
        waiting = {call["id"] for call in message.get("tool_calls") or ()}
    names = [tool["function"]["name"] for tool in request.get("tools", ())]
    if len(names) != len(set(names)):
        return f"two tools have one name: {names}"
    return None


def last_user(request: dict[str, Any]) -> str:
    """Returns the last message of the user."""
    return next(text_of(it) for it in reversed(request["messages"]) if it["role"] == "user")


def last_is_tool(request: dict[str, Any]) -> bool:
    """Returns whether the model is asked about the results of its calls."""
    return bool(request["messages"][-1]["role"] == "tool")
