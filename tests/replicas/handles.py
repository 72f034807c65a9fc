"""Requests of 2026-07-28 to one replica, without a proxy and without an SDK: for what only they can show."""

import base64
import hashlib
import hmac
import json
import urllib.request
from itertools import count

HANDLE = "skillcue/handle"
VERSION = "2026-07-28"
NUMBERS = count(1)


def call(port: int, tool: str, arguments: dict) -> dict:
    """Calls a tool of the replica at a port."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "replicas", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return ask(port, "tools/call", {"name": tool, "arguments": arguments, "_meta": meta}, {"Mcp-Name": tool})


def ask(port: int, method: str, params: dict, more: dict) -> dict:
    headers = {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION, "Mcp-Method": method,
    }
    body = json.dumps({"jsonrpc": "2.0", "id": next(NUMBERS), "method": method, "params": params}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", body, headers | more)
    with urllib.request.urlopen(request, timeout=120) as answer:
        text = answer.read().decode()
    lines = [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")]
    return json.loads(lines[-1] if lines else text)["result"]


def text_of(result: dict) -> str:
    return "".join(block.get("text", "") for block in result["content"])


def signed_anew(handle: str, secret: str, until_minutes: int) -> str:
    """A handle as the server would have signed it for another time, by the secret that the replicas share."""
    data = base64.urlsafe_b64decode(handle.removeprefix("h1.") + "===")
    signed = until_minutes.to_bytes(4, "little") + data[4:-16]
    key = hashlib.sha256(b"skillcue handle key\0" + secret.encode()).digest()
    # The view comes first, by its length: it is that of all skills, and its name is empty.
    mac = hmac.new(key, bytes(8) + signed, hashlib.sha256).digest()[:16]
    return "h1." + base64.urlsafe_b64encode(signed + mac).decode().rstrip("=")
