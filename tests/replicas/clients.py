"""Many clients of the official Python SDK, at once, in one process.

    python clients.py URL COUNT modern|legacy EVERY

Each does what an agent does: connects, looks at the tools, searches, loads a skill, uses what the load gave it, loads it
again, loads and reads a skill of the catalog on the store. Of those without a session, one in EVERY also runs the skill's
script, and tries to with a handle that was changed; none if EVERY is 0. An answer that is wrong is an error. A request that fails may be repeated once, by a new connection; one that fails
then, too, is an error. One line of JSON for each client that is done.
"""

import asyncio
import json
import logging
import random
import re
import sys
import warnings

from mcp import Client
from mcp.client.streamable_http import streamable_http_client

HANDLE = "skillcue/handle"
# Not a promise about time: it ends a wait for something that never comes.
ANSWER_SECONDS = 120
# As many at once as one process can have without its own event loop becoming what is measured.
AT_ONCE = 64
# How long a client with a session waits at most before each request.
THINK_SECONDS = 5


class Wrong(Exception):
    """An answer that is not what it should be."""


def text_of(result) -> str:
    return "".join(getattr(block, "text", "") for block in result.content)


def check(what: str, holds, seen) -> None:
    if not holds:
        raise Wrong(f"{what}: {str(seen)[:500]}")


def check_edition(name: str, text: str) -> None:
    """All of a text is of the generation before the swap, or all of it is of the one after."""
    editions = set(re.findall(r"(\w+) edition", text))
    check(f"{name} of one generation", name in text and editions in ({"first"}, {"second"}), text)


def forged(handle: str) -> str:
    """A handle with another character in its middle."""
    at = len(handle) // 2
    return handle[:at] + ("A" if handle[at] != "A" else "B") + handle[at + 1 :]


class Agent:
    """One client, and the connection that it has just now."""

    def __init__(self, url: str, mode: str, every: int) -> None:
        self.url, self.mode, self.every, self.retries, self.client = url, mode, every, 0, None

    async def connect(self) -> None:
        mode = "2026-07-28" if self.mode == "modern" else "legacy"
        self.client = Client(streamable_http_client(self.url), mode=mode, read_timeout_seconds=ANSWER_SECONDS)
        await self.client.__aenter__()

    async def close(self) -> None:
        client, self.client = self.client, None
        if client is not None:
            try:
                await client.__aexit__(None, None, None)
            except (Exception, asyncio.CancelledError):
                pass  # The connection is gone, and with it what there was to close.

    async def ask(self, request):
        if self.mode == "legacy":
            # A session lasts a while: some are there when their replica is killed.
            await asyncio.sleep(random.random() * THINK_SECONDS)
        try:
            if self.client is None:
                await self.connect()
            return await request(self.client)
        except Wrong:
            raise
        # A connection that breaks may cancel what waits on it, instead of failing: nothing else here cancels.
        except (Exception, asyncio.CancelledError) as first:
            self.retries += 1
            print(json.dumps({"retry": f"{type(first).__name__}: {str(first)[:200]}"}), flush=True)
            await self.close()
            await asyncio.sleep(0.1 + random.random() / 5)
            await self.connect()
            return await request(self.client)

    async def call(self, tool: str, arguments: dict, handle: str | None = None):
        meta = {HANDLE: handle} if handle else None
        return await self.ask(lambda client: client.call_tool(tool, arguments, meta=meta))

    async def live(self, number: int) -> None:
        tools = [tool.name for tool in (await self.ask(lambda client: client.list_tools())).tools]
        expected = ["load_skill", "search_skills", "read_skill_file"]
        if self.mode == "modern":
            expected.append("call_skill_tool")
        check("tools", tools[: len(expected)] == expected, tools)
        found = await self.call("search_skills", {"query": "greet a guest politely", "limit": 3})
        check("search", "greet" in text_of(found) and not found.is_error, found)
        loaded = await self.call("load_skill", {"skill_id": "greet"})
        check("load", "Bow, then smile." in text_of(loaded) or self.retries, loaded)
        if self.mode == "modern":
            handle = (loaded.meta or {}).get(HANDLE)
            check("handle", handle and handle in text_of(loaded), loaded)
            # By the argument, as a model does it, and by the metadata, as a program does.
            listed = await self.call("call_skill_tool", {"skill_id": "greet", "handle": handle})
            check("tools of the skill", "run_skill_script" in text_of(listed) and not listed.is_error, listed)
            if self.every and number % self.every == 0:
                await self.run_script(number, handle)
            again = await self.call("load_skill", {"skill_id": "greet"}, handle)
            check("nothing twice", "already" in text_of(again), again)
        else:
            ran = await self.call("read_skill_file", {"skill_id": "greet", "path": "SKILL.md"})
            check("file", "Bow, then smile." in text_of(ran), ran)
        name = f"filler-{number % 40:02}"
        other = await self.call("load_skill", {"skill_id": f"acme:{name}"})
        check("load from the store", not other.is_error, other)
        check_edition(name, text_of(other))
        read = await self.ask(lambda client: client.read_resource(f"skill://acme/{name}/SKILL.md"))
        check_edition(name, read.contents[0].text)

    async def run_script(self, number: int, handle: str) -> None:
        """Calls the skill's tool by the handle, which the proxy sends to whatever replica is next."""
        script = {"script": "scripts/hello.sh", "arguments": [str(number)]}
        arguments = {"skill_id": "greet", "tool": "run_skill_script", "arguments": script}
        ran = await self.call("call_skill_tool", arguments | {"handle": handle})
        check("script", f"hello, number {number}!" in text_of(ran) and not ran.is_error, ran)
        refused = await self.call("call_skill_tool", arguments | {"handle": forged(handle)})
        said = text_of(refused)
        check("forged handle", refused.is_error and "it was changed" in said and "load_skill" in said, refused)


async def main(url: str, count: int, mode: str, every: int) -> None:
    places = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with places:
            agent = Agent(url, mode, every)
            report = {"done": number}
            try:
                await agent.live(number)
            except Exception as error:
                report["error"] = f"{type(error).__name__}: {error}"
            finally:
                await agent.close()
            print(json.dumps(report | {"retries": agent.retries}), flush=True)

    await asyncio.gather(*(one(number) for number in range(count)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
